"""``coreplan trace``: show the published search step by step."""

from __future__ import annotations

from typing import Any

import click

from coreplan.analysis.trace import MOST_STATES, trace_search
from coreplan.cli.options import solver_options
from coreplan.cli.outputs import Outputs
from coreplan.cli.shared import (
    Command,
    check_writable,
    file_argument,
    json_option,
    print_json,
    read_dated_problem,
    read_standing,
    standing_options,
)
from coreplan.files.reading import STANDARD_INPUT
from coreplan.files.writing import write_text
from coreplan.view.terminal import make_console


@click.command(
    cls=Command,
    epilog="""
    coreplan trace small.yaml
    coreplan trace small.yaml -o search.svg
    coreplan trace works.yaml --stage 5 --state now.yaml --memo -o search.svg
    coreplan trace small.yaml --assign 2="agent 2" --bounds expected
    coreplan trace examples/paper_example.yaml --follow "(b, b)" --graphs -o search.svg
    coreplan trace small.yaml --no-bounds --decouple search --json
    """,
    short_help="Show the published search on a small problem.",
)
@file_argument
@click.option("--no-bounds", is_flag=True, help="Do not prune: CRG-PS instead of CoRe.")
@solver_options(
    "core-2016",
    only=(
        "merge",
        "memo",
        "assignment",
        "bounds",
        "decouple",
        "action_order",
        "rewards",
        "update_bounds",
        "independent_actions",
    ),
)
@standing_options("Search")
@click.option(
    "--most-states",
    type=click.IntRange(min=1, max=1_000_000),
    default=MOST_STATES,
    show_default=True,
    metavar="N",
    help="Refuse a search that looks at more joint states than this.",
)
@click.option(
    "--follow",
    multiple=True,
    metavar="STEP",
    help="Highlight an execution sequence instead of the best plan; give one STEP after the other: "
    "a joint action, '(b, b)', with an outcome if it has several, '(a, a) -> (ba f, ba)'.",
)
@click.option(
    "--branch",
    "branches",
    multiple=True,
    metavar="ACTION",
    help="Show only this joint action of the first state, '(b, b)', and what follows it; may be "
    "given several times.",
)
@click.option(
    "--graphs",
    is_flag=True,
    help="In the picture: below the search, the conditional return graphs with rewards and bounds.",
)
@click.option(
    "-o", "--output", type=click.Path(), metavar="FILE", help="Draw the search into an SVG file."
)
@json_option
def trace(
    file: str,
    no_bounds: bool,
    asked: dict[str, Any],
    stage: int,
    state_file: str | None,
    most_states: int,
    follow: tuple[str, ...],
    branches: tuple[str, ...],
    graphs: bool,
    output: str | None,
    as_json: bool,
) -> int:
    """Show every joint state and joint action that the published search looks at in FILE.

    Prints a tree: what each joint action is bounded by, what was pruned and why, where agents were
    decoupled. With -o it is drawn instead.
    """
    if no_bounds and "bounds" in asked:
        raise click.UsageError("use either --bounds or --no-bounds")
    if file == state_file == STANDARD_INPUT:
        raise click.UsageError("only one of FILE and --state can be the standard input (-)")
    if branches and as_json and output is None:
        raise click.UsageError("--json prints the whole search; leave out --branch")
    if graphs and output is None:
        raise click.UsageError("--graphs is for pictures; add -o FILE")
    if output is not None:
        sources = [file] if state_file is None else [file, state_file]
        check_writable(output, sources, "the picture", "--output")
    if no_bounds:
        asked["bounds"] = False
    problem, calendar = read_dated_problem(file)
    search = trace_search(
        problem,
        stage=stage,
        state=read_standing(state_file, problem, calendar),
        most_states=most_states,
        follow=follow,
        **asked,
    )
    shown = search.to_text(branches)
    outputs = Outputs()
    if as_json:
        with outputs.one("the search"):
            print_json(search.to_dict())
    elif output is None:
        with outputs.one("the search"):
            click.echo(shown, nl=False)
    if output is not None:
        with outputs.one(f"the picture in {output}"):
            write_text(search.to_svg(branches, graphs=graphs), output)
            if not as_json:
                make_console().print(f"the search is drawn in {output}", markup=False)
    return outputs.code
