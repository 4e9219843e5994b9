"""The corpus: one line of JSON for each problem or case that once failed.

A line has ``why``. Lines that a campaign wrote also have ``campaign``, ``check`` (what failed),
``seed``, and the case itself; other lines have a ``problem`` that all exact solvers agree on.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from explore.campaign import Case
from explore.complaint import Complaint

CORPUS = Path(__file__).parents[1] / "corpus.jsonl"
OWN_KEYS = ("why", "campaign", "check", "seed")


def read_corpus(path: Path = CORPUS) -> list[dict[str, Any]]:
    """All lines."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def case_of(line: dict[str, Any]) -> Case:
    """The case of a line that a campaign wrote."""
    return {key: value for key, value in line.items() if key not in OWN_KEYS}


def append(path: Path, campaign: str, seed: int, case: Case, complaint: Complaint) -> bool:
    """Write a case down, unless the same one is there."""
    line = {
        "why": f"{campaign} {seed}: {complaint.check}: {complaint.words[:200]}",
        "campaign": campaign,
        "check": complaint.check,
        "seed": seed,
        **case,
    }
    known = read_corpus(path) if path.exists() else []
    if any(each.get("campaign") == campaign and case_of(each) == case for each in known):
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")
    return True
