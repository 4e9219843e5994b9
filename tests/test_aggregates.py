"""Rewards for sums over agents: their values, their checks, and the solvers that know them."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import judge
from cli_runs import Run
from coreplan import (
    TIMMDP,
    Agent,
    Aggregate,
    Amount,
    Condition,
    Entry,
    ModelError,
    Policy,
    RewardFunction,
    SolverError,
    make_report,
    solve,
)
from coreplan.analysis.distribution import exact_distribution
from coreplan.domains.maintenance.coordination import plan_alone
from coreplan.interop.dpomdp import to_dpomdp
from coreplan.interop.prism import to_prism
from coreplan.interop.spudd import CLOCK, to_spudd
from coreplan.model.aggregates import MOST_SUMS
from coreplan.policies.evaluation import evaluate_entries, evaluate_policy, evaluate_stages
from coreplan.policies.graph import plan_graph
from coreplan.solving import simplify
from coreplan.view.words import describe_problem
from group_rules import random_groups
from helpers import CORE_STEPS, agrees, from_file, judged_policy_value, precise, scale
from judge import optimal_value
from prism_reader import PrismReader
from strategies import aggregate_dicts
from test_dpomdp_export import Reader as DpomdpReader
from test_formats_problem import PEAK
from test_group_rule import evaluate_by_groups
from test_policy import policy_of
from test_spudd_export import value_of_file


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


# Policies


@given(raw=aggregate_dicts(max_work=500), algorithm=st.sampled_from(["dp", "core"]))
def test_policies_are_worth_what_the_judge_says(raw: dict[str, Any], algorithm: str) -> None:
    """Exact evaluation, its parts and the stages add up to the judge's value of the policy."""
    policy = solve(from_file(raw), algorithm=algorithm).policy
    assert policy is not None
    expected = judged_policy_value(raw, policy)
    tolerance = 1e-9 * scale(raw)
    value, amounts = evaluate_entries(policy)
    assert abs(value - expected) <= tolerance
    assert abs(sum(amounts) - value) <= tolerance
    _, records = evaluate_stages(policy)
    assert abs(sum(sum(each.earned.values()) for each in records) - value) <= tolerance


@given(raw=aggregate_dicts(max_work=500))
def test_sums_over_independent_parts_are_convolved(raw: dict[str, Any]) -> None:
    """A policy of agents that decide alone is worth the same whether or not they are apart."""
    policy = plan_alone(from_file(raw))
    everyone = range(len(raw["agents"]))
    tolerance = 1e-9 * scale(raw)
    assert abs(policy.evaluate() - judged_policy_value(raw, policy)) <= tolerance
    assert abs(evaluate_policy(policy, [everyone]) - policy.evaluate()) <= tolerance


@given(raw=aggregate_dicts(max_work=500), seed=st.integers(0, 2**32))
def test_groups_are_worth_what_the_judge_says(raw: dict[str, Any], seed: int) -> None:
    """Where agents that still add to a sum are in one group, values are found group by group."""
    policy = random_groups(policy_of(from_file(raw)), Random(seed))
    assert policy.groups is not None
    close = pytest.approx(judged_policy_value(raw, policy), rel=1e-9, abs=1e-9 * scale(raw))
    value = evaluate_by_groups(policy) if precise(raw) else policy.evaluate()
    assert value == close


@given(raw=aggregate_dicts(max_work=300))
def test_distributions_and_graphs(raw: dict[str, Any]) -> None:
    """The mean of the returns, and the value of the first situation, are the policy's value."""
    policy = solve(from_file(raw), algorithm="dp").policy
    assert policy is not None
    value, tolerance = policy.evaluate(), 1e-8 * scale(raw)
    returns = exact_distribution(policy)
    assert abs(returns.mean - value) <= tolerance or not precise(raw)
    graph = plan_graph(policy)
    assert abs(graph.situations[0].value - value) <= tolerance


@given(raw=aggregate_dicts(max_work=300), seed=st.integers(0, 2**32))
def test_simulated_rewards_are_those_of_transitions(raw: dict[str, Any], seed: int) -> None:
    """The first runs, added up from the description, have the returns that the core has seen."""
    policy = solve(from_file(raw), algorithm="dp").policy
    assert policy is not None
    shown = policy.simulate(64, seed=seed, keep=64)
    tolerance = 1e-9 * scale(raw)
    if precise(raw):
        kept = sorted(each.total for each in shown.trajectories)
        assert np.allclose(kept, shown.returns, rtol=0, atol=tolerance)
        assert abs(sum(shown.functions) - shown.mean) <= tolerance
    parts = [*shown.own.values(), *shown.shared.values(), *shown.aggregates.values()]
    assert abs(sum(each.mean for each in parts) - shown.mean) <= tolerance
    assert set(shown.aggregates) == {each["name"] for each in raw["aggregates"]}


def test_explanations_name_the_sum() -> None:
    """An explanation compares changes of pairs that share a sum, and names it as the reason."""
    policy = solve(team(Aggregate("peak", CHARGING, table=[0, 0, 0, -10, -10]))).policy
    assert policy is not None
    shown = policy.explain(0)
    waiting = [name for name, action in shown.action.items() if action == "wait"]
    one = next(each for each in shown.alternatives if set(each.changes) == {waiting[0]})
    told = {each.what: each.amount for each in one.differences}
    assert told["peak"] == pytest.approx(-10)


def test_reports_split_the_value() -> None:
    """The report of a plan and a simulation's text name what sums are worth."""
    policy = solve(team(Aggregate("peak load", CHARGING, table=[0, 0, -1, -20, -30]))).policy
    assert policy is not None
    page = make_report(policy).html
    assert "<bdi>peak load</bdi>" in page
    assert "peak load" in policy.simulate(10).summary()
    assert describe_problem(policy.problem).endswith("1 reward for sums")
    assert "peak load" in policy.problem._repr_html_()


def test_environments_know_sums() -> None:
    """The reward of a single transition has the rewards for sums."""
    problem = team(Aggregate("peak", CHARGING, table=[0, 1, 2, 30, 4]), horizon=1)
    here = problem.initial_state
    actions = {each.name: "charge" for each in CARS} | {"c3": "wait"}
    assert problem.reward(0, here, actions, here) == 9 + 30


# Exports


@given(raw=aggregate_dicts(max_work=60), merge=st.booleans(), shift=st.booleans())
def test_prism_files_have_the_value(raw: dict[str, Any], merge: bool, shift: bool) -> None:
    """A PRISM file counts sums while the agents choose; its value is the judge's."""
    model = to_prism(from_file(raw), merge=merge, shift=shift)
    value = PrismReader(model.text).value(model.steps) - model.shift
    assert abs(value - optimal_value(raw)) <= 1e-8 * scale(raw)


@given(raw=aggregate_dicts(max_work=500), clock=st.booleans())
def test_spudd_and_dpomdp_files_have_the_value(raw: dict[str, Any], clock: bool) -> None:
    """Files for SPUDD and for MADP have the judge's value."""
    expected, tolerance = optimal_value(raw), 1e-8 * scale(raw)
    assert abs(value_of_file(raw, clock=clock) - expected) <= tolerance
    model = to_dpomdp(from_file(raw), clock=clock)
    assert abs(DpomdpReader(model.text).central_value(model.horizon) - expected) <= tolerance


def test_sums_of_some_stages_need_a_clock() -> None:
    """A reward for sums that counts at some stages only is the reason for a clock."""
    always = Aggregate("peak", CHARGING, table=[0, 0, 0, -10, -10])
    some = Aggregate("early peak", CHARGING, table=[0, 0, -10, -10, -10], stages=[0])
    assert CLOCK not in to_spudd(team(always)).start
    assert "the reward 'early peak' differs between stages" in to_spudd(team(some)).text


def test_prism_files_have_limited_sums() -> None:
    """A sum with too many values for a file is refused."""
    amounts = [Amount(CHARGING[0].when, 20_000)]
    wide = [*amounts, Amount(CHARGING[1].when, 1)]
    to_prism(team(Aggregate("x", amounts, points=[(0, 0), (3, 3)])))
    with pytest.raises(SolverError, match="'x' depends on a sum with 20,002 values"):
        to_prism(team(Aggregate("x", wide, points=[(0, 0), (3, 3)])))


# The rest of the package


@given(raw=aggregate_dicts(max_work=300), tolerance=st.sampled_from([0.5, 5]))
def test_simplified_problems_keep_their_sums(raw: dict[str, Any], tolerance: float) -> None:
    """Grouping changes entries only; the bounds of the result hold for the original problem."""
    problem = from_file(raw)
    assert isinstance(problem, TIMMDP)
    simplified = simplify(problem, tolerance)
    assert isinstance(simplified.problem, TIMMDP)
    assert simplified.problem.aggregates == problem.aggregates
    result = simplified.restore(solve(simplified.problem, algorithm="dp"))
    optimum, slack = optimal_value(raw), 1e-9 * scale(raw)
    assert result.lower_bound - slack <= optimum <= result.upper_bound + slack
    assert result.policy is not None
    assert abs(judged_policy_value(raw, result.policy) - result.value) <= slack


@given(raw=aggregate_dicts(max_work=300), data=st.data())
def test_policies_from_later_situations(raw: dict[str, Any], data: st.DataObject) -> None:
    """The value of a policy from a later situation is that of a problem that starts there."""
    policy = solve(from_file(raw), algorithm="dp").policy
    assert policy is not None
    stages = plan_graph(policy).situations
    at = data.draw(st.sampled_from([each for each in stages if each.action]))
    later = policy.starting_from(at.stage, at.state)
    tolerance = 1e-9 * scale(raw)
    assert abs(policy.value(at.stage, at.state) - later.evaluate()) <= tolerance
    named = tuple(at.state[agent["name"]] for agent in raw["agents"])
    expected = judge.policy_value(raw, _acting(raw, policy), at.stage, named)
    assert abs(later.evaluate() - expected) <= tolerance


def _acting(raw: dict[str, Any], policy: Policy) -> judge.Policy:
    names = [agent["name"] for agent in raw["agents"]]

    def act(stage: int, joint: judge.Joint) -> judge.JointAction:
        chosen = policy.act(stage, dict(zip(names, joint, strict=True)))
        return tuple(chosen[name] for name in names)

    return act


@pytest.fixture
def peak_file(tmp_path: Path) -> str:
    """The example of the second version, as a file."""
    path = tmp_path / "peak.json"
    path.write_text(PEAK, encoding="utf-8")
    return str(path)


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (["check"], "ti-mmdp/2, 2 agents, horizon 3, 1 interaction reward, 1 reward for sums"),
        (["info"], "1 possible interaction, 1 reward for sums"),
        (["solve"], "1 reward for sums"),
        (["plan"], "r2"),
        (["simulate", "--runs", "100"], "reward for sums"),
        (["explain"], "peak"),
        (["export", "--to", "prism"], "module sum0"),
        (["export", "--to", "spudd"], "sum0__"),
        (["export", "--to", "dpomdp"], "R: "),
    ],
    ids=lambda each: " ".join(each) if isinstance(each, list) else "",
)
def test_commands(run: Run, peak_file: str, command: list[str], said: str) -> None:
    """The commands know aggregates."""
    first, *rest = command
    code, out, err = run(first, peak_file, *rest)
    assert code == 0, err
    assert said in out


def test_notes_on_unknown_values(run: Run, tmp_path: Path) -> None:
    """`check` notes conditions of amounts that match nothing."""
    path = tmp_path / "peak.json"
    path.write_text(
        PEAK.replace(
            '{"r1": {"action": "go"}}, "amount"', '{"r1": {"state": {"done": 7}}}, "amount"'
        )
    )
    code, out, _ = run("check", str(path))
    assert code == 0
    assert "aggregates[0].amounts[0].when.r1.state.done" in out
