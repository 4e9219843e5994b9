"""The content of a report: its numbers and most of its sentences, as plain values."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence, Set
from contextlib import suppress
from typing import Any

from coreplan.analysis.distribution import RUNS, ReturnDistribution, return_distribution
from coreplan.analysis.simulation import Simulation
from coreplan.analysis.simulator import simulate
from coreplan.domains.maintenance.closures import closure_in_words
from coreplan.domains.maintenance.courses import MOST_PIECES, Courses, find_courses
from coreplan.domains.maintenance.parts import Cost
from coreplan.domains.maintenance.problem import MaintenanceProblem
from coreplan.domains.maintenance.report.money import (
    coordination_data,
    distribution_data,
    problem_of,
    summary_data,
    worth_of,
)
from coreplan.domains.maintenance.states import ContractorState
from coreplan.domains.maintenance.timeline import (
    Timeline,
    WorkTimeline,
    expected_cost,
    timeline,
)
from coreplan.errors import SolverError
from coreplan.model.calendar import Calendar
from coreplan.model.dates import write_date
from coreplan.policies.policy import Policy
from coreplan.support.version import __version__
from coreplan.view.report import EXTRA_TIME
from coreplan.view.report.plan import ReportedPlan
from coreplan.view.words import count


def report_data(
    plan: ReportedPlan,
    *,
    calendar: Calendar | None = None,
    title: str | None = None,
    most_pieces: int = MOST_PIECES,
    seed: int = 1,
    time_limit: float = EXTRA_TIME,
) -> dict[str, Any]:
    """Compute everything that the page shows, as values for JSON.

    Parameters
    ----------
    plan
        The plan.
    calendar
        The dates of the steps, if they are known.
    title
        Title of the report; by default the problem's name.
    most_pieces
        The most pieces of courses that the page holds, see
        :mod:`coreplan.domains.maintenance.courses`.
    seed
        Seed of the random numbers, used if costs have to be simulated.
    time_limit
        The most seconds for each part besides the plan itself.
    """
    problem, policy = problem_of(plan), plan.policy
    speak = _Words(policy, calendar)
    times: Timeline | None = None
    with suppress(SolverError):
        times = timeline(policy, time_limit)
    simulated = simulate(policy, RUNS, seed, time_limit=time_limit) if times is None else None
    worth = worth_of(plan, None if times is None else times.money, simulated)
    if simulated is None:
        returns = return_distribution(policy, seed=seed, time_limit=time_limit)
    else:
        returns = ReturnDistribution.of_runs(simulated.returns)
    courses = find_courses(policy, most_pieces)
    beginning = _beginning(policy)
    return {
        "title": title or problem.name,
        "subtitle": speak.size(problem),
        "unit": speak.unit,
        "costs": worth.costs,
        "first": policy.stage,
        "horizon": policy.horizon,
        "dates": speak.dates(),
        "closed": _closed(problem, policy.stage),
        "contractors": [contractor.name for contractor in problem.contractors],
        "works": _works(problem, times, simulated, speak, set(beginning["done"])),
        "details": _details(problem),
        "rules": _rules(problem),
        **beginning,
        "courses": [_pieces(problem, each) for each in courses],
        "hindrance": _hindrance(times),
        "summary": summary_data(plan, worth, calendar),
        "distribution": distribution_data(returns, worth),
        "coordination": coordination_data(plan, worth, time_limit),
        "words": {
            "plan": _plan_help(courses, speak),
            "held": _held(courses),
            "hindrance": _heat_help(times, speak),
            "works": speak.works_help(times),
            "footer": speak.footer(),
        },
    }


# -- words ------------------------------------------------------------------------------------


class _Words:
    """Sentences and labels that depend on the calendar."""

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
        """Name a step: its number, or its first day."""
        return f"step {stage}" if self._calendar is None else self._calendar.label(stage)

    def size(self, problem: MaintenanceProblem) -> str:
        """Describe the size of the problem and its time."""
        works = sum(len(contractor.tasks) for contractor in problem.contractors)
        parts = [count(len(problem.contractors), "contractor"), count(works, "work")]
        if self._calendar is None:
            steps = count(problem.horizon - self._first, "step")
            if self._first:
                steps += f", from step {self._first}"
            parts.append(steps)
        else:
            parts.append(self._calendar.range_label(self._first, problem.horizon - 1))
        return ", ".join(parts)

    def starts(self, work: WorkTimeline) -> str:
        """Write the earliest and the latest start of a work."""
        if work.under_way:
            return "under way"
        if work.first_start is None or work.last_start is None:
            return "not started"
        if work.first_start == work.last_start:
            return self.at(work.first_start)
        if self._calendar is None:
            return f"steps {work.first_start} to {work.last_start}"
        return f"{self.at(work.first_start)} to {self.at(work.last_start)}"

    def works_help(self, times: Timeline | None) -> str:
        """Explain the columns of the table of works."""
        if times is None:
            return (
                "“Completed” is the share of simulated courses in which the work is completed. "
                "Starts and costs are missing: too many courses are possible to compute them "
                "exactly."
            )
        return (
            "“Starts” are the earliest and the latest start in this plan; they depend on earlier "
            "delays. “Completed” is the chance that the work is completed in the planned time."
        )

    def footer(self) -> str:
        """Write the last line of the page."""
        said = [f"Made by coreplan {__version__}. This file needs no network."]
        if self._calendar is None:
            said.append("Steps are counted from 0.")
        return " ".join(said)


def _closed(problem: MaintenanceProblem, stage: int) -> list[dict[str, Any]]:
    """The closed steps of the plan, for the chart."""
    return [
        {
            "begin": max(each.first, stage),
            "end": min(each.last + 1, problem.horizon),
            "no": each.no,
            "name": closure_in_words(each),
        }
        for each in problem.closed
        if each.last >= stage and each.first < problem.horizon
    ]


def _plan_help(courses: Sequence[Courses], speak: _Words) -> str:
    if not any(piece.open for each in courses for piece in each.pieces):
        return "No work in this plan can be delayed: the chart shows what will be done."
    return (
        "At first, the chart shows the plan without delays. A striped end shows how much longer a "
        f"work takes if it is delayed; this becomes known one {speak.unit} after its start. Click "
        "a work with a striped end to mark it as delayed, click again to mark it as on time. The "
        "chart then shows what the plan does in that case."
    )


def _held(courses: Sequence[Courses]) -> str:
    if all(each.complete for each in courses):
        return ""
    covered = math.prod(each.covered for each in courses)
    return (
        "This page holds only the courses with the fewest delays, which together have a chance of "
        f"{100 * covered:.3g} %: the plan has too many courses for one page. If your delays lead "
        "to another course, the page tells you."
    )


def _heat_help(times: Timeline | None, speak: _Words) -> str:
    if times is None:
        return (
            "The table shows the hindrance of the course above. The expected hindrance is out of "
            "reach: too many courses are possible to compute it exactly."
        )
    return (
        "The table shows the expected cost of hindrance, for traffic and neighbours, in each "
        f"{speak.unit}: the stronger the colour, the higher the cost."
    )


# -- the problem ------------------------------------------------------------------------------


def _plain_cost(cost: Cost) -> float | list[float]:
    return list(cost) if isinstance(cost, tuple) else cost


def _numbers(problem: MaintenanceProblem) -> Mapping[tuple[int, int], int]:
    """The number of each work on the page, by contractor and task."""
    places = [
        (i, k)
        for i, contractor in enumerate(problem.contractors)
        for k in range(len(contractor.tasks))
    ]
    return {place: number for number, place in enumerate(places)}


def _works(
    problem: MaintenanceProblem,
    times: Timeline | None,
    simulated: Simulation | None,
    speak: _Words,
    done: Set[int],
) -> list[dict[str, Any]]:
    undone = {
        (each.contractor, each.task): each.undone
        for each in (() if simulated is None else simulated.completions)
    }
    listed: list[dict[str, Any]] = []
    for i, k in _numbers(problem):
        task = problem.contractors[i].tasks[k]
        when = None if times is None else times.works[len(listed)]
        ways = task.durations
        starts = None if when is None else speak.starts(when)
        completed = (
            1 - undone.get((problem.contractors[i].name, task.name), 0.0)
            if when is None
            else when.completed
        )
        if len(listed) in done:  # before the plan begins
            starts, completed = "done", 1.0
        listed.append(
            {
                "contractor": i,
                "name": task.name,
                "steps": ways[0][1],
                "late": ways[1][1] - ways[0][1] if len(ways) > 1 else 0,
                "chance": ways[1][0] if len(ways) > 1 else 0,
                "always": len(ways) == 1 and ways[0][1] > task.duration,
                "cost": _plain_cost(task.cost),
                "revenue": task.revenue,
                "starts": starts,
                "completed": completed,
                "expected": None if when is None else expected_cost(task, when),
            }
        )
    return listed


def _details(problem: MaintenanceProblem) -> dict[str, Any]:
    """The columns that people added to their works: all titles, and the texts of each work."""
    titles = list(dict.fromkeys(title for each in problem.details.values() for title in each))
    names = [
        f"{contractor.name}/{task.name}"
        for contractor in problem.contractors
        for task in contractor.tasks
    ]
    return {
        "titles": titles,
        "texts": [
            [problem.details.get(name, {}).get(title, "") for title in titles] for name in names
        ],
    }


def _rules(problem: MaintenanceProblem) -> list[dict[str, Any]]:
    number = {
        f"{problem.contractors[i].name}/{problem.contractors[i].tasks[k].name}": work
        for (i, k), work in _numbers(problem).items()
    }
    return [
        {"works": [number[name] for name in rule.tasks], "cost": _plain_cost(rule.cost)}
        for rule in problem.network
    ]


def _beginning(policy: Policy) -> dict[str, Any]:
    """The works that are under way or done when the plan begins."""
    problem = policy.problem
    assert isinstance(problem, MaintenanceProblem)
    number = _numbers(problem)
    state = policy.indexed.name_state(policy.indexed.find_state(policy.stage, None))
    running, done = [], []
    for i, contractor in enumerate(problem.contractors):
        at = state[contractor.name]
        assert isinstance(at, ContractorState)
        for k, task in enumerate(contractor.tasks):
            if task.name == at.doing:
                running.append([number[i, k], at.remaining])
            elif task.name in at.done:
                done.append(number[i, k])
    return {"running": running, "done": done}


def _pieces(problem: MaintenanceProblem, courses: Courses) -> dict[str, Any]:
    """The courses of a part: for each piece its open works, all starts, and the next pieces."""
    number = _numbers(problem)
    return {
        "contractors": list(courses.contractors),
        "pieces": [
            [
                piece.open,
                [
                    each
                    for start in piece.starts
                    for each in (number[start.contractor, start.task], start.stage)
                ],
                {" ".join(map(str, delayed)): k for delayed, k in piece.following.items()},
            ]
            for piece in courses.pieces
        ],
    }


def _hindrance(times: Timeline | None) -> list[list[list[float]]]:
    """For each rule, the steps with a cost and their expected costs."""
    if times is None:
        return []
    return [
        [[stage, amount] for stage, amount in enumerate(row) if amount] for row in times.hindrance
    ]
