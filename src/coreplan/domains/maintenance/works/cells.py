"""What is written in cells: numbers, percentages, dates, lists of numbers."""

from __future__ import annotations

import datetime
import enum
import re
from decimal import Decimal
from typing import Any

from coreplan.errors import ModelError
from coreplan.model.calendar import Calendar, parse_date, write_date
from coreplan.support.checks import found, is_number


class NumberStyle(enum.Enum):
    """How numbers are written where cells are separated by commas, semicolons, or tabs."""

    POINT = "a decimal point"
    COMMA = "a decimal comma"
    EITHER = "a decimal point or comma"


class CellError(Exception):
    """A cell does not hold what is expected; the message says what it holds."""


_PLAIN = re.compile(r"[+-]?(?:\d+(?:[.,]\d*)?|[.,]\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_ENGLISH = re.compile(r"[+-]?\d{1,3}(?:,\d{3})+(?:\.\d+)?", re.ASCII)
_CONTINENTAL = re.compile(r"[+-]?\d{1,3}(?:\.\d{3})+(?:,\d+)?", re.ASCII)
_GROUPED = re.compile(r"[+-]?[1-9]\d{0,2}[.,]\d{3}", re.ASCII)
_CURRENCY = re.compile(r"(?:[€$£¥]|\b(?:EUR|USD|GBP|CHF)\b)", re.IGNORECASE)
_STEP = re.compile(r"[+-]?\d+(?:\.0*)?", re.ASCII)
# Spaces that do not break lines, and apostrophes, stand between thousands.
_THOUSANDS = str.maketrans("", "", "\u00a0\u202f\u2009'’")
_LONGEST = 400


def shown(value: object) -> str:
    """What was found in a cell, for messages."""
    if isinstance(value, datetime.datetime) and value.time() == datetime.time():
        value = value.date()
    if isinstance(value, datetime.date) and not isinstance(value, datetime.datetime):
        return f"the date {value.isoformat()}"
    if isinstance(value, datetime.datetime | datetime.time | datetime.timedelta):
        return f"the time {value}"
    return found(value)


def read_name(value: Any) -> str:
    """A name; numbers are taken as they are shown, white space as single spaces."""
    if isinstance(value, datetime.date | datetime.time | datetime.timedelta):
        raise CellError(
            f"found {shown(value)}; expected a name, a text (spreadsheet programs turn texts such "
            "as 3-2 into dates: format the cell as text)"
        )
    if isinstance(value, bool):
        raise CellError(f"found {shown(value)}; expected a name, a text")
    if isinstance(value, str):
        name = " ".join(value.split())
        if name.startswith("="):
            raise CellError(f"found {shown(name)}, which looks like a formula; expected a name")
        return name
    return found(value)


def read_number(value: Any, what: str, style: NumberStyle) -> float:
    """A number, with a decimal point or comma."""
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
        clear = decimal if style is NumberStyle.POINT else f"{decimal}0"
        raise CellError(
            f"found {shown(value)}, which could be {whole} or {decimal}; write {whole} or {clear}"
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


def _is_unclear(text: str, style: NumberStyle) -> bool:
    """Whether 1.234 or 1,234 could be meant as thousands."""
    expected = {NumberStyle.POINT: ".", NumberStyle.COMMA: ","}.get(style)
    return expected is None or expected not in text


def _hint(text: str, style: NumberStyle) -> str:
    if text.startswith("="):
        return "; replace the formula by its value"
    if _CURRENCY.search(text):
        return " without a currency sign: all values are in one currency"
    if "%" in text:
        return " without a per cent sign"
    if "," in text and style is NumberStyle.POINT:
        return " with a decimal point"
    return ""


def read_chance(value: Any, style: NumberStyle) -> float:
    """A chance: 0.3, 30% or 30 %."""
    what = "the chance of a delay"
    if isinstance(value, str) and value.strip().endswith("%"):
        text = value.strip().removesuffix("%").strip()
        try:
            share = read_number(text, what, style)
        except CellError:
            raise CellError(f"found {shown(value)}; expected {what}, such as 0.3 or 30 %") from None
        chance = float(Decimal(repr(share)) / 100)
    else:
        chance = read_number(value, what, style)
    if not 0 <= chance <= 1:
        hint = f"; if it is in per cent, write {chance:g} %" if 1 < chance <= 100 else ""
        raise CellError(
            f"found {shown(value)}; expected {what}, from 0 to 1 or from 0 % to 100 %{hint}"
        )
    return chance


def read_cost(value: Any, what: str, style: NumberStyle) -> float | list[float]:
    """A number or, if there are several in a cell, a list of them."""
    if not isinstance(value, str):
        return read_number(value, what, style)
    text = value.strip()
    bracketed = text.startswith("[") and text.endswith("]")
    text = text[1:-1] if bracketed else text
    # White space is looked at from its begin only, or very long white space would take long.
    separators = r"(?<!\s)\s*[;|]\s*|,\s+|[ \t\r\n]+"
    # Commas that nothing follows separate numbers only where there is no decimal comma.
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


def read_step(value: Any, what: str, calendar: Calendar | None, *, latest: bool = False) -> int:
    """A step, given by its number or by a date.

    An earliest start on a date means the first step that does not begin before it, a latest start
    the last step that does not begin after it.
    """
    if isinstance(value, datetime.datetime):
        if value.time() != datetime.time():
            raise CellError(f"found {shown(value)}; expected {what}, a date without a time of day")
        value = value.date()
    if isinstance(value, str) and not _STEP.fullmatch(value.strip()):
        try:
            value = parse_date(value)
        except ModelError as error:
            reason = str(error).replace("expected a date", f"expected {what}, a step or a date")
            raise CellError(reason) from None
    if isinstance(value, datetime.date):
        return _step_of(value, what, calendar, latest=latest)
    number = read_number(value, f"{what}, a step or a date", NumberStyle.POINT)
    if not number.is_integer():
        raise CellError(
            f"found {shown(value)}; expected {what}: the number of a step, from 0, or a date"
        )
    return int(number)


def _step_of(day: datetime.date, what: str, calendar: Calendar | None, *, latest: bool) -> int:
    if calendar is None:
        raise CellError(
            f"found {shown(day)}, but there is no start date; say when step 0 begins "
            "(--start-date), or give the number of the step"
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
