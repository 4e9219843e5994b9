"""Options for an old plan that a new one should keep to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any

import click

from coreplan.cli.shared import AnyCallable, read_starting_plan
from coreplan.domains.maintenance.influence import check_maintenance_problem
from coreplan.domains.maintenance.old_starts import PricedProblem
from coreplan.errors import FormatError
from coreplan.files.reading import Document, read_document
from coreplan.model.calendar import Calendar
from coreplan.model.problem import PlanningProblem
from coreplan.policies.policy import Policy
from coreplan.solving.preference import OldStarts
from coreplan.support.checks import is_integer


def keep_options(*, price: bool) -> Callable[[AnyCallable], AnyCallable]:
    """The options for an old plan: keep_file and, with `price`, change_cost."""
    keep = click.option(
        "--keep",
        "keep_file",
        type=click.Path(),
        metavar="OLD",
        help="Of equally good plans, choose the one that changes least from this plan: a schedule, "
        "or a saved plan for the same problem.",
    )
    cost = click.option(
        "--change-cost",
        type=click.FloatRange(min=0, min_open=True),
        metavar="X",
        help="With --keep: every step between the old and the new start of a work costs this much, "
        "and the plan is the best one with these costs.",
    )

    def add(command: AnyCallable) -> AnyCallable:
        if not price:
            return keep(command)

        @wraps(command)
        def checked(*arguments: Any, **more: Any) -> Any:
            if more["change_cost"] is not None and more["keep_file"] is None:
                raise click.UsageError("--change-cost needs --keep OLD, the plan to keep to")
            return command(*arguments, **more)

        return keep(cost(checked))  # type: ignore[return-value]

    return add


def read_old_starts(
    path: str, problem: PlanningProblem, calendar: Calendar | None = None
) -> OldStarts:
    """Read the starts of an old plan for a problem, which may have changed since.

    A schedule may have starts that are impossible by now, and works that the problem does not have
    any more. A saved plan gives the starts if nothing is delayed.

    Raises
    ------
    FormatError
        If the file is neither a schedule nor a saved plan for this problem.
    """
    check_maintenance_problem(problem)
    try:
        plan = read_starting_plan(path, problem, calendar, 0, None)
    except FormatError as error:
        loose = read_document(path, _loose_starts)
        if loose is None:
            raise error from None
        return loose
    return plan.schedule().to_schedule() if isinstance(plan, Policy) else plan


def _loose_starts(document: Document) -> OldStarts | None:
    """Starts of works, whether they are possible or not; None if the document has no starts."""
    members = document.root if isinstance(document.root, dict) else {}
    form = members.get("format", "schedule/1")
    if isinstance(form, str):
        if form != "schedule/1":
            return None
        members = {name: each for name, each in members.items() if name != "format"}
    for each in members.values():
        if not isinstance(each, dict) or not all(map(is_integer, each.values())):
            return None
    starts: Mapping[str, Mapping[str, int]] = members
    return {
        name: {work: int(step) for work, step in planned.items()}
        for name, planned in starts.items()
    }


def priced(
    problem: PlanningProblem, old: OldStarts | None, change_cost: float | None
) -> PlanningProblem:
    """The problem in which changes of an old plan cost money; without a price, the same problem."""
    if change_cost is None or old is None:
        return problem
    made = check_maintenance_problem(problem)
    return PricedProblem(**made.parts(), old=old, change_cost=change_cost)
