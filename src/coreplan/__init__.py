"""Planning for teams of agents under uncertainty: exact, with proven bounds.

The way of the data: a file or Python description → :class:`TIMMDP` or :class:`MaintenanceProblem`
→ :func:`solve` → :class:`Result` with a :class:`Policy`.

Here are the names that most users start with. The rest is in the packages below, such as
:mod:`coreplan.analysis` and :mod:`coreplan.domains.maintenance`. Every name and package is loaded
when it is first used, so that the import takes little time.
"""

import importlib
import logging
from typing import TYPE_CHECKING, Any

from coreplan.support.moved import let_old_names_work, moved_name
from coreplan.support.version import __version__ as __version__

if TYPE_CHECKING:  # what __getattr__ finds, for type checkers
    from coreplan.analysis import compare as compare
    from coreplan.analysis import evaluate_plan as evaluate_plan
    from coreplan.analysis import simulate as simulate
    from coreplan.domains.maintenance import Contractor as Contractor
    from coreplan.domains.maintenance import ContractorState as ContractorState
    from coreplan.domains.maintenance import Delay as Delay
    from coreplan.domains.maintenance import Hindrance as Hindrance
    from coreplan.domains.maintenance import MaintenanceProblem as MaintenanceProblem
    from coreplan.domains.maintenance import Task as Task
    from coreplan.domains.maintenance import read_works as read_works
    from coreplan.errors import CoreplanError as CoreplanError
    from coreplan.errors import Diagnostic as Diagnostic
    from coreplan.errors import FormatError as FormatError
    from coreplan.errors import LimitError as LimitError
    from coreplan.errors import ModelError as ModelError
    from coreplan.errors import SolverError as SolverError
    from coreplan.formats import read_problem as read_problem
    from coreplan.formats import write_problem as write_problem
    from coreplan.model import TIMMDP as TIMMDP
    from coreplan.model import Agent as Agent
    from coreplan.model import Aggregate as Aggregate
    from coreplan.model import Amount as Amount
    from coreplan.model import Condition as Condition
    from coreplan.model import Entry as Entry
    from coreplan.model import RewardFunction as RewardFunction
    from coreplan.model.calendar import Calendar as Calendar
    from coreplan.model.calendar import ClosedPeriod as ClosedPeriod
    from coreplan.policies import Policy as Policy
    from coreplan.solving import CoreOptions as CoreOptions
    from coreplan.solving import Progress as Progress
    from coreplan.solving import Result as Result
    from coreplan.solving import Status as Status
    from coreplan.solving import register_algorithm as register_algorithm
    from coreplan.solving import solve as solve
    from coreplan.support.language import speaking as speaking
    from coreplan.view.report import make_report as make_report

if TYPE_CHECKING:  # old names, see coreplan.support.moved: type checkers still know them
    from coreplan.analysis import Alternative as Alternative
    from coreplan.analysis import ComparedRun as ComparedRun
    from coreplan.analysis import Comparison as Comparison
    from coreplan.analysis import Completion as Completion
    from coreplan.analysis import Estimate as Estimate
    from coreplan.analysis import ExecutionSequence as ExecutionSequence
    from coreplan.analysis import Explanation as Explanation
    from coreplan.analysis import PlanReport as PlanReport
    from coreplan.analysis import PlanTree as PlanTree
    from coreplan.analysis import ReturnDistribution as ReturnDistribution
    from coreplan.analysis import Returns as Returns
    from coreplan.analysis import SearchTrace as SearchTrace
    from coreplan.analysis import Simulation as Simulation
    from coreplan.analysis import SimulationProgress as SimulationProgress
    from coreplan.analysis import execution_sequences as execution_sequences
    from coreplan.analysis import plan_tree as plan_tree
    from coreplan.analysis import return_distribution as return_distribution
    from coreplan.analysis import trace_search as trace_search
    from coreplan.domains.maintenance import Coordination as Coordination
    from coreplan.domains.maintenance import Influence as Influence
    from coreplan.domains.maintenance import Money as Money
    from coreplan.domains.maintenance import PlannedSchedule as PlannedSchedule
    from coreplan.domains.maintenance import PlannedWork as PlannedWork
    from coreplan.domains.maintenance import Sensitivity as Sensitivity
    from coreplan.domains.maintenance import WorksList as WorksList
    from coreplan.domains.maintenance import planned_schedule as planned_schedule
    from coreplan.domains.maintenance import read_schedule as read_schedule
    from coreplan.domains.maintenance import schedule_policy as schedule_policy
    from coreplan.domains.maintenance import sensitivity as sensitivity
    from coreplan.domains.maintenance import value_of_coordination as value_of_coordination
    from coreplan.domains.maintenance import write_schedule as write_schedule
    from coreplan.domains.maintenance.timeline import Timeline as Timeline
    from coreplan.domains.maintenance.timeline import timeline as timeline
    from coreplan.errors import CertificateError as CertificateError
    from coreplan.formats import read_result as read_result
    from coreplan.formats import schema as schema
    from coreplan.formats import write_result as write_result
    from coreplan.model import Transition as Transition
    from coreplan.policies import PlanGraph as PlanGraph
    from coreplan.policies import plan_graph as plan_graph
    from coreplan.solving import AgentSize as AgentSize
    from coreplan.solving import CompiledProblem as CompiledProblem
    from coreplan.solving import ConditionalReturnGraph as ConditionalReturnGraph
    from coreplan.solving import ConditionalReturnGraphs as ConditionalReturnGraphs
    from coreplan.solving import CrgSize as CrgSize
    from coreplan.solving import Statistics as Statistics
    from coreplan.solving import build_crgs as build_crgs
    from coreplan.solving import compile_problem as compile_problem
    from coreplan.view.report import Report as Report

    Problem = Diagnostic

let_old_names_work()
logging.getLogger(__name__).addHandler(logging.NullHandler())

__all__ = [
    "TIMMDP",
    "Agent",
    "Aggregate",
    "Amount",
    "Calendar",
    "ClosedPeriod",
    "Condition",
    "Contractor",
    "ContractorState",
    "CoreOptions",
    "CoreplanError",
    "Delay",
    "Diagnostic",
    "Entry",
    "FormatError",
    "Hindrance",
    "LimitError",
    "MaintenanceProblem",
    "ModelError",
    "Policy",
    "Progress",
    "Result",
    "RewardFunction",
    "SolverError",
    "Status",
    "Task",
    "compare",
    "evaluate_plan",
    "make_report",
    "read_problem",
    "read_works",
    "register_algorithm",
    "simulate",
    "solve",
    "speaking",
    "write_problem",
]

_HOMES = {
    "Agent": "model",
    "Aggregate": "model",
    "Amount": "model",
    "Calendar": "model.calendar",
    "ClosedPeriod": "model.calendar",
    "compare": "analysis",
    "Condition": "model",
    "Contractor": "domains.maintenance",
    "ContractorState": "domains.maintenance",
    "CoreOptions": "solving",
    "CoreplanError": "errors",
    "Delay": "domains.maintenance",
    "Diagnostic": "errors",
    "Entry": "model",
    "evaluate_plan": "analysis",
    "FormatError": "errors",
    "Hindrance": "domains.maintenance",
    "LimitError": "errors",
    "MaintenanceProblem": "domains.maintenance",
    "make_report": "view.report",
    "ModelError": "errors",
    "Policy": "policies",
    "Progress": "solving",
    "read_problem": "formats",
    "read_works": "domains.maintenance",
    "register_algorithm": "solving",
    "Result": "solving",
    "RewardFunction": "model",
    "simulate": "analysis",
    "solve": "solving",
    "SolverError": "errors",
    "speaking": "support.language",
    "Status": "solving",
    "Task": "domains.maintenance",
    "TIMMDP": "model",
    "write_problem": "formats",
}
"""Where each of these names is, below the package."""
_PACKAGES = frozenset(
    (
        "analysis",
        "domains",
        "errors",
        "files",
        "formats",
        "model",
        "policies",
        "proof",
        "solving",
        "support",
        "view",
    )
)
"""What can be used after ``import coreplan`` alone."""


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        value = getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    elif name in _PACKAGES:
        value = importlib.import_module(f"{__name__}.{name}")
    else:
        return moved_name(name)
    globals()[name] = value  # found at once from now on
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES, *_PACKAGES})
