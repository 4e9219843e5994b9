"""``coreplan simulate``: simulate a plan many times and summarise the outcomes."""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import click
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from coreplan.analysis.simulator import SimulationProgress
from coreplan.analysis.simulator import simulate as simulate_policy
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
)
from coreplan.cli.which_plan import WhichPlan, which_plan_options
from coreplan.solving.solver import solve
from coreplan.support.interrupts import seconds_to_finish
from coreplan.support.language import say
from coreplan.view.simulation_text import simulation_in_words
from coreplan.view.terminal import make_console
from coreplan.view.words import describe_calendar, describe_problem, remark_on_start

SHORTEST = 0.1
"""Least number of seconds for which a plan is simulated after Ctrl-C."""


@click.command(
    cls=Command,
    epilog="""
    coreplan simulate works.yaml --runs 100000
    coreplan simulate works.yaml --policy plan.json --runs 1000000 --seed 7
    coreplan simulate works.yaml --policy plan.json --stage 4 --state now.yaml
    coreplan simulate works.yaml --schedule schedule.yaml --json
    coreplan simulate works.xlsx --start-date 2026-03-02 --today 2026-04-27
    """,
    short_help="Simulate a plan many times and summarise the outcomes.",
)
@file_argument
@which_plan_options("Follow the plan")
@click.option(
    "--runs",
    type=click.IntRange(min=2),
    default=100_000,
    show_default=True,
    help="Number of runs.",
)
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=1,
    show_default=True,
    help="Seed of the random numbers: the same seed gives the same runs.",
)
@click.option(
    "--confidence",
    type=click.FloatRange(min=0, max=1, min_open=True, max_open=True),
    default=0.95,
    show_default=True,
    help="Approximate probability that an interval contains the exact value.",
)
@solver_options("core", only=("threads",))
@click.option(
    "--time-limit",
    type=click.FloatRange(min=0, min_open=True),
    metavar="SECONDS",
    help="Time limit of the search if no plan is given.",
)
@memory_limit_option
@calendar_options
@list_options()
@verbose_option
@language_options
@json_option
def simulate(
    file: str,
    which: WhichPlan,
    runs: int,
    seed: int,
    confidence: float,
    asked: dict[str, Any],
    time_limit: float | None,
    memory_limit: float | None,
    start_date: datetime.date | None,
    step: str | None,
    lists: ListOptions,
    verbose: bool,
    as_json: bool,
) -> None:
    """Simulate a plan for the problem or works list in FILE many times, and summarise the outcomes.

    The summary has the mean with an interval, the distribution of returns, what each agent and each
    pair of agents earns and, for road works, when works are completed. If no plan is given,
    coreplan first searches for the best one. Ctrl-C stops the search or the runs with the results
    so far.
    """
    which.sources(file, lists.hindrance)
    given = lists.read(file, start_date, step)
    problem, calendar = given.problem, given.calendar
    plan_from = which.read(given)
    policy = plan_from.policy
    console = make_console()
    if not as_json:
        console.print(f"{problem.name}: {describe_problem(problem)}", markup=False)
        if calendar is not None:
            console.print(describe_calendar(calendar), markup=False)
        if plan_from.remark:
            console.print(plan_from.remark, markup=False)
    if policy is None:
        options: dict[str, Any] = {"time_limit": time_limit, "memory_limit": memory_limit}
        options |= {**plan_from.beginning, **asked}
        if as_json:
            result = solve(problem, **options)
        else:
            log = SearchLog(console, problem, verbose)
            with log.shown() as callback:
                result = solve(problem, callback=callback, **options)
            log.summary(result)
        policy = result.policy
        assert policy is not None  # every solver returns one
    left = seconds_to_finish()
    with _bar(runs) as tell:
        shown = simulate_policy(
            policy,
            runs,
            seed,
            confidence=confidence,
            threads=asked.get("threads"),
            time_limit=None if math.isinf(left) else max(left / 2, SHORTEST),
            callback=tell,
        )
    if as_json:
        print_json(shown.to_dict())
        return
    width = console.width if console.is_terminal else None
    for line in simulation_in_words(shown, calendar, width):
        console.print(line, markup=False)
    remark = remark_on_start(problem, policy, calendar)
    if remark:
        console.print(remark, markup=False)


@contextmanager
def _bar(runs: int) -> Iterator[Callable[[SimulationProgress], None]]:
    """A callback that moves a progress bar, shown only on a terminal."""
    console = make_console(stderr=True)
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TimeRemainingColumn(),
    )
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as progress:

        def text(done: int) -> str:
            return say("{done:,} of {runs:,} runs", done=done, runs=runs)

        task = progress.add_task(text(0), total=runs)

        def tell(state: SimulationProgress) -> None:
            progress.update(task, completed=state.runs, description=text(state.runs))

        yield tell
