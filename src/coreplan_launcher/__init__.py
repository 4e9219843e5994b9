"""The console command ``coreplan``.

Not part of the package `coreplan`, whose import takes half a second: Ctrl-C ends the command in a
plain way from its first moment on, so it is taken care of before anything else is imported.
"""

from __future__ import annotations

import os
import signal
import sys

TYPE_CHECKING = False  # as in `typing`, which takes time to import
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
    except KeyboardInterrupt:  # again, while the first one was being reported
        end()
    finally:
        if in_charge:  # nothing is left to do but to free memory
            signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.exit(code)


def _end_at_once(_: int, __: FrameType | None) -> NoReturn:
    _end("interrupted")


def _end(message: str) -> NoReturn:
    os.write(2, f"error: {message}\n".encode(errors="backslashreplace"))
    os._exit(INTERRUPTED)
