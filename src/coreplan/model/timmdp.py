"""The description of a transition-independent multi-agent MDP (TI-MMDP): frozen and validated.

Each agent has its own local states and actions, and moves with its own probabilities. Reward
functions look at the transitions (state, action, next state) of the agents in their scope. The team
maximises the expected sum of rewards over a finite number of stages. Every agent sees the
whole joint state.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from coreplan.errors import MOST_PROBLEMS, Diagnostic, ModelError
from coreplan.files.writing import tidy
from coreplan.model.aggregates import (
    Aggregate,
    check_aggregate,
    conditions_of_amounts,
    tabulated,
)
from coreplan.model.boxes import Box, MoveTable, joint_boxes
from coreplan.model.conditions import (
    Condition,
    Features,
    FeatureValue,
    StateTest,
    Vocabulary,
    check_condition,
    check_feature_value,
    check_stages,
    freeze_mapping,
    same_feature,
    unknown_values,
)
from coreplan.model.document import format_of, timmdp_to_dict
from coreplan.model.indexed import IndexedProblem, JointState, NamedStates, StageValue
from coreplan.model.problem import Guard, PlanningProblem, no_limits
from coreplan.model.transitions import (
    PROBABILITY_TOLERANCE,
    StageTransitions,
    Timetable,
    Transitions,
    check_actions_exist,
    check_changes,
    check_transitions,
    freeze_transitions,
)
from coreplan.model.translate import index_timmdp
from coreplan.support.checks import (
    AGENT_NAMES,
    MOST_STAGES,
    Path,
    check_distinct,
    check_integer,
    check_name,
    check_number,
    float_if_number,
    found,
    is_integer,
    is_number,
    unknown_name,
)
from coreplan.support.frozen import FrozenMapping, freeze_sequence


def _check_hashable(name: object, path: Path) -> None:
    """Refuse a name that cannot be looked up; the later checks need lookups."""
    if not isinstance(name, Hashable):
        raise ModelError([Diagnostic(path, f"found {found(name)}; expected a name (a text)")])


@dataclass(frozen=True, slots=True)
class Entry:
    """A reward that is earned whenever all its conditions match.

    Parameters
    ----------
    when
        A condition for each agent that the entry looks at, by the agent's name.
    value
        The reward; may be negative.
    stages
        The stages at which it can be earned; None means all.
    """

    when: Mapping[str, Condition] = field(default_factory=FrozenMapping)
    value: float = 0.0
    stages: Sequence[int] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "when", freeze_mapping(self.when, ("when",), "agents' conditions"))
        object.__setattr__(self, "value", float_if_number(self.value))
        if self.stages is not None:
            stages = freeze_sequence(self.stages, ("stages",), "a list of stages")
            stages = tuple(int(t) if is_integer(t) else t for t in stages)
            object.__setattr__(self, "stages", stages)


MOST_CALLS = 10_000_000
"""The most calls of a function of rewards, unless more are asked for."""
_CALLS_BETWEEN_NEWS = 10_000
MOST_STATES = 1_000_000
"""The most states of an agent made from functions, unless more are asked for."""


class Transition(NamedTuple):
    """One agent's move: state, action and next state."""

    state: Any
    action: str
    next: Any


class _Asking:
    """Asks a function for rewards, and numbers those that differ; number 0 stands for no reward."""

    def __init__(
        self,
        function: Callable[..., float],
        agents: Sequence[Agent],
        stages: tuple[int, ...] | None,
        calls: int,
        progress: Callable[[int, int], None] | None,
    ) -> None:
        self._function = function
        self._agents = agents
        self._stages = stages
        self._calls = calls
        self._progress = progress
        self._done = 0
        self._numbers: dict[tuple[float, ...], int] = {}
        self.values: list[list[tuple[float, tuple[int, ...] | None]]] = [[]]
        """For each number the rewards, each with its stages; None means all stages."""

    def number(self, moves: tuple[Transition, ...]) -> int:
        """The number of the rewards of a joint transition, at all stages."""
        if self._stages is None:
            rewards: tuple[float, ...] = (self._ask(moves, {}),)
        else:
            rewards = tuple(self._ask(moves, {"stage": stage}) for stage in self._stages)
        if not any(rewards):
            return 0
        number = self._numbers.setdefault(rewards, len(self.values))
        if number == len(self.values):
            by_value: dict[float, list[int]] = {}
            for position, value in enumerate(rewards):
                if value != 0:
                    by_value.setdefault(value, []).append(position)
            stages = self._stages
            self.values.append(
                [
                    (value, None if stages is None else tuple(stages[k] for k in at))
                    for value, at in by_value.items()
                ]
            )
        return number

    def _ask(self, moves: tuple[Transition, ...], at: dict[str, int]) -> float:
        if self._progress is not None:
            if self._done % _CALLS_BETWEEN_NEWS == 0:
                self._progress(self._done, self._calls)
            self._done += 1
            if self._done == self._calls:
                self._progress(self._done, self._calls)
        given = {a.name: move for a, move in zip(self._agents, moves, strict=True)}
        try:
            value = self._function(*moves, **at)
        except Exception as error:
            raise ModelError(
                f"the function of rewards failed for {_moves_in_words(given, at)}: "
                f"{type(error).__name__}: {error}"
            ) from error
        if not is_number(value):
            raise ModelError(
                f"the function of rewards returned {found(value)} for {_moves_in_words(given, at)};"
                " expected a number"
            )
        return float(value)


def _moves_in_words(moves: Mapping[str, Transition], at: Mapping[str, int]) -> str:
    words = [
        f"agent {found(name)} from {found(move.state)} by {found(move.action)} to "
        f"{found(move.next)}"
        for name, move in moves.items()
    ]
    return ", ".join([*words, *(f"stage {stage}" for stage in at.values())])


@dataclass(frozen=True)
class RewardFunction:
    """A reward over the transitions of the agents in its scope: the sum of matching entries.

    Parameters
    ----------
    scope
        Names of the agents whose transitions it may look at.
    entries
        The rewards, each with its conditions.
    """

    scope: Sequence[str]
    entries: Sequence[Entry] = ()
    made_from: tuple[Agent, ...] = field(default=(), compare=False, repr=False, kw_only=True)
    """For a reward function made from a function: the agents whose transitions it was asked for."""

    def __post_init__(self) -> None:
        object.__setattr__(
            self, "scope", freeze_sequence(self.scope, ("scope",), "a list of agents' names")
        )
        for position, name in enumerate(self.scope):
            _check_hashable(name, ("scope", position))
        object.__setattr__(
            self, "entries", freeze_sequence(self.entries, ("entries",), "entries", Entry)
        )

    def __repr__(self) -> str:
        """The scope and the number of entries: there may be very many."""
        entries = "1 entry" if len(self.entries) == 1 else f"{len(self.entries):,} entries"
        return f"<RewardFunction of {', '.join(map(str, self.scope))}: {entries}>"

    @classmethod
    def from_function(
        cls,
        agents: Sequence[Agent],
        function: Callable[..., float],
        *,
        stages: Iterable[int] | None = None,
        progress: Callable[[int, int], None] | None = None,
        most_calls: int = MOST_CALLS,
    ) -> RewardFunction:
        """Make the entries of a reward function by calling it for all transitions.

        Transitions with equal rewards become few entries. A problem with this reward function
        checks that its agents have no other transitions than those here.

        Parameters
        ----------
        agents
            The agents in scope.
        function
            Called with one :class:`Transition` per agent and, if `stages` is given, the keyword
            ``stage``; returns the reward. States are the values that the agent was made from.
        stages
            The stages for which it is called; None if the reward is the same at all stages.
        progress
            Called now and then with the number of calls so far and of all calls.
        most_calls
            The most calls; if more are needed, an error says so at once.

        Raises
        ------
        ModelError
            If too many calls are needed, or if a call fails or returns no number; the message
            names the transitions.

        Examples
        --------
        A light that costs 2 for every step in which it is on and stays on:

        >>> light = Agent.from_functions(
        ...     "light", 0, lambda s: ["keep", "flip"],
        ...     lambda s, a: {s if a == "keep" else 1 - s: 1.0}, horizon=2)
        >>> reward = RewardFunction.from_function([light], lambda t: -2 * t.state * t.next)
        >>> [(entry.value, dict(entry.when)) for entry in reward.entries]
        [(-2.0, {'light': Condition(state=('1',), action=('keep',), next=None)})]
        """
        times = None if stages is None else tuple(stages)
        moves = [list(agent.moves()) for agent in agents]
        calls = math.prod(map(len, moves)) * (1 if times is None else len(times))
        if calls > most_calls:
            sizes = ", ".join(
                f"{len(own):,} of {found(agent.name)}"
                for agent, own in zip(agents, moves, strict=True)
            )
            raise ModelError(
                f"the function of rewards would be called {calls:,} times, for all combinations of "
                f"transitions ({sizes}); the most is most_calls = {most_calls:,}. Write a sum of "
                "functions of fewer agents, or entries with conditions"
            )
        ask = _Asking(function, agents, times, calls, progress)
        valued = [
            [
                move._replace(state=agent.value_of(move.state), next=agent.value_of(move.next))
                for move in own
            ]
            for agent, own in zip(agents, moves, strict=True)
        ]
        numbers = np.fromiter(
            (ask.number(joint) for joint in itertools.product(*valued)),
            np.int32,
            math.prod(map(len, moves)),
        ).reshape([len(own) for own in moves])
        tables = [MoveTable(own) for own in moves]
        entries = [
            Entry(
                {
                    agent.name: Condition(*box)
                    for agent, box in zip(agents, boxes, strict=True)
                    if box != Box()
                },
                value,
                at,
            )
            for boxes, number in (joint_boxes(tables, numbers) if agents else ())
            for value, at in ask.values[number]
        ]
        names = tuple(agent.name for agent in agents)
        return cls(names, tuple(entries), made_from=tuple(agents))


class _Builder:
    """Calls the functions that an agent is made from, and says where they fail."""

    def __init__(
        self,
        agent: str,
        actions: Callable[..., Iterable[str]],
        outcomes: Callable[..., Mapping[Any, float]],
        label: Callable[[Any], str] | None,
        features: Callable[[Any], Mapping[str, FeatureValue]] | None,
    ) -> None:
        self._agent = agent
        self._actions = actions
        self._outcomes = outcomes
        self._label = label
        self._features = features
        self.names: dict[Hashable, str] = {}
        self.taken: dict[str, Hashable] = {}
        """The state behind each name."""

    def name_of(self, state: Hashable) -> str:
        """The name of a state, which no other state has."""
        known = self.names.get(state)
        if known is not None:
            return known
        if self._label is not None:
            made = self._call("label", self._label, state)
            if not isinstance(made, str):
                raise self._wrong("label", made, "a text", state)
        else:
            made = state if isinstance(state, str) else repr(_plain(state))
        if made in self.taken:
            raise ModelError(
                f"agent {found(self._agent)}: the states {found(self.taken[made])} and "
                f"{found(state)} are both labelled {found(made)}; give a `label` that tells them "
                "apart"
            )
        self.names[state] = made
        self.taken[made] = state
        return made

    def actions_of(self, state: Hashable, at: Mapping[str, int]) -> list[str]:
        """The actions of a state: one or more, unless they are asked for by stage."""
        given = self._call("actions", self._actions, state, **at)
        if isinstance(given, str) or not isinstance(given, Iterable):
            raise self._wrong("actions", given, "a list of actions", state, **at)
        listed = list(given)
        if not listed and not at:
            raise ModelError(
                f"agent {found(self._agent)}: `actions` returned no action for the state "
                f"{found(state)}; return at least one, for instance one that stays"
            )
        return listed

    def law_of(
        self, state: Hashable, action: str, at: Mapping[str, int]
    ) -> Mapping[Hashable, float]:
        """The probabilities of the next states."""
        law = self._call("outcomes", self._outcomes, state, action, **at)
        if not isinstance(law, Mapping):
            what = "a mapping next state -> probability"
            raise self._wrong("outcomes", law, what, state, action, **at)
        chances = list(law.values())
        for after, chance in law.items():
            if not is_number(chance) or chance < 0:
                wanted = f"a probability, for the next state {found(after)}"
                raise self._wrong("outcomes", chance, wanted, state, action, **at)
        if abs(math.fsum(chances) - 1) > PROBABILITY_TOLERANCE:
            raise ModelError(
                f"agent {found(self._agent)}: the probabilities that `outcomes` returned for "
                f"{_asked(state, action, **at)} add up to {math.fsum(chances):.12g}; expected 1"
            )
        return law

    def features_of(self, state: Hashable) -> dict[str, FeatureValue]:
        """The features of a state."""
        if self._features is None:
            return {}
        given = self._call("features", self._features, state)
        if not isinstance(given, Mapping):
            raise self._wrong("features", given, "a mapping feature -> value", state)
        return dict(given)

    def _call(self, what: str, function: Callable[..., Any], *asked: Any, **at: int) -> Any:
        try:
            return function(*asked, **at)
        except ModelError:
            raise
        except Exception as error:
            raise ModelError(
                f"agent {found(self._agent)}: `{what}` failed for {_asked(*asked, **at)}: "
                f"{type(error).__name__}: {error}"
            ) from error

    def _wrong(
        self, what: str, returned: object, wanted: str, *asked: Any, **at: int
    ) -> ModelError:
        return ModelError(
            f"agent {found(self._agent)}: `{what}` returned {found(returned)} for "
            f"{_asked(*asked, **at)}; expected {wanted}"
        )


def _asked(state: Hashable, *action: str, **at: int) -> str:
    words = [f"the state {found(state)}", *(f"action {found(each)}" for each in action)]
    return " and ".join([*words, *(f"stage {stage}" for stage in at.values())])


Row = dict[str, dict[str, float]]
"""The actions of a state, with their outcomes."""


def _usual_row(rows: Sequence[Row]) -> tuple[Row, list[tuple[tuple[int, ...], Row]]]:
    """The row that counts at most stages, and the other rows with their stages."""
    distinct: list[Row] = []
    stages: list[list[int]] = []
    for stage, row in enumerate(rows):
        # Mostly a row is that of the stage before.
        same = [k for k in reversed(range(len(distinct))) if _same_row(distinct[k], row)]
        if not same:
            distinct.append(row)
            stages.append([])
        stages[same[0] if same else -1].append(stage)
    most = max(range(len(distinct)), key=lambda k: len(stages[k]))
    others = [(tuple(stages[k]), distinct[k]) for k in range(len(distinct)) if k != most]
    return distinct[most], others


def _same_row(one: Row, other: Row) -> bool:
    """Whether the actions are the same, in the same order, with the same outcomes."""
    return list(one) == list(other) and one == other


def _plain(value: object) -> object:
    """A value with plain numbers in place of those of numpy."""
    if isinstance(value, np.generic):
        return value.item()
    if type(value) is tuple:
        return tuple(map(_plain, value))
    if type(value) is frozenset:
        return frozenset(map(_plain, value))
    return value


@dataclass(frozen=True)
class Agent:
    """One member of the team: its local states, actions and transition probabilities.

    Parameters
    ----------
    name
        The name of the agent.
    initial
        The state at stage 0.
    transitions
        State → action → next state → probability. The actions of a state are the keys under it.
    features
        State → named properties, which conditions can test.
    transitions_at
        Other actions of some states at some stages.
    """

    name: str
    initial: str
    transitions: Mapping[str, Mapping[str, Mapping[str, float]]]
    features: Mapping[str, Mapping[str, FeatureValue]] = field(default_factory=FrozenMapping)
    transitions_at: Sequence[StageTransitions] = field(default=(), kw_only=True)
    values: Mapping[str, Hashable] = field(
        default_factory=FrozenMapping, compare=False, repr=False, kw_only=True
    )
    """For an agent made from functions: the value behind each state's name."""

    def __post_init__(self) -> None:
        _check_hashable(self.name, ("name",))
        _check_hashable(self.initial, ("initial",))
        object.__setattr__(self, "transitions", freeze_transitions(self.transitions))
        features = freeze_mapping(self.features, ("features",), "a mapping state -> features")
        object.__setattr__(
            self,
            "features",
            FrozenMapping(
                {
                    state: Features(
                        freeze_mapping(each, ("features", str(state)), "a mapping feature -> value")
                    )
                    for state, each in features.items()
                }
            ),
        )
        object.__setattr__(self, "values", FrozenMapping(self.values))
        changes = freeze_sequence(
            self.transitions_at, ("transitions_at",), "transitions at stages", StageTransitions
        )
        object.__setattr__(self, "transitions_at", changes)

    def __repr__(self) -> str:
        """The name and the size: tables may be very large."""
        return f"<Agent {self.name!r}: {len(self.states):,} states, {len(self.actions):,} actions>"

    @classmethod
    def from_functions(
        cls,
        name: str,
        initial: Hashable,
        actions: Callable[..., Iterable[str]],
        outcomes: Callable[..., Mapping[Any, float]],
        *,
        horizon: int | None = None,
        label: Callable[[Any], str] | None = None,
        features: Callable[[Any], Mapping[str, FeatureValue]] | None = None,
        most_states: int = MOST_STATES,
        by_stage: bool = False,
    ) -> Agent:
        """Make an agent from functions, with all states that it can reach.

        Parameters
        ----------
        name
            The agent's name.
        initial
            The state at stage 0. States may be any hashable values.
        actions
            The actions that are available in a state.
        outcomes
            The probabilities of the next states, given a state and an action.
        horizon
            The number of decisions: only the states reached by then are made, and the agent cannot
            be used for more decisions. None: all states that can ever be reached.
        label
            Makes the name of a state; default: the value itself if it is a text, else its
            ``repr``, with numbers of numpy as plain ones.
        features
            Makes the features of a state; default: none.
        most_states
            The most states; if there are more, an error says so.
        by_stage
            Whether `actions` and `outcomes` depend on the stage. They are then called with the
            keyword ``stage``, for every state and every stage before the horizon; `actions` may
            return nothing for stages at which the agent cannot be in the state.

        Raises
        ------
        ModelError
            If a function fails or returns something else than it should; the message names the
            state and the action.

        Examples
        --------
        A machine that wears out, and can be repaired from wear 2 on:

        >>> def outcomes(wear, action):
        ...     return {0: 1.0} if action == "repair" else {wear: 0.5, wear + 1: 0.5}
        >>> machine = Agent.from_functions(
        ...     "machine", 0, lambda wear: ["run", "repair"] if wear > 1 else ["run"],
        ...     outcomes, horizon=3)
        >>> list(machine.states)
        ['0', '1', '2', '3']
        >>> dict(machine.transitions["2"]["repair"])
        {'0': 1.0}
        """
        if by_stage and horizon is None:
            raise ModelError(
                f"agent {found(name)} depends on the stage, so its functions are called for every "
                "stage; give the `horizon`"
            )
        ask = _Builder(name, actions, outcomes, label, features)
        asked = [{"stage": t} for t in range(horizon or 0)] if by_stage else [{}]
        transitions: dict[str, Row] = {}
        changes: dict[tuple[int, ...], dict[str, Row]] = {}
        layer = [initial]
        ask.name_of(initial)
        for _ in itertools.count() if horizon is None else range(horizon):
            following: list[Hashable] = []
            for state in layer:
                if ask.name_of(state) in transitions:
                    continue
                rows: list[Row] = []
                for at in asked:
                    row: Row = {}
                    for action in ask.actions_of(state, at):
                        law = ask.law_of(state, action, at)
                        following += [after for after, chance in law.items() if chance > 0]
                        row[action] = {ask.name_of(after): chance for after, chance in law.items()}
                        if len(ask.names) > most_states:
                            raise ModelError(
                                f"agent {found(name)} can reach more than {most_states:,} states; "
                                "give a `horizon`, or `most_states` if there really are more"
                            )
                    rows.append(row)
                usual, others = _usual_row(rows)
                transitions[ask.name_of(state)] = usual
                for stages, row in others:
                    changes.setdefault(stages, {})[ask.name_of(state)] = row
            layer = following
            if not layer:
                break
        described = {text: ask.features_of(state) for state, text in ask.names.items()}
        return cls(
            name,
            ask.name_of(initial),
            transitions,
            {text: own for text, own in described.items() if own},
            transitions_at=[StageTransitions(*change) for change in changes.items()],
            values=ask.taken,
        )

    @property
    def _tables(self) -> list[Transitions]:
        """The transitions of all stages, then those of some."""
        changed = [change.transitions for change in self.transitions_at]
        return [self.transitions, *changed]

    @property
    def states(self) -> tuple[str, ...]:
        """All states: those with actions, the initial one, and all outcomes, in this order.

        A state that only `transitions_at` gives actions to does not exist.
        """
        laws = (law for table in self._tables for row in table.values() for law in row.values())
        outcomes = itertools.chain.from_iterable(law.keys() for law in laws)
        return tuple(dict.fromkeys((*self.transitions.keys(), self.initial, *outcomes)))

    @property
    def actions(self) -> tuple[str, ...]:
        """The names of all actions, in order of first appearance."""
        rows = (row.keys() for table in self._tables for row in table.values())
        return tuple(dict.fromkeys(itertools.chain.from_iterable(rows)))

    @cached_property
    def timetable(self) -> Timetable:
        """The actions of all states, stage by stage."""
        return Timetable(self.transitions, self.transitions_at)

    def actions_of(self, state: str, stage: int) -> Mapping[str, Mapping[str, float]]:
        """The actions of a state at a stage, each with the probabilities of next states."""
        return self.timetable.at(state, stage)

    def moves(self) -> Iterable[Transition]:
        """All transitions of positive probability, of any stage."""
        known: set[Transition] = set()
        for table in self._tables:
            for state, actions in table.items():
                for action, law in actions.items():
                    for after, chance in law.items():
                        move = Transition(state, action, after)
                        if chance > 0 and move not in known:
                            if self.transitions_at:
                                known.add(move)
                            yield move

    def value_of(self, state: str) -> Hashable:
        """The value behind a state's name (the name itself, unless made from functions)."""
        return self.values.get(state, state)

    def matches(self, test: StateTest, state: str) -> bool:
        """Whether a state passes the `state` or `next` part of a condition."""
        if test is None:
            return True
        if isinstance(test, tuple):
            return state in test
        own = self.features.get(state, FrozenMapping())
        return all(name in own and same_feature(own[name], value) for name, value in test.items())


@dataclass(frozen=True)
class TIMMDP(PlanningProblem):
    """A transition-independent multi-agent MDP.

    Parameters
    ----------
    agents
        The agents, one or more.
    rewards
        The reward functions; the team's reward is their sum.
    horizon
        The number of decisions, at stages 0 to horizon - 1.
    name
        The name of the problem, for people.
    aggregates
        Rewards for sums over agents, which the team gets as well. Functions are replaced by their
        tables.
    discount
        Above 0 and at most 1: rewards of stage t count times `discount` to the power of t. Stages
        count from 0, also where planning starts later.
    allow_unknown_values
        Whether conditions may ask for a value of a feature that no state has, and so match nothing:
        files may have such conditions. Otherwise they are errors.

    Raises
    ------
    ModelError
        If the description is invalid, with all mistakes that were found.

    Examples
    --------
    From Python tables:

    >>> robot = Agent("robot", "home", {
    ...     "home": {"go": {"there": 0.8, "home": 0.2}, "wait": {"home": 1}},
    ...     "there": {"wait": {"there": 1}}})
    >>> goal = RewardFunction(("robot",), (
    ...     Entry({"robot": Condition(action="go", next="there")}, 10),))
    >>> problem = TIMMDP((robot,), (goal,), horizon=2, name="one robot")
    >>> from coreplan import solve
    >>> round(solve(problem).value, 6)
    9.6
    """

    agents: Sequence[Agent]
    rewards: Sequence[RewardFunction] = ()
    horizon: int = 1
    name: str = "problem"
    aggregates: Sequence[Aggregate] = field(default=(), kw_only=True)
    discount: float = field(default=1.0, kw_only=True)
    allow_unknown_values: bool = field(default=False, compare=False, kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(
            self, "agents", freeze_sequence(self.agents, ("agents",), "agents", Agent)
        )
        object.__setattr__(
            self,
            "rewards",
            freeze_sequence(self.rewards, ("rewards",), "reward functions", RewardFunction),
        )
        aggregates = freeze_sequence(self.aggregates, ("aggregates",), "aggregates", Aggregate)
        object.__setattr__(self, "aggregates", aggregates)
        if is_integer(self.horizon):
            object.__setattr__(self, "horizon", int(self.horizon))
        if is_number(self.discount):
            object.__setattr__(self, "discount", float(self.discount))
        problems = list(
            itertools.islice(
                check_timmdp(
                    self.name,
                    self.horizon,
                    self.agents,
                    self.rewards,
                    self.aggregates,
                    discount=self.discount,
                    allow_unknown_values=self.allow_unknown_values,
                ),
                MOST_PROBLEMS,
            )
        )
        if problems:
            raise ModelError(problems)
        by_name = {agent.name: agent for agent in self.agents}
        tables = [
            tabulated(each, ("aggregates", k), by_name, self.horizon)
            for k, each in enumerate(aggregates)
        ]
        object.__setattr__(self, "aggregates", tuple(itertools.chain.from_iterable(tables)))

    __repr__ = PlanningProblem.__repr__

    def agent(self, name: str) -> Agent:
        """Look up an agent by its name."""
        for agent in self.agents:
            if agent.name == name:
                return agent
        raise ModelError(
            unknown_name(name, "agent", [agent.name for agent in self.agents], "the problem")
        )

    @property
    def initial_state(self) -> dict[str, str]:
        """The joint state at stage 0, by agents' names."""
        return {agent.name: agent.initial for agent in self.agents}

    @property
    def agent_names(self) -> tuple[str, ...]:
        """The agents' names."""
        return tuple(agent.name for agent in self.agents)

    def index(
        self,
        *,
        history: bool = False,
        stage: int = 0,
        state: JointState | None = None,
        guard: Guard = no_limits,
    ) -> IndexedProblem:
        """Number states and actions; states remember no past, so `history` has no effect."""
        return index_timmdp(self, stage=stage, state=state, guard=guard)

    def with_values(self, values: Sequence[Sequence[StageValue]]) -> TIMMDP:
        """Make the same problem with other values of rewards for several agents."""
        given = iter(values)
        rewards = [
            replace(
                function,
                entries=tuple(
                    Entry(entry.when, value, stages)
                    for entry in function.entries
                    for value, stages in next(given)
                    if value != 0
                ),
            )
            for function in self.rewards
        ]
        return replace(self, rewards=tuple(rewards))

    @property
    def file_format(self) -> str:
        """``ti-mmdp/1``, or ``ti-mmdp/2`` if it needs that."""
        return format_of(self)

    def to_dict(self) -> dict[str, Any]:
        """The content of the problem's file, in the format :attr:`file_format`."""
        return dict(tidy(timmdp_to_dict(self)))

    def read_state(self, agent: str, given: Any) -> Any:
        """Find a state by its name, or by the value it was made from, and return the name."""
        who = self.agent(agent)
        states = NamedStates(agent, who.states, who.values)
        return states.names[states.find(0, given)]


def check_timmdp(
    name: object,
    horizon: object,
    agents: Sequence[Agent],
    rewards: Sequence[RewardFunction],
    aggregates: Sequence[Aggregate] = (),
    *,
    discount: object = 1.0,
    allow_unknown_values: bool = False,
) -> Iterable[Diagnostic]:
    """Find all mistakes in the parts of a TI-MMDP, each with its place.

    A diagnostic names, in ``relies_on``, the part whose own mistakes may have caused it. Whether
    conditions may ask for values of features that no state has is up to the caller.
    """
    if not isinstance(name, str):
        yield Diagnostic(("name",), f"found {found(name)}; expected a text")
    yield from check_integer(horizon, ("horizon",), "the number of decisions", 1, MOST_STAGES)
    yield from check_number(discount, ("discount",), "a discount")
    if is_number(discount) and not 0 < discount <= 1:  # type: ignore[operator]
        wanted = "a number above 0 and at most 1"
        yield Diagnostic(("discount",), f"found {found(discount)}; expected {wanted}")
    sound_horizon = is_integer(horizon) and 1 <= int(horizon) <= MOST_STAGES  # type: ignore[call-overload]
    stages = int(horizon) if sound_horizon else 0  # type: ignore[call-overload]
    if not agents:
        yield Diagnostic(("agents",), "found no agents; expected one or more")
    clashes = list(check_distinct([agent.name for agent in agents], ("agents",), "agent"))
    yield from clashes
    sound = bool(stages) and not clashes
    for i, agent in enumerate(agents):
        for problem in _check_agent(agent, ("agents", i), stages):
            sound = False
            yield problem
    by_name: dict[str, Vocabulary] = {}
    for i, agent in enumerate(agents):
        by_name.setdefault(agent.name, Vocabulary(("agents", i))).add(agent)
    if not allow_unknown_values:
        yield from unknown_values(agents, conditions_of(rewards, aggregates))
    for k, function in enumerate(rewards):
        yield from _check_made_from(function, ("rewards", k), agents)
        for problem in _check_reward(function, ("rewards", k), by_name, stages):
            # If two agents share a name, the other name is probably missing.
            if not (clashes and problem.relies_on == AGENT_NAMES):
                yield problem
    unique = {agent.name: agent for agent in agents} if sound else None
    for k, aggregate in enumerate(aggregates):
        for problem in check_aggregate(aggregate, ("aggregates", k), by_name, unique, stages):
            if not (clashes and problem.relies_on == AGENT_NAMES):
                yield problem


def conditions_of(
    rewards: Sequence[RewardFunction], aggregates: Sequence[Aggregate]
) -> Iterable[tuple[Path, str, object]]:
    """All conditions of rewards, with their places and agents."""
    for k, function in enumerate(rewards):
        for number, entry in enumerate(function.entries):
            for name, condition in entry.when.items():
                yield ("rewards", k, "entries", number, "when", name), name, condition
    yield from conditions_of_amounts(aggregates)


def _check_agent(agent: Agent, path: Path, stages: int) -> Iterable[Diagnostic]:
    yield from check_name(agent.name, (*path, "name"), "the agent")
    yield from check_name(agent.initial, (*path, "initial"), "a state")
    yield from check_transitions(agent.transitions, (*path, "transitions"))
    changes = agent.transitions_at
    if changes:
        yield from check_changes(agent.name, agent.states, changes, path, stages)
    states = agent.states if agent.features else ()
    known = set(states)
    for state, features in agent.features.items():
        here = (*path, "features", str(state))
        if state not in known:
            yield Diagnostic(
                here,
                unknown_name(state, "state", states, f"agent {found(agent.name)}"),
                relies_on=path,
                at_key=True,
            )
        for feature, value in features.items():
            yield from check_name(feature, (*here, str(feature)), "a feature", at_key=True)
            yield from check_feature_value(value, (*here, str(feature)))
    yield from check_actions_exist(agent.initial, agent.transitions, changes, path, stages)


def _check_made_from(
    function: RewardFunction, path: Path, agents: Sequence[Agent]
) -> Iterable[Diagnostic]:
    """Find agents with transitions that a function of rewards has not been asked for."""
    own = {agent.name: agent for agent in agents}
    for asked in function.made_from:
        agent = own.get(asked.name)
        if agent is None or agent is asked:
            continue  # a missing agent is another mistake
        known = set(asked.moves())
        missing = next((move for move in agent.moves() if move not in known), None)
        if missing is not None:
            yield Diagnostic(
                path,
                f"this reward function was made from another agent {found(asked.name)}, which "
                f"cannot go from {found(missing.state)} by {found(missing.action)} to "
                f"{found(missing.next)}; make it from the agents of the problem",
                relies_on=path,
            )


def _check_reward(
    function: RewardFunction, path: Path, agents: Mapping[str, Vocabulary], stages: int
) -> Iterable[Diagnostic]:
    if not function.scope:
        yield Diagnostic((*path, "scope"), "found an empty scope; expected one or more agents")
    scope: set[str] = set()
    for position, name in enumerate(function.scope):
        here = (*path, "scope", position)
        if not isinstance(name, str) or name not in agents:
            yield Diagnostic(
                here,
                unknown_name(name, "agent", list(agents), "the problem"),
                relies_on=AGENT_NAMES,
            )
        elif name in scope:
            yield Diagnostic(here, f"agent {found(name)} is in the scope twice")
        else:
            scope.add(name)
    # A name that is missing from the scope may be mistyped there.
    mistyped = not function.scope or any(name not in scope for name in function.scope)
    for k, entry in enumerate(function.entries):
        here = (*path, "entries", k)
        yield from check_number(entry.value, (*here, "value"), "a reward")
        yield from check_stages(entry.stages, (*here, "stages"), stages)
        for name, condition in entry.when.items():
            place = (*here, "when", str(name))
            if name not in agents:
                yield Diagnostic(
                    place,
                    unknown_name(name, "agent", list(agents), "the problem"),
                    relies_on=AGENT_NAMES,
                    at_key=True,
                )
            elif name not in scope and not mistyped:
                yield Diagnostic(
                    place,
                    f"agent {found(name)} is not in the scope of this reward function; add it to "
                    "the scope or drop the condition",
                    relies_on=(*path, "scope"),
                    at_key=True,
                )
            elif not isinstance(condition, Condition):
                yield Diagnostic(place, f"found {found(condition)}; expected a Condition")
            else:
                yield from check_condition(name, condition, place, agents[name])
