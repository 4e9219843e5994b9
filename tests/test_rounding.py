"""Rounding and masses: bounds hold, and work ends, whatever the size of the numbers."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coreplan import (
    Contractor,
    Delay,
    Hindrance,
    MaintenanceProblem,
    Status,
    Task,
    compare,
    solve,
)
from coreplan.proof.verify import verify
from helpers import agrees, from_file, judged_policy_value, scale
from judge import optimal_value
from strategies import problem_dicts

SAFETY = 100.0
"""Counted work after which a solve that ought to end by itself is given up; the test then fails."""


def two_contractors(cost: float) -> MaintenanceProblem:
    """Two works each that must not coincide, where a delay may force it."""
    works = [
        tuple(
            Task(f"{name}{k}", duration=1, cost=1 + k, revenue=5, delay=Delay(0.3, 1))
            for k in range(2)
        )
        for name in "ab"
    ]
    return MaintenanceProblem(
        (Contractor("A", works[0]), Contractor("B", works[1])),
        horizon=3,
        network=(Hindrance(("A/a0", "B/b0"), cost), Hindrance(("A/a1", "B/b1"), cost)),
    )


@pytest.mark.parametrize("cost", [10.0, 1e4, 1e6, 1e9, 1e12])
def test_a_search_ends_however_large_a_cost_is(cost: float) -> None:
    """A cost that no good plan pays neither keeps the search from ending nor blurs the value."""
    problem = two_contractors(cost)
    result = solve(problem, algorithm="core", exact=False, work_limit=SAFETY)
    assert result.status is Status.OPTIMAL
    assert result.value == pytest.approx(solve(problem, algorithm="dp").value, rel=1e-12)
    assert result.gap <= 1e-12 * abs(result.value)


def interactions(raw: dict[str, Any]) -> Iterator[tuple[dict[str, Any], str]]:
    """The entries of several agents, and the key of what they bring."""
    for function in raw.get("rewards", []):
        for entry in function.get("entries", []):
            if len(entry.get("when", {})) > 1:
                yield entry, "value"
    for entry in raw.get("network", []):
        yield entry, "cost"


def with_large_interactions(raw: dict[str, Any], factor: float) -> dict[str, Any]:
    """The same problem with all interactions so many times as large."""
    larger = copy.deepcopy(raw)
    for entry, key in interactions(larger):
        value = entry[key]
        entry[key] = [factor * x for x in value] if isinstance(value, list) else factor * value
    return larger


@settings(max_examples=60)
@given(raw=problem_dicts(), digits=st.integers(3, 10), tables=st.booleans())
def test_large_interactions_are_searched_to_the_end(
    raw: dict[str, Any], digits: int, tables: bool
) -> None:
    """With interactions of any size the search ends by itself, proven within the tolerance."""
    larger = with_large_interactions(raw, 10.0**digits)
    result = solve(
        from_file(larger), algorithm="core", exact=False, tables=tables, work_limit=SAFETY
    )
    optimum = optimal_value(larger)
    assert result.status is Status.OPTIMAL
    assert agrees(result.value, optimum, 2e-6)
    tolerance = 1e-14 * scale(larger) + 1e-9 * abs(optimum)
    assert result.lower_bound - tolerance <= optimum <= result.upper_bound + tolerance


def with_masses(raw: dict[str, Any], shift: float) -> dict[str, Any]:
    """The same agents with laws that do not sum to 1 exactly."""
    changed = copy.deepcopy(raw)
    for agent in changed["agents"]:
        for k, actions in enumerate(agent["transitions"].values()):
            for law in actions.values():
                likeliest = max(law, key=law.__getitem__)
                law[likeliest] += shift * (-1) ** k
    return changed


@settings(max_examples=80)
@given(
    raw=problem_dicts().filter(lambda raw: raw["format"] == "ti-mmdp/1"),
    shift=st.sampled_from([9e-10, -9e-10, 1e-12]),
    algorithm=st.sampled_from(["core", "core without tables", "core-2016", "crg-ps", "spudd"]),
)
def test_masses_that_are_not_1_leave_bounds_valid(
    raw: dict[str, Any], shift: float, algorithm: str
) -> None:
    """Bounds and values of every algorithm hold for probabilities as they are written."""
    changed = with_masses(raw, shift)
    name, _, without = algorithm.partition(" ")
    options = {"exact": False, "work_limit": SAFETY} if without else {}
    result = solve(from_file(changed), algorithm=name, **options)
    optimum = optimal_value(changed)
    tolerance = 1e-13 * scale(changed)
    assert result.value <= optimum + tolerance
    assert result.upper_bound >= optimum - tolerance
    assert result.policy is not None
    assert judged_policy_value(changed, result.policy) == pytest.approx(
        result.value, rel=1e-12, abs=tolerance
    )


def thirds(horizon: int) -> dict[str, Any]:
    """One agent whose first law sums to 1 - 1e-9."""
    third = 0.333333333
    transitions = {
        "s": {"go": {"s": third, "t": third, "u": third}},
        "t": {"go": {"s": 1}},
        "u": {"go": {"t": 1}},
    }
    return {
        "format": "ti-mmdp/1",
        "horizon": horizon,
        "agents": [{"name": "A", "initial": "s", "transitions": transitions}],
        "rewards": [{"scope": ["A"], "entries": [{"when": {"A": {"action": "go"}}, "value": 1}]}],
    }


def test_missing_mass_is_not_claimed(tmp_path: Path) -> None:
    """What probabilities leave out is not earned: value, bounds and certificate say so."""
    problem = from_file(thirds(12))
    path = tmp_path / "proof.json"
    result = solve(problem, algorithm="core", certificate=path)
    judged = optimal_value(thirds(12))
    assert judged < 12 - 4e-8
    assert result.value == pytest.approx(judged, abs=1e-13)
    assert judged <= result.upper_bound <= 12 + 1e-6
    assert result.status is Status.OPTIMAL
    found = verify(problem, path)
    assert found.confirmed, str(found)


def test_no_contradiction_over_a_long_horizon() -> None:
    """Where masses add up over many stages, algorithms differ in their bounds, not in truth."""
    found = compare(from_file(thirds(1000)))
    assert not found.contradictions
