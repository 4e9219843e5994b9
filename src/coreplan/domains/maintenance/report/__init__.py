"""A plan as one HTML file: for reading, for clicking through what may happen, for printing."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from coreplan.analysis.plan import PlanReport
from coreplan.domains.maintenance.courses import MOST_PIECES
from coreplan.domains.maintenance.problem import MaintenanceProblem
from coreplan.domains.maintenance.report.content import EXTRA_TIME, report_data
from coreplan.domains.maintenance.report.money import ReportedPlan
from coreplan.domains.maintenance.report.page import assemble
from coreplan.errors import ModelError
from coreplan.files.writing import write_text
from coreplan.model.calendar import Calendar
from coreplan.policies.policy import Policy
from coreplan.solving.result import Result

__all__ = ["Report", "make_report"]


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


def make_report(
    plan: Result | PlanReport | Policy,
    *,
    calendar: Calendar | None = None,
    title: str | None = None,
    most_pieces: int = MOST_PIECES,
    seed: int = 1,
    time_limit: float = EXTRA_TIME,
) -> Report:
    """A maintenance plan as one HTML file, which needs no network.

    It shows what the plan costs and whether that is proven to be the best, a chart of works in
    which one can say what is delayed and see what the plan does then, where the hindrance is, how
    much it may cost, what coordination is worth, and all works.

    Parameters
    ----------
    plan
        What :func:`coreplan.solve` or :func:`coreplan.evaluate_plan` gives, or a policy.
    calendar
        The dates of the steps: shown instead of step numbers.
    title
        What stands above; by default the problem's name.
    most_pieces
        How much of a large plan the page may hold, see
        :func:`coreplan.domains.maintenance.courses.find_courses`.
    seed
        Start of the random numbers where the distribution of costs is out of exact reach.
    time_limit
        Seconds that each part beside the plan itself may take: money, coordination, simulation.
        Where it is too short for exact numbers, the page shows estimates or leaves a part out.

    Raises
    ------
    ModelError
        If it is not a plan for a maintenance problem, or the result has no policy.

    Examples
    --------
    >>> from coreplan import Contractor, MaintenanceProblem, Task, solve
    >>> alpha = Contractor("Alpha", (Task("a1", duration=2, cost=3, revenue=20),))
    >>> report = make_report(solve(MaintenanceProblem((alpha,), horizon=4)))
    >>> report.data["summary"]["headline"]
    'The plan is expected to earn 14.00 in all.'
    """
    reported = _reported(plan)
    data = report_data(
        reported,
        calendar=calendar,
        title=title,
        most_pieces=most_pieces,
        seed=seed,
        time_limit=time_limit,
    )
    return Report(assemble(data), data)


def _reported(plan: Result | PlanReport | Policy) -> ReportedPlan:
    policy = plan if isinstance(plan, Policy) else plan.policy
    if policy is None:
        raise ModelError("the result has no plan: it was read from a file; solve the problem again")
    if not isinstance(policy.problem, MaintenanceProblem):
        raise ModelError(
            f"{policy.problem.name!r} is not a maintenance problem; a report is for plans of works"
        )
    if isinstance(plan, Result):
        local = plan.objective == "decentralised"
        return ReportedPlan(policy, plan.value, plan.upper_bound, local)
    if isinstance(plan, PlanReport):
        return ReportedPlan(policy, plan.value, plan.upper_bound)
    return ReportedPlan(policy, None, None)
