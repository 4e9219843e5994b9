"""Files with a joint state: a mapping from agents to local states."""

from __future__ import annotations

from collections.abc import Iterable
from functools import singledispatch
from pathlib import Path
from typing import Any

from coreplan.errors import ModelError
from coreplan.files.reading import Document, read_document
from coreplan.model.dated_steps import DatedSteps
from coreplan.model.indexed import by_agent
from coreplan.model.problem import PlanningProblem
from coreplan.solving.compile import AnyProblem


@singledispatch
def dated_texts(problem: PlanningProblem, given: Any) -> Iterable[Any]:
    """The steps in the state of one agent, which may be dates. A domain may register its own."""
    return ()


@singledispatch
def without_dates(problem: PlanningProblem, given: Any, steps: DatedSteps) -> Any:
    """The state of one agent with steps instead of dates. A domain may register its own.

    Raises
    ------
    ModelError
        If a date cannot be read.
    """
    return given


def read_state(
    path: str | Path, problem: AnyProblem, steps: DatedSteps | None = None
) -> dict[str, Any]:
    """Read a joint state from a JSON or YAML file.

    For a ``ti-mmdp/1`` problem the file has the name of a state for each agent. For an ``mpp/1``
    problem it has, for each contractor, the completed works, the work in progress and its remaining
    steps::

        Alpha: {done: [a2], doing: a1, remaining: 2}
        Beta: {}

    Parameters
    ----------
    path
        The file; ``-`` for the standard input.
    problem
        The problem.
    steps
        Reads steps that are given as dates; by default dates are errors.

    Raises
    ------
    FormatError
        If the state does not belong to the problem.
    """
    dated = DatedSteps(None) if steps is None else steps
    return read_document(path, lambda document: _take_state(document, problem, dated))


def _take_state(document: Document, problem: AnyProblem, steps: DatedSteps) -> dict[str, Any]:
    state = dict(document.members(document.root, (), "a state for each agent"))
    if document.problems:
        raise document.error()
    names = problem.agent_names
    try:
        by_agent(state, names, "state")
    except ModelError as error:
        document.fail((), str(error))
    steps.decide(text for each in state.values() for text in dated_texts(problem, each))
    for name in names:
        if name in state:
            try:
                given = without_dates(problem, state[name], steps)
                state[name] = problem.read_state(name, given)
            except ModelError as error:
                document.fail((name,), str(error))
    if document.problems:
        raise document.error()
    return state
