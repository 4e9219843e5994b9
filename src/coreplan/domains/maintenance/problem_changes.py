"""Differences between two versions of a maintenance problem: works, rules, and their numbers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from coreplan.domains.maintenance.closures import closure_in_words
from coreplan.domains.maintenance.parts import Closure, Cost, Delay, Hindrance, Task
from coreplan.domains.maintenance.problem import MaintenanceProblem


@dataclass(frozen=True)
class ProblemChange:
    """One difference between an old and a new problem.

    Attributes
    ----------
    what
        ``horizon``, ``must_complete``, ``closed`` (the closed periods), ``contractor``,
        ``work``, ``hindrance``, or a part of a work: ``duration``, ``cost``, ``revenue``,
        ``delay``, ``window``.
    names
        The contractor, the work (``contractor/work``), or the works of a hindrance rule; empty for
        the problem as a whole.
    before, after
        The values; None for a part that is missing.
    """

    what: str
    names: tuple[str, ...]
    before: Any
    after: Any

    def to_dict(self) -> dict[str, Any]:
        """Return all parts as plain values, for JSON."""
        return {
            "what": self.what,
            "names": list(self.names),
            "before": _plain(self.before),
            "after": _plain(self.after),
        }


def find_problem_changes(
    old: MaintenanceProblem, new: MaintenanceProblem
) -> tuple[ProblemChange, ...]:
    """Find all differences between two problems; works and contractors correspond by name.

    Examples
    --------
    >>> from coreplan import Contractor, MaintenanceProblem, Task
    >>> old, new = (
    ...     MaintenanceProblem((Contractor("Alpha", (Task("a1", weeks, cost=3),)),), horizon=4)
    ...     for weeks in (1, 2))
    >>> [(each.what, each.names, each.before, each.after)
    ...  for each in find_problem_changes(old, new)]
    [('duration', ('Alpha/a1',), 1, 2)]
    """
    return tuple(_changes(old, new))


def _changes(old: MaintenanceProblem, new: MaintenanceProblem) -> Iterator[ProblemChange]:
    for what in ("horizon", "must_complete"):
        before, after = getattr(old, what), getattr(new, what)
        if before != after:
            yield ProblemChange(what, (), before, after)
    if old.closed != new.closed:
        yield ProblemChange("closed", (), old.closed, new.closed)
    there = dict.fromkeys((*old.agent_names, *new.agent_names))
    for name in there:
        if name not in old.agent_names or name not in new.agent_names:
            yield ProblemChange("contractor", (name,), *_presence(name, old, new))
    before_tasks, after_tasks = _tasks(old), _tasks(new)
    horizons = (old.horizon, new.horizon)
    for name in dict.fromkeys((*before_tasks, *after_tasks)):
        one, other = before_tasks.get(name), after_tasks.get(name)
        if one is None or other is None:
            yield ProblemChange("work", (name,), one, other)
        else:
            yield from _task_changes(name, one, other, horizons)
    before_rules, after_rules = _rules(old), _rules(new)
    for works in dict.fromkeys((*before_rules, *after_rules)):
        costs = before_rules.get(works), after_rules.get(works)
        if costs[0] is None or costs[1] is None or not _same_cost(costs[0], costs[1], horizons):
            yield ProblemChange("hindrance", works, *costs)


def _presence(
    name: str, old: MaintenanceProblem, new: MaintenanceProblem
) -> tuple[str | None, str | None]:
    return name if name in old.agent_names else None, name if name in new.agent_names else None


def _task_changes(
    name: str, one: Task, other: Task, horizons: tuple[int, int]
) -> Iterator[ProblemChange]:
    pairs: dict[str, tuple[Any, Any]] = {
        "duration": (one.duration, other.duration),
        "revenue": (one.revenue, other.revenue),
        "delay": (_delay(one), _delay(other)),
        "window": (_window(one, horizons[0]), _window(other, horizons[1])),
    }
    for what, (before, after) in pairs.items():
        if before != after:
            yield ProblemChange(what, (name,), before, after)
    if not _same_cost(one.cost, other.cost, horizons):
        yield ProblemChange("cost", (name,), one.cost, other.cost)


def _delay(task: Task) -> Delay | None:
    """The delay of a task, unless it never happens."""
    return task.delay if task.delay is not None and task.delay.probability > 0 else None


def _window(task: Task, horizon: int) -> tuple[int, int] | None:
    """The window of a task, unless every step is in it."""
    if task.window is None or (task.window[0] <= 0 and task.window[1] >= horizon - 1):
        return None
    return task.window


def _same_cost(one: Cost, other: Cost, horizons: tuple[int, int]) -> bool:
    """Whether two costs are equal in all steps that both problems have."""
    both = min(horizons)
    lists = [each[:both] if isinstance(each, tuple) else (each,) * both for each in (one, other)]
    return lists[0] == lists[1]


def _tasks(problem: MaintenanceProblem) -> dict[str, Task]:
    return {
        f"{contractor.name}/{task.name}": task
        for contractor in problem.contractors
        for task in contractor.tasks
    }


def _rules(problem: MaintenanceProblem) -> dict[tuple[str, ...], Cost]:
    """The cost of hindrance of each set of works; several rules for one set add up."""
    costs: dict[tuple[str, ...], Cost] = {}
    for rule in problem.network:
        key = tuple(sorted(rule.tasks))
        costs[key] = rule.cost if key not in costs else _sum(costs[key], rule, problem.horizon)
    return costs


def _sum(cost: Cost, rule: Hindrance, horizon: int) -> Cost:
    lists = [each if isinstance(each, tuple) else (each,) * horizon for each in (cost, rule.cost)]
    added = tuple(map(sum, zip(*lists, strict=True)))
    return added[0] if len(set(added)) == 1 else added


def _plain(value: Any) -> Any:
    """A value of a change for JSON."""
    if isinstance(value, Delay):
        return {"probability": value.probability, "duration": value.duration}
    if isinstance(value, Task):
        return value.name
    if isinstance(value, Closure):
        return closure_in_words(value)
    return list(map(_plain, value)) if isinstance(value, tuple) else value
