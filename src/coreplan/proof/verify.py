"""Checking a solver's bounds: ``verify(problem, certificate)``.

The upper bound is recomputed from the description of the problem and the classes, clusters and
shares of the certificate. The lower bound is the exact value of the policy. The core takes no part.
docs/certificate.md explains why this is a proof, and gives the error budget.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coreplan.errors import SolverError
from coreplan.model.indexed import IndexedProblem
from coreplan.model.problem import PlanningProblem
from coreplan.policies.evaluation import evaluate_and_count
from coreplan.proof.certificate import Certificate, read_certificate
from coreplan.proof.classes import ClassModel, Listing, RefusalError, make_classes
from coreplan.proof.elimination import Needed, find_needed
from coreplan.proof.local import UNIT, Rewards, local_models
from coreplan.proof.relaxation import MOST_CELLS, Relaxation
from coreplan.proof.search import RecordCheck, SearchBound

CLAIM_TOLERANCE = 1e-9
"""The part of the scale by which a recomputed bound may be worse than the claim."""
MOST_JOINT_STATES = 200_000
"""The default for the most joint states of one stage that the policy may reach."""
LARGEST = 1e150
"""The largest number that the verifier computes with."""


@dataclass(frozen=True)
class Verification:
    """The recomputed bounds of a certificate, compared with its claims.

    Attributes
    ----------
    problem
        Name of the problem.
    lower, upper
        Proven bounds on the optimal value, including all rounding; None without a proof.
    lower_claimed, upper_claimed
        The claims of the certificate.
    lower_error, upper_error
        The rounding errors that `lower` and `upper` include.
    tolerance
        The amount by which a proven bound may be worse than the claim.
    lower_proven, upper_proven
        Whether the claims are confirmed.
    seconds
        Wall time.
    notes
        Reasons for missing proofs, and other remarks.
    records
        The number of records of a search that were checked for the upper bound.
    records_wrong
        The number of records that claim more than they prove. If it is not 0, the claimed upper
        bound is not confirmed; `upper` does not rest on their claims.
    """

    problem: str
    lower: float | None
    upper: float | None
    lower_claimed: float
    upper_claimed: float
    lower_error: float
    upper_error: float
    tolerance: float
    lower_proven: bool
    upper_proven: bool
    seconds: float
    notes: tuple[str, ...] = ()
    records: int = 0
    records_wrong: int = 0

    @property
    def confirmed(self) -> bool:
        """Whether both claims are confirmed."""
        return self.lower_proven and self.upper_proven

    @property
    def gap(self) -> float | None:
        """The difference of the proven bounds."""
        if self.lower is None or self.upper is None:
            return None
        return self.upper - self.lower

    @property
    def gap_claimed(self) -> float:
        """The difference of the claimed bounds."""
        return self.upper_claimed - self.lower_claimed

    def to_dict(self) -> dict[str, Any]:
        """Turn the verification into plain values, for JSON."""
        return {
            "problem": self.problem,
            "confirmed": self.confirmed,
            "lower": self.lower,
            "upper": self.upper,
            "gap": self.gap,
            "lower_claimed": self.lower_claimed,
            "upper_claimed": self.upper_claimed,
            "gap_claimed": self.gap_claimed,
            "lower_proven": self.lower_proven,
            "upper_proven": self.upper_proven,
            "lower_error": self.lower_error,
            "upper_error": self.upper_error,
            "records": self.records,
            "records_wrong": self.records_wrong,
            "tolerance": self.tolerance,
            "seconds": self.seconds,
            "notes": list(self.notes),
        }

    def __str__(self) -> str:
        lines = []
        for side, words in (("lower", "at least"), ("upper", "at most")):
            claimed = getattr(self, f"{side}_claimed")
            value, error = getattr(self, side), getattr(self, f"{side}_error")
            if getattr(self, f"{side}_proven"):
                said = f"confirmed: the optimal value is {words} {value:.12g}"
            elif value is None:
                said = "NOT CONFIRMED"
            else:
                said = f"NOT CONFIRMED: the certificate proves {words} {value:.12g}"
            counted = "" if value is None else f" (rounding: {error:.2g})"
            lines.append(f"{side} bound {claimed:.12g}: {said}{counted}")
        if self.records:
            right = f"{self.records - self.records_wrong:,} of {self.records:,}"
            said = "all confirmed" if not self.records_wrong else f"{right} confirmed"
            lines.append(f"records of the search behind the upper bound: {self.records:,}, {said}")
        if self.gap is not None:
            lines.append(f"proven gap: {self.gap:.6g}")
        return "\n".join([*lines, *self.notes])


def verify(
    problem: PlanningProblem,
    certificate: Certificate | str | Path,
    *,
    most_cells: int = MOST_CELLS,
    most_joint_states: int = MOST_JOINT_STATES,
) -> Verification:
    """Recompute both bounds of a certificate.

    Parameters
    ----------
    problem
        The problem that it was made for.
    certificate
        A file in the format ``certificate/1``, or its content.
    most_cells
        The most joint states of a cluster at one stage.
    most_joint_states
        The most joint states of one stage that the policy may reach.

    Raises
    ------
    FormatError
        If the file is not a certificate for this problem.
    """
    start = time.perf_counter()
    if not isinstance(certificate, Certificate):
        certificate = read_certificate(certificate, problem)
    notes: list[str] = []
    with np.errstate(all="ignore"):
        team = _Team(certificate.indexed)
        upper, upper_error, shown = _recompute_upper(certificate, team, most_cells, notes)
    lower, lower_error = _recompute_lower(certificate, team, most_joint_states, notes)
    tolerance = CLAIM_TOLERANCE * team.scale
    wrong = 0 if shown is None else shown.wrong
    return Verification(
        problem=problem.name,
        lower=lower,
        upper=upper,
        lower_claimed=certificate.lower,
        upper_claimed=certificate.upper,
        lower_error=lower_error,
        upper_error=upper_error,
        tolerance=tolerance,
        lower_proven=lower is not None and lower >= certificate.lower - tolerance,
        upper_proven=upper is not None and upper <= certificate.upper + tolerance and not wrong,
        seconds=time.perf_counter() - start,
        notes=tuple(notes),
        records=0 if shown is None else shown.records,
        records_wrong=wrong,
    )


def prove_upper(certificate: Certificate) -> tuple[float | None, SearchBound | None, float]:
    """The upper bound that a certificate proves, the bound of its records, and the tolerance.

    Writers of certificates use this: a claim is confirmed if it is at least the bound minus the
    tolerance.
    """
    with np.errstate(all="ignore"):
        team = _Team(certificate.indexed)
        upper, _, shown = _recompute_upper(certificate, team, MOST_CELLS, [])
    return upper, shown, CLAIM_TOLERANCE * team.scale


class _Team:
    """The single agents, and the sizes of numbers on which error bounds depend."""

    def __init__(self, indexed: IndexedProblem) -> None:
        sizes = [abs(e.value) for e in indexed.entries]
        sizes += [max(map(abs, e.values)) for e in indexed.aggregates]
        if math.fsum(sizes) * indexed.horizon > LARGEST:
            raise SolverError(
                "the rewards of this problem are too large to verify; scale them down"
            )
        self.rewards = Rewards(indexed)
        self.agents = local_models(indexed, self.rewards)
        layers = range(indexed.horizon - indexed.stage)
        self.earned = np.zeros(len(layers))
        """For each stage: a bound on the absolute reward, without constants."""
        interactions = 0.0
        for t in layers:
            best = [
                agent.factors[np.unique(agent.layers[t].row_choice)].max(axis=0)
                for agent in self.agents
            ]
            shared = self.rewards.interactions(indexed.stage + t).size(best)
            interactions += shared
            self.earned[t] = shared + sum(agent.largest_reward[t] for agent in self.agents)
        self.scale = (
            self.rewards.constant_size
            + sum(a.largest_value + float(a.largest_reward.max()) for a in self.agents)
            + interactions
        )

    def mass_error(self) -> float:
        """The error from scaling probabilities so that they add up to 1.

        The probability of a history changes by a factor of at most 1 + d for each agent and stage,
        where d is the largest deviation of the agent's distributions at that stage.
        """
        grown = self._growth()
        return float(np.sum(self.earned * grown)) + self.rewards.constant_size * float(grown[-1])

    def _growth(self) -> NDArray[np.float64]:
        factors = [
            sum(math.log1p(agent.mass_deviation(t)) for agent in self.agents)
            for t in range(len(self.earned))
        ]
        grown: NDArray[np.float64] = np.expm1(np.cumsum(factors))
        return grown

    def all_earned(self) -> float:
        """A bound on the absolute value of the total reward."""
        total = float(self.earned.sum()) + self.rewards.constant_size
        return total * (1 + float(self._growth()[-1]))


def _recompute_upper(
    certificate: Certificate, team: _Team, most_cells: int, notes: list[str]
) -> tuple[float | None, float, SearchBound | None]:
    try:
        listings = [
            Listing(agent, classes)
            for agent, classes in zip(team.agents, certificate.agents, strict=True)
        ]
        needed = find_needed(team.agents, team.rewards, [each.listed for each in listings])
        shared = {i for cluster in certificate.clusters for p in cluster.pairs for i in p.agents}
        models = [
            make_classes(listing, needed, i, by_after=i in shared)
            for i, listing in enumerate(listings)
        ]
        relaxation = Relaxation(certificate, models, needed, most_cells)
        paid, rounding = relaxation.solve()
    except RefusalError as refusal:
        notes.append(f"no upper bound is proven: {refusal}")
        return None, 0.0, None
    except MemoryError:
        notes.append("no upper bound is proven: this machine has too little memory")
        return None, 0.0, None
    shown = _check_records(certificate, team, models, relaxation, most_cells, notes)
    if shown is not None and shown.paid - shown.error > paid:
        paid, rounding = shown.paid, rounding + shown.error
    parts = [team.rewards.constant, *(agent.alone for agent in team.agents), -paid]
    sizes = team.rewards.constant_size * (team.rewards.constants + 2) + sum(map(abs, parts))
    error = math.fsum(
        [
            rounding,
            team.mass_error(),
            *(float(agent.shaping_error.sum()) for agent in team.agents),
            needed.error,
            team.rewards.sum_error,
            _merging_error(models, needed),
            4 * UNIT * sizes,
        ]
    )
    upper = math.fsum(parts) + error
    if not math.isfinite(upper):
        notes.append("no upper bound is proven: the shares overflow")
        return None, 0.0, shown
    return upper, error, shown


def _check_records(
    certificate: Certificate,
    team: _Team,
    models: Sequence[ClassModel],
    relaxation: Relaxation,
    most_cells: int,
    notes: list[str],
) -> SearchBound | None:
    """Compute the bound of the records of a search, if any."""
    if certificate.search is None:
        return None
    try:
        check = RecordCheck(
            certificate.search, models, relaxation, most_cells, CLAIM_TOLERANCE * team.scale
        )
        shown = check.solve()
    except RefusalError as refusal:
        notes.append(f"the records of the search prove nothing: {refusal}")
        return None
    except MemoryError:
        notes.append("the records of the search prove nothing: this machine has too little memory")
        return None
    if shown.wrong:
        notes.append(shown.worst)
    return shown


def _merging_error(models: Sequence[ClassModel], needed: Needed) -> float:
    """The error from merging similar probabilities.

    If D is the optimum of the classes, a plan of the states costs at least D - error. At each
    stage, distributions that differ by d, summed over classes, change an expectation by at most d
    times the largest |D| of the next stage. The losses and all interactions bound that |D|.
    """
    layers = len(needed.live)
    losses = sum(model.alone() for model in models)
    later = np.zeros(layers + 1)
    for t in range(layers - 1, -1, -1):
        later[t] = later[t + 1] + needed.live[t].size(needed.best[t])
    error = 0.0
    for t in range(layers):
        largest = float(later[t + 1]) + float(np.asarray(losses)[t + 1])
        error += float(sum(model.law_error[t] for model in models)) * largest
        chances = float(sum(model.factor_error[t] for model in models))
        error += chances * needed.live[t].sum_of_values
    return error


def _recompute_lower(
    certificate: Certificate, team: _Team, most_joint_states: int, notes: list[str]
) -> tuple[float | None, float]:
    policy = certificate.policy
    if policy is None:
        notes.append("no lower bound is proven: the certificate has no policy")
        return None, 0.0
    indexed = certificate.indexed
    try:
        value, terms = evaluate_and_count(policy, most=most_joint_states)
    except SolverError as reason:
        notes.append(f"no lower bound is proven: {reason}")
        return None, 0.0
    # Bounds the number of terms of every sum, and the number of factors of every probability.
    operations = 2 * terms + (indexed.horizon - indexed.stage) * (len(indexed.agents) + 4)
    error = operations * UNIT * (abs(value) + team.all_earned())
    return value - error, error
