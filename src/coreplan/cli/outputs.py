"""Outputs of a command: if one fails, the others are still made."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

from coreplan.cli.shared import BAD_INPUT, INTERNAL_ERROR, OK
from coreplan.errors import CoreplanError
from coreplan.support.interrupts import finish_soon
from coreplan.view.terminal import drop_output, print_error

_making: tuple[str, bool] | None = None
"""Name of the current output, and whether Ctrl-C abandons it."""


def can_be_given_up() -> bool:
    """Whether Ctrl-C abandons the current output."""
    return _making is not None and _making[1]


def interruption() -> str:
    """Message for an interruption at this moment."""
    return "interrupted" if _making is None else f"interrupted: {_making[0]} is not complete"


class IncompleteError(Exception):
    """Ctrl-C stopped an output before it was complete."""


class Outputs:
    """Everything that a command prints and writes, one output after the other.

    A failing output is reported, and the others are still made. Computed results come first,
    everything derived from them later.

    Attributes
    ----------
    code
        The exit code: OK unless an output failed.
    """

    def __init__(self) -> None:
        self.code = OK

    @contextmanager
    def one(self, what: str, *, hurried: bool = False) -> Iterator[None]:
        """Make one output.

        Parameters
        ----------
        what
            Its name in messages, for instance ``the plan``.
        hurried
            Whether it is abandoned if it takes more than a moment after Ctrl-C. False for results
            that took long to compute, for instance a plan.

        Raises
        ------
        IncompleteError
            If Ctrl-C is pressed meanwhile, or the time allowed after an earlier Ctrl-C is over.
        """
        global _making
        _making = (what, hurried)
        try:
            with finish_soon() if hurried else nullcontext():
                yield
                if sys.stdout is not None:
                    sys.stdout.flush()
        except KeyboardInterrupt:
            raise IncompleteError(interruption()) from None
        except BrokenPipeError:
            drop_output()  # the reader of the output is gone
        except CoreplanError as error:
            print_error(str(error))
            self._fail(BAD_INPUT)
        except OSError as error:
            drop_output()
            print_error(unwritable_output(error))
            self._fail(BAD_INPUT)
        except MemoryError:
            print_error(f"{what} is missing: the machine has no memory left")
            self._fail(BAD_INPUT)
        except Exception as error:
            print_internal_error(error)
            self._fail(INTERNAL_ERROR)
        finally:
            _making = None

    def _fail(self, code: int) -> None:
        self.code = self.code or code


def unwritable_output(error: OSError) -> str:
    """Message for a standard output that cannot be written."""
    return f"the output cannot be written: {error.strerror or error}"


def print_internal_error(error: Exception) -> None:
    """Print an error that is a bug in coreplan."""
    print_error(f"internal error: {type(error).__name__}: {error}")
    print_error(
        "this is a bug in coreplan; please report it with the problem file and the output with "
        "COREPLAN_DEBUG=1 in the environment"
    )
    if os.environ.get("COREPLAN_DEBUG"):
        traceback.print_exception(error)
