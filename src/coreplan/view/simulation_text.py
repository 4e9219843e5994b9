"""What simulated runs have shown, in words and small tables."""

from __future__ import annotations

from collections.abc import Sequence
from functools import singledispatch
from typing import NamedTuple

from coreplan.analysis.simulation import QUANTILES, Completion, Estimate, Simulation
from coreplan.model.calendar import Calendar
from coreplan.support.late import provides
from coreplan.view.words import count

MOST_ROWS = 20
"""Rows of a table in a summary; the data has them all."""


class PartsInWords(NamedTuple):
    """What a domain says of the parts of a value."""

    sentence: str = ""
    """All parts in one line; empty if there is nothing to say."""
    together: str = "earned together"
    """What agents earn together."""


@singledispatch
def parts_in_words(money: object) -> PartsInWords:
    """The parts of a value, see :meth:`coreplan.model.PlanningProblem.money`, in words.

    A domain may register its own.
    """
    return PartsInWords()


@provides("Simulation.text")
def simulation_in_words(shown: Simulation, calendar: Calendar | None = None) -> list[str]:
    """The main numbers, a line for each; completions by date if there is a calendar."""
    percent = f"{100 * shown.value.confidence:g} %"
    lines = [
        f"{count(shown.runs, 'run')} from seed {shown.seed} in {shown.seconds:.3g} s",
        f"mean return {_number(shown.mean)}, between {_number(shown.value.low)} and "
        f"{_number(shown.value.high)} with a confidence of {percent}",
    ]
    if shown.stopped:
        lines[0] += f", stopped before all {shown.asked:,} were through"
    parts = parts_in_words(shown.money)
    if parts.sentence:
        lines.append(parts.sentence)
    low, high = _number(float(shown.returns[0])), _number(float(shown.returns[-1]))
    lines.append(
        f"single runs: from {low} to {high}, standard deviation {_number(shown.deviation)}"
    )
    shares = [f"{100 * share:g} % {_number(shown.quantile(share))}" for share in QUANTILES]
    lines.append(f"of all runs, so many earn at most: {', '.join(shares)}")
    lines += _estimates(
        "earned alone", [(name, each) for name, each in shown.own.items()], f"{percent} interval"
    )
    together = [(", ".join(names), each) for names, each in shown.shared.items() if names]
    together = [(names, each) for names, each in together if each.mean or each.low or each.high]
    together.sort(key=lambda each: -abs(each[1].mean))
    lines += _estimates(parts.together, together, f"{percent} interval")
    if shown.completions:
        lines += _completions(shown.completions, calendar)
    return lines


def _number(value: float) -> str:
    return f"{value:,.2f}"


def _estimates(title: str, rows: Sequence[tuple[str, Estimate]], interval: str) -> list[str]:
    if not rows:
        return []
    cells = [
        (name, _number(each.mean), f"{_number(each.low)} to {_number(each.high)}")
        for name, each in rows[:MOST_ROWS]
    ]
    return ["", *_table([(title, "mean", interval), *cells]), *_more(rows)]


def _completions(rows: Sequence[Completion], calendar: Calendar | None) -> list[str]:
    cells = []
    for each in rows[:MOST_ROWS]:
        steps = [each.stage + k for k, share in enumerate(each.shares) if share > 0]
        when = mean = "-"
        if each.mean is not None:
            first, last, middle = steps[0], steps[-1], round(each.mean)
            if calendar is None:
                when, mean = f"{first} to {last}", f"{each.mean:.2f}"
            else:
                when = f"{calendar.label(first)} to {calendar.label(last)}"
                mean = calendar.label(middle)
        name = f"{each.contractor}/{each.task}"
        cells.append((name, mean, when, f"{100 * each.undone:.3g} %"))
    when = "in step"
    if calendar is not None:
        when = "on" if calendar.days == 1 else f"in the {calendar.step} from"
    title = (f"completed {when}", "mean", "first to last", "not at all")
    return ["", *_table([title, *cells]), *_more(rows)]


def _more(rows: Sequence[object]) -> list[str]:
    left_out = len(rows) - MOST_ROWS
    return [f"and {left_out:,} more"] if left_out > 0 else []


def _table(rows: Sequence[tuple[str, ...]]) -> list[str]:
    """Columns side by side, the first to the left, the others to the right."""
    from rich.cells import cell_len  # slow to import, and seldom needed

    widths = [max(cell_len(row[k]) for row in rows) for k in range(len(rows[0]))]
    lines = []
    for row in rows:
        first = row[0] + " " * (widths[0] - cell_len(row[0]))
        rest = [
            " " * (width - cell_len(cell)) + cell
            for cell, width in zip(row[1:], widths[1:], strict=True)
        ]
        lines.append("  ".join([first, *rest]).rstrip())
    return lines
