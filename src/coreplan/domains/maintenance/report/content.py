"""The content of a report: its numbers and most of its sentences, as plain values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from coreplan.analysis.distribution import ReturnDistribution, return_distribution
from coreplan.domains.maintenance.closures import closure_in_words
from coreplan.domains.maintenance.courses import Courses
from coreplan.domains.maintenance.decision_rules import DecisionRule
from coreplan.domains.maintenance.parts import Cost
from coreplan.domains.maintenance.problem import MaintenanceProblem
from coreplan.domains.maintenance.report.findings import Findings, Shown
from coreplan.domains.maintenance.report.money import (
    coordination_data,
    distribution_data,
    proof_with_changes,
    summary_data,
)
from coreplan.domains.maintenance.report.why import why_data
from coreplan.domains.maintenance.report.words import Words, can_be_delayed, held
from coreplan.domains.maintenance.report.works import works_table
from coreplan.domains.maintenance.view.changes_text import changes_in_words
from coreplan.domains.maintenance.view.rules_text import grouped_rules, rules_heading
from coreplan.domains.maintenance.words import spent_before
from coreplan.support.language import say
from coreplan.view.words import count

MOST_RULES = 40
"""The most rules for delays on a page, the most important ones first."""
SECTIONS = ("summary", "plan", "delays", "hindrance", "costs", "coordination", "why", "works")
"""The sections of the page, from top to bottom: files in ``sections/``, drawn by the script."""


def report_data(
    findings: Findings, *, title: str | None = None, seed: int = 1, time_limit: float
) -> dict[str, Any]:
    """Compute everything that the page of a whole plan shows, as values for JSON.

    Parameters
    ----------
    findings
        The plan with its chances, money and courses.
    title
        Title of the report; by default the problem's name.
    seed
        Seed of the random numbers, used if costs have to be simulated.
    time_limit
        The most seconds for each part.
    """
    plan, problem, worth = findings.plan, findings.problem, findings.worth
    words = Words(plan.policy, findings.calendar)
    if findings.simulated is None:
        returns = return_distribution(plan.policy, seed=seed, time_limit=time_limit)
    else:
        returns = ReturnDistribution.of_runs(findings.simulated.returns)
    shown = Shown(problem, range(len(problem.contractors)))
    return {
        "sections": list(SECTIONS),
        "title": title or problem.name,
        "subtitle": words.size(problem, len(problem.contractors), len(shown.places)),
        "costs": worth.costs,
        **chart_data(findings, shown, findings.courses, words),
        "rules": [
            {"works": [shown.named[name] for name in rule.tasks], "cost": _plain_cost(rule.cost)}
            for rule in problem.network
        ],
        "hindrance": _hindrance(findings),
        "hindrance_sums": list(worth.money.in_cents().hindrances),
        "summary": summary_data(plan, worth)
        | {"later": later(findings), "changes": []}
        | _priced(findings),
        "delays": delays_data(findings),
        "distribution": distribution_data(returns, worth),
        "coordination": coordination_data(plan, worth, time_limit),
        "why": why_data(findings, time_limit),
        "works_table": works_table(findings, shown.places, words),
        "words": {
            "held": held(findings.courses),
            "hindrance": words.heat_help(findings.times),
            "works": words.works_help(findings.times),
            "footer": words.footer(),
        },
    }


def later(findings: Findings) -> str:
    """Say which money is left out if the plan begins after the first step; else empty."""
    return spent_before(findings.problem, findings.plan.policy, findings.calendar)


def _priced(findings: Findings) -> dict[str, Any]:
    """The proof of a plan whose changes of an old plan cost money, and what these changes are."""
    priced, worth = findings.priced, findings.worth
    if priced is None:
        return {}
    lines = []
    if priced.changes is not None:
        lines = changes_in_words(priced.changes, priced.price, worth.value, findings.calendar)
    return {
        "proof": proof_with_changes(priced.gap, priced.proven, worth),
        "proven": priced.proven,
        "changes": lines,
    }


# -- the chart --------------------------------------------------------------------------------


def chart_data(
    findings: Findings, shown: Shown, courses: Sequence[Courses], words: Words
) -> dict[str, Any]:
    """What the chart needs: contractors, works, and the courses of the plan.

    Parameters
    ----------
    shown
        The contractors whose works the data has.
    courses
        The courses of these contractors.
    """
    policy, problem = findings.plan.policy, findings.problem
    left = {place: steps for place, steps in findings.beginning.items() if place in shown.number}
    return {
        "unit": words.unit,
        "first": policy.stage,
        "horizon": policy.horizon,
        "dates": words.dates(),
        "closed": _closed(problem, policy.stage),
        "contractors": [problem.contractors[i].name for i in shown.contractors],
        "works": [_work(findings, shown, i, k) for i, k in shown.places],
        "running": [[shown.number[place], steps] for place, steps in left.items() if steps],
        "done": [shown.number[place] for place, steps in left.items() if not steps],
        "courses": [_pieces(shown, each) for each in courses],
        "open": can_be_delayed(courses),
    }


def _closed(problem: MaintenanceProblem, stage: int) -> list[dict[str, Any]]:
    """The closed steps of the plan, for the chart."""
    return [
        {
            "begin": max(each.first, stage),
            "end": min(each.last + 1, problem.horizon),
            "no": each.no,
            "name": closure_in_words(each),
        }
        for each in problem.closed
        if each.last >= stage and each.first < problem.horizon
    ]


def _work(findings: Findings, shown: Shown, i: int, k: int) -> dict[str, Any]:
    task = findings.problem.contractors[i].tasks[k]
    ways = task.durations
    return {
        "contractor": shown.row[i],
        "name": task.name,
        "steps": ways[0][1],
        "late": ways[1][1] - ways[0][1] if len(ways) > 1 else 0,
        "chance": ways[1][0] if len(ways) > 1 else 0,
        "cost": _plain_cost(task.cost),
        "revenue": task.revenue,
    }


def _plain_cost(cost: Cost) -> float | list[float]:
    return list(cost) if isinstance(cost, tuple) else cost


def _pieces(shown: Shown, courses: Courses) -> dict[str, Any]:
    """The courses of a part: for each piece its open works, all starts, and the next pieces."""
    return {
        "contractors": [shown.row[i] for i in courses.contractors],
        "pieces": [
            [
                piece.open,
                [
                    each
                    for start in piece.starts
                    for each in (shown.number[start.contractor, start.task], start.stage)
                ],
                {" ".join(map(str, delayed)): k for delayed, k in piece.following.items()},
            ]
            for piece in courses.pieces
        ],
    }


# -- rules for delays, and hindrance ----------------------------------------------------------


def delays_data(findings: Findings) -> dict[str, Any]:
    """The rules for delays of the whole plan."""
    known = findings.rules
    heading = rules_heading(known)
    help_text = ""
    if known.rules:
        help_text = say(
            "The most important rules come first. A delay also pushes back the contractor's own "
            "next works; that is not a rule."
        )
    none = f"{heading}."
    if not can_be_delayed(findings.courses):
        none = say("No work in this plan can be delayed.")
    return {
        "title": heading if known.rules else say("What to do about delays"),
        "help": help_text,
        "lists": [rules_list(findings, known.rules, none, MOST_RULES)],
    }


def rules_list(
    findings: Findings, rules: Sequence[DecisionRule], none: str, most: int, title: str = ""
) -> dict[str, Any]:
    """Rules in the words of the terminal: conditions, each with its consequences."""
    left = len(rules) - most
    more = ""
    if left > 0:
        more = say("{rules} left out.", rules=count(left, "less important rule"))
    return {
        "title": title,
        "rules": [
            [condition, consequences]
            for condition, consequences in grouped_rules(
                rules[:most], findings.problem, findings.calendar
            )
        ],
        "none": none,
        "more": more,
    }


def _hindrance(findings: Findings) -> list[list[list[float]]]:
    """For each rule, the steps with a cost and their expected costs."""
    if findings.times is None:
        return []
    return [
        [[stage, amount] for stage, amount in enumerate(row) if amount]
        for row in findings.times.hindrance
    ]
