"""The preferred one of several optimal plans: it starts tasks as early, or as late, as possible.

Costs are often flat, and then many plans are optimal. The preferred one starts its tasks as early
(or as late) as possible: the expected sum of the stages left at each start is as large (or as
small) as possible. A task that never starts counts as if it started at the horizon.

The engine solves the problem once more, with a tiny reward for every stage that is left when a task
starts. It then checks that the reward was small enough: it takes the new plan only if the plan is
worth as much as the optimum by the problem's own rewards. The new plan is then optimal, and no
optimal plan is preferable: a preferable one would be worth more in the problem with the tiny
rewards, in which the new plan is optimal. If the new plan is worth less, the reward was too large,
and the engine tries a smaller one. The upper bound and its proof are those of the first solution.

Instead of early or late starts, a caller may want the starts of an old plan: the expected sum of
the differences between each start and the old one is then as small as possible. Plans that are
equally good in this, too, start as early as possible: once the smallest difference is known, the
engine adds a much smaller reward for early starts, and takes the new plan only if its difference is
no larger.

The optimum may be known only within a tolerance, and the new plan may be better than the first one.
The value of the new plan by the problem's own rewards comes from its evaluation or, if solving is
quicker, from another solution with rewards twice as large: a plan that is worth V, and V + g with
the tiny rewards, is then worth V + 2 g, which is at most the optimum P there. Therefore V is at
least twice (V + g) less P.
"""

from __future__ import annotations

import copy
import logging
import math
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Literal, NamedTuple

from coreplan import _core
from coreplan.errors import LimitError, SolverError
from coreplan.model.indexed import IndexedAgent, IndexedCondition, IndexedEntry, IndexedProblem
from coreplan.policies.evaluation import evaluate_policy
from coreplan.policies.policy import Policy
from coreplan.solving.compile import CompiledProblem, unroll_problem
from coreplan.solving.limits import Limits
from coreplan.support.memory import BYTES_PER_MB

logger = logging.getLogger(__name__)

Preference = Literal["early", "late", "any"]
"""Which of several optimal plans to choose."""

OldStarts = Mapping[str, Mapping[str, int]]
"""The starts of an old plan: agent → task → stage."""

SIZES = (1e-5, 1e-7)
"""Largest sum of all tiny rewards, as part of the value. Smaller ones are lost in rounding."""
KEEP_SIZES = (1e-3, *SIZES)
"""The same for the starts of an old plan, with room for the smaller rewards for early starts."""
EARLY_PARTS = (0.05, 0.001)
"""Largest sum of all rewards for early starts among plans that keep as much of an old plan, in
stages of difference."""
CLOSED = 2e-9
"""Part of the value within which bounds count as equal here: far less than one start is worth."""
SAME_STARTS = 1e-7
"""Stages of difference, for each task, that rounding may make."""
ROUNDING = 1e-12
"""Part of the value by which two evaluations of equally good plans may differ."""
ROOM = 2 / 3
"""Part of the memory limit that must be left: the problem is solved up to two more times, and the
first solution is kept meanwhile."""
MOST_JOINT_STATES = 300_000
"""Most joint states of a part of the team at a stage: evaluating more takes too long for this."""


class Attempt(NamedTuple):
    """A solution of a problem with tiny rewards."""

    lower: float
    """The value of its policy in that problem."""
    upper: float
    """An upper bound on the value of all policies."""
    quick: bool
    """Whether solving takes less time than evaluating a policy."""
    make_policy: Callable[[], Policy]
    """The policy, for the problem without the tiny rewards."""


class Preferred(NamedTuple):
    """The preferred plan, as far as it was found."""

    policy: Policy
    value: float
    """What it is worth: at least as much as the plan before."""
    gap: float
    """Stages, summed over all starts, by which another optimal plan may be better; 0 if none is."""


def preferred(
    compiled: CompiledProblem,
    prefer: Preference,
    policy: Policy,
    value: float,
    limits: Limits,
    solve: Callable[[CompiledProblem], Attempt | None],
    keep: OldStarts | None = None,
) -> Preferred | None:
    """The preferred plan among those of optimal value; None if none was found.

    Parameters
    ----------
    compiled, policy, value
        The problem, an optimal plan, and its value.
    prefer
        Which optimal plan to choose.
    limits
        Limits of the whole call; bounds found here are not reported.
    solve
        Solves a given problem, or returns None if a limit is reached.
    keep
        The starts of an old plan to stay close to, instead of `prefer`.
    """
    indexed = compiled.indexed
    tasks = sum(_task_count(each) for each in indexed.agents)
    most = (indexed.horizon - indexed.stage) * tasks
    if (prefer == "any" and keep is None) or most == 0 or not _has_room(limits):
        return None
    search = _Search(compiled, policy, value, limits, solve)
    with limits.aside("preference"):
        if keep is None:
            sign = 1.0 if prefer == "early" else -1.0
            return search.best(
                SIZES,
                most,
                lambda size: _lean(compiled, sign * size, limits),
                lambda each: sign * search.evaluate(lead_of(each)),
            )
        return _closest(search, keep, most, tasks)


def _closest(search: _Search, keep: OldStarts, most: int, tasks: int) -> Preferred | None:
    """The plan that changes least from old starts; among equal ones, one that starts early."""

    def closeness(policy: Policy) -> float:
        return search.evaluate(closeness_of(policy, keep))

    found = search.best(KEEP_SIZES, most, lambda size: search.lean_to(keep, size, 0.0), closeness)
    if found is None or found.gap > 0:
        return found
    with suppress(LimitError, SolverError, MemoryError):
        least = closeness(found.policy)
        for part in EARLY_PARTS:
            early = part / most
            again = search.best(
                KEEP_SIZES,
                most,
                lambda size, early=early: search.lean_to(keep, size, early),  # type: ignore[misc]
                closeness,
            )
            if again is None:
                break
            if closeness(again.policy) >= least - SAME_STARTS * tasks:
                return again._replace(gap=0.0)
    return found


class _Search:
    """Looks for the preferred plan by solving the problem with tiny rewards."""

    def __init__(
        self,
        compiled: CompiledProblem,
        policy: Policy,
        value: float,
        limits: Limits,
        solve: Callable[[CompiledProblem], Attempt | None],
    ) -> None:
        self._compiled = compiled
        self._policy = policy
        self._value = value
        self._limits = limits
        self._solve = solve
        self._scale = max(1.0, abs(value))

    def best(
        self,
        sizes: tuple[float, ...],
        most: int,
        lean: Callable[[float], CompiledProblem],
        lead: Callable[[Policy], float],
    ) -> Preferred | None:
        """The plan with the largest tiny rewards; None if none was found.

        Parameters
        ----------
        sizes
            Sums of all tiny rewards to try, as parts of the value.
        most
            The largest sum of all tiny rewards if the size of one is 1.
        lean
            The problem with tiny rewards of a size.
        lead
            The tiny rewards of a policy if their size is 1.
        """
        with suppress(LimitError, SolverError, MemoryError):
            for size in (part * self._scale / most for part in sizes):
                attempt = self._solve(lean(size))
                if attempt is None:
                    break
                wanted = attempt.make_policy()
                if attempt.quick:
                    double = self._solve(lean(2 * size))
                    worth = -math.inf if double is None else 2 * attempt.lower - double.upper
                    value = self._value
                else:
                    worth = self.evaluate(wanted)
                    value = max(worth, self._value)  # the plan before may fall short of the best
                if worth < self._value - ROUNDING * self._scale:
                    logger.debug(
                        "%s", f"the preferred plan is worth {self._value - worth:.4g} less"
                    )
                    continue
                gap = (attempt.upper - attempt.lower) / size
                if attempt.upper - attempt.lower <= CLOSED * self._scale:
                    return Preferred(wanted, value, 0.0)
                leads = [lead(each) for each in (self._policy, wanted)]
                if leads[1] <= leads[0]:
                    return Preferred(self._policy, self._value, gap + leads[1] - leads[0])
                return Preferred(wanted, value, gap)
        return None

    def evaluate(self, policy: Policy) -> float:
        """The exact value of a policy, within the limits."""
        return _evaluate(policy, self._limits)

    def lean_to(self, keep: OldStarts, size: float, early: float) -> CompiledProblem:
        """The problem with a reward for starts near the old ones, and one for early starts."""
        compiled, limits = self._compiled, self._limits
        indexed = _with_starts(compiled.indexed, keep, size, early, keep_entries=True)
        graphs = unroll_problem(indexed, limits)
        try:
            model = _core.compile(graphs, compiled.merged, limits.monitor)
        except _core.LimitReached as error:
            raise LimitError(*error.args) from None
        # The graphs have the same nodes: rewards do not change what can be reached.
        return replace(compiled, model=model)


def closeness_of(policy: Policy, keep: OldStarts) -> Policy:
    """The same policy in a problem that rewards starts near old ones.

    A start at stage t that was at s costs the distance of both; a task that never starts counts as
    if it started at the horizon, and that distance is added, as a constant.
    """
    leading = copy.copy(policy)
    leading.indexed = _with_starts(policy.indexed, keep, 1.0, 0.0, keep_entries=False)
    return leading


def _with_starts(
    indexed: IndexedProblem, keep: OldStarts, size: float, early: float, *, keep_entries: bool
) -> IndexedProblem:
    """A problem with a reward for each start: for its distance from the old one, and for its lead.

    Parameters
    ----------
    indexed
        The problem.
    keep
        The old starts; those of unknown agents and tasks are ignored.
    size
        The reward for a stage of difference less.
    early
        The part of it for a stage that is left at a start.
    keep_entries
        Whether the problem keeps its own rewards.
    """
    entries = list(indexed.entries) if keep_entries else []
    discount = indexed.discount if keep_entries else 1.0
    function = len(indexed.functions)
    agents = []
    for i, agent in enumerate(indexed.agents):
        conditions = list(agent.conditions)
        old = keep.get(agent.name, {})
        for task in dict.fromkeys(task for task in agent.tasks if task is not None):
            starts = [a for a, each in enumerate(agent.tasks) if each == task]
            for stage in range(indexed.stage, indexed.horizon):
                weight = discount**stage  # starts count the same at all stages
                reward = early * (indexed.horizon - stage)
                if task in old:
                    reward += abs(indexed.horizon - old[task]) - abs(stage - old[task])
                if reward and weight:
                    members = ((i, len(conditions)),)
                    value = size * reward / weight
                    entries.append(IndexedEntry(members, value, (stage,), function))
            conditions.append(IndexedCondition(None, starts, None))
        agents.append(replace(agent, conditions=conditions))
    functions = (*indexed.functions, "starts")
    return replace(
        indexed,
        agents=agents,
        entries=entries,
        functions=functions,
        aggregates=indexed.aggregates if keep_entries else [],
        discount=discount,
    )


def lead_of(policy: Policy) -> Policy:
    """The same policy in a problem that rewards the stages left at every start."""
    indexed = policy.indexed
    entries = []
    agents = []
    for i, agent in enumerate(indexed.agents):
        starts = [a for a, task in enumerate(agent.tasks) if task is not None]
        agents.append(replace(agent, conditions=[IndexedCondition(None, starts, None)]))
        entries += [
            IndexedEntry(((i, 0),), float(indexed.horizon - stage), (stage,), 0)
            for stage in range(indexed.stage, indexed.horizon)
            if starts
        ]
    leading = copy.copy(policy)
    leading.indexed = replace(
        indexed,
        agents=agents,
        entries=entries,
        functions=("lead",),
        aggregates=[],
        discount=1.0,
    )
    return leading


def _has_room(limits: Limits) -> bool:
    """Whether all that the first solution took fits into memory two more times."""
    monitor = limits.monitor
    return monitor.memory_left >= ROOM * monitor.memory_limit


def _evaluate(policy: Policy, limits: Limits) -> float:
    return evaluate_policy(
        policy,
        most=MOST_JOINT_STATES,
        time_limit=limits.seconds_left,
        memory_limit=limits.monitor.memory_left / BYTES_PER_MB,
        is_stopped=lambda: bool(limits.monitor.look()),
    )


def _lean(compiled: CompiledProblem, size: float, limits: Limits) -> CompiledProblem:
    """The problem with a reward for every stage that is left when a task starts."""
    leanings = [_leaning(agent, size) for agent in compiled.indexed.agents]
    try:
        model = _core.compile(compiled.graphs, compiled.merged, limits.monitor, leanings)
    except _core.LimitReached as error:
        raise LimitError(*error.args) from None
    return replace(compiled, model=model)


def _task_count(agent: IndexedAgent) -> int:
    return len({task for task in agent.tasks if task is not None})


def _leaning(agent: IndexedAgent, size: float) -> list[float]:
    """Per choice of an agent: the reward for every stage that is left."""
    if not agent.tasks:
        return [0.0] * len(agent.choice_action)
    by_action = [size if task is not None else 0.0 for task in agent.tasks]
    return [by_action[action] for action in agent.choice_action]
