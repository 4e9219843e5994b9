"""What the engine knows, as a certificate that anybody can check."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from coreplan import _core
from coreplan.algorithms.team import Team
from coreplan.certificate import Certificate, Cluster, PairShare, agent_classes
from coreplan.compile import AnyProblem, CompiledProblem
from coreplan.policy import Policy, Reduced


def make_certificate(
    problem: AnyProblem,
    compiled: CompiledProblem,
    reduction: _core.Reduction,
    reduced: Sequence[Reduced],
    teams: Sequence[Team],
    policy: Policy,
    bounds: tuple[float, float],
) -> Certificate:
    """The classes of local states, every cluster's shares, and the policy."""
    model = reduction.model
    clusters: list[Cluster] = []
    taken: set[int] = set()
    for team in teams:
        if team.solution is not None or team.relaxation is None:
            # One cluster gets everything; a team without a relaxation needs none.
            parts = [] if team.solution is None else [Cluster(_sorted(team.agents), _none(team))]
        else:
            parts = [_cluster(model, team, c) for c in range(len(team.relaxation.clusters))]
        for part in parts:
            wide = tuple(
                e
                for e, entry in enumerate(compiled.indexed.entries)
                if e not in taken
                and len(entry.members) > 2
                and {i for i, _ in entry.members} <= {*part.agents}
            )
            taken.update(wide)
            clusters.append(Cluster(part.agents, part.shares, part.pairs, wide))
    return Certificate(
        problem,
        compiled.indexed,
        *bounds,
        tuple(
            agent_classes(policy.maps[i], reduced[i], model.action_begin(i), model.action_after(i))
            for i in range(len(compiled.indexed.agents))
        ),
        tuple(clusters),
        policy,
        history=not compiled.merged,
    )


def _sorted(agents: Sequence[int]) -> tuple[int, ...]:
    return tuple(sorted(agents))


def _none(team: Team) -> tuple[None, ...]:
    return (None,) * len(team.agents)


def _cluster(model: _core.CompiledModel, team: Team, number: int) -> Cluster:
    """A relaxation's cluster in the problem's own numbers of agents; shares are of costs."""
    assert team.relaxation is not None
    relaxation = team.relaxation
    members = relaxation.clusters[number]
    order = sorted(range(len(members)), key=lambda m: team.agents[members[m]])
    pairs = []
    for p, (one, other) in enumerate(relaxation.pairs_of(number)):
        first, second = team.agents[one], team.agents[other]
        rows = relaxation.pair_rows(number, p).astype(np.int64)
        row = np.repeat(np.arange(len(rows) - 1), np.diff(rows))
        layer = np.searchsorted(model.after_layer_begin(first), row, side="right") - 1
        column = relaxation.pair_columns(number, p) + model.after_layer_begin(second)[layer]
        one_side, other_side = row.astype(np.uint32), column.astype(np.uint32)
        if first > second:
            first, second = second, first
            one_side, other_side = other_side, one_side
        value = -relaxation.share_of_pair(number, p)
        stages = layer.astype(np.uint32)
        pairs.append(PairShare((first, second), stages, one_side, other_side, value))
    return Cluster(
        tuple(team.agents[members[m]] for m in order),
        tuple(-relaxation.share_of_agent(number, m) for m in order),
        tuple(pairs),
    )
