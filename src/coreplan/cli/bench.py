"""``coreplan bench``: run test sets and show the results."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import click

from coreplan.bench.cluster import RayPool
from coreplan.bench.config import config_of_files, read_config
from coreplan.bench.live import RunDisplay, print_summaries, state_in_words
from coreplan.bench.pool import LocalPool
from coreplan.bench.results import read_rows
from coreplan.bench.runner import Run, count_solves, default_jobs, plan_solves
from coreplan.bench.store import Store
from coreplan.bench.summary import summarise
from coreplan.bench.table import in_order, write_table
from coreplan.cli.bench_compare import compare
from coreplan.cli.bench_figures import figures
from coreplan.cli.outputs import Outputs
from coreplan.cli.shared import (
    INTERRUPTED,
    OK,
    Command,
    Group,
    Names,
    check_writable,
    json_option,
    memory_limit_option,
    print_json,
)
from coreplan.domains.maintenance.works.opening import PROBLEM_ENDINGS
from coreplan.errors import FormatError, ModelError
from coreplan.files.reading import STANDARD_INPUT, read_document
from coreplan.support.processors import choose_count
from coreplan.support.ray_cluster import check_ray
from coreplan.view.terminal import make_console

LIST_ENDINGS = (".csv", ".xlsx", ".xlsm")
"""How the names of works lists end."""


@click.group(
    cls=Group,
    epilog="""
    coreplan bench run paper.yaml -o paper.sqlite
    coreplan bench show paper.sqlite
    coreplan bench figures paper.sqlite -o figures
    coreplan bench run problems --solver core --solver dp
    coreplan bench compare problems.sqlite --solver core --solver dp
    """,
    short_help="Run test sets or problem files, and show and compare the results.",
)
def bench() -> None:
    """Run solvers on test sets or problem files, keep all results in one file, and show them."""


@bench.command(
    name="run",
    cls=Command,
    epilog="""
    coreplan bench run paper.yaml
    coreplan bench run paper.yaml -o results.sqlite --jobs 4
    coreplan bench run paper.yaml --count 5 --time-limit 2 --sets mpp,pyra --solvers core
    coreplan bench run paper.yaml --from earlier.csv.gz -o results.sqlite
    coreplan bench run paper.yaml --cluster ray --address auto
    coreplan bench run problems --solver core --solver "core-2016 merge=false" --time-limit 30
    coreplan bench run problems --module my_solver.py --solver mine --solver core
    """,
    short_help="Solve the test sets of a configuration, or problem files.",
)
@click.argument("what", nargs=-1, required=True, type=click.Path(), metavar="CONFIG|PROBLEMS...")
@click.option(
    "--solver",
    "written",
    multiple=True,
    metavar="SOLVER",
    help="Problem files: solve them with this algorithm; options follow it, as in "
    '"core-2016 merge=false". May be given several times.  [default: core]',
)
@click.option(
    "--module",
    "modules",
    multiple=True,
    metavar="MODULE",
    help="Load a Python file, or an installed module, that registers algorithms, test sets or "
    "formats. May be given several times.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(),
    metavar="RESULTS",
    help="File for the results.  [default: the name of the configuration, file or folder with the "
    "ending .sqlite, in the current folder]",
)
@click.option(
    "--from",
    "earlier",
    type=click.Path(),
    multiple=True,
    metavar="FILE",
    help="Take over the solves of this configuration that are in this file: other results, or a "
    "table of `coreplan bench show --csv`. May be given several times.",
)
@click.option(
    "--jobs",
    type=click.IntRange(min=1),
    metavar="N",
    help="Solves to run at the same time.  [default: the processors that this process may use, "
    "divided by the threads per solve]",
)
@click.option(
    "--cluster",
    type=click.Choice(["local", "ray"]),
    default="local",
    show_default=True,
    help="Where to solve: on this machine, or on a Ray cluster (needs the extra `ray`).",
)
@click.option(
    "--address",
    metavar="ADDRESS",
    help="Address of a running Ray cluster. Without it, one is started on this machine.",
)
@click.option("--sets", type=Names("mpp,pyra"), metavar="NAMES", help="Run only these test sets.")
@click.option("--solvers", type=Names("mpp,pyra"), metavar="NAMES", help="Run only these solvers.")
@click.option(
    "--count",
    type=click.IntRange(min=1),
    metavar="N",
    help="Instances per group of each set, instead of the configuration's number.",
)
@click.option(
    "--time-limit",
    type=click.FloatRange(min=0, min_open=True),
    metavar="SECONDS",
    help="Time limit of each solve, instead of the configuration's; for problem files, 60 unless "
    "it is given.",
)
@memory_limit_option
@click.option("--dry-run", is_flag=True, help="Only print what would be solved.")
@json_option
def run(
    what: tuple[str, ...],
    written: tuple[str, ...],
    modules: tuple[str, ...],
    output: str | None,
    earlier: tuple[str, ...],
    jobs: int | None,
    cluster: str,
    address: str | None,
    sets: tuple[str, ...] | None,
    solvers: tuple[str, ...] | None,
    count: int | None,
    time_limit: float | None,
    memory_limit: float | None,
    dry_run: bool,
    as_json: bool,
) -> int:
    """Solve problems with several solvers, and keep the results.

    CONFIG (bench/1) names test sets or problem files, and the solvers. PROBLEMS are problem files,
    folders of them, or works lists; `--solver` then gives the solvers.

    Solves that are already in the results are not repeated: a stopped run continues where it
    stopped. The first Ctrl-C lets running solves finish, the second ends them.
    """
    if address is not None and cluster != "ray":
        raise click.UsageError("--address is for --cluster ray")
    if cluster == "ray":
        check_ray()
    if _are_problems(what, written):
        if sets or solvers:
            raise click.UsageError(
                "--sets and --solvers select a part of a configuration; for problem files, give "
                "each solver by --solver"
            )
        read = config_of_files(what, written or ("core",), modules=modules)
    else:
        if len(what) > 1:
            raise click.UsageError("give one configuration, or problem files and folders")
        read = read_config(what[0], modules)
    try:
        read = read.override(
            count=count,
            time_limit=time_limit,
            memory_limit=memory_limit,
            sets=sets or (),
            solvers=solvers or (),
        )
    except ModelError as error:
        raise click.UsageError(str(error)) from None
    messages = make_console(stderr=True)
    for note in read.notes:
        messages.print(f"note: {note}", markup=False, soft_wrap=True)
    if dry_run:
        return _tell_plan(count_solves(plan_solves(read).values()), as_json)
    if output is None:
        output = f"{_stem(what)}.sqlite"
    check_writable(output, [*what, *earlier], "the file of results", "--output")
    known = [row for file in earlier for row in read_rows(file)]
    with ExitStack() as stack:
        display = None
        if messages.is_terminal or not as_json:
            display = stack.enter_context(RunDisplay(messages))
        store = stack.enter_context(Store(output, create=True))
        solves = plan_solves(read, None if display is None else display.preparing)
        store.add_all(row for row in known if row.key in solves)
        pool: RayPool | LocalPool
        if cluster == "ray":
            pool = stack.enter_context(RayPool(read.threads, address, jobs))
        else:
            jobs = default_jobs(read) if jobs is None else choose_count(jobs, "jobs")
            pool = stack.enter_context(LocalPool(jobs))
        state = Run(solves, store, pool, modules=read.modules, tell=display).run()
        keys = set(solves)
        summaries = summarise(in_order(row for row in store.rows() if row.key in keys))
    if as_json:
        print_json(
            {
                "results": output,
                "total": state.total,
                "done": state.done,
                "before": state.before,
                "elsewhere": state.elsewhere,
                "added": dict(state.added),
                "lost": state.lost,
                "interrupted": state.interrupted,
                "seconds": state.seconds,
                "summary": [each.to_dict() for each in summaries],
            }
        )
    else:
        console = make_console()
        if summaries:
            print_summaries(console, summaries)
        console.print(f"{state_in_words(state)}; results in {output}", markup=False)
    return INTERRUPTED if state.interrupted else OK


def _are_problems(what: Sequence[str], written: Sequence[str]) -> bool:
    """Whether a run is given problem files instead of a configuration."""
    if written or len(what) > 1 or Path(what[0]).is_dir():
        return True
    if what[0] == STANDARD_INPUT:
        return False
    if Path(what[0]).suffix.lower() not in PROBLEM_ENDINGS:
        return Path(what[0]).suffix.lower() in LIST_ENDINGS
    try:
        root = read_document(what[0], lambda document: document.root)
    except FormatError:  # reading it as a configuration gives the same error
        return False
    name = root.get("format") if isinstance(root, dict) else None
    return isinstance(name, str) and not name.startswith("bench/")


def _stem(what: Sequence[str]) -> str:
    """The name of results without an ending: that of the only configuration, file or folder."""
    if len(what) > 1 or what[0] == STANDARD_INPUT:
        return "bench"
    path = Path(what[0])
    return (path.resolve().name if path.is_dir() else path.stem) or "bench"


def _tell_plan(counts: dict[tuple[str, str], int], as_json: bool) -> int:
    if as_json:
        print_json([{"set": s, "solver": by, "solves": count} for (s, by), count in counts.items()])
        return OK
    console = make_console()
    for (set_name, solver), count in counts.items():
        console.print(f"{set_name}, {solver}: {count}", markup=False)
    console.print(f"{sum(counts.values())} solves")
    return OK


@bench.command(
    name="show",
    cls=Command,
    epilog="""
    coreplan bench show paper.sqlite
    coreplan bench show paper.sqlite --json
    coreplan bench show paper.sqlite --csv paper.csv.gz
    """,
    short_help="Summarise results.",
)
@click.argument("results", type=click.Path())
@click.option(
    "--csv",
    "csv_file",
    type=click.Path(),
    metavar="FILE",
    help="Write all rows to a table (.csv, or .csv.gz to compress it), which `bench show`, `bench "
    "figures` and `bench run --from` can read.",
)
@json_option
def show(results: str, csv_file: str | None, as_json: bool) -> int:
    """Print a line per test set and solver for RESULTS.

    RESULTS is a file from `coreplan bench run`, or a table of `--csv`.
    The seconds are those of all solves, including solves that a limit stopped.
    """
    if csv_file is not None and csv_file != "-":
        check_writable(csv_file, [results], "the table", "--csv")
    rows = read_rows(results)
    outputs = Outputs()
    if csv_file != "-":
        with outputs.one("the summary"):
            summaries = summarise(rows)
            if as_json:
                print_json({"rows": len(rows), "summary": [each.to_dict() for each in summaries]})
            elif summaries:
                print_summaries(make_console(), summaries)
            else:
                make_console().print("no solves yet")
    if csv_file is not None:
        with outputs.one(f"the table in {csv_file}"):
            write_table(rows, csv_file)
    return outputs.code


bench.add_command(figures)
bench.add_command(compare)
