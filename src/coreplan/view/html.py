"""Problems, results and policies as small HTML tables, for notebooks."""

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
"""The most rows of a table; the others are only counted."""
LONGEST = 200
"""The most characters of a cell; longer texts are cut."""


@provides("PlanningProblem.html")
def problem_html(problem: PlanningProblem) -> str:
    """Show a problem: its size, its agents, and their interactions."""
    return title(problem.name, describe_problem(problem)) + problem_tables(problem)


@singledispatch
def problem_tables(problem: PlanningProblem) -> str:
    """Show the parts of a problem as tables; a domain may register its own function."""
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
    """Show a result: status, value, bounds and time."""
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
    """Show a policy: for contractors the course without delays, else the first actions."""
    kind = "each agent sees its own state only" if policy.is_local else "a joint plan"
    last = policy.horizon - 1
    head = title(policy.problem.name, f"{kind}, stages {policy.stage} to {last}")
    return head + plan_tables(policy.problem, policy)


@singledispatch
def plan_tables(problem: PlanningProblem, policy: Policy) -> str:
    """Show the actions of a plan as tables; a domain may register its own function."""
    return table((), [(line,) for line in first_steps(policy)])


@provides("Simulation.html")
def simulation_html(shown: Simulation) -> str:
    """Show a simulation: mean, spread and parts."""
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
    """A heading: a name in bold, and a line about it."""
    return f"<p><b><bdi>{_shown(name)}</bdi></b><br>{_shown(about)}</p>"


def note(text: str) -> str:
    """A small remark."""
    return f"<p><small>{_shown(text)}</small></p>"


def table(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """An HTML table, with a header if `titles` is not empty."""
    head = ""
    if titles:
        head = f"<thead><tr>{_cells(titles, 'th')}</tr></thead>"
    body = "".join(f"<tr>{_cells(row, 'td')}</tr>" for row in rows[:MOST_ROWS])
    text = f"<table>{head}<tbody>{body}</tbody></table>"
    left_out = len(rows) - MOST_ROWS
    return text + (note(f"and {left_out:,} more") if left_out > 0 else "")


def _cells(texts: Iterable[str], tag: str) -> str:
    # A name may be written from right to left; <bdi> keeps it from changing its surroundings.
    style = ' style="text-align: left"'
    return "".join(f"<{tag}{style}><bdi>{_shown(text)}</bdi></{tag}>" for text in texts)
