"""Templates of works lists: files to fill in, with example rows."""

from __future__ import annotations

import datetime
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from coreplan.domains.maintenance.works.columns import HINDRANCE, WORKS, Column
from coreplan.domains.maintenance.works.excel import write_workbook
from coreplan.errors import Diagnostic, FormatError
from coreplan.files.writing import to_csv, write_text

START = datetime.date(2026, 3, 2)
"""The first day of step 0 in the examples with dates."""
HORIZON = 12
"""The number of steps of the examples."""

_TITLES = [column.title for column in WORKS]
_EXAMPLES: list[dict[str, Any]] = [
    {
        "contractor": "Noord Infra",
        "work": "bridge deck",
        "place": "A40 east, km 3",
        "duration": 3,
        "delay_chance": "35%",
        "delay_duration": 2,
        "cost": "30 28 26 25 24 24 24 25 27 29 31 32",
        "note": "summer weeks are cheaper",
        "planned": 0,
    },
    {
        "contractor": "Noord Infra",
        "work": "junction 4",
        "place": "A40, junction 4",
        "duration": 2,
        "delay_chance": "20%",
        "delay_duration": 1,
        "cost": 18,
        "planned": 5,
    },
    {
        "contractor": "Van Dijk",
        "work": "ring east",
        "place": "ring road, km 8 to 11",
        "duration": 4,
        "delay_chance": "30%",
        "delay_duration": 1,
        "revenue": 15,
        "cost": 34,
        "planned": 5,
    },
    {
        "contractor": "Van Dijk",
        "work": "noise wall",
        "place": "ring road, km 9",
        "duration": 2,
        "cost": 9,
        "earliest": 5,
        "latest": 10,
        "note": "not during the breeding season",
        "planned": 10,
    },
]
_HINDRANCE: list[list[Any]] = [
    ["work A", "work B", "work C", "cost per step", "note"],
    ["Noord Infra/bridge deck", "Van Dijk/ring east", "", 95, "both are roads to the harbour"],
    ["junction 4", "noise wall", "", 12, "the work alone is enough if its name is unique"],
]


def _works_rows(*, dates: bool, excel: bool) -> list[list[Any]]:
    rows: list[list[Any]] = [_TITLES]
    for example in _EXAMPLES:
        row = []
        for column in WORKS:
            value = example.get(column.key, "")
            if dates and column.key in ("earliest", "latest", "planned") and value != "":
                value = START + datetime.timedelta(weeks=value)
            if excel and column.key == "delay_chance" and value != "":
                value = float(value.rstrip("%")) / 100
            row.append(value)
        rows.append(row)
    return rows


def _columns_rows() -> list[list[str]]:
    rows = [["list", "column", "required", "content", "other titles"]]
    for name, columns in (("works", WORKS), ("hindrance", HINDRANCE)):
        for column in columns:
            needed = "yes" if column.required or column.key == "cost" else ""
            rows.append([name, column.title, needed, column.text, ", ".join(column.names)])
    return rows


def _explain(columns: Sequence[Column]) -> str:
    lines = []
    for column in columns:
        needed = " (required)" if column.required or column.key == "cost" else ""
        lines.append(f"  {column.title}{needed}")
        lines.append(textwrap.indent(textwrap.fill(column.text, 84), "      "))
    return "\n".join(lines)


def _readme(*, excel: bool) -> str:
    ending = "xlsx" if excel else "csv"
    lists = "works.xlsx" if excel else "works.csv hindrance.csv"
    dated = "works_with_dates.xlsx" if excel else "works_with_dates.csv hindrance.csv"
    given = "works.xlsx" if excel else "works.csv --hindrance hindrance.csv"
    dated_list = given.replace("works.", "works_with_dates.")
    where = "Each workbook has" if excel else "The files are"
    return f"""Works lists for coreplan
========================

{where} a list of works and a list of works that hinder each other. Replace the example rows
by your own. Columns may be in any order. You may leave out columns that are not marked as
required, and add columns of your own: reports show them. Empty rows and rows that begin with # are
ignored.

Steps are numbered from 0. A step is the unit of your plan, usually a week. works.{ending} gives
starts by step number, works_with_dates.{ending} by date. With --must-complete every work has to
be done.

  coreplan import {lists} --horizon {HORIZON} --must-complete -o problem.yaml
  coreplan import {dated} --horizon {HORIZON} --must-complete \\
      --start-date {START} --step week -o problem.yaml
  coreplan plan problem.yaml

Every command also reads the lists themselves, without an import:

  coreplan plan {given} --horizon {HORIZON} --must-complete
  coreplan evaluate {given} --horizon {HORIZON} --must-complete

The second command computes what the planned starts in the list cost. During the year, fill in
status, actual start and steps left. This plans on from 30 March:

  coreplan plan {dated_list} --horizon {HORIZON} --must-complete \\
      --start-date {START} --today 2026-03-30

The list of works
-----------------

{_explain(WORKS)}

The list of hindrance
---------------------

{_explain(HINDRANCE)}
"""


def write_templates(folder: str | Path, *, excel: bool = False, force: bool = False) -> list[Path]:
    """Write works lists to fill in, with example rows, into a folder.

    Parameters
    ----------
    folder
        The folder; it is made if it does not exist.
    excel
        Whether to write workbooks instead of CSV files; needs the extra ``excel``.
    force
        Whether to overwrite existing files.

    Returns
    -------
    list
        The written files.

    Raises
    ------
    FormatError
        If a file exists already or cannot be written.
    """
    target = Path(folder)
    names = ["works.xlsx", "works_with_dates.xlsx"]
    if not excel:
        names = ["works.csv", "hindrance.csv", "works_with_dates.csv"]
    paths = [target / name for name in (*names, "README.txt")]
    there = [path for path in paths if path.exists()]
    if there and not force:
        raise FormatError(
            str(there[0]), [Diagnostic((), "exists already; use --force to overwrite it")]
        )
    try:
        target.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = error.strerror or str(error)
        raise FormatError(str(folder), [Diagnostic((), f"cannot be made: {reason}")]) from None
    if excel:
        for path, dates in zip(paths, (False, True), strict=False):
            write_workbook(
                {
                    "works": _works_rows(dates=dates, excel=True),
                    "hindrance": _HINDRANCE,
                    "columns": _columns_rows(),
                },
                path,
            )
    else:
        write_text(to_csv(_works_rows(dates=False, excel=False)), paths[0])
        write_text(to_csv(_HINDRANCE), paths[1])
        write_text(to_csv(_works_rows(dates=True, excel=False)), paths[2])
    write_text(_readme(excel=excel), paths[-1])
    return paths
