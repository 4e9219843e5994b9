"""Plans in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from coreplan.domains.maintenance.calendar import Calendar
from coreplan.domains.maintenance.money import Money
from coreplan.domains.maintenance.problem import MaintenanceProblem
from coreplan.domains.maintenance.schedule import Schedule
from coreplan.domains.maintenance.states import ContractorState
from coreplan.policies.policy import Policy
from coreplan.solving.compile import AnyProblem

if TYPE_CHECKING:
    from coreplan.analysis.plan import PlanReport
    from coreplan.domains.maintenance.coordination import Coordination


def count(number: int, one: str, many: str | None = None) -> str:
    """A number with its noun.

    Examples
    --------
    >>> count(1, "agent"), count(1200, "agent"), count(2, "entry", "entries")
    ('1 agent', '1,200 agents', '2 entries')
    """
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def percent(chance: float) -> str:
    """A chance in per cent; neither certain nor impossible unless it is.

    Examples
    --------
    >>> percent(0.35), percent(1.0), percent(0.9999), percent(0.00001)
    ('35 %', '100 %', '> 99 %', '< 1 %')
    """
    share = 100 * chance
    if 0 < share < 1:
        return "< 1 %"
    if 99 < share < 100 - 1e-7:
        return "> 99 %"
    return f"{share:.0f} %"


def printable(name: str) -> str:
    """A name on one line, without characters that steer a terminal.

    Examples
    --------
    >>> printable("a" + chr(27) + "[31m" + chr(10) + "b")
    'a·[31m·b'
    """
    return "".join(each if each.isprintable() else "·" for each in name)


def describe_problem(problem: AnyProblem) -> str:
    """One line that says how large a problem is."""
    if isinstance(problem, MaintenanceProblem):
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
    shared = sum(len(function.scope) > 1 for function in problem.rewards)
    return ", ".join(
        [
            count(len(problem.agents), "agent"),
            f"horizon {problem.horizon}",
            count(shared, "interaction reward"),
        ]
    )


def describe_calendar(calendar: Calendar) -> str:
    """One line that says when the steps are, and which file says so.

    Examples
    --------
    >>> import datetime
    >>> describe_calendar(Calendar(datetime.date(2026, 3, 2), "week"))
    'steps are weeks, the first begins on 2 Mar 2026'
    """
    said = "" if calendar.source is None else f" ({calendar.source})"
    return f"steps are {calendar.step}s, the first begins on {calendar.label(0)}{said}"


def when(stage: int, calendar: Calendar | None = None) -> str:
    """When a step is: ``step 3``, or the day on which it begins.

    Examples
    --------
    >>> when(3)
    'step 3'
    """
    return f"step {stage}" if calendar is None else calendar.label(stage)


def when_range(first: int, last: int, calendar: Calendar | None = None) -> str:
    """Some steps in a row, both ends included.

    Examples
    --------
    >>> when_range(3, 5), when_range(3, 3)
    ('steps 3 to 5', 'step 3')
    """
    if calendar is not None:
        return calendar.range_label(first, last)
    return f"step {first}" if first == last else f"steps {first} to {last}"


def steps(number: int, calendar: Calendar | None = None) -> str:
    """A number of steps: ``2 steps`` or, where there are dates, ``2 weeks``."""
    return count(number, "step") if calendar is None else calendar.steps(number)


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


def plan_in_words(report: PlanReport) -> list[str]:
    """What a plan is worth and how much could be gained, a line for each.

    What is certain and what is an estimate are told apart.
    """
    works = report.policy is not None and isinstance(report.policy.problem, MaintenanceProblem)
    speak = _Money() if works else _Worth()
    lines = []
    if report.value is not None:
        lines.append(f"your plan {speak.is_expected(report.value)}")
        if report.money is not None:
            lines[-1] += (
                f" in all: revenue {report.money.revenue:,.2f}, works {report.money.works:,.2f}, "
                f"hindrance {report.money.hindrance:,.2f}"
            )
            lines += _most_hindrance(report.policy, report.money)
    else:
        lines.append("what your plan is worth exactly is out of reach")
    if report.estimate is not None:
        mean, low, high = (
            speak.number(each)
            for each in (report.estimate.mean, report.estimate.low, report.estimate.high)
        )
        runs = count(report.estimate.runs, "run")
        lines.append(
            f"estimated from {runs}, not exact: a value of about {mean}, between {low} and {high} "
            f"with a confidence of {100 * report.estimate.confidence:g} %"
        )
    if report.upper_bound is not None and report.best_known is not None:
        lines.append(_distance(report, speak, report.upper_bound, report.best_known))
    if report.message:
        lines.append(report.message)
    return lines


def _most_hindrance(policy: Policy | None, money: Money) -> list[str]:
    """Which entry of the network costs the most, if there are several."""
    if policy is None or not isinstance(policy.problem, MaintenanceProblem):
        return []
    if sum(cost > 0 for cost in money.hindrances) < 2:
        return []
    worst = max(range(len(money.hindrances)), key=lambda k: money.hindrances[k])
    tasks = ", ".join(policy.problem.network[worst].tasks)
    return [f"the most hindrance, {money.hindrances[worst]:,.2f}, is that of {tasks}"]


def _distance(report: PlanReport, speak: _Worth, upper: float, best: float) -> str:
    """How far a plan is from the best."""
    if report.value is None:
        return f"{speak.none_is_better(upper)}; {speak.is_known(best)}"
    if report.optimal:
        return f"{speak.none_is_better(upper)}: your plan is optimal"
    assert report.gap is not None
    relative = report.relative_gap
    part = f" ({100 * relative:.3g} %)" if relative is not None and relative < 100 else ""
    parts = [
        speak.none_is_better(upper),
        f"at most {speak.number(report.gap)}{part} can be {speak.gained(report.value)}",
        speak.is_known(best) if report.gain else "no better plan is known",
    ]
    return "; ".join(parts)


def coordination_in_words(worth: Coordination) -> list[str]:
    """What coordination is worth, a line for each thing to say."""
    speak = _Money() if worth.money_alone is not None else _Worth()
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


class _Worth:
    """How to speak of values in general."""

    def number(self, value: float) -> str:
        return f"{value:.10g}"

    def is_expected(self, value: float) -> str:
        return f"is worth {self.number(value)}"

    def none_is_better(self, value: float) -> str:
        return f"no plan is worth more than {self.number(value)}"

    def is_known(self, value: float) -> str:
        return f"a plan worth {self.number(value)} is known"

    def gained(self, value: float) -> str:
        return "gained"


class _Money(_Worth):
    """How to speak of what is earned and, where it is below zero, of what it costs."""

    def number(self, value: float) -> str:
        return f"{value:,.2f}"

    def is_expected(self, value: float) -> str:
        verb = "cost" if value < 0 else "earn"
        return f"is expected to {verb} {self.number(abs(value))}"

    def none_is_better(self, value: float) -> str:
        what = "cost less" if value < 0 else "earn more"
        return f"no plan can {what} than {self.number(abs(value))}"

    def is_known(self, value: float) -> str:
        verb = "costs" if value < 0 else "earns"
        return f"a plan that {verb} {self.number(abs(value))} is known"

    def gained(self, value: float) -> str:
        return "saved" if value < 0 else "gained"


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


def first_steps(policy: Policy, calendar: Calendar | None = None) -> list[str]:
    """What each agent does first, in words.

    In a maintenance problem: when each contractor first starts a task, if everything goes as is
    most likely until then; by date, if there is a calendar.
    """
    if not isinstance(policy.problem, MaintenanceProblem):
        actions = policy.act(policy.stage)
        return [f"{name}: {action} at stage {policy.stage}" for name, action in actions.items()]
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
            action = agent.actions[agent.choice_action[choice]]
            if action.startswith("start ") and agent.name not in lines:
                task = action.removeprefix("start ")
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


def numbered(values: Sequence[str]) -> str:
    """Lines with a bullet each."""
    return "\n".join(f"  - {value}" for value in values)
