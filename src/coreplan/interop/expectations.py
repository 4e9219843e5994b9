"""Expected rewards for other tools, computed from the description of a problem.

Agents move independently. The expected reward of an entry is therefore its value times the product,
over its agents, of the probability that the agent's own move matches. The amounts that agents add
to the sum of an aggregate depend on their choices alone. This module does not use the
compiled model, so that the results of other tools can check it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from coreplan.model.indexed import IndexedEntry, IndexedProblem
from coreplan.model.rewards import MatchedTransitions, added_units

Members = tuple[tuple[int, int], ...]
"""Pairs of an agent and the number of its condition, sorted by agent."""


@dataclass
class StageValue:
    """A value that may differ from stage to stage."""

    weight: Callable[[int], float]
    """What rewards of a stage count."""
    always: float = 0.0
    extra: dict[int, float] = field(default_factory=dict)

    def add(self, entry: IndexedEntry) -> None:
        """Add the value of an entry at its stages."""
        if entry.stages is None:
            self.always += entry.value
            return
        for stage in set(entry.stages):
            self.extra[stage] = self.extra.get(stage, 0.0) + entry.value

    def at(self, stage: int) -> float:
        """Look up the value for a stage."""
        return (self.always + self.extra.get(stage, 0.0)) * self.weight(stage)

    def is_same_at(self, stages: range) -> bool:
        """Whether it is the same at all stages of a range."""
        if not self.extra:
            return self.weight(stages[0]) == self.weight(stages[-1])
        first = self.at(stages[0])
        return all(self.at(stage) == first for stage in stages)


class Sum(NamedTuple):
    """An aggregate: a reward for a sum over agents.

    Attributes
    ----------
    values
        The reward for each sum of units.
    added
        For each agent that can add something: the units that each of its choices adds.
    stages
        The stages at which the reward is earned; None means all.
    function
        The number of its reward function.
    weight
        What rewards of a stage count.
    """

    values: Sequence[float]
    added: Mapping[int, NDArray[np.int64]]
    stages: frozenset[int] | None
    function: int
    weight: Callable[[int], float]

    def weight_at(self, stage: int) -> float:
        """What the reward counts at a stage; 0 if it is not earned then."""
        return self.weight(stage) if self.stages is None or stage in self.stages else 0.0

    def reward(self, choices: Mapping[int, int]) -> float:
        """The reward for choices of the agents that can add something."""
        return self.values[sum(int(units[choices[i]]) for i, units in self.added.items())]

    def is_same_at(self, stages: range) -> bool:
        """Whether the reward is the same at all stages of a range."""
        weights = {self.weight_at(stage) for stage in stages}
        return len(weights) == 1 or not any(self.values)


class Expectations:
    """Probabilities of conditions and values of entries, sorted by the number of agents.

    Parameters
    ----------
    indexed
        The problem.
    discounted
        Whether rewards are discounted by stage, for tools without a discount. Otherwise, those of
        the first stage of planning count as in the problem, and the tool discounts later ones.
    """

    def __init__(self, indexed: IndexedProblem, *, discounted: bool = True) -> None:
        first = indexed.weight(indexed.stage)
        weight = indexed.weight if discounted else lambda _: first
        self.chances = [_chances(indexed, agent) for agent in range(len(indexed.agents))]
        self.constant = StageValue(weight)
        self.own: list[dict[int, StageValue]] = [{} for _ in indexed.agents]
        self.shared: dict[Members, StageValue] = {}
        self.functions: dict[Members, set[int]] = {}
        for entry in indexed.entries:
            self.functions.setdefault(entry.members, set()).add(entry.function)
            if not entry.members:
                self.constant.add(entry)
            elif len(entry.members) == 1:
                ((agent, condition),) = entry.members
                self.own[agent].setdefault(condition, StageValue(weight)).add(entry)
            else:
                self.shared.setdefault(entry.members, StageValue(weight)).add(entry)
        self.sums = [
            Sum(
                each.values,
                added_units(each.amounts, indexed.agents),
                None if each.stages is None else frozenset(each.stages),
                each.function,
                weight,
            )
            for each in indexed.aggregates
        ]

    def chance(self, agent: int, choice: int, condition: int) -> float:
        """The probability that an agent's choice matches one of its conditions."""
        return self.chances[agent][choice].get(condition, 0.0)

    def own_reward(self, agent: int, choice: int, stage: int) -> float:
        """The expected own reward of an agent's choice, whatever the others do."""
        own = self.own[agent]
        return math.fsum(
            own[condition].at(stage) * chance
            for condition, chance in self.chances[agent][choice].items()
            if condition in own
        )


def _chances(indexed: IndexedProblem, agent: int) -> list[Mapping[int, float]]:
    """For each choice of an agent: the conditions that it can match, with probabilities."""
    described = indexed.agents[agent]
    begin = np.array(described.outcome_begin)
    count = len(described.choice_action)
    owner = np.repeat(np.arange(count), begin[1:] - begin[:-1])
    probability = np.array(described.outcome_probability, dtype=float)
    known: list[dict[int, float]] = [{} for _ in range(count)]
    for condition, matched in enumerate(MatchedTransitions(described)):
        sums = np.bincount(owner[matched], weights=probability[matched], minlength=count)
        for choice in np.flatnonzero(sums):
            known[choice][condition] = float(sums[choice])
    return list(known)
