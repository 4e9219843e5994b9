"""Sentences about problems, plans and values that all commands share."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import singledispatch
from typing import Any

from coreplan.analysis.plan import PlanReport
from coreplan.analysis.simulation import Estimate
from coreplan.model.calendar import Calendar
from coreplan.model.problem import PlanningProblem
from coreplan.model.timmdp import TIMMDP
from coreplan.policies.policy import Policy
from coreplan.solving.result import Result, Status, is_closed
from coreplan.support.cents import amount_text, rounded
from coreplan.support.late import provides


def count(number: int, one: str, many: str | None = None) -> str:
    """A number and its noun, in the singular or the plural.

    Examples
    --------
    >>> count(1, "agent"), count(1200, "agent"), count(2, "entry", "entries")
    ('1 agent', '1,200 agents', '2 entries')
    """
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def percent(chance: float) -> str:
    """A chance in per cent, rounded; 0 % and 100 % only if the chance is exactly that.

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
    """A name on one line, without control characters.

    Examples
    --------
    >>> printable("a" + chr(27) + "[31m" + chr(10) + "b")
    'a·[31m·b'
    """
    return "".join(each if each.isprintable() else "·" for each in name)


@singledispatch
def describe_problem(problem: PlanningProblem) -> str:
    """The size of a problem in one line; a domain may register its own function."""
    words = problem.words
    return f"{count(len(problem.agent_names), words.agent)}, horizon {problem.horizon}"


@describe_problem.register
def _describe_timmdp(problem: TIMMDP) -> str:
    shared = sum(len(function.scope) > 1 for function in problem.rewards)
    return ", ".join(
        [
            count(len(problem.agents), "agent"),
            f"horizon {problem.horizon}",
            count(shared, "interaction reward"),
        ]
    )


MOST_PERIODS = 5
"""The most closed periods that a line names."""


def describe_calendar(calendar: Calendar) -> str:
    """The length and the first day of steps in one line, with the calendar's file.

    Examples
    --------
    >>> import datetime
    >>> describe_calendar(Calendar(datetime.date(2026, 3, 2), "week"))
    'steps are weeks; the first begins on 2 Mar 2026'
    """
    said = "" if calendar.source is None else f" ({calendar.source})"
    shown = f"steps are {calendar.step}s; the first begins on {calendar.label(0)}{said}"
    for no, what in (("work", "no work in"), ("start", "no start in")):
        periods = [period.label for period in calendar.closed if period.no == no]
        if periods:
            shown += f"; {what} {', '.join(periods[:MOST_PERIODS])}"
            more = len(periods) - MOST_PERIODS
            shown += f" and {more} more" if more > 0 else ""
    return shown


def when(stage: int, calendar: Calendar | None = None) -> str:
    """A step as people name it: ``step 3`` or, with a calendar, its first day.

    Examples
    --------
    >>> when(3)
    'step 3'
    """
    return f"step {stage}" if calendar is None else calendar.label(stage)


def when_range(first: int, last: int, calendar: Calendar | None = None) -> str:
    """Consecutive steps from the first to the last, both included.

    Examples
    --------
    >>> when_range(3, 5), when_range(3, 3)
    ('steps 3 to 5', 'step 3')
    """
    if calendar is not None:
        return calendar.range_label(first, last)
    return f"step {first}" if first == last else f"steps {first} to {last}"


def when_starts(first: int, last: int, calendar: Calendar | None = None) -> str:
    """The steps from the first to the last in which something may start; dates are first days.

    Examples
    --------
    >>> when_starts(3, 5), when_starts(3, 3)
    ('steps 3 to 5', 'step 3')
    >>> import datetime
    >>> when_starts(0, 12, Calendar(datetime.date(2026, 4, 6), "week"))
    '6 Apr to 29 Jun 2026'
    """
    if first == last:
        return when(first, calendar)
    if calendar is None:
        return f"steps {first} to {last}"
    same_year = calendar.first_day(first).year == calendar.first_day(last).year
    begin = calendar.short_label(first) if same_year else calendar.label(first)
    return f"{begin} to {calendar.label(last)}"


def steps(number: int, calendar: Calendar | None = None) -> str:
    """A number of steps: ``2 steps`` or, with a calendar, ``2 weeks``."""
    return count(number, "step") if calendar is None else calendar.steps(number)


@provides("PlanReport.text")
def plan_in_words(report: PlanReport) -> list[str]:
    """The value of a plan and the largest possible gain, one line each.

    Exact values, estimates and bounds have different words.
    """
    problem = None if report.policy is None else report.policy.problem
    speak = speech(problem)
    lines = []
    if report.value is not None:
        lines.append(f"your plan {speak.is_expected(report.value)}")
        if report.money is not None:
            first, *others = parts_in_words(problem, report.money)
            lines[-1] += f" in all: {first}"
            lines += others
    if report.estimate is not None:
        lines.append(f"your plan {speak.is_about(report.estimate)}")
    if report.value is None:
        lines.append("the exact value of your plan is out of reach: too much can happen")
    if report.upper_bound is not None and report.best_known is not None:
        lines.append(_distance(report, speak, report.upper_bound, report.best_known))
    if report.message:
        lines.append(report.message)
    return lines


WHY_STOPPED = {
    Status.TIME_LIMIT: "Stopped by the time limit.",
    Status.MEMORY_LIMIT: "Stopped by the memory limit.",
    Status.INTERRUPTED: "Stopped.",
    Status.GAP_LIMIT: "Stopped with a gap left.",
}


@provides("Result.text")
def result_in_words(result: Result, *, technical: bool = True) -> list[str]:
    """The result of a solve: the conclusion with its numbers, further reasons, and the work.

    Without `technical`, the line with the work is left out.
    """
    problem = None if result.policy is None else result.policy.problem
    speak = speech(problem)
    agent = "agent" if problem is None else problem.words.agent
    local = result.objective == "decentralised"
    if result.status is Status.OPTIMAL:
        own = f" of all decentralised plans: each {agent} sees only its own state"
        kind = own if local else ""
        first = f"Proven {speak.best}{kind}. This plan {speak.has(result.value)}."
    else:
        kind = "decentralised plan" if local else "plan"
        bound = speak.none_is_better(result.upper_bound, kind)
        left = speak.left(result.gap, result.relative_gap)
        first = f"{WHY_STOPPED[result.status]} This plan {speak.has(result.value)}; {bound} "
        first += f"({left})."
    work = result.statistics
    counts = {
        "joint states expanded": work.joint_states_expanded,
        "joint actions evaluated": work.joint_actions_evaluated,
        "table cells computed": work.others.get("kernel_cells", 0),
    }
    known = [f"{number:,.0f} {what}" for what, number in counts.items() if number]
    lines = [first]
    if result.message:
        lines.append(f"{result.message[0].upper()}{result.message[1:]}.")
    if not technical:
        return lines
    return [*lines, ", ".join([f"{result.seconds:.3g} s", *known, f"{work.peak_memory_mb:.0f} MB"])]


@singledispatch
def parts_in_words(problem: PlanningProblem | None, money: Any) -> list[str]:
    """The parts of a value, with remarks; a domain registers its own function."""
    return [str(money)]


def _distance(report: PlanReport, speak: Worth, upper: float, best: float) -> str:
    """The distance of a plan from the best one: the conclusion, then the numbers."""
    if report.value is None:
        return f"{speak.none_is_better(upper)}; {speak.is_known(best)}"
    if report.optimal:
        return f"your plan is optimal: {speak.none_is_better(upper)}"
    assert report.gap is not None
    relative = report.relative_gap
    part = f" ({100 * relative:.3g} %)" if relative is not None and relative < 100 else ""
    gap = max(0.0, speak.shown(upper) - speak.shown(report.value))
    gain = f"at most {speak.number(gap)}{part} can be {speak.gained(report.value)}"
    known = speak.is_known(best) if report.gain else "no better plan is known"
    return f"{gain}: {speak.none_is_better(upper)}; {known}"


class Worth:
    """The words for values of any problem."""

    best = "optimal"
    """The adjective for a plan of the highest value."""

    def number(self, value: float) -> str:
        """Write a value."""
        return f"{value:.10g}"

    def shown(self, value: float) -> float:
        """The value as it is written: differences of shown values then agree with them."""
        return value

    def has(self, value: float) -> str:
        """Say in short that a plan has this value."""
        return f"is worth {self.number(value)}"

    def is_expected(self, value: float) -> str:
        """Say that a plan has this expected value."""
        return f"is worth {self.number(value)}"

    def is_about(self, estimate: Estimate) -> str:
        """Say that simulation gives a plan about this value, with the interval."""
        head, low, high = self._about(estimate)
        return (
            f"{head}: between {self.number(low)} and {self.number(high)} with a confidence of "
            f"{100 * estimate.confidence:g} %, estimated from {count(estimate.runs, 'run')}, "
            "not exact"
        )

    def _about(self, estimate: Estimate) -> tuple[str, float, float]:
        """The words for an estimated value, and the ends of its interval as they are written."""
        return f"is worth about {self.number(estimate.mean)}", estimate.low, estimate.high

    def none_is_better(self, value: float, plan: str = "plan") -> str:
        """Say that no plan of a kind has a better value than this."""
        return f"no {plan} is worth more than {self.number(value)}"

    def between(self, lower: float, upper: float) -> str:
        """Say during a search between which bounds the value of the best plan lies."""
        if math.isinf(lower):
            return (
                "no plan yet" if math.isinf(upper) else f"at most {self.number(upper)}; no plan yet"
            )
        if math.isinf(upper):
            return f"at least {self.number(lower)}"
        return f"at least {self.number(lower)}, at most {self.number(upper)}"

    def is_known(self, value: float) -> str:
        """Say that a plan of this value is known."""
        return f"a plan worth {self.number(value)} is known"

    def left(self, gap: float, part: float) -> str:
        """The gap that is left, also as a part of the value unless that is infinite."""
        return f"a gap of {gap:.4g}" + ("" if math.isinf(part) else f", {100 * part:.3g} %")

    def gained(self, value: float) -> str:
        """The participle for improving a plan of this value."""
        return "gained"


class MoneyWorth(Worth):
    """The words for money: negative values are costs, and are written as positive numbers."""

    best = "best"

    def number(self, value: float) -> str:
        """Write an amount."""
        return amount_text(value)

    def shown(self, value: float) -> float:
        """The amount in whole cents."""
        return rounded(value)

    def has(self, value: float) -> str:
        """Say in short what a plan costs or earns."""
        return f"{'costs' if value < 0 else 'earns'} {self.number(abs(value))}"

    def is_expected(self, value: float) -> str:
        """Say what a plan is expected to cost or earn."""
        verb = "cost" if value < 0 else "earn"
        return f"is expected to {verb} {self.number(abs(value))}"

    def _about(self, estimate: Estimate) -> tuple[str, float, float]:
        if estimate.mean < 0:
            head = f"is expected to cost about {self.number(-estimate.mean)}"
            return head, -estimate.high, -estimate.low
        head = f"is expected to earn about {self.number(estimate.mean)}"
        return head, estimate.low, estimate.high

    def none_is_better(self, value: float, plan: str = "plan") -> str:
        """Say what no plan of a kind can beat."""
        what = "cost less" if value < 0 else "earn more"
        return f"no {plan} can {what} than {self.number(abs(value))}"

    def between(self, lower: float, upper: float) -> str:
        """Say during a search between which amounts the best plan costs or earns."""
        can_cost = lower < 0 if math.isfinite(lower) else upper < 0
        verb, sign = ("costs", -1) if can_cost else ("earns", 1)
        if math.isfinite(lower) and is_closed(lower, upper):
            return f"{verb} {self.number(sign * lower)}: proven best; the plan is being completed"
        parts = [
            f"{side} {self.number(sign * bound)}"
            for side, bound in zip(
                ("at most", "at least") if can_cost else ("at least", "at most"),
                (lower, upper),
                strict=True,
            )
            if math.isfinite(bound)
        ]
        said = f"{verb} {', '.join(parts)}" if parts else ""
        if math.isinf(lower):
            return f"{said}; no plan yet" if said else "no plan yet"
        if math.isinf(upper):
            return said
        gap = max(0.0, upper - lower)
        return f"{said} ({self.left(gap, gap / abs(lower) if lower else math.inf)})"

    def is_known(self, value: float) -> str:
        """Say that a plan with this cost or these earnings is known."""
        verb = "costs" if value < 0 else "earns"
        return f"a plan that {verb} {self.number(abs(value))} is known"

    def left(self, gap: float, part: float) -> str:
        """The gap that is left, as a part of the costs or earnings."""
        if math.isinf(part):
            return f"{self.number(gap)} left"
        return "less than 0.01 % left" if 0 < part < 1e-4 else f"{100 * part:.3g} % left"

    def gained(self, value: float) -> str:
        """The participle for improving a plan: costs are saved, earnings gained."""
        return "saved" if value < 0 else "gained"


def speech(problem: PlanningProblem | None) -> Worth:
    """The words for values of a problem: money, or values in general."""
    return MoneyWorth() if problem is not None and problem.words.money else Worth()


def first_steps(policy: Policy, calendar: Calendar | None = None) -> list[str]:
    """The first action of each agent, one line each; by date if a calendar is given."""
    return first_steps_of(policy.problem, policy, calendar)


@singledispatch
def first_steps_of(
    problem: PlanningProblem, policy: Policy, calendar: Calendar | None
) -> list[str]:
    """Write :func:`first_steps` for one kind of problem; a domain may register its own."""
    actions = policy.act(policy.stage)
    return [f"{name}: {action} at stage {policy.stage}" for name, action in actions.items()]


@singledispatch
def total_in_words(problem: PlanningProblem, value: float) -> str:
    """Say what the value of a plan consists of; empty unless a domain registers it."""
    return ""


@singledispatch
def remark_on_start(
    problem: PlanningProblem, policy: Policy, calendar: Calendar | None = None
) -> str:
    """Remark on the situation in which a plan starts; empty unless a domain registers it."""
    return ""


@singledispatch
def remark_on_plan(problem: PlanningProblem, plan: Mapping[str, Any]) -> str:
    """Remark on a plan in the notation of a domain, which registers it; empty without one."""
    return ""


def numbered(values: Sequence[str]) -> str:
    """A list with a bullet before each line."""
    return "\n".join(f"  - {value}" for value in values)
