"""Planning for teams of agents under uncertainty: exact, with proven bounds.

The way of the data: a file or Python description → :class:`TIMMDP` or :class:`MaintenanceProblem`
→ :func:`solve` → :class:`Result` with a :class:`Policy`.
"""

import logging

from coreplan.compare import ComparedRun, Comparison, compare
from coreplan.compile import AgentSize, CompiledProblem, compile_problem
from coreplan.crg import ConditionalReturnGraph, ConditionalReturnGraphs, CrgSize, build_crgs
from coreplan.errors import (
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
from coreplan.maintenance.money import Money
from coreplan.maintenance.schedule import schedule_policy
from coreplan.model import TIMMDP, Agent, Condition, Entry, RewardFunction, Transition
from coreplan.plan import PlanReport, evaluate_plan
from coreplan.plan_graph import PlanGraph, plan_graph
from coreplan.plan_tree import PlanTree, plan_tree
from coreplan.planned_schedule import PlannedSchedule, PlannedWork, planned_schedule
from coreplan.policy import Policy
from coreplan.result import Result, Statistics, Status
from coreplan.sequences import ExecutionSequence, Returns, execution_sequences
from coreplan.simulate import SimulationProgress, simulate
from coreplan.simulation import Completion, Estimate, Simulation
from coreplan.solve import solve
from coreplan.trace import SearchTrace, trace_search

__version__ = "0.1.0"

logging.getLogger(__name__).addHandler(logging.NullHandler())

__all__ = [
    "TIMMDP",
    "Agent",
    "AgentSize",
    "Alternative",
    "ComparedRun",
    "Comparison",
    "CompiledProblem",
    "Completion",
    "Condition",
    "ConditionalReturnGraph",
    "ConditionalReturnGraphs",
    "Contractor",
    "ContractorState",
    "CoreplanError",
    "CrgSize",
    "Delay",
    "Entry",
    "Estimate",
    "ExecutionSequence",
    "Explanation",
    "FormatError",
    "Hindrance",
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
    "Result",
    "Returns",
    "RewardFunction",
    "SearchTrace",
    "Simulation",
    "SimulationProgress",
    "SolverError",
    "Statistics",
    "Status",
    "Task",
    "Transition",
    "build_crgs",
    "compare",
    "compile_problem",
    "evaluate_plan",
    "execution_sequences",
    "plan_graph",
    "plan_tree",
    "planned_schedule",
    "read_problem",
    "read_result",
    "read_schedule",
    "schedule_policy",
    "schema",
    "simulate",
    "solve",
    "trace_search",
    "write_problem",
    "write_result",
    "write_schedule",
]
