"""``coreplan cross-check``: compare the value with that of another tool."""

from __future__ import annotations

from typing import Any

import click

from coreplan.cli.shared import (
    DISAGREE,
    OK,
    Command,
    file_argument,
    json_option,
    memory_limit_option,
    print_json,
    read_dated_problem,
    shown_log,
    time_limit_option,
)
from coreplan.interop.storm import check_storm, storm_check
from coreplan.solving.registry import ALGORITHMS
from coreplan.solving.solver import DEFAULT_ALGORITHM
from coreplan.view.terminal import LiveLog, make_console
from coreplan.view.words import describe_problem


@click.command(
    name="cross-check",
    cls=Command,
    epilog="""
    coreplan cross-check works.yaml --with storm
    coreplan cross-check works.yaml --with storm --engine dd --time-limit 60
    coreplan cross-check works.yaml --with storm --algorithm dp --json
    """,
    short_help="Compare the value with that of another tool.",
)
@file_argument
@click.option(
    "--with",
    "tool",
    type=click.Choice(["storm"]),
    default="storm",
    show_default=True,
    help="The other tool: the model checker Storm (needs the extra `storm`).",
)
@click.option(
    "--engine",
    type=click.Choice(["sparse", "dd", "hybrid"]),
    default="sparse",
    show_default=True,
    help="Storm's engine: explicit states, decision diagrams, or both.",
)
@click.option(
    "--algorithm",
    type=click.Choice(list(ALGORITHMS)),
    default=DEFAULT_ALGORITHM,
    show_default=True,
    help="Algorithm of coreplan.",
)
@time_limit_option
@memory_limit_option
@json_option
def cross_check(
    file: str,
    tool: str,
    engine: str,
    algorithm: str,
    time_limit: float | None,
    memory_limit: float | None,
    as_json: bool,
) -> int:
    """Solve the problem in FILE with coreplan and with another tool, and compare the values.

    The time limit applies to each of the two. If coreplan has no proof in time, the other tool's
    value must lie between coreplan's bounds. The exit code is 1 if they disagree.
    """
    check_storm(engine)
    problem, _ = read_dated_problem(file)
    options: dict[str, Any] = {
        "engine": engine,
        "algorithm": algorithm,
        "time_limit": time_limit,
        "memory_limit": memory_limit,
    }
    if as_json:
        check = storm_check(problem, **options)
        print_json(check.to_dict())
        return OK if check.agrees else DISAGREE
    console = make_console()
    console.print(f"{problem.name}: {describe_problem(problem)}", markup=False)
    with shown_log(console):
        check = storm_check(problem, callback=LiveLog(console), **options)
    *claims, verdict = str(check).splitlines()
    for line in claims:
        console.print(line, markup=False)
    style = "bold green" if check.agrees else "bold red"
    console.print(verdict, style=style, markup=False)
    return OK if check.agrees else DISAGREE
