"""The check of ``must_complete``: whether a contractor can complete its tasks in time."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from coreplan.domains.maintenance.closures import start_ranges

if TYPE_CHECKING:
    from coreplan.domains.maintenance.parts import Closure, Task

NEVER = -1
"""The latest stage of tasks that can never be completed."""

MOST_WINDOWED_TASKS = 30
MOST_SETS = 100_000


class TooManySetsError(Exception):
    """The contractor has too many sets of tasks to check all of them."""


class Feasibility:
    """The latest stages at which a contractor can start its tasks and still complete all of them.

    An idle contractor can complete a set of tasks from stage t on, in every outcome, if and only if
    t is at most ``latest(tasks)``, because from an earlier stage it can wait. One number for each
    set therefore decides what is feasible, and an action is available in a range of stages.

    Parameters
    ----------
    tasks
        The contractor's tasks; a set of them is a bit mask.
    horizon
        The number of stages.
    tick
        Called regularly, for instance to check a time limit.
    closed
        The closed steps of the problem.
    """

    def __init__(
        self,
        tasks: Sequence[Task],
        horizon: int,
        tick: Callable[[], None] = lambda: None,
        closed: Sequence[Closure] = (),
    ) -> None:
        self._tasks = tasks
        self._horizon = horizon
        self._tick = tick
        self._latest: dict[int, int] = {0: horizon}
        self._worst = [max(steps for _, steps in task.durations) for task in tasks]
        self._starts = [start_ranges(task, horizon, closed) for task in tasks]
        # If works may start at any time, their order does not matter, only the sum of their longest
        # durations.
        self._free = all(
            len(ranges) == 1 and ranges[0][0] <= 0 and ranges[0][1] >= horizon - 1
            for ranges in self._starts
        )

    def latest_start(self, todo: int, task: int) -> int:
        """The latest stage to start this task of a set before the other tasks; or NEVER."""
        rest = self.latest(todo & ~(1 << task))
        start = rest - self._worst[task]
        for first, last in reversed(self._starts[task]):
            if first <= start:
                return min(start, last)
        return NEVER

    def latest(self, todo: int) -> int:
        """The latest stage from which an idle contractor can complete this set; or NEVER."""
        if todo in self._latest:
            return self._latest[todo]
        if self._free:
            needed = sum(w for k, w in enumerate(self._worst) if todo >> k & 1)
            best = max(self._horizon - needed, NEVER)
        else:
            if len(self._tasks) > MOST_WINDOWED_TASKS:
                raise TooManySetsError
            self._tick()
            best = NEVER
            for k in range(len(self._tasks)):
                if todo >> k & 1:
                    best = max(best, self.latest_start(todo, k))
        self._latest[todo] = best
        return best

    def misfits(self, looked_at: Iterator[int] | None = None) -> list[int]:
        """Find tasks that cannot all be completed, and of which none can be left out.

        Empty if all tasks fit. Also empty if the contractor has too many sets of tasks to check;
        then the solver finds the mistake, within its limits.

        Parameters
        ----------
        looked_at
            Counts the checked sets, for contractors that share a budget.
        """
        seen = itertools.count() if looked_at is None else looked_at

        def give_up() -> None:
            if next(seen) > MOST_SETS:
                raise TooManySetsError

        self._tick = give_up
        try:
            return self._misfits()
        except TooManySetsError:
            return []

    def _misfits(self) -> list[int]:
        todo = (1 << len(self._tasks)) - 1
        if self.latest(todo) != NEVER:
            return []
        for k in range(len(self._tasks)):
            if self.latest(1 << k) == NEVER:
                return [k]
        for k in range(len(self._tasks)):
            if self.latest(todo & ~(1 << k)) == NEVER:
                todo &= ~(1 << k)
        return [k for k in range(len(self._tasks)) if todo >> k & 1]
