"""Evaluation of an existing plan: its value, and the most that a better plan could gain."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any, cast

from coreplan.analysis.simulation import Estimate
from coreplan.errors import LimitError, SolverError
from coreplan.model.indexed import JointState
from coreplan.model.problem import index_problem
from coreplan.policies.evaluation import evaluate_entries
from coreplan.policies.policy import Policy
from coreplan.solving.compile import AnyProblem
from coreplan.solving.limits import Callback, Limits
from coreplan.solving.registry import check_algorithm
from coreplan.solving.result import Result, Status, is_closed
from coreplan.solving.solver import check_problem, settle_options, solve
from coreplan.solving.start import Start, StartPlan, check_beginning, make_plan
from coreplan.support.late import late

RUNS = 10_000
"""The default number of simulated runs if the exact value is out of reach."""
EXACT_PART = 0.5
"""The part of the time limit after which the exact value counts as out of reach."""


BETTER = 1e-9
"""The relative gain above which another plan counts as better."""


@dataclass(frozen=True)
class PlanReport:
    """The value of a plan, and its largest distance from the optimum.

    Attributes
    ----------
    problem
        The problem's name.
    value
        The exact expected value of the plan; None if it is out of reach, or takes more than half of
        the time limit.
    estimate
        An estimate of the value by simulation, on request or if the exact value is out of reach.
    money
        The parts of the value, for a maintenance problem whose value is known.
    upper_bound
        A bound that no plan exceeds; None without a request, or if a limit was reached before.
    best_known
        The value of the best known plan, which may be this one.
    search_status
        The reason why the search for a bound stopped; None without a search.
    seconds
        Wall time.
    message
        Details on a missing bound.
    policy
        The plan.
    result
        The result of the search for a bound, with the best plan; None without a search.
    """

    problem: str
    value: float | None
    estimate: Estimate | None
    money: Any | None
    upper_bound: float | None
    best_known: float | None
    search_status: Status | None
    seconds: float
    message: str = ""
    policy: Policy | None = field(default=None, compare=False, repr=False)
    result: Result | None = field(default=None, compare=False, repr=False)

    @property
    def gap(self) -> float | None:
        """The most that a better plan could gain, upper bound - value; None if unknown."""
        if self.value is None or self.upper_bound is None:
            return None
        return max(0.0, self.upper_bound - self.value)

    @property
    def relative_gap(self) -> float | None:
        """The gap relative to the value (infinite if the value is 0 and the gap is not)."""
        if self.gap is None or self.value is None:
            return None
        if self.gap == 0:
            return 0.0
        return self.gap / abs(self.value) if self.value else math.inf

    @property
    def gain(self) -> float | None:
        """The additional value of the best known plan; None if unknown."""
        if self.value is None or self.best_known is None:
            return None
        return max(0.0, self.best_known - self.value)

    @property
    def optimal(self) -> bool:
        """Whether the plan is proven optimal, and no better one is known."""
        if self.value is None or self.upper_bound is None:
            return False
        known = self.value if self.best_known is None else self.best_known
        return is_closed(self.value, self.upper_bound) and is_closed(self.value, known, BETTER)

    def to_dict(self) -> dict[str, Any]:
        """The report as plain values, for machines."""
        estimate = self.estimate
        relative = self.relative_gap
        return {
            "problem": self.problem,
            "value": self.value,
            "exact": self.value is not None,
            "estimate": None if estimate is None else estimate.to_dict(),
            "money": None if self.money is None else self.money.to_dict(),
            "upper_bound": self.upper_bound,
            "best_known": self.best_known,
            "gap": self.gap,
            "relative_gap": relative if relative is None or math.isfinite(relative) else None,
            "optimal": self.optimal,
            "search_status": None if self.search_status is None else str(self.search_status),
            "seconds": self.seconds,
            "message": self.message,
        }

    def summary(self) -> str:
        """The report in a few lines of text."""
        return "\n".join(late("PlanReport.text")(self))


def evaluate_plan(
    problem: AnyProblem,
    plan: StartPlan,
    *,
    bound: bool = True,
    time_limit: float | None = None,
    memory_limit: float | None = None,
    callback: Callback | None = None,
    stage: int | None = None,
    state: JointState | None = None,
    estimate_runs: int | None = None,
    seed: int = 1,
    **options: Any,
) -> PlanReport:
    """Compute the value of a plan, and bound its distance from the optimum.

    Parameters
    ----------
    problem
        The problem.
    plan
        A :class:`~coreplan.Policy` or, for a maintenance problem, a schedule
        ``{contractor: {work: step}}``; see :func:`coreplan.domains.maintenance.schedule_policy`.
    bound
        Whether to search for a better plan and a bound on what any plan can earn.
    time_limit, memory_limit, callback, **options
        Options of the search; see :func:`coreplan.solve`.
    stage, state
        The start; default: the start of the policy or, for a schedule, the beginning.
    estimate_runs, seed
        The number of runs to simulate in addition, and their seed. If the exact value is out of
        reach, the plan is simulated in any case.

    Raises
    ------
    ModelError
        If the schedule or the state is invalid.
    SolverError
        If the plan is for another problem, stage or state.
    LimitError
        If a limit is reached before the plan's value is known, or Ctrl-C comes before a bound is
        found.

    Examples
    --------
    >>> from coreplan import Contractor, Hindrance, MaintenanceProblem, Task
    >>> problem = MaintenanceProblem(
    ...     (Contractor("Alpha", (Task("a1", 2, cost=3, revenue=20),)),
    ...      Contractor("Beta", (Task("b1", 2, cost=1, revenue=15),))),
    ...     horizon=4, network=(Hindrance(("Alpha/a1", "Beta/b1"), cost=7.5),))
    >>> report = evaluate_plan(problem, {"Alpha": {"a1": 0}, "Beta": {"b1": 1}})
    >>> report.value, report.upper_bound, report.gap, report.best_known
    (19.5, 27.0, 7.5, 27.0)
    """
    check_problem(problem)
    chosen, settled = settle_options(
        options.pop("algorithm", None), options.pop("options", None), options
    )
    if getattr(settled, "start", None) is not None:
        raise SolverError("start is not an option here: the search starts from the plan itself")
    limits = Limits(time_limit, memory_limit)
    policy, state = _begin(problem, plan, stage, state, limits)
    value, money = _exact_value(policy, EXACT_PART * limits.seconds_left)
    estimate = None
    if estimate_runs is not None or value is None:
        estimate = policy.estimate(RUNS if estimate_runs is None else estimate_runs, seed)
    result = None
    message = ""
    if bound:
        if value is not None:  # else it is nothing to start from
            check_algorithm(chosen.name, ["start"])
            settled = replace(cast(Any, settled), start=Start(policy, value))
        left = None if time_limit is None else max(limits.seconds_left, 1e-3)
        try:
            result = solve(
                problem,
                time_limit=left,
                memory_limit=memory_limit,
                callback=callback,
                stage=policy.stage,
                state=state,
                algorithm=chosen.name,
                options=settled,
            )
        except LimitError as error:
            if error.reason == "interrupted":
                raise
            message = f"no bound was found: {error}"
    return PlanReport(
        problem=problem.name,
        value=value,
        estimate=estimate,
        money=money,
        upper_bound=None if result is None else result.upper_bound,
        best_known=value if result is None else result.value,
        search_status=None if result is None else result.status,
        seconds=limits.seconds,
        message=message,
        policy=policy,
        result=result,
    )


def _begin(
    problem: AnyProblem,
    plan: StartPlan,
    stage: int | None,
    state: JointState | None,
    limits: Limits,
) -> tuple[Policy, JointState]:
    """Turn the plan into a policy, and find the joint state in which it starts."""
    if stage is None:
        stage = plan.stage if isinstance(plan, Policy) else 0
    policy = make_plan(problem, plan, stage, state, limits)
    if policy.stage != stage:
        check_beginning(
            policy, index_problem(problem, stage=stage, state=state, guard=limits.guard)
        )
    start = policy.indexed.find_state(policy.stage, None)
    return policy, policy.indexed.name_state(start)


def _exact_value(policy: Policy, time_limit: float) -> tuple[float | None, Any]:
    """The exact value, with its parts if the domain has parts; None if out of reach."""
    try:
        value, amounts = evaluate_entries(policy, time_limit)
        money = policy.problem.money(policy.indexed, value, amounts)
    except SolverError:
        return None, None
    if not math.isfinite(value):
        raise SolverError("the rewards are too large to add up; scale them down")
    return value, money
