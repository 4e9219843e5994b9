"""Works that run at the same time: remarks about a decision."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from coreplan.model.indexed import IndexedProblem
from coreplan.support.cents import price_text
from coreplan.support.language import say, say_count

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
        if usual is None:
            head = say("{works} run at the same time", works=_all(rule.tasks))
        else:
            # The new works are those that start now; if all are new, name the first one only.
            new = [task for task in rule.tasks if task not in before]
            new = new[:1] if len(new) == len(rule.tasks) else new
            head = say(
                "starting {works} now would overlap {others}",
                works=_all([task.partition("/")[2] for task in new]),
                others=_all([task for task in rule.tasks if task not in new]),
            )
        many = say_count(steps, "{number:,} step", "{number:,} steps")
        price = price_text(cost, "g")
        if any(working[task][1] for task in rule.tasks):
            yield say(
                "{overlap} for at least {steps}: hindrance costs {price} per step",
                overlap=head,
                steps=many,
                price=price,
            )
        else:
            yield say(
                "{overlap} for {steps}: hindrance costs {price} per step",
                overlap=head,
                steps=many,
                price=price,
            )


def _all(names: Sequence[str]) -> str:
    """Names with a word between each two of them."""
    text = names[0]
    for each in names[1:]:
        text = say("{first} and {last}", first=text, last=each)
    return text


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
