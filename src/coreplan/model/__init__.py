"""What a problem is: agents, rewards, and the same in numbers."""

from coreplan.model.problem import PlanningProblem, RewardKind, Words
from coreplan.model.timmdp import TIMMDP, Agent, Condition, Entry, RewardFunction, Transition
from coreplan.model.translated import TranslatedProblem

__all__ = [
    "TIMMDP",
    "Agent",
    "Condition",
    "Entry",
    "PlanningProblem",
    "RewardFunction",
    "RewardKind",
    "Transition",
    "TranslatedProblem",
    "Words",
]
