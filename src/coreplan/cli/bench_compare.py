"""``coreplan bench compare``: two solvers, or two versions of one, instance by instance."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from coreplan.bench.comparison import Ratios, StudyComparison, Wins, compare_solves
from coreplan.bench.figures import FORMATS, draw_profile_file
from coreplan.bench.figures.numbers import factor, percent
from coreplan.bench.figures.profile import FACTORS, SHORTEST
from coreplan.bench.figures.style import check_matplotlib
from coreplan.bench.results import read_rows
from coreplan.bench.significance import PairedTest
from coreplan.bench.store import PROCESSOR, Row
from coreplan.cli.outputs import Outputs
from coreplan.cli.shared import (
    DISAGREE,
    Command,
    Names,
    check_writable,
    json_option,
    print_json,
)
from coreplan.errors import ModelError
from coreplan.support.checks import unknown_name
from coreplan.view.terminal import make_console, print_error
from coreplan.view.words import count


@click.command(
    cls=Command,
    epilog="""
    coreplan bench compare results.sqlite --solver core --solver dp
    coreplan bench compare before.sqlite after.csv.gz --solver core
    coreplan bench compare results.sqlite --solver core --solver dp --figure profile.svg
    """,
    short_help="Compare two solvers, instance by instance.",
)
@click.argument("results", nargs=-1, required=True, type=click.Path(), metavar="A [B]")
@click.option(
    "--solver",
    "solvers",
    multiple=True,
    metavar="NAME",
    help="The solver of A; given again, that of B.  [default: the only one of its file]",
)
@click.option("--sets", type=Names("mpp,pyra"), metavar="NAMES", help="Compare only these sets.")
@click.option(
    "--figure",
    type=click.Path(),
    metavar="FILE",
    help="Draw the performance profile (.svg, .png or .pdf; needs the extra `plot`).",
)
@json_option
def compare(
    results: tuple[str, ...],
    solvers: tuple[str, ...],
    sets: tuple[str, ...] | None,
    figure: str | None,
    as_json: bool,
) -> int:
    """Compare two solvers on the instances that both were run on.

    A and B are results of `coreplan bench run`, or tables of `coreplan bench show --csv`. With A
    alone, two solvers of this file are compared. The exit code is 1 if solves contradict each
    other.
    """
    if len(results) > 2:
        raise click.UsageError("give one file of results, or two")
    if len(solvers) > 2:
        raise click.UsageError("give --solver at most twice: one for A, one for B")
    if figure is not None:
        check_matplotlib()
        if Path(figure).suffix.removeprefix(".").lower() not in FORMATS:
            raise click.BadParameter(
                f"{figure!r} ends in none of {', '.join('.' + each for each in FORMATS)}",
                param_hint="'--figure'",
            )
        check_writable(figure, results, "the figure", "--figure")
    read = [_only(read_rows(each), sets, each) for each in results]
    try:
        a, b = _solvers(results, read, solvers)
    except ModelError as error:
        raise click.UsageError(str(error)) from None
    found = compare_solves(
        (row for row in read[0] if row.solver == a),
        (row for row in read[-1] if row.solver == b),
        _names(results, a, b),
    )
    outputs = Outputs()
    with outputs.one("the comparison"):
        if as_json:
            print_json({**found.to_dict(), "figure": figure})
        else:
            console = make_console()
            for line in comparison_in_words(found):
                console.print(line, markup=False, highlight=False, soft_wrap=True)
    if figure is not None:
        with outputs.one(f"the figure {figure}"):
            draw_profile_file(found.profile, figure)
    if not found.contradictions:
        return outputs.code
    if not as_json:
        for contradiction in found.contradictions:
            print_error(f"CONTRADICTION: {contradiction}")
        print_error("one of the two solvers is wrong, or claims more than it has proven")
    return DISAGREE


def _only(rows: list[Row], sets: Sequence[str] | None, file: str) -> list[Row]:
    """The rows of some sets."""
    if not rows:
        raise ModelError(f"{file} has no solves yet; run `coreplan bench run` first")
    known = list(dict.fromkeys(row.set for row in rows))
    for name in sets or ():
        if name not in known:
            raise ModelError(f"{unknown_name(name, 'set', known, file)}")
    return [row for row in rows if not sets or row.set in sets]


def _solvers(
    results: Sequence[str], read: Sequence[Sequence[Row]], given: Sequence[str]
) -> tuple[str, str]:
    """The names of the solvers of both sides."""
    known = [list(dict.fromkeys(row.solver for row in rows)) for rows in read]
    for position, name in enumerate(given):
        # With two files, a single name is for both of them.
        places = [-1] if position else range(len(results)) if len(given) == 1 else [0]
        for place in places:
            if name not in known[place]:
                raise ModelError(unknown_name(name, "solver", known[place], results[place]))
    if len(results) == 1:
        chosen = list(given) if len(given) == 2 else known[0] if not given else []
        if len(given) == 1:
            others = [each for each in known[0] if each != given[0]]
            chosen = [given[0], *others]
        if len(chosen) != 2:
            raise ModelError(
                f"{results[0]} has {count(len(known[0]), 'solver')}: {', '.join(known[0])}; "
                "choose two of them by --solver, or give a second file"
            )
        if chosen[0] == chosen[1]:
            raise ModelError("the two solvers are the same; give another one, or a second file")
        return chosen[0], chosen[1]
    if len(given) == 2:
        return given[0], given[1]
    if not given and [len(each) for each in known] == [1, 1]:
        return known[0][0], known[1][0]
    both = list(given) or [each for each in known[0] if each in known[1]]
    if len(both) != 1:
        names = " and ".join(", ".join(each) for each in known)
        raise ModelError(
            f"choose the solver of A and that of B by --solver; the files have {names}"
        )
    return both[0], both[0]


def _names(results: Sequence[str], a: str, b: str) -> tuple[str, str]:
    """The shortest names that tell both sides apart."""
    if a != b:
        return a, b
    one, other = (Path(each).name for each in results)
    if one == other:
        one, other = results
    return (one, other) if one != other else (f"{one} (A)", f"{other} (B)")


def comparison_in_words(found: StudyComparison) -> Iterator[str]:
    """The lines of a comparison, for the terminal."""
    a, b = found.names
    yield f"A: {a}"
    yield f"B: {b}"
    alone = [
        f"{count(number, 'instance')} only by {name}"
        for number, name in zip(found.only, "AB", strict=True)
        if number
    ]
    left_out = f" (left out: {', '.join(alone)})" if alone else ""
    yield f"{count(found.instances, 'instance')} run by both{left_out}"
    for note in found.notes:
        yield f"note: {note}"
    yield ""
    solved = found.solved
    yield (
        f"solved: {solved['both']} by both, {solved['a']} only by A, {solved['b']} only by B, "
        f"{solved['neither']} by neither"
    )
    clock = "processor time" if found.unit == PROCESSOR else "time"
    if found.time is None:
        yield f"{clock}: no instance was solved by both"
    else:
        yield f"{clock}, where both solved: {_ratio_in_words(found.time)}"
    if found.time_with_limits is not None and solved["a"] + solved["b"]:
        yield (
            f"{clock}, where A or B solved, the limit standing for the other: "
            f"{_ratio_in_words(found.time_with_limits)}"
        )
    for name, ratios in found.counts.items():
        yield f"{name.replace('_', ' ')}, where both solved: {_ratio_in_words(ratios)}"
    yield f"faster: {_wins_in_words(found.faster)}"
    if found.rank_test.pairs:
        yield f"signed-rank test of times, where both solved: {_test_in_words(found.rank_test)}"
    yield f"better plan: {_wins_in_words(found.plans)}"
    yield ""
    yield "share of instances solved within a factor of the fastest:"
    titles = ["factor", *(f"{each:g}" for each in FACTORS), "solved"]
    rows = [titles]
    for side, name in zip("AB", found.names, strict=True):
        shares = [found.profile.share(name, each) for each in FACTORS]
        rows.append([side, *map(percent, shares), percent(found.profile.share(name))])
    widths = [max(len(row[k]) for row in rows) for k in range(len(titles))]
    for row in rows:
        cells = [f"{cell:>{width}}" for cell, width in zip(row, widths, strict=True)]
        yield "  " + "  ".join([f"{row[0]:<{widths[0]}}", *cells[1:]])
    yield ""
    yield (
        f"Times below {SHORTEST:g} s count as that. Solved means proven optimal. A solver that "
        "solved is faster than one that was stopped later than that."
    )


def _ratio_in_words(ratios: Ratios) -> str:
    bound = f"{ratios.bound} " if ratios.bound else ""
    around = ""
    if ratios.low is not None and ratios.high is not None:
        around = f"; 95 % interval {factor(ratios.low)} to {factor(ratios.high)}"
    return f"B has {bound}{factor(ratios.mean)} times that of A (n = {ratios.pairs:,}{around})"


def _wins_in_words(wins: Wins) -> str:
    parts = [f"A on {wins.a:,}", f"B on {wins.b:,}", f"equal on {wins.equal:,}"]
    if wins.undecided:
        parts.append(f"undecided on {wins.undecided:,}")
    return f"{', '.join(parts)}; sign test: {_test_in_words(wins.test)}"


def _test_in_words(test: PairedTest) -> str:
    p = "p < 0.0001" if test.p < 1e-4 else f"p = {test.p:.2g}"
    return f"{p} (n = {test.pairs:,}{'' if test.exact else ', approximately'})"
