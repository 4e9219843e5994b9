"""``coreplan check``: report errors in problem files."""

from __future__ import annotations

import datetime
import itertools
from dataclasses import replace

import click

from coreplan.cli.inputs import ListOptions, list_options, mistakes_as_json
from coreplan.cli.language import language_options
from coreplan.cli.shared import BAD_INPUT, OK, Command, calendar_options, json_option, print_json
from coreplan.errors import FormatError
from coreplan.model.conditions import unknown_values
from coreplan.model.problem import PlanningProblem
from coreplan.model.timmdp import TIMMDP, conditions_of
from coreplan.support.language import say
from coreplan.view.terminal import make_console, print_error
from coreplan.view.words import describe_problem

MOST_NOTES = 5
"""The most notes on one file."""


@click.command(
    cls=Command,
    epilog="""
    coreplan check works.yaml
    coreplan check *.yaml --json
    coreplan check works.xlsx --start-date 2026-03-02 --horizon 26 --today 2026-04-27
    """,
    short_help="Check that files contain valid problems.",
)
@click.argument("files", nargs=-1, required=True, type=click.Path())
@calendar_options
@list_options()
@language_options
@json_option
def check(
    files: tuple[str, ...],
    start_date: datetime.date | None,
    step: str | None,
    lists: ListOptions,
    as_json: bool,
) -> int:
    """Check that each of FILES contains a valid problem, and report what is wrong and where.

    FILES may be works lists; with --today, their progress is checked, too.
    """
    lists = replace(lists, asks_today=lists.today is not None)
    reports = []
    for file in files:
        try:
            given = lists.read(file, start_date, step)
        except FormatError as error:
            reports.append({"file": file, "ok": False, "problems": mistakes_as_json(error)})
            if not as_json:
                print_error(str(error))
        else:
            reports.append({"file": file, "ok": True, "problems": []})
            if not as_json:
                kind = given.problem.file_format if given.works is None else say("works list")
                size = describe_problem(given.problem)
                message = say("{file}: ok, {kind}, {size}", file=file, kind=kind, size=size)
                console = make_console()
                console.print(message, markup=False)
                for note in _notes(given.problem):
                    console.print(note, markup=False, soft_wrap=True)
    if as_json:
        print_json(reports)
    return OK if all(report["ok"] for report in reports) else BAD_INPUT


def _notes(problem: PlanningProblem) -> list[str]:
    """What is allowed but is probably a mistake."""
    if not isinstance(problem, TIMMDP):
        return []
    conditions = conditions_of(problem.rewards, problem.aggregates)
    found = list(itertools.islice(unknown_values(problem.agents, conditions), MOST_NOTES + 1))
    notes = [say("note: {text}", text=f"{each}; it matches nothing") for each in found[:MOST_NOTES]]
    return [*notes, *(["note: ..."] if len(found) > MOST_NOTES else [])]
