"""One team of agents that can interact: solved if it is small, else bounded from both sides.

The upper bound comes from a relaxation over clusters of agents, the lower one from policies whose
value is known; a search over groups of agents, led by both, closes the gap between them. Work goes
to whoever gained most of late, and ends when the bounds meet, when nothing moves any more, or when
somebody stops it.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from coreplan import _core
from coreplan.solving.limits import Limits

CLOSED = 1e-9
"""Part of the value within which the engine brings bounds together, finer than optimality asks."""
SECONDS_PER_CELL = 3e-9
"""Of the tensor kernel with a policy, per agent, on one thread, about."""
SECONDS_PER_BYTE = 8e-9
"""Of the tables that the search goes by, on one thread, about."""
EXACT_AT_ONCE = 0.03
"""Seconds that an exact solution may take before anything else is tried."""
EXACT_PART = 0.25
"""Of the time that is left, that an exact solution may take later on."""
CUTS = 24
BASES = 6
STATES_PER_LAYER = 20_000
JOINT_AGENTS = 10
"""Teams up to this size act together; larger ones in clusters."""
SLOW_ROUNDS = 6
SLOW_GAIN = 0.02
"""A relaxation is slow if so many rounds closed less than this part of the gap."""
STUCK_ROUNDS = 40
STUCK_GAIN = 0.01
"""Without a time limit, a relaxation is given up if so many rounds closed less of the gap."""
UPPER_PART = 0.3
LOWER_PART = 0.3
SEARCH_PART = 0.4
"""Of the time, for the relaxation, the policies and the search."""
LEAST_PART = 0.1
"""Of its part of the time, that whoever does badly still gets."""
RATE_MEMORY = 0.5
"""Seconds of work that tell how well somebody does of late."""
PREPARE = 0.04
"""Seconds for relaxation and policies of up to ten agents before the search begins."""
SHORTEST_GROWTH = 0.05
"""Seconds that a round with larger clusters may take, right from the start."""
ROUNDS_LEFT = 30
"""Rounds for which there should be time after clusters are enlarged."""
GROWTH_PAUSE = 1.3
"""Times as much work as so far until they may be enlarged again, if that was out of reach."""
STALLED_AFTER = 12
"""Attempts at a better policy without success."""
SEARCH_CLUSTER = 5
"""Agents of a cluster that is good for a search."""
SEARCH_BASES = 8
"""Policies that the search knows from the start."""
SEARCH_MEMORY = 0.5
"""Of the memory that is left, for the search."""
MOST_MEMORY = 2.0**40
BETTER_START = 0.1
"""A search goes by a relaxation that has gained this part of the gap."""
POLICY_STATES = 100_000
"""Groups' joint states per stage that the policy of a finished search tells apart at first."""
LEAST_LOSS = 1e-7
LEAST_PART_OF_GAP = 1e-5
"""What a state may lose by a simpler policy: of what counts as closed, and of the gap till then."""
FEWEST_STATES = 1_000
"""That any policy of a search tells apart."""
SECONDS_PER_STATE = 2e-5
"""That it takes to write one of them down, about."""
WRITING_PART = 0.1
"""Of the time so far, that writing down a policy may take while the search goes on."""
WRITING_PAUSE = 8
"""Times as long as it took to write a policy down, that the search goes on before the next one."""
LAST_WRITING = 1.0
"""Seconds, more or less, that the last writing comes before the end."""
POLICY_HOPE = 0.2
"""Of the gap, that the search's policy may be worth more than its bound says."""


@dataclass(frozen=True)
class EngineOptions:
    """What the parts of the engine have to know."""

    limits: Limits
    threads: int
    seed: int
    exact: bool = True
    """Whether teams may be solved by the tensor kernel as a whole."""
    search: bool = True
    """Whether to search for what the bounds leave open."""
    certify: bool = False
    """Whether what the search finds is to be proven to others afterwards."""
    ideas: Mapping[str, bool] = field(default_factory=dict)
    """Ideas of the search that are switched on or off."""


def is_slow(gains: Sequence[float], gap: float) -> bool:
    """Whether the last rounds of a relaxation closed too little of a gap to go on like that."""
    recent = gains[-SLOW_ROUNDS:]
    return len(recent) == SLOW_ROUNDS and sum(recent) < SLOW_GAIN * gap


@dataclass(eq=False)
class _Side:
    """How well one way to better bounds has been coming along."""

    part: float = 1.0
    """Of the time, that it gets if it does as well as the others."""
    recent_gain: float = 0.0
    """Of the gap, that it closed of late."""
    recent_seconds: float = 0.0
    idle: int = 0
    seconds: float = 0.0
    credit: float = 0.0
    """Seconds that it should have had by now, beyond what it had."""
    idle_seconds: float = 0.0
    done: bool = False

    @property
    def rate(self) -> float:
        """Of the gap, that it closed per second of late."""
        return self.recent_gain / self.recent_seconds if self.recent_seconds > 0 else math.inf

    def note(self, gain: float, gap: float, seconds: float) -> None:
        self.seconds += seconds
        self.credit -= seconds
        kept = math.exp(-seconds / RATE_MEMORY)
        self.recent_gain = kept * self.recent_gain + gain / max(gap, 1e-300)
        self.recent_seconds = kept * self.recent_seconds + seconds
        self.idle = 0 if gain > 0 else self.idle + 1
        self.idle_seconds = 0.0 if gain > 0 else self.idle_seconds + seconds


class Team:
    """Bounds on what a team earns, and a policy for it; constants and offsets are not counted."""

    def __init__(
        self, model: _core.CompiledModel, agents: Sequence[int], options: EngineOptions
    ) -> None:
        # The kernel is fast if the agent with the most states comes last.
        self.agents = sorted(agents, key=lambda i: int(model.layer_begin(i)[-1]))
        self.model = _core.restrict_to(model, self.agents)
        self.everyone = list(range(len(self.agents)))
        self.options = options
        alone = _core.independent_bounds(self.model, options.limits.unlimited_monitor())
        self.lower = self._lower_alone = alone.lower
        self.upper = max(alone.upper, alone.lower)
        self.local: list[NDArray[np.uint32]] = [alone.action(k) for k in self.everyone]
        """Per agent: what it does by itself, by class of the team's model."""
        self._local_alone = self.local
        self.clusters: list[_core.Cluster] = []
        """Groups of agents that do better together, in the states that their tables know."""
        self.solution: _core.TeamSolution | None = None
        self.relaxation: _core.Relaxation | None = None
        self.policies: _core.PolicySearch | None = None
        self.search: _core.GroupSearch | None = None
        self.decisions: _core.GroupDecisions | None = None
        """What groups of agents do, if that is the best that is known."""
        self.lists: list[tuple[NDArray[np.uint32], NDArray[np.uint32], NDArray[np.uint32]]] = []
        """Per agent: what it can still take part in, as the search tells groups apart."""
        self.events: list[tuple[list[tuple[int, int]], list[int]]] = []
        """What agents can do together, and when."""
        self.certified = self.upper
        """The upper bound without the search."""
        self.memory_short = False
        self._exact_failed = False
        self.expanded = 0
        self.actions = 0
        self.kernel_cells = 0
        self._upper_side = _Side(UPPER_PART)
        self._lower_side = _Side(LOWER_PART)
        self._search_side = _Side(SEARCH_PART, done=not options.search)
        self._start_upper = math.inf
        self._search_memory = 0.0
        self._written = 0.0
        self._written_whole = True
        self._writing = 0.0
        self._left_when_written = math.inf
        self._recent: list[float] = []
        self._next_growth = 0.0

    @property
    def gap(self) -> float:
        """How far the bounds are apart that work goes by."""
        return self._proven_upper - self.lower

    @property
    def _proven_upper(self) -> float:
        """The upper bound; with a certificate asked for, the best that it can prove."""
        if not self.options.certify or self.relaxation is None or self.solution is not None:
            return self.upper
        searched = math.inf if self.search is None else self.search.upper
        return max(self.lower, min(self.certified, searched))

    @property
    def unproven(self) -> bool:
        """Whether a certificate is asked for and nothing that it could rest on exists yet."""
        linked = len(self.agents) > 1 and self.solution is None
        return self.options.certify and linked and self.relaxation is None

    @property
    def exhausted(self) -> bool:
        """Whether more work is of no use."""
        if self.solution is not None:
            return True
        lower = self._lower_side
        stalled = lower.done or (
            lower.idle >= STALLED_AFTER
            and lower.idle_seconds >= max(0.5, 0.3 * (lower.seconds + self._upper_side.seconds))
        )
        done = self._upper_side.done and stalled and self._search_side.done
        return done and not self._fits_exactly

    @property
    def _monitor(self) -> _core.Monitor:
        return self.options.limits.monitor

    @property
    def _stopped(self) -> bool:
        return self._monitor.stop != _core.Stop.none

    # -- exactly ------------------------------------------------------------------------------

    @cached_property
    def exact_seconds(self) -> float:
        """How long an exact solution would take, about; infinite if it does not fit."""
        need = _core.kernel_bytes(self.model, self.everyone, True, self.options.threads)
        if not self.options.exact or not math.isfinite(need):
            return math.inf
        cells = _core.team_cells(self.model, self.everyone)
        return cells * len(self.agents) * SECONDS_PER_CELL / self.options.threads

    @property
    def _fits_exactly(self) -> bool:
        """Whether there are time and memory for an exact solution."""
        left = self.options.limits.seconds_left
        return not self._exact_failed and self.exact_seconds < min(EXACT_PART * left, math.inf)

    def solve_exactly(self) -> bool:
        """Solve it by the tensor kernel; False if it does not fit or a limit strikes."""
        self.options.limits.phase = "kernel"
        try:
            solution = _core.solve_team(
                self.model, self.everyone, True, self.options.threads, self._monitor
            )
        except _core.LimitReached:
            self._exact_failed = self.memory_short = True
            return False
        self.kernel_cells += solution.cells
        if solution.stop != _core.Stop.none:
            self._exact_failed = True
            return False
        self.solution = solution
        self.decisions = None
        self.lower = self.upper = self.certified = solution.value
        return True

    # -- from both sides ----------------------------------------------------------------------

    def work(self, seconds: float) -> None:
        """Improve one of the bounds for about so long."""
        sides = [side for side in self._sides if not side.done]
        # By now an exact solution would have been found.
        due = self._spent > self.exact_seconds or not sides
        if due and self._fits_exactly and self.solve_exactly():
            return
        if not sides:
            return
        if self.unproven and self._upper_side in sides:
            self._improve_upper(seconds)  # the bounds of single agents may be better
            return
        # The search needs something to go by, but not much.
        prepare = PREPARE * max(1.0, (len(self.agents) / 10) ** 1.5)
        if len(sides) > 1 and (not self._ready or self._spent < prepare):
            sides = [side for side in sides if side is not self._search_side]
        if len(sides) > 1 and self._upper_waits:
            sides = [side for side in sides if side is not self._upper_side]
        # Whoever does well gets its part of the time, the others less.
        best = max(side.rate for side in sides)
        parts = [
            side.part * (1.0 if side.rate >= best else max(LEAST_PART, side.rate / best))
            for side in sides
        ]
        if self._lower_side in sides:
            parts[sides.index(self._lower_side)] *= max(LEAST_PART, 0.7**self._lower_side.idle)
        if self._search_side is sides[-1] and self._search_behind:
            parts[-1] = self._search_side.part * LEAST_PART
        shares = [part / sum(parts) for part in parts]
        side = max(sides, key=lambda side: side.credit + seconds * shares[sides.index(side)])
        begin = time.perf_counter()
        gap = self._promised_gap
        bound = self._relaxed
        if side is self._upper_side:
            self._improve_upper(seconds)
        elif side is self._lower_side:
            self._improve_lower(seconds)
        else:
            self._improve_both(seconds)
        spent = time.perf_counter() - begin
        for each, share in zip(sides, shares, strict=True):
            each.credit += spent * share
        gain = gap - self._promised_gap
        if side is self._upper_side and self.search is not None:
            gain = bound - self._relaxed  # the search can go by it
        side.note(gain, gap, spent)
        side.credit = max(side.credit, -16 * seconds)  # some work cannot be cut short

    @property
    def _sides(self) -> tuple[_Side, _Side, _Side]:
        return (self._upper_side, self._lower_side, self._search_side)

    @property
    def _spent(self) -> float:
        """Seconds of work so far."""
        return sum(side.seconds for side in self._sides)

    @property
    def _search_behind(self) -> bool:
        """Whether the search has a way to go before it gains anything."""
        search = self.search
        return search is not None and search.upper > self.upper and search.lower < self.lower

    @property
    def _upper_waits(self) -> bool:
        """Whether the relaxation can only become better by growing, and it is not time for that."""
        return (
            self.relaxation is not None
            and self.relaxation.settled
            and self._spent < self._next_growth
        )

    @property
    def _ready(self) -> bool:
        """Whether there are a relaxation and policies for a search to go by."""
        return self.relaxation is not None and self.policies is not None

    @property
    def _relaxed(self) -> float:
        """The relaxation's own bound."""
        return self.upper if self.relaxation is None else self.relaxation.upper

    @property
    def _promised_gap(self) -> float:
        """The gap, as if the search's policy were written down."""
        known = self.lower if self.search is None else max(self.lower, self.search.lower)
        return self._proven_upper - known

    def start(self, local: Sequence[NDArray[np.uint32]]) -> None:
        """Take a policy of single agents, by class of the team's model, as a start."""
        self._begin_policies()
        if self.policies is not None:
            self.policies.start([list(map(int, each)) for each in local])
            self._take_policy()

    def _begin_policies(self) -> None:
        try:
            self.policies = _core.PolicySearch(
                self.model,
                self.options.seed,
                BASES,
                STATES_PER_LAYER,
                JOINT_AGENTS,
                self.options.threads,
                self._monitor,
            )
        except _core.LimitReached:
            self._lower_side.done = self._search_side.done = True  # which needs policies
            self.memory_short = self.memory_short or not self._stopped
            return
        self._take_policy()

    def _improve_lower(self, seconds: float) -> None:
        self.options.limits.phase = "policies"
        if self.policies is None:
            self._begin_policies()
            return
        self.policies.improve(seconds)
        self._take_policy()
        self._lower_side.done = self.policies.exhausted

    def _take_policy(self) -> None:
        if self.policies is not None and self.policies.value > self.lower:
            self.lower = self.policies.value
            self.decisions = None
            self.upper = max(self.upper, self.lower)  # equal up to rounding

    def _improve_upper(self, seconds: float) -> None:
        self.options.limits.phase = "relaxation"
        if self.relaxation is None:
            try:
                self.relaxation = _core.Relaxation(
                    self.model, self.options.threads, CUTS, self._monitor
                )
            except _core.LimitReached:
                self._upper_side.done = self._search_side.done = True  # which needs a relaxation
                self.memory_short = self.memory_short or not self._stopped
                return
            self._take_bound()
            return
        end = time.perf_counter() + seconds
        while not self._stopped:
            before = self.relaxation.upper
            try:
                self.relaxation.step(self.lower, self._monitor)
            except _core.LimitReached:
                self._upper_side.done = self.memory_short = True
                return
            self._recent.append(before - self.relaxation.upper)
            self._take_bound()
            slow = is_slow(self._recent, self.gap) or self.relaxation.settled
            if slow and not self._stopped:
                grown = self._grow()
                if not grown and (self.relaxation.settled or self._hardly_moves()):
                    self._upper_side.done = self._search_side.done
                    return
            if time.perf_counter() >= end:
                return

    def _hardly_moves(self) -> bool:
        """Whether it is time to give up, if nobody has said how long to go on."""
        recent = self._recent[-STUCK_ROUNDS:]
        return (
            math.isinf(self.options.limits.seconds_left)
            and len(recent) == STUCK_ROUNDS
            and sum(recent) < STUCK_GAIN * self.gap
        )

    def _grow(self) -> bool:
        """Enlarge the relaxation's clusters."""
        assert self.relaxation is not None
        limits = self.options.limits
        spent = self._spent
        left = limits.seconds_left if math.isfinite(limits.seconds_left) else 0.0
        budget = max(SHORTEST_GROWTH, 0.5 * spent, left / ROUNDS_LEFT)
        budget = min(budget, limits.seconds_left / 10)
        if self._search_side.done and self.relaxation.settled:
            budget = limits.seconds_left / 4  # nothing else is left to do
        elif spent < self._next_growth:
            return False
        limits.phase = "relaxation"
        # The search looks into all clusters again and again: large ones would slow it down.
        most = len(self.agents) if self._search_side.done else SEARCH_CLUSTER
        grown = self.relaxation.grow(budget, most, self._monitor)
        if grown:
            self._recent.clear()
        self._next_growth = 0.0 if grown else GROWTH_PAUSE * spent
        self._take_bound()
        return grown

    def _take_bound(self) -> None:
        assert self.relaxation is not None
        self.certified = self.relaxation.upper
        upper = min(self.upper, self.certified)
        if self.search is not None:
            upper = min(upper, self.search.upper)
        self.upper = max(upper, self.lower)

    # -- by search ----------------------------------------------------------------------------

    def _improve_both(self, seconds: float) -> None:
        """Search groups of agents, from the bounds that there are."""
        self.options.limits.phase = "search"
        if self.relaxation is None or self.policies is None:
            self._search_side.done = True
            return
        if self.search is None:
            self._begin_search()
        elif self._relaxation_helps() and self.search.adopt(self.relaxation, self._monitor):
            self._start_upper = self.relaxation.upper
        if self.search is None or self._stopped:
            return
        closed = 0.25 * CLOSED * max(1.0, abs(self.upper))
        found = self.search.run(seconds, closed, self._monitor)
        self._take_bound()
        # Written down, the policy is often better than the search's own bound says.
        gain = self.search.lower - self.lower
        last = found or self.search.full
        if last and gain > 0:
            self._write_policy(POLICY_STATES, LEAST_LOSS * closed)
        elif not last and self._due_to_write and gain > -POLICY_HOPE * self.gap:
            layers = self.model.horizon - self.model.first_stage
            states = WRITING_PART * self._spent / (SECONDS_PER_STATE * layers)
            most = int(min(max(states, FEWEST_STATES), POLICY_STATES))
            self._write_policy(most, LEAST_PART_OF_GAP * self.gap)
        if found and self.gap > closed and not self._written_whole:
            # The policy has more states than were told apart.
            self._write_policy(10 * POLICY_STATES, LEAST_LOSS * closed)
        if found:
            # What is left of the gap is rounding: no other way to a better bound is of use.
            for side in self._sides:
                side.done = True
        elif self.search.full:
            self.memory_short = True
            self._search_side.done = True

    @property
    def _due_to_write(self) -> bool:
        """Whether it is time to write down the search's policy: now and then, and near the end."""
        left = self.options.limits.seconds_left
        if left < 2 * self._writing:
            return False  # it would not be finished
        late = 3 * self._writing + LAST_WRITING
        if left < late:
            return self._left_when_written >= late
        return self._search_side.seconds > self._written + WRITING_PAUSE * self._writing

    def _relaxation_helps(self) -> bool:
        """Whether the relaxation is so much better now that the search should go by it."""
        assert self.relaxation is not None
        assert self.search is not None
        if self.options.certify:
            return False  # a certificate has one set of shares for all records
        lower = max(self.lower, self.search.lower)
        gained = self._start_upper - self.relaxation.upper
        limits = self.options.limits
        size = _core.GroupSearch.table_bytes(self.model, self.relaxation)
        cost = size * SECONDS_PER_BYTE / self.options.threads
        return (
            gained > BETTER_START * (self.search.upper - lower)
            and size < 0.7 * self._search_memory
            and cost < min(0.2 * limits.seconds_left, 0.3 * self._spent)
        )

    def _begin_search(self) -> None:
        assert self.relaxation is not None
        assert self.policies is not None
        ideas = {"split": True, "skip": True, "floors": True, "tables": True}
        self._search_memory = min(SEARCH_MEMORY * self._monitor.memory_left, MOST_MEMORY)
        try:
            self.search = _core.GroupSearch(
                self.model,
                self.relaxation,
                self.policies,
                SEARCH_BASES,
                self.options.threads,
                self._search_memory,
                **{**ideas, **self.options.ideas},
                monitor=self._monitor,
            )
        except _core.LimitReached:
            self._search_side.done = True
            self.memory_short = self.memory_short or not self._stopped
            return
        self._start_upper = self.relaxation.upper
        self._take_bound()

    def _write_policy(self, most_states: int, least: float) -> None:
        """Write down what the search's groups do, in so many joint states per stage.

        Whoever loses no more than `least` follows a simpler policy.
        """
        assert self.search is not None
        begin = time.perf_counter()
        decisions = self.search.decisions(most_states, least, self._monitor)
        while not (decisions.sound or self._stopped) and most_states > FEWEST_STATES:
            # No memory for so many states.
            most_states = max(FEWEST_STATES, most_states // 8)
            decisions = self.search.decisions(most_states, least, self._monitor)
        if decisions.sound and decisions.value > self.lower:
            self.decisions = decisions
            self.lower = decisions.value
            self.upper = max(self.upper, self.lower)  # equal up to rounding
            self.local = [self.search.usual(k) for k in self.everyone]
            if not self.lists:
                self._say_who_belongs_together()
        self._written_whole = decisions.whole
        self._writing = time.perf_counter() - begin
        self._left_when_written = self.options.limits.seconds_left
        self._written = self._search_side.seconds

    def _say_who_belongs_together(self) -> None:
        assert self.search is not None
        if self.options.ideas.get("split", True):
            self.events = self.search.events()
            self.lists = [
                (self.search.list_of(k), self.search.list_begin(k), self.search.runs(k))
                for k in self.everyone
            ]
            return
        # All of them, for ever.
        stages = list(range(self.model.first_stage, self.model.horizon))
        self.events = [([(k, 0) for k in self.everyone], stages)]
        begin, run = np.array([0, 1], np.uint32), np.array([0, stages[0], stages[-1]], np.uint32)
        for k in self.everyone:
            classes = int(self.model.layer_begin(k)[-1])
            self.lists.append((np.zeros(classes, np.uint32), begin, run))

    def finish(self) -> None:
        """Fetch the policy in hand, and what a certificate needs."""
        if self.options.certify and self.solution is None and len(self.agents) > 1:
            self._make_certifiable()
        if self.relaxation is not None:
            self.kernel_cells += self.relaxation.cells
        if self.search is not None:
            self.expanded, self.actions = self.search.expanded, self.search.actions
        if self.solution is not None or self.decisions is not None:
            return
        if self.policies is not None and self.policies.value >= self.lower:
            try:
                policy = self.policies.policy()
                self.local = [policy.local(k) for k in self.everyone]
                self.clusters = [each for each in policy.clusters if len(each.layer) > 0]
            except MemoryError:
                self.fall_back()

    def fall_back(self) -> None:
        """Do with what agents do alone; the upper bound stays."""
        self.lower, self.local = self._lower_alone, self._local_alone
        self.solution = self.decisions = None
        self.clusters = []
        self.memory_short = True

    def make_room(self) -> None:
        """Let go of what only better bounds need: the system has no more memory to give."""
        self.memory_short = True
        self.search = None
        if not self.options.certify:
            self.relaxation = None

    def let_go(self) -> None:
        """Let go of all that only serves to work on; the answer needs memory, too."""
        if not self.options.certify:
            self.search = self.relaxation = None
        self.policies = None

    def _make_certifiable(self) -> None:
        """See to it that the upper bound is a relaxation's: others cannot check the first one."""
        if self.relaxation is None:
            monitor = self.options.limits.unlimited_monitor()
            self.relaxation = _core.Relaxation(self.model, self.options.threads, CUTS, monitor)
            self.certified = self.relaxation.upper
