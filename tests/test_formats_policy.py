"""``policy/1``: a saved policy acts as before, and a damaged one is refused."""

from __future__ import annotations

import base64
import json
import tempfile
import tracemalloc
import zlib
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coreplan import TIMMDP, FormatError, MaintenanceProblem, ModelError, Policy, solve
from coreplan.formats import schema
from helpers import from_file, package_state
from judge import Problem, available_actions, joint_states
from strategies import problem_dicts
from team_rules import sparse
from test_formats_problem import ROAD, ROBOTS

ARRAYS = ("layer_begin", "node_state", "node_class", "class_count", "action_begin", "node_action")
SMALL_ROAD: Problem = {
    "format": "mpp/1",
    "horizon": 5,
    "agents": [
        {
            "name": "Alpha",
            "tasks": [
                {
                    "name": "a1",
                    "duration": 1,
                    "cost": 3,
                    "revenue": 20,
                    "delay": {"probability": 0.5, "duration": 1},
                    "window": [0, 2],
                },
                {"name": "a2", "duration": 2, "cost": 1, "revenue": 5},
            ],
        },
        {"name": "Beta", "tasks": [{"name": "b1", "duration": 2, "cost": 1, "revenue": 15}]},
    ],
    "network": [{"tasks": ["Alpha/a1", "Beta/b1"], "cost": 7.5}],
}
RAW: dict[str, Problem] = {"robots": json.loads(ROBOTS), "road": SMALL_ROAD}


def best_policy(problem: TIMMDP | MaintenanceProblem, **options: Any) -> Policy:
    """Solve a problem by dynamic programming: one team, with the classes of the maps."""
    policy = solve(problem, algorithm="dp", **options).policy
    assert policy is not None
    return policy


@cache
def saved(name: str, merge: bool, few: bool = False) -> str:
    """The text of a saved policy of a small problem; with few, of what it can lead to only."""
    policy = best_policy(from_file(RAW[name]), merge=merge)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "policy.json"
        (sparse(policy) if few else policy).save(path)
        return path.read_text(encoding="utf-8")


def load(content: str | bytes | dict[str, Any], name: str) -> Policy:
    """Load a policy of a small problem from a file with this content."""
    if isinstance(content, dict):
        content = json.dumps(content)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "policy.json"
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return Policy.load(path, from_file(RAW[name]))


def check_sound(policy: Policy, raw: Problem) -> None:
    """Check that a policy has an available action in every joint state, and a value."""
    for stage, state in joint_states(raw):
        if stage >= policy.stage:
            chosen = policy.act(stage, package_state(raw, state))
            for action, known in zip(
                chosen.values(), available_actions(raw, stage, state), strict=True
            ):
                assert action in known
    policy.evaluate()


def pack(numbers: Any) -> str:
    """Numbers as a text, as the format has it."""
    raw = np.asarray(numbers, dtype="<u4").tobytes()
    return base64.b64encode(zlib.compress(raw)).decode()


def unpack(text: str) -> list[int]:
    """The numbers behind a text."""
    return np.frombuffer(zlib.decompress(base64.b64decode(text)), "<u4").tolist()


# Save and load


def answer(policy: Policy, stage: int, state: dict[str, Any]) -> dict[str, str] | str:
    """What a policy says, or that it says nothing."""
    try:
        return policy.act(stage, state)
    except ModelError as error:
        return str(error)


@given(
    raw=problem_dicts(max_work=150),
    merge=st.booleans(),
    suffix=st.sampled_from([".json", ".yaml", ""]),
    data=st.data(),
)
def test_policies_survive(raw: Problem, merge: bool, suffix: str, data: st.DataObject) -> None:
    """A saved policy, also of a later situation, acts and is worth the same when it is loaded."""
    problem = from_file(raw)
    situations = list(joint_states(raw))
    stage, start = data.draw(st.sampled_from([situations[0], *situations]))
    policy = best_policy(problem, merge=merge, stage=stage, state=package_state(raw, start))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"policy{suffix}"
        policy.save(path)
        loaded = Policy.load(path, problem)
        if suffix == ".json":
            jsonschema.validate(json.loads(path.read_text()), schema("policy/1"))
        again = Path(folder) / f"again{suffix}"
        loaded.save(again)
        assert again.read_text() == path.read_text()
    assert (loaded.stage, loaded.horizon) == (policy.stage, policy.horizon)
    assert loaded.act(stage) == policy.act(stage)
    for at, state in situations:
        if at >= stage:
            named = package_state(raw, state)
            assert answer(loaded, at, named) == answer(policy, at, named)
    assert loaded.evaluate() == policy.evaluate()


@pytest.mark.parametrize("name", RAW)
def test_a_policy_for_another_problem_is_refused(tmp_path: Path, name: str) -> None:
    """A policy is not loaded for a problem that differs in anything, be it a number."""
    raw = RAW[name]
    path = tmp_path / "policy.json"
    best_policy(from_file(raw)).save(path)
    assert Policy.load(path, from_file(raw)).horizon == raw["horizon"]
    with pytest.raises(
        FormatError, match=r"policy.json:\d+:\d+: problem_sha256: .*another problem"
    ):
        Policy.load(path, from_file({**raw, "horizon": raw["horizon"] + 1}))
    with pytest.raises(FormatError, match="another problem"):
        Policy.load(path, from_file(RAW["robots" if name == "road" else "road"]))


def test_how_a_number_is_written_does_not_matter(tmp_path: Path) -> None:
    """A policy is loaded for the same problem in other words."""
    path = tmp_path / "policy.json"
    best_policy(from_file(SMALL_ROAD)).save(path)
    Policy.load(path, from_file({**SMALL_ROAD, "horizon": 5.0, "must_complete": False}))


# Damage


@pytest.mark.parametrize("merge", [True, False])
@pytest.mark.parametrize("name", RAW)
def test_a_policy_that_is_cut_off_is_refused(name: str, merge: bool) -> None:
    """Any proper beginning of a saved policy gives a FormatError."""
    text = saved(name, merge).rstrip()
    for end in range(0, len(text), max(1, len(text) // 60)):
        with pytest.raises(FormatError):
            load(text[:end], name)


@given(data=st.data(), name=st.sampled_from(sorted(RAW)), merge=st.booleans())
def test_damaged_files_are_refused_or_sound(data: st.DataObject, name: str, merge: bool) -> None:
    """A saved policy with random changes is refused by a FormatError, or is sound."""
    content = bytearray(saved(name, merge).encode())
    for _ in range(data.draw(st.integers(1, 3))):
        position = data.draw(st.integers(0, len(content) - 1))
        content[position] = data.draw(
            st.integers(0, 255) | st.sampled_from(b'0123456789AZaz{}[]",:')
        )
    try:
        policy = load(bytes(content), name)
    except FormatError:
        return
    check_sound(policy, RAW[name])


def damage(data: st.DataObject, numbers: list[int]) -> list[int]:
    """Change, swap, add or remove some numbers."""
    numbers = list(numbers)
    small = st.integers(0, 6) | st.integers(0, 2**32 - 1)
    for _ in range(data.draw(st.integers(1, 3))):
        kind = data.draw(st.sampled_from(["change", "change", "change", "swap", "add", "remove"]))
        if kind == "add" or not numbers:
            numbers.insert(data.draw(st.integers(0, len(numbers))), data.draw(small))
            continue
        position = data.draw(st.integers(0, len(numbers) - 1))
        if kind == "change":
            numbers[position] = data.draw(small)
        elif kind == "swap":
            other = data.draw(st.integers(0, len(numbers) - 1))
            numbers[position], numbers[other] = numbers[other], numbers[position]
        else:
            del numbers[position]
    return numbers


@pytest.mark.parametrize("few", [False, True])
@given(data=st.data(), name=st.sampled_from(sorted(RAW)), merge=st.booleans())
def test_damaged_arrays_are_refused_or_sound(
    data: st.DataObject, few: bool, name: str, merge: bool
) -> None:
    """A policy with changed arrays is refused by a FormatError, or is sound."""
    document = json.loads(saved(name, merge, few))
    team = document["teams"][0]
    for _ in range(data.draw(st.integers(1, 2))):
        key = data.draw(st.sampled_from(["joint", "local", *ARRAYS, *(["low", "high"] * few)]))
        if key in ("joint", "low", "high"):
            inside, place = (team, "actions") if key == "joint" else (team["numbers"], key)
            inside[place] = pack(damage(data, unpack(inside[place])))
            continue
        i = data.draw(st.integers(0, 1))
        inside, place = (document["local"], i) if key == "local" else (document["agents"][i], key)
        inside[place] = pack(damage(data, unpack(inside[place])))
    try:
        policy = load(document, name)
    except FormatError:
        return
    check_sound(policy, RAW[name])


@given(
    data=st.data(),
    name=st.sampled_from(sorted(RAW)),
    junk=st.sampled_from(
        [None, True, 0, 1, -1, 1.5, 10**30, "", "x", [], {}, [None], [[]], {"a": 1}, "eJw="]
    ),
)
def test_replaced_parts_are_refused_or_sound(data: st.DataObject, name: str, junk: Any) -> None:
    """A policy in which any part is replaced by anything is refused, or is sound."""
    document = json.loads(saved(name, True, few=data.draw(st.booleans())))
    places = [(document, key) for key in document if key not in ("format", "problem_sha256")]
    places += [(each, key) for each in document["agents"] for key in each]
    places += [(each, key) for each in document["teams"] for key in each]
    places += [
        (each["numbers"], key) for each in document["teams"] for key in each.get("numbers", ())
    ]
    places += [(each["states"], 0) for each in document["agents"]]
    places += [(each["actions"], 0) for each in document["agents"]]
    places += [(document["start"], key) for key in document["start"]]
    inside, key = data.draw(st.sampled_from(places))
    if data.draw(st.booleans()):
        inside[key] = junk
    else:
        del inside[key]
    try:
        policy = load(document, name)
    except FormatError:
        return
    check_sound(policy, RAW[name])


def one_team(actions: object, agents: list[int] | None = None) -> dict[str, Any]:
    """The part of a policy for one team (by default of both agents) with its own classes."""
    return {"teams": [{"agents": agents or [0, 1], "actions": actions, "reduced": None}]}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"horizon": 4}, "horizon is 4"),
        ({"horizon": True}, "horizon is true"),
        ({"history": 0}, "history is 0"),
        ({"history": True}, "the states of stage|policy is inconsistent"),
        ({"stage": 1}, "policy is inconsistent"),
        ({"stage": -1}, "stage is -1"),
        ({"stage": 0.5}, "stage is 0.5"),
        ({"agents": []}, "found 0 agents; the problem has"),
        ({"local": []}, "policy is inconsistent"),
        (one_team(pack([1])), "team rule: expected an array"),
        (one_team("%%%"), "team rule: not a zlib-compressed array"),
        (one_team(7), "team rule: expected an array"),
        (one_team(pack([1]), agents=[0, 0]), "in two teams"),
        (one_team(pack([1]), agents=[5]), "names an unknown agent"),
        ({"start": {}}, "the joint state lacks agent"),
        ({"start": {"Alpha": {"done": ["b1"]}, "Beta": {}}}, "no work 'b1'"),
        ({"start": {"Alpha": {"done": ["a1"]}, "Beta": {}}}, "policy is inconsistent"),
        ({"extra": 1}, "no key 'extra'"),
    ],
)
def test_what_does_not_fit_is_named(change: dict[str, Any], words: str) -> None:
    """Where a part does not fit the problem, the error says which."""
    with pytest.raises(FormatError, match=words):
        load({**json.loads(saved("road", True)), **change}, "road")


def test_rules_must_name_actions_that_there_are() -> None:
    """A rule with an action number that is too large is refused."""
    document = json.loads(saved("road", True))
    joint = unpack(document["teams"][0]["actions"])
    for bad in ([2**32 - 1, *joint[1:]], [*joint[:-1], 1000]):
        with pytest.raises(FormatError, match="a team rule names an unknown joint action"):
            load({**document, **one_team(pack(bad))}, "road")
    local = [unpack(text) for text in document["local"]]
    local[1][0] = 9
    with pytest.raises(FormatError, match="the local rule names an unknown action"):
        load({**document, "local": [pack(each) for each in local]}, "road")


def test_rules_for_all_joint_classes_have_no_numbers() -> None:
    """Files from before there were numbers, and files with null in their place, are the same."""
    document = json.loads(saved("road", True))
    assert list(document["teams"][0]) == ["agents", "actions", "reduced"]
    document["teams"][0]["numbers"] = None
    jsonschema.validate(document, schema("policy/1"))
    old, new = (load(each, "road") for each in (saved("road", True), document))
    for stage, state in joint_states(SMALL_ROAD):
        named = package_state(SMALL_ROAD, state)
        assert old.act(stage, named) == new.act(stage, named)
    few = json.loads(saved("road", True, few=True))
    jsonschema.validate(few, schema("policy/1"))
    assert few["teams"][0]["numbers"]["count"] < len(unpack(document["teams"][0]["actions"]))


def changed(numbers: dict[str, Any], **change: Any) -> dict[str, Any]:
    """The numbers of a team's joint classes with some parts replaced, or left out by None."""
    return {key: each for key, each in {**numbers, **change}.items() if each is not None}


def test_numbers_must_fit() -> None:
    """The numbers of joint classes must be as many as told, in order, and of classes there are."""
    document = json.loads(saved("road", True, few=True))
    team = document["teams"][0]
    numbers, actions = team["numbers"], unpack(team["actions"])
    count, low = numbers["count"], unpack(numbers["low"])
    assert count == len(actions) == len(low) > 2
    for wrong, words in (
        (changed(numbers, count=None), "count"),
        (changed(numbers, low=None), "low"),
        (changed(numbers, count=-1), "found -1; expected a whole number"),
        (changed(numbers, count=True), "found True; expected a whole number"),
        (changed(numbers, count=10**30), "expected a whole number from 0 to"),
        (changed(numbers, count=49_999_999), "low: expected an array of 49999999 numbers"),
        (changed(numbers, count=count + 1), f"low: expected an array of {count + 1} numbers"),
        (changed(numbers, low=pack(low[1:])), f"low: expected an array of {count} numbers"),
        (changed(numbers, high=pack([0])), f"high: expected an array of {count} numbers"),
        (changed(numbers, high=7), "high: expected an array"),
        (changed(numbers, low=pack(low[::-1])), "not in ascending order"),
        (changed(numbers, low=pack([low[0], low[0], *low[2:]])), "not in ascending order"),
        (changed(numbers, high=pack([1] + [0] * (count - 1))), "not in ascending order"),
        (changed(numbers, high=pack([0] * (count - 1) + [1])), "an unknown joint class"),
        (changed(numbers, low=pack([*low[:-1], 2**32 - 1])), "an unknown joint class"),
        (7, "policy is inconsistent"),
        ([], "policy is inconsistent"),
        ("x", "policy is inconsistent"),
    ):
        with pytest.raises(FormatError, match=words):
            load({**document, "teams": [{**team, "numbers": wrong}]}, "road")
    for bad in (actions[1:], [*actions, 1]):
        with pytest.raises(FormatError, match=f"team rule: expected an array of {count} numbers"):
            load({**document, "teams": [{**team, "actions": pack(bad)}]}, "road")
    for position in range(count):
        bad = [*actions[:position], 1000, *actions[position + 1 :]]
        with pytest.raises(FormatError, match="a team rule names an unknown joint action"):
            load({**document, "teams": [{**team, "actions": pack(bad)}]}, "road")


def test_each_joint_class_has_its_own_joint_actions() -> None:
    """By numbers or without, an entry is measured by the joint actions of its joint class."""
    document = json.loads(saved("road", True))
    team = document["teams"][0]
    zeros = [0] * len(unpack(team["actions"]))

    def accepted(number: int, entry: int) -> bool:
        dense = {**team, "actions": pack([*zeros[:number], entry, *zeros[number + 1 :]])}
        numbers = {"count": 1, "low": pack([number]), "high": pack([0])}
        answers = []
        for each in (dense, {**team, "actions": pack([entry]), "numbers": numbers}):
            try:
                load({**document, "teams": [each]}, "road")
            except FormatError as error:
                assert "an unknown joint action" in str(error)
                answers.append(False)
            else:
                answers.append(True)
        assert answers[0] == answers[1]
        return answers[0]

    most = []
    for number in range(len(zeros)):
        entry = 1
        while accepted(number, entry + 1):
            entry += 1
        most.append(entry)
    assert len(set(most)) > 2


def test_arrays_that_expand_without_end_are_not_expanded() -> None:
    """A short text that stands for 200 megabytes is refused with little memory taken."""
    one = zlib.compressobj(9)
    chunk = one.compress(bytes(1 << 20))
    bomb = chunk + b"".join(one.compress(bytes(1 << 20)) for _ in range(200)) + one.flush()
    text = base64.b64encode(bomb).decode()
    document = json.loads(saved("road", True))
    tracemalloc.start()
    for key in ARRAYS:
        damaged = json.loads(json.dumps(document))
        damaged["agents"][0][key] = text
        with pytest.raises(FormatError, match="expected an array of"):
            load(damaged, "road")
    with pytest.raises(FormatError, match="expected an array of"):
        load({**document, **one_team(text)}, "road")
    team = json.loads(saved("road", True, few=True))["teams"][0]
    for key in ("low", "high"):
        numbers = changed(team["numbers"], **{key: text})
        with pytest.raises(FormatError, match="expected an array of"):
            load({**document, "teams": [{**team, "numbers": numbers}]}, "road")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20_000_000


def test_a_policy_without_a_joint_rule_falls_back_to_the_local_one() -> None:
    """Where the joint rule knows nothing, or is missing, every agent follows its own rule."""
    document = json.loads(saved("road", True))
    zeros = pack([0] * len(unpack(document["teams"][0]["actions"])))
    without = load({**document, "teams": []}, "road")
    unknowing = load({**document, **one_team(zeros)}, "road")
    check_sound(without, SMALL_ROAD)
    for stage, state in joint_states(SMALL_ROAD):
        named = package_state(SMALL_ROAD, state)
        assert without.act(stage, named) == unknowing.act(stage, named)
    assert without.evaluate() == pytest.approx(unknowing.evaluate())


def test_not_a_policy(tmp_path: Path) -> None:
    """A file of another format, a missing file and a problem are no policies."""
    path = tmp_path / "road.json"
    path.write_text(ROAD)
    with pytest.raises(FormatError, match="expected policy/1"):
        Policy.load(path, from_file(SMALL_ROAD))
    with pytest.raises(FormatError, match="No such file"):
        Policy.load(tmp_path / "none.json", from_file(SMALL_ROAD))
