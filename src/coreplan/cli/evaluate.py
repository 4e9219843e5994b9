"""``coreplan evaluate``: compute how good an existing plan is."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any

import click

from coreplan.analysis.plan import evaluate_plan
from coreplan.cli.inputs import ListOptions, list_options
from coreplan.cli.options import solver_options
from coreplan.cli.shared import (
    Command,
    calendar_options,
    check_one_input,
    file_argument,
    json_option,
    memory_limit_option,
    plan_options,
    print_json,
    read_own_plan,
    shown_log,
    standing_options,
    time_limit_option,
)
from coreplan.policies.policy import Policy
from coreplan.solving.result import Status
from coreplan.view.terminal import LiveLog, make_console
from coreplan.view.words import describe_problem, plan_in_words, remark_on_plan


@click.command(
    cls=Command,
    epilog="""
    coreplan evaluate works.yaml --schedule schedule.yaml
    coreplan evaluate works.yaml --schedule schedule.yaml --time-limit 60 --json
    coreplan evaluate works.yaml --policy plan.json --no-bound
    coreplan evaluate works.yaml --policy plan.json --estimate 100000 --seed 7
    coreplan evaluate works.xlsx --start-date 2026-03-02 --horizon 26
    coreplan evaluate works.xlsx --start-date 2026-03-02 --horizon 26 --today 2026-04-27
    """,
    short_help="Compute how good an existing plan is.",
)
@file_argument
@plan_options
@click.option(
    "--bound/--no-bound",
    default=True,
    show_default=True,
    help="Search for a better plan, and prove how much could be gained at most.",
)
@time_limit_option
@memory_limit_option
@solver_options("core", only=("threads",))
@standing_options("Follow it", default=None)
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
@calendar_options
@list_options()
@json_option
def evaluate(
    file: str,
    policy_file: str | None,
    schedule_file: str | None,
    bound: bool,
    time_limit: float | None,
    memory_limit: float | None,
    asked: dict[str, Any],
    stage: int | None,
    state_file: str | None,
    runs: int | None,
    seed: int,
    start_date: datetime.date | None,
    step: str | None,
    lists: ListOptions,
    as_json: bool,
) -> None:
    """Compute exactly what a plan for the problem in FILE is expected to earn or cost.

    FILE may be a works list; without --policy and --schedule, its planned starts are the plan.
    Unless --no-bound is given, also prove how much any other plan could gain at most. Ctrl-C stops
    with the best bound so far.
    """
    if policy_file is not None and schedule_file is not None:
        raise click.UsageError("give one plan: --policy FILE or --schedule FILE")
    sources = {"FILE": file, "--policy": policy_file, "--schedule": schedule_file}
    check_one_input({**sources, "--state": state_file, "--hindrance": lists.hindrance})
    given = lists.read(file, start_date, step)
    problem = given.problem
    own_plan = policy_file is None and schedule_file is None
    if own_plan and given.works is None:
        raise click.UsageError(
            "give one plan: --policy FILE or --schedule FILE, or a works list with planned starts"
        )
    stage, state = given.situation(stage, state_file)
    plan: Policy | Mapping[str, Any]
    remark = ""
    if own_plan and given.works is not None:
        plan = given.works.schedule()
    elif policy_file is not None:
        plan = Policy.load(policy_file, problem)
    else:
        plan = read_own_plan(str(schedule_file), problem, stage=stage or 0, state=state)
        remark = remark_on_plan(problem, plan)
    options: dict[str, Any] = {
        "bound": bound,
        "time_limit": time_limit,
        "memory_limit": memory_limit,
        "stage": stage,
        "state": state,
        "estimate_runs": runs,
        "seed": seed,
    }
    options |= asked
    if as_json:
        print_json(evaluate_plan(problem, plan, **options).to_dict())
        return
    console = make_console()
    console.print(f"{problem.name}: {describe_problem(problem)}", markup=False)
    if remark:
        console.print(remark, markup=False)
    with shown_log(console):
        report = evaluate_plan(problem, plan, callback=LiveLog(console), **options)
    for line in plan_in_words(report):
        console.print(line, markup=False)
    if report.result is not None and report.result.status is not Status.OPTIMAL:
        console.print(report.result.summary(), style="dim", markup=False)
