"""What a report says: all its numbers and most of its sentences, as plain values for the page."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

import numpy as np

from coreplan.distribution import ReturnDistribution, return_distribution
from coreplan.errors import LimitError, SolverError
from coreplan.maintenance.calendar import Calendar, write_date
from coreplan.maintenance.coordination import Coordination, value_of_coordination
from coreplan.maintenance.courses import MOST_PIECES, Courses, find_courses
from coreplan.maintenance.money import Money
from coreplan.maintenance.problem import Cost, MaintenanceProblem, Task
from coreplan.maintenance.states import ContractorState
from coreplan.maintenance.timeline import Timeline, WorkTimeline, timeline
from coreplan.policy import Policy
from coreplan.result import Result, Status, is_closed
from coreplan.view.words import count

BINS = 40
"""How many columns the picture of the distribution has."""
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
LARGE = 1e15
"""From here on a number has no cents that mean anything."""
EXTRA_TIME = 60.0
"""Seconds that each thing beside the plan itself may take: the exact money, coordination."""


@dataclass(frozen=True)
class ReportedPlan:
    """A plan to be reported, and what is known of it.

    Attributes
    ----------
    policy
        The plan.
    value
        What it is proven to be worth at least; None if nothing is proven.
    upper_bound
        No plan is worth more; None if that is not known.
    decentralised
        Whether the bound is about plans in which everybody sees their own state only.
    """

    policy: Policy
    value: float | None
    upper_bound: float | None
    decentralised: bool = False

    @property
    def problem(self) -> MaintenanceProblem:
        """The problem that it is for."""
        assert isinstance(self.policy.problem, MaintenanceProblem)
        return self.policy.problem


def report_data(
    plan: ReportedPlan,
    *,
    calendar: Calendar | None = None,
    title: str | None = None,
    most_pieces: int = MOST_PIECES,
    seed: int = 1,
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
        How many pieces of courses the page may hold; see :mod:`coreplan.maintenance.courses`.
    seed
        Start of the random numbers where costs have to be simulated.
    """
    problem, policy = plan.problem, plan.policy
    speak = _Words(policy, calendar)
    times: Timeline | None = None
    with suppress(SolverError):
        times = timeline(policy, EXTRA_TIME)
    money = None if times is None else times.money
    distribution = return_distribution(policy, seed=seed)
    # Exact, else proven to be a lower bound, else estimated.
    value = distribution.mean if plan.value is None else plan.value
    if money is not None:
        value = money.value
    costs = value < 0 or (value == 0 and not any(_revenues(problem)))
    courses = find_courses(policy, most_pieces)
    return {
        "title": title or problem.name,
        "subtitle": speak.size(problem),
        "unit": speak.unit,
        "costs": costs,
        "first": policy.stage,
        "horizon": policy.horizon,
        "dates": speak.dates(),
        "contractors": [contractor.name for contractor in problem.contractors],
        "works": _works(problem, times, speak),
        "rules": _rules(problem),
        **_beginning(policy),
        "courses": [_pieces(problem, each) for each in courses],
        "hindrance": _hindrance(times),
        "summary": _summary(plan, value, money, costs),
        "distribution": _distribution(distribution, value, money is not None, costs),
        "coordination": _coordination(plan, value, costs),
        "words": {
            "plan": _plan_help(courses, speak),
            "held": _held(courses),
            "hindrance": _heat_help(times, speak),
            "works": speak.works_help(times),
            "footer": speak.footer(),
        },
    }


# -- words ------------------------------------------------------------------------------------


def _amount(value: float) -> str:
    """An amount of money as the page's script writes it: halves away from zero, no "-0.00"."""
    if abs(value) >= LARGE:
        return f"{value:,.2f}"
    return f"{Decimal(value).quantize(Decimal('0.01'), ROUND_HALF_UP) + 0:,.2f}"


def _part(share: float) -> str:
    """A share in per cent, for brackets; empty if it says nothing."""
    return f" ({100 * share:.3g} %)" if math.isfinite(share) else ""


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
            return "When works start, and what they cost, is out of reach of an exact computation."
        return (
            "“Starts” is the earliest and the latest start that the plan allows, by what has been "
            "delayed before; “completed” the chance to be completed in the planned time."
        )

    def footer(self) -> str:
        """What else there is to say."""
        from coreplan import __version__

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
        f"{speak.unit}: the stronger the colour, the more. Point at a field to read it."
    )


# -- the problem ------------------------------------------------------------------------------


def _revenues(problem: MaintenanceProblem) -> list[float]:
    return [task.revenue for contractor in problem.contractors for task in contractor.tasks]


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
    problem: MaintenanceProblem, times: Timeline | None, speak: _Words
) -> list[dict[str, Any]]:
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
                "completed": None if when is None else when.completed,
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


# -- money ------------------------------------------------------------------------------------


def _summary(plan: ReportedPlan, value: float, money: Money | None, costs: bool) -> dict[str, Any]:
    verb = "cost" if costs else "earn"
    shown = -value if costs else value
    amounts: list[dict[str, Any]] = []
    note = ""
    if money is None:
        nearly = "at most" if costs else "at least"  # the value is a lower bound
        if plan.value is None:
            nearly = "about"
            note = "Estimated by simulation, not exact. "
        headline = f"The plan is expected to {verb} {nearly} {_amount(shown)} in all."
        note += "The exact value, and how much of it is hindrance, is out of reach of computation."
    else:
        headline = f"The plan is expected to {verb} {_amount(shown)} in all."
        amounts = [
            {"words": "Works", "amount": money.works, "note": "own costs of all contractors"},
            {"words": "Hindrance", "amount": money.hindrance, "note": "works that coincide"},
        ]
        rule = "works + hindrance"
        if any(_revenues(plan.problem)):
            amounts.append({"words": "Revenue", "amount": money.revenue, "note": "completed works"})
            rule = f"{rule} − revenue" if costs else "revenue − works − hindrance"
        words = "Expected cost" if costs else "Expected to be earned"
        amounts.append({"words": words, "amount": shown, "note": rule, "total": True})
    return {
        "headline": headline,
        "proof": _proof(plan, value, costs),
        "proven": money is not None
        and plan.upper_bound is not None
        and is_closed(value, plan.upper_bound),
        "amounts": amounts,
        "note": note,
        "value": value,
        "upper_bound": plan.upper_bound,
    }


def _proof(plan: ReportedPlan, value: float, costs: bool) -> str:
    better = "costs less" if costs else "earns more"
    among = ""
    if plan.decentralised:
        among = " in which every contractor knows of its own works only"
    bound = plan.upper_bound
    if bound is None:
        return "How far this is from the best plan has not been computed."
    if is_closed(value, bound):
        return f"Proven to be the best plan: no plan{among} {better}."
    gap = max(0.0, bound - value)
    gained = "saved" if costs else "gained"
    relative = _part(gap / abs(value)) if value else ""
    can = "cost less" if costs else "earn more"
    return (
        f"Not proven to be the best plan: no plan{among} can {can} than "
        f"{_amount(-bound if costs else bound)}, so at most {_amount(gap)}{relative} could be "
        f"{gained}."
    )


def _distribution(
    returns: ReturnDistribution, value: float, exact_value: bool, costs: bool
) -> dict[str, Any]:
    amounts = returns
    if costs:
        amounts = ReturnDistribution(
            -returns.values[::-1], returns.probabilities[::-1], returns.runs
        )
    low, high = float(amounts.values[0]), float(amounts.values[-1])
    shown = -value if costs else value
    verb = "costs" if costs else "earns"
    mean = shown if exact_value else amounts.mean
    if len(amounts.values) == 1:
        words = f"Nothing is left to chance: the plan {verb} {_amount(low)}."
        bins: list[float] = []
    else:
        edges = np.linspace(low, high, min(BINS, 4 * len(amounts.values)) + 1)
        bins = amounts.histogram(edges).tolist()
        words = (
            f"What the plan {verb} depends on what is delayed: between {_amount(low)} and "
            f"{_amount(high)}. "
        )
        if returns.exact:
            words += (
                f"All {len(amounts.values):,} amounts that can come about are counted, exactly."
            )
        else:
            words += (
                f"Estimated from {returns.runs:,} simulated courses, not exact; rare ones may lie "
                "outside."
            )
    return {
        "exact": returns.exact,
        "runs": returns.runs,
        "low": low,
        "high": high,
        "mean": mean,
        "bins": bins,
        "quantiles": [[chance, amounts.quantile(chance)] for chance in QUANTILES] if bins else [],
        "title": "costs" if costs else "earns",
        "words": words,
    }


def _coordination(plan: ReportedPlan, value: float, costs: bool) -> dict[str, Any]:
    bound = plan.upper_bound
    try:
        worth = value_of_coordination(
            plan.problem,
            _as_result(plan, value),
            time_limit=EXTRA_TIME,
        )
    except (LimitError, SolverError) as error:
        if isinstance(error, LimitError) and error.reason == "interrupted":
            raise
        words = f"What coordination is worth could not be computed: {error}."
        return {"words": words, "rows": [], "gain": None, "alone": None}
    return {
        "words": _coordination_words(worth, bound, plan.decentralised, costs),
        "rows": _coordination_rows(plan, worth, costs),
        "within": "Own costs of each contractor, less revenue"
        if costs
        else "What each contractor earns, less own costs",
        "gain": worth.gain,
        "alone": worth.alone,
    }


def _as_result(plan: ReportedPlan, value: float) -> Result:
    """The plan as what a solver found; without a bound, as if there were no better one."""
    upper = value if plan.upper_bound is None else max(value, plan.upper_bound)
    closed = is_closed(value, upper)
    return Result(
        problem=plan.problem.name,
        algorithm="given",
        status=Status.OPTIMAL if closed else Status.GAP_LIMIT,
        value=value,
        lower_bound=value,
        upper_bound=upper,
        seconds=0.0,
        policy=plan.policy,
    )


def _coordination_words(
    worth: Coordination, bound: float | None, decentralised: bool, costs: bool
) -> str:
    """What it would be like if everybody planned alone."""
    verb = "cost" if costs else "earn"
    alone = -worth.alone if costs else worth.alone
    gained = "saves" if costs else "gains"
    said = [
        "If every contractor did what is best for its own costs and revenue, with the same "
        f"hindrance to pay, that would be expected to {verb} {_amount(alone)}."
    ]
    if worth.gain < 0:
        said.append(f"This plan is worse by {_amount(-worth.gain)}.")
    else:
        part = _part(worth.gain / abs(worth.alone)) if worth.alone else ""
        said.append(f"This plan {gained} {_amount(worth.gain)}{part}.")
    known = bound is not None and not decentralised and not is_closed(worth.value, bound)
    if known and _amount(worth.high) != _amount(worth.low):
        said.append(
            f"The best plan {gained} between {_amount(worth.low)} and {_amount(worth.high)}."
        )
    return " ".join(said)


def _coordination_rows(
    plan: ReportedPlan, worth: Coordination, costs: bool
) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []

    def add(words: str, together: float | None, alone: float, sign: int, **more: bool) -> None:
        saved = None if together is None else sign * (together - alone)
        rows.append({"words": words, "together": together, "alone": alone, "saved": saved, **more})

    assert worth.money_alone is not None
    for what, sign in (("works", -1), ("hindrance", -1), ("revenue", 1)):
        if what == "revenue" and not any(_revenues(plan.problem)):
            continue
        together = None if worth.money is None else getattr(worth.money, what)
        add(what.capitalize(), together, getattr(worth.money_alone, what), sign)
    sign = -1 if costs else 1
    total = "Expected cost" if costs else "Expected to be earned"
    add(total, sign * worth.value, sign * worth.alone, sign, total=True)
    for name, alone in worth.own_alone.items():
        own = None if worth.own is None else sign * worth.own[name]
        add(name, own, sign * alone, sign, name=True)
    return rows
