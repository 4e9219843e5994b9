"""``coreplan info``: show how large a problem is."""

from __future__ import annotations

import datetime
import math
from typing import Any

import click

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
from coreplan.solving.compile import compile_problem
from coreplan.solving.limits import Limits
from coreplan.view.terminal import make_console, print_sizes
from coreplan.view.words import describe_problem


@click.command(
    cls=Command,
    epilog="""
    coreplan info works.yaml
    coreplan info works.yaml --no-merge --json
    """,
    short_help="Show how large a problem is.",
)
@file_argument
@memory_limit_option
@solver_options("core", only=("merge",))
@calendar_options
@list_options(today=False)
@language_options
@json_option
def info(
    file: str,
    memory_limit: float | None,
    asked: dict[str, Any],
    start_date: datetime.date | None,
    step: str | None,
    lists: ListOptions,
    as_json: bool,
) -> None:
    """Show the size of the problem or works list in FILE, before and after merging equal states."""
    problem = lists.read(file, start_date, step).problem
    compiled = compile_problem(problem, limits=Limits(memory_limit=memory_limit), **asked)
    if as_json:
        agents = [
            {
                "name": size.name,
                "local_states": size.states,
                "unrolled": size.unrolled,
                "transitions": size.transitions,
                "merged": size.merged if compiled.merged else None,
            }
            for size in compiled.sizes
        ]
        states = compiled.joint_states
        print_json(
            {
                "problem": problem.name,
                "horizon": problem.horizon,
                "agents": agents,
                "joint_states": states if math.isfinite(states) else None,
                "interactions": compiled.interactions,
                "aggregates": compiled.aggregates,
            }
        )
        return
    console = make_console()
    console.print(f"{problem.name}: {describe_problem(problem)}", markup=False)
    print_sizes(console, compiled)
