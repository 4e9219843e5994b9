"""``coreplan demo``: solve a bundled example."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import click

from coreplan.cli.language import language_options
from coreplan.cli.shared import Command, json_option
from coreplan.cli.solve import solve_and_print
from coreplan.formats import read_problem
from coreplan.solving.solver import DEFAULT_ALGORITHM


@click.command(
    cls=Command,
    epilog="""
    coreplan demo
    coreplan demo --json
    """,
    short_help="Solve a bundled example.",
)
@language_options
@json_option
def demo(as_json: bool) -> int:
    """Solve a bundled example: nine road works of four contractors on a ring road."""
    problem = read_problem(example_path("ring_road.yaml"))
    return solve_and_print(problem, as_json, algorithm=DEFAULT_ALGORITHM)


def example_path(name: str) -> Path:
    """Path of a bundled example: in the installed package or, failing that, the source tree."""
    installed = Path(str(files("coreplan").joinpath("examples", name)))
    source = Path(__file__).parents[3] / "examples" / name
    return installed if installed.exists() else source
