"""``coreplan report``: write a plan as one HTML file."""

from __future__ import annotations

import datetime
import math
from pathlib import Path
from typing import Any

import click

from coreplan.analysis.plan import PlanReport, evaluate_plan
from coreplan.cli.inputs import ListOptions, list_options
from coreplan.cli.options import solver_options
from coreplan.cli.outputs import Outputs
from coreplan.cli.search_log import SearchLog, verbose_option
from coreplan.cli.shared import (
    Command,
    calendar_options,
    check_writable,
    file_argument,
    json_option,
    memory_limit_option,
    print_json,
    time_limit_option,
)
from coreplan.cli.which_plan import WhichPlan, which_plan_options
from coreplan.solving.result import Result, Status
from coreplan.solving.solver import solve as solve_problem
from coreplan.support.interrupts import seconds_to_finish
from coreplan.view.report import Report, make_report
from coreplan.view.terminal import make_console
from coreplan.view.words import describe_problem

SHORTEST = 0.1
"""Least number of seconds that each part of a report may take after Ctrl-C."""
HURRIED_PIECES = 1_000
"""Size limits of the plan in a report after Ctrl-C."""


@click.command(
    cls=Command,
    epilog="""
    coreplan report works.yaml -o plan.html
    coreplan report works.yaml -o plan.html --start-date 2026-03-02 --title "Ring road 2026"
    coreplan report works.yaml -o plan.html --time-limit 60 --force
    coreplan report works.yaml -o plan.html --policy plan.json --no-bound
    coreplan report works.xlsx -o plan.html --start-date 2026-03-02 --today 2026-04-27
    coreplan report works.yaml -o plan.html --schedule schedule.yaml
    coreplan report works.yaml -o plan.html --stage 7 --state now.yaml
    """,
    short_help="Write a plan as one HTML file: to read, click through and print.",
)
@file_argument
@click.option(
    "-o",
    "--output",
    type=click.Path(),
    metavar="FILE",
    required=True,
    help="The HTML file to write.",
)
@which_plan_options("Report the plan")
@click.option(
    "--bound/--no-bound",
    default=True,
    show_default=True,
    help="With a given plan: search for a better plan, and prove how much could be gained at most.",
)
@time_limit_option
@memory_limit_option
@solver_options("core")
@calendar_options
@list_options()
@click.option("--title", metavar="TEXT", help="Title of the report.  [default: the problem's name]")
@click.option("--force", is_flag=True, help="Overwrite an existing HTML file.")
@verbose_option
@json_option
def report(
    file: str,
    output: str,
    which: WhichPlan,
    bound: bool,
    time_limit: float | None,
    memory_limit: float | None,
    asked: dict[str, Any],
    start_date: datetime.date | None,
    step: str | None,
    lists: ListOptions,
    title: str | None,
    force: bool,
    verbose: bool,
    as_json: bool,
) -> int:
    """Solve the problem in FILE and write its plan as one HTML file that needs no network.

    FILE may be a works list. The page shows what the plan costs and whether it is proven best, when
    each contractor works on what, what the plan does when a work is delayed (click it), where works
    hinder each other, how much the plan may cost, and what coordination is worth. Ctrl-C stops the
    search and reports the best plan so far, with the parts that can be computed in a moment.
    """
    check_writable(output, which.sources(file, lists.hindrance), "the report", "--output")
    if Path(output).is_file() and not force:
        raise click.BadParameter(
            f"{output!r} already exists; add --force to overwrite it", param_hint="'--output'"
        )
    given = lists.read(file, start_date, step)
    problem, calendar = given.problem, given.calendar
    if calendar is not None:
        calendar.last_day(
            problem.horizon - 1
        )  # before the long work: reports an invalid date early
    plan_from = which.read(given)
    policy = plan_from.policy
    options: dict[str, Any] = {"time_limit": time_limit, "memory_limit": memory_limit, **asked}
    console = make_console(patient=True)
    if not as_json:
        console.print(f"{problem.name}: {describe_problem(problem)}", markup=False)
        if calendar is not None and calendar.source is not None:
            console.print(f"dates from {calendar.source}", markup=False)
        if plan_from.remark:
            console.print(plan_from.remark, markup=False)

    def solve_or_evaluate() -> Result | PlanReport:
        if policy is None:
            return solve_problem(problem, **plan_from.beginning, **options)
        return evaluate_plan(problem, policy, bound=bound, **options)

    if as_json:
        plan = solve_or_evaluate()
    else:
        with SearchLog(console, problem, verbose).shown() as callback:
            options["callback"] = callback
            plan = solve_or_evaluate()
            console.print("computing what the report shows", style="dim")
    outputs = Outputs()
    made: Report | None = None
    try:
        with outputs.one(f"the report in {output}"):
            made = make_report(plan, calendar=calendar, title=title, **_hurry())
            made.save(output)
    finally:  # the result is worth printing even if the report fails
        with outputs.one("the result"):
            if as_json:
                print_json(_to_dict(plan, made, None if outputs.code else output))
            elif made is None or outputs.code:
                console.print(plan.summary(), markup=False)
            else:
                summary = made.data["summary"]
                held = made.data["words"]["held"]
                for line in (summary["headline"], summary["proof"], summary.get("note"), held):
                    if line:
                        console.print(line, markup=False)
                console.print(f"the report is in {output}", markup=False)
    return outputs.code


def _hurry() -> dict[str, Any]:
    """Show the parts that can be computed in a moment, after Ctrl-C."""
    left = seconds_to_finish()
    if math.isinf(left):
        return {}
    return {"time_limit": max(left / 4, SHORTEST), "most_pieces": HURRIED_PIECES}


def _to_dict(
    plan: Result | PlanReport, made: Report | None, output: str | None
) -> dict[str, object]:
    """The result and the path of the report, as JSON."""
    if made is None:
        closed = plan.optimal if isinstance(plan, PlanReport) else plan.status is Status.OPTIMAL
        known = {"value": plan.value, "upper_bound": plan.upper_bound, "optimal": closed}
        return {"report": None, "bytes": None, **known, "coordination": None, "complete": False}
    summary = made.data["summary"]
    return {
        "report": output,
        "bytes": len(made.html.encode()),
        "value": summary["value"],
        "upper_bound": summary["upper_bound"],
        "optimal": summary["proven"],
        "coordination": made.data["coordination"]["gain"],
        "complete": not made.data["words"]["held"],
    }
