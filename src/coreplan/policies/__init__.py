"""Plans: the next action of each agent, their exact values, and their files."""

from coreplan.policies.graph import PlanGraph, plan_graph
from coreplan.policies.own_policy import OwnPolicy
from coreplan.policies.policy import Policy

__all__ = [
    "OwnPolicy",
    "PlanGraph",
    "Policy",
    "plan_graph",
]
