"""The exact value of policies with teams, against the judge's plain enumeration of joint states."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import event, given
from hypothesis import strategies as st

import coreplan.policies.evaluation
import coreplan.support.rows
import judge
from coreplan import LimitError, Policy, SolverError, solve
from coreplan.policies.evaluation import evaluate_policy
from coreplan.policies.rules import TeamRule
from helpers import agrees, from_file, judged_policy_value, package_state, random_mpp, scale
from strategies import problem_dicts, timmdp_dicts
from team_rules import random_team, random_teams, with_teams
from test_policy import crowd, policy_of, slightly_off

seeds = st.integers(0, 2**32)


@given(raw=problem_dicts(), data=st.data(), seed=seeds)
def test_any_teams_are_worth_the_judges_value(
    raw: dict[str, Any], data: st.DataObject, seed: int
) -> None:
    """Whatever teams do, from any situation on, their value is that of all joint states."""
    stage, state = data.draw(st.sampled_from(list(judge.joint_states(raw))))
    merge = raw["format"] == "mpp/1" or data.draw(st.booleans())  # the judge keeps no times
    policy = policy_of(from_file(raw), merge=merge, stage=stage, state=package_state(raw, state))
    policy = random_teams(policy, Random(seed))
    event(f"teams of {sorted(len(team.agents) for team in policy.teams)}")
    expected = judged_policy_value(raw, policy, state)
    close = pytest.approx(expected, rel=1e-11, abs=1e-12 * scale(raw))
    assert policy.evaluate() == close
    # Parts may be taken together; then it is one enumeration.
    assert evaluate_policy(policy, parts=[range(len(policy.maps))]) == close


@given(raw=timmdp_dicts(), data=st.data(), seed=seeds)
def test_missing_mass_counts_for_all_teams(
    raw: dict[str, Any], data: st.DataObject, seed: int
) -> None:
    """Where probabilities add up to 1 ± 5e-10, that counts for what other teams earn, too."""
    raw = slightly_off(raw, data)
    policy = random_teams(policy_of(from_file(raw)), Random(seed))
    expected = judged_policy_value(raw, policy)
    assert policy.evaluate() == pytest.approx(expected, rel=1e-13, abs=1e-14 * scale(raw))


@pytest.mark.parametrize("block", [1, 3, 1 << 21])
@pytest.mark.parametrize("keys", [1, 40, 2**62])
def test_how_joint_states_are_held_does_not_matter(
    block: int, keys: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In pieces, or with joint states too many for one number, the value is the same."""
    raw = random_mpp(3, 2, 7)
    policy = random_teams(policy_of(from_file(raw)), Random(3))
    whole = [range(len(policy.maps))]
    expected = judged_policy_value(raw, policy)
    monkeypatch.setattr(coreplan.policies.evaluation, "BLOCK", block)
    monkeypatch.setattr(coreplan.support.rows, "MOST_KEYS", keys)
    assert policy.evaluate() == pytest.approx(expected, rel=1e-12)
    assert evaluate_policy(policy, whole) == pytest.approx(expected, rel=1e-12)


# -- many agents ------------------------------------------------------------------------------


def small_team(entries: list[dict[str, Any]]) -> dict[str, Any]:
    """Four agents that go to and fro, as a raw problem with these entries."""
    agents = []
    for i in range(4):
        chance = (i + 1) / 5
        going = {"there": chance, "home": 1 - chance}
        moves = {"home": {"go": going, "wait": {"home": 1.0}}, "there": {"go": {"home": 1.0}}}
        agents.append({"name": f"a{i}", "initial": "home", "transitions": moves})
    rewards = [{"scope": ["a0", "a1", "a2", "a3"], "entries": entries}]
    return {"format": "ti-mmdp/1", "horizon": 4, "agents": agents, "rewards": rewards}


def copies(raw: dict[str, Any], count: int) -> dict[str, Any]:
    """The same problem many times, side by side."""
    made = {**raw, "agents": [], "rewards": []}
    for number in range(count):
        for agent in raw["agents"]:
            made["agents"].append({**agent, "name": f"{number}/{agent['name']}"})
        for function in copy.deepcopy(raw["rewards"]):
            function["scope"] = [f"{number}/{name}" for name in function["scope"]]
            for entry in function["entries"]:
                entry["when"] = {f"{number}/{name}": c for name, c in entry["when"].items()}
            made["rewards"].append(function)
    return made


class Counted(Policy):
    """A policy that counts what it is asked."""

    asked = 0

    def choose_many(
        self, stage: int, agents: Sequence[int], states: Sequence[Any], absent: Any = None
    ) -> list[Any]:
        """Count the joint states."""
        self.asked += len(states[0])
        return super().choose_many(stage, agents, states, absent)


def random_small_team(entries: list[dict[str, Any]]) -> tuple[dict[str, Any], Policy]:
    """A small team with these entries, and always the same rule."""
    raw = small_team(entries)
    policy = policy_of(from_file(raw), merge=False)
    return raw, with_teams(policy, [random_team(policy, (0, 1, 2, 3), Random(5))])


def test_a_hundred_agents_in_teams_of_four() -> None:
    """Of 25 teams, each is enumerated by itself, and what they earn together is exact."""
    arrive, go = {"next": "there"}, {"action": "go"}
    raw, policy = random_small_team(
        [
            {"when": {"a0": arrive, "a1": arrive, "a3": go}, "value": 3.5},
            {"when": {"a2": {"state": "there"}}, "value": 1.25, "stages": [1, 3]},
            {"when": {"a1": go, "a2": go}, "value": -2.0},
        ]
    )
    big = copies(raw, 25)
    # Teams that follow each other in a row earn -7 together at stage 2.
    one, next_one = {"a0": arrive, "a2": go}, {"a1": go, "a3": arrive}
    for number in range(24):
        when = {f"{number}/{name}": c for name, c in one.items()}
        when |= {f"{number + 1}/{name}": c for name, c in next_one.items()}
        entry = {"when": when, "value": -7, "stages": [2]}
        big["rewards"].append({"scope": list(when), "entries": [entry]})
    local = policy_of(from_file(big), merge=False, memory_limit=50)
    many = Counted(
        local.problem,
        local.indexed,
        local.maps,
        [replace(policy.teams[0], agents=tuple(range(4 * k, 4 * k + 4))) for k in range(25)],
        local.local,
        history=local.history,
    )
    value = many.evaluate()
    chances = [
        judged_policy_value(*random_small_team([{"when": when, "value": 1, "stages": [2]}]))
        for when in (one, next_one)
    ]
    assert all(0.01 < chance < 0.99 for chance in chances)
    expected = 25 * judged_policy_value(raw, policy) - 24 * 7 * math.prod(chances)
    assert value == pytest.approx(expected, rel=1e-13)
    assert 0 < many.asked <= 25 * (1 + 3 * 2**4)


# -- limits -----------------------------------------------------------------------------------


def test_enumeration_gives_up_when_there_are_too_many_joint_states() -> None:
    """Evaluation has a limit, says so, and what else can be done."""
    policy = policy_of(crowd(5))
    with pytest.raises(SolverError, match=r"more than 3 joint states at stage 1; .*estimate"):
        evaluate_policy(policy, most=3)
    assert math.isfinite(evaluate_policy(policy, most=32))
    two = with_teams(policy, [random_team(policy, (0, 4), Random(1))])
    assert math.isfinite(evaluate_policy(two, most=4))
    with pytest.raises(SolverError, match="of the team of 2 agents around 'a0' at stage 1"):
        evaluate_policy(two, most=1)


def test_enumeration_gives_up_at_once() -> None:
    """Where a billion joint states follow the first one, the limit does not wait for them."""
    local = policy_of(crowd(30), memory_limit=50)
    unknowing = TeamRule(tuple(range(30)), np.zeros(0, np.uint32), numbers=np.zeros(0, np.uint64))
    with pytest.raises(SolverError, match="more than 5,000,000 joint states at stage 1"):
        with_teams(local, [unknowing]).evaluate()


def test_memory_of_an_evaluation() -> None:
    """With little memory an evaluation takes smaller steps, or says that it cannot be done."""
    problem = from_file(random_mpp(3, 3, 7))
    policy = solve(problem).policy
    assert policy is not None
    exact = policy.evaluate()
    assert agrees(policy.evaluate(memory_limit=0.2), exact)
    with pytest.raises(LimitError, match=r"more memory .* joint states .*estimate") as error:
        policy.evaluate(memory_limit=1e-4)
    assert error.value.reason == "memory_limit"


def test_evaluation_can_be_stopped() -> None:
    """It gives up as soon as the caller says so, and goes on as long as it does not."""
    policy = random_teams(policy_of(from_file(random_mpp(3, 2, 7))), Random(3))
    assert evaluate_policy(policy, is_stopped=lambda: False) == policy.evaluate()
    with pytest.raises(LimitError, match="it was stopped") as error:
        evaluate_policy(policy, is_stopped=lambda: True)
    assert error.value.reason == "interrupted"
