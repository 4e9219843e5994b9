"""Grouping of similar interactions: other values for entries, each close to its own value.

Entries that look at the same agents, and that one transition of an agent can match together, form
a family. In a family, at each stage, values that differ by at most a tolerance become one value, in
the middle between the smallest and the largest of them; values of at most the tolerance become 0.
Nothing here says what this can cost: :func:`coreplan.solving.simplify` does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from coreplan.model.indexed import IndexedProblem, StageValue
from coreplan.model.problem import Guard, no_limits
from coreplan.model.rewards import MatchedTransitions

Values = tuple[StageValue, ...]
"""The values of one entry by stage, 0 where it is dropped; together they cover its stages."""
Integers = NDArray[np.int64]


def group_values(
    indexed: IndexedProblem, tolerance: float, guard: Guard = no_limits
) -> list[Values]:
    """Find new values for the entries that look at several agents; other entries keep theirs.

    Parameters
    ----------
    indexed
        The problem.
    tolerance
        The largest difference of values that become one. A value changes by at most half of it, or,
        if it becomes 0, by at most all of it. With 0, nothing changes.
    guard
        Called regularly, with 0.
    """
    grouped: list[Values] = [(StageValue(each.value, each.stages),) for each in indexed.entries]
    if tolerance > 0:
        for family in _families(indexed, guard):
            for number, values in _group_family(indexed, family, tolerance).items():
                grouped[number] = values
    return grouped


# -- families of entries ---------------------------------------------------------------------------


def _families(indexed: IndexedProblem, guard: Guard) -> Iterator[list[int]]:
    """The numbers of entries that can meet in one tree of a conditional return graph."""
    used = {
        member for entry in indexed.entries if len(entry.members) > 1 for member in entry.members
    }
    matching: dict[tuple[int, int], Integers] = {}
    always: set[tuple[int, int]] = set()
    for i, agent in enumerate(indexed.agents):
        for condition, matched in enumerate(MatchedTransitions(agent)):
            guard(0)
            if (i, condition) in used:
                matching[i, condition] = np.flatnonzero(matched)
                if matched.all():
                    always.add((i, condition))
    by_scope: dict[tuple[int, ...], dict[int, list[tuple[int, int]]]] = {}
    for number, entry in enumerate(indexed.entries):
        members = [member for member in entry.members if member not in always]
        if len(members) > 1 and all(len(matching[member]) for member in members):
            scope = tuple(i for i, _ in members)
            by_scope.setdefault(scope, {})[number] = members
    for members_of in by_scope.values():
        guard(0)
        yield from _linked(indexed, members_of, matching)


def _linked(
    indexed: IndexedProblem,
    members_of: dict[int, list[tuple[int, int]]],
    matching: dict[tuple[int, int], Integers],
) -> list[list[int]]:
    """Divide entries of the same agents into families: conditions that overlap link entries."""
    leader: dict[tuple[int, int], tuple[int, int]] = {}

    def find(condition: tuple[int, int]) -> tuple[int, int]:
        while leader[condition] != condition:
            leader[condition] = leader[leader[condition]]
            condition = leader[condition]
        return condition

    for members in members_of.values():
        for member in members:
            leader.setdefault(member, member)
            leader[find(member)] = find(members[0])
    conditions = sorted(leader)
    last = {i: np.full(len(indexed.agents[i].outcome_next), -1) for i, _ in conditions}
    for k, (i, condition) in enumerate(conditions):
        transitions = matching[i, condition]
        for other in np.unique(last[i][transitions]).tolist():
            if other >= 0:
                leader[find((i, condition))] = find(conditions[other])
        last[i][transitions] = k
    families: dict[tuple[int, int], list[int]] = {}
    for number, members in members_of.items():
        families.setdefault(find(members[0]), []).append(number)
    return list(families.values())


# -- values ----------------------------------------------------------------------------------------


def _group_family(
    indexed: IndexedProblem, numbers: Sequence[int], tolerance: float
) -> dict[int, Values]:
    """The new values of the entries of a family, by their numbers."""
    entries = {number: indexed.entries[number] for number in numbers}
    always = [number for number, entry in entries.items() if entry.stages is None]
    listed: dict[int, list[int]] = {}
    for number, entry in entries.items():
        for stage in set(entry.stages or ()):
            listed.setdefault(stage, []).append(number)
    # Stages at which the same entries count; None for those that no entry lists.
    alike: dict[tuple[int, ...], list[int] | None] = {}
    for stage in sorted(listed):
        together = alike.setdefault(tuple(listed[stage]), [])
        assert together is not None
        together.append(stage)
    if always and len(listed) < indexed.horizon:
        alike[()] = None
    found: dict[int, dict[float, list[int] | None]] = {number: {} for number in numbers}
    for counted, stages in alike.items():
        active = [*always, *counted]
        value_of = group_numbers([entries[number].value for number in active], tolerance)
        for number in active:
            values = found[number]
            value = value_of[entries[number].value]
            known = values.setdefault(value, [])
            values[value] = None if stages is None or known is None else [*known, *stages]
    grouped: dict[int, Values] = {}
    for number, values in found.items():
        entry = entries[number]
        if len(values) == 1:
            grouped[number] = (StageValue(next(iter(values)), entry.stages),)
            continue
        # The stages that no entry lists, and those at which the value is the same as there.
        others = {stage for stages in values.values() for stage in stages or ()}
        rest = tuple(stage for stage in range(indexed.horizon) if stage not in others)
        grouped[number] = tuple(
            StageValue(value, rest if stages is None else tuple(sorted(stages)))
            for value, stages in values.items()
        )
    return grouped


def group_numbers(numbers: Iterable[float], tolerance: float) -> dict[float, float]:
    """Find the number that each number becomes: 0, or the middle of its group.

    Groups are made from the smallest number on, each as large as the tolerance allows.

    Examples
    --------
    >>> group_numbers([-53, -50, -51, -2, 1, 40], tolerance=2)
    {-53: -52.0, -51: -52.0, -50: -50, -2: 0.0, 1: 0.0, 40: 40}
    """
    groups: list[list[float]] = []
    result: dict[float, float] = {}
    for number in sorted(set(numbers)):
        if abs(number) <= tolerance:
            result[number] = 0.0
        elif groups and number - groups[-1][0] <= tolerance:
            groups[-1].append(number)
        else:
            groups.append([number])
    for group in groups:
        low, high = group[0], group[-1]
        for number in group:
            result[number] = low if low == high else low + (high - low) / 2
    return dict(sorted(result.items()))
