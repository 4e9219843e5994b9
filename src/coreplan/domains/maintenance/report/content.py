"""What a report says: all its numbers and most of its sentences, as plain values for the page."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from coreplan.analysis.distribution import RUNS, ReturnDistribution, return_distribution
from coreplan.analysis.simulation import Simulation
from coreplan.analysis.simulator import simulate
from coreplan.domains.maintenance.courses import MOST_PIECES, Courses, find_courses
from coreplan.domains.maintenance.parts import Cost, Task
from coreplan.domains.maintenance.problem import MaintenanceProblem
from coreplan.domains.maintenance.report.money import (
    coordination_data,
    distribution_data,
    problem_of,
    summary_data,
    worth_of,
)
from coreplan.domains.maintenance.states import ContractorState
from coreplan.domains.maintenance.timeline import Timeline, WorkTimeline, timeline
from coreplan.errors import SolverError
from coreplan.model.calendar import Calendar, write_date
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
    """All that the page of a report shows, ready to be written as JSON.

    Parameters
    ----------
    plan
        The plan.
    calendar
        The dates of the steps, if there are dates.
    title
        What stands above; by default the problem's name.
    most_pieces
        How many pieces of courses the page may hold, see
        :mod:`coreplan.domains.maintenance.courses`.
    seed
        Start of the random numbers where costs have to be simulated.
    time_limit
        Seconds that each part beside the plan itself may take.
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
    return {
        "title": title or problem.name,
        "subtitle": speak.size(problem),
        "unit": speak.unit,
        "costs": worth.costs,
        "first": policy.stage,
        "horizon": policy.horizon,
        "dates": speak.dates(),
        "contractors": [contractor.name for contractor in problem.contractors],
        "works": _works(problem, times, simulated, speak),
        "rules": _rules(problem),
        **_beginning(policy),
        "courses": [_pieces(problem, each) for each in courses],
        "hindrance": _hindrance(times),
        "summary": summary_data(plan, worth),
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
    """How to speak of time."""

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
        """When a step begins."""
        return f"step {stage}" if self._calendar is None else self._calendar.label(stage)

    def size(self, problem: MaintenanceProblem) -> str:
        """How large the problem is, and when."""
        works = sum(len(contractor.tasks) for contractor in problem.contractors)
        parts = [count(len(problem.contractors), "contractor"), count(works, "work")]
        if self._calendar is None:
            steps = count(problem.horizon - self._first, "step")
            if self._first:
                steps += f" from step {self._first} on"
            parts.append(steps)
        else:
            parts.append(self._calendar.range_label(self._first, problem.horizon - 1))
        return ", ".join(parts)

    def starts(self, work: WorkTimeline) -> str:
        """When a work can start."""
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
        """What the table of works shows."""
        if times is None:
            return (
                "When works start, and what they cost, is out of reach of an exact computation; "
                "“completed” is the share of simulated courses in which they are."
            )
        return (
            "“Starts” is the earliest and the latest start that the plan allows, by what has been "
            "delayed before; “completed” the chance to be completed in the planned time."
        )

    def footer(self) -> str:
        """What else there is to say."""
        said = [f"Made by coreplan {__version__}. This file needs no network."]
        if self._calendar is None:
            said.append("Steps are counted from 0.")
        return " ".join(said)


def _plan_help(courses: Sequence[Courses], speak: _Words) -> str:
    if not any(piece.open for each in courses for piece in each.pieces):
        return "Nothing is left to chance in this plan: this is what will be done."
    return (
        "This is what will be done if no work is delayed. A striped end shows how much longer a "
        f"work may take; whether it does becomes known one {speak.unit} after its start. Click "
        "such a work to say that it is delayed, click again to say that it is on time, and the "
        "rest changes to what the plan says then."
    )


def _held(courses: Sequence[Courses]) -> str:
    if all(each.complete for each in courses):
        return ""
    covered = math.prod(each.covered for each in courses)
    return (
        "This plan has too many courses for one page. The page holds those with the fewest delays, "
        f"which together have a chance of {100 * covered:.3g} %. Where what you say leads to a "
        "course that is left out, the page says so."
    )


def _heat_help(times: Timeline | None, speak: _Words) -> str:
    if times is None:
        return (
            "The expected hindrance is out of reach of an exact computation; the hindrance of the "
            "course above can be shown."
        )
    return (
        "What works that hinder each other are expected to cost traffic and neighbours, per "
        f"{speak.unit}: the stronger the colour, the more."
    )


# -- the problem ------------------------------------------------------------------------------


def _plain_cost(cost: Cost) -> float | list[float]:
    return list(cost) if isinstance(cost, tuple) else cost


def _numbers(problem: MaintenanceProblem) -> Mapping[tuple[int, int], int]:
    """The works' numbers on the page, by contractor and task."""
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
                "starts": None if when is None else speak.starts(when),
                "completed": 1 - undone.get((problem.contractors[i].name, task.name), 0.0)
                if when is None
                else when.completed,
                "expected": None if when is None else _expected_cost(task, when),
            }
        )
    return listed


def _expected_cost(task: Task, when: WorkTimeline) -> float:
    cost = task.cost if isinstance(task.cost, tuple) else (task.cost,) * len(when.working)
    return math.fsum(chance * each for chance, each in zip(when.working, cost, strict=True))


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
    """Works that are under way or done when the plan begins."""
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
    """The courses of a part: per piece the open works, all starts, and what follows."""
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
    """Per rule: (step, expected cost) where that is not 0."""
    if times is None:
        return []
    return [
        [[stage, amount] for stage, amount in enumerate(row) if amount] for row in times.hindrance
    ]
