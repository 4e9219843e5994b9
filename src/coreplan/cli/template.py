"""``coreplan template``: write works lists to fill in."""

from __future__ import annotations

import click

from coreplan.cli.language import language_options
from coreplan.cli.shared import Command
from coreplan.domains.maintenance.works.template import write_templates
from coreplan.support.language import say
from coreplan.view.terminal import make_console


@click.command(
    cls=Command,
    epilog="""
    coreplan template lists
    coreplan template lists --excel
    coreplan template lists --language nl
    """,
    short_help="Write works lists to fill in.",
)
@click.argument("folder", metavar="DIR", type=click.Path())
@click.option("--excel", is_flag=True, help="Write Excel workbooks (.xlsx) instead of CSV files.")
@click.option("--force", is_flag=True, help="Overwrite existing files.")
@language_options
def template(folder: str, excel: bool, force: bool) -> None:
    """Write a list of works and a list of hindrance to fill in, into the folder DIR.

    The lists have example rows, with steps and with dates; a README explains every column.
    `coreplan import` turns them into a problem.
    """
    console = make_console()
    for path in write_templates(folder, excel=excel, force=force):
        console.print(say("written: {file}", file=path), markup=False)
