"""The command line: parse, call, print."""

from __future__ import annotations

import io
import json
import logging
import math
import os
import sys
import traceback
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from typing import Any, NoReturn

import click
from rich.console import Console

from coreplan import __version__
from coreplan.compile import AnyProblem, compile_problem
from coreplan.crg import ASSIGNMENTS, Assignment, ConditionalReturnGraphs, build_crgs
from coreplan.errors import CoreplanError, FormatError, LimitError
from coreplan.formats import read_problem, read_state, schema
from coreplan.formats.reading import STANDARD_INPUT
from coreplan.formats.schedule import read_plan, read_schedule
from coreplan.formats.schemas import FORMATS
from coreplan.formats.writing import write_text
from coreplan.limits import Limits
from coreplan.maintenance.problem import MaintenanceProblem
from coreplan.maintenance.schedule import Schedule
from coreplan.plan import evaluate_plan
from coreplan.policy import Policy
from coreplan.result import Result, Status
from coreplan.solve import ALGORITHMS, DEFAULT_ALGORITHM
from coreplan.solve import solve as solve_problem
from coreplan.trace import MOST_STATES, trace_search
from coreplan.verification.relaxation import MOST_CELLS
from coreplan.verify import MOST_JOINT_STATES
from coreplan.verify import verify as verify_certificate
from coreplan.view.crg_svg import stage_range
from coreplan.view.crg_table import crg_dict, print_crg
from coreplan.view.terminal import (
    ConsoleLog,
    LiveLog,
    drop_output,
    make_console,
    print_error,
    print_sizes,
    print_summary,
    problem_dicts,
)
from coreplan.view.words import (
    describe_problem,
    expected_money,
    first_steps,
    numbered,
    plan_in_words,
    unplanned,
)

OK, INTERNAL_ERROR, BAD_INPUT, LIMIT_STRUCK, NOT_CONFIRMED, INTERRUPTED = 0, 1, 2, 3, 4, 130
_UNITS = {"K": 1e-3, "M": 1.0, "G": 1e3, "T": 1e6}


class MemoryAmount(click.ParamType):  # type: ignore[type-arg, unused-ignore]
    """An amount of memory in MB, or with a unit: 500, 500M, 4G."""

    name = "MB"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Take a text apart."""
        if isinstance(value, float):
            return value
        text = str(value).strip().upper()
        unit = text[-2:] if text.endswith("B") else text[-1:]
        unit = unit if unit.rstrip("B") in _UNITS else ""
        try:
            amount = float(text.removesuffix(unit)) * _UNITS.get(unit.rstrip("B"), 1.0)
        except ValueError:
            amount = -1.0
        if not 0 < amount < 1e15:
            self.fail(f"{value!r} is not an amount of memory; try 500 (in MB) or 4G", param, ctx)
        return amount


class StageRange(click.ParamType):  # type: ignore[type-arg, unused-ignore]
    """A range of stages: 0:2, or 1 for 1:2."""

    name = "FIRST:LAST"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, int]:
        """Take a text apart."""
        if isinstance(value, tuple):
            return value
        first, colon, last = str(value).partition(":")
        # Not int(): that takes signs, spaces and underscores.
        if not all(0 < len(each) < 10 and each.isdecimal() for each in (first, last or first)):
            self.fail(f"{value!r} is not a range of stages; try 0:2", param, ctx)
        if colon and not last:
            self.fail(f"{value!r} lacks the last stage; try {first}:{int(first) + 1}", param, ctx)
        return int(first), int(last) if last else int(first) + 1


class Command(click.Command):
    """A command whose examples are shown as they are written."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples."""
        if self.epilog:
            with formatter.section("Examples"):
                for line in self.epilog.strip().splitlines():
                    formatter.write(f"{'':>{formatter.current_indent}}{line.strip()}\n")


class Group(click.Group):
    """A group of such commands, listed in the order in which they were added."""

    command_class = Command

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of the commands."""
        return list(self.commands)

    format_epilog = Command.format_epilog


@click.group(
    cls=Group,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="""
    coreplan demo
    coreplan check works.yaml
    coreplan solve works.yaml --time-limit 60
    """,
)
@click.version_option(__version__, prog_name="coreplan")
def cli() -> None:
    """Plan for a team of agents under uncertainty: optimal, or with a proven gap.

    Problems are files in the formats mpp/1 (road works: contractors, tasks, delays, hindrance) or
    ti-mmdp/1 (any transition-independent multi-agent MDP), in YAML or JSON.
    """


_file = click.argument("file", type=click.Path())
_json = click.option("--json", "as_json", is_flag=True, help="Print JSON for machines.")
_time_limit = click.option(
    "--time-limit",
    type=click.FloatRange(min=0, min_open=True),
    metavar="SECONDS",
    help="Stop after this time with the best plan so far.",
)
_memory_limit = click.option(
    "--memory-limit",
    type=MemoryAmount(),
    metavar="MB",
    help="Memory that the solver may take: a number of MB, or 4G.",
)
_no_merge = click.option(
    "--no-merge",
    is_flag=True,
    help="Do not merge equivalent local states (an MPP's then keep start and end times).",
)


@cli.command(
    epilog="""
    coreplan solve works.yaml
    coreplan solve works.yaml --time-limit 60 --memory-limit 4G --save-policy plan.json
    coreplan solve works.yaml --json > result.json
    coreplan solve works.yaml --stage 7 --state now.yaml
    coreplan solve works.yaml --certificate proof.json.gz
    coreplan solve works.yaml --start schedule.yaml --time-limit 60
    cat works.yaml | coreplan solve -
    """,
    short_help="Find an optimal plan.",
)
@_file
@click.option(
    "--algorithm",
    type=click.Choice(list(ALGORITHMS)),
    default=DEFAULT_ALGORITHM,
    show_default=True,
    help="How to solve it: by our own engine, by plain dynamic programming, or by one of the "
    "paper's searches.",
)
@_time_limit
@_memory_limit
@_no_merge
@click.option("--threads", type=click.IntRange(min=1), help="How many threads `core` may use.")
@click.option("--memo", is_flag=True, help="Let `crg-ps` and `core-2016` remember solved groups.")
@click.option(
    "--relative-gap",
    type=click.FloatRange(min=0),
    metavar="PART",
    help="Stop when the plan is proven to be this near to the optimum, as a part of its value "
    "(0.01: one per cent; `core` and `core-2016`).",
)
@click.option(
    "--absolute-gap",
    type=click.FloatRange(min=0),
    metavar="VALUE",
    help="The same, as a difference in value.",
)
@click.option(
    "--stage",
    type=click.IntRange(min=0),
    default=0,
    metavar="T",
    help="Plan from this stage on.",
)
@click.option(
    "--state",
    "state_file",
    type=click.Path(),
    metavar="FILE",
    help="Plan from where everybody stands: a file with a state for each agent, for instance "
    "'Alpha: {done: [a2], doing: a1, remaining: 2}'.",
)
@click.option(
    "--start",
    "start_file",
    type=click.Path(),
    metavar="FILE",
    help="Let `core` start from a plan that there is: a policy/1 file, or a schedule, for instance "
    "'Alpha: {a1: 0, a2: 4}'. The result is never worse.",
)
@click.option(
    "--save-policy", type=click.Path(), metavar="FILE", help="Write the plan as policy/1."
)
@click.option(
    "--certificate",
    type=click.Path(),
    metavar="FILE",
    help="Write a proof of both bounds, for `coreplan verify` (gzip if the name ends in .gz).",
)
@_json
def solve(
    file: str,
    algorithm: str,
    time_limit: float | None,
    memory_limit: float | None,
    no_merge: bool,
    threads: int | None,
    memo: bool,
    relative_gap: float | None,
    absolute_gap: float | None,
    stage: int,
    state_file: str | None,
    start_file: str | None,
    save_policy: str | None,
    certificate: str | None,
    as_json: bool,
) -> None:
    """Find an optimal plan for the problem in FILE (- for the standard input).

    Ctrl-C stops with the best plan so far; a second Ctrl-C ends at once.
    """
    inputs = {"FILE": file, "--state": state_file, "--start": start_file}
    _check_one_input(inputs)
    sources = [each for each in inputs.values() if each is not None]
    if save_policy is not None:
        _check_writable(save_policy, sources)
    if certificate is not None:
        _check_writable(certificate, sources, "the certificate", "--certificate")
    problem = read_problem(file)
    # Only what was asked for: an algorithm refuses options that it does not have.
    options: dict[str, Any] = {"merge": False} if no_merge else {}
    options |= {"threads": threads} if threads is not None else {}
    options |= {"memo": True} if memo else {}
    options |= {"relative_gap": relative_gap} if relative_gap is not None else {}
    options |= {"absolute_gap": absolute_gap} if absolute_gap is not None else {}
    options |= {"certificate": certificate} if certificate is not None else {}
    state = None if state_file is None else read_state(state_file, problem)
    if start_file is not None:
        options["start"] = read_plan(start_file, problem, stage=stage, state=state)
    _solve_and_print(
        problem,
        as_json,
        save_policy,
        algorithm=algorithm,
        time_limit=time_limit,
        memory_limit=memory_limit,
        stage=stage,
        state=state,
        **options,
    )


def _check_one_input(sources: Mapping[str, str | None]) -> None:
    """The standard input can be read once only."""
    used = [name for name, path in sources.items() if path == STANDARD_INPUT]
    if len(used) > 1:
        raise click.UsageError(f"only one of {' and '.join(used)} can be the standard input (-)")


def _check_writable(
    path: str, sources: Iterable[str], what: str = "the plan", option: str = "--save-policy"
) -> None:
    """Find out before a long run that its result could not be written."""
    target = Path(path)
    wrong = ""
    if path == STANDARD_INPUT:
        wrong = f"{what} does not go to the standard output; expected a file"
    elif target.is_dir():
        wrong = f"{path!r} is a folder; expected a file"
    elif not target.parent.is_dir():
        wrong = f"the folder {str(target.parent)!r} does not exist"
    elif target.exists() and not target.is_file():
        pass  # a device or a pipe
    elif not os.access(target.parent, os.W_OK):
        wrong = f"nothing can be written into the folder {str(target.parent)!r}"
    elif any(target.exists() and Path(each).exists() and target.samefile(each) for each in sources):
        wrong = f"{what} would overwrite {path!r}, which it is made from"
    if wrong:
        raise click.BadParameter(wrong, param_hint=f"'{option}'")


def _print_json(value: object) -> None:
    """Print one line of JSON, in ASCII: right whatever the terminal's encoding."""
    click.echo(json.dumps(value, allow_nan=False))


def _solve_and_print(
    problem: AnyProblem, as_json: bool, save_policy: str | None, **options: Any
) -> None:
    if as_json:
        result = solve_problem(problem, **options)
        # Whatever comes of the file, the result is worth printing.
        try:
            _save(result, save_policy)
        finally:
            _print_json(result.to_dict())
        return
    console = make_console(patient=save_policy is not None)
    console.print(f"[bold]coreplan {__version__}[/]  {options['algorithm']}")
    console.print(f"{problem.name}: {describe_problem(problem)}", markup=False)
    with _shown_log(console):
        result = solve_problem(problem, callback=LiveLog(console), **options)
    try:
        _save(result, save_policy)
    finally:
        print_summary(console, result)
        if isinstance(problem, MaintenanceProblem):
            console.print(expected_money(result.value), markup=False)
        if result.policy is not None:
            console.print("What to do first:")
            console.print(numbered(first_steps(result.policy)), markup=False)
    if save_policy is not None:
        console.print(f"the plan is in {save_policy}", markup=False)


@contextmanager
def _shown_log(console: Console) -> Iterator[None]:
    """Show what the library says of its work."""
    handler = ConsoleLog(console)
    logger = logging.getLogger("coreplan")
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)


def _save(result: Result, path: str | None) -> None:
    if path is not None and result.policy is not None:
        result.policy.save(path)


@cli.command(
    epilog="""
    coreplan evaluate works.yaml --schedule schedule.yaml
    coreplan evaluate works.yaml --schedule schedule.yaml --time-limit 60 --json
    coreplan evaluate works.yaml --policy plan.json --no-bound
    coreplan evaluate works.yaml --policy plan.json --estimate 100000 --seed 7
    """,
    short_help="Say how good a plan is that you have.",
)
@_file
@click.option(
    "--policy", "policy_file", type=click.Path(), metavar="FILE", help="The plan: a policy/1 file."
)
@click.option(
    "--schedule",
    "schedule_file",
    type=click.Path(),
    metavar="FILE",
    help="The plan: for every contractor and work the step in which it starts, for instance "
    "'Alpha: {a1: 0, a2: 4}'.",
)
@click.option(
    "--bound/--no-bound",
    default=True,
    show_default=True,
    help="Search for a better plan, and prove how much can be gained at most.",
)
@_time_limit
@_memory_limit
@click.option("--threads", type=click.IntRange(min=1), help="How many threads the search may use.")
@click.option(
    "--stage", type=click.IntRange(min=0), metavar="T", help="Follow the plan from this stage on."
)
@click.option(
    "--state",
    "state_file",
    type=click.Path(),
    metavar="FILE",
    help="Follow it from where everybody stands: a file with a state for each agent.",
)
@click.option(
    "--estimate",
    "runs",
    type=click.IntRange(min=2),
    metavar="RUNS",
    help="Simulate the plan so often besides; done anyway where its exact value is out of reach.",
)
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=1,
    show_default=True,
    help="Start of the simulation's random numbers.",
)
@_json
def evaluate(
    file: str,
    policy_file: str | None,
    schedule_file: str | None,
    bound: bool,
    time_limit: float | None,
    memory_limit: float | None,
    threads: int | None,
    stage: int | None,
    state_file: str | None,
    runs: int | None,
    seed: int,
    as_json: bool,
) -> None:
    """Say what a plan for the problem in FILE is expected to earn or cost, exactly.

    And, unless told --no-bound, how much could be gained at most by any other plan. Ctrl-C stops
    with the best bound so far.
    """
    if (policy_file is None) == (schedule_file is None):
        raise click.UsageError("say which plan: one of --policy FILE and --schedule FILE")
    sources = {"FILE": file, "--policy": policy_file, "--schedule": schedule_file}
    _check_one_input({**sources, "--state": state_file})
    problem = read_problem(file)
    state = None if state_file is None else read_state(state_file, problem)
    plan: Policy | Schedule
    if policy_file is not None:
        plan = Policy.load(policy_file, problem)
    elif isinstance(problem, MaintenanceProblem):
        plan = read_schedule(str(schedule_file), problem, stage=stage or 0, state=state)
    else:
        raise click.UsageError("a schedule is for an mpp/1 problem; give a plan by --policy")
    options: dict[str, Any] = {
        "bound": bound,
        "time_limit": time_limit,
        "memory_limit": memory_limit,
        "stage": stage,
        "state": state,
        "estimate_runs": runs,
        "seed": seed,
    }
    options |= {"threads": threads} if threads is not None else {}
    if as_json:
        _print_json(evaluate_plan(problem, plan, **options).to_dict())
        return
    console = make_console()
    console.print(f"{problem.name}: {describe_problem(problem)}", markup=False)
    if isinstance(problem, MaintenanceProblem) and not isinstance(plan, Policy):
        left_out = unplanned(problem, plan)
        if left_out:
            console.print(left_out, markup=False)
    with _shown_log(console):
        report = evaluate_plan(problem, plan, callback=LiveLog(console), **options)
    for line in plan_in_words(report):
        console.print(line, markup=False)
    if report.result is not None and report.result.status is not Status.OPTIMAL:
        console.print(report.result.summary(), style="dim", markup=False)


@cli.command(
    epilog="""
    coreplan check works.yaml
    coreplan check *.yaml --json
    """,
    short_help="Check that files hold sound problems.",
)
@click.argument("files", nargs=-1, required=True, type=click.Path())
@_json
def check(files: tuple[str, ...], as_json: bool) -> int:
    """Check that each of FILES holds a sound problem, and say what is wrong where."""
    reports = []
    for file in files:
        try:
            problem = read_problem(file)
        except FormatError as error:
            reports.append({"file": file, "ok": False, "problems": problem_dicts(error.problems)})
            if not as_json:
                print_error(str(error))
        else:
            reports.append({"file": file, "ok": True, "problems": []})
            if not as_json:
                kind = "mpp/1" if isinstance(problem, MaintenanceProblem) else "ti-mmdp/1"
                make_console().print(
                    f"{file}: ok, {kind}, {describe_problem(problem)}", markup=False
                )
    if as_json:
        _print_json(reports)
    return OK if all(report["ok"] for report in reports) else BAD_INPUT


@cli.command(
    epilog="""
    coreplan info works.yaml
    coreplan info works.yaml --no-merge --json
    """,
    short_help="Show how large a problem is.",
)
@_file
@_memory_limit
@_no_merge
@_json
def info(file: str, memory_limit: float | None, no_merge: bool, as_json: bool) -> None:
    """Show how large the problem in FILE is, before and after merging equivalent states."""
    problem = read_problem(file)
    compiled = compile_problem(
        problem, merge=not no_merge, limits=Limits(memory_limit=memory_limit)
    )
    if as_json:
        agents = [
            {
                "name": size.name,
                "local_states": size.states,
                "unrolled": size.unrolled,
                "transitions": size.transitions,
                "merged": size.merged if compiled.merged else None,
            }
            for size in compiled.sizes
        ]
        states = compiled.joint_states
        _print_json(
            {
                "problem": problem.name,
                "horizon": problem.horizon,
                "agents": agents,
                "joint_states": states if math.isfinite(states) else None,
                "interactions": compiled.interactions,
            }
        )
        return
    console = make_console()
    console.print(f"{problem.name}: {describe_problem(problem)}", markup=False)
    print_sizes(console, compiled)


@cli.command(
    epilog="""
    coreplan crg works.yaml
    coreplan crg works.yaml --merge --json
    coreplan crg works.yaml --agent Alpha --stages 0:2 --merge --rewards -o alpha.svg
    coreplan crg works.yaml --agent Alpha --stages 0:1 --naive -o grouping.svg
    """,
    short_help="Measure or draw the conditional return graphs.",
)
@_file
@click.option(
    "--agent",
    "agents",
    multiple=True,
    metavar="NAME",
    help="Only this agent's graph; may be given several times.",
)
@click.option(
    "--stages",
    type=StageRange(),
    help="Only from the states of one stage to those of another: 0:2.",
)
@click.option(
    "--assignment",
    type=click.Choice(ASSIGNMENTS),
    default="balanced",
    show_default=True,
    help="Who answers for which reward function.",
)
@click.option(
    "--definition",
    type=click.Choice(["lossless", "literal"]),
    default="lossless",
    show_default=True,
    help="The reading that keeps all rewards, or the printed definitions.",
)
@click.option(
    "--influence",
    type=click.Choice(["pairs", "features"]),
    help="Tell apart pairs of states (default), or what conditions see of them (default with "
    "--merge).",
)
@click.option("--merge", is_flag=True, help="Merge local states with the same future transitions.")
@click.option("--rewards", is_flag=True, help="In the picture: show rewards.")
@click.option("--bounds", is_flag=True, help="In the picture: show bounds [L, U] on returns.")
@click.option(
    "--naive", is_flag=True, help="In the picture: beside it the graph that groups nothing."
)
@click.option(
    "-o", "--output", type=click.Path(), metavar="FILE", help="Draw the graphs as SVG, to a file."
)
@_memory_limit
@_json
def crg(
    file: str,
    agents: tuple[str, ...],
    stages: tuple[int, int] | None,
    assignment: str,
    definition: str,
    influence: str | None,
    merge: bool,
    rewards: bool,
    bounds: bool,
    naive: bool,
    output: str | None,
    memory_limit: float | None,
    as_json: bool,
) -> None:
    """Measure or draw the conditional return graphs (CRGs) of the problem in FILE.

    Without -o: numbers of nodes and arcs by kind, beside those of the graph by the printed
    definitions and of the naive graph.
    """
    if output is not None:
        _check_writable(output, [file], "the picture", "--output")
    elif rewards or bounds or naive:
        raise click.UsageError("--rewards, --bounds and --naive are for pictures; add -o FILE")
    problem = read_problem(file)

    def build(reading: str) -> ConditionalReturnGraphs:
        return build_crgs(
            problem,
            assignment=assignment,
            definition=reading,
            influence=influence or ("features" if merge else "pairs"),
            merge=merge,
            limits=Limits(memory_limit=memory_limit),
        )

    crgs = build(definition)
    # Whether it can be drawn or not, names and stages have to exist.
    shown = [crgs[name] for name in dict.fromkeys(agents or crgs.indexed.agent_names)]
    first, last = stage_range(crgs, stages)
    if output is not None:
        names = [each.agent for each in shown]
        drawing = crgs.draw(names, (first, last), rewards=rewards, bounds=bounds, naive=naive)
        drawing.save(output)
    printed = build("literal") if as_json or output is None else crgs
    if as_json:
        _print_json(
            {
                "problem": problem.name,
                "stages": [first, last],
                "assignment": assignment,
                "definition": definition,
                "influence": crgs.influence,
                "merged": merge,
                "agents": [
                    crg_dict(crgs, each, first, last, printed[each.agent]) for each in shown
                ],
            }
        )
        return
    console = make_console()
    if output is not None:
        console.print(f"the picture is in {output}", markup=False)
        return
    console.print(f"{problem.name}: {describe_problem(problem)}", markup=False)
    for each in shown:
        print_crg(console, crgs, each, first, last, printed[each.agent])


@cli.command(
    name="schema",
    epilog="""
    coreplan schema mpp/1 > mpp.schema.json
    coreplan schema
    """,
    short_help="Print the JSON Schema of a format.",
)
@click.argument("format_name", metavar="[FORMAT]", required=False, type=click.Choice(list(FORMATS)))
def print_schema(format_name: str | None) -> None:
    """Print the JSON Schema of a FORMAT, or of all formats in one."""
    click.echo(json.dumps(schema(format_name), indent=2))


@cli.command(
    epilog="""
    coreplan trace small.yaml
    coreplan trace small.yaml -o search.svg
    coreplan trace works.yaml --stage 5 --state now.yaml --memo -o search.svg
    coreplan trace small.yaml --assignment "2=agent 2" --no-bounds --json
    """,
    short_help="Show the published search on a small problem.",
)
@_file
@click.option("--no-bounds", is_flag=True, help="Do not prune: CRG-PS instead of CoRe.")
@click.option("--memo", is_flag=True, help="Remember solved joint states; as printed, it does not.")
@_no_merge
@click.option(
    "--assignment",
    multiple=True,
    metavar="HOW",
    help="Who answers for which reward function: balanced (default), highest-degree, or K=AGENT "
    "for each function, by position from 0.",
)
@click.option(
    "--stage", type=click.IntRange(min=0), default=0, metavar="T", help="Start from this stage."
)
@click.option(
    "--state",
    "state_file",
    type=click.Path(),
    metavar="FILE",
    help="Start from where everybody stands: a file with a state for each agent.",
)
@click.option(
    "--most-states",
    type=click.IntRange(min=1, max=1_000_000),
    default=MOST_STATES,
    show_default=True,
    metavar="N",
    help="Refuse a search that looks at more joint states than this.",
)
@click.option(
    "-o", "--output", type=click.Path(), metavar="FILE", help="Draw the search into an SVG file."
)
@_json
def trace(
    file: str,
    no_bounds: bool,
    memo: bool,
    no_merge: bool,
    assignment: tuple[str, ...],
    stage: int,
    state_file: str | None,
    most_states: int,
    output: str | None,
    as_json: bool,
) -> None:
    """Show every joint state and joint action that the published search looks at in FILE.

    Prints a tree: what each joint action is bounded by, what was pruned and why, where agents were
    decoupled. With -o it is drawn instead.
    """
    if file == state_file == STANDARD_INPUT:
        raise click.UsageError("only one of FILE and --state can be the standard input (-)")
    if output is not None:
        sources = [file] if state_file is None else [file, state_file]
        _check_writable(output, sources, "the picture", "--output")
    problem = read_problem(file)
    search = trace_search(
        problem,
        bounds=not no_bounds,
        memo=memo,
        merge=not no_merge,
        assignment=_read_assignment(assignment),
        stage=stage,
        state=None if state_file is None else read_state(state_file, problem),
        most_states=most_states,
    )
    if output is not None:
        write_text(search.to_svg(), output)
    if as_json:
        _print_json(search.to_dict())
    elif output is None:
        click.echo(search.to_text(), nl=False)
    else:
        make_console().print(f"the search is drawn in {output}", markup=False)


def _read_assignment(given: tuple[str, ...]) -> Assignment:
    """One word for all reward functions, or an agent for each."""
    owners: dict[int, str] = {}
    for each in given:
        position, equals, agent = each.partition("=")
        if equals and position.isdecimal():
            owners[int(position)] = agent
        elif len(given) > 1 or equals:
            raise click.BadParameter(
                f"{each!r} is not K=AGENT, a position and a name, for instance '2=Alpha'",
                param_hint="'--assignment'",
            )
        else:
            return each
    return owners or "balanced"


@cli.command(
    epilog="""
    coreplan verify works.yaml works.certificate.json.gz
    coreplan verify works.yaml works.certificate.json.gz --json
    """,
    short_help="Recompute the bounds that a solver claims.",
)
@_file
@click.argument("certificate", type=click.Path())
@click.option(
    "--most-cells",
    type=click.IntRange(min=1),
    default=MOST_CELLS,
    show_default=True,
    metavar="N",
    help="Do not solve clusters with more joint states than this at a stage.",
)
@click.option(
    "--most-joint-states",
    type=click.IntRange(min=1),
    default=MOST_JOINT_STATES,
    show_default=True,
    metavar="N",
    help="Give up on a plan that leads to more joint states than this at a stage.",
)
@_json
def verify(
    file: str, certificate: str, most_cells: int, most_joint_states: int, as_json: bool
) -> int:
    """Recompute the bounds on the value of the problem in FILE that a CERTIFICATE claims.

    Nothing of the solvers takes part. Ends with 0 only if both claims are confirmed.
    """
    if file == certificate == STANDARD_INPUT:
        raise click.UsageError("only one of FILE and CERTIFICATE can be the standard input (-)")
    problem = read_problem(file)
    verification = verify_certificate(
        problem, certificate, most_cells=most_cells, most_joint_states=most_joint_states
    )
    if as_json:
        _print_json(verification.to_dict())
    else:
        console = make_console()
        console.print(f"{problem.name}: {describe_problem(problem)}", markup=False)
        console.print(str(verification), markup=False)
    return OK if verification.confirmed else NOT_CONFIRMED


@cli.command(
    epilog="""
    coreplan demo
    coreplan demo --json
    """,
    short_help="Solve a bundled example.",
)
@_json
def demo(as_json: bool) -> None:
    """Solve a bundled example: nine road works of four contractors on a ring road."""
    problem = read_problem(example_path("ring_road.yaml"))
    _solve_and_print(problem, as_json, None, algorithm=DEFAULT_ALGORITHM)


def example_path(name: str) -> Path:
    """Where a bundled example is: in the installed package or, else, in the source tree."""
    installed = Path(str(files("coreplan").joinpath("examples", name)))
    source = Path(__file__).parents[2] / "examples" / name
    return installed if installed.exists() else source


def main(arguments: list[str] | None = None) -> NoReturn:
    """Run the command line and exit.

    Exit codes: 0 with a result, 2 for bad input or usage, 3 if a limit struck before there was any
    result, 4 if a certificate's claims are not confirmed, 130 if interrupted, 1 for an internal
    error.
    """
    sys.exit(_run(arguments))


def _run(arguments: list[str] | None) -> int:
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # names may be beyond the terminal's encoding
            stream.reconfigure(errors="backslashreplace")
    try:
        code = cli.main(arguments, prog_name="coreplan", standalone_mode=False)
        if sys.stdout is not None:
            sys.stdout.flush()
        return code if isinstance(code, int) else OK
    except LimitError as error:
        print_error(str(error))
        return INTERRUPTED if error.reason == "interrupted" else LIMIT_STRUCK
    except CoreplanError as error:
        print_error(str(error))
        return BAD_INPUT
    except click.ClickException as error:
        error.show()
        return BAD_INPUT
    except (KeyboardInterrupt, click.Abort):
        print_error("interrupted")
        return INTERRUPTED
    except (BrokenPipeError, SystemExit):
        # Whoever read our output has had enough; click and rich then exit.
        drop_output()
        return OK
    except OSError as error:
        drop_output()
        print_error(f"the output cannot be written: {error.strerror or error}")
        return BAD_INPUT
    except Exception as error:
        print_error(f"internal error: {type(error).__name__}: {error}")
        print_error(
            "this is a mistake in coreplan; please report it with the problem file and what is "
            "printed with COREPLAN_DEBUG=1 in the environment"
        )
        if os.environ.get("COREPLAN_DEBUG"):
            traceback.print_exc()
        return INTERNAL_ERROR


if __name__ == "__main__":
    main()
