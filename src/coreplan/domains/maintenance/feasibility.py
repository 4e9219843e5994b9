"""Whether a contractor can be sure to complete its tasks in time, whatever is delayed."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from coreplan.domains.maintenance.parts import Task

NEVER = -1
"""The latest stage of tasks that cannot be completed at all."""

MOST_WINDOWED_TASKS = 30
MOST_SETS = 100_000


class TooManySetsError(Exception):
    """There are too many sets of tasks to look at them all."""


class Feasibility:
    """The latest stage at which a set of tasks may still wait to be started.

    An idle contractor can complete a set of tasks from stage t on, in every outcome, if and only if
    t is at most ``latest(tasks)``: from an earlier stage it can wait. So what is feasible at a
    stage is known from one number for each set, and an action is available in a range of stages.

    Parameters
    ----------
    tasks
        The contractor's tasks; a set of them is a bit mask.
    horizon
        The number of stages.
    tick
        Called once in a while, to look at the clock.
    """

    def __init__(
        self, tasks: Sequence[Task], horizon: int, tick: Callable[[], None] = lambda: None
    ) -> None:
        self._tasks = tasks
        self._horizon = horizon
        self._tick = tick
        self._latest: dict[int, int] = {0: horizon}
        self._worst = [max(steps for _, steps in task.durations) for task in tasks]
        # Without windows the order does not matter: there must be time for the worst case.
        self._free = all(
            task.window is None or (task.window[0] <= 0 and task.window[1] >= horizon - 1)
            for task in tasks
        )

    def latest_start(self, todo: int, task: int) -> int:
        """The latest stage at which this task of a set may start, before the others; or NEVER."""
        rest = self.latest(todo & ~(1 << task))
        start = rest - self._worst[task]
        window = self._tasks[task].window
        if window is not None:
            start = min(start, window[1])
            if start < window[0]:
                return NEVER
        return max(start, NEVER)

    def latest(self, todo: int) -> int:
        """The latest stage at which an idle contractor can still complete this set; or NEVER."""
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
        """A group of tasks that cannot be completed together, though any fewer of them can.

        Empty if all fit, or if there are too many sets of tasks to tell; then the solver finds out,
        within its limits.

        Parameters
        ----------
        looked_at
            Counts the sets that have been looked at, where several contractors share a budget.
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
