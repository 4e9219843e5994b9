"""``coreplan plan``: show a plan: who does what when, what it costs, and what if."""

from __future__ import annotations

import datetime
import math
import sys
from dataclasses import asdict
from typing import Any

import click
from rich.console import Console

from coreplan.analysis.simulation import Estimate
from coreplan.cli.outputs import Outputs
from coreplan.cli.shared import (
    Command,
    calendar_options,
    check_one_input,
    check_writable,
    file_argument,
    find_calendar,
    json_option,
    memory_limit_option,
    print_json,
    save_policy_option,
    shown_log,
    standing_options,
    threads_option,
    time_limit_option,
)
from coreplan.domains.maintenance.decision_rules import rules_of
from coreplan.domains.maintenance.money import Money
from coreplan.domains.maintenance.problem import MaintenanceProblem
from coreplan.domains.maintenance.timeline import Timeline, likely_works, timeline
from coreplan.domains.maintenance.view.gantt_text import gantt, marks_for
from coreplan.domains.maintenance.view.money_table import money_table
from coreplan.domains.maintenance.view.rules_text import rule_lines
from coreplan.domains.maintenance.words import expected_money
from coreplan.errors import SolverError
from coreplan.formats import read_problem, read_state
from coreplan.model.calendar import Calendar
from coreplan.policies.graph import MOST_SITUATIONS, plan_graph
from coreplan.policies.policy import Policy
from coreplan.solving.compile import AnyProblem
from coreplan.solving.result import Result
from coreplan.solving.solver import DEFAULT_ALGORITHM
from coreplan.solving.solver import solve as solve_problem
from coreplan.support.interrupts import seconds_to_finish
from coreplan.view.terminal import LiveLog, check_printed, make_console, print_summary
from coreplan.view.words import count, describe_calendar, describe_problem, percent

RULES_SHOWN = 8
EXACT_SECONDS = 60.0
"""How long the exact timeline may take."""
ESTIMATE_RUNS = 10_000
"""How many runs are simulated where it takes longer."""
HURRIED_SITUATIONS, HURRIED_RUNS = 1_000, 500
"""How much is looked at after Ctrl-C."""


@click.command(
    cls=Command,
    epilog="""
    coreplan plan works.yaml
    coreplan plan works.yaml --start-date 2026-03-02 --step week
    coreplan plan works.yaml --time-limit 60 --save-policy plan.json
    coreplan plan works.yaml --policy plan.json --rules 20
    coreplan plan works.yaml --stage 7 --state now.yaml
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
    help="Show this plan, a policy/1 file, instead of solving.",
)
@time_limit_option
@memory_limit_option
@threads_option
@click.option(
    "--relative-gap",
    type=click.FloatRange(min=0),
    metavar="PART",
    help="Stop when the plan is proven to be this near to the optimum (0.01: one per cent).",
)
@standing_options("Plan")
@click.option(
    "--rules",
    "most_rules",
    type=click.IntRange(min=0),
    default=RULES_SHOWN,
    show_default=True,
    metavar="NUMBER",
    help="How many rules for delays to print, those that matter most first.",
)
@calendar_options
@save_policy_option
@json_option
def plan(
    file: str,
    policy_file: str | None,
    time_limit: float | None,
    memory_limit: float | None,
    threads: int | None,
    relative_gap: float | None,
    stage: int,
    state_file: str | None,
    most_rules: int,
    start_date: datetime.date | None,
    step: str | None,
    save_policy: str | None,
    as_json: bool,
) -> int:
    """Show a plan for the works in FILE (an mpp/1 problem; - for the standard input).

    A chart of who does what when, with possible delays; expected costs; and what the plan does
    differently if works are delayed. Ctrl-C while it is solving shows the best plan so far, with no
    more than can be computed in a moment.
    """
    solving = (time_limit, memory_limit, threads, relative_gap, state_file, stage or None)
    if policy_file is not None and any(each is not None for each in solving):
        raise click.UsageError("--policy is shown as it is; limits and states are for solving")
    inputs = {"FILE": file, "--policy": policy_file, "--state": state_file}
    check_one_input(inputs)
    if save_policy is not None:
        check_writable(save_policy, [each for each in inputs.values() if each is not None])
    problem = read_problem(file)
    if not isinstance(problem, MaintenanceProblem):
        raise click.UsageError("a plan of works is for an mpp/1 problem; try coreplan solve")
    calendar = find_calendar(file, start_date, step)
    options: dict[str, Any] = {
        "time_limit": time_limit,
        "memory_limit": memory_limit,
        "stage": stage,
        "state": None if state_file is None else read_state(state_file, problem),
    }
    options |= {"threads": threads} if threads is not None else {}
    options |= {"relative_gap": relative_gap} if relative_gap is not None else {}
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
            _print_plan(console, problem, policy, calendar, most_rules)
            check_printed(console)
            return outputs.code
        view = None
        try:
            view = _View(problem, policy)
        finally:  # whatever comes of it, the result is worth printing
            print_json(_to_dict(problem, policy, result, view, calendar))
    return outputs.code


def _print_plan(
    console: Console,
    problem: MaintenanceProblem,
    policy: Policy,
    calendar: Calendar | None,
    most_rules: int,
) -> None:
    """Print the chart, the costs and the rules."""
    with console.status("working out when works are done"):
        view = _View(problem, policy)
    names = [contractor.name for contractor in problem.contractors]
    marks = marks_for(getattr(sys.stdout, "encoding", None))
    console.print()
    for line in gantt(
        view.works, names, policy.stage, policy.horizon, console.width, marks, calendar
    ):
        console.print(line)
    console.print()
    if view.money is not None:
        for line in money_table(problem, view.money, console.width):
            console.print(line)
        console.print(expected_money(view.money.value), markup=False)
    elif view.estimate is not None:
        console.print(_only_likely(view), markup=False)
    if most_rules:
        console.print()
    for line in rule_lines(problem, view.rules, calendar, most_rules):
        console.print(line)


class _View:
    """What there is to be shown of a plan: exact or, where that is out of reach, what is likely."""

    def __init__(self, problem: MaintenanceProblem, policy: Policy) -> None:
        left = seconds_to_finish()
        most = MOST_SITUATIONS if math.isinf(left) else HURRIED_SITUATIONS
        self.graph = plan_graph(policy, most)
        self.rules = rules_of(problem, self.graph)
        self.timeline: Timeline | None = None
        self.money: Money | None = None
        self.estimate: Estimate | None = None
        try:
            self.timeline = timeline(policy, min(EXACT_SECONDS, left / 2))
        except SolverError:
            self.works = likely_works(policy, self.graph)
            runs = ESTIMATE_RUNS if math.isinf(left) else HURRIED_RUNS
            self.estimate = policy.estimate(runs, seed=1)
        else:
            self.works = self.timeline.works
            self.money = self.timeline.money


def _only_likely(view: _View) -> str:
    assert view.estimate is not None
    return (
        f"too much can happen to work it out exactly: the chart shows the likeliest courses, "
        f"{percent(view.graph.covered)} of all; estimated from {count(view.estimate.runs, 'run')}, "
        f"not exact: a value of about {view.estimate.mean:,.2f}, between {view.estimate.low:,.2f} "
        f"and {view.estimate.high:,.2f} with a confidence of {100 * view.estimate.confidence:g} %"
    )


def _solve(problem: AnyProblem, console: Any, options: dict[str, Any]) -> Result:
    if console is None:
        return solve_problem(problem, algorithm=DEFAULT_ALGORITHM, **options)
    with shown_log(console):
        return solve_problem(
            problem, algorithm=DEFAULT_ALGORITHM, callback=LiveLog(console), **options
        )


def _to_dict(
    problem: MaintenanceProblem,
    policy: Policy,
    result: Result | None,
    view: _View | None,
    calendar: Calendar | None,
) -> dict[str, object]:
    """All of it for machines; what is out of reach is null."""
    times = None if view is None else view.timeline
    money, estimate = (None, None) if view is None else (view.money, view.estimate)
    contractors: list[dict[str, object]] = [{"name": each.name} for each in problem.contractors]
    if money is not None:
        for each, revenue, works in zip(contractors, money.revenue_of, money.works_of, strict=True):
            each |= {"revenue": revenue, "works": works}
    return {
        "problem": problem.name,
        "stage": policy.stage,
        "horizon": problem.horizon,
        "calendar": None if calendar is None else calendar.to_dict(),
        "result": None if result is None else result.to_dict(),
        "exact": times is not None,
        "value": None if money is None else money.value,
        "estimate": None if estimate is None else asdict(estimate),
        "money": None if money is None else money.to_dict(),
        "contractors": contractors,
        "works": None if view is None else [each.to_dict() for each in view.works],
        "hindrance_by_step": None if times is None else times.hindrance,
        "rules": None if view is None else [rule.to_dict() for rule in view.rules.rules],
        "covered": None if view is None else view.graph.covered,
    }
