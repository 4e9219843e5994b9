"""``coreplan sensitivity``: compute which rules, windows and delays cost most."""

from __future__ import annotations

import datetime
from typing import Any

import click
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Column

from coreplan.cli.inputs import ListOptions, list_options
from coreplan.cli.language import language_options
from coreplan.cli.options import solver_options
from coreplan.cli.shared import (
    Command,
    calendar_options,
    file_argument,
    json_option,
    memory_limit_option,
    print_json,
)
from coreplan.domains.maintenance.changes import KINDS, Change
from coreplan.domains.maintenance.influence import check_maintenance_problem
from coreplan.domains.maintenance.influence import sensitivity as find_influences
from coreplan.domains.maintenance.view.influences import change_in_words, sensitivity_in_words
from coreplan.support.language import say
from coreplan.view.terminal import make_console
from coreplan.view.words import describe_calendar, describe_problem


@click.command(
    cls=Command,
    epilog="""
    coreplan sensitivity works.yaml
    coreplan sensitivity works.yaml --time-limit 60 --top 5
    coreplan sensitivity works.yaml --only windows --relax --start-date 2026-03-02
    coreplan sensitivity works.yaml --json
    """,
    short_help="Show which hindrance rules, windows and delays cost most.",
)
@file_argument
@click.option("--only", type=click.Choice(KINDS), help="Examine only these.  [default: all]")
@click.option(
    "--relax",
    is_flag=True,
    help="Relax instead of remove: half the hindrance, a window one step wider on both sides, "
    "half the chance of a delay.",
)
@click.option(
    "--top", type=click.IntRange(min=1), metavar="N", help="Show only the N that cost most."
)
@click.option(
    "--time-limit",
    type=click.FloatRange(min=0, min_open=True),
    metavar="SECONDS",
    help="Time limit of the whole analysis; the result names the parts that were not examined.",
)
@memory_limit_option
@calendar_options
@list_options(today=False)
@solver_options("core", only=("threads",))
@language_options
@json_option
def sensitivity(
    file: str,
    only: str | None,
    relax: bool,
    top: int | None,
    time_limit: float | None,
    memory_limit: float | None,
    start_date: datetime.date | None,
    step: str | None,
    lists: ListOptions,
    asked: dict[str, Any],
    as_json: bool,
) -> None:
    """Show which hindrance rules, windows and delays of the problem in FILE cost most.

    FILE may be a works list. For each of them, coreplan proves how much less the best plan would
    cost without it: a number, or a range if the time was too short. Ctrl-C stops with the results
    so far.
    """
    given = lists.read(file, start_date, step)
    problem, calendar = given.problem, given.calendar
    check_maintenance_problem(problem)
    options: dict[str, Any] = {
        "only": only,
        "relax": relax,
        "time_limit": time_limit,
        "memory_limit": memory_limit,
    }
    options |= asked
    if as_json:
        print_json(find_influences(problem, **options).to_dict(top))
        return
    console, errors = make_console(), make_console(stderr=True)
    console.print(f"{problem.name}: {describe_problem(problem)}", markup=False)
    if calendar is not None:
        console.print(describe_calendar(calendar), markup=False)
    bar = Progress(
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn(
            "{task.description}",
            markup=False,
            table_column=Column(no_wrap=True, overflow="ellipsis"),
        ),
        console=errors,
        transient=True,
        disable=not errors.is_terminal,
    )
    with bar:
        line = bar.add_task("", total=None)

        def started(change: Change | None, done: int, total: int) -> None:
            text = (
                say("the unchanged problem")
                if change is None
                else change_in_words(change, calendar)
            )
            bar.update(line, description=text, completed=done, total=total)

        report = find_influences(problem, started=started, **options)
    for text in sensitivity_in_words(report, top, calendar):
        console.print(text, markup=False)
