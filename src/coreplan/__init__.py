"""Planning for teams of agents under uncertainty: exact, with proven bounds.

The way of the data: a file or Python description → :class:`TIMMDP` or :class:`MaintenanceProblem`
→ :func:`solve` → :class:`Result` with a :class:`Policy`.

Here are the names that most users start with. The rest is in the packages below, such as
:mod:`coreplan.analysis` and :mod:`coreplan.domains.maintenance`.
"""

import logging
from typing import TYPE_CHECKING, Any

from coreplan import view as view
from coreplan.analysis import compare, evaluate_plan, simulate
from coreplan.analysis import tables as tables
from coreplan.domains.maintenance import (
    Contractor,
    ContractorState,
    Delay,
    Hindrance,
    MaintenanceProblem,
    Task,
    read_works,
)
from coreplan.errors import (
    CoreplanError,
    Diagnostic,
    FormatError,
    LimitError,
    ModelError,
    SolverError,
)
from coreplan.formats import read_problem, write_problem
from coreplan.model import TIMMDP, Agent, Condition, Entry, RewardFunction
from coreplan.model.calendar import Calendar, ClosedPeriod
from coreplan.policies import Policy
from coreplan.solving import CoreOptions, Progress, Result, Status, register_algorithm, solve
from coreplan.support.moved import let_old_names_work, moved_name
from coreplan.support.version import __version__ as __version__
from coreplan.view.report import make_report

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
    "write_problem",
]


def __getattr__(name: str) -> Any:
    return moved_name(name)
