"""Closed periods of calendars: each domain says what they close."""

from __future__ import annotations

from functools import singledispatch

from coreplan.errors import Diagnostic, ModelError
from coreplan.model.calendar import Calendar
from coreplan.model.problem import PlanningProblem


@singledispatch
def with_closed_periods(problem: PlanningProblem, calendar: Calendar | None) -> PlanningProblem:
    """Make the problem in which the closed periods of a calendar are closed.

    Raises
    ------
    ModelError
        If problems of this kind cannot be closed, or if this one then has no plan.
    """
    if calendar is None or not calendar.closed:
        return problem
    raise ModelError(
        [
            Diagnostic(
                ("closed",),
                "closed periods are for works (mpp/1), and this is a "
                f"{problem.file_format or type(problem).__name__} problem",
            )
        ]
    )
