"""Changes that make a maintenance problem easier: a rule, a window or a delay less."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from typing import Any

from coreplan.domains.maintenance.parts import Contractor, Cost, Delay, Hindrance, Task
from coreplan.domains.maintenance.problem import MaintenanceProblem

KINDS = ("hindrance", "windows", "delays")
"""What can be changed: rules of hindrance, windows and delays of tasks."""


@dataclass(frozen=True)
class Change:
    """One thing of a problem that is removed or relaxed.

    Attributes
    ----------
    kind
        ``hindrance``, ``windows`` or ``delays``.
    tasks
        The tasks that it is about: ``Alpha/a1``.
    before, after
        The rule of hindrance, or the task; `after` is None for a rule that is removed.
    place
        Where it is: the position of the rule in the network, or of the contractor and the task.
    never_worse
        Whether the best plan is worth at least as much afterwards, whatever the numbers are.
    """

    kind: str
    tasks: tuple[str, ...]
    before: Hindrance | Task
    after: Hindrance | Task | None
    place: tuple[int, ...]
    never_worse: bool

    @property
    def is_nothing(self) -> bool:
        """Whether it makes no difference to anybody."""
        return self.after == self.before

    @property
    def part(self) -> float:
        """For a rule of hindrance: how much of its cost goes away."""
        return 1.0 if self.after is None else 0.5

    def apply(self, problem: MaintenanceProblem) -> MaintenanceProblem:
        """The problem afterwards."""
        if isinstance(self.after, Task):
            contractors = list(problem.contractors)
            contractors[self.place[0]] = self._contractor(problem)
            return replace(problem, contractors=tuple(contractors))
        network = list(problem.network)
        network[self.place[0] : self.place[0] + 1] = [] if self.after is None else [self.after]
        return replace(problem, network=tuple(network))

    def apply_alone(self, problem: MaintenanceProblem) -> MaintenanceProblem:
        """For a change of a task: the problem of its contractor alone, afterwards."""
        return replace(problem, contractors=(self._contractor(problem),), network=())

    def _contractor(self, problem: MaintenanceProblem) -> Contractor:
        assert isinstance(self.after, Task)
        contractor, task = self.place
        who = problem.contractors[contractor]
        return Contractor(who.name, (*who.tasks[:task], self.after, *who.tasks[task + 1 :]))

    def to_dict(self) -> dict[str, Any]:
        """What is changed, as plain values."""
        entry = self.place[0] if self.kind == "hindrance" else None
        return {"kind": self.kind, "tasks": list(self.tasks), "entry": entry}


def find_changes(
    problem: MaintenanceProblem, kinds: Collection[str], relax: bool = False
) -> list[Change]:
    """All that can be removed or relaxed, in the problem's order.

    Relaxed means: half the hindrance, a window wider by one step on both sides, half the chance of
    a delay.
    """
    changes: list[Change] = []
    if "hindrance" in kinds:
        for k, rule in enumerate(problem.network):
            less = replace(rule, cost=_halve(rule.cost)) if relax else None
            after = less if any(_costs(rule.cost)) else rule
            costs = _is_a_cost(rule.cost)
            changes.append(Change("hindrance", rule.tasks, rule, after, (k,), costs))
    for i, contractor in enumerate(problem.contractors):
        for j, task in enumerate(contractor.tasks):
            name = f"{contractor.name}/{task.name}"
            if "windows" in kinds and task.window is not None:
                wider = _widen(task, task.window, problem.horizon, relax)
                # More may be done than before, and nothing less.
                changes.append(Change("windows", (name,), task, wider, (i, j), True))
            if "delays" in kinds and task.delay is not None and task.delay.probability > 0:
                rarer = Delay(task.delay.probability / 2, task.delay.duration) if relax else None
                # Who is not delayed may wait as long: nothing is worse than before if work and
                # hindrance cost, and the end of a work does not.
                rules = [rule.cost for rule in problem.network if name in rule.tasks]
                costs = task.revenue >= 0 and all(map(_is_a_cost, (task.cost, *rules)))
                freed = replace(task, delay=rarer)
                changes.append(Change("delays", (name,), task, freed, (i, j), costs))
    return changes


def _widen(task: Task, window: tuple[int, int], horizon: int, relax: bool) -> Task:
    """A task with a wider window or none; the same task if that makes no difference."""
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
    """The most that a rule of hindrance can bring, and the most that it can cost, in expectation.

    Its tasks coincide for no longer than each of them takes.
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
