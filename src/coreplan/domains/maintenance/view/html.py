"""Maintenance problems and plans as small HTML tables, for notebooks."""

from __future__ import annotations

from coreplan.domains.maintenance.planned import planned_schedule
from coreplan.domains.maintenance.problem import MaintenanceProblem
from coreplan.policies.policy import Policy
from coreplan.support.language import number_text, say
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
            else say(
                "{chance}: {number} more",
                chance=percent(task.delay.probability),
                number=task.delay.duration,
            ),
            _cost(task.cost),
            number_text(task.revenue, "g"),
            "-" if task.window is None else _steps(*task.window),
        )
        for contractor in problem.contractors
        for task in contractor.tasks
    ]
    titles = (
        say("contractor"),
        say("work"),
        say("steps"),
        say("delay"),
        say("cost per step"),
        say("revenue"),
        say("start window"),
    )
    text = table(titles, tasks)
    if problem.network:
        rules = [(", ".join(rule.tasks), _cost(rule.cost)) for rule in problem.network]
        text += table((say("hindrance between"), say("cost per step")), rules)
    return text


def _steps(first: int, last: int) -> str:
    return say("{first} to {last}", context="steps", first=first, last=last)


def _cost(cost: float | tuple[float, ...]) -> str:
    if not isinstance(cost, tuple):
        return number_text(cost, "g")
    low, high = (number_text(each, "g") for each in (min(cost), max(cost)))
    return say("{low} to {high}", low=low, high=high) if min(cost) < max(cost) else low


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
            _steps(work.start, work.end - 1),
            say("never")
            if work.delayed is None
            else say("delayed")
            if work.delayed
            else say("not delayed"),
        )
        for work in course.works
    ]
    said = say(
        "the course without delays has a probability of {chance}",
        chance=percent(course.probability),
    )
    titles = (say("contractor"), say("work"), say("steps"), say("delay"))
    return table(titles, rows) + note(said)
