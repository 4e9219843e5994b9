"""Rules for groups of agents that can still interact; the others act on their own.

The joint state determines which agents belong together: an interaction can still happen if, at some
stage, all its agents can take part in it. For each local state the rule stores, as ranges of
stages, the conditions that the agent can still match. The rule alone therefore gives the groups of
any joint state.
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
"""Disjoint ranges of stages as pairs (first, last), in order."""


@dataclass(frozen=True, eq=False)
class Chances:
    """The conditions that one agent can still match, by class.

    Parameters
    ----------
    list_of
        The number of a list for each of the rule's classes, counted through all layers.
    list_begin
        The position in `runs` at which each list begins; at the end, the number of runs.
    runs
        Triples (condition, first stage, last stage). The rule numbers the conditions itself, as in
        its events.
    """

    list_of: Indices
    list_begin: Indices
    runs: Indices

    def ranges(self, number: int) -> dict[int, Ranges]:
        """For each condition of a list: the stages at which it can still match."""
        first, last = 3 * int(self.list_begin[number]), 3 * int(self.list_begin[number + 1])
        found: dict[int, list[tuple[int, int]]] = {}
        for condition, begin, end in self.runs[first:last].reshape(-1, 3).tolist():
            found.setdefault(condition, []).append((begin, end))
        return {condition: _join(each) for condition, each in found.items()}


@dataclass(frozen=True)
class Event:
    """An interaction of agents: pairs of agent and condition, and its stages (None means all)."""

    members: tuple[tuple[int, int], ...]
    stages: tuple[int, ...] | None


@dataclass(frozen=True, eq=False)
class GroupTable:
    """The decisions of one group of agents; rows are sorted when it is made.

    Parameters
    ----------
    agents
        The numbers of the agents, ascending.
    layers
        For each decision: its stage, counted from the first stage of the policy.
    classes
        For each decision, a row: the agents' classes within the stage.
    positions
        For each decision, a row: the positions of the agents' actions.
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
        """Find the decisions for joint classes, given by a column for each agent; -1 if missing."""
        asked = _row_keys([np.full(len(classes[0]), layer), *classes])
        at = self._keys.searchsorted(asked)
        there = at < len(self._keys)
        there[there] = self._keys[at[there]] == asked[there]
        return np.where(there, at, -1)


def _row_keys(columns: Sequence[NDArray[Any]]) -> NDArray[np.void]:
    """Turn rows into bytes that sort in the same order as the rows."""
    rows = np.stack(columns, axis=1, dtype=">u4", casting="unsafe")
    return rows.view(f"V{4 * len(columns)}").ravel()


@dataclass(frozen=True, eq=False)
class GroupRule:
    """Joint actions of groups of agents.

    Parameters
    ----------
    chances
        For each agent: the conditions that its classes can still match.
    events
        The interactions of agents.
    tables
        The decisions: one table for each group with decisions.
    reduced
        For each agent, if the rule has its own classes: the map to them. An agent whose class the
        rule does not know acts alone, and has no decision.
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
        """All agents that events or decisions name."""
        return frozenset(
            [i for event in self.events for i, _ in event.members]
            + [i for table in self.tables for i in table.agents]
        )

    @cached_property
    def components(self) -> tuple[tuple[int, ...], ...]:
        """Sets of two or more agents that events link, whatever their classes are."""
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
        """Finds the groups of agents from the conditions that they can still match."""
        return Couplings(self.chances, self.events)


class Couplings:
    """Finds groups of agents from the lists of conditions that each can still match.

    Lists have the numbers from :class:`Chances`; this class adds further lists.
    """

    def __init__(self, chances: Sequence[Chances], events: Iterable[Event]) -> None:
        self._chances = chances
        # For each agent: lists by number, and the numbers of the lists that were combined here.
        self._ranges: list[dict[int, dict[int, Ranges]]] = [{} for _ in chances]
        self._unions: list[dict[frozenset[int], int]] = [{} for _ in chances]
        # For each set of agents: events, as pairs of an agent's position and a condition, and
        # stages.
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
        """The number of an empty list."""
        return self.union(agent, frozenset())

    def union(self, agent: int, numbers: frozenset[int]) -> int:
        """The number of the union of lists."""
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
        """For each condition of an agent's list: the stages at which it can still match."""
        known = self._ranges[agent]
        if number not in known:
            known[number] = self._chances[agent].ranges(number)
        return known[number]

    def conditions_at(self, agent: int, number: int, stage: int) -> set[int]:
        """The conditions of a list that can match at a stage."""
        return {
            condition
            for condition, ranges in self.ranges(agent, number).items()
            if _common(ranges, ((stage, stage),))
        }

    def is_within(self, agent: int, number: int, other: int, stage: int) -> bool:
        """Whether a list, from a stage on, is contained in another list."""
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
        """The events of exactly these agents, in ascending order, that count at a stage.

        Each event is given by pairs of a position in the scope and a condition.
        """
        for members, stages in self._events.get(scope, ()):
            if stages is None or _common(stages, ((stage, stage),)):
                yield members

    def neighbours(self, agents: Sequence[int]) -> Integers:
        """For each pair of agents: 1 if an event names both of them, else 0."""
        place = {i: k for k, i in enumerate(agents)}
        linked = np.zeros((len(agents), len(agents)), np.int64)
        for scope in self._events:
            at = [place[i] for i in scope if i in place]
            linked[np.ix_(at, at)] = 1
        np.fill_diagonal(linked, 0)
        return linked

    def together(self, agents: Sequence[int], lists: Sequence[Integers]) -> Integers:
        """Find the groups in many situations at once.

        Parameters
        ----------
        agents
            Some agents; all others count as out of reach.
        lists
            For each agent: the number of its list in each situation.

        Returns
        -------
        array
            For each agent, a row: the position of the first agent of its group.
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
        """Whether an event of exactly these agents, with these lists, can still happen."""
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
    """Sort ranges, and merge those that touch or overlap."""
    joined: list[tuple[int, int]] = []
    for first, last in sorted(ranges):
        if joined and first <= joined[-1][1] + 1:
            joined[-1] = (joined[-1][0], max(joined[-1][1], last))
        else:
            joined.append((first, last))
    return tuple(joined)


def _common(one: Ranges, other: Ranges) -> Ranges:
    """The intersection of two lists of ranges."""
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
    """Whether some stage is in all of them."""
    common = stages
    for each in ranges:
        common = each if common is None else _common(common, each)
        if not common:
            return False
    return True
