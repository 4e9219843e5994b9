"""One team of agents that can interact: solved if it is small, else bounded from both sides.

The upper bound comes from a relaxation over clusters of agents, the lower one from policies whose
value is known. Work goes to the side that gained more of late, and ends when the bounds meet, when
neither moves any more, or when somebody stops it.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from coreplan import _core
from coreplan.limits import Limits

SECONDS_PER_CELL = 8e-9
"""Of the tensor kernel with a policy, on one thread, about."""
EXACT_AT_ONCE = 0.5
"""Seconds that an exact solution may take before anything else is tried."""
CUTS = 24
BASES = 6
STATES_PER_LAYER = 20_000
JOINT_AGENTS = 10
"""Teams up to this size act together; larger ones in clusters."""
SLOW_ROUNDS = 6
SLOW_GAIN = 0.02
"""A relaxation is slow if so many rounds closed less than this part of the gap."""
FAIR_PART = 0.3
"""Of the time, that each of the two bounds gets at least."""
STALLED_AFTER = 12
"""Attempts at a better policy without success."""


@dataclass(frozen=True)
class EngineOptions:
    """What the parts of the engine have to know."""

    limits: Limits
    threads: int
    seed: int


@dataclass
class _Side:
    """How well one of the two bounds has been coming along."""

    rate: float = math.inf
    idle: int = 0
    seconds: float = 0.0
    idle_seconds: float = 0.0
    done: bool = False

    def note(self, gain: float, seconds: float) -> None:
        self.seconds += seconds
        fresh = gain / max(seconds, 1e-9)
        self.rate = fresh if math.isinf(self.rate) else 0.5 * self.rate + 0.5 * fresh
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
        self.lower = alone.lower
        self.upper = max(alone.upper, alone.lower)
        self.local: list[NDArray[np.uint32]] = [alone.action(k) for k in self.everyone]
        """Per agent: what it does by itself, by class of the team's model."""
        self.clusters: list[_core.Cluster] = []
        """Groups of agents that do better together, in the states that their tables know."""
        self.solution: _core.TeamSolution | None = None
        self.relaxation: _core.Relaxation | None = None
        self.search: _core.PolicySearch | None = None
        self.memory_short = False
        self.kernel_cells = 0
        self._upper_side = _Side()
        self._lower_side = _Side()
        self._recent: list[float] = []
        self._next_growth = 0.0

    @property
    def gap(self) -> float:
        """How far the bounds are apart."""
        return self.upper - self.lower

    @property
    def exhausted(self) -> bool:
        """Whether more work is of no use."""
        if self.solution is not None:
            return True
        lower, upper = self._lower_side, self._upper_side
        stalled = lower.done or (
            lower.idle >= STALLED_AFTER
            and lower.idle_seconds >= max(0.5, 0.3 * (lower.seconds + upper.seconds))
        )
        return upper.done and stalled

    @property
    def _monitor(self) -> _core.Monitor:
        return self.options.limits.monitor

    @property
    def _stopped(self) -> bool:
        return self._monitor.stop != _core.Stop.none

    # -- exactly ------------------------------------------------------------------------------

    @property
    def exact_seconds(self) -> float:
        """How long an exact solution would take, about; infinite if it does not fit."""
        need = _core.kernel_bytes(self.model, self.everyone, True, self.options.threads)
        if not math.isfinite(need) or self.memory_short:
            return math.inf
        cells = _core.team_cells(self.model, self.everyone)
        return cells * SECONDS_PER_CELL / self.options.threads

    def solve_exactly(self) -> bool:
        """Solve it by the tensor kernel; False if it does not fit or a limit strikes."""
        self.options.limits.phase = "kernel"
        try:
            solution = _core.solve_team(
                self.model, self.everyone, True, self.options.threads, self._monitor
            )
        except _core.LimitReached:
            self.memory_short = True
            return False
        self.kernel_cells += solution.cells
        if solution.stop != _core.Stop.none:
            return False
        self.solution = solution
        self.lower = self.upper = solution.value
        return True

    # -- from both sides ----------------------------------------------------------------------

    def work(self, seconds: float) -> None:
        """Improve one of the bounds for about so long."""
        upper, lower = self._upper_side, self._lower_side
        spent = upper.seconds + lower.seconds
        if lower.done or upper.done:
            above = not upper.done
        elif min(upper.seconds, lower.seconds) < FAIR_PART * spent:
            above = upper.seconds < lower.seconds
        else:
            above = upper.rate >= lower.rate
        begin = time.perf_counter()
        before = self.gap
        if above:
            self._improve_upper(seconds)
        else:
            self._improve_lower(seconds)
        side = upper if above else lower
        side.note(before - self.gap, time.perf_counter() - begin)

    def start(self, local: Sequence[NDArray[np.uint32]]) -> None:
        """Take a policy of single agents, by class of the team's model, as a start."""
        self._begin_search()
        if self.search is not None:
            self.search.start([list(map(int, each)) for each in local])
            self._take_policy()

    def _begin_search(self) -> None:
        try:
            self.search = _core.PolicySearch(
                self.model,
                self.options.seed,
                BASES,
                STATES_PER_LAYER,
                JOINT_AGENTS,
                self.options.threads,
                self._monitor,
            )
        except _core.LimitReached:
            self._lower_side.done = True
            return
        self._take_policy()

    def _improve_lower(self, seconds: float) -> None:
        self.options.limits.phase = "policies"
        if self.search is None:
            self._begin_search()
            return
        self.search.improve(seconds)
        self._take_policy()

    def _take_policy(self) -> None:
        if self.search is not None and self.search.value > self.lower:
            self.lower = self.search.value
            self.upper = max(self.upper, self.lower)  # equal up to rounding

    def _improve_upper(self, seconds: float) -> None:
        self.options.limits.phase = "relaxation"
        if self.relaxation is None:
            try:
                self.relaxation = _core.Relaxation(
                    self.model, self.options.threads, CUTS, self._monitor
                )
            except _core.LimitReached:
                self._upper_side.done = True
                return
            self._take_bound()
            return
        end = time.perf_counter() + seconds
        while not self._stopped:
            before = self.relaxation.upper
            self.relaxation.step(self.lower, self._monitor)
            self._recent.append(before - self.relaxation.upper)
            self._take_bound()
            recent = self._recent[-SLOW_ROUNDS:]
            slow = len(recent) == SLOW_ROUNDS and sum(recent) < SLOW_GAIN * self.gap
            if (slow or self.relaxation.settled) and not self._stopped:
                grown = self._grow()
                if self.solution is not None:
                    return
                if not grown and self.relaxation.settled:
                    self._upper_side.done = True
                    return
            if time.perf_counter() >= end:
                return

    def _grow(self) -> bool:
        """Solve the whole team if that is near enough, else enlarge the relaxation's clusters."""
        assert self.relaxation is not None
        limits = self.options.limits
        spent = self._upper_side.seconds + self._lower_side.seconds
        budget = min(max(0.3, 0.5 * spent), limits.seconds_left / 10)
        settled = self.relaxation.settled
        if settled:
            budget = limits.seconds_left / 4  # nothing else is left to do
        elif spent < self._next_growth:
            return False
        if self.exact_seconds <= 5 * budget and self.solve_exactly():
            return True
        limits.phase = "relaxation"
        grown = self.relaxation.grow(budget, self._monitor)
        self._recent.clear()
        self._next_growth = 0.0 if grown else 2 * spent
        self._take_bound()
        return grown

    def _take_bound(self) -> None:
        assert self.relaxation is not None
        self.upper = max(min(self.upper, self.relaxation.upper), self.lower)

    def finish(self) -> None:
        """Fetch the policy in hand."""
        if self.relaxation is not None:
            self.kernel_cells += self.relaxation.cells
        if self.solution is None and self.search is not None and self.search.value >= self.lower:
            policy = self.search.policy()
            self.local = [policy.local(k) for k in self.everyone]
            self.clusters = [each for each in policy.clusters if len(each.layer) > 0]
