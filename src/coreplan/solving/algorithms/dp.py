"""Plain dynamic programming, the paper's baseline; see docs/dp.md."""

from __future__ import annotations

from coreplan import _core
from coreplan.solving.algorithms.joint import make_joint_policy
from coreplan.solving.options import DpOptions
from coreplan.solving.result import Result
from coreplan.solving.task import SolverTask


def solve_dp(task: SolverTask, options: DpOptions) -> Result:
    """Solve the Bellman equation for all joint states."""
    compiled = task.compile(options.merge)
    found = _core.solve_dp(compiled.model, task.limits.monitor)
    return task.make_result(
        "dp",
        found.lower,
        found.upper,
        found.stop,
        make_joint_policy(task, compiled, found),
        found.states_expanded,
        found.actions_evaluated,
        message=found.message,
    )
