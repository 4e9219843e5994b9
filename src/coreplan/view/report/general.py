"""The report of a plan of any kind: its value, its actions, and how much the value can vary."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from html import escape
from typing import Any

from coreplan.analysis.distribution import return_distribution
from coreplan.analysis.simulation import QUANTILES
from coreplan.analysis.tree import plan_tree
from coreplan.errors import SolverError
from coreplan.model.calendar import Calendar
from coreplan.policies.evaluation import StageRecord, evaluate_stages
from coreplan.policies.policy import Policy
from coreplan.solving.result import is_closed
from coreplan.support.language import number_text, say, say_marked
from coreplan.support.version import __version__
from coreplan.view.plan_text import CUT, tree_in_words
from coreplan.view.report.page import assemble
from coreplan.view.report.plan import ReportedPlan
from coreplan.view.words import describe_problem, percent, speech, when

MOST_NODES = 25
"""The most nodes of the plan tree that are shown."""
MOST_ACTIONS = 3
"""The most actions of an agent that are shown for a stage, the likeliest first."""
MOST_STAGES = 100
"""The most stages in the table of actions."""


def general_data(
    plan: ReportedPlan,
    *,
    title: str | None,
    calendar: Calendar | None,
    seed: int,
    time_limit: float,
) -> dict[str, Any]:
    """Compute everything that the page shows, as plain values."""
    policy, problem = plan.policy, plan.policy.problem
    value, records = plan.value, list[StageRecord]()
    exact = False
    with suppress(SolverError):
        value, records = evaluate_stages(policy, time_limit)
        exact = True
    returns = return_distribution(policy, seed=seed, time_limit=time_limit)
    if value is None:
        value = returns.mean
    tree = plan_tree(policy, most_nodes=MOST_NODES)
    return {
        "title": title or problem.name,
        "subtitle": describe_problem(problem),
        "summary": _summary(plan, value, exact),
        "words": {"held": "" if tree.complete else _sentence(say_marked(CUT))},
        "coordination": {"gain": None},
        "tree": tree_in_words(tree),
        "agents": list(problem.agent_names),
        "steps": _steps(policy, records, calendar),
        "parts": _parts(policy, records) if records else [],
        "quantiles": [[share, returns.quantile(share)] for share in QUANTILES],
        "exact_returns": returns.exact,
    }


def _sentence(remark: str) -> str:
    return f"{remark[:1].upper()}{remark[1:]}."


def _summary(plan: ReportedPlan, value: float, exact: bool) -> dict[str, Any]:
    speak = speech(plan.policy.problem)
    upper = plan.upper_bound
    proven = upper is not None and is_closed(value, upper)
    shown = speak.number(value)
    if not exact:
        shown = (
            say("about {value}", value=shown)
            if plan.value is None
            else say("at least {value}", value=shown)
        )
    if proven and plan.decentralised:
        proof = say("Proven to be the best plan in which each agent sees its own state only.")
    elif proven:
        proof = say("Proven to be the best plan.")
    elif upper is None:
        proof = say("The distance to the best plan is not known.")
    else:
        proof = say(
            "Not proven to be the best plan: at most {gain} can be gained, because no plan is "
            "worth more than {bound}.",
            gain=speak.number(max(0.0, upper - value)),
            bound=speak.number(upper),
        )
    return {
        "headline": say("The plan is worth {value}.", value=shown),
        "proof": " ".join(filter(None, [proof, plan.decides_as_it_goes])),
        "value": value,
        "upper_bound": upper,
        "proven": proven,
    }


def _steps(
    policy: Policy, records: Sequence[StageRecord], calendar: Calendar | None
) -> list[dict[str, Any]]:
    """The actions of each agent at each stage, the likeliest first."""
    steps = []
    for record in records[:MOST_STAGES]:
        row = []
        for agent, choices in zip(policy.indexed.agents, record.choices, strict=True):
            chances: dict[str, float] = {}
            for choice, chance in choices.items():
                name = agent.actions[agent.choice_action[choice]]
                chances[name] = chances.get(name, 0.0) + chance
            ranked = sorted(chances.items(), key=lambda each: -each[1])
            row.append([[name, chance] for name, chance in ranked[:MOST_ACTIONS]])
        steps.append({"when": when(record.stage, calendar), "actions": row})
    return steps


def _parts(policy: Policy, records: Sequence[StageRecord]) -> list[list[Any]]:
    """The part of each reward function in the value."""
    indexed = policy.indexed
    sums, rewards = [0.0] * len(indexed.functions), indexed.rewards
    for record in records:
        for number, amount in record.earned.items():
            sums[rewards[number].function] += amount
    return [[name, amount] for name, amount in zip(indexed.functions, sums, strict=True)]


# -- the page --------------------------------------------------------------------------------------


def general_page(data: dict[str, Any]) -> str:
    """Write the page; it needs no script."""
    summary = data["summary"]
    state = "proven" if summary["proven"] else "open"
    sections = [
        _section(
            say("Summary"),
            f'<p class="headline">{escape(summary["headline"])}</p>'
            f'<p class="proof {state}">{escape(summary["proof"])}</p>',
        ),
    ]
    if data["steps"]:
        sections.append(_section(say("Likely actions"), _likely(data)))
    sections.append(_section(say("The plan"), _tree(data)))
    if data["parts"]:
        rows = [(name, number_text(amount, ",.2f")) for name, amount in data["parts"]]
        rows.append((say("in all"), number_text(summary["value"], ",.2f")))
        parts = _table((say("reward"), say("value")), rows)
        sections.append(_section(say("Parts of the value"), parts))
    note = "" if data["exact_returns"] else f"<p>{escape(say('Estimated by simulation.'))}</p>"
    rows = [
        (say("{share:g} %", share=100 * share), number_text(value, ",.2f"))
        for share, value in data["quantiles"]
    ]
    titles = (say("share of cases"), say("value at most"))
    sections.append(_section(say("Possible values"), note + _table(titles, rows)))
    footer = f"{made_by()} {say('Steps are counted from 0.')}"
    body = (
        f"<header><h1><bdi>{escape(data['title'])}</bdi></h1>"
        f'<p class="muted">{escape(data["subtitle"])}</p></header>'
        f"<main>{''.join(sections)}</main>"
        f'<footer class="muted">{escape(footer)}</footer>\n'
    )
    return assemble(body, data["title"])


def made_by() -> str:
    """Say which version of coreplan has made a page."""
    return say("Made by coreplan {version}. This file needs no network.", version=__version__)


def _tree(data: dict[str, Any]) -> str:
    held = data["words"]["held"]
    note = f'<p class="notice">{escape(held)}</p>' if held else ""
    lines = "\n".join(map(escape, data["tree"]))
    return (
        f'{note}<div class="scroll" tabindex="0" role="group" '
        f'aria-label="{escape(say("Plan tree, can be scrolled"))}"><pre>{lines}</pre></div>'
    )


def _likely(data: dict[str, Any]) -> str:
    rows = []
    for step in data["steps"]:
        cells = [
            ", ".join(
                name if chance > 1 - 1e-9 else f"{name} ({percent(chance)})"
                for name, chance in actions
            )
            for actions in step["actions"]
        ]
        rows.append((step["when"], *cells))
    return _table((say("when", context="title"), *data["agents"]), rows)


def _section(title: str, content: str) -> str:
    return f"<section><h2>{escape(title)}</h2>{content}</section>"


def _table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    first, second, *_ = titles
    names = say("{first} and {last}", first=first, last=second)
    label = escape(say("Table of {names}, can be scrolled", names=names))
    head = "".join(f'<th scope="col"><bdi>{escape(each)}</bdi></th>' for each in titles)
    body = "".join(
        f"<tr>{''.join(f'<td><bdi>{escape(each)}</bdi></td>' for each in row)}</tr>" for row in rows
    )
    return (
        f'<div class="scroll" tabindex="0" role="group" aria-label="{label}"><table>'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )
