"""The part of ``policy/1`` for rules of groups of agents. See docs/policy-format.md."""

from __future__ import annotations

from typing import Any

import numpy as np

from coreplan.formats.policy_arrays import MOST_NUMBERS, pack, read_count, unpack
from coreplan.group_rule import Chances, DecisionKey, Event, GroupRule
from coreplan.policy import Policy


def write_groups(rule: GroupRule) -> dict[str, Any]:
    """A group rule as plain dicts and arrays."""
    by_agents: dict[tuple[int, ...], list[tuple[int, tuple[int, ...], tuple[int, ...]]]] = {}
    for (layer, agents, classes), positions in rule.decisions.items():
        by_agents.setdefault(agents, []).append((layer, classes, positions))
    return {
        "chances": [
            {
                "lists": len(each.list_begin) - 1,
                "list_of": pack(each.list_of),
                "list_begin": pack(each.list_begin),
                "runs": pack(each.runs),
            }
            for each in rule.chances
        ],
        "events": [
            {
                "members": [list(member) for member in event.members],
                "stages": None if event.stages is None else list(event.stages),
            }
            for event in rule.events
        ],
        "decisions": [
            {
                "agents": list(agents),
                "count": len(rows),
                "layers": pack(np.array([layer for layer, _, _ in rows])),
                "classes": pack(np.array([classes for _, classes, _ in rows]).ravel()),
                "positions": pack(np.array([positions for _, _, positions in rows]).ravel()),
            }
            for agents, rows in by_agents.items()
        ],
    }


def read_groups(content: dict[str, Any], policy: Policy) -> GroupRule:
    """The group rule of a policy; a ValueError (or KeyError, TypeError) if it makes no sense."""
    agents = len(policy.maps)
    layers = policy.horizon - policy.stage
    chances = []
    for described, each in zip(content["chances"], policy.maps, strict=True):
        lists = read_count(described["lists"])
        begin = unpack(described["list_begin"], lists + 1, "list_begin")
        if np.any(np.diff(begin.astype(np.int64)) < 0) or 3 * int(begin[-1]) > MOST_NUMBERS:
            raise ValueError("list_begin is not in order")
        list_of = unpack(described["list_of"], int(each.class_count.sum()), "list_of")
        if np.any(list_of >= lists):
            raise ValueError("list_of names a list that there is not")
        runs = unpack(described["runs"], 3 * int(begin[-1]), "runs")
        if np.any(runs[2::3] >= policy.horizon):
            raise ValueError("a run goes beyond the horizon")
        chances.append(Chances(list_of, begin, runs))
    events = []
    for event in content["events"]:
        members = tuple((read_count(agent, agents), read_count(c)) for agent, c in event["members"])
        if not members:
            raise ValueError("an event has no members")
        stages = event["stages"]
        events.append(
            Event(members, None if stages is None else tuple(read_count(t) for t in stages))
        )
    decisions: dict[DecisionKey, tuple[int, ...]] = {}
    for part in content["decisions"]:
        group = tuple(read_count(agent, agents) for agent in part["agents"])
        count = read_count(part["count"])
        at = unpack(part["layers"], count, "layers")
        classes = unpack(part["classes"], count * len(group), "classes")
        positions = unpack(part["positions"], count * len(group), "positions")
        if np.any(at >= layers):
            raise ValueError("a decision is beyond the horizon")
        for k in range(count):
            row = slice(k * len(group), (k + 1) * len(group))
            key = (int(at[k]), group, tuple(int(c) for c in classes[row]))
            decisions[key] = tuple(int(p) for p in positions[row])
    rule = GroupRule(tuple(chances), tuple(events), decisions)
    _check(rule, policy)
    return rule


def _check(rule: GroupRule, policy: Policy) -> None:
    """Every decision must be for classes that exist, with actions that they have."""
    counts = [each.actions_of_classes() for each in policy.maps]
    for (layer, group, classes), positions in rule.decisions.items():
        for agent, each, position in zip(group, classes, positions, strict=True):
            row = counts[agent][layer]
            if each >= len(row) or position >= row[each]:
                raise ValueError("a decision names an action that there is not")
