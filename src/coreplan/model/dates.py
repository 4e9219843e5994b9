"""Dates as people write them: days, and week numbers."""

from __future__ import annotations

import datetime
import re
import unicodedata
from collections.abc import Iterable
from typing import NamedTuple

from coreplan.errors import ModelError
from coreplan.support.checks import found
from coreplan.support.language import in_english, marked, say, say_marked

ORDERS = {"dmy": "the day first", "mdy": "the month first"}
"""The ways to read a date such as 06-04-2026, with words for them."""

MONTHS = (
    marked("Jan", context="month"),
    marked("Feb", context="month"),
    marked("Mar", context="month"),
    marked("Apr", context="month"),
    marked("May", context="month"),
    marked("Jun", context="month"),
    marked("Jul", context="month"),
    marked("Aug", context="month"),
    marked("Sep", context="month"),
    marked("Oct", context="month"),
    marked("Nov", context="month"),
    marked("Dec", context="month"),
)
"""Month names in written dates, in English; they do not depend on the machine's language."""
# English, Dutch and German; the first three and four letters of each name are read as well.
_MONTH_NAMES = (
    "january januari januar jänner jaenner",
    "february februari februar",
    "march maart märz maerz mrt mrz",
    "april",
    "may mei mai",
    "june juni",
    "july juli",
    "august augustus",
    "september",
    "october oktober",
    "november",
    "december dezember",
)
_MONTH_OF = {
    word: number
    for number, names in enumerate(_MONTH_NAMES, 1)
    for name in names.split()
    for word in (name, name[:3], name[:4])
}

_EXAMPLE = "2026-03-02"
_LONGEST = 60
"""The most characters of a date; longer texts are not looked at."""
_MIDNIGHT = r"(?:[T ]00:00(?::00(?:\.0+)?)?)?"
_ISO = re.compile(r"(\d{4})([-/.])(\d{1,2})\2(\d{1,2})" + _MIDNIGHT, re.ASCII)
_DOTS = re.compile(r"(\d{1,2})\.\s?(\d{1,2})\.\s?(\d{4})", re.ASCII)
_NUMBERS = re.compile(r"(\d{1,2})([-/ ])(\d{1,2})\2(\d{4})", re.ASCII)
_LETTERS = r"([^\W\d_]+)\.?"
_DAY_FIRST = re.compile(r"([0-9]{1,2})(?:\.|st|nd|rd|th)?[ -]?" + _LETTERS + r"[ ,-]*([0-9]{4})")
_MONTH_FIRST = re.compile(_LETTERS + r" ([0-9]{1,2})(?:st|nd|rd|th)?,? ([0-9]{4})")
_NO_YEAR = re.compile(r"[0-9]{1,2}(?:[-/.][0-9]{1,2}\.?|\.?[ -]?[^\W\d_]+\.?)")
_SHORT_YEAR = re.compile(r"\d{1,2}[-/.]\d{1,2}[-/.]\d{2}", re.ASCII)
_WEEK_WORD = r"(?:weeknummer|weeknr|week|woche|wk|kw|w)\.?"
_WEEK = re.compile(rf"{_WEEK_WORD} ?(\d{{1,2}})(?:(?:, ?| ?/ ?| of | |-)(\d{{4}}))?", re.ASCII)
_YEAR_WEEK = re.compile(rf"(\d{{4}})[ /-]?{_WEEK_WORD} ?(\d{{1,2}})", re.ASCII)


class DateStyle(NamedTuple):
    """What is known about the dates of a file or a command.

    Attributes
    ----------
    order
        How a date is read if both the day and the month could come first: ``dmy`` or ``mdy``;
        None if that is not known, and the date then is an error.
    start
        The first day of the plan. A week number without a year is the next such week that ends on
        this day or later; None if a week number needs its year.
    """

    order: str | None = None
    start: datetime.date | None = None


UNDECIDED = DateStyle()
"""Nothing is known: dates must be clear by themselves."""


class Days(NamedTuple):
    """The first and the last day of what a text names: the same day, or the days of a week."""

    first: datetime.date
    last: datetime.date


def parse_date(text: str, style: DateStyle = UNDECIDED) -> datetime.date:
    """Read a date in one of the usual notations; a week number is its Monday.

    Raises
    ------
    ModelError
        If the text is not a date, or if day and month could be swapped and `style` does not say
        which of them comes first.

    Examples
    --------
    >>> parse_date("2026-03-02") == parse_date("2.3.2026") == parse_date("2 maart 2026")
    True
    >>> parse_date("2026-W10") == parse_date("KW 10 2026")
    True
    >>> parse_date("02-03-2026", DateStyle("dmy"))
    datetime.date(2026, 3, 2)
    """
    return parse_days(text, style).first


def parse_days(text: str, style: DateStyle = UNDECIDED) -> Days:
    """Read a date, which is one day, or a week number, which is Monday to Sunday.

    Raises
    ------
    ModelError
        As for :func:`parse_date`.
    """
    plain = _plain(text)
    if plain is None:
        raise _no_date(text)
    if (week := _week_of(plain)) is not None:
        return _read_week(text, *week, style.start)
    day = _read_day(text, plain, style.order)
    return Days(day, day)


def is_ambiguous(text: str) -> bool:
    """Whether a text is a date that could have the day or the month first."""
    parts = _numbers(text)
    return parts is not None and parts[0] != parts[1] and max(parts[:2]) <= 12 and min(parts) > 0


def ambiguity(text: str) -> str:
    """The two days that an ambiguous date could be, and what to write instead."""
    parts = _numbers(text)
    assert parts is not None
    first, second, year = parts
    return (
        f"{found(text)} could be {_shown(year, second, first)} or {_shown(year, first, second)}; "
        f"write {year:04}-{second:02}-{first:02} or {year:04}-{first:02}-{second:02}, or say what "
        "comes first: --dates dmy (the day) or --dates mdy (the month)"
    )


def order_shown_by(text: str) -> str | None:
    """The order of day and month that a date shows, because the other one is impossible."""
    plain = _plain(text)
    if plain is None:
        return None
    dots = _DOTS.fullmatch(plain)
    parts = (int(dots[1]), int(dots[2]), int(dots[3])) if dots else _numbers(text)
    if parts is None or min(parts) < 1:
        return None
    first, second, _ = parts
    if 12 < first <= 31 and second <= 12:
        return "dmy"
    if 12 < second <= 31 and first <= 12 and not dots:
        return "mdy"
    return None


class Order(NamedTuple):
    """How the ambiguous dates of a file are read, and the texts that this follows from."""

    order: str | None = None
    shown_by: str = ""
    """The date that shows the order; empty if no date shows it."""
    against: str = ""
    """A date that shows the other order; then the order is not known."""


def find_order(texts: Iterable[str]) -> Order:
    """Find the order of day and month from all the dates of a column or file.

    Examples
    --------
    >>> find_order(["06-04-2026", "13-04-2026", "wk 14"])
    Order(order='dmy', shown_by='13-04-2026', against='')
    """
    first: dict[str, str] = {}
    for text in texts:
        shown = order_shown_by(text)
        if shown is not None:
            first.setdefault(shown, text.strip())
    if len(first) == 1:
        ((order, text),) = first.items()
        return Order(order, text)
    return Order(None, first.get("dmy", ""), first.get("mdy", ""))


def write_date(day: datetime.date) -> str:
    """Write a date as text, for instance ``9 Mar 2026``."""
    return say("{day} {year}", context="date", day=write_day(day), year=str(day.year))


def write_day(day: datetime.date) -> str:
    """Write a date without its year, for instance ``9 Mar``."""
    month = say_marked(MONTHS[day.month - 1], context="month")
    return say("{day} {month}", context="date", day=str(day.day), month=month)


def write_days(days: Days) -> str:
    """Write a period, both days included, for instance ``9 Mar – 22 Mar 2026``."""
    first, last = days
    if first == last:
        return write_date(first)
    begin = write_day(first) if first.year == last.year else write_date(first)
    return f"{begin} – {write_date(last)}"


# -- days ------------------------------------------------------------------------------------------


def _plain(text: str) -> str | None:
    """The text with single spaces; None if it is too long for a date."""
    if len(text) > _LONGEST:
        return None
    return " ".join(unicodedata.normalize("NFC", text).split())


def _numbers(text: str) -> tuple[int, int, int] | None:
    """The three numbers of a date whose order is not clear from its signs."""
    plain = _plain(text)
    match = None if plain is None else _NUMBERS.fullmatch(plain)
    return None if match is None else (int(match[1]), int(match[3]), int(match[4]))


def _read_day(text: str, plain: str, order: str | None) -> datetime.date:
    if match := _ISO.fullmatch(plain):
        return _make(text, match[1], match[3], match[4])
    if match := _DOTS.fullmatch(plain):
        return _make(text, match[3], match[2], match[1])
    if (parts := _numbers(text)) is not None:
        return _from_numbers(text, parts, order)
    if match := _DAY_FIRST.fullmatch(plain):
        day, word, year = match.groups()
        return _make(text, year, _MONTH_OF.get(word.casefold(), 0), day)
    if match := _MONTH_FIRST.fullmatch(plain):
        word, day, year = match.groups()
        return _make(text, year, _MONTH_OF.get(word.casefold(), 0), day)
    if _SHORT_YEAR.fullmatch(plain):
        raise ModelError(
            f"{found(text)} has a year of two digits; write the date as year-month-day, for "
            f"instance {_EXAMPLE}"
        )
    if _NO_YEAR.fullmatch(plain) and (not plain[-1].isalpha() or _names_month(plain)):
        raise ModelError(
            f"{found(text)} has no year; write the date as year-month-day, for instance {_EXAMPLE}"
        )
    raise _no_date(text)


def _names_month(plain: str) -> bool:
    return plain.lstrip("0123456789. -").rstrip(".").casefold() in _MONTH_OF


def _from_numbers(text: str, parts: tuple[int, int, int], order: str | None) -> datetime.date:
    first, second, year = parts
    shown = order_shown_by(text)
    if shown is not None and order is not None and shown != order:
        day, month = (first, second) if shown == "dmy" else (second, first)
        raise ModelError(
            f"{found(text)} has {ORDERS[shown]}, but dates are read with {ORDERS[order]} "
            f"(--dates {order}); write {year:04}-{month:02}-{day:02}"
        )
    order = shown or order
    if order is None and is_ambiguous(text):
        raise ModelError(ambiguity(text))
    month, day = (first, second) if order == "mdy" else (second, first)
    return _make(text, year, month, day)


@in_english
def _shown(year: int, month: int, day: int) -> str:
    return write_date(datetime.date(max(year, 1), month, day))


def _make(text: str, year: str | int, month: str | int, day: str | int) -> datetime.date:
    try:
        return datetime.date(int(year), int(month), int(day))
    except ValueError:
        raise ModelError(
            f"{found(text)} is not a valid date; expected one like {_EXAMPLE}"
        ) from None


def _no_date(text: str) -> ModelError:
    return ModelError(
        f"{found(text)} is not a date; expected one like {_EXAMPLE}, or a week like 2026-W10"
    )


# -- weeks -----------------------------------------------------------------------------------------


def _week_of(plain: str) -> tuple[int, int | None] | None:
    """The number of a week, and its year if the text gives it; None if it is no week."""
    lower = plain.casefold()
    if match := _WEEK.fullmatch(lower):
        return int(match[1]), None if match[2] is None else int(match[2])
    if match := _YEAR_WEEK.fullmatch(lower):
        return int(match[2]), int(match[1])
    return None


def _read_week(text: str, number: int, year: int | None, start: datetime.date | None) -> Days:
    if year is not None:
        week = _week(number, year)
        if week is None:
            raise _no_week(text, f"{year} has no week {number}")
        return week
    if not 1 <= number <= 53:
        raise _no_week(text, f"a year has no week {number}")
    if start is None:
        raise ModelError(
            f"{found(text)} has no year; write the week with its year: 2026-W{number:02}"
        )
    # The first day of a plan may be within its week. Week 53 comes every five or six years.
    for each in range(start.isocalendar().year, start.isocalendar().year + 8):
        week = _week(number, each)
        if week is not None and week.last >= start:
            return Days(max(week.first, start), week.last)
    raise _no_week(text, f"the next years have no week {number}")


def _week(number: int, year: int) -> Days | None:
    """The days of a week of the ISO calendar; None if the year does not have it."""
    try:
        first = datetime.date.fromisocalendar(year, number, 1)
        return Days(first, first + datetime.timedelta(6))
    except (ValueError, OverflowError):
        return None


def _no_week(text: str, reason: str) -> ModelError:
    return ModelError(f"{found(text)} is not a valid week: {reason}")
