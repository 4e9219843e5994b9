"""Templates of works lists: files to fill in, with example rows."""

from __future__ import annotations

import datetime
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from coreplan.domains.maintenance.works.columns import CLOSED, HINDRANCE, WORKS, Column
from coreplan.domains.maintenance.works.excel import write_workbook
from coreplan.errors import Diagnostic, FormatError
from coreplan.files.writing import to_csv, write_text
from coreplan.support.language import current_speech, marked, say, say_marked

START = datetime.date(2026, 3, 2)
"""The first day of step 0 in the examples with dates."""
HORIZON = 12
"""The number of steps of the examples."""

_EXAMPLES: list[dict[str, Any]] = [
    {
        "contractor": "Noord Infra",
        "work": marked("bridge deck"),
        "place": marked("A40 east, km 3"),
        "duration": 3,
        "delay_chance": "35%",
        "delay_duration": 2,
        "cost": "30 28 26 25 24 24 24 25 27 29 31 32",
        "note": marked("summer weeks are cheaper"),
        "planned": 0,
    },
    {
        "contractor": "Noord Infra",
        "work": marked("junction 4"),
        "place": marked("A40, junction 4"),
        "duration": 2,
        "delay_chance": "20%",
        "delay_duration": 1,
        "cost": 18,
        "planned": 5,
    },
    {
        "contractor": "Van Dijk",
        "work": marked("ring east"),
        "place": marked("ring road, km 8 to 11"),
        "duration": 4,
        "delay_chance": "30%",
        "delay_duration": 1,
        "revenue": 15,
        "cost": 34,
        "planned": 5,
    },
    {
        "contractor": "Van Dijk",
        "work": marked("noise wall"),
        "place": marked("ring road, km 9"),
        "duration": 2,
        "cost": 9,
        "earliest": 5,
        "latest": 10,
        "note": marked("not during the breeding season"),
        "planned": 10,
    },
]
_TEXTS = ("work", "place", "note")
"""The columns of the examples whose texts are translated."""
_LINE = 98
"""The most characters of a line of the README."""


def _title(column: Column) -> str:
    return say_marked(column.title, context="column")


def _hindrance_rows() -> list[list[Any]]:
    bridge, junction = say("bridge deck"), say("junction 4")
    ring, wall = say("ring east"), say("noise wall")
    members = [say("work {letter}", context="column", letter=letter) for letter in "ABC"]
    cost, note = say("cost per step", context="column"), say("note", context="column")
    both = say("both are roads to the harbour")
    unique = say("the work alone is enough if its name is unique")
    return [
        [*members, cost, note],
        [f"Noord Infra/{bridge}", f"Van Dijk/{ring}", "", 95, both],
        [junction, wall, "", 12, unique],
    ]


def _closed_rows() -> list[list[Any]]:
    fair = START + datetime.timedelta(weeks=8)
    note = say("works may run during the fair, but none starts")
    row = [
        say("fair"),
        fair,
        fair + datetime.timedelta(days=6),
        say("start", context="closed"),
        note,
    ]
    return [[_title(column) for column in CLOSED], row]


def _works_rows(*, dates: bool, excel: bool) -> list[list[Any]]:
    rows: list[list[Any]] = [[_title(column) for column in WORKS]]
    for example in _EXAMPLES:
        row = []
        for column in WORKS:
            value = example.get(column.key, "")
            if column.key in _TEXTS and value:
                value = say_marked(value)
            if dates and column.key in ("earliest", "latest", "planned") and value != "":
                value = START + datetime.timedelta(weeks=value)
            if excel and column.key == "delay_chance" and value != "":
                value = float(value.rstrip("%")) / 100
            row.append(value)
        rows.append(row)
    return rows


def _columns_rows() -> list[list[str]]:
    rows = [[say("list"), say("column"), say("required"), say("content"), say("other titles")]]
    lists = (
        (say("works", context="sheet"), WORKS),
        (say("hindrance", context="sheet"), HINDRANCE),
        (say("closed", context="sheet"), CLOSED),
    )
    for name, columns in lists:
        for column in columns:
            title = _title(column)
            needed = say("yes") if column.required or column.key == "cost" else ""
            others = ", ".join(each for each in _other_titles(column) if each != title)
            rows.append([name, title, needed, say_marked(column.text), others])
    return rows


def _other_titles(column: Column) -> Sequence[str]:
    """The other accepted titles in the present language."""
    language = current_speech().language
    return {"nl": column.dutch, "de": column.german}.get(language, column.names)


def _explain(columns: Sequence[Column]) -> str:
    lines = []
    for column in columns:
        title = _title(column)
        if column.required or column.key == "cost":
            title = say("{title} (required)", title=title)
        lines.append(f"  {title}")
        lines.append(textwrap.indent(textwrap.fill(say_marked(column.text), 84), "      "))
    return "\n".join(lines)


def _readme(*, excel: bool) -> str:
    ending = "xlsx" if excel else "csv"
    lists = "works.xlsx" if excel else "works.csv hindrance.csv"
    dated = "works_with_dates.xlsx" if excel else "works_with_dates.csv hindrance.csv"
    given = "works.xlsx" if excel else "works.csv --hindrance hindrance.csv"
    dated_list = given.replace("works.", "works_with_dates.")
    content = (
        say("Each workbook has a list of works and a list of works that hinder each other.")
        if excel
        else say("The files are a list of works and a list of works that hinder each other.")
    )
    own_rows = say(
        "Replace the example rows by your own. Columns may be in any order. You may leave out "
        "columns that are not marked as required, and add columns of your own: reports show them. "
        "Empty rows and rows that begin with # are ignored."
    )
    steps = say(
        "Steps are numbered from 0. A step is the unit of your plan, usually a week. {works} gives "
        "starts by step number, {dated} by date. With --must-complete every work has to be done.",
        works=f"works.{ending}",
        dated=f"works_with_dates.{ending}",
    )
    direct = say("Every command also reads the lists themselves, without an import:")
    later = say(
        "The second command computes what the planned starts in the list cost. During the year, "
        "fill in status, actual start and steps left. This plans on from 30 March:"
    )
    return f"""{_headline(say("Works lists for coreplan"), "=")}

{_filled(f"{content} {own_rows}")}

{_filled(steps)}

  coreplan import {lists} --horizon {HORIZON} --must-complete -o problem.yaml
  coreplan import {dated} --horizon {HORIZON} --must-complete \\
      --start-date {START} --step week -o problem.yaml
  coreplan plan problem.yaml

{_filled(direct)}

  coreplan plan {given} --horizon {HORIZON} --must-complete
  coreplan evaluate {given} --horizon {HORIZON} --must-complete

{_filled(later)}

  coreplan plan {dated_list} --horizon {HORIZON} --must-complete \\
      --start-date {START} --today 2026-03-30

{_headline(say("The list of works"), "-")}

{_explain(WORKS)}

{_headline(say("The list of hindrance"), "-")}

{_explain(HINDRANCE)}
{_closed_part() if excel else ""}"""


def _closed_part() -> str:
    sheet = say(
        "A workbook may have a sheet {name} with periods in which no work may run or start. Its "
        "dates need the first day of step 0 (--start-date).",
        name=repr(say("closed", context="sheet")),
    )
    return f"""
{_headline(say("The list of closed periods"), "-")}

{_filled(sheet)}

{_explain(CLOSED)}
"""


def _headline(text: str, line: str) -> str:
    return f"{text}\n{line * len(text)}"


def _filled(text: str) -> str:
    return textwrap.fill(text, _LINE, break_on_hyphens=False)


def _write_csv(rows: Sequence[Sequence[Any]], path: Path) -> None:
    """Write a list; special letters need a mark by which Excel recognises the encoding."""
    text = to_csv(rows)
    write_text(text if text.isascii() else f"\ufeff{text}", path)


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
            sheets: dict[str, list[list[Any]]] = {
                say("works", context="sheet"): _works_rows(dates=dates, excel=True),
                say("hindrance", context="sheet"): _hindrance_rows(),
            }
            if dates:
                sheets[say("closed", context="sheet")] = _closed_rows()
            write_workbook(sheets | {say("columns", context="sheet"): _columns_rows()}, path)
    else:
        _write_csv(_works_rows(dates=False, excel=False), paths[0])
        _write_csv(_hindrance_rows(), paths[1])
        _write_csv(_works_rows(dates=True, excel=False), paths[2])
    write_text(_readme(excel=excel), paths[-1])
    return paths
