"""Closed periods from a sheet of the workbook of works."""

from __future__ import annotations

import datetime
from typing import Any

from coreplan.domains.maintenance.works.cells import CellError, read_name, shown
from coreplan.domains.maintenance.works.date_columns import DateColumns
from coreplan.domains.maintenance.works.sheet import Sheet
from coreplan.domains.maintenance.works.table import Row
from coreplan.errors import ModelError
from coreplan.model.calendar import Calendar, ClosedPeriod, check_period
from coreplan.model.dates import DateStyle, Days, parse_days

_WORDS = {
    "work": (
        *("work", "works", "no work"),
        *("werk", "werken", "geen werk"),
        *("arbeit", "arbeiten", "keine arbeit", "maßnahme", "maßnahmen", "keine maßnahmen"),
    ),
    "start": (
        *("start", "starts", "no start"),
        *("begin", "geen begin", "geen start"),
        *("beginn", "kein beginn", "kein start"),
    ),
}
"""What a period is closed for, in all languages, casefolded."""


def read_closed(
    sheet: Sheet, calendar: Calendar | None, columns: DateColumns
) -> tuple[ClosedPeriod, ...]:
    """Read the closed periods of a sheet; mistakes are noted at their cells."""
    periods = []
    for row in sheet.rows:
        if calendar is None:
            sheet.fail(
                "found a closed period, but the first day of step 0 is not known; give it "
                "(--start-date)",
                row,
            )
            break
        period = _read_row(sheet, row, calendar, columns)
        if period is not None:
            periods.append(period)
    return tuple(periods)


def _read_row(
    sheet: Sheet, row: Row, calendar: Calendar, columns: DateColumns
) -> ClosedPeriod | None:
    key = "from"
    try:
        begin = _days(sheet, row, key, columns.style(sheet, key)._replace(start=calendar.start))
        if begin is None:
            sheet.fail("the cell is empty; expected the first day of the period", row, _at(sheet))
            return None
        key = "to"
        # A last week without a year is the next one after the first day.
        end = _days(sheet, row, key, columns.style(sheet, key)._replace(start=begin.first))
        key = "no"
        no = _no(sheet.value(row, key))
        key = "name"
        name = sheet.value(row, key)
        parts: tuple[Any, ...] = (
            "" if name is None else read_name(name),
            begin.first,
            (end or begin).last,
            no,
        )
    except CellError as error:
        sheet.fail(str(error), row, _at(sheet, key))
        return None
    wrong = list(check_period(*parts))
    for each in wrong:
        sheet.fail(each.message, row, _at(sheet, str(each.path[0])))
    return None if wrong else ClosedPeriod(*parts)


def _at(sheet: Sheet, key: str = "from") -> int:
    return sheet.columns.get(key, -1)


def _days(sheet: Sheet, row: Row, key: str, style: DateStyle) -> Days | None:
    """The days that a cell names; None if it is empty."""
    value = sheet.value(row, key)
    if value is None:
        return None
    if isinstance(value, datetime.datetime) and value.time() == datetime.time():
        value = value.date()
    if isinstance(value, datetime.date) and not isinstance(value, datetime.datetime):
        return Days(value, value)
    if not isinstance(value, str):
        raise CellError(f"found {shown(value)}; expected a date or a week, for instance 2026-07-20")
    try:
        return parse_days(value, style)
    except ModelError as error:
        raise CellError(str(error)) from None


def _no(value: object) -> str:
    if value is None:
        return "work"
    text = " ".join(value.casefold().split()) if isinstance(value, str) else ""
    for no, words in _WORDS.items():
        if text in words:
            return no
    raise CellError(
        f"found {shown(value)}; expected 'work' (no work runs in the period) or 'start' (no work "
        "starts in it)"
    )
