"""Rows of results as one table: a CSV file, compressed or not, that can be read back.

The table is for people, for other programs, and for keeping results in a repository: it is small,
and the same rows always give the same bytes. It has all that a store has, except the progress of
solves whose progress no figure draws.

Each part of a row is a column. Parts of mappings have columns of their own, for instance
``parameters.agents``. A cell holds a number, or a text as it is; all other values, and texts that
could be taken for one, are JSON. An empty cell means that the row has no such part.
"""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from coreplan.bench.figures.convergence import draws_progress_of
from coreplan.bench.sets import TEST_SETS
from coreplan.bench.store import CLOCKS, OUTCOMES, ProgressPoints, Row, points_from_json
from coreplan.errors import MOST_PROBLEMS, Diagnostic, FormatError, nearest, shorten
from coreplan.files.reading import read_text
from coreplan.files.writing import gzipped, to_csv, write_bytes, write_text
from coreplan.solving.result import Status
from coreplan.support.checks import is_number

ENDINGS = (".csv", ".csv.gz")
"""How names of tables end; those that end in ``.gz`` are compressed."""

_OPEN = ("parameters", "result", "versions", "machine")
"""The parts of a row whose own parts have columns."""

_PARAMETERS = ("parameters.agents", "parameters.horizon")
"""Parts that every instance has."""

_STATISTICS = "statistics."
_COLUMNS = tuple(each.name for each in fields(Row) if each.name not in _OPEN)
_ESCAPED = re.compile("'+[=+@\t\r-]")
_MOST_IN_CELL = 10_000_000


def in_order(rows: Iterable[Row]) -> list[Row]:
    """Rows sorted by set, instance and solver, whatever the order in which solves ended."""
    places = {name: place for place, name in enumerate(TEST_SETS)}

    def order(row: Row) -> tuple[int, str, str, str, str]:
        place = places.get(row.set, len(places))
        return place, row.set, row.instance, row.solver, row.key

    return sorted(rows, key=order)


def is_table(path: str | Path) -> bool:
    """Whether the name of a file is that of a table."""
    return str(path).lower().endswith(ENDINGS)


# -- writing -----------------------------------------------------------------------------------


def for_table(row: Row) -> Row:
    """A row without the parts that a table leaves out."""
    return row if draws_progress_of(row) else replace(row, progress=())


def write_table(rows: Iterable[Row], path: str | Path) -> None:
    """Write rows as a table, compressed if the name ends in ``.gz``; ``-`` is standard output."""
    text = rows_to_csv(rows)
    if str(path).lower().endswith(".gz"):
        write_bytes(gzipped(text.encode("utf-8")), path)
    else:
        write_text(text, path)


def rows_to_csv(rows: Iterable[Row]) -> str:
    """Rows as CSV text, in order."""
    cells = [dict(_cells(for_table(row))) for row in in_order(rows)]
    found = sorted({*_PARAMETERS, *(name for each in cells for name in each)})
    columns = []
    for part in (each.name for each in fields(Row)):
        columns += [name for name in found if name.startswith(f"{part}.")]
        columns += [part] if part in _COLUMNS else []
    return to_csv([columns, *([each.get(name, "") for name in columns] for each in cells)])


def _cells(row: Row) -> Iterator[tuple[str, Any]]:
    for name, value in row.to_dict().items():
        if name in _OPEN:
            for inner, each in _opened(value or {}):
                yield f"{name}.{inner}", _cell(each)
        elif name in ("options", "progress"):
            yield name, json.dumps(value, allow_nan=False, sort_keys=True)
        elif value is not None:
            yield name, value


def _opened(values: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, value in values.items():
        if f"{name}." == _STATISTICS and isinstance(value, Mapping):
            for inner, each in value.items():
                yield _STATISTICS + inner, each
        else:
            yield name, value


def _cell(value: Any) -> Any:
    if isinstance(value, str):
        return json.dumps(value) if not value or _is_json(value) else value
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value
    return json.dumps(value, allow_nan=False, sort_keys=True)


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


# -- reading -----------------------------------------------------------------------------------


class _CellError(Exception):
    """A cell, by its column, that does not hold what it should."""

    def __init__(self, column: str, message: str) -> None:
        super().__init__(message)
        self.column = column


def read_table(path: str | Path) -> list[Row]:
    """Read the rows of a table.

    Raises
    ------
    FormatError
        With the mistakes, by line and by the number of the column.
    """
    name, text = read_text(path)
    before = csv.field_size_limit(_MOST_IN_CELL)
    try:
        return _Reader(name, text).rows()
    finally:
        csv.field_size_limit(before)


class _Reader:
    """One reading of a table, with the mistakes so far."""

    def __init__(self, name: str, text: str) -> None:
        self._name = name
        self._lines = csv.reader(io.StringIO(text, newline=""), strict=True)
        self._columns: list[str] = []
        self._problems: list[Diagnostic] = []
        self._lines_of_keys: dict[str, int] = {}

    def rows(self) -> list[Row]:
        """All rows."""
        found: list[Row] = []
        try:
            self._columns = next(self._lines, [])
            self._check_columns()
            for cells in self._lines:
                if self._problems:
                    break
                row = self._row(cells)
                if row is not None:
                    found.append(row)
        except csv.Error as error:
            self._fail(1, (), f"is not CSV: {error}")
        if self._problems:
            raise FormatError(self._name, self._problems[:MOST_PROBLEMS])
        return in_order(found)

    def _fail(self, column: int, path: tuple[str, ...], message: str) -> None:
        line = max(self._lines.line_num, 1)
        self._problems.append(Diagnostic(path, message, line, column))

    def _check_columns(self) -> None:
        known = set(self._columns)
        for position, name in enumerate(self._columns, start=1):
            part, dot, inner = name.partition(".")
            if self._columns.index(name) + 1 < position:
                self._fail(position, (), f"column {shorten(name)!r} comes twice")
            elif name not in _COLUMNS and not (part in _OPEN and dot and inner):
                said = f"{shorten(name)!r}{nearest(name, _COLUMNS)}"
                self._fail(position, (), f"a table of results has no column {said}")
        missing = [name for name in (*_COLUMNS, *_PARAMETERS) if name not in known]
        if missing:
            self._fail(
                1,
                (),
                f"is not a table of results: it has no column {missing[0]!r}; expected one made by "
                "`coreplan bench show --csv`",
            )

    def _row(self, cells: Sequence[str]) -> Row | None:
        if len(cells) != len(self._columns):
            found, wanted = len(cells), len(self._columns)
            self._fail(1, (), f"found {found} cells; expected {wanted}, one for each column")
            return None
        try:
            row = _take_row(dict(zip(self._columns, cells, strict=True)))
        except _CellError as error:
            column = error.column if error.column in self._columns else self._columns[0]
            place = tuple(error.column.split("."))
            self._fail(self._columns.index(column) + 1, place, str(error))
            return None
        line = self._lines_of_keys.setdefault(row.key, self._lines.line_num)
        if line != self._lines.line_num:
            self._fail(1, (), f"is the same solve as line {line}; remove one of the two")
        return row


_NUMBERS_OF_RESULT = ("value", "lower_bound", "upper_bound", "seconds")


def _take_row(cells: Mapping[str, str]) -> Row:
    for name in _PARAMETERS:
        value = _free_value(cells[name])
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise _CellError(name, f"found {_shown(cells, name)}; expected a whole number above 0")
    parts = {name: dict(_inside(cells, name)) for name in _OPEN}
    for name, value in parts["versions"].items():
        if not isinstance(value, str):
            raise _CellError(f"versions.{name}", f"found {value!r}; expected a version, a text")
    return Row(
        set=_plain_text(cells["set"]),
        instance=_plain_text(cells["instance"]),
        parameters=parts["parameters"],
        digest=_plain_text(cells["digest"]),
        solver=_plain_text(cells["solver"]),
        algorithm=_plain_text(cells["algorithm"]),
        options=_options(cells),
        time_limit=_number(cells, "time_limit"),
        memory_limit=_number(cells, "memory_limit") if cells["memory_limit"] else None,
        outcome=_one_of(cells, "outcome", OUTCOMES),
        message=_plain_text(cells["message"]),
        result=_result(cells, parts["result"]),
        progress=_progress(cells),
        wall_seconds=_number(cells, "wall_seconds"),
        cpu_seconds=_number(cells, "cpu_seconds"),
        peak_memory_mb=_number(cells, "peak_memory_mb"),
        versions=parts["versions"],
        machine=parts["machine"],
        started=_plain_text(cells["started"]),
        clock=_one_of(cells, "clock", CLOCKS),
    )


def _inside(cells: Mapping[str, str], part: str) -> Iterator[tuple[str, Any]]:
    for name, cell in cells.items():
        if cell and name.startswith(f"{part}."):
            yield name.removeprefix(f"{part}."), _free_value(cell)


def _result(cells: Mapping[str, str], flat: Mapping[str, Any]) -> dict[str, Any] | None:
    if cells["outcome"] != "result":
        for name in flat:
            raise _CellError(f"result.{name}", "a row without a result has values of one")
        return None
    statuses = [str(each) for each in Status]
    if flat.get("status") not in statuses:
        found = _shown(cells, "result.status")
        raise _CellError("result.status", f"found {found}; expected one of {', '.join(statuses)}")
    if not isinstance(flat.get("objective"), str):
        found = _shown(cells, "result.objective")
        raise _CellError("result.objective", f"found {found}; expected an objective, a text")
    counts = {name for name in flat if name.startswith(_STATISTICS)}
    for name in (*_NUMBERS_OF_RESULT, *sorted(counts)):
        if not is_number(flat.get(name)):
            column = f"result.{name}"
            raise _CellError(column, f"found {_shown(cells, column)}; expected a finite number")
    result = {name: value for name, value in flat.items() if name not in counts}
    if counts:
        result["statistics"] = {
            name.removeprefix(_STATISTICS): value for name, value in flat.items() if name in counts
        }
    return result


def _options(cells: Mapping[str, str]) -> dict[str, Any]:
    value = _json(cells, "options", "options, a JSON object")
    if not isinstance(value, dict):
        raise _CellError("options", f"found {_shown(cells, 'options')}; expected a JSON object")
    return value


def _progress(cells: Mapping[str, str]) -> ProgressPoints:
    what = "a JSON list of seconds, lower bound and upper bound"
    value = _json(cells, "progress", what)
    try:
        points = points_from_json(value)
    except (TypeError, ValueError):
        points = ((math.nan, 0.0, 0.0),)
    if not all(is_number(point[0]) and all(map(_is_bound, point[1:])) for point in points):
        raise _CellError("progress", f"found {_shown(cells, 'progress')}; expected {what}")
    return points


def _is_bound(value: object) -> bool:
    return is_number(value) or value in (-math.inf, math.inf)


def _json(cells: Mapping[str, str], name: str, what: str) -> Any:
    try:
        return json.loads(cells[name], parse_constant=_refuse)
    except (ValueError, RecursionError):
        raise _CellError(name, f"found {_shown(cells, name)}; expected {what}") from None


def _number(cells: Mapping[str, str], name: str) -> float:
    value = _free_value(cells[name])
    if not is_number(value) or value < 0:
        raise _CellError(name, f"found {_shown(cells, name)}; expected a number, 0 or more")
    return float(value)


def _one_of(cells: Mapping[str, str], name: str, known: Sequence[str]) -> str:
    if cells[name] not in known:
        expected = f"expected one of {', '.join(known)}"
        raise _CellError(name, f"found {_shown(cells, name)}; {expected}")
    return cells[name]


def _free_value(cell: str) -> Any:
    """The value that :func:`_cell` has written."""
    try:
        return json.loads(cell, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return _plain_text(cell)


def _plain_text(cell: str) -> str:
    """The text that :func:`coreplan.files.writing.cell_text` has made safe."""
    return cell[1:] if _ESCAPED.match(cell) else cell


def _refuse(constant: str) -> float:
    raise ValueError(constant)


def _shown(cells: Mapping[str, str], name: str) -> str:
    cell = cells.get(name, "")
    return repr(shorten(cell)) if cell else "an empty cell"
