"""Files that say where everybody stands: a mapping from agents to local states."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from coreplan.compile import AnyProblem
from coreplan.errors import FormatError, ModelError, Problem
from coreplan.formats.document import locate
from coreplan.formats.reading import Document, plain
from coreplan.indexed import by_agent
from coreplan.maintenance.problem import MaintenanceProblem
from coreplan.maintenance.states import read_state as read_contractor_state
from coreplan.maintenance.states import to_local


def read_state(path: str | Path, problem: AnyProblem) -> dict[str, Any]:
    """Read a joint state from a JSON or YAML file.

    A ``ti-mmdp/1`` problem wants a state's name for each agent; an ``mpp/1`` problem what each
    contractor has done, is doing and how many steps remain::

        Alpha: {done: [a2], doing: a1, remaining: 2}
        Beta: {}

    Raises
    ------
    FormatError
        If it does not fit the problem.
    """
    document = Document.open(path)
    members = document.members(document.root, (), "a state for each agent")
    state = {name: plain(node) for name, node in members.items()}
    if document.problems:
        raise FormatError(document.file, document.problems)
    if isinstance(problem, MaintenanceProblem):
        names = [contractor.name for contractor in problem.contractors]
    else:
        names = [agent.name for agent in problem.agents]
    problems = []
    try:
        by_agent(state, names, "state")
    except ModelError as error:
        problems.append(Problem((), str(error), *locate(document.root, ())))
    if isinstance(problem, MaintenanceProblem):
        for contractor in problem.contractors:
            if contractor.name in state:
                try:
                    given = read_contractor_state(contractor, state[contractor.name])
                    to_local(contractor, given)
                    state[contractor.name] = given
                except ModelError as error:
                    place = (contractor.name,)
                    problems.append(Problem(place, str(error), *locate(document.root, place)))
    if problems:
        raise FormatError(document.file, problems)
    return state
