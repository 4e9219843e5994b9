"""Experiments: whether a supposed cause of a difference from the paper is its cause.

An experiment changes one circumstance: another variant of an algorithm, another limit, another
parameter of the instances, or a part of them. The rule of the claim is then applied again. If it
agrees now, the cause is confirmed.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from coreplan.bench.claims.check import check_claims
from coreplan.bench.claims.evidence import (
    AS_PUBLISHED,
    EARLIER,
    EXPECTED,
    REMEMBERING,
    Evidence,
    Reading,
    changed_parameters,
    default_rows,
)
from coreplan.bench.claims.rules import RULES
from coreplan.bench.claims.verdicts import Claim, Finding, Verdict
from coreplan.bench.markdown import safe, table
from coreplan.bench.store import Row
from coreplan.bench.variants import Variant, variant_of

Change = Callable[[Sequence[Row]], Evidence]
"""Makes the evidence of an experiment from all stored solves."""


@dataclass(frozen=True)
class Experiment:
    """A test of one supposed cause.

    Attributes
    ----------
    name
        Its short name.
    cause
        The supposed cause of a difference.
    change
        The changed circumstance.
    claims
        Keys of the claims that the cause may explain.
    evidence
        Makes the evidence from all stored solves.
    reading
        The variants of the algorithms.
    """

    name: str
    cause: str
    change: str
    claims: tuple[str, ...]
    evidence: Change
    reading: Reading = AS_PUBLISHED


@dataclass(frozen=True)
class Trial:
    """The result of an experiment for one claim.

    Attributes
    ----------
    claim
        The claim that differs.
    experiment
        The experiment; None if the claim has none.
    finding
        The finding with the changed circumstance.
    """

    claim: Claim
    experiment: Experiment | None
    finding: Finding | None = None

    @property
    def outcome(self) -> str:
        """What the experiment shows, in words."""
        if self.experiment is None or self.finding is None:
            return "no experiment"
        return {
            Verdict.AGREE: "confirmed: the claim agrees with this change",
            Verdict.DIFFER: "not confirmed: the claim still differs",
            Verdict.NOT_MEASURED: "not run",
        }[self.finding.verdict]


def _usual(rows: Sequence[Row]) -> Evidence:
    return Evidence(default_rows(rows))


def _within(limit: float) -> Change:
    return lambda rows: _usual(rows).within(limit)


def _where(keep: Callable[[Row], bool]) -> Change:
    return lambda rows: _usual(rows).where(keep)


def _changed(**parameters: object) -> Change:
    """The instances that differ from the defaults of their set in these parameters alone."""

    def evidence(rows: Sequence[Row]) -> Evidence:
        return Evidence(row for row in rows if changed_parameters(row) == parameters)

    return evidence


_EQUAL = ("half-equal", "half-equal-rand3", "half-equal-rand4", "half-equal-rand5")
_LOSS = ("mean-loss", "worst-loss")
_WORK = ("decimated", "reduced-further", "orders-of-magnitude")
_SPUDD = ("more-than-spudd", "faster", "coverage", "failed", "spudd-failed")
_SOLVED = ("pairs-solved", "four-agents", "more-than-crg-ps", *_SPUDD)
_PYRAMIDS = ("quarter", "larger-teams", "beyond")

EXPERIMENTS: tuple[Experiment, ...] = (
    Experiment(
        "no idle steps",
        "Idle steps let decentralised plans avoid each other without a loss.",
        "the random instances with `idle: 0`",
        _EQUAL[2:],  # rand3 has no idle step in any case
        _changed(idle=0),
    ),
    Experiment(
        "half of the interactions",
        "With interactions of all pairs of works, decentralised plans lose more often.",
        "the random instances with `density: 0.5`",
        _EQUAL,
        _changed(density=0.5),
    ),
    Experiment(
        "cheap work",
        "The cost of work, which no plan avoids, makes the loss relatively small.",
        "coordint with a fiftieth of the cost of work (`cost: 0.02`)",
        _LOSS,
        _changed(cost=0.02),
    ),
    Experiment(
        "free work",
        "The cost of work, which no plan avoids, makes the loss relatively small.",
        "coordint with work that costs nothing (`cost: 0`)",
        _LOSS,
        _changed(cost=0.0),
    ),
    Experiment(
        "cheap work, rarer delays",
        "The cost of work lowers the relative loss, and so do delays that are nearly certain: "
        "agents need not see them.",
        "coordint with `cost: 0.02` and `probability: 0.85`",
        _LOSS,
        _changed(cost=0.02, probability=0.85),
    ),
    Experiment(
        "sparse interactions",
        "The paper's interactions are sparser than those of the authors' example.",
        "mpp with one pair of works per edge (`links: 1`)",
        (*_WORK, *_SOLVED),
        _changed(links=1),
    ),
    Experiment(
        "long horizons",
        "The reduction grows with the horizon; short horizons lower the mean.",
        "only the instances of mpp with horizons 8 to 10",
        _WORK,
        _where(lambda row: row.set == "mpp" and row.parameters["horizon"] >= 8),
    ),
    Experiment(
        "three agents",
        "The reduction grows with the team; two agents lower the mean.",
        "only the instances of mpp with 3 agents",
        _WORK,
        _where(lambda row: row.set == "mpp" and row.parameters["agents"] == 3),
    ),
    Experiment(
        "no pairs",
        "Teams of two take milliseconds; the time to build the graphs decides.",
        "only the instances of mpp with 3 agents",
        ("faster",),
        _where(lambda row: row.set == "mpp" and row.parameters["agents"] == 3),
    ),
    Experiment(
        "expected bounds",
        "The bounds of the paper's equation prune less than those of its figure.",
        "the same instances with `bounds: expected`",
        (*_WORK[1:], *_SOLVED, *_PYRAMIDS),
        _usual,
        EXPECTED,
    ),
    Experiment(
        "memory",
        "The published searches solve the same joint states again and again.",
        "the same instances with searches that remember (`memo: true`)",
        (*_WORK, *_SOLVED, *_PYRAMIDS),
        _usual,
        REMEMBERING,
    ),
    Experiment(
        "earlier reading",
        "Plans of single agents that are computed once leave less for bounds to prune.",
        "the same instances with `decouple: search` and `action_order: listed`",
        ("reduced-further", "more-than-crg-ps"),
        _usual,
        EARLIER,
    ),
    Experiment(
        "10 seconds",
        "The limit is too long, for this machine and this code, to tell the algorithms apart.",
        "the same solves as if stopped after 10 s",
        (*_SOLVED, "larger-teams"),
        _within(10.0),
    ),
    Experiment(
        "1 second",
        "The limit is too long, for this machine and this code, to tell the algorithms apart.",
        "the same solves as if stopped after 1 s",
        (*_SOLVED, "larger-teams"),
        _within(1.0),
    ),
    Experiment(
        "two tasks",
        "The paper's pyramids have fewer tasks.",
        "pyramids with `tasks: 2`",
        _PYRAMIDS,
        _changed(tasks=2),
    ),
)
"""All experiments."""


def explain(rows: Iterable[Row], claims: Sequence[Claim] | None = None) -> list[Trial]:
    """Run the experiments for all claims that differ.

    Parameters
    ----------
    rows
        All stored solves, with those that only experiments need.
    claims
        The checked claims; by default they are checked here.

    Returns
    -------
    list
        For each claim that differs, a trial of each of its experiments, or one without any.
    """
    rows = list(rows)
    claims = check_claims(rows) if claims is None else claims
    rules = {rule.key: rule for rule in RULES}
    made: dict[str, Evidence] = {}
    trials = []
    for claim in claims:
        if claim.verdict is not Verdict.DIFFER:
            continue
        own = [each for each in EXPERIMENTS if claim.key in each.claims]
        for experiment in own:
            if experiment.name not in made:
                made[experiment.name] = experiment.evidence(rows)
            finding = rules[claim.key].find(made[experiment.name], experiment.reading)
            trials.append(Trial(claim, experiment, finding))
        if not own:
            trials.append(Trial(claim, None))
    return trials


def experiments_table(trials: Sequence[Trial]) -> Iterator[str]:
    """The lines of the tables of experiments, one for each claim."""
    if not trials:
        yield "No claim differs; no cause has to be tested."
        return
    yield (
        "For each claim that differs: supposed causes, each tested with one changed circumstance "
        "and the same rule. A cause that the experiment does not confirm is not the reason, or not "
        "the only one."
    )
    for claim, group in itertools.groupby(trials, key=lambda trial: trial.claim):
        yield ""
        yield f"**{safe(claim.statement)}**: {safe(claim.measured)}."
        yield ""
        rows = []
        for trial in group:
            experiment, finding = trial.experiment, trial.finding
            rows.append(
                [
                    "" if experiment is None else experiment.cause,
                    "" if experiment is None else experiment.change,
                    "" if finding is None else finding.measured,
                    trial.outcome,
                ]
            )
        yield from table(["supposed cause", "experiment", "measured then", "outcome"], rows)


def figure_rows(rows: Iterable[Row]) -> list[Row]:
    """The solves for figures and summaries: those that only experiments need are left out."""
    apart = {Variant(name, options) for name, options in EARLIER.options.items()}
    return [row for row in default_rows(rows) if variant_of(row) not in apart]
