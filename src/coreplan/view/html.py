"""Problems, results and policies as small tables of HTML, for notebooks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING

from coreplan.domains.maintenance.problem import MaintenanceProblem
from coreplan.view.plan_text import percent
from coreplan.view.words import count, describe_problem, first_steps

if TYPE_CHECKING:
    from coreplan.analysis.simulation import Simulation
    from coreplan.model.timmdp import TIMMDP
    from coreplan.policies.policy import Policy
    from coreplan.solving.compile import AnyProblem
    from coreplan.solving.result import Result

MOST_ROWS = 40
"""Rows of a table; the rest is counted."""
LONGEST = 200
"""Characters of a cell; longer texts are cut."""
MOST_STEPS = 500
"""Plans of more steps are not followed to their end just to be shown."""


def problem_html(problem: AnyProblem) -> str:
    """A problem: who is there, and what they do to each other."""
    head = _title(problem.name, describe_problem(problem))
    if isinstance(problem, MaintenanceProblem):
        return head + _maintenance(problem)
    return head + _timmdp(problem)


def _maintenance(problem: MaintenanceProblem) -> str:
    tasks = [
        (
            contractor.name,
            task.name,
            str(task.duration),
            "-"
            if task.delay is None
            else f"{percent(task.delay.probability)}: {task.delay.duration} more",
            _cost(task.cost),
            f"{task.revenue:g}",
            "-" if task.window is None else f"{task.window[0]} to {task.window[1]}",
        )
        for contractor in problem.contractors
        for task in contractor.tasks
    ]
    titles = ("contractor", "task", "steps", "delay", "cost per step", "revenue", "starts in")
    text = _table(titles, tasks)
    if problem.network:
        rules = [(", ".join(rule.tasks), _cost(rule.cost)) for rule in problem.network]
        text += _table(("hindrance of", "cost per step"), rules)
    return text


def _cost(cost: float | tuple[float, ...]) -> str:
    if not isinstance(cost, tuple):
        return f"{cost:g}"
    return f"{min(cost):g} to {max(cost):g}" if min(cost) < max(cost) else f"{cost[0]:g}"


def _timmdp(problem: TIMMDP) -> str:
    agents = [
        (agent.name, f"{len(agent.states):,}", f"{len(agent.actions):,}", agent.initial)
        for agent in problem.agents
    ]
    rewards = [
        (", ".join(function.scope), f"{len(function.entries):,}") for function in problem.rewards
    ]
    text = _table(("agent", "states", "actions", "starts in"), agents)
    return text + (_table(("rewards of", "entries"), rewards) if rewards else "")


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
    return _title(result.problem, result.summary().splitlines()[0]) + _table((), rows)


def policy_html(policy: Policy) -> str:
    """A policy: for contractors the course that is expected, else what is done first."""
    kind = "everybody looks at their own state only" if policy.is_local else "a joint plan"
    last = policy.horizon - 1
    head = _title(policy.problem.name, f"{kind}, stages {policy.stage} to {last}")
    if (
        isinstance(policy.problem, MaintenanceProblem)
        and policy.horizon - policy.stage <= MOST_STEPS
    ):
        course = policy.schedule()
        rows = [
            (
                work.contractor,
                work.task,
                f"{work.start} to {work.end - 1}",
                "never" if work.delayed is None else "delayed" if work.delayed else "not delayed",
            )
            for work in course.works
        ]
        note = f"the course without delays has a probability of {percent(course.probability)}"
        return head + _table(("contractor", "task", "steps", "delay"), rows) + _note(note)
    return head + _table((), [(line,) for line in first_steps(policy)])


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
    return _title(shown.problem, head) + _table((), rows)


# -- pieces ----------------------------------------------------------------------------------------


def _shown(text: str) -> str:
    return escape(text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…")


def _title(name: str, about: str) -> str:
    return f"<p><b><bdi>{_shown(name)}</bdi></b><br>{_shown(about)}</p>"


def _note(text: str) -> str:
    return f"<p><small>{_shown(text)}</small></p>"


def _table(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    head = ""
    if titles:
        head = f"<thead><tr>{_cells(titles, 'th')}</tr></thead>"
    body = "".join(f"<tr>{_cells(row, 'td')}</tr>" for row in rows[:MOST_ROWS])
    text = f"<table>{head}<tbody>{body}</tbody></table>"
    left_out = len(rows) - MOST_ROWS
    return text + (_note(f"and {left_out:,} more") if left_out > 0 else "")


def _cells(texts: Iterable[str], tag: str) -> str:
    # Names may be in any direction; each keeps to itself.
    style = ' style="text-align: left"'
    return "".join(f"<{tag}{style}><bdi>{_shown(text)}</bdi></{tag}>" for text in texts)
