"""Runs campaigns for a time, shrinks what fails and writes it to the corpus."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from explore import certificates, configurations, corpus, files, limits, problems, signals
from explore.campaign import Campaign, Case, failure_of
from explore.complaint import Complaint
from explore.shrinking import shrink

CAMPAIGNS: dict[str, Campaign] = {
    module.CAMPAIGN.name: module.CAMPAIGN
    for module in (problems, configurations, limits, certificates, files, signals)
}
"""The campaigns by name."""

MOST_SAVED = 2
"""Cases that are shrunk and saved for one check of one campaign in a run."""

Say = Callable[[str], object]


def explore(
    names: Sequence[str], minutes: float, seed: int, path: Path, say: Say = print
) -> Counter[str]:
    """Run campaigns one after the other; how many cases of each failed."""
    chosen = [CAMPAIGNS[name] for name in names]
    whole = sum(campaign.share for campaign in chosen)
    failed: Counter[str] = Counter()
    for campaign in chosen:
        seconds = 60 * minutes * campaign.share / whole
        failed[campaign.name] += run_campaign(campaign, seconds, seed, path, say)
    return failed


def run_campaign(campaign: Campaign, seconds: float, seed: int, path: Path, say: Say) -> int:
    """Check cases of successive seeds until the time is over; at least one. How many failed."""
    until = time.monotonic() + seconds
    checks: Counter[str] = Counter()
    number = seed
    say(f"{campaign.name}: seeds from {seed}, {seconds:.0f} s")
    while number == seed or time.monotonic() < until:
        check_seed(campaign, number, checks, path, say)
        number += 1
    failures = sum(checks.values())
    said = "; ".join(f"{count} × {check}" for check, count in checks.most_common())
    say(f"{campaign.name}: {number - seed} cases, {failures} failed{': ' + said if said else ''}")
    return failures


def check_seed(campaign: Campaign, number: int, checks: Counter[str], path: Path, say: Say) -> None:
    """Check the case of one seed; shrink, say and save a failure."""
    case = campaign.draw(number)
    # Insisting on an end takes minutes; a few findings of that kind are enough.
    if "patience" in case and checks[f"core: {problems.ENDLESS}"] >= MOST_SAVED:
        case["patience"] = 0.0
    complaint = failure_of(campaign, case)
    if complaint is None:
        return
    checks[complaint.check] += 1
    say(f"  seed {number}: {complaint}")
    if checks[complaint.check] > MOST_SAVED:
        return
    case, complaint = _shrink_for_good(campaign, case, complaint)
    saved = corpus.append(path, campaign.name, number, case, complaint)
    say(f"    shrunk: {complaint}")
    say(f"    {'appended to' if saved else 'already in'} {path}")
    say(f"    replay: python -m explore --only {campaign.name} --replay {number}")


def _shrink_for_good(
    campaign: Campaign, case: Case, complaint: Complaint
) -> tuple[Case, Complaint]:
    """Shrink; what was cut short for that must fail with all patience, too."""
    smaller, found = shrink(campaign, case, complaint)
    if smaller.get("patience") == case.get("patience"):
        return smaller, found
    smaller["patience"] = case["patience"]
    again = failure_of(campaign, smaller)
    if again is None or again.check != complaint.check:
        return case, complaint
    return smaller, again
