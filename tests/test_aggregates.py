"""Rewards for sums over agents: their values, their checks, and the solvers that know them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coreplan import (
    TIMMDP,
    Agent,
    Aggregate,
    Amount,
    Condition,
    Entry,
    ModelError,
    RewardFunction,
    solve,
)
from coreplan.model.aggregates import MOST_SUMS
from helpers import CORE_STEPS, agrees, from_file, judged_policy_value, precise, scale
from judge import optimal_value
from strategies import aggregate_dicts


def car(name: str) -> Agent:
    """A car that charges or waits, with no consequences for its state."""
    return Agent(name, "here", {"here": {"charge": {"here": 1}, "wait": {"here": 1}}})


CARS = [car(f"c{i}") for i in range(4)]
CHARGING = [Amount({each.name: Condition(action="charge")}, 1) for each in CARS]
GAINS = [
    RewardFunction([each.name], [Entry({each.name: Condition(action="charge")}, 3)])
    for each in CARS
]


def team(*aggregates: Aggregate, horizon: int = 2) -> TIMMDP:
    """Four cars that earn 3 each when they charge, with aggregates."""
    return TIMMDP(CARS, GAINS, horizon, aggregates=aggregates)


@given(raw=aggregate_dicts(), merge=st.booleans())
def test_dp_agrees_with_the_judge(raw: dict[str, Any], merge: bool) -> None:
    """Plain dynamic programming finds the judge's value, and a policy that is worth it."""
    result = solve(from_file(raw), algorithm="dp", merge=merge)
    tolerance = 1e-9 * scale(raw)
    assert abs(result.value - optimal_value(raw)) <= tolerance
    assert result.policy is not None
    assert abs(judged_policy_value(raw, result.policy) - result.value) <= tolerance


@given(raw=aggregate_dicts(), steps=st.sets(st.sampled_from(CORE_STEPS)), threads=st.integers(1, 2))
def test_core_agrees_with_the_judge(raw: dict[str, Any], steps: set[str], threads: int) -> None:
    """The engine finds the judge's value, whichever steps of shrinking are switched off."""
    options = {step: step not in steps for step in CORE_STEPS}
    result = solve(from_file(raw), algorithm="core", threads=threads, **options)
    optimum = optimal_value(raw)
    tolerance = 1e-9 * scale(raw)
    assert result.lower_bound - tolerance <= optimum <= result.upper_bound + tolerance
    assert abs(result.value - optimum) <= tolerance or not precise(raw)
    assert result.policy is not None
    assert judged_policy_value(raw, result.policy) >= result.value - tolerance


@pytest.mark.parametrize("algorithm", ["dp", "core"])
@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"table": [0, 0, 0, -10, -10]}, 6),  # two of them
        ({"points": [(2, 0), (3, -10)]}, 6),
        ({"function": lambda total: -10 if total > 2 else 0}, 6),
        ({"table": [0, 0, 0, -1, -20]}, 8),  # three of them
        ({"points": [(0, 0), (4, -8)]}, 4),  # each earns 1 after all
        ({"table": [0, 0, 0, 0, 100]}, 112),
    ],
)
def test_each_way_to_give_the_value(algorithm: str, value: dict[str, Any], expected: float) -> None:
    """Tables, points and functions give the reward of the sum."""
    problem = team(Aggregate("peak", CHARGING, **value))
    assert agrees(solve(problem, algorithm=algorithm).value, 2 * expected)


def test_functions_of_stage_and_sum() -> None:
    """A function of stage and sum becomes an aggregate for each distinct table."""

    def peak(stage: int, cars: int) -> float:
        return -100.0 * max(0, cars - (1 if stage == 1 else 3))

    problem = team(Aggregate("peak", CHARGING, by_stage=peak), horizon=4)
    assert [each.stages for each in problem.aggregates] == [(0, 2, 3), (1,)]
    assert {each.name for each in problem.aggregates} == {"peak"}
    assert problem.index().functions[len(GAINS) :] == ("peak",)
    assert agrees(solve(problem).value, 3 * 9 + 3)


def test_stages_limit_functions() -> None:
    """Functions are called, and rewards earned, at the given stages only."""
    asked = []

    def peak(stage: int, cars: int) -> float:
        asked.append(stage)
        return -10.0 * cars

    problem = team(Aggregate("peak", CHARGING, by_stage=peak, stages=[1]))
    assert set(asked) == {1}
    assert agrees(solve(problem).value, 12)


@pytest.mark.parametrize(("step", "whole"), [(1, True), (2.0, True), (0.5, False)])
def test_functions_get_whole_sums_for_whole_steps(step: float, whole: bool) -> None:
    """A function is called with every sum once, from 0 to the largest one."""
    asked: list[Any] = []
    amounts = [Amount(each.when, step) for each in CHARGING]
    team(Aggregate("peak", amounts, function=lambda total: asked.append(total) or 0.0, step=step))
    assert asked == [k * step for k in range(5)]
    assert all(isinstance(each, int) == whole for each in asked)


def test_amounts_that_exclude_each_other_do_not_add_up() -> None:
    """A table ends at the largest sum that can come up, not at the sum of all amounts."""
    agent = Agent("a", "s", {"s": {"low": {"s": 1}, "high": {"s": 1}}})
    amounts = [
        Amount({"a": Condition(action="low")}, 1),
        Amount({"a": Condition(action="high")}, 2),
        Amount({"a": Condition(state="s")}, 1),
    ]
    problem = TIMMDP([agent], aggregates=[Aggregate("load", amounts, table=[0, 0, 5, 4])])
    assert agrees(solve(problem).value, 5)
    with pytest.raises(ModelError, match=r"aggregates\[0\]\.value\.table: found 3 rewards; .* 4"):
        TIMMDP([agent], aggregates=[Aggregate("load", amounts, table=[0, 0, 5])])


def test_amounts_share_a_unit() -> None:
    """Large amounts cost no more than small ones: sums are counted in what divides them all."""
    amounts = [Amount(each.when, 3000 * (1 + (each is CHARGING[0]))) for each in CHARGING]
    problem = team(Aggregate("power", amounts, points=[(6000, 0), (9000, -50)]))
    assert problem.index().aggregates[0].values == (0, 0, 0, -50, -50, -50)
    assert agrees(solve(problem).value, 2 * 6)


def test_too_many_sums() -> None:
    """More than a million sums are refused, with their number and a way out."""
    fits = [Amount({"c0": Condition(action="charge")}, MOST_SUMS - 1)]
    assert agrees(solve(team(Aggregate("x", fits, points=[(0, 0), (1, 1)]))).value, 2 * 13)
    for most in ([MOST_SUMS], [MOST_SUMS - 1, 1]):
        amounts = [
            Amount({f"c{i}": Condition(action="charge")}, each) for i, each in enumerate(most)
        ]
        with pytest.raises(ModelError, match=r"1,000,001 different sums in steps of 1.*larger"):
            team(Aggregate("x", amounts, points=[(0, 0)]))


ONE = [CHARGING[0]]


@pytest.mark.parametrize(
    ("aggregate", "message"),
    [
        (Aggregate("", ONE, table=[0, 1]), r"aggregates\[0\].name: found ''"),
        (Aggregate("x", ONE), r"value: found none of a table, points and a function"),
        (Aggregate("x", ONE, table=[0, 1], points=[(0, 0)]), r"found more than one of a table"),
        (Aggregate("x", ONE, table=[]), r"value.table: found an empty list"),
        (Aggregate("x", ONE, table=[0]), r"value.table: found 1 rewards; expected at least 2"),
        (Aggregate("x", ONE, table=[0, "1"]), r"value.table\[1\]: found '1'"),  # type: ignore[list-item]
        (Aggregate("x", ONE, points=[]), r"value.points: found an empty list"),
        (Aggregate("x", ONE, points=[(1, 2, 3)]), r"points\[0\]: found \[1, 2, 3\]"),  # type: ignore[list-item]
        (Aggregate("x", ONE, points=[(1, 0), (1, 2)]), r"points\[1\]\[0\]: found the sum 1 after"),
        (Aggregate("x", ONE, points=[(1, float("inf"))]), r"points\[0\]\[1\]: found inf"),
        (Aggregate("x", ONE, table=[0, 1], step=0), r"step: found 0; expected"),
        (Aggregate("x", ONE, table=[0, 1], step=0.7), r"multiple of the step 0.7"),
        (Aggregate("x", ONE, table=[0, 1], stages=[2]), r"stages\[0\]: found 2; .* from 0 to 1"),
        (Aggregate("x", ONE, function=7), r"function: found 7; expected a function"),  # type: ignore[arg-type]
        (Aggregate("x", [Amount({}, 1)], table=[0, 1]), r"conditions of 0 agents; expected one"),
        (
            Aggregate("x", [Amount({"c0": Condition(), "c1": Condition()}, 1)], table=[0, 1]),
            r"conditions of 2 agents",
        ),
        (Aggregate("x", [Amount({"car": Condition()}, 1)], table=[0, 1]), r"no agent 'car'"),
        (
            Aggregate("x", [Amount({"c0": Condition(action="chrge")}, 1)], table=[0, 1]),
            r"amounts\[0\].when.c0.action\[0\]: .*did you mean 'charge'",
        ),
        (
            Aggregate("x", [Amount({"c0": Condition(next="here")}, 1)], table=[0, 1]),
            r"amounts\[0\].when.c0.next: .*the state and the action only",
        ),
        (Aggregate("x", [Amount(ONE[0].when, -1)], table=[0, 1]), r"amount: found -1; .*at least"),
    ],
)
def test_mistakes(aggregate: Aggregate, message: str) -> None:
    """Every mistake is named, with its place and what is expected."""
    with pytest.raises(ModelError, match=message) as caught:
        team(aggregate)
    assert len(caught.value.problems) == 1


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"function": lambda k: [0][k]}, r"failed for the sum 1: IndexError"),
        ({"by_stage": lambda t, k: [0][t]}, r"failed for the sum 0 at stage 1: IndexError"),
        ({"function": str}, r"returned '0' for the sum 0; expected a number"),
    ],
)
def test_functions_that_fail(value: dict[str, Any], message: str) -> None:
    """Where a function fails, the error says for what sum and what happened."""
    with pytest.raises(ModelError, match=r"aggregates\[0\]: the function " + message):
        team(Aggregate("x", CHARGING, **value))


def test_unknown_values_of_features() -> None:
    """A condition on a feature's value that no state has is an error."""
    agent = Agent("a", "s", {"s": {"go": {"s": 1}}}, {"s": {"zone": "north"}})
    amount = Amount({"a": Condition(state={"zone": "nroth"})}, 1)
    with pytest.raises(ModelError, match=r"did you mean 'north'"):
        TIMMDP([agent], aggregates=[Aggregate("x", [amount], table=[0, 1])])
