"""The maintenance planning problem: contractors, tasks, delays and hindrance."""

from coreplan.maintenance.problem import Contractor, Delay, Hindrance, MaintenanceProblem, Task
from coreplan.maintenance.states import ContractorState

__all__ = ["Contractor", "ContractorState", "Delay", "Hindrance", "MaintenanceProblem", "Task"]
