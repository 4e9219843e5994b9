"""Numbering the states, actions and conditions of a TI-MMDP."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from coreplan.model.indexed import (
    IndexedAgent,
    IndexedCondition,
    IndexedEntry,
    IndexedProblem,
    JointState,
    NamedStates,
)

if TYPE_CHECKING:
    from coreplan.model.timmdp import TIMMDP, Agent, Condition


def index_timmdp(
    problem: TIMMDP,
    *,
    stage: int = 0,
    state: JointState | None = None,
    guard: Callable[[int], None] = lambda _: None,
) -> IndexedProblem:
    """Number a TI-MMDP, for planning from a stage and joint state on.

    The guard is called regularly, with 0, because the states are in memory already.
    """
    agents = []
    for described in problem.agents:
        guard(0)
        agents.append(_index_agent(described, problem.horizon))
    position = {agent.name: i for i, agent in enumerate(problem.agents)}
    known: list[dict[Condition, int]] = [{} for _ in agents]

    def condition_number(i: int, condition: Condition) -> int:
        if condition not in known[i]:
            known[i][condition] = len(agents[i].conditions)
            agents[i].conditions.append(_index_condition(problem.agents[i], agents[i], condition))
        return known[i][condition]

    entries = []
    for k, function in enumerate(problem.rewards):
        for entry in function.entries:
            guard(0)
            members = sorted(
                (position[name], condition_number(position[name], condition))
                for name, condition in entry.when.items()
            )
            entries.append(IndexedEntry(tuple(members), entry.value, entry.stages, k))
    functions = tuple(
        f"rewards[{k}] of {', '.join(function.scope)}" for k, function in enumerate(problem.rewards)
    )
    indexed = IndexedProblem(problem.name, problem.horizon, stage, agents, entries, functions)
    for agent, start in zip(agents, indexed.find_state(stage, state), strict=True):
        agent.start = start
    return indexed


def _index_agent(agent: Agent, horizon: int) -> IndexedAgent:
    states = NamedStates(agent.name, agent.states)
    actions = agent.actions
    number = {action: k for k, action in enumerate(actions)}
    indexed = IndexedAgent(agent.name, states, actions, states.index[agent.initial])
    for name in states.names:
        for action, law in agent.transitions.get(name, {}).items():
            outcomes = [(states.index[after], chance) for after, chance in law.items()]
            indexed.add_choice(number[action], 0, horizon - 1, outcomes)
        indexed.end_state()
    return indexed


def _index_condition(agent: Agent, indexed: IndexedAgent, condition: Condition) -> IndexedCondition:
    states = indexed.states
    assert isinstance(states, NamedStates)

    def matching(test: Any) -> list[int] | None:
        if test is None:
            return None
        if isinstance(test, tuple):
            return [states.index[name] for name in test]
        return [k for k, name in enumerate(states.names) if agent.matches(test, name)]

    actions = condition.action
    return IndexedCondition(
        matching(condition.state),
        None if actions is None else [indexed.actions.index(name) for name in actions],
        matching(condition.next),
    )
