"""The value of coordination: a joint plan compared with every agent planning alone.

A contractor that plans alone counts its own costs and revenue only. The comparison still includes
the cost of hindrance.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coreplan import _core
from coreplan.domains.maintenance.money import Money
from coreplan.domains.maintenance.schedule import map_nodes
from coreplan.errors import SolverError
from coreplan.model.indexed import JointState
from coreplan.model.problem import index_problem
from coreplan.policies.evaluation import evaluate_entries
from coreplan.policies.policy import Policy
from coreplan.policies.rules import LocalRule
from coreplan.solving.compile import AnyProblem, unroll_problem
from coreplan.solving.limits import Limits
from coreplan.solving.result import Result
from coreplan.solving.solver import check_problem
from coreplan.solving.start import make_plan
from coreplan.support.checks import found
from coreplan.support.frozen import FrozenMapping
from coreplan.support.late import late

TIE = 1e-12
"""The relative difference up to which actions count as equally good."""


@dataclass(frozen=True)
class Coordination:
    """The values of a coordinated plan and of planning alone; exact unless stated otherwise.

    Attributes
    ----------
    problem
        The problem's name.
    value
        The value of the coordinated plan; a proven lower bound if `money` and `own` are None.
    upper_bound
        The upper bound of all coordinated plans.
    alone
        The value of planning alone, including the cost of hindrance.
    money, money_alone
        The parts of both values, for a maintenance problem. `money` is also None if the exact value
        of the coordinated plan is out of reach.
    own, own_alone
        The expected own reward of each agent, by name: in a maintenance problem its revenue less
        the cost of its works. `own` is None if it is out of reach.
    policy_alone
        The policy of agents that plan alone.
    """

    problem: str
    value: float
    upper_bound: float
    alone: float
    money: Money | None
    money_alone: Money | None
    own: Mapping[str, float] | None
    own_alone: Mapping[str, float]
    policy_alone: Policy = field(compare=False, repr=False)

    @property
    def gain(self) -> float:
        """The gain of the given coordinated plan over planning alone."""
        return self.value - self.alone

    @property
    def low(self) -> float:
        """The least gain of the best coordinated plan; it is at least 0."""
        return max(0.0, self.gain)

    @property
    def high(self) -> float:
        """The largest possible gain of the best coordinated plan."""
        return max(self.low, self.upper_bound - self.alone)

    def to_dict(self) -> dict[str, Any]:
        """Return all parts as plain values, for JSON."""
        return {
            "problem": self.problem,
            "value": self.value,
            "upper_bound": self.upper_bound,
            "alone": self.alone,
            "gain": self.gain,
            "low": self.low,
            "high": self.high,
            "money": None if self.money is None else self.money.to_dict(),
            "money_alone": None if self.money_alone is None else self.money_alone.to_dict(),
            "own": None if self.own is None else dict(self.own),
            "own_alone": dict(self.own_alone),
        }

    def summary(self) -> str:
        """Write the comparison in a few lines of text."""
        return "\n".join(late("Coordination.text")(self))


def value_of_coordination(
    problem: AnyProblem, result: Result, *, time_limit: float | None = None
) -> Coordination:
    """Compare a coordinated plan with every agent planning alone.

    An agent that plans alone counts only the rewards that depend on it alone: in a maintenance
    problem its own costs and revenue, without hindrance. Among equally good actions it takes the
    first in the problem's order: a contractor starts a work as soon as this is as good as waiting,
    and the first one in its list. The plan alone is then evaluated with all rewards, including
    hindrance.

    In a general TI-MMDP, rewards of several agents may also be positive. A plan that ignores them
    is poor, and the difference is large for this reason.

    Parameters
    ----------
    problem
        The problem.
    result
        The result of any algorithm, from any stage and state. If it has a gap, the gain of the best
        plan is an interval.
    time_limit
        Seconds in all; values that are out of reach within them are None.

    Raises
    ------
    LimitError
        If a limit is reached before the plans of single agents are known.
    SolverError
        If the result belongs to another problem, or planning alone cannot be evaluated in time.

    Examples
    --------
    >>> from coreplan import Contractor, Hindrance, MaintenanceProblem, Task, solve
    >>> problem = MaintenanceProblem(
    ...     (Contractor("Alpha", (Task("a1", 2, cost=3, revenue=20),)),
    ...      Contractor("Beta", (Task("b1", 2, cost=[1, 1, 2, 2], revenue=15),))),
    ...     horizon=4, network=(Hindrance(("Alpha/a1", "Beta/b1"), cost=7.5),))
    >>> worth = value_of_coordination(problem, solve(problem))
    >>> worth.alone, worth.value, worth.gain
    (12.0, 27.0, 15.0)
    >>> worth.money_alone.hindrance, worth.money.hindrance
    (15.0, 0.0)
    """
    check_problem(problem)
    limits = Limits(time_limit)
    policy = result.policy
    stage, state = 0, None
    if policy is not None:
        make_plan(problem, policy, policy.stage, None)
        stage = policy.stage
        state = policy.indexed.name_state(policy.indexed.find_state(stage, None))
    elif result.problem != problem.name:
        raise SolverError(
            f"the result belongs to problem {found(result.problem)}, not to "
            f"{found(problem.name)}; solve this problem first"
        )
    policy_alone = plan_alone(problem, stage=stage, state=state, limits=limits)
    alone, money_alone, own_alone = _split(policy_alone, limits)
    value, money, own = result.value, None, None
    if policy is not None:
        with suppress(SolverError):  # out of reach: keep the proven value
            value, money, own = _split(policy, limits)
    return Coordination(
        problem=problem.name,
        value=value,
        upper_bound=max(value, result.upper_bound),
        alone=alone,
        money=money,
        money_alone=money_alone,
        own=own,
        own_alone=own_alone,
        policy_alone=policy_alone,
    )


def _split(policy: Policy, limits: Limits) -> tuple[float, Money | None, Mapping[str, float]]:
    """The exact value of a policy, its parts, and the own reward of each agent."""
    value, amounts = evaluate_entries(policy, limits.seconds_left)
    if not math.isfinite(value):
        raise SolverError("the rewards are too large to add up; scale them down")
    own = dict.fromkeys(policy.indexed.agent_names, 0.0)
    for reward, amount in zip(policy.indexed.rewards, amounts, strict=True):
        if len(reward.agents) == 1:
            own[policy.indexed.agent_names[reward.agents[0]]] += amount
    money: Money | None = policy.problem.money(policy.indexed, value, amounts)
    return value, money, FrozenMapping(own)


def plan_alone(
    problem: AnyProblem,
    *,
    stage: int = 0,
    state: JointState | None = None,
    limits: Limits | None = None,
) -> Policy:
    """Make the policy of agents that plan alone: each maximises its own rewards.

    Among equally good actions, an agent takes the first in the problem's order.

    Parameters
    ----------
    problem
        The problem.
    stage, state
        The stage and joint state to start from; by default the beginning.
    limits
        Limits of time and memory; by default the memory of the machine.

    Examples
    --------
    >>> from coreplan import Contractor, MaintenanceProblem, Task
    >>> alpha = Contractor("Alpha", (Task("a1", 2, cost=[3, 1, 1, 3], revenue=20),))
    >>> plan_alone(MaintenanceProblem((alpha,), horizon=4)).evaluate()
    18.0
    """
    limits = limits or Limits()
    indexed = index_problem(problem, stage=stage, state=state, guard=limits.guard)
    # Keep these rewards only: otherwise certain actions of others would count as own costs.
    own = replace(
        indexed,
        entries=[each for each in indexed.entries if len(each.agents) == 1],
        aggregates=[each for each in indexed.aggregates if len(each.agents) == 1],
    )
    graphs = unroll_problem(own, limits)
    maps = [map_nodes(graphs, i, agent) for i, agent in enumerate(indexed.agents)]
    rules = []
    for i in range(len(indexed.agents)):
        limits.guard(0)
        rules.append(_best_alone(graphs, i))
    return Policy(problem, indexed, maps, (), LocalRule(tuple(rules)), history=False)


def _best_alone(graphs: _core.LocalGraphs, agent: int) -> NDArray[np.uint32]:
    """The position of the first best action of an agent alone, for each node."""
    layer_begin = graphs.layer_begin(agent).tolist()
    choice_begin = graphs.choice_begin(agent).astype(np.int64)
    arc_begin = graphs.arc_begin(agent).astype(np.int64)
    arc_next = graphs.arc_next(agent)
    chance = graphs.arc_probability(agent)
    reward = graphs.arc_reward(agent)
    stake = float(np.abs(reward).max(initial=0.0))
    value = np.zeros(layer_begin[-1])
    rule = np.zeros(layer_begin[-1], np.uint32)
    # Backwards from the last decisions to the first; nodes of the last layer have none.
    for begin, end in zip(layer_begin[-3::-1], layer_begin[-2:0:-1], strict=True):
        first, last = choice_begin[begin], choice_begin[end]
        arcs = slice(arc_begin[first], arc_begin[last])
        terms = chance[arcs] * (reward[arcs] + value[arc_next[arcs]])
        worth = np.add.reduceat(terms, arc_begin[first:last] - arc_begin[first])
        starts = choice_begin[begin:end] - first
        best = np.maximum.reduceat(worth, starts)
        node_of = np.repeat(np.arange(end - begin), np.diff(choice_begin[begin : end + 1]))
        good = np.flatnonzero(worth >= (best - TIE * np.maximum(np.abs(best), stake))[node_of])
        _, at = np.unique(node_of[good], return_index=True)
        rule[begin:end] = good[at] - starts
        value[begin:end] = best
    return rule
