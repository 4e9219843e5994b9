"""``coreplan compare plan``: show what differs between two plans, and what that costs or saves."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import click

from coreplan.cli.inputs import Given, ListOptions, list_options
from coreplan.cli.language import language_options
from coreplan.cli.options import solver_options
from coreplan.cli.outputs import Outputs
from coreplan.cli.search_log import SearchLog
from coreplan.cli.shared import (
    Command,
    calendar_options,
    check_writable,
    json_option,
    memory_limit_option,
    print_json,
    read_starting_plan,
    standing_options,
    time_limit_option,
)
from coreplan.domains.maintenance.influence import check_maintenance_problem
from coreplan.domains.maintenance.plan_comparison import compare_plans
from coreplan.domains.maintenance.problem import MaintenanceProblem
from coreplan.domains.maintenance.report.comparison import comparison_report
from coreplan.domains.maintenance.view.comparison_text import comparison_lines
from coreplan.domains.maintenance.works.opening import PROBLEM_ENDINGS, FileContent, is_list
from coreplan.errors import ModelError
from coreplan.files.reading import STANDARD_INPUT, Document, read_bytes, read_document
from coreplan.model.calendar import Calendar
from coreplan.model.indexed import JointState
from coreplan.policies.policy import Policy
from coreplan.solving.result import Result
from coreplan.solving.solver import solve as solve_problem
from coreplan.support.interrupts import seconds_to_finish
from coreplan.support.language import say
from coreplan.view.plan_view import EXACT_SECONDS
from coreplan.view.terminal import make_console
from coreplan.view.words import describe_calendar, remark_on_start

PLANS = ("policy/1", "schedule/1")
"""The formats of files that are plans; a file without a format is a schedule."""


def _new_problem(parameters: Mapping[str, Any]) -> str:
    """The file of the new plan's problem, by the parameters of the command."""
    old, new = parameters["old"], parameters["new"]
    return old if new is None else _problem_files(old, new, parameters["problem_files"])[1]


@click.command(
    cls=Command,
    name="plan",
    epilog="""
    coreplan compare plan mine.yaml works.yaml
    coreplan compare plan march.yaml april.yaml
    coreplan compare plan mine.yaml best.json --problem works.yaml
    coreplan compare plan old.json works.yaml --problem works_in_march.yaml
    coreplan compare plan mine.yaml works.yaml -o compared.html --start-date 2026-03-02
    coreplan compare plan old.json works.yaml --stage 4 --state now.yaml
    coreplan compare plan works.xlsx --start-date 2026-03-02
    coreplan compare plan old.json works.xlsx --start-date 2026-03-02 --today 2026-04-27
    coreplan compare plan march.xlsx april.xlsx --start-date 2026-03-02 --must-complete
    """,
    short_help="Compare two plans: what moves, for whom, and what it costs or saves.",
)
@click.argument("old", type=click.Path())
@click.argument("new", type=click.Path(), required=False)
@click.option(
    "--problem",
    "problem_files",
    type=click.Path(),
    metavar="FILE",
    multiple=True,
    help="The problem of plans that are given as files; twice if OLD and NEW have different ones.  "
    "[default: the problem on the other side]",
)
@time_limit_option
@memory_limit_option
@solver_options("core", only=("threads",))
@standing_options("Compare the plans", default=None, calendar_of=_new_problem)
@calendar_options
@list_options()
@click.option(
    "-o",
    "--output",
    type=click.Path(),
    metavar="FILE",
    help="Write the comparison to this HTML file too.",
)
@click.option("--title", metavar="TEXT", help="Title of the HTML page.")
@click.option("--force", is_flag=True, help="Overwrite an existing HTML file.")
@language_options
@json_option
def compare_plan(
    old: str,
    new: str | None,
    problem_files: tuple[str, ...],
    time_limit: float | None,
    memory_limit: float | None,
    asked: dict[str, Any],
    stage: int | None,
    state_file: str | None,
    start_date: datetime.date | None,
    step: str | None,
    lists: ListOptions,
    output: str | None,
    title: str | None,
    force: bool,
    as_json: bool,
) -> int:
    """Compare the plans OLD and NEW: which works move, and what that costs or saves for whom.

    OLD and NEW are files: a schedule, a saved plan (--save-policy), or a problem or works list,
    which is solved. A schedule or saved plan belongs to the problem on the other side, or to
    --problem. A works list alone: its planned starts (OLD) against the best plan (NEW). With
    --stage and --state, or --today, both plans go on from this situation. The time limit is for
    each problem that is solved. Costs are exact expected values.
    """
    planned = new is None  # the starts in a works list
    if new is None:
        if problem_files:
            raise click.UsageError("--problem needs two plans: give OLD and NEW")
        new = old
    files = [old, new, *problem_files]
    files += [each for each in (lists.hindrance, state_file) if each is not None]
    if STANDARD_INPUT in files:
        raise click.UsageError("all inputs must be files, not the standard input (-)")
    if output is not None:
        check_writable(output, files, "the comparison", "--output")
        if Path(output).is_file() and not force:
            raise click.BadParameter(
                f"{output!r} already exists; add --force to overwrite it", param_hint="'--output'"
            )
    problems = (old, old) if planned else _problem_files(old, new, problem_files)
    # The calendar of the new plan: the old one may have begun before.
    console = make_console()
    inputs = {path: lists.read(path, start_date, step) for path in dict.fromkeys(problems)}
    read = {path: _Beginning.of(each, stage, state_file) for path, each in inputs.items()}
    calendar = inputs[problems[1]].calendar
    starts = None
    if planned:
        works = inputs[old].works
        if works is None:
            raise click.UsageError(
                f"{old} is one plan or problem; give the other one as NEW (only a works list with "
                "planned starts can stand alone)"
            )
        starts = read[old].policy(works.schedule())
    old_name, new_name = map(_describe, (old, new), problems)
    if planned:
        old_name = say("the planned starts in {list}", list=old)
    if not as_json:
        console.print(say("old: {plan}", plan=old_name), markup=False)
        console.print(say("new: {plan}", plan=new_name), markup=False)
        if calendar is not None:
            console.print(describe_calendar(calendar), markup=False)
    options: dict[str, Any] = {"time_limit": time_limit, "memory_limit": memory_limit, **asked}
    # Mistakes in plans are reported before the long work.
    given = [
        read[problem].read_plan(path) if path != problem else None
        for path, problem in zip((old, new), problems, strict=True)
    ]
    if planned:
        given[0] = starts
    plans = [
        read[problem].solve(console, options, as_json) if plan is None else plan
        for plan, problem in zip(given, problems, strict=True)
    ]
    # After Ctrl-C, only what can be computed in a moment.
    left = min(EXACT_SECONDS, seconds_to_finish() / 2)
    comparison = compare_plans(plans[0], plans[1], time_limit=left)
    outputs = Outputs()
    if not as_json:
        with outputs.one("the comparison"):
            remark = remark_on_start(comparison.new.problem, comparison.new.policy, calendar)
            if remark:
                console.print(remark, markup=False)
            console.print()
            for line in comparison_lines(comparison, console.width, calendar):
                console.print(line)
    if output is not None:
        with outputs.one(f"the comparison in {output}"):
            names = (old_name, new_name)
            page = comparison_report(comparison, calendar=calendar, title=title, names=names)
            page.save(output)
            if not as_json:
                console.print(say("the comparison is in {file}", file=output), markup=False)
    if as_json:
        head = {"calendar": None if calendar is None else calendar.to_dict(), "page": output}
        print_json(comparison.to_dict() | head)
    return outputs.code


def _problem_files(old: str, new: str, given: tuple[str, ...]) -> tuple[str, str]:
    """The file of the problem of each plan; the plan's own file if that is a problem."""
    plans = [path for path in (old, new) if _is_plan(path)]
    if len(given) > len(plans):
        what = "is a problem" if len(plans) == 1 else "are problems"
        which = " and ".join(path for path in (old, new) if path not in plans)
        raise click.UsageError(
            f"--problem is given {len(given)} times for {len(plans)} plans; {which} {what} already"
            if plans
            else f"{which} are problems already; leave out --problem"
        )
    if not plans:
        return old, new
    if len(plans) == 2:
        if not given:
            raise click.UsageError(
                f"{old} and {new} are plans; name their problem with --problem FILE"
            )
        return given[0], given[-1]
    if plans == [old]:
        return (given[0] if given else new), new
    return old, (given[0] if given else old)


def _is_plan(path: str) -> bool:
    """Whether a file is a plan, not a problem or works list."""
    if Path(path).suffix.lower() not in PROBLEM_ENDINGS and is_list(FileContent(*read_bytes(path))):
        return False

    def look(document: Document) -> bool:
        members = document.root if isinstance(document.root, dict) else {}
        form = members.get("format")
        return form in PLANS or not isinstance(form, str)

    return read_document(path, look)


def _describe(path: str, problem: str) -> str:
    """A plan by its file, for people."""
    if path == problem:
        return say("the best plan for {problem}", problem=path)
    return say("{file}, a plan for {problem}", file=path, problem=problem)


class _Beginning(NamedTuple):
    """A problem with the situation from which its plans go on.

    The stage is None if that is the start of the problem.
    """

    problem: MaintenanceProblem
    calendar: Calendar | None
    stage: int | None
    state: JointState | None

    @classmethod
    def of(cls, given: Given, stage: int | None, state_file: str | None) -> _Beginning:
        """The situation that the options or the progress in a works list describe."""
        problem = check_maintenance_problem(given.problem)
        return cls(problem, given.calendar, *given.situation(stage, state_file))

    def policy(self, plan: Mapping[str, Any]) -> Policy:
        """The plan that a schedule describes."""
        return self.problem.read_plan(plan, stage=self.stage or 0, state=self.state)

    def read_plan(self, path: str) -> Policy:
        """Read a schedule or a saved plan."""
        at = (self.stage or 0, self.state)
        plan = read_starting_plan(path, self.problem, self.calendar, *at)
        if not isinstance(plan, Policy):
            return self.policy(plan)
        return plan if self.stage is None else plan.starting_from(*at)

    def solve(self, console: Any, options: dict[str, Any], quiet: bool) -> Result:
        """Find the best plan."""
        options = {**options, "stage": self.stage or 0, "state": self.state}
        if quiet:
            result = solve_problem(self.problem, **options)
        else:
            with SearchLog(console, self.problem, verbose=False).shown() as callback:
                result = solve_problem(self.problem, callback=callback, **options)
        if result.policy is None:
            raise ModelError(f"no plan was found for {self.problem.name}")
        return result
