"""Rewards of transitions, computed from the entries: for returns, evaluation, simulation, proofs.

No solver gets rewards from this module: C++ makes the compiled model from the description. So
everything that rests on this module, the verifier included, checks the solvers. It computes the
same in two ways, which tests compare: :class:`TransitionRewards` for single joint transitions, for
exact values and so the lower bounds of certificates; and :class:`MatchedTransitions` for all
transitions of an agent at once, for simulations and the upper bounds of certificates.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

from coreplan.model.indexed import (
    IndexedAgent,
    IndexedAggregate,
    IndexedCondition,
    IndexedEntry,
    IndexedProblem,
)

Amounts = Sequence[tuple[int, int, int]]
"""An agent's number, the number of its condition, and the units that it then adds."""


def added_units(amounts: Amounts, agents: Sequence[IndexedAgent]) -> dict[int, NDArray[np.int64]]:
    """The units that each choice of each agent adds; agents that never add anything are left out.

    Parameters
    ----------
    amounts
        The amounts of an aggregate.
    agents
        The agents of the problem.
    """
    by_agent: dict[int, list[tuple[IndexedCondition, int]]] = {}
    for agent, condition, units in amounts:
        by_agent.setdefault(agent, []).append((agents[agent].conditions[condition], units))
    added = {}
    for agent, mine in sorted(by_agent.items()):
        begin = np.array(agents[agent].choice_begin, np.int64)
        action = np.array(agents[agent].choice_action, np.int64)
        total = np.zeros(len(action), np.int64)
        for asked, units in mine:
            if asked.states is None:
                at = np.arange(len(action))
            else:
                states = np.unique(np.array(asked.states, np.int64))
                spans = [np.arange(begin[s], begin[s + 1]) for s in states]
                at = np.concatenate(spans) if spans else np.zeros(0, np.int64)
            if asked.actions is not None:
                at = at[np.isin(action[at], np.array(asked.actions, np.int64))]
            total[at] += units
        if total.any():
            added[agent] = total
    return added


def largest_sum(amounts: Amounts, agents: Sequence[IndexedAgent]) -> int:
    """The largest sum of units that can come up, whatever states the agents are in."""
    return sum(int(mine.max()) for mine in added_units(amounts, agents).values())


class TransitionRewards:
    """Finds the entries that a joint transition matches, and what aggregates have for it."""

    def __init__(self, indexed: IndexedProblem) -> None:
        self._indexed = indexed
        self._conditions = [
            [
                tuple(None if part is None else frozenset(part) for part in condition)
                for condition in agent.conditions
            ]
            for agent in indexed.agents
        ]
        self.matched = cache(self._matched)
        # Entries by their first condition, so that few candidates are tried.
        self.always: list[IndexedEntry] = []
        self._by_first: dict[tuple[int, int], list[IndexedEntry]] = {}
        for entry in indexed.entries:
            if entry.members:
                self._by_first.setdefault(entry.members[0], []).append(entry)
            else:
                self.always.append(entry)
        self._stages = {
            id(entry): frozenset(entry.stages)
            for entry in indexed.entries
            if entry.stages is not None
        }
        self._owner: list[list[int]] = []
        for agent in indexed.agents:
            owner = [0] * len(agent.choice_action)
            for state in range(len(agent.states)):
                for choice in range(agent.choice_begin[state], agent.choice_begin[state + 1]):
                    owner[choice] = state
            self._owner.append(owner)
        self._choice_of: list[list[int]] = []
        for agent in indexed.agents:
            of = [0] * len(agent.outcome_next)
            for choice in range(len(agent.choice_action)):
                for outcome in range(agent.outcome_begin[choice], agent.outcome_begin[choice + 1]):
                    of[outcome] = choice
            self._choice_of.append(of)
        self._aggregates = [
            (each, added_units(each.amounts, indexed.agents)) for each in indexed.aggregates
        ]
        self._aggregate_stages = [
            None if each.stages is None else frozenset(each.stages) for each in indexed.aggregates
        ]

    def _matched(self, agent: int, transition: int) -> frozenset[int]:
        """The numbers of an agent's conditions that a transition matches."""
        indexed = self._indexed.agents[agent]
        choice = self._choice_of[agent][transition]
        move = (
            self._owner[agent][choice],
            indexed.choice_action[choice],
            indexed.outcome_next[transition],
        )
        return frozenset(
            k
            for k, condition in enumerate(self._conditions[agent])
            if all(part is None or at in part for part, at in zip(condition, move, strict=True))
        )

    def counts_at(self, entry: IndexedEntry, stage: int) -> bool:
        """Whether an entry can be earned at a stage."""
        return entry.stages is None or stage in self._stages[id(entry)]

    def by_function(self, stage: int, transitions: Sequence[int]) -> Iterator[tuple[int, float]]:
        """(reward function, value) of every matching entry, and of every aggregate that counts.

        Values are discounted.
        """
        weight = self._indexed.weight(stage)
        for entry in self.always:
            if self.counts_at(entry, stage):
                yield entry.function, entry.value * weight
        matched = [self.matched(i, transition) for i, transition in enumerate(transitions)]
        for agent, conditions in enumerate(matched):
            for condition in sorted(conditions):
                for entry in self._by_first.get((agent, condition), ()):
                    if self.counts_at(entry, stage) and all(
                        other in matched[who] for who, other in entry.members[1:]
                    ):
                        yield entry.function, entry.value * weight
        for number in self.aggregates_at(stage):
            choices = {i: self._choice_of[i][transitions[i]] for i in self._aggregates[number][1]}
            value = self.aggregate_value(number, choices) * weight
            yield self._aggregates[number][0].function, value

    def aggregates_at(self, stage: int) -> list[int]:
        """The numbers of the aggregates that count at a stage."""
        return [
            number
            for number, stages in enumerate(self._aggregate_stages)
            if stages is None or stage in stages
        ]

    def aggregate(self, number: int) -> IndexedAggregate:
        """An aggregate by its number."""
        return self._aggregates[number][0]

    def units(self, aggregate: int) -> Mapping[int, NDArray[np.int64]]:
        """The units that the choices of agents add to an aggregate; see :func:`added_units`."""
        return self._aggregates[aggregate][1]

    def aggregate_value(self, number: int, choices: Mapping[int, int]) -> float:
        """The reward of an aggregate, at a stage at which it counts, without discount.

        Parameters
        ----------
        number
            The number of the aggregate.
        choices
            The choices of the agents that can add something; others may be given, too.
        """
        aggregate, added = self._aggregates[number]
        return aggregate.values[sum(int(mine[choices[i]]) for i, mine in added.items())]

    def total(self, stage: int, transitions: Sequence[int]) -> float:
        """The sum of all rewards of a joint transition."""
        return sum(value for _, value in self.by_function(stage, transitions))


class MatchedTransitions:
    """Tells which transitions of an agent match a condition, for all transitions at once."""

    def __init__(self, agent: IndexedAgent) -> None:
        self._agent = agent
        per_state = np.diff(agent.choice_begin)
        per_choice = np.diff(agent.outcome_begin)
        state_of = np.repeat(np.arange(len(per_state)), per_state)
        self._parts = (
            (np.repeat(state_of, per_choice), len(agent.states)),
            (np.repeat(np.array(agent.choice_action, np.int64), per_choice), len(agent.actions)),
            (np.array(agent.outcome_next, np.int64), len(agent.states)),
        )
        self._known: dict[int, NDArray[np.bool_]] = {}

    def of(self, condition: int) -> NDArray[np.bool_]:
        """A flag for each transition: whether it matches the condition; kept for the next call."""
        if condition not in self._known:
            self._known[condition] = self._match(condition)
        return self._known[condition]

    def __iter__(self) -> Iterator[NDArray[np.bool_]]:
        """The same for each condition in turn; none is remembered, as they can take much memory."""
        return map(self._match, range(len(self._agent.conditions)))

    def _match(self, condition: int) -> NDArray[np.bool_]:
        matched = np.ones(len(self._agent.outcome_next), bool)
        asked = self._agent.conditions[condition]
        for numbers, (at, size) in zip(asked, self._parts, strict=True):
            if numbers is not None:
                among = np.zeros(size, bool)
                among[np.array(numbers, np.int64)] = True
                matched &= among[at]
        return matched
