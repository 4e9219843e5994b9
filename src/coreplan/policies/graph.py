"""The graph of a policy: the situations that it reaches, its actions there, and their outcomes.

The graph grows forward from the start of the policy, stage by stage. Like evaluation, it uses the
description of the problem and no code of the solvers.
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
from coreplan.policies.evaluation import Floats, Indices, Integers, Laws, Moves, rewards_by_stage
from coreplan.support.checks import found, is_number
from coreplan.support.frozen import FrozenMapping
from coreplan.support.rows import distinct_rows

if TYPE_CHECKING:
    from coreplan.policies.policy import Policy

MOST_SITUATIONS = 20_000
"""The default for the most situations of a graph."""
OUTCOMES_EACH = 32
"""The average number of outcomes per situation above which outcomes are cut."""
OUTCOMES_PER_NEXT = 4
"""If outcomes are cut: the number of outcomes examined for each situation that is kept."""


class Fact(NamedTuple):
    """News about one agent: the outcome of an action with several possible outcomes."""

    agent: str
    """The agent's name."""
    text: str
    """The news as text, for instance ``a1 is delayed``; by default the agent's next state."""
    task: str | None = None
    """In a maintenance problem: the task that was started."""
    delayed: bool | None = None
    """In a maintenance problem: whether it is delayed."""


class Outcome(NamedTuple):
    """One possible outcome of a joint action."""

    probability: float
    """Its probability, given the situation."""
    next: int
    """The number of the next situation."""
    known: tuple[Fact, ...]
    """The news that it brings; empty if the joint action has only one outcome."""


class Situation(NamedTuple):
    """A joint state that the policy can reach at a stage, and its action there."""

    stage: int
    state: Mapping[str, Any]
    """A local state for every agent, by name: a state's name or a `ContractorState`."""
    probability: float
    """The probability to reach it; in a cut graph, along the paths that are kept."""
    action: Mapping[str, str]
    """An action for every agent, by name; empty at the horizon."""
    value: float | None
    """The expected value from here on; None if a path from here is cut."""
    outcomes: tuple[Outcome, ...]
    """The outcomes of the action, the likeliest first; empty at the horizon."""
    cut: float
    """The probability to leave the graph in one step from here."""


@dataclass(frozen=True, eq=False)
class PlanGraph:
    """The situations that a policy can reach, linked by outcomes.

    Attributes
    ----------
    agents
        The agents' names.
    stage, horizon
        The first stage, and the number of stages of the problem. Situations at the horizon are
        the ends; they have no action.
    situations
        By stage, within a stage the likeliest first; outcomes refer to their numbers. The policy
        starts in situation 0.
    complete
        Whether the graph has all situations and outcomes.
    covered
        The probability that an execution stays within the graph up to the horizon.
    """

    agents: tuple[str, ...]
    stage: int
    horizon: int
    situations: tuple[Situation, ...] = field(repr=False)
    complete: bool
    covered: float

    @cached_property
    def stage_begin(self) -> tuple[int, ...]:
        """For each stage up to the horizon: its first situation; at the end, their number."""
        stages = [each.stage for each in self.situations]
        begin = np.searchsorted(stages, np.arange(self.stage, self.horizon + 2))
        return tuple(begin.tolist())

    def at_stage(self, stage: int) -> range:
        """The numbers of the situations at a stage.

        Raises
        ------
        ModelError
            If the graph does not have this stage.
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
    """Follow a policy from its start, and collect the situations that it reaches.

    Parameters
    ----------
    policy
        The policy.
    most_situations
        The approximate number of situations to keep. If the policy reaches more, every stage gets a
        part of this number and keeps its likeliest situations, at least one. The graph therefore
        always has a path to the horizon. Many independent agents make many situations.
    min_probability
        Leave out situations that are less likely than this.

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
        # Too many for the first stages to take as many as they want.
        grown = _Growth(policy, most_situations, float(min_probability), shared=True)
        grown.run()
    return grown.graph()


@dataclass(eq=False)
class _Layer:
    """The situations of a stage, by numbers."""

    states: list[Indices]
    """For each agent: its local state in each situation."""
    weights: Floats
    choices: list[Integers]
    reward: Floats
    """The expected reward of the step from each situation."""
    source: Integers
    """For each outcome: its situation, in ascending order."""
    target: Integers
    """For each outcome: the situation of the next stage that it leads to."""
    chance: Floats
    transitions: list[Integers]
    """For each agent: its transition in each outcome."""
    is_cut: NDArray[np.bool_]
    """For each situation: whether some of its outcomes are cut."""
    cut: Floats
    """For each situation: the probability of its cut outcomes."""


def _nothing_done(states: list[Indices], weights: Floats) -> _Layer:
    """A layer of situations at the horizon, without actions."""
    none, zeros = np.zeros(0, np.int64), np.zeros(len(weights))
    return _Layer(states, weights, [], zeros, none, none, np.zeros(0), [], zeros > 0, zeros)


class _Growth:
    """The graph while it grows."""

    def __init__(self, policy: Policy, most: int, least: float, *, shared: bool) -> None:
        self._policy = policy
        self._laws = Laws(policy.indexed)
        self._rewards_at = rewards_by_stage(policy.indexed)
        self._least = least
        self._shared = shared
        self._situations_left = most
        self._outcomes_left = OUTCOMES_EACH * most
        self._layers: list[_Layer] = []

    def run(self) -> bool:
        """Grow up to the horizon; return False when room runs out, unless stages share it."""
        indexed = self._policy.indexed
        start = indexed.find_state(indexed.stage, None)
        states = [np.array([state], np.uint32) for state in start]
        weights: Floats = np.ones(1)
        self._situations_left -= 1
        for stage in range(indexed.stage, indexed.horizon):
            if not len(weights):  # all next situations are too unlikely
                self._layers.append(_nothing_done(states, weights))
                continue
            # The remaining stages, including the horizon, share the remaining room.
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
        """Find the actions in the situations of a stage, and the next situations."""
        agents = range(len(states))
        choices = self._policy.choose_many(stage, agents, states)
        moves = [Moves(self._laws, i, choices[i]) for i in agents]
        mass = np.ones(len(weights))
        for each in moves:
            mass *= each.mass[each.law_of]
        fan = np.ones(len(weights))  # for each situation: the number of joint outcomes
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
        # Compare counts: a cut outcome may be less likely than the rounding error.
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
        """The expected reward of the step in each situation, if the step is completed."""
        earned = np.zeros(length)
        shares: dict[tuple[int, int], Floats | None] = {}
        weight = self._policy.indexed.weight(stage)
        entries = self._policy.indexed.entries
        for number in self._rewards_at(stage):
            if number >= len(entries):
                earned += weight * self._laws.aggregate(number - len(entries), moves, length)
                continue
            entry = entries[number]
            chances = []
            for member in entry.members:
                if member not in shares:
                    of_law = moves[member[0]].matched(member[1])
                    some = np.array(of_law)[moves[member[0]].law_of] if any(of_law) else None
                    shares[member] = some
                chances.append(shares[member])
            sure = [each for each in chances if each is not None]
            if len(sure) == len(chances):
                earned += entry.value * weight * math.prod(sure, start=np.ones(length))
        return earned

    # -- from numbers to names ----------------------------------------------------------------

    def graph(self) -> PlanGraph:
        """The finished graph, with names."""
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
        """For each stage and situation: the expected value from there on; NaN if a path is cut."""
        values = [self._layers[-1].reward]
        for layer in reversed(self._layers[:-1]):
            worth = layer.chance * values[-1][layer.target]
            value = layer.reward + _sums(layer.source, worth, len(layer.weights))
            value[layer.is_cut] = math.nan
            values.append(value)
        return values[::-1]


def _sums(group_of: Integers, numbers: Floats, groups: int) -> Floats:
    """Add up the numbers of each group."""
    return np.bincount(group_of, numbers, minlength=groups).astype(np.float64)


def _likeliest_outcomes(
    moves: Sequence[Moves], weights: Floats, most: int
) -> tuple[Integers, Floats, list[Integers]]:
    """The likeliest joint outcomes of situations.

    Returns
    -------
    tuple
        For each outcome its situation (ascending) and its probability there; for each agent and
        outcome the position in its moves.
    """
    source = np.arange(len(weights))
    chance = np.ones(len(weights))
    # For each situation, the best factor that the remaining agents can add: an outcome that is not
    # among the most promising ones now cannot be among the likeliest in the end.
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
    """The names of a graph's numbers, each made once."""

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
        """Joint actions, given by a column of choices per agent; empty without columns."""
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
        """The outcomes of the situations of a stage, given the first number of the next stage."""
        length = len(layer.weights)
        if not len(layer.source):
            return [()] * length
        # Many situations share few different pieces of news.
        facts: list[list[Fact | None]] = []
        keys: list[Integers] = []
        for i, column in enumerate(layer.transitions):
            used, at = np.unique(column, return_inverse=True)
            facts.append([self._facts.of(i, transition) for transition in used.tolist()])
            uncertain = np.array([fact is not None for fact in facts[-1]])
            keys.append(np.where(uncertain[at], at, 0))
            if not uncertain[0]:
                continue
            # 0 may stand for no news only if it is not a fact itself.
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
    """The news that transitions of agents bring, as text."""

    def __init__(self, policy: Policy) -> None:
        self._indexed: IndexedProblem = policy.indexed
        self._known: list[dict[int, Fact | None]] = [{} for _ in policy.indexed.agents]
        self._outcome_begin: list[NDArray[np.int64] | None] = [None] * len(policy.indexed.agents)

    def of(self, agent: int, transition: int) -> Fact | None:
        """The news of a transition; None if the action has only one outcome."""
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
