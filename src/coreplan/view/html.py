"""Problems, results and policies as small tables of HTML, for notebooks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import singledispatch
from html import escape

from coreplan.analysis.simulation import Simulation
from coreplan.model.problem import PlanningProblem
from coreplan.model.timmdp import TIMMDP
from coreplan.policies.policy import Policy
from coreplan.solving.result import Result
from coreplan.support.late import provides
from coreplan.view.words import count, describe_problem, first_steps

MOST_ROWS = 40
"""Rows of a table; the rest is counted."""
LONGEST = 200
"""Characters of a cell; longer texts are cut."""


@provides("PlanningProblem.html")
def problem_html(problem: PlanningProblem) -> str:
    """A problem: who is there, and what they do to each other."""
    return title(problem.name, describe_problem(problem)) + problem_tables(problem)


@singledispatch
def problem_tables(problem: PlanningProblem) -> str:
    """What a problem consists of, as tables; a domain may register its own."""
    return table(("agent",), [(name,) for name in problem.agent_names])


@problem_tables.register
def _timmdp(problem: TIMMDP) -> str:
    agents = [
        (agent.name, f"{len(agent.states):,}", f"{len(agent.actions):,}", agent.initial)
        for agent in problem.agents
    ]
    rewards = [
        (", ".join(function.scope), f"{len(function.entries):,}") for function in problem.rewards
    ]
    text = table(("agent", "states", "actions", "starts in"), agents)
    return text + (table(("rewards of", "entries"), rewards) if rewards else "")


@provides("Result.html")
def result_html(result: Result) -> str:
    """A result: the value, the bounds, and what it took."""
    rows = [
        ("status", str(result.status)),
        ("value", f"{result.value:.10g}"),
        ("upper bound", f"{result.upper_bound:.10g}"),
        ("gap", f"{result.gap:.4g}"),
        ("algorithm", f"{result.algorithm}, {result.objective}"),
        ("time", f"{result.seconds:.3g} s"),
    ]
    return title(result.problem, result.summary().splitlines()[0]) + table((), rows)


@provides("Policy.html")
def policy_html(policy: Policy) -> str:
    """A policy: for contractors the course that is expected, else what is done first."""
    kind = "everybody looks at their own state only" if policy.is_local else "a joint plan"
    last = policy.horizon - 1
    head = title(policy.problem.name, f"{kind}, stages {policy.stage} to {last}")
    return head + plan_tables(policy.problem, policy)


@singledispatch
def plan_tables(problem: PlanningProblem, policy: Policy) -> str:
    """What a plan does, as tables; a domain may register its own."""
    return table((), [(line,) for line in first_steps(policy)])


@provides("Simulation.html")
def simulation_html(shown: Simulation) -> str:
    """A simulation: mean, spread and parts."""
    rows = [
        ("mean return", f"{shown.mean:,.2f} ({shown.value.low:,.2f} to {shown.value.high:,.2f})"),
        ("standard deviation", f"{shown.deviation:,.2f}"),
        ("5 % to 95 %", f"{shown.quantile(0.05):,.2f} to {shown.quantile(0.95):,.2f}"),
        *((name, f"{each.mean:,.2f}") for name, each in shown.own.items()),
        *((", ".join(names), f"{each.mean:,.2f}") for names, each in shown.shared.items() if names),
    ]
    head = f"{count(shown.runs, 'run')} from seed {shown.seed}"
    return title(shown.problem, head) + table((), rows)


# -- pieces ----------------------------------------------------------------------------------------


def _shown(text: str) -> str:
    return escape(text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…")


def title(name: str, about: str) -> str:
    """The head of a picture: what it is of."""
    return f"<p><b><bdi>{_shown(name)}</bdi></b><br>{_shown(about)}</p>"


def note(text: str) -> str:
    """A small remark."""
    return f"<p><small>{_shown(text)}</small></p>"


def table(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Rows of cells below titles, if there are any."""
    head = ""
    if titles:
        head = f"<thead><tr>{_cells(titles, 'th')}</tr></thead>"
    body = "".join(f"<tr>{_cells(row, 'td')}</tr>" for row in rows[:MOST_ROWS])
    text = f"<table>{head}<tbody>{body}</tbody></table>"
    left_out = len(rows) - MOST_ROWS
    return text + (note(f"and {left_out:,} more") if left_out > 0 else "")


def _cells(texts: Iterable[str], tag: str) -> str:
    # Names may be in any direction; each keeps to itself.
    style = ' style="text-align: left"'
    return "".join(f"<{tag}{style}><bdi>{_shown(text)}</bdi></{tag}>" for text in texts)
