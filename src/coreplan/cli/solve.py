"""``coreplan solve``: find an optimal plan."""

from __future__ import annotations

import datetime
from typing import Any

import click

from coreplan.cli.inputs import ListOptions, list_options
from coreplan.cli.language import language_options
from coreplan.cli.old_plan import Kept, keep_options, read_kept
from coreplan.cli.options import solver_options
from coreplan.cli.outputs import Outputs
from coreplan.cli.search_log import SearchLog, verbose_option
from coreplan.cli.shared import (
    Command,
    calendar_options,
    check_one_input,
    check_writable,
    file_argument,
    json_option,
    memory_limit_option,
    print_json,
    read_starting_plan,
    save_policy_option,
    standing_options,
    time_limit_option,
)
from coreplan.model.calendar import Calendar
from coreplan.solving.compile import AnyProblem
from coreplan.solving.registry import ALGORITHMS
from coreplan.solving.result import Result
from coreplan.solving.solver import DEFAULT_ALGORITHM
from coreplan.solving.solver import solve as solve_problem
from coreplan.support.language import say
from coreplan.support.version import __version__
from coreplan.view.terminal import check_printed, make_console
from coreplan.view.words import (
    describe_calendar,
    describe_problem,
    first_steps,
    numbered,
    remark_on_start,
    total_in_words,
)


@click.command(
    cls=Command,
    epilog="""
    coreplan solve works.yaml
    coreplan solve works.yaml --time-limit 60 --memory-limit 4G --save-policy plan.json
    coreplan solve works.yaml --json > result.json
    coreplan solve works.yaml --stage 7 --state now.yaml
    coreplan solve works.yaml --certificate proof.json.gz
    coreplan solve works.yaml --start schedule.yaml --time-limit 60
    cat works.yaml | coreplan solve -
    coreplan solve works.csv --hindrance hindrance.csv --horizon 26 --must-complete
    """,
    short_help="Find the best plan; with the options of all algorithms.",
)
@file_argument
@click.option(
    "--algorithm",
    type=click.Choice(list(ALGORITHMS)),
    default=DEFAULT_ALGORITHM,
    show_default=True,
    help="The algorithm: our own engine, dynamic programming on tables or on decision "
    "diagrams, one of the paper's searches, or `dec-mdp` for agents that see only their own "
    "state.",
)
@time_limit_option
@memory_limit_option
@solver_options()
@standing_options("Plan")
@keep_options
@click.option(
    "--start",
    "start_file",
    type=click.Path(),
    metavar="FILE",
    help="Let `core` start from an existing plan, a policy/1 file or a schedule, for instance "
    "'Alpha: {a1: 0, a2: 4}'. The result is never worse.",
)
@save_policy_option
@click.option(
    "--certificate",
    type=click.Path(),
    metavar="FILE",
    help="Write a proof of both bounds to this file, for `coreplan verify` (.gz: compressed).",
)
@calendar_options
@list_options()
@verbose_option
@language_options
@json_option
def solve(
    file: str,
    algorithm: str,
    time_limit: float | None,
    memory_limit: float | None,
    asked: dict[str, Any],
    stage: int,
    state_file: str | None,
    keep_file: str | None,
    change_cost: float | None,
    start_file: str | None,
    save_policy: str | None,
    certificate: str | None,
    start_date: datetime.date | None,
    step: str | None,
    lists: ListOptions,
    verbose: bool,
    as_json: bool,
) -> int:
    """Find an optimal plan for the problem or works list in FILE (- for the standard input).

    Ctrl-C stops with the best plan so far; a second Ctrl-C ends at once.
    """
    inputs = {"FILE": file, "--state": state_file, "--start": start_file, "--keep": keep_file}
    inputs["--hindrance"] = lists.hindrance
    check_one_input(inputs)
    if certificate is not None and change_cost is not None:
        raise click.UsageError(
            "--certificate proves bounds of the problem in FILE, which has no costs of changes; "
            "leave out --change-cost"
        )
    sources = [each for each in inputs.values() if each is not None]
    if save_policy is not None:
        check_writable(save_policy, sources)
    if certificate is not None:
        check_writable(certificate, sources, "the certificate", "--certificate")
    given = lists.read(file, start_date, step)
    problem, calendar = given.problem, given.calendar
    at, state = given.situation(stage, state_file)
    if start_file is not None:
        asked["start"] = read_starting_plan(start_file, problem, calendar, at or 0, state)
    kept = read_kept(keep_file, change_cost, problem, calendar)
    if kept is not None:
        asked["keep"] = kept.old
    return solve_and_print(
        problem if kept is None else kept.priced(problem),
        as_json,
        save_policy,
        certificate,
        calendar,
        kept,
        # The choice of an algorithm is a researcher's.
        verbose=verbose or algorithm != DEFAULT_ALGORITHM,
        algorithm=algorithm,
        time_limit=time_limit,
        memory_limit=memory_limit,
        stage=at,
        state=state,
        **asked,
    )


def solve_and_print(
    problem: AnyProblem,
    as_json: bool,
    save_policy: str | None = None,
    certificate: str | None = None,
    calendar: Calendar | None = None,
    kept: Kept | None = None,
    verbose: bool = False,
    **options: Any,
) -> int:
    """Solve a problem, print the result, and write the requested files.

    Returns the exit code.
    """
    outputs = Outputs()
    if certificate is not None:
        options["certificate"] = True
    if as_json:
        result = solve_problem(problem, **options)
        with outputs.one("the result"):
            known = result.to_dict()
            if kept is not None and result.policy is not None:
                known |= {"changes": kept.to_dict(result.policy)}
            print_json(known)
        _save(outputs, result, save_policy, certificate)
        return outputs.code
    console = make_console(patient=save_policy is not None or certificate is not None)
    log = SearchLog(console, problem, verbose)
    if log.technical:
        console.print(f"[bold]coreplan {__version__}[/]  {options['algorithm']}")
    console.print(f"{problem.name}: {describe_problem(problem)}", markup=False)
    if calendar is not None:
        console.print(describe_calendar(calendar), markup=False)
    with log.shown() as callback:
        result = solve_problem(problem, callback=callback, **options)
    with outputs.one("the result"):
        log.summary(result)
        remarks = [total_in_words(problem, result.value)]
        if result.policy is not None:
            remarks.append(remark_on_start(problem, result.policy, calendar))
        if result.policy is not None and kept is not None:
            remarks += kept.lines(result.policy, calendar)
        for remark in filter(None, remarks):
            console.print(remark, markup=False)
        if result.policy is not None:
            console.print(say("What to do first:"))
            console.print(numbered(first_steps(result.policy, calendar)), markup=False)
        check_printed(console)
    for saved in _save(outputs, result, save_policy, certificate):
        with outputs.one("the result"):
            console.print(saved, markup=False)
    return outputs.code


def _save(
    outputs: Outputs, result: Result, save_policy: str | None, certificate: str | None
) -> list[str]:
    """Write the requested files, the plan first, and print their paths."""
    said = []
    if save_policy is not None and result.policy is not None:
        with outputs.one(f"the plan in {save_policy}"):
            result.policy.save(save_policy)
            said.append(say("the plan is in {file}", file=save_policy))
    if certificate is not None:
        with outputs.one(f"the certificate in {certificate}", hurried=True):
            result.save_certificate(certificate)
            said.append(say("the certificate is in {file}", file=certificate))
    return said
