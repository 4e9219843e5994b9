"""The engine `core`, against the judge on random problems of both formats."""

from __future__ import annotations

import itertools
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coreplan import Progress, Result, SolverError, Status, _core, read_problem, solve
from coreplan.cli import example_path
from coreplan.proof.verify import Verification, verify
from coreplan.solving.engine.team import Team
from coreplan.solving.limits import Limits
from coreplan.solving.result import is_closed
from coreplan.solving.task import SolverTask
from helpers import (
    CORE_STEPS,
    EAGER,
    agrees,
    closes,
    coupled_team,
    from_file,
    judged_policy_value,
    random_mpp,
    scale,
)
from judge import optimal_value
from strategies import problem_dicts


@given(raw=problem_dicts(), steps=st.sets(st.sampled_from(CORE_STEPS)), threads=st.integers(1, 3))
def test_value_is_the_judges(raw: dict[str, Any], steps: set[str], threads: int) -> None:
    """The optimum is the judge's, whichever steps are switched off and with any threads."""
    options = {step: step not in steps for step in CORE_STEPS}
    result = solve(from_file(raw), algorithm="core", threads=threads, **options)
    optimum = optimal_value(raw)
    assert result.status is Status.OPTIMAL
    assert agrees(result.value, optimum)
    tolerance = 1e-9 * scale(raw)
    assert result.lower_bound - tolerance <= optimum <= result.upper_bound + tolerance


@given(raw=problem_dicts(), limit=st.floats(0.0005, 0.05))
def test_teams_that_do_not_fit_leave_valid_bounds(raw: dict[str, Any], limit: float) -> None:
    """Where a team's tables do not fit, the bounds bracket and the policy is worth its value."""
    from coreplan import LimitError

    try:
        result = solve(from_file(raw), algorithm="core", memory_limit=limit)
    except LimitError:
        return
    optimum = optimal_value(raw)
    tolerance = 1e-9 * scale(raw)
    assert result.value <= optimum + tolerance
    assert result.upper_bound >= optimum - tolerance
    assert result.policy is not None
    assert judged_policy_value(raw, result.policy) >= result.value - tolerance


@settings(max_examples=30)
@given(raw=problem_dicts(), threads=st.integers(1, 2))
def test_bounds_from_both_sides_meet(raw: dict[str, Any], threads: int) -> None:
    """Without exact tables, bounds bracket at every report, get no worse, and meet in the end.

    The policy is worth what the judge says it is.
    """
    optimum = optimal_value(raw)
    tolerance = 1e-9 * scale(raw)
    reports: list[Progress] = []
    result = solve(
        from_file(raw),
        algorithm="core",
        exact=False,
        threads=threads,
        callback=reports.append,
        work_limit=3.0 if closes(raw) else 0.4,
    )
    assert reports
    bounds = [(each.lower_bound, each.upper_bound) for each in reports]
    bounds.append((result.lower_bound, result.upper_bound))
    for (lower, upper), (next_lower, next_upper) in itertools.pairwise(bounds):
        assert lower <= next_lower <= optimum + tolerance
        assert upper >= next_upper >= optimum - tolerance
    assert result.status is Status.OPTIMAL or not closes(raw)
    assert result.policy is not None
    worth = judged_policy_value(raw, result.policy)
    assert worth >= result.value - tolerance
    assert result.policy.evaluate() == pytest.approx(worth, rel=1e-9, abs=tolerance)
    if result.status is Status.OPTIMAL:
        assert agrees(result.value, optimum)
        assert worth == pytest.approx(optimum, rel=1e-6, abs=tolerance)


def test_stops_at_the_gap_that_is_allowed() -> None:
    """With a gap allowed, it stops there and says so, with less work than a proof takes."""
    problem = from_file(coupled_team(0))
    options = {"algorithm": "core", "exact": False, "threads": 1, **EAGER}
    whole = solve(problem, **options)
    assert whole.status is Status.OPTIMAL
    result = solve(problem, relative_gap=0.5, **options)
    assert result.status is Status.GAP_LIMIT
    assert 0 < result.gap <= 0.5 * abs(result.value)
    assert result.value <= whole.value <= result.upper_bound
    assert result.statistics.others["work"] < whole.statistics.others["work"]


def test_a_gap_that_nobody_asked_for() -> None:
    """A solver that ends by itself with a gap says that it did, and names no limit."""
    problem = from_file(random_mpp(3, 2, 6))
    whole = solve(problem, exact=False, search=False)
    assert whole.status is Status.GAP_LIMIT
    assert "no limit was reached: the solver cannot narrow the gap any further" in whole.message
    assert "Stopped with a gap left. This plan " in whole.summary()
    assert "rounding" not in whole.message
    asked = solve(problem, exact=False, search=False, absolute_gap=2 * whole.gap)
    assert asked.status is Status.GAP_LIMIT
    assert "no limit was reached" not in asked.message
    # What was asked for is out of reach here.
    short = solve(problem, exact=False, search=False, absolute_gap=0.5 * whole.gap)
    assert "no limit was reached" in short.message


@pytest.mark.parametrize(
    ("gap", "allowed", "stop", "status", "said"),
    [
        (1e-12, 0.0, "none", Status.OPTIMAL, ""),
        (1e-7, 0.0, "none", Status.OPTIMAL, ""),
        (1e-5, 0.0, "none", Status.GAP_LIMIT, "the solver cannot narrow the gap any further"),
        (1e-3, 0.0, "none", Status.GAP_LIMIT, "the solver cannot narrow the gap any further"),
        (1e-3, 1e-2, "none", Status.GAP_LIMIT, ""),
        (1e-3, 0.0, "time_limit", Status.TIME_LIMIT, ""),
        (1e-3, 0.0, "memory_limit", Status.MEMORY_LIMIT, ""),
    ],
)
def test_why_a_solver_stopped(
    gap: float, allowed: float, stop: str, status: Status, said: str
) -> None:
    """The message speaks of a gap that was neither asked for nor due to a limit, only of that."""
    problem = read_problem(example_path("two_works.yaml"))
    policy = solve(problem).policy
    assert policy is not None
    task = SolverTask(problem, 0, None, Limits())
    why = getattr(_core.Stop, stop)
    result = task.make_result("x", 1.0, 1.0 + gap, why, policy, 0, 0, allowed_gap=allowed)
    assert result.status is status
    assert result.message.endswith(said)
    assert bool(result.message) == bool(said)


def test_agrees_with_dp_on_the_example() -> None:
    """On the bundled example `core` has the value of `dp`, and counts its table cells."""
    problem = read_problem(example_path("ring_road.yaml"))
    result = solve(problem, algorithm="core")
    assert result.value == pytest.approx(solve(problem, algorithm="dp").value, rel=1e-9)
    assert result.statistics.others["kernel_cells"] > 0


def test_unknown_options_are_refused() -> None:
    """An option that makes no sense is an error."""
    problem = read_problem(example_path("two_works.yaml"))
    with pytest.raises(SolverError, match="threads"):
        solve(problem, algorithm="core", threads=0)
    with pytest.raises(SolverError, match="shape is 3"):
        solve(problem, algorithm="core", shape=3)
    with pytest.raises(SolverError, match="did you mean 'merge'"):
        solve(problem, algorithm="core", mergee=False)


def test_an_exact_solution_may_come_late(monkeypatch: pytest.MonkeyPatch) -> None:
    """It replaces a policy that a search has written down already."""
    problem = from_file(random_mpp(4, 3, 8, 4))
    finish = Team.finish
    written = []

    def solve_and_finish(team: Team) -> None:
        written.append(team.decisions is not None)
        assert team.solve_exactly()
        finish(team)

    monkeypatch.setattr(Team, "finish", solve_and_finish)
    result = solve(problem, algorithm="core", exact=False, **EAGER)
    assert any(written)
    assert result.status is Status.OPTIMAL
    assert result.policy is not None
    assert agrees(result.policy.evaluate(), result.value)


def certify(problem: Any, **options: Any) -> tuple[Result, Verification]:
    """Solve with a certificate, and verify it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "proof.json.gz"
        result = solve(problem, algorithm="core", certificate=path, **options)
        return result, verify(problem, path)


@settings(max_examples=60)
@given(raw=problem_dicts(), exact=st.booleans(), merge=st.booleans())
def test_certificates_are_confirmed(raw: dict[str, Any], exact: bool, merge: bool) -> None:
    """What `core` claims, the verifier proves; it is optimal, and so says the certificate."""
    result, found = certify(from_file(raw), exact=exact, merge=merge)
    assert found.confirmed, str(found)
    assert result.status is Status.OPTIMAL
    assert found.lower_claimed == result.lower_bound
    assert found.upper_claimed >= result.upper_bound
    assert is_closed(found.lower_claimed, found.upper_claimed)
    optimum = optimal_value(raw)
    tolerance = 1e-9 * scale(raw)
    assert found.lower is not None
    assert found.upper is not None
    assert found.lower - tolerance <= optimum <= found.upper + tolerance


def test_a_certificate_counts_agents_that_an_entry_really_looks_at() -> None:
    """An agent whose condition always matches need not be in the cluster that counts the entry."""
    free = {"x": {"s": 1}, "y": {"s": 1}}
    agents = [
        {
            "name": name,
            "initial": "s",
            "transitions": {"s": {"x": {"s": 1}} if name == "B" else free},
        }
        for name in "ABCD"
    ]
    when = {name: {} if name == "B" else {"action": "x"} for name in "ABCD"}
    alone = [{"when": {name: {"action": "x"}}, "value": 3} for name in "ACD"]
    raw = {
        "format": "ti-mmdp/1",
        "horizon": 1,
        "agents": agents,
        "rewards": [{"scope": [*"ABCD"], "entries": [{"when": when, "value": -5}, *alone]}],
    }
    for exact in (True, False):
        result, found = certify(from_file(raw), exact=exact)
        assert result.value == 6
        assert found.confirmed, str(found)


def test_a_certificate_of_bounds_of_single_agents_is_confirmed() -> None:
    """Where agents alone already close a linked team, the certificate proves as much."""
    choices = {action: {"s": 1} for action in ("x", "y", "z")}
    raw = {
        "format": "ti-mmdp/1",
        "horizon": 2,
        "agents": [{"name": name, "initial": "s", "transitions": {"s": choices}} for name in "ABC"],
        # Together with either neighbour B gains, but only by different actions.
        "rewards": [
            {
                "scope": ["A", "B", "C"],
                "entries": [
                    {"when": {"A": {"action": "x"}, "B": {"action": "x"}}, "value": 5},
                    {"when": {"C": {"action": "x"}, "B": {"action": "y"}}, "value": 5},
                ],
            }
        ],
    }
    for exact in (True, False):
        result, found = certify(from_file(raw), exact=exact)
        assert result.value == 10
        assert found.confirmed, str(found)
        assert is_closed(found.lower_claimed, found.upper_claimed)
