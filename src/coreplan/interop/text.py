"""Shared code of all exports: names in comments, and numbers."""

from __future__ import annotations

import json
import math

from coreplan.errors import SolverError, shorten


def quoted(name: str) -> str:
    """Write a name for a comment, always on one line."""
    return json.dumps(shorten(name), ensure_ascii=False)


def finite(value: float) -> float:
    """Check that a number is finite, and drop the sign of 0."""
    if not math.isfinite(value):
        raise SolverError("the rewards are too large to add up; scale them down")
    return value + 0.0
