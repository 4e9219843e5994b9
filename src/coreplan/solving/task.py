"""The task of an algorithm, and the form of its answer."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from coreplan import _core
from coreplan.model.indexed import JointState
from coreplan.policies.policy import Policy
from coreplan.solving.compile import AnyProblem, CompiledProblem, compile_problem
from coreplan.solving.limits import Limits
from coreplan.solving.result import OPTIMAL_TOLERANCE, Result, Statistics, Status, is_closed
from coreplan.support.memory import peak_memory_mb

NOTHING_LEFT = "no limit was reached: the solver cannot narrow the gap any further"
"""The message of a solver that stopped without a limit and with a larger gap than allowed."""


@dataclass(frozen=True)
class SolverTask:
    """A problem to solve from a stage and joint state on, within limits.

    A plan counts as optimal if the gap that is left is at most `tolerance` of its value.
    """

    problem: AnyProblem
    stage: int
    state: JointState | None
    limits: Limits
    tolerance: float = OPTIMAL_TOLERANCE

    def compile(self, merge: bool, *, history: bool | None = None) -> CompiledProblem:
        """Compile the problem within the limits; see :func:`coreplan.solving.compile_problem`."""
        compiled = compile_problem(
            self.problem,
            merge=merge,
            history=history,
            stage=self.stage,
            state=self.state,
            limits=self.limits,
        )
        self.limits.phase = "search"
        return compiled

    def make_result(
        self,
        algorithm: str,
        lower: float,
        upper: float,
        stop: _core.Stop,
        policy: Policy,
        states_expanded: int,
        actions_evaluated: int,
        *,
        message: str = "",
        others: Mapping[str, float] | None = None,
        objective: str = "centralised",
        allowed_gap: float = 0.0,
    ) -> Result:
        """Build the result of an algorithm.

        If a gap is left and no limit was reached, the algorithm stopped at the allowed gap, or
        because it can do no more; the message then says this.
        """
        if not (math.isfinite(lower) and math.isfinite(upper)):
            raise OverflowError("the sum of the rewards is too large")
        status = Status.GAP_LIMIT if stop == _core.Stop.none else Status(stop.name)
        if is_closed(lower, upper, self.tolerance):
            status = Status.OPTIMAL
        elif status is Status.GAP_LIMIT and upper - lower > allowed_gap:
            message = "; ".join(filter(None, [message, NOTHING_LEFT]))
        return Result(
            problem=self.problem.name,
            algorithm=algorithm,
            status=status,
            value=lower,
            lower_bound=lower,
            upper_bound=upper,
            seconds=self.limits.seconds,
            statistics=Statistics(
                states_expanded, actions_evaluated, round(peak_memory_mb(), 1), others or {}
            ),
            objective=objective,
            message="" if status is Status.OPTIMAL else message,
            policy=policy,
            tolerance=self.tolerance,
        )
