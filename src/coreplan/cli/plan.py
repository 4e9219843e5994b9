"""``coreplan plan``: show who does what when, the costs, and what to do about delays."""

from __future__ import annotations

import datetime
import sys
from typing import Any

import click

from coreplan.cli.inputs import ListOptions, list_options
from coreplan.cli.options import solver_options
from coreplan.cli.outputs import Outputs
from coreplan.cli.shared import (
    Command,
    calendar_options,
    check_one_input,
    check_writable,
    file_argument,
    json_option,
    memory_limit_option,
    print_json,
    save_policy_option,
    shown_log,
    standing_options,
    time_limit_option,
)
from coreplan.domains.maintenance.view import plan_view as plan_view  # the view of works
from coreplan.model.calendar import Calendar
from coreplan.model.problem import PlanningProblem
from coreplan.policies.policy import Policy
from coreplan.solving.result import Result
from coreplan.solving.solver import DEFAULT_ALGORITHM
from coreplan.solving.solver import solve as solve_problem
from coreplan.view.plan_view import view_plan
from coreplan.view.terminal import LiveLog, check_printed, make_console, print_summary
from coreplan.view.words import describe_calendar, describe_problem

RULES_SHOWN = 8


@click.command(
    cls=Command,
    epilog="""
    coreplan plan works.yaml
    coreplan plan works.yaml --start-date 2026-03-02 --step week
    coreplan plan works.yaml --time-limit 60 --save-policy plan.json
    coreplan plan works.yaml --policy plan.json --rules 20
    coreplan plan works.yaml --stage 7 --state now.yaml
    coreplan plan works.xlsx --start-date 2026-03-02 --horizon 26 --must-complete
    coreplan plan works.xlsx --start-date 2026-03-02 --horizon 26 --today 2026-04-27
    coreplan plan works.yaml --json > plan_data.json
    """,
    short_help="Show who does what when, what it costs, and what to do about delays.",
)
@file_argument
@click.option(
    "--policy",
    "policy_file",
    type=click.Path(),
    metavar="FILE",
    help="Show this plan (a policy/1 file) instead of solving the problem.",
)
@time_limit_option
@memory_limit_option
@solver_options("core")
@standing_options("Plan")
@click.option(
    "--rules",
    "most_rules",
    type=click.IntRange(min=0),
    default=RULES_SHOWN,
    show_default=True,
    metavar="NUMBER",
    help="Number of rules for delays to print, the most important first.",
)
@calendar_options
@list_options()
@save_policy_option
@json_option
def plan(
    file: str,
    policy_file: str | None,
    time_limit: float | None,
    memory_limit: float | None,
    asked: dict[str, Any],
    stage: int,
    state_file: str | None,
    most_rules: int,
    start_date: datetime.date | None,
    step: str | None,
    lists: ListOptions,
    save_policy: str | None,
    as_json: bool,
) -> int:
    """Show a plan for the problem or works list in FILE (- for the standard input).

    For works (an mpp/1 problem): a chart of who does what when, with possible delays; expected
    costs; and what the plan does differently if works are delayed. For other problems: the first
    actions and those that follow, depending on what happens. Ctrl-C during the search shows the
    best plan so far, with the parts that can be computed in a moment.
    """
    solving = (time_limit, memory_limit, asked or None, state_file, stage or None, lists.today)
    if policy_file is not None and any(each is not None for each in solving):
        raise click.UsageError(
            "--policy shows a finished plan; it cannot be combined with options for solving"
        )
    inputs = {"FILE": file, "--policy": policy_file, "--state": state_file}
    inputs["--hindrance"] = lists.hindrance
    check_one_input(inputs)
    if save_policy is not None:
        check_writable(save_policy, [each for each in inputs.values() if each is not None])
    given = lists.read(file, start_date, step)
    problem, calendar = given.problem, given.calendar
    at, state = given.situation(stage, state_file)
    options: dict[str, Any] = {
        "time_limit": time_limit,
        "memory_limit": memory_limit,
        "stage": at,
        "state": state,
    }
    options |= asked
    policy = None if policy_file is None else Policy.load(policy_file, problem)
    result = None
    console = None
    if not as_json:
        console = make_console(patient=save_policy is not None)
        console.print(f"{problem.name}: {describe_problem(problem)}", markup=False)
        if calendar is not None:
            console.print(describe_calendar(calendar), markup=False)
    if policy is None:
        result = _solve(problem, console, options)
        policy = result.policy
        assert policy is not None
    outputs = Outputs()
    if console is not None and result is not None:
        with outputs.one("the result"):
            print_summary(console, result)
    if save_policy is not None:
        with outputs.one(f"the plan in {save_policy}"):
            policy.save(save_policy)
            if console is not None:
                console.print(f"the plan is in {save_policy}", markup=False)
    with outputs.one("the plan"):
        if console is not None:
            with console.status("computing what is done when"):
                view = view_plan(problem, policy)
            marks = getattr(sys.stdout, "encoding", None)
            console.print()
            for line in view.lines(console.width, marks, calendar, most_rules):
                console.print(line, markup=False)
            check_printed(console)
            return outputs.code
        shown: dict[str, Any] = {}
        try:
            shown = view_plan(problem, policy).to_dict()
        finally:  # the result is worth printing even if the plan cannot be shown
            print_json(_head(problem, policy, result, calendar) | shown)
    return outputs.code


def _solve(problem: PlanningProblem, console: Any, options: dict[str, Any]) -> Result:
    if console is None:
        return solve_problem(problem, algorithm=DEFAULT_ALGORITHM, **options)
    with shown_log(console):
        return solve_problem(
            problem, algorithm=DEFAULT_ALGORITHM, callback=LiveLog(console), **options
        )


def _head(
    problem: PlanningProblem, policy: Policy, result: Result | None, calendar: Calendar | None
) -> dict[str, object]:
    return {
        "problem": problem.name,
        "stage": policy.stage,
        "horizon": problem.horizon,
        "calendar": None if calendar is None else calendar.to_dict(),
        "result": None if result is None else result.to_dict(),
        # Unless the view has more to say.
        "exact": False,
        "value": None,
    }
