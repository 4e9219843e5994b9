"""The part of ``policy/1`` for teams that look ahead. See docs/policy-format.md."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coreplan.policies.lookahead import (
    AgentTables,
    BasePolicy,
    ClusterTable,
    Encounter,
    LookaheadRule,
    TeamModel,
)
from coreplan.policies.rules import GONE, Indices, LocalMap, Reduced
from coreplan.policies.saved_arrays import (
    MOST_NUMBERS,
    pack,
    pack_wide,
    read_count,
    unpack,
    unpack_wide,
)
from coreplan.policies.saved_teams import write_reduced

Floats = NDArray[np.float64]

_COUNTS = ("classes", "actions", "after_states", "outcomes", "factors")


def write_ahead(rules: Sequence[LookaheadRule]) -> list[dict[str, Any]]:
    """Turn rules that look ahead into plain dicts and arrays."""
    return [
        {
            "agents": list(rule.agents),
            "reduced": write_reduced(rule.reduced),
            "stage": rule.model.stage,
            "model": [_write_agent(each) for each in rule.model.agents],
            "encounters": [
                {
                    "members": [list(member) for member in each.members],
                    "stages": [stage for stage, _ in each.values],
                    "values": [value for _, value in each.values],
                }
                for each in rule.model.encounters
            ],
            "bases": [_write_base(each) for each in rule.model.bases],
        }
        for rule in rules
    ]


def _write_agent(each: AgentTables) -> dict[str, Any]:
    return {
        "classes": len(each.action_begin) - 1,
        "actions": len(each.action_reward),
        "after_states": len(each.outcome_begin) - 1,
        "outcomes": len(each.outcome_next),
        "factors": len(each.factor_signal),
        "layer_begin": pack(each.layer_begin),
        "action_begin": pack(each.action_begin),
        "action_reward": _pack_floats(each.action_reward),
        "action_after": pack(each.action_after),
        "after_layer_begin": pack(each.after_layer_begin),
        "outcome_begin": pack(each.outcome_begin),
        "outcome_next": pack(each.outcome_next),
        "outcome_probability": _pack_floats(each.outcome_probability),
        "factor_begin": pack(each.factor_begin),
        "factor_signal": pack(each.factor_signal),
        "factor_chance": _pack_floats(each.factor_chance),
    }


def _write_base(base: BasePolicy) -> dict[str, Any]:
    return {
        "local": [pack(each) for each in base.local],
        "clusters": [
            {
                "agents": list(each.agents),
                "count": len(each.layers),
                "layers": pack(each.layers),
                "classes": pack(each.classes.ravel()),
                "positions": pack(each.positions.ravel()),
            }
            for each in base.clusters
        ],
    }


def _pack_floats(values: Floats) -> dict[str, str]:
    return pack_wide(np.ascontiguousarray(values, np.float64).view(np.uint64))


def _unpack_floats(texts: Any, length: int, what: str) -> Floats:
    return unpack_wide(texts, length, what).view(np.float64)


def read_ahead(
    content: Any, maps: Sequence[LocalMap], stage: int, horizon: int
) -> list[LookaheadRule]:
    """Read rules that look ahead; raises a ValueError, KeyError or TypeError if invalid."""
    return [_read_rule(described, maps, stage, horizon) for described in content]


def _read_rule(
    described: dict[str, Any], maps: Sequence[LocalMap], stage: int, horizon: int
) -> LookaheadRule:
    agents = tuple(read_count(i, len(maps)) for i in described["agents"])
    first = read_count(described["stage"], stage + 1)
    model = TeamModel(
        first,
        horizon,
        tuple(_read_agent(each, horizon - first) for each in described["model"]),
        tuple(
            Encounter(
                tuple((read_count(k, len(agents)), read_count(s)) for k, s in each["members"]),
                tuple(
                    (read_count(t, horizon), float(value))
                    for t, value in zip(each["stages"], each["values"], strict=True)
                ),
            )
            for each in described["encounters"]
        ),
        (),
    )
    bases = tuple(_read_base(each, model) for each in described["bases"])
    model = TeamModel(first, horizon, model.agents, model.encounters, bases)
    if not bases:
        raise ValueError("a team that looks ahead has no base")
    if not len(agents) == len(model.agents):
        raise ValueError("a team that looks ahead lacks an agent")
    reduced = tuple(
        _read_reduced(each, maps[i], own, stage - first, horizon - stage)
        for each, i, own in zip(described["reduced"], agents, model.agents, strict=True)
    )
    rule = LookaheadRule(agents, reduced, model)
    assert rule.model.core is not None  # raises a ValueError if the arrays do not fit together
    return rule


def _read_agent(described: dict[str, Any], layers: int) -> AgentTables:
    classes, actions, afters, outcomes, factors = (read_count(described[key]) for key in _COUNTS)

    def array(key: str, length: int) -> Indices:
        return unpack(described[key], length, f"{key} of a team that looks ahead")

    def floats(key: str, length: int) -> Floats:
        return _unpack_floats(described[key], length, f"{key} of a team that looks ahead")

    return AgentTables(
        array("layer_begin", layers + 2),
        array("action_begin", classes + 1),
        floats("action_reward", actions),
        array("action_after", actions),
        array("after_layer_begin", layers + 1),
        array("outcome_begin", afters + 1),
        array("outcome_next", outcomes),
        floats("outcome_probability", outcomes),
        array("factor_begin", afters + 1),
        array("factor_signal", factors),
        floats("factor_chance", factors),
    )


def _read_base(described: dict[str, Any], model: TeamModel) -> BasePolicy:
    local = tuple(
        unpack(text, len(own.action_begin) - 1, "a base")
        for text, own in zip(described["local"], model.agents, strict=True)
    )
    clusters = []
    for each in described["clusters"]:
        agents = tuple(read_count(k, len(model.agents)) for k in each["agents"])
        count = read_count(each["count"])
        if count * len(agents) > MOST_NUMBERS:
            raise ValueError("a cluster has too many rows")
        shape = (count, len(agents))
        clusters.append(
            ClusterTable(
                agents,
                unpack(each["layers"], count, "layers"),
                unpack(each["classes"], count * len(agents), "classes").reshape(shape),
                unpack(each["positions"], count * len(agents), "positions").reshape(shape),
            )
        )
    return BasePolicy(local, tuple(clusters))


def _read_reduced(
    described: dict[str, Any], own: LocalMap, model: AgentTables, first: int, layers: int
) -> Reduced:
    """Read an agent's map to the classes of a model, which begins some stages earlier."""
    sizes = own.class_count.astype(np.int64)
    classes = int(sizes.sum())
    class_of = unpack(described["class_of"], classes, "class_of")
    class_count = unpack(described["class_count"], layers, "class_count")
    begin = model.layer_begin.astype(np.int64)
    if np.any(class_count != np.diff(begin)[first : first + layers]):
        raise ValueError("class_count: a model has another number of classes")
    action_begin = unpack(described["action_begin"], classes + 1, "action_begin").astype(np.int64)
    widths = np.diff(action_begin)
    available = np.concatenate(own.actions_of_classes())
    if action_begin[0] != 0 or np.any(widths < 0) or np.any(widths > available):
        raise ValueError("action_begin is not an ascending list of positions from 0")
    action_of = unpack(described["action_of"], int(action_begin[-1]), "action_of")
    if np.any(action_of >= np.repeat(available, widths)):
        raise ValueError("action_of names an unknown action")
    layer = np.repeat(np.arange(len(sizes)), sizes)
    known = (class_of != GONE) & (layer < layers)
    if np.any(class_of[known] >= class_count[layer[known]]):
        raise ValueError("class_of names an unknown class")
    number = begin[first + layer[known]] + class_of[known]
    if np.any(widths[known] != np.diff(model.action_begin.astype(np.int64))[number]):
        raise ValueError("a model has another number of actions")
    return Reduced(class_of, class_count, action_begin.astype(np.uint32), action_of)
