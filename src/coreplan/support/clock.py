"""The clock that all limits go by: the machine's, or another one in its place.

Tests put in a clock that they move; benchmark runs may count processor time instead.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Clock = Callable[[], float]
"""Says how many seconds have gone by since some moment; never goes back."""

_instead: Clock | None = None


def now() -> float:
    """Seconds since some moment, the same one for the whole process."""
    return time.perf_counter() if _instead is None else _instead()


def clock_instead() -> Clock | None:
    """The clock in place of the machine's; None if that one counts, which the core knows itself."""
    return _instead


@contextmanager
def replace_clock(clock: Clock) -> Iterator[None]:
    """Let limits go by another clock: processor time, or one that a test moves."""
    global _instead
    before, _instead = _instead, clock
    try:
        yield
    finally:
        _instead = before
