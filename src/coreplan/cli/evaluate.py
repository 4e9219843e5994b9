"""``coreplan evaluate``: compute how good an existing plan is."""

from __future__ import annotations

import datetime
from typing import Any

import click

from coreplan.analysis.plan import evaluate_plan
from coreplan.cli.inputs import ListOptions, list_options
from coreplan.cli.language import language_options
from coreplan.cli.options import solver_options
from coreplan.cli.search_log import SearchLog, verbose_option
from coreplan.cli.shared import (
    Command,
    calendar_options,
    file_argument,
    json_option,
    memory_limit_option,
    print_json,
    time_limit_option,
)
from coreplan.cli.which_plan import WhichPlan, which_plan_options
from coreplan.solving.result import Status
from coreplan.support.language import say, say_marked
from coreplan.view.terminal import make_console
from coreplan.view.words import WHY_STOPPED, describe_problem, plan_in_words, remark_on_start


@click.command(
    cls=Command,
    epilog="""
    coreplan evaluate works.yaml --schedule schedule.yaml
    coreplan evaluate works.yaml --schedule schedule.yaml --time-limit 60 --json
    coreplan evaluate works.yaml --policy plan.json --no-bound
    coreplan evaluate works.yaml --policy plan.json --stage 4 --state now.yaml
    coreplan evaluate works.yaml --policy plan.json --estimate 100000 --seed 7
    coreplan evaluate works.xlsx --start-date 2026-03-02 --horizon 26
    coreplan evaluate works.xlsx --start-date 2026-03-02 --horizon 26 --today 2026-04-27
    """,
    short_help="Compute how good an existing plan is.",
)
@file_argument
@which_plan_options("Follow the plan", required=True)
@click.option(
    "--bound/--no-bound",
    default=True,
    show_default=True,
    help="Search for a better plan, and prove how much could be gained at most.",
)
@time_limit_option
@memory_limit_option
@solver_options("core", only=("threads",))
@calendar_options
@click.option(
    "--estimate",
    "runs",
    type=click.IntRange(min=2),
    metavar="RUNS",
    help="Also simulate the plan this many times; always done if its exact value is too costly.",
)
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=1,
    show_default=True,
    help="Seed of the simulation's random numbers.",
)
@list_options()
@verbose_option
@language_options
@json_option
def evaluate(
    file: str,
    which: WhichPlan,
    bound: bool,
    time_limit: float | None,
    memory_limit: float | None,
    asked: dict[str, Any],
    start_date: datetime.date | None,
    step: str | None,
    runs: int | None,
    seed: int,
    lists: ListOptions,
    verbose: bool,
    as_json: bool,
) -> None:
    """Compute exactly what a plan for the problem in FILE is expected to earn or cost.

    FILE may be a works list; without --policy and --schedule, its planned starts are the plan.
    Unless --no-bound is given, also prove how much any other plan could gain at most. Ctrl-C stops
    with the best bound so far.
    """
    which.sources(file, lists.hindrance)
    given = lists.read(file, start_date, step)
    problem = given.problem
    plan = which.read(given)
    policy = plan.policy
    assert policy is not None  # a plan is required
    options: dict[str, Any] = {
        "bound": bound,
        "time_limit": time_limit,
        "memory_limit": memory_limit,
        "estimate_runs": runs,
        "seed": seed,
    }
    options |= asked
    if as_json:
        print_json(evaluate_plan(problem, policy, **options).to_dict())
        return
    console = make_console()
    console.print(f"{problem.name}: {describe_problem(problem)}", markup=False)
    if plan.remark:
        console.print(plan.remark, markup=False)
    log = SearchLog(console, problem, verbose)
    with log.shown() as callback:
        report = evaluate_plan(problem, policy, callback=callback, **options)
    for line in (*plan_in_words(report), remark_on_start(problem, policy, given.calendar)):
        if line:
            console.print(line, markup=False)
    if report.result is not None and report.result.status is not Status.OPTIMAL:
        stopped = say_marked(WHY_STOPPED[report.result.status])
        why = say("The search for a better plan: {stopped}", stopped=stopped)
        why = report.result.summary() if log.technical else why
        console.print(why, style="dim", markup=False)
