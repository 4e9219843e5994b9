"""What a policy leads to: situations, what is done in them, and what can come of it.

The graph grows forward from where the policy starts, stage by stage. Like evaluation it uses the
problem's own description, and nothing of the solvers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from coreplan.errors import ModelError
from coreplan.model.indexed import IndexedProblem, JointState
from coreplan.policies.evaluation import Floats, Indices, Integers, Laws, Moves, entries_by_stage
from coreplan.support.checks import found, is_number
from coreplan.support.frozen import FrozenMapping
from coreplan.support.rows import distinct_rows

if TYPE_CHECKING:
    from coreplan.policies.policy import Policy

MOST_SITUATIONS = 20_000
"""How many situations are kept where nobody says how many."""
OUTCOMES_EACH = 32
"""How many outcomes are kept per situation, on average, before something is cut."""
OUTCOMES_PER_NEXT = 4
"""Where not all can be kept: how many outcomes are looked at for each situation that can be."""


class Fact(NamedTuple):
    """What became known of one agent, where chance had a say."""

    agent: str
    """The agent's name."""
    text: str
    """In words, such as ``a1 is delayed`` or, in general, the agent's next state."""
    task: str | None = None
    """In a maintenance problem: the task that was started."""
    delayed: bool | None = None
    """In a maintenance problem: whether it is delayed."""


class Outcome(NamedTuple):
    """What can come of a joint action."""

    probability: float
    """How likely it is, given the situation."""
    next: int
    """The number of the situation that it leads to."""
    known: tuple[Fact, ...]
    """What becomes known by it; empty if nothing was left to chance."""


class Situation(NamedTuple):
    """A joint state at a stage that the policy can get into, and what it does there."""

    stage: int
    state: Mapping[str, Any]
    """A local state for every agent, by name: a state's name or a `ContractorState`."""
    probability: float
    """How likely it is to get there; where the graph is cut, on the ways that are kept."""
    action: Mapping[str, str]
    """An action for every agent, by name; empty at the horizon."""
    value: float | None
    """What is expected to be earned from here on; None where a way from here is cut."""
    outcomes: tuple[Outcome, ...]
    """What can come of it, the likeliest first; empty at the horizon."""
    cut: float
    """How likely it is to get where the graph does not reach, by one step from here."""


@dataclass(frozen=True, eq=False)
class PlanGraph:
    """All that a policy leads to, as a graph of situations.

    Attributes
    ----------
    agents
        The agents' names.
    stage, horizon
        The first stage, and the number of stages of the problem. Situations at the horizon are
        where it ends: nothing is done there.
    situations
        By stage, within a stage the likeliest first; outcomes refer to their numbers. Number 0 is
        where the policy starts.
    complete
        Whether nothing is cut.
    covered
        How likely it is that all stays within the graph, up to the horizon.
    """

    agents: tuple[str, ...]
    stage: int
    horizon: int
    situations: tuple[Situation, ...] = field(repr=False)
    complete: bool
    covered: float

    @cached_property
    def stage_begin(self) -> tuple[int, ...]:
        """Per stage from the first to the horizon: its first situation; one more for the end."""
        stages = [each.stage for each in self.situations]
        begin = np.searchsorted(stages, np.arange(self.stage, self.horizon + 2))
        return tuple(begin.tolist())

    def at_stage(self, stage: int) -> range:
        """The numbers of the situations at a stage.

        Raises
        ------
        ModelError
            If there is no such stage.
        """
        if not self.stage <= stage <= self.horizon:
            raise ModelError(
                f"stage is {found(stage)}; expected one from {self.stage} to {self.horizon}"
            )
        return range(*self.stage_begin[stage - self.stage : stage - self.stage + 2])

    @cached_property
    def _number(self) -> Mapping[tuple[int, tuple[Any, ...]], int]:
        return {
            (each.stage, tuple(each.state[name] for name in self.agents)): k
            for k, each in enumerate(self.situations)
        }

    def find(self, stage: int, joint_state: JointState) -> int | None:
        """The number of a situation; None if the graph does not have it.

        The joint state is given as in :attr:`Situation.state`.
        """
        return self._number.get((stage, tuple(joint_state.get(name) for name in self.agents)))


def plan_graph(
    policy: Policy, most_situations: int = MOST_SITUATIONS, min_probability: float = 0.0
) -> PlanGraph:
    """What a policy leads to.

    Parameters
    ----------
    policy
        The policy.
    most_situations
        About how many situations to keep. If there are more, every stage gets a part of this number
        and keeps its likeliest situations, at least one of them. So the graph always has a way to
        the horizon. Many agents that have nothing to do with each other make many situations.
    min_probability
        Leave out what is less likely than this.

    Examples
    --------
    >>> from coreplan import Contractor, Delay, MaintenanceProblem, Task, solve
    >>> task = Task("a1", duration=1, cost=3, revenue=20, delay=Delay(0.25, 1))
    >>> policy = solve(MaintenanceProblem((Contractor("Alpha", (task,)),), horizon=2)).policy
    >>> graph = plan_graph(policy)
    >>> first = graph.situations[0]
    >>> dict(first.action), first.value
    ({'Alpha': 'start a1'}, 16.25)
    >>> [(outcome.probability, outcome.known[0].text) for outcome in first.outcomes]
    [(0.75, 'a1 is not delayed'), (0.25, 'a1 is delayed')]
    """
    if (
        isinstance(most_situations, bool)
        or not isinstance(most_situations, int)
        or most_situations < 1
    ):
        raise ModelError(
            f"most_situations is {found(most_situations)}; expected a whole number of at least 1"
        )
    if not is_number(min_probability) or not 0 <= min_probability <= 1:
        raise ModelError(
            f"min_probability is {found(min_probability)}; expected a number from 0 to 1"
        )
    grown = _Growth(policy, most_situations, float(min_probability), shared=False)
    if not grown.run():
        # Too much for whoever comes first to take what it likes.
        grown = _Growth(policy, most_situations, float(min_probability), shared=True)
        grown.run()
    return grown.graph()


@dataclass(eq=False)
class _Layer:
    """The situations of a stage in numbers."""

    states: list[Indices]
    """Per agent: its local state in each situation."""
    weights: Floats
    choices: list[Integers]
    reward: Floats
    """Expected reward of the step from here."""
    source: Integers
    """Per outcome: the situation that it comes of, ascending."""
    target: Integers
    """Per outcome: the situation of the next stage that it leads to."""
    chance: Floats
    transitions: list[Integers]
    """Per agent: its transition in each outcome."""
    is_cut: NDArray[np.bool_]
    """Per situation: whether there are outcomes that are not kept."""
    cut: Floats
    """Per situation: how likely these are."""


def _nothing_done(states: list[Indices], weights: Floats) -> _Layer:
    """Situations at the horizon."""
    none, zeros = np.zeros(0, np.int64), np.zeros(len(weights))
    return _Layer(states, weights, [], zeros, none, none, np.zeros(0), [], zeros > 0, zeros)


class _Growth:
    """The graph while it grows."""

    def __init__(self, policy: Policy, most: int, least: float, *, shared: bool) -> None:
        self._policy = policy
        self._laws = Laws(policy.indexed)
        self._entries_at = entries_by_stage(policy.indexed)
        self._least = least
        self._shared = shared
        self._situations_left = most
        self._outcomes_left = OUTCOMES_EACH * most
        self._layers: list[_Layer] = []

    def run(self) -> bool:
        """Grow up to the horizon; False as soon as there is no room, if stages do not share it."""
        indexed = self._policy.indexed
        start = indexed.find_state(indexed.stage, None)
        states = [np.array([state], np.uint32) for state in start]
        weights: Floats = np.ones(1)
        self._situations_left -= 1
        for stage in range(indexed.stage, indexed.horizon):
            if not len(weights):  # all that follows is too unlikely
                self._layers.append(_nothing_done(states, weights))
                continue
            # The stages to come, with the horizon, have to share what is left.
            share = indexed.horizon - stage if self._shared else 1
            layer = self._step(stage, states, weights, share)
            if layer is None:
                return False
            states = self._next_states
            weights = self._next_weights
            self._layers.append(layer)
        self._layers.append(_nothing_done(states, weights))
        return True

    def _step(
        self, stage: int, states: list[Indices], weights: Floats, share: int
    ) -> _Layer | None:
        """What is done in the situations of a stage, and where it leads."""
        agents = range(len(states))
        choices = self._policy.choose_many(stage, agents, states)
        moves = [Moves(self._laws, i, choices[i]) for i in agents]
        mass = np.ones(len(weights))
        for each in moves:
            mass *= each.mass[each.law_of]
        fan = np.ones(len(weights))  # per situation: how many can follow
        for each in moves:
            fan *= each.count[each.law_of]
        enough = self._situations_left // share
        most_outcomes = self._outcomes_left // share
        if self._shared:
            enough = max(1, enough)
            most_outcomes = max(1, min(most_outcomes, OUTCOMES_PER_NEXT * enough))
        elif fan.max() > enough or fan.sum() > most_outcomes:
            return None
        source, chance, places = _likeliest_outcomes(moves, weights, most_outcomes)
        nexts = [each.next[at] for each, at in zip(moves, places, strict=True)]
        rows, row_of = distinct_rows(nexts)
        reached = _sums(row_of, weights[source] * chance, len(rows))
        order = np.argsort(-reached, kind="stable")
        kept = order[:enough]
        if len(kept) < len(order) and not self._shared:
            return None
        kept = kept[reached[kept] >= self._least]
        target_of = np.full(len(rows), -1)
        target_of[kept] = np.arange(len(kept))
        target = target_of[row_of]
        there = target >= 0
        lost = _sums(source[~there], chance[~there], len(weights))
        source, chance, target = source[there], chance[there], target[there]
        places = [at[there] for at in places]
        followed = _sums(source, chance, len(weights))
        # Compared by number: what is cut may be less likely than rounding shows.
        is_cut = np.bincount(source, minlength=len(weights)) < fan
        cut = np.where(is_cut, np.maximum(lost, mass - followed), 0.0)
        self._situations_left -= len(kept)
        self._outcomes_left -= len(source)
        self._next_states = [column[rows[kept]] for column in nexts]
        self._next_weights = reached[kept]
        transitions = []
        for each, at in zip(moves, places, strict=True):
            of_law = [transition for law in each.laws for transition in law.transitions]
            transitions.append(np.array(of_law, np.int64)[at])
        reward = mass * self._expected(stage, moves, len(weights))
        return _Layer(
            states, weights, choices, reward, source, target, chance, transitions, is_cut, cut
        )

    def _expected(self, stage: int, moves: Sequence[Moves], length: int) -> Floats:
        """What is expected to be earned in the step, per situation, if all get through it."""
        earned = np.zeros(length)
        shares: dict[tuple[int, int], Floats | None] = {}
        for number in self._entries_at(stage):
            entry = self._policy.indexed.entries[number]
            chances = []
            for member in entry.members:
                if member not in shares:
                    of_law = moves[member[0]].matched(member[1])
                    some = np.array(of_law)[moves[member[0]].law_of] if any(of_law) else None
                    shares[member] = some
                chances.append(shares[member])
            sure = [each for each in chances if each is not None]
            if len(sure) == len(chances):
                earned += entry.value * math.prod(sure, start=np.ones(length))
        return earned

    # -- from numbers to names ----------------------------------------------------------------

    def graph(self) -> PlanGraph:
        """What has grown, with names."""
        indexed = self._policy.indexed
        values = self._values()
        begin = np.cumsum([0, *(len(layer.weights) for layer in self._layers)]).tolist()
        names = _Names(self._policy)
        situations: list[Situation] = []
        for k, (layer, value) in enumerate(zip(self._layers, values, strict=True)):
            stage = indexed.stage + k
            outcomes = names.outcomes(layer, begin[k + 1])
            columns = zip(
                names.states(layer.states),
                layer.weights.tolist(),
                names.actions(layer.choices, len(layer.weights)),
                value.tolist(),
                outcomes,
                layer.cut.tolist(),
                strict=True,
            )
            for state, weight, action, worth, following, cut in columns:
                known = None if math.isnan(worth) else worth
                situations.append(Situation(stage, state, weight, action, known, following, cut))
        complete = not any(layer.is_cut.any() for layer in self._layers)
        covered = 1.0 if complete else min(1.0, float(self._layers[-1].weights.sum()))
        return PlanGraph(
            indexed.agent_names,
            indexed.stage,
            indexed.horizon,
            tuple(situations),
            complete,
            covered,
        )

    def _values(self) -> list[Floats]:
        """Per stage and situation: what is expected from there on; NaN where a way is cut."""
        values = [self._layers[-1].reward]
        for layer in reversed(self._layers[:-1]):
            worth = layer.chance * values[-1][layer.target]
            value = layer.reward + _sums(layer.source, worth, len(layer.weights))
            value[layer.is_cut] = math.nan
            values.append(value)
        return values[::-1]


def _sums(group_of: Integers, numbers: Floats, groups: int) -> Floats:
    """The sums of the numbers of each group."""
    return np.bincount(group_of, numbers, minlength=groups).astype(np.float64)


def _likeliest_outcomes(
    moves: Sequence[Moves], weights: Floats, most: int
) -> tuple[Integers, Floats, list[Integers]]:
    """The likeliest joint outcomes of situations.

    Returns
    -------
    tuple
        Per outcome its situation (ascending) and how likely it is there; per agent and outcome the
        place in its moves.
    """
    source = np.arange(len(weights))
    chance = np.ones(len(weights))
    # What the agents that have not moved yet can add at best, per situation: an outcome that is not
    # among the most promising ones so far cannot be among the likeliest in the end.
    best = [np.maximum.reduceat(each.chance, each.begin)[each.law_of] for each in moves]
    ahead = weights * math.prod(best, start=np.ones(len(weights)))
    places: list[Integers] = []
    for each, likeliest in zip(moves, best, strict=True):
        ahead = ahead / likeliest
        law = each.law_of[source]
        count, at = each.count[law], each.begin[law]
        if count.max(initial=1) > 1:
            # A row for each outcome, one after the other.
            within = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
            at = np.repeat(at, count) + within
            source, chance = np.repeat(source, count), np.repeat(chance, count)
            places = [np.repeat(known, count) for known in places]
        chance = chance * each.chance[at]
        places.append(at)
        if len(source) > most:
            promising = np.argsort(-(ahead[source] * chance), kind="stable")[:most]
            promising.sort()
            source, chance = source[promising], chance[promising]
            places = [known[promising] for known in places]
    return source, chance, places


class _Names:
    """Names of what a graph has in numbers, each made once."""

    def __init__(self, policy: Policy) -> None:
        self._indexed = policy.indexed
        self._facts = Facts(policy)
        self._state_of: list[dict[int, Any]] = [{} for _ in policy.indexed.agents]
        self._actions: dict[tuple[int, ...], FrozenMapping[str, str]] = {}
        self._nothing: FrozenMapping[str, str] = FrozenMapping()

    def states(self, columns: Sequence[Indices]) -> list[FrozenMapping[str, Any]]:
        """Joint states, given by a column per agent."""
        named = []
        for agent, column, known in zip(self._indexed.agents, columns, self._state_of, strict=True):
            numbers = column.tolist()
            for number in set(numbers) - known.keys():
                known[number] = agent.states.value(number)
            named.append([known[number] for number in numbers])
        names = self._indexed.agent_names
        return [
            FrozenMapping(dict(zip(names, row, strict=True))) for row in zip(*named, strict=True)
        ]

    def actions(self, columns: Sequence[Integers], length: int) -> list[FrozenMapping[str, str]]:
        """Joint actions, given by a column of choices per agent; empty where there are none."""
        if not columns:
            return [self._nothing] * length
        named = []
        for row in zip(*(column.tolist() for column in columns), strict=True):
            if row not in self._actions:
                self._actions[row] = FrozenMapping(
                    {
                        agent.name: agent.actions[agent.choice_action[choice]]
                        for agent, choice in zip(self._indexed.agents, row, strict=True)
                    }
                )
            named.append(self._actions[row])
        return named

    def outcomes(self, layer: _Layer, first: int) -> list[tuple[Outcome, ...]]:
        """The outcomes of the situations of a stage; the next stage's begin at a number."""
        length = len(layer.weights)
        if not len(layer.source):
            return [()] * length
        # What becomes known: few different things, in many situations.
        facts: list[list[Fact | None]] = []
        keys: list[Integers] = []
        for i, column in enumerate(layer.transitions):
            used, at = np.unique(column, return_inverse=True)
            facts.append([self._facts.of(i, transition) for transition in used.tolist()])
            uncertain = np.array([fact is not None for fact in facts[-1]])
            keys.append(np.where(uncertain[at], at, 0))
            if not uncertain[0]:
                continue
            # 0 may stand for nothing only if it is no fact itself.
            facts[-1].insert(0, None)
            keys[-1] = np.where(uncertain[at], at + 1, 0)
        examples, key_of = distinct_rows(keys)
        known = [
            tuple(
                fact
                for each, column in zip(facts, keys, strict=True)
                if (fact := each[int(column[example])]) is not None
            )
            for example in examples.tolist()
        ]
        order = np.lexsort((-layer.chance, layer.source))
        made = [
            Outcome(chance, first + target, known[key])
            for chance, target, key in zip(
                layer.chance[order].tolist(),
                layer.target[order].tolist(),
                key_of[order].tolist(),
                strict=True,
            )
        ]
        ends = np.cumsum(np.bincount(layer.source, minlength=length)).tolist()
        return [tuple(made[begin:end]) for begin, end in zip([0, *ends[:-1]], ends, strict=True)]


class Facts:
    """What becomes known by transitions of agents, in words."""

    def __init__(self, policy: Policy) -> None:
        self._indexed: IndexedProblem = policy.indexed
        self._known: list[dict[int, Fact | None]] = [{} for _ in policy.indexed.agents]
        self._outcome_begin: list[NDArray[np.int64] | None] = [None] * len(policy.indexed.agents)

    def of(self, agent: int, transition: int) -> Fact | None:
        """What becomes known by a transition; None if chance had no say."""
        known = self._known[agent]
        if transition not in known:
            known[transition] = self._find(agent, transition)
        return known[transition]

    def _find(self, agent: int, transition: int) -> Fact | None:
        who = self._indexed.agents[agent]
        choice = int(np.searchsorted(self._begin(agent), transition, side="right")) - 1
        if len(who.outcomes(choice)) < 2:
            return None
        action, after = who.choice_action[choice], who.outcome_next[transition]
        return Fact(who.name, *who.states.outcome(action, after))

    def _begin(self, agent: int) -> NDArray[np.int64]:
        begin = self._outcome_begin[agent]
        if begin is None:
            begin = self._outcome_begin[agent] = np.array(self._indexed.agents[agent].outcome_begin)
        return begin
