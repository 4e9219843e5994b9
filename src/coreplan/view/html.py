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
from coreplan.support.language import number_text, say
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
    return table((say("agent"),), [(name,) for name in problem.agent_names])


@problem_tables.register
def _timmdp(problem: TIMMDP) -> str:
    agents = [
        (agent.name, _whole(len(agent.states)), _whole(len(agent.actions)), agent.initial)
        for agent in problem.agents
    ]
    rewards = [
        (", ".join(function.scope), _whole(len(function.entries))) for function in problem.rewards
    ]
    text = table((say("agent"), say("states"), say("actions"), say("starts in")), agents)
    text += table((say("rewards of"), say("entries")), rewards) if rewards else ""
    sums = [(each.name, _whole(len(each.amounts))) for each in problem.aggregates]
    return text + (table((say("rewards for sums"), say("amounts")), sums) if sums else "")


@provides("Result.html")
def result_html(result: Result) -> str:
    """Show a result: status, value, bounds and time."""
    rows = [
        (say("status"), str(result.status)),
        (say("value"), number_text(result.value, ".10g")),
        (say("upper bound"), number_text(result.upper_bound, ".10g")),
        (say("gap"), number_text(result.gap, ".4g")),
        (say("algorithm"), f"{result.algorithm}, {result.objective}"),
        (say("time"), f"{number_text(result.seconds, '.3g')} s"),
    ]
    return title(result.problem, result.summary().splitlines()[0]) + table((), rows)


@provides("Policy.html")
def policy_html(policy: Policy) -> str:
    """Show a policy: for contractors the course without delays, else the first actions."""
    first, last = policy.stage, policy.horizon - 1
    about = (
        say("each agent sees its own state only, stages {first} to {last}", first=first, last=last)
        if policy.is_local
        else say("a joint plan, stages {first} to {last}", first=first, last=last)
    )
    head = title(policy.problem.name, about)
    return head + plan_tables(policy.problem, policy)


@singledispatch
def plan_tables(problem: PlanningProblem, policy: Policy) -> str:
    """Show the actions of a plan as tables; a domain may register its own function."""
    return table((), [(line,) for line in first_steps(policy)])


@provides("Simulation.html")
def simulation_html(shown: Simulation) -> str:
    """Show a simulation: mean, spread and parts."""
    rows = [
        (say("mean return"), f"{_value(shown.mean)} ({_range(shown.value.low, shown.value.high)})"),
        (say("standard deviation"), _value(shown.deviation)),
        (say("5 % to 95 %"), _range(shown.quantile(0.05), shown.quantile(0.95))),
        *((name, _value(each.mean)) for name, each in shown.own.items()),
        *((", ".join(names), _value(each.mean)) for names, each in shown.shared.items() if names),
    ]
    head = say("{runs} from seed {seed}", runs=count(shown.runs, "run"), seed=shown.seed)
    return title(shown.problem, head) + table((), rows)


# -- pieces ----------------------------------------------------------------------------------------


def _whole(number: int) -> str:
    return number_text(number, ",")


def _value(number: float) -> str:
    return number_text(number, ",.2f")


def _range(low: float, high: float) -> str:
    return say("{low} to {high}", low=_value(low), high=_value(high))


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
    return text + (note(say("and {number:,} more", number=left_out)) if left_out > 0 else "")


def _cells(texts: Iterable[str], tag: str) -> str:
    # A name may be written from right to left; <bdi> keeps it from changing its surroundings.
    style = ' style="text-align: left"'
    return "".join(f"<{tag}{style}><bdi>{_shown(text)}</bdi></{tag}>" for text in texts)
