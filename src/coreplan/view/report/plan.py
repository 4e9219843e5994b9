"""The plan of a report, with its proven bounds."""

from __future__ import annotations

from dataclasses import dataclass

from coreplan.analysis.plan import PlanReport
from coreplan.errors import ModelError
from coreplan.policies.policy import Policy
from coreplan.solving.result import Result, ValueEstimate
from coreplan.view.words import speech


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
    estimate
        The simulated value of a plan that decides as it goes.
    """

    policy: Policy
    value: float | None
    upper_bound: float | None
    decentralised: bool = False
    estimate: ValueEstimate | None = None

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
            return cls(policy, plan.value, plan.upper_bound, local, plan.estimate)
        if isinstance(plan, PlanReport):
            return cls(policy, plan.value, plan.upper_bound)
        return cls(policy, None, None)

    @property
    def decides_as_it_goes(self) -> str:
        """What is certain and what is almost certain of a plan that looks ahead; else empty."""
        if self.estimate is None or self.value is None or self.upper_bound is None:
            return ""
        speak = speech(self.policy.problem)
        return speak.decides_as_it_goes(self.value, self.estimate, self.upper_bound)
