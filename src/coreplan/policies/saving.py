"""Reading and writing policies in the format ``policy/1``. See docs/policy-format.md."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from coreplan.errors import ModelError
from coreplan.files.reading import Document
from coreplan.files.writing import write_document
from coreplan.model.indexed import IndexedAgent
from coreplan.model.problem import PlanningProblem, index_problem, problem_hash
from coreplan.model.values import plain_state
from coreplan.policies.group_rule import GroupRule
from coreplan.policies.rules import Indices, LocalMap, LocalRule
from coreplan.policies.saved_arrays import pack, unpack
from coreplan.policies.saved_groups import read_groups, write_groups
from coreplan.policies.saved_lookahead import read_ahead, write_ahead
from coreplan.policies.saved_teams import read_teams, write_teams
from coreplan.support.checks import found

if TYPE_CHECKING:
    from coreplan.policies.policy import Policy

_Policy = TypeVar("_Policy", bound="Policy")

FORMAT = "policy/1"
_BROKEN = (ValueError, KeyError, TypeError, IndexError, AttributeError, OverflowError, ModelError)
"""The exceptions that invalid content can cause."""
_ARRAYS = ("layer_begin", "node_state", "node_class", "class_count", "action_begin", "node_action")


def write_policy(policy: Policy, path: str | Path) -> None:
    """Write a policy to a file, in JSON, or in YAML if the name ends in .yaml or .yml."""
    write_document(policy_to_dict(policy), path)


def policy_to_dict(policy: Policy) -> dict[str, Any]:
    """Turn a policy into plain dicts, lists, texts and numbers."""
    policy = policy.stored()
    agents = []
    for agent, each in zip(policy.indexed.agents, policy.maps, strict=True):
        used, numbers = np.unique(each.node_state, return_inverse=True)
        described: dict[str, Any] = {
            "name": agent.name,
            "states": [agent.states.label(int(state)) for state in used],
            "actions": list(agent.actions),
        }
        for key in _ARRAYS:
            described[key] = pack(numbers if key == "node_state" else getattr(each, key))
        agents.append(described)
    start = policy.indexed.name_state([agent.start for agent in policy.indexed.agents])
    written = {
        "format": FORMAT,
        "problem": policy.problem.name,
        "problem_sha256": problem_hash(policy.problem),
        "stage": policy.stage,
        "horizon": policy.horizon,
        "history": policy.history,
        "start": plain_state(start),
        "agents": agents,
        "teams": write_teams(policy.teams),
        "groups": None if policy.groups is None else write_groups(policy.groups),
        "local": [pack(actions) for actions in policy.local.actions],
    }
    if policy.ahead:
        written["lookahead"] = write_ahead(policy.ahead)
    return written


def make_policy(
    document: Document, problem: PlanningProblem, make: Callable[..., _Policy]
) -> _Policy:
    """Make a policy from a document, or raise a FormatError with all mistakes."""
    document.check_format(FORMAT)
    keys = ("problem", "problem_sha256", "stage", "horizon", "history", "start", "agents", "teams")
    required = ("format", *keys, "groups", "local")
    content = document.fields(document.root, (), "the policy", required, ("lookahead",))
    if document.problems:
        raise document.error()
    if content["problem_sha256"] != problem_hash(problem):
        document.fail(
            ("problem_sha256",),
            f"this policy belongs to another problem ({found(content['problem'])}), or problem "
            f"{found(problem.name)} has changed since it was saved",
        )
        raise document.error()
    try:
        return _make_policy(content, problem, make)
    except _BROKEN as error:
        document.fail((), f"the policy is inconsistent: {error}")
        raise document.error() from None


def _make_policy(
    content: dict[str, Any], problem: PlanningProblem, make: Callable[..., _Policy]
) -> _Policy:
    stage, horizon, history = content["stage"], content["horizon"], content["history"]
    if isinstance(horizon, bool) or horizon != problem.horizon:
        raise ValueError(f"horizon is {found(horizon)}; the problem has {problem.horizon}")
    if not isinstance(history, bool):
        raise ValueError(f"history is {found(history)}; expected true or false")
    indexed = index_problem(problem, history=history, stage=stage, state=content["start"])
    if len(content["agents"]) != len(indexed.agents):
        raise ValueError(
            f"found {len(content['agents'])} agents; the problem has {len(indexed.agents)}"
        )
    maps = [
        _make_map(described, agent, stage, problem.horizon - stage)
        for described, agent in zip(content["agents"], indexed.agents, strict=True)
    ]
    local = LocalRule(
        tuple(
            unpack(text, int(each.class_count.sum()), f"local rule of agent {found(agent.name)}")
            for text, agent, each in zip(content["local"], indexed.agents, maps, strict=True)
        )
    )
    teams = read_teams(content["teams"], maps, problem.horizon - stage)
    groups: GroupRule | None = None
    if content["groups"] is not None:
        groups = read_groups(content["groups"], maps, problem.horizon - stage, problem.horizon)
    ahead = read_ahead(content.get("lookahead") or [], maps, stage, problem.horizon)
    policy = make(problem, indexed, maps, teams, local, history=history, groups=groups, ahead=ahead)
    _check_local_rule(policy)
    return policy


def _make_map(described: dict[str, Any], agent: IndexedAgent, stage: int, layers: int) -> LocalMap:
    whose = f"agent {found(agent.name)}"
    if described["name"] != agent.name or tuple(described["actions"]) != agent.actions:
        raise ValueError(f"{whose} has another name or other actions in the file")

    def array(key: str, length: int) -> Indices:
        return unpack(described[key], length, f"{key} of {whose}")

    def begin_array(key: str, length: int, most: int) -> Indices:
        begin = array(key, length)
        if begin[0] != 0 or begin[-1] > most or np.any(begin[1:] < begin[:-1]):
            raise ValueError(f"{key} of {whose} is not an ascending list of positions from 0")
        return begin

    layer_begin = begin_array("layer_begin", layers + 2, (layers + 1) * len(agent.states))
    nodes = int(layer_begin[-1])
    labels = {agent.states.label(k): k for k in range(len(agent.states))}
    numbers = np.array([labels[label] for label in described["states"]], dtype=np.uint32)
    node_state = numbers[array("node_state", nodes)]
    begin = begin_array("action_begin", nodes + 1, nodes * len(agent.actions))
    node_action = array("node_action", int(begin[-1]))
    # The numbers of states may have changed since the policy was saved: sort each layer again.
    order = np.lexsort((node_state, np.repeat(np.arange(layers + 1), np.diff(layer_begin))))
    counts = np.diff(begin)[order]
    action_begin = np.concatenate([[0], np.cumsum(counts)]).astype(np.uint32)
    # The old positions of the actions of the nodes in their new order.
    moved = np.repeat(begin[:-1][order].astype(np.int64) - action_begin[:-1], counts)
    made = LocalMap(
        layer_begin,
        node_state[order],
        array("node_class", nodes)[order],
        array("class_count", layers + 1),
        action_begin,
        node_action[moved + np.arange(len(node_action))],
    )
    _check_map(made, agent, stage, layers)
    return made


def _check_map(made: LocalMap, agent: IndexedAgent, stage: int, layers: int) -> None:
    """Check that a map has all states that can be reached, and only available actions."""
    whose = f"agent {found(agent.name)}"
    counts = np.diff(made.action_begin)
    reached = {agent.start}
    for layer in range(layers + 1):
        nodes = slice(int(made.layer_begin[layer]), int(made.layer_begin[layer + 1]))
        states = made.node_state[nodes].tolist()
        if states != sorted(reached):
            raise ValueError(
                f"{whose}: the states of stage {stage + layer} are not those that can be reached"
            )
        classes = made.node_class[nodes]
        used = np.unique(classes)
        if len(used) != made.class_count[layer] or used[-1] >= len(used):
            raise ValueError(f"{whose}: the classes of stage {stage + layer} have wrong numbers")
        if layer == layers:
            return
        by_class = np.zeros(len(states), np.uint32)
        by_class[classes] = counts[nodes]
        if np.any(counts[nodes] == 0) or np.any(by_class[classes] != counts[nodes]):
            raise ValueError(f"{whose}: states of one class have different numbers of actions")
        reached = set()
        for node, state in enumerate(states, nodes.start):
            available = agent.choices(stage + layer, state)
            actions = made.node_action[made.action_begin[node] : made.action_begin[node + 1]]
            if any(agent.actions[k] not in available for k in actions):
                raise ValueError(
                    f"{whose}: the file lists an unavailable action at stage {stage + layer}"
                )
            for choice in available.values():
                reached.update(after for _, after, _ in agent.outcomes(choice))


def _check_local_rule(policy: Policy) -> None:
    """Check that the local rule names known actions."""
    for each, actions in zip(policy.maps, policy.local.actions, strict=True):
        counts = each.actions_of_classes()[: policy.horizon - policy.stage]
        begin = 0
        for row in counts:
            if np.any(actions[begin : begin + len(row)] >= row):
                raise ValueError("the local rule names an unknown action")
            begin += len(row)
