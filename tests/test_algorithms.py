"""What every algorithm owes: the judge's value, and a policy that is worth it and can be saved."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from coreplan import Policy, Status, solve
from helpers import ALGORITHMS, agrees, from_file, judged_policy_value, package_state, scale
from judge import joint_states, optimal_value, optimal_values
from strategies import problem_dicts

every_algorithm = pytest.mark.parametrize(
    ("algorithm", "options"),
    ALGORITHMS,
    ids=[f"{name} {' '.join(options)}".strip() for name, options in ALGORITHMS],
)

# Problems on which an algorithm and the judge once disagreed.
ASKED_WITHOUT_TIMES: dict[str, Any] = {
    "format": "mpp/1",
    "horizon": 6,
    "must_complete": True,
    "agents": [
        {
            "name": "a",
            "tasks": [
                {
                    "name": "a",
                    "duration": 2,
                    "delay": {"probability": 0.5, "duration": 2},
                    "cost": 1,
                }
            ],
        },
        {"name": "b", "tasks": [{"name": "a", "duration": 1, "cost": 1}]},
    ],
    "network": [{"tasks": ["a/a", "b/a"], "cost": 1}],
}

# Of two histories that differ in past times, only one is left after shrinking.
ASKED_WITH_OTHER_TIMES: dict[str, Any] = {
    "format": "mpp/1",
    "horizon": 3,
    "agents": [
        {
            "name": "a",
            "tasks": [
                {"name": "a", "duration": 1, "cost": 1},
                {
                    "name": "b",
                    "duration": 1,
                    "delay": {"probability": 0.5, "duration": 2},
                    "cost": 1,
                    "revenue": 10,
                },
            ],
        },
        {
            "name": "b",
            "tasks": [
                {"name": "a", "duration": 1, "cost": 0},
                {"name": "b", "duration": 1, "cost": [0, 1, 1]},
            ],
        },
    ],
    "network": [{"tasks": ["a/b", "b/a"], "cost": 1}],
}


@every_algorithm
@given(raw=problem_dicts())
def test_value_is_the_judges(algorithm: str, options: dict[str, Any], raw: dict[str, Any]) -> None:
    """The optimal value agrees with the plain Bellman recursion."""
    result = solve(from_file(raw), algorithm=algorithm, **options)
    assert result.status is Status.OPTIMAL
    assert agrees(result.value, optimal_value(raw))
    assert result.lower_bound == result.value <= result.upper_bound


@every_algorithm
@example(raw=ASKED_WITHOUT_TIMES)
@example(raw=ASKED_WITH_OTHER_TIMES)
@given(raw=problem_dicts())
def test_policy_is_worth_its_value(
    algorithm: str, options: dict[str, Any], raw: dict[str, Any]
) -> None:
    """The policy evaluates to the value by itself and by the judge, and acts in every state."""
    result = solve(from_file(raw), algorithm=algorithm, **options)
    assert result.policy is not None
    tolerance = 1e-11 * scale(raw)
    assert result.policy.evaluate() == pytest.approx(result.value, rel=1e-9, abs=tolerance)
    assert judged_policy_value(raw, result.policy) == pytest.approx(
        result.value, rel=1e-9, abs=tolerance
    )
    for stage, state in joint_states(raw):
        action = result.policy.act(stage, package_state(raw, state))
        assert list(action) == [agent["name"] for agent in raw["agents"]]


@every_algorithm
@given(raw=problem_dicts(), data=st.data())
def test_solving_from_a_later_situation(
    algorithm: str, options: dict[str, Any], raw: dict[str, Any], data: st.DataObject
) -> None:
    """From any stage and joint state that can come about, the value is the judge's."""
    stage, state = data.draw(st.sampled_from(list(joint_states(raw))))
    result = solve(
        from_file(raw),
        algorithm=algorithm,
        stage=stage,
        state=package_state(raw, state),
        **options,
    )
    assert agrees(result.value, optimal_values(raw)[stage, state])
    assert result.policy is not None
    assert result.policy.evaluate() == pytest.approx(result.value, rel=1e-9, abs=1e-11 * scale(raw))


@every_algorithm
@given(raw=problem_dicts())
def test_policy_can_be_saved(algorithm: str, options: dict[str, Any], raw: dict[str, Any]) -> None:
    """A saved policy acts as before in every joint state."""
    problem = from_file(raw)
    policy = solve(problem, algorithm=algorithm, **options).policy
    assert policy is not None
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "policy.json"
        policy.save(path)
        loaded = Policy.load(path, problem)
    for stage, state in joint_states(raw):
        named = package_state(raw, state)
        assert loaded.act(stage, named) == policy.act(stage, named)
