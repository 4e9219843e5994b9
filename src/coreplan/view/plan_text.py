"""A plan for a terminal: the chart, and the rules for delays."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text

from coreplan.maintenance.calendar import Calendar
from coreplan.maintenance.decision_rules import DecisionRules
from coreplan.maintenance.problem import MaintenanceProblem
from coreplan.maintenance.timeline import WorkTimeline
from coreplan.view.gantt_text import gantt, marks_for
from coreplan.view.rules_text import rules_in_words
from coreplan.view.words import count, percent


def chart_lines(
    problem: MaintenanceProblem,
    works: Sequence[WorkTimeline],
    stage: int,
    width: int,
    encoding: str | None,
    calendar: Calendar | None = None,
) -> list[Text]:
    """The chart of who does what when."""
    names = [contractor.name for contractor in problem.contractors]
    marks = marks_for(encoding)
    return gantt(works, names, stage, problem.horizon, width, marks, calendar)


def rule_lines(
    problem: MaintenanceProblem,
    rules: DecisionRules,
    calendar: Calendar | None = None,
    most: int = 8,
) -> list[Text]:
    """What to do about delays, the rules that matter most."""
    if most == 0:
        return []
    partly = ""
    if rules.covered < 1:
        partly = f" (as far as the likeliest courses show, {percent(rules.covered)} of all)"
    if not rules.rules:
        text = f"Delays make no difference to when other contractors start their works{partly}."
        return [Text(text)]
    lines = [Text(f"What to do about delays{partly}:", "bold")]
    lines += [Text(f"  {line}") for line in rules_in_words(rules.rules[:most], problem, calendar)]
    if len(rules.rules) > most:
        left = count(len(rules.rules) - most, "more rule")
        lines.append(Text(f"  and {left} that matter less (--rules)", "dim"))
    return lines
