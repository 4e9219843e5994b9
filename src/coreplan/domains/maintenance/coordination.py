"""What coordination is worth: a joint plan against everybody planning alone.

Who plans alone does what is best for its own costs and revenues and does not mind the others; the
hindrance that comes of it is paid all the same.
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
from coreplan.solving.engine.start import make_plan
from coreplan.solving.limits import Limits
from coreplan.solving.result import Result
from coreplan.solving.solver import check_problem
from coreplan.support.checks import found
from coreplan.support.frozen import FrozenMapping
from coreplan.support.late import late

TIE = 1e-12
"""Actions count as equally good if they differ by no more, relative to what is at stake."""


@dataclass(frozen=True)
class Coordination:
    """What coordination is worth, all values exact unless said otherwise.

    Attributes
    ----------
    problem
        The problem's name.
    value
        What the coordinated plan is worth; a proven lower bound if `money` and `own` are None.
    upper_bound
        No coordinated plan is worth more.
    alone
        What it is worth if everybody plans alone, with what they lose by hindering each other.
    money, money_alone
        Both values in their parts, for a maintenance problem. `money` is None also where the exact
        value of the coordinated plan is out of reach.
    own, own_alone
        What each agent earns by itself in expectation, by name: in a maintenance problem its
        revenue less the cost of its works. `own` is None where it is out of reach.
    policy_alone
        What everybody does who plans alone.
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
        """What the coordinated plan in hand is worth more than everybody planning alone."""
        return self.value - self.alone

    @property
    def low(self) -> float:
        """The best coordinated plan gains at least this; to plan alone is one way to plan."""
        return max(0.0, self.gain)

    @property
    def high(self) -> float:
        """The best coordinated plan gains at most this."""
        return max(self.low, self.upper_bound - self.alone)

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain values, for machines."""
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
        """All of it in a few lines of text."""
        return "\n".join(late("Coordination.text")(self))


def value_of_coordination(
    problem: AnyProblem, result: Result, *, time_limit: float | None = None
) -> Coordination:
    """What a coordinated plan is worth against everybody planning alone.

    Alone, every agent does what is best for the rewards that look at it only: in a maintenance
    problem its own costs and revenues, without a look at hindrance. Of actions that are equally
    good it takes the first in the problem's order: a contractor starts a work as soon as that is as
    good as to wait, the first one in its list. Then that plan is evaluated with all rewards, the
    hindrance included.

    In a general TI-MMDP the rewards that look at several agents may also be what agents earn
    together; to ignore them is then a poor plan, and the difference is large for that reason.

    Parameters
    ----------
    problem
        The problem.
    result
        What a solver found for it, from any stage and state; by any algorithm. With a gap, what
        the best plan gains is known as an interval.
    time_limit
        Seconds in all; what is out of reach within them is None.

    Raises
    ------
    LimitError
        If a limit strikes before the plans of everybody alone are known.
    SolverError
        If the result is for another problem, or everybody's plan alone cannot be evaluated in time.

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
        with suppress(SolverError):  # out of reach: then what is proven has to do
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
    """The exact value of a policy, its parts, and what each agent earns by itself."""
    value, amounts = evaluate_entries(policy, limits.seconds_left)
    if not math.isfinite(value):
        raise SolverError("the rewards are too large to add up; scale them down")
    own = dict.fromkeys(policy.indexed.agent_names, 0.0)
    for entry, amount in zip(policy.indexed.entries, amounts, strict=True):
        if len(entry.members) == 1:
            own[policy.indexed.agent_names[entry.members[0][0]]] += amount
    money: Money | None = policy.problem.money(policy.indexed, value, amounts)
    return value, money, FrozenMapping(own)


def plan_alone(
    problem: AnyProblem,
    *,
    stage: int = 0,
    state: JointState | None = None,
    limits: Limits | None = None,
) -> Policy:
    """The policy of agents who each do what is best for themselves, whatever it costs others.

    Of actions that are equally good, everybody takes the first in the problem's order.

    Parameters
    ----------
    problem
        The problem.
    stage, state
        Where to start from; by default at the beginning.
    limits
        Time and memory; by default only what the machine has.

    Examples
    --------
    >>> from coreplan import Contractor, MaintenanceProblem, Task
    >>> alpha = Contractor("Alpha", (Task("a1", 2, cost=[3, 1, 1, 3], revenue=20),))
    >>> plan_alone(MaintenanceProblem((alpha,), horizon=4)).evaluate()
    18.0
    """
    limits = limits or Limits()
    indexed = index_problem(problem, stage=stage, state=state, guard=limits.guard)
    # Only these rewards: what others are sure to do would else count as one's own cost.
    own = replace(indexed, entries=[each for each in indexed.entries if len(each.members) == 1])
    graphs = unroll_problem(own, limits)
    maps = [map_nodes(graphs, i, agent) for i, agent in enumerate(indexed.agents)]
    rules = []
    for i in range(len(indexed.agents)):
        limits.guard(0)
        rules.append(_best_alone(graphs, i))
    return Policy(problem, indexed, maps, (), LocalRule(tuple(rules)), history=False)


def _best_alone(graphs: _core.LocalGraphs, agent: int) -> NDArray[np.uint32]:
    """Per node of an agent: the position of the first of its actions that are best for itself."""
    layer_begin = graphs.layer_begin(agent).tolist()
    choice_begin = graphs.choice_begin(agent).astype(np.int64)
    arc_begin = graphs.arc_begin(agent).astype(np.int64)
    arc_next = graphs.arc_next(agent)
    chance = graphs.arc_probability(agent)
    reward = graphs.arc_reward(agent)
    stake = float(np.abs(reward).max(initial=0.0))
    value = np.zeros(layer_begin[-1])
    rule = np.zeros(layer_begin[-1], np.uint32)
    # From the last decisions back to the first; nodes of the last layer have none.
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
