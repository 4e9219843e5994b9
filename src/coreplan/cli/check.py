"""``coreplan check``: report errors in problem files."""

from __future__ import annotations

import click

from coreplan.cli.shared import BAD_INPUT, OK, Command, json_option, print_json, read_dated_problem
from coreplan.errors import FormatError
from coreplan.view.terminal import make_console, print_error, problem_dicts
from coreplan.view.words import describe_problem


@click.command(
    cls=Command,
    epilog="""
    coreplan check works.yaml
    coreplan check *.yaml --json
    """,
    short_help="Check that files contain valid problems.",
)
@click.argument("files", nargs=-1, required=True, type=click.Path())
@json_option
def check(files: tuple[str, ...], as_json: bool) -> int:
    """Check that each of FILES contains a valid problem, and report what is wrong and where."""
    reports = []
    for file in files:
        try:
            problem, _ = read_dated_problem(file)
        except FormatError as error:
            reports.append({"file": file, "ok": False, "problems": problem_dicts(error.problems)})
            if not as_json:
                print_error(str(error))
        else:
            reports.append({"file": file, "ok": True, "problems": []})
            if not as_json:
                said = f"{problem.file_format}, {describe_problem(problem)}"
                make_console().print(f"{file}: ok, {said}", markup=False)
    if as_json:
        print_json(reports)
    return OK if all(report["ok"] for report in reports) else BAD_INPUT
