"""The description of a transition-independent multi-agent MDP (TI-MMDP): frozen and validated.

Each agent has its own local states and actions, and moves with its own probabilities. Reward
functions look at the transitions (state, action, next state) of the agents in their scope. The team
maximises the expected sum of rewards over a finite number of stages. Every agent sees the
whole joint state.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

from coreplan.errors import MOST_PROBLEMS, Diagnostic, ModelError, nearest
from coreplan.files.writing import tidy
from coreplan.model.document import FORMAT, timmdp_to_dict
from coreplan.model.indexed import IndexedProblem, JointState, StageValue
from coreplan.model.problem import Guard, PlanningProblem, no_limits
from coreplan.model.translate import index_timmdp
from coreplan.support.checks import (
    AGENT_NAMES,
    MOST_STAGES,
    Path,
    check_distinct,
    check_integer,
    check_name,
    check_number,
    found,
    is_integer,
    is_name,
    is_number,
    unknown_name,
)
from coreplan.support.frozen import FrozenMapping, freeze_sequence

FeatureValue = str | bool | int | float
StateTest = tuple[str, ...] | FrozenMapping[str, FeatureValue] | None
Transitions = FrozenMapping[str, FrozenMapping[str, FrozenMapping[str, float]]]

PROBABILITY_TOLERANCE = 1e-9
"""The largest difference between 1 and the sum of the probabilities of one action."""


def same_feature(left: object, right: object) -> bool:
    """Whether two feature values are equal: ``True`` is not 1, and 1 equals 1.0.

    Examples
    --------
    >>> same_feature(1, 1.0), same_feature(True, 1)
    (True, False)
    """
    return isinstance(left, bool) == isinstance(right, bool) and left == right


class _Features(FrozenMapping[str, FeatureValue]):
    """Features by name; equal only if their values are equal as features."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Mapping) or self.keys() != other.keys():
            return False
        return all(same_feature(value, other[name]) for name, value in self.items())

    __hash__ = FrozenMapping.__hash__


def _freeze_mapping(value: object, path: Path, what: str) -> FrozenMapping[Any, Any]:
    if not isinstance(value, Mapping):
        raise ModelError([Diagnostic(path, f"found {found(value)}; expected {what}")])
    return FrozenMapping(value)


def _check_hashable(name: object, path: Path) -> None:
    """Refuse a name that cannot be looked up; the later checks need lookups."""
    if not isinstance(name, Hashable):
        raise ModelError([Diagnostic(path, f"found {found(name)}; expected a name (a text)")])


def _number(value: Any) -> Any:
    """Turn a number into a float; leave anything else unchanged for the checks."""
    return float(value) if type(value) is not float and is_number(value) else value


def _freeze_transitions(transitions: object) -> Transitions:
    path: Path = ("transitions",)
    states = _freeze_mapping(transitions, path, "a mapping state -> action -> next -> probability")
    # Outcomes that are one object stay one object: large problems share them.
    laws: dict[int, FrozenMapping[str, float]] = {}
    frozen = {}
    for state, actions in states.items():
        if not isinstance(actions, Mapping):
            where = (*path, str(state))
            _freeze_mapping(actions, where, "a mapping action -> next state -> probability")
        row = {}
        for action, outcomes in actions.items():
            law = laws.get(id(outcomes))
            if law is None:
                if not isinstance(outcomes, Mapping):
                    where = (*path, str(state), str(action))
                    _freeze_mapping(outcomes, where, "a mapping next state -> probability")
                law = FrozenMapping({after: _number(chance) for after, chance in outcomes.items()})
                laws[id(outcomes)] = law
            row[action] = law
        frozen[state] = FrozenMapping(row)
    return FrozenMapping(frozen)


@dataclass(frozen=True, slots=True)
class Condition:
    """A test of one agent's transition. A part that is not given matches anything.

    Parameters
    ----------
    state, next
        A state's name, several names, or features that must all be equal: ``{"done": True}``.
    action
        An action's name or several names.

    Examples
    --------
    >>> Condition(action="go", next={"done": True})
    Condition(state=None, action=('go',), next={'done': True})
    """

    state: StateTest | str | Sequence[str] | Mapping[str, FeatureValue] = None
    action: tuple[str, ...] | str | Sequence[str] | None = None
    next: StateTest | str | Sequence[str] | Mapping[str, FeatureValue] = None

    def __post_init__(self) -> None:
        for part in ("state", "action", "next"):
            given = getattr(self, part)
            if given is None:
                continue
            if isinstance(given, str):
                given = (given,)
            elif isinstance(given, Mapping) and part != "action":
                given = _Features(given)
            else:
                given = freeze_sequence(given, (part,), "a name, a list of names or features")
            object.__setattr__(self, part, given)


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
    stages: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(
            self, "when", _freeze_mapping(self.when, ("when",), "agents' conditions")
        )
        object.__setattr__(self, "value", _number(self.value))
        if self.stages is not None:
            stages = freeze_sequence(self.stages, ("stages",), "a list of stages")
            stages = tuple(int(t) if is_integer(t) else t for t in stages)
            object.__setattr__(self, "stages", stages)


class Transition(NamedTuple):
    """One agent's move: state, action and next state."""

    state: Any
    action: str
    next: Any


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

    scope: tuple[str, ...]
    entries: tuple[Entry, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(
            self, "scope", freeze_sequence(self.scope, ("scope",), "a list of agents' names")
        )
        for position, name in enumerate(self.scope):
            _check_hashable(name, ("scope", position))
        object.__setattr__(
            self, "entries", freeze_sequence(self.entries, ("entries",), "entries", Entry)
        )

    @classmethod
    def from_function(
        cls,
        agents: Sequence[Agent],
        function: Callable[..., float],
        *,
        stages: Iterable[int] | None = None,
    ) -> RewardFunction:
        """Make the entries of a reward function by calling it for all transitions.

        Parameters
        ----------
        agents
            The agents in scope.
        function
            Called with one :class:`Transition` per agent and, if `stages` is given, the keyword
            ``stage``; returns the reward. States are the values that the agent was made from.
        stages
            The stages for which it is called; None if the reward is the same at all stages.

        Examples
        --------
        A light that costs 2 for every step in which it is on and stays on:

        >>> light = Agent.from_functions(
        ...     "light", 0, lambda s: ["keep", "flip"],
        ...     lambda s, a: {s if a == "keep" else 1 - s: 1.0}, horizon=2)
        >>> reward = RewardFunction.from_function([light], lambda t: -2 * t.state * t.next)
        >>> [(entry.value, dict(entry.when)) for entry in reward.entries]
        [(-2.0, {'light': Condition(state=('1',), action=('keep',), next=('1',))})]
        """
        entries = []
        times = [None] if stages is None else list(stages)
        for moves in itertools.product(*(list(agent.moves()) for agent in agents)):
            values = [
                move._replace(state=agent.value_of(move.state), next=agent.value_of(move.next))
                for agent, move in zip(agents, moves, strict=True)
            ]
            when = {
                agent.name: Condition(state=move.state, action=move.action, next=move.next)
                for agent, move in zip(agents, moves, strict=True)
            }
            by_value: dict[float, list[int]] = {}
            for time in times:
                value = function(*values) if time is None else function(*values, stage=time)
                if value != 0:
                    by_value.setdefault(float(value), []).extend([] if time is None else [time])
            entries += [
                Entry(when, value, None if stages is None else tuple(at))
                for value, at in by_value.items()
            ]
        return cls(tuple(agent.name for agent in agents), tuple(entries))


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
    """

    name: str
    initial: str
    transitions: Mapping[str, Mapping[str, Mapping[str, float]]]
    features: Mapping[str, Mapping[str, FeatureValue]] = field(default_factory=FrozenMapping)
    values: Mapping[str, Hashable] = field(
        default_factory=FrozenMapping, compare=False, repr=False, kw_only=True
    )
    """For an agent made from functions: the value behind each state's name."""

    def __post_init__(self) -> None:
        _check_hashable(self.name, ("name",))
        _check_hashable(self.initial, ("initial",))
        object.__setattr__(self, "transitions", _freeze_transitions(self.transitions))
        features = _freeze_mapping(self.features, ("features",), "a mapping state -> features")
        object.__setattr__(
            self,
            "features",
            FrozenMapping(
                {
                    state: _Features(
                        _freeze_mapping(
                            each, ("features", str(state)), "a mapping feature -> value"
                        )
                    )
                    for state, each in features.items()
                }
            ),
        )
        object.__setattr__(self, "values", FrozenMapping(self.values))

    @classmethod
    def from_functions(
        cls,
        name: str,
        initial: Hashable,
        actions: Callable[[Any], Iterable[str]],
        outcomes: Callable[[Any, str], Mapping[Any, float]],
        *,
        horizon: int,
        label: Callable[[Any], str] | None = None,
        features: Callable[[Any], Mapping[str, FeatureValue]] | None = None,
    ) -> Agent:
        """Make an agent from functions, with all states that it can reach within the horizon.

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
            The number of decisions.
        label
            Makes the name of a state; default: the value itself if it is a text, else its
            ``repr``.
        features
            Makes the features of a state; default: none.

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
        names: dict[Hashable, str] = {}
        taken: dict[str, Hashable] = {}

        def name_of(state: Hashable) -> str:
            if state not in names:
                made = label(state) if label else state if isinstance(state, str) else repr(state)
                if made in taken:
                    raise ModelError(
                        f"agent {name!r}: the states {found(taken[made])} and {found(state)} are "
                        f"both labelled {found(made)}; give a `label` that tells them apart"
                    )
                names[state] = made
                taken[made] = state
            return names[state]

        transitions: dict[str, dict[str, dict[str, float]]] = {}
        layer = [initial]
        name_of(initial)
        for _ in range(horizon):
            following: list[Hashable] = []
            for state in layer:
                if name_of(state) in transitions:
                    continue
                rows: dict[str, dict[str, float]] = {}
                for action in actions(state):
                    law: dict[str, float] = {}
                    for after, chance in outcomes(state, action).items():
                        law[name_of(after)] = chance
                        if chance > 0:
                            following.append(after)
                    rows[action] = law
                transitions[name_of(state)] = rows
            layer = following
            if not layer:
                break
        described = {names[s]: dict(features(s)) for s in names} if features else {}
        return cls(
            name,
            name_of(initial),
            transitions,
            {s: f for s, f in described.items() if f},
            values=taken,
        )

    @property
    def states(self) -> tuple[str, ...]:
        """All states: those with actions, the initial one, and all outcomes, in this order."""
        laws = (law for actions in self.transitions.values() for law in actions.values())
        outcomes = itertools.chain.from_iterable(law.keys() for law in laws)
        return tuple(dict.fromkeys((*self.transitions.keys(), self.initial, *outcomes)))

    @property
    def actions(self) -> tuple[str, ...]:
        """The names of all actions, in order of first appearance."""
        rows = (actions.keys() for actions in self.transitions.values())
        return tuple(dict.fromkeys(itertools.chain.from_iterable(rows)))

    def moves(self) -> Iterable[Transition]:
        """All transitions of positive probability."""
        for state, actions in self.transitions.items():
            for action, law in actions.items():
                for after, chance in law.items():
                    if chance > 0:
                        yield Transition(state, action, after)

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

    agents: tuple[Agent, ...]
    rewards: tuple[RewardFunction, ...] = ()
    horizon: int = 1
    name: str = "problem"

    def __post_init__(self) -> None:
        object.__setattr__(
            self, "agents", freeze_sequence(self.agents, ("agents",), "agents", Agent)
        )
        object.__setattr__(
            self,
            "rewards",
            freeze_sequence(self.rewards, ("rewards",), "reward functions", RewardFunction),
        )
        if is_integer(self.horizon):
            object.__setattr__(self, "horizon", int(self.horizon))
        problems = list(
            itertools.islice(
                check_timmdp(self.name, self.horizon, self.agents, self.rewards), MOST_PROBLEMS
            )
        )
        if problems:
            raise ModelError(problems)

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
        """``ti-mmdp/1``."""
        return FORMAT

    def to_dict(self) -> dict[str, Any]:
        """The content of the problem's file, in the format ``ti-mmdp/1``."""
        return dict(tidy(timmdp_to_dict(self)))

    def read_state(self, agent: str, given: Any) -> Any:
        """Check that an agent has a state of this name, and return the name."""
        states = self.agent(agent).states
        if given not in states:
            raise ModelError(unknown_name(given, "state", states, f"agent {found(agent)}"))
        return given


def check_timmdp(
    name: object,
    horizon: object,
    agents: Sequence[Agent],
    rewards: Sequence[RewardFunction],
) -> Iterable[Diagnostic]:
    """Find all mistakes in the parts of a TI-MMDP, each with its place.

    A diagnostic names, in ``relies_on``, the part whose own mistakes may have caused it.
    """
    if not isinstance(name, str):
        yield Diagnostic(("name",), f"found {found(name)}; expected a text")
    yield from check_integer(horizon, ("horizon",), "the number of decisions", 1, MOST_STAGES)
    sound_horizon = is_integer(horizon) and 1 <= int(horizon) <= MOST_STAGES  # type: ignore[call-overload]
    stages = int(horizon) if sound_horizon else 0  # type: ignore[call-overload]
    if not agents:
        yield Diagnostic(("agents",), "found no agents; expected one or more")
    clashes = list(check_distinct([agent.name for agent in agents], ("agents",), "agent"))
    yield from clashes
    for i, agent in enumerate(agents):
        yield from _check_agent(agent, ("agents", i), stages)
    by_name: dict[str, _Vocabulary] = {}
    for i, agent in enumerate(agents):
        by_name.setdefault(agent.name, _Vocabulary(("agents", i))).add(agent)
    for k, function in enumerate(rewards):
        for problem in _check_reward(function, ("rewards", k), by_name, stages):
            # If two agents share a name, the other name is probably missing.
            if not (clashes and problem.relies_on == AGENT_NAMES):
                yield problem


class _Vocabulary:
    """The names that conditions on an agent (or, by mistake, two of one name) may use.

    They are collected on first use, because collecting is slow for large agents.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._agents: list[Agent] = []

    def add(self, agent: Agent) -> None:
        self._agents.append(agent)

    @cached_property
    def states(self) -> dict[str, None]:
        return dict.fromkeys(itertools.chain.from_iterable(a.states for a in self._agents))

    @cached_property
    def actions(self) -> dict[str, None]:
        return dict.fromkeys(itertools.chain.from_iterable(a.actions for a in self._agents))

    @cached_property
    def features(self) -> dict[str, None]:
        described = (each for agent in self._agents for each in agent.features.values())
        return dict.fromkeys(itertools.chain.from_iterable(described))


def _check_agent(agent: Agent, path: Path, stages: int) -> Iterable[Diagnostic]:
    yield from check_name(agent.name, (*path, "name"), "the agent")
    yield from check_name(agent.initial, (*path, "initial"), "a state")
    table = (*path, "transitions")
    sound: set[int] = set()  # correct outcomes; very many may be the same object
    for state, actions in agent.transitions.items():
        if not is_name(state):
            yield from check_name(state, (*table, str(state)), "a state", at_key=True)
        for action, law in actions.items():
            if id(law) in sound and is_name(action):
                continue
            here = (*table, str(state), str(action))
            yield from check_name(action, here, "an action", at_key=True)
            if _is_sound(law):
                sound.add(id(law))
            else:
                yield from _check_law(law, here)
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
            yield from _check_feature_value(value, (*here, str(feature)))
    yield from _check_actions_exist(agent, path, stages)


def _is_sound(law: Mapping[str, float]) -> bool:
    """Tell fast whether `_check_law` would find no mistake."""
    for after, chance in law.items():
        if not after or type(after) is not str or type(chance) is not float or not chance >= 0:
            return False
    return abs(sum(law.values()) - 1) <= PROBABILITY_TOLERANCE


def _check_law(law: Mapping[str, float], here: Path) -> Iterable[Diagnostic]:
    for after, chance in law.items():
        yield from check_name(after, (*here, str(after)), "a next state", at_key=True)
        if not is_number(chance) or chance < 0:
            yield Diagnostic(
                (*here, str(after)),
                f"found {found(chance)}; expected a probability, a number of at least 0",
            )
    if all(is_number(chance) and chance >= 0 for chance in law.values()):
        total = sum(law.values())
        if abs(total - 1) > PROBABILITY_TOLERANCE:
            yield Diagnostic(
                here, f"the probabilities add up to {total:.12g}; expected 1", relies_on=here
            )


def _check_feature_value(value: object, path: Path) -> Iterable[Diagnostic]:
    if not isinstance(value, str | bool) and not is_number(value):
        yield Diagnostic(
            path, f"found {found(value)}; expected a text, a boolean or a finite number"
        )


def _check_actions_exist(agent: Agent, path: Path, stages: int) -> Iterable[Diagnostic]:
    """Find states without actions that can be reached before the horizon."""
    layer = [agent.initial] if isinstance(agent.initial, str) and agent.initial else []
    seen = set(layer)
    for stage in range(stages):
        following = []
        for state in layer:
            actions = agent.transitions.get(state)
            if not actions:
                place: Path = (*path, "transitions")
                hint = ""
                if actions is not None:
                    place = (*place, state)
                else:
                    place = (*path, "initial") if stage == 0 else place
                    hint = nearest(state, agent.transitions)
                yield Diagnostic(
                    place,
                    f"state {found(state)} has no action and can be reached at stage {stage}, "
                    f"before the horizon; add an action, for instance one that stays{hint}",
                    relies_on=path,
                )
                continue
            for law in actions.values():
                for after, chance in law.items():
                    if after not in seen and is_number(chance) and chance > 0:
                        seen.add(after)
                        following.append(after)
        layer = following
        if not layer:
            return


def _check_reward(
    function: RewardFunction, path: Path, agents: Mapping[str, _Vocabulary], stages: int
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
        for position, stage in enumerate(entry.stages or ()):
            there = (*here, "stages", position)
            if not stages:
                yield from check_integer(stage, there, "a stage", 0)
            elif not is_integer(stage) or not 0 <= stage < stages:
                yield Diagnostic(
                    there,
                    f"found {found(stage)}; expected a stage from 0 to {stages - 1} (the horizon "
                    f"is {stages})",
                    relies_on=("horizon",),
                )
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
                yield from _check_condition(name, condition, place, agents[name])


def _check_condition(
    name: str, condition: Condition, place: Path, agent: _Vocabulary
) -> Iterable[Diagnostic]:
    whose = f"agent {found(name)}"
    for part in ("state", "action", "next"):
        test = getattr(condition, part)
        here = (*place, part)
        if test is None:
            continue
        if isinstance(test, FrozenMapping):
            for feature, value in test.items():
                if feature not in agent.features:
                    yield Diagnostic(
                        (*here, str(feature)),
                        unknown_name(feature, "feature", list(agent.features), whose),
                        relies_on=agent.path,
                        at_key=True,
                    )
                yield from _check_feature_value(value, (*here, str(feature)))
            continue
        if not test:
            yield Diagnostic(here, "found an empty list; expected one or more names")
        known = agent.actions if part == "action" else agent.states
        what = "action" if part == "action" else "state"
        for position, wanted in enumerate(test):
            if not isinstance(wanted, str) or wanted not in known:
                yield Diagnostic(
                    (*here, position),
                    unknown_name(wanted, what, list(known), whose),
                    relies_on=agent.path,
                )
