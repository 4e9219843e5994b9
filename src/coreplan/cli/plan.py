"""``coreplan plan``: show who does what when, the costs, and what to do about delays."""

from __future__ import annotations

import datetime
import math
import sys
from typing import Any

import click

from coreplan.cli.inputs import ListOptions, list_options
from coreplan.cli.language import language_options
from coreplan.cli.old_plan import keep_options, read_kept
from coreplan.cli.options import solver_options
from coreplan.cli.outputs import Outputs
from coreplan.cli.plan_exports import check_exports, export_options, write_exports
from coreplan.cli.search_log import SearchLog, verbose_option
from coreplan.cli.shared import (
    Command,
    calendar_options,
    check_writable,
    file_argument,
    json_option,
    memory_limit_option,
    print_json,
    save_policy_option,
    time_limit_option,
)
from coreplan.cli.which_plan import WhichPlan, which_plan_options
from coreplan.domains.maintenance.influence import check_maintenance_problem
from coreplan.domains.maintenance.old_starts import without_price
from coreplan.domains.maintenance.reasons import Reasons, find_reasons
from coreplan.domains.maintenance.view import plan_view as plan_view  # the view of works
from coreplan.domains.maintenance.view.reasons_text import reasons_lines
from coreplan.model.calendar import Calendar
from coreplan.model.problem import PlanningProblem
from coreplan.policies.policy import Policy
from coreplan.solving.result import Result
from coreplan.solving.solver import DEFAULT_ALGORITHM
from coreplan.solving.solver import solve as solve_problem
from coreplan.support.interrupts import seconds_to_finish
from coreplan.support.language import say
from coreplan.view.plan_view import view_plan
from coreplan.view.terminal import check_printed, make_console
from coreplan.view.words import describe_calendar, describe_problem, remark_on_start

RULES_SHOWN = 8
SHORTEST = 0.1
"""Least number of seconds for the reasons of a plan after Ctrl-C."""


@click.command(
    cls=Command,
    epilog="""
    coreplan plan works.yaml
    coreplan plan works.yaml --start-date 2026-03-02 --step week
    coreplan plan works.yaml --time-limit 60 --save-policy plan.json
    coreplan plan works.yaml --policy plan.json --rules 20
    coreplan plan works.yaml --schedule schedule.yaml
    coreplan plan works.yaml --why
    coreplan plan works.yaml --keep march.yaml --change-cost 2.50
    coreplan plan works.yaml --stage 7 --state now.yaml
    coreplan plan works.xlsx --start-date 2026-03-02 --horizon 26 --must-complete
    coreplan plan works.xlsx --start-date 2026-03-02 --horizon 26 --today 2026-04-27
    coreplan plan works.yaml --policy plan.json --stage 7 --state now.yaml
    coreplan plan works.yaml --start-date 2026-03-02 --export plan.xlsx --export plan.ics
    coreplan plan works.yaml --json > plan_data.json
    """,
    short_help="Show who does what when, what it costs, and what to do about delays.",
)
@file_argument
@which_plan_options("Show the plan")
@time_limit_option
@memory_limit_option
@solver_options("core")
@keep_options
@click.option(
    "--rules",
    "most_rules",
    type=click.IntRange(min=0),
    default=RULES_SHOWN,
    show_default=True,
    metavar="NUMBER",
    help="Number of rules for delays to print, the most important first.",
)
@click.option(
    "--why",
    is_flag=True,
    help="Also explain every start: what an earlier or a later one would cost, and why.",
)
@calendar_options
@list_options()
@save_policy_option
@verbose_option
@export_options
@language_options
@json_option
def plan(
    file: str,
    which: WhichPlan,
    time_limit: float | None,
    memory_limit: float | None,
    asked: dict[str, Any],
    keep_file: str | None,
    change_cost: float | None,
    most_rules: int,
    why: bool,
    start_date: datetime.date | None,
    step: str | None,
    lists: ListOptions,
    save_policy: str | None,
    verbose: bool,
    export_files: tuple[str, ...],
    force: bool,
    as_json: bool,
) -> int:
    """Show a plan for the problem or works list in FILE (- for the standard input).

    For works (an mpp/1 problem): a chart of who does what when, with possible delays; expected
    costs; and what the plan does differently if works are delayed. For other problems: the first
    actions and those that follow, depending on what happens. Ctrl-C during the search shows the
    best plan so far, with the parts that can be computed in a moment.
    """
    solving = (time_limit, memory_limit, asked or None, keep_file)
    if which.is_given and any(each is not None for each in solving):
        raise click.UsageError(
            f"{which.option} shows a finished plan; it cannot be combined with options for solving"
        )
    sources = which.sources(file, lists.hindrance, keep_file)
    if save_policy is not None:
        check_writable(save_policy, sources)
    given = lists.read(file, start_date, step)
    problem, calendar = given.problem, given.calendar
    if why:
        check_maintenance_problem(problem)
    check_exports(export_files, sources, problem, calendar, force=force)
    plan_from = which.read(given)
    options: dict[str, Any] = {"time_limit": time_limit, "memory_limit": memory_limit}
    options |= {**plan_from.beginning, **asked}
    kept = read_kept(keep_file, change_cost, problem, calendar)
    if kept is not None:
        options["keep"] = kept.old
    policy = plan_from.policy
    result = None
    console = log = None
    if not as_json:
        console = make_console(patient=save_policy is not None)
        log = SearchLog(console, problem, verbose)
        console.print(f"{problem.name}: {describe_problem(problem)}", markup=False)
        if calendar is not None:
            console.print(describe_calendar(calendar), markup=False)
        if plan_from.remark:
            console.print(plan_from.remark, markup=False)
    if policy is None:
        result = _solve(problem if kept is None else kept.priced(problem), log, options)
        assert result.policy is not None
        policy = without_price(result.policy)
    outputs = Outputs()
    if log is not None and result is not None:
        with outputs.one("the result"):
            log.summary(result)
    if save_policy is not None:
        with outputs.one(f"the plan in {save_policy}"):
            policy.save(save_policy)
            if console is not None:
                console.print(say("the plan is in {file}", file=save_policy), markup=False)
    write_exports(outputs, export_files, policy, calendar, console)
    with outputs.one("the plan"):
        if console is not None:
            with console.status(say("computing what is done when")):
                view = view_plan(problem, policy)
            marks = getattr(sys.stdout, "encoding", None)
            remark = remark_on_start(problem, policy, calendar)
            if remark:
                console.print(remark, markup=False)
            if kept is not None:  # above, the amount includes the price of changes
                for change in kept.lines(policy, calendar):
                    console.print(change, markup=False)
            console.print()
            for line in view.lines(console.width, marks, calendar, most_rules):
                console.print(line, markup=False)
            if why:
                _print_reasons(console, policy, calendar)
            check_printed(console)
            return outputs.code
        shown: dict[str, Any] = {}
        try:
            shown = view_plan(problem, policy).to_dict()
            if kept is not None:
                shown["changes"] = kept.to_dict(policy)
            if why:
                shown["why"] = _find_reasons(policy).to_dict()
        finally:  # the result is worth printing even if the plan cannot be shown
            print_json(_head(problem, policy, result, calendar) | shown)
    return outputs.code


def _solve(problem: PlanningProblem, log: SearchLog | None, options: dict[str, Any]) -> Result:
    if log is None:
        return solve_problem(problem, algorithm=DEFAULT_ALGORITHM, **options)
    with log.shown() as callback:
        return solve_problem(problem, algorithm=DEFAULT_ALGORITHM, callback=callback, **options)


def _find_reasons(policy: Policy) -> Reasons:
    """The reasons for all starts; after Ctrl-C, what can be computed in a moment."""
    left = seconds_to_finish()
    return find_reasons(policy, time_limit=None if math.isinf(left) else max(left / 2, SHORTEST))


def _print_reasons(console: Any, policy: Policy, calendar: Calendar | None) -> None:
    """Print why every work starts when it does, in the same order as the chart."""
    with console.status(say("finding out why works start when they do")):
        reasons = _find_reasons(policy)
    console.print()
    for line in reasons_lines(reasons, console.width, calendar):
        console.print(line, markup=False)


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
