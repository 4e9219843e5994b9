"""Planning for teams of agents under uncertainty: exact, with proven bounds.

The way of the data: a file or Python description → :class:`TIMMDP` or :class:`MaintenanceProblem`
→ :func:`solve` → :class:`Result` with a :class:`Policy`.
"""

import logging

from coreplan.compare import ComparedRun, Comparison, compare
from coreplan.compile import AgentSize, CompiledProblem, compile_problem
from coreplan.crg import ConditionalReturnGraph, ConditionalReturnGraphs, CrgSize, build_crgs
from coreplan.distribution import ReturnDistribution, return_distribution
from coreplan.errors import (
    CertificateError,
    CoreplanError,
    FormatError,
    LimitError,
    ModelError,
    Problem,
    SolverError,
)
from coreplan.explanation import Alternative, Explanation
from coreplan.formats import (
    read_problem,
    read_result,
    schema,
    write_problem,
    write_result,
)
from coreplan.formats.schedule import read_schedule, write_schedule
from coreplan.limits import Progress
from coreplan.maintenance import (
    Contractor,
    ContractorState,
    Delay,
    Hindrance,
    MaintenanceProblem,
    Task,
)
from coreplan.maintenance.calendar import Calendar
from coreplan.maintenance.coordination import Coordination, value_of_coordination
from coreplan.maintenance.money import Money
from coreplan.maintenance.schedule import schedule_policy
from coreplan.maintenance.timeline import Timeline, timeline
from coreplan.model import TIMMDP, Agent, Condition, Entry, RewardFunction, Transition
from coreplan.plan import PlanReport, evaluate_plan
from coreplan.plan_graph import PlanGraph, plan_graph
from coreplan.plan_tree import PlanTree, plan_tree
from coreplan.planned_schedule import PlannedSchedule, PlannedWork, planned_schedule
from coreplan.policy import Policy
from coreplan.result import Result, Statistics, Status
from coreplan.sensitivity import Influence, Sensitivity, sensitivity
from coreplan.sequences import ExecutionSequence, Returns, execution_sequences
from coreplan.simulate import SimulationProgress, simulate
from coreplan.simulation import Completion, Estimate, Simulation
from coreplan.solve import solve
from coreplan.trace import SearchTrace, trace_search
from coreplan.view.report import Report, make_report
from coreplan.works import WorksList, read_works

__version__ = "0.1.0"

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
    "CoreplanError",
    "CrgSize",
    "Delay",
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
    "Problem",
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
