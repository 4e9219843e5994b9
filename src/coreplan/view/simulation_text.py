"""Simulations as text: the main numbers and small tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import singledispatch
from typing import NamedTuple

from coreplan.analysis.simulation import QUANTILES, Completion, Estimate, Simulation
from coreplan.model.calendar import Calendar
from coreplan.support.cents import cents, has_cents, share_cents, value_text
from coreplan.support.language import marked, number_text, say, say_marked
from coreplan.support.late import provides
from coreplan.view.words import count

MOST_ROWS = 20
"""The most rows of a table in a summary; the data has all of them."""


class AmountWords(NamedTuple):
    """What a domain calls the amounts of a simulation, and the sign that people use.

    The texts are marked for the catalogues of translations.
    """

    write: Callable[[float], str] = value_text
    """Writes an amount."""
    sign: int = 1
    """-1 where the whole is a cost, told as a positive number."""
    mean: str = marked(
        "mean return {mean}, between {low} and {high} with a confidence of {confidence}"
    )
    single: str = marked(
        "single runs: return from {least} to {most}, standard deviation {deviation}"
    )
    at_most: str = marked("in {share} of cases the return is at most {amount}")
    """Begins the shares of runs."""
    parts: str = ""
    """All parts of the mean in one line, translated; empty if there is nothing to say."""
    alone: str = marked("own reward")
    together: str = marked("shared reward")
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
def simulation_in_words(
    shown: Simulation, calendar: Calendar | None = None, width: int | None = None
) -> list[str]:
    """The main numbers, one line each; completions by date if a calendar is given.

    With a width, long names in tables are broken so that the tables are not wider, if possible.
    """
    words = amount_words(shown.money, shown.mean)
    level = say("{share:g} %", share=100 * shown.value.confidence)
    runs = count(shown.runs, "run")
    if shown.stopped:
        asked = count(shown.asked, "run")
        runs = say("stopped after {done:,} of {runs}", done=shown.runs, runs=asked)
    write = words.write
    low, high = _range(shown.value, words.sign)
    lines = [
        say(
            "{runs} from seed {seed} in {seconds:.3g} s",
            runs=runs,
            seed=shown.seed,
            seconds=shown.seconds,
        ),
        say_marked(
            words.mean,
            mean=write(words.sign * shown.mean),
            low=write(low),
            high=write(high),
            confidence=level,
        ),
    ]
    if words.parts:
        lines.append(words.parts)
    least, most = sorted(words.sign * float(shown.returns[k]) for k in (0, -1))
    lines.append(
        say_marked(
            words.single,
            least=write(least),
            most=write(most),
            deviation=write(shown.deviation),
        )
    )
    lines.append(_quantiles(shown, words))
    interval = say("{level} interval", level=level)
    own = list(shown.own.items())
    title = say_marked(words.alone)
    lines += _estimates(title, own, interval, write, words.sign, words.alone_total, width)
    together = [(", ".join(names), each) for names, each in shown.shared.items() if names]
    together = [(names, each) for names, each in together if each.mean or each.low or each.high]
    together.sort(key=lambda each: -abs(each[1].mean))
    sign, total = words.together_sign, words.together_total
    lines += _estimates(say_marked(words.together), together, interval, write, sign, total, width)
    sums = list(shown.aggregates.items())
    lines += _estimates(say("reward for sums"), sums, interval, write, words.sign, None, width)
    if shown.completions:
        lines += _completions(shown.completions, calendar, width)
    return lines


def _quantiles(shown: Simulation, words: AmountWords) -> str:
    """How often the plan costs, or earns, at most which amount."""
    parts: list[str] = []
    for share in QUANTILES:
        # A return of at least r is a cost of at most -r.
        amount = -shown.quantile(1 - share) if words.sign < 0 else shown.quantile(share)
        values = {"share": say("{share:g} %", share=100 * share), "amount": words.write(amount)}
        parts.append(
            say("in {share} {amount}", context="cases", **values)
            if parts
            else say_marked(words.at_most, **values)
        )
    return ", ".join(parts)


def _range(each: Estimate, sign: int) -> tuple[float, float]:
    low, high = sorted((sign * each.low, sign * each.high))
    return low, high


def _estimates(
    title: str,
    rows: Sequence[tuple[str, Estimate]],
    interval: str,
    write: Callable[[float], str],
    sign: int,
    total: float | None,
    width: int | None,
) -> list[str]:
    if not rows:
        return []
    means = [sign * each.mean for _, each in rows]
    if total is not None and has_cents(total) and abs(sum(means) - total) < 1:
        means = [each / 100 for each in share_cents(cents(total), means)]
    cells = [
        (name, write(mean), _between(*map(write, _range(each, sign))))
        for (name, each), mean in zip(rows[:MOST_ROWS], means, strict=False)
    ]
    head = (title, say("mean", context="average"), interval)
    return ["", *_table([head, *cells], width), *_more(rows)]


def _between(low: str, high: str) -> str:
    return say("{low} to {high}", context="amounts", low=low, high=high)


def _completions(
    rows: Sequence[Completion], calendar: Calendar | None, width: int | None
) -> list[str]:
    cells = []
    for each in rows[:MOST_ROWS]:
        steps = [each.stage + k for k, share in enumerate(each.shares) if share > 0]
        when = mean = "-"
        if each.mean is not None:
            first, last, middle = steps[0], steps[-1], round(each.mean)
            if calendar is None:
                begin, end, mean = str(first), str(last), number_text(each.mean, ".2f")
            else:
                begin, end = calendar.label(first), calendar.label(last)
                mean = calendar.label(middle)
            when = say("{begin} to {end}", context="dates", begin=begin, end=end)
        name = f"{each.contractor}/{each.task}"
        cells.append((name, mean, when, say("{share:.3g} %", share=100 * each.undone)))
    if calendar is None:
        completed = say("completed in step")
    elif calendar.days == 1:
        completed = say("completed on")
    else:
        completed = say("completed in the week from")
    mean, span = say("mean", context="average"), say("first to last", context="steps")
    title = (completed, mean, span, say("not at all"))
    return ["", *_table([title, *cells], width), *_more(rows)]


def _more(rows: Sequence[object]) -> list[str]:
    left_out = len(rows) - MOST_ROWS
    return [say("and {more:,} more", more=left_out)] if left_out > 0 else []


def _table(rows: Sequence[tuple[str, ...]], width: int | None) -> list[str]:
    """Align columns: the first to the left, the others to the right.

    With a width, the first column is broken into lines; the numbers are beside the last one.
    """
    # Slow to import, and seldom needed.
    from rich.cells import cell_len
    from rich.text import Text

    from coreplan.view.terminal import LEAST_WIDTH, break_lines

    widths = [max(cell_len(row[k]) for row in rows) for k in range(len(rows[0]))]
    if width is not None:
        room = width - sum(widths[1:]) - 2 * (len(widths) - 1)
        widths[0] = min(widths[0], max(LEAST_WIDTH, room))
    lines = []
    for row in rows:
        parts = [row[0]]
        if cell_len(row[0]) > widths[0]:
            pieces = break_lines(Text(row[0]), widths[0] - 2, fold=True)
            parts = [f"{'  ' if k else ''}{piece.plain}" for k, piece in enumerate(pieces)]
        *before, last = parts
        lines += before
        first = last + " " * (widths[0] - cell_len(last))
        rest = [
            " " * (width - cell_len(cell)) + cell
            for cell, width in zip(row[1:], widths[1:], strict=True)
        ]
        lines.append("  ".join([first, *rest]).rstrip())
    return lines
