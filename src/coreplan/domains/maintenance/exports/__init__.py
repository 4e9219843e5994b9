"""Exports of a plan of works: Excel, CSV, iCalendar, Microsoft Project, and pictures."""

from __future__ import annotations

import datetime
import importlib.util
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from coreplan.domains.maintenance.exports.content import ExportedPlan, exported_plan
from coreplan.domains.maintenance.exports.icalendar import plan_icalendar
from coreplan.domains.maintenance.exports.ms_project import plan_ms_project
from coreplan.domains.maintenance.exports.workbook import plan_workbook
from coreplan.domains.maintenance.exports.works_csv import plan_csv
from coreplan.errors import ModelError, SolverError
from coreplan.files.writing import write_bytes
from coreplan.model.calendar import Calendar
from coreplan.policies.policy import Policy
from coreplan.solving.result import Result
from coreplan.support.checks import found
from coreplan.support.language import marked, say
from coreplan.support.late import late
from coreplan.view.words import percent

FORMATS = {
    ".xlsx": "Excel",
    ".csv": "CSV",
    ".ics": "iCalendar",
    ".xml": "Microsoft Project",
    ".png": marked("a picture"),
    ".svg": marked("a picture"),
    ".pdf": marked("a picture"),
}
"""The formats of exports, by the ending of the file's name."""
_NEED_DATES = (".ics", ".xml")
_EXTRAS = {
    ".xlsx": ("openpyxl", "excel"),
    ".png": ("matplotlib", "plot"),
    ".svg": ("matplotlib", "plot"),
    ".pdf": ("matplotlib", "plot"),
}
"""The package that a format needs, and the extra that installs it."""


def export_plan(
    plan: Policy | Result,
    *paths: str | Path,
    calendar: Calendar | None = None,
    details: Mapping[str, Mapping[str, Any]] | None = None,
) -> None:
    """Write a plan of works for other programs, each file in the format of its ending.

    ``.xlsx`` is an Excel workbook, ``.csv`` a list of works, ``.ics`` a calendar, ``.xml`` a file
    of Microsoft Project; ``.png``, ``.svg`` and ``.pdf`` are pictures of the chart. Planned starts
    and ends are those without delays.

    Parameters
    ----------
    plan
        A plan for a maintenance problem: a policy, or a result that has one.
    paths
        The files. Each one is written completely or not at all.
    calendar
        The dates of the steps. The formats ``.ics`` and ``.xml`` need them; the others show the
        numbers of the steps without a calendar.
    details
        More columns for the lists: values by ``contractor/work`` and title, for instance
        ``{"Alpha/a1": {"place": "A40"}}``; by default the columns of the works list that the
        problem was read from.

    Raises
    ------
    ModelError
        If the plan is not for a maintenance problem, the format of a file is not known, or a format
        needs a calendar.
    SolverError
        If the package that writes a format is not installed.
    FormatError
        If a file cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> from coreplan import Contractor, MaintenanceProblem, Task, solve
    >>> alpha = Contractor("Alpha", (Task("a1", duration=2, cost=3, revenue=20),))
    >>> result = solve(MaintenanceProblem((alpha,), horizon=4))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     export_plan(result, Path(folder) / "plan.csv")
    ...     lines = (Path(folder) / "plan.csv").read_text(encoding="utf-8-sig").splitlines()
    >>> lines[1].split(",")[:4]
    ['Alpha', 'a1', '0', '1']
    """
    for path in paths:
        check_export(path, calendar)
    content = exported_plan(plan, calendar, details)
    for path in paths:
        write_export(content, path)


def check_export(path: str | Path, calendar: Calendar | None) -> None:
    """Raise an error, before any long work, if a plan cannot be exported to this file."""
    ending = _ending(path)
    if ending not in FORMATS:
        raise ModelError(
            f"cannot export a plan to {str(path)!r}: found the ending {found(ending)}; expected "
            f"one of {', '.join(FORMATS)}"
        )
    if ending in _NEED_DATES and calendar is None:
        raise ModelError(
            f"cannot export a plan to {str(path)!r}: {FORMATS[ending]} needs dates; give the first "
            "day of step 0 (--start-date 2026-03-02, or calendar=Calendar(...) in Python)"
        )
    package, extra = _EXTRAS.get(ending, ("", ""))
    if package and importlib.util.find_spec(package) is None:
        raise SolverError(
            f"cannot export a plan to {str(path)!r}: the package {package} is not installed; "
            f"install it with pip install 'coreplan[{extra}]'"
        )


def write_export(
    content: ExportedPlan, path: str | Path, stamp: datetime.datetime | None = None
) -> None:
    """Write a plan in the format of the file's ending.

    Parameters
    ----------
    content
        The plan.
    path
        The file.
    stamp
        The moment of the export for calendars; by default now.
    """
    check_export(path, content.calendar)
    ending = _ending(path)
    calendar = content.calendar
    if ending == ".xlsx":
        made = plan_workbook(content, path)
    elif ending == ".csv":
        made = plan_csv(content)
    elif ending == ".ics":
        assert calendar is not None
        made = plan_icalendar(content, calendar, stamp or datetime.datetime.now(datetime.UTC))
    elif ending == ".xml":
        assert calendar is not None
        made = plan_ms_project(content, calendar)
    else:
        works = [work.times for work in content.works]
        title = content.name
        if content.covered < 1:
            title = say(
                "{name} (the likeliest courses, {share} of all)",
                name=title,
                share=percent(content.covered),
            )
        made = late("exports.chart")(content.policy, works, ending[1:], calendar, title)
    write_bytes(made, path)


def _ending(path: str | Path) -> str:
    return Path(path).suffix.lower()
