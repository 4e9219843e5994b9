"""A works list with its titles: finding the column of each kind of value."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from typing import Any

from coreplan.domains.maintenance.works.cells import CellError, PerCent, read_name
from coreplan.domains.maintenance.works.columns import (
    FOR_PEOPLE,
    Column,
    Heading,
    date_in_title,
    mistaken,
    recognise,
    too_long,
)
from coreplan.domains.maintenance.works.excel import MERGED, Merged
from coreplan.domains.maintenance.works.table import (
    ProblemLog,
    Row,
    Table,
    column_letters,
    is_blank,
)
from coreplan.errors import shorten
from coreplan.model.calendar import Calendar
from coreplan.model.dates import (
    UNDECIDED,
    DateStyle,
    ambiguity,
    find_order,
    is_ambiguous,
    parse_date,
    write_date,
)
from coreplan.support.checks import found
from coreplan.support.language import say

HEADER_WITHIN = 20
"""The titles of the columns are searched in this many rows."""
_MAY_BE_MERGED = ("contractor", *FOR_PEOPLE)


class Sheet:
    """A list of works, hindrance or closed periods, with its columns found and checked.

    Attributes
    ----------
    table
        The table that it was read from.
    rows
        The rows below the titles.
    columns
        The position of each kind of column, except for the two kinds below.
    step_columns
        The positions of the costs of single steps, in the order of steps.
    member_columns
        The positions of the works that hinder each other.
    unknown
        The titles of unknown columns, each with a hint or an empty text.
    extra_columns
        The titles of columns that do not change the problem, by position: places, notes, and
        columns that coreplan does not know.
    """

    def __init__(
        self,
        table: Table,
        kinds: tuple[Column, ...],
        log: ProblemLog,
        style: DateStyle = UNDECIDED,
    ) -> None:
        self.table = table
        self._style = style
        self._log = log
        self._kinds = kinds
        self.notes = list(table.notes)
        self.unknown: dict[str, str] = {}
        self.columns: dict[str, int] = {}
        self.step_columns: list[int] = []
        self.member_columns: list[int] = []
        self.extra_columns: dict[int, str] = {}
        self._headings: dict[int, Heading] = {}
        self._titles: list[str] = []
        self.header_row = 0
        self.rows: list[Row] = []
        position = self._find_header()
        if position is None:
            titles = ", ".join(column.title for column in kinds if column.required)
            self.fail(f"the list is empty; expected a row with the titles {titles}, ...")
            return
        if position:
            left_out = [row.number for row in table.rows[:position]]
            if len(left_out) == 1:
                note = say("left out row {row} above the titles", row=left_out[0])
            else:
                note = say("left out {count} rows above the titles", count=len(left_out))
            self.notes.append(f"{self.where}: {note}")
        self._read_header(table.rows[position])
        for number, column, message in table.troubles:
            if number >= self.header_row and not self._is_unused(message, column):
                self.fail(message, Row(number, ()), column)
        self.rows = [
            row for row in map(self._unmerge, table.rows[position + 1 :]) if row is not None
        ]
        self._check_cells_without_title()

    @property
    def where(self) -> str:
        """The file and the sheet, for notes."""
        if self.table.sheet is None:
            return self.table.file
        return say("{file}, sheet {sheet}", file=self.table.file, sheet=found(self.table.sheet))

    def fail(
        self, message: str | Callable[[], str], row: Row | None = None, column: int = -1
    ) -> None:
        """Note a mistake in a cell, a row or the whole list."""
        title = self._titles[column] if 0 <= column < len(self._titles) else ""
        self._log.add(self.table, message, 0 if row is None else row.number, column, title)

    def column(self, key: str) -> int:
        """The position of a column; of works that hinder each other, the first one."""
        return self.member_columns[0] if key == "member" else self.columns[key]

    def title(self, key: str) -> str:
        """The title of a column in this list, for messages."""
        return shorten(self._titles[self.column(key)])

    def value(self, row: Row, key: str) -> Any:
        """The value of a row in a column; None if the cell is empty or the column is missing."""
        if key not in self.columns or self.is_empty(row, self.columns[key]):
            return None
        return row.cells[self.columns[key]]

    @staticmethod
    def is_empty(row: Row, column: int) -> bool:
        """Whether a cell is empty or missing."""
        return column >= len(row.cells) or is_blank(row.cells[column])

    # -- titles -------------------------------------------------------------------------------

    def _find_header(self) -> int | None:
        """The row with the titles: the first one with several known titles, else the first row."""
        for position, row in enumerate(self.table.rows[:HEADER_WITHIN]):
            known = [
                cell
                for cell in row.cells
                if isinstance(cell, str) and recognise(cell, self._kinds) is not None
            ]
            if len(known) >= 2:
                return position
        return 0 if self.table.rows else None

    def _read_header(self, row: Row) -> None:
        self.header_row = row.number
        first: dict[Heading, int] = {}
        unknown: list[int] = []
        style = self._style_of_titles(row)
        for column, cell in enumerate(row.cells):
            title = _title_of(cell)
            self._titles.append(title)
            if not title:
                continue
            if wrong := too_long(title):
                self.fail(wrong, row, column)
                continue
            heading = recognise(title, self._kinds, style)
            if heading is None and (text := date_in_title(title)) and is_ambiguous(text):
                self.fail(ambiguity(text), row, column)
                continue
            if heading is None:
                unknown.append(column)
                continue
            self._headings[column] = heading
            same = heading._replace(unit=None)
            if heading.key == "member":
                self.member_columns.append(column)
            elif heading.key in FOR_PEOPLE:
                self.columns.setdefault(heading.key, column)
                self._keep(column)
            elif same in first:
                other = self._titles[first[same]]
                self.fail(
                    f"the list has this column twice, also as {found(other)}; remove or rename one "
                    "of them",
                    row,
                    column,
                )
            elif heading.step is not None or heading.day is not None:
                self.step_columns.append(column)
            else:
                self.columns[heading.key] = column
            first.setdefault(same, column)
        self._judge_unknown(row, unknown)
        self._check_required(row, unknown)

    def _judge_unknown(self, row: Row, unknown: Sequence[int]) -> None:
        """Keep unknown columns, but no column whose title was meant to be a known one."""
        missing = {column.key for column in self._kinds} - set(self.columns)
        if self.step_columns:
            missing.discard("cost")
        for column in unknown:
            title = self._titles[column]
            similar = mistaken(title, self._kinds, missing)
            if similar is not None and similar[1]:
                self.fail(
                    f"found the unknown column {shorten(title)!r}; did you mean {similar[0]}? "
                    "Correct the title or, if it is something else, write it differently",
                    row,
                    column,
                )
                continue
            self._keep(column)
            if self._is_used(column):
                self.unknown[shorten(title)] = similar[0] if similar else ""

    def _keep(self, column: int) -> None:
        """Keep a column for people, under a title of its own."""
        title = self._titles[column]
        if title in self.extra_columns.values():
            title = f"{title} ({column_letters(column)})"
        self.extra_columns[column] = title

    def _is_used(self, column: int) -> bool:
        """Whether a column has a value below its title."""
        return any(
            not self.is_empty(row, column)
            for row in self.table.rows
            if row.number > self.header_row
        )

    def _is_unused(self, message: str, column: int) -> bool:
        """Whether a mistake in a cell does not matter, because no problem depends on its column.

        A cell that is merged with others may hide those beside it, which do matter.
        """
        return column in self.extra_columns and not message.startswith(MERGED)

    def extras(self, row: Row) -> dict[str, str]:
        """The texts of a row in the columns for people, by title."""
        return {
            title: cell_in_words(row.cells[column])
            for column, title in sorted(self.extra_columns.items())
            if not self.is_empty(row, column)
        }

    def _style_of_titles(self, row: Row) -> DateStyle:
        """How the dates in titles are read: as the option says, or as one of them shows."""
        if self._style.order is not None:
            return self._style
        titles = [cell for cell in row.cells if isinstance(cell, str)]
        texts = [text for text in map(date_in_title, titles) if text is not None]
        order = find_order(texts)
        example = next(filter(is_ambiguous, texts), None)
        if order.order is None or example is None:
            return self._style
        style = self._style._replace(order=order.order)
        values = {
            "file": self.where,
            "shown_by": found(order.shown_by),
            "date": found(example),
            "day": write_date(parse_date(example, style)),
        }
        self.notes.append(
            say(
                "{file}: dates in titles are read with the day first (as {shown_by} shows): {date} "
                "is {day}",
                **values,
            )
            if order.order == "dmy"
            else say(
                "{file}: dates in titles are read with the month first (as {shown_by} shows): "
                "{date} is {day}",
                **values,
            )
        )
        return style

    def _check_required(self, row: Row, unknown: Sequence[int]) -> None:
        used = [found(self._titles[column]) for column in unknown if column in self.extra_columns]
        add = "add it"
        if used:
            add += f", or give this title to the column {' or '.join(used[:3])}"
        for column in self._kinds:
            if column.key == "member":
                if len(self.member_columns) < 2:
                    self.fail(f"the column 'work A' or 'work B' is missing; {add}", row)
            elif column.required and column.key not in self.columns:
                self.fail(f"the column {column.title!r} is missing; {add}", row)
        costs = any(column.key == "cost" for column in self._kinds)
        if costs and "cost" not in self.columns and not self.step_columns:
            self.fail(f"the column 'cost per step' is missing; {add}", row)

    def check_units(self, calendar: Calendar | None) -> None:
        """Check titles that name the length of a step against the calendar."""
        header = Row(self.header_row, ())
        said: dict[str, int] = {}
        for column, heading in self._headings.items():
            if heading.unit is None:
                continue
            said.setdefault(heading.unit, column)
            if calendar is not None and heading.unit != calendar.step:
                self.fail(
                    f"found {heading.unit}s in the title, but steps are {calendar.step}s; change "
                    "the title or --step",
                    header,
                    column,
                )
        if calendar is None and len(said) > 1:
            self.fail(
                "found days in some titles and weeks in others; give all of them in steps of one "
                "length",
                header,
                said["day"],
            )

    def order_costs(self, horizon: int | None, calendar: Calendar | None) -> None:
        """Sort the columns with costs of single steps, and check that none is missing."""
        if not self.step_columns:
            return
        header = Row(self.header_row, ())
        steps: dict[int, int] = {}
        headings = [(column, self._headings[column]) for column in self.step_columns]
        dated = [column for column, heading in headings if heading.day is not None]
        if dated and len(dated) < len(headings):
            self.fail("found costs by date and costs by step number; use one of them", header)
            return
        if dated and calendar is None:
            self.fail(
                "found a cost by date, but the first day of step 0 is not known; give it "
                "(--start-date)",
                header,
                dated[0],
            )
            return
        count = len(headings) if horizon is None else horizon
        base = min((heading.step for _, heading in headings if heading.step is not None), default=0)
        for column, heading in headings:
            if heading.day is not None:
                assert calendar is not None
                step = calendar.stage_of(heading.day)
            else:
                assert heading.step is not None
                step = heading.step - min(base, 1)
            if not 0 <= step < count:
                numbers = f"from {min(base, 1)} to {count - 1 + min(base, 1)}"
                expected = f"the {count} steps of the plan" if dated else f"numbers {numbers}"
                self.fail(f"this is not a step of the plan; expected {expected}", header, column)
            elif step in steps:
                other = found(self._titles[steps[step]])
                self.fail(f"this is the same step as {other}; remove one of them", header, column)
            steps.setdefault(step, column)
        missing = [step for step in range(count) if step not in steps]
        if missing and len(missing) < count:
            some = ", ".join(str(step + min(base, 1)) for step in missing[:5])
            more = ", ..." if len(missing) > 5 else ""
            steps_of = "step" if len(missing) == 1 else "steps"
            self.fail(
                f"costs are missing for {steps_of} {some}{more} of {count}; add columns", header
            )
        self.step_columns = [steps[step] for step in sorted(steps)]

    # -- cells --------------------------------------------------------------------------------

    def _unmerge(self, row: Row) -> Row | None:
        """Replace merged cells by their values; None if the row has no values of its own."""
        if not any(isinstance(cell, Merged) for cell in row.cells):
            return row
        if all(isinstance(cell, Merged) or is_blank(cell) for cell in row.cells):
            return None
        cells: list[Any] = list(row.cells)
        for column, cell in enumerate(cells):
            if not isinstance(cell, Merged):
                continue
            heading = self._headings.get(column)
            cells[column] = cell.value
            key = "" if heading is None else heading.key
            if key not in _MAY_BE_MERGED and column not in self.extra_columns:
                self.fail(
                    f"this cell is merged with the one above ({cell.area}); write a value into "
                    "each row",
                    row,
                    column,
                )
        return Row(row.number, cells)

    def _check_cells_without_title(self) -> None:
        titled = {column for column, title in enumerate(self._titles) if title}
        for row in self.rows:
            for column, cell in enumerate(row.cells):
                if column not in titled and not is_blank(cell):
                    self.fail(
                        f"found {found(cell)} in a column without a title; give the column a "
                        "title, or put a name or number that contains the separator into quotes",
                        row,
                        column,
                    )


def _title_of(cell: object) -> str:
    """The title in a cell; dates and other values may stand above a drawn chart."""
    if is_blank(cell):
        return ""
    try:
        return read_name(cell)
    except CellError:
        return cell_in_words(cell)


def cell_in_words(value: object) -> str:
    """The content of a cell for people, as one line.

    Examples
    --------
    >>> cell_in_words(4711.0), cell_in_words(" two  words")
    ('4711', 'two words')
    """
    if isinstance(value, Merged):
        value = value.value
    if isinstance(value, datetime.datetime) and value.time() == datetime.time():
        value = value.date()
    if isinstance(value, PerCent):
        return value.written
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        value = int(value)
    return " ".join(str(value).split())
