"""Plain dynamic programming: the paper's baseline. See docs/dp.md."""

from __future__ import annotations

from coreplan import _core
from coreplan.algorithms.task import SolverTask
from coreplan.errors import SolverError
from coreplan.policy import LocalRule, Policy, TeamRule, make_maps
from coreplan.result import Result


def solve_dp(task: SolverTask, merge: bool = True) -> Result:
    """Maximise the Bellman equation over all joint states."""
    if not isinstance(merge, bool):
        raise SolverError(f"merge is {merge!r}; expected True or False")
    compiled = task.compile(merge)
    found = _core.solve_dp(compiled.model, task.limits.monitor)
    agents = range(len(compiled.indexed.agents))
    teams = []
    if found.actions is not None:
        teams.append(TeamRule(tuple(agents), found.actions, found.values))
    policy = Policy(
        task.problem,
        compiled.indexed,
        make_maps(compiled),
        teams,
        LocalRule(tuple(found.fallback(i) for i in agents)),
        history=not merge,
    )
    return task.make_result(
        "dp",
        found.lower,
        found.upper,
        found.stop,
        policy,
        found.states_expanded,
        found.actions_evaluated,
        message=found.message,
    )
