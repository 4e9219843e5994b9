"""Rules for delays: how a plan changes the starts of works if another work is delayed.

The delay of a work does not depend on the situation in which it starts. Each situation with a start
therefore allows a fair comparison of the courses with and without the delay: all differences are
decisions of the plan.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from coreplan.domains.maintenance.problem import MaintenanceProblem
from coreplan.domains.maintenance.states import ContractorState, start_action
from coreplan.errors import ModelError
from coreplan.policies.evaluation import Floats
from coreplan.policies.graph import MOST_SITUATIONS, PlanGraph, Situation, plan_graph
from coreplan.policies.policy import Policy

LEAST_CHANGE = 0.01
"""The smallest average change, in steps, that makes a rule."""


class Starts(NamedTuple):
    """The possible starts of a work, with their mean."""

    first: int | None
    """The first step in which it can start; None if it never starts."""
    last: int | None
    mean: float
    """The expected step; a course without a start counts with the horizon."""
    never: float
    """The chance that it never starts."""


@dataclass(frozen=True)
class DecisionRule:
    """If a work is delayed, another one starts at another time.

    Attributes
    ----------
    contractor, work, start
        The work that may be delayed, and the step in which it started.
    several_starts
        Whether this work can also start in other steps.
    other_contractor, other_work
        The work whose start depends on the delay.
    delay_chance
        The chance that the work is delayed once it has started.
    probability
        The chance that the rule applies: the work starts in that step and is delayed, and the other
        work has not started. If not all courses were examined, the chance of those that were.
    always
        Whether the other work has never started before that step.
    delayed, on_time
        The starts of the other work with the delay, and without.
    """

    contractor: str
    work: str
    start: int
    several_starts: bool
    other_contractor: str
    other_work: str
    delay_chance: float
    probability: float
    always: bool
    delayed: Starts
    on_time: Starts

    @property
    def change(self) -> float:
        """The average number of steps by which the other work starts later."""
        return self.delayed.mean - self.on_time.mean

    @property
    def weight(self) -> float:
        """The importance of the rule: its probability times the size of the change."""
        return self.probability * abs(self.change)

    @property
    def is_vague(self) -> bool:
        """Whether the same starts are possible with and without the delay: no advice."""
        late, usual = self.delayed, self.on_time
        same = (late.first, late.last) == (usual.first, usual.last)
        return same and abs(late.never - usual.never) < LEAST_CHANGE

    def to_dict(self) -> dict[str, Any]:
        """Return all parts by name."""
        return {
            "contractor": self.contractor,
            "work": self.work,
            "start": self.start,
            "other_contractor": self.other_contractor,
            "other_work": self.other_work,
            "delay_chance": self.delay_chance,
            "probability": self.probability,
            "always": self.always,
            "change": self.change,
            "delayed": self.delayed._asdict(),
            "on_time": self.on_time._asdict(),
        }


@dataclass(frozen=True)
class DecisionRules:
    """The rules of a plan, the most important first.

    Attributes
    ----------
    rules
        The rules.
    covered
        The chance that the real course was examined; 1 if all courses were.
    """

    rules: tuple[DecisionRule, ...]
    covered: float


def decision_rules(policy: Policy, most_situations: int = MOST_SITUATIONS) -> DecisionRules:
    """Find the rules for delays of a maintenance plan.

    If a delay only pushes back the contractor's own next works, by at most its length, this is not
    a rule. Nor is it one if the other work can start in the same steps with and without the delay.

    Parameters
    ----------
    policy
        The plan.
    most_situations
        The approximate number of situations to examine, the likeliest first.
    """
    problem = policy.problem
    if not isinstance(problem, MaintenanceProblem):
        raise ModelError("rules for delays need a plan of a maintenance problem (mpp/1)")
    graph = plan_graph(policy, most_situations)
    return rules_of(problem, graph)


def rules_of(problem: MaintenanceProblem, graph: PlanGraph) -> DecisionRules:
    """Find the rules of a plan in the graph of its situations."""
    outlook = _Outlook(problem, graph)
    gathered: dict[tuple[int, int, int], _Comparison] = {}
    starting: dict[int, dict[int, int]] = {}  # the number of situations, by work and step
    for number, situation in enumerate(graph.situations):
        for agent, action in situation.action.items():
            work = outlook.started.get((agent, action))
            if work is None:
                continue
            counts = starting.setdefault(work, {})
            counts[situation.stage] = counts.get(situation.stage, 0) + 1
            _compare(outlook, gathered, number, situation, agent, work)
    rules = []
    for (work, stage, other), comparison in gathered.items():
        if not comparison.delayed.weight or not comparison.on_time.weight:
            continue  # its chance is below the precision of numbers
        rule = comparison.rule(
            outlook,
            work,
            stage,
            other,
            several=len(starting[work]) > 1,
            everywhere=starting[work][stage],
        )
        if abs(rule.change) >= LEAST_CHANGE and not (rule.is_vague or _follows(problem, rule)):
            rules.append(rule)
    rules.sort(key=lambda rule: -rule.weight)
    return DecisionRules(tuple(rules), graph.covered)


def _follows(problem: MaintenanceProblem, rule: DecisionRule) -> bool:
    """Whether a delay only pushes back a later work of the same contractor."""
    if rule.contractor != rule.other_contractor:
        return False
    [task] = [t for t in problem.contractor(rule.contractor).tasks if t.name == rule.work]
    assert task.delay is not None
    never = rule.delayed.never - rule.on_time.never
    return abs(never) < LEAST_CHANGE and 0 <= rule.change <= task.delay.duration + LEAST_CHANGE


class _Outlook:
    """The later starts of each work that has not started, for each situation."""

    def __init__(self, problem: MaintenanceProblem, graph: PlanGraph) -> None:
        self.names = [
            (contractor.name, task.name)
            for contractor in problem.contractors
            for task in contractor.tasks
        ]
        self.delay_chance = [
            task.delay.probability if task.delay else 0.0
            for contractor in problem.contractors
            for task in contractor.tasks
        ]
        self.number = {name: k for k, name in enumerate(self.names)}
        # The work that each action of a contractor starts.
        self.started = {(agent, start_action(task)): k for (agent, task), k in self.number.items()}
        self.horizon = graph.horizon
        shape = (len(graph.situations), len(self.names))
        # NaN if the work has started, or if the graph does not hold the next situations.
        self.mean: Floats = np.full(shape, np.nan)
        self.never: Floats = np.full(shape, np.nan)
        self.first: NDArray[np.int64] = np.full(shape, graph.horizon)
        self.last: NDArray[np.int64] = np.full(shape, -1)
        for k in reversed(range(len(graph.situations))):
            self._look_back(k, graph.situations[k])

    def _look_back(self, k: int, situation: Situation) -> None:
        if situation.stage == self.horizon:
            todo = [self.number[name] for name in self.names if _is_to_do(situation.state, *name)]
            self.mean[k, todo] = self.horizon
            self.never[k, todo] = 1.0
            return
        nexts = [outcome.next for outcome in situation.outcomes]
        if nexts:
            chances = np.array([outcome.probability for outcome in situation.outcomes])
            chances = chances / chances.sum()
            self.mean[k] = chances @ self.mean[nexts]
            self.never[k] = chances @ self.never[nexts]
            self.first[k] = self.first[nexts].min(axis=0)
            self.last[k] = self.last[nexts].max(axis=0)
        for agent, action in situation.action.items():
            work = self.started.get((agent, action))
            if work is not None:
                self.mean[k, work] = self.first[k, work] = self.last[k, work] = situation.stage
                self.never[k, work] = 0.0


def _is_to_do(state: Mapping[str, Any], contractor: str, work: str) -> bool:
    stands = state[contractor]
    assert isinstance(stands, ContractorState)
    return work not in stands.done and work != stands.doing


@dataclass
class _Side:
    """The starts with a delay, or without, collected over situations."""

    weight: float = 0.0
    mean: float = 0.0
    never: float = 0.0
    first: int = 1 << 60
    last: int = -1

    def add(self, weight: float, outlook: _Outlook, number: int, work: int) -> None:
        """Add one possible next situation."""
        self.weight += weight
        self.mean += weight * float(outlook.mean[number, work])
        self.never += weight * float(outlook.never[number, work])
        self.first = min(self.first, int(outlook.first[number, work]))
        self.last = max(self.last, int(outlook.last[number, work]))

    def starts(self) -> Starts:
        """The result."""
        if self.last < 0:
            return Starts(None, None, self.mean / self.weight, 1.0)
        never = min(1.0, self.never / self.weight)
        # A single possible step is exact; do not let rounding change it.
        sure = self.first == self.last and never == 0
        mean = float(self.first) if sure else self.mean / self.weight
        return Starts(self.first, self.last, mean, never)


@dataclass
class _Comparison:
    """The starts of one work with and without the delay of another."""

    situations: int = 0
    delayed: _Side = field(default_factory=_Side)
    on_time: _Side = field(default_factory=_Side)

    def rule(
        self,
        outlook: _Outlook,
        work: int,
        stage: int,
        other: int,
        *,
        several: bool,
        everywhere: int,
    ) -> DecisionRule:
        """The result."""
        return DecisionRule(
            *outlook.names[work],
            stage,
            several,
            *outlook.names[other],
            outlook.delay_chance[work],
            self.delayed.weight,
            self.situations == everywhere,
            self.delayed.starts(),
            self.on_time.starts(),
        )


def _compare(
    outlook: _Outlook,
    gathered: dict[tuple[int, int, int], _Comparison],
    number: int,
    situation: Situation,
    agent: str,
    work: int,
) -> None:
    """Compare the situations after a start of a work, with and without its delay."""
    sides: dict[bool, list[tuple[float, int]]] = {True: [], False: []}
    for outcome in situation.outcomes:
        for fact in outcome.known:
            if fact.agent == agent and fact.delayed is not None:
                weight = situation.probability * outcome.probability
                sides[fact.delayed].append((weight, outcome.next))
    if not sides[True] or not sides[False]:
        return
    nexts = [each for side in sides.values() for _, each in side]
    known = ~np.isnan(outlook.mean[nexts]).any(axis=0)
    for other in np.flatnonzero(known).tolist():
        comparison = gathered.setdefault((work, situation.stage, other), _Comparison())
        comparison.situations += 1
        for weight, following in sides[True]:
            comparison.delayed.add(weight, outlook, following, other)
        for weight, following in sides[False]:
            comparison.on_time.add(weight, outlook, following, other)
