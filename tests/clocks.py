"""Clocks that advance whenever they are read: the machine's speed and load do not matter."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from coreplan.support.clock import Clock, replace_clock
from coreplan.support.interrupts import forget_interrupts

LOOK = 3e-5
"""Seconds between two looks of the core at the clock, about: it looks after counted work. Limits
then strike after about as much work as by the machine's clock."""

AT_EVERY_LOOK = 0.1
"""Seconds between two looks that let a callback be called at each of them."""


class Ticking:
    """A clock on which every look takes the same time.

    A limit strikes at the same point on every run of one thread.
    """

    def __init__(self, seconds: float) -> None:
        self.looks = 0
        self._seconds = seconds

    def __call__(self) -> float:
        """The time; it is later at every call."""
        self.looks += 1
        return self.looks * self._seconds


@contextmanager
def ticking(seconds: float = LOOK) -> Iterator[Ticking]:
    """Let all limits go by a clock that moves on by so much at every look."""
    clock = Ticking(seconds)
    with _instead(clock):
        yield clock


@contextmanager
def standing() -> Iterator[None]:
    """Let no time go by: nothing takes any."""
    with _instead(lambda: 1.0):
        yield


@contextmanager
def _instead(clock: Clock) -> Iterator[None]:
    """Put a clock in place; a Ctrl-C by one clock says nothing by the other."""
    forget_interrupts()
    try:
        with replace_clock(clock):
            yield
    finally:
        forget_interrupts()
