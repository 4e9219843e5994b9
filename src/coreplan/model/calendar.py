"""Dates of steps: the first day of a plan, the length of its steps, and closed periods."""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from coreplan.errors import Diagnostic, ModelError, nearest
from coreplan.model.dates import Days, write_date, write_day, write_days
from coreplan.support.checks import found
from coreplan.support.frozen import freeze_sequence
from coreplan.support.language import say_count

STEPS = {"day": 1, "week": 7}
"""The kinds of steps, with their number of days."""
DEFAULT_STEP = "week"

NO = ("start", "work")
"""What a closed period forbids: that works start in it, or that they run in it."""


@dataclass(frozen=True)
class ClosedPeriod:
    """A period, such as a holiday, in which no work may start or no work may run.

    Parameters
    ----------
    name
        The name, for people.
    first, last
        The first and the last day, both included.
    no
        ``work``: no work may run in the period; ``start``: no work may start in it.

    Examples
    --------
    >>> ClosedPeriod("Easter", datetime.date(2026, 4, 3), datetime.date(2026, 4, 6)).label
    'Easter (3 Apr – 6 Apr 2026)'
    """

    name: str
    first: datetime.date
    last: datetime.date
    no: str = "work"

    def __post_init__(self) -> None:
        problems = list(check_period(self.name, self.first, self.last, self.no))
        if problems:
            raise ModelError(problems)

    @property
    def label(self) -> str:
        """The name and the days as text."""
        days = write_days(Days(self.first, self.last))
        return f"{self.name} ({days})" if self.name else days

    def to_dict(self) -> dict[str, str]:
        """The keys and values of calendar files."""
        written = {"name": self.name} if self.name else {}
        written |= {"from": self.first.isoformat(), "to": self.last.isoformat(), "no": self.no}
        return written


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
    closed
        The periods in which no work may start or run.

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
    closed: tuple[ClosedPeriod, ...] = ()

    def __post_init__(self) -> None:
        if isinstance(self.start, datetime.datetime):
            object.__setattr__(self, "start", self.start.date())
        closed = freeze_sequence(self.closed, ("closed",), "a list of periods", ClosedPeriod)
        object.__setattr__(self, "closed", closed)
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
        return write_day(self.first_day(stage))

    def range_label(self, first: int, last: int) -> str:
        """From the first day of one step to the last day of another, both included."""
        return write_days(Days(self.first_day(first), self.last_day(last)))

    def steps(self, number: int) -> str:
        """A number of steps in words: ``1 day``, ``2 weeks``."""
        if self.step == "day":
            return say_count(number, "{number:,} day", "{number:,} days")
        return say_count(number, "{number:,} week", "{number:,} weeks")

    def without_past_periods(self, stage: int) -> Calendar:
        """The same dates without the closed periods that end before a step."""
        begin = self.first_day(stage)
        return replace(self, closed=tuple(each for each in self.closed if each.last >= begin))

    def to_dict(self) -> dict[str, Any]:
        """The start as an ISO date, the step, and the closed periods if it has any."""
        written: dict[str, Any] = {"start": self.start.isoformat(), "step": self.step}
        if self.closed:
            written["closed"] = [period.to_dict() for period in self.closed]
        return written

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


def check_period(name: object, first: object, last: object, no: object) -> Iterable[Diagnostic]:
    """Find all mistakes in the parts of a closed period."""
    if not isinstance(name, str):
        yield Diagnostic(("name",), f"found {found(name)}; expected a name, a text")
    sound = True
    for key, day in (("from", first), ("to", last)):
        if not isinstance(day, datetime.date) or isinstance(day, datetime.datetime):
            yield Diagnostic(
                (key,), f"found {found(day)}; expected a date, for instance 2026-07-20"
            )
            sound = False
    if sound and last < first:  # type: ignore[operator]
        yield Diagnostic(("to",), f"the last day {last} is before the first day {first}; swap them")
    if no not in NO:
        hint = nearest(no, NO) if isinstance(no, str) else ""
        yield Diagnostic(
            ("no",),
            f"found {found(no)}; expected 'work' (no work may run in the period) or 'start' (no "
            f"work may start in it){hint}",
        )
