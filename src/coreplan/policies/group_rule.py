"""Rules for groups of agents that can still interact; the others act on their own.

Which agents belong together depends on the joint state: an interaction can still happen if there is
a stage at which all its agents can take part. What each local state can still take part in is kept
as ranges of stages, so that the groups of any joint state can be found from the rule alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from coreplan.errors import ModelError
from coreplan.support.rows import Integers, distinct_rows

if TYPE_CHECKING:
    from coreplan.policies.rules import Reduced

Indices = NDArray[np.uint32]
Ranges = tuple[tuple[int, int], ...]
"""Stages as (first, last), in order, apart from each other."""


@dataclass(frozen=True, eq=False)
class Chances:
    """What one agent can still take part in, by class.

    Parameters
    ----------
    list_of
        For the rule's classes of all layers one after the other: the number of their list.
    list_begin
        Where each list begins in `runs`; one more for the end.
    runs
        Triples (condition, first stage, last stage), one after the other. Conditions have numbers
        of the rule's own, the same as in its events.
    """

    list_of: Indices
    list_begin: Indices
    runs: Indices

    def ranges(self, number: int) -> dict[int, Ranges]:
        """Per condition of a list: the stages at which it can still be matched."""
        first, last = 3 * int(self.list_begin[number]), 3 * int(self.list_begin[number + 1])
        found: dict[int, list[tuple[int, int]]] = {}
        for condition, begin, end in self.runs[first:last].reshape(-1, 3).tolist():
            found.setdefault(condition, []).append((begin, end))
        return {condition: _join(each) for condition, each in found.items()}


@dataclass(frozen=True)
class Event:
    """Something that agents can do together: (agent, condition) pairs, and when (None: always)."""

    members: tuple[tuple[int, int], ...]
    stages: tuple[int, ...] | None


@dataclass(frozen=True, eq=False)
class GroupTable:
    """The decisions of one group of agents; rows are sorted when it is made.

    Parameters
    ----------
    agents
        Their numbers, ascending.
    layers
        Per decision: its stage, counted from the policy's first.
    classes
        Per decision, a row: the agents' classes within the stage.
    positions
        Per decision, a row: the positions of the agents' actions.
    """

    agents: tuple[int, ...]
    layers: Indices
    classes: Indices
    positions: Indices
    _keys: NDArray[np.void] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        shape = (len(self.layers), len(self.agents))
        if not self.agents or list(self.agents) != sorted(set(self.agents)):
            raise ModelError("the agents of a group are not in ascending order")
        if self.classes.shape != shape or self.positions.shape != shape:
            raise ModelError("the decisions of a group are not rows with a column for each agent")
        keys = _row_keys([self.layers, *self.classes.T])
        order = np.argsort(keys)
        object.__setattr__(self, "_keys", keys[order])
        if np.any(self._keys[1:] == self._keys[:-1]):
            raise ModelError("a group has two decisions for one joint class")
        for name in ("layers", "classes", "positions"):
            object.__setattr__(self, name, getattr(self, name)[order])

    def find(self, layer: int, classes: Sequence[Indices]) -> Integers:
        """The decisions for joint classes, given by a column for each agent; -1: there is none."""
        asked = _row_keys([np.full(len(classes[0]), layer), *classes])
        at = self._keys.searchsorted(asked)
        there = at < len(self._keys)
        there[there] = self._keys[at[there]] == asked[there]
        return np.where(there, at, -1)


def _row_keys(columns: Sequence[NDArray[Any]]) -> NDArray[np.void]:
    """Each row as bytes that are in the same order as the rows."""
    rows = np.stack(columns, axis=1, dtype=">u4", casting="unsafe")
    return rows.view(f"V{4 * len(columns)}").ravel()


@dataclass(frozen=True, eq=False)
class GroupRule:
    """Joint actions of groups of agents.

    Parameters
    ----------
    chances
        Per agent: what its classes can still take part in.
    events
        What agents can do together.
    tables
        The decisions: one table for each group that has any.
    reduced
        Per agent, if the rule uses classes of its own: the way to them. An agent whose class the
        rule does not know is on its own, and there is no decision for it.
    """

    chances: tuple[Chances, ...]
    events: tuple[Event, ...]
    tables: tuple[GroupTable, ...]
    reduced: tuple[Reduced, ...] | None = None

    def __post_init__(self) -> None:
        if len(self.table_of) != len(self.tables):
            raise ModelError("a group has two tables of decisions")

    @cached_property
    def table_of(self) -> Mapping[tuple[int, ...], GroupTable]:
        """The tables by their agents."""
        return {table.agents: table for table in self.tables}

    @cached_property
    def agents(self) -> frozenset[int]:
        """The agents that the rule is about."""
        return frozenset(
            [i for event in self.events for i, _ in event.members]
            + [i for table in self.tables for i in table.agents]
        )

    @cached_property
    def components(self) -> tuple[tuple[int, ...], ...]:
        """Two or more agents each: those that events link, whatever their classes are."""
        leader = {i: i for i in self.agents}

        def find(agent: int) -> int:
            while leader[agent] != agent:
                leader[agent] = leader[leader[agent]]
                agent = leader[agent]
            return agent

        for event in self.events:
            one, *others = (i for i, _ in event.members)
            for other in others:
                leader[find(other)] = find(one)
        members: dict[int, list[int]] = {}
        for agent in sorted(leader):
            members.setdefault(find(agent), []).append(agent)
        return tuple(tuple(each) for each in members.values() if len(each) > 1)

    @cached_property
    def couplings(self) -> Couplings:
        """Who belongs together, given what all can still take part in."""
        return Couplings(self.chances, self.events)


class Couplings:
    """Who belongs together, by lists of what each can still take part in.

    Lists have the numbers that :class:`Chances` gives them; further ones are made here.
    """

    def __init__(self, chances: Sequence[Chances], events: Iterable[Event]) -> None:
        self._chances = chances
        # Per agent: lists by number, and numbers of the lists that were put together here.
        self._ranges: list[dict[int, dict[int, Ranges]]] = [{} for _ in chances]
        self._unions: list[dict[frozenset[int], int]] = [{} for _ in chances]
        # Per set of agents: events, as (position of an agent, condition) pairs and stages.
        self._events: dict[tuple[int, ...], list[tuple[list[tuple[int, int]], Ranges | None]]] = {}
        for event in events:
            scope = tuple(sorted({i for i, _ in event.members}))
            if len(scope) > 1:
                members = [(scope.index(i), condition) for i, condition in event.members]
                stages = None if event.stages is None else _join((t, t) for t in event.stages)
                self._events.setdefault(scope, []).append((members, stages))
        self._happens: dict[tuple[tuple[int, ...], tuple[int, ...]], bool] = {}

    # -- lists --------------------------------------------------------------------------------

    def nothing(self, agent: int) -> int:
        """The number of a list with nothing in it."""
        return self.union(agent, frozenset())

    def union(self, agent: int, numbers: frozenset[int]) -> int:
        """The number of a list that has what any of these lists has."""
        if len(numbers) == 1:
            return next(iter(numbers))
        known = self._unions[agent]
        if numbers not in known:
            together: dict[int, list[tuple[int, int]]] = {}
            for number in numbers:
                for condition, ranges in self.ranges(agent, number).items():
                    together.setdefault(condition, []).extend(ranges)
            known[numbers] = len(self._chances[agent].list_begin) - 1 + len(known)
            self._ranges[agent][known[numbers]] = {c: _join(each) for c, each in together.items()}
        return known[numbers]

    def ranges(self, agent: int, number: int) -> Mapping[int, Ranges]:
        """Per condition of a list: the stages at which it can still be matched."""
        known = self._ranges[agent]
        if number not in known:
            known[number] = self._chances[agent].ranges(number)
        return known[number]

    def conditions_at(self, agent: int, number: int, stage: int) -> set[int]:
        """The conditions that a list has at a stage."""
        return {
            condition
            for condition, ranges in self.ranges(agent, number).items()
            if _common(ranges, ((stage, stage),))
        }

    def is_within(self, agent: int, number: int, other: int, stage: int) -> bool:
        """Whether all that a list has from a stage on is in another list."""
        if number == other:
            return True
        allowed = self.ranges(agent, other)
        for condition, ranges in self.ranges(agent, number).items():
            ahead = tuple((max(first, stage), last) for first, last in ranges if last >= stage)
            if _common(ahead, allowed.get(condition, ())) != ahead:
                return False
        return True

    # -- groups -------------------------------------------------------------------------------

    def events_of(self, scope: tuple[int, ...], stage: int) -> Iterable[Sequence[tuple[int, int]]]:
        """What exactly these agents, ascending, can do together at a stage.

        Each as pairs of a position in the scope and a condition.
        """
        for members, stages in self._events.get(scope, ()):
            if stages is None or _common(stages, ((stage, stage),)):
                yield members

    def neighbours(self, agents: Sequence[int]) -> Integers:
        """Per pair of agents: 1 if there is an event with both of them, else 0."""
        place = {i: k for k, i in enumerate(agents)}
        linked = np.zeros((len(agents), len(agents)), np.int64)
        for scope in self._events:
            at = [place[i] for i in scope if i in place]
            linked[np.ix_(at, at)] = 1
        np.fill_diagonal(linked, 0)
        return linked

    def together(self, agents: Sequence[int], lists: Sequence[Integers]) -> Integers:
        """The groups in many situations at once.

        Parameters
        ----------
        agents
            Some agents; others are taken to be out of reach.
        lists
            For each of the agents: the number of its list, in each situation.

        Returns
        -------
        array
            For each of the agents, a row: the position of the first agent of its group.
        """
        place = {i: k for k, i in enumerate(agents)}
        links = []
        for scope in self._events:
            if not all(i in place for i in scope):
                continue
            columns = [lists[place[i]] for i in scope]
            rows, row_of = distinct_rows(columns)
            numbers = zip(*(column[rows].tolist() for column in columns), strict=True)
            happens = np.array([self._can_happen(scope, each) for each in numbers], bool)
            if happens.any():
                at = np.flatnonzero(happens[row_of])
                links.append(np.ix_(np.array([place[i] for i in scope]), at))
        first = np.repeat(np.arange(len(agents))[:, None], len(lists[0]), axis=1)
        changed = bool(links)
        while changed:
            changed = False
            for link in links:
                linked = first[link]
                least = linked.min(axis=0)
                if (linked != least).any():
                    first[link] = least
                    changed = True
            links.reverse()
        return first

    def _can_happen(self, scope: tuple[int, ...], numbers: tuple[int, ...]) -> bool:
        """Whether these agents, with these lists, can still do something together."""
        known = self._happens.get((scope, numbers))
        if known is None:
            lists = [self.ranges(i, number) for i, number in zip(scope, numbers, strict=True)]
            known = any(
                _meet(stages, [lists[k].get(condition, ()) for k, condition in members])
                for members, stages in self._events[scope]
            )
            self._happens[scope, numbers] = known
        return known


def _join(ranges: Iterable[tuple[int, int]]) -> Ranges:
    """Ranges in order; those that touch or overlap become one."""
    joined: list[tuple[int, int]] = []
    for first, last in sorted(ranges):
        if joined and first <= joined[-1][1] + 1:
            joined[-1] = (joined[-1][0], max(joined[-1][1], last))
        else:
            joined.append((first, last))
    return tuple(joined)


def _common(one: Ranges, other: Ranges) -> Ranges:
    """What two lists of ranges have in common."""
    found = []
    a = b = 0
    while a < len(one) and b < len(other):
        first, last = max(one[a][0], other[b][0]), min(one[a][1], other[b][1])
        if first <= last:
            found.append((first, last))
        if one[a][1] < other[b][1]:
            a += 1
        else:
            b += 1
    return tuple(found)


def _meet(stages: Ranges | None, ranges: Iterable[Ranges]) -> bool:
    """Whether there is a stage that is in all of them."""
    common = stages
    for each in ranges:
        common = each if common is None else _common(common, each)
        if not common:
            return False
    return True
