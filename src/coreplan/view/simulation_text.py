"""Simulations as text: the main numbers and small tables."""

from __future__ import annotations

from collections.abc import Sequence

from coreplan.analysis.simulation import QUANTILES, Completion, Estimate, Simulation
from coreplan.model.calendar import Calendar
from coreplan.support.late import provides
from coreplan.view.words import count

MOST_ROWS = 20
"""The most rows of a table in a summary; the data has all of them."""


@provides("Simulation.text")
def simulation_in_words(shown: Simulation, calendar: Calendar | None = None) -> list[str]:
    """The main numbers, one line each; completions by date if a calendar is given."""
    money = shown.money
    costs = money is not None and shown.mean < 0
    sign = -1 if costs else 1
    what = "cost" if costs else "return" if money is None else "earnings"
    level = f"{100 * shown.value.confidence:g} %"
    runs = count(shown.runs, "run")
    if shown.stopped:
        runs = f"stopped after {shown.runs:,} of {count(shown.asked, 'run')}"
    low, high = _range(shown.value, sign)
    lines = [
        f"{runs} from seed {shown.seed} in {shown.seconds:.3g} s",
        f"mean {what} {_number(sign * shown.mean)}, between {low} and {high} with a confidence of "
        f"{level}",
    ]
    if money is not None:
        lines.append(
            f"works {_number(money.works)}, hindrance {_number(money.hindrance)}, revenue "
            f"{_number(money.revenue)}"
        )
    least, most = sorted((sign * float(shown.returns[0]), sign * float(shown.returns[-1])))
    lines.append(
        f"single runs: {what} from {_number(least)} to {_number(most)}, standard deviation "
        f"{_number(shown.deviation)}"
    )
    lines.append(_quantiles(shown, costs))
    interval = f"{level} interval"
    alone, shared, loss = "own reward", "shared reward", 1
    if money is not None:
        alone = "own costs, less revenue" if costs else "own revenue, less costs"
        shared, loss = "cost of hindrance", -1
    lines += _estimates(alone, list(shown.own.items()), interval, sign)
    together = [(", ".join(names), each) for names, each in shown.shared.items() if names]
    together = [(names, each) for names, each in together if each.mean or each.low or each.high]
    together.sort(key=lambda each: -abs(each[1].mean))
    lines += _estimates(shared, together, interval, loss)
    if shown.completions:
        lines += _completions(shown.completions, calendar)
    return lines


def _quantiles(shown: Simulation, costs: bool) -> str:
    """How often the plan costs, or earns, at most which amount."""
    parts = []
    for share in QUANTILES:
        # A return of at least r is a cost of at most -r.
        amount = -shown.quantile(1 - share) if costs else shown.quantile(share)
        part = f"in {100 * share:g} %"
        if not parts:
            what = "it costs" if costs else "the return is" if shown.money is None else "it earns"
            part += f" of cases {what} at most"
        parts.append(f"{part} {_number(amount)}")
    return ", ".join(parts)


def _number(value: float) -> str:
    return f"{value + 0.0:,.2f}"


def _range(each: Estimate, sign: int) -> tuple[str, str]:
    low, high = sorted((sign * each.low, sign * each.high))
    return _number(low), _number(high)


def _estimates(
    title: str, rows: Sequence[tuple[str, Estimate]], interval: str, sign: int
) -> list[str]:
    if not rows:
        return []
    cells = [
        (name, _number(sign * each.mean), " to ".join(_range(each, sign)))
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
    """Align columns: the first to the left, the others to the right."""
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
