"""Rules of groups: decisions, files, exact values and estimates."""

from __future__ import annotations

import base64
import json
import tempfile
import zlib
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import event, given
from hypothesis import strategies as st

import coreplan.policies.evaluation
import judge
from certificates import make_certificate
from coreplan import (
    Contractor,
    Delay,
    FormatError,
    Hindrance,
    MaintenanceProblem,
    ModelError,
    Policy,
    SolverError,
    Task,
    solve,
)
from coreplan.policies.evaluation import evaluate_entries, evaluate_policy
from coreplan.policies.group_rule import GroupRule, GroupTable
from coreplan.policies.rules import LocalRule
from coreplan.policies.saved_arrays import pack
from coreplan.proof.certificate import read_certificate, write_certificate
from coreplan.proof.verify import verify
from group_rules import groups_of, make_rule, random_groups, split_teams, with_groups, write_lists
from helpers import agrees, from_file, judged_policy_value, package_state, random_mpp, scale
from strategies import problem_dicts
from team_rules import random_team
from test_policy import crowd, policy_of, with_local_rule
from test_team_rule import saved_and_loaded

seeds = st.integers(0, 2**32)


class Never(coreplan.policies.evaluation._NotApartError):
    """What must not be raised."""

    def __init__(self, agents: tuple[int, ...], reason: str) -> None:
        raise AssertionError(f"agents {agents} are taken as a whole: {reason}")


def evaluate_by_groups(policy: Policy, most: int = 5_000_000) -> float:
    """The value of a policy whose groups hold what they promise."""
    with mock.patch.object(coreplan.policies.evaluation, "_NotApartError", Never):
        return evaluate_policy(policy, most=most)


# -- the same decisions, in groups ------------------------------------------------------------


@given(raw=problem_dicts(max_work=500), data=st.data())
def test_an_optimal_team_may_decide_in_groups(raw: dict[str, Any], data: st.DataObject) -> None:
    """If groups do what the whole team would, the value is the same, in files and estimates too."""
    problem = from_file(raw)
    stage, state = data.draw(st.sampled_from(list(judge.joint_states(raw))))
    merge = raw["format"] == "mpp/1" or data.draw(st.booleans())
    result = solve(
        problem,
        algorithm="core",
        merge=merge,
        eliminate=data.draw(st.booleans()),
        stage=stage,
        state=package_state(raw, state),
    )
    assert result.policy is not None
    teams = [
        team for team in result.policy.teams if len(team.agents) == 1 or data.draw(st.booleans())
    ]
    policy = split_teams(result.policy, teams)
    event(f"{len(policy.teams)} teams, {len(policy.groups.components)} parts with groups")  # type: ignore[union-attr]
    assert sorted(i for part in policy.parts for i in part) == list(range(len(policy.maps)))
    value = evaluate_by_groups(policy)
    close = pytest.approx(value, rel=1e-11, abs=1e-12 * scale(raw))
    assert agrees(value, result.value)
    assert evaluate_policy(policy, parts=[range(len(policy.maps))]) == close
    assert judged_policy_value(raw, policy, state) == close
    assert policy.evaluate("sequences") == close
    total, added = evaluate_entries(policy)
    assert total == value
    assert sum(added) == close
    loaded = saved_and_loaded(policy, data.draw(st.sampled_from([".json", ".yaml"])))
    assert loaded.evaluate() == value
    assert loaded.estimate(20, 3) == policy.estimate(20, 3)
    for t, joint in judge.joint_states(raw):
        named = package_state(raw, joint)
        try:
            expected = policy.act(t, named)
        except ModelError:  # before the policy starts, or out of its reach
            continue
        assert loaded.act(t, named) == expected


@given(raw=problem_dicts(max_work=500), data=st.data(), seed=seeds)
def test_any_groups_are_worth_the_judges_value(
    raw: dict[str, Any], data: st.DataObject, seed: int
) -> None:
    """Whatever groups do, as long as lists are true, the value is found group by group."""
    stage, state = data.draw(st.sampled_from(list(judge.joint_states(raw))))
    merge = raw["format"] == "mpp/1" or data.draw(st.booleans())  # the judge keeps no times
    policy = policy_of(from_file(raw), merge=merge, stage=stage, state=package_state(raw, state))
    policy = random_groups(policy, Random(seed))
    assert policy.groups is not None
    event(f"tables for {sorted({len(table.agents) for table in policy.groups.tables})} agents")
    value = evaluate_by_groups(policy)
    close = pytest.approx(value, rel=1e-11, abs=1e-12 * scale(raw))
    assert judged_policy_value(raw, policy, state) == close
    total, added = evaluate_entries(policy)
    assert total == value
    assert sum(added) == close
    loaded = saved_and_loaded(policy)
    assert loaded.evaluate() == value
    for t, joint in judge.joint_states(raw):
        named = package_state(raw, joint)
        try:
            expected = policy.act(t, named)
        except ModelError:  # before the policy starts, or out of its reach
            continue
        assert loaded.act(t, named) == expected


@pytest.mark.parametrize("eliminate", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_teams_in_which_much_hinders_much(seed: int, eliminate: bool) -> None:
    """Where agents are together for long, groups are worth what all joint states are, too."""
    raw = random_mpp(4, 2, 7, seed)
    result = solve(from_file(raw), algorithm="core", eliminate=eliminate)
    assert result.policy is not None
    policy = split_teams(result.policy, result.policy.teams)
    value = evaluate_by_groups(policy)
    assert value == pytest.approx(result.value, rel=1e-12)
    assert evaluate_policy(policy, parts=[range(4)]) == pytest.approx(value, rel=1e-13)


@pytest.mark.parametrize("algorithm", ["crg-ps", "core-2016"])
@given(raw=problem_dicts(max_work=500), merge=st.booleans())
def test_the_published_algorithms_hold_what_they_promise(
    algorithm: str, raw: dict[str, Any], merge: bool
) -> None:
    """Their policies can be evaluated group by group, and are worth what the search says."""
    result = solve(from_file(raw), algorithm=algorithm, merge=merge)
    assert result.policy is not None
    assert agrees(evaluate_by_groups(result.policy), result.value)


@given(raw=problem_dicts(max_work=500), seed=seeds)
def test_groups_are_what_the_definition_says(raw: dict[str, Any], seed: int) -> None:
    """Who belongs together, in all situations at once, is what a plain search for links finds."""
    random = Random(seed)
    policy = random_groups(policy_of(from_file(raw)), random)
    rule = policy.groups
    assert rule is not None and rule.reduced is not None
    agents = sorted(rule.agents)
    for layer in range(policy.horizon - policy.stage):
        sizes = [int(rule.reduced[i].class_count[layer]) for i in agents]
        rows = [[random.randrange(size) for size in sizes] for _ in range(5)]
        lists = [
            rule.chances[i]
            .list_of[int(rule.reduced[i].class_count[:layer].sum()) + np.array(column)]
            .astype(np.int64)
            for i, column in zip(agents, zip(*rows, strict=True), strict=True)
        ]
        if not agents:
            continue
        first = rule.couplings.together(agents, lists)
        for row, classes in enumerate(rows):
            groups = groups_of(rule, layer, dict(zip(agents, classes, strict=True)))
            expected = {i: min(group) for group in groups for i in group}
            assert [agents[k] for k in first[:, row]] == [expected[i] for i in agents]


@given(raw=problem_dicts(max_work=500))
def test_certificates_may_have_rules_of_groups(raw: dict[str, Any]) -> None:
    """In a certificate such a policy is written, read and proven to be worth its value."""
    problem = from_file(raw)
    certificate = make_certificate(problem, algorithm="core")
    assert certificate.policy is not None
    policy = split_teams(certificate.policy, certificate.policy.teams)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "certificate.json"
        write_certificate(replace(certificate, policy=policy), path)
        loaded = read_certificate(path, problem)
    found = verify(problem, loaded)
    expected = judged_policy_value(raw, policy)
    assert found.lower == pytest.approx(expected, rel=1e-9, abs=1e-9 * scale(raw))
    assert found.lower is not None and found.lower <= expected + 1e-13 * scale(raw)


# -- rules that promise too much --------------------------------------------------------------


@given(raw=problem_dicts(max_work=500), data=st.data(), seed=seeds)
def test_wrong_lists_do_not_make_values_wrong(
    raw: dict[str, Any], data: st.DataObject, seed: int
) -> None:
    """Whatever lists, events and decisions a rule has, its value is that of all joint states."""
    random = Random(seed)
    policy = random_groups(policy_of(from_file(raw), merge=raw["format"] == "mpp/1"), random)
    rule = policy.groups
    assert rule is not None and rule.reduced is not None
    damage = data.draw(st.sets(st.sampled_from(["lists", "events", "tables", "classes"])))
    chances, events, tables, reduced = rule.chances, rule.events, rule.tables, rule.reduced
    if "lists" in damage:
        chances = tuple(
            replace(
                each,
                list_of=np.array(
                    [
                        random.randrange(len(each.list_begin) - 1) if random.random() < 0.5 else k
                        for k in each.list_of
                    ],
                    np.uint32,
                ),
            )
            for each in chances
        )
    if "events" in damage:
        events = tuple(each for each in events if random.random() < 0.7)
    if "tables" in damage:
        tables = tuple(each for each in tables if random.random() < 0.7)
    if "classes" in damage:
        reduced = tuple(
            replace(
                each,
                class_of=np.where(
                    [random.random() < 0.2 for _ in each.class_of], 0xFFFF_FFFF, each.class_of
                ).astype(np.uint32),
            )
            for each in reduced
        )
    wrong = with_groups(policy, (), GroupRule(chances, events, tables, reduced))
    value = wrong.evaluate()
    close = pytest.approx(value, rel=1e-11, abs=1e-12 * scale(raw))
    assert evaluate_policy(wrong, parts=[range(len(policy.maps))]) == close
    assert judged_policy_value(raw, wrong) == close
    if "classes" not in damage:  # a file must not have decisions for classes without states
        assert saved_and_loaded(wrong).evaluate() == value
    try:
        evaluate_by_groups(wrong)
        event("in groups")
    except AssertionError:
        event("as a whole")


def test_lists_that_say_nothing_are_not_believed() -> None:
    """A rule that says that nobody can interact is evaluated as a whole, and rightly."""
    raw = random_mpp(3, 1, 5)
    policy = policy_of(from_file(raw), algorithm="core-2016")
    assert policy.groups is not None
    empty = tuple(write_lists([frozenset()] * len(each.list_of)) for each in policy.groups.chances)
    wrong = with_groups(policy, (), replace(policy.groups, chances=empty))
    with pytest.raises(AssertionError, match="misses an interaction"):
        evaluate_by_groups(wrong)
    assert wrong.evaluate() == pytest.approx(judged_policy_value(raw, wrong), rel=1e-12)
    assert wrong.evaluate() == pytest.approx(with_local_rule(policy).evaluate(), rel=1e-12)


def two_walkers(chance: float, stages: list[int]) -> dict[str, Any]:
    """Two agents that leave home sooner or later, and earn while both are there, as raw problem."""
    leave = {"home": {"go": {"home": 0.5, "there": chance}}, "there": {"go": {"there": 1}}}
    agents = [{"name": name, "initial": "home", "transitions": leave} for name in "ab"]
    together = {"a": {"state": "home"}, "b": {"state": "home"}}
    rewards = [
        {"scope": ["a", "b"], "entries": [{"when": together, "value": 1, "stages": stages}]},
        {"scope": ["a"], "entries": [{"when": {"a": {"state": "there"}}, "value": 1e3}]},
    ]
    return {"format": "ti-mmdp/1", "horizon": 3, "agents": agents, "rewards": rewards}


def test_chances_that_do_not_add_up_are_counted_as_a_whole() -> None:
    """Where probabilities add up to a little less than 1, groups are not taken apart."""
    raw = two_walkers(0.5 - 4e-10, [0, 1, 2])
    policy = policy_of(from_file(raw), merge=False)
    policy = with_groups(policy, (), make_rule(policy, [[0, 1]], {}))
    with pytest.raises(AssertionError, match="do not add up to 1"):
        evaluate_by_groups(policy)
    assert policy.evaluate() == pytest.approx(judged_policy_value(raw, policy), rel=1e-14)


def test_agents_that_come_together_again_are_counted_as_a_whole() -> None:
    """A rule that takes agents apart for a stage and together again is not believed."""
    raw = two_walkers(0.5, [0, 2])
    policy = policy_of(from_file(raw), merge=False)
    rule = make_rule(policy, [[0, 1]], {})
    assert agrees(
        evaluate_by_groups(with_groups(policy, (), rule)), judged_policy_value(raw, policy)
    )
    apart = []
    for each in rule.chances:
        list_of = each.list_of.copy()
        list_of[1:3] = 0  # at stage 1
        apart.append(replace(each, list_of=list_of))
    wrong = with_groups(policy, (), replace(rule, chances=tuple(apart)))
    with pytest.raises(AssertionError, match="list grows"):
        evaluate_by_groups(wrong)
    assert wrong.evaluate() == pytest.approx(judged_policy_value(raw, wrong), rel=1e-14)


# -- many agents ------------------------------------------------------------------------------


def tree(agents: int, parent: int, horizon: int = 6) -> MaintenanceProblem:
    """Agent k is hindered by agent k // parent (from 1); all works may be delayed."""
    contractors = [
        Contractor(
            f"C{k}",
            (Task("w", 1, 3.0 + k % 5, revenue=100.0, delay=Delay(0.3 + 0.01 * k, 1 + k % 2)),),
        )
        for k in range(1, agents + 1)
    ]
    network = [
        Hindrance((f"C{k}/w", f"C{k // parent if parent > 1 else k - 1}/w"), 20.0 + k)
        for k in range(2, agents + 1)
    ]
    return MaintenanceProblem(contractors, horizon, network)


@pytest.mark.parametrize(("agents", "parent", "most"), [(15, 2, 1000), (60, 1, 2000)])
def test_trees_are_evaluated_in_groups(agents: int, parent: int, most: int) -> None:
    """Where agents interact along a tree, only those that still can are looked at together."""
    problem = tree(agents, parent)
    local = policy_of(problem, memory_limit=50)
    # All start at once: the joint states of all agents are beyond reach.
    eager = LocalRule(
        tuple(
            np.concatenate(
                [_first_start(local, i, layer) for layer in range(problem.horizon + 1)]
            ).astype(np.uint32)
            for i in range(agents)
        )
    )
    # Every fifth agent waits first: by its own rule, or by a decision of all of them.
    waiting = [rule.copy() for rule in eager.actions]
    for i in range(0, agents, 5):
        waiting[i][0] = 1 - waiting[i][0]
    alone = with_local_rule(local, LocalRule(tuple(waiting)))
    everyone = tuple(range(agents))
    first = {(0, everyone, (0,) * agents): tuple(int(rule[0]) for rule in waiting)}
    policy = with_local_rule(local, eager)
    grouped = with_groups(policy, (), make_rule(policy, [everyone], first))
    assert grouped.parts == [everyone]
    assert grouped.act(0) == alone.act(0) != policy.act(0)
    value = evaluate_by_groups(grouped, most)
    assert value == pytest.approx(alone.evaluate(), rel=1e-12)
    with pytest.raises(SolverError, match="joint states"):
        evaluate_policy(grouped, parts=[everyone], most=most)
    estimate = grouped.estimate(2000, 1, 0.9999)
    assert estimate.low <= value <= estimate.high


def _first_start(policy: Policy, agent: int, layer: int) -> Any:
    """Per class of a layer: the position of an action that starts something, if there is one."""
    each, who = policy.maps[agent], policy.indexed.agents[agent]
    positions = np.zeros(int(each.class_count[layer]), np.int64)
    for node in range(int(each.layer_begin[layer]), int(each.layer_begin[layer + 1])):
        begin, end = each.action_begin[node : node + 2]
        names = [who.actions[action] for action in each.node_action[begin:end]]
        starts = [k for k, name in enumerate(names) if name.startswith("start")]
        positions[each.node_class[node]] = starts[0] if starts else 0
    return positions


# -- what fits together -----------------------------------------------------------------------


def test_many_decisions_are_found() -> None:
    """Of a hundred thousand decisions in any order, each is found, and nothing else is."""
    random = np.random.default_rng(1)
    rows = np.unique(random.integers(0, 300, (100_000, 4)), axis=0).astype(np.uint32)
    random.shuffle(rows)
    known, others = rows[:-1000], rows[-1000:]
    table = GroupTable((1, 4, 6), known[:, 0], known[:, 1:], known[:, 1:] + np.uint32(7))
    layer = int(known[5, 0])
    for some, there in ((known, True), (others, False)):
        at = some[some[:, 0] == layer]
        found = table.find(layer, list(at[:, 1:].T))
        assert np.all((found >= 0) == there)
        if there:
            assert np.array_equal(table.positions[found], at[:, 1:] + 7)
    assert table.find(layer, [np.array([0xFFFF_FFFF], np.uint32)] * 3).tolist() == [-1]


def test_rules_that_do_not_fit_are_refused() -> None:
    """Tables have rows for ascending agents, each joint class once; agents are in one rule."""
    one = np.zeros(1, np.uint32)
    row = np.zeros((1, 2), np.uint32)
    for agents in ((), (1, 0), (0, 0)):
        with pytest.raises(ModelError, match="ascending"):
            GroupTable(agents, one, row[:, : len(agents)], row[:, : len(agents)])
    with pytest.raises(ModelError, match="a column for each agent"):
        GroupTable((0, 1), one, row[:, :1], row)
    with pytest.raises(ModelError, match="two decisions for one joint class"):
        GroupTable((0, 1), np.repeat(one, 2), np.repeat(row, 2, 0), np.repeat(row, 2, 0))
    policy = policy_of(crowd(5))
    table = GroupTable((0, 1), one, row, row)
    rule = make_rule(policy, [range(5)], {})
    with pytest.raises(ModelError, match="two tables"):
        replace(rule, tables=(table, table))
    with pytest.raises(ModelError, match="other agents"):
        with_groups(policy, (), replace(rule, chances=rule.chances[:4]))
    with pytest.raises(ModelError, match="other agents"):
        with_groups(policy, (), replace(rule, tables=(replace(table, agents=(0, 5)),)))
    with pytest.raises(ModelError, match="lacks the list of a class"):
        short = replace(rule.chances[0], list_of=rule.chances[0].list_of[1:])
        with_groups(policy, (), replace(rule, chances=(short, *rule.chances[1:])))
    with pytest.raises(ModelError, match="in a team and in a group"):
        team = random_team(policy, (1, 2), Random(1))
        with_groups(policy, [team], replace(rule, tables=(table,)))


def _damaged(groups: dict[str, Any], how: str) -> None:
    decisions, reduced = groups["decisions"][0], groups["reduced"][0]
    match how:
        case "layers":
            decisions["layers"] = pack(np.full(decisions["count"], 99))
        case "classes" | "positions":
            decisions[how] = pack(np.full(decisions["count"] * len(decisions["agents"]), 99))
        case "agents":
            decisions["agents"].reverse()
        case "twice":
            groups["decisions"].append(decisions)
        case "fewer":
            groups["reduced"].pop()
        case "class_of":
            reduced["class_of"] = pack(np.array([1]))
        case "class_count":
            layers = len(zlib.decompress(base64.b64decode(reduced["class_count"]))) // 4
            reduced["class_count"] = pack(np.full(layers, 0xFFFF_FFFF))
        case "kind":
            groups["reduced"] = 5
        case "runs":
            groups["chances"][0]["runs"] = pack(np.array([7]))


@pytest.mark.parametrize(
    "how",
    [
        *("layers", "classes", "positions", "agents", "twice", "fewer"),
        *("class_of", "class_count", "kind", "runs"),
    ],
)
def test_damaged_files_are_refused(how: str, tmp_path: Path) -> None:
    """What does not fit together in a file ends in a FormatError."""
    policy = policy_of(from_file(random_mpp(2, 2, 6, 3)), algorithm="core", eliminate=False)
    split = split_teams(policy, policy.teams)
    assert split.groups is not None
    assert any(len(table.agents) == 2 for table in split.groups.tables)
    tables = sorted(split.groups.tables, key=lambda table: -len(table.agents))
    split = with_groups(split, (), replace(split.groups, tables=tuple(tables)))
    path = tmp_path / "policy.json"
    split.save(path)
    document = json.loads(path.read_text(encoding="utf-8"))
    _damaged(document["groups"], how)
    path.write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(FormatError, match="the policy is inconsistent"):
        Policy.load(path, policy.problem)


def test_files_without_classes_of_their_own_are_read() -> None:
    """A file that was written before rules of groups had classes of their own is still read."""
    problem = from_file(random_mpp(3, 1, 5))
    policy = policy_of(problem, algorithm="core-2016")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "policy.json"
        policy.save(path)
        document = json.loads(path.read_text(encoding="utf-8"))
        del document["groups"]["reduced"]
        path.write_text(json.dumps(document), encoding="utf-8")
        assert Policy.load(path, problem).evaluate() == policy.evaluate()
