"""The comparison of algorithms as a table for the terminal."""

from __future__ import annotations

from rich.console import Console

from coreplan.analysis.comparison import ComparedRun, Comparison
from coreplan.solving.result import Status

_TITLES = (
    "algorithm",
    "value",
    "upper bound",
    "status",
    "seconds",
    "states",
    "actions",
    "cells",
    "MB",
)


def print_comparison(console: Console, comparison: Comparison) -> None:
    """Print a row for each algorithm, messages, and the losses of decentralised plans."""
    cells_of = [_cells(run) for run in comparison.runs]
    # Columns without a number would only make the lines too long for a terminal.
    shown = [k for k in range(len(_TITLES)) if any(cells[k] != "-" for cells in cells_of)]
    rows = [[row[k] for k in shown] for row in (_TITLES, *cells_of)]
    widths = [max(len(row[k]) for row in rows) for k in range(len(shown))]
    for number, (row, run) in enumerate(zip(rows, (None, *comparison.runs), strict=True)):
        name, *cells = row
        padded = [f"{cell:>{width}}" for cell, width in zip(cells, widths[1:], strict=True)]
        line = "  ".join([f"{name:<{widths[0]}}", *padded]).rstrip()
        style = "bold" if number == 0 else _style(run)
        console.print(line, style=style, markup=False)
    for run in comparison.runs:
        if run.message:
            console.print(f"{run.algorithm}: {run.message}", markup=False)
    for run in comparison.runs:
        if run.is_decentralised:
            console.print(_loss_in_words(run), markup=False)


def _style(run: ComparedRun | None) -> str:
    if run is None or run.result is None:
        return "dim"
    return "green" if run.result.status is Status.OPTIMAL else "yellow"


def _cells(run: ComparedRun) -> tuple[str, ...]:
    result = run.result
    if result is None:
        return (run.algorithm, "-", "-", run.reason.replace("_", " "), *("-" for _ in _TITLES[4:]))
    work = result.statistics
    counts = (
        work.joint_states_expanded,
        work.joint_actions_evaluated,
        work.others.get("kernel_cells", 0),
    )
    return (
        run.algorithm,
        f"{result.value:.10g}",
        f"{result.upper_bound:.10g}",
        str(result.status).replace("_", " "),
        f"{result.seconds:.3g}",
        *(f"{count:,.0f}" if count else "-" for count in counts),
        f"{work.peak_memory_mb:.0f}",
    )


def _loss_in_words(run: ComparedRun) -> str:
    if run.loss is None:
        return f"{run.algorithm}: decentralised; the best centralised plan is not known"
    low, high = run.loss
    close = high - low <= 1e-6 * max(1.0, abs(high))
    loss = f"{high:.6g}" if close else f"between {low:.6g} and {high:.6g}"
    return f"{run.algorithm}: decentralised; it loses {loss} against the best centralised plan"
