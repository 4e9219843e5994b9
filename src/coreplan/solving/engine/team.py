"""One team of agents that can interact: solved if it is small, else bounded from both sides.

The upper bound comes from a relaxation over clusters of agents, the lower one from policies whose
value is known; a search over groups of agents, led by both, closes the gap between them. Most work
goes to the side that gained most recently. It ends when the bounds meet, when nothing moves any
more, or when a limit strikes. All decisions go by counted work, never by a clock: the same problem
takes the same course on every run.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from coreplan import _core
from coreplan.solving.limits import Limits
from coreplan.solving.tuning import Tuning

MOST_UNITS = 2**63
"""Of work, that the core is asked for at a time."""


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
    deterministic: bool = True
    """Whether the search does the same on every run, for any number of threads."""
    work_limit: float = math.inf
    """Work after which to stop, in units of about a second of one thread."""
    tuning: Tuning = field(default_factory=Tuning)
    """How work is shared out."""

    @property
    def work_left(self) -> float:
        """Until the work limit; infinite if there is none."""
        return self.work_limit - self.limits.work


def is_slow(gains: Sequence[float], gap: float, tuning: Tuning) -> bool:
    """Whether the last rounds of a relaxation closed too little of a gap to go on like that."""
    recent = gains[-tuning.slow_rounds :]
    return len(recent) == tuning.slow_rounds and sum(recent) < tuning.slow_gain * gap


@dataclass(eq=False)
class _Side:
    """How well one way to better bounds has been coming along."""

    part: float
    """Of the work, that it gets if it does as well as the others."""
    memory: float
    """Work that tells how well it has been doing recently."""
    recent_gain: float = 0.0
    """Of the gap, that it closed recently."""
    recent_work: float = 0.0
    idle: int = 0
    work: float = 0.0
    credit: float = 0.0
    """Work that it should have had by now, beyond what it had."""
    idle_work: float = 0.0
    done: bool = False

    @property
    def rate(self) -> float:
        """Of the gap, that it closed per unit of work recently."""
        return self.recent_gain / self.recent_work if self.recent_work > 0 else math.inf

    def note(self, gain: float, gap: float, work: float) -> None:
        self.work += work
        self.credit -= work
        kept = math.exp(-work / self.memory)
        self.recent_gain = kept * self.recent_gain + gain / max(gap, 1e-300)
        self.recent_work = kept * self.recent_work + work
        self.idle = 0 if gain > 0 else self.idle + 1
        self.idle_work = 0.0 if gain > 0 else self.idle_work + work


def _units(work: float) -> int:
    """Work as the core counts it."""
    return max(0, int(min(work * _core.UNITS_PER_SECOND, MOST_UNITS)))


class Team:
    """Bounds on what a team earns, and a policy for it; constants and offsets are not counted."""

    def __init__(
        self, model: _core.CompiledModel, agents: Sequence[int], options: EngineOptions
    ) -> None:
        self.agents = list(agents)
        self.model = _core.restrict_to(model, self.agents)
        self.everyone = list(range(len(self.agents)))
        self.options = options
        self.tuning = tuning = options.tuning
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
        memory = tuning.rate_memory
        self._upper_side = _Side(tuning.upper_part, memory)
        self._lower_side = _Side(tuning.lower_part, memory)
        self._search_side = _Side(tuning.search_part, memory, done=not options.search)
        self._start_upper = math.inf
        self._search_memory = 0.0
        self._written = 0.0
        self._written_whole = True
        self._unwritten = False
        self._writing = 0.0
        self._writing_seconds = tuning.last_writing
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
            lower.idle >= self.tuning.stalled_after
            and lower.idle_work
            >= max(
                self.tuning.stalled_work,
                self.tuning.stalled_part * (lower.work + self._upper_side.work),
            )
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
    def exact_work(self) -> float:
        """The work of an exact solution, about; infinite if it does not fit."""
        need = _core.kernel_bytes(self.model, self.everyone, True, self.options.threads)
        if not self.options.exact or not math.isfinite(need):
            return math.inf
        return _core.kernel_work(self.model, self.everyone) / _core.UNITS_PER_SECOND

    @property
    def _fits_exactly(self) -> bool:
        """Whether there are memory for an exact solution and, within a work limit, room for it."""
        most = min(self.tuning.exact_part * self.options.work_left, math.inf)
        return not self._exact_failed and self.exact_work < most

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

    def work(self, budget: float) -> None:
        """Improve one of the bounds by about so much work."""
        tuning = self.tuning
        sides = [side for side in self._sides if not side.done]
        # By now an exact solution would have been found.
        due = self._spent > self.exact_work or not sides
        if due and self._fits_exactly and self.solve_exactly():
            return
        if not sides:
            return
        if self.unproven and self._upper_side in sides:
            self._improve_upper(budget)  # the bounds of single agents may be better
            return
        # The search needs something to go by, but not much.
        larger = len(self.agents) / tuning.prepare_agents
        prepare = tuning.prepare * max(1.0, larger**tuning.prepare_power)
        if len(sides) > 1 and (not self._ready or self._spent < prepare):
            sides = [side for side in sides if side is not self._search_side]
        if len(sides) > 1 and self._upper_waits:
            sides = [side for side in sides if side is not self._upper_side]
        # The side that does best gets its part of the work, the others less.
        best = max(side.rate for side in sides)
        parts = [
            side.part * (1.0 if side.rate >= best else max(tuning.least_part, side.rate / best))
            for side in sides
        ]
        if self._lower_side in sides:
            idle = tuning.idle_factor**self._lower_side.idle
            parts[sides.index(self._lower_side)] *= max(tuning.least_part, idle)
        if self._search_side is sides[-1] and self._search_behind:
            parts[-1] = self._search_side.part * tuning.least_part
        shares = [part / sum(parts) for part in parts]
        side = max(sides, key=lambda side: side.credit + budget * shares[sides.index(side)])
        begin = self.options.limits.work
        gap = self._promised_gap
        bound = self._relaxed
        if side is self._upper_side:
            self._improve_upper(budget)
        elif side is self._lower_side:
            self._improve_lower(budget)
        else:
            self._improve_both(budget)
        spent = max(self.options.limits.work - begin, tuning.least_work)
        for each, share in zip(sides, shares, strict=True):
            each.credit += spent * share
        gain = gap - self._promised_gap
        if side is self._upper_side and self.search is not None:
            gain = bound - self._relaxed  # the search can go by it
        side.note(gain, gap, spent)
        side.credit = max(side.credit, -tuning.most_debt * budget)

    @property
    def _sides(self) -> tuple[_Side, _Side, _Side]:
        return (self._upper_side, self._lower_side, self._search_side)

    @property
    def _spent(self) -> float:
        """Work on this team so far."""
        return sum(side.work for side in self._sides)

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
                self.tuning.bases,
                self.tuning.states_per_layer,
                self.tuning.joint_agents,
                self.options.threads,
                self._monitor,
            )
        except _core.LimitReached:
            self._lower_side.done = self._search_side.done = True  # which needs policies
            self.memory_short = self.memory_short or not self._stopped
            return
        self._take_policy()

    def _improve_lower(self, budget: float) -> None:
        self.options.limits.phase = "policies"
        if self.policies is None:
            self._begin_policies()
            return
        self.policies.improve(_units(budget))
        self._take_policy()
        self._lower_side.done = self.policies.exhausted

    def _take_policy(self) -> None:
        if self.policies is not None and self.policies.value > self.lower:
            self.lower = self.policies.value
            self.decisions = None
            self.upper = max(self.upper, self.lower)  # equal up to rounding

    def _improve_upper(self, budget: float) -> None:
        self.options.limits.phase = "relaxation"
        if self.relaxation is None:
            try:
                self.relaxation = _core.Relaxation(
                    self.model, self.options.threads, self.tuning.cuts, self._monitor
                )
            except _core.LimitReached:
                self._upper_side.done = self._search_side.done = True  # which needs a relaxation
                self.memory_short = self.memory_short or not self._stopped
                return
            self._take_bound()
            return
        end = self.options.limits.work + budget
        while not self._stopped:
            before = self.relaxation.upper
            try:
                self.relaxation.step(self.lower, self._monitor)
            except _core.LimitReached:
                self._upper_side.done = self.memory_short = True
                return
            self._recent.append(before - self.relaxation.upper)
            self._take_bound()
            slow = is_slow(self._recent, self.gap, self.tuning) or self.relaxation.settled
            if slow and not self._stopped:
                grown = self._grow()
                if not grown and (self.relaxation.settled or self._hardly_moves()):
                    self._upper_side.done = self._search_side.done
                    return
            if self.options.limits.work >= end:
                return

    def _hardly_moves(self) -> bool:
        """Whether it is time to give up, if no limit says how long to go on."""
        recent = self._recent[-self.tuning.stuck_rounds :]
        return (
            not self.options.limits.timed
            and math.isinf(self.options.work_limit)
            and len(recent) == self.tuning.stuck_rounds
            and sum(recent) < self.tuning.stuck_gain * self.gap
        )

    def _grow(self) -> bool:
        """Enlarge the relaxation's clusters."""
        assert self.relaxation is not None
        tuning = self.tuning
        spent = self._spent
        left = self.options.work_left
        budget = max(tuning.shortest_growth, tuning.growth_part * spent)
        last = self._search_side.done and self.relaxation.settled  # nothing else is left to do
        if not last and spent < self._next_growth:
            return False
        self.options.limits.phase = "relaxation"
        # The search looks into all clusters again and again: large ones would slow it down.
        most = len(self.agents) if self._search_side.done else tuning.search_cluster
        grown = self._grow_to(min(budget, left / tuning.rounds_left), most)
        while last and not grown and not self._stopped and budget < min(left, tuning.most_growth):
            budget *= tuning.last_growth
            grown = self._grow_to(min(budget, left), most)
        if grown:
            self._recent.clear()
        self._next_growth = 0.0 if grown else tuning.growth_pause * spent
        self._take_bound()
        return grown

    def _grow_to(self, budget: float, most: int) -> bool:
        assert self.relaxation is not None
        return self.relaxation.grow(budget * _core.UNITS_PER_SECOND, most, self._monitor)

    def _take_bound(self) -> None:
        assert self.relaxation is not None
        self.certified = self.relaxation.upper
        upper = min(self.upper, self.certified)
        if self.search is not None:
            upper = min(upper, self.search.upper)
        self.upper = max(upper, self.lower)

    # -- by search ----------------------------------------------------------------------------

    def _improve_both(self, budget: float) -> None:
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
        closed = self._search_tolerance
        found = self.search.run(_units(budget), closed, self._monitor)
        self._unwritten = True
        self._take_bound()
        # Written down, the policy is often better than the search's own bound says.
        gain = self.search.lower - self.lower
        last = found or self.search.full
        tuning = self.tuning
        if last and gain > 0:
            self._write_policy(tuning.policy_states, tuning.least_loss * closed)
        elif not last and self._due_to_write and self._worth_writing:
            self._write_draft()
        if found and self.gap > closed and not self._written_whole:
            # The policy has more states than were told apart.
            most = tuning.more_policy_states * tuning.policy_states
            self._write_policy(most, tuning.least_loss * closed)
        if found:
            # What is left of the gap is rounding: no other way to a better bound is of use.
            for side in self._sides:
                side.done = True
        elif self.search.full:
            self.memory_short = True
            self._search_side.done = True

    @property
    def _search_tolerance(self) -> float:
        """What the search may leave open."""
        tuning = self.tuning
        return tuning.closed_by_search * tuning.closed * max(1.0, abs(self.upper))

    @property
    def _due_to_write(self) -> bool:
        """Whether it is time to write down the search's policy, as is done now and then."""
        pause = self.tuning.writing_pause * self._writing
        return self._search_side.work > self._written + pause

    @property
    def _worth_writing(self) -> bool:
        """Whether the search's policy may be better than the one in hand."""
        search = self.search
        hope = self.tuning.policy_hope * self.gap
        return search is not None and search.lower - self.lower > -hope

    def _write_draft(self) -> None:
        """Write down the policy of a search that is not finished, within part of the work so far.

        Written down, it is often better than the search's own bound says.
        """
        tuning = self.tuning
        layers = self.model.horizon - self.model.first_stage
        states = tuning.writing_part * self._spent / (tuning.work_per_state * layers)
        most = int(min(max(states, tuning.fewest_states), tuning.policy_states))
        self._write_policy(most, tuning.least_part_of_gap * self.gap)

    @property
    def _draft_is_old(self) -> bool:
        """Whether the search has gone on since its policy was written down."""
        return (
            not self._search_side.done
            and self.solution is None
            and self._unwritten
            and self._worth_writing
        )

    @property
    def last_seconds(self) -> float:
        """Seconds that it takes to write down the search's policy in the end, about."""
        return (
            self.tuning.last_writing_safety * self._writing_seconds if self._draft_is_old else 0.0
        )

    def write_last(self) -> None:
        """Write down what the search has found, where it stops for want of time or work."""
        if self._draft_is_old:
            self._write_draft()

    def _relaxation_helps(self) -> bool:
        """Whether the relaxation is so much better now that the search should go by it."""
        assert self.relaxation is not None
        assert self.search is not None
        if self.options.certify:
            return False  # a certificate has one set of shares for all records
        lower = max(self.lower, self.search.lower)
        gained = self._start_upper - self.relaxation.upper
        tuning = self.tuning
        size = _core.GroupSearch.table_bytes(self.model, self.relaxation)
        cost = size * tuning.work_per_byte
        most = min(tuning.adopt_left * self.options.work_left, tuning.adopt_part * self._spent)
        return (
            gained > tuning.better_start * (self.search.upper - lower)
            and size < tuning.adopt_memory * self._search_memory
            and cost < most
        )

    def _begin_search(self) -> None:
        assert self.relaxation is not None
        assert self.policies is not None
        ideas = {"split": True, "skip": True, "floors": True, "tables": True}
        left = self.tuning.search_memory * self._monitor.memory_left
        self._search_memory = min(left, self.tuning.most_memory)
        try:
            self.search = _core.GroupSearch(
                self.model,
                self.relaxation,
                self.policies,
                self.tuning.search_bases,
                self.options.threads,
                self._search_memory,
                self.options.deterministic,
                self.tuning.actions_per_line,
                self.tuning.most_lines,
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
        fewest = self.tuning.fewest_states
        limits = self.options.limits
        begin, begin_seconds = limits.work, limits.seconds
        decisions = self.search.decisions(most_states, least, self._monitor)
        while not (decisions.sound or self._stopped) and most_states > fewest:
            # No memory for so many states.
            most_states = max(fewest, most_states // self.tuning.fewer_policy_states)
            decisions = self.search.decisions(most_states, least, self._monitor)
        if decisions.sound and decisions.value > self.lower:
            self.decisions = decisions
            self.lower = decisions.value
            self.upper = max(self.upper, self.lower)  # equal up to rounding
            self.local = [self.search.usual(k) for k in self.everyone]
            if not self.lists:
                self._say_who_belongs_together()
        self._written_whole = decisions.whole
        self._unwritten = False
        self._writing = limits.work - begin
        self._writing_seconds = limits.seconds - begin_seconds
        self._written = self._search_side.work

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
            self.relaxation = _core.Relaxation(
                self.model, self.options.threads, self.tuning.cuts, monitor
            )
            self.certified = self.relaxation.upper
