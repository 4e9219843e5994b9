"""Finding the agents that can still interact, from the classes that they are in.

An interaction is alive if, at some stage now or later, all of its members can match it, each by its
own actions. Agents that share an interaction that is alive belong together. So do two agents that
can both add to an aggregate at some stage: all agents that add something then are in one group. All
others neither pay nor gain together, whatever they do, so their costs add up.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import combinations

import numpy as np

from coreplan.proof.classes import ClassLayer, ClassModel, RefusalError
from coreplan.proof.local import Flags, Integers, Interactions, Numbers

MOST_FLAGS = 1_000_000_000
"""The most joint classes of members of interactions, over all stages."""

Agents = tuple[int, ...]
Partition = tuple[Agents, ...]


class Couplings:
    """The interactions among some agents, and the joint classes in which they are alive."""

    def __init__(
        self,
        models: Sequence[ClassModel],
        live: Sequence[Interactions],
        agents: Iterable[int],
        most_cells: int,
    ) -> None:
        self._models = models
        self._live = live
        self._agents = {*agents}
        bonds: set[Agents] = set()
        for each in live:
            bonds |= {*each.pairs, *(tuple(i for i, _ in e.members) for e in each.wide)}
            for total in each.sums:
                bonds |= {*combinations([m.agent for m in total.members], 2)}
        self.bonds = sorted(bond for bond in bonds if {*bond} <= self._agents)
        self._kept = 0
        self._alive = {bond: self._find_alive(bond, most_cells) for bond in self.bonds}
        self._within = cache(self._find_within)

    def _find_within(self, group: Agents) -> list[Agents]:
        return [bond for bond in self.bonds if {*bond} <= {*group}]

    def _find_alive(self, bond: Agents, most_cells: int) -> list[Flags | None]:
        """For each layer: the joint classes of members in which it is alive, or None."""
        count = len(self._live)
        found: list[Flags | None] = [None] * count
        for t in range(count - 1, -1, -1):
            layers = [self._models[i].layers[t] for i in bond]
            cells = int(np.prod([float(max(x.groups, x.classes)) for x in layers]))
            if cells > most_cells or self._kept > MOST_FLAGS:
                raise RefusalError(
                    "too many joint states to find out which agents can still interact"
                )
            table = self._happens(bond, t, layers)
            later = found[t + 1] if t + 1 < count else None
            if later is not None:
                for place, layer in enumerate(layers):
                    later = _any(later, layer.laws, place)
                table = later if table is None else table | later
            if table is None:
                continue
            for place, layer in enumerate(layers):
                table = _any(table, layer.choices, place)
            if table.any():
                found[t] = table
                self._kept += table.size
        return found

    def _happens(self, bond: Agents, t: int, layers: Sequence[ClassLayer]) -> Flags | None:
        """For each joint group of members: whether one of their interactions can happen now."""
        live = self._live[t]
        if len(bond) == 2:
            pairs: Flags | None = None
            each = live.pairs.get((bond[0], bond[1]))
            if each is not None:
                first = layers[0].factors[:, each.first] > 0
                second = layers[1].factors[:, each.second] > 0
                pairs = first.astype(np.float64) @ second.T.astype(np.float64) > 0
            for total in live.sums:
                one, other = (
                    total.units(i, layer.factors) > 0 for i, layer in zip(bond, layers, strict=True)
                )
                if one.any() and other.any():
                    both: Flags = one[:, None] & other
                    pairs = both if pairs is None else pairs | both
            return pairs
        table: Flags | None = None
        for e in live.wide:
            if tuple(i for i, _ in e.members) != bond:
                continue
            here = np.ones((1,) * len(bond), dtype=bool)
            for place, (_, condition) in enumerate(e.members):
                shape = [1] * len(bond)
                shape[place] = -1
                here = here & (layers[place].factors[:, condition] > 0).reshape(shape)
            table = here if table is None else table | here
        return table

    def alive(self, bond: Agents, t: int) -> Flags | None:
        """For each joint class of the bond's agents: whether it is alive; None if it never is."""
        return self._alive[bond][t]

    def split(
        self, group: Agents, t: int, rows: Integers
    ) -> Iterator[tuple[Partition, slice | Integers]]:
        """Split the agents of each row (one class per agent): partitions, and their rows."""
        partitions: list[Partition] = [tuple((i,) for i in group)]
        mixed: list[tuple[Agents, Flags]] = []
        for bond in self._within(group):
            table = self.alive(bond, t)
            if table is None:
                continue
            here = table[tuple(rows[:, group.index(i)] for i in bond)]
            if here.all():
                partitions[0] = _join(partitions[0], bond)
            elif here.any():
                mixed.append((bond, here))
        label = np.zeros(len(rows), np.int64)
        for bond, here in mixed:
            for k in range(len(partitions)):
                joined = _join(partitions[k], bond)
                if joined == partitions[k]:
                    continue
                if joined not in partitions:
                    partitions.append(joined)
                label[(label == k) & here] = partitions.index(joined)
        if len(partitions) == 1:
            yield partitions[0], slice(None)
            return
        for k, partition in enumerate(partitions):
            at = np.flatnonzero(label == k)
            if len(at):
                yield partition, at


@cache
def _join(partition: Partition, bond: Agents) -> Partition:
    """Merge the parts that contain agents of a bond."""
    touched = [part for part in partition if not {*part}.isdisjoint(bond)]
    if len(touched) == 1:
        return partition
    joined = tuple(sorted(i for part in touched for i in part))
    return tuple(sorted([*(part for part in partition if part not in touched), joined]))


def _any(
    table: Flags,
    ways: Sequence[tuple[Integers, Numbers]] | Sequence[tuple[Integers, Integers]],
    place: int,
) -> Flags:
    """Whether a flag holds for any of an agent's outcomes or choices."""
    (into, _), *more = ways
    result: Flags = np.take(table, into, axis=place)
    for into, _ in more:
        head = result[(*(slice(None),) * place, slice(0, len(into)))]
        head |= np.take(table, into, axis=place)
    return result
