"""Certificates of the engine's bounds, which anybody can check."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from coreplan import _core
from coreplan.policies.policy import Policy
from coreplan.policies.rules import LocalMap, Reduced
from coreplan.proof.certificate import (
    MOST_COMBINATIONS,
    Certificate,
    Cluster,
    GroupRecords,
    PairShare,
    Search,
    agent_classes,
)
from coreplan.proof.local import agents_looked_at
from coreplan.proof.verify import prove_upper
from coreplan.solving.compile import AnyProblem, CompiledProblem
from coreplan.solving.engine.team import Team

logger = logging.getLogger(__name__)

MOST_RECORDS = 200_000
"""Most records of a search that a certificate lists."""
MOST_EXPANDED = 20_000_000
"""Most records of a search to look through for the important ones."""
MOST_WORK = 1e9
"""Most combinations of actions and outcomes in all records together: minutes to check."""
HIDDEN = np.uint32(2**31)
"""From here on, numbers of `where` are after-states whose outcomes are not revealed."""


@dataclass(frozen=True, eq=False)
class TeamProof:
    """The records of a team's search, in the problem's own numbers of agents."""

    upper: float
    """The bound that they prove."""
    groups: tuple[GroupRecords, ...]
    solved: tuple[tuple[int, ...], ...]


Claim = Callable[[Sequence["TeamProof | None"]], float]


def certify(
    problem: AnyProblem,
    compiled: CompiledProblem,
    reduction: _core.Reduction,
    reduced: Sequence[Reduced],
    teams: Sequence[Team],
    maps: Sequence[LocalMap],
    policy: Policy,
    lower: float,
    claim: Claim,
    *,
    searches: bool = True,
) -> Certificate:
    """Build a certificate of the bounds, with the records of searches that can be checked.

    `maps` leads to the classes of the compiled model; `policy` may have classes of its own. `claim`
    gives the upper bound that follows if some teams' searches are proven and others are not. If a
    search found a better bound than the certificate proves, the log says this, with the reason.
    Without `searches`, the certificate has no records of searches, which is much faster.
    """

    def make(proofs: Sequence[TeamProof | None]) -> Certificate:
        bounds = (lower, claim(proofs))
        return _make_certificate(
            problem, compiled, reduction, reduced, teams, proofs, maps, policy, bounds
        )

    def make_plain() -> Certificate:
        made = make(nothing)
        if compiled.model.unit_mass:
            return made
        # The verifier bounds the effect of probabilities that do not sum to 1 more coarsely.
        proven, _, tolerance = prove_upper(made)
        if proven is None or proven <= made.upper + tolerance:
            return made
        return replace(made, upper=proven)

    names = compiled.indexed.agent_names
    nothing: list[TeamProof | None] = [None] * len(teams)
    if not searches:
        found = sum(max(0.0, t.certified - t.upper) for t in teams if t.search is not None)
        made = make_plain()
        if found > 0:
            _tell_weaker(
                made.upper,
                made.upper - found,
                "it has no records of the search, which take long to check",
            )
        return made
    proofs = [_prove_or_say(team, names) for team in teams]
    if all(proof is None for proof in proofs):
        return make_plain()
    whole = make(proofs)
    kept = _settle(whole, claim(nothing))
    if kept is None or kept.upper > whole.upper:
        claimed = claim(nothing) if kept is None else kept.upper
        _tell_weaker(claimed, whole.upper, "the search dropped part of its evidence")
    return make_plain() if kept is None else kept


def _tell_weaker(proven: float, found: float, reason: str) -> None:
    """Warn that the certificate proves less than the search found."""
    logger.warning(
        "%s",
        f"the certificate proves a weaker bound ({proven:.10g} instead of {found:.10g}): {reason}",
    )


def _settle(certificate: Certificate, otherwise: float) -> Certificate | None:
    """Claim the bound that the records prove; None if it is no better than without records."""
    proven, shown, tolerance = prove_upper(certificate)
    if proven is None or shown is None or certificate.search is None:
        return None
    upper = certificate.upper if proven <= certificate.upper + tolerance else proven
    if upper >= otherwise:
        return None
    groups = []
    for group, least in zip(certificate.search.groups, shown.shown, strict=True):
        reached = np.isfinite(least)
        groups.append(
            GroupRecords(
                group.agents,
                group.layer[reached],
                group.classes[reached],
                np.minimum(group.least, least)[reached],
            )
        )
    search = replace(certificate.search, groups=tuple(groups))
    return replace(certificate, upper=upper, search=search)


def _prove_or_say(team: Team, names: Sequence[str]) -> TeamProof | None:
    """The proof of a team's bound from its search, if this is its best bound."""
    if team.solution is not None or team.search is None or team.search.upper >= team.certified:
        return None
    proof = _prove(team)
    if isinstance(proof, TeamProof):
        return proof
    logger.warning(
        "%s",
        f"the certificate proves a weaker bound (by {team.certified - team.upper:.6g}) for the "
        f"team of {len(team.agents)} agents with {names[min(team.agents)]!r}: {proof}",
    )
    return None


def _prove(team: Team) -> TeamProof | str:
    """A team's proof, or the reason why it has none."""
    assert team.search is not None
    search, model = team.search, team.model
    if search.bound is None:
        return "memory was too short to keep the bounds that the search used"
    if search.expanded > MOST_EXPANDED:
        return f"its proof may have {search.expanded:,} records, more than {MOST_EXPANDED:,}"
    found = search.proof()
    widths = [_widths(model, k) for k in team.everyone]
    groups = []
    records, work = 0, 0.0
    for rows in found.groups:
        where = rows.where.reshape(-1, len(rows.agents))
        # The verifier looks at all outcomes of a record; no agent's outcome may be hidden.
        shown = np.flatnonzero((where < HIDDEN).all(axis=1))
        records += len(shown)
        if len(shown) == 0:
            continue
        where, layer = where[shown].astype(np.int64), rows.layer[shown]
        sizes = np.ones(len(shown))
        for place, k in enumerate(rows.agents):
            sizes *= widths[k][where[:, place]]
            where[:, place] -= model.layer_begin(k)[layer].astype(np.int64)
        if sizes.max() > MOST_COMBINATIONS:
            return (
                f"a record of its proof has {sizes.max():,.0f} combinations of actions or "
                f"outcomes, more than {MOST_COMBINATIONS:,}"
            )
        work += float(sizes.sum())
        who = [team.agents[k] for k in rows.agents]
        order = np.argsort(who)
        classes = where[:, order].astype(np.uint32)
        groups.append(GroupRecords(_sorted(who), layer, classes, -rows.upper[shown]))
    if records > MOST_RECORDS:
        return f"its proof has {records:,} records, more than {MOST_RECORDS:,}"
    if work > MOST_WORK:
        return f"its proof has {work:,.3g} combinations to check, more than {MOST_WORK:,.0g}"
    solved = [_sorted([team.agents[k] for k in each]) for each in found.solved if len(each) > 1]
    return TeamProof(search.upper, tuple(groups), tuple(sorted(solved)))


def _widths(model: _core.CompiledModel, agent: int) -> NDArray[np.int64]:
    """Per class: the number of its after-states or of its successors, whichever is larger."""
    begin = model.action_begin(agent).astype(np.int64)
    count = len(begin) - 1
    owner = np.repeat(np.arange(count), np.diff(begin))
    after = model.action_after(agent).astype(np.int64)
    outcomes = model.outcome_begin(agent).astype(np.int64)
    following = model.outcome_next(agent).astype(np.int64)
    widths = np.diff(outcomes)[after]
    ends = np.cumsum(widths)
    at = np.arange(int(ends[-1]) if len(ends) else 0) + np.repeat(
        outcomes[after] - (ends - widths), widths
    )
    most = np.ones(count, np.int64)
    for which, what in ((owner, after), (np.repeat(owner, widths), following[at])):
        pairs = np.unique(np.stack([which, what]), axis=1)
        most = np.maximum(most, np.bincount(pairs[0], minlength=count))
    return most


def _make_certificate(
    problem: AnyProblem,
    compiled: CompiledProblem,
    reduction: _core.Reduction,
    reduced: Sequence[Reduced],
    teams: Sequence[Team],
    proofs: Sequence[TeamProof | None],
    maps: Sequence[LocalMap],
    policy: Policy,
    bounds: tuple[float, float],
) -> Certificate:
    """The classes of local states, every cluster's shares, records of searches, and the policy."""
    model = reduction.model
    clusters: list[Cluster] = []
    taken: set[int] = set()
    looked_at = agents_looked_at(compiled.indexed)
    prices: list[NDArray[np.float64] | None] = [None] * len(compiled.indexed.aggregates)
    for team, proof in zip(teams, proofs, strict=True):
        source: _core.Relaxation | _core.RelaxationBound | None = team.relaxation
        owners: dict[frozenset[int], int] = {}
        if proof is not None and team.search is not None:
            source = team.search.bound  # the shares that the search uses
        if team.solution is not None or source is None:
            # One cluster gets all costs: a team without a relaxation has no shares.
            parts = [] if team.solution is None else [Cluster(_sorted(team.agents), _none(team))]
        else:
            parts = [_cluster(model, team, source, c) for c in range(len(source.clusters))]
            owners = _owners(team, source)
            for number, stages, given in source.prices:
                if any(given):
                    here = prices[number] = np.zeros(model.horizon - model.first_stage)
                    here[stages] = given
        for c, part in enumerate(parts):
            wide = tuple(
                e
                for e, agents in enumerate(looked_at)
                if e not in taken
                and len(agents) > 2
                and agents <= {*part.agents}
                and owners.get(agents, c) == c
            )
            taken.update(wide)
            clusters.append(Cluster(part.agents, part.shares, part.pairs, wide))
    return Certificate(
        problem,
        compiled.indexed,
        *bounds,
        tuple(
            agent_classes(maps[i], reduced[i], model.action_begin(i), model.action_after(i))
            for i in range(len(compiled.indexed.agents))
        ),
        tuple(clusters),
        policy,
        history=not compiled.merged,
        search=_search([proof for proof in proofs if proof is not None]),
        prices=() if all(each is None for each in prices) else tuple(prices),
    )


def _owners(
    team: Team, relaxation: _core.Relaxation | _core.RelaxationBound
) -> dict[frozenset[int], int]:
    """The clusters that answer for interactions of three and more agents, by these agents."""
    interactions = team.model.interactions()
    return {
        frozenset(team.agents[k] for k, _ in interactions[e][0]): c
        for c in range(len(relaxation.clusters))
        for e in relaxation.wide_of(c)
    }


def _search(proofs: Sequence[TeamProof]) -> Search | None:
    if not proofs:
        return None
    return Search(
        tuple(group for proof in proofs for group in proof.groups),
        tuple(each for proof in proofs for each in proof.solved),
    )


def _sorted(agents: Sequence[int]) -> tuple[int, ...]:
    return tuple(sorted(agents))


def _none(team: Team) -> tuple[None, ...]:
    return (None,) * len(team.agents)


def _cluster(
    model: _core.CompiledModel,
    team: Team,
    relaxation: _core.Relaxation | _core.RelaxationBound,
    number: int,
) -> Cluster:
    """A relaxation's cluster in the problem's own numbers of agents; shares are of costs."""
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
