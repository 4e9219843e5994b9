"""The clusters: the costs are divided among them, and each cluster is solved exactly.

The least cost of a cluster, with its shares, is at most its cost under any plan for the whole team.
The shares add up to all costs. The sum over clusters is therefore a lower bound on the costs. One
cluster counts an aggregate; it buys units of the other clusters' agents at a price (see
:mod:`coreplan.proof.sums`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coreplan.proof.certificate import Certificate, Cluster
from coreplan.proof.classes import ClassLayer, ClassModel, RefusalError
from coreplan.proof.elimination import Needed
from coreplan.proof.local import (
    UNIT,
    Integers,
    Numbers,
    WideEntry,
    agents_looked_at,
)
from coreplan.proof.sums import Role, SumReward, roles_of, worth_of_sums

MOST_CELLS = 100_000_000
"""The default for the most joint states of a cluster at one stage."""
CELLS_AT_ONCE = 100_000

Pair = tuple[int, int]


class Relaxation:
    """All clusters of a certificate.

    Attributes
    ----------
    error
        The largest rounding error in the sum of the shares.
    values
        The least cost of each cluster.
    """

    def __init__(
        self,
        certificate: Certificate,
        models: Sequence[ClassModel],
        needed: Needed,
        most_cells: int = MOST_CELLS,
    ) -> None:
        looked_at = agents_looked_at(certificate.indexed)
        for cluster in certificate.clusters:
            _check_cluster(cluster, certificate, looked_at)
        self.models = models
        self.live = needed.live
        self.layers = len(needed.live)
        self.clusters = certificate.clusters
        self.error = sum(live.error for live in self.live)
        self.values: list[float] = []
        self._outcomes = [
            max(max(1, len(layer.laws)) for layer in model.layers) for model in models
        ]
        self._owners: dict[int, int] = {}
        for k, each in enumerate(self.clusters):
            for e in each.wide:
                self._owners.setdefault(e, k)
        self.charges = self._charge()
        charged = {i for i, _ in self.charges}
        charged |= {m.agent for live in self.live for e in live.sums for m in e.members}
        self._prices = _read_prices(certificate, self.layers)
        numbers = {e.number for live in self.live for e in live.sums}
        self._sums = [each for each in needed.sums if each.number in numbers]
        self.last = {i: k for k, each in enumerate(self.clusters) for i in each.agents}
        alone = sorted(charged - self.last.keys())
        self.all_clusters = [*self.clusters, *(Cluster((i,), (None,)) for i in alone)]
        self.last |= {i: len(self.clusters) + k for k, i in enumerate(alone)}
        self.last_pair = {
            (i, j): k
            for k, each in enumerate(self.clusters)
            for i in each.agents
            for j in each.agents
            if i < j
        }
        for cluster in self.all_clusters:
            self.check_size(cluster.agents, most_cells)
        self.everyone = tuple(range(len(models)))
        self._best = [[m.layers[t].factors.max(axis=0) for m in models] for t in range(self.layers)]

    def check_size(self, agents: Sequence[int], most_cells: int) -> None:
        """Refuse a cluster that is too large to solve."""
        for t in range(self.layers):
            cells = 1
            for i in agents:
                layer = self.models[i].layers[t]
                cells *= max(layer.groups, layer.classes)
            if cells > most_cells:
                raise RefusalError(
                    f"a cluster of {len(agents)} agents is too large: it has {cells:,} joint "
                    f"after-states at one stage, more than {most_cells:,}"
                )

    # -- gains that no cluster counts -------------------------------------------------------------

    def _charge(self) -> dict[tuple[int, int], Numbers]:
        """For each agent and layer: gains that no cluster counts, if the others do their best."""
        inside = {
            (i, j) for each in self.clusters for i in each.agents for j in each.agents if i < j
        }
        charges: dict[tuple[int, int], Numbers] = {}
        for t, live in enumerate(self.live):
            best = [model.layers[t].factors.max(axis=0) for model in self.models]
            for (i, j), each in live.pairs.items():
                if (i, j) in inside:
                    continue
                for first, second, value in zip(each.first, each.second, each.value, strict=True):
                    if value > 0:
                        chance = float(best[j][second])
                        self._add_charge(charges, i, t, int(first), -value * chance)
            for e in live.wide:
                if e.value <= 0 or self._owner(e) is not None:
                    continue
                (i, condition), *others = e.members
                chance = float(np.prod([best[j][k] for j, k in others]))
                self._add_charge(charges, i, t, condition, -e.value * chance)
        return charges

    def _owner(self, entry: WideEntry) -> int | None:
        """The cluster that counts an interaction, because it lists one of its entries."""
        return next((self._owners[e] for e in entry.numbers if e in self._owners), None)

    def _add_charge(
        self,
        charges: dict[tuple[int, int], Numbers],
        agent: int,
        t: int,
        condition: int,
        value: float,
    ) -> None:
        layer = self.models[agent].layers[t]
        costs = charges.setdefault((agent, t), np.zeros(len(layer.loss)))
        reached = layer.group_of >= 0
        costs[reached] += value * layer.factors[layer.group_of[reached], condition]
        self.error += (len(self.models) + 8) * UNIT * abs(value)

    # -- shares -----------------------------------------------------------------------------------

    def _share(self, k: int, cluster: Cluster, place: int) -> list[Numbers]:
        """The shares of a cluster in the losses of an agent."""
        agent = cluster.agents[place]
        shares = []
        for t, layer in enumerate(self.models[agent].layers):
            here = slice(layer.first_action, layer.first_action + len(layer.loss))
            if self.last[agent] != k:
                given = cluster.shares[place]
                shares.append(np.zeros(len(layer.loss)) if given is None else given[here])
                continue
            rest = layer.loss.copy()
            if (agent, t) in self.charges:
                rest += self.charges[agent, t]
            size = np.abs(rest)
            for other in self.clusters[:k]:
                if agent not in other.agents:
                    continue
                given = other.shares[other.agents.index(agent)]
                if given is not None:
                    rest -= given[here]
                    size += np.abs(given[here])
            terms = len(self.clusters) + 2
            self.error += terms * UNIT * float(size.max(initial=0.0))
            shares.append(rest)
        return shares

    def _pair_costs(self, k: int, cluster: Cluster, pair: Pair) -> list[Numbers | None]:
        """For each layer: the cluster's share of two agents' interaction costs, or None."""
        if self.last_pair[pair] != k:
            return self._given_pair(cluster, pair)
        costs = [self.true_pair(t, pair) for t in range(self.layers)]
        for other in self.clusters[:k]:
            for t, given in enumerate(self._given_pair(other, pair)):
                if given is None:
                    continue
                here = costs[t]
                size = float(np.abs(given).max(initial=0.0))
                if here is None:
                    costs[t] = -given
                else:
                    size += float(np.abs(here).max(initial=0.0))
                    costs[t] = here - given
                self.error += 2 * UNIT * size
        return costs

    def true_pair(self, t: int, pair: Pair) -> Numbers | None:
        """The expected cost of two agents' interactions, for each pair of groups."""
        each = self.live[t].pairs.get(pair)
        if each is None:
            return None
        first, second = (self.models[i].layers[t].factors for i in pair)
        operations = len(each.value) + sum(self._outcomes[i] for i in pair) + 8
        self.error += operations * UNIT * float(np.abs(each.value).sum())
        costs: Numbers = -(first[:, each.first] * each.value) @ second[:, each.second].T
        return costs

    def _given_pair(self, cluster: Cluster, pair: Pair) -> list[Numbers | None]:
        """The certificate's shares of a pair's costs, for each pair of groups."""
        costs: list[Numbers | None] = [None] * self.layers
        for share in cluster.pairs:
            if share.agents != pair:
                continue
            order = np.argsort(share.layer, kind="stable")
            cut = np.searchsorted(share.layer[order], np.arange(self.layers + 1))
            for t in range(self.layers):
                here = order[cut[t] : cut[t + 1]]
                if len(here) == 0:
                    continue
                sides = []
                for i, numbers in zip(
                    pair, (share.after_first[here], share.after_second[here]), strict=True
                ):
                    names, groups = np.unique(self.models[i].layers[t].after, return_inverse=True)
                    at = np.minimum(np.searchsorted(names, numbers), len(names) - 1)
                    # Shares of actions that cannot be reached do not matter.
                    sides.append((at, names[at] == numbers, groups, len(names)))
                (first, known, own, n), (second, known_too, other, m) = sides
                known &= known_too
                table = np.zeros((n, m))
                np.add.at(table, (first[known], second[known]), share.value[here][known])
                costs[t] = table[np.ix_(own, other)]
        return costs

    def _wide_costs(
        self, owned: Sequence[WideEntry], agents: Sequence[int], t: int
    ) -> tuple[Numbers | None, float]:
        """The costs of interactions of three or more agents, and their size."""
        if not owned:
            return None, 0.0
        size = sum(abs(e.value) for e in owned)
        operations = len(owned) + sum(self._outcomes[i] + 2 for i in agents) + 8
        self.error += operations * UNIT * size
        product = np.array([[-e.value for e in owned]])
        last = np.ones((0, 0))
        for place, i in enumerate(agents):
            factors = self.models[i].layers[t].factors
            columns = np.ones((len(factors), len(owned)))
            for column, e in enumerate(owned):
                condition = dict(e.members).get(i)
                if condition is not None:
                    columns[:, column] = factors[:, condition]
            if place == len(agents) - 1:
                last = columns
            else:
                product = (product[:, None, :] * columns[None, :, :]).reshape(-1, len(owned))
        costs: Numbers = product @ last.T
        return costs, size

    # -- solving ----------------------------------------------------------------------------------

    def solve(self) -> tuple[float, float]:
        """A lower bound on losses and interaction costs, and its largest rounding error."""
        size, error = 0.0, 0.0
        self.values = []
        roles = self.roles(self.everyone)
        for k, cluster in enumerate(self.all_clusters):
            table = self.table(k, cluster.agents, roles.get(k, ()))
            for t in range(self.layers - 1, -1, -1):
                table.advance(t)
            value = float(table.value.flat[0])
            self.values.append(value)
            size += abs(value)
            error += table.error
        total = sum(self.values)
        return total, error + self.error + (len(self.all_clusters) + 2) * UNIT * size

    def roles(self, group: tuple[int, ...]) -> dict[int, tuple[Role, ...]]:
        """The clusters' roles in aggregates, if only the agents of a group can add anything."""
        if not self._sums:
            return {}
        return roles_of(self._sums, [each.agents for each in self.all_clusters], frozenset(group))

    def table(self, k: int, agents: tuple[int, ...], roles: tuple[Role, ...]) -> Table:
        """Prepare backward induction for some agents of a cluster, with the cluster's shares."""
        cluster = self.all_clusters[k]
        own = [self._share(k, cluster, cluster.agents.index(i)) for i in agents]
        self._pay_units(agents, roles, own)
        pairs = {
            (a, b): self._pair_costs(k, cluster, (agents[a], agents[b]))
            for a in range(len(agents))
            for b in range(a + 1, len(agents))
        }

        def costs(t: int) -> Costs:
            here = {places: each[t] for places, each in pairs.items()}
            owned = [e for e in self.wide_among(t, agents) if self._owner(e) == k]
            return Costs(
                [each[t] for each in own],
                {places: each for places, each in here.items() if each is not None},
                *self._wide_costs(owned, agents, t),
                [self._owned_sum(each, role, agents, t) for each, role in self._owned(roles, t)],
            )

        return Table([self.models[i].layers for i in agents], costs)

    # -- aggregates -------------------------------------------------------------------------------

    def _price(self, number: int, t: int) -> float:
        prices = self._prices.get(number)
        return 0.0 if prices is None else float(prices[t])

    def units(self, each: SumReward, agent: int, t: int) -> Integers:
        """The units that each group of an agent adds."""
        return each.units(agent, self.models[agent].layers[t].factors)

    def _most(self, each: SumReward, agents: Sequence[int], t: int) -> int:
        return sum(each.most(i, self._best[t][i]) for i in agents)

    def _pay_units(
        self, agents: tuple[int, ...], roles: tuple[Role, ...], own: list[list[Numbers]]
    ) -> None:
        """Subtract what agents earn for their units from their costs."""
        for role in roles:
            if role.owns:
                continue
            for t, live in enumerate(self.live):
                price = self._price(role.number, t)
                each = next((e for e in live.sums if e.number == role.number), None)
                if each is None or price == 0:
                    continue
                for i in role.agents:
                    layer = self.models[i].layers[t]
                    reached = layer.group_of >= 0
                    earned = np.zeros(len(layer.loss))
                    earned[reached] = price * self.units(each, i, t)[layer.group_of[reached]]
                    costs = own[agents.index(i)]
                    costs[t] = costs[t] - earned
                    self.error += 4 * UNIT * float(np.abs(earned).max(initial=0.0))

    def _owned(self, roles: tuple[Role, ...], t: int) -> list[tuple[SumReward, Role]]:
        owned = {role.number: role for role in roles if role.owns}
        return [(e, owned[e.number]) for e in self.live[t].sums if e.number in owned]

    def _owned_sum(self, each: SumReward, role: Role, agents: tuple[int, ...], t: int) -> SumCosts:
        """The costs of a sum for its owner, if the agents outside add what suits it."""
        mine, others = self._most(each, agents, t), self._most(each, role.agents, t)
        price = self._price(each.number, t)
        worth = worth_of_sums(each.values, price, mine, others)
        self.error += 4 * UNIT * (each.size + abs(price) * (mine + others))
        return SumCosts([self.units(each, i, t) for i in agents], -worth)

    def sums_among(self, t: int, agents: tuple[int, ...]) -> list[SumCosts]:
        """The costs of aggregates of some agents, while nobody else adds anything."""
        found = []
        for each in self.live[t].sums:
            most = self._most(each, agents, t)
            if most:
                units = [self.units(each, i, t) for i in agents]
                found.append(SumCosts(units, -each.values[: most + 1]))
        return found

    def exact_table(self, agents: tuple[int, ...]) -> Table:
        """Prepare backward induction for some agents with all their losses and costs."""

        def costs(t: int) -> Costs:
            true = {
                (a, b): self.true_pair(t, (agents[a], agents[b]))
                for a in range(len(agents))
                for b in range(a + 1, len(agents))
            }
            return Costs(
                [self.models[i].layers[t].loss for i in agents],
                {places: each for places, each in true.items() if each is not None},
                *self._wide_costs(self.wide_among(t, agents), agents, t),
                self.sums_among(t, agents),
            )

        return Table([self.models[i].layers for i in agents], costs)

    def wide_among(self, t: int, agents: Sequence[int]) -> list[WideEntry]:
        """The interactions of three or more agents whose members are all in a set."""
        return [e for e in self.live[t].wide if {i for i, _ in e.members} <= {*agents}]


@dataclass(frozen=True, eq=False)
class Costs:
    """The costs of some agents at one stage."""

    own: list[Numbers]
    """The cost of each class action, for each agent."""
    pairs: dict[Pair, Numbers]
    """By the places of two agents: the cost for each pair of groups."""
    wide: Numbers | None
    wide_size: float
    sums: list[SumCosts]


@dataclass(frozen=True, eq=False)
class SumCosts:
    """The costs of an aggregate for some agents at one stage."""

    units: list[Integers]
    """For each agent: the units that each of its groups adds."""
    costs: Numbers
    """By the sum of units."""

    @property
    def size(self) -> float:
        """The largest absolute cost."""
        return float(np.abs(self.costs).max())

    def joint(self) -> Numbers:
        """The cost for each combination of groups; agents that add nothing have a single one."""
        total = np.zeros((1,) * len(self.units), np.int64)
        for place, units in enumerate(self.units):
            if units.any():
                total = total + _column(units, place, len(self.units))
        joint: Numbers = self.costs[total]
        return joint


class Table:
    """The joint least costs of some agents, by joint class, computed backwards.

    Attributes
    ----------
    value
        The least cost of each joint class of the current layer.
    largest
        The largest absolute value of any layer so far.
    error
        The largest rounding error of the values.
    """

    def __init__(
        self, layers: Sequence[Sequence[ClassLayer]], costs: Callable[[int], Costs]
    ) -> None:
        self._layers = layers
        self._costs = costs
        self.value: Numbers = np.zeros((1,) * len(layers))
        self._size = 0.0
        self.largest = 0.0
        self.error = 0.0

    def advance(self, t: int) -> None:
        """Go back from layer t + 1 to t: expectation and choice, one agent at a time."""
        layers = [each[t] for each in self._layers]
        costs = self._costs(t)
        size = self._size + costs.wide_size
        size += sum(float(np.abs(x).max(initial=0.0)) for x in (*costs.pairs.values(), *costs.own))
        size += sum(each.size for each in costs.sums)
        operations = 4 + sum(len(layer.laws) + 6 for layer in layers) + 2 * len(costs.pairs)
        operations += len(costs.sums)
        self.error += operations * UNIT * size
        self.value = _step(self.value, layers, costs)
        self._size = max(-float(self.value.min()), float(self.value.max()))
        self.largest = max(self.largest, self._size)


def _step(value: Numbers, layers: Sequence[ClassLayer], costs: Costs) -> Numbers:
    """Compute the values of a layer's joint classes from those of the next layer.

    The groups of the first agent are processed in portions, so that tables stay in the cache.
    """
    first, *others = layers
    dimensions = len(layers)
    cells = 1
    for layer in others:
        cells *= max(layer.groups, layer.classes)
    step = max(1, CELLS_AT_ONCE // cells)
    done = np.empty((first.groups, *(layer.classes for layer in others)))
    wide, shares = costs.wide, costs.own
    if wide is not None:
        wide = wide.reshape([layer.groups for layer in layers])
    for begin in range(0, first.groups, step):
        part = slice(begin, min(begin + step, first.groups))
        laws = [(into[part], chance[part]) for into, chance in first.laws if len(into) > begin]
        table = _expect(value, laws, 0) if laws else np.repeat(value, part.stop - begin, axis=0)
        for place, layer in enumerate(others, 1):
            if layer.laws:
                table = _expect(table, layer.laws, place)
            else:
                table = np.repeat(table, layer.groups, axis=place)
        for (a, b), pair in costs.pairs.items():
            here = pair[part] if a == 0 else pair
            shape = [1] * dimensions
            shape[a], shape[b] = here.shape
            table += here.reshape(shape)
        if wide is not None:
            table += wide[part]
        for each in costs.sums:
            own, *rest = each.units
            table += SumCosts([own[part], *rest], each.costs).joint()
        for place in range(dimensions - 1, 0, -1):
            table = _choose(table, layers[place].choices, shares[place], place)
        done[part] = table
    return _choose(done, first.choices, shares[0], 0)


def _read_prices(certificate: Certificate, layers: int) -> dict[int, Numbers]:
    """The prices by the numbers of aggregates, checked as the bound relies on them."""
    prices = certificate.prices
    count = len(certificate.indexed.aggregates)
    sound = len(prices) in (0, count) and all(
        each is None or (len(each) == layers and bool(np.all(np.isfinite(each)))) for each in prices
    )
    if not sound:
        raise RefusalError("the prices of aggregates are inconsistent")
    return {number: each for number, each in enumerate(prices) if each is not None}


def _check_cluster(
    cluster: Cluster, certificate: Certificate, looked_at: Sequence[frozenset[int]]
) -> None:
    """Check what the bound relies on; for files, the reader has checked it already."""
    agents = cluster.agents
    sizes = {i: int(each.action_begin[-1]) for i, each in enumerate(certificate.agents)}
    sound = (
        len(agents) > 0
        and all(a < b for a, b in pairwise(agents))
        and all(i in sizes for i in agents)
        and len(cluster.shares) == len(agents)
        and all(
            given is None or len(given) == sizes[i]
            for i, given in zip(agents, cluster.shares, strict=True)
        )
        and all(p.agents[0] < p.agents[1] and {*p.agents} <= {*agents} for p in cluster.pairs)
        and all(looked_at[e] <= {*agents} for e in cluster.wide)
    )
    if not sound:
        raise RefusalError(f"the cluster of the agents {agents} is inconsistent")


def _at(place: int, index: slice) -> tuple[slice, ...]:
    return (*(slice(None),) * place, index)


def _column(values: NDArray[Any], place: int, dimensions: int) -> NDArray[Any]:
    shape = [1] * dimensions
    shape[place] = len(values)
    return values.reshape(shape)


def _expect(table: Numbers, laws: list[tuple[Integers, Numbers]], place: int) -> Numbers:
    """Take expectations for one agent: from classes of the next layer to groups."""
    (into, chance), *more = laws
    result: Numbers = np.take(table, into, axis=place)
    if np.any(chance != 1):
        result *= _column(chance, place, table.ndim)
    for into, chance in more:
        part = np.take(table, into, axis=place)
        part *= _column(chance, place, table.ndim)
        result[_at(place, slice(0, len(into)))] += part
    return result


def _choose(
    table: Numbers, choices: list[tuple[Integers, Integers]], share: Numbers, place: int
) -> Numbers:
    """Choose the cheapest actions of one agent: from groups to classes."""
    (groups, actions), *more = choices
    result: Numbers = np.take(table, groups, axis=place)
    result += _column(share[actions], place, table.ndim)
    for groups, actions in more:
        part = np.take(table, groups, axis=place)
        part += _column(share[actions], place, table.ndim)
        head = result[_at(place, slice(0, len(groups)))]
        np.minimum(head, part, out=head)
    return result
