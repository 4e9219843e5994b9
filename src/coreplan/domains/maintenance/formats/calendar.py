"""The format ``calendar/1``: the dates of a problem's steps, in a file beside the problem."""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from coreplan.errors import Diagnostic, ModelError
from coreplan.files.reading import STANDARD_INPUT, Document, read_document
from coreplan.files.writing import write_document
from coreplan.model.calendar import (
    DEFAULT_STEP,
    Calendar,
    ClosedPeriod,
    check_calendar,
    check_period,
)
from coreplan.model.dates import DateStyle, Days, find_order, parse_date, parse_days

FORMAT = "calendar/1"
ENDING = ".calendar.yaml"
_NO_DAY = datetime.date(1, 1, 1)  # stands in where a mistake has been reported


def calendar_path(problem_file: str | Path) -> Path:
    """The path of a problem's calendar: ``works.calendar.yaml`` beside ``works.yaml``."""
    path = Path(problem_file)
    return path.with_name(path.stem + ENDING)


def find_calendar_file(problem_file: str | Path) -> Path | None:
    """Find the calendar beside a problem's file; None if it does not exist."""
    if str(problem_file) == STANDARD_INPUT or not Path(problem_file).name:
        return None
    path = calendar_path(problem_file)
    return path if path.is_file() else None


def read_calendar(path: str | Path, order: str | None = None) -> Calendar:
    """Read a calendar from a JSON or YAML file.

    ::

        format: calendar/1
        start: 2026-03-02   # the first day of step 0
        step: week          # or day; default: week
        closed:             # may be left out
          - {name: summer holiday, from: 2026-07-20, to: 2026-08-09, no: work}
          - {name: market, from: wk 36, no: start}

    Parameters
    ----------
    path
        The file.
    order
        What comes first in a date such as 06-04-2026: ``dmy`` (the day) or ``mdy`` (the month); by
        default what the other dates of the file show.

    Raises
    ------
    FormatError
        If the file has mistakes: all of them, with line and column.
    """
    return read_document(path, lambda document: _take_calendar(document, str(path), order))


def _take_calendar(document: Document, source: str, order: str | None) -> Calendar:
    document.check_format(FORMAT)
    top = document.fields(
        document.root, (), "the calendar", ("format", "start"), ("step", "closed")
    )
    start: Any = top.get("start")
    step: Any = top.get("step", DEFAULT_STEP)
    listed: list[Any] = []
    if "closed" in top:
        listed = document.items(top["closed"], ("closed",), "the closed periods")
    style = DateStyle(order if order is not None else find_order(_texts(start, listed)).order)
    if isinstance(start, str):
        try:
            start = parse_date(start, style)
        except ModelError as error:
            document.fail(("start",), str(error))
    if isinstance(start, datetime.date):
        style = style._replace(start=start)
    parts = [_take_period(document, each, k, style) for k, each in enumerate(listed)]

    def make() -> Calendar:
        # Mistakes in the parts are reported by their places in the list.
        wrong = list(_check(start, step, parts))
        if wrong:
            raise ModelError(wrong)
        return Calendar(start, step, source, tuple(ClosedPeriod(*each) for each in parts))

    return document.finish(make, lambda: _check(start, step, parts))


def _texts(start: object, listed: Iterable[object]) -> Iterable[str]:
    """All texts of the file that may be dates."""
    values = [start]
    for each in listed:
        if isinstance(each, dict):
            values += [each.get("from"), each.get("to")]
    return (value for value in values if isinstance(value, str))


def _take_period(
    document: Document, value: Any, number: int, style: DateStyle
) -> tuple[Any, Any, Any, Any]:
    """The parts of a closed period; a week number ends on its Sunday."""
    path = ("closed", number)
    fields = document.fields(value, path, "a closed period", ("from",), ("name", "to", "no"))
    begin: Any = fields.get("from", _NO_DAY)
    end: Any = fields.get("to", begin)
    days = []
    for key, each in (("from", begin), ("to", end)):
        if isinstance(each, str):
            try:
                days.append(parse_days(each, style))
                # A last week without a year is the next one after the first day.
                style = style._replace(start=days[0].first)
            except ModelError as error:
                document.fail((*path, key if key in fields else "from"), str(error))
                days.append(Days(_NO_DAY, _NO_DAY))
        else:
            days.append(Days(each, each))
    first, last = days[0].first, days[1].last
    name: Any = fields.get("name", "")
    return name, first, last, fields.get("no", "work")


def _check(start: Any, step: Any, periods: Iterable[tuple[Any, ...]]) -> Iterable[Diagnostic]:
    """Find all mistakes in the parts of a calendar."""
    yield from check_calendar(start, step)
    for number, parts in enumerate(periods):
        for problem in check_period(*parts):
            yield replace(problem, path=("closed", number, *problem.path))


def write_calendar(calendar: Calendar, path: str | Path) -> None:
    """Write a calendar to a file: in YAML if its name ends in .yaml or .yml, else in JSON."""
    write_document({"format": FORMAT, **calendar.to_dict()}, path)
