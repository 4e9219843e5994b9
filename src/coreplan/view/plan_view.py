"""Plans as ``coreplan plan`` shows them: as lines for people, as plain values for programs."""

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
from coreplan.support.language import say, say_marked
from coreplan.view.plan_text import CUT, tree_in_words
from coreplan.view.words import speech

if TYPE_CHECKING:
    from rich.console import RenderableType

EXACT_SECONDS = 60.0
"""The longest time to compute an exact value; after it the value is estimated."""
ESTIMATE_RUNS = 10_000
HURRIED_RUNS = 500
"""Simulated runs where exact values are out of reach; the smaller number after Ctrl-C."""
MOST_NODES = 40
"""The most nodes of the plan tree that are shown."""


class PlanView(Protocol):
    """A plan, computed as far as it is shown."""

    def lines(
        self, width: int, encoding: str | None, calendar: Calendar | None, most_rules: int
    ) -> Iterable[RenderableType]:
        """Print for a terminal of this width and encoding."""

    def to_dict(self) -> dict[str, Any]:
        """Return plain values; a value that could not be computed is None."""


class GeneralView:
    """The plan tree and the value, for problems without a view of their own."""

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
        """Print the tree, then the value."""
        yield from tree_in_words(self._tree)
        if not self._tree.complete:
            yield say_marked(CUT)
        yield ""
        speak = speech(self._policy.problem)
        if self._value is not None:
            yield say("the plan {is_worth}", is_worth=speak.is_expected(self._value))
        elif self._estimate is not None:
            yield say("the plan {is_worth}", is_worth=speak.is_about(self._estimate))

    def to_dict(self) -> dict[str, Any]:
        """Return the value and the tree as plain values."""
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
    """Compute what to show of a plan; a domain may register its own view."""
    return GeneralView(policy)
