"""``coreplan export``: write a problem in another tool's language."""

from __future__ import annotations

import click

from coreplan.cli.shared import Command, check_writable, file_argument
from coreplan.files.writing import write_text
from coreplan.formats import read_problem
from coreplan.interop.prism import to_prism
from coreplan.interop.spudd import to_spudd
from coreplan.view.terminal import make_console


@click.command(
    cls=Command,
    epilog="""
    coreplan export works.yaml --to prism -o works.prism
    coreplan export works.yaml --to prism --shift
    coreplan export robots.yaml --to spudd -o robots.spudd
    """,
    short_help="Write a problem in another tool's language.",
)
@file_argument
@click.option(
    "--to",
    "target",
    type=click.Choice(["prism", "spudd"]),
    required=True,
    help="The PRISM language (for Storm and PRISM), or SPUDD's own format (for problems that do "
    "not depend on the stage).",
)
@click.option(
    "--shift",
    is_flag=True,
    help="For prism: add a constant to the reward of each step so that none is negative; engines "
    "with decision diagrams need it.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(),
    metavar="OUT",
    help="Write to this file; else to the standard output.",
)
def export(file: str, target: str, shift: bool, output: str | None) -> None:
    """Write the problem in FILE in another tool's language."""
    if shift and target != "prism":
        raise click.UsageError("--shift is for --to prism")
    if output is not None:
        check_writable(output, [file], "the export", "--output")
    problem = read_problem(file)
    text = to_prism(problem, shift=shift).text if target == "prism" else to_spudd(problem).text
    if output is None:
        click.echo(text, nl=False)
    else:
        write_text(text, output)
        make_console().print(f"the problem is in {output}", markup=False)
