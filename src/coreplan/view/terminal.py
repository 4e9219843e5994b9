"""Output for the terminal: the solver's log, summaries, errors, tables."""

from __future__ import annotations

import logging
import math
import os
import sys
import textwrap
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.text import Text

from coreplan.errors import Diagnostic
from coreplan.solving.compile import CompiledProblem, count_in_words
from coreplan.solving.limits import Progress
from coreplan.solving.result import Result, Status
from coreplan.support.clock import now
from coreplan.view.words import count

INTERVAL = 0.5
"""The least number of seconds between two lines of the log."""

HEADER_EVERY = 20
LEAST_WIDTH = 16
"""The fewest characters of a line of folded text."""
_LONGEST = 160
_COLUMNS = (
    f"{'time':>8}  {'joint states':>14}  {'joint actions':>15}  "
    f"{'lower bound':>14}  {'upper bound':>14}  {'gap':>8}"
)


class PatientConsole(Console):
    """A console that becomes silent if its output cannot be written, instead of ending the program.

    Attributes
    ----------
    failure
        The error of writing; None if the reader has closed the pipe.
    """

    failure: OSError | None = None

    def print(self, *objects: Any, **options: Any) -> None:
        """Print, unless writing has failed before."""
        try:
            super().print(*objects, **options)
        except OSError as error:
            self.failure = error
            self.on_broken_pipe()

    def on_broken_pipe(self) -> None:
        """Become silent."""
        self.quiet = True
        drop_output()


def make_console(*, stderr: bool = False, patient: bool = False) -> Console:
    """Make a console that uses colours only on a terminal, and never wraps or highlights text."""
    kind = PatientConsole if patient else Console
    return kind(stderr=stderr, highlight=False, soft_wrap=True, emoji=False)


def check_printed(console: Console) -> None:
    """Raise the error of a patient console whose output could not be written."""
    if isinstance(console, PatientConsole) and console.failure is not None:
        raise console.failure


def drop_output() -> None:
    """Discard everything written to the standard output from now on, also at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class ConsoleLog(logging.Handler):
    """Prints log messages of the library that are at least as important as `level`."""

    def __init__(self, console: Console, level: int, prefix: str = "") -> None:
        super().__init__(level)
        self._console = console
        self._prefix = prefix

    def emit(self, record: logging.LogRecord) -> None:
        """Print one message; cut a very long one."""
        message = self._prefix + record.getMessage()
        if len(message) > _LONGEST:
            message = f"{message[: _LONGEST - 4]} ..."
        _print_or_drop(self._console, message)


def _print_or_drop(console: Console, line: str, style: str | None = None) -> None:
    """Print a line of the log; if that fails, the solver goes on without it."""
    with suppress(OSError):
        console.print(line, style=style, markup=False)


class LiveLog:
    """A callback for `solve` that prints a line at most every half second."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._next = now() + INTERVAL
        self._lines = 0

    def __call__(self, progress: Progress) -> None:
        """Print a line if the last one is long enough ago."""
        if now() < self._next or progress.phase == "compile":
            return
        self._next = now() + INTERVAL
        if self._lines % HEADER_EVERY == 0:
            _print_or_drop(self._console, _COLUMNS, style="dim")
        self._lines += 1
        # Some algorithms do not count joint states, or have no bounds until they end.
        states, actions = (
            f"{count:,}" if count else "-"
            for count in (progress.joint_states_expanded, progress.joint_actions_evaluated)
        )
        lower, upper = (
            f"{bound:.8g}" if math.isfinite(bound) else "-"
            for bound in (progress.lower_bound, progress.upper_bound)
        )
        gap = progress.upper_bound - progress.lower_bound
        relative = gap / abs(progress.lower_bound) if progress.lower_bound else math.inf
        shown = f"{100 * relative:.2f} %" if relative < 10 else f"{gap:.3g}"
        if not math.isfinite(gap):
            shown = "-"
        line = f"{progress.seconds:>7.1f}s  {states:>14}  {actions:>15}  "
        _print_or_drop(self._console, f"{line}{lower:>14}  {upper:>14}  {shown:>8}")


def print_summary(console: Console, result: Result) -> None:
    """Print the summary of a result: its first line in bold."""
    style = "green" if result.status is Status.OPTIMAL else "yellow"
    first, *rest = result.summary().splitlines()
    console.print(first, style=f"bold {style}", markup=False)
    for line in rest:
        console.print(line, style="dim", markup=False)


def print_error(message: str) -> None:
    """Print an error message to the standard error."""
    console = make_console(stderr=True)
    for line in message.splitlines() or [""]:
        console.print(Text.assemble(("error:", "bold red"), " ", line))


def print_sizes(console: Console, compiled: CompiledProblem) -> None:
    """Print the number of states of each agent, before and after merging."""
    width = max(cell_len(name) for name in ("agent", *(size.name for size in compiled.sizes)))
    titles = ("local states", "unrolled", "transitions", "merged")
    console.print(_row("agent", titles, width), style="bold", markup=False)
    for size in compiled.sizes:
        numbers = [f"{each:,}" for each in (size.states, size.unrolled, size.transitions)]
        numbers.append(f"{size.merged:,}" if compiled.merged else "-")
        console.print(_row(size.name, numbers, width), markup=False)
    console.print(
        f"{count_in_words(compiled.joint_states)} joint states before the horizon, "
        f"{count(compiled.interactions, 'possible interaction')}"
    )


def _row(name: str, cells: Iterable[str], width: int) -> str:
    padded = name + " " * (width - cell_len(name))
    return "  ".join([padded, *(f"{cell:>12}" for cell in cells)])


def fit(text: str, width: int, ellipsis: str = "…") -> str:
    """Cut or fill a text to a width in terminal cells; a cut is marked.

    Examples
    --------
    >>> fit("bridge", 8), fit("bridge", 4)
    ('bridge  ', 'bri…')
    """
    if cell_len(text) > width:
        text = set_cell_size(text, max(0, width - 1)).rstrip() + ellipsis
    return set_cell_size(text, width)


def fold(text: str, width: int, first: str = "", then: str = "") -> list[str]:
    """Break a text into lines between words; only a word that is too long is broken.

    Parameters
    ----------
    text
        The text.
    width
        The most characters of a line.
    first, then
        What the first line and the others begin with.

    Examples
    --------
    >>> fold("the bridge starts on 4 May", 20, "- ", "  ")
    ['- the bridge starts', '  on 4 May']
    """
    return textwrap.wrap(
        text.strip(),
        max(LEAST_WIDTH, width),
        initial_indent=first,
        subsequent_indent=then,
        break_on_hyphens=False,
    )


def problem_dicts(problems: Iterable[Diagnostic]) -> list[dict[str, object]]:
    """The mistakes of a file as plain values, for JSON."""
    return [
        {
            "line": problem.line,
            "column": problem.column,
            "place": problem.place,
            "message": problem.message,
        }
        for problem in problems
    ]
