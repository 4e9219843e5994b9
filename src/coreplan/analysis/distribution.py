"""How much a policy may earn: not only what is expected, but all that can come of it.

Where few enough things can happen the distribution is exact: joint states are carried forward
together with what has been earned so far. Elsewhere runs are simulated.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from coreplan.analysis.simulator import simulate
from coreplan.errors import SolverError
from coreplan.policies.evaluation import Floats, Indices, Integers, Laws, Moves, entries_by_stage
from coreplan.policies.policy import Policy
from coreplan.support.rows import distinct_rows

MOST_ROWS = 200_000
"""Pairs of a joint state and what has been earned, beyond which runs are simulated."""
RUNS = 100_000
"""How many runs are simulated then."""
SAME = 1e-10
"""Returns count as the same if they differ by no more than about this, relative to the largest."""


@dataclass(frozen=True, eq=False)
class ReturnDistribution:
    """What a policy may earn, and how likely that is.

    Attributes
    ----------
    values
        The returns that are possible (simulated: that came about), ascending.
    probabilities
        How likely they are; they add up to 1.
    runs
        How many runs were simulated; None if the distribution is exact.
    """

    values: Floats
    probabilities: Floats
    runs: int | None = None

    @property
    def exact(self) -> bool:
        """Whether it is exact up to rounding, not simulated."""
        return self.runs is None

    @property
    def mean(self) -> float:
        """The expected return."""
        return float(self.values @ self.probabilities)

    @classmethod
    def of_runs(cls, returns: Floats) -> ReturnDistribution:
        """The distribution of simulated returns."""
        values, counts = np.unique(returns, return_counts=True)
        return cls(values, counts / len(returns), len(returns))

    def quantile(self, chance: float) -> float:
        """The smallest return such that it or less is earned with this chance at least."""
        # A little less: sums of chances are rounded.
        at = int(np.searchsorted(np.cumsum(self.probabilities), chance - 1e-9))
        return float(self.values[min(at, len(self.values) - 1)])

    def histogram(self, edges: Sequence[float] | Floats) -> Floats:
        """How likely returns are between neighbouring edges; the last edge belongs to its bin."""
        counts, _ = np.histogram(self.values, edges, weights=self.probabilities)
        return np.asarray(counts, np.float64)


def return_distribution(
    policy: Policy,
    most_rows: int = MOST_ROWS,
    runs: int = RUNS,
    seed: int = 1,
    time_limit: float | None = None,
) -> ReturnDistribution:
    """What a policy may earn, and how likely that is.

    Parameters
    ----------
    policy
        The policy.
    most_rows
        Up to how many pairs of a joint state and what has been earned it is computed exactly.
    runs, seed
        How many runs are simulated if there are more, and the start of the random numbers.
    time_limit
        Seconds after which the simulation stops, with the runs that there are by then.

    Examples
    --------
    >>> from coreplan import Contractor, Delay, MaintenanceProblem, Task, solve
    >>> task = Task("a1", duration=1, cost=3, revenue=20, delay=Delay(0.25, 1))
    >>> policy = solve(MaintenanceProblem((Contractor("Alpha", (task,)),), horizon=2)).policy
    >>> distribution = return_distribution(policy)
    >>> distribution.values.tolist(), distribution.probabilities.tolist()
    ([14.0, 17.0], [0.25, 0.75])
    """
    try:
        return exact_distribution(policy, most_rows)
    except SolverError:
        return ReturnDistribution.of_runs(
            simulate(policy, runs, seed, time_limit=time_limit).returns
        )


def exact_distribution(policy: Policy, most_rows: int = MOST_ROWS) -> ReturnDistribution:
    """The exact distribution of what a policy earns.

    Raises
    ------
    SolverError
        If there are too many pairs of a joint state and what has been earned.
    """
    indexed = policy.indexed
    laws = Laws(indexed)
    entries_at = entries_by_stage(indexed)
    agents = range(len(indexed.agents))
    states = [np.array([each], np.uint32) for each in indexed.find_state(indexed.stage, None)]
    earned, weights = np.zeros(1), np.ones(1)
    for stage in range(indexed.stage, indexed.horizon):
        choices = policy.choose_many(stage, agents, states)
        moves = [Moves(laws, i, choices[i]) for i in agents]
        fan = math.prod((each.count[each.law_of].astype(float) for each in moves), start=1.0)
        if np.sum(fan) > 4 * most_rows:
            raise _too_many(stage, most_rows)
        rows, places = _expand(moves, len(weights))
        earned, weights = earned[rows], weights[rows]
        for each, at in zip(moves, places, strict=True):
            weights = weights * each.chance[at]
        for number in entries_at(stage):
            entry = indexed.entries[number]
            matches = [
                _matches(laws, i, moves[i], places[i], condition) for i, condition in entry.members
            ]
            earned = earned + entry.value * np.all(matches, axis=0)
        states = [each.next[at] for each, at in zip(moves, places, strict=True)]
        if stage + 1 == indexed.horizon:
            states = []
        states, earned, weights = _merge(states, earned, weights)
        if len(weights) > most_rows:
            raise _too_many(stage, most_rows)
    order = np.argsort(earned, kind="stable")
    return ReturnDistribution(earned[order], weights[order] / weights.sum())


def _too_many(stage: int, most: int) -> SolverError:
    return SolverError(
        f"the exact distribution is out of reach: at stage {stage + 1} it has more than {most:,} "
        "pairs of a joint state and a return; simulate it instead"
    )


def _expand(moves: Sequence[Moves], length: int) -> tuple[Integers, list[Integers]]:
    """A row for each joint outcome: the row that it comes of, and per agent its outcome."""
    rows: Integers = np.arange(length)
    places: list[Integers] = []
    for each in moves:
        law = each.law_of[rows]
        count, at = each.count[law], each.begin[law]
        if count.max() > 1:
            within = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
            at = np.repeat(at, count) + within
            rows = np.repeat(rows, count)
            places = [np.repeat(known, count) for known in places]
        places.append(at)
    return rows, places


def _matches(
    laws: Laws, agent: int, moves: Moves, at: Integers, condition: int
) -> NDArray[np.bool_]:
    """Whether a condition of an agent is met, per row."""
    of_outcome = [
        condition in laws.rewards.matched(agent, transition)
        for law in moves.laws
        for transition in law.transitions
    ]
    return np.array(of_outcome)[at]


def _merge(
    states: list[Indices], earned: Floats, weights: Floats
) -> tuple[list[Indices], Floats, Floats]:
    """Make one row of rows with the same states that earned the same, up to rounding."""
    scale = max(float(np.abs(earned).max()), 1e-300)
    _, number = np.unique(np.round(earned / scale / SAME), return_inverse=True)
    rows, row_of = distinct_rows([number, *states])
    sums: Floats = np.bincount(row_of, weights, len(rows)).astype(np.float64, copy=False)
    return [column[rows] for column in states], earned[rows], sums
