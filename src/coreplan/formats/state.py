"""Files with a joint state: a mapping from agents to local states."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from coreplan.errors import ModelError
from coreplan.files.reading import Document, read_document
from coreplan.model.indexed import by_agent
from coreplan.solving.compile import AnyProblem


def read_state(path: str | Path, problem: AnyProblem) -> dict[str, Any]:
    """Read a joint state from a JSON or YAML file.

    For a ``ti-mmdp/1`` problem the file has the name of a state for each agent. For an ``mpp/1``
    problem it has, for each contractor, the completed works, the work in progress and its remaining
    steps::

        Alpha: {done: [a2], doing: a1, remaining: 2}
        Beta: {}

    Raises
    ------
    FormatError
        If the state does not belong to the problem.
    """
    return read_document(path, lambda document: _take_state(document, problem))


def _take_state(document: Document, problem: AnyProblem) -> dict[str, Any]:
    state = dict(document.members(document.root, (), "a state for each agent"))
    if document.problems:
        raise document.error()
    names = problem.agent_names
    try:
        by_agent(state, names, "state")
    except ModelError as error:
        document.fail((), str(error))
    for name in names:
        if name in state:
            try:
                state[name] = problem.read_state(name, state[name])
            except ModelError as error:
                document.fail((name,), str(error))
    if document.problems:
        raise document.error()
    return state
