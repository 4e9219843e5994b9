"""Rewards for sums over agents as entries, for algorithms that know nothing else.

Every function of a sum of amounts is a sum of products: for a set of agents and an amount of each,
the product of "this agent adds this amount" over the set, times a value. The value of a set is the
difference of the function that only the whole set makes: f(sum of all), less the values of all its
subsets. Where amounts do not influence each other's worth, the values of larger sets are 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from coreplan.errors import SolverError
from coreplan.model.indexed import (
    IndexedAgent,
    IndexedAggregate,
    IndexedCondition,
    IndexedEntry,
    IndexedProblem,
)
from coreplan.support.checks import found

MOST_ENTRIES = 5_000
"""The most entries that one aggregate may become."""
KIND = "sum"
"""The kind of these entries."""
EQUAL = 2.0**-49
"""Differences of values up to this part of the largest one are rounding."""

Differences = tuple[tuple[tuple[int, int], ...], NDArray[np.float64]]
"""Members of an entry, and its value for each sum of what all others add."""
Ways = Sequence[tuple[int, int]]
"""The conditions by which an agent adds something: pairs of units and the condition's number."""


def sums_as_entries(indexed: IndexedProblem, what: str) -> IndexedProblem:
    """Describe all aggregates by entries that earn the same.

    Parameters
    ----------
    indexed
        The problem.
    what
        What needs entries, for the message if there would be too many.

    Raises
    ------
    SolverError
        If an aggregate would become more than `MOST_ENTRIES` entries.
    """
    if not indexed.aggregates:
        return indexed
    agents = [replace(agent, conditions=list(agent.conditions)) for agent in indexed.agents]
    entries = list(indexed.entries)
    for aggregate in indexed.aggregates:
        ways: list[tuple[int, Ways]] = []
        for i, agent in enumerate(agents):
            own = [(condition, units) for k, condition, units in aggregate.amounts if k == i]
            if own:
                ways.append((i, _ways_of(agent, own)))
        entries += _entries_of(indexed, aggregate, ways, what)
    return replace(indexed, agents=agents, entries=entries, aggregates=[])


def _ways_of(agent: IndexedAgent, amounts: Sequence[tuple[int, int]]) -> Ways:
    """Add conditions to an agent that match where it adds each amount above 0."""
    units: NDArray[np.int64] = np.zeros((len(agent.states), len(agent.actions)), np.int64)
    for number, more in amounts:
        condition = agent.conditions[number]
        states = range(len(agent.states)) if condition.states is None else condition.states
        actions = range(len(agent.actions)) if condition.actions is None else condition.actions
        if len(states) and len(actions):
            units[np.ix_(sorted({*states}), sorted({*actions}))] += more
    rows, row_of = np.unique(units, axis=0, return_inverse=True)
    row_of = row_of.reshape(-1)
    ways = []
    for number, row in enumerate(rows):
        states = np.flatnonzero(row_of == number).tolist()
        for amount in np.unique(row[row > 0]).tolist():
            ways.append((amount, len(agent.conditions)))
            agent.conditions.append(
                IndexedCondition(states, np.flatnonzero(row == amount).tolist(), None)
            )
    return ways


def _entries_of(
    indexed: IndexedProblem,
    aggregate: IndexedAggregate,
    ways: Sequence[tuple[int, Ways]],
    what: str,
) -> list[IndexedEntry]:
    values = np.array(aggregate.values, np.float64)
    largest = float(np.abs(values).max())

    def refuse() -> SolverError:
        name = indexed.functions[aggregate.function]
        return SolverError(
            f"the aggregate {found(name)} has more than {MOST_ENTRIES:,} combinations of amounts "
            f"that matter, and {what} needs an entry for each. Use algorithm 'core' or 'dp', which "
            "add up the amounts instead"
        )

    # For each set of agents so far, the differences that it makes, by the sum of all others.
    sets: list[Differences] = [((), values)]
    for agent, own in ways:
        wider: list[Differences] = []
        for members, before in sets:
            for amount, condition in own:
                made = before[amount:] - before[: max(0, len(before) - amount)]
                made[np.abs(made) <= EQUAL * 2.0 ** len(members) * largest] = 0.0
                if made.any():
                    wider.append(((*members, (agent, condition)), made))
        sets += wider
        if len(sets) > MOST_ENTRIES:
            raise refuse()
    return [
        IndexedEntry(members, float(made[0]), aggregate.stages, aggregate.function, KIND)
        for members, made in sets
        if made[0] != 0
    ]
