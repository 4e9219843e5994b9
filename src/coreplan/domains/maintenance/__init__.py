"""The maintenance planning problem: contractors, tasks, delays and hindrance.

Importing this package registers its file formats, words and pictures. The command line also imports
the view for terminals, which is slow to import.
"""

from coreplan.domains.maintenance import report as report
from coreplan.domains.maintenance import words as words
from coreplan.domains.maintenance.closing import close_steps
from coreplan.domains.maintenance.coordination import Coordination, value_of_coordination
from coreplan.domains.maintenance.exports import export_plan
from coreplan.domains.maintenance.formats import mpp as mpp
from coreplan.domains.maintenance.formats import state as state
from coreplan.domains.maintenance.formats.schedule import read_schedule, write_schedule
from coreplan.domains.maintenance.influence import Influence, Sensitivity, sensitivity
from coreplan.domains.maintenance.money import Money
from coreplan.domains.maintenance.parts import Closure, Contractor, Delay, Hindrance, Task
from coreplan.domains.maintenance.planned import PlannedSchedule, PlannedWork, planned_schedule
from coreplan.domains.maintenance.problem import MaintenanceProblem
from coreplan.domains.maintenance.schedule import schedule_policy
from coreplan.domains.maintenance.states import ContractorState
from coreplan.domains.maintenance.view import course_text as course_text
from coreplan.domains.maintenance.view import crg_words as crg_words
from coreplan.domains.maintenance.view import decision_words as decision_words
from coreplan.domains.maintenance.view import html as html
from coreplan.domains.maintenance.view import influences as influences
from coreplan.domains.maintenance.view import simulation_words as simulation_words
from coreplan.domains.maintenance.works import WorksList, read_works

__all__ = [
    "Closure",
    "Contractor",
    "ContractorState",
    "Coordination",
    "Delay",
    "Hindrance",
    "Influence",
    "MaintenanceProblem",
    "Money",
    "PlannedSchedule",
    "PlannedWork",
    "Sensitivity",
    "Task",
    "WorksList",
    "close_steps",
    "export_plan",
    "planned_schedule",
    "read_schedule",
    "read_works",
    "schedule_policy",
    "sensitivity",
    "value_of_coordination",
    "write_schedule",
]
