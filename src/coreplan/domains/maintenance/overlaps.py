"""Works that run at the same time: remarks about a decision."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from coreplan.model.indexed import IndexedProblem

if TYPE_CHECKING:
    from coreplan.domains.maintenance.problem import MaintenanceProblem


def find_overlaps(
    problem: MaintenanceProblem,
    indexed: IndexedProblem,
    stage: int,
    state: Sequence[int],
    choices: Sequence[int],
    usual: Sequence[int] | None,
) -> Iterator[str]:
    """Describe works that run at the same time in this step and cause hindrance.

    With `usual`, the choices of the plan, only overlaps that these choices do not have.
    """
    working = _working(problem, indexed, state, choices)
    before = {} if usual is None else _working(problem, indexed, state, usual)
    for rule in problem.network:
        cost = rule.cost[stage] if isinstance(rule.cost, tuple) else rule.cost
        if not cost or not all(task in working for task in rule.tasks):
            continue
        if usual is not None and all(task in before for task in rule.tasks):
            continue
        steps = min(working[task][0] for task in rule.tasks)
        least = "at least " if any(working[task][1] for task in rule.tasks) else ""
        many = "1 step" if steps == 1 else f"{steps:,} steps"
        head = f"{' and '.join(rule.tasks)} run at the same time"
        if usual is not None:
            # The new works are those that start now; if all are new, name the first one only.
            new = [task for task in rule.tasks if task not in before]
            new = new[:1] if len(new) == len(rule.tasks) else new
            others = " and ".join(task for task in rule.tasks if task not in new)
            names = " and ".join(task.partition("/")[2] for task in new)
            head = f"starting {names} now would overlap {others}"
        yield f"{head} for {least}{many}: hindrance costs {cost:g} per step"


def _working(
    problem: MaintenanceProblem,
    indexed: IndexedProblem,
    state: Sequence[int],
    choices: Sequence[int],
) -> dict[str, tuple[int, bool]]:
    """The tasks that are worked on in this step: steps left, and whether it can be more."""
    working = {}
    for contractor, agent, index, choice in zip(
        problem.contractors, indexed.agents, state, choices, strict=True
    ):
        at = agent.states.value(index)
        started = agent.tasks[agent.choice_action[choice]]
        if at.doing is not None:
            working[f"{contractor.name}/{at.doing}"] = (at.remaining, False)
        elif started is not None:
            task = next(each for each in contractor.tasks if each.name == started)
            steps = [each for _, each in task.durations]
            working[f"{contractor.name}/{task.name}"] = (min(steps), len(steps) > 1)
    return working
