"""The sensitivity analysis: which hindrance rules, windows and delays cost most.

For each of them, the analysis removes or relaxes it and computes the change of the best plan's
value. Both optima have proven bounds: the change is an interval, or a number if both problems are
solved.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from coreplan.domains.maintenance.changes import KINDS, Change, find_changes, most_payable
from coreplan.domains.maintenance.coordination import plan_alone
from coreplan.domains.maintenance.money import Money, split_value
from coreplan.domains.maintenance.problem import MaintenanceProblem
from coreplan.errors import LimitError, ModelError, SolverError
from coreplan.model.problem import index_problem
from coreplan.policies.policy import Policy
from coreplan.solving.compile import AnyProblem
from coreplan.solving.limits import Callback, Limits, Progress
from coreplan.solving.options import CoreOptions
from coreplan.solving.result import OPTIMAL_TOLERANCE, Result, Status
from coreplan.solving.solver import check_problem, settle_options, solve
from coreplan.solving.start import Start
from coreplan.support.checks import unknown_name
from coreplan.support.clock import now
from coreplan.support.interrupts import FINISH_SECONDS, interrupted_since
from coreplan.support.late import late

BASE_PART = 0.3
"""The share of the time limit for the original problem."""
BOUNDS_PART = 0.2
"""The share of the time limit for bounds that need no search."""
ENOUGH = 2.0
"""A changed problem gets at least this many times the time of the original one, if solved."""
SHORTEST = 1e-3
"""The shortest time in seconds for which a search is started."""

NOT_HERE = {"stage", "state", "start", "certificate"}
"""Options of a solver that make sense for a single problem only."""

Started = Callable[[Change | None, int, int], object]
"""Called before a search with the change, the number of finished changes, and their total."""


@dataclass(frozen=True)
class Influence:
    """The effect of one hindrance rule, window or delay on the best plan.

    Attributes
    ----------
    change
        The rule, window or delay that is removed or relaxed.
    low, high
        Bounds on the gain of the best plan; infinite if nothing is known.
    examined
        Whether the changed problem was searched, or the bounds are exact without a search; if not,
        the bounds follow from the original problem.
    paid
        For a hindrance rule, the expected amount that the best known plan of the original problem
        pays for it; None if it is out of reach.
    result
        The result of the search in the changed problem; None if it was not searched.
    """

    change: Change
    low: float
    high: float
    examined: bool = False
    paid: float | None = None
    result: Result | None = field(default=None, compare=False, repr=False)

    @property
    def exact(self) -> bool:
        """Whether the bounds meet."""
        width = self.high - self.low
        return math.isfinite(width) and width <= OPTIMAL_TOLERANCE * max(1.0, abs(self.high))

    @property
    def finished(self) -> bool:
        """Whether another search cannot narrow the bounds."""
        return self.exact or (self.result is not None and self.result.status is Status.OPTIMAL)

    def to_dict(self) -> dict[str, Any]:
        """Return all parts as plain values; None for bounds that are not known."""
        return {
            **self.change.to_dict(),
            "low": self.low if math.isfinite(self.low) else None,
            "high": self.high if math.isfinite(self.high) else None,
            "exact": self.exact,
            "examined": self.examined,
            "paid": self.paid,
        }


@dataclass(frozen=True)
class Sensitivity:
    """The effects of the hindrance rules, windows and delays of a problem.

    Attributes
    ----------
    problem
        The problem's name.
    result
        The result for the original problem.
    relaxed
        Whether rules, windows and delays were relaxed rather than removed.
    influences
        The effects: examined ones first, then sorted by the certain gain, then by the possible
        gain.
    status
        ``optimal`` if all numbers are exact; otherwise the reason why the search stopped.
    seconds
        The elapsed time.
    """

    problem: str
    result: Result
    relaxed: bool
    influences: tuple[Influence, ...]
    status: Status
    seconds: float

    def to_dict(self, top: int | None = None) -> dict[str, Any]:
        """Return all parts as plain values, for JSON."""
        return {
            "problem": self.problem,
            "result": self.result.to_dict(),
            "relaxed": self.relaxed,
            "status": str(self.status),
            "seconds": self.seconds,
            "influences": [each.to_dict() for each in self.influences[:top]],
        }

    def summary(self, top: int | None = None) -> str:
        """Write the analysis as text, with a line for each influence."""
        return "\n".join(late("Sensitivity.text")(self, top))


def sensitivity(
    problem: AnyProblem,
    *,
    only: str | Iterable[str] | None = None,
    relax: bool = False,
    time_limit: float | None = None,
    memory_limit: float | None = None,
    callback: Callback | None = None,
    started: Started | None = None,
    **options: Any,
) -> Sensitivity:
    """Compute how the best plan changes if hindrance rules, windows or delays are removed.

    The most promising changes are examined first. Ctrl-C and the time limit stop the analysis
    early: all bounds are valid, and changes that were not examined are marked.

    Parameters
    ----------
    problem
        A maintenance problem.
    only
        One or more of ``hindrance``, ``windows`` and ``delays``; by default all.
    relax
        Whether to relax rather than remove: half the cost of a rule, a window wider by one step on
        both sides, half the chance of a delay.
    time_limit
        Seconds for the whole analysis; None for no limit.
    memory_limit, callback, **options
        Options of each search; see :func:`coreplan.solve`.
    started
        Called before each search with the change (None for the original problem), the number of
        finished changes, and their total.

    Raises
    ------
    LimitError
        If a limit is reached before the original problem has a plan.
    ModelError
        If the problem is not a maintenance problem.
    SolverError
        If an option is unknown, or makes sense for a single problem only (``start``, ``stage``).

    Examples
    --------
    >>> from coreplan import Contractor, Hindrance, MaintenanceProblem, Task
    >>> problem = MaintenanceProblem(
    ...     (Contractor("Alpha", (Task("a1", 2, cost=3, revenue=20, window=(0, 0)),)),
    ...      Contractor("Beta", (Task("b1", 2, cost=1, revenue=15),))),
    ...     horizon=3, network=(Hindrance(("Alpha/a1", "Beta/b1"), cost=7.5),))
    >>> [(each.change.kind, each.low, each.high) for each in sensitivity(problem).influences]
    [('hindrance', 7.5, 7.5), ('windows', 0.0, 0.0)]
    """
    problem = check_maintenance_problem(problem)
    kinds = _check_kinds(only)
    for name in NOT_HERE & options.keys():
        raise _no_option(name)
    chosen, settled = settle_options(
        options.pop("algorithm", None), options.pop("options", None), options
    )
    for name in NOT_HERE:
        given = getattr(settled, name, None)
        if given is not None and given is not False:
            raise _no_option(name)
    limits = Limits(time_limit, memory_limit)
    changes = find_changes(problem, kinds, relax)
    tell = started or (lambda *_: None)
    asked_to_stop = False

    def listen(progress: Progress) -> bool:
        nonlocal asked_to_stop
        asked_to_stop = callback is not None and callback(progress) is True
        return asked_to_stop

    shared: dict[str, Any] = {"memory_limit": memory_limit, "callback": listen}
    begin = now()
    tell(None, 0, len(changes))
    part = None if time_limit is None else BASE_PART * time_limit
    base = solve(problem, time_limit=part, algorithm=chosen.name, options=settled, **shared)
    examination = _Examination(
        problem, base, changes, limits, lambda: asked_to_stop or interrupted_since(begin)
    )
    try:
        examination.run(tell, {"algorithm": chosen.name, "options": settled, **shared})
    except KeyboardInterrupt:  # between two searches; report what is known by now
        examination.stopped = Status.INTERRUPTED
    return examination.report(relax)


def _no_option(name: str) -> SolverError:
    return SolverError(
        f"the sensitivity analysis has no option {name}: it solves all problems from their "
        "beginning"
    )


def check_maintenance_problem(problem: AnyProblem) -> MaintenanceProblem:
    """Return a maintenance problem unchanged; a ModelError for any other problem."""
    check_problem(problem)
    if not isinstance(problem, MaintenanceProblem):
        raise ModelError(
            "only a maintenance problem (mpp/1) has hindrance rules, windows and delays; found a "
            f"{type(problem).__name__}"
        )
    return problem


def _check_kinds(only: str | Iterable[str] | None) -> list[str]:
    kinds = list(KINDS) if only is None else [only] if isinstance(only, str) else list(only)
    for kind in kinds:
        if kind not in KINDS:
            raise SolverError(unknown_name(kind, "kind", list(KINDS), "a maintenance problem"))
    return kinds


class _Examination:
    """Examines the changes of a problem one by one, within the time limit."""

    def __init__(
        self,
        problem: MaintenanceProblem,
        base: Result,
        changes: Sequence[Change],
        limits: Limits,
        asked_to_stop: Callable[[], bool],
    ) -> None:
        self._asked_to_stop = asked_to_stop
        self.stopped = base.status
        """The reason why the last search stopped, if not all are optimal."""
        self._problem = problem
        self._base = base
        self._limits = limits
        self._influences = [Influence(each, -math.inf, math.inf) for each in changes]
        self._money: Money | None = None

    def run(self, tell: Started, options: dict[str, Any]) -> None:
        """Bound all changes, then examine them, the most promising first."""
        order = self._bound_all()
        had = 0.0
        while True:
            left = [k for k in order if not self._influences[k].finished]
            # If much time is left over, the unfinished searches get a second chance.
            share = self._share(len(left))
            if not left or share <= max(SHORTEST, 2 * had):
                return
            had = share
            for done, k in enumerate(left):
                share = self._share(len(left) - done)
                if self._interrupted() or share < SHORTEST:
                    return
                looked_at = sum(each.examined for each in self._influences)
                tell(self._influences[k].change, looked_at, len(order))
                self._examine(k, share, options)

    def _interrupted(self) -> bool:
        if self._asked_to_stop():
            self.stopped = Status.INTERRUPTED
        return self.stopped is Status.INTERRUPTED

    def _share(self, searches: int) -> float:
        """The seconds for the next search, if `searches` are left.

        The changed problems are about as hard as the original one. If that has been solved, it is
        better to solve some of them than to begin all.
        """
        left = self._limits.seconds_left
        enough = ENOUGH * self._base.seconds if self._base.status is Status.OPTIMAL else 0.0
        return max(left / max(searches, 1), min(enough, left))

    def report(self, relaxed: bool) -> Sensitivity:
        """Make the report, with the largest effects first."""
        ordered = sorted(
            self._influences, key=lambda each: (not each.examined, -each.low, -each.high)
        )
        status = self.stopped
        if all(each.exact for each in ordered):
            status = Status.OPTIMAL
        elif status is Status.OPTIMAL:
            status = Status.TIME_LIMIT
        return Sensitivity(
            self._problem.name, self._base, relaxed, tuple(ordered), status, self._limits.seconds
        )

    # -- without a search ----------------------------------------------------------------------

    def _bound_all(self) -> list[int]:
        """Bound all changes without a search, and sort them, the most promising first."""
        clock = Limits(self._seconds(BOUNDS_PART))
        alone: Money | None = None
        with suppress(SolverError):  # some bounds are then missing
            if self._base.policy is not None:
                self._money = split_value(self._base.policy, clock.seconds_left)
        with suppress(SolverError):
            alone = split_value(plan_alone(self._problem, limits=clock), clock.seconds_left)
        # No contractor can earn more than alone; a negative hindrance adds to what all can earn.
        most = sum(most_payable(self._problem, rule)[0] for rule in self._problem.network)
        most = math.inf if alone is None else most + alone.revenue - alone.works
        guesses = []
        for k, each in enumerate(self._influences):
            if each.change.is_nothing:
                self._narrow(k, 0.0, 0.0)
                guesses.append(0.0)
            elif each.change.kind == "hindrance":
                guesses.append(self._bound_rule(k, alone, most))
            else:
                guesses.append(self._bound_task(k, alone, most, clock))
        return sorted(range(len(guesses)), key=lambda k: -guesses[k])

    def _seconds(self, part: float) -> float | None:
        """Limits with a share of the remaining time."""
        left = self._limits.seconds_left
        if self._asked_to_stop():
            left = min(left, FINISH_SECONDS)
        return max(part * left, SHORTEST) if math.isfinite(left) else None

    def _narrow(self, k: int, low: float, high: float) -> None:
        influence = self._influences[k]
        low = max(low, influence.low)
        high = max(low, min(high, influence.high))
        known = replace(influence, low=low, high=high)
        self._influences[k] = replace(known, examined=known.examined or known.exact)

    def _bound_rule(self, k: int, alone: Money | None, most: float) -> float:
        """Bound the effect of a hindrance rule, and guess it."""
        change = self._influences[k].change
        entry = change.place[0]
        brings, costs = most_payable(self._problem, self._problem.network[entry])
        self._narrow(k, -change.part * brings, change.part * costs)
        self._narrow(k, -math.inf, most - self._base.lower_bound)
        guess = change.part * (costs if alone is None else alone.hindrances[entry])
        if self._money is not None:
            # The same plan without the rule saves the amount that it pays for the rule.
            paid = self._money.hindrances[entry]
            self._influences[k] = replace(self._influences[k], paid=paid)
            saves = change.part * paid
            self._narrow(k, self._money.value + saves - self._base.upper_bound, math.inf)
            guess = max(guess, saves)
        return min(guess, self._influences[k].high)

    def _bound_task(self, k: int, alone: Money | None, most: float, clock: Limits) -> float:
        """Bound the effect of a window or a delay, and guess it."""
        change = self._influences[k].change
        if change.never_worse:
            self._narrow(k, 0.0, math.inf)
        if alone is None:
            return 0.0
        try:
            policy = plan_alone(change.apply_alone(self._problem), limits=clock)
            after = policy.evaluate(time_limit=clock.seconds_left)
        except SolverError:
            return 0.0
        contractor = change.place[0]
        gain = after - (alone.revenue_of[contractor] - alone.works_of[contractor])
        self._narrow(k, -math.inf, most + gain - self._base.lower_bound)
        return gain

    # -- with a search -------------------------------------------------------------------------

    def _examine(self, k: int, share: float, options: dict[str, Any]) -> None:
        """Solve a changed problem, and narrow the bounds of the change."""
        influence = self._influences[k]
        changed = influence.change.apply(self._problem)
        try:
            # Only `core` can start from a plan.
            if isinstance(options["options"], CoreOptions):
                start = self._start(influence, changed)
                options = {**options, "options": replace(options["options"], start=start)}
            limit = share if math.isfinite(share) else None
            found = solve(changed, time_limit=limit, **options)
        except LimitError as error:
            self.stopped = Status(error.reason)
            return
        base = self._base
        if found.status is not Status.OPTIMAL:
            self.stopped = found.status
        if found.status is Status.OPTIMAL and base.status is Status.OPTIMAL:
            gain = min(max(found.value - base.value, influence.low), influence.high)
            low = high = gain
        else:
            low = found.lower_bound - base.upper_bound
            high = found.upper_bound - base.lower_bound
        self._narrow(k, low, high)
        self._influences[k] = replace(self._influences[k], examined=True, result=found)

    def _start(self, influence: Influence, changed: MaintenanceProblem) -> Start | None:
        """A plan to start from: from an earlier search or, if moves are the same, the original."""
        if influence.result is not None and influence.result.policy is not None:
            return Start(influence.result.policy, influence.result.value)
        change, policy = influence.change, self._base.policy
        policy = None if policy is None else policy.base  # whose value is certain
        if change.kind != "hindrance" or self._money is None or policy is None:
            return None
        value = self._money.value + change.part * self._money.hindrances[change.place[0]]
        return Start(_carry_over(policy, changed), value)


def _carry_over(policy: Policy, problem: MaintenanceProblem) -> Policy:
    """Transfer a policy to a problem with another network: its states are the same."""
    return Policy(
        problem,
        index_problem(problem, history=policy.history),
        policy.maps,
        policy.teams,
        policy.local,
        history=policy.history,
        groups=policy.groups,
    )
