"""Descriptions of problems: agents and rewards, by name and by number."""

from coreplan.model.problem import PlanningProblem, RewardKind, Words
from coreplan.model.timmdp import TIMMDP, Agent, Condition, Entry, RewardFunction, Transition
from coreplan.model.transitions import StageTransitions
from coreplan.model.translated import TranslatedProblem

__all__ = [
    "TIMMDP",
    "Agent",
    "Condition",
    "Entry",
    "PlanningProblem",
    "RewardFunction",
    "RewardKind",
    "StageTransitions",
    "Transition",
    "TranslatedProblem",
    "Words",
]
