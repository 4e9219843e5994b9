"""Sentences about decision rules: what to do if a work is delayed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from rich.text import Text

from coreplan.domains.maintenance.decision_rules import DecisionRule, DecisionRules, Starts
from coreplan.domains.maintenance.problem import MaintenanceProblem
from coreplan.model.calendar import Calendar
from coreplan.view.words import count, percent, printable, when


def rule_lines(
    problem: MaintenanceProblem,
    rules: DecisionRules,
    calendar: Calendar | None = None,
    most: int = 8,
) -> list[Text]:
    """The most important rules for delays, as lines for the terminal."""
    if most == 0:
        return []
    partly = ""
    if rules.covered < 1:
        partly = f" (in the likeliest courses, {percent(rules.covered)} of all)"
    if not rules.rules:
        text = f"Delays do not change when other contractors start their works{partly}."
        return [Text(text)]
    lines = [Text(f"What to do about delays{partly}:", "bold")]
    lines += [Text(f"  {line}") for line in rules_in_words(rules.rules[:most], problem, calendar)]
    if len(rules.rules) > most:
        left = count(len(rules.rules) - most, "less important rule")
        lines.append(Text(f"  and {left} (--rules)", "dim"))
    return lines


def rule_in_words(
    rule: DecisionRule, problem: MaintenanceProblem, calendar: Calendar | None = None
) -> str:
    """A rule as a sentence: *if a1 is delayed (30 %), Beta waits 2 weeks with b1: ...*."""
    return f"{_condition(rule, problem, calendar)}, {_consequence(rule, problem, calendar)}"


def rules_in_words(
    rules: Sequence[DecisionRule], problem: MaintenanceProblem, calendar: Calendar | None = None
) -> list[str]:
    """Rules as lines of a list, grouped by delay; a group stands where its first rule stood."""
    groups: dict[str, list[str]] = {}
    for rule in rules:
        condition = _condition(rule, problem, calendar)
        groups.setdefault(condition, []).append(_consequence(rule, problem, calendar))
    lines = []
    for condition, consequences in groups.items():
        if len(consequences) == 1:
            lines.append(f"- {condition}, {consequences[0]}")
        else:
            lines += [f"- {condition}:", *(f"    - {each}" for each in consequences)]
    return lines


def _condition(rule: DecisionRule, problem: MaintenanceProblem, calendar: Calendar | None) -> str:
    work = name_of(rule.contractor, rule.work, problem)
    since = f", started {_on(rule.start, calendar)}," if rule.several_starts else ""
    return f"if {work}{since} is delayed ({percent(rule.delay_chance)})"


def _consequence(rule: DecisionRule, problem: MaintenanceProblem, calendar: Calendar | None) -> str:
    other = name_of(rule.other_contractor, rule.other_work, problem)
    unless = "" if rule.always else f", unless {other} has started"
    who = printable(rule.other_contractor)
    return f"{who} {_response(rule, other, calendar)}{unless}"


def _response(rule: DecisionRule, other: str, calendar: Calendar | None) -> str:
    late, usual = rule.delayed, rule.on_time
    if late.first is None:
        return f"leaves {other} out instead of starting it {_starts(usual, calendar)}"
    if usual.first is None:
        return f"starts {other} {_starts(late, calendar)} instead of leaving it out"
    both = f"{_starts(late, calendar)} instead of {_starts(usual, calendar)}"
    amount = _amount(abs(rule.change), calendar)
    exact = late.first == late.last and usual.first == usual.last and not late.never + usual.never
    if exact and rule.change > 0:
        return f"waits {amount} with {other}: it starts {both}"
    average = "" if exact else " on average"
    direction = "later" if rule.change > 0 else "earlier"
    return f"starts {other}{average} {amount} {direction}: {both}"


def _starts(starts: Starts, calendar: Calendar | None) -> str:
    assert starts.first is not None
    assert starts.last is not None
    if starts.first == starts.last:
        text = _on(starts.first, calendar)
    elif calendar is None:
        text = f"in steps {starts.first} to {starts.last}"
    else:
        text = f"between {calendar.label(starts.first)} and {calendar.label(starts.last)}"
    if starts.never > 0:
        text += f" (or not at all: {percent(starts.never)})"
    return text


def _on(stage: int, calendar: Calendar | None) -> str:
    return f"in {when(stage)}" if calendar is None else f"on {when(stage, calendar)}"


def _amount(steps: float, calendar: Calendar | None) -> str:
    if abs(steps - round(steps)) < 1e-9:
        whole = round(steps)
        return count(whole, "step") if calendar is None else calendar.steps(whole)
    unit = "step" if calendar is None else calendar.step
    return f"{steps:.1f} {unit}s" if steps >= 0.1 else f"{steps:.1g} {unit}s"


def name_of(contractor: str, work: str, problem: MaintenanceProblem) -> str:
    """A work's name; with the contractor's name if several contractors have a work of this name."""
    names = Counter(task.name for each in problem.contractors for task in each.tasks)
    return printable(work if names[work] == 1 else f"{contractor}/{work}")
