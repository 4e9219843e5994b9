"""``coreplan report``: write a plan as one HTML file."""

from __future__ import annotations

import datetime
import math
from pathlib import Path
from typing import Any

import click

from coreplan.analysis.plan import PlanReport, evaluate_plan
from coreplan.cli.contractor_pages import (
    check_contractors,
    contractor_options,
    files_beside,
    said_of,
)
from coreplan.cli.inputs import ListOptions, list_options
from coreplan.cli.language import language_options
from coreplan.cli.old_plan import keep_options, read_kept
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
from coreplan.support.language import say
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
    coreplan report works.yaml -o plan.html --each-contractor
    coreplan report works.yaml -o dijk.html --contractor "Van Dijk"
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
@keep_options
@calendar_options
@contractor_options
@list_options()
@click.option("--title", metavar="TEXT", help="Title of the report.  [default: the problem's name]")
@click.option("--force", is_flag=True, help="Overwrite an existing HTML file.")
@verbose_option
@language_options
@json_option
def report(
    file: str,
    output: str,
    which: WhichPlan,
    bound: bool,
    time_limit: float | None,
    memory_limit: float | None,
    asked: dict[str, Any],
    keep_file: str | None,
    change_cost: float | None,
    start_date: datetime.date | None,
    step: str | None,
    contractor: str | None,
    each_contractor: bool,
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
    if keep_file is not None and which.is_given:
        raise click.UsageError(f"{which.option} reports a finished plan; leave out --keep")
    sources = which.sources(file, lists.hindrance, keep_file)
    check_writable(output, sources, "the report", "--output")
    _check_new(output, force)
    given = lists.read(file, start_date, step)
    problem, calendar = given.problem, given.calendar
    check_contractors(problem, contractor, each_contractor, output)
    beside = files_beside(output, problem.agent_names if each_contractor else ())
    for page in beside.values():
        check_writable(page, sources, "the page of a contractor", "--each-contractor")
        _check_new(page, force)
    if calendar is not None:
        calendar.last_day(
            problem.horizon - 1
        )  # before the long work: reports an invalid date early
    plan_from = which.read(given)
    policy = plan_from.policy
    options: dict[str, Any] = {"time_limit": time_limit, "memory_limit": memory_limit, **asked}
    kept = read_kept(keep_file, change_cost, problem, calendar)
    if kept is not None:
        options["keep"] = kept.old
    console = make_console(patient=True)
    if not as_json:
        console.print(f"{problem.name}: {describe_problem(problem)}", markup=False)
        if calendar is not None and calendar.source is not None:
            console.print(say("dates from {file}", file=calendar.source), markup=False)
        if plan_from.remark:
            console.print(plan_from.remark, markup=False)

    def solve_or_evaluate() -> Result | PlanReport:
        if policy is None:
            whole = problem if kept is None else kept.priced(problem)
            return solve_problem(whole, **plan_from.beginning, **options)
        return evaluate_plan(problem, policy, bound=bound, **options)

    if as_json:
        plan = solve_or_evaluate()
    else:
        with SearchLog(console, problem, verbose).shown() as callback:
            options["callback"] = callback
            plan = solve_or_evaluate()
            console.print(say("computing what the report shows"), style="dim")
    outputs = Outputs()
    made: Report | None = None
    try:
        with outputs.one(f"the report in {output}"):
            made = make_report(
                plan,
                calendar=calendar,
                title=title,
                contractor=contractor,
                each_contractor=each_contractor,
                **_hurry(),
            )
            made.save(output)
        for name, page in beside.items():
            with outputs.one(f"the page of a contractor in {page}"):
                if made is not None:
                    made.contractors[name].save(page)
    finally:  # the result is worth printing even if the report fails
        with outputs.one("the result"):
            if as_json:
                known = _to_dict(plan, made, None if outputs.code else output)
                known["contractors"] = {} if outputs.code else beside
                if kept is not None and plan.policy is not None:
                    known["changes"] = kept.to_dict(plan.policy)
                print_json(known)
            elif made is None or outputs.code:
                console.print(plan.summary(), markup=False)
            else:
                summary = made.data["summary"]
                headline = summary["headline" if contractor is None else "conclusion"]
                held = made.data["words"]["held"]
                remarks = (summary.get("later"), summary.get("note"), held)
                if kept is not None and plan.policy is not None:
                    remarks = (*kept.lines(plan.policy, calendar), *remarks)
                for line in (headline, summary["proof"], *remarks):
                    if line:
                        console.print(line, markup=False)
                console.print(say("the report is in {file}", file=output), markup=False)
                if beside:
                    console.print(said_of(list(beside.values())), markup=False)
    return outputs.code


def _check_new(output: str, force: bool) -> None:
    """Raise an error if a file would be overwritten without being asked for."""
    if Path(output).is_file() and not force:
        raise click.BadParameter(
            f"{output!r} already exists; add --force to overwrite it", param_hint="'--output'"
        )


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
    closed = plan.optimal if isinstance(plan, PlanReport) else plan.status is Status.OPTIMAL
    known = {"value": plan.value, "upper_bound": plan.upper_bound, "optimal": closed}
    if made is None:
        return {"report": None, "bytes": None, **known, "coordination": None, "complete": False}
    summary = made.data["summary"]
    gain = None
    if "contractor" not in made.data:
        gain = made.data["coordination"]["gain"]
        known = {key: summary[key] for key in ("value", "upper_bound")}
        known["optimal"] = summary["proven"]
    return {
        "report": output,
        "bytes": len(made.html.encode()),
        **known,
        "coordination": gain,
        "complete": not made.data["words"]["held"],
    }
