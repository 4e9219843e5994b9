"""Plans: what everyone does next, what that is worth, and how it is saved."""

from coreplan.policies.graph import PlanGraph, plan_graph
from coreplan.policies.policy import Policy

__all__ = [
    "PlanGraph",
    "Policy",
    "plan_graph",
]
