"""Opening the files of works lists, and choosing their sheets."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from coreplan.domains.maintenance.works.columns import CLOSED, HINDRANCE, WORKS, Column, recognise
from coreplan.domains.maintenance.works.excel import Workbook
from coreplan.domains.maintenance.works.sheet import HEADER_WITHIN, Sheet
from coreplan.domains.maintenance.works.table import (
    MOST_LIST_BYTES,
    ProblemLog,
    Table,
    is_workbook,
    read_csv,
)
from coreplan.errors import Diagnostic, FormatError
from coreplan.files.reading import read_bytes
from coreplan.model.dates import UNDECIDED, DateStyle
from coreplan.support.checks import found
from coreplan.support.language import say

WORKS_SHEETS = (
    *("works", "work", "tasks", "works list"),
    *("werken", "werk", "werkenlijst"),
    *("massnahmen", "massnahme", "massnahmenliste"),
)
HINDRANCE_SHEETS = ("hindrance", "hindrances", "network", "hinder", "behinderungen", "behinderung")
CLOSED_SHEETS = (
    *("closed", "closed periods", "closures", "holidays"),
    *("gesloten", "gesloten perioden", "gesloten periodes", "sluitingen"),
    *("gesperrt", "sperrzeiten", "sperrungen", "geschlossen"),
)
"""The names of sheets in all languages, casefolded."""

PROBLEM_ENDINGS = (".json", ".yaml", ".yml")
_LOOKED_AT = 20_000
"""A list is recognised by this many bytes."""
_ANY_ORDER = DateStyle("dmy")
"""To recognise titles, whatever their dates mean."""


class Sheets(NamedTuple):
    """The lists of works, of hindrance, and of closed periods; None if a list is not given."""

    works: Sheet
    hindrance: Sheet | None
    closed: Sheet | None


class FileContent(NamedTuple):
    """A file that has been read."""

    name: str
    content: bytes


def open_sheets(
    works: str | Path | FileContent,
    hindrance: str | Path | None,
    log: ProblemLog,
    style: DateStyle = UNDECIDED,
    *,
    sheet: str | None = None,
    hindrance_sheet: str | None = None,
    closed_sheet: str | None = None,
) -> Sheets:
    """Open the list of works, and the lists of hindrance and of closed periods if they are given.

    Parameters
    ----------
    works, hindrance
        The files; without `hindrance`, the list is a sheet of the workbook of works, if it has one.
    log
        Collects mistakes.
    style
        How the dates in titles are read.
    sheet, hindrance_sheet
        The sheets of a workbook; by default those with the usual names or, if there is exactly
        one, the sheet with the titles of this list.
    closed_sheet
        The sheet of closed periods in the workbook of works; by default the one with a usual name.
    """
    content = works if isinstance(works, FileContent) else _content(works)
    table, book, note = _open(content, sheet, WORKS_SHEETS, WORKS)
    made = Sheet(table, WORKS, log, style)
    made.notes[:0] = note
    second = None
    picked: tuple[Table, list[str]] | None = None
    if hindrance is not None:
        other, _, note = _open(_content(hindrance), hindrance_sheet, HINDRANCE_SHEETS, HINDRANCE)
        picked = other, note
    elif book is not None:
        names = HINDRANCE_SHEETS
        picked = _pick(book, hindrance_sheet, names, HINDRANCE, not_this=table.sheet)
    elif hindrance_sheet is not None:
        raise _no_sheets(content.name)
    if picked is not None:
        second = Sheet(picked[0], HINDRANCE, log, style)
        second.notes[:0] = picked[1]
    closed = _closed_table(content.name, book, closed_sheet)
    return Sheets(made, second, None if closed is None else Sheet(closed, CLOSED, log, style))


def _closed_table(file: str, book: Workbook | None, sheet: str | None) -> Table | None:
    """The sheet of closed periods; found by its name only, not by its titles."""
    if book is None:
        if sheet is not None:
            raise _no_sheets(file)
        return None
    if sheet is not None:
        if sheet not in book.sheets:
            raise book.no_sheet(sheet)
        return book.read(sheet)
    named = (each for each in book.sheets if each.strip().casefold() in CLOSED_SHEETS)
    found_sheet = next(named, None)
    return None if found_sheet is None else book.read(found_sheet)


def _content(path: str | Path) -> FileContent:
    return FileContent(*read_bytes(path, MOST_LIST_BYTES))


def _no_sheets(file: str) -> FormatError:
    return FormatError(file, [Diagnostic((), "is a CSV file, which has no sheets; name no sheet")])


def _open(
    file: FileContent, sheet: str | None, names: Sequence[str], kinds: tuple[Column, ...]
) -> tuple[Table, Workbook | None, list[str]]:
    """The table of a file, the workbook of an Excel file, and a note on the chosen sheet."""
    if not is_workbook(file.name, file.content):
        if sheet is not None:
            raise _no_sheets(file.name)
        known = read_csv(file.name, file.content, lambda title: recognise(title, kinds) is not None)
        return known, None, []
    book = Workbook(file.name, file.content)
    picked = _pick(book, sheet, names, kinds)
    if picked is None:
        raise book.no_sheet(names[0], "; give the name of the right one (--sheet)")
    table, note = picked
    return table, book, note


def _pick(
    book: Workbook,
    sheet: str | None,
    names: Sequence[str],
    kinds: tuple[Column, ...],
    not_this: str | None = None,
) -> tuple[Table, list[str]] | None:
    """The sheet with a list: by its name, or the only one with the right titles; None without."""
    if sheet is not None:
        if sheet not in book.sheets:
            raise book.no_sheet(sheet)
        return book.read(sheet), []
    others = [each for each in book.sheets if each != not_this]
    by_name = [each for each in others if each.strip().casefold() in names]
    if by_name or (len(others) == 1 and not_this is None):
        return book.read((by_name or others)[0]), []
    fitting = []
    for each in others:
        with suppress(FormatError):  # a sheet that is too large is hardly a list
            table = book.read(each)
            if _has_titles(table, kinds):
                fitting.append(table)
    if len(fitting) > 1:
        what, option = ("works", "--sheet")
        if kinds is HINDRANCE:
            what, option = ("hindrance", "--hindrance-sheet")
        some = ", ".join(found(table.sheet) for table in fitting[:5])
        message = f"the sheets {some} look like lists of {what}; choose one of them ({option})"
        raise FormatError(book.file, [Diagnostic((), message)])
    if not fitting:
        return None
    note = say(
        "{file}: read the sheet {sheet}, by its titles",
        file=book.file,
        sheet=found(fitting[0].sheet),
    )
    return fitting[0], [note]


def _has_titles(table: Table, kinds: tuple[Column, ...]) -> bool:
    """Whether a row near the top has all titles that this list needs."""
    needed = {column.key for column in kinds if column.required} | {"cost"}
    for row in table.rows[:HEADER_WITHIN]:
        headings = [
            recognise(cell, kinds, _ANY_ORDER)
            for cell in row.cells
            if isinstance(cell, str) and cell.strip()
        ]
        keys = [each.key for each in headings if each is not None]
        if needed <= set(keys) and ("member" not in needed or keys.count("member") > 1):
            return True
    return False


def is_list(file: FileContent) -> bool:
    """Whether a file is a works list: by its ending, or by the titles near its top."""
    ending = Path(file.name).suffix.lower()
    if ending in PROBLEM_ENDINGS:
        return False
    if ending in (".csv", ".tsv") or is_workbook(file.name, file.content):
        return True
    start = file.content[:_LOOKED_AT].decode("utf-8-sig", "replace")
    for line in start.splitlines()[:HEADER_WITHIN]:
        headings = [recognise(each.strip(' "'), WORKS) for each in re.split("[,;\t]", line)]
        if {"contractor", "work"} <= {each.key for each in headings if each is not None}:
            return True
    return False
