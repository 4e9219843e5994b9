"""Code shared by the solvers that treat the whole team at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from coreplan import _core
from coreplan.policies.policy import Policy
from coreplan.policies.rules import LocalRule, TeamRule
from coreplan.solving.compile import CompiledProblem
from coreplan.solving.limits import Limits
from coreplan.solving.maps import make_maps
from coreplan.solving.task import SolverTask


def make_joint_policy(
    task: SolverTask,
    compiled: CompiledProblem,
    found: _core.JointResult,
    *,
    history: bool | None = None,
) -> Policy:
    """One rule of the whole team, and each agent's own rule for states outside it."""
    agents = range(len(compiled.indexed.agents))
    rule = None
    if found.actions is not None:
        rule = TeamRule(tuple(agents), found.actions, found.values, numbers=found.numbers)
    return make_team_policy(
        task, compiled, rule, [found.fallback(i) for i in agents], history=history
    )


def make_team_policy(
    task: SolverTask,
    compiled: CompiledProblem,
    rule: TeamRule | None,
    alone: Sequence[NDArray[np.uint32]] | None = None,
    *,
    history: bool | None = None,
) -> Policy:
    """A policy of one rule for the whole team.

    Parameters
    ----------
    task, compiled
        The task and its compiled problem.
    rule
        The team's actions in each joint class, see :class:`coreplan.policies.rules.TeamRule`.
    alone
        Per agent and class: the number of the action for states outside the rule; by default the
        agent's own best action.
    history
        Whether local states keep their past; by default if states were not merged.
    """
    if alone is None:
        bounds = _core.independent_bounds(compiled.model, Limits.unlimited_monitor())
        alone = [bounds.action(i) for i in range(len(compiled.indexed.agents))]
    return Policy(
        task.problem,
        compiled.indexed,
        make_maps(compiled),
        () if rule is None else (rule,),
        LocalRule(tuple(alone)),
        history=not compiled.merged if history is None else history,
    )
