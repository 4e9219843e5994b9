"""Works lists in Excel workbooks. Needs the extra ``excel``."""

from __future__ import annotations

import importlib
import io
import warnings
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from coreplan.checks import found, unknown_name
from coreplan.errors import CoreplanError, FormatError, Problem, shorten
from coreplan.formats.reading import read_bytes
from coreplan.formats.writing import cell_text, write_bytes
from coreplan.works.cells import NumberStyle
from coreplan.works.table import Table, column_letters, comment_note, is_blank, keep_rows

MOST_ROWS = 1_000_000
MOST_COLUMNS = 10_000


def _openpyxl() -> Any:
    try:
        return importlib.import_module("openpyxl")
    except ModuleNotFoundError:
        raise CoreplanError(
            "Excel workbooks need the package openpyxl; install coreplan with the extra 'excel', "
            "for instance by pip install 'coreplan[excel]', or save the sheets as CSV files"
        ) from None


class Workbook:
    """An Excel workbook that is being read."""

    def __init__(self, path: str | Path) -> None:
        self.file, self._content = read_bytes(path)
        if Path(path).suffix.lower() == ".xls" or self._content.startswith(b"\xd0\xcf\x11\xe0"):
            raise FormatError(
                self.file,
                [Problem((), "workbooks in the old format .xls cannot be read; save it as .xlsx")],
            )
        self._book = self._load(formulas=True)
        self._values: Any = None

    def _load(self, *, formulas: bool) -> Any:
        openpyxl = _openpyxl()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of things that do not matter to us
                return openpyxl.load_workbook(io.BytesIO(self._content), data_only=not formulas)
        except Exception as error:  # whatever a damaged file makes of it
            reason = shorten(str(error) or type(error).__name__, 200)
            raise FormatError(
                self.file, [Problem((), f"cannot be read as an Excel workbook (.xlsx): {reason}")]
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
        return FormatError(self.file, [Problem((), message)])

    def read(self, name: str) -> Table:
        """The rows of a sheet, with the values of formulas."""
        sheet = self._book[name]
        if sheet.max_row > MOST_ROWS or sheet.max_column > MOST_COLUMNS:
            raise FormatError(
                self.file,
                [
                    Problem(
                        (),
                        f"sheet {found(name)} has {sheet.max_row:,} rows and {sheet.max_column:,} "
                        f"columns; at most {MOST_ROWS:,} and {MOST_COLUMNS:,} can be read",
                    )
                ],
            )
        troubles: list[tuple[int, int, str]] = []
        rows: list[list[Any]] = []
        for number, cells in enumerate(sheet.iter_rows(), 1):
            row = []
            for column, cell in enumerate(cells):
                value = cell.value
                if cell.data_type == "f":
                    value = self._computed(name, number, column, value, troubles)
                elif cell.data_type == "e":
                    troubles.append((number, column, f"found the error {found(value)}"))
                row.append(value)
            rows.append(row)
        for area in sheet.merged_cells.ranges:
            self._unmerge(area, rows, troubles)
        kept, comments = keep_rows(rows)
        there = {row.number for row in kept}
        return Table(
            self.file,
            name,
            kept,
            NumberStyle.EITHER,
            comment_note(f"{self.file}, sheet {found(name)}", comments),
            tuple(each for each in troubles if each[0] in there),
        )

    def _computed(
        self, name: str, row: int, column: int, formula: Any, troubles: list[tuple[int, int, str]]
    ) -> Any:
        """What a formula gave when the workbook was last saved."""
        if self._values is None:
            self._values = self._load(formulas=False)
        cell = self._values[name].cell(row, column + 1)
        text = getattr(formula, "text", formula)  # formulas of several cells are objects
        if cell.value is None:
            troubles.append(
                (
                    row,
                    column,
                    f"found the formula {found(text)}, whose value is not in the file; save it "
                    "with a spreadsheet program, or replace the formula by its value",
                )
            )
            return str(text)
        if cell.data_type == "e":
            troubles.append(
                (row, column, f"found the formula {found(text)}, which gives {found(cell.value)}")
            )
        return cell.value

    @staticmethod
    def _unmerge(area: Any, rows: list[list[Any]], troubles: list[tuple[int, int, str]]) -> None:
        """Give the value of merged cells of one column to all of them; more columns are unclear."""
        first_row, first_column = area.min_row, area.min_col - 1
        value = rows[first_row - 1][first_column]
        if is_blank(value):
            return
        if area.max_col > area.min_col:
            # A title over the table is merged like this; it is left out before anybody complains.
            message = f"this cell is merged with others ({area.coord}); undo that"
            troubles.append((first_row, first_column, message))
            return
        for row in range(first_row, area.max_row):
            rows[row][first_column] = Merged(value, area.coord)


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
        raise FormatError(str(path), [Problem((), f"cannot be written: {reason}")]) from None
    write_bytes(content.getvalue(), path)
