"""A plan as one HTML file: for reading, for clicking through what may happen, for printing.

What a page shows depends on the domain: :func:`report_of` is for plans of any kind, and a domain
may register its own.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import singledispatch
from pathlib import Path
from typing import Any

from coreplan.analysis.plan import PlanReport
from coreplan.files.writing import write_text
from coreplan.model.calendar import Calendar
from coreplan.model.problem import PlanningProblem
from coreplan.policies.policy import Policy
from coreplan.solving.result import Result
from coreplan.view.report.general import general_data, general_page
from coreplan.view.report.plan import ReportedPlan

__all__ = ["Report", "ReportOptions", "make_report", "report_of"]

EXTRA_TIME = 60.0
"""Seconds that each part beside the plan itself may take."""


@dataclass(frozen=True)
class Report:
    """A plan as a page.

    Attributes
    ----------
    html
        The page: complete, without anything to be loaded.
    data
        What it shows, as plain values.
    """

    html: str = field(repr=False)
    data: dict[str, Any] = field(repr=False, compare=False)

    def save(self, path: str | Path) -> None:
        """Write the page to a file, as a whole or not at all."""
        write_text(self.html, path)

    def __str__(self) -> str:
        return self.html


@dataclass(frozen=True)
class ReportOptions:
    """What may be asked of a report; :func:`make_report` says what it means."""

    calendar: Calendar | None = None
    title: str | None = None
    most_pieces: int | None = None
    seed: int = 1
    time_limit: float = EXTRA_TIME


def make_report(
    plan: Result | PlanReport | Policy,
    *,
    calendar: Calendar | None = None,
    title: str | None = None,
    most_pieces: int | None = None,
    seed: int = 1,
    time_limit: float = EXTRA_TIME,
) -> Report:
    """A plan as one HTML file, which needs no network.

    For plans of works it shows what the plan costs and whether that is proven to be the best, a
    chart of works in which one can say what is delayed and see what the plan does then, where the
    hindrance is, how much it may cost, what coordination is worth, and all works. For plans of any
    other kind: what the plan is worth, what is done first and what then, depending on what happens,
    what everybody is likely to do when, where the value comes from, and how much it may vary.

    Parameters
    ----------
    plan
        What :func:`coreplan.solve` or :func:`coreplan.evaluate_plan` gives, or a policy.
    calendar
        The dates of the steps: shown instead of step numbers.
    title
        What stands above; by default the problem's name.
    most_pieces
        How much of a large plan the page may hold; None for what is usual. See
        :func:`coreplan.domains.maintenance.courses.find_courses`.
    seed
        Start of the random numbers where the distribution of returns is out of exact reach.
    time_limit
        Seconds that each part beside the plan itself may take: money, coordination, simulation.
        Where it is too short for exact numbers, the page shows estimates or leaves a part out.

    Raises
    ------
    ModelError
        If the result has no policy.

    Examples
    --------
    >>> from coreplan import Contractor, MaintenanceProblem, Task, solve
    >>> alpha = Contractor("Alpha", (Task("a1", duration=2, cost=3, revenue=20),))
    >>> report = make_report(solve(MaintenanceProblem((alpha,), horizon=4)))
    >>> report.data["summary"]["headline"]
    'The plan is expected to earn 14.00 in all.'
    """
    reported = ReportedPlan.of(plan)
    options = ReportOptions(calendar, title, most_pieces, seed, time_limit)
    return report_of(reported.policy.problem, reported, options)


@singledispatch
def report_of(problem: PlanningProblem, plan: ReportedPlan, options: ReportOptions) -> Report:
    """The report of a plan for one kind of problem."""
    data = general_data(
        plan,
        title=options.title,
        calendar=options.calendar,
        seed=options.seed,
        time_limit=options.time_limit,
    )
    return Report(general_page(data), data)
