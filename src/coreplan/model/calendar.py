"""Dates of steps: the first day of a plan and the length of its steps."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from coreplan.errors import Diagnostic, ModelError, nearest
from coreplan.support.checks import found

STEPS = {"day": 1, "week": 7}
"""The kinds of steps, with their number of days."""
DEFAULT_STEP = "week"

MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
"""Month names in written dates, independent of the machine's language."""
_LONG_MONTHS = (
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
)
_ISO = re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2})(?:[T ]00:00(?::00(?:\.0+)?)?)?", re.ASCII)
_DOTS = re.compile(r"(\d{1,2})\.\s?(\d{1,2})\.\s?(\d{4})", re.ASCII)
_WORDS = re.compile(r"(\d{1,2})\.?[ -]([A-Za-z]+)\.?[ -](\d{4})", re.ASCII)
_UNCLEAR = re.compile(r"\d{1,4}[/.-]\d{1,2}[/.-]\d{1,4}")


@dataclass(frozen=True)
class Calendar:
    """The first day of a plan and the length of its steps, which give each step its dates.

    Parameters
    ----------
    start
        The first day of step 0.
    step
        The length of a step: ``day`` or ``week``.
    source
        The file that it was read from, if any.

    Examples
    --------
    >>> calendar = Calendar(datetime.date(2026, 3, 2), "week")
    >>> calendar.label(1), calendar.range_label(1, 2), calendar.short_label(1)
    ('9 Mar 2026', '9 Mar – 22 Mar 2026', '9 Mar')
    >>> calendar.stage_of(datetime.date(2026, 3, 15)), calendar.steps(2)
    (1, '2 weeks')
    """

    start: datetime.date
    step: str = DEFAULT_STEP
    source: str | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        if isinstance(self.start, datetime.datetime):
            object.__setattr__(self, "start", self.start.date())
        problems = list(check_calendar(self.start, self.step))
        if problems:
            raise ModelError(problems)

    @property
    def days(self) -> int:
        """The length of a step in days."""
        return STEPS[self.step]

    def first_day(self, stage: int) -> datetime.date:
        """The date on which a step begins."""
        return self._day(stage * self.days, stage)

    def last_day(self, stage: int) -> datetime.date:
        """The date on which a step ends."""
        return self._day(stage * self.days + self.days - 1, stage)

    def stage_of(self, day: datetime.date) -> int:
        """The step that a day is in; below 0 if it is before the start."""
        return (day - self.start).days // self.days

    def label(self, stage: int) -> str:
        """The first day of a step as text, for instance ``9 Mar 2026``."""
        return write_date(self.first_day(stage))

    def short_label(self, stage: int) -> str:
        """The same without the year, for instance ``9 Mar``."""
        return _write_day(self.first_day(stage))

    def range_label(self, first: int, last: int) -> str:
        """From the first day of one step to the last day of another, both included."""
        begin, end = self.first_day(first), self.last_day(last)
        if begin == end:
            return write_date(begin)
        if begin.year == end.year:
            return f"{_write_day(begin)} – {write_date(end)}"
        return f"{write_date(begin)} – {write_date(end)}"

    def steps(self, number: int) -> str:
        """A number of steps in words: ``1 day``, ``2 weeks``."""
        return f"{number:,} {self.step}{'' if number == 1 else 's'}"

    def to_dict(self) -> dict[str, str]:
        """The start as an ISO date, and the step."""
        return {"start": self.start.isoformat(), "step": self.step}

    def _day(self, days: int, stage: int) -> datetime.date:
        try:
            return self.start + datetime.timedelta(days)
        except OverflowError:
            raise ModelError(
                f"step {stage} is after the year 9999; choose a start before {self.start}"
            ) from None


def check_calendar(start: object, step: object) -> Iterable[Diagnostic]:
    """Find all mistakes in the parts of a calendar."""
    if not isinstance(start, datetime.date):
        yield Diagnostic(
            ("start",), f"found {found(start)}; expected the first day, for instance 2026-03-02"
        )
    if step not in STEPS:
        hint = nearest(step, STEPS) if isinstance(step, str) else ""
        yield Diagnostic(("step",), f"found {found(step)}; expected {' or '.join(STEPS)}{hint}")


def parse_date(text: str) -> datetime.date:
    """Read a date in one of the usual notations, unless it is ambiguous.

    Raises
    ------
    ModelError
        If the text is not a date, or if day and month could be swapped.

    Examples
    --------
    >>> parse_date("2026-03-02") == parse_date("2.3.2026") == parse_date("2 March 2026")
    True
    """
    text = text.strip()
    year = month = day = ""
    if match := _ISO.fullmatch(text):
        year, month, day = match.groups()
    elif match := _DOTS.fullmatch(text):
        day, month, year = match.groups()
    elif match := _WORDS.fullmatch(text):
        day, word, year = match.groups()
        months = [k for k, name in enumerate(_LONG_MONTHS, 1) if _is_month(word.lower(), name)]
        month = str(months[0]) if months else "0"
    elif _UNCLEAR.fullmatch(text):
        raise ModelError(
            f"{found(text)} is ambiguous: day and month could be swapped; write the date as "
            "year-month-day, for instance 2026-03-02"
        )
    else:
        raise ModelError(f"{found(text)} is not a date; expected one like 2026-03-02")
    try:
        return datetime.date(int(year), int(month), int(day))
    except ValueError:
        raise ModelError(
            f"{found(text)} is not a valid date; expected one like 2026-03-02"
        ) from None


def write_date(day: datetime.date) -> str:
    """Write a date as text, for instance ``9 Mar 2026``."""
    return f"{_write_day(day)} {day.year}"


def _write_day(day: datetime.date) -> str:
    return f"{day.day} {MONTHS[day.month - 1]}"


def _is_month(word: str, name: str) -> bool:
    return word == name or (word == name[: len(word)] and len(word) in (3, 4))
