"""Steps, prices and names in words: a step is a day or a week if there is a calendar."""

from __future__ import annotations

from collections.abc import Sequence

from coreplan.model.calendar import Calendar
from coreplan.support.language import marked, say, say_count, say_marked

UNCOUNTED = "step"
"""The unit of steps without a calendar."""
_PER = {
    "step": marked("{amount} per step"),
    "day": marked("{amount} per day"),
    "week": marked("{amount} per week"),
}
_SEVERAL = {
    "step": marked("{size} steps"),
    "day": marked("{size} days"),
    "week": marked("{size} weeks"),
}


def unit_of(calendar: Calendar | None) -> str:
    """The unit of steps, to look up texts by: ``step``, ``day`` or ``week``."""
    return UNCOUNTED if calendar is None else calendar.step


def per_unit(amount: str, calendar: Calendar | None = None) -> str:
    """A price of each step.

    Examples
    --------
    >>> per_unit("7.50")
    '7.50 per step'
    """
    return say_marked(_PER[unit_of(calendar)], amount=amount)


def some_steps(size: str, calendar: Calendar | None = None) -> str:
    """A number of steps that need not be whole, as it is written.

    Examples
    --------
    >>> some_steps("2.5"), some_steps("1")
    ('2.5 steps', '1 step')
    """
    if size == "1":
        if calendar is not None:
            return calendar.steps(1)
        return say_count(1, "{number:,} step", "{number:,} steps")
    return say_marked(_SEVERAL[unit_of(calendar)], size=size)


def joined(names: Sequence[str]) -> str:
    """Names with commas between them, the last one with a word.

    Examples
    --------
    >>> joined(["a1", "b1", "c1"])
    'a1, b1 and c1'
    """
    *most, last = names
    if not most:
        return last
    return say("{first} and {last}", first=", ".join(most), last=last)
