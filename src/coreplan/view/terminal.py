"""The log of a solver, for a terminal: a header, a line now and then, a summary."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Iterable

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from coreplan.compile import CompiledProblem
from coreplan.errors import Problem
from coreplan.limits import Progress
from coreplan.result import Result, Status
from coreplan.view.words import count

INTERVAL = 0.5
"""Seconds between two lines of the log, at least."""

HEADER_EVERY = 20
_COLUMNS = (
    f"{'time':>8}  {'joint states':>14}  {'joint actions':>15}  "
    f"{'lower bound':>14}  {'upper bound':>14}  {'gap':>8}"
)


def make_console(*, stderr: bool = False) -> Console:
    """A console that colours only on a terminal and never breaks or styles what it is given."""
    return Console(stderr=stderr, highlight=False, soft_wrap=True, emoji=False)


class ConsoleLog(logging.Handler):
    """Prints what the library says of its work."""

    def __init__(self, console: Console) -> None:
        super().__init__(logging.INFO)
        self._console = console

    def emit(self, record: logging.LogRecord) -> None:
        """Print one message."""
        self._console.print(escape(record.getMessage()))


class LiveLog:
    """A callback for `solve` that prints a line at most every half second."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._next = time.monotonic() + INTERVAL
        self._lines = 0

    def __call__(self, progress: Progress) -> None:
        """Print a line if it is time."""
        if time.monotonic() < self._next or progress.phase == "compile":
            return
        self._next = time.monotonic() + INTERVAL
        if self._lines % HEADER_EVERY == 0:
            self._console.print(f"[dim]{_COLUMNS}[/dim]")
        self._lines += 1
        gap = progress.upper_bound - progress.lower_bound
        relative = gap / abs(progress.lower_bound) if progress.lower_bound else math.inf
        shown = f"{100 * relative:.2f} %" if relative < 10 else f"{gap:.3g}"
        self._console.print(
            f"{progress.seconds:>7.1f}s  {progress.joint_states_expanded:>14,}  "
            f"{progress.joint_actions_evaluated:>15,}  {progress.lower_bound:>14.8g}  "
            f"{progress.upper_bound:>14.8g}  {shown:>8}"
        )


def print_summary(console: Console, result: Result) -> None:
    """Print what was found."""
    style = "green" if result.status is Status.OPTIMAL else "yellow"
    first, *rest = result.summary().splitlines()
    console.print(f"[bold {style}]{escape(first)}[/]")
    for line in rest:
        console.print(f"[dim]{escape(line)}[/dim]")


def print_error(message: str) -> None:
    """Print an error where errors go."""
    console = make_console(stderr=True)
    for line in message.splitlines() or [""]:
        console.print(f"[bold red]error:[/] {escape(line)}")


def print_sizes(console: Console, compiled: CompiledProblem) -> None:
    """Print how large each agent's part is, before and after merging."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("agent")
    for title in ("local states", "unrolled", "transitions", "merged"):
        table.add_column(title, justify="right")
    for size in compiled.sizes:
        table.add_row(
            escape(size.name),
            f"{size.states:,}",
            f"{size.unrolled:,}",
            f"{size.transitions:,}",
            f"{size.merged:,}" if compiled.merged else "-",
        )
    console.print(table)
    states = compiled.joint_states
    shown = f"{states:,.0f}" if states < 1e15 else f"{states:.3g}"
    console.print(
        f"{shown} joint states before the horizon, "
        f"{count(compiled.interactions, 'interaction')} that can happen"
    )


def problem_dicts(problems: Iterable[Problem]) -> list[dict[str, object]]:
    """Problems of a file for machines."""
    return [
        {
            "line": problem.line,
            "column": problem.column,
            "place": problem.place,
            "message": problem.message,
        }
        for problem in problems
    ]
