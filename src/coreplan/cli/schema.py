"""``coreplan schema``: print the JSON Schemas of the formats."""

from __future__ import annotations

import json

import click

from coreplan.cli.shared import Command
from coreplan.files.schemas import FORMATS
from coreplan.formats import schema


@click.command(
    cls=Command,
    name="schema",
    epilog="""
    coreplan schema mpp/1 > mpp.schema.json
    coreplan schema
    """,
    short_help="Print the JSON Schema of a format.",
)
@click.argument("format_name", metavar="[FORMAT]", required=False, type=click.Choice(list(FORMATS)))
def print_schema(format_name: str | None) -> None:
    """Print the JSON Schema of a FORMAT, or one schema of all formats."""
    click.echo(json.dumps(schema(format_name), indent=2))
