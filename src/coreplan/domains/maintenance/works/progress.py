"""What a works list says of the past: works that are done or running, and how long they still take.

A list is a statement of people about one day. The model knows more precisely what can be: a
contractor does one work at a time, and a delay becomes known one step after the start. What cannot
be true is reported at its cell.
"""

from __future__ import annotations

import datetime
import enum
import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from coreplan.domains.maintenance.feasibility import NEVER, Feasibility, TooManySetsError
from coreplan.domains.maintenance.parts import Contractor, Task
from coreplan.domains.maintenance.problem import MaintenanceProblem
from coreplan.domains.maintenance.states import ContractorState
from coreplan.domains.maintenance.works.cells import shown
from coreplan.domains.maintenance.works.date_columns import DateColumns
from coreplan.domains.maintenance.works.rows import Group, Stated, Status, Work
from coreplan.domains.maintenance.works.sheet import Sheet
from coreplan.domains.maintenance.works.table import Row
from coreplan.errors import ModelError
from coreplan.model.calendar import Calendar
from coreplan.model.dates import DateStyle, Days, parse_days, write_date, write_days
from coreplan.support.checks import found
from coreplan.support.language import in_english, say, say_count

Today = datetime.date | str | int
"""The day of a works list: a date, a date or week as people write it, or the number of its step."""


class _Kind(enum.Enum):
    """What a contractor has to do with a work today."""

    TO_DO = enum.auto()
    STARTING = enum.auto()
    """It starts in today's step: nobody knows yet whether it is delayed."""
    RUNNING = enum.auto()
    DONE = enum.auto()


class _Stand(NamedTuple):
    """How one work stands today."""

    work: Work
    kind: _Kind
    left: int = 0


@dataclass(frozen=True)
class Standing:
    """The situation on the day of the list.

    Attributes
    ----------
    stage
        The step of today, from which to plan on.
    state
        The state of every contractor.
    notes
        What was assumed.
    """

    stage: int
    state: Mapping[str, ContractorState]
    notes: Sequence[str] = field(default=())


@in_english
def now_of(today: Today, calendar: Calendar | None, style: DateStyle) -> Days | int:
    """The days of today, or the number of its step; a ModelError if a text is no date."""
    if isinstance(today, int):
        return today
    if calendar is None:
        said = found(today) if isinstance(today, str) else write_date(today)
        raise ModelError(
            f"found {said} as today (--today), but the first day of step 0 is not known; give it "
            "(--start-date)"
        )
    if isinstance(today, str):
        try:
            return parse_days(today, style)
        except ModelError as error:
            raise ModelError(f"today (--today): {error}") from None
    return Days(today, today)


@in_english
def stage_of_today(today: Days | int, calendar: Calendar | None, horizon: int) -> int:
    """The step of today; a ModelError if the plan does not have it."""
    if isinstance(today, int):
        if not 0 <= today < horizon:
            raise ModelError(
                f"found step {today} as today (--today); expected a step of the plan, from 0 to "
                f"{horizon - 1}"
            )
        return today
    assert calendar is not None  # now_of needs it
    stage = calendar.stage_of(today.first)
    if stage < 0:
        raise ModelError(
            f"today, {write_days(today)} (--today), is before the plan begins on "
            f"{write_date(calendar.start)}; leave it out, or begin earlier (--start-date)"
        )
    if stage >= horizon:
        raise ModelError(
            f"today, {write_days(today)} (--today), is after the plan ends on "
            f"{write_date(calendar.last_day(horizon - 1))}; plan more steps (--horizon)"
        )
    return stage


def find_standing(
    sheet: Sheet,
    groups: Iterable[Group],
    problem: MaintenanceProblem,
    calendar: Calendar | None,
    today: Days | int,
    columns: DateColumns,
) -> Standing:
    """Find out what is done and running today; mistakes are noted at their cells."""
    reading = _Reading(sheet, problem, calendar, today, columns.style(sheet, "actual"))
    state = {}
    for group, contractor in zip(groups, problem.contractors, strict=True):
        state[group.name] = reading.contractor(group, contractor)
    return Standing(reading.stage, state, (reading.summary(state), *reading.notes))


class _Reading:
    """The list and the day, while the rows are judged."""

    def __init__(
        self,
        sheet: Sheet,
        problem: MaintenanceProblem,
        calendar: Calendar | None,
        today: Days | int,
        style: DateStyle,
    ) -> None:
        self._sheet = sheet
        self._problem = problem
        self._calendar = calendar
        self._today = today
        self._style = style
        self.stage = stage_of_today(today, calendar, problem.horizon)
        self.notes: list[str] = []

    # -- words --------------------------------------------------------------------------------

    @in_english
    def _at(self, stage: int) -> str:
        """A step in words: its number, or its first day."""
        return f"step {stage}" if self._calendar is None else self._calendar.label(stage)

    @in_english
    def _steps(self, number: int) -> str:
        if self._calendar is not None:
            return self._calendar.steps(number)
        return f"{number:,} step{'' if number == 1 else 's'}"

    @property
    @in_english
    def _now(self) -> str:
        if isinstance(self._today, int):
            return f"step {self._today}"
        return write_days(self._today)

    def _fail(self, work: Work, message: str, *columns: str) -> None:
        """Note a mistake in the first of these columns that the list has."""
        there = [self._sheet.column(key) for key in columns if key in self._sheet.columns]
        self._sheet.fail(message, work.row, there[0] if there else -1)

    def summary(self, state: Mapping[str, ContractorState]) -> str:
        """The situation in one line."""
        done = sum(len(each.done) for each in state.values())
        running = sum(
            each.doing is not None or each.starting is not None for each in state.values()
        )
        works = sum(len(each.tasks) for each in self._problem.contractors)
        return say(
            "going on from {step}: {done} of {works} works done, {running} running; money spent "
            "before is left out",
            step=self._shown_step(self.stage),
            done=done,
            works=works,
            running=running,
        )

    def _shown_step(self, stage: int) -> str:
        """A step for notes, in the language of the user."""
        if self._calendar is None:
            return say("step {step}", step=stage)
        return self._calendar.label(stage)

    def _shown_steps(self, number: int) -> str:
        """A number of steps for notes, in the language of the user."""
        if self._calendar is None:
            return say_count(number, "{number:,} step", "{number:,} steps")
        return self._calendar.steps(number)

    def _note(self, work: Work, text: str) -> None:
        self.notes.append(
            say("{file}, row {row}: {note}", file=self._sheet.where, row=work.row.number, note=text)
        )

    # -- one work -----------------------------------------------------------------------------

    def _judge(self, work: Work) -> _Stand | None:
        """How a work stands; None if a mistake was noted."""
        said = work.stated
        if said.broken:
            return None
        if said.actual is not None and (said.actual > self.stage or self._is_later(work.row)):
            value = shown(self._sheet.value(work.row, "actual"))
            self._fail(
                work,
                f"found {value}, which is after today, {self._now} (--today); leave the cell empty "
                "until the work has started",
                "actual",
            )
            return None
        status = said.status or self._guess(work, said)
        if status is None:
            return None
        judge: Callable[[Work, Stated], _Stand | None] = {
            Status.TO_DO: self._to_do,
            Status.RUNNING: self._running,
            Status.DONE: self._done,
        }[status]
        return judge(work, said)

    def _is_later(self, row: Row) -> bool:
        """Whether the actual start is a date after today, even if in the same step."""
        value = self._sheet.value(row, "actual")
        if isinstance(self._today, int):
            return False
        if isinstance(value, datetime.datetime):
            value = value.date()
        if isinstance(value, str):
            try:
                value = parse_days(value, self._style).first
            except ModelError:  # the number of a step
                return False
        return isinstance(value, datetime.date) and value > self._today.last

    def _guess(self, work: Work, said: Stated) -> Status | None:
        """The status that follows from the actual start and the steps left."""
        if said.left is not None:
            if said.left == 0:
                return Status.DONE
            if said.actual is not None:
                return Status.RUNNING
            self._fail(
                work,
                f"found {self._steps(said.left)} left, but neither a status nor an actual start; "
                "give the status, running or not started",
                "left",
            )
            return None
        if said.actual is None:
            return Status.TO_DO
        worked = self.stage - said.actual
        if worked < _shortest(work.task):
            return Status.RUNNING
        if worked >= _longest(work.task):
            name = found(work.task.name)
            note = say("{work} counts as done: its time is over, and no status is given", work=name)
            self._note(work, note)
            return Status.DONE
        self._fail(
            work,
            f"the work has started on {self._at(said.actual)} and is either done or delayed; give "
            "the status, done or running",
            "status",
            "actual",
        )
        return None

    def _to_do(self, work: Work, said: Stated) -> _Stand | None:
        if said.actual is not None:
            self._fail(
                work,
                f"found the status {said.written!r}, but an actual start, "
                f"{self._at(said.actual)}; correct one of them",
                "status",
            )
            return None
        if said.left not in (None, work.task.duration):
            self._fail(
                work,
                f"found {self._steps(said.left or 0)} left for a work that has not started and "
                f"takes {self._steps(work.task.duration)}; correct the duration or the status",
                "left",
            )
            return None
        return _Stand(work, _Kind.TO_DO)

    def _done(self, work: Work, said: Stated) -> _Stand | None:
        if said.left:
            self._fail(
                work,
                f"found {self._steps(said.left)} left for a work that is done; correct one of them",
                "left",
            )
            return None
        shortest = _shortest(work.task)
        if said.actual is not None and said.actual + shortest > self.stage:
            self._fail(
                work,
                f"the work cannot be done on {self._now}: it has started on "
                f"{self._at(said.actual)} and takes {self._steps(shortest)}; correct the start, "
                "the duration or the status",
                "status",
                "actual",
            )
            return None
        return _Stand(work, _Kind.DONE)

    def _running(self, work: Work, said: Stated) -> _Stand | None:
        if said.left == 0:
            self._fail(
                work, "found 0 left for a work that is running; write done as its status", "left"
            )
            return None
        can_be_late = len(work.task.durations) > 1
        shortest, longest = _shortest(work.task), _longest(work.task)
        begins_now = said.actual == self.stage
        if begins_now and can_be_late and said.left in (None, shortest):
            name = found(work.task.name)
            note = say(
                "{work} starts now: whether it is delayed is known one step later", work=name
            )
            self._note(work, note)
            return _Stand(work, _Kind.STARTING)
        if said.left is not None:
            return _Stand(work, _Kind.RUNNING, said.left)
        if said.actual is None:
            self._fail(
                work,
                "the work is running, but neither its actual start nor the steps left are given; "
                "give one of them",
                "status",
            )
            return None
        worked = self.stage - said.actual
        if worked < shortest:
            if can_be_late:
                self._note(
                    work,
                    say(
                        "{work} counts as not delayed, {steps} left; if it is delayed, give the "
                        "steps left",
                        work=found(work.task.name),
                        steps=self._shown_steps(shortest - worked),
                    ),
                )
            return _Stand(work, _Kind.RUNNING, shortest - worked)
        if worked < longest:
            left = self._shown_steps(longest - worked)
            name = found(work.task.name)
            self._note(work, say("{work} counts as delayed, {steps} left", work=name, steps=left))
            return _Stand(work, _Kind.RUNNING, longest - worked)
        self._fail(
            work,
            f"the work has started on {self._at(said.actual)} and takes at most "
            f"{self._steps(longest)}, which is over; write done as its status, or give the steps "
            "left",
            "left",
            "status",
            "actual",
        )
        return None

    # -- one contractor -----------------------------------------------------------------------

    def contractor(self, group: Group, contractor: Contractor) -> ContractorState:
        """The state of a contractor, from the rows of its works."""
        stands = [self._judge(work) for work in group.works]
        known = [each for each in stands if each is not None]
        under_way = [each for each in known if each.kind in (_Kind.RUNNING, _Kind.STARTING)]
        for other in under_way[1:]:
            first = under_way[0].work
            self._fail(
                other.work,
                f"contractor {found(group.name)} is already working on {found(first.task.name)} "
                f"(row {first.row.number}), and does one work at a time; correct one of them",
                "status",
                "actual",
                "left",
            )
        if len(under_way) < 2:
            self._check_overlaps(group, known)
        done = tuple(each.work.task.name for each in known if each.kind is _Kind.DONE)
        now = under_way[0] if under_way else None
        if len(known) == len(stands) and len(under_way) < 2:
            self._check_rest(group, contractor, known, now)
        if now is None:
            return ContractorState(done)
        name = now.work.task.name
        if now.kind is _Kind.STARTING:
            return ContractorState(done, starting=name)
        return ContractorState(done, name, now.left)

    def _check_overlaps(self, group: Group, known: Sequence[_Stand]) -> None:
        """Check that no work has started while the one before was still running."""
        begun = [
            (each.work.stated.actual, each)
            for each in known
            if each.work.stated.actual is not None and each.kind is not _Kind.TO_DO
        ]
        begun.sort(key=lambda pair: (pair[0], pair[1].kind is not _Kind.DONE))
        for (first, before), (second, after) in itertools.pairwise(begun):
            end = first + _shortest(before.work.task)
            if before.kind is not _Kind.DONE:
                end = max(end, self.stage + 1)
            if second < end:
                self._fail(
                    after.work,
                    f"contractor {found(group.name)} cannot start this work on "
                    f"{self._at(second)}: it then works on {found(before.work.task.name)} (row "
                    f"{before.work.row.number}), at least until {self._end(end - 1)}; correct one "
                    "of the two",
                    "actual",
                )
                return

    @in_english
    def _end(self, stage: int) -> str:
        if self._calendar is None:
            return f"step {stage}"
        return write_date(self._calendar.last_day(stage))

    def _check_rest(
        self, group: Group, contractor: Contractor, known: Sequence[_Stand], now: _Stand | None
    ) -> None:
        """Check that the remaining works can still be done."""
        closed = False
        busy = 0 if now is None else now.left
        if now is not None and now.kind is _Kind.STARTING:
            busy = _longest(now.work.task)
        todo = 0
        for k, each in enumerate(known):
            if each.kind is not _Kind.TO_DO:
                continue
            todo |= 1 << k
            window = each.work.task.window
            if window is None or window[1] >= self.stage:
                continue
            closed = True
            last = self._at(window[1])
            if self._problem.must_complete:
                self._fail(
                    each.work,
                    f"the work has not started, and its latest start, {last}, has passed; correct "
                    "the latest start or the status",
                    "latest",
                )
            else:
                note = say(
                    "{work} can no longer start: its latest start was {step}",
                    work=found(each.work.task.name),
                    step=self._shown_step(window[1]),
                )
                self._note(each.work, note)
        if closed or not self._problem.must_complete:
            return
        try:
            latest = Feasibility(contractor.tasks, self._problem.horizon).latest(todo)
        except TooManySetsError:
            return
        if latest == NEVER or latest < self.stage + busy:
            works = ", ".join(
                found(task.name) for k, task in enumerate(contractor.tasks) if todo >> k & 1
            )
            self._sheet.fail(
                f"contractor {found(group.name)} can no longer finish all its works by "
                f"{self._end(self._problem.horizon - 1)} from {self._now} on: {works or 'the work'}"
                " remain; plan more steps, widen a window, or drop a work",
                group.row,
                self._sheet.column("contractor"),
            )


def _shortest(task: Task) -> int:
    return min(steps for _, steps in task.durations)


def _longest(task: Task) -> int:
    return max(steps for _, steps in task.durations)
