"""The console command ``coreplan``.

It is not part of the package `coreplan`: this module handles Ctrl-C before it imports anything
else, so that Ctrl-C always ends the command cleanly.
"""

from __future__ import annotations

import os
import signal
import sys

TYPE_CHECKING = False  # like that of `typing`, which is slow to import
if TYPE_CHECKING:
    from types import FrameType
    from typing import NoReturn

INTERRUPTED = 130


def main() -> NoReturn:
    """Run the command line and exit."""
    in_charge = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if in_charge:
        signal.signal(signal.SIGINT, _end_at_once)
    from coreplan.cli import run_command_line
    from coreplan.cli.outputs import can_be_given_up, interruption
    from coreplan.files.writing import remove_unfinished
    from coreplan.support.interrupts import end_when_stuck, raise_interrupt

    def end() -> NoReturn:
        remove_unfinished()
        _end(interruption())

    def begin() -> None:
        if in_charge:
            end_when_stuck(end, can_be_given_up)
            signal.signal(signal.SIGINT, raise_interrupt)

    try:
        code = run_command_line(begin=begin)
    except KeyboardInterrupt:  # a second Ctrl-C, while the first one was being reported
        end()
    finally:
        if in_charge:  # only memory is left to be freed
            signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.exit(code)


def _end_at_once(_: int, __: FrameType | None) -> NoReturn:
    _end("interrupted")


def _end(message: str) -> NoReturn:
    os.write(2, f"error: {message}\n".encode(errors="backslashreplace"))
    os._exit(INTERRUPTED)
