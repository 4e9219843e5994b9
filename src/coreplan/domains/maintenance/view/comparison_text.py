"""Two compared plans as sentences, and as tables for the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.cells import cell_len
from rich.text import Text

from coreplan.domains.maintenance.money import amount_text, rounded
from coreplan.domains.maintenance.parts import Cost, Delay
from coreplan.domains.maintenance.plan_comparison import (
    ComparedPlan,
    CostLine,
    PlanComparison,
    WorkComparison,
)
from coreplan.domains.maintenance.problem_changes import ProblemChange
from coreplan.model.calendar import Calendar
from coreplan.view.terminal import fit, fold
from coreplan.view.words import count, percent, printable, steps, when_starts

MOST_CHANGES = 20
"""The most differences of the problems that the terminal shows."""
_LEAST_NAME = 16


def headline(comparison: PlanComparison) -> str:
    """The conclusion in one sentence: what the new plan saves, or costs more."""
    old, new = comparison.old.cost, comparison.new.cost
    if old is None or new is None:
        return (
            "The costs cannot be compared: the exact costs of "
            f"{'both plans' if old is new else 'one plan'} are out of reach."
        )
    before, after = rounded(old), rounded(new)
    earns = before <= 0 and after <= 0 and (before, after) != (0, 0)
    verb = "earns" if earns else "costs"
    if earns:
        before, after = 0.0 - before, 0.0 - after
    if before == after:
        return f"Both plans {verb[:-1]} {amount_text(after)}."
    amounts = f"it {verb} {amount_text(after)} instead of {amount_text(before)}"
    size = amount_text(abs(after - before))
    part = f" ({percent(abs(after - before) / before)})" if before > 0 else ""
    if earns:
        return f"The new plan earns {size}{part} {'more' if after > before else 'less'}: {amounts}."
    if after < before:
        return f"The new plan saves {size}{part}: {amounts}."
    return f"The new plan costs {size}{part} more: {amounts}."


def proof_in_words(plan: ComparedPlan, which: str) -> str:
    """What is proven about a plan, for instance that it is the best one."""
    result = plan.result
    if result is None:
        return f"The {which} plan was given. Whether a better one exists was not examined."
    if plan.proven:
        return f"The {which} plan is proven to be the best one for its problem."
    left = amount_text(result.upper_bound - result.value)
    return f"The {which} plan is not proven best: a better one saves at most {left}."


def columns_of(lines: Sequence[CostLine]) -> tuple[str, str, str, str]:
    """The titles of a table of costs; amounts are earnings if both plans earn."""
    return ("expected costs" if _sign(lines) > 0 else "expected earnings", "old", "new", "change")


def cost_rows(lines: Sequence[CostLine]) -> list[tuple[str, str, str, str]]:
    """The table of costs as texts: contractors, hindrance rules that cost something, the total.

    The amounts must be in cents: the changes then add up as shown.
    """
    sign = _sign(lines)
    rows = []
    for line in lines:
        if line.what == "hindrance" and line.old == 0 and line.new == 0:
            continue
        name = {
            "contractor": line.names[0] if line.names else "",
            "hindrance": f"hindrance: {' + '.join(line.names)}",
            "total": "in all",
        }[line.what]
        more = rounded(sign * line.more)
        rows.append(
            (
                printable(name),
                amount_text(sign * line.old),
                amount_text(sign * line.new),
                f"{'+' if more > 0 else ''}{amount_text(more)}",
            )
        )
    return rows


def _sign(lines: Sequence[CostLine]) -> int:
    """Whether costs are shown as costs (1) or as earnings (-1)."""
    total = next((each for each in lines if each.what == "total"), None)
    earns = total is not None and total.old <= 0 and total.new <= 0
    return -1 if earns and total is not None and (total.old or total.new) else 1


def start_in_words(start: int | None, calendar: Calendar | None) -> str:
    """A planned start: a date or a step, or a dash."""
    if start is None:
        return "–"
    return str(start) if calendar is None else calendar.label(start)


def move_in_words(work: WorkComparison, calendar: Calendar | None = None) -> str:
    """How a work differs between both plans, in a few words.

    Examples
    --------
    >>> move_in_words(WorkComparison("Alpha", "a1", "moved", 3, 1, 4, 2, 3.0, 1.0))
    '2 steps earlier'
    """
    if work.kind == "moved":
        assert work.moved is not None
        return _by(work.moved, calendar)
    if work.kind == "shifted":
        assert work.shifted is not None
        return f"{_by(work.shifted, calendar)} on average"
    if work.kind == "resized":
        if work.old_end is None or work.new_end is None:
            return "other end"
        return f"ends {_by(work.new_end - work.old_end, calendar)}"
    return {
        "added": "new work",
        "removed": "work removed",
        "planned": "now planned",
        "dropped": "no longer planned",
        "same": "same start",
    }[work.kind]


def _by(number: float, calendar: Calendar | None) -> str:
    unit = "step" if calendar is None else calendar.step
    size = abs(number)
    text = steps(int(size), calendar) if size == int(size) else f"{size:.2g} {unit}s"
    return f"{text} {'later' if number > 0 else 'earlier'}"


def works_summary(comparison: PlanComparison) -> str:
    """The number of works that move and of those that stay, in one sentence."""
    kinds = [each.kind for each in comparison.works]
    if kinds.count("same") == len(kinds):
        known = comparison.old.times is not None and comparison.new.times is not None
        return "No work moves." if known else "No work moves, if nothing is delayed."
    parts = [
        f"{kinds.count(kind)} {words}"
        for kind, words in (
            ("moved", "moved"),
            ("shifted", "moved on average only (because of delays)"),
            ("resized", "with another end"),
            ("planned", "now planned"),
            ("dropped", "no longer planned"),
            ("added", "new"),
            ("removed", "removed"),
            ("same", "as before"),
        )
        if kinds.count(kind)
    ]
    return f"Of {count(len(kinds), 'work')}: {', '.join(parts)}."


def problem_change_in_words(change: ProblemChange, calendar: Calendar | None = None) -> str:
    """A difference of the problems as one line: ``Alpha/a1: duration 3 steps instead of 2``."""
    name = printable(" + ".join(change.names))
    before, after = change.before, change.after
    if change.what in ("contractor", "work"):
        return f"{name}: {change.what} {'added' if before is None else 'removed'}"
    if change.what == "must_complete":
        return "every work must be completed" if after else "works may be left out"
    if change.what == "horizon":
        return f"the plan covers {steps(after, calendar)} instead of {before}"
    if change.what == "closed":
        now, then = (printable("; ".join(each)) or "none" for each in (after, before))
        return f"closed periods: {now} instead of {then}"
    unit = "step" if calendar is None else calendar.step
    if change.what == "duration":
        return f"{name}: takes {steps(after, calendar)} instead of {before}"
    if change.what == "revenue":
        return f"{name}: revenue {amount_text(after)} instead of {amount_text(before)}"
    if change.what == "cost":
        return f"{name}: costs {_prices(before, after)} per {unit}"
    if change.what == "hindrance":
        if before is None:
            return f"hindrance of {name}: added, {_price(after)} per {unit}"
        if after is None:
            return f"hindrance of {name}: removed, was {_price(before)} per {unit}"
        return f"hindrance of {name}: {_prices(before, after)} per {unit}"
    what = "may start" if change.what == "window" else "delayed"
    now, then = (_part(change.what, each, calendar) for each in (after, before))
    return f"{name}: {what} {now} instead of {then}"


def _part(what: str, value: Any, calendar: Calendar | None) -> str:
    """A delay or a window as text."""
    if value is None:
        return "at any time" if what == "window" else "never"
    if isinstance(value, Delay):
        chance = f"{100 * value.probability:.3g} %"
        return f"with a chance of {chance} by {steps(value.duration, calendar)}"
    first, last = value
    starts = when_starts(first, last, calendar)
    return f"in {starts}" if calendar is None else starts


def _prices(before: Cost, after: Cost) -> str:
    if isinstance(before, tuple) and isinstance(after, tuple) and len(before) == len(after):
        other = sum(one != two for one, two in zip(before, after, strict=True))
        return f"{_price(after)} instead of {_price(before)} ({other} of {len(after)} differ)"
    return f"{_price(after)} instead of {_price(before)}"


def _price(cost: Cost) -> str:
    if not isinstance(cost, tuple):
        return amount_text(cost)
    low, high = amount_text(min(cost)), amount_text(max(cost))
    return low if low == high else f"{low} to {high}"


# -- the terminal ----------------------------------------------------------------------------------


def comparison_lines(
    comparison: PlanComparison, width: int, calendar: Calendar | None = None
) -> list[Text]:
    """The comparison for the terminal: the conclusion, costs, changed problem data, works."""
    lines = [Text(each, "bold") for each in fold(headline(comparison), width)]
    for which, plan in (("old", comparison.old), ("new", comparison.new)):
        if plan.result is not None:
            lines += [Text(each, "dim") for each in fold(proof_in_words(plan, which), width)]
    costs = comparison.cost_lines(in_cents=True)
    if costs:
        table = cost_rows(costs)
        lines += [Text(""), *_table([columns_of(costs), *table], width, last_bold=True)]
    if comparison.changes:
        lines += [Text(""), Text("Changed in the problem:", "bold")]
        for change in comparison.changes[:MOST_CHANGES]:
            text = problem_change_in_words(change, calendar)
            lines += [Text(each) for each in fold(text, width, "  ", "      ")]
        left = len(comparison.changes) - MOST_CHANGES
        if left > 0:
            lines.append(Text(f"  and {count(left, 'more change')} (--json)", "dim"))
    lines += [Text("")]
    rows: list[tuple[str, str, str, str]] = []
    for contractor in dict.fromkeys(each.contractor for each in comparison.works):
        own = [e for e in comparison.works if e.contractor == contractor and e.kind != "same"]
        if own:
            rows.append((printable(contractor), "", "", ""))
        rows += [
            (
                f"  {printable(each.work)}",
                start_in_words(each.old_start, calendar),
                start_in_words(each.new_start, calendar),
                move_in_words(each, calendar),
            )
            for each in own
        ]
    if rows:
        unit = "in step" if calendar is None else "on"
        lines += _table(
            [("planned start", f"old, {unit}", f"new, {unit}", ""), *rows], width, words=True
        )
    lines += [Text(each) for each in fold(works_summary(comparison), width)]
    return lines


def _table(
    rows: Sequence[tuple[str, ...]], width: int, *, last_bold: bool = False, words: bool = False
) -> list[Text]:
    """A table with a title row: numbers at the right, words of the last column at the left."""
    widths = [max(cell_len(row[k]) for row in rows) for k in range(1, len(rows[0]))]
    room = max(_LEAST_NAME, width - sum(widths) - 2 * len(widths))
    first = min(room, max(cell_len(row[0]) for row in rows))
    lines = []
    for number, (name, *cells) in enumerate(rows):
        # A long name goes on below: two names must not look the same.
        head, *more = fold(name, first, _indent(name), f"{_indent(name)}  ") or [""]
        texts = [fit(head, first)]
        for k, (cell, wide) in enumerate(zip(cells, widths, strict=True)):
            pad = " " * (wide - cell_len(cell))
            texts.append(cell + pad if words and k == len(cells) - 1 else pad + cell)
        heading = number == 0 or (words and not any(cells))
        bold = heading or (last_bold and number == len(rows) - 1)
        style = "bold" if bold else ""
        lines.append(Text("  ".join(texts).rstrip(), style))
        lines += [Text(each, style) for each in more]
    return lines


def _indent(name: str) -> str:
    return name[: len(name) - len(name.lstrip())]
