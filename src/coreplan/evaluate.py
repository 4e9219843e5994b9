"""The exact expected value of a policy, recomputed from the problem's own description.

Nothing here is shared with the solvers: no compiled model, no merged states, no bounds.

Agents move independently, and the parts of a policy (teams, and agents on their own) decide without
a look at each other. So the parts are independent processes, and the chance that all conditions of
an entry match is a product over the parts that it looks at. Within a part the distribution over
joint states is carried forward; given what agents choose, the chance that their conditions match is
again a product.
"""

from __future__ import annotations

import math
import operator
import time
from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from coreplan.checks import found
from coreplan.errors import SolverError
from coreplan.indexed import IndexedProblem
from coreplan.rewards import TransitionRewards

if TYPE_CHECKING:
    from coreplan.policy import Policy

Floats = NDArray[np.float64]
Indices = NDArray[np.uint32]
Integers = NDArray[np.int64]
_Column = TypeVar("_Column", Indices, Integers)

MOST_JOINT_STATES = 5_000_000
"""Beyond this many joint states of one part in one stage, evaluation gives up."""
BLOCK = 1 << 21
"""About how many joint transitions are held in memory at once."""
MOST_KEYS = 2**62
"""Up to where rows of numbers are written as one number."""


def evaluate_policy(
    policy: Policy,
    parts: Sequence[Sequence[int]] | None = None,
    most: int = MOST_JOINT_STATES,
    time_limit: float = math.inf,
) -> float:
    """The expected value of a policy.

    Parameters
    ----------
    policy
        The policy.
    parts
        The agents in sets that decide without a look at the others; by default those of the policy.
    most
        The number of joint states of a part at a stage beyond which it gives up.
    time_limit
        Seconds after which it gives up, about.

    Raises
    ------
    SolverError
        If there are more joint states, or it takes longer.
    """
    return evaluate_and_count(policy, parts, most, time_limit=time_limit)[0]


def evaluate_entries(policy: Policy, time_limit: float = math.inf) -> tuple[float, list[float]]:
    """The expected value of a policy, and what each entry of the problem's rewards adds to it."""
    added = [0.0] * len(policy.indexed.entries)
    return evaluate_and_count(policy, added=added, time_limit=time_limit)[0], added


def evaluate_and_count(
    policy: Policy,
    parts: Sequence[Sequence[int]] | None = None,
    most: int = MOST_JOINT_STATES,
    added: list[float] | None = None,
    time_limit: float = math.inf,
) -> tuple[float, float]:
    """The same, and how many terms were added up, for whoever wants to bound rounding.

    What each entry is expected to earn is added to its place in `added`.
    """
    indexed = policy.indexed
    laws = Laws(indexed)
    end = time.monotonic() + time_limit
    processes = [_Part(policy, laws, agents, most, end) for agents in parts or policy.parts]
    place = {i: (part, k) for part in processes for k, i in enumerate(part.agents)}
    terms = []
    for entry in indexed.entries:
        asked: dict[_Part, list[tuple[int, int]]] = {}
        for i, condition in entry.members:
            part, k = place[i]
            asked.setdefault(part, []).append((k, condition))
        terms.append((entry.value, [(part, tuple(pattern)) for part, pattern in asked.items()]))
    at_stage = entries_by_stage(indexed)
    total = 0.0
    counted = 0.0
    for stage in range(indexed.stage, indexed.horizon):
        mass = 1.0  # the chance that everybody gets through this stage: 1 up to rounding
        for part in processes:
            mass *= part.move(stage)
        for number in at_stage(stage):
            value, patterns = terms[number]
            for part, pattern in patterns:
                value *= part.chance(pattern)
            total += mass * value
            if added is not None:
                added[number] += mass * value
            counted += len(patterns) + 1
    return total, counted + sum(part.terms for part in processes)


def entries_by_stage(indexed: IndexedProblem) -> Callable[[int], Sequence[int]]:
    """A way to find the numbers of the entries that count at a stage."""
    always = [k for k, entry in enumerate(indexed.entries) if entry.stages is None]
    listed: dict[int, list[int]] = {}
    for k, entry in enumerate(indexed.entries):
        for stage in set(entry.stages or ()):
            listed.setdefault(stage, []).append(k)
    return lambda stage: [*always, *listed.get(stage, ())]


class Law(NamedTuple):
    """What can come of a choice."""

    transitions: tuple[int, ...]
    nexts: tuple[int, ...]
    chances: tuple[float, ...]
    mass: float
    """The sum of the chances, 1 up to rounding."""
    matched: dict[int, float]
    """Per condition that can be matched: how likely that is, as a share of the mass."""


class Laws:
    """What can come of all agents' choices, each worked out once."""

    def __init__(self, indexed: IndexedProblem) -> None:
        self.indexed = indexed
        self.rewards = TransitionRewards(indexed)
        self.of = cache(self._find)

    def _find(self, agent: int, choice: int) -> Law:
        transitions, nexts, chances = zip(*self.indexed.agents[agent].outcomes(choice), strict=True)
        mass = sum(chances)
        matched: dict[int, float] = {}
        for transition, chance in zip(transitions, chances, strict=True):
            for condition in self.rewards.matched(agent, transition):
                matched[condition] = matched.get(condition, 0.0) + chance
        shares = {condition: chance / mass for condition, chance in matched.items()}
        return Law(transitions, nexts, chances, mass, shares)


_Pattern = tuple[tuple[int, int], ...]
"""(position of an agent in its part, condition), for conditions that are to match together."""


class Moves:
    """What one agent of a part does at a stage: the laws of its choices, one after the other."""

    def __init__(self, laws: Laws, agent: int, choices: Integers) -> None:
        used, self.law_of = _distinct(choices)
        self.laws = [laws.of(agent, choice) for choice in used.tolist()]
        self.mass = np.array([law.mass for law in self.laws])
        self.count = np.array([len(law.nexts) for law in self.laws])
        self.begin = np.cumsum(self.count) - self.count
        self.next = np.array([after for law in self.laws for after in law.nexts], np.uint32)
        self.chance = np.array([chance for law in self.laws for chance in law.chances])

    def matched(self, condition: int) -> list[float]:
        """Per law: how likely it is that a condition matches, as a share of the law's mass."""
        return [law.matched.get(condition, 0.0) for law in self.laws]


class _Part:
    """Agents that decide without a look at the others, and where they can be."""

    def __init__(
        self, policy: Policy, laws: Laws, agents: Sequence[int], most: int, end: float
    ) -> None:
        self.agents = tuple(agents)
        self._policy = policy
        self._laws = laws
        self._most = most
        self._end = end
        # The joint states, a column per agent, and how likely each of them is.
        start = policy.indexed.find_state(policy.stage, None)
        self._states = [np.array([start[i]], np.uint32) for i in agents]
        self._weights = np.ones(1)
        self.terms = 0.0

    def move(self, stage: int) -> float:
        """Let the agents act; give the chance that they get through, 1 up to rounding."""
        choices = self._policy.choose_many(stage, self.agents, self._states)
        self._moves = [
            Moves(self._laws, i, each) for i, each in zip(self.agents, choices, strict=True)
        ]
        self._through = self._weights
        for each in self._moves:
            self._through = self._through * each.mass[each.law_of]
        self._mass = float(self._through.sum())
        self.terms += 2.0 * len(self._through)
        self._chances: dict[_Pattern, float] = {}
        self._alone: dict[int, list[float]] = {}
        self._together: dict[tuple[int, ...], tuple[list[Integers], Floats]] = {}
        if stage + 1 < self._policy.horizon:
            self._spread(stage + 1)
        return self._mass

    def chance(self, pattern: _Pattern) -> float:
        """How likely it is that conditions all matched in the last move, if all got through."""
        chance = self._chances.get(pattern)
        if chance is None:
            chance = self._chances[pattern] = self._find_chance(pattern) / self._mass
        return chance

    def _find_chance(self, pattern: _Pattern) -> float:
        shares = [self._moves[k].matched(condition) for k, condition in pattern]
        if len(shares) == 1:
            weights_of = self._weights_of(pattern[0][0])
            return math.fsum(map(operator.mul, shares[0], weights_of))
        if not all(map(any, shares)):
            return 0.0
        laws, weights = self._choices_of(tuple(k for k, _ in pattern))
        for law, share in zip(laws, shares, strict=True):
            weights = weights * np.array(share)[law]
        return float(weights.sum())

    def _weights_of(self, k: int) -> list[float]:
        """How likely one agent's laws are."""
        if k not in self._alone:
            self._alone[k] = np.bincount(self._moves[k].law_of, self._through).tolist()
        return self._alone[k]

    def _choices_of(self, who: tuple[int, ...]) -> tuple[list[Integers], Floats]:
        """What some of the agents choose together (as numbers of laws), and how likely."""
        if who not in self._together:
            laws = [self._moves[k].law_of for k in who]
            self._together[who] = _merge(laws, self._through)
        return self._together[who]

    def _spread(self, stage: int) -> None:
        """Find out where the agents can be at the next stage."""
        fan = np.ones(len(self._weights))  # per joint state: how many can follow
        for each in self._moves:
            fan *= each.count[each.law_of]
        if fan.max() > self._most:
            raise self._give_up(stage)
        self.terms += float(fan.sum())
        states: list[Indices] = []
        weights = np.zeros(0)
        for rows in _blocks(fan):
            if time.monotonic() > self._end:
                raise SolverError(
                    "its exact value takes too long to compute; Policy.estimate gives an interval "
                    "for it by simulation"
                )
            nexts, chances = self._outcomes(rows)
            if states:
                nexts = [np.concatenate(both) for both in zip(states, nexts, strict=True)]
                chances = np.concatenate([weights, chances])
            states, weights = _merge(nexts, chances)
            if len(weights) > self._most:
                raise self._give_up(stage)
        self._states, self._weights = states, weights

    def _outcomes(self, rows: Integers) -> tuple[list[Indices], Floats]:
        """All that can follow some of the joint states, and how likely it is."""
        states: list[Indices] = []
        weights = self._weights[rows]
        for each in self._moves:
            law = each.law_of[rows]
            count, at = each.count[law], each.begin[law]
            if count.max() > 1:
                # A row for each outcome, one after the other.
                within = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
                at = np.repeat(at, count) + within
                rows, weights = np.repeat(rows, count), np.repeat(weights, count)
                states = [np.repeat(known, count) for known in states]
            weights = weights * each.chance[at]
            states.append(each.next[at])
        return states, weights

    def _give_up(self, stage: int) -> SolverError:
        names = self._policy.indexed.agent_names
        whose = ""
        if len(self.agents) < len(names):
            first = found(names[self.agents[0]])
            whose = f" of the team of {len(self.agents)} agents around {first}"
        return SolverError(
            f"the policy can lead to more than {self._most} joint states{whose} at stage {stage}: "
            "its exact value is out of reach of enumeration; Policy.estimate gives an interval for "
            "it by simulation"
        )


def _blocks(fan: Floats) -> list[Integers]:
    """Split rows such that about BLOCK others follow each set of them."""
    rows = np.arange(len(fan))
    if fan.sum() <= BLOCK:
        return [rows]
    block = (np.cumsum(fan) - fan) // BLOCK
    return np.split(rows, np.flatnonzero(np.diff(block)) + 1)


def _distinct(values: Integers) -> tuple[Integers, Integers]:
    """The different values, and for each value where it is among them."""
    if len(values) == 1:  # most often so, and much faster
        return values, np.zeros(1, np.int64)
    return np.unique(values, return_inverse=True)


def _merge(columns: list[_Column], weights: Floats) -> tuple[list[_Column], Floats]:
    """Make one row of rows that are the same, with the sum of their weights."""
    if len(weights) == 1:
        return columns, weights
    key = np.zeros(len(weights), np.int64)
    size = 1
    for column in columns:
        radix = int(column.max()) + 1
        if size * radix > MOST_KEYS:
            used, key = np.unique(key, return_inverse=True)
            size = len(used)
        key = key * radix + column
        size *= radix
    if size <= 4 * len(weights):  # a table of all keys is faster than to sort
        last = np.full(size, -1, np.int64)
        last[key] = np.arange(len(key))
        rows = last[last >= 0]
        sums = np.bincount(key, weights, size)[last >= 0]
    else:
        _, rows, row_of = np.unique(key, return_index=True, return_inverse=True)
        sums = np.bincount(row_of, weights)
    return [column[rows] for column in columns], sums.astype(np.float64, copy=False)
