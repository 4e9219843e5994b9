"""Tables of rewards for joint transitions, for fast lookups in simulations.

Entries of the same agents share a table. Their table distinguishes the transitions of an agent only
by the conditions of its entries that match: these form the class of the transition. It has a cell
for each combination of the agents' classes. An aggregate has a table of its own: the class of a
transition is the number of units that it adds, and there is a cell for each sum.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from coreplan import _core
from coreplan.model.indexed import IndexedAggregate, IndexedEntry, IndexedProblem
from coreplan.model.rewards import MatchedTransitions, added_units

Indices = NDArray[np.uint32]
Floats = NDArray[np.float64]
Booleans = NDArray[np.bool_]

MOST_CELLS = 1 << 14
"""The most cells of a table; beyond, each entry has a table with two cells: earned or not."""
MOST_DISCOUNTED_CELLS = 1 << 20
"""The most cells of a table and all stages, where every stage has values of its own."""


@dataclass(frozen=True, eq=False)
class RewardTable:
    """The rewards of some entries of the same agents, or of an aggregate."""

    rewards: tuple[int, ...]
    """The numbers of the entries or of the aggregate."""
    members: tuple[int, ...]
    """The agents."""
    classes: tuple[Indices, ...]
    """For each agent and transition: its class."""
    class_count: tuple[int, ...]
    kind: _core.CellKind
    """How classes make a cell: if by `all`, they are 0 and 1, and the table has just two cells."""
    worth: Floats
    """For each reward and cell: what is earned."""
    variant_at: tuple[int, ...]
    """For each stage from the first: the row of `active`, or NOTHING; empty with a single row."""
    active: Floats
    """For each variant and reward: what it counts, 0 or the weight of the stage."""
    values: Floats
    """For each variant and cell: the reward."""
    function: int | None = None
    """The reward function of an aggregate; None for entries."""

    @property
    def part(self) -> tuple[int, ...] | int:
        """The part of the return: the agents of entries, or the function of an aggregate."""
        return self.members if self.function is None else self.function

    def amounts(self, seen: NDArray[np.uint64], runs: int) -> Floats:
        """For each reward: its mean amount per run, from the counts of cells."""
        per_variant = seen.reshape(len(self.active), -1).astype(np.float64)
        earned: Floats = (self.active * (per_variant @ self.worth.T)).sum(axis=0) / runs
        return earned


def reward_tables(indexed: IndexedProblem, first: int) -> list[RewardTable]:
    """Make tables of all rewards from a stage on, those of single agents first."""
    by_scope: dict[tuple[int, ...], list[int]] = {}
    for number, entry in enumerate(indexed.entries):
        scope = tuple(sorted({i for i, _ in entry.members}))
        by_scope.setdefault(scope, []).append(number)
    matching = [MatchedTransitions(agent) for agent in indexed.agents]
    tables = []
    for scope in sorted(by_scope, key=lambda each: (len(each), each)):
        together = _table(indexed, first, scope, by_scope[scope], matching)
        if together is not None:
            tables.append(together)
            continue
        for number in by_scope[scope]:
            tables.append(_table_of_one(indexed, first, scope, number, matching))
    numbers = range(len(indexed.entries), len(indexed.rewards))
    return [*tables, *(_table_of_sum(indexed, first, number) for number in numbers)]


def _table_of_sum(indexed: IndexedProblem, first: int, number: int) -> RewardTable:
    """Make the table of an aggregate, with a cell for each sum."""
    aggregate = indexed.aggregates[number - len(indexed.entries)]
    added = added_units(aggregate.amounts, indexed.agents)
    classes, counts = [], []
    for i, units in added.items():
        outcomes = np.diff(np.array(indexed.agents[i].outcome_begin))
        classes.append(np.repeat(units, outcomes).astype(np.uint32))
        counts.append(int(units.max()) + 1)
    cells = sum(counts) - len(counts) + 1
    table = _with_stages(
        indexed,
        first,
        [number],
        tuple(added),
        classes,
        counts,
        np.array([aggregate.values[:cells]]),
        _core.CellKind.sum,
    )
    return replace(table, function=aggregate.function)


def _table(
    indexed: IndexedProblem,
    first: int,
    scope: tuple[int, ...],
    numbers: Sequence[int],
    matching: Sequence[MatchedTransitions],
) -> RewardTable | None:
    """Make one table for entries of the same agents; None if it would be too large."""
    entries = [indexed.entries[number] for number in numbers]
    classes: list[Indices] = []
    matched_by: list[list[Booleans]] = []  # for each agent and entry, by class
    cells = 1
    most = MOST_CELLS
    if indexed.discount != 1:
        most = min(most, max(2, MOST_DISCOUNTED_CELLS // indexed.horizon))
    for i in scope:
        conditions = sorted({c for entry in entries for who, c in entry.members if who == i})
        rows = np.array([matching[i].of(c) for c in conditions])
        kinds, class_of = np.unique(rows, axis=1, return_inverse=True)
        cells *= kinds.shape[1]
        if cells > most:
            return None
        classes.append(class_of.reshape(-1).astype(np.uint32))
        place = {c: k for k, c in enumerate(conditions)}
        asked = [[place[c] for who, c in entry.members if who == i] for entry in entries]
        matched_by.append([np.logical_and.reduce(kinds[at], axis=0) for at in asked])
    counts = [len(each[0]) for each in matched_by]
    worth = np.zeros((len(entries), cells))
    for k in range(len(entries)):
        combined = np.ones(1, bool)
        for of_agent in matched_by:
            combined = np.logical_and.outer(combined, of_agent[k]).reshape(-1)
        worth[k] = entries[k].value * combined
    return _with_stages(
        indexed, first, numbers, scope, classes, counts, worth, _core.CellKind.combination
    )


def _table_of_one(
    indexed: IndexedProblem,
    first: int,
    scope: tuple[int, ...],
    number: int,
    matching: Sequence[MatchedTransitions],
) -> RewardTable:
    """Make a table with two cells for one entry: earned or not."""
    classes = []
    for i in scope:
        asked = [matching[i].of(c) for who, c in indexed.entries[number].members if who == i]
        classes.append(np.all(asked, axis=0).astype(np.uint32))
    counts = [2] * len(scope)
    worth = np.array([[0.0, indexed.entries[number].value]])
    return _with_stages(indexed, first, [number], scope, classes, counts, worth, _core.CellKind.all)


def _with_stages(
    indexed: IndexedProblem,
    first: int,
    numbers: Sequence[int],
    scope: tuple[int, ...],
    classes: Sequence[Indices],
    class_count: Sequence[int],
    worth: Floats,
    kind: _core.CellKind,
) -> RewardTable:
    """Add the rewards of each stage to a table."""
    rewards = indexed.rewards
    variant_at, active = _variants(indexed, [rewards[k] for k in numbers], first)
    return RewardTable(
        tuple(numbers),
        scope,
        tuple(classes),
        tuple(class_count),
        kind,
        worth,
        variant_at,
        active,
        active @ worth,
    )


def _variants(
    indexed: IndexedProblem, entries: Sequence[IndexedEntry | IndexedAggregate], first: int
) -> tuple[tuple[int, ...], Floats]:
    """Find the sets of rewards that count together and equally, and their stages."""
    always = frozenset(k for k, entry in enumerate(entries) if entry.stages is None)
    at_stage: dict[int, set[int]] = {}
    for k, entry in enumerate(entries):
        for stage in entry.stages or ():
            at_stage.setdefault(stage, set()).add(k)
    if len(always) == len(entries) and indexed.discount == 1:
        return (), np.ones((1, len(entries)))
    variants: dict[tuple[frozenset[int], float], int] = {}
    variant_at = []
    for stage in range(first, indexed.horizon):
        counting, weight = always | at_stage.get(stage, set()), indexed.weight(stage)
        if counting and weight:
            variant_at.append(variants.setdefault((counting, weight), len(variants)))
        else:
            variant_at.append(_core.NOTHING)
    active = np.zeros((max(1, len(variants)), len(entries)))
    for (counting, weight), k in variants.items():
        active[k, sorted(counting)] = weight
    return tuple(variant_at), active


def add_tables(
    problem: _core.SimulatedProblem, tables: Sequence[RewardTable], sum_of: Sequence[int]
) -> None:
    """Pass the tables to the core, each with the sum to which it belongs."""
    for table, number in zip(tables, sum_of, strict=True):
        problem.add_table(
            table.members,
            table.classes,
            table.class_count,
            table.kind,
            number,
            table.variant_at,
            np.ascontiguousarray(table.values).reshape(-1),
        )


def parts_of(tables: Sequence[RewardTable]) -> list[tuple[int, ...] | int]:
    """The different parts of the return that tables have, in their order."""
    return list(dict.fromkeys(table.part for table in tables))
