"""Plans that decide as they go: never worse than what they look ahead from, and as good as told."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import jsonschema
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ahead_rules import ahead_policy
from clocks import ticking
from coreplan import (
    FormatError,
    MaintenanceProblem,
    Policy,
    Result,
    SolverError,
    Status,
    make_report,
    solve,
    speaking,
)
from coreplan.bench.sets import generate
from coreplan.formats import read_result, schema
from coreplan.solving import simplify
from coreplan.solving.result import ValueEstimate
from coreplan.solving.tuning import Tuning
from helpers import agrees, from_file, judged_policy_value, package_state, scale
from judge import joint_states, optimal_value
from strategies import problem_dicts
from test_team_rule import saved_and_loaded

WORK = 0.4
"""Work after which a team of the tests is far from solved."""


def team(agents: int = 24) -> MaintenanceProblem:
    """Contractors that hinder each other much."""
    instance = next(generate("large", agents=agents, contention="high", tasks=2, horizon=26))
    assert isinstance(instance.problem, MaintenanceProblem)
    return instance.problem


@pytest.fixture(scope="module")
def solved() -> Result:
    """A team that looks ahead."""
    result = solve(team(), work_limit=WORK, threads=1)
    assert result.policy is not None
    assert result.policy.ahead
    return result


@given(raw=problem_dicts(max_work=500), seed=st.integers(0, 2**32))
def test_it_is_worth_at_least_its_base_and_at_most_the_optimum(
    raw: dict[str, Any], seed: int
) -> None:
    """By the judge's recursion, which follows its decisions in every joint state."""
    policy = ahead_policy(from_file(raw), Random(seed))
    assume(policy is not None)
    assert policy is not None
    slack = 1e-9 * scale(raw)
    value = judged_policy_value(raw, policy)
    assert agrees(policy.evaluate(), value, slack)
    assert value >= policy.base.evaluate() - slack
    assert value <= optimal_value(raw) + slack


@given(raw=problem_dicts(max_work=500), seed=st.integers(0, 2**32), data=st.data())
def test_a_file_brings_back_all_decisions(
    raw: dict[str, Any], seed: int, data: st.DataObject
) -> None:
    """In every joint state, also in those that the engine leaves out."""
    problem = from_file(raw)
    policy = ahead_policy(problem, Random(seed), merge=data.draw(st.booleans()))
    assume(policy is not None)
    assert policy is not None
    loaded = saved_and_loaded(policy)
    assert len(loaded.ahead) == 1
    for stage, state in joint_states(raw):
        named = package_state(raw, state)
        assert loaded.act(stage, named) == policy.act(stage, named)


def test_a_large_team_looks_ahead_and_says_what_it_gains(solved: Result) -> None:
    """The certain value is that of the base; the estimate is better, and runs agree with it."""
    policy, estimate = solved.policy, solved.estimate
    assert policy is not None
    assert estimate is not None
    assert policy.parts[0] == policy.ahead[0].agents
    assert sorted(i for part in policy.parts for i in part) == [*range(len(policy.maps))]
    assert policy.base.evaluate() == pytest.approx(solved.value, rel=1e-9)
    assert solved.value <= estimate.lower < estimate.value <= solved.upper_bound
    assert estimate.confidence == 0.999
    assert estimate.runs >= Tuning().pilot_runs
    shown = policy.simulate(2000, seed=5)
    error = math.hypot(shown.deviation / math.sqrt(2000), estimate.standard_error)
    assert abs(shown.mean - estimate.value) < 4 * error
    assert shown.deviation / math.sqrt(estimate.runs) > estimate.standard_error
    assert "lookahead" in repr(policy)


def test_it_repeats_itself(solved: Result) -> None:
    """The same plan and the same estimate, on any number of threads."""
    again = solve(team(), work_limit=WORK, threads=2)
    assert again.estimate == solved.estimate
    assert again.value == solved.value
    assert again.policy is not None
    assert solved.policy is not None
    assert again.policy.simulate(50, 3).returns.tolist() == (
        solved.policy.simulate(50, 3, threads=1).returns.tolist()
    )


def test_it_can_be_switched_off(solved: Result) -> None:
    """Then the plan is the certified one, and there is no estimate."""
    plain = solve(team(), work_limit=WORK, lookahead=False)
    assert plain.policy is not None
    assert not plain.policy.ahead
    assert plain.estimate is None
    assert plain.value == solved.value
    assert plain.upper_bound == solved.upper_bound
    assert "estimate" not in plain.to_dict()


def test_a_solved_team_does_not_look_ahead() -> None:
    """An optimal plan is exact."""
    result = solve(team(3), tuning=Tuning(ahead_agents=2))
    assert result.status is Status.OPTIMAL
    assert result.policy is not None
    assert not result.policy.ahead
    assert result.estimate is None


def test_a_plan_from_a_later_stage_on_decides_the_same(solved: Result) -> None:
    """Along a run, until the end."""
    policy = solved.policy
    assert policy is not None
    run = policy.simulate(2, seed=1, keep=1).trajectories[0]
    later = policy.starting_from(9, dict(run.states[9]))
    assert later.ahead
    loaded = saved_and_loaded(later)
    for stage in range(9, policy.horizon):
        state = dict(run.states[stage])
        assert policy.act(stage, state) == run.actions[stage]
        assert later.act(stage, state) == run.actions[stage]
        assert loaded.act(stage, state) == run.actions[stage]


def test_exact_values_are_out_of_reach_and_say_so(solved: Result) -> None:
    """Decisions that are made as they are needed take too long for all joint states."""
    policy = solved.policy
    assert policy is not None
    with pytest.raises(SolverError, match=r"use Policy\.estimate"):
        policy.evaluate()


def test_a_summary_says_what_is_certain_and_what_is_almost_certain(solved: Result) -> None:
    """In one sentence, in the words for money and in those for values."""
    said = solved.summary().splitlines()[1]
    assert solved.estimate is not None
    certain, likely, bound = (
        f"{-value:,.2f}" for value in (solved.value, solved.estimate.lower, solved.upper_bound)
    )
    assert said == (
        f"This plan decides as it goes: its expected cost is certainly at most {certain}, almost "
        f"certainly at most {likely} (99.9 %), and at least {bound}."
    )
    plain = replace(solved, policy=None)
    assert "its value is certainly at least -" in plain.summary().splitlines()[1]
    with speaking("nl"):
        assert "Dit plan beslist onderweg: de verwachte kosten" in solved.summary()


def test_a_report_says_both_and_simulates(solved: Result) -> None:
    """The amounts are estimates, the bounds are those that are proven."""
    report = make_report(solved, time_limit=1.0)
    assert "This plan decides as it goes" in report.data["summary"]["proof"]
    assert report.data["summary"]["value"] == solved.value
    assert "simulated courses" in report.data["summary"]["note"]


def test_analyses_know_it(solved: Result) -> None:
    """A tree, a course and an explanation follow its decisions."""
    policy = solved.policy
    assert policy is not None
    first = policy.act(0)
    assert "C1 starts" in str(policy.tree(min_probability=0.05))
    course = policy.schedule()
    assert {work.contractor for work in course.works} <= set(first)
    explained = policy.explain(0, time_limit=3, agents=["C1"])
    assert not explained.exact
    assert explained.action == first


def test_a_plan_that_decides_as_it_goes_is_a_plan_to_start_from(solved: Result) -> None:
    """Its certain value is the first lower bound."""
    result = solve(team(), work_limit=0.01, start=solved.policy)
    assert result.value >= solved.value - 1e-9 * abs(solved.value)
    assert result.policy is not None


def test_a_simpler_problem_gives_a_plan_of_known_value() -> None:
    """What is best there may be worse than the base in the original problem."""
    simplified = simplify(team(), 2.0)
    result = solve(simplified.problem, work_limit=WORK)
    assert result.estimate is not None
    restored = simplified.restore(result)
    assert restored.policy is not None
    assert not restored.policy.ahead
    assert restored.estimate is None
    assert restored.value == pytest.approx(restored.policy.evaluate(), rel=1e-9)


def test_a_file_fits_its_schema(tmp_path: Path) -> None:
    """The part about looking ahead, too."""
    policy = ahead_policy(team(3), Random(5))
    assert policy is not None
    policy.save(tmp_path / "plan.json")
    document = json.loads((tmp_path / "plan.json").read_text(encoding="utf-8"))
    assert document["lookahead"]
    jsonschema.validate(document, schema("policy/1"))


def test_it_keeps_to_a_time_limit() -> None:
    """The pilot and the estimate fit into the time that is kept for them."""
    with ticking():
        result = solve(team(), time_limit=3, threads=1)
    assert result.seconds < 6


def test_an_estimate_is_part_of_a_result_file(tmp_path: Path, solved: Result) -> None:
    """And comes back from it."""
    solved.save(tmp_path / "result.json")
    loaded = read_result(tmp_path / "result.json")
    assert loaded.estimate == solved.estimate
    assert loaded.to_dict() == solved.to_dict()


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("standard_error", -1),
        ("confidence", 1),
        ("runs", 0),
        ("runs", 2.5),
        ("value", "many"),
        ("more", 1),
    ],
)
def test_a_wrong_estimate_is_refused(tmp_path: Path, solved: Result, key: str, value: Any) -> None:
    """With its place."""
    content = solved.to_dict()
    estimate = content["estimate"]
    assert isinstance(estimate, dict)
    content["estimate"] = {**estimate, key: value}
    path = tmp_path / "result.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(FormatError, match=rf"estimate.*{key}|{key}"):
        read_result(path)


@given(data=st.data())
def test_a_damaged_file_is_refused_or_still_a_plan(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """Whatever is changed in the part about looking ahead."""
    problem = team(3)
    policy = ahead_policy(problem, Random(1))
    assert policy is not None
    path = tmp_path_factory.mktemp("plan") / "plan.json"
    policy.save(path)
    content = json.loads(path.read_text(encoding="utf-8"))
    place: Any = content["lookahead"]
    while isinstance(place, dict | list) and place:
        keys = sorted(place) if isinstance(place, dict) else range(len(place))
        key = data.draw(st.sampled_from(keys))
        if not isinstance(place[key], dict | list) or not place[key] or data.draw(st.booleans()):
            place[key] = data.draw(
                st.sampled_from([None, -1, 0, 1, 7, 2.5, "x", [], {}, "eJwDAAAAAAE=", [[0]]])
            )
            break
        place = place[key]
    path.write_text(json.dumps(content), encoding="utf-8")
    try:
        loaded = Policy.load(path, problem)
    except FormatError:
        return
    assert set(loaded.act(0)) == {each.name for each in problem.contractors}


def test_a_certificate_has_the_certified_plan(tmp_path: Path) -> None:
    """Its decisions have to be checked without the core."""
    result = solve(team(), work_limit=WORK, certificate=True)
    assert result.policy is not None
    assert result.policy.ahead
    certificate = result.certificate
    assert certificate is not None
    assert certificate.policy is not None
    assert not certificate.policy.ahead
    assert certificate.lower == pytest.approx(result.value)


def test_a_given_plan_that_is_better_stays(solved: Result) -> None:
    """A plan to start from is the result if none of known value is better."""
    assert solved.policy is not None
    result = solve(team(), work_limit=WORK, start=solved.policy.base)
    assert result.value >= solved.value - 1e-9 * abs(solved.value)


def test_the_interval_holds() -> None:
    """The value is at least the lower end in about all of many estimates, by exact values."""
    problem = team(4)
    misses = 0
    for seed in range(12):
        result = solve(
            problem,
            work_limit=0.01,
            seed=seed,
            search=False,
            exact=False,
            tuning=Tuning(ahead_agents=2, least_gain=-1.0, pilot_runs=32, exact_part=0.0),
        )
        if result.estimate is None:
            continue
        assert result.policy is not None
        value = result.policy.evaluate()
        assert value >= result.value - 1e-9 * abs(value)
        misses += value < result.estimate.lower - 1e-9 * abs(value)
    assert misses == 0


def test_an_estimate_is_plain() -> None:
    """Its parts are numbers by name."""
    estimate = ValueEstimate(2.0, 0.5, 1.0, 0.999, 100)
    assert estimate.to_dict() == {
        "value": 2.0,
        "standard_error": 0.5,
        "lower": 1.0,
        "confidence": 0.999,
        "runs": 100,
    }
    assert np.isfinite(estimate.value)
