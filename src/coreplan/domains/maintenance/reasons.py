"""Why then? For every work: what another start would cost, and what holds the work where it is.

All numbers are about the planned course, in which no work is delayed. For an earlier start, the
analysis goes back to the last step before the start in which the contractor was idle (or to the
plan's first step), and for a later start to the step of the start itself. From that situation on,
it solves the problem twice: freely, and with a limit for the start of the work (see
:class:`coreplan.domains.maintenance.shifted.Limit`). The difference is the cost of the other start.

A hindrance rule, window, delay, price or other work is a *cause* if the other start would cost
nothing without it: the analysis removes it, and solves the problem twice again.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from coreplan.domains.maintenance.closures import closure_in_words
from coreplan.domains.maintenance.parts import Contractor, Cost, Hindrance, Task
from coreplan.domains.maintenance.planned import PlannedSchedule, PlannedWork, planned_schedule
from coreplan.domains.maintenance.problem import MaintenanceProblem
from coreplan.domains.maintenance.shifted import Limit, ShiftedProblem, is_possible
from coreplan.domains.maintenance.states import ContractorState
from coreplan.errors import LimitError, ModelError
from coreplan.policies.policy import Policy
from coreplan.solving.limits import Callback, Progress
from coreplan.solving.options import CoreOptions
from coreplan.solving.result import OPTIMAL_TOLERANCE, Status
from coreplan.solving.solver import solve
from coreplan.support.clock import now
from coreplan.support.interrupts import catch_interrupts

WORK_LIMIT = 60.0
"""The work of the solver for all reasons of a plan, in units of about a second."""
MOST_CAUSES = 12
"""The most things that are removed, one at a time, to find the cause of one cost."""
SAME = 2 * OPTIMAL_TOLERANCE
"""The relative difference of two proven values up to which they count as equal."""

_State = dict[str, ContractorState]


@dataclass(frozen=True)
class Cause:
    """Something that holds a work where it is.

    Attributes
    ----------
    kind
        ``hindrance`` for a rule; ``window``, ``delay``, ``price`` (costs that depend on the step)
        or ``work`` (the need to do it) for a work of the problem; ``must_complete``; ``begin`` and
        ``end`` of the plan; ``under_way`` for a work that has begun.
    names
        The works of the rule, or the work: ``contractor/work``.
    left
        What the other start would still cost at most without it: 0 if this is the only cause.
        None if the other start would be impossible otherwise.
    """

    kind: str
    names: tuple[str, ...]
    left: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return all parts as plain values, for JSON."""
        return {"kind": self.kind, "names": list(self.names), "left": self.left}


@dataclass(frozen=True)
class Shift:
    """What another start of a work would cost, from the planned course on.

    Attributes
    ----------
    from_step
        The step from which the costs are compared.
    possible
        Whether the work can start then; False only if that is proven.
    low, high
        Bounds on the additional expected cost; equal up to rounding if exact. The upper bound is
        infinite if nothing is known.
    cause
        What causes the cost or makes the start impossible; None if it costs nothing, if no single
        cause was found, or if the search for it was cut short.
    searched
        Whether the search for the cause is complete.
    scale
        The size of the values that were compared: bounds are off by a small part of it.
    """

    from_step: int
    possible: bool
    low: float = 0.0
    high: float = math.inf
    cause: Cause | None = None
    searched: bool = False
    scale: float = field(default=1.0, repr=False)

    @property
    def exact(self) -> bool:
        """Whether the bounds meet."""
        return self.high - self.low <= 2 * SAME * self.scale

    @property
    def free(self) -> bool:
        """Whether the other start costs nothing."""
        return self.possible and self.high <= 2 * SAME * self.scale

    def to_dict(self) -> dict[str, Any]:
        """Return all parts as plain values, for JSON; None for a bound that is not known."""
        return {
            "from_step": self.from_step,
            "possible": self.possible,
            "low": self.low if self.possible else None,
            "high": self.high if self.possible and math.isfinite(self.high) else None,
            "exact": self.possible and self.exact,
            "cause": None if self.cause is None else self.cause.to_dict(),
            "searched": self.searched,
        }


@dataclass(frozen=True)
class Reason:
    """Why a work starts in its planned step.

    Attributes
    ----------
    contractor, work
        The names of the contractor and the work.
    start
        The planned start: the one if no work is delayed.
    earlier, later
        The cost of a start at least one step earlier or later.
    before
        The contractor's other work that runs in the step before the start, and would have to move
        for an earlier start; None if the contractor is idle then.
    """

    contractor: str
    work: str
    start: int
    earlier: Shift
    later: Shift
    before: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return all parts as plain values, for JSON."""
        return {
            "contractor": self.contractor,
            "work": self.work,
            "start": self.start,
            "before": self.before,
            "earlier": self.earlier.to_dict(),
            "later": self.later.to_dict(),
        }


@dataclass(frozen=True)
class Reasons:
    """The reasons for all planned starts of a plan.

    Attributes
    ----------
    reasons
        One for each work that starts in the planned course, in the problem's order.
    complete
        Whether no limit was reached.
    """

    reasons: tuple[Reason, ...]
    complete: bool

    def to_dict(self) -> dict[str, Any]:
        """Return all parts as plain values, for JSON."""
        return {
            "reasons": [each.to_dict() for each in self.reasons],
            "complete": self.complete,
        }


def find_reasons(
    policy: Policy,
    *,
    work_limit: float = WORK_LIMIT,
    time_limit: float | None = None,
    callback: Callback | None = None,
) -> Reasons:
    """Find out, for every work of a plan, why it starts when it does.

    Costs are compared with the best plan from the same situation on; for an optimal plan this is
    the plan itself.

    Parameters
    ----------
    policy
        A plan for a maintenance problem.
    work_limit
        The most work for all solves together, in units of about a second, counted and not timed:
        the same plan has the same reasons on every run.
    time_limit
        Seconds for all of them; None for no limit.
    callback
        Called with the progress of each solve; returning True stops. Ctrl-C stops, too; the
        remaining works have bounds only.

    Raises
    ------
    ModelError
        If the plan is not for a maintenance problem.

    Examples
    --------
    >>> from coreplan import Hindrance, solve
    >>> problem = MaintenanceProblem(
    ...     (Contractor("Alpha", (Task("a1", 2, cost=3, window=(0, 0)),)),
    ...      Contractor("Beta", (Task("b1", 2, cost=1),))),
    ...     horizon=5, network=(Hindrance(("Alpha/a1", "Beta/b1"), cost=7.5),), must_complete=True)
    >>> b1 = find_reasons(solve(problem).policy).reasons[1]
    >>> b1.start, b1.earlier.low, b1.earlier.cause
    (2, 7.5, Cause(kind='hindrance', names=('Alpha/a1', 'Beta/b1'), left=0.0))
    """
    problem = policy.problem
    if not isinstance(problem, MaintenanceProblem):
        raise ModelError("reasons for starts of works need a plan of a maintenance problem (mpp/1)")
    search = _Search(problem, policy, work_limit, time_limit, callback)
    with catch_interrupts(search.stop):
        return search.run()


@dataclass(frozen=True)
class _Case:
    """A problem from a situation of the planned course on, reduced to what matters for a work."""

    problem: MaintenanceProblem
    stage: int
    state: Mapping[str, ContractorState]


class _StoppedError(Exception):
    """A limit was reached, or Ctrl-C was pressed."""


_Bounds = tuple[float, float]


class _Search:
    """Solves the problem with other starts, within limits."""

    def __init__(
        self,
        problem: MaintenanceProblem,
        policy: Policy,
        work_limit: float,
        time_limit: float | None,
        callback: Callback | None,
    ) -> None:
        self._problem = problem
        self._course: PlannedSchedule = planned_schedule(policy)
        self._work_left = work_limit
        self._begin = now()
        self._time_limit = time_limit
        self._callback = callback
        self._asked_to_stop = False
        self._stopped = False
        self._known: dict[object, _Bounds] = {}

    def run(self) -> Reasons:
        """Find the costs of all works first, then their causes."""
        works = [each for each in self._course.works if not each.under_way]
        shifts = {(each, by): self._price(each, by) for each in works for by in (-1, 1)}
        found = {key: self._explain(*key, shift) for key, shift in shifts.items()}
        return Reasons(
            tuple(
                Reason(
                    each.contractor,
                    each.task,
                    each.start,
                    found[each, -1],
                    found[each, 1],
                    self._before(each),
                )
                for each in works
            ),
            not self._stopped,
        )

    def stop(self) -> None:
        """Begin no more solves, and let the running one end soon."""
        self._asked_to_stop = True

    # -- costs -----------------------------------------------------------------------------------

    def _price(self, work: PlannedWork, by: int) -> Shift:
        """Bound the cost of starting a work at least one step earlier (-1) or later (1)."""
        stage = self._situation(work) if by < 0 else work.start
        hard = self._forbidden(work, by)
        if hard is not None:
            return Shift(stage, False, cause=hard, searched=True)
        case = self._case(work, stage)
        limit = self._limit(work, by)
        if not is_possible(_shift(case.problem, limit), stage, case.state):
            return Shift(stage, False)
        try:
            return self._cost(case, limit)
        except _StoppedError:
            return Shift(stage, True)

    def _situation(self, work: PlannedWork) -> int:
        """The last step before a work's start in which its contractor was idle."""
        first = self._course.stage
        for stage in range(work.start - 1, first, -1):
            if self._course.actions[stage - first][work.contractor] == "wait":
                return stage
        return first

    def _before(self, work: PlannedWork) -> str | None:
        """The contractor's other work in the step before a start."""
        return next(
            (
                each.task
                for each in self._course.works
                if each.contractor == work.contractor and each.start < work.start <= each.end
            ),
            None,
        )

    def _limit(self, work: PlannedWork, by: int) -> Limit:
        if by < 0:
            return Limit(work.contractor, work.task, latest=work.start - 1)
        return Limit(work.contractor, work.task, earliest=work.start + 1)

    def _forbidden(self, work: PlannedWork, by: int) -> Cause | None:
        """What forbids the other start directly, without any search."""
        name = f"{work.contractor}/{work.task}"
        task = _task(self._problem, work)
        first, last = task.window or (0, self._problem.horizon - 1)
        if by > 0:
            if work.start >= min(last, self._problem.horizon - 1):
                return Cause("window" if last < self._problem.horizon - 1 else "end", (name,))
            return None
        if work.start == self._course.stage:
            return Cause("begin", (name,))
        if work.start <= first:
            return Cause("window", (name,))
        begun = self._course.states[0][work.contractor]
        if begun.doing is not None and self._course.stage + begun.remaining >= work.start:
            return Cause("under_way", (f"{work.contractor}/{begun.doing}",))
        return None

    def _cost(self, case: _Case, limit: Limit) -> Shift:
        """The cost of a limit from a situation on."""
        free = self._solve(case, None)
        bound = self._solve(case, limit)
        low = max(0.0, free[0] - bound[1])
        high = max(low, free[1] - bound[0])
        scale = max(1.0, abs(free[0]), abs(bound[0]))
        if high <= 2 * SAME * scale:
            low = high = 0.0
        return Shift(case.stage, True, low, high, scale=scale)

    def _solve(self, case: _Case, limit: Limit | None) -> _Bounds:
        """Bounds on the best value from a situation on."""
        key = (case.problem, case.stage, tuple(sorted(case.state.items(), key=repr)), limit)
        try:
            return self._known[key]
        except KeyError:
            pass
        if self._is_over():
            self._stopped = True
            raise _StoppedError
        left = None
        if self._time_limit is not None:
            left = max(1e-3, self._time_limit - (now() - self._begin))
        try:
            result = solve(
                _shift(case.problem, limit),
                options=CoreOptions(prefer="any", work_limit=max(1e-6, self._work_left)),
                stage=case.stage,
                state=dict(case.state),
                time_limit=left,
                callback=self._listen,
            )
        except LimitError:
            self._stopped = True
            raise _StoppedError from None
        self._work_left -= result.statistics.others.get("work", 0.0)
        if result.status is not Status.OPTIMAL:
            self._stopped = True
        bounds = (result.lower_bound, result.upper_bound)
        self._known[key] = bounds
        return bounds

    def _listen(self, progress: Progress) -> bool:
        if self._callback is not None and self._callback(progress) is True:
            self._asked_to_stop = True
        return self._asked_to_stop

    def _is_over(self) -> bool:
        timed_out = self._time_limit is not None and now() - self._begin >= self._time_limit
        return timed_out or self._work_left <= 0 or self._asked_to_stop

    # -- situations ------------------------------------------------------------------------------

    def _case(self, work: PlannedWork, stage: int) -> _Case:
        """The problem from a step of the planned course on, for the contractors that matter.

        Works that are done do not matter any more, nor do rules with them.
        """
        named: Mapping[str, ContractorState] = self._course.states[stage - self._course.stage]
        left = {}
        for contractor in self._problem.contractors:
            done = named[contractor.name].done
            tasks = tuple(task for task in contractor.tasks if task.name not in done)
            left[contractor.name] = Contractor(contractor.name, tasks)
        names = {f"{name}/{task.name}" for name, each in left.items() for task in each.tasks}
        rules = [rule for rule in self._problem.network if names.issuperset(rule.tasks)]
        members = _connected(work.contractor, rules)
        return _Case(
            replace(
                self._problem,
                contractors=tuple(each for name, each in left.items() if name in members),
                network=tuple(rule for rule in rules if _owner(rule.tasks[0]) in members),
            ),
            stage,
            {
                name: ContractorState((), named[name].doing, named[name].remaining)
                for name in left
                if name in members
            },
        )

    # -- causes ----------------------------------------------------------------------------------

    def _explain(self, work: PlannedWork, by: int, shift: Shift) -> Shift:
        """Find the cause of a cost, or of an impossible start."""
        if shift.searched or shift.free:
            return replace(shift, searched=True)
        case, limit = self._case(work, shift.from_step), self._limit(work, by)
        if not shift.possible:
            return replace(shift, cause=self._obstacle(case, limit, work), searched=True)
        if shift.low <= 2 * SAME * shift.scale:
            return shift  # perhaps it costs nothing
        best: Cause | None = None
        try:
            for k, (kind, names, lifted) in enumerate(_lifts(case, work)):
                if k == MOST_CAUSES:
                    break
                left = self._cost(lifted, limit).high
                if left <= 2 * SAME * shift.scale:
                    return replace(shift, cause=Cause(kind, names, 0.0), searched=True)
                known = shift.low if best is None or best.left is None else best.left
                if left < known - 2 * SAME * shift.scale:
                    best = Cause(kind, names, left)
        except _StoppedError:
            return replace(shift, cause=best)
        return replace(shift, cause=best, searched=True)

    def _obstacle(self, case: _Case, limit: Limit, work: PlannedWork) -> Cause:
        """What makes a start impossible: without it the start would be possible."""
        for kind, names, lifted in _lifts(case, work):
            if kind in ("window", "delay", "work", "closed") and is_possible(
                _shift(lifted.problem, limit), case.stage, lifted.state
            ):
                return Cause(kind, names)
        return Cause("must_complete", ())


# -- removing one thing ----------------------------------------------------------------------------


def _lifts(case: _Case, work: PlannedWork) -> Iterator[tuple[str, tuple[str, ...], _Case]]:
    """Everything that may hold a work, each with the problem without it; the nearest first."""
    problem = case.problem
    own = f"{work.contractor}/{work.task}"
    tasks = {
        f"{contractor.name}/{task.name}": task
        for contractor in problem.contractors
        for task in contractor.tasks
    }
    mine = [name for name in tasks if _owner(name) == work.contractor and name != own]
    partners = {name for rule in problem.network if own in rule.tasks for name in rule.tasks}

    def without_rules(works: frozenset[str]) -> _Case:
        kept = tuple(rule for rule in problem.network if frozenset(rule.tasks) != works)
        return replace(case, problem=replace(problem, network=kept))

    def with_task(name: str, task: Task | None) -> _Case:
        return replace(case, problem=_with_task(problem, name, task))

    def rules_of(name: str) -> Iterator[tuple[str, tuple[str, ...], _Case]]:
        # All rules for the same works count as one.
        found = {
            frozenset(rule.tasks): rule.tasks
            for rule in problem.network
            if name in rule.tasks and any(_per_step(rule.cost))
        }
        for works, names in found.items():
            yield "hindrance", tuple(names), without_rules(works)

    def parts_of(name: str) -> Iterator[tuple[str, tuple[str, ...], _Case]]:
        task = tasks[name]
        flat = _flat(task)
        if flat is not None:
            yield "price", (name,), with_task(name, flat)
        if task.window is not None:
            yield "window", (name,), with_task(name, replace(task, window=None))
        if len(task.durations) > 1:
            yield "delay", (name,), with_task(name, replace(task, delay=None))

    yield from rules_of(own)
    yield from parts_of(own)
    for closure in problem.closed:
        open_again = tuple(each for each in problem.closed if each != closure)
        without = replace(case, problem=replace(problem, closed=open_again))
        yield "closed", (closure_in_words(closure),), without
    for name in mine:
        if case.state[work.contractor].doing != tasks[name].name:
            yield "work", (name,), with_task(name, None)
    for name in mine:
        yield from parts_of(name)
    for name in mine:
        yield from (each for each in rules_of(name) if own not in each[1])
    for name in sorted(partners - {own}):
        yield from parts_of(name)


def _flat(task: Task) -> Task | None:
    """The task at the same price in all steps; None if it has that already."""
    costs = _per_step(task.cost)
    if len(set(costs)) == 1:
        return None
    return replace(task, cost=math.fsum(costs) / len(costs))


def _with_task(problem: MaintenanceProblem, name: str, task: Task | None) -> MaintenanceProblem:
    """The problem with another version of a task, or without it and its rules."""
    owner = _owner(name)
    contractors = []
    for contractor in problem.contractors:
        tasks: list[Task] = []
        for each in contractor.tasks:
            if contractor.name == owner and each.name == name[len(owner) + 1 :]:
                tasks += [] if task is None else [task]
            else:
                tasks.append(each)
        contractors.append(Contractor(contractor.name, tuple(tasks)))
    network = problem.network
    if task is None:
        network = tuple(rule for rule in network if name not in rule.tasks)
    return replace(problem, contractors=tuple(contractors), network=network)


def _shift(problem: MaintenanceProblem, limit: Limit | None) -> ShiftedProblem:
    return ShiftedProblem(**problem.parts(), limit=limit)


def _task(problem: MaintenanceProblem, work: PlannedWork) -> Task:
    tasks = problem.contractor(work.contractor).tasks
    return next(task for task in tasks if task.name == work.task)


def _owner(name: str) -> str:
    """The contractor of ``contractor/work``; neither name has a slash."""
    return name.partition("/")[0]


def _per_step(cost: Cost) -> tuple[float, ...]:
    return cost if isinstance(cost, tuple) else (cost,)


def _connected(contractor: str, rules: list[Hindrance]) -> set[str]:
    """The contractors that share rules with one, directly or through others."""
    members = {contractor}
    grown = True
    while grown:
        grown = False
        for rule in rules:
            owners = {_owner(name) for name in rule.tasks}
            if owners & members and not owners <= members:
                members |= owners
                grown = True
    return members
