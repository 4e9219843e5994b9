"""The parts of a plan's value: revenue, cost of works, hindrance."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from coreplan.domains.maintenance.translate import HINDRANCE, REVENUE
from coreplan.errors import ModelError
from coreplan.model.indexed import IndexedEntry, IndexedProblem
from coreplan.policies.evaluation import evaluate_entries
from coreplan.support.cents import amount_text as amount_text
from coreplan.support.cents import cents, has_cents, share_cents
from coreplan.support.cents import rounded as rounded

if TYPE_CHECKING:
    from coreplan.domains.maintenance.problem import MaintenanceProblem
    from coreplan.policies.policy import Policy


@dataclass(frozen=True)
class Money:
    """The expected value of a maintenance plan in its parts.

    Attributes
    ----------
    value
        Revenue, less works and hindrance.
    revenue
        The revenue of completed works.
    works
        The cost of works.
    hindrance
        The cost of hindrance.
    hindrances
        The cost of each hindrance rule, in the problem's order.
    revenue_of, works_of
        The revenue and the cost of works of each contractor, in the problem's order.
    """

    value: float
    revenue: float
    works: float
    hindrance: float
    hindrances: tuple[float, ...]
    revenue_of: tuple[float, ...]
    works_of: tuple[float, ...]

    def to_dict(self) -> dict[str, object]:
        """Return the parts by name."""
        return {
            "revenue": self.revenue,
            "works": self.works,
            "hindrance": self.hindrance,
            "hindrances": list(self.hindrances),
        }

    def in_cents(self) -> Money:
        """The same amounts in whole cents that add up as shown.

        Rounding each amount by itself would give sums that readers cannot check. Each sum is off by
        less than a cent, and each part of it by less than two.
        """
        if not has_cents(self.value):
            return self
        value = cents(self.value)
        revenue, works, hindrance = share_cents(value, (self.revenue, -self.works, -self.hindrance))
        hindrances = share_cents(hindrance, [-each for each in self.hindrances])
        revenue_of = share_cents(revenue, self.revenue_of)
        works_of = share_cents(works, [-each for each in self.works_of])
        return Money(
            value / 100,
            revenue / 100,
            -works / 100 + 0.0,
            -hindrance / 100 + 0.0,
            tuple(-each / 100 + 0.0 for each in hindrances),
            tuple(each / 100 for each in revenue_of),
            tuple(-each / 100 + 0.0 for each in works_of),
        )


def split_value(policy: Policy, time_limit: float = math.inf) -> Money:
    """Compute the exact expected revenue, cost of works and hindrance of a maintenance plan.

    Raises
    ------
    SolverError
        If the exact value is out of reach, for instance within the time limit in seconds.
    """
    made = policy.problem.money(policy.indexed, *evaluate_entries(policy, time_limit))
    if not isinstance(made, Money):
        raise ModelError(
            "revenue, works and hindrance need a plan of a maintenance problem (mpp/1)"
        )
    return made


def money_of(
    problem: MaintenanceProblem, indexed: IndexedProblem, value: float, amounts: Sequence[float]
) -> Money:
    """Split a value by the part of each reward entry in it."""
    contractors = len(problem.contractors)
    revenue, works = [0.0] * contractors, [0.0] * contractors
    hindrances = [0.0] * len(problem.network)
    for entry, amount in zip(indexed.entries, amounts, strict=True):
        if entry.kind == HINDRANCE:
            hindrances[hindrance_of(problem, entry)] -= amount
        elif entry.kind == REVENUE:
            revenue[entry.members[0][0]] += amount
        else:
            works[entry.members[0][0]] -= amount
    return Money(
        value,
        sum(revenue),
        sum(works),
        sum(hindrances),
        tuple(hindrances),
        tuple(revenue),
        tuple(works),
    )


def hindrance_of(problem: MaintenanceProblem, entry: IndexedEntry) -> int:
    """The position in the network of the rule that a reward entry belongs to."""
    return entry.function - len(problem.contractors)
