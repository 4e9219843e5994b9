"""Reports: a plan as one HTML file.

The content depends on the domain: :func:`report_of` works for plans of any kind, and a domain may
register its own function.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import singledispatch
from pathlib import Path
from typing import Any

from coreplan.analysis.plan import PlanReport
from coreplan.errors import ModelError
from coreplan.files.writing import write_text
from coreplan.model.calendar import Calendar
from coreplan.model.problem import PlanningProblem
from coreplan.policies.policy import Policy
from coreplan.solving.result import Result
from coreplan.view.report.general import general_data, general_page
from coreplan.view.report.plan import ReportedPlan

__all__ = ["Report", "ReportOptions", "make_report", "report_of"]

EXTRA_TIME = 60.0
"""The most seconds for each part of a report besides the plan itself."""


@dataclass(frozen=True)
class Report:
    """A finished HTML page, with its content as plain values.

    Attributes
    ----------
    html
        The page; it loads nothing.
    data
        Its content as plain values.
    contractors
        The pages of the contractors by name, if each one was asked for.
    """

    html: str = field(repr=False)
    data: dict[str, Any] = field(repr=False, compare=False)
    contractors: Mapping[str, Report] = field(default_factory=dict, repr=False, compare=False)

    def save(self, path: str | Path) -> None:
        """Write the page to a file, as a whole or not at all."""
        write_text(self.html, path)

    def __str__(self) -> str:
        return self.html


@dataclass(frozen=True)
class ReportOptions:
    """The options of a report; :func:`make_report` explains them."""

    calendar: Calendar | None = None
    title: str | None = None
    most_pieces: int | None = None
    seed: int = 1
    time_limit: float = EXTRA_TIME
    contractor: str | None = None
    each_contractor: bool = False


def make_report(
    plan: Result | PlanReport | Policy,
    *,
    calendar: Calendar | None = None,
    title: str | None = None,
    most_pieces: int | None = None,
    seed: int = 1,
    time_limit: float = EXTRA_TIME,
    contractor: str | None = None,
    each_contractor: bool = False,
) -> Report:
    """Make one HTML file of a plan; the file needs no network.

    The report of a maintenance plan has a summary with the expected cost and the proof, a chart of
    works in which the reader can enter delays, the hindrance, the possible costs, the value of
    coordination, and all works. The report of any other plan has its value, the plan tree, the
    likely actions, the parts of the value, and the possible values.

    Parameters
    ----------
    plan
        The result of :func:`coreplan.solve` or :func:`coreplan.evaluate_plan`, or a policy.
    calendar
        The dates of the steps, shown instead of step numbers.
    title
        Title of the report; by default the problem's name.
    most_pieces
        The most pieces of a large plan that the page holds; None for the default. See
        :func:`coreplan.domains.maintenance.courses.find_courses`.
    seed
        Seed of the random numbers, used if the distribution of returns has to be simulated.
    time_limit
        The most seconds for each part besides the plan itself: money, coordination, simulation.
        If it is too short for exact numbers, the page shows estimates or leaves the part out.
    contractor
        The name of a contractor of a maintenance problem: the page is for this contractor only,
        with its works, dates and costs, and without the costs of others.
    each_contractor
        Whether to make such a page for each contractor as well, see :attr:`Report.contractors`.

    Raises
    ------
    ModelError
        If the result has no policy, or if there is no such contractor.

    Examples
    --------
    >>> from coreplan import Contractor, MaintenanceProblem, Task, solve
    >>> alpha = Contractor("Alpha", (Task("a1", duration=2, cost=3, revenue=20),))
    >>> report = make_report(solve(MaintenanceProblem((alpha,), horizon=4)))
    >>> report.data["summary"]["headline"]
    'The plan is expected to earn 14.00 in all.'
    """
    reported = ReportedPlan.of(plan)
    options = ReportOptions(
        calendar, title, most_pieces, seed, time_limit, contractor, each_contractor
    )
    return report_of(reported.policy.problem, reported, options)


@singledispatch
def report_of(problem: PlanningProblem, plan: ReportedPlan, options: ReportOptions) -> Report:
    """Make the report of a plan for one kind of problem."""
    if options.contractor is not None or options.each_contractor:
        raise ModelError("a page of one contractor needs a plan of a maintenance problem (mpp/1)")
    data = general_data(
        plan,
        title=options.title,
        calendar=options.calendar,
        seed=options.seed,
        time_limit=options.time_limit,
    )
    return Report(general_page(data), data)
