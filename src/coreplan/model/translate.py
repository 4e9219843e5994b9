"""Numbering the states, actions and conditions of a TI-MMDP."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
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
    functions = tuple(
        f"rewards[{k}] of {', '.join(function.scope)}" for k, function in enumerate(problem.rewards)
    )
    indexed = IndexedProblem(
        problem.name,
        problem.horizon,
        stage,
        agents,
        entries,
        functions,
        discount=problem.discount,
    )
    for agent, start in zip(agents, indexed.find_state(stage, state), strict=True):
        agent.start = start
    return indexed


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
        self._agent = agent
        self._states = states.index
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
        if test is None:
            return None
        if isinstance(test, tuple):
            return [self._states[name] for name in test]
        # The values of features are looked up: there may be as many conditions as states.
        sets = [
            self._with_feature.get((name, isinstance(value, bool), value), [])
            for name, value in test.items()
        ]
        if not sets:
            return list(range(len(self._states)))
        smallest = min(sets, key=len)
        others = [set(each) for each in sets if each is not smallest]
        return [k for k in smallest if all(k in each for each in others)]

    @cached_property
    def _with_feature(self) -> dict[tuple[str, bool, Any], list[int]]:
        """The states that have a value of a feature, in order."""
        found: dict[tuple[str, bool, Any], list[int]] = {}
        for state, features in self._agent.features.items():
            for name, value in features.items():
                found.setdefault((name, isinstance(value, bool), value), []).append(
                    self._states[state]
                )
        return {key: sorted(numbers) for key, numbers in found.items()}
