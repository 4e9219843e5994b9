"""A campaign: cases drawn from seeds, checked one by one, made smaller where they fail."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from explore.complaint import Complaint

Case = dict[str, Any]
"""What is tried, as plain values: it can be written to the corpus and checked again."""


@dataclass(frozen=True)
class Campaign:
    """One idea of what may go wrong.

    Attributes
    ----------
    name
        How it is asked for.
    draw
        Makes a case from a seed: always the same one.
    check
        Raises a Complaint, or any other exception, if the case fails.
    smaller
        Gives cases that are a little smaller than a given one, the most promising first.
    share
        Its part of the time, against 1 of most others.
    """

    name: str
    draw: Callable[[int], Case]
    check: Callable[[Case], None]
    smaller: Callable[[Case], Iterator[Case]]
    share: float = 1.0


def failure_of(campaign: Campaign, case: Case) -> Complaint | None:
    """What is wrong with a case; any exception that escapes is a crash."""
    try:
        campaign.check(case)
    except Complaint as complaint:
        return complaint
    except Exception as error:
        frames = traceback.extract_tb(error.__traceback__)
        last = frames[-1]
        place = f"{Path(last.filename).name}:{last.lineno}"
        return Complaint(f"crash {type(error).__name__}", f"{place}: {str(error)[:500]}")
    return None
