"""Rules for groups of agents that can still interact; the others act on their own.

Which agents belong together depends on the joint state: an interaction can still happen if there is
a stage at which all its agents can take part. What each local state can still take part in is kept
as ranges of stages, so that the groups of any joint state can be found from the rule alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Indices = NDArray[np.uint32]
DecisionKey = tuple[int, tuple[int, ...], tuple[int, ...]]
"""(layer, agents, their classes within the layer)."""


@dataclass(frozen=True)
class Chances:
    """What one agent can still take part in, by class.

    Parameters
    ----------
    list_of
        For the classes of all layers one after the other: the number of their list.
    list_begin
        Where each list begins in `runs`; one more for the end.
    runs
        Triples (condition, first stage, last stage), one after the other.
    """

    list_of: Indices
    list_begin: Indices
    runs: Indices

    def stages(self, number: int, condition: int) -> set[int]:
        """The stages at which a condition can still be matched, by the number of the list."""
        found: set[int] = set()
        for k in range(int(self.list_begin[number]), int(self.list_begin[number + 1])):
            run_condition, first, last = (int(x) for x in self.runs[3 * k : 3 * k + 3])
            if run_condition == condition:
                found.update(range(first, last + 1))
        return found


@dataclass(frozen=True)
class Event:
    """Something that agents can do together: (agent, condition) pairs, and when (None: always)."""

    members: tuple[tuple[int, int], ...]
    stages: tuple[int, ...] | None


@dataclass(eq=False)
class GroupRule:
    """Joint actions of groups of agents.

    Parameters
    ----------
    chances
        Per agent: what its classes can still take part in.
    events
        What agents can do together.
    decisions
        Per (layer, agents, classes): the positions of the agents' actions.
    """

    chances: tuple[Chances, ...]
    events: tuple[Event, ...]
    decisions: Mapping[DecisionKey, tuple[int, ...]]
    _groups: dict[tuple[int, ...], list[tuple[int, ...]]] = field(default_factory=dict, repr=False)

    def groups(self, class_numbers: Sequence[int]) -> list[tuple[int, ...]]:
        """The agents that belong together, given their classes (counted over all layers)."""
        lists = tuple(
            int(chance.list_of[number])
            for chance, number in zip(self.chances, class_numbers, strict=True)
        )
        if lists not in self._groups:
            self._groups[lists] = self._find_groups(lists)
        return self._groups[lists]

    def _find_groups(self, lists: tuple[int, ...]) -> list[tuple[int, ...]]:
        leader = list(range(len(lists)))

        def find(agent: int) -> int:
            while leader[agent] != agent:
                agent = leader[agent]
            return agent

        for event in self.events:
            agents = [agent for agent, _ in event.members]
            if len({find(agent) for agent in agents}) == 1:
                continue
            common: set[int] | None = None if event.stages is None else set(event.stages)
            for agent, condition in event.members:
                stages = self.chances[agent].stages(lists[agent], condition)
                common = stages if common is None else common & stages
                if not common:
                    break
            if common:
                for agent in agents[1:]:
                    low, high = sorted((find(agents[0]), find(agent)))
                    leader[high] = low
        members: dict[int, list[int]] = {}
        for agent in range(len(lists)):
            members.setdefault(find(agent), []).append(agent)
        return [tuple(group) for group in members.values()]
