"""Outputs of a command: a failure of one does not cost the others."""

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
"""The output that is being made, and whether Ctrl-C gives it up."""


def can_be_given_up() -> bool:
    """Whether an output is being made that Ctrl-C gives up."""
    return _making is not None and _making[1]


def interruption() -> str:
    """What to say if the process is interrupted now."""
    return "interrupted" if _making is None else f"interrupted: {_making[0]} is not complete"


class IncompleteError(Exception):
    """An output was given up because of Ctrl-C."""


class Outputs:
    """What a command prints and writes, one output after the other.

    An output that fails is reported, and the others are still made. What was computed comes first,
    what is made of it later.

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
            Whether it is given up if it takes more than a moment after Ctrl-C. Not what took long
            to find, such as a plan.

        Raises
        ------
        IncompleteError
            If Ctrl-C is pressed meanwhile, or the time after an earlier one is over.
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
            drop_output()  # nobody reads it any more
        except CoreplanError as error:
            print_error(str(error))
            self._fail(BAD_INPUT)
        except OSError as error:
            drop_output()
            print_error(unwritable_output(error))
            self._fail(BAD_INPUT)
        except MemoryError:
            print_error(f"{what} cannot be made: the machine's memory is exhausted")
            self._fail(BAD_INPUT)
        except Exception as error:
            print_internal_error(error)
            self._fail(INTERNAL_ERROR)
        finally:
            _making = None

    def _fail(self, code: int) -> None:
        self.code = self.code or code


def unwritable_output(error: OSError) -> str:
    """Say that the standard output cannot be written."""
    return f"the output cannot be written: {error.strerror or error}"


def print_internal_error(error: Exception) -> None:
    """Say that coreplan has a mistake."""
    print_error(f"internal error: {type(error).__name__}: {error}")
    print_error(
        "this is a mistake in coreplan; please report it with the problem file and what is "
        "printed with COREPLAN_DEBUG=1 in the environment"
    )
    if os.environ.get("COREPLAN_DEBUG"):
        traceback.print_exception(error)
