"""The option ``--export`` of commands that show a plan: files of it for other programs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import click
from rich.console import Console

from coreplan.cli.outputs import Outputs
from coreplan.cli.shared import AnyCallable, check_writable
from coreplan.domains.maintenance.exports import FORMATS, check_export, write_export
from coreplan.domains.maintenance.exports.content import ExportedPlan, exported_plan
from coreplan.domains.maintenance.problem import MaintenanceProblem
from coreplan.errors import CoreplanError
from coreplan.files.writing import is_special
from coreplan.model.calendar import Calendar
from coreplan.model.problem import PlanningProblem
from coreplan.policies.policy import Policy
from coreplan.support.language import say, say_marked


def export_options(command: AnyCallable) -> AnyCallable:
    """The options for exports: export_files and force."""
    export = click.option(
        "--export",
        "export_files",
        type=click.Path(),
        multiple=True,
        metavar="FILE",
        help="Also write the plan to this file, in the format of its ending: .xlsx (Excel), .csv, "
        ".ics (calendar programs), .xml (Microsoft Project, ProjectLibre), .png, .svg or .pdf (the "
        "chart). Can be given several times.",
    )
    force = click.option("--force", is_flag=True, help="Overwrite existing files of --export.")
    return export(force(command))


def check_exports(
    files: Sequence[str],
    sources: Iterable[str | None],
    problem: PlanningProblem,
    calendar: Calendar | None,
    *,
    force: bool,
) -> None:
    """Raise an error, before the search for a plan, if it could not be exported."""
    if not files:
        return
    given = [each for each in sources if each is not None]
    named: set[Path] = set()
    for file in files:
        check_writable(file, given, "the export", "--export")
        if Path(file).is_file() and not force and not is_special(file):
            raise click.BadParameter(
                f"{file!r} already exists; add --force to overwrite it", param_hint="'--export'"
            )
        if Path(file).resolve() in named:
            raise click.BadParameter(f"{file!r} is named twice", param_hint="'--export'")
        named.add(Path(file).resolve())
    if not isinstance(problem, MaintenanceProblem):
        raise click.UsageError(
            f"--export needs an mpp/1 problem, and this is a {problem.file_format} problem; "
            "--save-policy saves the plan of any problem"
        )
    for file in files:
        try:
            check_export(file, calendar)
        except CoreplanError as error:
            raise click.BadParameter(str(error), param_hint="'--export'") from None
    if calendar is not None:  # reports a date after the year 9999 early
        calendar.first_day(problem.horizon)


def write_exports(
    outputs: Outputs,
    files: Sequence[str],
    policy: Policy,
    calendar: Calendar | None,
    console: Console | None,
) -> None:
    """Write the exports one after the other: if one fails, the others are still written."""
    content: ExportedPlan | None = None
    for file in files:
        with outputs.one(f"the export in {file}"):
            content = content or exported_plan(policy, calendar)
            write_export(content, file)
            if console is not None:
                form = say_marked(FORMATS[Path(file).suffix.lower()])
                message = say("the plan is in {file} ({format})", file=file, format=form)
                console.print(message, markup=False)
