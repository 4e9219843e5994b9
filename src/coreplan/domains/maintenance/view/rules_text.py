"""Sentences about decision rules: what to do if a work is delayed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from rich.text import Text

from coreplan.domains.maintenance.decision_rules import DecisionRule, DecisionRules, Starts
from coreplan.domains.maintenance.problem import MaintenanceProblem
from coreplan.model.calendar import Calendar
from coreplan.support.language import number_text, say
from coreplan.view.units import some_steps
from coreplan.view.words import count, percent, printable, steps, when


def rule_lines(
    problem: MaintenanceProblem,
    rules: DecisionRules,
    calendar: Calendar | None = None,
    most: int = 8,
) -> list[Text]:
    """The most important rules for delays, as lines for the terminal."""
    if most == 0:
        return []
    if not rules.rules:
        return [Text(f"{rules_heading(rules)}.")]
    lines = [Text(f"{rules_heading(rules)}:", "bold")]
    lines += [Text(f"  {line}") for line in rules_in_words(rules.rules[:most], problem, calendar)]
    if len(rules.rules) > most:
        left = count(len(rules.rules) - most, "less important rule")
        lines.append(Text(f"  {say('and {rules} (--rules)', rules=left)}", "dim"))
    return lines


def rules_heading(rules: DecisionRules) -> str:
    """What stands above the rules; if a plan has none, a sentence that says so."""
    if rules.covered >= 1:
        if not rules.rules:
            return say("Delays do not change when other contractors start their works")
        return say("What to do about delays")
    share = percent(rules.covered)
    if not rules.rules:
        return say(
            "Delays do not change when other contractors start their works (in the likeliest "
            "courses, {share} of all)",
            share=share,
        )
    return say("What to do about delays (in the likeliest courses, {share} of all)", share=share)


def rule_in_words(
    rule: DecisionRule, problem: MaintenanceProblem, calendar: Calendar | None = None
) -> str:
    """A rule as a sentence: *if a1 is delayed (30 %), Beta waits 2 weeks with b1: ...*."""
    return _sentence(_condition(rule, problem, calendar), _consequence(rule, problem, calendar))


def _sentence(condition: str, consequence: str) -> str:
    return say("{condition}, {consequence}", condition=condition, consequence=consequence)


def rules_in_words(
    rules: Sequence[DecisionRule], problem: MaintenanceProblem, calendar: Calendar | None = None
) -> list[str]:
    """Rules as lines of a list, grouped by delay; a group stands where its first rule stood."""
    lines = []
    for condition, consequences in grouped_rules(rules, problem, calendar):
        if len(consequences) == 1:
            lines.append(f"- {_sentence(condition, consequences[0])}")
        else:
            lines += [f"- {condition}:", *(f"    - {each}" for each in consequences)]
    return lines


def grouped_rules(
    rules: Sequence[DecisionRule], problem: MaintenanceProblem, calendar: Calendar | None = None
) -> list[tuple[str, list[str]]]:
    """Rules in words, as a condition with its consequences for each delay."""
    groups: dict[str, list[str]] = {}
    for rule in rules:
        condition = _condition(rule, problem, calendar)
        groups.setdefault(condition, []).append(_consequence(rule, problem, calendar))
    return list(groups.items())


def _condition(rule: DecisionRule, problem: MaintenanceProblem, calendar: Calendar | None) -> str:
    work = name_of(rule.contractor, rule.work, problem)
    chance = percent(rule.delay_chance)
    if not rule.several_starts:
        return say("if {work} is delayed ({chance})", work=work, chance=chance)
    at = when(rule.start, calendar)
    if calendar is None:
        return say(
            "if {work}, started in {step}, is delayed ({chance})", work=work, step=at, chance=chance
        )
    return say(
        "if {work}, started on {date}, is delayed ({chance})", work=work, date=at, chance=chance
    )


def _consequence(rule: DecisionRule, problem: MaintenanceProblem, calendar: Calendar | None) -> str:
    other = name_of(rule.other_contractor, rule.other_work, problem)
    response = _response(rule, printable(rule.other_contractor), other, calendar)
    if rule.always:
        return response
    return say("{response}, unless {work} has started", response=response, work=other)


def _response(rule: DecisionRule, who: str, work: str, calendar: Calendar | None) -> str:
    late, usual = rule.delayed, rule.on_time
    names = {"name": who, "work": work}
    if late.first is None:
        return say(
            "{name} leaves {work} out instead of starting it {starts}",
            **names,
            starts=_starts(usual, calendar),
        )
    if usual.first is None:
        return say(
            "{name} starts {work} {starts} instead of leaving it out",
            **names,
            starts=_starts(late, calendar),
        )
    values = {
        **names,
        "late": _starts(late, calendar),
        "usual": _starts(usual, calendar),
        "steps": _amount(abs(rule.change), calendar),
    }
    exact = late.first == late.last and usual.first == usual.last and not late.never + usual.never
    if exact and rule.change > 0:
        return say(
            "{name} waits {steps} with {work}: it starts {late} instead of {usual}", **values
        )
    if exact:
        return say("{name} starts {work} {steps} earlier: {late} instead of {usual}", **values)
    if rule.change > 0:
        return say(
            "{name} starts {work} on average {steps} later: {late} instead of {usual}", **values
        )
    return say(
        "{name} starts {work} on average {steps} earlier: {late} instead of {usual}", **values
    )


def _starts(starts: Starts, calendar: Calendar | None) -> str:
    assert starts.first is not None
    assert starts.last is not None
    first, last = starts.first, starts.last
    if first == last and calendar is None:
        text = say("in {step}", step=when(first))
    elif first == last:
        text = say("on {date}", date=when(first, calendar))
    elif calendar is None:
        text = say("in steps {first} to {last}", first=first, last=last)
    else:
        text = say(
            "between {first} and {last}",
            context="dates",
            first=calendar.label(first),
            last=calendar.label(last),
        )
    if starts.never > 0:
        text = say("{starts} (or not at all: {chance})", starts=text, chance=percent(starts.never))
    return text


def _amount(number: float, calendar: Calendar | None) -> str:
    if abs(number - round(number)) < 1e-9:
        return steps(round(number), calendar)
    return some_steps(number_text(number, ".1f" if number >= 0.1 else ".1g"), calendar)


def name_of(contractor: str, work: str, problem: MaintenanceProblem) -> str:
    """A work's name; with the contractor's name if several contractors have a work of this name."""
    names = Counter(task.name for each in problem.contractors for task in each.tasks)
    return printable(work if names[work] == 1 else f"{contractor}/{work}")
