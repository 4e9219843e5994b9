"""Estimates by simulation, against exact values."""

from __future__ import annotations

import dataclasses
import math
from random import Random
from typing import Any

import numpy as np
import pytest

import coreplan.simulate
from coreplan import (
    TIMMDP,
    Agent,
    Condition,
    Entry,
    ModelError,
    Policy,
    RewardFunction,
    SolverError,
)
from coreplan.policy import TeamRule
from helpers import from_file, judged_policy_value, random_mpp
from team_rules import random_teams, with_teams
from test_policy import crowd, policy_of, robots


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("algorithm", ["dp", "core-2016", "teams"])
def test_the_exact_value_is_in_the_interval(algorithm: str, seed: int) -> None:
    """On random problems, of optimal and of random plans, the 99.99 % interval holds the value."""
    raw = random_mpp(3, 2, 6, seed)
    solver = "dp" if algorithm == "teams" else algorithm
    policy = policy_of(from_file(raw), algorithm=solver)
    if algorithm == "teams":
        policy = random_teams(policy, Random(seed))
    estimate = policy.estimate(2000, seed, confidence=0.9999)
    tolerance = 1e-9 * abs(estimate.mean)  # where nothing is left to chance
    expected = judged_policy_value(raw, policy)
    assert estimate.low - tolerance <= expected <= estimate.high + tolerance
    assert estimate.low <= estimate.mean <= estimate.high
    assert (estimate.runs, estimate.confidence) == (2000, 0.9999)


def test_intervals_hold_the_value_as_often_as_they_say() -> None:
    """Of 300 intervals of 80 %, about 80 % hold the exact value, and means scatter around it."""
    policy = policy_of(crowd(5))
    value = policy.evaluate()
    estimates = [policy.estimate(100, seed, 0.8) for seed in range(300)]
    holding = sum(each.low <= value <= each.high for each in estimates)
    assert 0.73 < holding / 300 < 0.87
    means = [each.mean for each in estimates]
    assert abs(np.mean(means) - value) < 4 * np.std(means) / math.sqrt(300)


def test_the_seed_decides() -> None:
    """The same seed gives the same estimate, another one another; more runs a narrower one."""
    policy = policy_of(crowd(5))
    one = policy.estimate(500, 7)
    assert one == policy.estimate(500, seed=7, confidence=0.95) == policy.estimate(500, 7)
    assert one.confidence == 0.95
    assert one != policy.estimate(500, 8)
    many = policy.estimate(50_000, 7)
    assert many.high - many.low < (one.high - one.low) / 5
    with pytest.raises(dataclasses.FrozenInstanceError):
        one.mean = 0.0  # type: ignore[misc]


@pytest.mark.parametrize("at_once", [1, 7, 10])
def test_runs_are_simulated_in_pieces(at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many runs fit side by side, there are as many as asked for."""
    monkeypatch.setattr(coreplan.simulate, "RUNS_AT_ONCE", at_once)
    policy = policy_of(crowd(5))
    estimate = policy.estimate(71, 1, 0.9999)
    assert estimate.runs == 71
    assert estimate.low < policy.evaluate() < estimate.high


def test_where_nothing_is_left_to_chance_the_mean_is_the_value() -> None:
    """The runs of a deterministic plan are all the same; probabilities count as they are."""
    estimate = policy_of(robots()).estimate(2, 0)
    assert (estimate.mean, estimate.low, estimate.high) == (5.0, 5.0, 5.0)
    mass = 1 - 5e-10
    lossy = Agent("lossy", "s", {"s": {"go": {"s": mass}}})
    earn = RewardFunction(("lossy",), (Entry({"lossy": Condition(action="go")}, 1e6),))
    policy = policy_of(TIMMDP((lossy,), (earn,), 2))
    assert policy.estimate(5, 0).mean == pytest.approx(1e6 * (mass + mass**2), rel=1e-15)


def test_a_team_of_thirty_is_estimated() -> None:
    """Where the exact value is out of reach, it is said so, and an estimate is not."""
    alone = policy_of(crowd(30), memory_limit=50)
    unknowing = TeamRule(tuple(range(30)), np.zeros(0, np.uint32), numbers=np.zeros(0, np.uint64))
    team = with_teams(alone, [unknowing])
    with pytest.raises(SolverError, match=r"out of reach .*Policy\.estimate"):
        team.evaluate()
    estimate = team.estimate(1000, 3, 0.9999)
    # Nobody but us knows that this team does what everybody does alone.
    assert estimate == alone.estimate(1000, 3, 0.9999)
    assert estimate.low < alone.evaluate() < estimate.high


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"runs": 1}, "runs is 1; expected a whole number of at least 2"),
        ({"runs": -5}, "runs is -5"),
        ({"runs": True}, "runs is true"),
        ({"runs": 100.0}, "runs is 100; expected a whole number"),
        ({"runs": "100"}, "runs is '100'"),
        ({"seed": -1}, "seed is -1; expected a whole number of at least 0"),
        ({"seed": None}, "seed is null"),
        ({"seed": 0.5}, "seed is 0.5"),
        ({"confidence": 0}, "confidence is 0; expected a number between 0 and 1"),
        ({"confidence": 1}, "confidence is 1; expected a number between 0 and 1"),
        ({"confidence": 95}, "confidence is 95"),
        ({"confidence": math.nan}, "confidence is nan"),
        ({"confidence": "0.9"}, "confidence is '0.9'"),
    ],
)
def test_what_makes_no_sense_is_refused(change: dict[str, Any], words: str) -> None:
    """There are at least two runs, a seed that is a whole number, and a chance below certainty."""
    policy: Policy = policy_of(robots())
    with pytest.raises(ModelError, match=words):
        policy.estimate(**{"runs": 10, "seed": 1, **change})


def test_any_confidence_below_certainty_will_do() -> None:
    """The interval grows with the confidence, and is finite even next to certainty."""
    policy = policy_of(crowd(5))
    widths = []
    for confidence in (1e-9, 0.5, 0.99, 1 - 1e-16):
        estimate = policy.estimate(50, 1, confidence)
        widths.append(estimate.high - estimate.low)
    assert widths == sorted(widths)
    assert 0 < widths[0] < widths[-1] < math.inf
