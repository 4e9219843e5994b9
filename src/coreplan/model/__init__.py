"""Descriptions of problems: agents and rewards, by name and by number."""

from coreplan.model.aggregates import Aggregate, Amount
from coreplan.model.conditions import Condition
from coreplan.model.problem import PlanningProblem, RewardKind, Words
from coreplan.model.timmdp import TIMMDP, Agent, Entry, RewardFunction, Transition
from coreplan.model.transitions import StageTransitions
from coreplan.model.translated import TranslatedProblem

__all__ = [
    "TIMMDP",
    "Agent",
    "Aggregate",
    "Amount",
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
