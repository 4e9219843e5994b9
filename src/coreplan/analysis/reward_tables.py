"""Tables of rewards for joint transitions, for fast lookups in simulations.

Entries of the same agents share a table. A table distinguishes the transitions of an agent only by
the conditions of its entries that match: these form the class of the transition. A table has a cell
for each combination of the agents' classes.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from coreplan import _core
from coreplan.model.indexed import IndexedEntry, IndexedProblem
from coreplan.model.rewards import MatchedTransitions

Indices = NDArray[np.uint32]
Floats = NDArray[np.float64]
Booleans = NDArray[np.bool_]

MOST_CELLS = 1 << 14
"""The most cells of a table; beyond, each entry has a table with two cells: earned or not."""
MOST_DISCOUNTED_CELLS = 1 << 20
"""The most cells of a table and all stages, where every stage has values of its own."""


@dataclass(frozen=True, eq=False)
class RewardTable:
    """The rewards of some entries of the same agents."""

    entries: tuple[int, ...]
    """The numbers of the entries."""
    members: tuple[int, ...]
    """The agents."""
    classes: tuple[Indices, ...]
    """For each agent and transition: its class."""
    class_count: tuple[int, ...]
    all_or_nothing: bool
    """Whether the classes are 0 and 1, and the table has just two cells."""
    matches: Booleans
    """For each entry and cell: whether the entry is earned."""
    variant_at: tuple[int, ...]
    """For each stage from the first: the row of `active`, or NOTHING; empty with a single row."""
    active: Floats
    """For each variant and entry: what the entry counts, 0 or the weight of the stage."""
    values: Floats
    """For each variant and cell: the reward."""

    def amounts(self, seen: NDArray[np.uint64], runs: int) -> Floats:
        """For each entry: its mean number of times per run, from the counts of cells.

        With a discount, each time counts as much as its stage.
        """
        per_variant = seen.reshape(len(self.active), -1).astype(np.float64)
        earned: Floats = (self.active * (per_variant @ self.matches.T)).sum(axis=0) / runs
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
    return tables


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
    matches = np.zeros((len(entries), cells), bool)
    for k in range(len(entries)):
        combined = np.ones(1, bool)
        for of_agent in matched_by:
            combined = np.logical_and.outer(combined, of_agent[k]).reshape(-1)
        matches[k] = combined
    return _with_stages(
        indexed, first, numbers, scope, classes, counts, matches, all_or_nothing=False
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
    matches = np.array([[False, True]])
    return _with_stages(
        indexed, first, [number], scope, classes, counts, matches, all_or_nothing=True
    )


def _with_stages(
    indexed: IndexedProblem,
    first: int,
    numbers: Sequence[int],
    scope: tuple[int, ...],
    classes: Sequence[Indices],
    class_count: Sequence[int],
    matches: Booleans,
    *,
    all_or_nothing: bool,
) -> RewardTable:
    """Add the rewards of each stage to a table."""
    entries = [indexed.entries[number] for number in numbers]
    variant_at, active = _variants(indexed, entries, first)
    values = np.array([entry.value for entry in entries])
    return RewardTable(
        tuple(numbers),
        scope,
        tuple(classes),
        tuple(class_count),
        all_or_nothing,
        matches,
        variant_at,
        active,
        (active * values) @ matches.astype(np.float64),
    )


def _variants(
    indexed: IndexedProblem, entries: Sequence[IndexedEntry], first: int
) -> tuple[tuple[int, ...], Floats]:
    """Find the sets of entries that count together and equally, and their stages."""
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
            table.all_or_nothing,
            number,
            table.variant_at,
            np.ascontiguousarray(table.values).reshape(-1),
        )


def scopes_of(tables: Sequence[RewardTable]) -> list[tuple[int, ...]]:
    """The different sets of agents that tables look at, in their order."""
    return [scope for scope, _ in itertools.groupby(table.members for table in tables)]
