"""Numbering the states, actions and conditions of a TI-MMDP."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from coreplan.model.aggregates import units_of
from coreplan.model.conditions import Condition, MatchingStates
from coreplan.model.indexed import (
    IndexedAgent,
    IndexedAggregate,
    IndexedCondition,
    IndexedEntry,
    IndexedProblem,
    JointState,
    NamedStates,
)
from coreplan.model.rewards import largest_sum

if TYPE_CHECKING:
    from coreplan.model.aggregates import Aggregate
    from coreplan.model.timmdp import TIMMDP, Agent


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
    numbers = [_Numbers(*both) for both in zip(problem.agents, agents, strict=True)]

    def condition_number(i: int, condition: Condition) -> int:
        if condition not in known[i]:
            known[i][condition] = len(agents[i].conditions)
            agents[i].conditions.append(numbers[i].of(condition))
        return known[i][condition]

    entries = []
    for k, function in enumerate(problem.rewards):
        for entry in function.entries:
            guard(0)
            members = sorted(
                (position[name], condition_number(position[name], condition))
                for name, condition in entry.when.items()
            )
            stages = None if entry.stages is None else tuple(entry.stages)
            entries.append(IndexedEntry(tuple(members), entry.value, stages, k))
    functions = [
        f"rewards[{k}] of {', '.join(function.scope)}" for k, function in enumerate(problem.rewards)
    ]
    aggregates = []
    for aggregate in problem.aggregates:
        guard(0)
        added = []
        for each in aggregate.amounts:
            ((name, condition),) = each.when.items()
            units = units_of(each.amount, aggregate.step)
            if units:
                i = position[name]
                added.append((i, condition_number(i, condition), units))
        # Aggregates of one name are one reward function.
        if aggregate.name not in functions[len(problem.rewards) :]:
            functions.append(aggregate.name)
        number = functions.index(aggregate.name, len(problem.rewards))
        aggregates.append(index_aggregate(aggregate, added, agents, number))
    indexed = IndexedProblem(
        problem.name,
        problem.horizon,
        stage,
        agents,
        entries,
        tuple(functions),
        aggregates,
        problem.discount,
    )
    for agent, start in zip(agents, indexed.find_state(stage, state), strict=True):
        agent.start = start
    return indexed


def index_aggregate(
    aggregate: Aggregate,
    added: Sequence[tuple[int, int, int]],
    agents: Sequence[IndexedAgent],
    function: int,
) -> IndexedAggregate:
    """Tabulate an aggregate, in the largest units that divide all its amounts."""
    unit = math.gcd(*(units for _, _, units in added)) or 1
    amounts = tuple((agent, condition, units // unit) for agent, condition, units in added)
    sums = largest_sum(amounts, agents)
    values = aggregate.values(sums * unit)[::unit]
    stages = None if aggregate.stages is None else tuple(aggregate.stages)
    return IndexedAggregate(amounts, values, stages, function)


def _index_agent(agent: Agent, horizon: int) -> IndexedAgent:
    states = NamedStates(agent.name, agent.states, agent.values)
    actions = agent.actions
    number = {action: k for k, action in enumerate(actions)}
    indexed = IndexedAgent(agent.name, states, actions, states.index[agent.initial])
    for name in states.names:
        for action, first, last, law in agent.timetable.spells(name, horizon):
            outcomes = [(states.index[after], chance) for after, chance in law.items()]
            indexed.add_choice(number[action], first, last, outcomes)
        indexed.end_state()
    return indexed


class _Numbers:
    """The numbers of an agent's states and actions that conditions name."""

    def __init__(self, agent: Agent, indexed: IndexedAgent) -> None:
        states = indexed.states
        assert isinstance(states, NamedStates)
        self._states = states.index
        self._matching_states = MatchingStates(states.names, agent.features)
        self._actions = {action: k for k, action in enumerate(indexed.actions)}

    def of(self, condition: Condition) -> IndexedCondition:
        """A condition by numbers."""
        actions = condition.action
        return IndexedCondition(
            self._matching(condition.state),
            None if actions is None else [self._actions[name] for name in actions],
            self._matching(condition.next),
        )

    def _matching(self, test: Any) -> list[int] | None:
        matching = self._matching_states.of(test)
        return None if matching is None else [self._states[name] for name in matching]
