"""Explanations: values against the judge, reasons against the rewards."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import coreplan.analysis.explanation
import judge
from clocks import ticking
from coreplan import (
    Contractor,
    ContractorState,
    Delay,
    Hindrance,
    LimitError,
    MaintenanceProblem,
    ModelError,
    Policy,
    SolverError,
    Task,
)
from coreplan.policies import plan_graph
from group_rules import make_rule, with_groups
from helpers import coupled_team, from_file, judge_state, package_state, random_mpp, scale
from strategies import mpp_dicts, problem_dicts
from team_rules import random_teams
from test_policy import policy_of


def judged(
    raw: dict[str, Any], policy: Policy, stage: int, state: dict[str, Any], action: Any
) -> float:
    """What it is worth, by the judge, to do something once and to follow the policy then."""
    names = [agent["name"] for agent in raw["agents"]]
    here = judge_state(raw, state)

    def act(at: int, joint_state: tuple[Any, ...]) -> tuple[str, ...]:
        chosen = policy.act(at, package_state(raw, joint_state))
        if (at, joint_state) == (stage, here):
            chosen = action
        return tuple(chosen[name] for name in names)

    return judge.policy_value(raw, act, stage, here)


@given(problem_dicts(max_work=300), st.booleans(), st.integers(0, 10**6))
def test_values_are_those_of_the_judge(raw: dict[str, Any], optimal: bool, seed: int) -> None:
    """In any situation, every alternative's value and loss are exact, and reasons add up."""
    policy = policy_of(from_file(raw))
    if not optimal:
        policy = random_teams(policy, Random(seed))
    graph = plan_graph(policy)
    number = seed % graph.stage_begin[-2]
    situation = graph.situations[number]
    told = policy.explain(situation.stage, situation.state, most=5)
    tolerance = 1e-9 * scale(raw)
    assert told.exact
    assert told.action == situation.action == policy.act(situation.stage, situation.state)
    assert abs(told.value - (situation.value or 0.0)) <= tolerance
    state = dict(situation.state)
    single = 0
    for each in told.alternatives:
        expected = judged(raw, policy, situation.stage, state, each.action)
        assert each.exact
        assert each.low == each.value == each.high
        assert abs(each.value - expected) <= tolerance
        assert abs(told.value - each.value - each.loss) <= tolerance
        assert abs(sum(d.amount for d in each.differences) + each.loss) <= 10 * tolerance
        assert each.changes == {
            name: action for name, action in each.action.items() if action != told.action[name]
        }
        single += len(each.changes) == 1
    losses = [each.loss for each in told.alternatives]
    assert losses == sorted(losses)
    agents = policy.indexed.agents
    index = policy.indexed.find_state(situation.stage, situation.state)
    able = [len(a.choices(situation.stage, k)) for a, k in zip(agents, index, strict=True)]
    assert single == sum(able) - len(able)
    if optimal:
        assert min(losses, default=0.0) >= -tolerance
    json.dumps(told.to_dict(), allow_nan=False)
    assert str(told).startswith(f"in step {situation.stage}:")


@given(mpp_dicts(max_agents=2, max_work=300), st.integers(0, 10**6))
def test_a_past_that_is_not_given_is_the_one_that_act_means(raw: dict[str, Any], seed: int) -> None:
    """Asked by what has been done, a plan that keeps times explains what it decides there."""
    # At random, so that actions differ from one past to the next.
    policy = random_teams(policy_of(from_file(raw), merge=False), Random(seed))
    assert policy.history
    graph = plan_graph(policy)
    find = policy.indexed.find_state
    reached = {find(each.stage, each.state): each for each in graph.situations}
    numbers = range(graph.stage_begin[-2])
    for number in Random(seed).sample(numbers, min(5, len(numbers))):
        situation = graph.situations[number]
        asked = {
            name: ContractorState(state.done, state.doing, state.remaining)
            for name, state in situation.state.items()
        }
        told = policy.explain(situation.stage, asked, agents=())
        assert told.action == policy.act(situation.stage, asked)
        meant = reached[find(told.stage, told.state)]
        assert meant.stage == told.stage
        assert told.action == meant.action
        assert abs(told.value - (meant.value or 0.0)) <= 1e-9 * scale(raw)


@pytest.mark.parametrize("seed", range(6))
def test_values_with_rules_of_groups(seed: int) -> None:
    """Also where agents fall apart into groups, and an action is one that no rule has foreseen."""
    raw = coupled_team(seed)
    policy = policy_of(from_file(raw), algorithm="core")
    rule = make_rule(policy, [range(len(policy.maps))], {})
    policy = with_groups(policy, (), rule)
    graph = plan_graph(policy)
    for number in (0, *Random(seed).sample(range(graph.stage_begin[-2]), 2)):
        situation = graph.situations[number]
        told = policy.explain(situation.stage, situation.state)
        for each in told.alternatives:
            state = dict(situation.state)
            expected = judged(raw, policy, situation.stage, state, each.action)
            assert each.value == pytest.approx(expected, rel=1e-9, abs=1e-9)


def two_roads() -> MaintenanceProblem:
    """Alpha's a1 takes two steps; Beta's b2 hinders it."""
    return MaintenanceProblem(
        (
            Contractor("Alpha", (Task("a1", 2, cost=3, revenue=20, window=(0, 0)),)),
            Contractor("Beta", (Task("b2", 3, cost=1, revenue=15, delay=Delay(0.5, 1)),)),
        ),
        horizon=7,
        network=(Hindrance(("Alpha/a1", "Beta/b2"), cost=7.5),),
    )


def test_the_reason_is_said_in_words() -> None:
    """An overlap is named, with its length and its cost per step, and what it costs in all."""
    told = policy_of(two_roads()).explain(0)
    assert told.action == {"Alpha": "start a1", "Beta": "wait"}
    assert told.best
    assert not told.overlaps
    (early,) = (each for each in told.alternatives if each.changes == {"Beta": "start b2"})
    assert early.overlaps == (
        "starting b2 now would overlap Alpha/a1 for at least 2 steps: hindrance costs 7.5 per step",
    )
    assert early.loss == pytest.approx(15)
    (difference,) = early.differences
    assert difference.what == "hindrance of Alpha/a1, Beta/b2"
    assert difference.amount == pytest.approx(-15)
    text = str(told)
    assert (
        "the plan: Alpha: start a1, Beta: wait; from here on it is expected to earn 25.50" in text
    )
    assert "  Beta: start b2: 15.00 worse" in text.splitlines()
    assert "    - hindrance of Alpha/a1, Beta/b2 costs 15.00 more" in text.splitlines()
    # To leave a1 is to lose its revenue: it may start now or never.
    assert (
        "    - revenue of Alpha/a1: 20.00 less (completed with a chance of 0 % instead of 100 %)"
        in text.splitlines()
    )


def test_works_that_are_under_way_are_overlapped() -> None:
    """What somebody else is doing counts with the steps that are left."""
    policy = policy_of(two_roads())
    state = {"Alpha": ContractorState(doing="a1", remaining=1), "Beta": ContractorState()}
    told = policy.explain(1, state)
    (early,) = told.alternatives
    assert early.overlaps == (
        "starting b2 now would overlap Alpha/a1 for at least 1 step: hindrance costs 7.5 per step",
    )
    assert "  Alpha: works on a1, 1 step left" in str(told).splitlines()


def test_what_the_plan_accepts_is_said() -> None:
    """Works that coincide by plan are named with the plan's own action."""
    problem = MaintenanceProblem(
        (
            Contractor("Alpha", (Task("a1", 2, cost=3, revenue=99),)),
            Contractor("Beta", (Task("b1", 2, cost=1, revenue=99),)),
        ),
        horizon=2,
        network=(Hindrance(("Alpha/a1", "Beta/b1"), cost=(7.5, 1)),),
    )
    told = policy_of(problem).explain(0)
    assert told.overlaps == (
        "Alpha/a1 and Beta/b1 run at the same time for 2 steps: hindrance costs 7.5 per step",
    )


def test_estimates_are_labelled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where exact values are out of reach there are estimates, near the exact values."""
    policy = policy_of(from_file(random_mpp(3, 2, 6)))
    exact = policy.explain(0)

    def out_of_reach(*_: object) -> None:
        raise SolverError("out of reach")

    monkeypatch.setattr(coreplan.analysis.explanation, "evaluate_entries", out_of_reach)
    told = policy.explain(0, most=1000)
    assert not told.exact
    assert told.low < told.value < told.high
    assert (
        told.low - 2 * (told.high - told.low) < exact.value < told.high + 2 * (told.high - told.low)
    )
    known = {tuple(each.action.items()): each for each in exact.alternatives}
    compared = 0
    for each in told.alternatives:
        assert not each.exact
        other = known.get(tuple(each.action.items()))
        if other is not None:
            compared += 1
            assert abs(each.value - other.value) < 2 * (each.high - each.low) + 1e-9
    assert compared
    assert "estimated by simulation" in str(told)
    assert ": about " in str(told)


def test_some_agents_only() -> None:
    """Only the asked agents do something else; the rest is left out."""
    policy = policy_of(from_file(coupled_team(3)))
    told = policy.explain(0, agents=["A1"])
    assert {name for each in told.alternatives for name in each.changes} == {"A1"}
    assert policy.explain(0, agents="A1") == told
    assert told.left_out == 0
    few = policy.explain(0, most=0)
    assert all(len(each.changes) == 1 for each in few.alternatives)
    assert few.left_out > 0
    assert "other joint action" in str(few)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"stage": 99}, "stage is 99"),
        ({"stage": 1}, "the joint state at stage"),
        ({"stage": 0, "joint_state": {"A0": "nowhere"}}, "the joint state lacks agent"),
        ({"stage": 0, "agents": ["Zoe"]}, "Zoe"),
        ({"stage": 0, "most": -1}, "most is -1"),
        ({"stage": 0, "time_limit": 0}, "time_limit is 0"),
        ({"stage": 0, "time_limit": "x"}, "time_limit is 'x'"),
    ],
)
def test_what_makes_no_sense_is_refused(options: dict[str, Any], words: str) -> None:
    """Situations that cannot be, and options that mean nothing, are named."""
    with pytest.raises(ModelError, match=words):
        policy_of(from_file(coupled_team(3))).explain(**options)


def test_too_little_time() -> None:
    """If there is no time for a single value, it is said so."""
    policy = policy_of(from_file(random_mpp(3, 2, 6)))
    with pytest.raises(LimitError, match="before any value was computed"), ticking():
        policy.explain(0, time_limit=1e-9)
