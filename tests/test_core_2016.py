"""CRG-PS and CoRe as published, against the judge on random problems of both formats."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clocks import LOOK, ticking
from coreplan import SolverError, Status, read_problem, solve
from coreplan.cli import example_path
from helpers import agrees, from_file, scale
from judge import optimal_value
from strategies import problem_dicts

ALGORITHMS = ["crg-ps", "core-2016"]


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@given(
    raw=problem_dicts(),
    merge=st.booleans(),
    memo=st.booleans(),
    assignment=st.sampled_from(["balanced", "highest-degree"]),
)
def test_value_is_the_judges(
    algorithm: str, raw: dict[str, Any], merge: bool, memo: bool, assignment: str
) -> None:
    """The value is that of the plain Bellman recursion, with any options."""
    result = solve(
        from_file(raw), algorithm=algorithm, merge=merge, memo=memo, assignment=assignment
    )
    assert result.status is Status.OPTIMAL
    assert agrees(result.value, optimal_value(raw))


@given(raw=problem_dicts(), gap=st.floats(0, 50), relative=st.booleans())
def test_gap_is_respected(raw: dict[str, Any], gap: float, relative: bool) -> None:
    """With a gap allowed, the value is at most that much worse, and the bounds bracket."""
    if relative:
        result = solve(from_file(raw), algorithm="core-2016", relative_gap=gap / 100)
    else:
        result = solve(from_file(raw), algorithm="core-2016", absolute_gap=gap)
    optimum = optimal_value(raw)
    tolerance = 1e-9 * scale(raw)
    assert result.value <= optimum + tolerance
    assert result.upper_bound >= optimum - tolerance
    allowed = gap / 100 * abs(optimum) if relative else gap
    assert optimum - result.value <= allowed + tolerance
    assert result.status in (Status.OPTIMAL, Status.GAP_LIMIT)
    assert result.policy is not None
    assert result.policy.evaluate() >= result.value - tolerance


@given(raw=problem_dicts())
def test_bounds_only_save_work(raw: dict[str, Any]) -> None:
    """CoRe evaluates no more joint actions than CRG-PS, and remembering saves more."""
    problem = from_file(raw)
    plain = solve(problem, algorithm="crg-ps").statistics
    pruned = solve(problem, algorithm="core-2016").statistics
    remembered = solve(problem, algorithm="crg-ps", memo=True).statistics
    assert pruned.joint_actions_evaluated <= plain.joint_actions_evaluated
    assert remembered.joint_actions_evaluated <= plain.joint_actions_evaluated


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_stopped_search_has_valid_bounds_and_a_policy(algorithm: str) -> None:
    """A search that is stopped leaves bounds that bracket the optimum and a real policy."""
    problem = read_problem(example_path("ring_road.yaml"))
    optimum = solve(problem).value
    with ticking():
        result = solve(problem, algorithm=algorithm, time_limit=0.02)
    assert result.status is Status.TIME_LIMIT
    assert 0.02 <= result.seconds < 0.02 + 100 * LOOK  # it looks few more times
    assert result.value <= optimum <= result.upper_bound
    assert result.policy is not None
    assert result.policy.evaluate() == pytest.approx(result.value)


def test_unknown_options_are_refused() -> None:
    """An option that cannot be honoured is an error, not ignored."""
    problem = read_problem(example_path("two_works.yaml"))
    with pytest.raises(SolverError, match=r"no assignment 'balanecd'.*did you mean"):
        solve(problem, algorithm="core-2016", assignment="balanecd")
    with pytest.raises(SolverError, match="relative_gap"):
        solve(problem, algorithm="crg-ps", relative_gap=0.1)
    with pytest.raises(SolverError, match="says nothing of"):
        solve(problem, algorithm="core-2016", assignment={})
