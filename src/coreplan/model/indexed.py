"""Problems with numbered states and actions, as the core needs them, and the names of the numbers.

Every kind of problem turns itself into an :class:`IndexedProblem`. All solvers start from it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

from coreplan.errors import ModelError
from coreplan.support.checks import found, unknown_name

JointState = Mapping[str, Any]
"""A local state for each agent, by name: a state's name or, in an MPP, the progress of works."""


class StateSpace(Protocol):
    """The local states of one agent, with their names for people.

    :class:`NamedStates` is for states with plain names. A state may also remember a past that
    people do not ask for. Several states then look the same to people, see :meth:`situation`.
    """

    remembers: bool
    """Whether several states can look the same to people, see :meth:`situation`."""

    def __len__(self) -> int:
        """The number of local states."""

    def find(self, stage: int, given: Any) -> int:
        """The number of the state that a name means at a stage; raises a ModelError if unknown."""

    def value(self, index: int) -> Any:
        """A state by its name for people."""

    def original(self, index: int) -> Any:
        """A state as the value that people made it from; else by its name for people."""

    def label(self, index: int) -> str:
        """A state as one line of text, unique among the states."""

    def lines(self, index: int) -> list[str]:
        """A state as a few short lines of text, for pictures by stage."""

    def situation(self, index: int) -> Hashable:
        """The part of a state that does not depend on the past: equal if only the past differs."""

    def without_past(self, value: Any) -> Any:
        """A state by its name for people, without the past that it remembers."""

    def gives_past(self, value: Any) -> bool:
        """Whether a state by its name for people includes the past that states remember."""

    def outcome(self, action: int, after: int) -> Known:
        """The news that a state brings if chance led to it."""

    def achieved(self, index: int) -> frozenset[str]:
        """The milestones (see :class:`IndexedAgent`) that the agent has passed."""


class Known(NamedTuple):
    """News about one agent: the outcome of an action with several possible outcomes."""

    text: str
    """The news as text, for instance ``a1 is delayed``; by default the agent's next state."""
    task: str | None = None
    """The task that the news is about, if the domain has tasks."""
    delayed: bool | None = None
    """Whether that task is delayed, if tasks can be delayed."""


class IndexedCondition(NamedTuple):
    """A condition as lists of state and action numbers; None matches any."""

    states: Sequence[int] | None
    actions: Sequence[int] | None
    nexts: Sequence[int] | None


class IndexedEntry(NamedTuple):
    """A reward that is earned when the conditions of all its members match at once."""

    members: tuple[tuple[int, int], ...]
    """Pairs of an agent's number and the number of its condition, sorted by agent."""
    value: float
    stages: tuple[int, ...] | None
    function: int
    """The number of its reward function."""
    kind: str = "reward"
    """The kind of reward in the domain's terms, for instance ``revenue``."""
    subject: str | None = None
    """The subject, for instance a task; entries of one kind and subject belong together."""

    @property
    def agents(self) -> tuple[int, ...]:
        """The agents that it depends on."""
        return tuple(agent for agent, _ in self.members)


class IndexedAggregate(NamedTuple):
    """A reward for the sum of what agents add at the same stage."""

    amounts: tuple[tuple[int, int, int], ...]
    """An agent's number, the number of its condition, and the units that it then adds."""
    values: tuple[float, ...]
    """The reward for each sum of units, from 0 to the largest one."""
    stages: tuple[int, ...] | None
    function: int
    """The number of its reward function."""
    kind: str = "reward"
    """The kind of reward in the domain's terms, as in :class:`IndexedEntry`."""
    subject: str | None = None
    """The subject, as in :class:`IndexedEntry`."""

    @property
    def agents(self) -> tuple[int, ...]:
        """The agents that can add to the sum."""
        return tuple(sorted({agent for agent, _, _ in self.amounts}))


MANY_CHOICES = 64
"""A state with more choices than this keeps them sorted by stage."""
Spells = tuple[Sequence[int], Sequence[Sequence[int]]]
"""Stages, and the choices that are available from each of them to the next."""


class StageValue(NamedTuple):
    """A value of an entry, and the stages at which it has this value; None for all stages."""

    value: float
    stages: tuple[int, ...] | None


@dataclass(eq=False)
class IndexedAgent:
    """One agent in compressed rows: states → choices → outcomes.

    Attributes
    ----------
    name, states, actions, start
        The agent, its states, the names of its actions, and the state that it starts in.
    choice_begin
        Per state: where its choices begin; one more for the end.
    choice_action, choice_first, choice_last
        Per choice: the action, and the first and last stage in which it is available.
    outcome_begin
        Per choice: where its outcomes (transitions) begin; one more for the end.
    outcome_next, outcome_probability
        Per outcome: the next state, and how likely it is.
    conditions
        The conditions of rewards on a transition of this agent.
    tasks
        Per action: the task that it starts, where the domain has tasks; empty if it has none.
    stuck
        The usual reason for a state without actions, as text; empty if the domain gives none.
    milestones
        Events that people wait for, by name: the number of the condition that marks the event.
    """

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
    tasks: tuple[str | None, ...] = ()
    stuck: str = ""
    milestones: dict[str, int] = field(default_factory=dict)
    _spells: dict[int, Spells] = field(default_factory=dict, init=False, repr=False)
    """For each state with many choices that was asked for: which of them there are when."""

    def task_of(self, action: str) -> str | None:
        """The task that an action starts, or None."""
        return self.tasks[self.actions.index(action)] if self.tasks else None

    def add_choice(
        self, action: int, first: int, last: int, outcomes: Sequence[tuple[int, float]]
    ) -> None:
        """Add an action to the state under construction."""
        self.choice_action.append(action)
        self.choice_first.append(first)
        self.choice_last.append(last)
        for after, chance in outcomes:
            self.outcome_next.append(after)
            self.outcome_probability.append(chance)
        self.outcome_begin.append(len(self.outcome_next))

    def end_state(self) -> None:
        """Complete the state under construction and begin the next one."""
        self.choice_begin.append(len(self.choice_action))

    def choices(self, stage: int, state: int) -> dict[str, int]:
        """The actions available in a state at a stage: names, with the numbers of the choices."""
        mine: Sequence[int] = range(self.choice_begin[state], self.choice_begin[state + 1])
        if len(mine) > MANY_CHOICES:
            if state not in self._spells:
                self._spells[state] = self._find_spells(mine)
            begins, offered = self._spells[state]
            mine = offered[max(0, bisect_right(begins, stage) - 1)]
        return {
            self.actions[self.choice_action[c]]: c
            for c in mine
            if self.choice_first[c] <= stage <= self.choice_last[c]
        }

    def _find_spells(self, choices: Sequence[int]) -> Spells:
        starts: dict[int, list[int]] = {}
        ends: dict[int, list[int]] = {}
        for c in choices:
            starts.setdefault(self.choice_first[c], []).append(c)
            ends.setdefault(self.choice_last[c] + 1, []).append(c)
        begins = sorted({*starts, *ends})
        offered = []
        now: set[int] = set()
        for stage in begins:
            now.difference_update(ends.get(stage, ()))
            now.update(starts.get(stage, ()))
            offered.append(sorted(now))
        return begins, offered

    def find_choice(self, stage: int, state: int, action: object) -> int:
        """The number of the choice of an action, by its name; a ModelError if there is none."""
        known = self.choices(stage, state)
        if not isinstance(action, str) or action not in known:
            where = f"agent {found(self.name)} in state {self.states.label(state)!r}"
            raise ModelError(
                unknown_name(action, "action", list(known), f"{where} at stage {stage}")
            )
        return known[action]

    def outcomes(self, choice: int) -> list[tuple[int, int, float]]:
        """Transition, next state and probability of each outcome that can happen."""
        return [
            (o, self.outcome_next[o], self.outcome_probability[o])
            for o in range(self.outcome_begin[choice], self.outcome_begin[choice + 1])
            if self.outcome_probability[o] > 0
        ]


@dataclass(eq=False)
class IndexedProblem:
    """A problem as numbers. Planning starts at `stage`, in the agents' `start` states."""

    name: str
    horizon: int
    stage: int
    agents: list[IndexedAgent]
    entries: list[IndexedEntry]
    functions: tuple[str, ...]
    """The name of each reward function, for people."""
    aggregates: list[IndexedAggregate] = field(default_factory=list)
    discount: float = 1.0
    """Rewards of stage t count times `discount` to the power of t."""

    def weight(self, stage: int) -> float:
        """What rewards of a stage count. Stages count from 0, wherever planning starts."""
        return self.discount**stage

    @property
    def rewards(self) -> list[IndexedEntry | IndexedAggregate]:
        """All rewards by their numbers: the entries, then the aggregates."""
        return [*self.entries, *self.aggregates]

    @cached_property
    def agent_names(self) -> tuple[str, ...]:
        """The agents' names."""
        return tuple(agent.name for agent in self.agents)

    def find_state(self, stage: int, joint_state: JointState | None) -> tuple[int, ...]:
        """The state numbers of a joint state; None means the state in which planning starts."""
        if joint_state is None:
            return tuple(agent.start for agent in self.agents)
        states = by_agent(joint_state, self.agent_names, "state")
        return tuple(
            agent.states.find(stage, given)
            for agent, given in zip(self.agents, states, strict=True)
        )

    def find_choices(
        self, stage: int, state: Sequence[int], joint_action: object
    ) -> tuple[int, ...]:
        """The numbers of the agents' choices for a joint action, by names."""
        actions = by_agent(joint_action, self.agent_names, "action")
        return tuple(
            agent.find_choice(stage, at, action)
            for agent, at, action in zip(self.agents, state, actions, strict=True)
        )

    def name_state(self, state: Sequence[int]) -> dict[str, Any]:
        """A joint state by its names for people."""
        return {
            agent.name: agent.states.value(index)
            for agent, index in zip(self.agents, state, strict=True)
        }

    def original_state(self, state: Sequence[int]) -> dict[str, Any]:
        """A joint state by the values that people made its states from."""
        return {
            agent.name: agent.states.original(index)
            for agent, index in zip(self.agents, state, strict=True)
        }


def by_agent(given: object, names: Sequence[str], what: str) -> list[Any]:
    """Sort the parts of a joint state or action by agent; each agent must have exactly one."""
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
            f"the joint {what} lacks agent {', '.join(found(name) for name in missing)}; give "
            f"one {what} for each agent"
        )
    return [given[name] for name in names]


class NamedStates:
    """Local states with plain names, which remember no past.

    Parameters
    ----------
    agent
        The agent's name, for messages.
    names
        The names of the states.
    values
        The values that states were made from, by name; people may give them instead of names.
    """

    remembers = False

    def __init__(
        self,
        agent: str,
        names: Sequence[str],
        values: Mapping[str, Hashable] = MappingProxyType({}),
    ) -> None:
        self._agent = agent
        self._values = values
        self.names = tuple(names)
        self.index = {name: k for k, name in enumerate(self.names)}

    def __len__(self) -> int:
        return len(self.names)

    def find(self, stage: int, given: Any) -> int:
        """The number of the state with this name, or made from this value."""
        if isinstance(given, str) and given in self.index:
            return self.index[given]
        try:
            number = self._by_value.get(given)
        except TypeError:  # it cannot be looked up, for instance a list
            number = None
        if number is None:
            raise ModelError(
                unknown_name(given, "state", self.names, f"agent {found(self._agent)}")
            )
        return number

    @cached_property
    def _by_value(self) -> dict[Hashable, int]:
        return {value: self.index[name] for name, value in self._values.items()}

    def value(self, index: int) -> str:
        """The state's name."""
        return self.names[index]

    label = value

    def original(self, index: int) -> Any:
        """The value that the state was made from; its name if there is none."""
        name = self.names[index]
        return self._values.get(name, name)

    def lines(self, index: int) -> list[str]:
        """The name on one line."""
        return [self.names[index]]

    def situation(self, index: int) -> Hashable:
        """The state itself: it remembers nothing else."""
        return index

    def without_past(self, value: Any) -> Any:
        """The name itself."""
        return value

    def gives_past(self, value: Any) -> bool:
        """Always true: the states remember no past."""
        return True

    def outcome(self, action: int, after: int) -> Known:
        """The next state's name."""
        return Known(self.names[after])

    def achieved(self, index: int) -> frozenset[str]:
        """Always empty: these agents have no milestones."""
        return frozenset()
