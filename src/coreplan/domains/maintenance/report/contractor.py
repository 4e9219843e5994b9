"""The page of one contractor: its works, dates, costs, and what to do about delays.

The page names works of others where they matter for this contractor. It never holds their costs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from coreplan.domains.maintenance.decision_rules import DecisionRule
from coreplan.domains.maintenance.money import amount_text, rounded
from coreplan.domains.maintenance.report.content import chart_data, later, rules_list
from coreplan.domains.maintenance.report.findings import Findings, Shown
from coreplan.domains.maintenance.report.money import ROWS, expected_total
from coreplan.domains.maintenance.report.words import Words, held
from coreplan.domains.maintenance.report.works import works_table
from coreplan.errors import ModelError
from coreplan.support.checks import unknown_name
from coreplan.support.language import say, say_marked
from coreplan.view.words import percent

SECTIONS = ("summary", "plan", "works", "delays")
"""The sections of the page, from top to bottom."""
MOST_RULES = 100
"""The most rules for delays on the page."""


def contractor_data(findings: Findings, name: str, *, title: str | None = None) -> dict[str, Any]:
    """Compute everything that the page of one contractor shows, as values for JSON.

    Parameters
    ----------
    findings
        The plan with its chances, money and courses.
    name
        The contractor.
    title
        Title of the whole report; by default the problem's name.
    """
    problem = findings.problem
    names = problem.agent_names
    if name not in names:
        raise ModelError(unknown_name(name, "contractor", names, "the problem"))
    own = names.index(name)
    words = Words(findings.plan.policy, findings.calendar)
    [part] = [each for each in findings.few_courses if own in each.contractors]
    others = [i for i in part.contractors if i != own]
    shown = Shown(problem, [own, *others])
    rules = _rules(findings, name)
    rows = [0, *(shown.row[i] for i in others if i in _partners(findings, own, rules))]
    data = chart_data(findings, shown, [part], words)
    mine = {number for (i, _), number in shown.number.items() if i == own}
    for number, work in enumerate(data["works"]):
        if number not in mine:
            work |= {"cost": 0, "revenue": 0}
    places = [place for place in shown.places if place[0] == own]
    summary = _summary(findings, own)
    return {
        "sections": list(SECTIONS),
        "title": title or problem.name,
        "contractor": name,
        "subtitle": words.size(problem, 0, len(places)),
        "costs": summary["costs"],
        **data,
        "rows": rows,
        "rules": [],
        "hindrance": [],
        "hindrance_sums": [],
        "summary": summary,
        "delays": _delays(findings, rules, name),
        "works_table": works_table(findings, places, words),
        "words": {
            "held": held([part]),
            "works": words.works_help(findings.times),
            "footer": words.footer(),
        },
    }


def _rules(findings: Findings, name: str) -> list[DecisionRule]:
    """The rules that this contractor follows, or that follow from delays of its works."""
    return [
        rule for rule in findings.rules.rules if name in (rule.contractor, rule.other_contractor)
    ]


def _delays(findings: Findings, rules: Sequence[DecisionRule], name: str) -> dict[str, Any]:
    """What the contractor does if works are delayed, and what others do if its works are."""
    followed = [rule for rule in rules if rule.other_contractor == name]
    caused = [rule for rule in rules if rule.other_contractor != name]
    if findings.rules.covered < 1:
        title = say(
            "What to do about delays (in the likeliest courses, {share} of all)",
            share=percent(findings.rules.covered),
        )
        unchanged = say("No delay of another contractor changes your starts in these courses.")
        unmoved = say(
            "Delays of your works do not change when others start theirs in these courses."
        )
    else:
        title = say("What to do about delays")
        unchanged = say("No delay of another contractor changes your starts.")
        unmoved = say("Delays of your works do not change when others start theirs.")
    others = say("What others do if your works are delayed")
    return {
        "title": title,
        "help": say("A delay of your own work can also push back your next works."),
        "lists": [
            rules_list(findings, followed, unchanged, MOST_RULES, say("What you do")),
            rules_list(findings, caused, unmoved, MOST_RULES, others),
        ],
    }


def _partners(findings: Findings, own: int, rules: Sequence[DecisionRule]) -> set[int]:
    """The others whose works matter for a contractor: by rules for delays, or by hindrance."""
    names = findings.problem.agent_names
    partners = {
        names.index(each) for rule in rules for each in (rule.contractor, rule.other_contractor)
    }
    everyone = Shown(findings.problem, range(len(names)))
    for hindrance in findings.problem.network:
        members = {everyone.places[everyone.named[task]][0] for task in hindrance.tasks}
        if own in members:
            partners |= members
    return partners


def _summary(findings: Findings, own: int) -> dict[str, Any]:
    """The expected cost and revenue of the contractor's own works."""
    contractor = findings.problem.contractors[own]
    money = findings.worth.money.in_cents()
    works, revenue = money.works_of[own], money.revenue_of[own]
    earns = any(task.revenue for task in contractor.tasks)
    value = rounded(revenue - works)
    costs = value < 0 or not earns
    amount = amount_text(abs(value))
    if findings.worth.runs is not None:
        amount = say("about {value}", value=amount)
    amounts: list[dict[str, Any]] = []
    if earns:
        amounts = [
            {"words": say_marked(ROWS["works"]), "amount": works, "note": say("own costs")},
            {
                "words": say_marked(ROWS["revenue"]),
                "amount": revenue,
                "note": say("completed works"),
            },
            {
                "words": expected_total(costs),
                "amount": -value if costs else value,
                "note": say("works − revenue") if costs else say("revenue − works"),
                "total": True,
            },
        ]
    return {
        "headline": (
            say("Your works are expected to cost {amount}.", amount=amount)
            if costs
            else say("Your works are expected to earn {amount}.", amount=amount)
        ),
        "conclusion": _conclusion(contractor.name, amount, costs=costs),
        "proof": "",
        "proven": False,
        "amounts": amounts,
        "note": "",
        "later": later(findings),
        "changes": [],
        "costs": costs,
    }


def _conclusion(name: str, amount: str, *, costs: bool) -> str:
    """What the headline of the page says, for others than the contractor."""
    if costs:
        return say("The works of {name} are expected to cost {amount}.", name=name, amount=amount)
    return say("The works of {name} are expected to earn {amount}.", name=name, amount=amount)
