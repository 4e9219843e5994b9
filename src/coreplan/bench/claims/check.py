"""The check of all claims: each in the reading as published, and in the others beside it."""

from __future__ import annotations

from collections.abc import Iterable

from coreplan.bench.claims.evidence import AS_PUBLISHED, EXPECTED, STAGES, Evidence, default_rows
from coreplan.bench.claims.rules import RULES
from coreplan.bench.claims.verdicts import Claim, Rule, Verdict
from coreplan.bench.store import Row

READINGS = (EXPECTED, STAGES)
"""Readings of the paper that stand beside the one as published, where a claim depends on them."""


def check_claims(rows: Iterable[Row]) -> list[Claim]:
    """Check every claim of the paper's evaluation, in the paper's order.

    Solves of instances with other parameters than the defaults of their set do not count if the
    set has solves with the defaults.
    """
    evidence = Evidence(default_rows(rows))
    return [_check(rule, evidence) for rule in RULES]


def _check(rule: Rule, evidence: Evidence) -> Claim:
    finding = rule.find(evidence, AS_PUBLISHED)
    beside = []
    for reading in READINGS:
        if set(rule.names) & set(reading.options):
            other = rule.find(evidence, reading)
            # Without SPUDD's reference encoding, both readings of SPUDD are the same solves.
            if other.verdict is not Verdict.NOT_MEASURED and other != finding:
                beside.append((reading.label, other))
    return Claim(rule, finding, tuple(beside))
