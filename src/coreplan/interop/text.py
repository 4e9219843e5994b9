"""What all exports share: names in comments, and numbers."""

from __future__ import annotations

import json
import math

from coreplan.errors import SolverError, shorten


def quoted(name: str) -> str:
    """A name for a comment: on one line, whatever it holds."""
    return json.dumps(shorten(name), ensure_ascii=False)


def finite(value: float) -> float:
    """A number that can be written down, and 0 without a sign."""
    if not math.isfinite(value):
        raise SolverError("the sum of the rewards overflows; scale them down")
    return value + 0.0
