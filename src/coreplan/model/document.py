"""Writing a TI-MMDP in its file format, ``ti-mmdp/1``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from coreplan.model.timmdp import TIMMDP, Condition, Entry

FORMAT = "ti-mmdp/1"
PARTS = ("state", "action", "next")
"""The parts of a condition."""


def timmdp_to_dict(problem: TIMMDP) -> dict[str, Any]:
    """Describe a problem with the keys and values of ``ti-mmdp/1``."""
    agents = []
    for agent in problem.agents:
        described: dict[str, Any] = {
            "name": agent.name,
            "initial": agent.initial,
            "transitions": agent.transitions,
        }
        if agent.features:
            described["features"] = agent.features
        agents.append(described)
    rewards = [
        {"scope": function.scope, "entries": [_entry_to_dict(entry) for entry in function.entries]}
        for function in problem.rewards
    ]
    return {
        "format": FORMAT,
        "name": problem.name,
        "horizon": problem.horizon,
        "agents": agents,
        "rewards": rewards,
    }


def _entry_to_dict(entry: Entry) -> dict[str, Any]:
    written: dict[str, Any] = {}
    if entry.when:
        written["when"] = {
            agent: _condition_to_dict(condition) for agent, condition in entry.when.items()
        }
    written["value"] = entry.value
    if entry.stages is not None:
        written["stages"] = entry.stages
    return written


def _condition_to_dict(condition: Condition) -> dict[str, Any]:
    written: dict[str, Any] = {}
    for part in PARTS:
        test = getattr(condition, part)
        if test is not None:
            single = isinstance(test, tuple) and len(test) == 1
            written[part] = test[0] if single else test
    return written
