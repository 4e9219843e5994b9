"""``coreplan compare``: compare algorithms on one problem; other comparisons are added here."""

from __future__ import annotations

from typing import Any

import click

from coreplan.analysis.comparison import Comparison
from coreplan.analysis.comparison import compare as run_algorithms
from coreplan.cli.options import solver_options
from coreplan.cli.shared import (
    DISAGREE,
    INTERRUPTED,
    LIMIT_STRUCK,
    OK,
    Command,
    Group,
    Names,
    file_argument,
    json_option,
    memory_limit_option,
    print_former,
    print_json,
    read_dated_problem,
    shown_log,
)
from coreplan.errors import SolverError
from coreplan.solving.registry import ALGORITHMS, options_of
from coreplan.support.checks import unknown_name
from coreplan.view.compare_table import print_comparison
from coreplan.view.terminal import LiveLog, make_console, print_error
from coreplan.view.words import describe_problem


def _check_name(name: str) -> str | None:
    if name in ALGORITHMS:
        return None
    return unknown_name(name, "algorithm", list(ALGORITHMS), "coreplan")


@click.command(
    "algorithms",
    cls=Command,
    epilog="""
    coreplan compare algorithms works.yaml
    coreplan compare algorithms works.yaml --algorithms core,dp --time-limit 10
    coreplan compare algorithms works.yaml --memory-limit 2G --json
    """,
    short_help="Solve a problem with several algorithms and compare them.",
)
@file_argument
@click.option(
    "--algorithms",
    type=Names("core,dp", "no algorithm", _check_name),
    metavar="NAMES",
    help=f"The algorithms, separated by commas.  [default: {','.join(ALGORITHMS)}]",
)
@click.option(
    "--time-limit",
    type=click.FloatRange(min=0, min_open=True),
    metavar="SECONDS",
    default=60.0,
    show_default=True,
    help="Time limit of each algorithm.",
)
@memory_limit_option
@solver_options()
@json_option
def compare_algorithms(
    file: str,
    algorithms: tuple[str, ...] | None,
    time_limit: float,
    memory_limit: float | None,
    asked: dict[str, Any],
    as_json: bool,
) -> int:
    """Solve the problem in FILE with several algorithms; compare values, bounds, time and work.

    Each algorithm gets the options that it has. For a decentralised algorithm, the table shows how
    much its plan loses against the best centralised plan. Ctrl-C stops the running algorithm and
    shows the results so far. The exit code is 1 if results contradict each other, and 3 if no
    algorithm found a plan in time.
    """
    problem, _ = read_dated_problem(file)
    options: dict[str, Any] = {
        "time_limit": time_limit,
        "memory_limit": memory_limit,
        "options": _share_out(asked, algorithms or tuple(ALGORITHMS)),
    }
    if as_json:
        comparison = run_algorithms(problem, algorithms, **options)
        print_json(comparison.to_dict())
        return _exit_code(comparison)
    console = make_console()
    console.print(f"{problem.name}: {describe_problem(problem)}", markup=False)

    logs: list[LiveLog] = []

    def started(name: str) -> None:
        console.print(f"[dim]{name} ...[/dim]")
        logs.append(LiveLog(console))

    with shown_log(console):
        comparison = run_algorithms(
            problem,
            algorithms,
            callback=lambda progress: logs[-1](progress),
            started=started,
            **options,
        )
    print_comparison(console, comparison)
    for contradiction in comparison.contradictions:
        print_error(f"CONTRADICTION: {contradiction}")
    if comparison.contradictions:
        print_error("this is a bug in coreplan; please report it with the problem file")
    return _exit_code(comparison)


def _share_out(asked: dict[str, Any], algorithms: tuple[str, ...]) -> dict[str, dict[str, Any]]:
    """Give each algorithm the options that it has; an option that no algorithm has is an error."""
    known = {name: options_of(name) for name in algorithms}
    for option in asked:
        if not any(option in each for each in known.values()):
            names = " or ".join(algorithms)
            raise SolverError(f"--{option.replace('_', '-')} is not an option of {names}")
    return {
        name: {option: value for option, value in asked.items() if option in each}
        for name, each in known.items()
    }


def _exit_code(comparison: Comparison) -> int:
    if comparison.contradictions:
        return DISAGREE
    if any(run.result is not None for run in comparison.runs):
        return OK
    interrupted = any(run.reason == "interrupted" for run in comparison.runs)
    return INTERRUPTED if interrupted else LIMIT_STRUCK


class CompareGroup(Group):
    """Passes the former form of the command, ``coreplan compare FILE``, on to its new name."""

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,
    ) -> click.Context:
        """Read the arguments; without the name of a comparison they mean algorithms."""
        if args and args[0] not in (*self.commands, "-h", "--help"):
            print_former("coreplan compare FILE", "coreplan compare algorithms FILE")
            return compare_algorithms.make_context("compare algorithms", args, parent, **extra)
        return super().make_context(info_name, args, parent, **extra)


@click.group(
    cls=CompareGroup,
    epilog="""
    coreplan compare algorithms works.yaml
    """,
    short_help="Compare algorithms on a problem.",
)
def compare() -> None:
    """Make a comparison: its kind is the next word."""


compare.add_command(compare_algorithms)
