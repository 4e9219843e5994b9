"""Analyses of plans: trees, explanations, simulations, comparisons."""

from coreplan.analysis.comparison import ComparedRun, Comparison, compare
from coreplan.analysis.distribution import ReturnDistribution, return_distribution
from coreplan.analysis.dynamics import Dynamics
from coreplan.analysis.explanation import Alternative, Difference, Explanation
from coreplan.analysis.plan import PlanReport, evaluate_plan
from coreplan.analysis.sequences import ExecutionSequence, Returns, execution_sequences
from coreplan.analysis.simulation import Completion, Estimate, Simulation
from coreplan.analysis.simulator import SimulationProgress, simulate
from coreplan.analysis.trace import SearchTrace, trace_search
from coreplan.analysis.trajectories import Trajectory
from coreplan.analysis.tree import PlanTree, plan_tree

__all__ = [
    "Alternative",
    "ComparedRun",
    "Comparison",
    "Completion",
    "Difference",
    "Dynamics",
    "Estimate",
    "ExecutionSequence",
    "Explanation",
    "PlanReport",
    "PlanTree",
    "ReturnDistribution",
    "Returns",
    "SearchTrace",
    "Simulation",
    "SimulationProgress",
    "Trajectory",
    "compare",
    "evaluate_plan",
    "execution_sequences",
    "plan_tree",
    "return_distribution",
    "simulate",
    "trace_search",
]
