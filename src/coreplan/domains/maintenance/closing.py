"""Closed periods of calendars as closed steps of problems."""

from __future__ import annotations

from dataclasses import replace

from coreplan.domains.maintenance.closures import start_ranges
from coreplan.domains.maintenance.misfits import find_misfit
from coreplan.domains.maintenance.parts import Closure, Task
from coreplan.domains.maintenance.problem import MaintenanceProblem
from coreplan.errors import Diagnostic, ModelError
from coreplan.model.calendar import Calendar
from coreplan.model.closing import with_closed_periods
from coreplan.model.dates import write_date
from coreplan.support.language import in_english


def closures_of(calendar: Calendar) -> tuple[Closure, ...]:
    """The closed steps of a calendar: every step that a closed period overlaps.

    Periods before the first step are left out.

    Examples
    --------
    >>> import datetime
    >>> from coreplan.model.calendar import ClosedPeriod
    >>> easter = ClosedPeriod("Easter", datetime.date(2026, 4, 3), datetime.date(2026, 4, 6))
    >>> closures_of(Calendar(datetime.date(2026, 3, 2), "week", closed=(easter,)))
    (Closure(first=4, last=5, no='work', name='Easter (3 Apr – 6 Apr 2026)'),)
    """
    made = []
    for period in calendar.closed:
        first, last = calendar.stage_of(period.first), calendar.stage_of(period.last)
        if last >= 0:
            made.append(Closure(max(first, 0), last, period.no, period.label))
    return tuple(made)


@with_closed_periods.register
def close_steps(problem: MaintenanceProblem, calendar: Calendar | None) -> MaintenanceProblem:
    """Make the problem in which works keep out of the closed periods of a calendar.

    Raises
    ------
    ModelError
        If a contractor then cannot complete all its works (``must_complete``). The message names
        the works and the periods.
    """
    closed = () if calendar is None else closures_of(calendar)
    if closed == problem.closed:
        return problem
    if calendar is not None and problem.must_complete:
        end = _last_day(calendar, problem.horizon)
        misfits = (find_misfit(each, problem.horizon, closed) for each in problem.contractors)
        wrong = [Diagnostic((), misfit.in_words(end)) for misfit in misfits if misfit is not None]
        if wrong:
            raise ModelError(wrong)
    return replace(problem, closed=closed)


@in_english
def _last_day(calendar: Calendar, horizon: int) -> str:
    return write_date(calendar.last_day(horizon - 1))


def _starts(task: Task, problem: MaintenanceProblem, closed: tuple[Closure, ...]) -> bool:
    """Whether a task has a start within the plan."""
    return any(first < problem.horizon for first, _ in start_ranges(task, problem.horizon, closed))


def never_starting(problem: MaintenanceProblem) -> list[str]:
    """The works, as contractor/work, that closed steps leave no start."""
    return [
        f"{contractor.name}/{task.name}"
        for contractor in problem.contractors
        for task in contractor.tasks
        if not _starts(task, problem, problem.closed) and _starts(task, problem, ())
    ]
