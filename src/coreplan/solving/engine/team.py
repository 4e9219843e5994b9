"""One team of agents that can interact: solved if it is small, otherwise bounded from both sides.

The upper bound comes from a relaxation over clusters of agents, the lower one from policies of
known value; a search over groups of agents uses both and closes the gap between them. Most work
goes to the side that gained most recently. The work ends when the bounds meet, when they do not
improve any more, or when a limit is reached. All decisions depend on counted work, never on a
clock: the same problem takes the same course on every run.
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
"""Most units of work in one call of the core."""


@dataclass(frozen=True)
class EngineOptions:
    """Settings for all parts of the engine."""

    limits: Limits
    threads: int
    seed: int
    exact: bool = True
    """Whether the tensor kernel may solve whole teams."""
    search: bool = True
    """Whether to search for the gap that the bounds leave."""
    certify: bool = False
    """Whether a certificate has to prove the bounds of the search afterwards."""
    ideas: Mapping[str, bool] = field(default_factory=dict)
    """Ideas of the search by name, and whether they are on."""
    deterministic: bool = True
    """Whether the search does the same on every run, for any number of threads."""
    work_limit: float = math.inf
    """Work limit, in units of about a second of one thread."""
    closed: float = Tuning.closed
    """Gap, as part of the value, that counts as closed."""
    tuning: Tuning = field(default_factory=Tuning)
    """Numbers that divide the work."""
    lookahead: bool = False
    """Whether large teams may decide as they go."""

    @property
    def work_left(self) -> float:
        """Work until the work limit; infinite without a limit."""
        return self.work_limit - self.limits.work


def is_slow(gains: Sequence[float], gap: float, tuning: Tuning) -> bool:
    """Whether the last rounds of a relaxation closed too little of a gap to continue."""
    count = max(tuning.slow_rounds, math.ceil(tuning.slow_part * len(gains)))
    return len(gains) >= count and sum(gains[-count:]) < tuning.slow_gain * gap


@dataclass(eq=False)
class _Recent:
    """How much of a gap was closed by the work that counts as recent."""

    tuning: Tuning
    work: float = 0.0
    part: float = 0.0
    """Part of the gap that it closed."""
    total: float = 0.0
    """All work so far."""

    def note(self, part: float, work: float) -> None:
        """Add some work, and the part of the gap that it closed."""
        self.total += work
        memory = max(self.tuning.rate_memory, self.tuning.rate_part * self.total)
        kept = math.exp(-work / memory)
        self.part = kept * self.part + part
        self.work = kept * self.work + work

    @property
    def rate(self) -> float:
        """Part of the gap that it closed per unit of work; infinite before any work."""
        return self.part / self.work if self.work > 0 else math.inf

    def expected(self, budget: float) -> float:
        """Part of the gap that the next work is expected to close per unit.

        Gaps close ever more slowly: with as much work again as before, about half of what is left.
        What was gained recently corrects this first guess.
        """
        guess = 1.0 / (self.total + budget)
        return (self.part + guess * budget) / (self.work + budget)


@dataclass(eq=False)
class _Side:
    """The recent progress of one of the ways to better bounds."""

    part: float
    """Its part of the work if it gains as much as the others."""
    recent: _Recent
    idle: int = 0
    work: float = 0.0
    credit: float = 0.0
    """Work that its share entitles it to, beyond the work it has had."""
    idle_work: float = 0.0
    done: bool = False

    @property
    def rate(self) -> float:
        """Part of the gap that it closed recently, per unit of work."""
        return self.recent.rate

    def note(self, gain: float, gap: float, work: float) -> None:
        self.work += work
        self.credit -= work
        self.recent.note(gain / max(gap, 1e-300), work)
        self.idle = 0 if gain > 0 else self.idle + 1
        self.idle_work = 0.0 if gain > 0 else self.idle_work + work


def _units(work: float) -> int:
    """Convert work into the units of the core."""
    return max(0, int(min(work * _core.UNITS_PER_SECOND, MOST_UNITS)))


class Team:
    """A team's policy and the bounds on its value, without constants and offsets."""

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
        """Per agent: its own action, by class of the team's model."""
        self._local_alone = self.local
        self.clusters: list[_core.Cluster] = []
        """Groups of agents that do better together, in the states of their tables."""
        self.found: _core.TeamPolicy | None = None
        """The policy with these clusters, if it is the best known."""
        self.profiles: list[_core.TeamPolicy] = []
        """Further policies, of single agents, to look ahead from."""
        self.solution: _core.TeamSolution | None = None
        self.relaxation: _core.Relaxation | None = None
        self.policies: _core.PolicySearch | None = None
        self.search: _core.GroupSearch | None = None
        self.decisions: _core.GroupDecisions | None = None
        """The rules of groups of agents, if they are the best known policy."""
        self.lists: list[tuple[NDArray[np.uint32], NDArray[np.uint32], NDArray[np.uint32]]] = []
        """Per agent: the interactions that it can still take part in, to split groups."""
        self.events: list[tuple[list[tuple[int, int]], list[int]]] = []
        """The interactions of the agents, and their stages."""
        self.certified = self.upper
        """The upper bound without the search."""
        self.memory_short = False
        self.closed = 0.0
        """The gap of this team that counts as closed."""
        self.room_for_search = math.inf
        """Bytes that a search may take, if it begins now: other teams need theirs later."""
        self._exact_failed = False
        self.expanded = 0
        self.actions = 0
        self.kernel_cells = 0
        self._upper_side = _Side(tuning.upper_part, _Recent(tuning))
        self._lower_side = _Side(tuning.lower_part, _Recent(tuning))
        self._search_side = _Side(tuning.search_part, _Recent(tuning), done=not options.search)
        self._progress = _Recent(tuning)
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
        """The distance between the bounds that steer the work."""
        return self._proven_upper - self.lower

    @property
    def _proven_upper(self) -> float:
        """The upper bound; if a certificate is asked for, the best that it can prove."""
        if not self.options.certify or self.relaxation is None or self.solution is not None:
            return self.upper
        searched = math.inf if self.search is None else self.search.upper
        return max(self.lower, min(self.certified, searched))

    @property
    def unproven(self) -> bool:
        """Whether a certificate is asked for and its basis is still missing."""
        linked = len(self.agents) > 1 and self.solution is None
        return self.options.certify and linked and self.relaxation is None

    @property
    def exhausted(self) -> bool:
        """Whether more work would gain nothing."""
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

    @property
    def exact_at_once(self) -> float:
        """Work that an exact solution may take before any other attempt."""
        tuning = self.tuning
        return tuning.exact_with_sums if self.model.aggregate_count else tuning.exact_at_once

    @cached_property
    def exact_work(self) -> float:
        """Estimated work of an exact solution; infinite if it does not fit into memory."""
        need = _core.kernel_bytes(self.model, self.everyone, True, self.options.threads)
        if not self.options.exact or not math.isfinite(need):
            return math.inf
        return _core.kernel_work(self.model, self.everyone) / _core.UNITS_PER_SECOND

    @property
    def _fits_exactly(self) -> bool:
        """Whether an exact solution fits into memory and into the work limit."""
        most = min(self.tuning.exact_part * self.options.work_left, math.inf)
        return not self._exact_failed and self.exact_work < most

    def solve_exactly(self) -> bool:
        """Solve the team by the tensor kernel; False if it does not fit or a limit is reached."""
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

    @property
    def _exact_due(self) -> bool:
        """Whether it is time for an exact solution.

        It would have been found by now, or takes little of all the work.
        """
        tuning = self.tuning
        most = max(self.spent, tuning.exact_soon * self.options.limits.work)
        return self.exact_work < most and self._fits_exactly

    # -- from both sides ----------------------------------------------------------------------

    @property
    def slice(self) -> float:
        """Work on this team at a time."""
        tuning = self.tuning
        most = max(tuning.shortest_slice, tuning.slice_part * self.spent)
        return min(most, tuning.longest_slice, self.options.work_left)

    @property
    def promise(self) -> float:
        """How much of its gap the next work on this team is expected to close, per unit."""
        if self._exact_due:
            return self.gap / max(self.exact_work, self.tuning.least_work)
        begin = self._first_bound if self.relaxation is None else 0.0  # is one long step
        return self.gap * self._progress.expected(self.slice + begin)

    def work(self) -> None:
        """Improve one of the bounds, by a slice of work."""
        tuning = self.tuning
        budget = self.slice
        sides = [side for side in self._sides if not side.done]
        due = self._exact_due or (self._fits_exactly and not sides)
        if due and self.solve_exactly():
            return
        if not sides:
            return
        if self.unproven and self._upper_side in sides:
            self._improve_upper(budget)  # bounds of single agents may be better
            return
        # The search needs some bounds to start with, but not very good ones.
        larger = len(self.agents) / tuning.prepare_agents
        prepare = tuning.prepare * max(1.0, larger**tuning.prepare_power)
        if len(sides) > 1 and (not self._ready or self.spent < prepare):
            sides = [side for side in sides if side is not self._search_side]
        if len(sides) > 1 and self._upper_waits:
            sides = [side for side in sides if side is not self._upper_side]
        # The side with the best gain gets its part of the work, the others less.
        best = max(side.rate for side in sides)
        parts = [
            side.part * (1.0 if side.rate >= best else max(tuning.least_part, side.rate / best))
            for side in sides
        ]
        if self._lower_side in sides and self._idles(self._lower_side):
            k = sides.index(self._lower_side)
            parts[k] = min(parts[k], self._lower_side.part * tuning.least_part)
        if self._search_side is sides[-1] and self._search_behind:
            parts[-1] = self._search_side.part * tuning.least_part
        shares = [part / sum(parts) for part in parts]
        hungry = self._hungry(sides)
        side = max(sides, key=lambda side: side.credit + budget * shares[sides.index(side)])
        if hungry:
            side = min(hungry, key=lambda side: side.work)
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
            gain = bound - self._relaxed  # the search can use it
        side.note(gain, gap, spent)
        self._progress.note((gap - self._promised_gap) / max(gap, 1e-300), spent)
        side.credit = max(side.credit, -tuning.most_debt * budget)

    def _hungry(self, sides: Sequence[_Side]) -> list[_Side]:
        """List the sides that have had too little of the first work, and still gain something."""
        tuning = self.tuning
        if self.spent >= tuning.fair_work:
            return []
        spent = self.spent
        if self.relaxation is None:
            spent += self._first_bound  # is one long step
        return [
            side for side in sides if side.work < tuning.fair_part * spent and self._gains(side)
        ]

    @cached_property
    def _first_bound(self) -> float:
        """Estimated work of the relaxation's first bound."""
        return _core.Relaxation.first_work(self.model) / _core.UNITS_PER_SECOND

    def _gains(self, side: _Side) -> bool:
        """Whether a side has gained something recently, or is only at its beginning."""
        if side is self._upper_side:
            return self.relaxation is not None and not is_slow(self._recent, self.gap, self.tuning)
        return side.idle < self.tuning.stalled_after and not self._idles(side)

    def _idles(self, side: _Side) -> bool:
        """Whether a side has had no success for a large part of its work."""
        tuning = self.tuning
        return side.idle_work > max(tuning.least_idle, tuning.idle_part * side.work)

    @property
    def _sides(self) -> tuple[_Side, _Side, _Side]:
        return (self._upper_side, self._lower_side, self._search_side)

    @property
    def work_of_sides(self) -> dict[str, float]:
        """The work of each side so far, for teams that were not solved at once."""
        names = ("relaxation", "policies", "search")
        return {
            name: side.work for name, side in zip(names, self._sides, strict=True) if side.work > 0
        }

    @property
    def spent(self) -> float:
        """Work on this team so far."""
        return sum(side.work for side in self._sides)

    @property
    def search_memory(self) -> float:
        """Bytes that the search has taken."""
        return 0.0 if self.search is None else self._search_memory

    @property
    def _search_behind(self) -> bool:
        """Whether the search has to catch up with the bounds before it gains anything."""
        search = self.search
        return search is not None and search.upper > self.upper and search.lower < self.lower

    @property
    def _upper_waits(self) -> bool:
        """Whether the relaxation can only improve by growing, and it is too early for that."""
        return (
            self.relaxation is not None
            and self.relaxation.settled
            and self.spent < self._next_growth
        )

    @property
    def _ready(self) -> bool:
        """Whether the relaxation and the policies that a search needs exist."""
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
        """Start from a policy of single agents, by class of the team's model."""
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
        """Whether to stop for lack of progress; only without a limit."""
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
        spent = self.spent
        left = self.options.work_left
        budget = max(tuning.shortest_growth, tuning.growth_part * spent)
        last = self._search_side.done and self.relaxation.settled  # no other work is left
        if not last and spent < self._next_growth:
            return False
        self.options.limits.phase = "relaxation"
        # The search looks into all clusters very often: large ones would slow it down.
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
        """Search groups of agents, starting from the present bounds."""
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
        closed = self._closed_for_search
        found = self.search.run(_units(budget), closed, self._monitor)
        self._unwritten = True
        self._take_bound()
        # The policy, once written down, is often better than the search's own bound.
        gain = self.search.lower - self.lower
        last = found or self.search.full
        tuning = self.tuning
        if last and gain > 0:
            self._write_policy(tuning.policy_states, tuning.least_loss * closed)
        elif not last and self._due_to_write and self._worth_writing:
            self._write_draft()
        if found and self.gap > closed and not self._written_whole:
            # The policy has more states than were written down.
            most = tuning.more_policy_states * tuning.policy_states
            self._write_policy(most, tuning.least_loss * closed)
        if found:
            # The rest of the gap is rounding, which no other way to a better bound can close.
            for side in self._sides:
                side.done = True
        elif self.search.full:
            self.memory_short = True
            self._search_side.done = True

    @property
    def _closed_for_search(self) -> float:
        """The gap that the search may leave: at least what rounding leaves of a team's value."""
        tuning = self.tuning
        least = tuning.closed_by_search * tuning.closed * max(1.0, abs(self.upper))
        return max(least, tuning.closed_by_search / tuning.closed_by_teams * self.closed)

    @property
    def _due_to_write(self) -> bool:
        """Whether to write down the search's policy, as is done at intervals."""
        pause = self.tuning.writing_pause * self._writing
        return self._search_side.work > self._written + pause

    @property
    def _worth_writing(self) -> bool:
        """Whether the search's policy may be better than the best one so far."""
        search = self.search
        hope = self.tuning.policy_hope * self.gap
        return search is not None and search.lower - self.lower > -hope

    def _write_draft(self) -> None:
        """Write down the policy of an unfinished search, within a part of the work so far.

        The policy, once written down, is often better than the search's own bound.
        """
        tuning = self.tuning
        layers = self.model.horizon - self.model.first_stage
        states = tuning.writing_part * self.spent / (tuning.work_per_state * layers)
        most = int(min(max(states, tuning.fewest_states), tuning.policy_states))
        self._write_policy(most, tuning.least_part_of_gap * self.gap)

    @property
    def _draft_is_old(self) -> bool:
        """Whether the search has continued since its policy was written down."""
        return (
            not self._search_side.done
            and self.solution is None
            and self._unwritten
            and self._worth_writing
        )

    @property
    def last_seconds(self) -> float:
        """Estimated seconds for writing down the search's policy at the end."""
        return (
            self.tuning.last_writing_safety * self._writing_seconds if self._draft_is_old else 0.0
        )

    def write_last(self) -> None:
        """Write down the search's policy when time or work runs out."""
        if self._draft_is_old:
            self._write_draft()

    def _relaxation_helps(self) -> bool:
        """Whether the relaxation has improved enough for the search to adopt it."""
        assert self.relaxation is not None
        assert self.search is not None
        if self.options.certify:
            return False  # a certificate has one set of shares for all records
        lower = max(self.lower, self.search.lower)
        gained = self._start_upper - self.relaxation.upper
        tuning = self.tuning
        size = _core.GroupSearch.table_bytes(self.model, self.relaxation)
        cost = size * tuning.work_per_byte
        most = min(tuning.adopt_left * self.options.work_left, tuning.adopt_part * self.spent)
        return (
            gained > tuning.better_start * (self.search.upper - lower)
            and size < tuning.adopt_memory * self._search_memory
            and cost < most
        )

    def _begin_search(self) -> None:
        assert self.relaxation is not None
        assert self.policies is not None
        ideas = {"split": True, "skip": True, "floors": True, "tables": True}
        left = min(self.tuning.search_memory * self._monitor.memory_left, self.room_for_search)
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
        """Write down the rules of the search's groups, for so many joint states per stage.

        States that lose no more than `least` by it follow a simpler policy.
        """
        assert self.search is not None
        fewest = self.tuning.fewest_states
        limits = self.options.limits
        begin, begin_seconds = limits.work, limits.seconds
        decisions = self.search.decisions(most_states, least, self._monitor)
        while not (decisions.sound or self._stopped) and most_states > fewest:
            # Memory is too short for this many states.
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
        # All of them, without a limit.
        stages = list(range(self.model.first_stage, self.model.horizon))
        self.events = [([(k, 0) for k in self.everyone], stages)]
        begin, run = np.array([0, 1], np.uint32), np.array([0, stages[0], stages[-1]], np.uint32)
        for k in self.everyone:
            classes = int(self.model.layer_begin(k)[-1])
            self.lists.append((np.zeros(classes, np.uint32), begin, run))

    def finish(self) -> None:
        """Fetch the best policy, and the data for a certificate."""
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
                self.found = policy
                self.profiles = self.policies.bases(self.tuning.ahead_profiles)
            except MemoryError:
                self.fall_back()

    def fall_back(self) -> None:
        """Use the policy in which agents act alone; keep the upper bound."""
        self.lower, self.local = self._lower_alone, self._local_alone
        self.solution = self.decisions = self.found = None
        self.clusters = []
        self.memory_short = True

    def make_room(self) -> None:
        """Free the data that only better bounds need: the system has no memory left."""
        self.memory_short = True
        self.search = None
        if not self.options.certify:
            self.relaxation = None

    def let_go(self) -> None:
        """Free all data that only further work needs; the answer needs memory as well."""
        if not self.options.certify:
            self.search = self.relaxation = None
        self.policies = None

    def _make_certifiable(self) -> None:
        """Make sure that the upper bound is a relaxation's: others cannot check the first bound."""
        if self.relaxation is None:
            monitor = self.options.limits.unlimited_monitor()
            self.relaxation = _core.Relaxation(
                self.model, self.options.threads, self.tuning.cuts, monitor
            )
            self.certified = self.relaxation.upper
