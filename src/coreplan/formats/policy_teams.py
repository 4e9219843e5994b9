"""The part of ``policy/1`` for joint rules of teams. See docs/policy-format.md."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coreplan.formats.policy_arrays import pack, unpack
from coreplan.policy import (
    GONE,
    Indices,
    LocalMap,
    Reduced,
    TeamRule,
    number_joint_classes,
)


def write_teams(teams: Sequence[TeamRule]) -> list[dict[str, Any]]:
    """Team rules as plain dicts and arrays."""
    return [
        {
            "agents": list(team.agents),
            "actions": pack(team.actions),
            "reduced": None
            if team.reduced is None
            else [
                {
                    "class_of": pack(each.class_of),
                    "class_count": pack(each.class_count),
                    "action_begin": pack(each.action_begin),
                    "action_of": pack(each.action_of),
                }
                for each in team.reduced
            ],
        }
        for team in teams
    ]


def read_teams(content: Any, maps: Sequence[LocalMap], layers: int) -> list[TeamRule]:
    """The team rules of a policy; a ValueError (or KeyError, TypeError) if they make no sense."""
    teams = []
    taken: set[int] = set()
    for described in content:
        agents = tuple(described["agents"])
        if not agents or any(isinstance(i, bool) or i not in range(len(maps)) for i in agents):
            raise ValueError("a team names an agent that there is not")
        if len({*agents, *taken}) != len(agents) + len(taken):
            raise ValueError("an agent is in two teams")
        taken.update(agents)
        reduced = None
        if described["reduced"] is not None:
            reduced = tuple(
                _read_reduced(each, maps[i], layers)
                for each, i in zip(described["reduced"], agents, strict=True)
            )
        counts = [
            maps[i].class_count if reduced is None else reduced[k].class_count
            for k, i in enumerate(agents)
        ]
        size = number_joint_classes(counts, layers).layer_offset[-1]
        actions = unpack(described["actions"], size, "team rule")
        team = TeamRule(agents, actions, reduced=reduced)
        _check_actions(team, maps, layers)
        teams.append(team)
    return teams


def _read_reduced(described: dict[str, Any], own: LocalMap, layers: int) -> Reduced:
    classes = int(own.class_count.sum())
    class_of = unpack(described["class_of"], classes, "class_of")
    class_count = unpack(described["class_count"], layers, "class_count")
    action_begin = unpack(described["action_begin"], classes + 1, "action_begin")
    actions_of = np.concatenate(own.actions_of_classes())
    wide = action_begin.astype(np.int64)
    widths: NDArray[np.int64] = wide[1:] - wide[:-1]
    if action_begin[0] != 0 or np.any(widths < 0) or np.any(widths > actions_of):
        raise ValueError("action_begin is wrong")
    action_of = unpack(described["action_of"], int(action_begin[-1]), "action_of")
    if np.any(action_of >= np.repeat(actions_of, widths)):
        raise ValueError("action_of names an action that there is not")
    first = [0, *(int(x) for x in np.cumsum(own.class_count[:layers], dtype=np.int64))]
    for layer in range(layers):
        here = class_of[first[layer] : first[layer + 1]]
        if np.any((here >= class_count[layer]) & (here != GONE)):
            raise ValueError("class_of names a class that there is not")
    return Reduced(class_of, class_count, action_begin, action_of)


def _rule_widths(team: TeamRule, k: int, own: LocalMap, layer: int) -> Indices:
    """Per class of the rule at a stage: how many actions it has."""
    if team.reduced is None:
        return own.actions_of_classes()[layer]
    reduced = team.reduced[k]
    first = int(own.class_count[:layer].sum())
    last = first + int(own.class_count[layer])
    widths = np.diff(reduced.action_begin.astype(np.int64))[first:last]
    classes = reduced.class_of[first:last]
    known = classes != GONE
    counts = np.full(int(reduced.class_count[layer]), GONE, np.uint32)
    np.minimum.at(counts, classes[known], widths[known].astype(np.uint32))
    # All states of a class must have as many actions, or a rule would mean different things.
    if np.any(counts[classes[known]] != widths[known]):
        raise ValueError("states of one class have different numbers of actions")
    counts[counts == GONE] = 0
    return counts


def _check_actions(team: TeamRule, maps: Sequence[LocalMap], layers: int) -> None:
    begin = 0
    for layer in range(layers):
        most = np.ones(1)
        for k, i in enumerate(team.agents):
            counts = _rule_widths(team, k, maps[i], layer)
            most = np.multiply.outer(most, counts.astype(np.float64)).ravel()
        if np.any(team.actions[begin : begin + len(most)] > most):
            raise ValueError("a team rule names a joint action that there is not")
        begin += len(most)
