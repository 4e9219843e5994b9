"""What other tools are told of rewards: expectations, straight from the description.

Agents move independently, so the expected reward of an entry is its value times the product, over
the agents that it looks at, of the chance that the agent's own move matches. Nothing of the
compiled model takes part, so that what other tools compute is a check on it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from coreplan.model.indexed import IndexedEntry, IndexedProblem
from coreplan.model.rewards import MatchedTransitions

Members = tuple[tuple[int, int], ...]
"""(agent, number of its condition), by agent."""


@dataclass
class StageValue:
    """A value that may differ from stage to stage."""

    always: float = 0.0
    extra: dict[int, float] = field(default_factory=dict)

    def add(self, entry: IndexedEntry) -> None:
        """Count one more entry."""
        if entry.stages is None:
            self.always += entry.value
            return
        for stage in set(entry.stages):
            self.extra[stage] = self.extra.get(stage, 0.0) + entry.value

    def at(self, stage: int) -> float:
        """The value at a stage."""
        return self.always + self.extra.get(stage, 0.0)

    def is_same_at(self, stages: range) -> bool:
        """Whether it is the same at all stages of a range."""
        if not self.extra:
            return True
        first = self.at(stages[0])
        return all(self.at(stage) == first for stage in stages)


class Expectations:
    """Chances of conditions and values of entries, sorted by how many agents they look at."""

    def __init__(self, indexed: IndexedProblem) -> None:
        self.chances = [_chances(indexed, agent) for agent in range(len(indexed.agents))]
        self.constant = StageValue()
        self.own: list[dict[int, StageValue]] = [{} for _ in indexed.agents]
        self.shared: dict[Members, StageValue] = {}
        self.functions: dict[Members, set[int]] = {}
        for entry in indexed.entries:
            self.functions.setdefault(entry.members, set()).add(entry.function)
            if not entry.members:
                self.constant.add(entry)
            elif len(entry.members) == 1:
                ((agent, condition),) = entry.members
                self.own[agent].setdefault(condition, StageValue()).add(entry)
            else:
                self.shared.setdefault(entry.members, StageValue()).add(entry)

    def chance(self, agent: int, choice: int, condition: int) -> float:
        """How likely a choice of an agent matches one of its conditions."""
        return self.chances[agent][choice].get(condition, 0.0)

    def own_reward(self, agent: int, choice: int, stage: int) -> float:
        """What an agent expects of a choice, whatever the others do."""
        own = self.own[agent]
        return math.fsum(
            own[condition].at(stage) * chance
            for condition, chance in self.chances[agent][choice].items()
            if condition in own
        )


def _chances(indexed: IndexedProblem, agent: int) -> list[Mapping[int, float]]:
    """Per choice of an agent: the conditions that it can match, with their chances."""
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
