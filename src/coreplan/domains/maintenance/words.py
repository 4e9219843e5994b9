"""Sentences about maintenance problems and plans, for planners."""

from __future__ import annotations

from coreplan.domains.maintenance.closures import count_periods
from coreplan.domains.maintenance.coordination import Coordination
from coreplan.domains.maintenance.money import Money, amount_text
from coreplan.domains.maintenance.problem import MaintenanceProblem
from coreplan.domains.maintenance.schedule import Schedule
from coreplan.domains.maintenance.states import ContractorState
from coreplan.model.calendar import Calendar
from coreplan.policies.policy import Policy
from coreplan.support.language import marked, say, say_count, say_marked
from coreplan.support.late import provides
from coreplan.view.words import (
    MoneyWorth,
    Worth,
    count,
    describe_problem,
    first_steps_of,
    parts_in_words,
    remark_on_plan,
    remark_on_start,
    steps,
    total_in_words,
    when,
)


@describe_problem.register
def _describe(problem: MaintenanceProblem) -> str:
    tasks = sum(len(contractor.tasks) for contractor in problem.contractors)
    parts = [
        count(len(problem.contractors), "contractor"),
        count(tasks, "work"),
        count(problem.horizon, "step"),
        count(len(problem.network), "hindrance rule"),
    ]
    if problem.closed:
        parts.append(count_periods(problem.closed))
    if problem.must_complete:
        parts.append(say("every work must be completed"))
    return ", ".join(parts)


@parts_in_words.register
def _parts(problem: MaintenanceProblem, money: Money) -> list[str]:
    """Revenue, works and hindrance; if several rules cost something, also the most expensive."""
    money = money.in_cents()
    lines = [
        say(
            "revenue {revenue}, works {works}, hindrance {hindrance}",
            revenue=amount_text(money.revenue),
            works=amount_text(money.works),
            hindrance=amount_text(money.hindrance),
        )
    ]
    if sum(cost > 0 for cost in money.hindrances) >= 2:
        worst = max(range(len(money.hindrances)), key=lambda k: money.hindrances[k])
        *most, last = problem.network[worst].tasks
        lines.append(
            say(
                "largest hindrance: {amount}, between {works}",
                amount=amount_text(money.hindrances[worst]),
                works=say("{first} and {last}", first=", ".join(most), last=last),
            )
        )
    return lines


def expected_money(value: float) -> str:
    """The expected total of a maintenance plan: a cost, or earnings.

    Examples
    --------
    >>> expected_money(-508.7574)
    'expected to cost 508.76 in all: works and hindrance, less revenue'
    """
    if value < 0:
        return say(
            "expected to cost {amount} in all: works and hindrance, less revenue",
            amount=amount_text(-value),
        )
    return say(
        "expected to earn {amount} in all: revenue, less works and hindrance",
        amount=amount_text(value),
    )


PLANNING_ALONE = marked(
    "every contractor starts its works when that is best for itself, and as early as possible "
    "where it makes no difference"
)
"""The plan that coordination is compared with."""


@provides("Coordination.text")
def coordination_in_words(worth: Coordination) -> list[str]:
    """The value of coordination: the gain, its parts, and the contractors who gain or give up."""
    speak = MoneyWorth() if worth.money_alone is not None else Worth()
    # Differences of the amounts as they are written, so that readers can check them.
    least = max(0.0, speak.shown(worth.value) - speak.shown(worth.alone))
    most = max(least, speak.shown(worth.upper_bound) - speak.shown(worth.alone))
    low, high = speak.number(least), speak.number(most)
    gains = low if low == high else say("between {low} and {high}", low=low, high=high)
    lines = [
        say(
            "coordination is worth {gain}: this plan {together}, planning alone {alone}",
            gain=gains,
            together=speak.is_expected(worth.value),
            alone=speak.is_expected(worth.alone),
        )
    ]
    if worth.gain < 0:
        lines.append(say("this plan is worse than planning alone"))
    lines.append(say("planning alone: {what}", what=say_marked(PLANNING_ALONE)))
    if worth.money is not None and worth.money_alone is not None:
        together, apart = worth.money.in_cents(), worth.money_alone.in_cents()
        parts = []
        for what, before, after in (
            (say("hindrance"), apart.hindrance, together.hindrance),
            (say("works"), apart.works, together.works),
            (say("revenue"), apart.revenue, together.revenue),
        ):
            parts.append(
                say(
                    "{what} {alone} alone, {together} together",
                    what=what,
                    alone=speak.number(before),
                    together=speak.number(after),
                )
            )
        lines.append("; ".join(parts))
    for name, after in (worth.own or {}).items():
        before = worth.own_alone[name]
        amount = speak.number(abs(after - before))
        if amount != speak.number(0.0):
            lines.append(
                say("{name} gains {amount}", name=name, amount=amount)
                if after > before
                else say("{name} gives up {amount} for the others", name=name, amount=amount)
            )
    return lines


@total_in_words.register
def _total(problem: MaintenanceProblem, value: float) -> str:
    parts = say("works and hindrance")
    if any(task.revenue for contractor in problem.contractors for task in contractor.tasks):
        parts = (
            say("works and hindrance, less revenue")
            if value < 0
            else say("revenue, less works and hindrance")
        )
    return say("The amount is an expected value for all contractors: {parts}.", parts=parts)


@remark_on_start.register
def spent_before(
    problem: MaintenanceProblem, policy: Policy, calendar: Calendar | None = None
) -> str:
    """Say that amounts leave out the works of earlier steps; empty if none has started."""
    state = policy.indexed.name_state(policy.indexed.find_state(policy.stage, None))
    begun = any(
        isinstance(at, ContractorState) and (at.done or at.doing is not None)
        for at in state.values()
    )
    if not begun:
        return ""
    return say(
        "All amounts count from {step} on: money spent or earned before is not included.",
        step=when(policy.stage, calendar),
    )


@remark_on_plan.register
def unplanned(problem: MaintenanceProblem, schedule: Schedule) -> str:
    """Name the works that a schedule leaves out; an empty text if it has all of them."""
    left_out = [
        f"{contractor.name}/{task.name}"
        for contractor in problem.contractors
        for task in contractor.tasks
        if task.name not in schedule.get(contractor.name, {})
    ]
    if not left_out:
        return ""
    names = ", ".join(left_out[:5])
    if len(left_out) > 5:
        names = say("{names} and {more:,} more", names=names, more=len(left_out) - 5)
    if problem.must_complete:
        return say(
            "not in the schedule and therefore started at the last moment: {works}", works=names
        )
    return say("not in the schedule and therefore never started: {works}", works=names)


@first_steps_of.register
def _first_steps(
    problem: MaintenanceProblem, policy: Policy, calendar: Calendar | None
) -> list[str]:
    """The first start of each contractor, on the most likely course of the plan."""
    lines: dict[str, str] = {}
    indexed = policy.indexed
    state = indexed.find_state(policy.stage, None)
    for name, at in indexed.name_state(state).items():
        if isinstance(at, ContractorState) and at.doing is not None:
            lines[name] = _going_on(name, at.doing, at.remaining, calendar)
    surprises = False  # whether another course was possible up to this step
    for stage in range(policy.stage, policy.horizon):
        choices = policy.choose(stage, state)
        following = []
        certain = True
        for agent, choice in zip(indexed.agents, choices, strict=True):
            task = agent.tasks[agent.choice_action[choice]]
            if task is not None and agent.name not in lines:
                lines[agent.name] = _first_start(
                    agent.name, task, stage, policy.stage, surprises, calendar
                )
            outcomes = agent.outcomes(choice)
            certain = certain and len(outcomes) == 1
            following.append(max(outcomes, key=lambda outcome: outcome[2])[1])
        surprises = surprises or not certain
        state = tuple(following)
        if len(lines) == len(indexed.agents):
            break
    nothing = {name: say("{name} starts nothing", name=name) for name in indexed.agent_names}
    return [lines.get(name, nothing[name]) for name in indexed.agent_names]


def _going_on(name: str, work: str, left: int, calendar: Calendar | None) -> str:
    names = {"name": name, "work": work}
    if calendar is None:
        return say_count(
            left,
            "{name} goes on with {work} for {number:,} more step",
            "{name} goes on with {work} for {number:,} more steps",
            **names,
        )
    if calendar.step == "day":
        return say_count(
            left,
            "{name} goes on with {work} for {number:,} more day",
            "{name} goes on with {work} for {number:,} more days",
            **names,
        )
    return say_count(
        left,
        "{name} goes on with {work} for {number:,} more week",
        "{name} goes on with {work} for {number:,} more weeks",
        **names,
    )


def _first_start(
    name: str, task: str, stage: int, first: int, surprises: bool, calendar: Calendar | None
) -> str:
    at = when(stage, calendar)
    if stage == first:
        return say("{name} starts {work} at once ({when})", name=name, work=task, when=at)
    wait = steps(stage - first, calendar)
    if surprises:
        expected = say("in {step}", step=at) if calendar is None else at
        at = say("expected {when}; may change if other works are delayed", when=expected)
    return say(
        "{name} waits {steps}, then starts {work} ({when})",
        name=name,
        steps=wait,
        work=task,
        when=at,
    )
