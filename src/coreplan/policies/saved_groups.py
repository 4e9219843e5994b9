"""The part of ``policy/1`` for rules of groups of agents. See docs/policy-format.md."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from coreplan.policies.group_rule import Chances, Event, GroupRule, GroupTable
from coreplan.policies.rules import LocalMap, Reduced
from coreplan.policies.saved_arrays import MOST_NUMBERS, pack, read_count, unpack
from coreplan.policies.saved_teams import read_reduced, rule_widths, write_reduced


def write_groups(rule: GroupRule) -> dict[str, Any]:
    """Turn a group rule into plain dicts and arrays."""
    return {
        "reduced": write_reduced(rule.reduced),
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
                "agents": list(table.agents),
                "count": len(table.layers),
                "layers": pack(table.layers),
                "classes": pack(table.classes.ravel()),
                "positions": pack(table.positions.ravel()),
            }
            for table in rule.tables
        ],
    }


def read_groups(
    content: dict[str, Any], maps: Sequence[LocalMap], layers: int, horizon: int
) -> GroupRule:
    """Read a group rule; raises a ValueError, KeyError or TypeError if it is invalid."""
    reduced = read_reduced(content.get("reduced"), maps, layers)
    counts = [each.class_count for each in (maps if reduced is None else reduced)]
    chances = [
        _read_chances(described, int(each.sum(dtype=np.int64)), horizon)
        for described, each in zip(content["chances"], counts, strict=True)
    ]
    events = []
    for event in content["events"]:
        members = tuple((read_count(i, len(maps)), read_count(c)) for i, c in event["members"])
        if not members:
            raise ValueError("an event has no members")
        stages = event["stages"]
        events.append(
            Event(members, None if stages is None else tuple(read_count(t) for t in stages))
        )
    tables = [_read_table(described, len(maps)) for described in content["decisions"]]
    _check_tables(tables, reduced, maps, layers)
    return GroupRule(tuple(chances), tuple(events), tuple(tables), reduced)


def _read_chances(described: dict[str, Any], classes: int, horizon: int) -> Chances:
    lists = read_count(described["lists"])
    begin = unpack(described["list_begin"], lists + 1, "list_begin")
    if np.any(begin[1:] < begin[:-1]) or 3 * int(begin[-1]) > MOST_NUMBERS:
        raise ValueError("list_begin is not in ascending order")
    list_of = unpack(described["list_of"], classes, "list_of")
    if np.any(list_of >= lists):
        raise ValueError("list_of names an unknown list")
    runs = unpack(described["runs"], 3 * int(begin[-1]), "runs")
    if np.any(runs[2::3] >= horizon):
        raise ValueError("a run ends after the horizon")
    if np.any(runs[1::3] > runs[2::3]):
        raise ValueError("a run ends before it begins")
    return Chances(list_of, begin, runs)


def _read_table(described: dict[str, Any], agents: int) -> GroupTable:
    group = tuple(read_count(agent, agents) for agent in described["agents"])
    count = read_count(described["count"])
    shape = (count, len(group))
    return GroupTable(
        group,
        unpack(described["layers"], count, "layers"),
        unpack(described["classes"], count * len(group), "classes").reshape(shape),
        unpack(described["positions"], count * len(group), "positions").reshape(shape),
    )


def _check_tables(
    tables: Sequence[GroupTable],
    reduced: Sequence[Reduced] | None,
    maps: Sequence[LocalMap],
    layers: int,
) -> None:
    """Check that every decision names known classes, and actions of these classes."""
    # For each agent: the numbers of actions of all classes, and the first class of each stage.
    widths = {}
    for i in {i for table in tables for i in table.agents}:
        rows = rule_widths(None if reduced is None else reduced[i], maps[i], layers)
        sizes = np.array([len(row) for row in rows])
        widths[i] = (np.concatenate(rows), sizes, np.cumsum(sizes) - sizes)
    for table in tables:
        if np.any(table.layers >= layers):
            raise ValueError("a decision is for a stage after the horizon")
        for k, i in enumerate(table.agents):
            actions, sizes, first = widths[i]
            own = table.classes[:, k]
            if np.any(own >= sizes[table.layers]):
                raise ValueError("a decision is for an unknown class")
            if np.any(table.positions[:, k] >= actions[first[table.layers] + own]):
                raise ValueError("a decision names an unknown action")
