"""The engine's order of agents and teams, which does not depend on their order in a file.

Only the order of agents decides between plans that are equally good and equally preferred. The
order follows properties of the agents, and names only between agents with the same properties: the
plan does not change if a file lists agents in another order.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from coreplan import _core


def canonical_order(model: _core.CompiledModel, names: Sequence[str]) -> list[int]:
    """Each agent's place: by size, then by its other properties, then by name.

    The kernel is fast if the agent with the most states comes last.
    """
    by_place = sorted(range(len(names)), key=lambda i: (*_likeness(model, i), names[i]))
    places = [0] * len(names)
    for place, i in enumerate(by_place):
        places[i] = place
    return places


def teams_in_order(teams: Sequence[Sequence[int]], places: Sequence[int]) -> list[list[int]]:
    """Teams, and the agents in each of them, by place."""
    ordered = [sorted(team, key=lambda i: places[i]) for team in teams]
    return sorted(ordered, key=lambda team: places[team[0]])


def _likeness(model: _core.CompiledModel, agent: int) -> tuple[int, bytes]:
    """Properties of an agent that do not depend on names or on other agents."""
    digest = hashlib.blake2b(digest_size=16)
    for part in (
        model.layer_begin(agent),
        model.action_begin(agent),
        model.action_reward(agent),
        model.action_after(agent),
        model.outcome_begin(agent),
        model.outcome_next(agent),
        model.outcome_probability(agent),
    ):
        digest.update(part.tobytes())
    return int(model.layer_begin(agent)[-1]), digest.digest()
