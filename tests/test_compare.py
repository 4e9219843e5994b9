"""Algorithms side by side: what is put together, and what is noticed."""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

import pytest
from hypothesis import given, settings

import coreplan
import judge
from clocks import ticking
from coreplan import LimitError, ModelError, Result, SolverError, Status, compare
from coreplan.analysis import ComparedRun
from coreplan.analysis.comparison import judge_runs
from coreplan.support.memory import forget_peak_memory, peak_memory_mb
from helpers import agrees, dense_team, from_file, random_mpp, scale
from strategies import Problem, problem_dicts


def result(algorithm: str, lower: float, upper: float, objective: str = "centralised") -> Result:
    """A result with these bounds."""
    status = Status.OPTIMAL if upper - lower < 1e-9 else Status.TIME_LIMIT
    return Result("p", algorithm, status, lower, lower, upper, 0.1, objective=objective)


def judged(*results: Result) -> coreplan.analysis.Comparison:
    """Results put together."""
    return judge_runs("p", [ComparedRun(each.algorithm, each) for each in results])


@settings(max_examples=30)
@given(problem_dicts(max_work=1000))
def test_all_algorithms_agree(raw: Problem) -> None:
    """On problems of all kinds all algorithms prove the judge's value, decentralised ones less."""
    problem = from_file(raw)
    with ticking():
        comparison = compare(problem, time_limit=20)
    assert comparison.contradictions == ()
    assert all(run.result is not None for run in comparison.runs)
    expected = judge.optimal_value(raw)
    tolerance = 1e-9 * scale(raw)
    assert comparison.upper_bound is not None
    assert agrees(comparison.upper_bound, expected, tolerance)
    for run in comparison.runs:
        assert run.result is not None
        if run.is_decentralised:
            assert run.result.value <= expected + tolerance
            assert run.loss is not None
        else:
            assert agrees(run.result.value, expected, tolerance)
            assert run.loss is None


def test_order_and_names() -> None:
    """Algorithms run in the order in which they are named, each once; unknown ones are refused."""
    problem = from_file(random_mpp(2, 1, 3))
    seen: list[str] = []
    comparison = compare(problem, ["dp", "core", "dp"], started=seen.append)
    assert seen == [run.algorithm for run in comparison.runs] == ["dp", "core"]
    with pytest.raises(SolverError, match="did you mean 'core'"):
        compare(problem, ["cor"])
    with pytest.raises(SolverError, match="'fast'"):
        compare(problem, ["core"], options={"fast": {}})
    with pytest.raises(SolverError, match="name one"):
        compare(problem, [])
    with pytest.raises(ModelError, match="expected a TIMMDP"):
        compare("p")  # type: ignore[arg-type]


def test_a_limit_does_not_spoil_the_rest() -> None:
    """An algorithm without a plan says why, and the others are compared."""
    problem = from_file(random_mpp(2, 1, 3))
    comparison = compare(problem, ["core", "dp"], memory_limit=0.0001)
    assert [run.reason for run in comparison.runs] == ["memory_limit"] * 2
    assert all("memory limit" in run.message for run in comparison.runs)
    assert (comparison.lower_bound, comparison.upper_bound) == (None, None)
    comparison = compare(problem, ["core", "dp"], options={"dp": {"threads": 2}})
    assert [run.reason for run in comparison.runs] == ["", "error"]
    assert "'threads'" in comparison.runs[1].message
    assert comparison.to_dict()["runs"][1]["result"] is None  # type: ignore[index]


def test_limits_leave_bounds() -> None:
    """A limit that strikes later leaves bounds that are compared."""
    problem = from_file(dense_team(60))
    with ticking():
        comparison = compare(problem, ["core", "dp"], time_limit=0.1)
    assert comparison.contradictions == ()
    assert comparison.lower_bound is not None
    assert comparison.upper_bound is not None
    assert comparison.lower_bound <= comparison.upper_bound


def test_ctrl_c_ends_the_comparison() -> None:
    """The first Ctrl-C gives what the running algorithm has; the rest is not run."""
    pressed: list[bool] = []

    def once(progress: coreplan.Progress) -> None:
        if not pressed and progress.phase not in ("compile", "shrinking"):
            pressed.append(True)
            os.kill(os.getpid(), signal.SIGINT)

    previous = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        comparison = compare(from_file(dense_team(100)), ["core", "dp"], callback=once)
    finally:
        signal.signal(signal.SIGINT, previous)
    first, second = comparison.runs
    assert first.result is not None
    assert first.result.status is Status.INTERRUPTED
    assert (second.result, second.reason) == (None, "not_run")


def test_ctrl_c_before_any_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    """If there is nothing yet, that is what the comparison says."""

    def interrupted(*_: object, **__: object) -> Result:
        raise LimitError("interrupted", "interrupted before any plan was found")

    monkeypatch.setattr(sys.modules["coreplan.analysis.comparison"], "solve", interrupted)
    comparison = compare(from_file(random_mpp(2, 1, 3)), ["core", "dp", "crg-ps"])
    assert [run.reason for run in comparison.runs] == ["interrupted", "not_run", "not_run"]


@pytest.mark.parametrize(
    ("results", "said"),
    [
        ([result("a", 10, 12), result("b", 13, 14)], ["b claims a plan worth 13", "more than 12"]),
        ([result("a", 10, 10), result("d", 10.1, 11, "decentralised")], ["d claims a decentral"]),
        (
            [result("d", 5, 6, "decentralised"), result("e", 7, 7, "decentralised")],
            ["e claims a decentralised plan worth 7, but d claims that none"],
        ),
    ],
)
def test_contradictions(results: list[Result], said: list[str]) -> None:
    """Claims that cannot both be true are told, whoever comes first."""
    for each in (results, results[::-1]):
        (contradiction,) = judged(*each).contradictions
        for part in said:
            assert part in contradiction


def test_no_contradictions() -> None:
    """Bounds that meet up to rounding, and decentralised bounds below, are no contradictions."""
    comparison = judged(
        result("a", 10, 10),
        result("b", 10 + 1e-9, 12),
        result("c", 3, 10 - 1e-9),
        result("d", 8, 9, "decentralised"),
    )
    assert comparison.contradictions == ()
    assert comparison.upper_bound == pytest.approx(10)
    assert comparison.lower_bound == pytest.approx(10)


def test_loss() -> None:
    """What decentralising loses is a number where both optima are proven, else a bracket."""
    proven = judged(result("a", 10, 10), result("d", 8, 8, "decentralised"))
    assert proven.runs[1].loss == (2, 2)
    assert proven.runs[0].loss is None
    bracket = judged(result("a", 10, 13), result("d", 8, 9, "decentralised"))
    assert bracket.runs[1].loss == (1, 5)
    alone = judged(result("d", 8, 9, "decentralised"))
    assert alone.runs[0].loss is None
    # The decentralised plan is the best known of all.
    best = judged(result("a", 5, 13), result("d", 8, 9, "decentralised"))
    assert best.lower_bound == 8
    assert best.runs[1].loss == (0, 5)


def test_memory_of_each() -> None:
    """The most memory is counted anew for each algorithm, where the system can do that."""
    block = bytearray(200_000_000)
    before = peak_memory_mb()
    del block
    forget_peak_memory()
    after = peak_memory_mb()
    if after < before:
        problem: Any = from_file(random_mpp(2, 1, 3))
        run = compare(problem, ["dp"]).runs[0]
        assert run.result is not None
        assert run.result.statistics.peak_memory_mb < before - 100
