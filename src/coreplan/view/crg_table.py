"""The sizes of conditional return graphs, as a table and as JSON."""

from __future__ import annotations

import math
from dataclasses import fields
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

from coreplan.solving.compile import count_in_words
from coreplan.solving.crg import ConditionalReturnGraph, ConditionalReturnGraphs, CrgSize
from coreplan.view.crg_svg import sizes_between
from coreplan.view.words import count

KINDS = {
    "states": "local states",
    "action_nodes": "nodes of action trees",
    "influence_nodes": "nodes of influence trees",
    "action_arcs": "arcs for actions",
    "wildcard_arcs": "arcs for other actions, *",
    "influence_arcs": "arcs for state transitions",
    "no_influence_arcs": "arcs for no influence, ◇",
    "reward_arcs": "reward arcs",
}


def _sizes(
    crgs: ConditionalReturnGraphs, crg: ConditionalReturnGraph, first: int, last: int
) -> tuple[CrgSize, CrgSize]:
    start = crgs.indexed.stage
    return (
        sizes_between(crg.sizes, start, first, last),
        sizes_between(crg.naive_sizes, start, first, last),
    )


def _functions(crgs: ConditionalReturnGraphs, crg: ConditionalReturnGraph) -> list[str]:
    return [part.name for part in crgs.parts if part.owner == crg.agent]


def print_crg(
    console: Console,
    crgs: ConditionalReturnGraphs,
    crg: ConditionalReturnGraph,
    first: int,
    last: int,
    printed: ConditionalReturnGraph,
) -> None:
    """Print the size of an agent's graph between two stages.

    Further columns have the graph by the printed definitions (`printed`), and the naive graph.
    """
    size, naive = _sizes(crgs, crg, first, last)
    literal = sizes_between(printed.sizes, crgs.indexed.stage, first, last)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column(f"stages {first} to {last}", no_wrap=True)
    for title in ("CRG", "as printed", "naive"):
        table.add_column(title, justify="right", no_wrap=True)
    for kind, words in {**KINDS, "": "", "nodes": "all nodes", "arcs": "all arcs"}.items():
        if not kind:
            table.add_section()
            continue
        table.add_row(words, *(_number(getattr(each, kind)) for each in (size, literal, naive)))
    console.print()
    parts = count(len(_functions(crgs, crg)), "reward function")
    console.print(f"{crg.agent}: answers for {parts} of several agents", markup=False)
    console.print(table)
    console.print(
        f"bound on the arcs of all stages: {_number(crg.size_bound)} "
        f"(Theorem 1 as printed: {_number(crg.printed_bound)}, which can be too small)",
        markup=False,
    )


def print_all(console: Console, crgs: ConditionalReturnGraphs) -> None:
    """Print the total size of the graphs of all agents."""
    size = crgs.size
    console.print()
    console.print(
        f"all {len(crgs.agents)} graphs: {_number(size.nodes)} nodes, {_number(size.arcs)} arcs "
        f"(naive: {_number(crgs.naive_size.arcs)}); bound on the arcs: {_number(crgs.size_bound)} "
        f"(as printed, if all actions and transitions interact: {_number(crgs.printed_bound)})",
        markup=False,
        soft_wrap=True,
    )


def all_dict(crgs: ConditionalReturnGraphs) -> dict[str, Any]:
    """The total size of the graphs of all agents, for JSON."""
    return {
        "size": _size_dict(crgs.size),
        "naive": _size_dict(crgs.naive_size),
        "printed_bound": _plain(crgs.printed_bound),
        "size_bound": _plain(crgs.size_bound),
    }


def crg_dict(
    crgs: ConditionalReturnGraphs,
    crg: ConditionalReturnGraph,
    first: int,
    last: int,
    printed: ConditionalReturnGraph,
) -> dict[str, Any]:
    """Return the sizes as plain values; None for a size that is too large for a number."""
    size, naive = _sizes(crgs, crg, first, last)
    literal = sizes_between(printed.sizes, crgs.indexed.stage, first, last)
    return {
        "name": crg.agent,
        "reward_functions": _functions(crgs, crg),
        "size": _size_dict(size),
        "as_printed": _size_dict(literal),
        "naive": _size_dict(naive),
        "printed_bound": _plain(crg.printed_bound),
        "size_bound": _plain(crg.size_bound),
    }


def _size_dict(size: CrgSize) -> dict[str, float | None]:
    kinds = {each.name: _plain(getattr(size, each.name)) for each in fields(size)}
    return {**kinds, "nodes": _plain(size.nodes), "arcs": _plain(size.arcs)}


def _plain(number: float) -> float | None:
    if not math.isfinite(number):
        return None
    return int(number) if number < 1e15 else number


def _number(number: float) -> str:
    return count_in_words(number) if math.isfinite(number) else "more than 1e308"
