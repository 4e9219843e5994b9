"""Timelines of a plan: the exact chances of each work per step.

After its start, the duration of a work depends on its own delay only. The chances that it starts in
each step therefore give all other chances. The evaluation of a policy computes them, separately for
each team of contractors, from its distribution over joint states.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from coreplan.domains.maintenance.money import Money, hindrance_of, money_of
from coreplan.domains.maintenance.parts import Task
from coreplan.domains.maintenance.problem import MaintenanceProblem
from coreplan.domains.maintenance.states import START, ContractorStates, LocalState
from coreplan.domains.maintenance.translate import HINDRANCE, REVENUE
from coreplan.errors import ModelError
from coreplan.policies.evaluation import Floats, StageRecord, evaluate_stages
from coreplan.policies.graph import PlanGraph
from coreplan.policies.policy import Policy


@dataclass(frozen=True)
class WorkTimeline:
    """The chances of one work per step, from step 0 to the horizon.

    Attributes
    ----------
    contractor, work
        The names of the contractor and the work.
    starts
        The chance that the work starts in each step.
    planned
        The chance that the work runs in each step, within its normal duration.
    extra
        The chance that the work runs in each step only because it is delayed.
    under_way
        Whether the work started before the plan; then its delay is already known.
    first_start, last_start
        The first and the last possible step of the start; None if the work never starts or started
        before the plan.
    first_end, last_end
        The first and the last possible last step of work, within the horizon.
    started, completed
        The chance that the work starts, and that it is completed in time.
    delay_chance
        The chance that the work is delayed if it starts.
    done
        Whether the work was completed before the plan.
    """

    contractor: str
    work: str
    starts: tuple[float, ...]
    planned: tuple[float, ...]
    extra: tuple[float, ...]
    under_way: bool
    first_start: int | None
    last_start: int | None
    first_end: int | None
    last_end: int | None
    started: float
    completed: float
    delay_chance: float
    done: bool = False

    @property
    def working(self) -> tuple[float, ...]:
        """The chance that the work runs in each step."""
        return tuple(one + more for one, more in zip(self.planned, self.extra, strict=True))

    @property
    def likely_start(self) -> int | None:
        """The likeliest step of the start; the first one if several are equally likely."""
        return None if self.first_start is None else self.starts.index(max(self.starts))

    def to_dict(self) -> dict[str, Any]:
        """Return all parts by name."""
        return {
            "contractor": self.contractor,
            "work": self.work,
            "done": self.done,
            "under_way": self.under_way,
            "first_start": self.first_start,
            "likely_start": self.likely_start,
            "last_start": self.last_start,
            "first_end": self.first_end,
            "last_end": self.last_end,
            "started": self.started,
            "completed": self.completed,
            "delay_chance": self.delay_chance,
            "starts": list(self.starts),
            "planned": list(self.planned),
            "extra": list(self.extra),
        }


@dataclass(frozen=True)
class Timeline:
    """The chances and the expected costs of all works, step by step.

    Attributes
    ----------
    stage, horizon
        The step in which the plan begins, and the number of steps of the problem.
    works
        The works of all contractors, in the problem's order.
    money
        The expected value in its parts.
    hindrance
        The expected cost of each hindrance rule in each step.
    own_cost, revenue
        The expected cost of works and the expected revenue of each contractor in each step.
    """

    stage: int
    horizon: int
    works: tuple[WorkTimeline, ...]
    money: Money
    hindrance: tuple[tuple[float, ...], ...]
    own_cost: tuple[tuple[float, ...], ...]
    revenue: tuple[tuple[float, ...], ...]

    def of(self, contractor: str) -> tuple[WorkTimeline, ...]:
        """Return the works of one contractor."""
        return tuple(each for each in self.works if each.contractor == contractor)


def timeline(policy: Policy, time_limit: float = math.inf) -> Timeline:
    """Compute the exact chances and expected costs of all works of a plan, per step.

    Parameters
    ----------
    policy
        A plan for a maintenance problem.
    time_limit
        The approximate number of seconds after which the computation gives up.

    Raises
    ------
    SolverError
        If a team can reach too many joint states, or the computation takes too long.

    Examples
    --------
    >>> from coreplan import Contractor, Delay, MaintenanceProblem, Task, solve
    >>> task = Task("a1", duration=2, cost=3, revenue=20, delay=Delay(0.25, 1))
    >>> policy = solve(MaintenanceProblem((Contractor("Alpha", (task,)),), horizon=4)).policy
    >>> [a1] = timeline(policy).works
    >>> a1.planned, a1.extra
    ((1.0, 1.0, 0.0, 0.0), (0.0, 0.0, 0.25, 0.0))
    """
    problem = policy.problem
    if not isinstance(problem, MaintenanceProblem):
        raise ModelError("a timeline of works needs a plan of a maintenance problem (mpp/1)")
    value, records = evaluate_stages(policy, time_limit)
    works = _works(policy, problem, _starts(policy, records))
    amounts = [0.0] * len(policy.indexed.rewards)
    contractors, network = len(problem.contractors), len(problem.network)
    hindrance, own, revenue = (
        np.zeros((rows, policy.horizon)) for rows in (network, contractors, contractors)
    )
    for record in records:
        for number, amount in record.earned.items():
            amounts[number] += amount
            entry = policy.indexed.entries[number]
            if entry.kind == HINDRANCE:
                hindrance[hindrance_of(problem, entry), record.stage] -= amount
            elif entry.kind == REVENUE:
                revenue[entry.members[0][0], record.stage] += amount
            else:
                own[entry.members[0][0], record.stage] -= amount
    return Timeline(
        policy.stage,
        policy.horizon,
        works,
        money_of(problem, policy.indexed, value, amounts),
        *(tuple(map(tuple, rows.tolist())) for rows in (hindrance, own, revenue)),
    )


def expected_cost(task: Task, when: WorkTimeline) -> float:
    """The expected cost of a work in the steps of the plan."""
    cost = task.cost if isinstance(task.cost, tuple) else (task.cost,) * len(when.working)
    return math.fsum(chance * each for chance, each in zip(when.working, cost, strict=True))


def likely_works(policy: Policy, graph: PlanGraph) -> tuple[WorkTimeline, ...]:
    """The chances of works in the graph of a plan's likeliest situations.

    This replaces the exact timeline if that is out of reach. Chances are relative to the situations
    in the graph; they are exact if the graph is complete.
    """
    problem = policy.problem
    if not isinstance(problem, MaintenanceProblem):
        raise ModelError("a timeline of works needs a plan of a maintenance problem (mpp/1)")
    place = {
        (agent.name, action): (i, a - START)
        for i, agent in enumerate(policy.indexed.agents)
        for a, action in enumerate(agent.actions)
        if a >= START
    }
    starts = [
        [np.zeros(policy.horizon) for _ in contractor.tasks] for contractor in problem.contractors
    ]
    for stage in range(policy.stage, policy.horizon):
        situations = [graph.situations[number] for number in graph.at_stage(stage)]
        mass = 1.0 if graph.complete else math.fsum(each.probability for each in situations) or 1.0
        for situation in situations:
            for member in situation.action.items():
                if member in place:
                    i, k = place[member]
                    starts[i][k][stage] += situation.probability / mass
    return _works(policy, problem, starts)


def _works(
    policy: Policy, problem: MaintenanceProblem, starts: Sequence[Sequence[Floats]]
) -> tuple[WorkTimeline, ...]:
    """The timelines of all works."""
    works = []
    for i, contractor in enumerate(problem.contractors):
        stands = _beginning(policy, i)
        for k, task in enumerate(contractor.tasks):
            left = stands.remaining if k == stands.current else None
            done = not stands.todo >> k & 1 and left is None
            works.append(
                _work(contractor.name, task, starts[i][k], left, done, policy.stage, policy.horizon)
            )
    return tuple(works)


def _starts(policy: Policy, records: Sequence[StageRecord]) -> list[list[Floats]]:
    """The chance that a task starts, by contractor, task and step."""
    starts = []
    for i, agent in enumerate(policy.indexed.agents):
        rows = [np.zeros(policy.horizon) for _ in agent.actions[START:]]
        for record in records:
            for choice, chance in record.choices[i].items():
                action = agent.choice_action[choice]
                if action >= START:
                    rows[action - START][record.stage] += chance
        starts.append(rows)
    return starts


def _beginning(policy: Policy, i: int) -> LocalState:
    """The state of a contractor at the beginning of the plan."""
    agent = policy.indexed.agents[i]
    assert isinstance(agent.states, ContractorStates)
    return agent.states.local(agent.start)


def _work(
    contractor: str,
    task: Task,
    starts: Floats,
    left: int | None,
    done: bool,
    stage: int,
    horizon: int,
) -> WorkTimeline:
    """Make the timeline of a work from the chances of its starts, or from its remaining steps."""
    # Chances are sums of many numbers; rounding must not bring them above 1.
    starts = np.minimum(starts, 1.0)
    planned, extra = np.zeros(horizon), np.zeros(horizon)
    delayed = 0.0 if task.delay is None else task.delay.probability
    possible = [int(step) for step in np.flatnonzero(starts)]
    completed = 0.0
    ends: set[int] = set()
    for step in possible:
        normal = step + task.duration
        planned[step:normal] += starts[step]
        for chance, steps in task.durations:
            ends.add(min(step + steps, horizon) - 1)
            if step + steps <= horizon:
                completed += chance * starts[step]
            if steps > task.duration:
                extra[normal : step + steps] += chance * starts[step]
    started = float(starts.sum())
    if left is not None:
        planned[stage : stage + left] = 1.0
        started = 1.0
        completed = 1.0 if stage + left <= horizon else 0.0
        ends = {min(stage + left, horizon) - 1}
    return WorkTimeline(
        contractor,
        task.name,
        tuple(starts.tolist()),
        tuple(np.minimum(planned, 1.0).tolist()),
        tuple(np.minimum(extra, 1.0).tolist()),
        left is not None,
        min(possible, default=None),
        max(possible, default=None),
        min(ends, default=None),
        max(ends, default=None),
        min(started, 1.0),
        min(completed, 1.0),
        delayed,
        done,
    )
