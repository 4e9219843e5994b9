"""``coreplan import``: turn works lists into a problem."""

from __future__ import annotations

import datetime
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import click

from coreplan.cli.dates import Period, WrittenPeriod, asked_order
from coreplan.cli.inputs import mistakes_as_json
from coreplan.cli.language import language_options
from coreplan.cli.outputs import Outputs
from coreplan.cli.shared import (
    BAD_INPUT,
    Command,
    calendar_options,
    check_one_input,
    check_writable,
    json_option,
    print_json,
)
from coreplan.domains.maintenance.closing import close_steps, never_starting
from coreplan.domains.maintenance.formats.calendar import (
    calendar_path,
    read_calendar,
    write_calendar,
)
from coreplan.domains.maintenance.works import WorksList, read_works
from coreplan.errors import FormatError, shorten
from coreplan.formats import write_problem
from coreplan.model.calendar import Calendar
from coreplan.support.checks import MOST_STAGES
from coreplan.support.language import say
from coreplan.view.terminal import make_console
from coreplan.view.words import describe_calendar, describe_problem


@click.command(
    cls=Command,
    name="import",
    epilog="""
    coreplan import works.csv hindrance.csv --horizon 12 -o problem.yaml
    coreplan import works.xlsx --start-date 2026-03-02 --step week -o problem.yaml
    coreplan import works.csv --start-date 2026-W10 --closed 2026-07-20..2026-08-09 -o problem.yaml
    coreplan import works.csv --horizon 30 --must-complete --name "ring road" -o problem.yaml
    """,
    short_help="Turn works lists (CSV, Excel) into a problem.",
)
@click.argument("works", type=click.Path())
@click.argument("hindrance", type=click.Path(), required=False)
@click.option(
    "-o",
    "--output",
    type=click.Path(),
    required=True,
    metavar="FILE",
    help="Write the problem to this file (YAML, or JSON if the name ends in .json).",
)
@click.option(
    "--horizon",
    type=click.IntRange(1, MOST_STAGES),
    metavar="STEPS",
    help="Number of steps to plan.  [default: the number of steps that have costs]",
)
@click.option("--must-complete", is_flag=True, help="Require that every work is completed.")
@click.option(
    "--name", metavar="NAME", help="Name of the problem.  [default: the name of the file]"
)
@click.option("--sheet", metavar="NAME", help="The sheet of the workbook with the works.")
@click.option(
    "--hindrance-sheet", metavar="NAME", help="The sheet of the workbook with the hindrance."
)
@click.option(
    "--closed-sheet",
    metavar="NAME",
    help="The sheet of the workbook with closed periods.  [default: 'closed', if there is one]",
)
@calendar_options
@click.option(
    "--closed",
    "periods",
    type=Period(),
    multiple=True,
    metavar="PERIOD",
    help="A closed period, for instance 2026-07-20..2026-08-09: no work runs in it. With a name "
    "and ': no start', works may run but not start: 'market: wk 36: no start'. May be repeated; "
    "written to the calendar.",
)
@click.option("--force", is_flag=True, help="Overwrite existing files.")
@language_options
@json_option
def import_works(
    works: str,
    hindrance: str | None,
    output: str,
    horizon: int | None,
    must_complete: bool,
    name: str | None,
    sheet: str | None,
    hindrance_sheet: str | None,
    closed_sheet: str | None,
    start_date: datetime.date | None,
    step: str | None,
    periods: tuple[WrittenPeriod, ...],
    force: bool,
    as_json: bool,
) -> int:
    """Turn a list of WORKS and a list of HINDRANCE (works that hinder each other) into a problem.

    Both are CSV files or Excel workbooks; one workbook may hold both, in the sheets "works" and
    "hindrance". `coreplan template DIR` writes lists to fill in. With --start-date, the dates are
    written to a calendar next to the problem, and other commands show dates from then on.
    """
    if step is not None and start_date is None:
        raise click.UsageError("--step needs --start-date, the first day of step 0")
    if periods and start_date is None:
        raise click.UsageError("--closed needs --start-date, the first day of step 0")
    sources = [works] if hindrance is None else [works, hindrance]
    check_one_input({"WORKS": works, "HINDRANCE": hindrance})
    beside = calendar_path(output)
    targets = [Path(output)] if start_date is None else [Path(output), beside]
    for target in targets:
        check_writable(str(target), sources, "the problem", "--output")
        if target.is_file() and not force:
            raise click.UsageError(f"{target} already exists; add --force to overwrite it")
    try:
        made = read_works(
            works,
            hindrance,
            horizon=horizon,
            must_complete=must_complete,
            name=name or Path(output).stem,
            start_date=start_date,
            step=step,
            sheet=sheet,
            hindrance_sheet=hindrance_sheet,
            closed_sheet=closed_sheet,
            dates=asked_order(),
        )
    except FormatError as error:
        if not as_json:
            raise
        print_json({"ok": False, "file": error.file, "problems": mistakes_as_json(error)})
        return BAD_INPUT
    if made.calendar is not None:
        made = _close(made, made.calendar, periods, beside)
    outputs = Outputs()
    write_problem(made.problem, output)
    if made.calendar is not None:
        with outputs.one(f"the calendar in {beside}"):
            write_calendar(made.calendar, beside)
        if outputs.code:
            made = replace(made, calendar=None)
    with outputs.one("the summary"):
        _report(made, works, output, beside, as_json)
    return outputs.code


def _stays(made: WorksList, works: str, output: str) -> list[str]:
    """What a problem file cannot hold, and the commands that read it from the list."""
    notes = []
    titles = list(dict.fromkeys(title for each in made.details.values() for title in each))
    if titles:
        some = ", ".join(shorten(repr(title)) for title in titles[:10])
        more = ", ..." if len(titles) > 10 else ""
        notes.append(
            say(
                "{file} does not hold the columns for people, {columns}; coreplan report {works} "
                "shows them",
                file=output,
                columns=f"{some}{more}",
                works=works,
            )
        )
    if made.begun or any(made.planned.values()):
        notes.append(
            say(
                "{file} does not hold planned starts and progress; coreplan evaluate {works} "
                "values the planned starts, and coreplan plan {works} --today DATE goes on from "
                "the progress",
                file=output,
                works=works,
            )
        )
    return notes


def _close(
    made: WorksList, calendar: Calendar, periods: tuple[WrittenPeriod, ...], beside: Path
) -> WorksList:
    """Add the closed periods to the calendar: those given by options or the list, or those before.

    Raises a ModelError if a contractor cannot complete its works outside of them.
    """
    asked = (period.closed(calendar.start) for period in periods)
    closed = tuple(dict.fromkeys((*calendar.closed, *asked)))
    notes = list(made.notes)
    if not closed and beside.is_file():
        with suppress(FormatError):  # a damaged calendar is overwritten
            closed = read_calendar(beside).closed
        if closed:
            notes.append(
                say(
                    "{file} had closed periods, and keeps them: {periods}",
                    file=beside,
                    periods=", ".join(period.label for period in closed),
                )
            )
    calendar = replace(calendar, closed=closed)
    never = never_starting(close_steps(made.problem, calendar))
    if never:
        works = ", ".join(map(shorten, never))
        notes.append(say("closed periods leave no start to {works}", works=works))
    return replace(made, calendar=calendar, notes=tuple(notes))


def _report(made: WorksList, works: str, output: str, beside: Path, as_json: bool) -> None:
    notes = [*made.notes, *_stays(made, works, output)]
    if made.calendar is None and beside.is_file():
        notes.append(
            say("{file} existed before, and its dates still apply to the steps", file=beside)
        )
    if as_json:
        print_json(
            {
                "ok": True,
                "output": output,
                "calendar": None if made.calendar is None else str(beside),
                "problem": made.problem.name,
                "horizon": made.problem.horizon,
                "contractors": len(made.problem.contractors),
                "works": sum(len(each.tasks) for each in made.problem.contractors),
                "hindrances": len(made.problem.network),
                "notes": notes,
            }
        )
        return
    console = make_console()
    console.print(f"{output}: {describe_problem(made.problem)}", markup=False)
    if made.calendar is not None:
        console.print(f"{beside}: {describe_calendar(made.calendar)}", markup=False)
    for note in notes:
        console.print(say("note: {text}", text=note), markup=False)
