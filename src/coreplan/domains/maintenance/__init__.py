"""The maintenance planning problem: contractors, tasks, delays and hindrance.

Importing this package registers its file formats, words and pictures. The command line also imports
the view for terminals, which is slow to import.
"""

from coreplan.domains.maintenance import report as report
from coreplan.domains.maintenance import words as words
from coreplan.domains.maintenance.formats import mpp as mpp
from coreplan.domains.maintenance.parts import Contractor, Delay, Hindrance, Task
from coreplan.domains.maintenance.problem import MaintenanceProblem
from coreplan.domains.maintenance.states import ContractorState
from coreplan.domains.maintenance.view import course_text as course_text
from coreplan.domains.maintenance.view import crg_words as crg_words
from coreplan.domains.maintenance.view import html as html
from coreplan.domains.maintenance.view import influences as influences

__all__ = ["Contractor", "ContractorState", "Delay", "Hindrance", "MaintenanceProblem", "Task"]
