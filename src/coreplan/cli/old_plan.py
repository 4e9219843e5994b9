"""Options for an old plan that a new one should keep to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import wraps
from typing import Any

import click

from coreplan.cli.shared import AnyCallable, read_starting_plan
from coreplan.domains.maintenance.influence import check_maintenance_problem
from coreplan.domains.maintenance.old_starts import PricedProblem, start_changes, without_price
from coreplan.domains.maintenance.view.changes_text import changes_in_words
from coreplan.errors import FormatError, SolverError
from coreplan.files.reading import Document, read_document
from coreplan.model.calendar import Calendar
from coreplan.model.problem import PlanningProblem
from coreplan.policies.policy import Policy
from coreplan.solving.preference import OldStarts
from coreplan.support.checks import is_integer
from coreplan.support.language import say


def keep_options(command: AnyCallable) -> AnyCallable:
    """The options for an old plan, keep_file and change_cost, for :func:`read_kept`."""
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

    @wraps(command)
    def checked(*arguments: Any, **more: Any) -> Any:
        if more["change_cost"] is not None and more["keep_file"] is None:
            raise click.UsageError("--change-cost needs --keep OLD, the plan to keep to")
        return command(*arguments, **more)

    return keep(cost(checked))  # type: ignore[return-value]


@dataclass(frozen=True)
class Kept:
    """An old plan that the new one keeps to.

    Attributes
    ----------
    old
        The starts of the old plan.
    change_cost
        The cost of each step between an old and a new start; None if changes cost nothing.
    """

    old: OldStarts
    change_cost: float | None

    def priced(self, problem: PlanningProblem) -> PlanningProblem:
        """The problem in which changes cost money; without a price, the same problem."""
        if self.change_cost is None:
            return problem
        made = check_maintenance_problem(problem)
        return PricedProblem(**made.parts(), old=self.old, change_cost=self.change_cost)

    def lines(self, policy: Policy, calendar: Calendar | None) -> list[str]:
        """How much the plan changes the old one, and what the changes cost."""
        plan = without_price(policy)
        try:
            changes = start_changes(plan, self.old)
            value = None if self.change_cost is None else plan.evaluate()
        except SolverError as error:
            return [say("the changes of the old plan cannot be counted: {error}", error=error)]
        return changes_in_words(changes, self.change_cost, value, calendar)

    def to_dict(self, policy: Policy) -> dict[str, Any] | None:
        """The changes of the old plan for JSON; None if they cannot be counted."""
        try:
            changes = start_changes(without_price(policy), self.old)
        except SolverError:
            return None
        cost = 0.0 if self.change_cost is None else self.change_cost * changes.difference
        return changes.to_dict() | {"change_cost": self.change_cost, "cost": cost}


def read_kept(
    path: str | None,
    change_cost: float | None,
    problem: PlanningProblem,
    calendar: Calendar | None,
) -> Kept | None:
    """Read the old plan of ``--keep``; None without one."""
    if path is None:
        return None
    return Kept(read_old_starts(path, problem, calendar), change_cost)


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
