"""Plans in words."""

from __future__ import annotations

from collections.abc import Sequence
from functools import singledispatch
from typing import Any

from coreplan.analysis.plan import PlanReport
from coreplan.model.calendar import Calendar
from coreplan.model.problem import PlanningProblem
from coreplan.model.timmdp import TIMMDP
from coreplan.policies.policy import Policy
from coreplan.support.late import provides


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


@singledispatch
def describe_problem(problem: PlanningProblem) -> str:
    """One line that says how large a problem is; a domain may register its own."""
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


@provides("PlanReport.text")
def plan_in_words(report: PlanReport) -> list[str]:
    """What a plan is worth and how much could be gained, a line for each.

    What is certain and what is an estimate are told apart.
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


@singledispatch
def parts_in_words(problem: PlanningProblem | None, money: Any) -> list[str]:
    """The parts of a value, and what else is to be said of them; a domain registers its own."""
    return [str(money)]


def _distance(report: PlanReport, speak: Worth, upper: float, best: float) -> str:
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


class Worth:
    """How to speak of values in general."""

    def number(self, value: float) -> str:
        """A value."""
        return f"{value:.10g}"

    def is_expected(self, value: float) -> str:
        """That a plan has a value."""
        return f"is worth {self.number(value)}"

    def none_is_better(self, value: float) -> str:
        """That a value bounds all plans."""
        return f"no plan is worth more than {self.number(value)}"

    def is_known(self, value: float) -> str:
        """That a plan of this value is known."""
        return f"a plan worth {self.number(value)} is known"

    def gained(self, value: float) -> str:
        """What is done by improving a plan of this value."""
        return "gained"


class MoneyWorth(Worth):
    """How to speak of what is earned and, where it is below zero, of what it costs."""

    def number(self, value: float) -> str:
        """A value."""
        return f"{value:,.2f}"

    def is_expected(self, value: float) -> str:
        """That a plan has a value."""
        verb = "cost" if value < 0 else "earn"
        return f"is expected to {verb} {self.number(abs(value))}"

    def none_is_better(self, value: float) -> str:
        """That a value bounds all plans."""
        what = "cost less" if value < 0 else "earn more"
        return f"no plan can {what} than {self.number(abs(value))}"

    def is_known(self, value: float) -> str:
        """That a plan of this value is known."""
        verb = "costs" if value < 0 else "earns"
        return f"a plan that {verb} {self.number(abs(value))} is known"

    def gained(self, value: float) -> str:
        """What is done by improving a plan of this value."""
        return "saved" if value < 0 else "gained"


def speech(problem: PlanningProblem | None) -> Worth:
    """How to speak of values of a problem."""
    return MoneyWorth() if problem is not None and problem.words.money else Worth()


def first_steps(policy: Policy, calendar: Calendar | None = None) -> list[str]:
    """What each agent does first, in words; by date, if there is a calendar."""
    return first_steps_of(policy.problem, policy, calendar)


@singledispatch
def first_steps_of(
    problem: PlanningProblem, policy: Policy, calendar: Calendar | None
) -> list[str]:
    """The same for one kind of problem; a domain may register its own."""
    actions = policy.act(policy.stage)
    return [f"{name}: {action} at stage {policy.stage}" for name, action in actions.items()]


def numbered(values: Sequence[str]) -> str:
    """Lines with a bullet each."""
    return "\n".join(f"  - {value}" for value in values)
