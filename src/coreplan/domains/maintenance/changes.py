"""Changes that make a maintenance problem easier: one rule, window or delay removed or halved."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from typing import Any

from coreplan.domains.maintenance.parts import Contractor, Cost, Delay, Hindrance, Task
from coreplan.domains.maintenance.problem import MaintenanceProblem

KINDS = ("hindrance", "windows", "delays")
"""The kinds of changes: of hindrance rules, and of windows and delays of tasks."""


@dataclass(frozen=True)
class Change:
    """A rule, window or delay of a problem, before and after it is removed or relaxed.

    Attributes
    ----------
    kind
        ``hindrance``, ``windows`` or ``delays``.
    tasks
        The tasks of the rule, or the task with the window or delay: ``Alpha/a1``.
    before, after
        The hindrance rule or the task; `after` is None for a removed rule.
    place
        The position of the rule in the network, or of the contractor and the task.
    never_worse
        Whether the best plan afterwards is certainly worth at least as much.
    """

    kind: str
    tasks: tuple[str, ...]
    before: Hindrance | Task
    after: Hindrance | Task | None
    place: tuple[int, ...]
    never_worse: bool

    @property
    def is_nothing(self) -> bool:
        """Whether the change has no effect."""
        return self.after == self.before

    @property
    def part(self) -> float:
        """The share of a hindrance rule's cost that is removed."""
        return 1.0 if self.after is None else 0.5

    def apply(self, problem: MaintenanceProblem) -> MaintenanceProblem:
        """Return the changed problem."""
        if isinstance(self.after, Task):
            contractors = list(problem.contractors)
            contractors[self.place[0]] = self._contractor(problem)
            return replace(problem, contractors=tuple(contractors))
        network = list(problem.network)
        network[self.place[0] : self.place[0] + 1] = [] if self.after is None else [self.after]
        return replace(problem, network=tuple(network))

    def apply_alone(self, problem: MaintenanceProblem) -> MaintenanceProblem:
        """Return the changed problem of the task's contractor alone."""
        return replace(problem, contractors=(self._contractor(problem),), network=())

    def _contractor(self, problem: MaintenanceProblem) -> Contractor:
        assert isinstance(self.after, Task)
        contractor, task = self.place
        who = problem.contractors[contractor]
        return Contractor(who.name, (*who.tasks[:task], self.after, *who.tasks[task + 1 :]))

    def to_dict(self) -> dict[str, Any]:
        """Return the kind, tasks and place as plain values."""
        entry = self.place[0] if self.kind == "hindrance" else None
        return {"kind": self.kind, "tasks": list(self.tasks), "entry": entry}


def find_changes(
    problem: MaintenanceProblem, kinds: Collection[str], relax: bool = False
) -> list[Change]:
    """Find all rules, windows and delays that can be removed or relaxed, in the problem's order.

    Relaxing halves the cost of a rule, widens a window by one step on both sides, or halves the
    chance of a delay.
    """
    changes: list[Change] = []
    if "hindrance" in kinds:
        for k, rule in enumerate(problem.network):
            less = replace(rule, cost=_halve(rule.cost)) if relax else None
            after = less if any(_costs(rule.cost)) else rule
            costs = _is_a_cost(rule.cost)
            changes.append(Change("hindrance", tuple(rule.tasks), rule, after, (k,), costs))
    for i, contractor in enumerate(problem.contractors):
        for j, task in enumerate(contractor.tasks):
            name = f"{contractor.name}/{task.name}"
            if "windows" in kinds and task.window is not None:
                wider = _widen(task, task.window, problem.horizon, relax)
                # All plans from before are still possible.
                changes.append(Change("windows", (name,), task, wider, (i, j), True))
            if "delays" in kinds and task.delay is not None and task.delay.probability > 0:
                rarer = Delay(task.delay.probability / 2, task.delay.duration) if relax else None
                # Without the delay a contractor can wait as long: this is no worse if work and
                # hindrance cost money, and the end of a work does not.
                rules = [rule.cost for rule in problem.network if name in rule.tasks]
                costs = task.revenue >= 0 and all(map(_is_a_cost, (task.cost, *rules)))
                freed = replace(task, delay=rarer)
                changes.append(Change("delays", (name,), task, freed, (i, j), costs))
    return changes


def _widen(task: Task, window: tuple[int, int], horizon: int, relax: bool) -> Task:
    """Widen or remove the window of a task; the same task if this has no effect."""
    first, last = window
    if first == 0 and last >= horizon - 1:
        return task
    return replace(task, window=(max(first - 1, 0), last + 1) if relax else None)


def _costs(cost: Cost) -> Iterable[float]:
    return cost if isinstance(cost, tuple) else (cost,)


def _is_a_cost(cost: Cost) -> bool:
    return min(_costs(cost)) >= 0


def _halve(cost: Cost) -> Cost:
    return tuple(each / 2 for each in cost) if isinstance(cost, tuple) else cost / 2


def most_payable(problem: MaintenanceProblem, rule: Hindrance) -> tuple[float, float]:
    """The largest expected gain and the largest expected cost of a hindrance rule.

    Its tasks overlap for at most the duration of the shortest one.
    """
    by_name = {
        f"{contractor.name}/{task.name}": task
        for contractor in problem.contractors
        for task in contractor.tasks
    }
    tasks = [by_name[name] for name in rule.tasks]
    longest = min(max(steps for _, steps in task.durations) for task in tasks)
    expected = min(sum(chance * steps for chance, steps in task.durations) for task in tasks)
    costs = [*_costs(rule.cost)]
    if len(costs) == 1:
        costs *= problem.horizon
    bounds = []
    for sign in (-1, 1):
        ordered = sorted((max(0.0, sign * each) for each in costs), reverse=True)
        bounds.append(min(sum(ordered[:longest]), expected * ordered[0]))
    return bounds[0], bounds[1]
