"""Maintenance problems and plans as small HTML tables, for notebooks."""

from __future__ import annotations

from coreplan.domains.maintenance.planned import planned_schedule
from coreplan.domains.maintenance.problem import MaintenanceProblem
from coreplan.policies.policy import Policy
from coreplan.view.html import note, plan_tables, problem_tables, table
from coreplan.view.plan_text import percent
from coreplan.view.words import first_steps

MOST_STEPS = 500
"""A plan of more steps is shown by its first starts only, to be quick."""


@problem_tables.register
def _maintenance(problem: MaintenanceProblem) -> str:
    tasks = [
        (
            contractor.name,
            task.name,
            str(task.duration),
            "-"
            if task.delay is None
            else f"{percent(task.delay.probability)}: {task.delay.duration} more",
            _cost(task.cost),
            f"{task.revenue:g}",
            "-" if task.window is None else f"{task.window[0]} to {task.window[1]}",
        )
        for contractor in problem.contractors
        for task in contractor.tasks
    ]
    titles = ("contractor", "work", "steps", "delay", "cost per step", "revenue", "start window")
    text = table(titles, tasks)
    if problem.network:
        rules = [(", ".join(rule.tasks), _cost(rule.cost)) for rule in problem.network]
        text += table(("hindrance between", "cost per step"), rules)
    return text


def _cost(cost: float | tuple[float, ...]) -> str:
    if not isinstance(cost, tuple):
        return f"{cost:g}"
    return f"{min(cost):g} to {max(cost):g}" if min(cost) < max(cost) else f"{cost[0]:g}"


@plan_tables.register
def _plan(problem: MaintenanceProblem, policy: Policy) -> str:
    """The course without delays or, for a long plan, the first start of each contractor."""
    if policy.horizon - policy.stage > MOST_STEPS:
        return table((), [(line,) for line in first_steps(policy)])
    course = planned_schedule(policy)
    rows = [
        (
            work.contractor,
            work.task,
            f"{work.start} to {work.end - 1}",
            "never" if work.delayed is None else "delayed" if work.delayed else "not delayed",
        )
        for work in course.works
    ]
    said = f"the course without delays has a probability of {percent(course.probability)}"
    return table(("contractor", "work", "steps", "delay"), rows) + note(said)
