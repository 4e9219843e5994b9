"""Value iteration on algebraic decision diagrams, after SPUDD. See docs/spudd.md."""

from __future__ import annotations

import math

from coreplan import _core
from coreplan.errors import ModelError, SolverError
from coreplan.model.indexed import IndexedAgent
from coreplan.model.problem import FactoredStates
from coreplan.model.sums_as_entries import sums_as_entries
from coreplan.solving.algorithms.joint import make_joint_policy
from coreplan.solving.compile import describe, unroll_problem
from coreplan.solving.options import JointActions, SpuddOptions, VariableOrder
from coreplan.solving.result import Result
from coreplan.solving.task import SolverTask
from coreplan.support.checks import found

ORDERS: dict[VariableOrder, _core.VariableOrder] = {
    "grouped": _core.VariableOrder.grouped,
    "interleaved": _core.VariableOrder.interleaved,
}
"""In which order the bits of the agents' states are tested."""

ACTIONS: dict[JointActions, _core.ActionMode] = {
    "diagram": _core.ActionMode.diagram,
    "enumerate": _core.ActionMode.enumerate,
}
"""Whether actions are variables of the diagrams, or joint actions are tried one by one."""

MOST_JOINT_ACTIONS = 10_000
"""The most joint actions of the reference encoding: each has its own diagrams."""


def solve_spudd(task: SolverTask, options: SpuddOptions) -> Result:
    """Value iteration; values are diagrams over the bits of local states."""
    if options.encoding == "reference":
        return _solve_reference(task)
    compiled = task.compile(options.merge)
    actions = ACTIONS[options.actions or "diagram"]
    solved = _core.solve_spudd(compiled.model, ORDERS[options.order], actions, task.limits.monitor)
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


def _solve_reference(task: SolverTask) -> Result:
    """Solve one stationary model with a clock and one action per joint action."""
    compiled = task.compile(False, history=False)
    commands = [make_commands(agent) for agent in compiled.indexed.agents]
    counts = [max(each, default=0) + 1 for each in commands]
    if math.prod(counts) > MOST_JOINT_ACTIONS:
        raise SolverError(
            f"this team has {math.prod(counts):,} joint actions, and encoding 'reference' needs "
            f"diagrams for each; expected at most {MOST_JOINT_ACTIONS:,}. Use encoding 'stages'"
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
    indexed = sums_as_entries(compiled.indexed, "encoding 'reference'")
    graphs, model = compiled.graphs, compiled.model
    if indexed is not compiled.indexed:
        graphs = unroll_problem(indexed, task.limits)
        model = _core.compile(graphs, False, task.limits.monitor)
    solved = _core.solve_spudd_reference(
        describe(indexed),
        graphs,
        model,
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
    """The number of the command for each action of an agent.

    Actions that are never available in the same state share a command, because the state tells
    which of them is meant. `wait` and `continue` of a contractor, for example, are one command.
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
    """Raise a ModelError if the values of variables do not identify every local state."""
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
