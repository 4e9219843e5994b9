"""What a plan earns and costs, by kind."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from coreplan.domains.maintenance.translate import HINDRANCE, REVENUE
from coreplan.errors import ModelError
from coreplan.model.indexed import IndexedEntry, IndexedProblem
from coreplan.policies.evaluation import evaluate_entries

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
        What completed works earn.
    works
        What the works cost.
    hindrance
        What works that coincide cost.
    hindrances
        The same per entry of the network, in the problem's order.
    revenue_of, works_of
        Revenue and cost of works per contractor, in the problem's order.
    """

    value: float
    revenue: float
    works: float
    hindrance: float
    hindrances: tuple[float, ...]
    revenue_of: tuple[float, ...]
    works_of: tuple[float, ...]

    def to_dict(self) -> dict[str, object]:
        """The parts by name."""
        return {
            "revenue": self.revenue,
            "works": self.works,
            "hindrance": self.hindrance,
            "hindrances": list(self.hindrances),
        }


def split_value(policy: Policy, time_limit: float = math.inf) -> Money:
    """The exact expected revenue, cost of works and hindrance of a maintenance plan.

    Raises
    ------
    SolverError
        If the exact value is out of reach, also within the time limit in seconds.
    """
    made = policy.problem.money(policy.indexed, *evaluate_entries(policy, time_limit))
    if not isinstance(made, Money):
        raise ModelError("only a maintenance plan has revenue, works and hindrance")
    return made


def money_of(
    problem: MaintenanceProblem, indexed: IndexedProblem, value: float, amounts: Sequence[float]
) -> Money:
    """The parts of a value, from what each entry of the rewards adds to it."""
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
    """Which entry of the network a reward for what coincides belongs to, by its position."""
    return entry.function - len(problem.contractors)
