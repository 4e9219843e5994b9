"""Two compared plans as sentences, and as tables for the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.cells import cell_len
from rich.text import Text

from coreplan.domains.maintenance.closures import closure_in_words
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
from coreplan.support.cents import change_text
from coreplan.support.language import marked, number_text, say, say_marked
from coreplan.view.terminal import fit, fold
from coreplan.view.units import per_unit, some_steps
from coreplan.view.words import count, percent, printable, steps, when_starts

MOST_CHANGES = 20
"""The most differences of the problems that the terminal shows."""
_LEAST_NAME = 16


def headline(comparison: PlanComparison) -> str:
    """The conclusion in one sentence: what the new plan saves, or costs more."""
    old, new = comparison.old.cost, comparison.new.cost
    if old is None or new is None:
        if old is new:
            return say(
                "The costs cannot be compared: the exact costs of both plans are out of reach."
            )
        return say("The costs cannot be compared: the exact costs of one plan are out of reach.")
    before, after = rounded(old), rounded(new)
    earns = before <= 0 and after <= 0 and (before, after) != (0, 0)
    if earns:
        before, after = 0.0 - before, 0.0 - after
    now, then = amount_text(after), amount_text(before)
    if before == after:
        if earns:
            return say("Both plans earn {amount}.", amount=now)
        return say("Both plans cost {amount}.", amount=now)
    size = amount_text(abs(after - before))
    if before > 0:
        size = f"{size} ({percent(abs(after - before) / before)})"
    values = {"size": size, "now": now, "then": then}
    if earns and after > before:
        return say("The new plan earns {size} more: it earns {now} instead of {then}.", **values)
    if earns:
        return say("The new plan earns {size} less: it earns {now} instead of {then}.", **values)
    if after < before:
        return say("The new plan saves {size}: it costs {now} instead of {then}.", **values)
    return say("The new plan costs {size} more: it costs {now} instead of {then}.", **values)


_GIVEN = {
    "old": marked("The old plan was given. Whether a better one exists was not examined."),
    "new": marked("The new plan was given. Whether a better one exists was not examined."),
}
_BEST = {
    "old": marked("The old plan is proven to be the best one for its problem."),
    "new": marked("The new plan is proven to be the best one for its problem."),
}
_NOT_BEST = {
    "old": marked("The old plan is not proven best: a better one saves at most {amount}."),
    "new": marked("The new plan is not proven best: a better one saves at most {amount}."),
}


def proof_in_words(plan: ComparedPlan, which: str) -> str:
    """What is proven about the ``old`` or ``new`` plan, for instance that it is the best one."""
    result = plan.result
    if result is None:
        return say_marked(_GIVEN[which])
    if plan.proven:
        return say_marked(_BEST[which])
    return say_marked(_NOT_BEST[which], amount=amount_text(result.upper_bound - result.value))


def columns_of(lines: Sequence[CostLine]) -> tuple[str, str, str, str]:
    """The titles of a table of costs; amounts are earnings if both plans earn."""
    what = say("expected costs") if _sign(lines) > 0 else say("expected earnings")
    old, new = say("old", context="plan"), say("new", context="plan")
    return what, old, new, say("change", context="difference")


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
            "hindrance": say("hindrance: {works}", works=" + ".join(line.names)),
            "total": say("in all"),
        }[line.what]
        more = sign * line.more
        rows.append(
            (
                printable(name),
                amount_text(sign * line.old),
                amount_text(sign * line.new),
                change_text(more),
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
        return _by(work.moved, (_LATER, _EARLIER), calendar)
    if work.kind == "shifted":
        assert work.shifted is not None
        return _by(work.shifted, (_LATER_ON_AVERAGE, _EARLIER_ON_AVERAGE), calendar)
    if work.kind == "resized" and work.old_end is not None and work.new_end is not None:
        return _by(work.new_end - work.old_end, (_ENDS_LATER, _ENDS_EARLIER), calendar)
    return say_marked(_KINDS[work.kind])


_LATER, _EARLIER = marked("{steps} later"), marked("{steps} earlier")
_LATER_ON_AVERAGE = marked("{steps} later on average")
_EARLIER_ON_AVERAGE = marked("{steps} earlier on average")
_ENDS_LATER, _ENDS_EARLIER = marked("ends {steps} later"), marked("ends {steps} earlier")
_KINDS = {
    "resized": marked("other end"),
    "added": marked("new work"),
    "removed": marked("work removed"),
    "planned": marked("now planned"),
    "dropped": marked("no longer planned"),
    "same": marked("same start"),
}


def _by(number: float, texts: tuple[str, str], calendar: Calendar | None) -> str:
    """The text for later or the one for earlier, with the size of a difference."""
    size = abs(number)
    whole = size == int(size)
    many = steps(int(size), calendar) if whole else some_steps(number_text(size, ".2g"), calendar)
    return say_marked(texts[0] if number > 0 else texts[1], steps=many)


_HOW_MANY = {
    "moved": marked("{number} moved"),
    "shifted": marked("{number} moved on average only (because of delays)"),
    "resized": marked("{number} with another end"),
    "planned": marked("{number} now planned"),
    "dropped": marked("{number} no longer planned"),
    "added": marked("{number} new"),
    "removed": marked("{number} removed"),
    "same": marked("{number} as before"),
}


def works_summary(comparison: PlanComparison) -> str:
    """The number of works that move and of those that stay, in one sentence."""
    kinds = [each.kind for each in comparison.works]
    if kinds.count("same") == len(kinds):
        known = comparison.old.times is not None and comparison.new.times is not None
        return say("No work moves.") if known else say("No work moves, if nothing is delayed.")
    parts = [
        say_marked(text, number=kinds.count(kind))
        for kind, text in _HOW_MANY.items()
        if kinds.count(kind)
    ]
    return say("Of {works}: {parts}.", works=count(len(kinds), "work"), parts=", ".join(parts))


def problem_change_in_words(change: ProblemChange, calendar: Calendar | None = None) -> str:
    """A difference of the problems as one line: ``Alpha/a1: duration 3 steps instead of 2``."""
    name = printable(" + ".join(change.names))
    before, after = change.before, change.after
    if change.what == "contractor":
        if before is None:
            return say("{name}: contractor added", name=name)
        return say("{name}: contractor removed", name=name)
    if change.what == "work":
        if before is None:
            return say("{name}: work added", name=name)
        return say("{name}: work removed", name=name)
    if change.what == "must_complete":
        return say("every work must be completed") if after else say("works may be left out")
    if change.what == "horizon":
        now = steps(after, calendar)
        return say("the plan covers {now} instead of {then}", now=now, then=str(before))
    if change.what == "closed":
        now, then = (
            printable("; ".join(map(closure_in_words, each)))
            or say("none", context="closed periods")
            for each in (after, before)
        )
        return say("closed periods: {now} instead of {then}", now=now, then=then)
    if change.what == "hindrance":
        return _hindrance_change(name, before, after, calendar)
    return _part_change(change.what, name, before, after, calendar)


def _hindrance_change(
    works: str, before: Cost | None, after: Cost | None, calendar: Calendar | None
) -> str:
    if before is None:
        assert after is not None
        price = per_unit(_price(after), calendar)
        return say("hindrance of {works}: added, {price}", works=works, price=price)
    if after is None:
        price = per_unit(_price(before), calendar)
        return say("hindrance of {works}: removed, was {price}", works=works, price=price)
    prices = per_unit(_prices(before, after), calendar)
    return say("hindrance of {works}: {prices}", works=works, prices=prices)


def _part_change(what: str, name: str, before: Any, after: Any, calendar: Calendar | None) -> str:
    """A difference of one part of a work."""
    if what == "duration":
        now = steps(after, calendar)
        return say("{name}: takes {now} instead of {then}", name=name, now=now, then=str(before))
    if what == "revenue":
        now, then = amount_text(after), amount_text(before)
        return say("{name}: revenue {now} instead of {then}", name=name, now=now, then=then)
    if what == "cost":
        prices = per_unit(_prices(before, after), calendar)
        return say("{name}: costs {prices}", name=name, prices=prices)
    if what == "window":
        now, then = (_window(each, calendar) for each in (after, before))
        return say("{name}: may start {now} instead of {then}", name=name, now=now, then=then)
    now, then = (_delay(each, calendar) for each in (after, before))
    return say("{name}: delayed {now} instead of {then}", name=name, now=now, then=then)


def _window(window: tuple[int, int] | None, calendar: Calendar | None) -> str:
    if window is None:
        return say("at any time")
    starts = when_starts(*window, calendar)
    return say("in {step}", step=starts) if calendar is None else starts


def _delay(delay: Delay | None, calendar: Calendar | None) -> str:
    if delay is None:
        return say("never", context="delay")
    chance = say("{share:.3g} %", share=100 * delay.probability)
    longer = steps(delay.duration, calendar)
    return say("with a chance of {chance} by {steps}", chance=chance, steps=longer)


def _prices(before: Cost, after: Cost) -> str:
    now, then = _price(after), _price(before)
    if isinstance(before, tuple) and isinstance(after, tuple) and len(before) == len(after):
        return say(
            "{now} instead of {then} ({other} of {all} differ)",
            now=now,
            then=then,
            other=sum(one != two for one, two in zip(before, after, strict=True)),
            all=len(after),
        )
    return say("{now} instead of {then}", now=now, then=then)


def _price(cost: Cost) -> str:
    if not isinstance(cost, tuple):
        return amount_text(cost)
    low, high = amount_text(min(cost)), amount_text(max(cost))
    return low if low == high else say("{low} to {high}", context="amounts", low=low, high=high)


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
        lines += [Text(""), Text(say("Changed in the problem:"), "bold")]
        for change in comparison.changes[:MOST_CHANGES]:
            text = problem_change_in_words(change, calendar)
            lines += [Text(each) for each in fold(text, width, "  ", "      ")]
        left = len(comparison.changes) - MOST_CHANGES
        if left > 0:
            more = say("and {changes} (--json)", changes=count(left, "more change"))
            lines.append(Text(f"  {more}", "dim"))
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
        old, new = (
            (say("old, in step"), say("new, in step"))
            if calendar is None
            else (say("old, on"), say("new, on"))
        )
        lines += _table([(say("planned start"), old, new, ""), *rows], width, words=True)
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
