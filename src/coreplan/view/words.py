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
from coreplan.solving.result import Result, Status, ValueEstimate, is_closed
from coreplan.support.cents import amount_text, rounded
from coreplan.support.language import (
    marked,
    number_text,
    say,
    say_marked,
    say_noun,
)
from coreplan.support.late import provides


def count(number: int, one: str, many: str | None = None) -> str:
    """A number and its noun, in the singular or the plural.

    Examples
    --------
    >>> count(1, "agent"), count(1200, "agent"), count(2, "entry", "entries")
    ('1 agent', '1,200 agents', '2 entries')
    """
    return say_noun(number, one, many or f"{one}s")


def percent(chance: float) -> str:
    """A chance in per cent, rounded; 0 % and 100 % only if the chance is exactly that.

    Examples
    --------
    >>> percent(0.35), percent(1.0), percent(0.9999), percent(0.00001)
    ('35 %', '100 %', '> 99 %', '< 1 %')
    """
    share = 100 * chance
    if 0 < share < 1:
        return say("< 1 %")
    if 99 < share < 100 - 1e-7:
        return say("> 99 %")
    return say("{share:.0f} %", share=share)


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
    agents = count(len(problem.agent_names), words.agent)
    return say("{agents}, horizon {horizon}", agents=agents, horizon=problem.horizon)


@describe_problem.register
def _describe_timmdp(problem: TIMMDP) -> str:
    shared = sum(len(function.scope) > 1 for function in problem.rewards)
    parts = [
        count(len(problem.agents), "agent"),
        say("horizon {horizon}", horizon=problem.horizon),
        count(shared, "interaction reward"),
    ]
    if problem.aggregates:
        names = {aggregate.name for aggregate in problem.aggregates}
        parts.append(count(len(names), "reward for sums", "rewards for sums"))
    if problem.discount != 1:
        parts.append(say("discount {discount}", discount=number_text(problem.discount, "g")))
    return ", ".join(parts)


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
    if calendar.step == "day":
        shown = say("steps are days; the first begins on {day}", day=calendar.label(0))
    else:
        shown = say("steps are weeks; the first begins on {day}", day=calendar.label(0))
    parts = [f"{shown}{said}"]
    for no in ("work", "start"):
        periods = [period.label for period in calendar.closed if period.no == no]
        if periods:
            more = len(periods) - MOST_PERIODS
            named = ", ".join(periods[:MOST_PERIODS])
            if more > 0:
                named = say("{names} and {more:,} more", names=named, more=more)
            parts.append(
                say("no work in {periods}", periods=named)
                if no == "work"
                else say("no start in {periods}", periods=named)
            )
    return "; ".join(parts)


def when(stage: int, calendar: Calendar | None = None) -> str:
    """A step as people name it: ``step 3`` or, with a calendar, its first day.

    Examples
    --------
    >>> when(3)
    'step 3'
    """
    return say("step {step}", step=stage) if calendar is None else calendar.label(stage)


def when_range(first: int, last: int, calendar: Calendar | None = None) -> str:
    """Consecutive steps from the first to the last, both included.

    Examples
    --------
    >>> when_range(3, 5), when_range(3, 3)
    ('steps 3 to 5', 'step 3')
    """
    if calendar is not None:
        return calendar.range_label(first, last)
    if first == last:
        return when(first)
    return say("steps {first} to {last}", first=first, last=last)


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
        return when_range(first, last)
    same_year = calendar.first_day(first).year == calendar.first_day(last).year
    begin = calendar.short_label(first) if same_year else calendar.label(first)
    return say("{begin} to {end}", context="dates", begin=begin, end=calendar.label(last))


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
        lines.append(say("your plan {is_worth}", is_worth=speak.is_expected(report.value)))
        if report.money is not None:
            first, *others = parts_in_words(problem, report.money)
            lines[-1] = say("{plan} in all: {money}", plan=lines[-1], money=first)
            lines += others
    if report.estimate is not None:
        lines.append(say("your plan {is_worth}", is_worth=speak.is_about(report.estimate)))
    if report.value is None:
        lines.append(say("the exact value of your plan is out of reach: too much can happen"))
    if report.upper_bound is not None and report.best_known is not None:
        lines.append(_distance(report, speak, report.upper_bound, report.best_known))
    if report.message:
        lines.append(report.message)
    return lines


WHY_STOPPED = {
    Status.TIME_LIMIT: marked("Stopped by the time limit."),
    Status.MEMORY_LIMIT: marked("Stopped by the memory limit."),
    Status.INTERRUPTED: marked("Stopped."),
    Status.GAP_LIMIT: marked("Stopped with a gap left."),
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
        first = say_marked(speak.proven)
        if local:
            first = f"Proven {speak.best} of all decentralised plans: each {agent} sees only "
            first += "its own state."
        plan = say("This plan {is_worth}.", is_worth=speak.has(result.value))
        first = f"{first} {plan}"
    else:
        bound = speak.none_is_better(result.upper_bound, decentralised=local)
        left = speak.left(result.gap, result.relative_gap)
        stopped = say_marked(WHY_STOPPED[result.status])
        plan = say(
            "This plan {is_worth}; {bound} ({left}).",
            is_worth=speak.has(result.value),
            bound=bound,
            left=left,
        )
        first = f"{stopped} {plan}"
    work = result.statistics
    counts = {
        "joint states expanded": work.joint_states_expanded,
        "joint actions evaluated": work.joint_actions_evaluated,
        "table cells computed": work.others.get("kernel_cells", 0),
    }
    known = [f"{number:,.0f} {what}" for what, number in counts.items() if number]
    lines = [first]
    if result.estimate is not None:
        lines.append(speak.decides_as_it_goes(result.value, result.estimate, result.upper_bound))
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
        return say("your plan is optimal: {bound}", bound=speak.none_is_better(upper))
    assert report.gap is not None
    relative = report.relative_gap
    gap = max(0.0, speak.shown(upper) - speak.shown(report.value))
    amount = speak.number(gap)
    if relative is not None and relative < 100:
        amount = f"{amount} ({say('{share:.3g} %', share=100 * relative)})"
    gain = speak.can_be_gained(report.value, amount)
    known = speak.is_known(best) if report.gain else say("no better plan is known")
    return f"{gain}: {speak.none_is_better(upper)}; {known}"


class Worth:
    """The words for values of any problem."""

    best = "optimal"
    """The adjective for a plan of the highest value."""
    proven = marked("Proven optimal.")
    """The sentence for a proof that a plan has the highest value."""

    def number(self, value: float) -> str:
        """Write a value."""
        return number_text(value, ".10g")

    def shown(self, value: float) -> float:
        """The value as it is written: differences of shown values then agree with them."""
        return value

    def has(self, value: float) -> str:
        """Say in short that a plan has this value."""
        return say("is worth {value}", value=self.number(value))

    def is_expected(self, value: float) -> str:
        """Say that a plan has this expected value."""
        return say("is worth {value}", value=self.number(value))

    def is_about(self, estimate: Estimate) -> str:
        """Say that simulation gives a plan about this value, with the interval."""
        head, low, high = self._about(estimate)
        return say(
            "{is_about}: between {low} and {high} with a confidence of {confidence:g} %, estimated "
            "from {runs}, not exact",
            is_about=head,
            low=self.number(low),
            high=self.number(high),
            confidence=100 * estimate.confidence,
            runs=count(estimate.runs, "run"),
        )

    def _about(self, estimate: Estimate) -> tuple[str, float, float]:
        """The words for an estimated value, and the ends of its interval as they are written."""
        head = say("is worth about {value}", value=self.number(estimate.mean))
        return head, estimate.low, estimate.high

    def none_is_better(self, value: float, *, decentralised: bool = False) -> str:
        """Say that no plan, or no decentralised one, has a better value than this."""
        number = self.number(value)
        if decentralised:
            return say("no decentralised plan is worth more than {value}", value=number)
        return say("no plan is worth more than {value}", value=number)

    def between(self, lower: float, upper: float) -> str:
        """Say during a search between which bounds the value of the best plan lies."""
        least = say("at least {value}", value=self.number(lower))
        most = say("at most {value}", value=self.number(upper))
        if math.isinf(lower):
            none = say("no plan yet")
            return none if math.isinf(upper) else f"{most}; {none}"
        return least if math.isinf(upper) else f"{least}, {most}"

    def decides_as_it_goes(self, value: float, estimate: ValueEstimate, upper: float) -> str:
        """Say what is certain, and what is almost certain, of a plan that looks ahead."""
        return say(
            "This plan decides as it goes: its value is certainly at least {value}, almost "
            "certainly at least {likely} ({confidence:g} %), and at most {bound}.",
            value=self.number(value),
            likely=self.number(estimate.lower),
            confidence=100 * estimate.confidence,
            bound=self.number(upper),
        )

    def is_known(self, value: float) -> str:
        """Say that a plan of this value is known."""
        return say("a plan worth {value} is known", value=self.number(value))

    def left(self, gap: float, part: float) -> str:
        """The gap that is left, also as a part of the value unless that is infinite."""
        if math.isinf(part):
            return say("a gap of {gap:.4g}", gap=gap)
        return say("a gap of {gap:.4g}, {share:.3g} %", gap=gap, share=100 * part)

    def can_be_gained(self, value: float, amount: str) -> str:
        """Say how much at most a plan of this value can be improved."""
        return say("at most {amount} can be gained", amount=amount)


class MoneyWorth(Worth):
    """The words for money: negative values are costs, and are written as positive numbers."""

    best = "best"
    proven = marked("Proven best.")

    def number(self, value: float) -> str:
        """Write an amount."""
        return amount_text(value)

    def shown(self, value: float) -> float:
        """The amount in whole cents."""
        return rounded(value)

    def has(self, value: float) -> str:
        """Say in short what a plan costs or earns."""
        amount = self.number(abs(value))
        if value < 0:
            return say("costs {amount}", amount=amount)
        return say("earns {amount}", amount=amount)

    def is_expected(self, value: float) -> str:
        """Say what a plan is expected to cost or earn."""
        amount = self.number(abs(value))
        if value < 0:
            return say("is expected to cost {amount}", amount=amount)
        return say("is expected to earn {amount}", amount=amount)

    def _about(self, estimate: Estimate) -> tuple[str, float, float]:
        amount = self.number(abs(estimate.mean))
        if estimate.mean < 0:
            head = say("is expected to cost about {amount}", amount=amount)
            return head, -estimate.high, -estimate.low
        head = say("is expected to earn about {amount}", amount=amount)
        return head, estimate.low, estimate.high

    def decides_as_it_goes(self, value: float, estimate: ValueEstimate, upper: float) -> str:
        """Say what a plan that looks ahead costs or earns, certainly and almost certainly."""
        if value >= 0:
            return say(
                "This plan decides as it goes: its expected earnings are certainly at least "
                "{value}, almost certainly at least {likely} ({confidence:g} %), and at most "
                "{bound}.",
                value=self.number(value),
                likely=self.number(estimate.lower),
                confidence=100 * estimate.confidence,
                bound=self.number(upper),
            )
        return say(
            "This plan decides as it goes: its expected cost is certainly at most {value}, almost "
            "certainly at most {likely} ({confidence:g} %), and at least {bound}.",
            value=self.number(-value),
            likely=self.number(-estimate.lower),
            confidence=100 * estimate.confidence,
            bound=self.number(-upper),
        )

    def none_is_better(self, value: float, *, decentralised: bool = False) -> str:
        """Say what no plan, or no decentralised one, can beat."""
        amount = self.number(abs(value))
        if decentralised and value < 0:
            return say("no decentralised plan can cost less than {amount}", amount=amount)
        if decentralised:
            return say("no decentralised plan can earn more than {amount}", amount=amount)
        if value < 0:
            return say("no plan can cost less than {amount}", amount=amount)
        return say("no plan can earn more than {amount}", amount=amount)

    def between(self, lower: float, upper: float) -> str:
        """Say during a search between which amounts the best plan costs or earns."""
        can_cost = lower < 0 if math.isfinite(lower) else upper < 0
        sign = -1 if can_cost else 1
        if math.isfinite(lower) and is_closed(lower, upper):
            worth = self.has(lower)
            return say("{is_worth}: proven best; the plan is being completed", is_worth=worth)
        parts = []
        if math.isfinite(lower):
            least = self.number(sign * lower)
            parts.append(
                say("at most {value}", value=least)
                if can_cost
                else say("at least {value}", value=least)
            )
        if math.isfinite(upper):
            most = self.number(sign * upper)
            parts.append(
                say("at least {value}", value=most)
                if can_cost
                else say("at most {value}", value=most)
            )
        bounds = ", ".join(parts)
        said = (
            say("costs {amount}", amount=bounds)
            if can_cost
            else say("earns {amount}", amount=bounds)
        )
        if math.isinf(lower):
            none = say("no plan yet")
            return f"{said}; {none}" if parts else none
        if math.isinf(upper):
            return said
        gap = max(0.0, upper - lower)
        return f"{said} ({self.left(gap, gap / abs(lower) if lower else math.inf)})"

    def is_known(self, value: float) -> str:
        """Say that a plan with this cost or these earnings is known."""
        amount = self.number(abs(value))
        if value < 0:
            return say("a plan that costs {amount} is known", amount=amount)
        return say("a plan that earns {amount} is known", amount=amount)

    def left(self, gap: float, part: float) -> str:
        """The gap that is left, as a part of the costs or earnings."""
        if math.isinf(part):
            return say("{amount} left", amount=self.number(gap))
        if 0 < part < 1e-4:
            return say("less than 0.01 % left")
        return say("{share:.3g} % left", share=100 * part)

    def can_be_gained(self, value: float, amount: str) -> str:
        """Say how much at most can be saved, or gained if the plan earns something."""
        if value < 0:
            return say("at most {amount} can be saved", amount=amount)
        return say("at most {amount} can be gained", amount=amount)


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
