"""Planning for teams of agents under uncertainty: exact, with proven bounds.

The way of the data: a file or Python description → :class:`TIMMDP` or :class:`MaintenanceProblem`
→ :func:`solve` → :class:`Result` with a :class:`Policy`.
"""

import logging
import warnings
from typing import Any

from coreplan import view as view
from coreplan.analysis import tables as tables
from coreplan.analysis.comparison import ComparedRun, Comparison, compare
from coreplan.analysis.distribution import ReturnDistribution, return_distribution
from coreplan.analysis.explanation import Alternative, Explanation
from coreplan.analysis.plan import PlanReport, evaluate_plan
from coreplan.analysis.sequences import ExecutionSequence, Returns, execution_sequences
from coreplan.analysis.simulation import Completion, Estimate, Simulation
from coreplan.analysis.simulator import SimulationProgress, simulate
from coreplan.analysis.trace import SearchTrace, trace_search
from coreplan.analysis.tree import PlanTree, plan_tree
from coreplan.domains.maintenance import (
    Contractor,
    ContractorState,
    Delay,
    Hindrance,
    MaintenanceProblem,
    Task,
)
from coreplan.domains.maintenance.coordination import Coordination, value_of_coordination
from coreplan.domains.maintenance.formats.schedule import read_schedule, write_schedule
from coreplan.domains.maintenance.influence import Influence, Sensitivity, sensitivity
from coreplan.domains.maintenance.money import Money
from coreplan.domains.maintenance.planned import PlannedSchedule, PlannedWork, planned_schedule
from coreplan.domains.maintenance.schedule import schedule_policy
from coreplan.domains.maintenance.timeline import Timeline, timeline
from coreplan.domains.maintenance.works import WorksList, read_works
from coreplan.errors import (
    CertificateError,
    CoreplanError,
    Diagnostic,
    FormatError,
    LimitError,
    ModelError,
    SolverError,
)
from coreplan.formats import (
    read_problem,
    read_result,
    schema,
    write_problem,
    write_result,
)
from coreplan.model.calendar import Calendar
from coreplan.model.timmdp import TIMMDP, Agent, Condition, Entry, RewardFunction, Transition
from coreplan.policies.graph import PlanGraph, plan_graph
from coreplan.policies.policy import Policy
from coreplan.solving.compile import AgentSize, CompiledProblem, compile_problem
from coreplan.solving.crg import (
    ConditionalReturnGraph,
    ConditionalReturnGraphs,
    CrgSize,
    build_crgs,
)
from coreplan.solving.limits import Progress
from coreplan.solving.option_fields import SolverOptions
from coreplan.solving.options import (
    Core2016Options,
    CoreOptions,
    CrgPsOptions,
    DecMdpOptions,
    DpOptions,
    SpuddOptions,
)
from coreplan.solving.registry import register_algorithm
from coreplan.solving.result import Result, Statistics, Status
from coreplan.solving.solver import solve
from coreplan.support.moved import let_old_names_work
from coreplan.support.version import __version__ as __version__
from coreplan.view.report import Report, make_report

let_old_names_work()
logging.getLogger(__name__).addHandler(logging.NullHandler())

__all__ = [
    "TIMMDP",
    "Agent",
    "AgentSize",
    "Alternative",
    "Calendar",
    "CertificateError",
    "ComparedRun",
    "Comparison",
    "CompiledProblem",
    "Completion",
    "Condition",
    "ConditionalReturnGraph",
    "ConditionalReturnGraphs",
    "Contractor",
    "ContractorState",
    "Coordination",
    "Core2016Options",
    "CoreOptions",
    "CoreplanError",
    "CrgPsOptions",
    "CrgSize",
    "DecMdpOptions",
    "Delay",
    "Diagnostic",
    "DpOptions",
    "Entry",
    "Estimate",
    "ExecutionSequence",
    "Explanation",
    "FormatError",
    "Hindrance",
    "Influence",
    "LimitError",
    "MaintenanceProblem",
    "ModelError",
    "Money",
    "PlanGraph",
    "PlanReport",
    "PlanTree",
    "PlannedSchedule",
    "PlannedWork",
    "Policy",
    "Progress",
    "Report",
    "Result",
    "ReturnDistribution",
    "Returns",
    "RewardFunction",
    "SearchTrace",
    "Sensitivity",
    "Simulation",
    "SimulationProgress",
    "SolverError",
    "SolverOptions",
    "SpuddOptions",
    "Statistics",
    "Status",
    "Task",
    "Timeline",
    "Transition",
    "WorksList",
    "build_crgs",
    "compare",
    "compile_problem",
    "evaluate_plan",
    "execution_sequences",
    "make_report",
    "plan_graph",
    "plan_tree",
    "planned_schedule",
    "read_problem",
    "read_result",
    "read_schedule",
    "read_works",
    "register_algorithm",
    "return_distribution",
    "schedule_policy",
    "schema",
    "sensitivity",
    "simulate",
    "solve",
    "timeline",
    "trace_search",
    "value_of_coordination",
    "write_problem",
    "write_result",
    "write_schedule",
]


def __getattr__(name: str) -> Any:
    if name == "Problem":
        warnings.warn(
            "coreplan.Problem is now coreplan.Diagnostic; the old name goes with the next version",
            DeprecationWarning,
            stacklevel=2,
        )
        return Diagnostic
    raise AttributeError(f"module 'coreplan' has no attribute {name!r}")
