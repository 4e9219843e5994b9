"""The plan of a report, with its proven bounds."""

from __future__ import annotations

from dataclasses import dataclass

from coreplan.analysis.plan import PlanReport
from coreplan.errors import ModelError
from coreplan.policies.policy import Policy
from coreplan.solving.result import Result


@dataclass(frozen=True)
class ReportedPlan:
    """A policy with the bounds that are known for it.

    Attributes
    ----------
    policy
        The plan.
    value
        The proven lower bound of its value; None if nothing is proven.
    upper_bound
        The upper bound of the value of all plans; None if it is not known.
    decentralised
        Whether the bound is only for plans in which each agent sees its own state.
    """

    policy: Policy
    value: float | None
    upper_bound: float | None
    decentralised: bool = False

    @classmethod
    def of(cls, plan: Result | PlanReport | Policy) -> ReportedPlan:
        """Collect the bounds of a plan; a ModelError if the result has no plan."""
        policy = plan if isinstance(plan, Policy) else plan.policy
        if policy is None:
            raise ModelError(
                "the result has no plan, because it was read from a file; solve the problem again"
            )
        if isinstance(plan, Result):
            local = plan.objective == "decentralised"
            return cls(policy, plan.value, plan.upper_bound, local)
        if isinstance(plan, PlanReport):
            return cls(policy, plan.value, plan.upper_bound)
        return cls(policy, None, None)
