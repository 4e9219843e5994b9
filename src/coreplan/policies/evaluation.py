"""The exact expected value of a policy, recomputed from the problem's own description.

This module shares nothing with the solvers: no compiled model, no merged states, no bounds.

Agents move independently, and the parts of a policy (teams and single agents) decide without seeing
each other. The parts are therefore independent processes, and the probability that all conditions
of an entry match is a product over its parts. Within a part, the evaluation carries the
distribution over joint states forward. Given the choices of the agents, the probability that their
conditions match is again a product.

An aggregate depends on a sum over agents. The distribution of each part's sum follows from the
choices in the part, and parts are independent, so that of the whole sum is their convolution.

If a part has a rule of groups, its agents split into groups that cannot interact any more. The
reward is a sum over groups, so the evaluation carries forward only the distribution over the joint
states of each group. This is correct if the groups of the rule are correct, which the evaluation
checks on the way. If they are not, it evaluates the part as a whole.
"""

from __future__ import annotations

import itertools
import logging
import math
import operator
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from coreplan.errors import LimitError, SolverError
from coreplan.model.indexed import IndexedProblem
from coreplan.model.rewards import TransitionRewards
from coreplan.policies.lookahead import MOST_DECIDED
from coreplan.support.checks import found
from coreplan.support.clock import now
from coreplan.support.memory import BYTES_PER_MB
from coreplan.support.rows import distinct_rows

if TYPE_CHECKING:
    from coreplan.policies.policy import Policy

Floats = NDArray[np.float64]
Indices = NDArray[np.uint32]
Integers = NDArray[np.int64]
Matrix = NDArray[np.int64]
_Column = TypeVar("_Column", Indices, Integers)

logger = logging.getLogger(__name__)

MOST_JOINT_STATES = 5_000_000
"""The most joint states of one part in one stage that evaluation accepts."""
BLOCK = 1 << 21
"""The approximate number of joint transitions in memory at once, if memory allows."""
BYTES_PER_ROW = 120
BYTES_PER_AGENT = 40
"""The approximate bytes of a joint state or transition, and of each agent in it: a few numbers, and
copies of them while rows are merged."""
PART_OF_BLOCK = 0.3
"""The part of the memory for joint transitions; the rest is for joint states."""


class Beginning(NamedTuple):
    """The stage and joint state, by numbers, from which a policy is followed."""

    stage: int
    state: tuple[int, ...]
    choices: tuple[int, ...] | None = None
    """The choices in this joint state; None means those of the policy."""


class _Reach(NamedTuple):
    """The limits of an evaluation."""

    most: int
    """The most joint states of a part at a stage."""
    block: int
    """The approximate number of joint transitions in memory at once."""
    end: float
    """The time of the clock at which to stop, in seconds."""
    room: _Room
    is_stopped: Callable[[], bool] | None
    """Says whether to give up."""

    def within_memory(self, agents: int) -> _Reach:
        """The same limits, with blocks that fit into memory for a number of agents."""
        fit = PART_OF_BLOCK * self.room.bytes / _bytes_per_row(agents)
        return self._replace(block=max(1, int(min(self.block, fit))))


class _Room:
    """The memory for the joint states of all parts."""

    def __init__(self, memory: float) -> None:
        self.bytes = memory
        self._taken: dict[_Part, float] = {}

    def take(self, part: _Part, rows: int) -> None:
        """Reserve memory for the joint states of a part."""
        self._taken[part] = rows * _bytes_per_row(len(part.agents))
        most = (1 - PART_OF_BLOCK) * self.bytes
        if sum(self._taken.values()) > most:
            raise LimitError(
                "memory_limit",
                "the exact value of the policy needs more memory than the limit allows: it leads "
                f"to {rows:,} joint states or more; use Policy.estimate, which simulates",
            )


def _bytes_per_row(agents: int) -> int:
    return BYTES_PER_ROW + BYTES_PER_AGENT * agents


def evaluate_policy(
    policy: Policy,
    parts: Sequence[Sequence[int]] | None = None,
    most: int = MOST_JOINT_STATES,
    time_limit: float = math.inf,
    memory_limit: float = math.inf,
    is_stopped: Callable[[], bool] | None = None,
) -> float:
    """Compute the exact expected value of following a policy.

    Parameters
    ----------
    policy
        The policy.
    parts
        Sets of agents that decide without seeing the others, each evaluated as a whole; default:
        the parts of the policy, divided into groups.
    most
        The most joint states of a part at a stage.
    time_limit
        The approximate time limit in seconds.
    memory_limit
        The approximate memory limit in megabytes.
    is_stopped
        Asked now and then whether to give up.

    Raises
    ------
    SolverError
        If a limit is exceeded, of joint states, time or memory, or if it is stopped.
    """
    return evaluate_and_count(
        policy,
        parts,
        most,
        time_limit=time_limit,
        memory_limit=memory_limit,
        is_stopped=is_stopped,
    )[0]


def evaluate_entries(
    policy: Policy, time_limit: float = math.inf, beginning: Beginning | None = None
) -> tuple[float, list[float]]:
    """Compute the value of a policy, and the contribution of each reward, by its number."""
    added = [0.0] * len(policy.indexed.rewards)
    value, _ = evaluate_and_count(policy, added=added, time_limit=time_limit, beginning=beginning)
    return value, added


class StageRecord(NamedTuple):
    """The choices and rewards of a policy at one stage, averaged over all histories."""

    stage: int
    choices: tuple[dict[int, float], ...]
    """For each agent: the probabilities of its choices."""
    earned: dict[int, float]
    """For each reward that counts at this stage, by number: its contribution to the value."""


def evaluate_stages(
    policy: Policy, time_limit: float = math.inf
) -> tuple[float, list[StageRecord]]:
    """Compute the value of a policy, with its choices and rewards at each stage."""
    records: list[StageRecord] = []
    return evaluate_and_count(policy, records=records, time_limit=time_limit)[0], records


def evaluate_and_count(
    policy: Policy,
    parts: Sequence[Sequence[int]] | None = None,
    most: int = MOST_JOINT_STATES,
    added: list[float] | None = None,
    time_limit: float = math.inf,
    records: list[StageRecord] | None = None,
    beginning: Beginning | None = None,
    memory_limit: float = math.inf,
    is_stopped: Callable[[], bool] | None = None,
) -> tuple[float, float]:
    """Compute the value of a policy, and count the terms of the sum, for bounds on rounding.

    The expected amount of each reward goes to its place in `added`; the record of each stage is
    appended to `records`.
    """
    end = now() + time_limit
    start = beginning or start_of(policy)
    laws = Laws(policy.indexed)
    grouped: set[tuple[int, ...]] = set()
    if parts is None and policy.groups is not None:
        grouped = set(policy.groups.components)
    while True:
        reach = _Reach(most, BLOCK, end, _Room(memory_limit * BYTES_PER_MB), is_stopped)
        # Decisions that are made as they are needed take time.
        fewer = reach._replace(most=min(most, MOST_DECIDED))
        ahead = {i for rule in policy.ahead for i in rule.agents}
        try:
            processes = [
                (_GroupedPart if agents in grouped else _Part)(
                    policy,
                    laws,
                    agents,
                    start,
                    (reach if ahead.isdisjoint(agents) else fewer).within_memory(len(agents)),
                )
                for agents in map(tuple, parts or policy.parts)
            ]
            return _run(laws, processes, start.stage, added, records)
        except _NotApartError as error:
            names = ", ".join(policy.indexed.agent_names[i] for i in error.agents)
            logger.info("evaluating these agents jointly, not by groups (%s): %s", error, names)
            grouped.remove(error.agents)
            if records is not None:
                records.clear()


def start_of(policy: Policy) -> Beginning:
    """The stage and joint state in which a policy starts."""
    return Beginning(policy.stage, policy.indexed.find_state(policy.stage, None))


def _run(
    laws: Laws,
    processes: Sequence[_Part],
    first: int,
    added: list[float] | None,
    records: list[StageRecord] | None,
) -> tuple[float, float]:
    """Let all parts act, and add up the rewards."""
    indexed = laws.indexed
    place = {i: (part, k) for part in processes for k, i in enumerate(part.agents)}
    terms = []
    for entry in indexed.entries:
        asked: dict[_Part, list[tuple[int, int]]] = {}
        for i, condition in entry.members:
            part, k = place[i]
            asked.setdefault(part, []).append((k, condition))
        # Single agents first: if one of them cannot match, the others do not matter.
        ordered = sorted(asked.items(), key=lambda each: len(each[1]))
        terms.append((entry.value, [(part, tuple(pattern)) for part, pattern in ordered]))
    sums = [_Sum(laws.rewards, number, place) for number in range(len(indexed.aggregates))]
    at_stage = rewards_by_stage(indexed)
    earned = [0.0] * (len(terms) + len(sums))
    total = 0.0
    counted = 0.0
    for stage in range(first, indexed.horizon):
        mass = 1.0  # the probability that all parts complete this stage: 1 up to rounding
        for part in processes:
            mass *= part.move(stage)
        at_this_stage: dict[int, float] = {}
        weight = indexed.weight(stage)
        for number in at_stage(stage):
            if number < len(terms):
                value, patterns = terms[number]
                value *= weight
                for part, pattern in patterns:
                    value *= part.chance(pattern) if value else 0.0
                counted += len(patterns) + (1 if weight == 1 else 2)
            else:
                value, count = sums[number - len(terms)].expected()
                value *= weight
                counted += count + (0 if weight == 1 else 1)
            total += mass * value
            earned[number] += mass * value
            at_this_stage[number] = mass * value
        if records is not None:
            chosen = (place[i][0].choices_of(place[i][1]) for i in range(len(indexed.agents)))
            records.append(StageRecord(stage, tuple(chosen), at_this_stage))
    if added is not None:
        added[:] = earned
    return total, counted + sum(part.terms for part in processes)


class _Sum:
    """The sum of an aggregate, over all parts."""

    def __init__(
        self, rewards: TransitionRewards, number: int, place: Mapping[int, tuple[_Part, int]]
    ) -> None:
        self._values = np.array(rewards.aggregate(number).values)
        self._added: dict[_Part, dict[int, Integers]] = {}
        for i, units in rewards.units(number).items():
            part, k = place[i]
            self._added.setdefault(part, {})[k] = units

    def expected(self) -> tuple[float, float]:
        """The expected reward, if all parts complete the stage; and the count of terms."""
        chances = np.ones(1)  # by the sum so far
        terms = 0.0
        for part, added in self._added.items():
            mine = part.sums(added)
            both = np.zeros(len(chances) + len(mine) - 1)
            support = np.flatnonzero(mine).tolist()
            for units in support:
                both[units : units + len(chances)] += mine[units] * chances
            chances = both
            terms += 2.0 * len(support)
        terms += len(chances)
        return float(chances @ self._values[: len(chances)]), terms


def rewards_by_stage(indexed: IndexedProblem) -> Callable[[int], Sequence[int]]:
    """Make a function that gives the numbers of the rewards that count at a stage."""
    always = [k for k, reward in enumerate(indexed.rewards) if reward.stages is None]
    listed: dict[int, list[int]] = {}
    for k, reward in enumerate(indexed.rewards):
        for stage in set(reward.stages or ()):
            listed.setdefault(stage, []).append(k)
    return lambda stage: [*always, *listed.get(stage, ())]


class Law(NamedTuple):
    """The outcomes of a choice, with their probabilities."""

    transitions: tuple[int, ...]
    nexts: tuple[int, ...]
    chances: tuple[float, ...]
    mass: float
    """The sum of the probabilities, 1 up to rounding."""
    matched: dict[int, float]
    """For each condition that can match: its probability, relative to the mass."""


class Laws:
    """The outcomes of all agents' choices, each computed once."""

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

    def aggregate(self, number: int, moves: Sequence[Moves], length: int) -> Floats:
        """The reward of an aggregate for some joint choices, given the moves of all agents."""
        sums = np.zeros(length, np.int64)
        for i, units in self.rewards.units(number).items():
            sums += units[moves[i].choices][moves[i].law_of]
        values: Floats = np.array(self.rewards.aggregate(number).values)[sums]
        return values


_Pattern = tuple[tuple[int, int], ...]
"""Conditions that must match together: pairs of an agent's position in its part and a condition."""


class Moves:
    """The choices of one agent of a part at a stage, with the outcomes of each."""

    def __init__(self, laws: Laws, agent: int, choices: Integers) -> None:
        used, self.law_of = _distinct(choices)
        self.choices: list[int] = used.tolist()
        self.laws = [laws.of(agent, choice) for choice in self.choices]
        self.mass = np.array([law.mass for law in self.laws])
        self.count = np.array([len(law.nexts) for law in self.laws])
        self.begin = np.cumsum(self.count) - self.count
        self.next = np.array([after for law in self.laws for after in law.nexts], np.uint32)
        self.chance = np.array([chance for law in self.laws for chance in law.chances])

    def matched(self, condition: int) -> list[float]:
        """For each choice: the probability that a condition matches, relative to its mass."""
        return [law.matched.get(condition, 0.0) for law in self.laws]


class _Part:
    """Agents that decide without seeing the others, with the distribution of their joint states."""

    def __init__(
        self,
        policy: Policy,
        laws: Laws,
        agents: Sequence[int],
        start: Beginning,
        reach: _Reach,
    ) -> None:
        self.agents = tuple(agents)
        self._policy = policy
        self._laws = laws
        self._reach = reach
        # The joint states, a column per agent, and the probability of each.
        self._states = [np.array([start.state[i]], np.uint32) for i in agents]
        self._start = start
        self._weights = np.ones(1)
        self.terms = 0.0

    def move(self, stage: int) -> float:
        """Let the agents act; return the probability that all complete it, 1 up to rounding."""
        self._moves = [
            Moves(self._laws, i, each)
            for i, each in zip(self.agents, self._choose(stage), strict=True)
        ]
        self._through = self._weights
        self._mass = self._get_through(stage)
        self.terms += 2.0 * len(self._through)
        self._chances: dict[_Pattern, float] = {}
        self._alone: dict[int, list[float]] = {}
        self._together: dict[tuple[int, ...], tuple[list[Integers], Floats]] = {}
        if stage + 1 < self._policy.horizon:
            self._spread(stage + 1)
        return self._mass

    def _choose(self, stage: int) -> list[Integers]:
        if stage == self._start.stage and self._start.choices is not None:
            return [np.full(len(self._weights), self._start.choices[i]) for i in self.agents]
        return self._policy.choose_many(stage, self.agents, self._states)

    def _get_through(self, stage: int) -> float:
        for each in self._moves:
            self._through = self._through * each.mass[each.law_of]
        return float(self._through.sum())

    def chance(self, pattern: _Pattern) -> float:
        """The probability that all conditions matched in the last move, if it was completed."""
        chance = self._chances.get(pattern)
        if chance is None:
            chance = self._chances[pattern] = self._find_chance(pattern) / self._mass
        return chance

    def choices_of(self, k: int) -> dict[int, float]:
        """The probabilities of one agent's choices in the last move, if it was completed."""
        weights = self._weights_of(k)
        return {
            choice: weight / self._mass
            for choice, weight in zip(self._moves[k].choices, weights, strict=True)
            if weight > 0
        }

    def sums(self, added: Mapping[int, Integers]) -> Floats:
        """The probability of each sum in the last move, if it was completed.

        Parameters
        ----------
        added
            For each agent that can add to the sum, by its position: the units of all its choices.
        """
        units = {k: mine[self._moves[k].choices] for k, mine in added.items()}
        who = tuple(k for k, mine in units.items() if mine.any())
        if not who:
            return np.ones(1)
        laws, weights = self._choices_of(who)
        total = np.zeros(len(weights), np.int64)
        for k, law in zip(who, laws, strict=True):
            total += units[k][law]
        return np.bincount(total, weights / self._mass).astype(np.float64, copy=False)

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
        """The probabilities of one agent's choices, by their numbers in this move."""
        if k not in self._alone:
            self._alone[k] = np.bincount(self._moves[k].law_of, self._through).tolist()
        return self._alone[k]

    def _choices_of(self, who: tuple[int, ...]) -> tuple[list[Integers], Floats]:
        """The joint choices of some agents (by their numbers in this move), with probabilities."""
        if who not in self._together:
            laws = [self._moves[k].law_of for k in who]
            self._together[who] = _merge(laws, self._through)
        return self._together[who]

    def _spread(self, stage: int) -> None:
        """Compute the distribution over joint states at the next stage."""
        fan = np.ones(len(self._weights))  # for each joint state: the number of joint outcomes
        for each in self._moves:
            fan *= each.count[each.law_of]
        if fan.max() > self._reach.most:
            raise self._give_up(stage)
        self.terms += float(fan.sum())
        states: list[Indices] = []
        weights = np.zeros(0)
        for rows in _blocks(fan, self._reach.block):
            self._look_at_the_clock()
            nexts, chances = self._outcomes(rows)
            if states:
                nexts = [np.concatenate(both) for both in zip(states, nexts, strict=True)]
                chances = np.concatenate([weights, chances])
            states, weights = _merge(nexts, chances)
            if len(weights) > self._reach.most:
                raise self._give_up(stage)
            # The joint states of this stage and of the next one.
            self._reach.room.take(self, len(self._weights) + len(weights))
        self._reach.room.take(self, len(weights))
        self._states, self._weights = states, weights

    def _outcomes(self, rows: Integers) -> tuple[list[Indices], Floats]:
        """The next joint states of some joint states, with probabilities."""
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

    def _look_at_the_clock(self) -> None:
        if self._reach.is_stopped is not None and self._reach.is_stopped():
            raise LimitError("interrupted", "its exact value is not computed: it was stopped")
        if now() > self._reach.end:
            raise LimitError(
                "time_limit",
                "the exact value of the policy takes too long to compute; use Policy.estimate, "
                "which simulates",
            )

    def _give_up(self, stage: int) -> SolverError:
        names = self._policy.indexed.agent_names
        whose = ""
        if len(self.agents) < len(names):
            first = found(names[self.agents[0]])
            whose = f" of the team of {len(self.agents)} agents around {first}"
        return SolverError(
            "the exact value of the policy is out of reach: it can lead to more than "
            f"{self._reach.most:,} joint states{whose} at stage {stage}; use Policy.estimate, "
            "which simulates"
        )


class _NotApartError(Exception):
    """The groups of a rule could not be shown to be independent."""

    def __init__(self, agents: tuple[int, ...], reason: str) -> None:
        super().__init__(reason)
        self.agents = agents


class _Knowledge:
    """The possible knowledge of one agent at the next stage: its state, or only its choice.

    Each piece of knowledge has a number: 0 if the agent is not looked at, then its states, then its
    choices with several possible next states.
    """

    def __init__(self, policy: Policy, stage: int, agent: int, laws: Sequence[Law]) -> None:
        spread: list[dict[int, float]] = []
        for law in laws:
            chances: dict[int, float] = {}
            for state, share in zip(law.nexts, law.chances, strict=True):
                chances[state] = chances.get(state, 0.0) + share
            spread.append(chances)
        known = sorted({state for chances in spread for state in chances})
        self.states = np.array([known[0], *known], np.uint32)
        """The state for each number that stands for a state; any state for 0."""
        lists = policy.group_lists(stage, agent, self.states[1:]).tolist()
        assert policy.groups is not None
        couplings = policy.groups.couplings
        number_of = {state: k for k, state in enumerate(known, 1)}
        numbers: dict[tuple[tuple[int, float], ...], int] = {}
        ahead = [couplings.nothing(agent), *lists]
        count = [0] * len(ahead)
        begin = [0] * len(ahead)
        after: list[int] = []
        chance: list[float] = []
        self.of_law: list[int] = []
        """For each choice: the knowledge after it."""
        self.lists_of_law: list[frozenset[int]] = []
        """For each choice: the lists of its possible next states."""
        for chances in spread:
            items = tuple(sorted((number_of[each], share) for each, share in chances.items()))
            possible = frozenset(ahead[number] for number, _ in items)
            self.lists_of_law.append(possible)
            if len(items) == 1:
                self.of_law.append(items[0][0])
                continue
            if items not in numbers:
                numbers[items] = len(ahead)
                ahead.append(couplings.union(agent, possible))
                count.append(len(items))
                begin.append(len(after))
                after += [number for number, _ in items]
                chance += [share for _, share in items]
            self.of_law.append(numbers[items])
        self.ahead = np.array(ahead)
        """By number: the list of conditions that the agent can still match."""
        self.count = np.array(count)
        """By number: the number of possible next states; 0 if the state is known."""
        self.begin = np.array(begin)
        self.after = np.array(after, np.int64)
        self.chance = np.array(chance)


class _GroupedPart(_Part):
    """Agents under a rule of groups; a row is a joint state of one group.

    Three claims need a proof. First, an agent's list never grows; then agents of different groups
    are never in one group again. Second, every interaction that two groups could still earn is an
    event of the rule and in the lists of its members; then they would be one group. Third,
    probabilities add up to 1; then the outcomes of other groups do not matter to a group.
    """

    def __init__(
        self,
        policy: Policy,
        laws: Laws,
        agents: Sequence[int],
        start: Beginning,
        reach: _Reach,
    ) -> None:
        super().__init__(policy, laws, agents, start, reach)
        assert policy.groups is not None
        self._couplings = policy.groups.couplings
        self._neighbours = self._couplings.neighbours(self.agents)
        here = [Law((), (int(each[0]),), (1.0,), 1.0, {}) for each in self._states]
        known = [
            _Knowledge(policy, start.stage, i, [each])
            for i, each in zip(self.agents, here, strict=True)
        ]
        self._enter(start.stage, known, np.ones((len(agents), 1), np.int64))

    def _choose(self, stage: int) -> list[Integers]:
        self._acting = self._here
        self._lists = [
            self._policy.group_lists(stage, i, each)
            for i, each in zip(self.agents, self._states, strict=True)
        ]
        if stage == self._start.stage and self._start.choices is not None:
            return super()._choose(stage)
        choices = self._policy.choose_many(stage, self.agents, self._states, list(~self._here))
        for each, here in zip(choices, self._here, strict=True):
            each[~here] = each[here.argmax()]
        return choices

    def _get_through(self, stage: int) -> float:
        self._stage = stage
        for each in self._moves:
            for law in each.laws:
                if abs(law.mass - 1.0) > len(law.chances) * sys.float_info.epsilon:
                    raise _NotApartError(self.agents, "probabilities do not add up to 1")
            self.terms += 2.0 * float(each.count.max())
        self._allowed: dict[tuple[int, int], set[int]] = {}
        return 1.0

    # -- rewards ------------------------------------------------------------------------------

    def _find_chance(self, pattern: _Pattern) -> float:
        shares = [self._moves[k].matched(condition) for k, condition in pattern]
        if not all(map(any, shares)):
            return 0.0
        # Agents that always match can be left out.
        left = tuple(one for one, each in zip(pattern, shares, strict=True) if min(each) < 1.0)
        if not left:
            return 1.0
        if len(left) > 1:
            self._check_together(pattern, left)
        return super()._find_chance(left)

    def sums(self, added: Mapping[int, Integers]) -> Floats:
        # At most one group adds something, so the rows with a sum above 0 exclude each other.
        units = {k: mine[self._moves[k].choices] for k, mine in added.items()}
        total = np.zeros(len(self._through), np.int64)
        for k, mine in units.items():
            total += np.where(self._acting[k], mine[self._moves[k].law_of], 0)
        self._check_one_adds({k: mine for k, mine in units.items() if mine.any()})
        chances = np.bincount(total, self._through).astype(np.float64, copy=False)
        chances[0] = max(0.0, 1.0 - float(chances[1:].sum()))
        return chances

    def _check_one_adds(self, units: Mapping[int, Integers]) -> None:
        """Check that agents of different groups do not both add to a sum.

        Parameters
        ----------
        units
            For agents that can add something, by position: the units of their choices.
        """
        allowed: dict[int, set[frozenset[int]]] = {}
        for one, other in itertools.combinations(sorted(units, key=self.agents.__getitem__), 2):
            if np.array_equal(self._acting[one], self._acting[other]):
                continue
            for k in (one, other):
                if k not in allowed:
                    allowed[k] = self._conditions_when(k, units[k] > 0)
            scope = (self.agents[one], self.agents[other])
            events = list(self._couplings.events_of(scope, self._stage))
            for pair in itertools.product(allowed[one], allowed[other]):
                if not any(all(c in pair[place] for place, c in event) for event in events):
                    raise _NotApartError(self.agents, "the rule of groups misses a sum")

    def _conditions_when(self, k: int, taken: NDArray[np.bool_]) -> set[frozenset[int]]:
        """The rule's conditions in the lists of an agent that makes one of some choices."""
        rows = self._acting[k] & taken[self._moves[k].law_of]
        return {
            frozenset(self._couplings.conditions_at(self.agents[k], number, self._stage))
            for number in np.unique(self._lists[k][rows]).tolist()
        }

    def _check_together(self, pattern: _Pattern, left: _Pattern) -> None:
        """Check that agents of different groups cannot match a pattern.

        Events name all agents of the pattern, including those that always match.
        """
        acting = self._acting[[k for k, _ in left]]
        if np.array_equal(acting.all(axis=0), acting.any(axis=0)):
            return
        ordered = sorted((self.agents[k], k, condition) for k, condition in pattern)
        allowed = [self._conditions_for(k, condition) for _, k, condition in ordered]
        for members in self._couplings.events_of(tuple(i for i, _, _ in ordered), self._stage):
            if all(condition in allowed[place] for place, condition in members):
                return
        raise _NotApartError(self.agents, "the rule of groups misses an interaction")

    def _conditions_for(self, k: int, condition: int) -> set[int]:
        """The rule's conditions that are in an agent's list whenever it can match a given one."""
        if (k, condition) not in self._allowed:
            able = np.array(self._moves[k].matched(condition)) > 0
            matching = self._acting[k] & able[self._moves[k].law_of]
            self._allowed[k, condition] = set.intersection(
                *(
                    self._couplings.conditions_at(self.agents[k], number, self._stage)
                    for number in np.unique(self._lists[k][matching]).tolist()
                )
            )
        return self._allowed[k, condition]

    def _weights_of(self, k: int) -> list[float]:
        if k not in self._alone:
            each, at = self._moves[k], self._acting[k]
            laws = np.bincount(each.law_of[at], self._through[at], len(each.laws))
            self._alone[k] = laws.tolist()
        return self._alone[k]

    def _choices_of(self, who: tuple[int, ...]) -> tuple[list[Integers], Floats]:
        if who not in self._together:
            at = np.flatnonzero(self._acting[list(who)].all(axis=0))
            laws = [self._moves[k].law_of[at] for k in who]
            self._together[who] = _merge(laws, self._through[at])
        return self._together[who]

    # -- reachable joint states ---------------------------------------------------------------

    def _spread(self, stage: int) -> None:
        known = [
            _Knowledge(self._policy, stage, i, each.laws)
            for i, each in zip(self.agents, self._moves, strict=True)
        ]
        rows = np.zeros(self._here.shape, np.int64)
        for k, (each, knowledge) in enumerate(zip(self._moves, known, strict=True)):
            at = self._here[k]
            self._check_lists(stage, k, knowledge)
            rows[k, at] = np.array(knowledge.of_law)[each.law_of[at]]
        self._enter(stage, known, rows)

    def _check_lists(self, stage: int, k: int, knowledge: _Knowledge) -> None:
        """Check that an agent's list does not grow."""
        at = self._here[k]
        lists, laws = self._lists[k][at], self._moves[k].law_of[at]
        facts = {
            (before, after)
            for before, law in _pairs(lists, laws)
            for after in knowledge.lists_of_law[law]
        }
        for before, after in facts:
            if not self._couplings.is_within(self.agents[k], after, before, stage):
                raise _NotApartError(self.agents, "an agent's list grows")

    def _enter(self, stage: int, known: Sequence[_Knowledge], rows: Matrix) -> None:
        """Reveal the states of the agents, one after the other, and split groups.

        Groups are split as early as possible, so that their outcomes are not combined.
        """
        self._look_at_the_clock()
        # Rows by the number of agents whose states are not revealed yet, the largest number first.
        waiting: list[list[tuple[Matrix, Floats]]] = [[] for _ in range(len(known) + 1)]

        def put(rows: Matrix, weights: Floats) -> None:
            rows, weights = self._split(known, rows, weights)
            left = (_look_up([each.count for each in known], rows) > 0).sum(axis=0)
            for number in np.unique(left).tolist():
                at = left == number
                pieces = waiting[number]
                pieces.append((rows[:, at], weights[at]))
                fresh = sum(len(each) for _, each in pieces[1:])
                if fresh > max(self._reach.block // len(known), len(pieces[0][1])):
                    waiting[number] = [self._gather(stage, pieces)]
            held = sum(len(each) for pieces in waiting for _, each in pieces)
            self._reach.room.take(self, len(self._weights) + held)

        put(rows, self._weights)
        for number in range(len(known), 0, -1):
            if waiting[number]:
                rows, weights = self._gather(stage, waiting[number])
                waiting[number] = []
                fan = np.full(len(weights), float(8 * len(known)))
                for at in _blocks(fan, self._reach.block):
                    self._look_at_the_clock()
                    put(*self._find_out(known, rows[:, at], weights[at]))
        rows, self._weights = self._gather(stage, waiting[0])
        self._reach.room.take(self, len(self._weights))
        self._here = rows > 0
        self._states = [each.states[row] for each, row in zip(known, rows, strict=True)]

    def _split(
        self, known: Sequence[_Knowledge], rows: Matrix, weights: Floats
    ) -> tuple[Matrix, Floats]:
        """Split rows so that each row is one group."""
        lists = [each.ahead[row] for each, row in zip(known, rows, strict=True)]
        first = self._couplings.together(self.agents, lists)
        pieces = []
        for k in range(len(rows)):
            at = np.flatnonzero((first[k] == k) & (rows[k] > 0))
            if len(at):
                pieces.append((np.where(first[:, at] == k, rows[:, at], 0), weights[at]))
        self.terms += float(sum(len(each) for _, each in pieces))
        return _put_together(pieces)

    def _gather(self, stage: int, pieces: Sequence[tuple[Matrix, Floats]]) -> tuple[Matrix, Floats]:
        """Merge equal rows."""
        rows, weights = _put_together(pieces)
        columns, weights = _merge(list(rows), weights)
        if len(weights) > self._reach.most:
            raise self._give_up(stage)
        return np.stack(columns), weights

    def _find_out(
        self, known: Sequence[_Knowledge], rows: Matrix, weights: Floats
    ) -> tuple[Matrix, Floats]:
        """Reveal the state of one more agent, in rows in which some are not revealed."""
        hidden = _look_up([each.count for each in known], rows) > 0
        # Continue with a neighbour of a known agent: the two certainly belong together.
        near = self._neighbours @ ((rows > 0) & ~hidden)
        order = near * len(rows) + self._neighbours @ (rows > 0)
        who = np.where(hidden, order, -1).argmax(axis=0)
        pieces = []
        for k in np.unique(who).tolist():
            at = np.flatnonzero(who == k)
            each = known[k]
            count = each.count[rows[k, at]]
            within = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
            found_out = np.repeat(each.begin[rows[k, at]], count) + within
            spread = np.repeat(rows[:, at], count, axis=1)
            spread[k] = each.after[found_out]
            pieces.append((spread, np.repeat(weights[at], count) * each.chance[found_out]))
        return _put_together(pieces)


def _put_together(pieces: Sequence[tuple[Matrix, Floats]]) -> tuple[Matrix, Floats]:
    if len(pieces) == 1:
        return pieces[0]
    rows, weights = zip(*pieces, strict=True)
    return np.concatenate(rows, axis=1), np.concatenate(weights)


def _look_up(tables: Sequence[Integers], rows: Matrix) -> Matrix:
    """Look up the numbers in each agent's row in the table of the agent."""
    return np.stack([table[row] for table, row in zip(tables, rows, strict=True)])


def _pairs(one: Integers, other: Integers) -> list[tuple[int, int]]:
    """The different pairs of numbers in two columns."""
    rows, _ = distinct_rows([one, other])
    return list(zip(one[rows].tolist(), other[rows].tolist(), strict=True))


def _blocks(fan: Floats, size: int) -> list[Integers]:
    """Split rows into sets with about `size` next rows each."""
    rows = np.arange(len(fan))
    if fan.sum() <= size:
        return [rows]
    block = (np.cumsum(fan) - fan) // size
    return np.split(rows, np.flatnonzero(np.diff(block)) + 1)


def _distinct(values: Integers) -> tuple[Integers, Integers]:
    """The different values, and for each value its position among them."""
    if len(values) == 1:  # the usual case, and much faster
        return values, np.zeros(1, np.int64)
    return np.unique(values, return_inverse=True)


def _merge(columns: Sequence[_Column], weights: Floats) -> tuple[list[_Column], Floats]:
    """Merge equal rows, and add up their weights."""
    if len(weights) <= 1:
        return list(columns), weights
    rows, row_of = distinct_rows(columns)
    sums = np.bincount(row_of, weights, len(rows))
    return [column[rows] for column in columns], sums.astype(np.float64, copy=False)
