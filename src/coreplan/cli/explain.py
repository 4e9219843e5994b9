"""``coreplan explain``: explain a decision of a plan."""

from __future__ import annotations

import datetime
from typing import Any

import click

from coreplan.cli.inputs import ListOptions, list_options
from coreplan.cli.language import language_options
from coreplan.cli.sensitivity import sensitivity
from coreplan.cli.shared import (
    Command,
    calendar_options,
    file_argument,
    json_option,
    memory_limit_option,
    print_former,
    print_json,
    time_limit_option,
)
from coreplan.cli.which_plan import WhichPlan, which_plan_options
from coreplan.solving.solver import solve as solve_problem
from coreplan.view.explanation_text import explanation_in_words
from coreplan.view.terminal import make_console
from coreplan.view.words import describe_problem

EXPLAIN_SECONDS = 10.0
"""Seconds for the values of other actions if no time limit is given."""


FORMER = ("--only", "--relax", "--top", "--threads")
"""Options of the command that had this name before and is now ``coreplan sensitivity``."""


class ExplainCommand(Command):
    """Passes former options on to the command that has them now."""

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,
    ) -> click.Context:
        """Read the arguments; former options are read by the other command."""
        if any(each.partition("=")[0] in FORMER for each in args):
            print_former("coreplan explain with these options", "coreplan sensitivity")
            return sensitivity.make_context(sensitivity.name, args, parent, **extra)
        return super().make_context(info_name, args, parent, **extra)


@click.command(
    cls=ExplainCommand,
    epilog="""
    coreplan explain works.yaml
    coreplan explain works.yaml --policy plan.json --stage 4 --state now.yaml
    coreplan explain works.yaml --agent Alpha --json
    """,
    short_help="Explain a decision of a plan: why this, and what else could be done.",
)
@file_argument
@which_plan_options("Explain the decision")
@click.option(
    "--agent",
    "agents",
    multiple=True,
    metavar="NAME",
    help="Show what else this agent could do; may be repeated.  [default: all agents]",
)
@time_limit_option
@memory_limit_option
@calendar_options
@list_options()
@language_options
@json_option
def explain(
    file: str,
    which: WhichPlan,
    agents: tuple[str, ...],
    time_limit: float | None,
    memory_limit: float | None,
    start_date: datetime.date | None,
    step: str | None,
    lists: ListOptions,
    as_json: bool,
) -> None:
    """Explain one decision of the best plan for the problem in FILE, or of a given plan.

    FILE may be a works list. The explanation shows what the plan does in the current state (by
    default, at the start), which other actions are possible this once, what each would be worth,
    and which rewards make the difference.
    """
    which.sources(file, lists.hindrance)
    given = lists.read(file, start_date, step)
    problem, plan = given.problem, which.read(given)
    policy = plan.policy
    if policy is None:
        limits: dict[str, Any] = {"time_limit": time_limit, "memory_limit": memory_limit}
        result = solve_problem(problem, **plan.beginning, **limits)
        assert result.policy is not None
        policy = result.policy
    explanation = policy.explain(
        policy.stage,
        agents=agents or None,
        time_limit=EXPLAIN_SECONDS if time_limit is None else time_limit,
    )
    if as_json:
        print_json(explanation.to_dict())
        return
    console = make_console()
    console.print(f"{problem.name}: {describe_problem(problem)}", markup=False)
    for line in explanation_in_words(explanation, given.calendar):
        console.print(line, markup=False)
