"""``coreplan bench figures``: the paper's figures from stored solves."""

from __future__ import annotations

from pathlib import Path

import click

from coreplan.bench.agreement import find_contradictions
from coreplan.bench.choices import read_moves
from coreplan.bench.claims import Verdict, check_claims
from coreplan.bench.experiments import figure_rows
from coreplan.bench.figures import draw_figures
from coreplan.bench.figures.style import check_matplotlib
from coreplan.bench.page import make_page
from coreplan.bench.results import read_rows
from coreplan.cli.outputs import Outputs
from coreplan.cli.shared import DISAGREE, Command, check_writable, json_option, print_json
from coreplan.files.writing import write_text
from coreplan.view.terminal import make_console, print_error


@click.command(
    cls=Command,
    epilog="""
    coreplan bench figures results.sqlite -o figures
    coreplan bench figures results.sqlite -o figures --format pdf
    coreplan bench figures results.csv.gz -o docs/images --page docs/reproduction.md
    """,
    short_help="Draw figures and compare with the paper.",
)
@click.argument("results", type=click.Path())
@click.option(
    "-o",
    "--output",
    required=True,
    type=click.Path(),
    metavar="DIR",
    help="Folder for the figures; created if it does not exist.",
)
@click.option(
    "--page",
    type=click.Path(),
    metavar="FILE",
    help="Also write a page (Markdown) with the figures, their numbers and the paper's claims.",
)
@click.option(
    "--format",
    "file_format",
    type=click.Choice(["svg", "png", "pdf"]),
    default="svg",
    show_default=True,
    help="File format of the figures.",
)
@click.option(
    "--command",
    metavar="TEXT",
    default="",
    help="The command that made the results, to show on the page.",
)
@click.option(
    "--rows",
    "table",
    type=click.Path(),
    metavar="FILE",
    help="A file with all rows, to link to on the page.",
)
@click.option(
    "--choices",
    type=click.Path(),
    metavar="FILE",
    help="Verdicts with other choices (of benchmarks/choices.py), to show on the page.",
)
@json_option
def figures(
    results: str,
    output: str,
    page: str | None,
    file_format: str,
    command: str,
    table: str | None,
    choices: str | None,
    as_json: bool,
) -> int:
    """Draw the figures that the solves in RESULTS have data for (needs the extra `plot`).

    RESULTS is a file from `coreplan bench run`, or a table from `coreplan bench show --csv`.

    These are the five figures of the paper, with `core` added, and four of our own. The paper's
    claims are compared with the measurements. The exit code is 1 if solves contradict each other.
    """
    check_matplotlib()
    # The folder for figures is created if it does not exist; the page may be in it.
    if page is not None and (Path(output).exists() or Path(page).parent != Path(output)):
        check_writable(page, [results], "the page", "--page")
    moves = None if choices is None else read_moves(choices)
    rows = read_rows(results)
    if not rows:
        raise click.UsageError(f"{results!r} has no solves yet; run `coreplan bench run` first")
    with make_console(stderr=True).status("") as status:
        drawn = draw_figures(
            figure_rows(rows),
            output,
            format=file_format,
            started=lambda name: status.update(f"drawing {name} ..."),
        )
    contradictions = find_contradictions(rows)
    claims = check_claims(rows)
    outputs = Outputs()
    with outputs.one("the summary"):
        if as_json:
            print_json(
                {
                    "solves": len(rows),
                    "figures": [each.to_dict() for each in drawn],
                    "claims": [each.to_dict() for each in claims],
                    "contradictions": contradictions,
                    "page": page,
                }
            )
        else:
            console = make_console()
            for each in drawn:
                where = "no data" if each.path is None else f"{each.path}: {each.headline}"
                console.print(f"({each.kind.letter}) {where}", markup=False, highlight=False)
            tally = ", ".join(f"{sum(c.verdict is v for c in claims)} {v}" for v in Verdict)
            console.print(f"the paper's claims: {tally}", markup=False, highlight=False)
    if page is not None:
        with outputs.one(f"the page {page}"):
            text = make_page(
                rows,
                drawn,
                page,
                command=command,
                table=table,
                contradictions=contradictions,
                claims=claims,
                moves=moves,
            )
            write_text(text, page)
            if not as_json:
                make_console().print(f"page: {page}", markup=False, highlight=False)
    if not contradictions:
        return outputs.code
    if not as_json:
        for contradiction in contradictions:
            print_error(f"CONTRADICTION: {contradiction}")
        print_error("this is a bug in coreplan; please report it with the results file")
    return DISAGREE
