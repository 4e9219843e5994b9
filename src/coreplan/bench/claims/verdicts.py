"""Rules for the paper's claims, and what they find."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from coreplan.bench.claims.evidence import Evidence, Reading


class Verdict(StrEnum):
    """The outcome of the check of a claim."""

    AGREE = "agree"
    DIFFER = "differ"
    NOT_MEASURED = "not measured"


@dataclass(frozen=True)
class Finding:
    """A measurement, with the verdict of the rule.

    Attributes
    ----------
    measured
        The measurement in words, with the number of instances; empty if nothing was measured.
    short
        The same for a cell of a table: the number alone.
    verdict
        Whether the measurement agrees.
    """

    measured: str
    short: str
    verdict: Verdict

    def to_dict(self) -> dict[str, str]:
        """All attributes by name."""
        return {"measured": self.measured, "short": self.short, "verdict": str(self.verdict)}


def judge(agrees: bool, measured: str, short: str) -> Finding:
    """A finding that agrees or differs."""
    return Finding(measured, short, Verdict.AGREE if agrees else Verdict.DIFFER)


NOTHING = Finding("", "", Verdict.NOT_MEASURED)
"""The finding without the solves that a rule needs."""


@dataclass(frozen=True)
class Rule:
    """A claim of the paper's evaluation, with the rule that decides it.

    Attributes
    ----------
    key
        Its short name.
    statement
        The paper's statement.
    place
        Where the paper makes it.
    rule
        The measurement that counts as agreement.
    needs
        The solves that the rule needs.
    measure
        Applies the rule to solves, in a reading of the paper; None without these solves.
    names
        Algorithms of the statement that have more than one reading.
    """

    key: str
    statement: str
    place: str
    rule: str
    needs: str
    measure: Callable[[Evidence, Reading], Finding | None]
    names: tuple[str, ...] = ()

    def find(self, evidence: Evidence, reading: Reading) -> Finding:
        """Apply the rule to solves, in a reading of the paper."""
        return self.measure(evidence, reading) or NOTHING


@dataclass(frozen=True)
class Claim:
    """A claim of the paper, checked.

    Attributes
    ----------
    rule
        The statement, its place in the paper, and the rule.
    finding
        The measurement of the algorithms as published, and the verdict.
    beside
        The findings of other readings of the paper that the statement depends on and that were
        run, by the label of the reading.
    """

    rule: Rule
    finding: Finding
    beside: tuple[tuple[str, Finding], ...] = ()

    @property
    def key(self) -> str:
        """The rule's short name."""
        return self.rule.key

    @property
    def statement(self) -> str:
        """The paper's statement."""
        return self.rule.statement

    @property
    def measured(self) -> str:
        """The measurement in words."""
        return self.finding.measured

    @property
    def verdict(self) -> Verdict:
        """Whether the measurement agrees."""
        return self.finding.verdict

    def to_dict(self) -> dict[str, Any]:
        """All attributes by name."""
        return {
            "key": self.key,
            "statement": self.statement,
            "place": self.rule.place,
            "rule": self.rule.rule,
            "needs": self.rule.needs,
            **self.finding.to_dict(),
            "beside": {label: finding.to_dict() for label, finding in self.beside},
        }
