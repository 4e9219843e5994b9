"""The format ``calendar/1``: the dates of a problem's steps, in a file beside the problem."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from coreplan.errors import ModelError
from coreplan.files.reading import STANDARD_INPUT, Document, read_document
from coreplan.files.writing import write_document
from coreplan.model.calendar import DEFAULT_STEP, Calendar, check_calendar
from coreplan.model.dates import parse_date

FORMAT = "calendar/1"
ENDING = ".calendar.yaml"


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


def read_calendar(path: str | Path) -> Calendar:
    """Read a calendar from a JSON or YAML file.

    ::

        format: calendar/1
        start: 2026-03-02   # the first day of step 0
        step: week          # or day; default: week

    Raises
    ------
    FormatError
        If the file has mistakes: all of them, with line and column.
    """
    return read_document(path, lambda document: _take_calendar(document, str(path)))


def _take_calendar(document: Document, source: str) -> Calendar:
    document.check_format(FORMAT)
    top = document.fields(document.root, (), "the calendar", ("format", "start"), ("step",))
    start: Any = top.get("start")
    step: Any = top.get("step", DEFAULT_STEP)
    if isinstance(start, str):
        try:
            start = parse_date(start)
        except ModelError as error:
            document.fail(("start",), str(error))
    return document.finish(
        lambda: Calendar(start, step, source=source), lambda: check_calendar(start, step)
    )


def write_calendar(calendar: Calendar, path: str | Path) -> None:
    """Write a calendar to a file: in YAML if its name ends in .yaml or .yml, else in JSON."""
    write_document({"format": FORMAT, **calendar.to_dict()}, path)
