"""The format ``policy/1``: what everybody does in every joint state. See docs/policy-format.md."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from coreplan.compile import AnyProblem, index_problem
from coreplan.errors import FormatError, ModelError, Problem
from coreplan.formats import problem_to_dict
from coreplan.formats.reading import Document, plain
from coreplan.formats.writing import write_text
from coreplan.indexed import IndexedAgent
from coreplan.maintenance.states import ContractorState
from coreplan.policy import Indices, JointRule, LocalMap, LocalRule, Policy

FORMAT = "policy/1"
MOST_BYTES = 1 << 34
_ARRAYS = ("layer_begin", "node_state", "node_class", "class_count", "action_begin", "node_action")


def problem_hash(problem: AnyProblem) -> str:
    """A fingerprint of everything that a problem's file says."""
    text = json.dumps(problem_to_dict(problem), sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _pack(values: Indices) -> str:
    raw = np.ascontiguousarray(values, dtype="<u4").tobytes()
    return base64.b64encode(zlib.compress(raw, 6)).decode("ascii")


def _unpack(text: object) -> Indices:
    """The array behind a text; a ValueError if there is none."""
    if not isinstance(text, str):
        raise ValueError("expected an array: a base64 text")
    try:
        expander = zlib.decompressobj()
        raw = expander.decompress(base64.b64decode(text, validate=True), MOST_BYTES)
    except (binascii.Error, zlib.error, ValueError):
        raise ValueError("not a zlib-compressed array in base64") from None
    if not expander.eof or len(raw) % 4:
        raise ValueError("an array that is cut off")
    return np.frombuffer(raw, dtype="<u4").astype(np.uint32, copy=False)


def write_policy(policy: Policy, path: str | Path) -> None:
    """Write a policy to a JSON file."""
    agents = []
    for agent, each in zip(policy.indexed.agents, policy.maps, strict=True):
        used, numbers = np.unique(each.node_state, return_inverse=True)
        described: dict[str, Any] = {
            "name": agent.name,
            "states": [agent.states.label(int(state)) for state in used],
            "actions": list(agent.actions),
        }
        for key in _ARRAYS:
            described[key] = _pack(numbers if key == "node_state" else getattr(each, key))
        agents.append(described)
    document: dict[str, Any] = {
        "format": FORMAT,
        "problem": policy.problem.name,
        "problem_sha256": problem_hash(policy.problem),
        "stage": policy.stage,
        "horizon": policy.horizon,
        "history": policy.history,
        "agents": agents,
        "joint": None if policy.joint is None else _pack(policy.joint.actions),
        "local": [_pack(actions) for actions in policy.local.actions],
    }
    start = policy.indexed.name_state([agent.start for agent in policy.indexed.agents])
    document["start"] = {name: _write_state(state) for name, state in start.items()}
    write_text(json.dumps(document, ensure_ascii=False, indent=1) + "\n", path)


def _write_state(state: Any) -> Any:
    if not isinstance(state, ContractorState):
        return state
    written: dict[str, Any] = {"done": list(state.done)}
    if state.doing is not None:
        written |= {"doing": state.doing, "remaining": state.remaining}
    return written


def read_policy(path: str | Path, problem: AnyProblem) -> Policy:
    """Read a policy that was saved for this problem."""
    document = Document.open(path)
    document.check_format(FORMAT)
    keys = ("problem", "problem_sha256", "stage", "horizon", "history", "start", "agents", "joint")
    top = document.fields(document.root, (), "the policy", ("format", *keys, "local"), ())
    if document.problems:
        raise FormatError(document.file, document.problems)
    content = {key: plain(node) for key, node in top.items()}
    if content["problem_sha256"] != problem_hash(problem):
        raise FormatError(document.file, [Problem(
            ("problem_sha256",),
            f"this policy was saved for another problem ({content['problem']!r}), or the problem "
            f"{problem.name!r} has changed since",
        )])
    try:
        return _make_policy(content, problem)
    except (ValueError, KeyError, TypeError, IndexError, ModelError) as error:
        raise FormatError(
            document.file, [Problem((), f"the policy does not fit together: {error}")]
        ) from None


def _make_policy(content: dict[str, Any], problem: AnyProblem) -> Policy:
    stage, horizon, history = content["stage"], content["horizon"], content["history"]
    if horizon != problem.horizon or not isinstance(history, bool):
        raise ValueError("horizon or history is wrong")
    indexed = index_problem(problem, history=history, stage=stage, state=content["start"])
    layers = horizon - stage
    if len(content["agents"]) != len(indexed.agents):
        raise ValueError("the number of agents is wrong")
    maps = [
        _make_map(described, agent, stage, layers)
        for described, agent in zip(content["agents"], indexed.agents, strict=True)
    ]
    joint = None
    if content["joint"] is not None:
        joint = JointRule(_unpack(content["joint"]))
    local = LocalRule(tuple(_unpack(each) for each in content["local"]))
    policy = Policy(problem, indexed, maps, joint, local, history=history)
    _check_rules(policy)
    return policy


def _make_map(described: dict[str, Any], agent: IndexedAgent, stage: int, layers: int) -> LocalMap:
    if described["name"] != agent.name or tuple(described["actions"]) != agent.actions:
        raise ValueError(f"agent {agent.name!r} has other actions")
    arrays = {key: _unpack(described[key]) for key in _ARRAYS}
    layer_begin, node_state = arrays["layer_begin"], arrays["node_state"]
    if len(layer_begin) != layers + 2 or layer_begin[0] != 0 or layer_begin[-1] != len(node_state):
        raise ValueError(f"agent {agent.name!r}: layer_begin is wrong")
    labels = {agent.states.label(k): k for k in range(len(agent.states))}
    numbers = np.array([labels[label] for label in described["states"]], dtype=np.uint32)
    node_state = numbers[node_state]
    # The numbers of states may differ from those when it was saved: sort each layer again.
    order = np.lexsort((node_state, np.repeat(np.arange(layers + 1), np.diff(layer_begin))))
    begin = arrays["action_begin"]
    counts = np.diff(begin)[order]
    if len(begin) != len(node_state) + 1 or begin[-1] != len(arrays["node_action"]):
        raise ValueError(f"agent {agent.name!r}: action_begin is wrong")
    action_begin = np.concatenate([[0], np.cumsum(counts)]).astype(np.uint32)
    actions = [arrays["node_action"][begin[k] : begin[k + 1]] for k in order]
    made = LocalMap(
        layer_begin,
        node_state[order],
        arrays["node_class"][order],
        arrays["class_count"],
        action_begin,
        np.concatenate(actions).astype(np.uint32) if actions else np.zeros(0, np.uint32),
    )
    _check_map(made, agent, stage, layers)
    return made


def _check_map(made: LocalMap, agent: IndexedAgent, stage: int, layers: int) -> None:
    """Every action that the map names must be available where it names it."""
    for layer in range(layers):
        for node in range(int(made.layer_begin[layer]), int(made.layer_begin[layer + 1])):
            available = agent.choices(stage + layer, int(made.node_state[node]))
            actions = made.node_action[made.action_begin[node] : made.action_begin[node + 1]]
            if not len(actions) or any(agent.actions[k] not in available for k in actions):
                raise ValueError(f"agent {agent.name!r}: an action is not available")
            if made.node_class[node] >= made.class_count[layer]:
                raise ValueError(f"agent {agent.name!r}: node_class is wrong")


def _check_rules(policy: Policy) -> None:
    layers = policy.horizon - policy.stage
    for each, actions in zip(policy.maps, policy.local.actions, strict=True):
        if len(each.class_count) != layers + 1 or len(actions) != each.class_count.sum():
            raise ValueError("the local rule has the wrong size")
    if policy.joint is not None and len(policy.joint.actions) != policy.joint_class_count:
        raise ValueError("the joint rule has the wrong size")
