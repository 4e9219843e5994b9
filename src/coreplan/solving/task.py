"""What an algorithm is asked, and how it answers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from coreplan import _core
from coreplan.errors import SolverError
from coreplan.model.indexed import JointState
from coreplan.policies.policy import Policy
from coreplan.solving.compile import AnyProblem, CompiledProblem, compile_problem
from coreplan.solving.limits import Limits
from coreplan.solving.result import Result, Statistics, Status, is_closed
from coreplan.support.checks import found
from coreplan.support.memory import peak_memory_mb

LARGEST_SEED = 2**64 - 1


def check_flags(**options: object) -> None:
    """Raise a SolverError if an option is not a truth value."""
    for name, value in options.items():
        if not isinstance(value, bool):
            raise SolverError(f"{name} is {value!r}; expected True or False")


def check_gaps(**options: object) -> None:
    """Raise a SolverError if a gap at which to stop makes no sense."""
    for name, value in options.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or not value >= 0:
            raise SolverError(f"{name} is {value!r}; expected a number of at least 0")


def check_work_limit(work_limit: object) -> float:
    """The limit as a number, infinite for None; raise a SolverError if it makes no sense."""
    if work_limit is None:
        return math.inf
    if (
        isinstance(work_limit, bool)
        or not isinstance(work_limit, int | float)
        or not work_limit > 0
    ):
        raise SolverError(f"work_limit is {work_limit!r}; expected a number above 0, or None")
    return float(work_limit)


def check_seed(seed: object) -> None:
    """Raise a SolverError if the random numbers of the core cannot start from a seed."""
    if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed <= LARGEST_SEED:
        raise SolverError(
            f"seed is {found(seed)}; expected a whole number from 0 to 2**64 - 1 ({LARGEST_SEED})"
        )


NOTHING_LEFT = "no limit was reached: nothing that the solver can still do narrows the gap"
"""Why a solver stopped that met no limit and was allowed no such gap."""


@dataclass(frozen=True)
class SolverTask:
    """A problem to be solved from a stage and joint state on, within limits."""

    problem: AnyProblem
    stage: int
    state: JointState | None
    limits: Limits

    def compile(self, merge: bool, *, history: bool | None = None) -> CompiledProblem:
        """Compile the problem within the limits; see :func:`coreplan.compile_problem`."""
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
        """Put together what an algorithm found.

        With bounds apart and no limit that struck, it stopped at the gap it was allowed, or because
        it has nothing left to do; the message then says so.
        """
        if not (math.isfinite(lower) and math.isfinite(upper)):
            raise OverflowError("the rewards are too large to be added up")
        status = Status.GAP_LIMIT if stop == _core.Stop.none else Status(stop.name)
        if is_closed(lower, upper):
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
        )
