"""Reading the cells of works lists: names, numbers, chances, dates, lists of numbers."""

from __future__ import annotations

import datetime
import enum
import re
from decimal import Decimal
from typing import Any

from coreplan.errors import ModelError
from coreplan.model.calendar import Calendar
from coreplan.model.dates import UNDECIDED, DateStyle, parse_days, write_date
from coreplan.support.checks import found, is_number
from coreplan.support.language import in_english


class NumberStyle(enum.Enum):
    """The decimal sign of numbers; it depends on what separates the cells."""

    POINT = "a decimal point"
    COMMA = "a decimal comma"
    EITHER = "a decimal point or comma"


class PerCent(float):
    """A number that a spreadsheet program shows in per cent: 1.1 is shown as 110%."""

    @property
    def written(self) -> str:
        """The text that people see."""
        return f"{100 * float(self):.12g}%"


class CellError(Exception):
    """A cell with unexpected content; the message has what was found and what was expected."""


_PLAIN = re.compile(r"[+-]?(?:\d+(?:[.,]\d*)?|[.,]\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_ENGLISH = re.compile(r"[+-]?\d{1,3}(?:,\d{3})+(?:\.\d+)?", re.ASCII)
_CONTINENTAL = re.compile(r"[+-]?\d{1,3}(?:\.\d{3})+(?:,\d+)?", re.ASCII)
_GROUPED = re.compile(r"[+-]?[1-9]\d{0,2}[.,]\d{3}", re.ASCII)
_CURRENCY = re.compile(r"(?:[€$£¥]|\b(?:EUR|USD|GBP|CHF)\b)", re.IGNORECASE)
_STEP = re.compile(r"[+-]?\d+(?:\.0*)?", re.ASCII)
# People separate thousands by spaces that do not break lines, and by apostrophes.
_THOUSANDS = str.maketrans("", "", "\u00a0\u202f\u2009'’")
_LONGEST = 400
_ANY_DAY = datetime.date(2026, 1, 1)


def shown(value: object) -> str:
    """Write the content of a cell for a message."""
    if isinstance(value, PerCent):
        return found(value.written)
    if isinstance(value, datetime.datetime) and value.time() == datetime.time():
        value = value.date()
    if isinstance(value, datetime.date) and not isinstance(value, datetime.datetime):
        return f"the date {value.isoformat()}"
    if isinstance(value, datetime.datetime | datetime.time | datetime.timedelta):
        return f"the time {value}"
    return found(value)


def read_name(value: Any) -> str:
    """Read a name; a number counts as its text, and white space as a single space."""
    if isinstance(value, datetime.date | datetime.time | datetime.timedelta):
        raise CellError(
            f"found {shown(value)}; expected a name, a text; format the cell as text, because "
            "spreadsheet programs turn texts like 3-2 into dates"
        )
    if isinstance(value, bool):
        raise CellError(f"found {shown(value)}; expected a name, a text")
    if isinstance(value, str):
        name = " ".join(value.split())
        if name.startswith("="):
            raise CellError(f"found {shown(name)}, a formula; expected a name")
        return name
    return found(value)


def read_number(value: Any, what: str, style: NumberStyle) -> float:
    """Read a number with a decimal point or comma."""
    if is_number(value):
        return float(value)
    if not isinstance(value, str):
        raise CellError(f"found {shown(value)}; expected {what}, a number")
    text = value.strip().translate(_THOUSANDS).replace("\u2212", "-")
    if not text or len(text) > _LONGEST:
        raise CellError(f"found {shown(value)}; expected {what}, a number")
    if _GROUPED.fullmatch(text) and _is_unclear(text, style):
        whole = text.replace(",", "").replace(".", "")
        decimal = text.replace(",", ".")
        raise CellError(
            f"found {shown(value)}, which could be {whole} or {float(decimal):g}; write {whole} or "
            f"{_clear_decimal(decimal, style)}"
        )
    if _PLAIN.fullmatch(text) and ("," not in text or style is not NumberStyle.POINT):
        read = float(text.replace(",", "."))
    elif _ENGLISH.fullmatch(text):
        read = float(text.replace(",", ""))
    elif _CONTINENTAL.fullmatch(text):
        read = float(text.replace(".", "").replace(",", "."))
    else:
        raise CellError(f"found {shown(value)}; expected {what}, a number{_hint(text, style)}")
    if not is_number(read):
        raise CellError(f"found {shown(value)}; expected {what}, a finite number")
    return read


def _clear_decimal(text: str, style: NumberStyle) -> str:
    """Write a number with three decimals so that it cannot be one with thousands."""
    if style is NumberStyle.COMMA:
        return text.replace(".", ",")
    if style is NumberStyle.POINT:
        return text
    return text.rstrip("0").rstrip(".") if text.endswith("0") else f"{text}0"


def _is_unclear(text: str, style: NumberStyle) -> bool:
    """Whether 1.234 or 1,234 could mean one thousand two hundred and thirty-four."""
    expected = {NumberStyle.POINT: ".", NumberStyle.COMMA: ","}.get(style)
    return expected is None or expected not in text


def _hint(text: str, style: NumberStyle) -> str:
    if text.startswith("="):
        return "; replace the formula by its value"
    if _CURRENCY.search(text):
        return " without a currency sign, since all amounts are in one currency"
    if "%" in text:
        return " without a per cent sign"
    if "," in text and style is NumberStyle.POINT:
        return " with a decimal point"
    return ""


def read_chance(value: Any, style: NumberStyle) -> float:
    """Read a chance: 0.3, 30% or 30 %."""
    what = "the chance of a delay"
    in_per_cent = isinstance(value, str) and value.strip().endswith("%")
    if in_per_cent:
        text = value.strip().removesuffix("%").strip()
        try:
            share = read_number(text, what, style)
        except CellError:
            raise CellError(
                f"found {shown(value)}; expected {what}, for instance 0.3 or 30 %"
            ) from None
        chance = float(Decimal(repr(share)) / 100)
    else:
        chance = read_number(value, what, style)
    if not 0 <= chance <= 1:
        is_share = in_per_cent or isinstance(value, PerCent) or not 1 < chance <= 100
        hint = "" if is_share else f"; if this is per cent, write {chance:g} %"
        raise CellError(
            f"found {shown(value)}; expected {what}, from 0 to 1 or from 0 % to 100 %{hint}"
        )
    return chance


def read_cost(value: Any, what: str, style: NumberStyle) -> float | list[float]:
    """Read the number of a cell, or the list of numbers."""
    if not isinstance(value, str):
        return read_number(value, what, style)
    text = value.strip()
    bracketed = text.startswith("[") and text.endswith("]")
    text = text[1:-1] if bracketed else text
    # White space matches from its beginning only; else very long white space takes quadratic time.
    separators = r"(?<!\s)\s*[;|]\s*|,\s+|[ \t\r\n]+"
    # A comma without a space separates numbers only if it cannot be a decimal comma.
    commas = style is NumberStyle.POINT and not _GROUPED.fullmatch(text)
    if commas and not _ENGLISH.fullmatch(text):
        separators += "|,"
    parts = re.split(separators, text.strip())
    if len(parts) == 1 and not bracketed:
        return read_number(value, what, style)
    numbers = []
    for k, part in enumerate(parts, 1):
        try:
            numbers.append(read_number(part, what, style))
        except CellError as error:
            raise CellError(f"number {k} of the list {shown(value)}: {error}") from None
    return numbers


def read_step(
    value: Any,
    what: str,
    calendar: Calendar | None,
    *,
    latest: bool = False,
    within: bool = False,
    style: DateStyle = UNDECIDED,
) -> int:
    """Read a step from its number or from a date.

    For an earliest start the date gives the first step that begins on it or later, for a latest
    start the last step that begins on it or earlier. A week number is its first day for an earliest
    start, and its last day for a latest start. With `within`, the date gives the step that contains
    it, and a week number the step that contains its first day.
    """
    if isinstance(value, datetime.datetime):
        if value.time() != datetime.time():
            raise CellError(f"found {shown(value)}; expected {what}, a date without a time of day")
        value = value.date()
    if isinstance(value, str) and not _STEP.fullmatch(value.strip()):
        if calendar is None and style.start is None:
            style = style._replace(start=_ANY_DAY)  # _step_of reports that the start is missing
        try:
            days = parse_days(value, style)
            value = days.last if latest else days.first
        except ModelError as error:
            raise CellError(f"expected {what}, a step or a date: {error}") from None
    if isinstance(value, datetime.date):
        return _step_of(value, what, calendar, latest=latest or within)
    number = read_number(value, f"{what}, a step or a date", NumberStyle.POINT)
    if not number.is_integer():
        raise CellError(
            f"found {shown(value)}; expected {what}, the number of a step (from 0) or a date"
        )
    return int(number)


@in_english
def _step_of(day: datetime.date, what: str, calendar: Calendar | None, *, latest: bool) -> int:
    if calendar is None:
        raise CellError(
            f"found {shown(day)}, but the first day of step 0 is not known; give it "
            "(--start-date), or write the number of the step"
        )
    stage = calendar.stage_of(day)
    if latest:
        if stage < 0:
            raise CellError(
                f"found {shown(day)}; expected {what}, not before the start on "
                f"{write_date(calendar.start)}"
            )
        return stage
    stage = max(stage, 0)
    return stage if calendar.first_day(stage) >= day else stage + 1
