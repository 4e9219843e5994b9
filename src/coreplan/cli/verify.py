"""``coreplan verify``: recompute the bounds that a solver claims."""

from __future__ import annotations

import click

from coreplan.cli.shared import (
    NOT_CONFIRMED,
    OK,
    Command,
    file_argument,
    json_option,
    print_json,
    read_dated_problem,
)
from coreplan.files.reading import STANDARD_INPUT
from coreplan.proof.relaxation import MOST_CELLS
from coreplan.proof.verify import MOST_JOINT_STATES
from coreplan.proof.verify import verify as verify_certificate
from coreplan.view.terminal import make_console
from coreplan.view.words import describe_problem


@click.command(
    cls=Command,
    epilog="""
    coreplan verify works.yaml works.certificate.json.gz
    coreplan verify works.yaml works.certificate.json.gz --json
    """,
    short_help="Recompute the bounds that a solver claims.",
)
@file_argument
@click.argument("certificate", type=click.Path())
@click.option(
    "--most-cells",
    type=click.IntRange(min=1),
    default=MOST_CELLS,
    show_default=True,
    metavar="N",
    help="Do not solve clusters with more joint states than this in one stage.",
)
@click.option(
    "--most-joint-states",
    type=click.IntRange(min=1),
    default=MOST_JOINT_STATES,
    show_default=True,
    metavar="N",
    help="Do not evaluate plans that reach more joint states than this in one stage.",
)
@json_option
def verify(
    file: str, certificate: str, most_cells: int, most_joint_states: int, as_json: bool
) -> int:
    """Recompute the bounds on the value of the problem in FILE that a CERTIFICATE claims.

    The check uses no code of the solvers. The exit code is 0 only if both claims are confirmed.
    """
    if file == certificate == STANDARD_INPUT:
        raise click.UsageError("only one of FILE and CERTIFICATE can be the standard input (-)")
    problem, _ = read_dated_problem(file)
    verification = verify_certificate(
        problem, certificate, most_cells=most_cells, most_joint_states=most_joint_states
    )
    if as_json:
        print_json(verification.to_dict())
    else:
        console = make_console()
        console.print(f"{problem.name}: {describe_problem(problem)}", markup=False)
        console.print(str(verification), markup=False)
    return OK if verification.confirmed else NOT_CONFIRMED
