"""What a command plans for: a problem file, or a works list that is imported on the fly."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import wraps
from pathlib import Path
from typing import Any

import click

from coreplan.cli.dates import StageAsWritten, asked_order
from coreplan.cli.shared import (
    AnyCallable,
    find_calendar,
    on_calendar,
    read_dated_problem,
    read_standing,
)
from coreplan.domains.maintenance.problem import MaintenanceProblem
from coreplan.domains.maintenance.works import WorksList, WorksListError, read_works
from coreplan.domains.maintenance.works.opening import PROBLEM_ENDINGS, FileContent, is_list
from coreplan.errors import CoreplanError, FormatError
from coreplan.files.reading import STANDARD_INPUT, decode_file, read_bytes
from coreplan.formats import parse_problem
from coreplan.model.calendar import Calendar
from coreplan.model.indexed import JointState
from coreplan.model.problem import PlanningProblem
from coreplan.support.checks import MOST_STAGES
from coreplan.support.language import say
from coreplan.view.terminal import make_console, problem_dicts


@dataclass(frozen=True)
class ListOptions:
    """The answers to the options of :func:`list_options`; each is only for works lists.

    Attributes
    ----------
    horizon, must_complete, sheet, hindrance, hindrance_sheet, closed_sheet, today
        As in :func:`coreplan.read_works`.
    asks_today
        Whether the command has the option ``--today``.
    """

    horizon: int | None = None
    must_complete: bool = False
    sheet: str | None = None
    hindrance: str | None = None
    hindrance_sheet: str | None = None
    closed_sheet: str | None = None
    today: int | str | None = None
    asks_today: bool = True

    def read(self, file: str, start_date: datetime.date | None, step: str | None) -> Given:
        """Read a problem or a works list, with the dates of its steps.

        Notes on a works list go to the standard error.
        """
        if Path(file).suffix.lower() in PROBLEM_ENDINGS:
            self._refuse(file)
            return Given(*read_dated_problem(file, start_date, step))
        content = FileContent(*read_bytes(file))
        if not is_list(content):
            self._refuse(file)
            problem = parse_problem(decode_file(*content), content.name)
            calendar = find_calendar(file, start_date, step)
            return Given(on_calendar(problem, file, calendar), calendar)
        if file == STANDARD_INPUT == self.hindrance:
            raise click.UsageError("only one of FILE and --hindrance can be the standard input (-)")
        calendar = find_calendar(file, start_date, step)
        works = read_works(
            content,
            self.hindrance,
            horizon=self.horizon,
            must_complete=self.must_complete,
            name=Path(file).stem if file != STANDARD_INPUT else None,
            sheet=self.sheet,
            hindrance_sheet=self.hindrance_sheet,
            closed_sheet=self.closed_sheet,
            today=self.today,
            calendar=calendar,
            dates=asked_order(),
        )
        notes = list(works.notes)
        if works.begun and self.today is None:
            work, place = next(iter(works.begun.items()))
            if self.asks_today:
                raise CoreplanError(
                    f"{place}: the list says that {work} has started; give the day of the list "
                    "(--today DATE) to go on from there"
                )
            notes.append(
                say(
                    "the list says that works have started; here, all works are planned from the "
                    "start"
                )
            )
        console = make_console(stderr=True)
        for note in notes:
            console.print(say("note: {text}", text=note), markup=False, soft_wrap=True)
        calendar = ahead = works.calendar
        if calendar is not None and works.state is not None:
            # What is past closes nothing any more, and works that are done may have been in it.
            ahead = calendar.without_past_periods(works.stage)
        problem = on_calendar(works.problem, file, ahead)
        assert isinstance(problem, MaintenanceProblem)
        return Given(problem, calendar, replace(works, problem=problem))

    def _refuse(self, file: str) -> None:
        """Raise a usage error if options for works lists come with a problem file."""
        given = {
            "--horizon": self.horizon,
            "--must-complete": self.must_complete or None,
            "--sheet": self.sheet,
            "--hindrance": self.hindrance,
            "--hindrance-sheet": self.hindrance_sheet,
            "--closed-sheet": self.closed_sheet,
            "--today": self.today,
        }
        used = [name for name, value in given.items() if value is not None]
        if used:
            advice = "the file itself says this"
            if used == ["--today"]:
                advice = "give --stage and --state"
            raise click.UsageError(
                f"{', '.join(used)}: only for works lists, and {file} is a problem file; {advice}"
            )


@dataclass(frozen=True)
class Given:
    """A problem, and what a works list says beside it.

    Attributes
    ----------
    problem
        The problem.
    calendar
        The dates of its steps, if they are known.
    works
        The works list, if the problem was made from one.
    """

    problem: PlanningProblem
    calendar: Calendar | None
    works: WorksList | None = None

    def situation(
        self, stage: int | None, state_file: str | None
    ) -> tuple[int | None, JointState | None]:
        """The stage and state to go on from: those of today, or those of the options."""
        if self.works is None or self.works.state is None:
            return stage, read_standing(state_file, self.problem, self.calendar)
        if stage or state_file is not None:
            raise click.UsageError(
                "--today takes the stage and the state from the list; leave out --stage and --state"
            )
        return self.works.stage, self.works.state


def list_options(*, today: bool = True) -> Callable[[AnyCallable], AnyCallable]:
    """Let a command read works lists as well as problems; it gets the options as ``lists``.

    Parameters
    ----------
    today
        Whether the command can go on from the progress in a list.
    """
    options = [
        click.option(
            "--horizon",
            type=click.IntRange(1, MOST_STAGES),
            metavar="STEPS",
            help="Works list: number of steps to plan.  [default: the number of steps that have "
            "costs]",
        ),
        click.option(
            "--must-complete", is_flag=True, help="Works list: every work has to be completed."
        ),
        click.option(
            "--sheet", metavar="NAME", help="Works list: the sheet of the workbook with the works."
        ),
        click.option(
            "--hindrance",
            type=click.Path(),
            metavar="FILE",
            help="Works list: the list of works that hinder each other.  [default: a sheet of the "
            "same workbook]",
        ),
        click.option(
            "--hindrance-sheet",
            metavar="NAME",
            help="Works list: the sheet of the workbook with the hindrance.",
        ),
        click.option(
            "--closed-sheet",
            metavar="NAME",
            help="Works list: the sheet of the workbook with closed periods.  [default: 'closed', "
            "if there is one]",
        ),
    ]
    if today:
        options.append(
            click.option(
                "--today",
                type=StageAsWritten(),
                metavar="DATE",
                help="Works list: go on from this date, week or step, with the works that the list "
                "says are done or running.",
            )
        )

    def add(command: AnyCallable) -> AnyCallable:
        @wraps(command)
        def collect(**parameters: Any) -> Any:
            names = ["horizon", "must_complete", "sheet", "hindrance", "hindrance_sheet"]
            names.append("closed_sheet")
            lists = ListOptions(
                **{name: parameters.pop(name) for name in names},
                today=parameters.pop("today", None),
                asks_today=today,
            )
            return command(lists=lists, **parameters)

        made: Any = collect
        for option in reversed(options):
            made = option(made)
        return made  # type: ignore[no-any-return]

    return add


def mistakes_as_json(error: FormatError) -> list[dict[str, object]]:
    """The mistakes of a file as plain values; those of a works list with their place in words."""
    problems: list[dict[str, object]] = problem_dicts(error.problems)
    if isinstance(error, WorksListError):
        for each, problem in zip(problems, error.problems, strict=True):
            each["place"] = ", ".join(map(str, problem.path))
    return problems
