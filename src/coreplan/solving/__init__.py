"""Solving: compile a problem, search for a plan, prove bounds."""

from coreplan.solving.compile import AgentSize, CompiledProblem, compile_problem
from coreplan.solving.crg import (
    ConditionalReturnGraph,
    ConditionalReturnGraphs,
    CrgSize,
    build_crgs,
)
from coreplan.solving.infinite import InfiniteResult, StationaryPolicy, solve_infinite
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
from coreplan.solving.simplification import Simplified, simplify
from coreplan.solving.solver import solve

__all__ = [
    "AgentSize",
    "CompiledProblem",
    "ConditionalReturnGraph",
    "ConditionalReturnGraphs",
    "Core2016Options",
    "CoreOptions",
    "CrgPsOptions",
    "CrgSize",
    "DecMdpOptions",
    "DpOptions",
    "InfiniteResult",
    "Progress",
    "Result",
    "Simplified",
    "SolverOptions",
    "SpuddOptions",
    "StationaryPolicy",
    "Statistics",
    "Status",
    "build_crgs",
    "compile_problem",
    "register_algorithm",
    "simplify",
    "solve",
    "solve_infinite",
]
