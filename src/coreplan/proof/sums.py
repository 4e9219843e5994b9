"""Rewards for sums over agents: what each agent adds, and what a sum is worth at given prices.

Of several clusters, one owns an aggregate. What the other clusters' agents add to the sum has a
price for each unit: they earn it, and the owner pays it for as many of their units as suit it best.
Under any plan the prices cancel, and the owner could buy exactly what is added. The clusters' least
costs therefore add up to at most the costs of the whole, whatever the prices are.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from coreplan.errors import SolverError
from coreplan.model.indexed import IndexedAggregate, IndexedProblem
from coreplan.model.rewards import added_units

Integers = NDArray[np.int64]
Numbers = NDArray[np.float64]
Flags = NDArray[np.bool_]

LINEAR = 4 * 2.0**-52
"""Tables that differ by no more than this part of their largest value from a multiple of the sum
are sums of own rewards."""


@dataclass(frozen=True)
class SumMember:
    """An agent that may add something to a sum."""

    agent: int
    amounts: tuple[tuple[int, int], ...]
    """Pairs of a condition's number and the units that the agent adds where it matches. A choice
    matches one of the conditions at most, always or never."""


@dataclass(frozen=True, eq=False)
class SumReward:
    """An aggregate at one stage, at which it is more than a sum of own rewards."""

    number: int
    """Its position among the problem's aggregates."""
    members: tuple[SumMember, ...]
    values: Numbers
    """By the sum; nothing for a sum of 0."""

    @cached_property
    def size(self) -> float:
        """The largest absolute value."""
        return float(np.abs(self.values).max())

    def times(self, factor: float) -> SumReward:
        """The same with all values times a factor of at least 0."""
        return self if factor == 1 else replace(self, values=self.values * factor)

    def amounts_of(self, agent: int) -> tuple[tuple[int, int], ...]:
        """What an agent may add: conditions and units."""
        return next((m.amounts for m in self.members if m.agent == agent), ())

    def most(self, agent: int, best: Numbers) -> int:
        """The most units that an agent adds, given the best probability of each condition."""
        return max((units for k, units in self.amounts_of(agent) if best[k] > 0), default=0)

    def units(self, agent: int, factors: Numbers) -> Integers:
        """The units that each choice (or group) adds, given its probabilities of conditions."""
        total = np.zeros(len(factors), np.int64)
        for k, units in self.amounts_of(agent):
            total[factors[:, k] > 0] = units
        return total


@dataclass(frozen=True, eq=False)
class Aggregate:
    """What agents add to a sum, and what it earns beyond the reward for a sum of 0."""

    number: int
    members: tuple[SumMember, ...]
    values: Numbers
    stages: frozenset[int] | None


class Sums:
    """The aggregates of a problem, and what agents add to them.

    Attributes
    ----------
    columns
        For each agent: which choices match its additional conditions, one for each amount. They are
        numbered after the agent's own conditions.
    aggregates
        All of them, with what is earned beyond the reward for a sum of 0.
    constant, constant_size, constants
        What is earned for sums of 0: in all, its size, and the number of terms.
    """

    def __init__(self, indexed: IndexedProblem) -> None:
        self.columns: list[list[Flags]] = [[] for _ in indexed.agents]
        self.aggregates: list[Aggregate] = []
        self.constant = self.constant_size = 0.0
        self.constants = 0
        for number, each in enumerate(indexed.aggregates):
            self._add(indexed, number, each)

    def _add(self, indexed: IndexedProblem, number: int, aggregate: IndexedAggregate) -> None:
        members, most = [], 0
        for i, units in added_units(aggregate.amounts, indexed.agents).items():
            agent = indexed.agents[i]
            amounts = []
            for amount in np.unique(units[units > 0]).tolist():
                amounts.append((len(agent.conditions) + len(self.columns[i]), amount))
                self.columns[i].append(units == amount)
            members.append(SumMember(i, tuple(amounts)))
            most += amounts[-1][1]
        if most >= len(aggregate.values):
            raise SolverError(
                f"aggregate {number} has no value for a sum of {most} steps, which can come up"
            )
        values = np.array(aggregate.values[: most + 1], np.float64)
        stages = None if aggregate.stages is None else frozenset(aggregate.stages)
        counting = [
            t for t in range(indexed.stage, indexed.horizon) if stages is None or t in stages
        ]
        count = math.fsum(map(indexed.weight, counting))
        self.constant += float(values[0]) * count
        self.constant_size += abs(float(values[0])) * count
        self.constants += len(counting)
        self.aggregates.append(Aggregate(number, tuple(members), values - values[0], stages))

    def at(self, stage: int) -> list[SumReward]:
        """The aggregates that count at a stage."""
        return [
            SumReward(each.number, each.members, each.values)
            for each in self.aggregates
            if each.stages is None or stage in each.stages
        ]


def is_linear(values: Numbers) -> bool:
    """Whether every unit of a sum is worth the same, up to rounding."""
    if len(values) < 3:
        return True
    gaps = np.abs(values - np.arange(len(values)) * values[1])
    return bool(gaps.max() <= LINEAR * np.abs(values).max())


@dataclass(frozen=True)
class Role:
    """The role of a cluster in an aggregate, for a group of agents."""

    number: int
    """The aggregate's number."""
    owns: bool
    agents: tuple[int, ...]
    """Of an owner: the agents of other clusters that may add. Otherwise: the agents that are paid
    for their units here."""


def roles_of(
    aggregates: Sequence[Aggregate],
    clusters: Sequence[tuple[int, ...]],
    group: frozenset[int],
) -> dict[int, tuple[Role, ...]]:
    """For each cluster with a role: its roles, if only the agents of a group can add anything.

    The owner is the first cluster with most of the group's members. Every other member is paid in
    the first cluster that contains it.
    """
    roles: dict[int, list[Role]] = {}
    for each in aggregates:
        members = [m.agent for m in each.members if m.agent in group]
        if not members:
            continue
        counts = [sum(i in cluster for i in members) for cluster in clusters]
        owner = counts.index(max(counts))
        outside = [i for i in members if i not in clusters[owner]]
        roles.setdefault(owner, []).append(Role(each.number, True, tuple(outside)))
        paid: dict[int, list[int]] = {}
        for i in outside:
            payer = next(k for k, cluster in enumerate(clusters) if i in cluster)
            paid.setdefault(payer, []).append(i)
        for payer, agents in paid.items():
            roles.setdefault(payer, []).append(Role(each.number, False, tuple(agents)))
    return {k: tuple(each) for k, each in roles.items()}


def worth_of_sums(values: Numbers, price: float, mine: int, others: int) -> Numbers:
    """What sums of the owner's agents are worth to it, from 0 to `mine`.

    The other agents add as many units, from 0 to `others`, as suit the owner best; it pays their
    price.
    """
    units = np.arange(mine + others + 1)
    best = values[: mine + others + 1] - price * units
    # The largest value of each window of others + 1 numbers, by windows of powers of two.
    width = 1
    while 2 * width <= others + 1:
        best = np.maximum(best[:-width], best[width:])
        width *= 2
    rest = others + 1 - width
    best = np.maximum(best[: mine + 1], best[rest : rest + mine + 1])
    worth: Numbers = best + price * units[: mine + 1]
    return worth
