"""A plan for the terminal, and the same for machines; each domain may have its own."""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import singledispatch
from typing import TYPE_CHECKING, Any, Protocol

from coreplan.analysis.tree import PlanTree, plan_tree
from coreplan.errors import SolverError
from coreplan.model.calendar import Calendar
from coreplan.model.problem import PlanningProblem
from coreplan.policies.policy import Policy
from coreplan.support.interrupts import seconds_to_finish
from coreplan.view.plan_text import CUT, tree_in_words
from coreplan.view.words import count, speech

if TYPE_CHECKING:
    from rich.console import RenderableType

EXACT_SECONDS = 60.0
"""That exact values may take before they count as out of reach."""
ESTIMATE_RUNS = 10_000
HURRIED_RUNS = 500
"""Runs of the simulation where exact values are out of reach; the latter after Ctrl-C."""
MOST_NODES = 40
"""Of the tree of what may happen."""


class PlanView(Protocol):
    """A plan, ready to be shown."""

    def lines(
        self, width: int, encoding: str | None, calendar: Calendar | None, most_rules: int
    ) -> Iterable[RenderableType]:
        """What to print, for a terminal of some width and encoding."""

    def to_dict(self) -> dict[str, Any]:
        """The same as plain values; what is out of reach is null."""


class GeneralView:
    """What is done first and what then, depending on what happens; and what that is worth."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        left = seconds_to_finish()
        self._tree: PlanTree = plan_tree(policy, most_nodes=MOST_NODES)
        self._value: float | None = None
        self._estimate = None
        try:
            self._value = policy.evaluate(time_limit=min(EXACT_SECONDS, left / 2))
        except SolverError:
            runs = ESTIMATE_RUNS if math.isinf(left) else HURRIED_RUNS
            self._estimate = policy.estimate(runs, seed=1)

    def lines(
        self, width: int, encoding: str | None, calendar: Calendar | None, most_rules: int
    ) -> Iterable[RenderableType]:
        """The tree, and the value."""
        yield from tree_in_words(self._tree)
        if not self._tree.complete:
            yield CUT
        yield ""
        speak = speech(self._policy.problem)
        if self._value is not None:
            yield f"the plan {speak.is_expected(self._value)}"
        elif self._estimate is not None:
            yield (
                f"estimated from {count(self._estimate.runs, 'run')}, not exact: a value of about "
                f"{speak.number(self._estimate.mean)}"
            )

    def to_dict(self) -> dict[str, Any]:
        """Value and tree as plain values."""
        estimate = self._estimate
        return {
            "exact": self._value is not None,
            "value": self._value,
            "estimate": None if estimate is None else estimate.to_dict(),
            "tree": self._tree.to_dict(),
            "covered": self._tree.covered,
        }


@singledispatch
def view_plan(problem: PlanningProblem, policy: Policy) -> PlanView:
    """A plan, ready to be shown; a domain may register its own."""
    return GeneralView(policy)
