"""The exact expected value of a policy, recomputed from the problem's own description.

Nothing here is shared with the solvers: no compiled model, no merged states, no bounds.

Agents move independently, and the parts of a policy (teams, and agents on their own) decide without
a look at each other. So the parts are independent processes, and the chance that all conditions of
an entry match is a product over the parts that it looks at. Within a part the distribution over
joint states is carried forward; given what agents choose, the chance that their conditions match is
again a product.

Where a part has a rule of groups, agents fall apart into groups that cannot interact any more. What
is earned is a sum over groups; so only the distribution over each group's own joint states is
carried forward. That is right if what the rule says of groups is true, and that is checked on the
way; if it is not, the part is taken as a whole.
"""

from __future__ import annotations

import logging
import math
import operator
import sys
import time
from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from coreplan.errors import LimitError, SolverError
from coreplan.model.indexed import IndexedProblem
from coreplan.model.rewards import TransitionRewards
from coreplan.support.checks import found
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
"""Beyond this many joint states of one part in one stage, evaluation gives up."""
BLOCK = 1 << 21
"""About how many joint transitions are held in memory at once, if memory allows."""
BYTES_PER_ROW = 120
BYTES_PER_AGENT = 40
"""That a joint state or transition takes, about, and for each agent beside: a few numbers each, in
copies while rows are merged."""
PART_OF_BLOCK = 0.3
"""Of the memory, for joint transitions at once; the rest is for joint states."""


class Beginning(NamedTuple):
    """Where a policy is followed from, in numbers, if that is not where it starts."""

    stage: int
    state: tuple[int, ...]
    choices: tuple[int, ...] | None = None
    """What is done there, this once; None: what the policy says."""


class _Reach(NamedTuple):
    """How far an evaluation may go."""

    most: int
    """Joint states of a part at a stage."""
    block: int
    """Joint transitions that are held in memory at once, about."""
    end: float
    """On the clock, in seconds."""
    room: _Room

    def within_memory(self, agents: int) -> _Reach:
        """With blocks that fit for a part of so many agents."""
        fit = PART_OF_BLOCK * self.room.bytes / _bytes_per_row(agents)
        return self._replace(block=max(1, int(min(self.block, fit))))


class _Room:
    """The memory for the joint states of all parts."""

    def __init__(self, memory: float) -> None:
        self.bytes = memory
        self._taken: dict[_Part, float] = {}

    def take(self, part: _Part, rows: int) -> None:
        """Let a part have so many joint states from now on."""
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
) -> float:
    """The expected value of a policy.

    Parameters
    ----------
    policy
        The policy.
    parts
        The agents in sets that decide without a look at the others, each taken as a whole; by
        default those of the policy, and groups within them.
    most
        The number of joint states of a part at a stage beyond which it gives up.
    time_limit
        Seconds after which it gives up, about.
    memory_limit
        Megabytes that it may take, about.

    Raises
    ------
    SolverError
        If there are more joint states, or it takes longer or more memory.
    """
    return evaluate_and_count(
        policy, parts, most, time_limit=time_limit, memory_limit=memory_limit
    )[0]


def evaluate_entries(
    policy: Policy, time_limit: float = math.inf, beginning: Beginning | None = None
) -> tuple[float, list[float]]:
    """The expected value of a policy, and what each entry of the problem's rewards adds to it."""
    added = [0.0] * len(policy.indexed.entries)
    value, _ = evaluate_and_count(policy, added=added, time_limit=time_limit, beginning=beginning)
    return value, added


class StageRecord(NamedTuple):
    """What a policy does at one stage, whatever has happened before, and what it earns."""

    stage: int
    choices: tuple[dict[int, float], ...]
    """Per agent: how likely each of its choices is."""
    earned: dict[int, float]
    """Per number of an entry that counts at this stage: what it adds to the expected value."""


def evaluate_stages(
    policy: Policy, time_limit: float = math.inf
) -> tuple[float, list[StageRecord]]:
    """The expected value of a policy, and what it does and earns at each stage."""
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
) -> tuple[float, float]:
    """The same, and how many terms were added up, for whoever wants to bound rounding.

    What each entry is expected to earn is put in its place in `added`, what happens at each stage
    at the end of `records`.
    """
    end = time.monotonic() + time_limit
    start = beginning or start_of(policy)
    laws = Laws(policy.indexed)
    grouped: set[tuple[int, ...]] = set()
    if parts is None and policy.groups is not None:
        grouped = set(policy.groups.components)
    while True:
        reach = _Reach(most, BLOCK, end, _Room(memory_limit * BYTES_PER_MB))
        try:
            processes = [
                (_GroupedPart if agents in grouped else _Part)(
                    policy, laws, agents, start, reach.within_memory(len(agents))
                )
                for agents in map(tuple, parts or policy.parts)
            ]
            return _run(policy.indexed, processes, start.stage, added, records)
        except _NotApartError as error:
            names = ", ".join(policy.indexed.agent_names[i] for i in error.agents)
            logger.info("evaluating these agents jointly, not by groups (%s): %s", error, names)
            grouped.remove(error.agents)
            if records is not None:
                records.clear()


def start_of(policy: Policy) -> Beginning:
    """Where a policy starts."""
    return Beginning(policy.stage, policy.indexed.find_state(policy.stage, None))


def _run(
    indexed: IndexedProblem,
    processes: Sequence[_Part],
    first: int,
    added: list[float] | None,
    records: list[StageRecord] | None,
) -> tuple[float, float]:
    """Let all parts act, and count what they earn."""
    place = {i: (part, k) for part in processes for k, i in enumerate(part.agents)}
    terms = []
    for entry in indexed.entries:
        asked: dict[_Part, list[tuple[int, int]]] = {}
        for i, condition in entry.members:
            part, k = place[i]
            asked.setdefault(part, []).append((k, condition))
        # Single agents first: if one of them cannot match, nobody has to ask for the others.
        ordered = sorted(asked.items(), key=lambda each: len(each[1]))
        terms.append((entry.value, [(part, tuple(pattern)) for part, pattern in ordered]))
    at_stage = entries_by_stage(indexed)
    earned = [0.0] * len(terms)
    total = 0.0
    counted = 0.0
    for stage in range(first, indexed.horizon):
        mass = 1.0  # the chance that everybody gets through this stage: 1 up to rounding
        for part in processes:
            mass *= part.move(stage)
        at_this_stage: dict[int, float] = {}
        for number in at_stage(stage):
            value, patterns = terms[number]
            for part, pattern in patterns:
                value *= part.chance(pattern) if value else 0.0
            total += mass * value
            earned[number] += mass * value
            at_this_stage[number] = mass * value
            counted += len(patterns) + 1
        if records is not None:
            chosen = (place[i][0].choices_of(place[i][1]) for i in range(len(indexed.agents)))
            records.append(StageRecord(stage, tuple(chosen), at_this_stage))
    if added is not None:
        added[:] = earned
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
        self.choices: list[int] = used.tolist()
        self.laws = [laws.of(agent, choice) for choice in self.choices]
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
        # The joint states, a column per agent, and how likely each of them is.
        self._states = [np.array([start.state[i]], np.uint32) for i in agents]
        self._start = start
        self._weights = np.ones(1)
        self.terms = 0.0

    def move(self, stage: int) -> float:
        """Let the agents act; give the chance that they get through, 1 up to rounding."""
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
        """How likely it is that conditions all matched in the last move, if all got through."""
        chance = self._chances.get(pattern)
        if chance is None:
            chance = self._chances[pattern] = self._find_chance(pattern) / self._mass
        return chance

    def choices_of(self, k: int) -> dict[int, float]:
        """How likely the choices of one agent were in the last move, if all got through."""
        weights = self._weights_of(k)
        return {
            choice: weight / self._mass
            for choice, weight in zip(self._moves[k].choices, weights, strict=True)
            if weight > 0
        }

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
            # Those of this stage and those of the next one.
            self._reach.room.take(self, len(self._weights) + len(weights))
        self._reach.room.take(self, len(weights))
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

    def _look_at_the_clock(self) -> None:
        if time.monotonic() > self._reach.end:
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
    """Agents of a part cannot be shown to be as independent as its rule of groups has them."""

    def __init__(self, agents: tuple[int, ...], reason: str) -> None:
        super().__init__(reason)
        self.agents = agents


class _Knowledge:
    """What can be known of one agent at the next stage: where it is, or only what it did.

    All that can be known has a number: 0 where the agent is not looked at, then its states, then
    what it did where several states can come of it.
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
        """By number, for where the agent is; 0 has any state."""
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
        """Per law: what is known once it is chosen."""
        self.lists_of_law: list[frozenset[int]] = []
        """Per law: the lists of the states that can come of it."""
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
        """By number: the list of what the agent can still take part in."""
        self.count = np.array(count)
        """By number: how many states can come of what was done; 0 if the state is known."""
        self.begin = np.array(begin)
        self.after = np.array(after, np.int64)
        self.chance = np.array(chance)


class _GroupedPart(_Part):
    """Agents that a rule of groups is for; a row is a joint state of one group.

    Three things have to be shown. An agent's list never grows: then agents of different groups will
    not be in one again. What two groups would have to do together to earn something is an event of
    the rule, and is in the lists of those that can do it now: then they would be one group. Chances
    add up to 1: then it does not matter to a group what becomes of the others.
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

    # -- what is earned -----------------------------------------------------------------------

    def _find_chance(self, pattern: _Pattern) -> float:
        shares = [self._moves[k].matched(condition) for k, condition in pattern]
        if not all(map(any, shares)):
            return 0.0
        # Those who match in any case can be left out.
        left = tuple(one for one, each in zip(pattern, shares, strict=True) if min(each) < 1.0)
        if not left:
            return 1.0
        if len(left) > 1:
            self._check_together(pattern, left)
        return super()._find_chance(left)

    def _check_together(self, pattern: _Pattern, left: _Pattern) -> None:
        """Agents of different groups must not be able to match a pattern.

        Events are about all agents of it, also those that are not left because they always match.
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
        """The rule's conditions that are in an agent's list whenever it can match one of ours."""
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

    # -- where they can be --------------------------------------------------------------------

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
        """What an agent can take part in from now on must be in its list."""
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
        """Find out where the agents are, one after the other, and who is still together.

        Groups fall apart as early as possible, so that what becomes of them is not combined.
        """
        self._look_at_the_clock()
        # Rows by how many agents' states are to be found out; those with most of them come first.
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
        """Make a row of each group."""
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
        """Merge rows that are the same."""
        rows, weights = _put_together(pieces)
        columns, weights = _merge(list(rows), weights)
        if len(weights) > self._reach.most:
            raise self._give_up(stage)
        return np.stack(columns), weights

    def _find_out(
        self, known: Sequence[_Knowledge], rows: Matrix, weights: Floats
    ) -> tuple[Matrix, Floats]:
        """Find out where one more agent is, in rows in which some are to be found out."""
        hidden = _look_up([each.count for each in known], rows) > 0
        # Go on next to those that are known: what is combined then belongs together, for sure.
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
    """What each agent's table says of the numbers in its row."""
    return np.stack([table[row] for table, row in zip(tables, rows, strict=True)])


def _pairs(one: Integers, other: Integers) -> list[tuple[int, int]]:
    """The different pairs of numbers in two columns."""
    rows, _ = distinct_rows([one, other])
    return list(zip(one[rows].tolist(), other[rows].tolist(), strict=True))


def _blocks(fan: Floats, size: int) -> list[Integers]:
    """Split rows such that about `size` others follow each set of them."""
    rows = np.arange(len(fan))
    if fan.sum() <= size:
        return [rows]
    block = (np.cumsum(fan) - fan) // size
    return np.split(rows, np.flatnonzero(np.diff(block)) + 1)


def _distinct(values: Integers) -> tuple[Integers, Integers]:
    """The different values, and for each value where it is among them."""
    if len(values) == 1:  # most often so, and much faster
        return values, np.zeros(1, np.int64)
    return np.unique(values, return_inverse=True)


def _merge(columns: Sequence[_Column], weights: Floats) -> tuple[list[_Column], Floats]:
    """Make one row of rows that are the same, with the sum of their weights."""
    if len(weights) <= 1:
        return list(columns), weights
    rows, row_of = distinct_rows(columns)
    sums = np.bincount(row_of, weights, len(rows))
    return [column[rows] for column in columns], sums.astype(np.float64, copy=False)
