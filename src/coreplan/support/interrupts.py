"""Ctrl-C: the first one asks for the best plan so far, the second one ends at once.

A solver that is asked to stop returns its best plan. The steps after it, for instance writing
files, get :data:`FINISH_SECONDS` from the moment of the Ctrl-C.
"""

from __future__ import annotations

import math
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

from coreplan.support.clock import now

FINISH_SECONDS = 1.5
"""The time for outputs after the first Ctrl-C."""
STUCK_SECONDS = 0.5
"""The time without a reaction to Ctrl-C after which :func:`end_when_stuck` ends the process."""

_noted: float | None = None
"""The time at which a Ctrl-C last counted as a request to stop."""
_heard = 0
"""The number of Ctrl-C that the Python code of this module has received."""


def forget_interrupts() -> None:
    """Reset the state, as if Ctrl-C had not been pressed."""
    global _noted
    _noted = None


def interrupted_since(moment: float) -> bool:
    """Whether a Ctrl-C counted as a request to stop after a time of ``clock.now()``."""
    return _noted is not None and _noted >= moment


def seconds_to_finish() -> float:
    """The time left for outputs; infinite if Ctrl-C has not been pressed."""
    if _noted is None:
        return math.inf
    return max(0.0, _noted + FINISH_SECONDS - now())


def raise_interrupt(_: int, __: FrameType | None) -> NoReturn:
    """Handle Ctrl-C as Python's own handler does, and count it."""
    global _heard
    _heard += 1
    raise KeyboardInterrupt


def _in_charge() -> bool:
    """Whether Ctrl-C raises KeyboardInterrupt here: the program has no handler of its own."""
    if threading.current_thread() is not threading.main_thread():
        return False
    return signal.getsignal(signal.SIGINT) in (signal.default_int_handler, raise_interrupt)


@contextmanager
def catch_interrupts(note: Callable[[], object]) -> Iterator[None]:
    """Let the first Ctrl-C call a function; a second one raises KeyboardInterrupt."""
    if not _in_charge():
        yield
        return
    previous = signal.getsignal(signal.SIGINT)
    pressed = 0

    def handle(_: int, __: FrameType | None) -> None:
        global _heard, _noted
        nonlocal pressed
        pressed += 1
        _heard += 1
        if pressed > 1:
            raise KeyboardInterrupt
        _noted = now()
        note()

    signal.signal(signal.SIGINT, handle)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)


@contextmanager
def finish_soon() -> Iterator[None]:
    """Raise KeyboardInterrupt if the body takes too long after the first Ctrl-C."""
    left = seconds_to_finish()
    main = threading.main_thread().ident
    if math.isinf(left) or main is None or not _in_charge():
        yield
        return
    lock = threading.Lock()
    done = False

    def press() -> None:
        with lock:
            if not done:
                signal.pthread_kill(main, signal.SIGINT)

    timer = threading.Timer(left, press)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        with lock:
            done = True
        timer.cancel()


def end_when_stuck(end: Callable[[], object], given_up: Callable[[], bool]) -> None:
    """Let Ctrl-C end the process even while it runs compiled code.

    Parameters
    ----------
    end
        Called in a separate thread when Python has not reacted to a second Ctrl-C for
        :data:`STUCK_SECONDS`; it must end the process.
    given_up
        Tells whether the first Ctrl-C is enough, because nothing would be lost.
    """
    signals, written = os.pipe()
    os.set_blocking(written, False)
    signal.set_wakeup_fd(written, warn_on_full_buffer=False)
    before = _heard

    def watch() -> None:
        pressed = 0
        while True:
            pressed += os.read(signals, 64).count(signal.SIGINT)
            if pressed > 1 or given_up():
                time.sleep(STUCK_SECONDS)
                if _heard - before < pressed and (pressed > 1 or given_up()):
                    end()

    threading.Thread(target=watch, daemon=True).start()
