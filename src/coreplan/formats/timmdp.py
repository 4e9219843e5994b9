"""Reading TI-MMDPs in the formats ``ti-mmdp/1`` and ``ti-mmdp/2``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from coreplan.files.reading import Document, Place, give_up
from coreplan.model.aggregates import Aggregate, Amount
from coreplan.model.conditions import Condition
from coreplan.model.document import FORMAT_2, NEW_AGENT_KEYS, NEW_KEYS, PARTS
from coreplan.model.timmdp import TIMMDP, Agent, Entry, RewardFunction, check_timmdp
from coreplan.model.transitions import StageTransitions

_Conditions = dict[tuple[str | None, ...], Condition]
"""Conditions by the names of state, action and next state."""


def read_timmdp(document: Document) -> TIMMDP:
    """Make a TI-MMDP from a document in either format, or raise a FormatError with all mistakes."""
    required = ("format", "horizon", "agents")
    optional = ("name", "rewards", *_new_keys(document, document.root, (), NEW_KEYS))
    top = document.fields(document.root, (), "the problem", required, optional)
    name = top.get("name", document.stem)
    horizon = top.get("horizon", 1)
    agents: list[Agent] = []
    if "agents" in top:
        listed = document.items(top["agents"], ("agents",), "the agents")
        for i, each in enumerate(give_up(listed)):
            agents.append(_read_agent(document, each, ("agents", i)))
    rewards: list[RewardFunction] = []
    conditions: _Conditions = {}
    if "rewards" in top:
        listed = document.items(top["rewards"], ("rewards",), "the rewards")
        for k, each in enumerate(give_up(listed)):
            rewards.append(_read_reward(document, each, ("rewards", k), conditions))
    aggregates: list[Aggregate] = []
    if "aggregates" in top:
        listed = document.items(top["aggregates"], ("aggregates",), "the aggregates")
        for k, each in enumerate(give_up(listed)):
            aggregates.append(_read_aggregate(document, each, ("aggregates", k), conditions))
    discount = top.get("discount", 1.0)
    return document.finish(
        lambda: TIMMDP(
            agents,
            rewards,
            horizon,
            name,
            aggregates=aggregates,
            discount=discount,
            allow_unknown_values=True,
        ),
        lambda: check_timmdp(
            name,
            horizon,
            agents,
            rewards,
            aggregates,
            discount=discount,
            allow_unknown_values=True,
        ),
    )


def _new_keys(document: Document, value: Any, path: Place, keys: tuple[str, ...]) -> Sequence[str]:
    """The keys that the second version adds, if the document is in it; else none may be used."""
    if document.root["format"] == FORMAT_2:
        return keys
    for key in keys:
        if isinstance(value, dict) and key in value:
            hint = f"the key {key!r} needs the format {FORMAT_2}; write format: {FORMAT_2}"
            document.fail((*path, key), hint, at_key=True)
    return ()


def _read_agent(document: Document, value: Any, path: Place) -> Agent:
    optional = ("features", *_new_keys(document, value, path, NEW_AGENT_KEYS))
    fields = document.fields(value, path, "an agent", ("name", "initial", "transitions"), optional)
    transitions = _read_transitions(document, fields, path)
    changes: list[StageTransitions] = []
    if "transitions_at" in fields:
        where = (*path, "transitions_at")
        listed = document.items(fields["transitions_at"], where, "transitions at stages")
        for k, each in enumerate(give_up(listed)):
            changes.append(_read_change(document, each, (*where, k)))
    features: dict[str, dict[str, Any]] = {}
    if "features" in fields:
        table = (*path, "features")
        described = document.members(fields["features"], table, "states with their features")
        for state, own in described.items():
            features[state] = document.members(own, (*table, state), "features with their values")
    name: Any = None  # this value remains only if a problem is recorded
    initial: Any = None
    if "name" in fields:
        name = document.name(fields["name"], (*path, "name"), "the agent")
    if "initial" in fields:
        initial = document.name(fields["initial"], (*path, "initial"), "a state")
    return Agent(name, initial, transitions, features, transitions_at=changes)


def _read_change(document: Document, value: Any, path: Place) -> StageTransitions:
    required = ("stages", "transitions")
    fields = document.fields(value, path, "transitions at stages", required, ())
    stages: Sequence[Any] = ()
    if "stages" in fields:
        stages = document.items(fields["stages"], (*path, "stages"), "a list of stages")
    return StageTransitions(tuple(stages), _read_transitions(document, fields, path))


def _read_transitions(
    document: Document, fields: dict[str, Any], path: Place
) -> dict[str, dict[str, dict[str, Any]]]:
    transitions: dict[str, dict[str, dict[str, Any]]] = {}
    if "transitions" in fields:
        table = (*path, "transitions")
        states = document.members(fields["transitions"], table, "states with their actions")
        for state, actions in states.items():
            where = (*table, state)
            rows = document.members(actions, where, "actions with their outcomes")
            if not all(type(law) is dict for law in rows.values()):
                rows = {
                    action: document.members(law, (*where, action), "outcomes with probabilities")
                    for action, law in rows.items()
                }
            transitions[state] = rows
    return transitions


def _read_reward(
    document: Document, value: Any, path: Place, conditions: _Conditions
) -> RewardFunction:
    fields = document.fields(value, path, "a reward function", ("scope", "entries"), ())
    scope: list[Any] = []
    if "scope" in fields:
        where = (*path, "scope")
        scope = [
            document.name(each, (*where, k), "an agent")
            for k, each in enumerate(document.items(fields["scope"], where, "the agents in scope"))
        ]
    entries = []
    if "entries" in fields:
        where = (*path, "entries")
        listed = document.items(fields["entries"], where, "the entries")
        for k, each in enumerate(give_up(listed)):
            entries.append(_read_entry(document, each, (*where, k), conditions))
    return RewardFunction(tuple(scope), tuple(entries))


def _read_entry(document: Document, value: Any, path: Place, conditions: _Conditions) -> Entry:
    fields = document.fields(value, path, "an entry", ("value",), ("when", "stages"))
    when = {}
    if "when" in fields:
        where = (*path, "when")
        agents = document.members(fields["when"], where, "agents with their conditions")
        for agent, condition in agents.items():
            when[agent] = _read_condition(document, condition, (*where, agent), conditions)
    stages = None
    if "stages" in fields:
        stages = tuple(document.items(fields["stages"], (*path, "stages"), "a list of stages"))
    return Entry(when, fields.get("value", 0.0), stages)


def _read_aggregate(
    document: Document, value: Any, path: Place, conditions: _Conditions
) -> Aggregate:
    fields = document.fields(
        value, path, "an aggregate", ("name", "amounts", "value"), ("step", "stages")
    )
    name: Any = None
    if "name" in fields:
        name = document.name(fields["name"], (*path, "name"), "the aggregate")
    amounts = []
    if "amounts" in fields:
        where = (*path, "amounts")
        listed = document.items(fields["amounts"], where, "the amounts")
        for k, each in enumerate(give_up(listed)):
            amounts.append(_read_amount(document, each, (*where, k), conditions))
    parts: dict[str, Any] = {}
    if "value" in fields:
        where = (*path, "value")
        parts = document.fields(fields["value"], where, "a value", (), ("table", "points"))
        parts = {key: document.items(each, (*where, key), key) for key, each in parts.items()}
        if "points" in parts:
            parts["points"] = [
                document.items(each, (*where, "points", k), "a pair of a sum and a reward")
                for k, each in enumerate(parts["points"])
            ]
    if "stages" in fields:
        parts["stages"] = document.items(fields["stages"], (*path, "stages"), "a list of stages")
    return Aggregate(name, amounts, step=fields.get("step", 1), **parts)


def _read_amount(document: Document, value: Any, path: Place, conditions: _Conditions) -> Amount:
    fields = document.fields(value, path, "an amount", ("when", "amount"), ())
    when = {}
    if "when" in fields:
        where = (*path, "when")
        agents = document.members(fields["when"], where, "the condition of one agent")
        for agent, condition in agents.items():
            when[agent] = _read_condition(document, condition, (*where, agent), conditions)
    return Amount(when, fields.get("amount", 0))


def _read_condition(
    document: Document, value: Any, path: Place, conditions: _Conditions
) -> Condition:
    fields = document.fields(value, path, "a condition", (), PARTS)
    names = (fields.get("state"), fields.get("action"), fields.get("next"))
    if all(type(each) is str for each in fields.values()):
        # Large files repeat conditions very often, so equal ones become one object.
        known = conditions.get(names)
        if known is None:
            known = conditions[names] = Condition(*names)
        return known
    parts: dict[str, Any] = {}
    for part, each in fields.items():
        where = (*path, part)
        if isinstance(each, str):
            parts[part] = each
        elif isinstance(each, list):
            what = "an action" if part == "action" else "a state"
            parts[part] = [document.name(name, (*where, k), what) for k, name in enumerate(each)]
        elif isinstance(each, dict) and part != "action":
            parts[part] = each
        else:
            wanted = (
                "a name or a list of names"
                if part == "action"
                else ("a name, a list of names, or features")
            )
            hint = "; a name that reads as a number or boolean needs quotes"
            document.fail(where, f"found {document.kind(where)}; expected {wanted}{hint}")
    return Condition(**parts)
