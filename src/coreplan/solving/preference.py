"""The preferred one of several optimal plans: it starts tasks as early, or as late, as possible.

Costs are often flat, and then many plans are optimal. The preferred one starts its tasks as early
(or as late) as possible: the expected sum of the stages left at each start is as large (or as
small) as possible. A task that never starts counts as if it started at the horizon.

The engine solves the problem once more, with a tiny reward for every stage that is left when a task
starts. It then checks that the reward was small enough: it takes the new plan only if the plan is
worth as much as the optimum by the problem's own rewards. The new plan is then optimal, and no
optimal plan is preferable: a preferable one would be worth more in the problem with the tiny
rewards, in which the new plan is optimal. If the new plan is worth less, the reward was too large,
and the engine tries a smaller one. The value and its proof are those of the first solution.

The value of the new plan by the problem's own rewards comes from its evaluation or, if solving is
quicker, from another solution with rewards twice as large: a plan that is worth V, and V + g with
the tiny rewards, is then worth V + 2 g, which is at most the optimum P there. Therefore V is at
least twice (V + g) less P.
"""

from __future__ import annotations

import copy
import logging
import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Literal, NamedTuple

from coreplan import _core
from coreplan.errors import LimitError, SolverError
from coreplan.model.indexed import IndexedAgent, IndexedCondition, IndexedEntry
from coreplan.policies.evaluation import evaluate_policy
from coreplan.policies.policy import Policy
from coreplan.solving.compile import CompiledProblem
from coreplan.solving.limits import Limits
from coreplan.support.memory import BYTES_PER_MB

logger = logging.getLogger(__name__)

Preference = Literal["early", "late", "any"]
"""Which of several optimal plans to choose."""

SIZES = (1e-5, 1e-7)
"""Largest sum of all tiny rewards, as part of the value. Smaller ones are lost in rounding."""
CLOSED = 2e-9
"""Part of the value within which bounds count as equal here: far less than one start is worth."""
ROUNDING = 1e-11
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
    gap: float
    """Stages, summed over all starts, by which another optimal plan may be better; 0 if none is."""


def preferred(
    compiled: CompiledProblem,
    prefer: Preference,
    policy: Policy,
    value: float,
    limits: Limits,
    solve: Callable[[CompiledProblem], Attempt | None],
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
    """
    indexed = compiled.indexed
    most = (indexed.horizon - indexed.stage) * sum(_task_count(each) for each in indexed.agents)
    if prefer == "any" or most == 0 or not _has_room(limits):
        return None
    scale = max(1.0, abs(value))
    sign = 1.0 if prefer == "early" else -1.0
    best = None
    with limits.aside("preference"), suppress(LimitError, SolverError, MemoryError):
        for size in (part * scale / most for part in SIZES):
            attempt = solve(_lean(compiled, sign * size, limits))
            if attempt is None:
                break
            wanted = attempt.make_policy()
            if attempt.quick:
                double = solve(_lean(compiled, sign * 2 * size, limits))
                worth = -math.inf if double is None else 2 * attempt.lower - double.upper
            else:
                worth = _evaluate(wanted, limits)
            if worth < value - ROUNDING * scale:
                logger.debug("%s", f"the preferred plan is worth {value - worth:.4g} less")
                continue
            gap = (attempt.upper - attempt.lower) / size
            if attempt.upper - attempt.lower <= CLOSED * scale:
                return Preferred(wanted, 0.0)
            plans = [policy, wanted]
            leads = [sign * _evaluate(lead_of(each), limits) for each in plans]
            if leads[1] <= leads[0]:
                gap += leads[1] - leads[0]
            best = Preferred(plans[leads[1] > leads[0]], gap)
            break
    return best


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
    leading.indexed = replace(indexed, agents=agents, entries=entries, functions=("lead",))
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
