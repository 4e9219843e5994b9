"""A page about stored solves: their setup, the figures, the paper's claims."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from coreplan.bench.choices import Moves, moves_tables
from coreplan.bench.claims import Claim, check_claims
from coreplan.bench.claims.tables import claims_table, history_table
from coreplan.bench.experiments import experiments_table, explain, figure_rows
from coreplan.bench.figures import DrawnFigure
from coreplan.bench.figures.numbers import percent
from coreplan.bench.markdown import safe
from coreplan.bench.markdown import table as markdown_table
from coreplan.bench.store import PROCESSOR, WALL, Row
from coreplan.bench.summary import summarise
from coreplan.bench.table import in_order
from coreplan.bench.variants import make_variant
from coreplan.view.words import count

_CLOCKS = {
    WALL: "wall-clock seconds",
    PROCESSOR: "processor seconds of the solving process",
}


_SOLVERS = """\
DP, CRG-PS and CoRe 2016 (the paper's algorithm, `core-2016`) are as published: local states keep
start and end times (`merge: false`), and searches have no memory. CoRe 2016 prunes by the bounds of
the paper's equation; with *expected bounds*, by those of its figure (`bounds: expected`). SPUDD in
its *reference encoding* (`encoding: reference`) solves one model with a clock and one action per
joint action, as users of SPUDD write it; it stands for the paper's SPUDD where it was run. SPUDD
*stage by stage* has diagrams over the reachable states of each stage, which is our own model.
*merged*: on merged local states, SPUDD with actions as variables of its diagrams. *memo*: solved
joint states are remembered. *core* is this project's engine.

A solve counts as solved if its optimum is proven within the limits; otherwise it ends with bounds,
or fails. Seconds are of all solves. An instance that was not run does not count."""


def make_page(
    rows: Iterable[Row],
    figures: Sequence[DrawnFigure],
    page: str | Path,
    *,
    command: str = "",
    table: str | Path | None = None,
    contradictions: Sequence[str] = (),
    claims: Sequence[Claim] | None = None,
    moves: Moves | None = None,
) -> str:
    """Write the text of a page, in Markdown, from the rows alone.

    Parameters
    ----------
    rows
        Solves.
    figures
        The figures of :func:`coreplan.bench.figures.draw_figures`.
    page
        Path of the page; links to figures are relative to it.
    command
        The command that made the solves, to show on the page.
    table
        The file with all rows, to link to.
    contradictions
        The results of :func:`coreplan.bench.agreement.find_contradictions`.
    claims
        The results of :func:`coreplan.bench.claims.check_claims`, which is called by default.
    moves
        How the verdicts move with open choices; see :mod:`coreplan.bench.choices`.
    """
    rows = in_order(rows)
    lines = [
        "# The paper's evaluation, reproduced",
        "",
        "This page and its figures are written by `coreplan bench figures`; every number comes",
        "from stored solves.",
        "",
        "## How it was made",
        "",
        *_origin(rows, command),
        *([] if table is None else [f"- Rows: {_link(Path(table).name, table, page)}"]),
        "",
        *_disagreement(contradictions),
        "## Results by set and solver",
        "",
        *_results(figure_rows(rows)),
        "",
        _SOLVERS,
        "",
        "## Figures",
        "",
    ]
    for figure in figures:
        if figure.path is None and not figure.kind.expected:
            continue
        lines += [*_figure(figure, page), ""]
    claims = check_claims(rows) if claims is None else claims
    lines += ["## The paper's claims", "", *claims_table(claims), ""]
    lines += ["## Why claims differ", "", *experiments_table(explain(rows, claims)), ""]
    if moves is not None:
        lines += ["## How the verdicts move with open choices", "", *moves_tables(moves), ""]
    lines += ["## How the rules of the claims changed", "", *history_table(claims)]
    return "\n".join(lines) + "\n"


def _origin(rows: Sequence[Row], command: str) -> Iterator[str]:
    if command:
        quoted = safe(command).replace("`", "'")
        yield f"- Command: `{quoted}`"
    started = sorted(row.started for row in rows if row.started)
    when = ""
    if started:
        first, last = started[0][:16].replace("T", " "), started[-1][:16].replace("T", " ")
        when = f", begun between {first} and {last} UTC"
    spent = math.fsum(row.process_seconds for row in rows)
    yield (
        f"- Solves: {len(rows):,} of {len({row.digest for row in rows}):,} instances, "
        f"{_duration(spent)} of solving in all{when}"
    )
    times = " or ".join(f"{limit:,g} s" for limit in sorted({row.time_limit for row in rows}))
    memory = " or ".join(
        "none" if limit is None else f"{limit:,g} MB"
        for limit in sorted({row.memory_limit for row in rows}, key=lambda each: each or 0.0)
    )
    yield f"- Limits per solve: time {times}; memory {memory}"
    clocks = Counter(_CLOCKS[row.clock] for row in rows)
    if len(clocks) == 1:
        yield f"- Clock: all seconds are {next(iter(clocks))}"
    elif clocks:
        parts = [f"{count(number, 'solve')} in {words}" for words, number in sorted(clocks.items())]
        yield f"- Clocks: {', '.join(parts)}"
    for machine in _distinct(row.machine for row in rows):
        size = machine.get("memory_mb")
        parts = [
            str(machine.get("processor", "")),
            count(int(machine["cores"]), "core") if "cores" in machine else "",
            f"{float(size) / 1000:,.0f} GB of memory" if isinstance(size, int | float) else "",
            str(machine.get("system", "")),
            f"{count(int(machine['jobs']), 'solve')} side by side" if "jobs" in machine else "",
        ]
        yield f"- Machine: {safe(', '.join(part for part in parts if part))}"
    for versions in _distinct(row.versions for row in rows):
        listed = (f"{name} {each}" for name, each in sorted(versions.items()))
        yield f"- Versions: {safe(', '.join(listed))}"


def _distinct(mappings: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    found = {tuple(sorted((name, str(each)) for name, each in m.items())): m for m in mappings}
    return [dict(each) for each in found.values()]


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def _disagreement(contradictions: Sequence[str]) -> list[str]:
    if not contradictions:
        return ["No two solves contradict each other: no plan is worth more than a bound.", ""]
    listed = [f"- {safe(each)}" for each in contradictions[:20]]
    more = len(contradictions) - len(listed)
    return [
        f"**{count(len(contradictions), 'contradiction')} found; the results cannot be trusted:**",
        "",
        *listed,
        *([f"- and {more:,} more"] if more else []),
        "",
    ]


def _results(rows: Sequence[Row]) -> Iterator[str]:
    sets = list(dict.fromkeys(row.set for row in rows))
    variants = [(each, make_variant(each.algorithm, each.options)) for each in summarise(rows)]
    variants.sort(key=lambda pair: (sets.index(pair[0].set), pair[1].order, pair[0].time_limit))
    clocks = {row.clock for row in rows}
    lines = []
    for each, variant in variants:
        clock = f" ({each.clock})" if len(clocks) > 1 else ""
        seconds = (each.median_seconds, each.p90_seconds, each.max_seconds)
        failures = {"no plan": each.no_plan, "killed": each.killed, "failed": each.failed}
        lines.append(
            (
                each.set,
                str(variant),
                f"{each.time_limit:,g} s{clock}",
                f"{each.solves:,}",
                percent(each.solved / each.solves),
                *(f"{number:.2g} s" for number in seconds),
                ", ".join(f"{number:,} {words}" for words, number in failures.items() if number),
            )
        )
    titles = ("set", "solver", "limit", "run", "solved", "median", "90 %", "most", "failed")
    yield from markdown_table(titles, lines)


def _figure(figure: DrawnFigure, page: str | Path) -> list[str]:
    lines = [f"### ({figure.kind.letter}) {figure.kind.title}", ""]
    if figure.path is None:
        return [*lines, "Not measured: these solves have no data for this figure."]
    picture = "" if figure.path.suffix == ".pdf" else "!"
    link = _link(figure.headline, figure.path, page)
    return [*lines, f"{picture}{link}", "", safe(figure.sentence)]


def _link(text: str, target: str | Path, page: str | Path) -> str:
    """A link from the page to a file, relative to the page."""
    path = Path(os.path.relpath(target, Path(page).parent)).as_posix().replace(" ", "%20")
    return f"[{safe(text)}]({path})"
