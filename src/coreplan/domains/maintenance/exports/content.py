"""The content of all exports of a plan: its works, with their dates, chances and costs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from coreplan.domains.maintenance.exports.texts import plain
from coreplan.domains.maintenance.money import Money
from coreplan.domains.maintenance.parts import Task
from coreplan.domains.maintenance.planned import PlannedWork, planned_schedule
from coreplan.domains.maintenance.problem import MaintenanceProblem
from coreplan.domains.maintenance.timeline import (
    Timeline,
    WorkTimeline,
    expected_cost,
    likely_works,
    timeline,
)
from coreplan.errors import ModelError, SolverError
from coreplan.model.calendar import Calendar
from coreplan.model.dates import write_date
from coreplan.policies.graph import MOST_SITUATIONS, plan_graph
from coreplan.policies.policy import Policy
from coreplan.solving.result import Result
from coreplan.support.cents import amount_text, shared_out
from coreplan.support.checks import unknown_name
from coreplan.support.language import say
from coreplan.view.words import percent, steps

EXACT_SECONDS = 60.0
"""The most seconds for the exact chances; after that, the likeliest courses give them."""


@dataclass(frozen=True)
class ExportedWork:
    """One work of an exported plan.

    Attributes
    ----------
    contractor, task
        The contractor's name, and the work.
    course
        The work in the course without delays; None if it is not started in this course.
    times
        The chances of the work in each step.
    cost
        Its expected cost in whole cents; None if it could not be computed.
    more
        The values of the user's own columns, by their titles.
    """

    contractor: str
    task: Task
    course: PlannedWork | None
    times: WorkTimeline
    cost: float | None
    more: Mapping[str, Any] = field(default_factory=dict)

    @property
    def start(self) -> int | None:
        """The planned step of the start; None if it is not known or the work is not started."""
        return None if self.course is None else self.course.start

    @property
    def end(self) -> int | None:
        """The planned last step."""
        return None if self.course is None else self.course.end - 1

    @property
    def start_chance(self) -> float | None:
        """The chance that the work starts in its planned step; None if it is not known."""
        if self.course is None or self.times.under_way:
            return None
        return self.times.starts[self.course.start] or None

    @property
    def status(self) -> str:
        """Where the work is when the plan begins: not started, running or done."""
        if self.times.done:
            return "done"
        return "running" if self.times.under_way else "not started"


@dataclass(frozen=True)
class ExportedPlan:
    """A plan of works, ready to be written in any format.

    Attributes
    ----------
    problem
        The problem of the plan.
    stage
        The first step of the plan.
    works
        The works in the problem's order.
    calendar
        The dates of the steps, if they are known.
    money
        The expected value in its parts, in whole cents that add up; None if it is out of reach.
    covered
        The chance of the courses that the chances are taken from; 1 if they are exact.
    columns
        The titles of the user's own columns.
    policy
        The plan itself.
    """

    problem: MaintenanceProblem
    stage: int
    works: tuple[ExportedWork, ...]
    calendar: Calendar | None
    money: Money | None
    covered: float
    columns: tuple[str, ...]
    policy: Policy

    @property
    def name(self) -> str:
        """The problem's name, safe for every format."""
        return plain(self.problem.name) or say("plan")

    @property
    def in_progress(self) -> bool:
        """Whether works are done or under way when the plan begins."""
        return self.stage > 0 or any(work.status != "not started" for work in self.works)

    def of(self, contractor: str) -> list[ExportedWork]:
        """The works of a contractor by their planned start; those without one come last."""
        mine = [work for work in self.works if work.contractor == contractor]
        return sorted(mine, key=lambda work: math.inf if work.start is None else work.start)

    def notes(self, work: ExportedWork) -> list[str]:
        """Say what a planner should know about a work besides its planned dates."""
        calendar = self.calendar
        task, times = work.task, work.times
        said = []
        if times.under_way:
            said.append(say("Under way when this plan begins."))
        elif len(task.durations) > 1:
            (_, normal), (chance, late) = task.durations
            said.append(
                say(
                    "Can be delayed: {chance} chance of {steps} more.",
                    chance=percent(chance),
                    steps=steps(late - normal, calendar),
                )
            )
        if work.start is not None and times.last_start is not None and not times.under_way:
            if times.last_start > work.start or times.first_start != work.start:
                if work.start_chance is not None:
                    said.append(
                        say(
                            "Starts as planned with a chance of {chance}.",
                            chance=percent(work.start_chance),
                        )
                    )
                said.append(self._possible_starts(times.first_start, times.last_start))
            if work.end is not None and times.last_end is not None and times.last_end > work.end:
                said.append(self._latest_end(times.last_end))
        if percent(times.completed) != percent(1.0) and not times.done:
            said.append(
                say(
                    "Completed in the planned time with a chance of {chance}.",
                    chance=percent(times.completed),
                )
            )
        if work.cost is not None:
            said.append(say("Expected cost: {amount}.", amount=amount_text(work.cost)))
        if self.covered < 1:
            said.append(
                say(
                    "Chances are taken from the likeliest courses only, {share} of all.",
                    share=percent(self.covered),
                )
            )
        return said

    def _possible_starts(self, first: int | None, last: int) -> str:
        assert first is not None
        if self.calendar is None:
            return say(
                "Depending on earlier delays, it starts in steps {first} to {last}.",
                first=first,
                last=last,
            )
        return say(
            "Depending on earlier delays, it starts between {first} and {last}.",
            first=self.calendar.label(first),
            last=self.calendar.label(last),
        )

    def _latest_end(self, step: int) -> str:
        if self.calendar is None:
            return say("Ends in step {step} at the latest.", step=step)
        day = write_date(self.calendar.last_day(step))
        return say("Ends on {day} at the latest.", day=day)


def exported_plan(
    plan: Policy | Result,
    calendar: Calendar | None = None,
    details: Mapping[str, Mapping[str, Any]] | None = None,
) -> ExportedPlan:
    """Collect what all exports of a plan need; see :func:`export_plan`."""
    policy = plan.policy if isinstance(plan, Result) else plan
    if not isinstance(policy, Policy):
        raise ModelError(
            "found no plan to export; give a Policy, or a Result of `solve` (a result that was "
            "read from a file has none)"
        )
    problem = policy.problem
    if not isinstance(problem, MaintenanceProblem):
        raise ModelError("exports need a plan of works, of a maintenance problem (mpp/1)")
    details = problem.details if details is None else details
    known = [f"{each.name}/{task.name}" for each in problem.contractors for task in each.tasks]
    for name in details:
        if name not in known:
            raise ModelError(unknown_name(name, "work", known, "the problem"))
    columns = dict.fromkeys(title for values in details.values() for title in values)
    course = {(each.contractor, each.task): each for each in planned_schedule(policy).works}
    exact: Timeline | None = None
    covered = 1.0
    try:
        exact = timeline(policy, EXACT_SECONDS)
        times: Sequence[WorkTimeline] = exact.works
    except SolverError:
        graph = plan_graph(policy, MOST_SITUATIONS)
        times, covered = likely_works(policy, graph), graph.covered
    money = None if exact is None else exact.money.in_cents()
    tasks = [task for contractor in problem.contractors for task in contractor.tasks]
    costs = _costs(problem, tasks, times, money)
    works = tuple(
        ExportedWork(
            when.contractor,
            task,
            course.get((when.contractor, task.name)),
            when,
            cost,
            details.get(f"{when.contractor}/{task.name}", {}),
        )
        for task, when, cost in zip(tasks, times, costs, strict=True)
    )
    return ExportedPlan(
        problem, policy.stage, works, calendar, money, covered, tuple(columns), policy
    )


def _costs(
    problem: MaintenanceProblem,
    tasks: Sequence[Task],
    times: Sequence[WorkTimeline],
    money: Money | None,
) -> list[float | None]:
    """The expected cost of each work; those of a contractor add up to the cost of its works."""
    if money is None:
        return [None] * len(tasks)
    costs: list[float | None] = []
    for contractor, total in zip(problem.contractors, money.works_of, strict=True):
        mine = range(len(costs), len(costs) + len(contractor.tasks))
        costs += shared_out(total, [expected_cost(tasks[k], times[k]) for k in mine])
    return costs
