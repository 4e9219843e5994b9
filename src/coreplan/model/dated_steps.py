"""Steps that files and options give as dates."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable

from coreplan.errors import ModelError
from coreplan.model.calendar import Calendar
from coreplan.model.dates import (
    DateStyle,
    find_order,
    is_ambiguous,
    parse_date,
    parse_days,
    write_date,
)
from coreplan.support.checks import found
from coreplan.support.language import in_english, say

_NUMBER = re.compile(r"[+-]?\d*\.?\d*")
_ANY_DAY = datetime.date(2026, 1, 1)
MOST_NAMED = 3
"""The most dates that a note names."""


class DatedSteps:
    """Reads the steps of one file or option that are given as dates.

    A date stands for the step that contains it, a week number for the step that contains its first
    day.

    Parameters
    ----------
    calendar
        The dates of the steps; None if they are not known, and dates then are errors.
    order
        What comes first in a date such as 06-04-2026: ``dmy``, ``mdy`` or None; see :meth:`decide`.

    Examples
    --------
    >>> steps = DatedSteps(Calendar(datetime.date(2026, 3, 2), "week"))
    >>> steps.read("2026-03-09"), steps.read("wk 12"), steps.read("25 maart 2026")
    (1, 2, 3)
    >>> print(steps.notes()[0])  # doctest: +NORMALIZE_WHITESPACE
    a date that is not the first day of a week stands for its week: 25 Mar 2026 for
    23 Mar – 29 Mar 2026
    """

    def __init__(self, calendar: Calendar | None, order: str | None = None) -> None:
        self.calendar = calendar
        self._style = DateStyle(order, _ANY_DAY if calendar is None else calendar.start)
        self._order_note = ""
        self._within: dict[datetime.date, int] = {}

    def decide(self, texts: Iterable[object]) -> None:
        """Find from all dates of the file whether the day or the month comes first."""
        dates = [text for text in texts if is_dated(text) and isinstance(text, str)]
        example = next(filter(is_ambiguous, dates), None)
        if self._style.order is None:
            order = find_order(dates)
            self._style = self._style._replace(order=order.order)
            why = say("as {date} shows", date=found(order.shown_by))
        else:
            why = f"--dates {self._style.order}"
        if example is not None and self._style.order is not None:
            self._order_note = order_note(example, self._style, why)

    @in_english
    def read(self, text: str, *, last: bool = False) -> int:
        """The step that a date is in.

        Parameters
        ----------
        text
            The date or week.
        last
            Whether the step is the last one of a work. Then a week number is its last day.

        Raises
        ------
        ModelError
            If the text is no date, if the dates of the steps are not known, or if the date is
            before the plan.
        """
        days = parse_days(text, self._style)
        day = days.last if last else days.first
        if self.calendar is None:
            raise ModelError(
                f"found the date {found(text)}, but the first day of step 0 is not known; give it "
                "(--start-date, or a calendar beside the problem's file), or write the number of "
                "the step"
            )
        stage = self.calendar.stage_of(day)
        if stage < 0:
            raise ModelError(
                f"{found(text)} is before the first day of the plan, {self.calendar.label(0)}"
            )
        begins = self.calendar.first_day(stage) == day
        if not begins and not (last and self.calendar.last_day(stage) == day):
            self._within[day] = stage
        return stage

    def notes(self) -> list[str]:
        """How the dates were read, where that is not obvious: at most two lines."""
        notes = [self._order_note] if self._order_note else []
        if self._within and self.calendar is not None:
            some = [
                say(
                    "{day} for {week}",
                    day=write_date(day),
                    week=self.calendar.range_label(stage, stage),
                )
                for day, stage in list(self._within.items())[:MOST_NAMED]
            ]
            more = len(self._within) - len(some)
            dates = ", ".join(some)
            if more:
                dates = say("{names} and {more:,} more", names=dates, more=more)
            # With steps of a day, every date is the first day of its step.
            notes.append(
                say(
                    "a date that is not the first day of a week stands for its week: {dates}",
                    dates=dates,
                )
            )
        return notes


def order_note(example: str, style: DateStyle, why: str) -> str:
    """Tell how ambiguous dates are read, with an example.

    Parameters
    ----------
    example
        An ambiguous date.
    style
        How it is read; its order must be known.
    why
        The reason for this order.
    """
    date, day = found(example.strip()), write_date(parse_date(example, style))
    if style.order == "mdy":
        return say(
            "dates are read with the month first ({why}): {date} is {day}",
            why=why,
            date=date,
            day=day,
        )
    return say(
        "dates are read with the day first ({why}): {date} is {day}", why=why, date=date, day=day
    )


def is_dated(value: object) -> bool:
    """Whether a value given for a step is meant as a date: a text with digits and other signs."""
    if not isinstance(value, str):
        return False
    text = value.strip()
    return any(sign.isdigit() for sign in text) and _NUMBER.fullmatch(text) is None
