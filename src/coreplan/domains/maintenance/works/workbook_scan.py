"""The first scan of an Excel workbook: its size, merged cells and formulas.

A few kilobytes of a workbook can expand to gigabytes of cells. The scan counts everything, piece by
piece, before any part of the workbook is read into memory.
"""

from __future__ import annotations

import io
import re
import zipfile
from dataclasses import dataclass, field
from typing import Any
from xml.parsers import expat

from coreplan.errors import shorten

MOST_PARTS = 10_000
MOST_EXPANDED = 100_000_000
"""The most bytes of all parts of a workbook, uncompressed."""
MOST_CELLS = 1_000_000
"""The most cells of a list; a row counts up to its last cell."""
MOST_ELEMENTS = 5 * MOST_CELLS
"""The most XML elements of a sheet, and of all parts that are not sheets."""
MOST_ROWS = 1_048_576
MOST_COLUMNS = 16_384
"""The most rows and columns of a sheet, as in Excel."""

_PIECE = 2**16
_PLACE = re.compile(r"\$?([A-Za-z]{1,3})\$?([0-9]{1,7})")
_TABLE = ("sst", "worksheet")


class WorkbookError(Exception):
    """A workbook that is damaged or too large."""


@dataclass
class SheetShape:
    """The size, merged cells and formulas of a sheet, known before it is read.

    Attributes
    ----------
    cells
        The number of cells; empty cells before others in a row count.
    elements
        The number of XML elements.
    merged
        Areas of merged cells: first row, first column, last row, last column, all from 1.
    formulas
        The formulas by row (from 1) and column (from 0); long ones are cut.
    """

    cells: int = 0
    elements: int = 0
    merged: list[tuple[int, int, int, int]] = field(default_factory=list)
    formulas: dict[tuple[int, int], str] = field(default_factory=dict)

    @property
    def is_too_large(self) -> bool:
        """Whether it has too many cells or XML elements."""
        return self.cells > MOST_CELLS or self.elements > MOST_ELEMENTS


def scan_workbook(content: bytes) -> dict[str, SheetShape]:
    """Scan all sheets; the result is by the names of their parts in the workbook.

    Raises
    ------
    WorkbookError
        If the workbook is damaged or too large.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            return _scan(archive)
    except (zipfile.BadZipFile, OSError, EOFError, RuntimeError, ValueError) as error:
        raise WorkbookError(shorten(str(error), 200)) from None


def _scan(archive: zipfile.ZipFile) -> dict[str, SheetShape]:
    parts = archive.infolist()
    if len(parts) > MOST_PARTS:
        raise WorkbookError(f"it has {len(parts):,} parts; coreplan reads at most {MOST_PARTS:,}")
    if sum(part.file_size for part in parts) > MOST_EXPANDED:
        raise _expanded()
    left = MOST_EXPANDED  # the size that a part states may be wrong
    others = 0
    shapes = {}
    for part in parts:
        if part.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise WorkbookError("its compression is not one that workbooks use")
        scan = _PartScan(part.filename)
        with archive.open(part) as file:
            while piece := file.read(_PIECE):
                left -= len(piece)
                if left < 0:
                    raise _expanded()
                scan.feed(piece)
        scan.feed(b"")
        if scan.root == "worksheet":
            shapes[part.filename] = scan.shape
        elif scan.root not in _TABLE:
            others += scan.shape.elements
            if others > MOST_CELLS:
                raise WorkbookError(f"it has more than {MOST_CELLS:,} elements besides its cells")
        elif scan.shape.is_too_large:
            raise WorkbookError(f"it has more than {MOST_CELLS:,} texts")
    return shapes


def _expanded() -> WorkbookError:
    return WorkbookError(
        f"it has more than {MOST_EXPANDED:,} bytes uncompressed, the most that coreplan reads; "
        "save its lists as CSV files"
    )


class _PartScan:
    """Counts the elements of one part of the workbook, if it is XML."""

    def __init__(self, name: str) -> None:
        self._name = name
        self.root = ""
        self.shape = SheetShape()
        self._depth = 0
        self._row_depth = -1
        self._row = 0
        self._column = 0
        self._formula: list[str] | None = None
        self._shared: dict[str, str] = {}
        self._shared_by = ""
        self._parser: Any = None
        self._begun = False

    def feed(self, piece: bytes) -> None:
        """Take the next bytes; an empty piece ends the part."""
        if not self._begun:
            self._begun = True
            if b"<" in piece[:4] or self._name.lower().endswith((".xml", ".rels")):
                self._parser = self._make_parser()
        if self._parser is None:
            return
        try:
            self._parser.Parse(piece, not piece)
        except expat.ExpatError as error:
            if not self._name.lower().endswith(".vml"):  # old drawings, which coreplan ignores
                reason = f"its part {shorten(self._name)} is damaged: {error}"
                raise WorkbookError(reason) from None
            self._parser = None

    def _make_parser(self) -> Any:
        parser = expat.ParserCreate()
        parser.buffer_text = True
        parser.StartElementHandler = self._begin
        parser.EndElementHandler = self._end
        parser.StartDoctypeDeclHandler = self._refuse_declarations
        return parser

    def _refuse_declarations(self, *_: object) -> None:
        """Refuse entities: they can expand to very long texts, and workbooks have none."""
        raise WorkbookError(f"its part {shorten(self._name)} declares a document type")

    def _begin(self, name: str, attributes: dict[str, str]) -> None:
        self.shape.elements += 1
        self._depth += 1
        local = name.rpartition(":")[2]
        if self._depth == 1:
            self.root = local
        if self.root != "worksheet" or self.shape.is_too_large:
            return
        if local == "row":
            self._begin_row(attributes)
        elif self._depth == self._row_depth + 1:
            self._begin_cell(attributes)
        elif self._depth == self._row_depth + 2 and local == "f":
            self._formula = []
            self._shared_by = attributes.get("si", "")
            self._parser.CharacterDataHandler = self._formula.append
        elif local == "mergeCell":
            self._merge(attributes.get("ref", ""))

    def _end(self, _: str) -> None:
        self._depth -= 1
        if self._formula is not None:
            self._parser.CharacterDataHandler = None
            # Cells that share a formula refer to the first of them; only that one has the text.
            text = "".join(self._formula) or self._shared.get(self._shared_by, "")
            text = shorten(text, 80)
            if self._shared_by:
                self._shared.setdefault(self._shared_by, text)
            self.shape.formulas[self._row, self._column - 1] = f"={text}"
            self._formula = None

    def _begin_row(self, attributes: dict[str, str]) -> None:
        given = attributes.get("r")
        row = self._row + 1
        if given is not None:
            row = int(given) if re.fullmatch("[0-9]{1,7}", given) else 0
        if not self._row < row <= MOST_ROWS:
            raise WorkbookError(f"row {shorten(given or str(row))} follows row {self._row}")
        self._row_depth = self._depth
        self._row = row
        self._column = 0

    def _begin_cell(self, attributes: dict[str, str]) -> None:
        given = attributes.get("r")
        row, column = self._row, self._column + 1
        if given is not None:
            row, column = _read_place(given)
        if row != self._row or not self._column < column <= MOST_COLUMNS:
            raise WorkbookError(
                f"cell {shorten(given or str(column))} is in the wrong place in row {self._row}"
            )
        self.shape.cells += column - self._column
        self._column = column

    def _merge(self, area: str) -> None:
        first, _, last = area.partition(":")
        self.shape.merged.append((*_read_place(first), *_read_place(last or first)))


def _read_place(text: str) -> tuple[int, int]:
    """The row and column of a cell, from its name."""
    match = _PLACE.fullmatch(text)
    if match is None:
        raise WorkbookError(f"{shorten(text)!r} is not the name of a cell")
    column = 0
    for letter in match[1].upper():
        column = 26 * column + ord(letter) - ord("A") + 1
    return int(match[2]), column
