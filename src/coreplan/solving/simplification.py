"""Simpler problems with a proven loss: similar interactions grouped, small ones dropped.

Let R and R' be the rewards of a problem and of the simplified one. States, actions and chances are
the same. For every policy, the two values therefore differ by what the policy earns in a third
problem, the *difference*, with the rewards R − R'. An upper bound on the value of the difference
bounds how much the simplified problem understates the value of any policy; an upper bound with the
rewards R' − R bounds how much it overstates it. Both come from a backward recursion per agent.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from coreplan import _core
from coreplan.errors import LimitError, ModelError, SolverError
from coreplan.model.grouping import Values, group_values
from coreplan.model.indexed import IndexedEntry, IndexedProblem, JointState
from coreplan.model.problem import PlanningProblem, index_problem
from coreplan.policies.evaluation import evaluate_policy
from coreplan.policies.policy import Policy
from coreplan.solving.compile import describe, no_action
from coreplan.solving.limits import Limits
from coreplan.solving.option_fields import Gap
from coreplan.solving.result import Result, Statistics, Status, is_closed


@dataclass(frozen=True)
class Simplified:
    """A simplified problem, and what its plans can lose. Made by :func:`simplify`.

    Attributes
    ----------
    original, problem
        The problem, and the simplified one.
    tolerance
        The largest difference of values that became one.
    overstated, understated
        The most by which the value of any policy can be higher, and lower, in the simplified
        problem than in the original one.
    stage, state
        Where planning starts; the two numbers are for plans from there on.
    """

    original: PlanningProblem
    problem: PlanningProblem
    tolerance: float
    overstated: float
    understated: float
    stage: int = 0
    state: JointState | None = None

    @property
    def loss(self) -> float:
        """The most that an optimal plan of the simplified problem loses in the original one."""
        return self.overstated + self.understated

    def restore(self, result: Result, limits: Limits | None = None) -> Result:
        """Turn a result for the simplified problem into one for the original problem.

        The value is the exact value of the plan in the original problem. If it cannot be computed,
        it is the value in the simplified problem less :attr:`overstated`, which is not more. The
        upper bound is that of the simplified problem plus :attr:`understated`.

        Parameters
        ----------
        result
            What a solver found for :attr:`problem`, from the same stage and state on.
        limits
            Limits for the exact evaluation of the plan; by default none.

        Raises
        ------
        SolverError
            If the result has no policy, or one for another problem, stage or state.
        """
        if result.policy is None:
            raise SolverError("the result has no policy; expected one by coreplan.solve")
        same = self.problem is self.original
        # What is best to do in the simplified problem may be worse than the base in the original.
        policy = self._rebind(result.policy if same else result.policy.base)
        value, message = result.value, result.message
        if not same:
            try:
                value = _evaluate(policy, limits)
            except SolverError:
                value -= self.overstated
                why = "the plan's exact value is not known: its value is a lower bound"
                message = "; ".join(filter(None, [message, why]))
        upper = max(value, result.upper_bound + self.understated)
        status = result.status
        if is_closed(value, upper, result.tolerance):
            status, message = Status.OPTIMAL, ""
        elif status is Status.OPTIMAL:
            status = Status.GAP_LIMIT
            why = f"similar interactions were grouped, which can cost at most {self.loss:.6g}"
            message = "; ".join(filter(None, [why, message]))
        counts = result.statistics
        return replace(
            result,
            problem=self.original.name,
            status=status,
            value=value,
            lower_bound=value,
            upper_bound=upper,
            seconds=result.seconds if limits is None else limits.seconds,
            statistics=Statistics(
                counts.joint_states_expanded,
                counts.joint_actions_evaluated,
                counts.peak_memory_mb,
                {**counts.others, "grouping_loss": self.loss},
            ),
            message=message,
            policy=policy,
            estimate=result.estimate if same else None,
            pending_certificate=None,  # its bounds are those of the simplified problem
        )

    def _rebind(self, policy: Policy) -> Policy:
        """The same decisions, as a policy for the original problem."""
        indexed = index_problem(
            self.original, history=policy.history, stage=self.stage, state=self.state
        )
        if not _same_moves(indexed, policy.indexed):
            raise SolverError(
                "the result is for another problem, stage or state than the simplified one; solve "
                "Simplified.problem from the stage and state that simplify was given"
            )
        return Policy(
            self.original,
            indexed,
            policy.maps,
            policy.teams,
            policy.local,
            history=policy.history,
            groups=policy.groups,
            ahead=policy.ahead,
        )


def simplify(
    problem: PlanningProblem,
    tolerance: float,
    *,
    stage: int = 0,
    state: JointState | None = None,
    limits: Limits | None = None,
) -> Simplified:
    """Group similar interactions and drop small ones, and bound what this can cost.

    Rewards for several agents whose values differ by at most the tolerance get the same value, in
    the middle between the smallest and the largest of them; rewards and costs of at most the
    tolerance are dropped. Rewards of single agents do not change. Any algorithm can solve the
    simplified problem; :meth:`Simplified.restore` then gives the plan with its true value, and
    bounds that are valid for the original problem.

    Parameters
    ----------
    problem
        A problem of any domain that can change its values
        (:meth:`PlanningProblem.with_values <coreplan.model.PlanningProblem.with_values>`).
    tolerance
        The largest difference of values that become one, as an amount of reward. With 0, nothing
        changes.
    stage, state
        Where planning starts; by default at the beginning.
    limits
        Time and memory limits; by default only the machine's memory.

    Raises
    ------
    LimitError
        If a limit is reached.
    ModelError
        If the state is invalid.
    SolverError
        If the tolerance is not a number of at least 0, or the problem cannot change its values.

    Examples
    --------
    Two works hinder each other a little, and the tolerance allows to drop that:

    >>> from coreplan import Contractor, Hindrance, MaintenanceProblem, Task, solve
    >>> problem = MaintenanceProblem(
    ...     (Contractor("Alpha", (Task("a1", 1, cost=3, revenue=20),)),
    ...      Contractor("Beta", (Task("b1", 1, cost=1, revenue=15),))),
    ...     horizon=2, network=(Hindrance(("Alpha/a1", "Beta/b1"), cost=2),))
    >>> simplified = simplify(problem, tolerance=2)
    >>> round(simplified.overstated, 6), simplified.understated
    (2.0, 0.0)
    >>> result = simplified.restore(solve(simplified.problem, prefer="early"))
    >>> result.value, result.upper_bound
    (29.0, 31.0)
    """
    Gap().check("tolerance", tolerance)
    if not isinstance(problem, PlanningProblem):
        raise ModelError(f"found a {type(problem).__name__}; expected a problem")
    limits = limits or Limits()
    indexed = index_problem(problem, stage=stage, state=state, guard=limits.guard)
    values = group_values(indexed, float(tolerance), limits.guard)
    changes = _changes(indexed.entries, values)
    if not changes:
        return Simplified(problem, problem, float(tolerance), 0.0, 0.0, stage, state)
    return Simplified(
        problem,
        problem.with_values(values),
        float(tolerance),
        _most(indexed, changes, -1.0, limits),
        _most(indexed, changes, 1.0, limits),
        stage,
        state,
    )


def _changes(entries: Sequence[IndexedEntry], values: Sequence[Values]) -> list[IndexedEntry]:
    """The rewards of the difference: the entries' values less their new values."""
    return [
        entry._replace(value=entry.value - each.value, stages=each.stages)
        for entry, given in zip(entries, values, strict=True)
        for each in given
        if each.value != entry.value
    ]


def _most(
    indexed: IndexedProblem, changes: Sequence[IndexedEntry], factor: float, limits: Limits
) -> float:
    """An upper bound on what any policy earns if the changes, times a factor, are the rewards."""
    scaled = [entry._replace(value=factor * entry.value) for entry in changes]
    difference = IndexedProblem(
        indexed.name,
        indexed.horizon,
        indexed.stage,
        indexed.agents,
        scaled,
        indexed.functions,
        discount=indexed.discount,
    )
    try:
        most = float(_core.value_bound(describe(difference), limits.monitor))
    except _core.LimitReached as error:
        raise LimitError(*error.args) from None
    except _core.NoAction as error:
        raise no_action(indexed, *error.args) from None
    if not math.isfinite(most):
        raise SolverError("the sum of the rewards is too large; scale them down")
    return max(0.0, most)


def _evaluate(policy: Policy, limits: Limits | None) -> float:
    """The exact value. Policies of single agents take little time: limits do not count there."""
    if limits is None or policy.is_local:
        return evaluate_policy(policy)
    return evaluate_policy(
        policy,
        time_limit=limits.seconds_left,
        memory_limit=limits.memory_limit_mb,
        is_stopped=lambda: limits.interrupted,
    )


def _same_moves(one: IndexedProblem, other: IndexedProblem) -> bool:
    """Whether the agents have the same states, actions, chances and start."""
    return (one.horizon, one.stage, one.agent_names) == (
        other.horizon,
        other.stage,
        other.agent_names,
    ) and all(
        len(a.states) == len(b.states)
        and all(
            getattr(a, name) == getattr(b, name)
            for name in (
                "actions",
                "start",
                "choice_begin",
                "choice_action",
                "choice_first",
                "choice_last",
                "outcome_begin",
                "outcome_next",
                "outcome_probability",
            )
        )
        for a, b in zip(one.agents, other.agents, strict=True)
    )
