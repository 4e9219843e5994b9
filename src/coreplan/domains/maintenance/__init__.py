"""The maintenance planning problem: contractors, tasks, delays and hindrance."""

from coreplan.domains.maintenance.problem import (
    Contractor,
    Delay,
    Hindrance,
    MaintenanceProblem,
    Task,
)
from coreplan.domains.maintenance.states import ContractorState

__all__ = ["Contractor", "ContractorState", "Delay", "Hindrance", "MaintenanceProblem", "Task"]
