"""Making a maintenance problem from works lists."""

from __future__ import annotations

import datetime
import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from coreplan.domains.maintenance.parts import Contractor, Task
from coreplan.domains.maintenance.problem import MaintenanceProblem, check_maintenance
from coreplan.domains.maintenance.states import ContractorState
from coreplan.domains.maintenance.works.closed import read_closed
from coreplan.domains.maintenance.works.date_columns import DateColumns
from coreplan.domains.maintenance.works.opening import FileContent, Sheets, open_sheets
from coreplan.domains.maintenance.works.progress import Standing, Today, find_standing, now_of
from coreplan.domains.maintenance.works.rows import NO_END, RowReader
from coreplan.domains.maintenance.works.sheet import Sheet
from coreplan.domains.maintenance.works.starts import StartCells
from coreplan.domains.maintenance.works.table import ProblemLog, Row, place_of
from coreplan.errors import Diagnostic, ModelError, PlaceStep, shorten
from coreplan.model.calendar import DEFAULT_STEP, Calendar
from coreplan.model.dates import ORDERS, DateStyle, Days
from coreplan.support.checks import MOST_STAGES, check_integer, found
from coreplan.support.frozen import FrozenMapping
from coreplan.support.language import say

MOST_LOOKED_AT = 200
"""The most mistakes of a problem that are traced back to rows of the lists."""


@dataclass(frozen=True)
class WorksList:
    """A problem read from works lists, with what the problem itself cannot hold.

    Attributes
    ----------
    problem
        The problem; its `details` are those of the list.
    calendar
        The dates of its steps, if a start date was given, with the closed periods of the list.
        :func:`coreplan.model.closing.with_closed_periods` makes the problem that respects them.
    places
        The places of works, by contractor/work, if the list has them.
    notes
        Remarks for people: what was left out, and what was assumed.
    details
        The texts in the columns for people: contractor/work → title → text. These are places,
        notes and all columns that coreplan does not know.
    planned
        The planned starts in the list: contractor → work → step.
    stage, state
        With `today`: its step, and the state of every contractor then. Otherwise 0 and None.
    begun
        The works that have started, as the list says: contractor/work → place in the list.
    """

    problem: MaintenanceProblem
    calendar: Calendar | None = None
    places: Mapping[str, str] = field(default_factory=FrozenMapping)
    notes: tuple[str, ...] = ()
    details: Mapping[str, Mapping[str, str]] = field(default_factory=FrozenMapping)
    planned: Mapping[str, Mapping[str, int]] = field(default_factory=FrozenMapping)
    stage: int = 0
    state: Mapping[str, ContractorState] | None = None
    begun: Mapping[str, str] = field(default_factory=FrozenMapping)
    _starts: StartCells | None = field(default=None, repr=False, compare=False)

    def schedule(self) -> dict[str, dict[str, int]]:
        """The planned starts of all works that have not started, as a schedule.

        Raises
        ------
        WorksListError
            If planned starts are missing or impossible; with the row of each.
        """
        assert self._starts is not None  # read_works gives it
        return self._starts.schedule(self.problem, self.planned, self.stage, self.state)


def read_works(
    works: str | Path | FileContent,
    hindrance: str | Path | None = None,
    *,
    horizon: int | None = None,
    must_complete: bool = False,
    name: str | None = None,
    start_date: datetime.date | None = None,
    step: str | None = None,
    sheet: str | None = None,
    hindrance_sheet: str | None = None,
    closed_sheet: str | None = None,
    today: Today | None = None,
    calendar: Calendar | None = None,
    dates: str | None = None,
) -> WorksList:
    """Make a problem from a list of works and a list of hindrance (CSV or Excel).

    Parameters
    ----------
    works
        The list of works: a CSV file, or an Excel workbook with a sheet ``works``.
    hindrance
        The list of works that hinder each other; by default the sheet ``hindrance`` of the same
        workbook, if it has one.
    horizon
        The number of steps; by default the number of costs, if costs are given for each step.
    must_complete
        Whether every work has to be done.
    name
        The problem's name; by default that of the file.
    start_date, step
        The first day of step 0, and the length of a step (``week``, the default, or ``day``).
    sheet, hindrance_sheet
        The sheets of the workbook; by default those called ``works`` and ``hindrance`` or, if
        there is exactly one with the titles of the list, this one.
    closed_sheet
        The sheet of the workbook with closed periods, which needs the dates of steps; by default
        the one called ``closed``, if there is one.
    today
        The day on which the list was true: a date, a date or week as text, or the number of a
        step. The columns `status`, `actual start` and `steps left` then give the state of every
        contractor.
    calendar
        The dates of steps, instead of `start_date` and `step`.
    dates
        What comes first in a date such as 06-04-2026: ``dmy`` (the day) or ``mdy`` (the month); by
        default what the other dates of its column show.

    Raises
    ------
    FormatError
        If a list has mistakes: the first 20 of them, with file, sheet, row and column.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "ring.csv"
    ...     _ = file.write_text('''contractor; work; duration; cost; status; weeks left
    ...     Alpha; a1; 2; 3,5; running; 1
    ...     Beta; b1; 1; 4; not started;''')
    ...     made = read_works(file, horizon=4, today=1)
    >>> made.problem.name, [contractor.name for contractor in made.problem.contractors]
    ('ring', ['Alpha', 'Beta'])
    >>> made.stage, made.state["Alpha"]
    (1, ContractorState(done=(), doing='a1', remaining=1))
    """
    problems = list(check_integer(horizon, ("horizon",), "the number of steps", 1, MOST_STAGES))
    if horizon is not None and problems:
        raise ModelError(problems)
    if calendar is not None and (start_date is not None or step is not None):
        raise ModelError("found calendar and also start_date or step; give one or the other")
    if start_date is not None:
        calendar = Calendar(start_date, DEFAULT_STEP if step is None else step)
    elif step is not None:
        raise ModelError("found step without start_date; give start_date, too")
    if dates is not None and dates not in ORDERS:
        raise ModelError(f"found dates = {found(dates)}; expected 'dmy' or 'mdy'")
    style = DateStyle(dates, None if calendar is None else calendar.start)
    log = ProblemLog()
    now = None if today is None else now_of(today, calendar, style)
    sheets = open_sheets(
        works,
        hindrance,
        log,
        style,
        sheet=sheet,
        hindrance_sheet=hindrance_sheet,
        closed_sheet=closed_sheet,
    )
    reading = _Reading(sheets, horizon, must_complete, calendar, log, style)
    made = reading.finish(name or (Path(sheets.works.table.file).stem or "works"))
    stands = reading.standing(made, now)
    return WorksList(
        made,
        reading.calendar,
        FrozenMapping(reading.places),
        (*reading.notes, *(() if stands is None else stands.notes)),
        made.details,
        reading.planned(),
        0 if stands is None else stands.stage,
        None if stands is None else FrozenMapping(stands.state),
        reading.begun(),
        reading.starts(),
    )


class _Reading:
    """The lists, while they are made into a problem."""

    def __init__(
        self,
        lists: Sheets,
        horizon: int | None,
        must_complete: bool,
        calendar: Calendar | None,
        log: ProblemLog,
        style: DateStyle,
    ) -> None:
        works, hindrance, closed = lists
        self._works = works
        self._hindrance = hindrance
        self._must_complete = must_complete
        self._calendar = calendar
        self._log = log
        given = [each for each in lists if each is not None]
        self.notes: list[str] = [note for each in given for note in each.notes]
        sheets = [each for each in (works, hindrance) if each is not None]
        for sheet in sheets:
            sheet.check_units(calendar)
            sheet.order_costs(horizon, calendar)
        columns = DateColumns(given, style)
        self.notes += columns.notes
        self._columns = columns
        self._parts = RowReader(works, hindrance, calendar, log, columns)
        self.places = self._parts.places
        self._horizon = horizon if horizon is not None else self._guess_horizon(sheets)
        self._say_what_is_kept(given)
        self.calendar = calendar
        if closed is not None:
            periods = read_closed(closed, calendar, columns)
            if calendar is not None:
                both = dict.fromkeys((*calendar.closed, *periods))
                self.calendar = replace(calendar, closed=tuple(both))

    def _guess_horizon(self, sheets: Iterable[Sheet]) -> int:
        """The number of costs; 0 and a note if no cost is given for each step."""
        for sheet in sheets:
            if sheet.step_columns:
                return len(sheet.step_columns)
        costs = [each.task.cost for group in self._parts.groups.values() for each in group.works]
        costs += [each.cost for each in self._parts.network]
        for cost in costs:
            if isinstance(cost, tuple):
                return len(cost)
        self._works.fail("the number of steps is not known; give it (--horizon)")
        return 0

    def finish(self, name: str) -> MaintenanceProblem:
        """Return the problem, or raise a WorksListError with all mistakes."""
        contractors = tuple(
            Contractor(group.name, tuple(self._end_window(each.task) for each in group.works))
            for group in self._parts.groups.values()
        )
        if not self._works.rows and not len(self._log):
            self._works.fail("the list has no works; add rows below the titles of the columns")
        horizon: Any = self._horizon or 1
        network = tuple(self._parts.network)
        if not len(self._log):
            try:
                made = MaintenanceProblem(
                    contractors,
                    horizon,
                    network,
                    self._must_complete,
                    name,
                    details=self._parts.details,
                )
            except ModelError as error:
                self._place(error.problems)
            else:
                self._note_problem(made)
                return made
        else:
            checks = check_maintenance(name, horizon, contractors, network, False)
            self._place(itertools.islice(checks, MOST_LOOKED_AT))
        self._log.raise_any()
        raise AssertionError("a problem that is not placed")  # pragma: no cover

    # -- plan and progress ----------------------------------------------------------------------

    def standing(self, problem: MaintenanceProblem, now: Days | int | None) -> Standing | None:
        """The situation of today, or raise a WorksListError with all contradictions."""
        if now is None:
            return None
        groups = self._parts.groups.values()
        found_now = find_standing(self._works, groups, problem, self._calendar, now, self._columns)
        self._log.raise_any()
        return found_now

    def planned(self) -> FrozenMapping[str, Mapping[str, int]]:
        """The planned starts: contractor → work → step."""
        return FrozenMapping(
            {
                group.name: FrozenMapping(
                    {
                        each.task.name: each.stated.planned
                        for each in group.works
                        if each.stated.planned is not None
                    }
                )
                for group in self._parts.groups.values()
            }
        )

    def begun(self) -> FrozenMapping[str, str]:
        """The works that have started, with their places in the list."""
        return FrozenMapping(
            {
                f"{group.name}/{each.task.name}": ", ".join(
                    place_of(self._works.table, each.row.number, -1)
                )
                for group in self._parts.groups.values()
                for each in group.works
                if each.stated.has_begun
            }
        )

    def starts(self) -> StartCells:
        """The cells of the planned starts."""
        return StartCells.of(self._works, self._parts.groups.values(), self._calendar)

    def _end_window(self, task: Task) -> Task:
        if task.window is None or task.window[1] != NO_END:
            return task
        last = max(task.window[0], self._horizon - 1)
        return Task(
            task.name, task.duration, task.cost, task.delay, task.revenue, (task.window[0], last)
        )

    def _place(self, problems: Iterable[Diagnostic]) -> None:
        """Report mistakes of the problem at the rows and columns that they come from."""
        for problem in problems:
            sheet, row, column = self._locate(problem.path)
            if problem.relies_on == ("horizon",) and not self._horizon:
                continue
            if problem.path == ("agents",) and len(self._log):
                continue  # a list without contractors has other mistakes, and these are reported
            number = 0 if row is None else row.number
            if sheet is None:
                self._works.fail(str(problem))
            elif not self._log.is_broken(sheet.table, number, column):
                sheet.fail(problem.message, row, column)

    def _locate(self, path: tuple[PlaceStep, ...]) -> tuple[Sheet | None, Row | None, int]:
        works, groups = self._works, list(self._parts.groups.values())
        if len(path) >= 2 and path[0] == "agents" and isinstance(path[1], int):
            group = groups[path[1]]
            if len(path) >= 4 and path[2] == "tasks" and isinstance(path[3], int):
                each = group.works[path[3]]
                return works, each.row, self._column(works, path[4:])
            return works, group.row, works.column("contractor")
        if len(path) >= 2 and path[0] == "network" and isinstance(path[1], int):
            assert self._hindrance is not None
            return (
                self._hindrance,
                self._parts.network_rows[path[1]],
                self._column(self._hindrance, path[2:]),
            )
        return None, None, -1

    @staticmethod
    def _column(sheet: Sheet, inside: tuple[PlaceStep, ...]) -> int:
        key = _COLUMN_OF.get(tuple(each for each in inside if isinstance(each, str)), "work")
        if key == "cost" and "cost" not in sheet.columns:
            steps = sheet.step_columns
            at = inside[1] if len(inside) > 1 and isinstance(inside[1], int) else 0
            return steps[min(at, len(steps) - 1)] if steps else -1
        return sheet.column(key) if key in sheet.columns else -1

    # -- notes --------------------------------------------------------------------------------

    def _say_what_is_kept(self, sheets: Iterable[Sheet]) -> None:
        for sheet in sheets:
            for title, hint in sheet.unknown.items():
                note = (
                    say(
                        "the column {title} is unknown; reports show it, and no plan depends on it",
                        title=repr(title),
                    )
                    if sheet is self._works
                    else say(
                        "the column {title} is unknown; it stays in the list, and no plan depends "
                        "on it",
                        title=repr(title),
                    )
                )
                if hint:
                    note = say("{note}; did you mean {title}?", note=note, title=hint)
                self.notes.append(f"{sheet.where}: {note}")
        if self._hindrance is None:
            self.notes.append(say("no list of hindrance given: no work hinders another"))

    def _note_problem(self, problem: MaintenanceProblem) -> None:
        tasks = [task for contractor in problem.contractors for task in contractor.tasks]
        if not problem.must_complete and not any(task.revenue > 0 for task in tasks):
            self.notes.append(
                say(
                    "the best plan may be to do nothing: no work earns anything, and none has to "
                    "be done; use --must-complete if all works have to be done"
                )
            )
        seen: dict[frozenset[str], Row] = {}
        for row, hindrance in zip(self._parts.network_rows, problem.network, strict=True):
            first = seen.setdefault(frozenset(hindrance.tasks), row)
            if first is not row:
                assert self._hindrance is not None
                self.notes.append(
                    say(
                        "{file}: rows {first} and {second} name the same works; their costs are "
                        "added up",
                        file=self._hindrance.where,
                        first=first.number,
                        second=row.number,
                    )
                )
        for contractor in problem.contractors:
            for task in contractor.tasks:
                if task.window is not None and task.window[0] >= problem.horizon:
                    work = shorten(f"{contractor.name}/{task.name}")
                    self.notes.append(
                        say(
                            "{work} can never start: its earliest start, step {start}, is after "
                            "the last step {last}",
                            work=work,
                            start=task.window[0],
                            last=problem.horizon - 1,
                        )
                    )


_COLUMN_OF: dict[tuple[str, ...], str] = {
    ("name",): "work",
    ("duration",): "duration",
    ("cost",): "cost",
    ("revenue",): "revenue",
    ("delay",): "delay_chance",
    ("delay", "probability"): "delay_chance",
    ("delay", "duration"): "delay_duration",
    ("window",): "earliest",
    ("tasks",): "member",
}
"""The column of the list for each place in a problem."""
