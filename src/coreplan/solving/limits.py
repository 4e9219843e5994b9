"""Limits of time and memory, and Ctrl-C: they stop a solver."""

from __future__ import annotations

import logging
import math
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from numbers import Real

from coreplan import _core
from coreplan.errors import LimitError, SolverError
from coreplan.support.clock import clock_instead, now
from coreplan.support.interrupts import catch_interrupts
from coreplan.support.memory import (
    BYTES_PER_MB,
    available_memory,
    memory_by_rlimits,
    peak_memory_mb,
)

logger = logging.getLogger(__name__)

_BYTES_PER_DESCRIBED_STATE = 1500
PART_OF_MEMORY = 0.8
"""Part of the available memory that a solver may take if no limit is given."""
ROOM_FOR_HEAPS = 1e9
"""Bytes of addresses that the heaps of several threads reserve: more than they use."""


@dataclass(frozen=True, slots=True)
class Progress:
    """Bounds and work of a running solver.

    Attributes
    ----------
    seconds
        Time since the solver was called.
    phase
        Current phase: ``compile`` or ``search``; the engine `core` has more, for instance
        ``relaxation`` or ``policies``.
    lower_bound, upper_bound
        Proven bounds on the optimal value so far; infinite while unknown.
    joint_states_expanded, joint_actions_evaluated
        Work done so far.
    alone
        The sum of what the agents would earn without interactions, if the solver knows it. The
        loss by interactions, ``alone`` less the value, is a better measure of a gap than the value,
        most of which the agents earn in any case.
    memory_mb
        Largest amount of memory of the process so far, in MB.
    work
        Counted work of the core so far, in units of about a second of one thread.
    """

    seconds: float
    phase: str
    lower_bound: float
    upper_bound: float
    joint_states_expanded: int
    joint_actions_evaluated: int
    alone: float | None = None
    memory_mb: float = 0.0
    work: float = 0.0

    @property
    def gap(self) -> float:
        """The distance between the bounds."""
        return self.upper_bound - self.lower_bound

    @property
    def relative_gap(self) -> float:
        """The gap relative to the lower bound; infinite if that is 0 or unknown."""
        if self.gap == 0:
            return 0.0
        if not math.isfinite(self.gap) or self.lower_bound == 0:
            return math.inf
        return self.gap / abs(self.lower_bound)


Callback = Callable[[Progress], object]
"""Called about 20 times a second while solving, and by `core` whenever a bound has changed; return
``True`` to stop with the best plan so far."""


class Limits:
    """The limits of one call of a solver; the clock runs from here."""

    def __init__(
        self,
        time_limit: float | None = None,
        memory_limit: float | None = None,
        callback: Callback | None = None,
    ) -> None:
        for name, value in (("time_limit", time_limit), ("memory_limit", memory_limit)):
            if value is None:
                continue
            if isinstance(value, bool) or not isinstance(value, Real) or not value > 0:
                raise SolverError(f"{name} is {value!r}; expected a number above 0, or None")
        self._start = now()
        self._time_limit = math.inf if time_limit is None else float(time_limit)
        # Without a limit, leave some memory to the rest of the machine.
        self._memory_limit = (
            PART_OF_MEMORY * available_memory()
            if memory_limit is None
            else float(memory_limit) * BYTES_PER_MB
        )
        if memory_by_rlimits() < self._memory_limit + ROOM_FOR_HEAPS:
            _core.share_one_heap()
        self._callback = callback
        self._interrupts = 0
        self._asked_to_stop = False
        self._ends = False
        self._aside = False
        self.phase = "compile"
        self.lower = -math.inf
        self.upper = math.inf
        self.alone: float | None = None
        # The core cannot see cycles of references, so it must not keep this object alive.
        watch = weakref.WeakMethod(self._watch)

        def look(progress: _core.Progress) -> _core.Stop:
            method = watch()
            return method(progress) if method else _core.Stop.interrupted

        self.monitor = _core.Monitor(self._time_limit, self._memory_limit, look, clock_instead())

    @property
    def seconds(self) -> float:
        """Time since the limits were set up."""
        return now() - self._start

    @property
    def work(self) -> float:
        """Work of the core so far, in units of about a second of one thread.

        It is counted, not timed: the same on every run of the same problem.
        """
        return float(self.monitor.work) / _core.UNITS_PER_SECOND

    @property
    def timed(self) -> bool:
        """Whether there is a time limit."""
        return math.isfinite(self._time_limit)

    @property
    def memory_limit_mb(self) -> float:
        """Megabytes that the solver may take."""
        return self._memory_limit / BYTES_PER_MB

    @property
    def seconds_left(self) -> float:
        """Seconds until the time limit; infinite without a limit."""
        return self._time_limit - self.seconds

    def keep_back(self, seconds: float) -> None:
        """Stop this many seconds before the time limit, to leave time for the last steps."""
        self.monitor.set_time_limit(self._time_limit - seconds)

    def _watch(self, progress: _core.Progress) -> _core.Stop:
        """Tell the core whether the callback or Ctrl-C asks to stop."""
        self._tell(progress)
        stops = self._interrupts or self._asked_to_stop
        return _core.Stop.interrupted if stops else _core.Stop.none

    def _tell(self, progress: _core.Progress) -> None:
        if self._callback is None or self._interrupts or self._asked_to_stop:
            return
        report = Progress(
            self.seconds,
            self.phase,
            max(self.lower, progress.lower),
            min(self.upper, progress.upper),
            progress.states_expanded,
            progress.actions_evaluated,
            self.alone,
            peak_memory_mb(),
            self.work,
        )
        if self._callback(report) is True:
            self._asked_to_stop = True

    def report(self, lower: float, upper: float) -> None:
        """Record bounds, and report them at once if one is better than before."""
        if self._aside or (lower <= self.lower and upper >= self.upper):
            return
        self.lower = max(self.lower, lower)
        self.upper = min(self.upper, upper)
        if logger.isEnabledFor(logging.DEBUG):  # asking for the memory takes time
            self._log_bounds()
        self._tell(self.monitor.progress)
        if self._asked_to_stop:  # the core would only ask after a while
            self.monitor.halt(_core.Stop.interrupted)

    def _log_bounds(self) -> None:
        lost = ""
        if self.alone is not None:
            lost = (
                f", lost by interactions {self.alone - self.upper:.6g} to "
                f"{self.alone - self.lower:.6g}"
            )
        logger.debug(
            "%s",
            f"{self.seconds:.3f} s, {self.phase}: value {self.lower:.10g} to {self.upper:.10g}, "
            f"gap {self.upper - self.lower:.4g}{lost}, {peak_memory_mb():.0f} MB",
        )

    @contextmanager
    def aside(self, phase: str) -> Iterator[None]:
        """Ignore bounds that are reported meanwhile: they belong to another problem."""
        before = self.alone
        self._aside, self.phase = True, phase
        try:
            yield
        finally:
            self._aside, self.alone = False, before

    @staticmethod
    def unlimited_monitor() -> _core.Monitor:
        """A monitor for the last steps after a limit is reached."""
        return _core.Monitor(math.inf, math.inf, lambda _: _core.Stop.none)

    def guard(self, states: int) -> None:
        """Raise a LimitError if a limit is reached while Python describes a problem."""
        self._end_if_interrupted()
        if self.seconds >= self._time_limit:
            raise LimitError("time_limit", "the time limit was reached before any plan was found")
        if states * _BYTES_PER_DESCRIBED_STATE > self._memory_limit:
            raise LimitError(
                "memory_limit",
                f"one agent has {states:,} or more local states; describing them needs about "
                f"{states * _BYTES_PER_DESCRIBED_STATE / BYTES_PER_MB:.4g} MB, but the memory "
                f"limit is {self._memory_limit / BYTES_PER_MB:.4g} MB",
            )

    @contextmanager
    def catch_interrupts(self) -> Iterator[None]:
        """Let the first Ctrl-C ask for the best plan so far; a second one ends the process."""
        with catch_interrupts(self._note_interrupt):
            yield

    @contextmanager
    def end_if_interrupted(self) -> Iterator[None]:
        """Let Ctrl-C raise a LimitError at once, in Python code that does not look at limits."""
        self._ends = True
        try:
            self._end_if_interrupted()
            yield
        finally:
            self._ends = False

    def _end_if_interrupted(self) -> None:
        if self._interrupts:
            raise LimitError("interrupted", "interrupted before any plan was found")

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C was pressed."""
        return self._interrupts > 0

    def _note_interrupt(self) -> None:
        self._interrupts += 1
        if self._ends:
            self._end_if_interrupted()
