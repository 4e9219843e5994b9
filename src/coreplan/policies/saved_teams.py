"""The part of ``policy/1`` for joint rules of teams. See docs/policy-format.md."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coreplan.policies.rules import (
    GONE,
    Indices,
    LocalMap,
    Numbering,
    Reduced,
    TeamRule,
    check_disjoint,
    check_numbers,
    number_joint_classes,
)
from coreplan.policies.saved_arrays import pack, pack_wide, read_count, unpack, unpack_wide


def write_teams(teams: Sequence[TeamRule]) -> list[dict[str, Any]]:
    """Turn team rules into plain dicts and arrays."""
    return [_write_team(team) for team in teams]


def _write_team(team: TeamRule) -> dict[str, Any]:
    written: dict[str, Any] = {"agents": list(team.agents), "actions": pack(team.actions)}
    if team.numbers is not None:
        written["numbers"] = {"count": len(team.numbers), **pack_wide(team.numbers)}
    written["reduced"] = write_reduced(team.reduced)
    return written


def write_reduced(reduced: Sequence[Reduced] | None) -> list[dict[str, str]] | None:
    """Turn the agents' maps to the classes of a joint rule into plain dicts and arrays."""
    if reduced is None:
        return None
    return [
        {
            "class_of": pack(each.class_of),
            "class_count": pack(each.class_count),
            "action_begin": pack(each.action_begin),
            "action_of": pack(each.action_of),
        }
        for each in reduced
    ]


def read_teams(content: Any, maps: Sequence[LocalMap], layers: int) -> list[TeamRule]:
    """Read team rules; raises a ValueError, KeyError or TypeError if they are invalid."""
    teams: list[TeamRule] = []
    for described in content:
        agents = tuple(described["agents"])
        if not agents or any(isinstance(i, bool) or i not in range(len(maps)) for i in agents):
            raise ValueError("a team names an unknown agent")
        check_disjoint([*(team.agents for team in teams), agents])
        reduced = read_reduced(described["reduced"], [maps[i] for i in agents], layers)
        numbering = number_joint_classes(maps, agents, reduced, layers)
        entries = numbering.layer_offset[-1]
        numbers = None
        if described.get("numbers") is not None:
            entries = read_count(described["numbers"]["count"])
            numbers = unpack_wide(described["numbers"], entries, "numbers of a team rule")
        actions = unpack(described["actions"], entries, "team rule")
        team = TeamRule(agents, actions, reduced=reduced, numbers=numbers)
        check_numbers(team, numbering)
        _check_actions(team, numbering, maps, layers)
        teams.append(team)
    return teams


def read_reduced(content: Any, maps: Sequence[LocalMap], layers: int) -> tuple[Reduced, ...] | None:
    """Read the agents' maps to the classes of a joint rule."""
    if content is None:
        return None
    return tuple(_read_reduced(each, own, layers) for each, own in zip(content, maps, strict=True))


def _read_reduced(described: dict[str, Any], own: LocalMap, layers: int) -> Reduced:
    classes = int(own.class_count.sum())
    class_of = unpack(described["class_of"], classes, "class_of")
    class_count = unpack(described["class_count"], layers, "class_count")
    if np.any(class_count > own.class_count[:layers]):
        raise ValueError("class_count: a rule has more classes than its agent")
    action_begin = unpack(described["action_begin"], classes + 1, "action_begin")
    actions_of = np.concatenate(own.actions_of_classes())
    wide = action_begin.astype(np.int64)
    widths: NDArray[np.int64] = wide[1:] - wide[:-1]
    if action_begin[0] != 0 or np.any(widths < 0) or np.any(widths > actions_of):
        raise ValueError("action_begin is not an ascending list of positions from 0")
    action_of = unpack(described["action_of"], int(action_begin[-1]), "action_of")
    if np.any(action_of >= np.repeat(actions_of, widths)):
        raise ValueError("action_of names an unknown action")
    first = [0, *(int(x) for x in np.cumsum(own.class_count[:layers], dtype=np.int64))]
    for layer in range(layers):
        here = class_of[first[layer] : first[layer + 1]]
        if np.any((here >= class_count[layer]) & (here != GONE)):
            raise ValueError("class_of names an unknown class")
    return Reduced(class_of, class_count, action_begin, action_of)


def rule_widths(reduced: Reduced | None, own: LocalMap, layers: int) -> list[Indices]:
    """For each stage and class of a joint rule: the number of actions."""
    if reduced is None:
        return own.actions_of_classes()[:layers]
    widths = np.diff(reduced.action_begin.astype(np.int64))
    first = [0, *(int(x) for x in np.cumsum(own.class_count, dtype=np.int64))]
    rows = []
    for layer in range(layers):
        here = slice(first[layer], first[layer + 1])
        known = reduced.class_of[here] != GONE
        classes = reduced.class_of[here][known]
        counts = np.full(int(reduced.class_count[layer]), GONE, np.uint32)
        np.minimum.at(counts, classes, widths[here][known].astype(np.uint32))
        # All states of a class need the same number of actions; otherwise a rule would be
        # ambiguous.
        if np.any(counts[classes] != widths[here][known]):
            raise ValueError("states of one class have different numbers of actions")
        counts[counts == GONE] = 0
        rows.append(counts)
    return rows


def _check_actions(
    team: TeamRule, numbering: Numbering, maps: Sequence[LocalMap], layers: int
) -> None:
    """Check that every entry is a joint action of its joint class, or 0."""
    widths = [
        rule_widths(None if team.reduced is None else team.reduced[k], maps[i], layers)
        for k, i in enumerate(team.agents)
    ]
    for layer in range(layers):
        first, end = numbering.layer_offset[layer : layer + 2]
        most = np.ones(1)
        if team.numbers is None:
            for each in widths:
                most = np.multiply.outer(most, each[layer].astype(np.float64)).ravel()
        else:
            first, end = np.searchsorted(team.numbers, np.array([first, end], np.uint64)).tolist()
            if first == end:
                continue
            rest = team.numbers[first:end] - np.uint64(numbering.layer_offset[layer])
            for each, step in zip(widths, numbering.steps[layer], strict=True):
                own, rest = np.divmod(rest, np.uint64(step))
                most = most * each[layer][own]
        if np.any(team.actions[first:end] > most):
            raise ValueError("a team rule names an unknown joint action")
