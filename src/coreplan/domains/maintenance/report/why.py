"""The section on why works start when they do."""

from __future__ import annotations

from typing import Any

from coreplan.domains.maintenance.reasons import find_reasons
from coreplan.domains.maintenance.report.findings import Findings
from coreplan.domains.maintenance.view.reasons_text import NOTE, STOPPED, reason_in_words
from coreplan.support.language import say, say_marked

WORK = 10.0
"""The most work for the reasons, in units of about a second: a page must not take minutes."""

MOST_WORKS = 48
"""The most works of a plan that are explained: each one takes several solves."""


def why_data(findings: Findings, time_limit: float) -> dict[str, Any]:
    """A sentence for every work that starts if nothing is delayed, and a note for all of them."""
    works = sum(len(each.tasks) for each in findings.problem.contractors)
    if works > MOST_WORKS:
        note = say(
            "This plan has too many works to explain them all here: coreplan plan --why does so."
        )
        return {"sentences": [], "note": note}
    reasons = find_reasons(findings.plan.policy, work_limit=WORK, time_limit=time_limit)
    sentences = [reason_in_words(each, findings.calendar) for each in reasons.reasons]
    notes = [say_marked(NOTE)] if sentences else [say("No work starts if nothing is delayed.")]
    if not reasons.complete:
        notes.append(say_marked(STOPPED))
    return {"sentences": sentences, "note": " ".join(notes)}
