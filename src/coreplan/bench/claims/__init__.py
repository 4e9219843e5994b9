"""The paper's claims: rules, verdicts, and how the rules changed.

:func:`check_claims` applies the rules to stored solves; :mod:`coreplan.bench.claims.tables` writes
the results in Markdown.
"""

from coreplan.bench.claims.check import READINGS, check_claims
from coreplan.bench.claims.evidence import Evidence, Reading, default_rows
from coreplan.bench.claims.rules import RULES
from coreplan.bench.claims.verdicts import Claim, Finding, Rule, Verdict

__all__ = [
    "READINGS",
    "RULES",
    "Claim",
    "Evidence",
    "Finding",
    "Reading",
    "Rule",
    "Verdict",
    "check_claims",
    "default_rows",
]
