"""Decisions of rules that look ahead, made by the core."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from coreplan import _core
from coreplan.policies.lookahead import (
    AgentTables,
    BasePolicy,
    ClusterTable,
    Encounter,
    TeamModel,
)
from coreplan.policies.rules import Indices
from coreplan.solving.limits import Limits
from coreplan.support.late import provides
from coreplan.support.processors import choose_count


def model_of(
    model: _core.CompiledModel, agents: int, bases: Sequence[_core.TeamPolicy]
) -> TeamModel:
    """A team and the policies to look ahead from, as a rule stores them."""
    return TeamModel(
        model.first_stage,
        model.horizon,
        tuple(
            AgentTables(
                model.layer_begin(k),
                model.action_begin(k),
                model.action_reward(k),
                model.action_after(k),
                model.after_layer_begin(k)[: model.horizon - model.first_stage + 1],
                model.outcome_begin(k),
                model.outcome_next(k),
                model.outcome_probability(k),
                *model.factors(k),
            )
            for k in range(agents)
        ),
        tuple(
            Encounter(tuple(members), tuple(values))
            for members, values in model.interactions()
            if values
        ),
        tuple(base_of(each, agents) for each in bases),
    )


def base_of(policy: _core.TeamPolicy, agents: int) -> BasePolicy:
    """A policy of a team, as a rule stores it."""
    return BasePolicy(
        tuple(policy.local(k) for k in range(agents)),
        tuple(
            ClusterTable(tuple(each.agents), each.layer, each.classes, each.actions)
            for each in policy.clusters
            if len(each.layer) > 0
        ),
    )


@provides("TeamModel.core")
def core_of(team: TeamModel) -> _core.Lookahead:
    """What finds the decisions of a team.

    Raises
    ------
    ValueError
        If the arrays of the team do not fit together.
    """
    parts = _core.ModelParts(team.stage, team.horizon)
    for each in team.agents:
        parts.add_agent(
            each.layer_begin,
            each.action_begin,
            each.action_reward,
            each.action_after,
            each.after_layer_begin,
            each.outcome_begin,
            each.outcome_next,
            each.outcome_probability,
            each.factor_begin,
            each.factor_signal,
            each.factor_chance,
        )
    for encounter in team.encounters:
        parts.add_interaction(list(encounter.members), list(encounter.values))
    bases = [
        _core.TeamPolicy(
            list(base.local),
            [
                (
                    list(each.agents),
                    each.layers,
                    np.ascontiguousarray(each.classes).reshape(-1),
                    np.ascontiguousarray(each.positions).reshape(-1),
                )
                for each in base.clusters
            ],
        )
        for base in team.bases
    ]
    return _core.Lookahead(parts.make(), bases, Limits.unlimited_monitor())


@provides("TeamModel.choose")
def choose(team: TeamModel, stage: int, classes: Sequence[Indices]) -> list[Indices]:
    """For each agent: the position of its action in many joint states."""
    rows = np.stack(classes, axis=1, dtype=np.uint32)
    decided = team.core.act(
        stage - team.stage, rows.reshape(-1), choose_count(None), Limits.unlimited_monitor()
    )
    return list(decided.reshape(rows.shape).T)
