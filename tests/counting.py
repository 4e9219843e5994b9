"""Work counted in calls of functions, Python's and those in C: the same on every machine."""

from __future__ import annotations

import sys
from collections.abc import Callable


def count_calls(work: Callable[[], object]) -> int:
    """How many functions are called while some work is done, whatever comes of it."""
    calls = 0

    def count(_: object, event: str, __: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(None)
    return calls
