"""Sentences about the cost of hindrance rules, windows and delays."""

from __future__ import annotations

import math

from coreplan.domains.maintenance.changes import Change
from coreplan.domains.maintenance.influence import Influence, Sensitivity
from coreplan.domains.maintenance.parts import Cost, Hindrance, Task
from coreplan.domains.maintenance.words import expected_money
from coreplan.model.calendar import Calendar
from coreplan.solving.result import OPTIMAL_TOLERANCE, Status
from coreplan.support.checks import MOST_STAGES
from coreplan.support.late import provides
from coreplan.view.words import steps, when_starts

_WHY = {
    Status.INTERRUPTED: "interrupted",
    Status.MEMORY_LIMIT: "the memory limit was reached",
    Status.GAP_LIMIT: "the gap limit was reached",
}


@provides("Sensitivity.text")
def sensitivity_in_words(
    report: Sensitivity, top: int | None = None, calendar: Calendar | None = None
) -> list[str]:
    """The value of the best plan, then a line for each influence, the most expensive first."""
    value = report.result.value
    if report.result.status is Status.OPTIMAL:
        lines = [f"the best plan is {expected_money(value)}"]
    else:
        gains = "saves" if value < 0 else "gains"
        lines = [
            f"the best known plan is {expected_money(value)}; a better plan {gains} at most "
            f"{report.result.gap:,.2f}"
        ]
    if not report.influences:
        return [*lines, "nothing to examine: the problem has no rule, window or delay of this kind"]
    shown = report.influences[:top]
    width = len(str(len(shown)))
    lines += [
        f"{number:>{width}}. {influence_in_words(each, report.result.value, calendar)}"
        for number, each in enumerate(shown, 1)
    ]
    if len(shown) < len(report.influences):
        lines.append(f"and {len(report.influences) - len(shown):,} more, not shown")
    if report.status is not Status.OPTIMAL:
        why = _WHY.get(report.status, "the time limit was reached")
        left = sum(not each.examined for each in report.influences)
        which = f"{left:,} of {len(report.influences):,} changes were not examined"
        lines.append(f"{why}: {which if left else 'not all numbers are exact'}")
    return lines


def influence_in_words(influence: Influence, value: float, calendar: Calendar | None = None) -> str:
    """A sentence with a change and its effect on a best plan of this value.

    Examples
    --------
    >>> from coreplan import Hindrance
    >>> rule = Hindrance(("Alpha/a1", "Beta/b1"), cost=7.5)
    >>> change = Change("hindrance", rule.tasks, rule, None, (0,), True)
    >>> change_in_words(change)
    'Without the rule that Alpha/a1 and Beta/b1 hinder each other (7.5 per step)'
    >>> influence_in_words(Influence(change, 12.3, 12.3, True), -300).removeprefix(_)
    ', the best plan costs 12.30 less (4.1 %)'
    """
    text = f"{change_in_words(influence.change, calendar)}, {_effect(influence, value)}"
    if influence.paid is not None and not influence.exact:
        text += f"; the best known plan pays {_money(influence.paid)} for it"
    return text if influence.examined else f"{text} (not examined)"


def change_in_words(change: Change, calendar: Calendar | None = None) -> str:
    """The change as the first half of a sentence: "Without the rule that ..."."""
    if isinstance(change.before, Hindrance):
        rule = f"the rule that {_names(change.tasks)} hinder each other"
        price = f"{_price(change.before.cost)} per {'step' if calendar is None else calendar.step}"
        if change.after is None:
            return f"Without {rule} ({price})"
        return f"With half the cost of {rule} (now {price})"
    task = change.before
    (name,) = change.tasks
    if change.kind == "windows":
        assert task.window is not None
        first, last = (min(stage, MOST_STAGES) for stage in task.window)
        # A window is about starts: its last step is named by its first day.
        now = f"now {when_starts(first, last, calendar)}"
        if isinstance(change.after, Task) and change.after.window is not None:
            return f"If {name} could start {steps(1, calendar)} earlier or later ({now})"
        return f"If {name} could start at any time ({now})"
    assert task.delay is not None
    longer = steps(task.delay.duration, calendar)
    now = f"now with a chance of {100 * task.delay.probability:.3g} %, by {longer}"
    if isinstance(change.after, Task) and change.after.delay is not None:
        return f"If {name} were delayed half as often ({now})"
    return f"If {name} were never delayed ({now})"


def _names(tasks: tuple[str, ...]) -> str:
    *most, last = tasks
    return f"{', '.join(most)} and {last}"


def _price(cost: Cost) -> str:
    if not isinstance(cost, tuple):
        return f"{cost:,.10g}"
    low, high = min(cost), max(cost)
    return f"{low:,.10g}" if low == high else f"{low:,.10g} to {high:,.10g}"


def _effect(influence: Influence, value: float) -> str:
    """The effect as the second half of a sentence: how much more or less the best plan costs."""
    verb, up, down = ("costs", "less", "more") if value < 0 else ("earns", "more", "less")
    low, high = influence.low, influence.high
    if influence.exact:
        if _is_same(high, value):
            return f"the best plan {verb} the same"
        return (
            f"the best plan {verb} {_money(abs(high))} {up if high > 0 else down}"
            f"{_percent(high, value)}"
        )
    if not math.isfinite(low) or not math.isfinite(high):
        if math.isfinite(high):
            return f"the best plan {verb} at most {_money(max(high, 0.0))} {up}"
        if math.isfinite(low) and low > 0:
            return f"the best plan {verb} at least {_money(low)} {up}"
        return "the effect is not known"
    if low < 0:
        return (
            f"the best plan {verb} between {_money(-low)} {down} and {_money(abs(high))} "
            f"{up if high >= 0 else down}"
        )
    if _is_same(low, value):
        return f"the best plan {verb} at most {_money(high)} {up}{_percent(high, value)}"
    return f"the best plan {verb} between {_money(low)} and {_money(high)} {up}"


def _is_same(change: float, value: float) -> bool:
    """Whether a change is within the tolerance of the solver."""
    return abs(change) <= OPTIMAL_TOLERANCE * max(1.0, abs(value))


def _money(value: float) -> str:
    return f"{value:,.2f}" if value == 0 or abs(value) >= 0.01 else f"{value:.2g}"


def _percent(change: float, value: float) -> str:
    """A change in per cent of the best plan's value; empty if the value is too small for that."""
    if value == 0 or abs(change) > 10 * abs(value):
        return ""
    return f" ({100 * abs(change / value):.2g} %)"
