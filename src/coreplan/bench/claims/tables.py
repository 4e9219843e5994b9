"""The claims, and how their rules changed, as Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from coreplan.bench.claims.check import READINGS
from coreplan.bench.claims.history import PAST
from coreplan.bench.claims.verdicts import Claim, Finding, Verdict
from coreplan.bench.markdown import table
from coreplan.view.words import count


def claims_table(claims: Sequence[Claim]) -> Iterator[str]:
    """The lines of the table of claims; other readings of the paper have columns of their own."""
    tally = [f"{sum(claim.verdict is each for claim in claims)} {each}" for each in Verdict]
    yield f"Of {count(len(claims), 'claim')}: {', '.join(tally)}. The verdict follows the rule."
    yield ""
    yield (
        "CoRe is `core-2016` with the bounds of the paper's equation; a column beside it has the "
        "verdict with the bounds of the paper's figure of the search (`bounds: expected`). SPUDD "
        "solves the model that its users write (`encoding: reference`) if that was run; a column "
        "beside it has the verdict with SPUDD on the reachable states of each stage."
    )
    yield ""
    labels = [reading.label for reading in READINGS]
    heads = ["the paper", "place", "rule", "measured", "verdict", *labels]
    yield from table(heads, (_cells(claim, labels) for claim in claims))


def _cells(claim: Claim, labels: Sequence[str]) -> list[str]:
    missing = claim.verdict is Verdict.NOT_MEASURED
    beside = dict(claim.beside)
    return [
        claim.statement,
        claim.rule.place,
        claim.rule.rule,
        f"needs {claim.rule.needs}" if missing else claim.measured,
        str(claim.verdict),
        *(_beside(beside.get(label)) for label in labels),
    ]


def _beside(finding: Finding | None) -> str:
    return "" if finding is None else f"{finding.verdict}: {finding.measured}"


def history_table(claims: Sequence[Claim]) -> Iterator[str]:
    """The lines of the table of changed rules: rule and verdict before, rule and verdict now."""
    yield (
        "The rules before judged another run: other searches, 60 instances of mpp per team size, "
        "10 s for most solves, and parameters of test sets that had been chosen by some of the "
        "claims."
    )
    yield ""
    now = {claim.key: claim for claim in claims}
    heads = ["the paper", "rule then", "measured then", "verdict then", "rule now", "verdict now"]
    rows = []
    for past in PAST:
        claim = now[past.key]
        then = [claim.statement, past.rule, past.measured, str(past.verdict)]
        rows.append([*then, claim.rule.rule, str(claim.verdict), past.change])
    known = {past.key for past in PAST}
    for claim in claims:
        if claim.key not in known:
            then = [claim.statement, "", "", ""]
            rows.append([*then, claim.rule.rule, str(claim.verdict), "A new rule."])
    yield from table([*heads, "change"], rows)
