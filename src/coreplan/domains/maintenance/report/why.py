"""The section on why works start when they do."""

from __future__ import annotations

from typing import Any

from coreplan.domains.maintenance.reasons import find_reasons
from coreplan.domains.maintenance.report.findings import Findings
from coreplan.domains.maintenance.view.reasons_text import NOTE, STOPPED, reason_in_words
from coreplan.support.language import say, say_marked

WORK = 10.0
"""The most work for the reasons, in units of about a second: a page must not take minutes."""


def why_data(findings: Findings, time_limit: float) -> dict[str, Any]:
    """A sentence for every work that starts if nothing is delayed, and a note for all of them."""
    reasons = find_reasons(findings.plan.policy, work_limit=WORK, time_limit=time_limit)
    sentences = [reason_in_words(each, findings.calendar) for each in reasons.reasons]
    notes = [say_marked(NOTE)] if sentences else [say("No work starts if nothing is delayed.")]
    if not reasons.complete:
        notes.append(say_marked(STOPPED))
    return {"sentences": sentences, "note": " ".join(notes)}
