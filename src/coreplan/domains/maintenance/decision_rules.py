"""What a plan does differently when a work is delayed.

Whether a work is delayed has nothing to do with how things stand when it starts. So, wherever it
starts, what comes after a delay can be compared with what comes without: all differences are the
plan's own decisions.
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
"""Differences of less than this many steps, on average, are no rules."""


class Starts(NamedTuple):
    """When a work starts, over all that can happen."""

    first: int | None
    """The first step in which it can start; None if it never does."""
    last: int | None
    mean: float
    """The expected step; where it is never started, the horizon counts."""
    never: float
    """The chance that it is never started."""


@dataclass(frozen=True)
class DecisionRule:
    """If a work is delayed, another one starts at another time.

    Attributes
    ----------
    contractor, work, start
        The work that may be delayed, and the step in which it started.
    several_starts
        Whether it can start in other steps, too.
    other_contractor, other_work
        The work whose start depends on that.
    probability
        The chance that it comes to this: the one starts in that step and is delayed, while the
        other is still to be started.
    always
        Whether the other one is still to be started whenever the one starts in that step.
    delayed, on_time
        When the other one starts if the one is delayed, and if it is not.
    """

    contractor: str
    work: str
    start: int
    several_starts: bool
    other_contractor: str
    other_work: str
    probability: float
    always: bool
    delayed: Starts
    on_time: Starts

    @property
    def change(self) -> float:
        """How many steps later the other one starts, on average."""
        return self.delayed.mean - self.on_time.mean

    @property
    def weight(self) -> float:
        """How much it matters: the probability times the change."""
        return self.probability * abs(self.change)

    def to_dict(self) -> dict[str, Any]:
        """All of it by name."""
        return {
            "contractor": self.contractor,
            "work": self.work,
            "start": self.start,
            "other_contractor": self.other_contractor,
            "other_work": self.other_work,
            "probability": self.probability,
            "always": self.always,
            "change": self.change,
            "delayed": self.delayed._asdict(),
            "on_time": self.on_time._asdict(),
        }


@dataclass(frozen=True)
class DecisionRules:
    """The rules of a plan, those that matter most first.

    Attributes
    ----------
    rules
        The rules.
    covered
        The chance that all goes a way that was looked at; 1 if all were.
    """

    rules: tuple[DecisionRule, ...]
    covered: float


def decision_rules(policy: Policy, most_situations: int = MOST_SITUATIONS) -> DecisionRules:
    """What a maintenance plan does differently when works are delayed.

    That a contractor's own next works move by as much as the delay, or less, is no rule.

    Parameters
    ----------
    policy
        The plan.
    most_situations
        How many situations to look at, about; the likeliest if there are more.
    """
    problem = policy.problem
    if not isinstance(problem, MaintenanceProblem):
        raise ModelError("only a maintenance plan has rules for delays")
    graph = plan_graph(policy, most_situations)
    return rules_of(problem, graph)


def rules_of(problem: MaintenanceProblem, graph: PlanGraph) -> DecisionRules:
    """The rules of a plan, from the graph of what it leads to."""
    outlook = _Outlook(problem, graph)
    gathered: dict[tuple[int, int, int], _Comparison] = {}
    starting: dict[int, dict[int, int]] = {}  # per work and step: how many situations
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
            continue  # too unlikely for numbers
        rule = comparison.rule(
            outlook,
            work,
            stage,
            other,
            several=len(starting[work]) > 1,
            everywhere=starting[work][stage],
        )
        if abs(rule.change) >= LEAST_CHANGE and not _follows(problem, rule):
            rules.append(rule)
    rules.sort(key=lambda rule: -rule.weight)
    return DecisionRules(tuple(rules), graph.covered)


def _follows(problem: MaintenanceProblem, rule: DecisionRule) -> bool:
    """Whether a contractor's own work is merely pushed on by the delay of the one before."""
    if rule.contractor != rule.other_contractor:
        return False
    [task] = [t for t in problem.contractor(rule.contractor).tasks if t.name == rule.work]
    assert task.delay is not None
    never = rule.delayed.never - rule.on_time.never
    return abs(never) < LEAST_CHANGE and 0 <= rule.change <= task.delay.duration + LEAST_CHANGE


class _Outlook:
    """Per situation and work that is still to be started: when it starts from there on."""

    def __init__(self, problem: MaintenanceProblem, graph: PlanGraph) -> None:
        self.names = [
            (contractor.name, task.name)
            for contractor in problem.contractors
            for task in contractor.tasks
        ]
        self.number = {name: k for k, name in enumerate(self.names)}
        # By contractor and action: the work that is started.
        self.started = {(agent, start_action(task)): k for (agent, task), k in self.number.items()}
        self.horizon = graph.horizon
        shape = (len(graph.situations), len(self.names))
        # NaN where the work has been started, or where nothing is known of what follows.
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
    """What follows with a delay, or without, in all situations so far."""

    weight: float = 0.0
    mean: float = 0.0
    never: float = 0.0
    first: int = 1 << 60
    last: int = -1

    def add(self, weight: float, outlook: _Outlook, number: int, work: int) -> None:
        """Count one more situation that can follow."""
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
        # Where there is no doubt, no rounding.
        sure = self.first == self.last and never == 0
        mean = float(self.first) if sure else self.mean / self.weight
        return Starts(self.first, self.last, mean, never)


@dataclass
class _Comparison:
    """What becomes of one work if another is delayed, or not."""

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
    """Compare what follows where a work starts, if it is delayed and if it is not."""
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
