"""The records of a search: joint classes of groups, with bounds improved by one step of search.

The clusters give a lower bound on the costs of a group of agents from a joint class on: each
cluster with agents of the group, restricted to them, with its shares. A *record* of the certificate
gives a better bound: the least value, over the joint actions of the group, of the immediate cost
plus the expected bound of the next joint classes. In these, some agents may not interact any more.
They then form several groups, whose costs add up.

Records are computed backwards, so that each can use later ones. The numbers of the certificate are
compared with the computed ones and used for nothing else.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from coreplan.proof.certificate import MOST_COMBINATIONS, Search
from coreplan.proof.classes import ClassModel, RefusalError
from coreplan.proof.couplings import Agents, Couplings
from coreplan.proof.local import UNIT, Flags, Integers, Numbers
from coreplan.proof.relaxation import Relaxation, SumCosts, Table
from coreplan.proof.sums import Role

Key = tuple[bytes, ...]
TableKey = tuple[int, Agents, tuple[Role, ...]]
CELLS_AT_ONCE = 1_000_000
MOST_CODE = 2**62


@dataclass(frozen=True, eq=False)
class SearchBound:
    """The bound that the records prove.

    Attributes
    ----------
    paid
        A lower bound on losses and interaction costs of the whole problem.
    error
        The largest rounding error of the bound.
    records
        The number of records, including those whose classes are never reached, which are skipped.
    wrong
        The number of records that claim more than they prove, by more than the tolerance.
    worst
        The worst of these records, as text.
    shown
        For each group and record, in the order of the certificate: the proven number; minus
        infinity for records whose classes are never reached.
    """

    paid: float
    error: float
    records: int
    wrong: int
    worst: str
    shown: list[Numbers]


@dataclass(frozen=True, eq=False)
class _Local:
    """The actions of one agent in a class."""

    groups: Integers
    loss: Numbers
    """For each group: the least loss of its actions."""
    into: Integers
    """Classes of the next layer that the agent can reach, ascending."""
    law: Numbers
    """The probability of each class of `into`, for each group."""
    key: bytes
    """A key that identifies `into`."""
    largest: float
    """The largest absolute loss."""


class _Found:
    """Numbers for joint classes of one group at one layer."""

    def __init__(self, rows: Integers, values: Numbers) -> None:
        """Take different rows, one class per agent, and a value for each."""
        self._steps: list[tuple[Integers, int]] = []
        code = np.zeros(len(rows), np.int64)
        for column in rows.T:
            size = int(column.max()) + 1
            known, code = np.unique(code * size + column, return_inverse=True)
            self._steps.append((known, size))
        self._values = np.empty(len(rows))
        self._values[code] = values

    def look_up(self, rows: Integers) -> Numbers:
        """Look up the number of each row; minus infinity if missing."""
        code = np.zeros(len(rows), np.int64)
        for (known, size), column in zip(self._steps, rows.T, strict=True):
            wanted = np.where((code >= 0) & (column < size), code * size + column, -1)
            at = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
            code = np.where(known[at] == wanted, at, -1)
        found: Numbers = np.where(code >= 0, self._values[code], -np.inf)
        return found


@dataclass(frozen=True, eq=False)
class _Batch:
    """Some records of one group at one layer, and the joint classes that follow."""

    records: list[tuple[int, list[_Local], Key]]
    """For each record: its position, the actions of each agent, and the key of its outcomes."""
    rows: Integers
    """The different joint classes of the next layer that they reach."""
    places: dict[Key, Integers]
    """By key, for each combination of outcomes: the number of its row."""


class RecordCheck:
    """Computes all records of a certificate."""

    def __init__(
        self,
        search: Search,
        models: Sequence[ClassModel],
        relaxation: Relaxation,
        most_cells: int,
        tolerance: float,
    ) -> None:
        _check_search(search, len(models), relaxation.layers)
        self._models = models
        self._relaxation = relaxation
        self._layers = relaxation.layers
        self._most_cells = most_cells
        self._tolerance = tolerance
        self._solved = [{*each} for each in search.solved]
        self.records = sum(len(each.layer) for each in search.groups)
        self._components = self._find_components(search)
        agents = {i for component in self._components for i in component}
        self._couplings = Couplings(models, relaxation.live, agents, most_cells)
        self._forced = {i: self._find_forced(i) for i in agents}
        self._locals: dict[tuple[int, int], _Local] = {}
        self._now: dict[tuple[int, int], Numbers | None] = {}
        self._found: dict[Agents, _Found] = {}
        self._tables: dict[TableKey, Table] = {}
        """Tables by cluster, agents and the cluster's roles in aggregates; the cluster is -1 for
        tables without shares."""
        self._known_keys: dict[Agents, list[TableKey]] = {}
        self._wrong, self._worst = 0, (0.0, "")
        self._rows: list[dict[Agents, Integers]] = [{} for _ in range(self._layers)]
        self._implied: list[dict[Agents, Integers]] = [{} for _ in range(self._layers)]
        """Rows without records that have only one outcome."""
        self._claims: list[dict[Agents, Numbers]] = [{} for _ in range(self._layers)]
        self._shown = [np.full(len(each.layer), -np.inf) for each in search.groups]
        self._places: list[list[tuple[int, Agents, Integers, Integers]]] = [
            [] for _ in range(self._layers)
        ]
        """For each layer: the group's position, its agents, and its records' positions and rows."""
        for g, each in enumerate(search.groups):
            layer, classes = each.layer.astype(np.int64), each.classes.astype(np.int64)
            self._take(g, each.agents, layer, classes, each.least)

    # -- records and components -------------------------------------------------------------------

    def _find_components(self, search: Search) -> list[Agents]:
        """Find sets of agents that clusters or interactions link, if they have records."""
        relaxation = self._relaxation
        links = {cluster.agents for cluster in relaxation.all_clusters}
        for each in relaxation.live:
            links |= {*each.pairs, *(tuple(i for i, _ in e.members) for e in each.wide)}
            links |= {tuple(m.agent for m in e.members) for e in each.sums}
        sets = [*(each.agents for each in search.groups), *(x for x in search.solved if x)]
        links |= {*sets}
        leader = list(range(len(self._models)))

        def find(i: int) -> int:
            while leader[i] != i:
                leader[i] = leader[leader[i]]
                i = leader[i]
            return i

        for link in links:
            for i in link[1:]:
                one, other = sorted((find(link[0]), find(i)))
                leader[other] = one
        searched = {find(each[0]) for each in sets}
        return [
            tuple(i for i in range(len(leader)) if find(i) == first) for first in sorted(searched)
        ]

    def _find_forced(self, agent: int) -> list[Flags]:
        """For each layer and class: whether it has only one action with one outcome."""
        forced = []
        for layer in self._models[agent].layers:
            here = np.ones(layer.classes, dtype=bool)
            if len(layer.choices) > 1:
                here[: len(layer.choices[1][0])] = False
            if len(layer.laws) > 1:
                here &= layer.choices[0][0] >= len(layer.laws[1][0])
            forced.append(here)
        return forced

    def _take(
        self, g: int, agents: Agents, layers: Integers, classes: Integers, least: Numbers
    ) -> None:
        """Sort records by layer, with the verifier's numbers of classes."""
        for t in np.unique(layers):
            here = np.flatnonzero(layers == t)
            rows = np.empty((len(here), len(agents)), np.int64)
            for place, i in enumerate(agents):
                numbers = self._models[i].layers[t].numbers
                order = np.argsort(numbers)
                wanted = classes[here, place]
                at = np.minimum(np.searchsorted(numbers[order], wanted), len(numbers) - 1)
                rows[:, place] = np.where(numbers[order][at] == wanted, order[at], -1)
            reached = (rows >= 0).all(axis=1)
            if not reached.any():
                continue
            rows, claims = rows[reached], least[here[reached]]
            self._places[t].append((g, agents, here[reached], rows))
            if agents in self._rows[t]:
                rows = np.concatenate([rows, self._rows[t][agents]])
                claims = np.concatenate([claims, self._claims[t][agents]])
            rows, which = np.unique(rows, axis=0, return_inverse=True)
            most = np.full(len(rows), -np.inf)
            np.maximum.at(most, which.reshape(-1), claims)
            self._rows[t][agents], self._claims[t][agents] = rows, most

    def _local(self, agent: int, t: int, number: int) -> _Local:
        key = (agent, number)
        known = self._locals.get(key)
        if known is not None:
            return known
        layer = self._models[agent].layers[t]
        least: dict[int, float] = {}
        for groups, actions in layer.choices:
            if number >= len(groups):
                break
            group = int(groups[number])
            least[group] = min(float(layer.loss[actions[number]]), least.get(group, math.inf))
        groups = np.array(list(least), dtype=np.int64)
        outcomes = [
            (g, int(into[group]), float(chance[group]))
            for into, chance in layer.laws
            for g, group in enumerate(groups)
            if group < len(into)
        ]
        into = np.unique(np.array([each[1] for each in outcomes], np.int64))
        law = np.zeros((len(groups), len(into)))
        for g, following, chance in outcomes:
            law[g, np.searchsorted(into, following)] += chance
        loss = np.array(list(least.values()))
        known = _Local(groups, loss, into, law, into.tobytes(), float(np.abs(loss).max()))
        self._locals[key] = known
        return known

    # -- forward: the joint classes that are needed -----------------------------------------------

    def _look_ahead(self) -> set[Agents]:
        """Find the groups after records; follow rows with only one outcome."""
        needed: set[Agents] = set()
        found: list[dict[Agents, list[Integers]]] = [{} for _ in range(self._layers + 1)]
        for component in self._components:
            start = np.zeros((1, len(component)), np.int64)
            self._arrive(component, 0, start, needed, found[0])
        for t in range(self._layers):
            self._locals.clear()
            for group, parts in found[t].items():
                implied = np.unique(np.concatenate(parts), axis=0)
                listed = self._rows[t].get(group)
                if listed is not None:
                    implied = implied[_Found(listed, np.zeros(len(listed))).look_up(implied) < 0]
                if len(implied):
                    self._implied[t][group] = implied
            if t + 1 == self._layers:
                break
            for group, rows in self._rows[t].items():
                for batch in self._batches(group, t, rows):
                    self._arrive(group, t + 1, batch.rows, needed, found[t + 1])
            for group, rows in self._implied[t].items():
                following = self._go_on(group, t, rows)[0]
                self._arrive(group, t + 1, following, needed, found[t + 1])
        return needed

    def _batches(self, group: Agents, t: int, rows: Integers) -> Iterator[_Batch]:
        """All records of a group at a layer, in portions."""
        records: list[tuple[int, list[_Local], Key]] = []
        keys: dict[Key, list[_Local]] = {}
        cells = 0
        for r, row in enumerate(rows):
            local = [self._local(i, t, int(c)) for i, c in zip(group, row, strict=True)]
            key = tuple(each.key for each in local)
            if key not in keys:
                count = math.prod(max(len(x.groups), len(x.into)) for x in local)
                if count > MOST_COMBINATIONS:
                    raise RefusalError(
                        f"a record of {len(group)} agents is too large: it has {count:,} "
                        f"combinations of actions or outcomes, more than {MOST_COMBINATIONS:,}"
                    )
                if records and cells + count > CELLS_AT_ONCE:
                    yield from _make_batches(records, keys)
                    records, keys, cells = [], {}, 0
                keys[key] = local
                cells += count
            records.append((r, local, key))
        if records:
            yield from _make_batches(records, keys)

    def _go_on(self, group: Agents, t: int, rows: Integers) -> tuple[Integers, Integers, Numbers]:
        """For rows with one outcome: next classes, groups, and probabilities (1 up to rounding)."""
        following, groups = np.empty_like(rows), np.empty_like(rows)
        chances = np.ones(len(rows))
        for place, i in enumerate(group):
            layer = self._models[i].layers[t]
            groups[:, place] = layer.choices[0][0][rows[:, place]]
            if layer.laws:
                into, chance = layer.laws[0]
                following[:, place] = into[groups[:, place]]
                chances *= chance[groups[:, place]]
        return following, groups, chances

    def _arrive(
        self,
        group: Agents,
        t: int,
        rows: Integers,
        needed: set[Agents],
        found: dict[Agents, list[Integers]],
    ) -> None:
        for partition, at in self._couplings.split(group, t, rows):
            for part in partition:
                needed.add(part)
                if self._is_solved(part):
                    continue
                here = rows[at][:, [group.index(i) for i in part]]
                forced = np.ones(len(here), dtype=bool)
                for place, i in enumerate(part):
                    forced &= self._forced[i][t][here[:, place]]
                if forced.any():
                    found.setdefault(part, []).append(np.unique(here[forced], axis=0))

    def _is_solved(self, group: Agents) -> bool:
        return len(group) == 1 or any({*group} <= each for each in self._solved)

    # -- backward: the costs ----------------------------------------------------------------------

    def solve(self) -> SearchBound:
        """Compute all records, and the bound for the whole problem."""
        relaxation = self._relaxation
        groups = self._look_ahead()
        for group in groups:
            for key in self._keys(group):
                if key not in self._tables:
                    self._tables[key] = self._make_table(*key)
        rounding = 0.0
        for t in range(self._layers - 1, -1, -1):
            self._locals.clear()
            self._now.clear()
            following: dict[Agents, _Found] = {}
            worst = 0.0
            for group in {**self._rows[t], **self._implied[t]}:
                parts = []
                if group in self._rows[t]:
                    rows = self._rows[t][group]
                    values, off = self._pay(group, t, rows)
                    self._compare(group, t, values)
                    parts.append((rows, values))
                    worst = max(worst, off / len(group))
                if group in self._implied[t]:
                    rows = self._implied[t][group]
                    values, off = self._pay_on(group, t, rows)
                    parts.append((rows, values))
                    worst = max(worst, off / len(group))
                following[group] = _Found(
                    np.concatenate([each[0] for each in parts]),
                    np.concatenate([each[1] for each in parts]),
                )
            for g, agents, at, rows in self._places[t]:
                self._shown[g][at] = following[agents].look_up(rows)
            rounding += worst
            for table in self._tables.values():
                table.advance(t)
            self._found = following
        tables = max((self._table_error(group) / len(group) for group in groups), default=0.0)
        total, error = 0.0, relaxation.error
        inside = {i for component in self._components for i in component}
        clusters = dict.fromkeys(self._components, 0.0)
        for cluster, value in zip(relaxation.all_clusters, relaxation.values, strict=True):
            if cluster.agents[0] not in inside:
                total += value
                continue
            component = next(each for each in clusters if cluster.agents[0] in each)
            clusters[component] += value
        for component, whole in clusters.items():
            shown, size = self._ahead(component, 0, np.zeros((1, len(component)), np.int64))
            total += max(whole, float(shown[0]))
            error += len(component) * (rounding + tables + 4 * UNIT * size)
        if not math.isfinite(total):
            raise RefusalError("the shares overflow")
        return SearchBound(total, error, self.records, self._wrong, self._worst[1], self._shown)

    def _keys(self, group: Agents) -> list[TableKey]:
        """The tables that bound a group: the exact one, or those of clusters that meet it."""
        known = self._known_keys.get(group)
        if known is None:
            known = self._known_keys[group] = self._find_keys(group)
        return known

    def _find_keys(self, group: Agents) -> list[TableKey]:
        if self._is_solved(group):
            return [(-1, group, ())]
        roles = self._relaxation.roles(group)
        cut = [
            (k, tuple(i for i in cluster.agents if i in group), roles.get(k, ()))
            for k, cluster in enumerate(self._relaxation.all_clusters)
        ]
        return [key for key in cut if key[1]]

    def _make_table(self, cluster: int, agents: Agents, roles: tuple[Role, ...]) -> Table:
        if cluster >= 0:
            return self._relaxation.table(cluster, agents, roles)
        self._relaxation.check_size(agents, self._most_cells)
        return self._relaxation.exact_table(agents)

    def _table_error(self, group: Agents) -> float:
        tables = [self._tables[key] for key in self._keys(group)]
        size = sum(table.largest for table in tables)
        return sum(table.error for table in tables) + (len(tables) + 2) * UNIT * size

    def _compare(self, group: Agents, t: int, values: Numbers) -> None:
        claims = self._claims[t].get(group)
        if claims is None:
            return
        excess = claims - values
        wrong = ~(excess <= self._tolerance)
        if wrong.any():
            self._wrong += int(wrong.sum())
            most = float(np.where(wrong, excess, -np.inf).max())
            if most > self._worst[0]:
                self._worst = (
                    most,
                    f"a record of the agents at positions {', '.join(map(str, group))}, {t} stages "
                    f"after the first, claims {most:.3g} more than it proves",
                )

    def _pay(self, group: Agents, t: int, rows: Integers) -> tuple[Numbers, float]:
        """A lower bound on a group's costs from joint classes on, and its largest error."""
        values = np.empty(len(rows))
        off = 0.0
        for batch in self._batches(group, t, rows):
            later, size = np.zeros(0), 0.0
            if t + 1 < self._layers:
                later, size = self._ahead(group, t + 1, batch.rows)
            for r, local, key in batch.records:
                table = later[batch.places[key]] if t + 1 < self._layers else None
                values[r], rounding = self._pay_one(group, t, local, table, size)
                off = max(off, rounding)
        return values, off

    def _pay_one(
        self, group: Agents, t: int, local: Sequence[_Local], table: Numbers | None, size: float
    ) -> tuple[float, float]:
        """Compute one record from the bounds of all combinations of outcomes."""
        count = len(group)
        operations = 8
        if table is None:
            table = np.zeros([len(each.groups) for each in local])
        else:
            for each in local:
                # Removes the first axis and appends the new one, for each agent in turn.
                wide = table.reshape(len(each.into), -1)
                table = (wide.T @ each.law.T).reshape(*table.shape[1:], len(each.groups))
                operations += len(each.into) + 6
        for a in range(count):
            for b in range(a + 1, count):
                costs = self._pair_now(t, (group[a], group[b]))
                if costs is None:
                    continue
                here = costs[local[a].groups[:, None], local[b].groups]
                shape = [1] * count
                shape[a], shape[b] = here.shape
                table = table + here.reshape(shape)
                size += float(np.abs(here).max())
                operations += 2
        for e in self._relaxation.wide_among(t, group):
            product = np.full((1,) * count, -e.value)
            for i, condition in e.members:
                m = group.index(i)
                factors = self._models[i].layers[t].factors[local[m].groups, condition]
                product = product * factors.reshape([-1 if x == m else 1 for x in range(count)])
            table = table + product
            size += abs(e.value)
            operations += len(e.members) + 2
        for total in self._relaxation.sums_among(t, group):
            units = [units[own.groups] for units, own in zip(total.units, local, strict=True)]
            table = table + SumCosts(units, total.costs).joint()
            size += total.size
            operations += 2
        for m, each in enumerate(local):
            table = table + each.loss.reshape([-1 if x == m else 1 for x in range(count)])
            size += each.largest
        return float(table.min()), operations * UNIT * size

    def _pay_on(self, group: Agents, t: int, rows: Integers) -> tuple[Numbers, float]:
        """Compute all rows with only one outcome at once."""
        following, groups, chances = self._go_on(group, t, rows)
        values, size = np.zeros(len(rows)), 0.0
        if t + 1 < self._layers:
            values, size = self._ahead(group, t + 1, following)
            values = values * chances
        operations = 8 + 8 * len(group)
        for place, i in enumerate(group):
            layer = self._models[i].layers[t]
            loss = layer.loss[layer.choices[0][1][rows[:, place]]]
            values = values + loss
            size += float(np.abs(loss).max())
        for a in range(len(group)):
            for b in range(a + 1, len(group)):
                costs = self._pair_now(t, (group[a], group[b]))
                if costs is not None:
                    here = costs[groups[:, a], groups[:, b]]
                    values = values + here
                    size += float(np.abs(here).max())
                    operations += 2
        for e in self._relaxation.wide_among(t, group):
            product = np.full(len(rows), -e.value)
            for i, condition in e.members:
                factors = self._models[i].layers[t].factors
                product = product * factors[groups[:, group.index(i)], condition]
            values = values + product
            size += abs(e.value)
            operations += len(e.members) + 2
        for total in self._relaxation.sums_among(t, group):
            units = sum(total.units[m][groups[:, m]] for m in range(len(group)))
            values = values + total.costs[units]
            size += total.size
            operations += 2
        return values, operations * UNIT * size

    def _pair_now(self, t: int, pair: tuple[int, int]) -> Numbers | None:
        if pair not in self._now:
            self._now[pair] = self._relaxation.true_pair(t, pair)
        return self._now[pair]

    def _ahead(self, group: Agents, t: int, rows: Integers) -> tuple[Numbers, float]:
        """For each row: a lower bound on the group's costs from there on, and its size."""
        values = np.zeros(len(rows))
        largest = 0.0
        apart = False
        for partition, at in self._couplings.split(group, t, rows):
            apart = apart or len(partition) > 1
            size = 0.0
            for part in partition:
                here = rows[at][:, [group.index(i) for i in part]]
                shown = self._bound(part, here)
                values[at] += shown
                size += float(np.abs(shown).max())
            largest = max(largest, len(partition) * size)
        if apart and group in self._found:
            # A record of agents in different groups is valid, too.
            values = np.maximum(values, self._found[group].look_up(rows))
        return values, max(largest, float(np.abs(values).max()))

    def _bound(self, group: Agents, rows: Integers) -> Numbers:
        """The lower bound of agents that belong together: from their record or the tables."""
        total = np.zeros(len(rows))
        for key in self._keys(group):
            total += self._tables[key].value[tuple(rows[:, group.index(i)] for i in key[1])]
        if group in self._found:
            total = np.maximum(total, self._found[group].look_up(rows))
        return total


def _check_search(search: Search, agents: int, layers: int) -> None:
    """Check what the bound relies on; for files, the reader has checked it already."""
    sets = [*(each.agents for each in search.groups), *search.solved]
    sound = all(
        all(a < b for a, b in pairwise(each)) and {*each} <= {*range(agents)} for each in sets
    ) and all(
        len(each.agents) > 0
        and each.classes.shape == (len(each.layer), len(each.agents))
        and len(each.least) == len(each.layer)
        and np.all(each.layer < layers)
        for each in search.groups
    )
    if not sound:
        raise RefusalError("they are inconsistent")


def _make_batches(
    records: list[tuple[int, list[_Local], Key]], keys: dict[Key, list[_Local]]
) -> Iterator[_Batch]:
    """Make one batch, or several if the numbers of joint classes would get too large."""
    count = len(records[0][1])
    radix = [len({c for x in keys.values() for c in x[m].into.tolist()}) for m in range(count)]
    if math.prod(max(1, each) for each in radix) <= MOST_CODE or len(keys) == 1:
        yield _make_batch(records, keys)
        return
    listed = list(keys)
    for half in (listed[: len(listed) // 2], listed[len(listed) // 2 :]):
        chosen = {key: keys[key] for key in half}
        yield from _make_batches([each for each in records if each[2] in chosen], chosen)


def _make_batch(
    records: list[tuple[int, list[_Local], Key]], keys: dict[Key, list[_Local]]
) -> _Batch:
    """Make a batch, and number the joint classes that its records reach."""
    count = len(records[0][1])
    used = [np.unique(np.concatenate([x[m].into for x in keys.values()])) for m in range(count)]
    codes = {}
    for key, local in keys.items():
        code = np.zeros((), np.int64)
        for each, into in zip(local, used, strict=True):
            code = code[..., None] * len(into) + np.searchsorted(into, each.into)
        codes[key] = code
    known, place = np.unique(
        np.concatenate([x.ravel() for x in codes.values()]), return_inverse=True
    )
    rows = np.empty((len(known), count), np.int64)
    rest = known
    for m in range(count - 1, -1, -1):
        if len(used[m]):
            rest, at = np.divmod(rest, len(used[m]))
            rows[:, m] = used[m][at]
    places, begin = {}, 0
    for key, code in codes.items():
        places[key] = place[begin : begin + code.size].reshape(code.shape)
        begin += code.size
    return _Batch(records, rows, places)
