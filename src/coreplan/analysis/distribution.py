"""The distribution of the return of a policy.

For small problems the distribution is exact: the computation carries pairs of a joint state and the
return so far forward. For others it simulates runs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from coreplan.analysis.simulator import simulate
from coreplan.errors import SolverError
from coreplan.policies.evaluation import Floats, Indices, Integers, Laws, Moves, rewards_by_stage
from coreplan.policies.policy import Policy
from coreplan.support.rows import distinct_rows

MOST_ROWS = 200_000
"""The most pairs of a joint state and a return; beyond, runs are simulated."""
RUNS = 100_000
"""The number of simulated runs."""
SAME = 1e-10
"""The approximate relative difference below which returns count as equal."""


@dataclass(frozen=True, eq=False)
class ReturnDistribution:
    """The possible returns of a policy with their probabilities.

    Attributes
    ----------
    values
        The possible returns (if simulated: those that occurred), ascending.
    probabilities
        Their probabilities, which add up to 1.
    runs
        The number of simulated runs; None if the distribution is exact.
    """

    values: Floats
    probabilities: Floats
    runs: int | None = None

    @property
    def exact(self) -> bool:
        """Whether the distribution is exact up to rounding, not simulated."""
        return self.runs is None

    @property
    def mean(self) -> float:
        """The expected return."""
        return float(self.values @ self.probabilities)

    @classmethod
    def of_runs(cls, returns: Floats) -> ReturnDistribution:
        """Make a distribution from simulated returns."""
        values, counts = np.unique(returns, return_counts=True)
        return cls(values, counts / len(returns), len(returns))

    def quantile(self, chance: float) -> float:
        """The smallest return that is not exceeded with at least this probability."""
        # Slightly less, because sums of probabilities are rounded.
        at = int(np.searchsorted(np.cumsum(self.probabilities), chance - 1e-9))
        return float(self.values[min(at, len(self.values) - 1)])

    def histogram(self, edges: Sequence[float] | Floats) -> Floats:
        """The probability of each bin between neighbouring edges; the last edge is included."""
        counts, _ = np.histogram(self.values, edges, weights=self.probabilities)
        return np.asarray(counts, np.float64)


def return_distribution(
    policy: Policy,
    most_rows: int = MOST_ROWS,
    runs: int = RUNS,
    seed: int = 1,
    time_limit: float | None = None,
) -> ReturnDistribution:
    """Compute the distribution of the return of a policy, or simulate it.

    Parameters
    ----------
    policy
        The policy.
    most_rows
        The most pairs of a joint state and a return for the exact computation.
    runs, seed
        The number of simulated runs otherwise, and the seed of the random numbers.
    time_limit
        Seconds after which the simulation stops and uses the runs so far.

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
    """Compute the exact distribution of the return of a policy.

    Raises
    ------
    SolverError
        If pairs of a joint state and a return are too many.
    """
    indexed = policy.indexed
    laws = Laws(indexed)
    rewards_at = rewards_by_stage(indexed)
    agents = range(len(indexed.agents))
    states = [np.array([each], np.uint32) for each in indexed.find_state(indexed.stage, None)]
    earned, weights = np.zeros(1), np.ones(1)
    for stage in range(indexed.stage, indexed.horizon):
        choices = policy.choose_many(stage, agents, states)
        moves = [Moves(laws, i, choices[i]) for i in agents]
        fan = math.prod((each.count[each.law_of].astype(float) for each in moves), start=1.0)
        if np.sum(fan) > 4 * most_rows:
            raise _too_many(stage, most_rows)
        known = len(weights)
        rows, places = _expand(moves, known)
        earned, weights = earned[rows], weights[rows]
        for each, at in zip(moves, places, strict=True):
            weights = weights * each.chance[at]
        weight = indexed.weight(stage)
        for number in rewards_at(stage):
            if number >= len(indexed.entries):
                sums = laws.aggregate(number - len(indexed.entries), moves, known)[rows]
                earned = earned + weight * sums
                continue
            entry = indexed.entries[number]
            matches = [
                _matches(laws, i, moves[i], places[i], condition) for i, condition in entry.members
            ]
            earned = earned + entry.value * weight * np.all(matches, axis=0)
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
    """Make a row for each joint outcome: its source row, and the outcome of each agent."""
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
    """For each row: whether a condition of an agent matches."""
    of_outcome = [
        condition in laws.rewards.matched(agent, transition)
        for law in moves.laws
        for transition in law.transitions
    ]
    return np.array(of_outcome)[at]


def _merge(
    states: list[Indices], earned: Floats, weights: Floats
) -> tuple[list[Indices], Floats, Floats]:
    """Merge rows with equal states and, up to rounding, equal returns."""
    scale = max(float(np.abs(earned).max()), 1e-300)
    _, number = np.unique(np.round(earned / scale / SAME), return_inverse=True)
    rows, row_of = distinct_rows([number, *states])
    sums: Floats = np.bincount(row_of, weights, len(rows)).astype(np.float64, copy=False)
    return [column[rows] for column in states], earned[rows], sums
