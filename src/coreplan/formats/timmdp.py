"""The format ``ti-mmdp/1``: any transition-independent multi-agent MDP."""

from __future__ import annotations

from typing import Any

from coreplan.formats.document import Node
from coreplan.formats.reading import Document, Place, plain
from coreplan.model import TIMMDP, Agent, Condition, Entry, RewardFunction, check_timmdp

FORMAT = "ti-mmdp/1"


def read_timmdp(document: Document) -> TIMMDP:
    """Make a TI-MMDP of a document, or raise a FormatError with all its problems."""
    top = document.fields(
        document.root, (), "the problem", ("format", "horizon", "agents"), ("name", "rewards")
    )
    name = plain(top["name"]) if "name" in top else document.stem
    horizon = plain(top["horizon"]) if "horizon" in top else 1
    agents: list[Agent] = []
    if "agents" in top:
        for i, node in enumerate(document.items(top["agents"], ("agents",), "the agents")):
            agents.append(_read_agent(document, node, ("agents", i)))
    rewards: list[RewardFunction] = []
    if "rewards" in top:
        for k, node in enumerate(document.items(top["rewards"], ("rewards",), "the rewards")):
            rewards.append(_read_reward(document, node, ("rewards", k)))
    return document.finish(
        lambda: TIMMDP(tuple(agents), tuple(rewards), horizon, name),
        lambda: check_timmdp(name, horizon, agents, rewards),
    )


def _read_agent(document: Document, node: Node, path: Place) -> Agent:
    fields = document.fields(
        node, path, "an agent", ("name", "initial", "transitions"), ("features",)
    )
    transitions: dict[str, dict[str, dict[str, Any]]] = {}
    if "transitions" in fields:
        table = (*path, "transitions")
        states = document.members(fields["transitions"], table, "states with their actions")
        for state, actions in states.items():
            rows = transitions.setdefault(state, {})
            where = (*table, state)
            for action, law in document.members(
                actions, where, "actions with their outcomes"
            ).items():
                outcomes = document.members(law, (*where, action), "outcomes with probabilities")
                rows[action] = {after: plain(chance) for after, chance in outcomes.items()}
    features: dict[str, dict[str, Any]] = {}
    if "features" in fields:
        table = (*path, "features")
        for state, own in document.members(
            fields["features"], table, "states with their features"
        ).items():
            members = document.members(own, (*table, state), "features with their values")
            features[state] = {feature: plain(value) for feature, value in members.items()}
    name: Any = None  # stays so only where a problem is noted
    initial: Any = None
    if "name" in fields:
        name = document.name(fields["name"], (*path, "name"), "the agent")
    if "initial" in fields:
        initial = document.name(fields["initial"], (*path, "initial"), "a state")
    return Agent(name, initial, transitions, features)


def _read_reward(document: Document, node: Node, path: Place) -> RewardFunction:
    fields = document.fields(node, path, "a reward function", ("scope", "entries"), ())
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
        for k, each in enumerate(document.items(fields["entries"], where, "the entries")):
            entries.append(_read_entry(document, each, (*where, k)))
    return RewardFunction(tuple(scope), tuple(entries))


def _read_entry(document: Document, node: Node, path: Place) -> Entry:
    fields = document.fields(node, path, "an entry", ("value",), ("when", "stages"))
    when = {}
    if "when" in fields:
        where = (*path, "when")
        for agent, condition in document.members(
            fields["when"], where, "agents with their conditions"
        ).items():
            when[agent] = _read_condition(document, condition, (*where, agent))
    stages = None
    if "stages" in fields:
        where = (*path, "stages")
        stages = tuple(
            plain(each) for each in document.items(fields["stages"], where, "a list of stages")
        )
    value = plain(fields["value"]) if "value" in fields else 0.0
    return Entry(when, value, stages)


def _read_condition(document: Document, node: Node, path: Place) -> Condition:
    fields = document.fields(node, path, "a condition", (), ("state", "action", "next"))
    parts: dict[str, Any] = {}
    for part, each in fields.items():
        where = (*path, part)
        if isinstance(each.value, str):
            parts[part] = each.value
        elif isinstance(each.value, list):
            what = "an action" if part == "action" else "a state"
            parts[part] = [
                document.name(name, (*where, k), what) for k, name in enumerate(each.value)
            ]
        elif isinstance(each.value, dict) and part != "action":
            parts[part] = plain(each)
        else:
            wanted = (
                "a name or a list of names"
                if part == "action"
                else ("a name, a list of names, or features")
            )
            hint = "; a name that reads as a number or boolean needs quotes"
            document.fail(where, f"found {each.kind}; expected {wanted}{hint}")
    return Condition(**parts)


def timmdp_to_dict(problem: TIMMDP) -> dict[str, Any]:
    """A TI-MMDP as the keys and values of its format."""
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
    for part in ("state", "action", "next"):
        test = getattr(condition, part)
        if test is not None:
            single = isinstance(test, tuple) and len(test) == 1
            written[part] = test[0] if single else test
    return written
