"""Value iteration on algebraic decision diagrams, after SPUDD. See docs/spudd.md."""

from __future__ import annotations

from coreplan import _core
from coreplan.solving.algorithms.joint import make_joint_policy
from coreplan.solving.options import JointActions, SpuddOptions, VariableOrder
from coreplan.solving.result import Result
from coreplan.solving.task import SolverTask

ORDERS: dict[VariableOrder, _core.VariableOrder] = {
    "grouped": _core.VariableOrder.grouped,
    "interleaved": _core.VariableOrder.interleaved,
}
"""In which order the bits of the agents' states are tested."""

ACTIONS: dict[JointActions, _core.ActionMode] = {
    "diagram": _core.ActionMode.diagram,
    "enumerate": _core.ActionMode.enumerate,
}
"""Whether actions are variables of the diagrams, or joint actions are tried one by one."""


def solve_spudd(task: SolverTask, options: SpuddOptions) -> Result:
    """Value iteration; the value of a stage is one diagram over the bits of local states."""
    compiled = task.compile(options.merge)
    found = _core.solve_spudd(
        compiled.model, ORDERS[options.order], ACTIONS[options.actions], task.limits.monitor
    )
    return task.make_result(
        "spudd",
        found.lower,
        found.upper,
        found.stop,
        make_joint_policy(task, compiled, found),
        0,
        0,
        message=found.message,
        others={
            "iterations": found.iterations,
            "value_nodes": found.value_nodes,
            "peak_nodes": found.peak_nodes,
            "garbage_collections": found.collections,
        },
    )
