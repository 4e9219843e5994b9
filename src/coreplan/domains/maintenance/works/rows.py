"""Making tasks and hindrance rules from the rows of works lists."""

from __future__ import annotations

import enum
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple, TypeVar

from coreplan.domains.maintenance.parts import Delay, Hindrance, Task
from coreplan.domains.maintenance.works.cells import (
    CellError,
    NumberStyle,
    read_chance,
    read_cost,
    read_name,
    read_number,
    read_step,
    shown,
)
from coreplan.domains.maintenance.works.columns import WORKS
from coreplan.domains.maintenance.works.date_columns import DateColumns
from coreplan.domains.maintenance.works.sheet import Sheet, cell_in_words
from coreplan.domains.maintenance.works.table import ProblemLog, Row
from coreplan.errors import nearest, shorten
from coreplan.model.calendar import Calendar
from coreplan.support.checks import found, unknown_name

T = TypeVar("T")
NO_END = 10**9
"""The last step of a window without an end, until the horizon is known."""


class Status(enum.Enum):
    """How a work stands, as a list says it."""

    TO_DO = "not started"
    RUNNING = "running"
    DONE = "done"


_STATUS_WORDS = {
    Status.TO_DO: (
        *("not started", "to do", "todo", "open", "planned", "scheduled", "waiting"),
        *("niet begonnen", "nog niet begonnen", "niet gestart", "gepland", "te doen"),
        *("nicht begonnen", "noch nicht begonnen", "nicht gestartet", "offen", "geplant"),
    ),
    Status.RUNNING: (
        *("running", "started", "in progress", "under way", "underway", "ongoing"),
        *("bezig", "begonnen", "gestart", "loopt", "lopend", "onderhanden", "in uitvoering"),
        *("läuft", "laufend", "begonnen", "gestartet", "in arbeit", "in ausführung"),
    ),
    Status.DONE: (
        *("done", "completed", "complete", "finished"),
        *("klaar", "voltooid", "gereed", "afgerond", "uitgevoerd"),
        *("fertig", "abgeschlossen", "erledigt", "ausgeführt"),
    ),
}


@dataclass(frozen=True)
class Stated:
    """What the list says of the plan and the progress of a work.

    Attributes
    ----------
    planned, actual
        The steps of the planned and the actual start.
    status, written
        The status, and the text in its cell.
    left
        The steps that the work still takes.
    broken
        Whether a mistake was noted in one of these cells.
    """

    planned: int | None = None
    actual: int | None = None
    status: Status | None = None
    written: str = ""
    left: int | None = None
    broken: bool = False

    @property
    def has_begun(self) -> bool:
        """Whether the list says that the work has started."""
        return (
            self.actual is not None
            or self.status in (Status.RUNNING, Status.DONE)
            or (self.left is not None and self.status is None)
        )


class Work(NamedTuple):
    """A task, the row that it comes from, and its plan and progress."""

    row: Row
    task: Task
    stated: Stated = Stated()


@dataclass(eq=False)
class Group:
    """The rows of one contractor."""

    name: str
    row: Row
    works: list[Work] = field(default_factory=list)
    rows: dict[str, Row] = field(default_factory=dict)
    """The row of each of its works."""


class RowReader:
    """Reads the rows of both lists, and notes mistakes.

    Attributes
    ----------
    groups
        The contractors, by name.
    network, network_rows
        The hindrance rules, and the rows that they come from.
    places
        The places of works, by contractor/work.
    details
        The texts in the columns for people: contractor/work → title → text.
    """

    def __init__(
        self,
        works: Sheet,
        hindrance: Sheet | None,
        calendar: Calendar | None,
        log: ProblemLog,
        dates: DateColumns,
    ) -> None:
        self._dates = dates
        self._works = works
        self._hindrance = hindrance
        self._calendar = calendar
        self._log = log
        self._spelt: dict[str, str] = {}
        self.groups: dict[str, Group] = {}
        self.network: list[Hindrance] = []
        self.network_rows: list[Row] = []
        self.places: dict[str, str] = {}
        self.details: dict[str, dict[str, str]] = {}
        for row in works.rows:
            self._read_work(row)
        self._known = self._references()
        for row in hindrance.rows if hindrance else ():
            self._read_hindrance(row)

    # -- cells --------------------------------------------------------------------------------

    def _cell(self, sheet: Sheet, row: Row, key: str, read: Callable[[Any], T], default: T) -> T:
        """Read a cell; the default if it is empty, or if a mistake was noted."""
        value = sheet.value(row, key)
        if value is None:
            return default
        return self._read(sheet, row, sheet.column(key), value, read, default)

    def _read(
        self,
        sheet: Sheet,
        row: Row,
        column: int,
        value: Any,
        read: Callable[[Any], T],
        default: T,
    ) -> T:
        if self._log.is_broken(sheet.table, row.number, column):
            return default
        try:
            return read(value)
        except CellError as error:
            sheet.fail(str(error), row, column)
            return default

    def _need(self, sheet: Sheet, row: Row, key: str, what: str) -> bool:
        """Whether a required cell is filled; if not, note a mistake."""
        if sheet.value(row, key) is not None:
            return True
        if key in sheet.columns:  # else the missing column has been reported
            sheet.fail(f"the cell is empty; expected {what}", row, sheet.column(key))
        return False

    def _cost(self, sheet: Sheet, row: Row, what: str) -> Any:
        """Read the cost of a row: one number, or one for each step."""
        style = sheet.table.style
        read: Callable[[Any], Any] = partial(read_cost, what=what, style=style)
        single = sheet.value(row, "cost")
        filled = [
            (column, row.cells[column])
            for column in sheet.step_columns
            if not sheet.is_empty(row, column)
        ]
        if filled and single is not None:
            sheet.fail(
                f"found {shown(single)} and also costs of single steps; give one or the other",
                row,
                sheet.column("cost"),
            )
            return 0.0
        if single is not None:
            return self._read(sheet, row, sheet.column("cost"), single, read, 0.0)
        if not filled:
            column = sheet.column("cost") if "cost" in sheet.columns else -1
            column = sheet.step_columns[0] if column < 0 and sheet.step_columns else column
            if column >= 0:
                sheet.fail(f"the cell is empty; expected {what}, 0 for no cost", row, column)
            return 0.0
        numbers = []
        for column in sheet.step_columns:
            if sheet.is_empty(row, column):
                sheet.fail(
                    f"the cell is empty; expected {what}, as in the other steps of this row",
                    row,
                    column,
                )
                numbers.append(0.0)
            else:
                number = partial(read_number, what=what, style=style)
                numbers.append(self._read(sheet, row, column, row.cells[column], number, 0.0))
        return numbers

    # -- rows ---------------------------------------------------------------------------------

    def _read_work(self, row: Row) -> None:
        sheet = self._works
        style = sheet.table.style
        contractor = work = ""
        if self._need(sheet, row, "contractor", "the contractor's name, in every row"):
            contractor = self._cell(sheet, row, "contractor", read_name, "")
        if self._need(sheet, row, "work", "the name of the work"):
            work = self._cell(sheet, row, "work", read_name, "")
        duration: Any = 1
        if self._need(sheet, row, "duration", "the duration in steps"):
            steps = partial(read_number, what="the duration in steps", style=style)
            duration = self._cell(sheet, row, "duration", steps, 1.0)
        revenue = self._cell(
            sheet, row, "revenue", partial(read_number, what="the revenue", style=style), 0.0
        )
        task = Task(
            work,
            duration,
            self._cost(sheet, row, "the cost per step"),
            self._delay(row),
            revenue,
            self._window(row),
        )
        if not contractor or not work:
            return
        group = self._group(contractor, row)
        earlier = group.rows.get(work)
        if earlier is not None:
            sheet.fail(
                f"contractor {found(contractor)} has the work {found(work)} twice, first in row "
                f"{earlier.number}; give it another name",
                row,
                sheet.column("work"),
            )
            return
        group.works.append(Work(row, task, self._stated(row)))
        group.rows[work] = row
        place = sheet.value(row, "place")
        if place is not None:
            self.places[f"{contractor}/{work}"] = cell_in_words(place)
        details = sheet.extras(row)
        if details:
            self.details[f"{contractor}/{work}"] = details

    def _group(self, contractor: str, row: Row) -> Group:
        spelt = self._spelt.setdefault(contractor.casefold(), contractor)
        if spelt != contractor:
            self._works.fail(
                f"found {found(contractor)}, but {found(spelt)} in row "
                f"{self.groups[spelt].row.number}; write the name in the same way everywhere",
                row,
                self._works.column("contractor"),
            )
            return self.groups[spelt]
        return self.groups.setdefault(contractor, Group(contractor, row))

    def _delay(self, row: Row) -> Delay | None:
        sheet = self._works
        style = sheet.table.style
        chance = self._cell(sheet, row, "delay_chance", partial(read_chance, style=style), None)
        what = "the delay in steps"
        duration = self._cell(
            sheet, row, "delay_duration", partial(read_number, what=what, style=style), None
        )
        has_chance = sheet.value(row, "delay_chance") is not None
        has_duration = sheet.value(row, "delay_duration") is not None
        if has_chance and chance != 0 and not has_duration:
            self._half(row, "delay_duration", "delay_chance", what)
        elif has_duration and not has_chance:
            self._half(row, "delay_chance", "delay_duration", "the chance of a delay")
        if chance is None or duration is None:
            return None
        return Delay(chance, duration)  # type: ignore[arg-type]  # fractions are reported later

    def _half(self, row: Row, missing: str, given: str, what: str) -> None:
        """Report that one of the two parts of a delay is missing."""
        sheet = self._works
        value = shown(sheet.value(row, given))
        if missing in sheet.columns:
            sheet.fail(
                f"the cell is empty, but {sheet.title(given)} is {value}; expected {what}",
                row,
                sheet.column(missing),
            )
        else:
            title = next(each.title for each in WORKS if each.key == missing)
            sheet.fail(
                f"found {value}, but the column {title!r} is missing; add it, with {what}",
                row,
                sheet.column(given),
            )

    def _step(
        self, key: str, what: str, *, latest: bool = False, within: bool = False
    ) -> Callable[[Any], int]:
        """The reader of a column with steps or dates."""
        style = self._dates.style(self._works, key)
        return partial(
            read_step,
            what=what,
            calendar=self._calendar,
            latest=latest,
            within=within,
            style=style,
        )

    def _window(self, row: Row) -> tuple[int, int] | None:
        sheet = self._works
        first = self._cell(
            sheet,
            row,
            "earliest",
            self._step("earliest", "the earliest start"),
            None,
        )
        last = self._cell(
            sheet,
            row,
            "latest",
            self._step("latest", "the latest start", latest=True),
            None,
        )
        for key, step in (("earliest", first), ("latest", last)):
            if step is not None and step < 0:
                sheet.fail(
                    f"found {shown(sheet.value(row, key))}; expected 0 or more, since steps are "
                    "numbered from 0",
                    row,
                    sheet.column(key),
                )
                return None
        if first is None and last is None:
            return None
        if first is not None and last is not None and first > last:
            early, late = (shown(sheet.value(row, key)) for key in ("earliest", "latest"))
            sheet.fail(
                f"found {early} (step {first}), which is after the latest start {late} (step "
                f"{last}); swap them",
                row,
                sheet.column("earliest"),
            )
            return None
        # A window may reach beyond the horizon.
        return (first or 0, last if last is not None else NO_END)

    def _stated(self, row: Row) -> Stated:
        """Read the columns of the plan and the progress."""
        sheet = self._works
        keys = ("planned", "actual", "status", "left")
        read: dict[str, Any] = {
            # A start in the middle of a step is in this step.
            key: self._cell(sheet, row, key, self._step(key, what, within=True), None)
            for key, what in (("planned", "the planned start"), ("actual", "the actual start"))
        }
        for key, step in read.items():
            if step is not None and step < 0:
                sheet.fail(
                    f"found {shown(sheet.value(row, key))}; expected 0 or more, since steps are "
                    "numbered from 0",
                    row,
                    sheet.column(key),
                )
        read["status"] = self._cell(sheet, row, "status", _read_status, None)
        count = partial(_read_count, style=sheet.table.style)
        read["left"] = self._cell(sheet, row, "left", count, None)
        broken = any(
            key in sheet.columns and self._log.is_broken(sheet.table, row.number, sheet.column(key))
            for key in keys
        )
        written = cell_in_words(sheet.value(row, "status") or "")
        return Stated(**read, written=written, broken=broken)

    def _references(self) -> dict[str, list[str]]:
        """The works of each name, as contractor/work."""
        known: dict[str, list[str]] = {}
        for group in self.groups.values():
            for each in group.works:
                known.setdefault(each.task.name, []).append(f"{group.name}/{each.task.name}")
        return known

    def _read_hindrance(self, row: Row) -> None:
        sheet = self._hindrance
        assert sheet is not None
        members = []
        for column in sheet.member_columns:
            if not sheet.is_empty(row, column):
                value = row.cells[column]
                read = self._read(sheet, row, column, value, read_name, "")
                members.append((column, self._resolve(sheet, row, column, read)))
        cost = self._cost(sheet, row, "the hindrance per step")
        references = tuple(reference for _, reference in members)
        if len(members) < 2:
            if len(sheet.member_columns) >= 2:
                column = next(c for c in sheet.member_columns if sheet.is_empty(row, c))
                sheet.fail("the cell is empty; give two or more works", row, column)
            return
        if not all(references):
            return  # the mistake has been reported
        owners: dict[str, str] = {}
        for column, reference in members:
            owner = reference.partition("/")[0]
            if owner in owners:
                sheet.fail(
                    f"found {found(reference)}, but {found(owners[owner])} has the same "
                    "contractor, who does one work at a time; name works of different contractors",
                    row,
                    column,
                )
                return
            owners[owner] = reference
        self.network_rows.append(row)
        self.network.append(Hindrance(references, cost))

    def _resolve(self, sheet: Sheet, row: Row, column: int, name: str) -> str:
        """Return a work as contractor/work; empty, with a note, if the list does not have it."""
        if not name:
            return ""
        contractor, slash, work = (each.strip() for each in name.partition("/"))
        if not slash:
            candidates = self._known.get(name, [])
            if len(candidates) == 1:
                return candidates[0]
            if len(candidates) > 1:
                some = ", ".join(map(shorten, candidates[:5]))
                sheet.fail(
                    f"found {found(name)}, which several contractors have; write one of {some}",
                    row,
                    column,
                )
                return ""
            sheet.fail(partial(self._unknown, name), row, column)
            return ""
        group = self.groups.get(contractor)
        if group is None or work not in group.rows:
            sheet.fail(partial(self._unknown, name), row, column)
            return ""
        return f"{contractor}/{work}"

    def _unknown(self, name: str) -> str:
        known = list(self._known)
        if "/" in name:
            known = [each for some in self._known.values() for each in some]
        return unknown_name(name, "work", known, "the list of works")


def _read_status(value: Any) -> Status:
    name = read_name(value)
    text = unicodedata.normalize("NFC", name).casefold()
    text = " ".join(text.replace("-", " ").split())
    for status, words in _STATUS_WORDS.items():
        if text in words:
            return status
    every = [word for words in _STATUS_WORDS.values() for word in words]
    raise CellError(
        f"found {shown(name)}; expected the status: not started, running or done"
        f"{nearest(text, every)}"
    )


def _read_count(value: Any, style: NumberStyle) -> int:
    number = read_number(value, "the steps left", style)
    if number < 0 or not number.is_integer():
        raise CellError(f"found {shown(value)}; expected the steps left, a whole number from 0 on")
    return int(number)
