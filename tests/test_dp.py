"""The solver `dp`: translated problems, and what merging saves. See also test_algorithms.py."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from coreplan import MaintenanceProblem, solve
from helpers import agrees, from_file
from judge import optimal_value
from strategies import mpp_dicts, timmdp_dicts


@given(raw=mpp_dicts(), history=st.booleans())
def test_translation_keeps_the_value(raw: dict[str, Any], history: bool) -> None:
    """An MPP and its translations into a TI-MMDP have the same optimal value."""
    problem = from_file(raw)
    assert isinstance(problem, MaintenanceProblem)
    translated = problem.to_timmdp(history=history)
    expected = optimal_value(raw)
    assert agrees(solve(translated, algorithm="dp").value, expected)
    assert agrees(solve(translated, algorithm="dp", merge=False).value, expected)


@given(raw=timmdp_dicts())
def test_merging_never_adds_work(raw: dict[str, Any]) -> None:
    """Merging leaves no more joint states and joint actions than there were."""
    problem = from_file(raw)
    merged = solve(problem, algorithm="dp").statistics
    unmerged = solve(problem, algorithm="dp", merge=False).statistics
    assert merged.joint_states_expanded <= unmerged.joint_states_expanded
    assert merged.joint_actions_evaluated <= unmerged.joint_actions_evaluated
