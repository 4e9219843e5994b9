"""The tolerance of `optimal`: an option of all algorithms, recorded in results."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coreplan import ModelError, Result, SolverError, Status, read_problem, solve
from coreplan.cli import example_path
from coreplan.formats import read_result
from coreplan.solving.options import OWN_OPTIONS
from coreplan.solving.tuning import Tuning
from helpers import EAGER, agrees, coupled_team, from_file, scale
from judge import optimal_value
from strategies import problem_dicts

SEARCHED: dict[str, Any] = {"exact": False, "threads": 1, **EAGER}
"""Options with which even small teams are bounded and searched."""


def work(result: Result) -> float:
    """The counted work of a solve."""
    return result.statistics.others["work"]


@pytest.mark.parametrize("algorithm", sorted(OWN_OPTIONS))
def test_every_algorithm_records_its_tolerance(algorithm: str, tmp_path: Path) -> None:
    """Results have the tolerance that was asked for, 1e-6 by default, in memory and in files."""
    problem = read_problem(example_path("two_works.yaml"))
    assert solve(problem, algorithm=algorithm).tolerance == 1e-6
    result = solve(problem, algorithm=algorithm, tolerance=1e-9)  # type: ignore[call-overload]
    assert (result.status, result.tolerance) == (Status.OPTIMAL, 1e-9)
    result.save(tmp_path / "result.json")
    assert read_result(tmp_path / "result.json").tolerance == 1e-9


def test_a_wide_tolerance_takes_less_work() -> None:
    """The engine stops within the tolerance and calls the plan optimal."""
    problem = from_file(coupled_team(3))
    fine = solve(problem, tolerance=1e-9, **SEARCHED)
    wide = solve(problem, tolerance=0.2, **SEARCHED)
    assert fine.status is wide.status is Status.OPTIMAL
    assert wide.gap <= 0.2 * max(1.0, abs(wide.value))
    assert work(wide) < work(fine)
    assert wide.lower_bound <= fine.upper_bound
    assert fine.lower_bound <= wide.upper_bound


@given(raw=problem_dicts(), tolerance=st.sampled_from([0.0, 1e-9, 1e-6, 1e-3, 0.1, 10.0]))
def test_optimal_means_within_the_tolerance(raw: dict[str, Any], tolerance: float) -> None:
    """The bounds bracket the judge's optimum, and the policy is worth exactly its value."""
    result = solve(from_file(raw), tolerance=tolerance, **SEARCHED)
    optimum, slack = optimal_value(raw), 1e-9 * scale(raw)
    assert result.lower_bound - slack <= optimum <= result.upper_bound + slack
    allowed = tolerance * max(1.0, abs(result.value))
    assert (result.status is Status.OPTIMAL) == (result.gap <= allowed)
    assert agrees(result.policy.evaluate(), result.value)


def test_gaps_below_rounding_are_not_chased() -> None:
    """The engine ends also if no gap at all is allowed."""
    result = solve(from_file(coupled_team(3)), tolerance=0, exact=False, threads=1)
    assert result.gap <= 2 * Tuning.closed * max(1.0, abs(result.value))


@pytest.mark.parametrize("tolerance", [-1e-9, float("nan"), "fine", True])
def test_a_tolerance_is_a_number_of_at_least_0(tolerance: Any) -> None:
    """Anything else is refused."""
    problem = read_problem(example_path("two_works.yaml"))
    with pytest.raises((SolverError, ModelError), match="tolerance is"):
        solve(problem, tolerance=tolerance)
