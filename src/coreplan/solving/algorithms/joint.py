"""What the solvers share that treat the whole team at once."""

from __future__ import annotations

from coreplan import _core
from coreplan.policies.policy import Policy
from coreplan.policies.rules import LocalRule, TeamRule
from coreplan.solving.compile import CompiledProblem
from coreplan.solving.maps import make_maps
from coreplan.solving.task import SolverTask


def make_joint_policy(
    task: SolverTask, compiled: CompiledProblem, found: _core.JointResult
) -> Policy:
    """One rule of the whole team; where it does not know, everybody's own."""
    agents = range(len(compiled.indexed.agents))
    teams = []
    if found.actions is not None:
        teams.append(TeamRule(tuple(agents), found.actions, found.values, numbers=found.numbers))
    return Policy(
        task.problem,
        compiled.indexed,
        make_maps(compiled),
        teams,
        LocalRule(tuple(found.fallback(i) for i in agents)),
        history=not compiled.merged,
    )
