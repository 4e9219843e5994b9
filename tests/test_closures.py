"""Closed steps: no work may start in them, or none may run in them."""

from __future__ import annotations

import datetime
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

import judge
from coreplan import (
    Calendar,
    ClosedPeriod,
    Contractor,
    Delay,
    FormatError,
    MaintenanceProblem,
    ModelError,
    Policy,
    Task,
    solve,
    write_problem,
)
from coreplan.domains.maintenance import Closure, close_steps, schedule_policy
from coreplan.domains.maintenance.closing import closures_of, never_starting
from coreplan.domains.maintenance.closures import start_ranges
from coreplan.domains.maintenance.feasibility import Feasibility
from coreplan.interop.prism import to_prism
from coreplan.model.problem import problem_hash
from coreplan.proof.verify import verify
from coreplan.solving import simplify
from helpers import agrees, from_file, judged_policy_value, scale
from strategies import mpp_dicts

MONDAY = datetime.date(2026, 3, 2)


@st.composite
def closed_problems(draw: DrawFn) -> tuple[MaintenanceProblem, dict[str, Any]]:
    """Draw a feasible problem with closed steps, and its description for the judge."""
    raw = draw(mpp_dicts(max_agents=3))
    horizon = int(raw["horizon"])
    count = draw(st.integers(1, 3))
    closed = []
    for _ in range(count):
        first = draw(st.integers(0, horizon))
        last = first + draw(st.integers(0, 2))
        closed.append(
            {"first": first, "last": last, "no": draw(st.sampled_from(["work", "start"]))}
        )
    raw = {**raw, "closed": closed}
    if raw.get("must_complete"):
        while judge.infeasible_agents(raw):
            closed.pop()
    problem = from_file({key: each for key, each in raw.items() if key != "closed"})
    assert isinstance(problem, MaintenanceProblem)
    return replace(problem, closed=tuple(Closure(**each) for each in closed)), raw


@given(drawn=closed_problems())
def test_the_value_is_that_of_forbidding_these_starts(
    drawn: tuple[MaintenanceProblem, dict[str, Any]],
) -> None:
    """Solvers find the judge's value, and policies with this value, if steps are closed."""
    problem, raw = drawn
    expected = judge.mpp_value(raw)
    tolerance = 1e-9 * scale(raw)
    for algorithm in ("core", "dp", "spudd"):
        result = solve(problem, algorithm=algorithm)
        assert abs(result.value - expected) <= tolerance
        assert abs(judged_policy_value(raw, result.policy) - expected) <= tolerance


@given(drawn=closed_problems())
def test_other_forms_of_the_problem_keep_closed_steps(
    drawn: tuple[MaintenanceProblem, dict[str, Any]],
) -> None:
    """Histories, the translation into a TI-MMDP and a simpler problem have the same value."""
    problem, raw = drawn
    expected = judge.mpp_value(raw)
    tolerance = 1e-9 * scale(raw)
    assert abs(solve(problem.to_timmdp(), algorithm="dp").value - expected) <= tolerance
    assert abs(solve(problem, algorithm="core-2016").value - expected) <= tolerance
    simpler = simplify(problem, 0.0)
    assert abs(solve(simpler.problem).value - expected) <= tolerance
    assert to_prism(problem, shift=True).text


@given(drawn=closed_problems())
def test_latest_stages_agree_with_brute_force_if_steps_are_closed(
    drawn: tuple[MaintenanceProblem, dict[str, Any]],
) -> None:
    """For every set and stage, what can be completed is what trying everything finds."""
    problem, raw = drawn
    model = judge.Mpp({**raw, "must_complete": True})
    for agent, contractor in enumerate(problem.contractors):
        feasibility = Feasibility(contractor.tasks, problem.horizon, closed=problem.closed)
        for todo in range(1 << len(contractor.tasks)):
            names = frozenset(task.name for k, task in enumerate(contractor.tasks) if todo >> k & 1)
            for stage in range(problem.horizon + 1):
                possible = model.can_complete(agent, stage, (names, None, 0))
                assert (stage <= feasibility.latest(todo)) == possible


def test_problems_that_do_not_fit_name_the_work_and_the_period() -> None:
    """An infeasible closure names the work and the period that is the reason, and no other."""
    alpha = Contractor("Alpha", (Task("a1", 2, cost=1, delay=Delay(0.2, 1)), Task("a2", 1, cost=1)))
    periods = (Closure(0, 0, "start", "market"), Closure(3, 5, name="summer holiday"))
    with pytest.raises(ModelError) as caught:
        MaintenanceProblem((alpha,), 7, must_complete=True, closed=periods)
    (problem,) = caught.value.problems
    assert problem.path == ("agents", 0, "tasks", 0)
    assert "'a1' does not fit beside the closed periods" in problem.message
    assert "summer holiday" in problem.message and "market" in problem.message
    late = (Closure(2, 4, name="summer holiday"), Closure(5, 5, "start", "fair"))
    with pytest.raises(ModelError, match="'a1' does not fit beside the closed period summer hol"):
        MaintenanceProblem((alpha,), 6, must_complete=True, closed=late)
    # What does not fit without closures either is not blamed on them.
    with pytest.raises(ModelError) as caught:
        MaintenanceProblem((alpha,), 3, must_complete=True, closed=periods[:1])
    assert "closed" not in str(caught.value)


def test_works_are_never_interrupted() -> None:
    """A work that could be delayed into a closed period starts early enough, or after it."""
    task = Task("a1", 2, cost=1, delay=Delay(0.1, 2))
    assert start_ranges(task, 12, [Closure(6, 7)]) == ((0, 2), (8, 11))
    assert start_ranges(task, 12, [Closure(6, 7, "start")]) == ((0, 5), (8, 11))
    certain = Task("a1", 2, cost=1, delay=Delay(0.0, 2))
    assert start_ranges(certain, 12, [Closure(6, 7), Closure(5, 6)]) == ((0, 3), (8, 11))


def test_wrong_closures_are_refused() -> None:
    """Closed steps that make no sense are reported by place."""
    alpha = Contractor("Alpha", (Task("a1", 1, cost=1),))
    wrong = (Closure(3, 2), Closure(-1, 2), Closure(0, 1, "strat"))
    with pytest.raises(ModelError) as caught:
        MaintenanceProblem((alpha,), 6, closed=wrong)
    places = [problem.place for problem in caught.value.problems]
    assert places == ["closed[0]", "closed[1].first", "closed[2].no"]
    assert "did you mean 'start'" in str(caught.value)


def test_schedules_name_the_closed_period() -> None:
    """A planned start that a closed period forbids is an error that names it and possible steps."""
    alpha = Contractor("Alpha", (Task("a1", 2, cost=1, delay=Delay(0.5, 1)),))
    problem = MaintenanceProblem((alpha,), 10, closed=(Closure(4, 5, name="holiday"),))
    with pytest.raises(ModelError) as caught:
        schedule_policy(problem, {"Alpha": {"a1": 4}})
    said = "it is in the closed period holiday; choose steps 0 to 1 or steps 6 to 9"
    assert said in str(caught.value)
    with pytest.raises(ModelError, match="it could, delayed, still run in the closed period"):
        schedule_policy(problem, {"Alpha": {"a1": 2}})
    assert agrees(schedule_policy(problem, {"Alpha": {"a1": 6}}).evaluate(), -2.5)


def test_plans_and_proofs_belong_to_their_closed_steps(tmp_path: Path) -> None:
    """A saved plan or proof of a problem is refused for the problem with other closed steps."""
    alpha = Contractor("Alpha", (Task("a1", 2, cost=[1, 1, 2, 2, 3, 3]),))
    plain = MaintenanceProblem((alpha,), 6, must_complete=True)
    closed = replace(plain, closed=(Closure(1, 1, name="x"),))
    named = replace(plain, closed=(Closure(1, 1, name="y"), Closure(1, 1)))
    assert problem_hash(plain) != problem_hash(closed) == problem_hash(named)
    assert problem_hash(closed) != problem_hash(replace(plain, closed=(Closure(1, 1, "start"),)))
    result = solve(closed, certificate=True)
    assert agrees(result.value, -4)
    result.policy.save(tmp_path / "plan.json")
    result.save_certificate(tmp_path / "proof.json")
    assert verify(closed, tmp_path / "proof.json").confirmed
    assert agrees(Policy.load(tmp_path / "plan.json", named).evaluate(), -4)
    with pytest.raises(FormatError, match="has changed since it was saved"):
        Policy.load(tmp_path / "plan.json", plain)
    with pytest.raises(FormatError, match="problem"):
        verify(plain, tmp_path / "proof.json")


def test_files_of_problems_do_not_lose_closed_steps(tmp_path: Path) -> None:
    """Writing a problem with closed steps is an error that says where to keep them."""
    alpha = Contractor("Alpha", (Task("a1", 2, cost=1),))
    problem = MaintenanceProblem((alpha,), 6, closed=(Closure(1, 1),))
    with pytest.raises(ModelError, match=r"1 closed period.* keep them in the calendar beside"):
        write_problem(problem, tmp_path / "works.yaml")
    assert not (tmp_path / "works.yaml").exists()
    assert problem.file_format == "mpp/1"


def test_a_period_closes_every_step_that_it_overlaps() -> None:
    """The steps of a period are all that it shares a day with; earlier periods close nothing."""

    def close(first: str, last: str) -> tuple[tuple[int, int], ...]:
        days = map(datetime.date.fromisoformat, (first, last))
        calendar = Calendar(MONDAY, "week", closed=(ClosedPeriod("x", *days),))
        return tuple((each.first, each.last) for each in closures_of(calendar))

    assert close("2026-03-15", "2026-03-16") == ((1, 2),)
    assert close("2026-03-09", "2026-03-15") == ((1, 1),)
    assert close("2026-02-01", "2026-03-02") == ((0, 0),)
    assert close("2026-02-01", "2026-03-01") == ()


def test_closing_by_calendar() -> None:
    """The error of a calendar has dates; works that can never start are named."""
    alpha = Contractor("Alpha", (Task("a1", 3, cost=1),))
    easter = ClosedPeriod("Easter", datetime.date(2026, 3, 17), datetime.date(2026, 3, 17))
    calendar = Calendar(MONDAY, "week", closed=(easter,))
    loose = close_steps(MaintenanceProblem((alpha,), 5), calendar)
    assert [each.first for each in loose.closed] == [2]
    assert never_starting(loose) == []  # it may start in the last two steps, and not be completed
    assert never_starting(close_steps(MaintenanceProblem((alpha,), 3), calendar)) == ["Alpha/a1"]
    assert close_steps(loose, None).closed == ()
    with pytest.raises(ModelError) as caught:
        close_steps(MaintenanceProblem((alpha,), 5, must_complete=True), calendar)
    assert str(caught.value) == (
        "contractor 'Alpha' cannot finish all its works by 5 Apr 2026: 'a1' does not fit beside "
        "the closed period Easter (17 Mar 2026); shorten a closed period, plan more steps, widen "
        "a window, drop a work, or set must_complete to false"
    )
