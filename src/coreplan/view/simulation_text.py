"""Simulations as text: the main numbers and small tables."""

from __future__ import annotations

from collections.abc import Sequence
from functools import singledispatch
from typing import NamedTuple

from coreplan.analysis.simulation import QUANTILES, Completion, Estimate, Simulation
from coreplan.model.calendar import Calendar
from coreplan.support.cents import amount_text, cents, has_cents, share_cents
from coreplan.support.late import provides
from coreplan.view.words import count

MOST_ROWS = 20
"""The most rows of a table in a summary; the data has all of them."""


class AmountWords(NamedTuple):
    """What a domain calls the amounts of a simulation, and the sign that people use."""

    sign: int = 1
    """-1 where the whole is a cost, told as a positive number."""
    whole: str = "return"
    at_most: str = "the return is at most"
    """Begins the shares of runs: in 5 % of cases ..."""
    parts: str = ""
    """All parts of the mean in one line; empty if there is nothing to say."""
    alone: str = "own reward"
    together: str = "shared reward"
    together_sign: int = 1
    """-1 where what agents do to each other is told as a cost."""
    alone_total: float | None = None
    together_total: float | None = None
    """What the rows add up to as they are shown, in whole cents, if the domain knows it."""


@singledispatch
def amount_words(money: object, mean: float) -> AmountWords:
    """Say what amounts are called, given the parts of the mean as a domain splits it.

    A domain may register its own for the class that its
    :meth:`coreplan.model.PlanningProblem.money` returns.
    """
    return AmountWords()


@provides("Simulation.text")
def simulation_in_words(shown: Simulation, calendar: Calendar | None = None) -> list[str]:
    """The main numbers, one line each; completions by date if a calendar is given."""
    words = amount_words(shown.money, shown.mean)
    level = f"{100 * shown.value.confidence:g} %"
    runs = count(shown.runs, "run")
    if shown.stopped:
        runs = f"stopped after {shown.runs:,} of {count(shown.asked, 'run')}"
    low, high = _range(shown.value, words.sign)
    lines = [
        f"{runs} from seed {shown.seed} in {shown.seconds:.3g} s",
        f"mean {words.whole} {_number(words.sign * shown.mean)}, between {low} and {high} with a "
        f"confidence of {level}",
    ]
    if words.parts:
        lines.append(words.parts)
    least, most = sorted(words.sign * float(shown.returns[k]) for k in (0, -1))
    lines.append(
        f"single runs: {words.whole} from {_number(least)} to {_number(most)}, standard deviation "
        f"{_number(shown.deviation)}"
    )
    lines.append(_quantiles(shown, words))
    interval = f"{level} interval"
    own = list(shown.own.items())
    lines += _estimates(words.alone, own, interval, words.sign, words.alone_total)
    together = [(", ".join(names), each) for names, each in shown.shared.items() if names]
    together = [(names, each) for names, each in together if each.mean or each.low or each.high]
    together.sort(key=lambda each: -abs(each[1].mean))
    sign, total = words.together_sign, words.together_total
    lines += _estimates(words.together, together, interval, sign, total)
    if shown.completions:
        lines += _completions(shown.completions, calendar)
    return lines


def _quantiles(shown: Simulation, words: AmountWords) -> str:
    """How often the plan costs, or earns, at most which amount."""
    parts: list[str] = []
    for share in QUANTILES:
        # A return of at least r is a cost of at most -r.
        amount = -shown.quantile(1 - share) if words.sign < 0 else shown.quantile(share)
        case = f" of cases {words.at_most}" if not parts else ""
        parts.append(f"in {100 * share:g} %{case} {_number(amount)}")
    return ", ".join(parts)


def _number(value: float) -> str:
    return amount_text(value)


def _range(each: Estimate, sign: int) -> tuple[str, str]:
    low, high = sorted((sign * each.low, sign * each.high))
    return _number(low), _number(high)


def _estimates(
    title: str,
    rows: Sequence[tuple[str, Estimate]],
    interval: str,
    sign: int,
    total: float | None = None,
) -> list[str]:
    if not rows:
        return []
    means = [sign * each.mean for _, each in rows]
    if total is not None and has_cents(total) and abs(sum(means) - total) < 1:
        means = [each / 100 for each in share_cents(cents(total), means)]
    cells = [
        (name, _number(mean), " to ".join(_range(each, sign)))
        for (name, each), mean in zip(rows[:MOST_ROWS], means, strict=False)
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
