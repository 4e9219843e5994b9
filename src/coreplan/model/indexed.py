"""Problems as numbers: what the core is given, with the way back to names.

Every kind of problem turns itself into an :class:`IndexedProblem`; from here on there is one way.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, Protocol

from coreplan.errors import ModelError
from coreplan.model.timmdp import TIMMDP, Agent, Condition
from coreplan.support.checks import found, unknown_name

JointState = Mapping[str, Any]
"""A local state for each agent, by name: a state's name or, in an MPP, what has been done."""


class StateSpace(Protocol):
    """How people name one agent's local states."""

    def __len__(self) -> int:
        """The number of local states."""

    def find(self, stage: int, given: Any) -> int:
        """The number of the state that is meant at a stage, or a ModelError that says why not."""

    def value(self, index: int) -> Any:
        """A state as people name it."""

    def label(self, index: int) -> str:
        """A state's name as one line of text, different for different states."""


class IndexedCondition(NamedTuple):
    """A condition as lists of numbers; None matches anything."""

    states: Sequence[int] | None
    actions: Sequence[int] | None
    nexts: Sequence[int] | None


class IndexedEntry(NamedTuple):
    """A reward for what several agents do at once."""

    members: tuple[tuple[int, int], ...]
    """(agent, number of its condition), by agent."""
    value: float
    stages: tuple[int, ...] | None
    function: int
    """Which reward function it belongs to."""


@dataclass(eq=False)
class IndexedAgent:
    """One agent in compressed rows: states → choices → outcomes."""

    name: str
    states: StateSpace
    actions: tuple[str, ...]
    start: int
    choice_begin: list[int] = field(default_factory=lambda: [0])
    choice_action: list[int] = field(default_factory=list)
    choice_first: list[int] = field(default_factory=list)
    choice_last: list[int] = field(default_factory=list)
    outcome_begin: list[int] = field(default_factory=lambda: [0])
    outcome_next: list[int] = field(default_factory=list)
    outcome_probability: list[float] = field(default_factory=list)
    conditions: list[IndexedCondition] = field(default_factory=list)

    def add_choice(
        self, action: int, first: int, last: int, outcomes: Sequence[tuple[int, float]]
    ) -> None:
        """Add an action to the state that is being described."""
        self.choice_action.append(action)
        self.choice_first.append(first)
        self.choice_last.append(last)
        for after, chance in outcomes:
            self.outcome_next.append(after)
            self.outcome_probability.append(chance)
        self.outcome_begin.append(len(self.outcome_next))

    def end_state(self) -> None:
        """Go on to the next state."""
        self.choice_begin.append(len(self.choice_action))

    def choices(self, stage: int, state: int) -> dict[str, int]:
        """The actions that are available, by name, with the number of the choice."""
        return {
            self.actions[self.choice_action[c]]: c
            for c in range(self.choice_begin[state], self.choice_begin[state + 1])
            if self.choice_first[c] <= stage <= self.choice_last[c]
        }

    def outcomes(self, choice: int) -> list[tuple[int, int, float]]:
        """(transition, next state, probability > 0) of a choice."""
        return [
            (o, self.outcome_next[o], self.outcome_probability[o])
            for o in range(self.outcome_begin[choice], self.outcome_begin[choice + 1])
            if self.outcome_probability[o] > 0
        ]


@dataclass(eq=False)
class IndexedProblem:
    """A problem as numbers. `stage` is where planning starts, in the agents' `start` states."""

    name: str
    horizon: int
    stage: int
    agents: list[IndexedAgent]
    entries: list[IndexedEntry]
    functions: tuple[str, ...]
    """A name for each reward function, for people."""

    @cached_property
    def agent_names(self) -> tuple[str, ...]:
        """The agents' names."""
        return tuple(agent.name for agent in self.agents)

    def find_state(self, stage: int, joint_state: JointState | None) -> tuple[int, ...]:
        """The numbers of a joint state; None means the state that planning starts in."""
        if joint_state is None:
            return tuple(agent.start for agent in self.agents)
        states = by_agent(joint_state, self.agent_names, "state")
        return tuple(
            agent.states.find(stage, given)
            for agent, given in zip(self.agents, states, strict=True)
        )

    def name_state(self, state: Sequence[int]) -> dict[str, Any]:
        """A joint state as people name it."""
        return {
            agent.name: agent.states.value(index)
            for agent, index in zip(self.agents, state, strict=True)
        }


def by_agent(given: object, names: Sequence[str], what: str) -> list[Any]:
    """The parts of a joint state or action in the agents' order; exactly one for each agent."""
    if not isinstance(given, Mapping):
        raise ModelError(
            f"found {found(given)}; expected one {what} for each agent, by the agents' names"
        )
    for name in given:
        if name not in names:
            raise ModelError(unknown_name(name, "agent", names, "the problem"))
    missing = [name for name in names if name not in given]
    if missing:
        raise ModelError(
            f"the joint {what} says nothing of " + ", ".join(found(name) for name in missing)
        )
    return [given[name] for name in names]


class NamedStates:
    """The state space of an agent whose states have plain names."""

    def __init__(self, agent: Agent) -> None:
        self._agent = agent
        self.names = agent.states
        self.index = {name: k for k, name in enumerate(self.names)}

    def __len__(self) -> int:
        return len(self.names)

    def find(self, stage: int, given: Any) -> int:
        """The number of a named state."""
        if not isinstance(given, str) or given not in self.index:
            raise ModelError(
                unknown_name(given, "state", self.names, f"agent {found(self._agent.name)}")
            )
        return self.index[given]

    def value(self, index: int) -> str:
        """The state's name."""
        return self.names[index]

    label = value


def index_timmdp(
    problem: TIMMDP,
    *,
    stage: int = 0,
    state: JointState | None = None,
    guard: Callable[[int], None] = lambda _: None,
) -> IndexedProblem:
    """Turn a TI-MMDP into numbers, to be planned from a stage and joint state on.

    The guard is called once in a while, with 0: the states are in memory already.
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
    states = NamedStates(agent)
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
