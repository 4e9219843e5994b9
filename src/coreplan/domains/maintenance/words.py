"""Maintenance problems and plans in words."""

from __future__ import annotations

from coreplan.domains.maintenance.coordination import Coordination
from coreplan.domains.maintenance.money import Money
from coreplan.domains.maintenance.problem import MaintenanceProblem
from coreplan.domains.maintenance.schedule import Schedule
from coreplan.domains.maintenance.states import ContractorState
from coreplan.model.calendar import Calendar
from coreplan.policies.policy import Policy
from coreplan.support.late import provides
from coreplan.view.words import (
    MoneyWorth,
    Worth,
    count,
    describe_problem,
    first_steps_of,
    parts_in_words,
    steps,
)


@describe_problem.register
def _describe(problem: MaintenanceProblem) -> str:
    tasks = sum(len(contractor.tasks) for contractor in problem.contractors)
    parts = [
        count(len(problem.contractors), "contractor"),
        count(tasks, "task"),
        f"horizon {problem.horizon}",
        count(len(problem.network), "hindrance rule"),
    ]
    if problem.must_complete:
        parts.append("every task must be completed")
    return ", ".join(parts)


@parts_in_words.register
def _parts(problem: MaintenanceProblem, money: Money) -> list[str]:
    """Revenue, works and hindrance; then which entry of the network costs most, if several do."""
    lines = [
        f"revenue {money.revenue:,.2f}, works {money.works:,.2f}, hindrance {money.hindrance:,.2f}"
    ]
    if sum(cost > 0 for cost in money.hindrances) >= 2:
        worst = max(range(len(money.hindrances)), key=lambda k: money.hindrances[k])
        tasks = ", ".join(problem.network[worst].tasks)
        lines.append(f"the most hindrance, {money.hindrances[worst]:,.2f}, is that of {tasks}")
    return lines


def expected_money(value: float) -> str:
    """What a maintenance plan costs or earns, in words.

    Examples
    --------
    >>> expected_money(-508.7574)
    'expected to cost 508.76 in all: works and hindrance, less revenue'
    """
    if value < 0:
        return f"expected to cost {-value:,.2f} in all: works and hindrance, less revenue"
    return f"expected to earn {value:,.2f} in all: revenue, less works and hindrance"


@provides("Coordination.text")
def coordination_in_words(worth: Coordination) -> list[str]:
    """What coordination is worth, a line for each thing to say."""
    speak = MoneyWorth() if worth.money_alone is not None else Worth()
    low, high = speak.number(worth.low), speak.number(worth.high)
    gains = low if low == high else f"between {low} and {high}"
    lines = [
        f"coordination is worth {gains}: the plan {speak.is_expected(worth.value)}, everybody's "
        f"plan alone {speak.is_expected(worth.alone)}"
    ]
    if worth.gain < 0:
        lines.append("the plan in hand is worse than if everybody planned alone")
    if worth.money is not None and worth.money_alone is not None:
        parts = []
        for what in ("hindrance", "works", "revenue"):
            before, after = getattr(worth.money_alone, what), getattr(worth.money, what)
            parts.append(f"{what} {speak.number(before)} alone, {speak.number(after)} together")
        lines.append("; ".join(parts))
    for name, after in (worth.own or {}).items():
        before = worth.own_alone[name]
        amount = speak.number(abs(after - before))
        if amount != speak.number(0.0):
            lines.append(f"{name} {'gains' if after > before else 'gives up'} {amount} for it")
    return lines


def unplanned(problem: MaintenanceProblem, schedule: Schedule) -> str:
    """Which works a schedule leaves out, in words; an empty text if none."""
    left_out = [
        f"{contractor.name}/{task.name}"
        for contractor in problem.contractors
        for task in contractor.tasks
        if task.name not in schedule.get(contractor.name, {})
    ]
    if not left_out:
        return ""
    what = "started only when they have to be" if problem.must_complete else "never started"
    more = f" and {len(left_out) - 5:,} more" if len(left_out) > 5 else ""
    return f"not in the schedule, so {what}: {', '.join(left_out[:5])}{more}"


@first_steps_of.register
def _first_steps(
    problem: MaintenanceProblem, policy: Policy, calendar: Calendar | None
) -> list[str]:
    """When each contractor first starts a task, if everything goes as is most likely until then."""
    lines: dict[str, str] = {}
    indexed = policy.indexed
    state = indexed.find_state(policy.stage, None)
    for name, at in indexed.name_state(state).items():
        if isinstance(at, ContractorState) and at.doing is not None:
            left = steps(at.remaining, calendar).replace(" ", " more ")
            lines[name] = f"{name} goes on with {at.doing} for {left}"
    surprises = False  # whether the way so far was one of several
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
    return [lines.get(name, f"{name} starts nothing") for name in indexed.agent_names]


def _first_start(
    name: str, task: str, stage: int, first: int, surprises: bool, calendar: Calendar | None
) -> str:
    at = f"stage {stage}" if calendar is None else calendar.label(stage)
    if stage == first:
        return f"{name} starts {task} at once ({at})"
    waits = steps(stage - first, calendar)
    caveat = ", if nothing unlikely happens before" if surprises else ""
    return f"{name} waits {waits}, then starts {task} ({at}{caveat})"
