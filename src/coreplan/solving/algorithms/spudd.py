"""Value iteration on algebraic decision diagrams, after SPUDD. See docs/spudd.md."""

from __future__ import annotations

from coreplan import _core
from coreplan.errors import SolverError
from coreplan.solving.algorithms.joint import make_joint_policy
from coreplan.solving.result import Result
from coreplan.solving.task import SolverTask, check_flags

ORDERS = {
    "grouped": _core.VariableOrder.grouped,
    "interleaved": _core.VariableOrder.interleaved,
}
"""In which order the bits of the agents' states are tested."""

ACTIONS = {"diagram": _core.ActionMode.diagram, "enumerate": _core.ActionMode.enumerate}
"""Whether actions are variables of the diagrams, or joint actions are tried one by one."""


def solve_spudd(
    task: SolverTask, merge: bool = True, order: str = "grouped", actions: str = "diagram"
) -> Result:
    """Value iteration; the value of a stage is one diagram over the bits of local states."""
    check_flags(merge=merge)
    for name, value, known in (("order", order, ORDERS), ("actions", actions, ACTIONS)):
        if value not in list(known):  # whatever type it has
            raise SolverError(f"{name} is {value!r}; expected one of {', '.join(map(repr, known))}")
    compiled = task.compile(merge)
    found = _core.solve_spudd(compiled.model, ORDERS[order], ACTIONS[actions], task.limits.monitor)
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
