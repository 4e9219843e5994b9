"""Works that a contractor cannot complete in time, and the closed periods that prevent it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from coreplan.domains.maintenance.closures import closure_in_words
from coreplan.domains.maintenance.feasibility import Feasibility
from coreplan.domains.maintenance.parts import Closure, Contractor
from coreplan.errors import MOST_PROBLEMS
from coreplan.support.checks import found


@dataclass(frozen=True)
class Misfit:
    """Tasks of a contractor that cannot all be completed, and of which none can be left out.

    Attributes
    ----------
    contractor
        The contractor.
    tasks
        The numbers of the tasks.
    closed
        The closures that are the reason, none of which can be left out; empty if the tasks do not
        fit without closures either.
    """

    contractor: Contractor
    tasks: tuple[int, ...]
    closed: tuple[Closure, ...]

    def in_words(self, end: str) -> str:
        """What does not fit, why, and what to do, for a plan that ends with `end`."""
        tasks = [self.contractor.tasks[k] for k in self.tasks]
        names = _some([found(task.name) for task in tasks])
        fit = "does not fit" if len(tasks) == 1 else "do not fit together"
        delays = any(task.delay is not None and task.delay.probability > 0 for task in tasks)
        included = ", delays included" if delays else ""
        beside, shorten = "", ""
        if self.closed:
            periods = "period" if len(self.closed) == 1 else "periods"
            beside = (
                f" beside the closed {periods} {_some(list(map(closure_in_words, self.closed)))}"
            )
            shorten = "shorten a closed period, "
        return (
            f"contractor {found(self.contractor.name)} cannot finish all its works by {end}"
            f"{included}: {names} {fit}{beside}; {shorten}plan more steps, widen a window, drop a "
            "work, or set must_complete to false"
        )


def find_misfit(
    contractor: Contractor,
    horizon: int,
    closed: Sequence[Closure] = (),
    looked_at: Iterator[int] | None = None,
) -> Misfit | None:
    """Find tasks of a contractor that do not fit into the plan; None if all fit.

    Parameters
    ----------
    contractor
        The contractor.
    horizon
        The number of stages.
    closed
        The closed steps.
    looked_at
        Counts the checked sets of tasks, for contractors that share a budget.
    """

    def misfits(some: Sequence[Closure]) -> list[int]:
        return Feasibility(contractor.tasks, horizon, closed=some).misfits(looked_at)

    tasks = misfits(closed)
    if not tasks:
        return None
    reasons = list(closed)
    if closed and not misfits(()):
        for each in closed:  # leave out those without which the tasks do not fit either
            fewer = [other for other in reasons if other is not each]
            if less := misfits(fewer):
                reasons, tasks = fewer, less
    else:
        reasons = []
        tasks = misfits(()) or tasks
    return Misfit(contractor, tuple(tasks), tuple(reasons))


def _some(names: list[str]) -> str:
    more = f" and {len(names) - MOST_PROBLEMS} more" if len(names) > MOST_PROBLEMS else ""
    return ", ".join(names[:MOST_PROBLEMS]) + more
