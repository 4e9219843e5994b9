"""Writing a TI-MMDP in its file formats, ``ti-mmdp/1`` and ``ti-mmdp/2``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from coreplan.model.aggregates import Aggregate
    from coreplan.model.conditions import Condition
    from coreplan.model.timmdp import TIMMDP, Entry

FORMAT = "ti-mmdp/1"
FORMAT_2 = "ti-mmdp/2"
NEW_KEYS = ("aggregates", "discount")
"""The keys of a problem that only the second version has."""
NEW_AGENT_KEYS = ("transitions_at",)
"""The same for an agent."""
PARTS = ("state", "action", "next")
"""The parts of a condition."""


def timmdp_to_dict(problem: TIMMDP) -> dict[str, Any]:
    """Describe a problem with the keys and values of its format."""
    agents = []
    for agent in problem.agents:
        described: dict[str, Any] = {
            "name": agent.name,
            "initial": agent.initial,
            "transitions": agent.transitions,
        }
        if agent.transitions_at:
            described["transitions_at"] = [
                {"stages": each.stages, "transitions": each.transitions}
                for each in agent.transitions_at
            ]
        if agent.features:
            described["features"] = agent.features
        agents.append(described)
    rewards = [
        {"scope": function.scope, "entries": [_entry_to_dict(entry) for entry in function.entries]}
        for function in problem.rewards
    ]
    described = {
        "format": format_of(problem),
        "name": problem.name,
        "horizon": problem.horizon,
    }
    if problem.discount != 1:
        described["discount"] = problem.discount
    described |= {
        "agents": agents,
        "rewards": rewards,
    }
    if problem.aggregates:
        described["aggregates"] = [_aggregate_to_dict(each) for each in problem.aggregates]
    return described


def format_of(problem: TIMMDP) -> str:
    """The format that a problem is written in: the first version that has all of its parts."""
    by_stage = any(agent.transitions_at for agent in problem.agents)
    new = problem.aggregates or problem.discount != 1 or by_stage
    return FORMAT_2 if new else FORMAT


def _aggregate_to_dict(aggregate: Aggregate) -> dict[str, Any]:
    written: dict[str, Any] = {
        "name": aggregate.name,
        "amounts": [
            {
                "when": {name: _condition_to_dict(test) for name, test in each.when.items()},
                "amount": each.amount,
            }
            for each in aggregate.amounts
        ],
        "value": (
            {"table": aggregate.table}
            if aggregate.table is not None
            else {"points": aggregate.points}
        ),
    }
    if aggregate.step != 1:
        written["step"] = aggregate.step
    if aggregate.stages is not None:
        written["stages"] = aggregate.stages
    return written


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
