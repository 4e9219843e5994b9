"""Maintenance problems and plans as small tables of HTML, for notebooks."""

from __future__ import annotations

from coreplan.domains.maintenance.planned import planned_schedule
from coreplan.domains.maintenance.problem import MaintenanceProblem
from coreplan.policies.policy import Policy
from coreplan.view.html import note, plan_tables, problem_tables, table
from coreplan.view.plan_text import percent
from coreplan.view.words import first_steps

MOST_STEPS = 500
"""Plans of more steps are not followed to their end just to be shown."""


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
    titles = ("contractor", "task", "steps", "delay", "cost per step", "revenue", "starts in")
    text = table(titles, tasks)
    if problem.network:
        rules = [(", ".join(rule.tasks), _cost(rule.cost)) for rule in problem.network]
        text += table(("hindrance of", "cost per step"), rules)
    return text


def _cost(cost: float | tuple[float, ...]) -> str:
    if not isinstance(cost, tuple):
        return f"{cost:g}"
    return f"{min(cost):g} to {max(cost):g}" if min(cost) < max(cost) else f"{cost[0]:g}"


@plan_tables.register
def _plan(problem: MaintenanceProblem, policy: Policy) -> str:
    """The course that is expected or, where that is long, what is done first."""
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
    return table(("contractor", "task", "steps", "delay"), rows) + note(said)
