"""What a report says of a plan, computed once for all its pages."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property

from coreplan.analysis.distribution import RUNS
from coreplan.analysis.simulation import Simulation
from coreplan.analysis.simulator import simulate
from coreplan.domains.maintenance.courses import Courses, find_courses
from coreplan.domains.maintenance.decision_rules import DecisionRules, decision_rules
from coreplan.domains.maintenance.old_starts import (
    PricedProblem,
    StartChanges,
    start_changes,
    without_price,
)
from coreplan.domains.maintenance.problem import MaintenanceProblem
from coreplan.domains.maintenance.report.money import Worth, problem_of, worth_of
from coreplan.domains.maintenance.states import ContractorState
from coreplan.domains.maintenance.timeline import Timeline, timeline
from coreplan.domains.maintenance.view.plan_view import HURRIED_SITUATIONS
from coreplan.errors import SolverError
from coreplan.model.calendar import Calendar
from coreplan.policies.graph import MOST_SITUATIONS
from coreplan.solving.result import is_closed
from coreplan.support.interrupts import seconds_to_finish
from coreplan.view.report.plan import ReportedPlan

FEW_PIECES = 10_000
"""The most pieces of courses on the page of one contractor, which many people get by mail."""
Place = tuple[int, int]
"""A work: the numbers of its contractor and of the task."""


@dataclass(frozen=True)
class PricedChanges:
    """What the changes of an old plan cost, if that was part of the objective.

    Attributes
    ----------
    changes
        The changes; None if their exact number is out of reach.
    price
        The cost of a step of difference.
    gap
        The most that a better plan could save, costs of changes included; None without a bound.
    proven
        Whether the plan is proven to be the best one with these costs.
    """

    changes: StartChanges | None
    price: float
    gap: float | None
    proven: bool


@dataclass(frozen=True)
class Findings:
    """A plan with everything that several pages show.

    Attributes
    ----------
    plan
        The plan with its proven bounds.
    calendar
        The dates of the steps; None if they have numbers only.
    times
        The exact chances and costs of all works; None if they are out of reach.
    simulated
        Simulated courses, if exact chances are out of reach.
    worth
        The value of the plan and its parts.
    most_pieces
        The most pieces of courses that a page holds.
    priced
        What changes of an old plan cost; None if they cost nothing. No other amount includes it.
    """

    plan: ReportedPlan
    calendar: Calendar | None
    times: Timeline | None
    simulated: Simulation | None
    worth: Worth
    most_pieces: int
    priced: PricedChanges | None = None

    @property
    def problem(self) -> MaintenanceProblem:
        """The problem of the plan."""
        return problem_of(self.plan)

    @cached_property
    def courses(self) -> tuple[Courses, ...]:
        """The courses of the plan, as many as the page of the whole plan holds."""
        return find_courses(self.plan.policy, self.most_pieces)

    @cached_property
    def few_courses(self) -> tuple[Courses, ...]:
        """The same for the page of a contractor, which is smaller."""
        if sum(len(each.pieces) for each in self.courses) <= FEW_PIECES:
            return self.courses
        return find_courses(self.plan.policy, FEW_PIECES)

    @cached_property
    def rules(self) -> DecisionRules:
        """The rules for delays."""
        hurried = not math.isinf(seconds_to_finish())
        return decision_rules(self.plan.policy, HURRIED_SITUATIONS if hurried else MOST_SITUATIONS)

    @cached_property
    def planned(self) -> Mapping[Place, int]:
        """The first step of each work that starts in the course without delays."""
        return {
            (start.contractor, start.task): start.stage
            for part in self.courses
            for start in part.without_delays
        }

    @cached_property
    def beginning(self) -> Mapping[Place, int]:
        """The remaining steps of works that are under way at first; 0 for works already done."""
        policy = self.plan.policy
        state = policy.indexed.name_state(policy.indexed.find_state(policy.stage, None))
        left: dict[Place, int] = {}
        for i, contractor in enumerate(self.problem.contractors):
            at = state[contractor.name]
            assert isinstance(at, ContractorState)
            for k, task in enumerate(contractor.tasks):
                if task.name == at.doing:
                    left[i, k] = at.remaining
                elif task.name in at.done:
                    left[i, k] = 0
        return left

    def completed(self, place: Place) -> float:
        """The chance that a work is completed in the planned time."""
        i, k = place
        contractor = self.problem.contractors[i]
        if self.beginning.get(place) == 0:
            return 1.0  # before the plan begins
        if self.times is not None:
            return self.times.of(contractor.name)[k].completed
        assert self.simulated is not None
        undone = {(each.contractor, each.task): each.undone for each in self.simulated.completions}
        return 1 - undone.get((contractor.name, contractor.tasks[k].name), 0.0)


def find(
    plan: ReportedPlan,
    calendar: Calendar | None,
    *,
    most_pieces: int,
    seed: int,
    time_limit: float,
) -> Findings:
    """Compute the chances and the money of a plan: exact, else simulated."""
    plan, priced = _without_price(plan)
    times: Timeline | None = None
    with suppress(SolverError):
        times = timeline(plan.policy, time_limit)
    simulated = simulate(plan.policy, RUNS, seed, time_limit=time_limit) if times is None else None
    worth = worth_of(plan, None if times is None else times.money, simulated)
    return Findings(plan, calendar, times, simulated, worth, most_pieces, priced)


def _without_price(plan: ReportedPlan) -> tuple[ReportedPlan, PricedChanges | None]:
    """Separate a plan from the price of changes, which its bounds include."""
    problem = plan.policy.problem
    if not isinstance(problem, PricedProblem):
        return plan, None
    policy = without_price(plan.policy)
    changes: StartChanges | None = None
    with suppress(SolverError):
        changes = start_changes(policy, problem.old)
    gap, proven = None, False
    if plan.value is not None and plan.upper_bound is not None:
        gap = plan.upper_bound - plan.value
        proven = is_closed(plan.value, plan.upper_bound)
    # The value without the price is known if the changes are; no bound is known for it.
    value = None
    if plan.value is not None and changes is not None:
        value = plan.value + problem.change_cost * changes.difference
    return (
        ReportedPlan(policy, value, None, plan.decentralised),
        PricedChanges(changes, problem.change_cost, gap, proven),
    )


@dataclass(frozen=True)
class Shown:
    """The contractors of a page, in the order of its rows, and the numbers of their works there.

    Attributes
    ----------
    contractors
        The numbers of the contractors in the problem.
    """

    problem: MaintenanceProblem
    contractors: Sequence[int]

    @cached_property
    def places(self) -> tuple[Place, ...]:
        """The works in the order of their numbers on the page."""
        return tuple(
            (i, k) for i in self.contractors for k in range(len(self.problem.contractors[i].tasks))
        )

    @cached_property
    def number(self) -> Mapping[Place, int]:
        """The number of each work on the page."""
        return {place: number for number, place in enumerate(self.places)}

    @cached_property
    def named(self) -> Mapping[str, int]:
        """The number of each work on the page, by ``contractor/work`` as in hindrance rules."""
        contractors = self.problem.contractors
        return {
            f"{contractors[i].name}/{contractors[i].tasks[k].name}": number
            for (i, k), number in self.number.items()
        }

    @cached_property
    def row(self) -> Mapping[int, int]:
        """The number of each contractor on the page."""
        return {i: row for row, i in enumerate(self.contractors)}
