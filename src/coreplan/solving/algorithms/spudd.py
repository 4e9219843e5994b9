"""Value iteration on algebraic decision diagrams, after SPUDD. See docs/spudd.md."""

from __future__ import annotations

import math
from collections.abc import Mapping

from coreplan import _core
from coreplan.errors import ModelError, SolverError
from coreplan.model.indexed import IndexedAgent
from coreplan.model.problem import FactoredStates
from coreplan.solving.algorithms.joint import make_joint_policy
from coreplan.solving.compile import describe
from coreplan.solving.result import Result
from coreplan.solving.task import SolverTask, check_flags
from coreplan.support.checks import found

ENCODINGS = ("stages", "reference")
"""Stage by stage on the states that can be reached, or one model with a clock."""

ORDERS = {
    "grouped": _core.VariableOrder.grouped,
    "interleaved": _core.VariableOrder.interleaved,
}
"""In which order the bits of the agents' states are tested."""

ACTIONS = {"diagram": _core.ActionMode.diagram, "enumerate": _core.ActionMode.enumerate}
"""Whether actions are variables of the diagrams, or joint actions are tried one by one."""

MOST_JOINT_ACTIONS = 10_000
"""Joint actions of the reference encoding, at most: each has diagrams of its own."""


def solve_spudd(
    task: SolverTask,
    merge: bool = True,
    order: str = "grouped",
    actions: str | None = None,
    encoding: str = "stages",
) -> Result:
    """Value iteration; values are diagrams over the bits of local states."""
    check_flags(merge=merge)
    for name, value, known in (
        ("encoding", encoding, list(ENCODINGS)),
        ("order", order, list(ORDERS)),
        ("actions", actions, [None, *ACTIONS]),
    ):
        if value not in known:  # whatever type it has
            expected = ", ".join(repr(each) for each in known if each is not None)
            raise SolverError(f"{name} is {value!r}; expected one of {expected}")
    if encoding == "reference":
        _check_reference(merge, order, actions)
        return _solve_reference(task)
    compiled = task.compile(merge)
    solved = _core.solve_spudd(
        compiled.model, ORDERS[order], ACTIONS[actions or "diagram"], task.limits.monitor
    )
    return task.make_result(
        "spudd",
        solved.lower,
        solved.upper,
        solved.stop,
        make_joint_policy(task, compiled, solved),
        0,
        0,
        message=solved.message,
        others={
            "iterations": solved.iterations,
            "value_nodes": solved.value_nodes,
            "peak_nodes": solved.peak_nodes,
            "garbage_collections": solved.collections,
        },
    )


def _check_reference(merge: bool, order: str, actions: str | None) -> None:
    """Refuse what the reference encoding does not have."""
    given: Mapping[str, tuple[object, object]] = {
        "merge": (merge, True),
        "order": (order, "grouped"),
        "actions": (actions or "enumerate", "enumerate"),
    }
    for name, (value, only) in given.items():
        if value != only:
            raise SolverError(
                f"{name} is {value!r}; encoding 'reference' can only be used with {only!r}"
            )


def _solve_reference(task: SolverTask) -> Result:
    """One stationary model with a clock, a variable set per agent, an action per joint action."""
    compiled = task.compile(False, history=False)
    commands = [make_commands(agent) for agent in compiled.indexed.agents]
    counts = [max(each, default=0) + 1 for each in commands]
    if math.prod(counts) > MOST_JOINT_ACTIONS:
        raise SolverError(
            "encoding 'reference' needs diagrams for each joint action, and this team has "
            f"{math.prod(counts):,}; expected at most {MOST_JOINT_ACTIONS:,}. Use encoding 'stages'"
        )
    factored = []
    for number, agent in enumerate(compiled.indexed.agents):
        states = task.problem.state_variables(compiled.indexed, number)
        check_variables(agent, states)
        factored.append(
            _core.FactoredAgent(
                [variable.size for variable in states.variables],
                [value for row in states.values for value in row],
                commands[number],
                counts[number],
            )
        )
    solved = _core.solve_spudd_reference(
        describe(compiled.indexed),
        compiled.graphs,
        compiled.model,
        factored,
        task.limits.monitor,
    )
    return task.make_result(
        "spudd",
        solved.lower,
        solved.upper,
        solved.stop,
        make_joint_policy(task, compiled, solved, history=False),
        0,
        0,
        message=solved.message,
        others={
            "iterations": solved.sweeps,
            "value_nodes": solved.value_nodes,
            "peak_nodes": solved.peak_nodes,
            "garbage_collections": solved.collections,
            "model_nodes": solved.model_nodes,
            "joint_actions": solved.joint_actions,
            "backups": solved.backups,
            "variables": solved.variables,
        },
    )


def make_commands(agent: IndexedAgent) -> list[int]:
    """Per action of an agent: the number of the command that stands for it.

    Actions that no state offers together share a command: whoever gets it knows by the state what
    is meant. A contractor's `wait` and `continue` are one command, for instance.
    """
    rivals: list[set[int]] = [set() for _ in agent.actions]
    for state in range(len(agent.states)):
        offered = agent.choice_action[agent.choice_begin[state] : agent.choice_begin[state + 1]]
        for action in offered:
            rivals[action].update(offered)
    members: list[set[int]] = []
    command_of = []
    for action, others in enumerate(rivals):
        number = next((k for k, those in enumerate(members) if not those & others), len(members))
        if number == len(members):
            members.append(set())
        members[number].add(action)
        command_of.append(number)
    return command_of


def check_variables(agent: IndexedAgent, states: FactoredStates) -> None:
    """Raise a ModelError unless every local state has values of its own."""
    sizes = [variable.size for variable in states.variables]
    whose = f"the variables of agent {found(agent.name)}"
    if len(states.values) != len(agent.states):
        raise ModelError(
            f"{whose} describe {len(states.values)} local states; expected {len(agent.states)}"
        )
    for row in states.values:
        if len(row) != len(sizes) or any(
            not 0 <= value < size for value, size in zip(row, sizes, strict=True)
        ):
            raise ModelError(
                f"{whose} have the sizes {sizes} and a local state the values {list(row)}; "
                "expected one value from 0 to size - 1 for each"
            )
    if len({tuple(row) for row in states.values}) != len(states.values):
        raise ModelError(f"{whose} do not tell all local states apart; expected different values")
