"""Contingent plans as trees, against all that can happen."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coreplan import (
    TIMMDP,
    Agent,
    Condition,
    Entry,
    MaintenanceProblem,
    ModelError,
    Policy,
    RewardFunction,
)
from coreplan.analysis import ExecutionSequence, execution_sequences, plan_tree
from coreplan.analysis.tree import PlanTree
from coreplan.policies.graph import Fact
from helpers import agrees, from_file, random_mpp
from strategies import problem_dicts
from team_rules import random_teams
from test_plan_graph import crew
from test_policy import policy_of


def happened(policy: Policy, sequence: ExecutionSequence, step: int, fact: Fact) -> bool:
    """Whether something became known in a step of a sequence."""
    after = sequence.states[step + 1][fact.agent]
    if fact.task is None:
        return bool(after == fact.text)
    assert isinstance(policy.problem, MaintenanceProblem)
    (contractor,) = (c for c in policy.problem.contractors if c.name == fact.agent)
    (task,) = (t for t in contractor.tasks if t.name == fact.task)
    assert sequence.actions[step][fact.agent] == f"start {task.name}"
    return bool(fact.delayed == (after.remaining + 1 > task.duration))


def follow(tree: PlanTree, policy: Policy, sequence: ExecutionSequence) -> float:
    """Check that a tree has a sequence; how likely its way is."""
    node = tree.root
    step = 0
    probability = 1.0
    while True:
        assert node.stage == policy.stage + step
        assert agrees(node.probability, probability)
        for action in node.actions:
            assert action == sequence.actions[step]
            step += 1
        if not node.branches:
            assert step == len(sequence.actions)
            return probability
        (branch,) = (
            branch
            for branch in node.branches
            if all(happened(policy, sequence, step - 1, fact) for fact in branch.known)
        )
        assert branch.known
        probability *= branch.probability
        node = tree.nodes[branch.node]


@given(problem_dicts(max_work=400), st.booleans(), st.integers(0, 99))
def test_a_tree_has_every_sequence(raw: dict[str, Any], teams: bool, seed: int) -> None:
    """Every execution sequence is a way through the tree, with the same probability."""
    policy = policy_of(from_file(raw))
    if teams:
        policy = random_teams(policy, Random(seed))
    tree = plan_tree(policy, most_nodes=100_000)
    assert tree.complete
    assert tree.covered == 1
    for sequence, probability in execution_sequences(policy):
        assert follow(tree, policy, sequence) == pytest.approx(probability)
    for node in tree.nodes:
        # Where nothing is left to chance there is no branch.
        assert len(node.branches) != 1 or node.branches[0].known
        chances = [branch.probability for branch in node.branches]
        assert chances == sorted(chances, reverse=True)
        assert not chances or agrees(sum(chances), 1.0)


@pytest.mark.parametrize("depth", [0, 1, 2])
def test_depth_is_how_often_it_branches(depth: int) -> None:
    """Deeper branches are left out, and it is said so."""
    policy = crew(2, tasks=2)
    tree = plan_tree(policy, depth)
    deepest = 0
    waiting = [(0, 0)]
    while waiting:
        number, branched = waiting.pop()
        deepest = max(deepest, branched)
        node = tree.nodes[number]
        waiting += [(branch.node, branched + 1) for branch in node.branches]
        assert agrees(sum(each.probability for each in node.branches) + node.left_out, 1.0) or (
            not node.branches and not node.left_out
        )
    assert deepest == depth
    assert not tree.complete
    assert tree.covered < 1
    assert "left out" in str(tree)
    assert plan_tree(policy).complete
    assert len(plan_tree(policy).nodes) > len(tree.nodes)


def test_what_is_unlikely_is_left_out() -> None:
    """No node is less likely than asked for; what is left out is accounted for."""
    policy = crew(3, tasks=2)
    whole = plan_tree(policy, most_nodes=100_000)
    tree = plan_tree(policy, min_probability=0.05)
    assert min(node.probability for node in tree.nodes) >= 0.05
    assert len(tree.nodes) == sum(node.probability >= 0.05 for node in whole.nodes)
    assert 0 < tree.covered < 1


def test_a_large_tree_keeps_the_likeliest() -> None:
    """With room for some nodes only, those are the likeliest."""
    policy = crew(3, tasks=2)
    whole = sorted(node.probability for node in plan_tree(policy, None, 0.0, 10**6).nodes)
    tree = plan_tree(policy, most_nodes=30)
    assert len(tree.nodes) <= 30
    assert not tree.complete
    assert min(node.probability for node in tree.nodes) >= whole[-60]


def test_words_for_road_works() -> None:
    """Lines say who starts what when, and branches what becomes known."""
    policy = policy_of(from_file(random_mpp(2, 1, 4)))
    text = str(policy.tree())
    first = policy.act(0)
    starts = [name for name, action in first.items() if action.startswith("start")]
    assert starts
    assert text.startswith("step 0: ")
    assert f"{starts[0]} starts w0" in text.splitlines()[0]
    assert "w0 is delayed (" in text
    assert " %: w0 is not delayed (" in text
    assert "left out" not in text


def test_words_for_other_problems() -> None:
    """Lines say what everybody does; steps that are the same make one line."""
    table = {"s": {"go": {"t": 0.25, "s": 0.75}, "wait": {"s": 1}}, "t": {"stay": {"t": 1}}}
    go = RewardFunction(("r",), (Entry({"r": Condition(action="go")}, 1),))
    stay = RewardFunction(("r",), (Entry({"r": Condition(action="stay")}, 2),))
    tree = policy_of(TIMMDP((Agent("r", "s", table),), (go, stay), 4)).tree(depth=1)
    assert str(tree).splitlines() == [
        "step 0: r: go",
        "├─ 75 %: r gets to s",
        "│  step 1: r: go",
        "│  └─ 100 %: left out",
        "└─ 25 %: r gets to t",
        "   steps 1 to 3: r: stay",
    ]


def test_it_is_plain_json() -> None:
    """The dictionary has all nodes, and can be written as it is."""
    tree = crew(2).tree()
    plain = json.loads(json.dumps(tree.to_dict(), allow_nan=False))
    assert len(plain["nodes"]) == len(tree.nodes)
    first = tree.root.branches[0]
    assert plain["nodes"][0]["branches"][0]["node"] == first.node
    assert plain["nodes"][0]["branches"][0]["known"][0]["agent"] == first.known[0].agent


def test_a_long_plan_without_chance_is_one_node() -> None:
    """A thousand steps in which nothing is uncertain are one node."""
    table = {"s": {"go": {"s": 1}}}
    tree = policy_of(TIMMDP((Agent("r", "s", table),), (), 1000)).tree()
    assert len(tree.nodes) == 1
    assert str(tree) == "steps 0 to 999: r: go"


def test_a_long_plan_with_chance_in_every_step() -> None:
    """A tree that branches two thousand times on one way is made and read without recursion."""
    table = {"s": {"go": {"s": 1 - 1e-3, "t": 1e-3}}, "t": {"go": {"t": 1.0}}}
    policy = policy_of(TIMMDP((Agent("r", "s", table),), (), 2000))
    tree = plan_tree(policy, most_nodes=10_000)
    assert tree.complete
    assert len(tree.nodes) == 4001
    assert str(tree).count("r gets to t") == 2000
    assert len(tree.to_dict()["nodes"]) == 4001


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"depth": -1}, "depth is -1"),
        ({"depth": 1.0}, "depth is 1; expected a whole number"),
        ({"depth": True}, "depth is true"),
        ({"most_nodes": 0}, "most_nodes is 0"),
        ({"min_probability": 2}, "min_probability is 2"),
    ],
)
def test_what_makes_no_sense_is_refused(options: dict[str, Any], words: str) -> None:
    """Depths and sizes are whole numbers, probabilities are probabilities."""
    with pytest.raises(ModelError, match=words):
        plan_tree(crew(1), **options)
