"""``coreplan export``: write a problem in another tool's language."""

from __future__ import annotations

import click

from coreplan.cli.shared import Command, check_writable, file_argument, read_dated_problem
from coreplan.files.writing import write_text
from coreplan.interop.dpomdp import to_dpomdp
from coreplan.interop.prism import to_prism
from coreplan.interop.spudd import to_spudd
from coreplan.view.terminal import make_console


@click.command(
    cls=Command,
    epilog="""
    coreplan export works.yaml --to prism -o works.prism
    coreplan export works.yaml --to prism --shift
    coreplan export robots.yaml --to spudd -o robots.spudd
    coreplan export works.yaml --to dpomdp -o works.dpomdp
    """,
    short_help="Write a problem in another tool's language.",
)
@file_argument
@click.option(
    "--to",
    "target",
    type=click.Choice(["prism", "spudd", "dpomdp"]),
    required=True,
    help="The PRISM language (for Storm and PRISM), SPUDD's own format, or the .dpomdp format of "
    "the MADP toolbox (for small problems whose agents see their own state only).",
)
@click.option(
    "--shift",
    is_flag=True,
    help="For prism: add a constant to the reward of each step so that none is negative; engines "
    "with decision diagrams need it.",
)
@click.option(
    "--clock",
    is_flag=True,
    help="For spudd and dpomdp: make the stage a part of the state. Without this option, only "
    "problems that depend on the stage get it.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(),
    metavar="OUT",
    help="Write to this file; else to the standard output.",
)
def export(file: str, target: str, shift: bool, clock: bool, output: str | None) -> None:
    """Write the problem in FILE in another tool's language.

    A plan of works is written for Excel, calendars and other programs by coreplan plan --export.
    """
    if shift and target != "prism":
        raise click.UsageError("--shift is for --to prism")
    if clock and target == "prism":
        raise click.UsageError(
            "--clock is for --to spudd and --to dpomdp; PRISM files have a clock"
        )
    if output is not None:
        check_writable(output, [file], "the export", "--output")
    problem, _ = read_dated_problem(file)
    if target == "prism":
        text = to_prism(problem, shift=shift).text
    elif target == "spudd":
        text = to_spudd(problem, clock=clock).text
    else:
        text = to_dpomdp(problem, clock=clock).text
    if output is None:
        click.echo(text, nl=False)
    else:
        write_text(text, output)
        make_console().print(f"the problem is in {output}", markup=False)
