"""The same problem and options give the same result: whatever the load, the threads, the run."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coreplan import SolverError, Status, read_problem, solve
from coreplan.cli import example_path
from coreplan.solving.tuning import Tuning
from helpers import EAGER, coupled_team, fingerprint, from_file, random_mpp, scale
from judge import optimal_value
from strategies import problem_dicts

LIMITS = (1e-4, 0.02, 0.2)
"""Of work: from hardly any to some tenths of a second."""


@contextmanager
def load(processes: int = 2) -> Iterator[None]:
    """Keep the machine busy."""
    burn = "import sys\nprint(flush=True)\nwhile True: sum(range(10**5))"
    busy = [
        subprocess.Popen([sys.executable, "-c", burn], stdout=subprocess.PIPE)
        for _ in range(processes)
    ]
    try:
        for each in busy:
            assert each.stdout is not None
            each.stdout.readline()
        yield
    finally:
        for each in busy:
            each.kill()
            each.communicate()


@settings(max_examples=25)
@given(raw=problem_dicts(), exact=st.booleans())
def test_small_problems_repeat_on_any_number_of_threads(raw: dict[str, Any], exact: bool) -> None:
    """Bounds, plan, message and counts of work are the same, bit for bit."""
    problem = from_file(raw)
    first = fingerprint(solve(problem, threads=1, exact=exact, **EAGER))
    for threads in (1, 2, 3, 4):
        assert fingerprint(solve(problem, threads=threads, exact=exact, **EAGER)) == first


@settings(max_examples=10)
@given(seed=st.integers(0, 10**6), tables=st.booleans())
def test_searches_repeat_on_any_number_of_threads(seed: int, tables: bool) -> None:
    """Also where the search has to do the work."""
    problem = from_file(coupled_team(seed))
    options = {"exact": False, "tables": tables, "work_limit": 1.0, **EAGER}
    first = fingerprint(solve(problem, threads=1, **options))
    for threads in (2, 3, 4):
        assert fingerprint(solve(problem, threads=threads, **options)) == first


@settings(max_examples=10)
@given(raw=problem_dicts(), limit=st.sampled_from(LIMITS), exact=st.booleans())
def test_work_limits_repeat_and_bounds_hold(raw: dict[str, Any], limit: float, exact: bool) -> None:
    """A work limit stops at the same point every time, with bounds around the optimum."""
    problem = from_file(raw)
    results = [solve(problem, work_limit=limit, exact=exact, threads=k) for k in (1, 2, 1)]
    assert len({str(fingerprint(each)) for each in results}) == 1
    tolerance = 1e-9 * scale(raw)
    optimum = optimal_value(raw)
    assert results[0].value <= optimum + tolerance
    assert results[0].upper_bound >= optimum - tolerance
    assert results[0].policy is not None
    assert results[0].policy.evaluate() >= results[0].value - tolerance


@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize(
    "raw", [random_mpp(6, 3, 12, 1), random_mpp(12, 3, 10, 2)], ids=["6 agents", "12 agents"]
)
def test_unproven_results_repeat(raw: dict[str, Any], limit: float) -> None:
    """Where the limit strikes long before a proof, all is the same under load and on threads."""
    problem = from_file(raw)
    first = solve(problem, work_limit=limit, threads=1)
    assert first.status is Status.TIME_LIMIT
    assert f"the work limit of {limit:g} was reached" in first.message
    with load():
        for threads in (1, 2, 3, 4):
            result = solve(problem, work_limit=limit, threads=threads)
            assert fingerprint(result) == fingerprint(first)


def test_proven_results_repeat_under_load() -> None:
    """A proof that takes a search gives the same plan on a busy machine, on any threads."""
    problem = from_file(random_mpp(5, 3, 8, 3))
    options: dict[str, Any] = {"exact": False}
    first = fingerprint(solve(problem, threads=1, **options))
    assert '"optimal"' in first["result"]
    with load():
        for threads in (1, 2, 4):
            assert fingerprint(solve(problem, threads=threads, **options)) == first
    # A time limit that does not strike has no say in it.
    assert fingerprint(solve(problem, threads=1, time_limit=1000, **options)) == first


def test_processes_agree() -> None:
    """Neither the seed of Python's hashes nor where memory lies changes anything."""
    script = (
        "import test_repeats as t\n"
        "found = t.solve(t.from_file(t.random_mpp(6, 3, 12, 1)), work_limit=0.2, threads=2)\n"
        "print(t.fingerprint(found))"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", script],
            check=True,
            capture_output=True,
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(Path(__file__).parent)},
        ).stdout
        for seed in ("0", "1", "2")
    }
    assert len(outputs) == 1


def test_a_longer_run_is_no_worse() -> None:
    """More work never makes the bounds worse."""
    problem = from_file(random_mpp(6, 3, 12, 1))
    results = [solve(problem, work_limit=limit, threads=1) for limit in LIMITS]
    for before, after in itertools.pairwise(results):
        assert after.value >= before.value
        assert after.upper_bound <= before.upper_bound
        assert after.statistics.others["work"] > before.statistics.others["work"]


def test_threads_may_go_their_own_ways() -> None:
    """With deterministic=False the optimum is the same; what else comes out may differ."""
    problem = from_file(random_mpp(4, 3, 7, 3))
    options: dict[str, Any] = {"exact": False, "threads": 3, "deterministic": False, **EAGER}
    result = solve(problem, **options)
    assert result.status is Status.OPTIMAL
    assert result.value == pytest.approx(solve(problem, algorithm="dp").value)


@pytest.mark.parametrize("value", [0, -1, True, "1", float("nan")])
def test_work_limits_that_make_no_sense(value: Any) -> None:
    """A work limit is a number above 0."""
    problem = read_problem(example_path("two_works.yaml"))
    with pytest.raises(SolverError, match=r"work_limit is .*; expected a number above 0"):
        solve(problem, work_limit=value)


def test_options_that_make_no_sense() -> None:
    """So are `deterministic` and `tuning` checked."""
    problem = read_problem(example_path("two_works.yaml"))
    with pytest.raises(SolverError, match="deterministic is 1; expected True or False"):
        solve(problem, deterministic=1)
    with pytest.raises(SolverError, match=r"tuning is .*; expected a Tuning"):
        solve(problem, tuning={"cuts": 3})
    with pytest.raises(SolverError, match="no option 'work_limit'"):
        solve(problem, algorithm="dp", work_limit=1)


def test_tuning_changes_the_course_not_the_optimum() -> None:
    """Other numbers lead to other work and to the same value."""
    problem = from_file(random_mpp(5, 3, 8, 3))
    first = solve(problem, exact=False)
    other = solve(problem, exact=False, tuning=Tuning(cuts=4, bases=2, search_cluster=2))
    assert first.status is other.status is Status.OPTIMAL
    assert first.value == pytest.approx(other.value)
    assert first.statistics.others["work"] != other.statistics.others["work"]
