"""Exit codes, options, checks of files and output for all commands."""

from __future__ import annotations

import datetime
import json
import logging
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar

import click
from rich.console import Console

from coreplan.cli.dates import (
    DateAsWritten,
    StageAsWritten,
    asked_order,
    check_stage,
    dated_steps,
    stage_of,
    tell,
    with_dates,
)
from coreplan.cli.language import speaking_as_asked
from coreplan.domains.maintenance.formats.calendar import find_calendar_file, read_calendar
from coreplan.errors import FormatError, ModelError
from coreplan.files.reading import STANDARD_INPUT, read_document
from coreplan.files.writing import is_special
from coreplan.formats import plan_notation, read_plan, read_problem, read_state
from coreplan.model.calendar import DEFAULT_STEP, STEPS, Calendar
from coreplan.model.closing import with_closed_periods
from coreplan.model.indexed import JointState
from coreplan.model.problem import PlanningProblem
from coreplan.policies.policy import Policy
from coreplan.view.terminal import ConsoleLog, make_console

AnyCallable = TypeVar("AnyCallable", bound=Callable[..., Any])

OK, INTERNAL_ERROR, BAD_INPUT, LIMIT_STRUCK, NOT_CONFIRMED, INTERRUPTED = 0, 1, 2, 3, 4, 130
DISAGREE = INTERNAL_ERROR  # at least one of two contradicting results is wrong
_UNITS = {"K": 1e-3, "M": 1.0, "G": 1e3, "T": 1e6}


class MemoryAmount(click.ParamType):  # type: ignore[type-arg, unused-ignore]
    """An amount of memory in MB, or with a unit: 500, 500M, 4G."""

    name = "MB"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Take a text apart."""
        if isinstance(value, float):
            return value
        text = str(value).strip().upper()
        unit = text[-2:] if text.endswith("B") else text[-1:]
        unit = unit if unit.rstrip("B") in _UNITS else ""
        try:
            amount = float(text.removesuffix(unit)) * _UNITS.get(unit.rstrip("B"), 1.0)
        except ValueError:
            amount = -1.0
        if not 0 < amount < 1e15:
            self.fail(f"{value!r} is not an amount of memory; try 500 (in MB) or 4G", param, ctx)
        return amount


class Names(click.ParamType):  # type: ignore[type-arg, unused-ignore]
    """Names separated by commas.

    Parameters
    ----------
    example
        Text to suggest if no name is given.
    what
        Words for an empty list, for instance ``no algorithm``.
    check
        Returns what is wrong with a name, or None.
    """

    name = "NAMES"

    def __init__(
        self, example: str, what: str = "nothing", check: Callable[[str], str | None] | None = None
    ) -> None:
        self._example = example
        self._what = what
        self._check = check

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, ...]:
        """Take a text apart."""
        if isinstance(value, tuple):
            return value
        names = tuple(name.strip() for name in str(value).split(",") if name.strip())
        if not names:
            self.fail(f"{value!r} names {self._what}; try {self._example}", param, ctx)
        for each in names:
            wrong = None if self._check is None else self._check(each)
            if wrong:
                self.fail(wrong, param, ctx)
        return names


class StageRange(click.ParamType):  # type: ignore[type-arg, unused-ignore]
    """A range of stages: 0:2, or 1 for 1:2."""

    name = "FIRST:LAST"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, int]:
        """Take a text apart."""
        if isinstance(value, tuple):
            return value
        first, colon, last = str(value).partition(":")
        # Not int(): that takes signs, spaces and underscores.
        if not all(0 < len(each) < 10 and each.isdecimal() for each in (first, last or first)):
            self.fail(f"{value!r} is not a range of stages; try 0:2", param, ctx)
        if colon and not last:
            self.fail(f"{value!r} lacks the last stage; try {first}:{int(first) + 1}", param, ctx)
        return int(first), int(last) if last else int(first) + 1


class Command(click.Command):
    """A command that speaks the user's language, and whose help keeps the lines of its examples."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; the next one in this process has its own language."""
        with speaking_as_asked(ctx):
            return super().invoke(ctx)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples."""
        if self.epilog:
            with formatter.section("Examples"):
                for line in self.epilog.strip().splitlines():
                    formatter.write(f"{'':>{formatter.current_indent}}{line.strip()}\n")


class Group(click.Group):
    """A group of commands, listed in the order in which they were added.

    Parameters
    ----------
    notes
        Lines below the examples: a title, and a text.
    """

    def __init__(self, *arguments: Any, notes: Mapping[str, str] | None = None, **more: Any):
        super().__init__(*arguments, **more)
        self._sections: dict[str, list[str]] = {}
        self._notes = notes or {}

    def add_section(self, title: str, commands: Iterable[click.Command]) -> None:
        """Add commands that the help lists below a title of their own."""
        for command in commands:
            self.add_command(command)
            self._sections.setdefault(title, []).append(command.name or "")

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of the commands."""
        return list(self.commands)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands, section by section."""
        if not self._sections:
            super().format_commands(ctx, formatter)
            return
        width = max(len(name) for names in self._sections.values() for name in names)
        for title, names in self._sections.items():
            with formatter.section(title):
                rows = [
                    (f"{name:<{width}}", self.commands[name].short_help or "") for name in names
                ]
                formatter.write_dl(rows)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples, and the notes below them."""
        Command.format_epilog(self, ctx, formatter)  # type: ignore[arg-type]
        for title, text in self._notes.items():
            with formatter.section(title):
                formatter.write_text(text)


file_argument = click.argument("file", type=click.Path())
json_option = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
time_limit_option = click.option(
    "--time-limit",
    type=click.FloatRange(min=0, min_open=True),
    metavar="SECONDS",
    help="Stop after this time with the best plan so far.",
)
memory_limit_option = click.option(
    "--memory-limit",
    type=MemoryAmount(),
    metavar="MB",
    help="Memory that the solver may use: a number of MB, or for instance 4G.",
)
save_policy_option = click.option(
    "--save-policy",
    type=click.Path(),
    metavar="FILE",
    help="Write the plan to this file (policy/1).",
)


def plan_options(command: AnyCallable, instead: str = "") -> AnyCallable:
    """The options that give a plan: policy_file and schedule_file.

    `instead` says what happens without them, for the help.
    """
    policy = click.option(
        "--policy",
        "policy_file",
        type=click.Path(),
        metavar="FILE",
        help=f"The plan, a saved one (policy/1){instead}.",
    )
    schedule = click.option(
        "--schedule",
        "schedule_file",
        type=click.Path(),
        metavar="FILE",
        help=f"The plan, a file with the step in which each contractor starts each work{instead}; "
        "for instance 'Alpha: {a1: 0, a2: 4}'.",
    )
    return policy(schedule(command))


def read_own_plan(
    path: str,
    problem: PlanningProblem,
    calendar: Calendar | None = None,
    *,
    stage: int = 0,
    state: JointState | None = None,
) -> Mapping[str, Any]:
    """Read the file of ``--schedule``: a plan in the notation of the problem's domain."""
    notation = plan_notation(problem)
    if notation is None:
        raise click.UsageError(
            f"--schedule needs an mpp/1 problem, and this is a {problem.file_format} problem; give "
            "the plan with --policy"
        )
    steps = dated_steps(calendar)
    made = read_document(path, lambda document: notation.read(document, stage, state, steps))
    tell(steps.notes(), path)
    return made


def standing_options(
    verb: str,
    default: int | None = 0,
    calendar_of: Callable[[Mapping[str, Any]], str] = lambda parameters: parameters["file"],
) -> Callable[[AnyCallable], AnyCallable]:
    """The options for the current stage and state: stage and state_file.

    Parameters
    ----------
    verb
        What the command does from there on, for the help: ``Plan``.
    default
        The stage if none is given.
    calendar_of
        The file whose calendar gives the steps of dates, by the command's parameters.
    """
    stage = click.option(
        "--stage",
        type=StageAsWritten(),
        metavar="T",
        help=f"{verb} from this stage on, with --state: a number from 0 or, if the dates of the "
        "steps are known, a date or a week.",
    )
    state = click.option(
        "--state",
        "state_file",
        type=click.Path(),
        metavar="FILE",
        help=f"{verb} from this state, with --stage: a file with the current state of each agent, "
        "for instance 'Alpha: {done: [a2], doing: a1, remaining: 2}'.",
    )

    def add(command: AnyCallable) -> AnyCallable:
        @wraps(command)
        def checked(
            *arguments: Any, stage: int | str | None, state_file: str | None, **more: Any
        ) -> Any:
            if isinstance(stage, str):
                file = calendar_of(more)
                calendar = find_calendar(file, more.get("start_date"), more.get("step"))
                stage = stage_of(stage, file, calendar, with_option="start_date" in more)
            lists = more.get("lists")
            has_today = "today" in more or bool(getattr(lists, "asks_today", False))
            _check_standing(stage, state_file, has_today=has_today)
            stage = default if stage is None else stage
            return command(*arguments, stage=stage, state_file=state_file, **more)

        return stage(state(with_dates(checked)))  # type: ignore[return-value]

    return add


def _check_standing(stage: int | None, state_file: str | None, *, has_today: bool) -> None:
    """A stage without a state, or the reverse, would silently be taken for another situation."""
    instead = "; a works list can say this itself: give --today DATE instead" if has_today else ""
    if stage and state_file is None:
        raise click.UsageError(
            f"--stage {stage} needs --state FILE, the state of every agent at that stage; for "
            f"works: what is done, and what is under way{instead}"
        )
    if stage is None and state_file is not None:
        raise click.UsageError("--state needs --stage T, the stage of this state; 0 is the start")


def calendar_options(command: AnyCallable) -> AnyCallable:
    """The options for dates of steps, start_date and step, for :func:`find_calendar`."""
    step = click.option(
        "--step",
        type=click.Choice(list(STEPS)),
        help=f"Length of a step.  [default: {DEFAULT_STEP}]",
    )
    start = click.option(
        "--start-date",
        type=DateAsWritten(),
        metavar="DATE",
        help="The first day of step 0, for instance 2026-03-02: dates are shown instead of step "
        "numbers.",
    )
    return start(step(with_dates(command)))


def find_calendar(file: str, start_date: datetime.date | None, step: str | None) -> Calendar | None:
    """The dates of the steps: from the options or, without them, the calendar next to the file.

    Raises
    ------
    FormatError
        If the calendar next to the file is invalid.
    """
    beside = find_calendar_file(file)
    known = None if beside is None else read_calendar(beside, asked_order())
    if start_date is None and step is not None and known is None:
        raise click.UsageError("--step needs --start-date, the first day of step 0")
    if known is None:
        return None if start_date is None else Calendar(start_date, step or DEFAULT_STEP)
    if start_date is not None:
        # Closed periods are days: they stay where they are.
        return Calendar(start_date, step or known.step, closed=known.closed)
    return known if step is None else replace(known, step=step)


def read_dated_problem(
    file: str, start_date: datetime.date | None = None, step: str | None = None
) -> tuple[PlanningProblem, Calendar | None]:
    """Read a problem with the dates of its steps; periods that the calendar closes are closed.

    Raises
    ------
    FormatError
        If the file or the calendar next to it is invalid, or if a contractor cannot complete its
        works outside the closed periods.
    """
    problem = read_problem(file)
    calendar = find_calendar(file, start_date, step)
    return on_calendar(problem, file, calendar), calendar


def on_calendar(problem: PlanningProblem, file: str, calendar: Calendar | None) -> PlanningProblem:
    """Check ``--stage``, and close the periods of the calendar next to the file of a problem.

    Raises
    ------
    FormatError
        As :func:`read_dated_problem`, for the calendar.
    """
    check_stage(problem.horizon, calendar)
    if calendar is None or not calendar.closed:
        return problem
    try:
        return with_closed_periods(problem, calendar)
    except ModelError as error:
        raise FormatError(str(find_calendar_file(file)), error.problems) from None


def read_standing(
    state_file: str | None, problem: PlanningProblem, calendar: Calendar | None
) -> dict[str, Any] | None:
    """Read the file of ``--state``; None without one."""
    if state_file is None:
        return None
    steps = dated_steps(calendar)
    state = read_state(state_file, problem, steps)
    tell(steps.notes(), state_file)
    return state


def read_starting_plan(
    path: str,
    problem: PlanningProblem,
    calendar: Calendar | None,
    stage: int,
    state: JointState | None,
) -> Policy | Mapping[str, Any]:
    """Read a plan to start from: a policy/1 file, or a plan in the notation of the domain."""
    steps = dated_steps(calendar)
    made = read_plan(path, problem, stage=stage, state=state, steps=steps)
    tell(steps.notes(), path)
    return made


def check_one_input(sources: Mapping[str, str | None]) -> None:
    """Raise an error if two inputs are the standard input, which can be read only once."""
    used = [name for name, path in sources.items() if path == STANDARD_INPUT]
    if len(used) > 1:
        raise click.UsageError(f"only one of {' and '.join(used)} can be the standard input (-)")


def check_writable(
    path: str, sources: Iterable[str], what: str = "the plan", option: str = "--save-policy"
) -> None:
    """Raise an error before a long run if its result could not be written."""
    target = Path(path)
    wrong = ""
    if path == STANDARD_INPUT:
        wrong = f"{what} cannot be written to the standard output; name a file"
    elif is_special(path) and not target.is_dir():
        pass  # a device, a pipe or an open file
    elif target.is_dir():
        wrong = f"{path!r} is a folder; expected a file"
    elif not target.parent.is_dir():
        wrong = f"the folder {str(target.parent)!r} does not exist"
    elif not os.access(target.parent, os.W_OK):
        wrong = f"the folder {str(target.parent)!r} is not writable"
    elif any(target.exists() and Path(each).exists() and target.samefile(each) for each in sources):
        wrong = f"{what} would overwrite its own input {path!r}; name another file"
    if wrong:
        raise click.BadParameter(wrong, param_hint=f"'{option}'")


def print_json(value: object) -> None:
    """Print one line of JSON, in ASCII: correct in every encoding of the terminal."""
    click.echo(json.dumps(value, allow_nan=False))


def print_former(former: str, now: str) -> None:
    """Warn that a command has another name now."""
    make_console(stderr=True).print(
        f"warning: {former} is now {now}; the next version drops the old name", markup=False
    )


@contextmanager
def shown_log(console: Console) -> Iterator[None]:
    """Show the library's log lines."""
    logger = logging.getLogger("coreplan")
    beside = [handler for handler in logger.handlers if isinstance(handler, ConsoleLog)]
    for handler in beside:
        logger.removeHandler(handler)
    try:
        with _logging_to(ConsoleLog(console, logging.INFO)):
            yield
    finally:
        for handler in beside:
            logger.addHandler(handler)


@contextmanager
def shown_warnings() -> Iterator[None]:
    """Print the library's warnings to the standard error while its log is not shown."""
    with _logging_to(ConsoleLog(make_console(stderr=True), logging.WARNING, "warning: ")):
        yield


@contextmanager
def _logging_to(handler: logging.Handler) -> Iterator[None]:
    logger = logging.getLogger("coreplan")
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(handler.level)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
