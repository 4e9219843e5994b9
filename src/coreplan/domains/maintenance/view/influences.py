"""Sentences about the cost of hindrance rules, windows and delays."""

from __future__ import annotations

import math
from typing import NamedTuple

from coreplan.domains.maintenance.changes import Change
from coreplan.domains.maintenance.influence import Influence, Sensitivity
from coreplan.domains.maintenance.parts import Cost, Hindrance, Task
from coreplan.domains.maintenance.words import expected_money
from coreplan.model.calendar import Calendar
from coreplan.solving.result import OPTIMAL_TOLERANCE, Status
from coreplan.support.cents import price_text
from coreplan.support.checks import MOST_STAGES
from coreplan.support.language import marked, money_text, say, say_marked
from coreplan.support.late import provides
from coreplan.view.units import joined, per_unit
from coreplan.view.words import steps, when_starts

_WHY = {
    Status.INTERRUPTED: marked("interrupted"),
    Status.MEMORY_LIMIT: marked("the memory limit was reached"),
    Status.GAP_LIMIT: marked("the gap limit was reached"),
}
_TIME = marked("the time limit was reached")


@provides("Sensitivity.text")
def sensitivity_in_words(
    report: Sensitivity, top: int | None = None, calendar: Calendar | None = None
) -> list[str]:
    """The value of the best plan, then a line for each influence, the most expensive first."""
    value = report.result.value
    worth = expected_money(value)
    gap = money_text(f"{report.result.gap:,.2f}")
    if report.result.status is Status.OPTIMAL:
        lines = [say("the best plan is {worth}", worth=worth)]
    elif value < 0:
        lines = [
            say(
                "the best known plan is {worth}; a better plan saves at most {amount}",
                worth=worth,
                amount=gap,
            )
        ]
    else:
        lines = [
            say(
                "the best known plan is {worth}; a better plan gains at most {amount}",
                worth=worth,
                amount=gap,
            )
        ]
    if not report.influences:
        nothing = say("nothing to examine: the problem has no rule, window or delay of this kind")
        return [*lines, nothing]
    shown = report.influences[:top]
    width = len(str(len(shown)))
    lines += [
        f"{number:>{width}}. {influence_in_words(each, report.result.value, calendar)}"
        for number, each in enumerate(shown, 1)
    ]
    if len(shown) < len(report.influences):
        lines.append(say("and {more:,} more, not shown", more=len(report.influences) - len(shown)))
    if report.status is not Status.OPTIMAL:
        left = sum(not each.examined for each in report.influences)
        which = say("not all numbers are exact")
        if left:
            which = say(
                "{left:,} of {all:,} changes were not examined",
                left=left,
                all=len(report.influences),
            )
        lines.append(f"{say_marked(_WHY.get(report.status, _TIME))}: {which}")
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
    change = change_in_words(influence.change, calendar)
    text = say("{change}, {effect}", change=change, effect=_effect(influence, value))
    if influence.paid is not None and not influence.exact:
        pays = say("the best known plan pays {amount} for it", amount=_money(influence.paid))
        text = f"{text}; {pays}"
    return text if influence.examined else say("{text} (not examined)", text=text)


def change_in_words(change: Change, calendar: Calendar | None = None) -> str:
    """The change as the first half of a sentence: "Without the rule that ..."."""
    if isinstance(change.before, Hindrance):
        works = joined(change.tasks)
        price = per_unit(_price(change.before.cost), calendar)
        if change.after is None:
            return say(
                "Without the rule that {works} hinder each other ({price})",
                works=works,
                price=price,
            )
        return say(
            "With half the cost of the rule that {works} hinder each other (now {price})",
            works=works,
            price=price,
        )
    task = change.before
    (name,) = change.tasks
    if change.kind == "windows":
        assert task.window is not None
        first, last = (min(stage, MOST_STAGES) for stage in task.window)
        # A window is about starts: its last step is named by its first day.
        now = when_starts(first, last, calendar)
        if isinstance(change.after, Task) and change.after.window is not None:
            return say(
                "If {name} could start {steps} earlier or later (now {starts})",
                name=name,
                steps=steps(1, calendar),
                starts=now,
            )
        return say("If {name} could start at any time (now {starts})", name=name, starts=now)
    assert task.delay is not None
    longer = steps(task.delay.duration, calendar)
    chance = say("{share:.3g} %", share=100 * task.delay.probability)
    if isinstance(change.after, Task) and change.after.delay is not None:
        return say(
            "If {name} were delayed half as often (now with a chance of {chance}, by {steps})",
            name=name,
            chance=chance,
            steps=longer,
        )
    return say(
        "If {name} were never delayed (now with a chance of {chance}, by {steps})",
        name=name,
        chance=chance,
        steps=longer,
    )


def _price(cost: Cost) -> str:
    if not isinstance(cost, tuple):
        return price_text(cost)
    low, high = price_text(min(cost)), price_text(max(cost))
    return low if low == high else say("{low} to {high}", context="amounts", low=low, high=high)


class _Effects(NamedTuple):
    """The effects of a change, each as the second half of a sentence that begins with it."""

    same: str
    better: str
    worse: str
    better_at_most: str
    better_at_least: str
    worse_or_better: str
    worse_or_less_worse: str
    better_between: str


_COSTS = _Effects(
    marked("the best plan costs the same", context="effect"),
    marked("the best plan costs {amount} less", context="effect"),
    marked("the best plan costs {amount} more", context="effect"),
    marked("the best plan costs at most {amount} less", context="effect"),
    marked("the best plan costs at least {amount} less", context="effect"),
    marked("the best plan costs between {low} more and {high} less", context="effect"),
    marked("the best plan costs between {low} more and {high} more", context="effect"),
    marked("the best plan costs between {low} and {high} less", context="effect"),
)
_EARNS = _Effects(
    marked("the best plan earns the same", context="effect"),
    marked("the best plan earns {amount} more", context="effect"),
    marked("the best plan earns {amount} less", context="effect"),
    marked("the best plan earns at most {amount} more", context="effect"),
    marked("the best plan earns at least {amount} more", context="effect"),
    marked("the best plan earns between {low} less and {high} more", context="effect"),
    marked("the best plan earns between {low} less and {high} less", context="effect"),
    marked("the best plan earns between {low} and {high} more", context="effect"),
)


def _effect(influence: Influence, value: float) -> str:
    """The effect as the second half of a sentence: how much more or less the best plan costs."""
    texts = _COSTS if value < 0 else _EARNS
    low, high = influence.low, influence.high
    if influence.exact:
        if _is_same(high, value):
            return _said(texts.same)
        text = texts.better if high > 0 else texts.worse
        return _said(text, amount=_money(abs(high))) + _percent(high, value)
    if not math.isfinite(low) or not math.isfinite(high):
        if math.isfinite(high):
            return _said(texts.better_at_most, amount=_money(max(high, 0.0)))
        if math.isfinite(low) and low > 0:
            return _said(texts.better_at_least, amount=_money(low))
        return say("the effect is not known", context="effect")
    if low < 0:
        text = texts.worse_or_better if high >= 0 else texts.worse_or_less_worse
        return _said(text, low=_money(-low), high=_money(abs(high)))
    if _is_same(low, value):
        return _said(texts.better_at_most, amount=_money(high)) + _percent(high, value)
    return _said(texts.better_between, low=_money(low), high=_money(high))


def _said(text: str, **amounts: str) -> str:
    return say_marked(text, context="effect", **amounts)


def _is_same(change: float, value: float) -> bool:
    """Whether a change is within the tolerance of the solver."""
    return abs(change) <= OPTIMAL_TOLERANCE * max(1.0, abs(value))


def _money(value: float) -> str:
    return money_text(f"{value:,.2f}" if value == 0 or abs(value) >= 0.01 else f"{value:.2g}")


def _percent(change: float, value: float) -> str:
    """A change in per cent of the best plan's value; empty if the value is too small for that."""
    if value == 0 or abs(change) > 10 * abs(value):
        return ""
    share = say("{share:.2g} %", share=100 * abs(change / value))
    return f" ({share})"
