"""Waiting for what other processes do: as long as it takes, however busy the machine is."""

from __future__ import annotations

import time
from collections.abc import Callable

HANG = 900.0
"""Seconds after which something that ought to happen is taken never to happen."""


def wait_for(condition: Callable[[], object]) -> None:
    """Wait until something is so."""
    end = time.monotonic() + HANG
    while not condition():
        assert time.monotonic() < end, "it has not happened"
        time.sleep(0.02)
