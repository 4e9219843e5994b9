"""Works lists in Excel workbooks. Needs the extra ``excel``."""

from __future__ import annotations

import importlib
import io
import warnings
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from coreplan.domains.maintenance.works.cells import NumberStyle
from coreplan.domains.maintenance.works.table import (
    Table,
    column_letters,
    comment_note,
    is_blank,
    keep_rows,
)
from coreplan.domains.maintenance.works.workbook_scan import MOST_CELLS, SheetShape, scan_workbook
from coreplan.errors import CoreplanError, Diagnostic, FormatError, shorten
from coreplan.files.writing import cell_text, write_bytes
from coreplan.support.checks import found, unknown_name


def _openpyxl() -> Any:
    try:
        return importlib.import_module("openpyxl")
    except ModuleNotFoundError:
        raise CoreplanError(
            "Excel workbooks need the package openpyxl; install coreplan with the extra 'excel', "
            "for instance by pip install 'coreplan[excel]', or save the sheets as CSV files"
        ) from None


class Workbook:
    """An Excel workbook that is being read.

    Parameters
    ----------
    file
        Its name for messages.
    content
        The bytes of the file.
    """

    def __init__(self, file: str, content: bytes) -> None:
        self.file = file
        if Path(file).suffix.lower() == ".xls" or content.startswith(b"\xd0\xcf\x11\xe0"):
            message = "workbooks in the old format .xls cannot be read; save it as .xlsx"
            raise FormatError(file, [Diagnostic((), message)])
        openpyxl = _openpyxl()
        with self._reading():
            self._shapes = scan_workbook(content)
            # Cell by cell, since a sheet can be far larger than what is in it.
            self._book = openpyxl.load_workbook(
                io.BytesIO(content), read_only=True, data_only=True, keep_links=False
            )

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """Turn whatever a damaged file leads to into a FormatError."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of what does not matter to us
                yield
        except FormatError:
            raise
        except Exception as error:
            reason = shorten(str(error) or type(error).__name__, 200)
            raise FormatError(
                self.file,
                [Diagnostic((), f"cannot be read as an Excel workbook (.xlsx): {reason}")],
            ) from None

    @property
    def sheets(self) -> list[str]:
        """The names of the sheets with cells."""
        return [sheet.title for sheet in self._book.worksheets]

    def find_sheet(self, names: Sequence[str], *, only: bool) -> str | None:
        """The sheet of one of these names or, if `only`, the only one that there is."""
        for sheet in self.sheets:
            if sheet.strip().casefold() in names:
                return sheet
        return self.sheets[0] if only and len(self.sheets) == 1 else None

    def no_sheet(self, name: str) -> FormatError:
        """The error that a sheet is missing."""
        message = unknown_name(name, "sheet", self.sheets, "the workbook")
        return FormatError(self.file, [Diagnostic((), message)])

    def read(self, name: str) -> Table:
        """The rows of a sheet, with the values of formulas."""
        sheet = self._book[name]
        shape = self._shapes.get(sheet._worksheet_path)
        if shape is None or shape.is_too_large:
            raise self._too_large(name)
        troubles: list[tuple[int, int, str]] = []
        rows: dict[int, list[Any]] = {}
        with self._reading():
            sheet.reset_dimensions()  # what the file says of its size need not be true
            for number, cells in enumerate(sheet.iter_rows(), 1):
                if cells:
                    rows[number] = [
                        _value(cell, shape.formulas.get((number, column)), number, column, troubles)
                        for column, cell in enumerate(cells)
                    ]
        if not _unmerge(shape, rows, troubles):
            raise self._too_large(name)
        kept, comments = keep_rows(rows.items())
        there = {row.number for row in kept}
        return Table(
            self.file,
            name,
            kept,
            NumberStyle.EITHER,
            comment_note(f"{self.file}, sheet {found(name)}", comments),
            tuple(each for each in troubles if each[0] in there),
        )

    def _too_large(self, name: str) -> FormatError:
        message = (
            f"sheet {found(name)} has more than {MOST_CELLS:,} cells, the most that can be read; "
            "delete rows and columns without works, even if they look empty, or save it as CSV"
        )
        return FormatError(self.file, [Diagnostic((), message)])


def _value(
    cell: Any, formula: str | None, row: int, column: int, troubles: list[tuple[int, int, str]]
) -> Any:
    """What is in a cell; for a formula, what it gave when the workbook was last saved."""
    value = cell.value
    if formula is None:
        if cell.data_type == "e":
            troubles.append((row, column, f"found the error {found(value)}"))
        return value
    if value is None:
        message = (
            f"found the formula {found(formula)}, whose value is not in the file; save it with a "
            "spreadsheet program, or replace the formula by its value"
        )
        troubles.append((row, column, message))
        return formula
    if cell.data_type == "e":
        message = f"found the formula {found(formula)}, which gives {found(value)}"
        troubles.append((row, column, message))
    return value


def _unmerge(
    shape: SheetShape, rows: dict[int, list[Any]], troubles: list[tuple[int, int, str]]
) -> bool:
    """Give the value of merged cells of one column to all rows that have something of their own.

    More columns are unclear. False if the areas have too many cells: they overlap very often.
    """
    numbers = list(rows)
    left = MOST_CELLS
    for first_row, first_column, last_row, last_column in shape.merged:
        column = first_column - 1
        top = rows.get(first_row, [])
        if column >= len(top) or is_blank(top[column]):
            continue
        value = top[column]
        area = f"{column_letters(column)}{first_row}:{column_letters(last_column - 1)}{last_row}"
        if last_column > first_column:
            # A title over the table is merged like this; it is left out before anybody complains.
            message = f"this cell is merged with others ({area}); undo that"
            troubles.append((first_row, column, message))
            continue
        start = bisect_right(numbers, first_row)
        for number in numbers[start : bisect_right(numbers, last_row)]:
            cells = rows[number]
            missing = max(0, first_column - len(cells))
            left -= 1 + missing
            if left < 0:
                return False
            cells.extend([None] * missing)
            cells[column] = Merged(value, area)
    return True


class Merged:
    """The value of a cell that is merged with the one above; only names can be meant like this."""

    def __init__(self, value: Any, area: str) -> None:
        self.value = value
        self.area = area


def write_workbook(
    sheets: Mapping[str, Iterable[Sequence[Any]]], path: str | Path, *, widths: int = 16
) -> None:
    """Write a workbook as a whole or not at all; the first row of each sheet is its header."""
    openpyxl = _openpyxl()
    styles = importlib.import_module("openpyxl.styles")
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append([cell_text(cell) for cell in row])
        for cell in sheet[1]:
            cell.font = styles.Font(bold=True)
            sheet.column_dimensions[column_letters(cell.column - 1)].width = widths
        sheet.freeze_panes = "A2"
    content = io.BytesIO()
    try:
        book.save(content)
    except OSError as error:  # sheets go through temporary files
        reason = error.strerror or str(error)
        raise FormatError(str(path), [Diagnostic((), f"cannot be written: {reason}")]) from None
    write_bytes(content.getvalue(), path)
