"""Two plans compared: which works move, and what that costs or saves, in all and for whom.

The plans may be for one problem, or for two versions of it. Works, contractors and hindrance rules
correspond by name. All amounts are costs: positive numbers that are paid.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from coreplan.domains.maintenance.money import Money
from coreplan.domains.maintenance.planned import planned_schedule
from coreplan.domains.maintenance.problem import MaintenanceProblem
from coreplan.domains.maintenance.problem_changes import ProblemChange, find_problem_changes
from coreplan.domains.maintenance.timeline import Timeline, WorkTimeline, timeline
from coreplan.errors import ModelError, SolverError
from coreplan.policies.policy import Policy
from coreplan.solving.result import Result, Status

SAME = 1e-9
"""The difference of expected starts, in steps, up to which they count as equal."""


@dataclass(frozen=True)
class ComparedPlan:
    """One of two plans that are compared.

    Attributes
    ----------
    policy
        The plan.
    result
        The result of its solve; None if the plan was given.
    times
        The exact chances and amounts of the plan; None if they are out of reach.
    """

    policy: Policy = field(repr=False)
    result: Result | None
    times: Timeline | None = field(repr=False)

    @property
    def problem(self) -> MaintenanceProblem:
        """The problem that it plans for."""
        assert isinstance(self.policy.problem, MaintenanceProblem)
        return self.policy.problem

    @property
    def money(self) -> Money | None:
        """The expected revenue and costs; None if they are out of reach."""
        return None if self.times is None else self.times.money

    @property
    def proven(self) -> bool | None:
        """Whether the plan is proven to be the best one; None if it was given, not solved."""
        return None if self.result is None else self.result.status is Status.OPTIMAL

    @property
    def cost(self) -> float | None:
        """The expected cost in all; None if it is out of reach."""
        return None if self.money is None else 0.0 - self.money.value

    def to_dict(self) -> dict[str, Any]:
        """Return the value, its parts and its proof as plain values, for JSON."""
        result = self.result
        return {
            "problem": self.problem.name,
            "value": None if self.money is None else self.money.value,
            "money": None if self.money is None else self.money.to_dict(),
            "solved": result is not None,
            "proven": self.proven,
            "upper_bound": None if result is None else result.upper_bound,
        }


@dataclass(frozen=True)
class WorkComparison:
    """One work in both plans.

    Attributes
    ----------
    contractor, work
        The names of the contractor and the work.
    kind
        ``added`` or ``removed`` if only the new or only the old problem has the work. Otherwise
        ``moved`` if its planned start differs, ``planned`` or ``dropped`` if only the new or only
        the old plan starts it, ``shifted`` if only its expected start differs, ``resized`` if only
        its planned end differs, or ``same``.
    old_start, new_start
        The planned starts: those if no work is delayed. None for a plan that does not start the
        work then.
    old_end, new_end
        The planned ends: the first steps after the work.
    old_expected, new_expected
        The exact means of the start over all possible delays; None if the plan may never start the
        work, or if exact numbers are out of reach.
    """

    contractor: str
    work: str
    kind: str
    old_start: int | None
    new_start: int | None
    old_end: int | None
    new_end: int | None
    old_expected: float | None
    new_expected: float | None

    @property
    def moved(self) -> int | None:
        """The number of steps by which the planned start moves: positive if it is later."""
        if self.old_start is None or self.new_start is None:
            return None
        return self.new_start - self.old_start

    @property
    def shifted(self) -> float | None:
        """The number of steps by which the expected start moves: positive if it is later."""
        if self.old_expected is None or self.new_expected is None:
            return None
        return self.new_expected - self.old_expected

    def to_dict(self) -> dict[str, Any]:
        """Return all parts as plain values, for JSON."""
        return {
            "contractor": self.contractor,
            "work": self.work,
            "kind": self.kind,
            "old_start": self.old_start,
            "new_start": self.new_start,
            "moved": self.moved,
            "old_end": self.old_end,
            "new_end": self.new_end,
            "old_expected": self.old_expected,
            "new_expected": self.new_expected,
            "shifted": self.shifted,
        }


@dataclass(frozen=True)
class CostLine:
    """One part of the expected costs in both plans.

    Attributes
    ----------
    what
        ``contractor`` for its works less its revenue, ``hindrance`` for a rule, or ``total``.
    names
        The contractor, or the works of the rule.
    old, new
        The expected costs; 0 in a plan whose problem has no such contractor or rule.
    """

    what: str
    names: tuple[str, ...]
    old: float
    new: float

    @property
    def more(self) -> float:
        """The additional cost of the new plan; negative if it saves."""
        return self.new - self.old

    def to_dict(self) -> dict[str, Any]:
        """Return all parts as plain values, for JSON."""
        return {
            "what": self.what,
            "names": list(self.names),
            "old": self.old,
            "new": self.new,
            "more": self.more,
        }


@dataclass(frozen=True)
class PlanComparison:
    """An old and a new plan, and their differences.

    Attributes
    ----------
    old, new
        The plans.
    changes
        The differences of their problems.
    works
        All works of both problems, contractor by contractor.
    """

    old: ComparedPlan
    new: ComparedPlan
    changes: tuple[ProblemChange, ...]
    works: tuple[WorkComparison, ...]

    @property
    def saving(self) -> float | None:
        """The exact expected amount that the new plan saves; negative if it costs more."""
        if self.old.cost is None or self.new.cost is None:
            return None
        return self.old.cost - self.new.cost

    def cost_lines(self, *, in_cents: bool = False) -> tuple[CostLine, ...]:
        """Return the costs of contractors and hindrance rules, and the total at the end.

        Parameters
        ----------
        in_cents
            Whether all amounts are rounded to cents that add up.
        """
        if self.old.money is None or self.new.money is None:
            return ()
        old, new = (
            _costs(each.problem, money.in_cents() if in_cents else money)
            for each, money in ((self.old, self.old.money), (self.new, self.new.money))
        )
        return tuple(
            CostLine(*key, old.get(key, 0.0), new.get(key, 0.0))
            for key in sorted(dict.fromkeys((*old, *new)), key=lambda key: _ORDER.index(key[0]))
        )

    def to_dict(self) -> dict[str, Any]:
        """Return all parts as plain values, for JSON."""
        return {
            "old": self.old.to_dict(),
            "new": self.new.to_dict(),
            "saving": self.saving,
            "costs": [each.to_dict() for each in self.cost_lines()],
            "changes": [each.to_dict() for each in self.changes],
            "works": [each.to_dict() for each in self.works],
        }


_ORDER = ("contractor", "hindrance", "total")
_Costs = Mapping[tuple[str, tuple[str, ...]], float]


def compare_plans(
    old: Result | Policy, new: Result | Policy, *, time_limit: float = math.inf
) -> PlanComparison:
    """Compare two maintenance plans, for one problem or for two versions of it.

    Parameters
    ----------
    old, new
        The plans: policies, or results of :func:`coreplan.solve`, whose proofs are then shown.
    time_limit
        The approximate number of seconds for the exact numbers of each plan. If it is too short,
        the comparison has planned starts, but no costs.

    Raises
    ------
    ModelError
        If a plan is not for a maintenance problem, or a result has no policy.

    Examples
    --------
    >>> from coreplan import Contractor, Hindrance, MaintenanceProblem, Task, solve
    >>> problem = MaintenanceProblem(
    ...     (Contractor("Alpha", (Task("a1", 2, cost=3, revenue=20),)),
    ...      Contractor("Beta", (Task("b1", 2, cost=1, revenue=15),))),
    ...     horizon=4, network=(Hindrance(("Alpha/a1", "Beta/b1"), cost=7.5),))
    >>> mine = problem.read_plan({"Alpha": {"a1": 0}, "Beta": {"b1": 1}})
    >>> found = compare_plans(mine, solve(problem))
    >>> found.saving
    7.5
    >>> [(each.work, each.kind, each.moved) for each in found.works]
    [('a1', 'same', 0), ('b1', 'moved', 1)]
    """
    one, other = (_take(each, time_limit) for each in (old, new))
    return PlanComparison(
        one, other, find_problem_changes(one.problem, other.problem), tuple(_works(one, other))
    )


def _take(plan: Result | Policy, time_limit: float) -> ComparedPlan:
    policy = plan.policy if isinstance(plan, Result) else plan
    if policy is None:
        raise ModelError("the result has no plan to compare")
    if not isinstance(policy.problem, MaintenanceProblem):
        raise ModelError(
            "only plans of works (mpp/1 problems) can be compared; found a plan of a "
            f"{policy.problem.file_format} problem"
        )
    times: Timeline | None = None
    with suppress(SolverError):
        times = timeline(policy, time_limit)
    return ComparedPlan(policy, plan if isinstance(plan, Result) else None, times)


@dataclass(frozen=True)
class _Row:
    """A work in one plan: its planned start and end, and its expected start."""

    start: int | None
    end: int | None
    expected: float | None


def _works(old: ComparedPlan, new: ComparedPlan) -> Iterator[WorkComparison]:
    rows = [_rows(each) for each in (old, new)]
    # By contractor: the works of the new problem first, then those that only the old one had.
    names = dict.fromkeys((*new.problem.agent_names, *old.problem.agent_names))
    for contractor in names:
        for key in dict.fromkeys((*rows[1], *rows[0])):
            if key[0] != contractor:
                continue
            before, after = (each.get(key) for each in rows)
            one, other = (each or _Row(None, None, None) for each in (before, after))
            yield WorkComparison(
                *key,
                _kind(before, after),
                one.start,
                other.start,
                one.end,
                other.end,
                one.expected,
                other.expected,
            )


def _kind(before: _Row | None, after: _Row | None) -> str:
    if before is None or after is None:
        return "added" if before is None else "removed"
    if before.start != after.start:
        if before.start is None:
            return "planned"
        return "dropped" if after.start is None else "moved"
    if (
        before.expected is not None
        and after.expected is not None
        and abs(before.expected - after.expected) > SAME
    ):
        return "shifted"
    return "same" if before.end == after.end else "resized"


def _rows(plan: ComparedPlan) -> dict[tuple[str, str], _Row]:
    """All works of a plan, by contractor and name."""
    course = {(each.contractor, each.task): each for each in planned_schedule(plan.policy).works}
    chances: dict[tuple[str, str], WorkTimeline] = {}
    if plan.times is not None:
        chances = {(each.contractor, each.work): each for each in plan.times.works}
    rows = {}
    for contractor in plan.problem.contractors:
        for task in contractor.tasks:
            key = (contractor.name, task.name)
            work = course.get(key)
            start, end = (None, None) if work is None else (work.start, work.end)
            rows[key] = _Row(start, end, _expected_start(chances.get(key)))
    return rows


def _expected_start(work: WorkTimeline | None) -> float | None:
    """The mean start of a work that certainly starts within the plan."""
    if work is None or work.first_start is None or work.started < 1 - SAME:
        return None
    return math.fsum(step * chance for step, chance in enumerate(work.starts)) / work.started


def _costs(problem: MaintenanceProblem, money: Money) -> _Costs:
    """The parts of the expected cost, by what they are for."""
    costs: dict[tuple[str, tuple[str, ...]], float] = {}
    for name, revenue, works in zip(
        problem.agent_names, money.revenue_of, money.works_of, strict=True
    ):
        costs["contractor", (name,)] = works - revenue
    for rule, cost in zip(problem.network, money.hindrances, strict=True):
        key = ("hindrance", tuple(sorted(rule.tasks)))
        costs[key] = costs.get(key, 0.0) + cost
    costs["total", ()] = 0.0 - money.value
    return costs
