"""States without start and end times, asked of policies that keep them."""

from __future__ import annotations

from typing import Any

import pytest

import judge
from coreplan import ContractorState, solve
from coreplan.policies import plan_graph
from helpers import from_file, judged_policy_value

WORKS: dict[str, Any] = {
    "format": "mpp/1",
    "name": "two contractors",
    "horizon": 4,
    "agents": [
        {
            "name": "A",
            "tasks": [
                {
                    "name": "a1",
                    "duration": 3,
                    "cost": [3, -2, 2, 9.355192685117004],
                    "revenue": -10,
                },
                {
                    "name": "a2",
                    "duration": 3,
                    "delay": {"probability": 0.36072982308528495, "duration": 1},
                    "cost": [10, 1, 0.5, 2.4031140380127712e-117],
                },
                {
                    "name": "a3",
                    "duration": 2,
                    "delay": {"probability": 0.3333333333333333, "duration": 1},
                    "cost": -26.94151190180783,
                },
            ],
        },
        {
            "name": "B",
            "tasks": [
                {"name": "b1", "duration": 2, "cost": 4, "revenue": 84.5547102597265},
                {
                    "name": "b2",
                    "duration": 3,
                    "delay": {"probability": 0.7429815245446202, "duration": 1},
                    "cost": 33.08729812827943,
                    "revenue": 12.5,
                },
            ],
        },
    ],
    "network": [
        {"tasks": ["A/a2", "B/b2"], "cost": 4},
        {"tasks": ["A/a2", "B/b1"], "cost": -0.1},
        {"tasks": ["B/b2", "A/a2"], "cost": 1.1},
    ],
}


@pytest.mark.parametrize("algorithm", ["core", "dp", "crg-ps", "core-2016"])
def test_an_optimal_plan_can_be_asked_by_what_has_been_done(algorithm: str) -> None:
    """Followed by states without times, a plan that keeps times is worth what it says."""
    # Without exact tables, `core` writes down decisions only where its plan leads to.
    options: dict[str, Any] = {"exact": False} if algorithm == "core" else {}
    result = solve(from_file(WORKS), algorithm=algorithm, merge=False, **options)
    assert result.policy is not None
    assert result.policy.history
    assert judged_policy_value(WORKS, result.policy) == pytest.approx(result.value)
    assert result.value == pytest.approx(judge.optimal_value(WORKS))


def test_times_that_are_given_count() -> None:
    """Given times are kept; without, they are times that the plan leads to, where there are."""
    policy = solve(from_file(WORKS), algorithm="dp", merge=False).policy
    assert policy is not None
    find = policy.indexed.find_state
    late = {"A": {}, "B": ContractorState(done=("b1",), times={"b1": (1, 2)})}
    assert policy.find_state(3, late) == find(3, late)
    situations = plan_graph(policy).situations
    reached = {find(each.stage, each.state) for each in situations}
    for each in situations:
        asked = {
            name: ContractorState(state.done, state.doing, state.remaining)
            for name, state in each.state.items()
        }
        assert policy.find_state(each.stage, asked) in reached
