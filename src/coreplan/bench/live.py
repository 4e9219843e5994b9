"""Benchmark runs for a terminal: progress while they run, and the table at the end."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Self

from rich.cells import cell_len
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from coreplan.bench.runner import RunState
from coreplan.bench.summary import Summary

INTERVAL = 10.0
"""Seconds between two lines of progress without a terminal."""

_WORDS = {
    "no_plan": "without a plan",
    "killed_time": "killed (time)",
    "killed_memory": "killed (memory)",
    "crashed": "crashed",
    "error": "with an error",
}


def duration_in_words(seconds: float) -> str:
    """A duration in readable units: ``42 s``, ``3 min 20 s``, ``5 h 10 min``, ``3 d 4 h``."""
    for unit, part, size, parts in (("d", "h", 86400, 24), ("h", "min", 3600, 60)):
        if round(seconds) >= size:
            rounded = round(seconds / size * parts)
            return f"{rounded // parts} {unit} {rounded % parts} {part}"
    whole = round(seconds)
    return f"{whole // 60} min {whole % 60} s" if whole >= 60 else f"{whole} s"


def state_in_words(state: RunState) -> str:
    """The progress of a run, in one line."""
    parts = [f"{state.done}/{state.total} done"]
    if state.running:
        parts.append(f"{state.running} running")
    if state.solved:
        parts.append(f"{state.solved} solved to the optimum")
    parts += [f"{state.added[key]} {word}" for key, word in _WORDS.items() if state.added[key]]
    if state.lost:
        parts.append(f"{state.lost} killed from outside, the next run repeats them")
    if state.stopping:
        parts.append("waiting for running solves")
    elif state.waiting:
        parts.append("waiting for another run on this store")
    elif state.seconds_left is not None and state.done < state.total:
        parts.append(f"about {duration_in_words(state.seconds_left)} left")
    return ", ".join(parts)


class RunDisplay:
    """Shows the state of a run: a bar on a terminal, or a line at intervals."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._bar: Progress | None = None
        self._next = time.monotonic() + INTERVAL
        self._said_stopping = False
        if console.is_terminal:
            self._bar = Progress(BarColumn(30), TextColumn("{task.description}"), console=console)

    def __enter__(self) -> Self:
        if self._bar is not None:
            self._bar.start()
            self._task = self._bar.add_task("preparing", total=None)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def preparing(self, solves: int) -> None:
        """Show the number of solves while instances are being made."""
        if self._bar is not None:
            self._bar.update(self._task, description=f"preparing: {solves:,} solves so far")

    def __call__(self, state: RunState) -> None:
        """Show the state if enough time has passed."""
        if state.stopping and state.running and not self._said_stopping:
            self._said_stopping = True
            self._console.print(
                f"stopping: waiting for {state.running} running; Ctrl-C again ends them at once, "
                "and the next run repeats them"
            )
        if self._bar is not None:
            self._bar.update(
                self._task,
                total=state.total,
                completed=state.done,
                description=state_in_words(state),
            )
        elif time.monotonic() >= self._next:
            self._next = time.monotonic() + INTERVAL
            self._console.print(state_in_words(state), markup=False)


def print_summaries(console: Console, summaries: Sequence[Summary]) -> None:
    """Print a row per set and solver, without columns that are the same in all rows."""
    # Columns that are shown only if rows differ in them.
    shown = {title: cell for title, cell in _OPTIONAL.items() if _differs(summaries, cell)}
    titles = ["set", "solver", *shown, "limit", "solves", "solved", "no plan", "killed", "failed"]
    titles += ["median", "p90", "max"]
    rows = [titles]
    for each in summaries:
        counts = [each.no_plan, each.killed, each.failed]
        seconds = [each.median_seconds, each.p90_seconds, each.max_seconds]
        rows.append(
            [
                each.set,
                each.solver,
                *(cell(each) for cell in shown.values()),
                f"{each.time_limit:g} s",
                str(each.solves),
                _percent(each),
                *(str(count) if count else "-" for count in counts),
                *(f"{number:.3g} s" for number in seconds),
            ]
        )
    widths = [max(cell_len(row[k]) for row in rows) for k in range(len(titles))]
    left = 2 + len(shown)
    for number, row in enumerate(rows):
        padded = [
            cell + " " * (width - cell_len(cell)) if k < left else f"{cell:>{width}}"
            for k, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        console.print("  ".join(padded), style="bold" if number == 0 else None, markup=False)


def _differs(summaries: Sequence[Summary], cell: Callable[[Summary], str]) -> bool:
    """Whether two rows of the same set and solver differ in this."""
    seen: dict[tuple[str, str], str] = {}
    return any(seen.setdefault((s.set, s.solver), cell(s)) != cell(s) for s in summaries)


def _with_options(summary: Summary) -> str:
    options = ", ".join(f"{name}={json.dumps(value)}" for name, value in summary.options.items())
    return f"{summary.algorithm} ({options})" if options else summary.algorithm


def _percent(summary: Summary) -> str:
    """The share of solved instances; 100 % only if all were, 0 % only if none was."""
    percent = 100 * summary.solved / summary.solves
    if 0 < summary.solved < summary.solves:
        percent = min(99.9, max(0.1, math.floor(10 * percent) / 10))
    return f"{percent:.1f} %".replace(".0 %", " %")


def _memory(summary: Summary) -> str:
    return "-" if summary.memory_limit is None else f"{summary.memory_limit:g} MB"


_OPTIONAL: dict[str, Callable[[Summary], str]] = {
    "algorithm": _with_options,
    "memory": _memory,
    "version": lambda summary: summary.version,
    "clock": lambda summary: summary.clock,
}
