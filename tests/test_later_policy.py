"""Plans from a later stage and state on: the same decisions, as a plan of its own."""

from __future__ import annotations

import math
from random import Random
from typing import Any

import pytest
from hypothesis import event, given
from hypothesis import strategies as st

import judge
from ahead_rules import ahead_policy
from coreplan import ModelError, Policy, SolverError, evaluate_plan, solve
from coreplan.policies.evaluation import Beginning, evaluate_entries
from coreplan.policies.graph import plan_graph
from group_rules import random_groups
from helpers import from_file, package_state, random_mpp
from strategies import problem_dicts
from team_rules import random_teams, sparse
from test_policy import policy_of
from test_team_rule import saved_and_loaded

KINDS = ["teams", "sparse", "groups", "solved", "ahead"]


def some_policy(raw: dict[str, Any], kind: str, seed: int, **options: Any) -> Policy:
    """A policy for a problem: solved, or with random rules of one kind."""
    solved = policy_of(from_file(raw), algorithm="dp", **options)
    if kind == "ahead":
        return ahead_policy(from_file(raw), Random(seed), **options) or solved
    if kind == "teams":
        return random_teams(solved, Random(seed))
    if kind == "groups":
        return random_groups(solved, Random(seed))
    return sparse(solved) if kind == "sparse" else solved


@pytest.mark.parametrize("kind", KINDS)
@given(raw=problem_dicts(max_work=500), data=st.data(), seed=st.integers(0, 2**32))
def test_a_later_policy_decides_as_the_whole_one(
    kind: str, raw: dict[str, Any], data: st.DataObject, seed: int
) -> None:
    """From any state on it has the same actions and value, also when it comes back from a file."""
    merge = data.draw(st.booleans())
    policy = some_policy(raw, kind, seed, merge=merge)
    situations = list(judge.joint_states(raw))
    stage, state = data.draw(st.sampled_from(situations))
    named = package_state(raw, state)
    event(f"stage {min(stage, 3)}")
    later = policy.starting_from(stage, named)
    assert (later.stage, later.horizon, later.history) == (stage, policy.horizon, policy.history)
    at = Beginning(stage, policy.find_state(stage, named))
    value, _ = evaluate_entries(policy, math.inf, at)
    assert later.evaluate() == pytest.approx(value, rel=1e-9, abs=1e-9)
    loaded = saved_and_loaded(later)
    assert loaded.evaluate() == later.evaluate()
    if policy.history:
        return  # states by names for people leave the times open
    for when, other in situations:
        if when < stage:
            continue
        asked = package_state(raw, other)
        try:
            expected = later.act(when, asked)
        except ModelError:  # out of reach from the later start
            continue
        assert policy.act(when, asked) == loaded.act(when, asked) == expected


@pytest.mark.parametrize("merge", [True, False])
def test_the_plan_of_a_search_can_be_asked_later(merge: bool) -> None:
    """The best plan stays the best from every state that it reaches, and is known to be."""
    problem = from_file(random_mpp(3, 2, 7, seed=4))
    policy = policy_of(problem, merge=merge)
    nodes = [each for each in plan_graph(policy).situations if 0 < each.stage < policy.horizon]
    assert nodes
    for node in nodes[:5]:
        report = evaluate_plan(problem, policy, stage=node.stage, state=node.state)
        best = solve(problem, stage=node.stage, state=node.state, merge=merge)
        assert report.value == pytest.approx(best.value)
        assert report.optimal


def test_a_start_at_the_same_place_changes_nothing() -> None:
    """Asked from its own start, a policy is itself."""
    policy = policy_of(from_file(random_mpp(2, 2, 5)))
    assert policy.starting_from(0) is policy


def test_a_search_starts_from_the_rest_of_a_plan() -> None:
    """`start` takes a plan that was made earlier, from the present stage and state on."""
    problem = from_file(random_mpp(2, 2, 6))
    policy = policy_of(problem)
    node = next(each for each in plan_graph(policy).situations if each.stage > 0)
    result = solve(problem, stage=node.stage, state=node.state, start=policy, time_limit=60)
    again = solve(problem, stage=node.stage, state=node.state)
    assert result.value == pytest.approx(again.value)


def test_mistakes_of_a_later_start() -> None:
    """A stage before the plan, a missing state and an impossible state are refused in words."""
    problem = from_file(random_mpp(2, 2, 6))
    policy = policy_of(problem)
    names = [each.name for each in problem.contractors]
    works = {each.name: [task.name for task in each.tasks] for each in problem.contractors}
    nothing: dict[str, Any] = {name: {} for name in names}
    with pytest.raises(ModelError, match="the joint state at stage 2 is missing"):
        policy.starting_from(2)
    with pytest.raises(ModelError, match="stage is 6"):
        policy.starting_from(6, nothing)
    later = policy.starting_from(2, nothing)
    with pytest.raises(ModelError, match="starts at step 2; it does not cover step 0"):
        later.starting_from(0, nothing)
    done = {**nothing, names[0]: {"done": works[names[0]]}}
    with pytest.raises(ModelError, match="this plan does not cover the state at step 1"):
        policy.starting_from(1, done)
    with pytest.raises(SolverError, match="expected a plan from stage 0"):
        solve(problem, start=later)
