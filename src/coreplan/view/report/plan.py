"""A plan to be reported."""

from __future__ import annotations

from dataclasses import dataclass

from coreplan.analysis.plan import PlanReport
from coreplan.errors import ModelError
from coreplan.policies.policy import Policy
from coreplan.solving.result import Result


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

    @classmethod
    def of(cls, plan: Result | PlanReport | Policy) -> ReportedPlan:
        """What is known of a plan; a ModelError if there is none."""
        policy = plan if isinstance(plan, Policy) else plan.policy
        if policy is None:
            raise ModelError(
                "the result has no plan: it was read from a file; solve the problem again"
            )
        if isinstance(plan, Result):
            local = plan.objective == "decentralised"
            return cls(policy, plan.value, plan.upper_bound, local)
        if isinstance(plan, PlanReport):
            return cls(policy, plan.value, plan.upper_bound)
        return cls(policy, None, None)
