"""The starts of an old plan: how much a new plan changes them, and a price for every change."""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from coreplan.domains.maintenance.planned import planned_schedule
from coreplan.domains.maintenance.problem import MaintenanceProblem
from coreplan.errors import ModelError
from coreplan.model.indexed import IndexedCondition, IndexedEntry, IndexedProblem, JointState
from coreplan.model.problem import Guard, index_problem, no_limits
from coreplan.policies.evaluation import evaluate_policy
from coreplan.policies.policy import Policy
from coreplan.solving.preference import OldStarts
from coreplan.support.checks import found, is_number
from coreplan.support.frozen import FrozenMapping

CHANGES = "changes"
"""The kind of the reward entries for changed starts."""


@dataclass(frozen=True)
class PricedProblem(MaintenanceProblem):
    """A maintenance problem in which starting a work at another step than before costs money.

    It is written to files, and named in saved plans, like the problem without this price.

    Parameters
    ----------
    old
        The starts of the old plan: contractor → work → step. Works that it does not name may start
        at any time for nothing; names that the problem does not have are ignored.
    change_cost
        The cost of each step between the old and the new start of a work. A work that never starts
        costs nothing.

    Examples
    --------
    >>> from coreplan import Contractor, Task, solve
    >>> alpha = Contractor("Alpha", (Task("a1", 1, cost=[5, 4, 1], revenue=9),))
    >>> for price in (1, 2):
    ...     priced = PricedProblem((alpha,), 3, old={"Alpha": {"a1": 0}}, change_cost=price)
    ...     result = solve(priced)
    ...     print(result.value, result.policy.schedule().to_schedule())
    6.0 {'Alpha': {'a1': 2}}
    4.0 {'Alpha': {'a1': 0}}
    """

    old: OldStarts = field(default_factory=FrozenMapping)
    change_cost: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not is_number(self.change_cost) or not 0 <= self.change_cost < math.inf:
            raise ModelError(
                f"the cost of a changed step is {found(self.change_cost)}; expected a number of "
                "at least 0"
            )
        frozen = {name: FrozenMapping(dict(starts)) for name, starts in self.old.items()}
        object.__setattr__(self, "old", FrozenMapping(frozen))

    def index(
        self,
        *,
        history: bool = False,
        stage: int = 0,
        state: JointState | None = None,
        guard: Guard = no_limits,
    ) -> IndexedProblem:
        """Translate into numbers, with the price of changes as own rewards of the contractors."""
        indexed = super().index(history=history, stage=stage, state=state, guard=guard)
        return _with_changes(indexed, self.old, self.change_cost, keep_entries=True)

    @property
    def plain(self) -> MaintenanceProblem:
        """The problem without a price for changes."""
        return MaintenanceProblem(**self.parts())


@dataclass(frozen=True)
class StartChanges:
    """How much a plan changes the starts of an old plan.

    Attributes
    ----------
    moved, kept
        The number of works of the old plan that are planned for another step, or not at all, and
        the number of those that are planned for the same step; both without delays.
    difference
        The exact expected sum of the steps between all old and new starts.
    """

    moved: int
    kept: int
    difference: float

    def to_dict(self) -> dict[str, Any]:
        """Return all parts as plain values, for JSON."""
        return {"moved": self.moved, "kept": self.kept, "difference": self.difference}


def start_changes(policy: Policy, old: OldStarts) -> StartChanges:
    """Compute how much a plan changes the starts of an old plan.

    Works that are done or under way when the plan begins do not count; neither does a work in
    courses in which it never starts.

    Raises
    ------
    SolverError
        If the exact value is out of reach.
    """
    course = planned_schedule(policy)
    new = {(each.contractor, each.task): each.start for each in course.works}
    begun = {(each.contractor, each.task) for each in course.works if each.under_way}
    done = {
        (name, task)
        for name, state in course.states[0].items()
        for task in getattr(state, "done", ())
    }
    assert isinstance(policy.problem, MaintenanceProblem)
    names = {
        (contractor.name, task.name)
        for contractor in policy.problem.contractors
        for task in contractor.tasks
    }
    same = [
        new.get((contractor, work)) == step
        for contractor, starts in old.items()
        for work, step in starts.items()
        if (contractor, work) in names - begun - done
    ]
    counted = copy.copy(policy)
    counted.indexed = _with_changes(policy.indexed, old, 1.0, keep_entries=False)
    return StartChanges(same.count(False), same.count(True), 0.0 - evaluate_policy(counted))


def without_price(policy: Policy) -> Policy:
    """Transfer a policy of a priced problem to the plain one: its states are the same."""
    problem = policy.problem
    if not isinstance(problem, PricedProblem):
        return policy
    start = policy.indexed.name_state([agent.start for agent in policy.indexed.agents])
    return Policy(
        problem.plain,
        index_problem(problem.plain, history=policy.history, stage=policy.stage, state=start),
        policy.maps,
        policy.teams,
        policy.local,
        history=policy.history,
        groups=policy.groups,
        ahead=policy.ahead,
    )


def _with_changes(
    indexed: IndexedProblem, old: OldStarts, price: float, *, keep_entries: bool
) -> IndexedProblem:
    """A problem with a cost for each step between the old and the new start of a work."""
    entries = list(indexed.entries) if keep_entries else []
    agents = []
    for i, agent in enumerate(indexed.agents):
        conditions = list(agent.conditions)
        planned: Mapping[str, int] = old.get(agent.name, {})
        for action, task in enumerate(agent.tasks):
            if task is None or task not in planned:
                continue
            member = (i, len(conditions))
            conditions.append(IndexedCondition(None, [action], None))
            for stage in range(indexed.stage, indexed.horizon):
                cost = price * abs(stage - planned[task])
                if cost:
                    subject = f"{agent.name}/{task}"
                    made = IndexedEntry(
                        (member,), -cost, (stage,), len(indexed.functions), CHANGES, subject
                    )
                    entries.append(made)
        agents.append(replace(agent, conditions=conditions))
    functions = (*indexed.functions, "changes of starts")
    aggregates = indexed.aggregates if keep_entries else []
    return replace(
        indexed, agents=agents, entries=entries, functions=functions, aggregates=aggregates
    )
