"""Elimination of actions that no optimal plan needs.

Two rules are repeated until nothing changes. Let W(s) be the most that an agent pays from s on, in
losses and interactions, whatever the others do, if it plays safe.

1. If all interactions of an agent that can still happen are costs, an action that loses W(s) or
   more at once is not needed: the agent could play safe instead, while the others act as if it had
   not. The costs among the others stay the same. (The safe action itself is kept.) An aggregate is
   a cost if larger sums never earn more: without the agent it then earns at least as much, and what
   the agent adds costs at most the largest difference of two sums that far apart.
2. In a state from which an agent cannot interact any more, the same holds for any agent.

Given any plan, let every agent play safe from the moment at which the plan asks it for a dropped
action. Each agent starts this at most once, so one round of dropping costs at most the sum over
agents of the largest W(s) - loss: `excess`. Apart from rounding it is zero or less.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from coreplan.proof.local import (
    UNIT,
    Flags,
    Integers,
    Interactions,
    LocalModel,
    Numbers,
    Rewards,
)
from coreplan.proof.sums import Aggregate

DROP_TOLERANCE = 1e-10
"""An action that loses W(s) less this part of the agent's largest value is dropped, too, and the
difference is added to the error: losses that are equal may differ by rounding."""
TIE_TOLERANCE = 1e-12
MOST_ROUNDS = 10_000


@dataclass(eq=False)
class Needed:
    """The remaining actions and states of every agent.

    Attributes
    ----------
    keep
        For each agent and layer: the remaining rows (arbitrary in states that cannot be reached).
    reached
        For each agent and layer: the states that the remaining rows reach.
    best
        For each layer and agent: the largest probability of each condition.
    live
        For each layer: the interactions that can still happen.
    sums
        All aggregates.
    error
        The largest change of the optimum.
    """

    keep: list[list[Flags]]
    reached: list[list[Flags]]
    best: list[list[Numbers]]
    live: list[Interactions]
    sums: Sequence[Aggregate]
    error: float
    rounds: int
    dropped: int


def find_needed(
    agents: Sequence[LocalModel], rewards: Rewards, listed: Sequence[Sequence[Flags]]
) -> Needed:
    """Drop rows that are not needed, except for listed rows.

    Parameters
    ----------
    agents
        The agents.
    rewards
        The rewards of the problem.
    listed
        For each agent, layer and row: whether the certificate lists it.
    """
    keep = [[np.ones(len(layer.row_state), dtype=bool) for layer in a.layers] for a in agents]
    error, rounds, dropped = 0.0, 0, 0
    while True:
        rounds += 1
        needed = _look(agents, rewards, keep)
        count = 0
        for i, agent in enumerate(agents):
            number, excess = _Round(agent, i, needed, listed[i]).drop()
            count += number
            error += excess
        dropped += count
        if count == 0 or rounds == MOST_ROUNDS:
            break
    if count:
        needed = _look(agents, rewards, keep)
    needed.error, needed.rounds, needed.dropped = error, rounds, dropped
    return needed


def _look(agents: Sequence[LocalModel], rewards: Rewards, keep: list[list[Flags]]) -> Needed:
    """Find the states and interactions that the remaining rows allow."""
    reached = [_reach(agent, keep[i]) for i, agent in enumerate(agents)]
    best: list[list[Numbers]] = []
    live = []
    for t in range(len(agents[0].layers) if agents else 0):
        here = []
        for i, agent in enumerate(agents):
            layer = agent.layers[t]
            active = keep[i][t] & reached[i][t][layer.row_state]
            choices = np.unique(layer.row_choice[active])
            here.append(agent.factors[choices].max(axis=0))
        best.append(here)
        live.append(rewards.interactions(agents[0].first_stage + t).live(here))
    return Needed(keep, reached, best, live, rewards.sums.aggregates, 0.0, 0, 0)


def _reach(agent: LocalModel, keep: list[Flags]) -> list[Flags]:
    reached = [np.zeros(len(layer.states), dtype=bool) for layer in agent.layers]
    reached[0][:] = True
    for t, layer in enumerate(agent.layers[:-1]):
        active = keep[t] & reached[t][layer.row_state]
        reached[t + 1][layer.outcome_next[active[layer.outcome_row]]] = True
    return reached


class _Round:
    """One round of dropping, for one agent."""

    def __init__(
        self, agent: LocalModel, position: int, needed: Needed, listed: Sequence[Flags]
    ) -> None:
        self.agent = agent
        self.keep = needed.keep[position]
        self.reached = needed.reached[position]
        self.listed = listed
        conditions = agent.factors.shape[1]
        self.can_gain = False
        self.worst = [np.zeros(conditions) for _ in agent.layers]
        self.looked_at = [np.zeros(conditions, dtype=bool) for _ in agent.layers]
        self.most_entries = 0
        self.sum_size = 0.0
        for t, live in enumerate(needed.live):
            self.most_entries = max(self.most_entries, live.count)
            self._count(position, live, needed.best[t], self.worst[t], self.looked_at[t])
            self._count_sums(position, live, needed.best[t], self.worst[t], self.looked_at[t])

    def _count(
        self,
        position: int,
        live: Interactions,
        best: Sequence[Numbers],
        worst: Numbers,
        looked_at: Flags,
    ) -> None:
        """For each condition of the agent: the largest cost of its interactions at a stage."""
        for (i, j), each in live.pairs.items():
            if position == i:
                own, other = each.first, best[j][each.second]
            elif position == j:
                own, other = each.second, best[i][each.first]
            else:
                continue
            np.add.at(worst, own, -each.value * other)
            looked_at[own] = True
            self.can_gain |= bool(np.any(each.value > 0))
        for e in live.wide:
            members = dict(e.members)
            if position in members:
                others = [best[i][k] for i, k in e.members if i != position]
                worst[members[position]] -= e.value * float(np.prod(others))
                looked_at[members[position]] = True
                self.can_gain |= e.value > 0

    def _count_sums(
        self,
        position: int,
        live: Interactions,
        best: Sequence[Numbers],
        worst: Numbers,
        looked_at: Flags,
    ) -> None:
        """The same for sums: the largest loss of reward by what the agent adds."""
        for e in live.sums:
            if not e.most(position, best[position]):
                continue
            most = sum(e.most(m.agent, best[m.agent]) for m in e.members)
            values = e.values[: most + 1]
            self.sum_size += e.size
            self.can_gain |= bool(np.any(np.diff(values) > 0))
            for condition, units in e.amounts_of(position):
                looked_at[condition] = True
                if units <= most:
                    fall = values[: len(values) - units] - values[units:]
                    worst[condition] += max(0.0, float(fall.max()))

    def drop(self) -> tuple[int, float]:
        """Drop rows; return their number and the largest change of the optimum."""
        agent = self.agent
        scale = agent.largest_value + float(agent.largest_reward.max(initial=0.0))
        safe = np.zeros(0)  # W of the next layer
        free_next = np.zeros(0, dtype=bool)
        count, excess, rounding = 0, -np.inf, 0.0
        for t in range(len(agent.layers) - 1, -1, -1):
            layer = agent.layers[t]
            rows = np.arange(len(layer.row_state))
            touched = agent.factors @ self.looked_at[t].astype(np.float64) > 0
            free = ~touched[layer.row_choice]
            free &= (
                np.bincount(layer.outcome_row, ~free_next[layer.outcome_next], minlength=len(rows))
                == 0
            )
            free_next = np.logical_and.reduceat(free | ~self.keep[t], layer.row_begin[:-1])
            worst = np.zeros(agent.factors.shape[0])
            if not self.can_gain:
                worst = agent.factors @ self.worst[t]
            cost = layer.loss + worst[layer.row_choice] + layer.expect(safe)
            rounding += (
                (self.most_entries + agent.factors.shape[1] + agent.most_outcomes + 8)
                * UNIT
                * float(np.abs(cost).max(initial=0.0) + np.abs(safe).max(initial=0.0))
            )
            cost[~self.keep[t]] = np.inf
            safest = self._safest(t, cost, TIE_TOLERANCE * scale)
            safe = cost[safest]
            threshold = safe[layer.row_state]
            drop = self.keep[t] & ~self.listed[t] & self.reached[t][layer.row_state]
            drop &= (layer.loss >= threshold - DROP_TOLERANCE * scale) & (
                rows != safest[layer.row_state]
            )
            if self.can_gain:
                drop &= free_next[layer.row_state]
            if drop.any():
                self.keep[t] = self.keep[t] & ~drop
                count += int(drop.sum())
                excess = max(excess, float((threshold - layer.loss)[drop].max()))
        if not count:
            return 0, 0.0
        shaping = 2 * float(agent.shaping_error.sum())
        return count, max(0.0, excess) + rounding + shaping + 2 * UNIT * self.sum_size

    def _safest(self, t: int, cost: Numbers, tolerance: float) -> Integers:
        """For each state: the safe row; among equal ones a listed one."""
        layer = self.agent.layers[t]
        begin = layer.row_begin[:-1]
        least = np.minimum.reduceat(cost, begin)
        rows = np.arange(len(cost))
        nowhere = len(cost)
        near = self.listed[t] & (cost <= least[layer.row_state] + tolerance)
        wanted = np.minimum.reduceat(np.where(near, rows, nowhere), begin)
        first = np.minimum.reduceat(np.where(cost == least[layer.row_state], rows, nowhere), begin)
        return np.where(wanted < nowhere, wanted, first)
