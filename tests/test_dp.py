"""The solver `dp` against the judge, on random problems of both formats."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coreplan import MaintenanceProblem, Status, solve
from helpers import agrees, from_file, judged_policy_value, package_state, scale
from judge import joint_states, optimal_value, optimal_values
from strategies import mpp_dicts, problem_dicts, timmdp_dicts


@pytest.mark.parametrize("merge", [True, False])
@given(raw=problem_dicts())
def test_value_is_the_judges(merge: bool, raw: dict[str, Any]) -> None:
    """The optimal value agrees with the plain Bellman recursion, merged and unmerged."""
    result = solve(from_file(raw), algorithm="dp", merge=merge)
    assert result.status is Status.OPTIMAL
    assert agrees(result.value, optimal_value(raw), 1e-9)
    assert result.lower_bound == result.value == result.upper_bound


@pytest.mark.parametrize("merge", [True, False])
@given(raw=problem_dicts())
def test_policy_is_worth_its_value(merge: bool, raw: dict[str, Any]) -> None:
    """The policy evaluates to the reported value, by its own evaluation and by the judge's."""
    result = solve(from_file(raw), merge=merge)
    assert result.policy is not None
    tolerance = 1e-12 * scale(raw)
    assert result.policy.evaluate() == pytest.approx(result.value, rel=1e-9, abs=tolerance)
    assert judged_policy_value(raw, result.policy) == pytest.approx(
        result.value, rel=1e-9, abs=tolerance
    )


@given(raw=problem_dicts(), data=st.data())
def test_solving_from_a_later_situation(raw: dict[str, Any], data: st.DataObject) -> None:
    """From any stage and joint state that can come about, the value is the judge's."""
    values = optimal_values(raw)
    stage, state = data.draw(st.sampled_from(list(joint_states(raw))))
    merge = data.draw(st.booleans())
    result = solve(from_file(raw), stage=stage, state=package_state(raw, state), merge=merge)
    assert agrees(result.value, values[stage, state])
    assert result.policy is not None
    assert result.policy.evaluate() == pytest.approx(result.value, rel=1e-9, abs=1e-12 * scale(raw))


@given(raw=mpp_dicts(), history=st.booleans())
def test_translation_keeps_the_value(raw: dict[str, Any], history: bool) -> None:
    """An MPP and its translations into a TI-MMDP have the same optimal value."""
    problem = from_file(raw)
    assert isinstance(problem, MaintenanceProblem)
    translated = problem.to_timmdp(history=history)
    expected = optimal_value(raw)
    assert agrees(solve(translated).value, expected)
    assert agrees(solve(translated, merge=False).value, expected)


@given(raw=timmdp_dicts())
def test_merging_never_adds_work(raw: dict[str, Any]) -> None:
    """Merging leaves no more joint states and joint actions than there were."""
    problem = from_file(raw)
    merged = solve(problem).statistics
    unmerged = solve(problem, merge=False).statistics
    assert merged.joint_states_expanded <= unmerged.joint_states_expanded
    assert merged.joint_actions_evaluated <= unmerged.joint_actions_evaluated
