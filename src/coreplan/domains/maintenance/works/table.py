"""Tables read from files, and a log of mistakes with their file, sheet, row and column."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from coreplan.domains.maintenance.works.cells import NumberStyle
from coreplan.errors import MOST_PROBLEMS, Diagnostic, FormatError, shorten
from coreplan.support.checks import found
from coreplan.support.language import say, say_count

COMMENT = "#"
"""A row whose first cell begins with this is a comment."""

MOST_LIST_BYTES = 64 * 2**20
"""The largest file of a list."""
MOST_CELLS = 2_000_000
"""The most cells of a CSV file, counted by separators and ends of lines."""

_LOOKED_AT = 200_000
"""The separator of cells is guessed from this many characters."""
_MOST_FOUND = 10_000
_ZIP = b"PK\x03\x04"
_OLD_EXCEL = b"\xd0\xcf\x11\xe0"
_STYLES = {",": NumberStyle.POINT, ";": NumberStyle.COMMA, "\t": NumberStyle.EITHER}


class Row(NamedTuple):
    """The cells of a row, with its number in the file."""

    number: int
    """Counted from 1, as in spreadsheet programs."""
    cells: Sequence[Any]
    """Texts, numbers, dates; None or an empty text for empty cells."""


@dataclass(frozen=True, eq=False)
class Table:
    """The rows of a file or sheet.

    Attributes
    ----------
    file, sheet
        The source; a CSV file has no sheets.
    rows
        All rows that are not empty.
    style
        The decimal sign of numbers that are texts.
    notes
        Remarks for people about how it was read.
    troubles
        Mistakes in single cells: row, column, message.
    """

    file: str
    sheet: str | None
    rows: Sequence[Row]
    style: NumberStyle
    notes: Sequence[str] = ()
    troubles: tuple[tuple[int, int, str], ...] = ()


class WorksListError(FormatError):
    """The mistakes of a works list.

    Attributes
    ----------
    problems
        The first 20 mistakes: each with the row as line and, as path, the place in words.
    count
        The number of all mistakes.
    """

    def __init__(self, file: str, problems: Iterable[Diagnostic], count: int) -> None:
        self.count = count
        super().__init__(file, problems)
        left = count - len(self.problems)
        if left > 0:
            self.args = (f"{self.args[0]}\n{file}: and {left:,} more problems",)

    def _line(self, problem: Diagnostic) -> str:
        return ": ".join([", ".join(map(str, problem.path)), problem.message])


class ProblemLog:
    """Collects the mistakes of the tables of a works list."""

    def __init__(self) -> None:
        self._found: list[tuple[tuple[int, int, int], Table, str, str | Callable[[], str]]] = []
        self._count = 0
        self._order: dict[int, int] = {}
        self._broken: set[tuple[int, int, int]] = set()

    def __len__(self) -> int:
        return self._count

    def add(
        self,
        table: Table,
        message: str | Callable[[], str],
        row: int = 0,
        column: int = -1,
        title: str = "",
    ) -> None:
        """Note a mistake of a table, of a row (from 1) or of a cell (column from 0).

        The message may be a function: it is called only if the mistake is shown, because some
        messages take long to make.
        """
        order = self._order.setdefault(id(table), len(self._order))
        self._broken.add((id(table), row, column))
        self._count += 1
        self._found.append(((order, row, column), table, title, message))
        if len(self._found) >= _MOST_FOUND:  # keep only those that can be shown
            self._sort()
            del self._found[MOST_PROBLEMS:]

    def _sort(self) -> None:
        self._found.sort(key=lambda each: each[0])

    def is_broken(self, table: Table, row: int, column: int) -> bool:
        """Whether a mistake was noted for a cell or for its whole row."""
        return not self._broken.isdisjoint({(id(table), row, column), (id(table), row, -1)})

    def raise_any(self) -> None:
        """Raise a WorksListError if mistakes were noted."""
        if not self._found:
            return
        self._sort()
        problems = []
        for (_, row, column), table, title, message in self._found[:MOST_PROBLEMS]:
            text = message if isinstance(message, str) else message()
            place = place_of(table, row, column, title)
            problems.append(Diagnostic(place, text, row, column + 1))
        raise WorksListError(self._found[0][1].file, problems, self._count)


def place_of(table: Table, row: int, column: int, title: str = "") -> tuple[str, ...]:
    """A place in words: file, sheet, row, column."""
    parts = [table.file]
    if table.sheet is not None:
        parts.append(f"sheet {found(table.sheet)}")
    if row > 0:
        parts.append(f"row {row}")
    if column >= 0:
        name = f" ({shorten(title)})" if title else ""
        parts.append(f"column {column_letters(column)}{name}")
    return tuple(parts)


def column_letters(column: int) -> str:
    """The letters of a column, counted from 0, as spreadsheet programs show them.

    Examples
    --------
    >>> column_letters(0), column_letters(25), column_letters(26), column_letters(702)
    ('A', 'Z', 'AA', 'AAA')
    """
    letters = ""
    column += 1
    while column:
        column, rest = divmod(column - 1, 26)
        letters = chr(ord("A") + rest) + letters
    return letters


def is_blank(cell: object) -> bool:
    """Whether a cell is empty."""
    return cell is None or (isinstance(cell, str) and not cell.strip())


def keep_rows(rows: Iterable[tuple[int, Sequence[Any]]]) -> tuple[list[Row], int]:
    """Leave out empty rows and comments; return the rest and the number of comments."""
    kept = []
    comments = 0
    for number, cells in rows:
        if all(map(is_blank, cells)):
            continue
        if isinstance(cells[0], str) and cells[0].lstrip().startswith(COMMENT):
            comments += 1
            continue
        kept.append(Row(number, cells))
    return kept, comments


def comment_note(file: str, comments: int) -> list[str]:
    """The note that comments were left out; empty if the table has none."""
    if not comments:
        return []
    note = say_count(
        comments,
        "left out {number:,} row that begins with {sign}",
        "left out {number:,} rows that begin with {sign}",
        sign=COMMENT,
    )
    return [f"{file}: {note}"]


def is_workbook(file: str, content: bytes) -> bool:
    """Whether a file is an Excel workbook, by its ending or its content."""
    if Path(file).suffix.lower() in (".xlsx", ".xlsm", ".xls"):
        return True
    return content.startswith((_ZIP, _OLD_EXCEL))


def read_csv(file: str, content: bytes, known: Callable[[str], bool]) -> Table:
    """Read a text file in which commas, semicolons or tabs separate cells.

    Parameters
    ----------
    file
        Its name for messages.
    content
        The bytes of the file.
    known
        Whether a text is the title of a column; the separator is guessed by titles.

    Raises
    ------
    FormatError
        If it cannot be read as a CSV file.
    """
    text, notes = _decode(file, content)
    text, said = _separator_line(text)
    delimiter = said or _guess_delimiter(text, known)
    # Count before making cells: they take far more memory than text.
    if text.count(delimiter) + text.count("\n") + text.count("\r") > MOST_CELLS:
        message = (
            f"has more than {MOST_CELLS:,} cells, the most that coreplan reads; delete empty rows "
            "and columns"
        )
        raise FormatError(file, [Diagnostic((), message)])
    rows: list[list[str]] = [[]] if said else []
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        rows.extend(reader)
    except csv.Error as error:
        reason = str(error)
        if "unexpected end" in reason:
            reason = "a quote is not closed; add the closing quote"
        elif "field limit" in reason:
            reason = (
                f"a cell has more than {csv.field_size_limit():,} characters; check for a missing "
                "quote"
            )
        raise FormatError(
            file,
            [Diagnostic((), f"cannot be read after row {len(rows)}: {reason}", len(rows) + 1, 1)],
        ) from None
    kept, comments = keep_rows(enumerate(rows, 1))
    return Table(file, None, kept, _STYLES[delimiter], [*notes, *comment_note(file, comments)])


def _decode(file: str, content: bytes) -> tuple[str, list[str]]:
    """Decode UTF-8, UTF-16 or, as old spreadsheet programs write, Windows-1252."""
    encoding = "utf-16" if content.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8-sig"
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError:
        encoding = "cp1252"
        try:
            text = content.decode(encoding)
        except UnicodeDecodeError as error:
            row = content[: error.start].count(b"\n") + 1
            raise FormatError(
                file,
                [
                    Diagnostic(
                        (),
                        f"found the byte 0x{content[error.start]:02x}, which is neither UTF-8 nor "
                        "Windows-1252; save the file as 'CSV UTF-8'",
                        row,
                        1,
                    )
                ],
            ) from None
    if "\0" in text:
        raise FormatError(
            file,
            [Diagnostic((), "found no text; expected a CSV file or an Excel workbook (.xlsx)")],
        )
    if encoding == "cp1252":
        note = say("read as Windows-1252, not UTF-8; check names with special letters")
        return text, [f"{file}: {note}"]
    return text, []


def _separator_line(text: str) -> tuple[str, str]:
    """Split off a first line ``sep=;``, in which Excel gives the separator."""
    first, _, rest = text.partition("\n")
    said = first.strip("\r").lower()
    if said.startswith("sep=") and said[4:] in _STYLES:
        return rest, said[4:]
    return text, ""


def _guess_delimiter(text: str, known: Callable[[str], bool]) -> str:
    """The separator that gives the most known titles, else the most cells."""
    start = text[:_LOOKED_AT].splitlines()
    lines = [line for line in start[:200] if line.strip()][:20]

    def score(delimiter: str) -> tuple[int, int]:
        titles = cells = 0
        for line in lines:
            parts = line.split(delimiter)
            titles = max(titles, sum(known(part.strip().strip('"')) for part in parts))
            cells = max(cells, len(parts))
        return titles, cells

    return max(_STYLES, key=score)
