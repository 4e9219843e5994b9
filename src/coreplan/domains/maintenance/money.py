"""What a plan earns and costs, by kind."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from coreplan.domains.maintenance.problem import MaintenanceProblem
from coreplan.errors import ModelError
from coreplan.model.indexed import IndexedEntry
from coreplan.policies.evaluation import evaluate_entries

if TYPE_CHECKING:
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
    if not isinstance(policy.problem, MaintenanceProblem):
        raise ModelError("only a maintenance plan has revenue, works and hindrance")
    return money_of(policy, *evaluate_entries(policy, time_limit))


def money_of(policy: Policy, value: float, amounts: Sequence[float]) -> Money:
    """The parts of a value, from what each entry of the rewards adds to it."""
    assert isinstance(policy.problem, MaintenanceProblem)
    contractors = len(policy.problem.contractors)
    revenue, works = [0.0] * contractors, [0.0] * contractors
    hindrances = [0.0] * len(policy.problem.network)
    for entry, amount in zip(policy.indexed.entries, amounts, strict=True):
        if entry.function >= contractors:
            hindrances[entry.function - contractors] -= amount
        elif is_revenue(entry):
            revenue[entry.function] += amount
        else:
            works[entry.function] -= amount
    return Money(
        value,
        sum(revenue),
        sum(works),
        sum(hindrances),
        tuple(hindrances),
        tuple(revenue),
        tuple(works),
    )


def is_revenue(entry: IndexedEntry) -> bool:
    """Whether a contractor's own entry is about a task that is completed, not worked on."""
    return entry.members[0][1] % 2 == 1
