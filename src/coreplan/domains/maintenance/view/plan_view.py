"""Maintenance plans as ``coreplan plan`` shows them: chart, costs, and rules for delays."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from rich.console import RenderableType

from coreplan.analysis.simulation import Estimate
from coreplan.domains.maintenance.decision_rules import rules_of
from coreplan.domains.maintenance.money import Money
from coreplan.domains.maintenance.problem import MaintenanceProblem
from coreplan.domains.maintenance.timeline import Timeline, likely_works, timeline
from coreplan.domains.maintenance.view.gantt_text import gantt, marks_for
from coreplan.domains.maintenance.view.money_table import money_table
from coreplan.domains.maintenance.view.rules_text import rule_lines
from coreplan.errors import SolverError
from coreplan.model.calendar import Calendar
from coreplan.policies.graph import MOST_SITUATIONS, plan_graph
from coreplan.policies.policy import Policy
from coreplan.support.interrupts import seconds_to_finish
from coreplan.support.language import say
from coreplan.view.plan_view import ESTIMATE_RUNS, EXACT_SECONDS, HURRIED_RUNS, PlanView, view_plan
from coreplan.view.words import MoneyWorth, percent

HURRIED_SITUATIONS = 1_000
"""The most situations that are examined after Ctrl-C."""


class MaintenanceView:
    """The chart, costs and rules of a plan: exact, or of its likeliest courses only."""

    def __init__(self, problem: MaintenanceProblem, policy: Policy) -> None:
        self._problem, self._policy = problem, policy
        left = seconds_to_finish()
        most = MOST_SITUATIONS if math.isinf(left) else HURRIED_SITUATIONS
        self._graph = plan_graph(policy, most)
        self._rules = rules_of(problem, self._graph)
        self._timeline: Timeline | None = None
        self._money: Money | None = None
        self._estimate: Estimate | None = None
        try:
            self._timeline = timeline(policy, min(EXACT_SECONDS, left / 2))
        except SolverError:
            self._works = likely_works(policy, self._graph)
            runs = ESTIMATE_RUNS if math.isinf(left) else HURRIED_RUNS
            self._estimate = policy.estimate(runs, seed=1)
        else:
            self._works = self._timeline.works
            self._money = self._timeline.money

    def lines(
        self, width: int, encoding: str | None, calendar: Calendar | None, most_rules: int
    ) -> Iterable[RenderableType]:
        """Print the chart, the costs and the rules."""
        policy, names = self._policy, self._problem.agent_names
        marks = marks_for(encoding)
        closed = self._problem.closed
        yield from gantt(
            self._works, names, policy.stage, policy.horizon, width, marks, calendar, closed
        )
        yield ""
        if self._money is not None:
            yield from money_table(self._problem, self._money, width)
        elif self._estimate is not None:
            yield self._only_likely(self._estimate)
        if most_rules:
            yield ""
        yield from rule_lines(self._problem, self._rules, calendar, most_rules)

    def _only_likely(self, estimate: Estimate) -> str:
        worth = say("the plan {is_worth}", is_worth=MoneyWorth().is_about(estimate))
        shown = say(
            "the chart shows the likeliest courses only, {share} of all: too many are possible to "
            "compute them all",
            share=percent(self._graph.covered),
        )
        return f"{worth}\n{shown}"

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values; a value that could not be computed is None."""
        times, money, estimate = self._timeline, self._money, self._estimate
        contractors: list[dict[str, Any]] = [{"name": name} for name in self._problem.agent_names]
        if money is not None:
            amounts = zip(contractors, money.revenue_of, money.works_of, strict=True)
            for each, revenue, works in amounts:
                each |= {"revenue": revenue, "works": works}
        return {
            "exact": times is not None,
            "value": None if money is None else money.value,
            "estimate": None if estimate is None else asdict(estimate),
            "money": None if money is None else money.to_dict(),
            "contractors": contractors,
            "works": [each.to_dict() for each in self._works],
            "hindrance_by_step": None if times is None else times.hindrance,
            "rules": [rule.to_dict() for rule in self._rules.rules],
            "covered": self._graph.covered,
        }


@view_plan.register
def _view(problem: MaintenanceProblem, policy: Policy) -> PlanView:
    return MaintenanceView(problem, policy)
