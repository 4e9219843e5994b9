"""Sentences of a report that depend on the calendar."""

from __future__ import annotations

import math
from collections.abc import Sequence

from coreplan.domains.maintenance.courses import Courses
from coreplan.domains.maintenance.problem import MaintenanceProblem
from coreplan.domains.maintenance.timeline import Timeline
from coreplan.model.calendar import Calendar
from coreplan.model.dates import write_date
from coreplan.policies.policy import Policy
from coreplan.support.language import marked, say, say_marked
from coreplan.view.report.general import made_by
from coreplan.view.words import count, steps, when

HEAT = {
    "step": marked(
        "Hindrance costs money when works are under way at the same time. The table shows the "
        "expected cost in each step: the stronger the colour, the higher the cost."
    ),
    "day": marked(
        "Hindrance costs money when works are under way at the same time. The table shows the "
        "expected cost in each day: the stronger the colour, the higher the cost."
    ),
    "week": marked(
        "Hindrance costs money when works are under way at the same time. The table shows the "
        "expected cost in each week: the stronger the colour, the higher the cost."
    ),
}
"""What the table of hindrance shows, by the unit of time."""


class Words:
    """Sentences and labels, by dates or by numbers of steps."""

    def __init__(self, policy: Policy, calendar: Calendar | None) -> None:
        self._calendar = calendar
        self._first = policy.stage
        self._horizon = policy.horizon
        self.unit = "step" if calendar is None else calendar.step

    def dates(self) -> dict[str, list[str]] | None:
        """First and last days of all steps; None without a calendar."""
        calendar = self._calendar
        if calendar is None:
            return None
        stages = range(self._first, self._horizon)
        return {
            "first": [calendar.label(stage) for stage in stages],
            "last": [write_date(calendar.last_day(stage)) for stage in stages],
        }

    def at(self, stage: int) -> str:
        """Name the begin of a step: its number, or its first day."""
        return when(stage, self._calendar)

    def end(self, stage: int) -> str:
        """Name the end of a step: its number, or its last day."""
        if self._calendar is None:
            return when(stage)
        return write_date(self._calendar.last_day(stage))

    def between(self, first: int, last: int) -> str:
        """Name possible begins: from the first to the last step."""
        if self._calendar is None:
            return say("steps {first} to {last}", first=first, last=last)
        begin, end = self.at(first), self.at(last)
        return say("{begin} to {end}", context="dates", begin=begin, end=end)

    def steps(self, number: int) -> str:
        """A number of steps in words."""
        return steps(number, self._calendar)

    def size(self, problem: MaintenanceProblem, contractors: int, works: int) -> str:
        """Describe the size of a page and its time."""
        parts = [count(contractors, "contractor")] if contractors else []
        parts.append(count(works, "work"))
        if self._calendar is None:
            length = self.steps(problem.horizon - self._first)
            parts.append(
                say("{steps}, from step {first}", steps=length, first=self._first)
                if self._first
                else length
            )
        else:
            parts.append(self._calendar.range_label(self._first, problem.horizon - 1))
        return ", ".join(parts)

    def works_help(self, times: Timeline | None) -> str:
        """Explain the columns of the table of works."""
        if times is None:
            return say(
                "Start and end are those of the plan without delays. “Completed” is the share of "
                "simulated courses in which the work is completed. Latest ends and costs are "
                "missing: too many courses are possible to compute them exactly."
            )
        return say(
            "Start and end are those of the plan without delays; below them stand the other "
            "possible starts, and the latest end, if delays can move them. “Completed” is the "
            "chance that the work is completed in the planned time."
        )

    def plan_help(self, courses: Sequence[Courses]) -> str:
        """Explain how to use the chart, on the screen."""
        if not can_be_delayed(courses):
            return ""
        return (
            "A striped end shows how much longer a work takes if it is delayed; this becomes known "
            f"one {self.unit} after its start. Click a work with a striped end to mark it as "
            "delayed, click again to mark it as on time. The chart then shows what the plan does "
            "in that case."
        )

    def heat_help(self, times: Timeline | None) -> str:
        """Explain the table of hindrance."""
        if times is None:
            return say(
                "The table shows the hindrance of the course above. The expected hindrance is out "
                "of reach: too many courses are possible to compute it exactly."
            )
        return say_marked(HEAT[self.unit])

    def footer(self) -> str:
        """Write the last line of the page."""
        said = [made_by()]
        if self._calendar is None:
            said.append(say("Steps are counted from 0."))
        return " ".join(said)


def can_be_delayed(courses: Sequence[Courses]) -> bool:
    """Whether any work of a plan can be delayed."""
    return any(piece.open for each in courses for piece in each.pieces)


def held(courses: Sequence[Courses]) -> str:
    """Say how likely the courses are that a page holds; empty if it holds all."""
    if all(each.complete for each in courses):
        return ""
    covered = math.prod(each.covered for each in courses)
    return say(
        "This page holds only the courses with the fewest delays, which together have a chance of "
        "{share:.3g} %: the plan has too many courses for one page. If your delays lead to another "
        "course, the page tells you.",
        share=100 * covered,
    )
