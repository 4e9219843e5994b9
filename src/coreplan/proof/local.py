"""Single agents: their reachable states, own rewards, and match probabilities of conditions."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from coreplan.errors import ModelError, SolverError
from coreplan.model.indexed import IndexedAgent, IndexedProblem
from coreplan.model.rewards import MatchedTransitions
from coreplan.proof.sums import SumReward, Sums, is_linear
from coreplan.support.checks import found

Integers = NDArray[np.int64]
Numbers = NDArray[np.float64]
Flags = NDArray[np.bool_]

UNIT = 2.0**-52
"""Twice the largest relative error of one operation: half of it is reserve."""
MOST_FACTORS = 200_000_000
"""The largest product of choices and conditions of one agent."""


def expand(begin: Integers, end: Integers) -> tuple[Integers, Integers]:
    """Concatenate ranges: for each position its range, and the position itself."""
    counts = end - begin
    owner = np.repeat(np.arange(len(begin)), counts)
    ends = np.cumsum(counts)
    return owner, np.arange(len(owner)) + np.repeat(begin - (ends - counts), counts)


@dataclass(eq=False)
class Layer:
    """The states and actions of one agent at one stage. A *row* is a local state with an action."""

    states: Integers
    """Numbers of the local states that some actions can reach, ascending."""
    row_begin: Integers
    """For each state: its first row; at the end, the number of rows."""
    row_state: Integers
    """For each row: the position of its state."""
    row_choice: Integers
    outcome_row: Integers
    """For each outcome: its row. The last stage has no outcomes."""
    outcome_next: Integers
    """For each outcome: the position of its state in the next layer."""
    outcome_chance: Numbers
    loss: Numbers = field(default_factory=lambda: np.zeros(0))
    """For each row: its loss against the best row of its state, without interactions."""

    def expect(self, values: Numbers) -> Numbers:
        """For each row: the expectation of values of the next layer's states."""
        weights = self.outcome_chance * values[self.outcome_next]
        expected: Numbers = np.bincount(
            self.outcome_row, weights=weights, minlength=len(self.row_state)
        ).astype(np.float64)
        return expected


class LocalModel:
    """One agent, unrolled from its start, with probabilities that add up to 1.

    Attributes
    ----------
    factors
        For each choice and condition: the probability that the choice matches it. After the agent's
        own conditions come those of what it adds to sums.
    layers
        Per stage before the horizon.
    alone
        Its best value from the start, without interactions.
    shaping_error
        For each stage: the largest error of computed losses against ``alone(t) - r - E alone(t +
        1)``, where `alone` are the computed numbers. Any numbers are valid there, because an amount
        that is added at one stage is subtracted at the next. Errors of `alone` itself therefore do
        not matter.
    """

    def __init__(self, indexed: IndexedProblem, position: int, rewards: Rewards) -> None:
        agent = indexed.agents[position]
        self.agent = agent
        self.first_stage = indexed.stage
        self._choice_begin = np.array(agent.choice_begin, dtype=np.int64)
        self._first = np.array(agent.choice_first, dtype=np.int64)
        self._last = np.array(agent.choice_last, dtype=np.int64)
        self.action_of_choice = np.array(agent.choice_action, dtype=np.int64)
        begin = np.array(agent.outcome_begin, dtype=np.int64)
        choices = len(self.action_of_choice)
        chance = np.array(agent.outcome_probability, dtype=np.float64)
        after = np.array(agent.outcome_next, dtype=np.int64)
        of = np.repeat(np.arange(choices), np.diff(begin))
        happens = chance > 0
        of, chance, after = of[happens], chance[happens], after[happens]
        self._outcome_begin = np.searchsorted(of, np.arange(choices + 1))
        mass = np.bincount(of, chance, minlength=choices)
        self.most_outcomes = int(np.diff(self._outcome_begin).max(initial=1))
        self._deviation = np.abs(mass - 1) + self.most_outcomes * UNIT
        self._chance = chance / mass[of]
        self._after = after
        added = [column[:, None] for column in rewards.sums.columns[position]]
        self.factors = np.hstack([self._match(agent, happens, of), *added])
        self.layers = self._unroll(indexed)

    def _match(self, agent: IndexedAgent, happens: Flags, of: Integers) -> Numbers:
        choices = len(self.action_of_choice)
        if choices * len(agent.conditions) > MOST_FACTORS:
            raise SolverError(
                f"agent {found(agent.name)} is too large to verify: it has {choices:,} choices and "
                f"{len(agent.conditions):,} conditions"
            )
        factors = np.zeros((choices, len(agent.conditions)))
        for k, matched in enumerate(MatchedTransitions(agent)):
            here = matched[happens]
            factors[:, k] = np.bincount(of[here], self._chance[here], minlength=choices)
        return factors

    def _unroll(self, indexed: IndexedProblem) -> list[Layer]:
        layers = []
        states = np.array([self.agent.start], dtype=np.int64)
        position = np.full(len(self.agent.states), -1, dtype=np.int64)
        for stage in range(indexed.stage, indexed.horizon):
            row_state, row_choice = expand(
                self._choice_begin[states], self._choice_begin[states + 1]
            )
            there = (self._first[row_choice] <= stage) & (stage <= self._last[row_choice])
            row_state, row_choice = row_state[there], row_choice[there]
            row_begin = np.searchsorted(row_state, np.arange(len(states) + 1))
            stuck = np.flatnonzero(np.diff(row_begin) == 0)
            if len(stuck):
                raise ModelError(
                    f"agent {found(self.agent.name)} has no action in state "
                    f"{self.agent.states.label(int(states[stuck[0]]))!r}, which it can reach at "
                    f"stage {stage}"
                )
            row, outcome = expand(
                self._outcome_begin[row_choice], self._outcome_begin[row_choice + 1]
            )
            if stage == indexed.horizon - 1:
                row, outcome = row[:0], outcome[:0]
            following = np.unique(self._after[outcome])
            position[following] = np.arange(len(following))
            layers.append(
                Layer(
                    states,
                    row_begin,
                    row_state,
                    row_choice,
                    row,
                    position[self._after[outcome]],
                    self._chance[outcome],
                )
            )
            states = following
        return layers

    def shape(self, own: OwnRewards, indexed: IndexedProblem) -> None:
        """Find its best values without interactions, and the losses of its rows."""
        self.shaping_error = np.zeros(len(self.layers))
        self.largest_reward = np.zeros(len(self.layers))
        self.largest_value = 0.0
        value = np.zeros(0)
        for t in range(len(self.layers) - 1, -1, -1):
            layer = self.layers[t]
            weights, absolute, entries = own.at(indexed.stage + t)
            sizes = (self.factors @ absolute)[layer.row_choice]
            largest = float(sizes.max(initial=0.0))
            q = (self.factors @ weights)[layer.row_choice] + layer.expect(value)
            before = float(np.abs(value).max(initial=0.0))
            value = np.maximum.reduceat(q, layer.row_begin[:-1])
            here = float(np.abs(value).max(initial=0.0))
            layer.loss = value[layer.row_state] - q
            operations = entries + self.factors.shape[1] + 2 * self.most_outcomes + 8
            worst = float(np.abs(q).max(initial=0.0))
            self.shaping_error[t] = operations * UNIT * (largest + before + here + worst)
            self.largest_reward[t] = largest
            self.largest_value = max(self.largest_value, here)
        self.alone = float(value[0])

    def mass_deviation(self, t: int) -> float:
        """The largest difference between 1 and the sum of an action's probabilities at a stage."""
        return float(self._deviation[self.layers[t].row_choice].max(initial=0.0))

    def name_row(self, t: int, row: int) -> str:
        """Describe a row for messages."""
        layer = self.layers[t]
        action = self.agent.actions[self.action_of_choice[layer.row_choice[row]]]
        return f"{self.name_state(t, int(layer.row_state[row]))}, action {found(action)}"

    def name_state(self, t: int, position: int) -> str:
        """Describe a local state for messages."""
        label = self.agent.states.label(int(self.layers[t].states[position]))
        return f"agent {found(self.agent.name)}, stage {self.first_stage + t}, state {found(label)}"


@dataclass(eq=False)
class OwnRewards:
    """The rewards that depend on one agent only."""

    conditions: int
    always: list[tuple[int, float]] = field(default_factory=list)
    """Pairs of condition and value that count at all stages."""
    at_stage: dict[int, list[tuple[int, float]]] = field(default_factory=dict)
    weight: Callable[[int], float] = lambda _: 1.0
    """What rewards of a stage count."""

    def at(self, stage: int) -> tuple[Numbers, Numbers, int]:
        """For each condition: its value and sum of absolute values; and the number of entries."""
        weights, absolute = np.zeros(self.conditions), np.zeros(self.conditions)
        entries = [*self.always, *self.at_stage.get(stage, ())]
        for condition, value in entries:
            weights[condition] += value
            absolute[condition] += abs(value)
        factor = self.weight(stage)
        if factor == 1:
            return weights, absolute, len(entries)
        return weights * factor, absolute * factor, len(entries) + 1


@dataclass(frozen=True, eq=False)
class PairEntries:
    """The interactions of two agents at one stage."""

    first: Integers
    """Conditions of the first agent."""
    second: Integers
    value: Numbers


@dataclass(frozen=True, eq=False)
class WideEntry:
    """An interaction of three or more agents at one stage."""

    numbers: tuple[int, ...]
    """Positions, among the problem's entries, of its terms."""
    members: tuple[tuple[int, int], ...]
    value: float


@dataclass(frozen=True, eq=False)
class Interactions:
    """The interactions of one stage."""

    pairs: dict[tuple[int, int], PairEntries]
    wide: tuple[WideEntry, ...]
    error: float
    """The largest rounding error of the values, which are sums of entries."""
    sums: tuple[SumReward, ...] = ()

    def live(self, best: Sequence[Numbers]) -> Interactions:
        """The interactions that can happen, given the best probabilities of the conditions."""
        pairs = {}
        for (i, j), each in self.pairs.items():
            possible = (best[i][each.first] > 0) & (best[j][each.second] > 0)
            if possible.any():
                pairs[i, j] = PairEntries(
                    each.first[possible], each.second[possible], each.value[possible]
                )
        wide = tuple(e for e in self.wide if all(best[i][k] > 0 for i, k in e.members))
        sums = tuple(e for e in self.sums if any(e.most(m.agent, best[m.agent]) for m in e.members))
        return Interactions(pairs, wide, self.error if pairs or wide else 0.0, sums)

    def size(self, best: Sequence[Numbers]) -> float:
        """A bound on the absolute sum of their rewards."""
        total = 0.0
        for (i, j), each in self.pairs.items():
            total += float(np.sum(np.abs(each.value) * best[i][each.first] * best[j][each.second]))
        for e in self.wide:
            total += abs(e.value) * float(np.prod([best[i][k] for i, k in e.members]))
        return total + sum(each.size for each in self.sums)

    def times(self, factor: float) -> Interactions:
        """The same with all values times a factor of at least 0."""
        if factor == 1:
            return self
        return Interactions(
            {
                key: PairEntries(each.first, each.second, each.value * factor)
                for key, each in self.pairs.items()
            },
            tuple(replace(each, value=each.value * factor) for each in self.wide),
            self.error * factor + UNIT * factor * self.sum_of_values,
        )

    @property
    def sum_of_values(self) -> float:
        """The sum of absolute values of interactions."""
        pairs = sum(float(np.abs(each.value).sum()) for each in self.pairs.values())
        return pairs + sum(abs(e.value) for e in self.wide)

    @property
    def count(self) -> int:
        """The number of interactions."""
        return sum(len(each.value) for each in self.pairs.values()) + len(self.wide + self.sums)


def local_models(indexed: IndexedProblem, rewards: Rewards) -> list[LocalModel]:
    """Unroll all agents, and find their losses."""
    agents = [LocalModel(indexed, i, rewards) for i in range(len(indexed.agents))]
    rewards.divide_sums(agents)
    for i, agent in enumerate(agents):
        agent.shape(rewards.own(i, agent.factors.shape[1]), indexed)
    return agents


Members = tuple[tuple[int, int], ...]
_NEVER, _ALWAYS = -1, -2


class Rewards:
    """The entries of a problem, sorted by the number of agents on which they really depend.

    Conditions that match the same transitions are treated as one. A condition that matches all
    transitions is left out; one that matches none removes its entry. Entries with the same
    conditions are added up.

    Attributes
    ----------
    sums
        The rewards for sums over agents.
    sum_error
        The largest rounding error of these.
    """

    def __init__(self, indexed: IndexedProblem) -> None:
        self.sums = Sums(indexed)
        self.sum_error = 0.0
        self._sums_at: dict[int, tuple[SumReward, ...]] = {}
        self._own: dict[int, OwnRewards] = {}
        self.constant = 0.0
        self.constant_size = 0.0
        self.constants = 0
        self._always: dict[Members, list[int]] = {}
        self._at_stage: dict[int, dict[Members, list[int]]] = {}
        self._entries = indexed.entries
        self._weight = indexed.weight
        looked_at = members_looked_at(indexed)
        for number, entry in enumerate(indexed.entries):
            members = looked_at[number]
            if members is None:
                continue
            stages = entry.stages
            if stages is not None:  # a stage that is listed twice counts once
                stages = tuple(sorted({t for t in stages if indexed.stage <= t < indexed.horizon}))
            if len({i for i, _ in members}) != len(members):
                raise SolverError(
                    f"entry {number} looks at an agent twice, which the verifier does not support"
                )
            if len(members) > 1:
                self._add(number, members, stages)
            elif members:
                self._add_own(members[0], entry.value, stages)
            else:
                counting = range(indexed.stage, indexed.horizon) if stages is None else stages
                count = math.fsum(map(self._weight, counting))
                self.constant += entry.value * count
                self.constant_size += abs(entry.value) * count
                self.constants += 1
        self.constant += self.sums.constant
        self.constant_size += self.sums.constant_size
        self.constants += self.sums.constants
        self._shared = self._sort({})

    def divide_sums(self, agents: Sequence[LocalModel]) -> None:
        """Find the stages at which aggregates are no more than sums of own rewards.

        At these stages, an agent's own reward is the worth of what it adds, as if it were alone.
        """
        for t in range(len(agents[0].layers) if agents else 0):
            best = [a.factors[np.unique(a.layers[t].row_choice)].max(axis=0) for a in agents]
            stage = agents[0].first_stage + t
            together = []
            weight = self._weight(stage)
            for each in self.sums.at(stage):
                most = {m.agent: each.most(m.agent, best[m.agent]) for m in each.members}
                adding = [m for m in each.members if most[m.agent]]
                self.sum_error += 4 * UNIT * weight * each.size * (len(adding) + 1)
                if len(adding) > 1 and not is_linear(each.values[: sum(most.values()) + 1]):
                    together.append(each.times(weight))
                    continue
                for member in adding:
                    for condition, units in member.amounts:
                        if best[member.agent][condition] > 0:
                            value = float(each.values[units])
                            self._add_own((member.agent, condition), value, (stage,))
            self._sums_at[stage] = tuple(together)

    def _add(self, number: int, members: Members, stages: tuple[int, ...] | None) -> None:
        if stages is None:
            self._always.setdefault(members, []).append(number)
            return
        for t in stages:
            self._at_stage.setdefault(t, {}).setdefault(members, []).append(number)

    def _add_own(
        self, member: tuple[int, int], value: float, stages: tuple[int, ...] | None
    ) -> None:
        agent, condition = member
        own = self._own.setdefault(agent, OwnRewards(0, weight=self._weight))
        if stages is None:
            own.always.append((condition, value))
        else:
            for t in stages:
                own.at_stage.setdefault(t, []).append((condition, value))

    def own(self, agent: int, conditions: int) -> OwnRewards:
        """An agent's own rewards."""
        own = self._own.get(agent, OwnRewards(0))
        own.conditions = conditions
        return own

    def interactions(self, stage: int) -> Interactions:
        """The interactions that count at a stage."""
        more = self._at_stage.get(stage)
        values = self._shared if more is None else self._sort(more)
        values = values.times(self._weight(stage))
        sums = self._sums_at.get(stage)
        return replace(values, sums=sums) if sums else values

    def _sort(self, more: dict[Members, list[int]]) -> Interactions:
        """Add up entries: first those of all stages, then those of this stage."""
        pairs: dict[tuple[int, int], list[tuple[int, int, float]]] = {}
        wide = []
        error = 0.0
        for members in dict.fromkeys([*self._always, *more]):
            always, here = self._always.get(members, []), more.get(members, [])
            numbers = (*always, *here)
            value = sum(self._entries[e].value for e in always)
            value += sum(self._entries[e].value for e in here)
            if len(numbers) > 1:
                size = sum(abs(self._entries[e].value) for e in numbers)
                error += len(numbers) * UNIT * size
            if value == 0:
                continue
            if len(members) == 2:
                (i, first), (j, second) = members
                pairs.setdefault((i, j), []).append((first, second, value))
            else:
                wide.append(WideEntry(numbers, members, value))
        return Interactions(
            {
                key: PairEntries(
                    np.array([e[0] for e in rows], dtype=np.int64),
                    np.array([e[1] for e in rows], dtype=np.int64),
                    np.array([e[2] for e in rows], dtype=np.float64),
                )
                for key, rows in sorted(pairs.items())
            },
            tuple(wide),
            error,
        )


def members_looked_at(indexed: IndexedProblem) -> list[Members | None]:
    """For each entry: the agents and conditions on which it depends; None if it never matches.

    A condition that matches every transition of its agent does not count.
    """
    canonical = [_same_conditions(agent) for agent in indexed.agents]
    found: list[Members | None] = []
    for entry in indexed.entries:
        conditions = tuple((i, canonical[i][k]) for i, k in sorted(entry.members))
        if any(k == _NEVER for _, k in conditions):
            found.append(None)
        else:
            found.append(tuple((i, k) for i, k in conditions if k != _ALWAYS))
    return found


def agents_looked_at(indexed: IndexedProblem) -> list[frozenset[int]]:
    """For each entry: the agents on which it depends; none if it never matches."""
    return [frozenset(i for i, _ in members or ()) for members in members_looked_at(indexed)]


def _same_conditions(agent: IndexedAgent) -> list[int]:
    """For each condition: the first one with the same transitions; or whether all or none match."""
    known: dict[bytes, int] = {}
    numbers = []
    for k, matched in enumerate(MatchedTransitions(agent)):
        if not matched.any():
            numbers.append(_NEVER)
        elif matched.all():
            numbers.append(_ALWAYS)
        else:
            numbers.append(known.setdefault(np.packbits(matched).tobytes(), k))
    return numbers
