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

from coreplan.domains.maintenance.works.cells import NumberStyle, PerCent
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
from coreplan.support.language import say


def load_openpyxl() -> Any:
    """The package that reads and writes workbooks; a CoreplanError if it is not installed."""
    try:
        return importlib.import_module("openpyxl")
    except ModuleNotFoundError:
        raise CoreplanError(
            "Excel workbooks need the package openpyxl; install it with pip install "
            "'coreplan[excel]', or save the sheets as CSV files"
        ) from None


MERGED = "this cell is merged with"
"""The beginning of the message for a cell that is merged across columns."""


class Workbook:
    """An open Excel workbook whose sheets can be read as tables.

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
            message = "found a workbook in the old format .xls; save it as .xlsx"
            raise FormatError(file, [Diagnostic((), message)])
        openpyxl = load_openpyxl()
        with self._reading():
            self._shapes = scan_workbook(content)
            # Read cell by cell, since a sheet can claim far more cells than it fills.
            self._book = openpyxl.load_workbook(
                io.BytesIO(content), read_only=True, data_only=True, keep_links=False
            )

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """Turn every error of a damaged file into a FormatError."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # about parts that a works list does not need
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

    def no_sheet(self, name: str, advice: str = "") -> FormatError:
        """Make the error for a missing sheet."""
        message = unknown_name(name, "sheet", self.sheets, "the workbook") + advice
        return FormatError(self.file, [Diagnostic((), message)])

    def read(self, name: str) -> Table:
        """Read the rows of a sheet, with the values of formulas."""
        sheet = self._book[name]
        shape = self._shapes.get(sheet._worksheet_path)
        if shape is None or shape.is_too_large:
            raise self._too_large(name)
        troubles: list[tuple[int, int, str]] = []
        rows: dict[int, list[Any]] = {}
        with self._reading():
            sheet.reset_dimensions()  # the size that the file states may be wrong
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
            comment_note(say("{file}, sheet {sheet}", file=self.file, sheet=found(name)), comments),
            tuple(each for each in troubles if each[0] in there),
        )

    def _too_large(self, name: str) -> FormatError:
        message = (
            f"sheet {found(name)} has more than {MOST_CELLS:,} cells, the most that coreplan "
            "reads; delete the rows and columns without works, even if they look empty, or save "
            "the sheet as CSV"
        )
        return FormatError(self.file, [Diagnostic((), message)])


def _value(
    cell: Any, formula: str | None, row: int, column: int, troubles: list[tuple[int, int, str]]
) -> Any:
    """The value of a cell; for a formula, the value saved with the workbook."""
    value = cell.value
    if formula is None:
        if cell.data_type == "e":
            troubles.append((row, column, f"found the error {found(value)}; expected a value"))
        return _as_shown(cell, value)
    if value is None:
        message = (
            f"found the formula {found(formula)} without a saved value; save the file with a "
            "spreadsheet program, or replace the formula by its value"
        )
        troubles.append((row, column, message))
        return formula
    if cell.data_type == "e":
        message = f"found the formula {found(formula)}, which gives {found(value)}; correct it"
        troubles.append((row, column, message))
    return _as_shown(cell, value)


def _as_shown(cell: Any, value: Any) -> Any:
    """Mark a number that is shown in per cent, so that messages can name what people see."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if is_number and "%" in (getattr(cell, "number_format", None) or ""):
        return PerCent(value)
    return value


def _unmerge(
    shape: SheetShape, rows: dict[int, list[Any]], troubles: list[tuple[int, int, str]]
) -> bool:
    """Give the value of cells merged within a column to all their rows that have other values.

    Cells merged across columns are a mistake. Returns False if the areas have too many cells, which
    happens only if very many of them overlap.
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
            # A title over the table is often merged like this; that row is left out, and its
            # mistakes with it.
            message = f"{MERGED} others ({area}); unmerge it"
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
    """The value of a cell that is merged with the cell above; only columns of names allow it."""

    def __init__(self, value: Any, area: str) -> None:
        self.value = value
        self.area = area


def write_workbook(
    sheets: Mapping[str, Iterable[Sequence[Any]]], path: str | Path, *, widths: int = 16
) -> None:
    """Write a workbook as a whole or not at all; the first row of each sheet is its header."""
    openpyxl = load_openpyxl()
    styles = importlib.import_module("openpyxl.styles")
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append([cell_text(cell) for cell in row])
        for cell in sheet[1]:
            cell.font = styles.Font(name="Calibri", size=11, bold=True)
            sheet.column_dimensions[column_letters(cell.column - 1)].width = widths
        sheet.freeze_panes = "A2"
    write_bytes(workbook_bytes(book, path), path)


def workbook_bytes(book: Any, path: str | Path) -> bytes:
    """The content of a workbook's file; errors name the path."""
    content = io.BytesIO()
    try:
        book.save(content)
    except OSError as error:  # sheets go through temporary files
        reason = error.strerror or str(error)
        raise FormatError(str(path), [Diagnostic((), f"cannot be written: {reason}")]) from None
    return content.getvalue()
