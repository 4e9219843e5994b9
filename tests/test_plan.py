"""Plans that people have: what they are worth, how much could be gained, and to start from them."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import judge
from clocks import ticking
from coreplan import (
    ContractorState,
    LimitError,
    ModelError,
    Policy,
    Result,
    SolverError,
    Status,
    _core,
    evaluate_plan,
    read_problem,
    solve,
)
from coreplan.cli import example_path
from coreplan.domains.maintenance import schedule_policy
from coreplan.domains.maintenance.money import split_value
from coreplan.policies import evaluation
from coreplan.proof.verify import verify
from coreplan.solving import compile_problem
from coreplan.solving.engine.team import EngineOptions, Team
from coreplan.solving.limits import Limits
from coreplan.solving.start import Start
from coreplan.solving.tuning import Tuning
from helpers import agrees, from_file, judged_policy_value, package_state, random_mpp, scale
from strategies import problem_dicts
from test_schedule import Planned, planned_works, try_policy, works

TOGETHER = {"Alpha": {"a1": 2, "a2": 4}, "Beta": {"b1": 2, "b2": 3}}


def inexact() -> Any:
    """Solve no team exactly: the engine has to work with bounds."""
    return patch.object(Team, "exact_work", math.inf)


def check_start(raw: dict[str, Any], result: Result, value: float) -> None:
    """A result from a start is valid and not worse."""
    tolerance = 1e-9 * scale(raw)
    optimum = judge.optimal_value(raw)
    assert result.value >= value - 1e-12 * scale(raw)
    assert result.value <= optimum + tolerance
    assert result.upper_bound >= optimum - tolerance
    assert result.policy is not None
    assert judged_policy_value(raw, result.policy) >= result.value - tolerance


# -- solve from a start ----------------------------------------------------------------------------


@given(drawn=planned_works(), merge=st.booleans(), limit=st.floats(0.0003, 0.05))
def test_a_schedule_to_start_from_is_never_lost(
    drawn: tuple[dict[str, Any], Planned], merge: bool, limit: float
) -> None:
    """However little time there is, the result is as good as the schedule that it started from."""
    raw, schedule = drawn
    policy = try_policy(raw, schedule)
    assume(policy is not None)
    assert policy is not None
    problem = from_file(raw)
    with inexact():
        try:
            with ticking():
                result = solve(problem, start=schedule, time_limit=limit, merge=merge, threads=1)
        except LimitError:
            return
    check_start(raw, result, policy.evaluate())


@given(raw=problem_dicts(), algorithm=st.sampled_from(["dp", "core"]), merge=st.booleans())
def test_an_optimal_policy_to_start_from_is_kept(
    raw: dict[str, Any], algorithm: str, merge: bool
) -> None:
    """A policy that is optimal stays so, whatever it knows of; and where it is, it is found."""
    problem = from_file(raw)
    known = solve(problem, algorithm=algorithm, merge=merge)
    assert known.policy is not None
    check_start(raw, solve(problem, start=known.policy), known.policy.evaluate())
    with inexact():
        result = solve(problem, start=known.policy, work_limit=0.05)
    check_start(raw, result, known.policy.evaluate())


@given(drawn=planned_works(), kept=st.sampled_from(["history", "merged"]))
def test_agents_of_the_engine_do_what_was_planned(
    drawn: tuple[dict[str, Any], Planned], kept: str
) -> None:
    """Where the engine's model keeps all actions, its base is worth what the schedule is worth."""
    raw, schedule = drawn
    policy = try_policy(raw, schedule)
    assume(policy is not None)
    assert policy is not None
    limits = Limits()
    compiled = compile_problem(policy.problem, merge=kept == "merged", limits=limits)
    steps = dict.fromkeys(("shape", "drop", "settle", "eliminate", "merge"), False)
    reduction = _core.reduce(compiled.model, **steps, monitor=limits.monitor)
    bases = Start(policy, policy.evaluate()).bases(compiled, reduction)
    assert bases is not None
    value = reduction.offset + compiled.model.constant
    for agents in _core.components(reduction.model):
        team = Team(reduction.model, agents, EngineOptions(limits, 1, 1))
        for k, i in enumerate(team.agents):
            counts = np.diff(team.model.action_begin(k).astype(np.int64))
            assert np.all(bases[i][counts > 0] < counts[counts > 0])
        team.start([bases[i] for i in team.agents])
        value += team.lower
    assert value >= policy.evaluate() - 1e-9 * scale(raw)


def test_the_plan_is_kept_if_nothing_better_is_found() -> None:
    """Where the engine finds nothing better, the policy in hand is the one that was given."""
    problem = works()
    best = solve(problem).policy
    assert best is not None
    result = solve(problem, start=best)
    assert result.policy is best
    assert result.status is Status.OPTIMAL


def test_the_value_is_a_bound_at_once() -> None:
    """The first thing that a callback hears of bounds is what the plan is worth."""
    heard = []
    value = schedule_policy(works(), TOGETHER).evaluate()
    solve(works(), start=TOGETHER, callback=lambda progress: heard.append(progress.lower_bound))
    assert next(each for each in heard if math.isfinite(each)) == value


def test_a_start_helps_a_team_that_is_not_solved() -> None:
    """A good plan for a large team is as good as what the engine goes on from."""
    problem = from_file(random_mpp(12, 3, 12))
    schedule = {
        contractor.name: {task.name: 4 * k for k, task in enumerate(contractor.tasks)}
        for contractor in problem.contractors  # type: ignore[union-attr]
    }
    tuning = Tuning(exact_at_once=-1.0)
    result = solve(problem, start=schedule, work_limit=1.0, threads=1, tuning=tuning)
    assert result.value >= schedule_policy(problem, schedule).evaluate()  # type: ignore[arg-type]


def test_a_start_from_a_later_situation() -> None:
    """Stage and state of the plan and of the question have to be the same."""
    state = {"Alpha": ContractorState(doing="a1", remaining=1), "Beta": ContractorState()}
    later = schedule_policy(works(), TOGETHER, stage=3, state=state)
    result = solve(works(), start=later, stage=3, state=state)
    assert result.value >= later.evaluate()
    assert solve(works(), start=TOGETHER, stage=3, state=state).value == result.value
    with pytest.raises(SolverError, match="starts from stage 3; expected a plan from stage 0"):
        solve(works(), start=later)
    with pytest.raises(SolverError, match="agent 'Alpha' in state"):
        solve(works(), start=later, stage=3)


def test_starts_that_make_no_sense() -> None:
    """What is no plan, is for another problem or is asked of another algorithm is refused."""
    with pytest.raises(SolverError, match="expected a Policy"):
        solve(works(), start=3)
    with pytest.raises(ModelError, match="no contractor 'Gamma'"):
        solve(works(), start={"Gamma": {}})
    other = schedule_policy(works(horizon=9), TOGETHER)
    with pytest.raises(SolverError, match="another problem"):
        solve(works(), start=other)
    with pytest.raises(SolverError, match="'dp' has no option 'start'"):
        solve(works(), algorithm="dp", start=TOGETHER)
    robots = read_problem(example_path("two_robots.yaml"))
    with pytest.raises(SolverError, match="expected a Policy"):
        solve(robots, start={"r1": {"go": 1}})


# -- how good it is --------------------------------------------------------------------------------


@given(drawn=planned_works())
def test_the_report_brackets_the_optimum(drawn: tuple[dict[str, Any], Planned]) -> None:
    """Value, best known value, optimum and bound are in this order, and the parts add up."""
    raw, schedule = drawn
    policy = try_policy(raw, schedule)
    assume(policy is not None)
    assert policy is not None
    report = evaluate_plan(from_file(raw), schedule)
    tolerance = 1e-9 * scale(raw)
    optimum = judge.optimal_value(raw)
    assert report.value == policy.evaluate()
    assert report.best_known is not None
    assert report.upper_bound is not None
    assert report.value <= report.best_known <= optimum + tolerance
    assert report.upper_bound >= optimum - tolerance
    if report.optimal:
        assert agrees(report.value, optimum)
    elif report.gap is not None and report.gap <= 1e-9 * abs(report.value):
        pytest.fail("a plan that is proven optimal does not count as such")
    money = report.money
    assert money is not None
    assert abs(money.revenue - money.works - money.hindrance - report.value) <= tolerance
    assert abs(sum(money.hindrances) - money.hindrance) <= tolerance
    assert report.summary()


def test_the_hindrance_of_a_bad_schedule_is_reported() -> None:
    """What coincides is told apart from what the works cost, with what could be gained."""
    report = evaluate_plan(works(), TOGETHER)
    assert report.money is not None
    assert (report.money.hindrance, report.money.hindrances) == (20, (20,))
    assert report.money.works == pytest.approx(2.5 + 3 + 1 + 2)
    assert report.money.revenue == pytest.approx(0.5 * 10 + 0.5 * 10 + 4 + 6)
    assert report.gap == pytest.approx(solve(works()).value - report.money.value)
    assert report.gain == report.gap
    assert not report.optimal
    lines = report.summary().splitlines()
    assert lines[0].startswith(
        "your plan is expected to cost 8.50 in all: revenue 20.00, works 8.5"
    )
    assert lines[0].endswith("hindrance 20.00")
    assert lines[1].startswith("at most 22.50 (265 %) can be saved: no plan can earn more than 14.")


def test_an_optimal_plan_is_called_so() -> None:
    """A plan that cannot be improved is said to be optimal."""
    report = evaluate_plan(works(), solve(works()).policy)  # type: ignore[arg-type]
    assert report.optimal
    assert report.gap == pytest.approx(0, abs=1e-9)
    assert "your plan is optimal" in report.summary()


def test_without_a_bound() -> None:
    """Without a bound there is the value alone."""
    report = evaluate_plan(works(), TOGETHER, bound=False)
    assert report.best_known == report.value
    assert (report.upper_bound, report.gap, report.relative_gap) == (None, None, None)
    assert (report.search_status, report.result, report.optimal) == (None, None, False)
    assert len(report.summary().splitlines()) == 1


def test_a_limit_before_any_bound_leaves_the_value() -> None:
    """If no bound can be found within limits, the value is there, and the reason."""
    problem = works()
    policy = schedule_policy(problem, TOGETHER)
    report = evaluate_plan(problem, policy, memory_limit=1e-6)
    assert report.value == policy.evaluate()
    assert report.upper_bound is None
    assert "no bound was found" in report.summary()


def test_values_out_of_reach_are_estimated() -> None:
    """Where the exact value is out of reach there is an estimate, and it is not called exact."""
    problem = from_file(random_mpp(3, 2, 6))
    policy = solve(problem, algorithm="dp").policy
    assert policy is not None
    with patch.object(evaluation._Part, "_spread", side_effect=SolverError("too many")):
        report = evaluate_plan(problem, policy, seed=3, estimate_runs=500)
    assert report.value is None
    assert (report.gap, report.gain, report.optimal) == (None, None, False)
    assert report.estimate is not None
    assert report.estimate == policy.estimate(500, 3)
    said = report.summary()
    assert "out of reach" in said
    assert "with a confidence of 95 %, estimated from 500 runs, not exact" in said
    assert "no plan can earn more than" in said
    assert report.to_dict()["exact"] is False
    assert report.best_known == solve(problem).value


def test_plans_of_robots_have_no_money() -> None:
    """In other problems a plan has a value, and nothing is said of money."""
    robots = read_problem(example_path("two_robots.yaml"))
    result = solve(robots)
    assert result.policy is not None
    report = evaluate_plan(robots, result.policy)
    assert report.money is None
    assert report.summary().startswith("your plan is worth ")
    with pytest.raises(
        ModelError, match="revenue, works and hindrance need a plan of a maintenance problem"
    ):
        split_value(result.policy)


def test_a_plan_from_a_later_situation(tmp_path: Path) -> None:
    """A policy is evaluated from where it starts; what it does not cover is refused."""
    state = {"Alpha": ContractorState(doing="a1", remaining=1), "Beta": ContractorState()}
    later = schedule_policy(works(), TOGETHER, stage=3, state=state)
    later.save(tmp_path / "later.json")
    loaded = Policy.load(tmp_path / "later.json", works())
    report = evaluate_plan(works(), loaded)
    assert report.value == later.evaluate()
    assert report.value == evaluate_plan(works(), TOGETHER, stage=3, state=state).value
    with pytest.raises(SolverError, match="from stage 2"):
        evaluate_plan(works(), loaded, stage=2)
    with pytest.raises(ModelError, match="this plan does not cover the state"):
        evaluate_plan(works(), loaded, state={"Alpha": {}, "Beta": {}})


@given(drawn=planned_works(), data=st.data())
def test_the_rest_of_a_plan(drawn: tuple[dict[str, Any], Planned], data: st.DataObject) -> None:
    """From any situation, what is left to gain is bounded."""
    raw, schedule = drawn
    stage, joint = data.draw(st.sampled_from(list(judge.joint_states(raw))))
    state = package_state(raw, joint)
    try:
        report = evaluate_plan(from_file(raw), schedule, stage=stage, state=state)
    except ModelError:
        return
    optimum = judge.mpp_value(raw, stage, joint)
    assert report.value is not None
    assert report.upper_bound is not None
    assert report.value - 1e-9 * scale(raw) <= optimum <= report.upper_bound + 1e-9 * scale(raw)


def test_a_certificate_of_the_plan_that_was_given(tmp_path: Path) -> None:
    """Where the plan that was given is the best known, the certificate is about it."""
    problem = works()
    best = solve(problem).policy
    assert best is not None
    file = tmp_path / "proof.json.gz"
    result = solve(problem, start=best, certificate=file)
    assert result.policy is best
    verification = verify(problem, file)
    assert verification.confirmed
    solve(problem, start=TOGETHER, certificate=file)
    assert verify(problem, file).confirmed
