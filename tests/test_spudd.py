"""The solver `spudd`: every order and way to treat actions. See also test_algorithms.py."""

from __future__ import annotations

import functools
import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coreplan import LimitError, MaintenanceProblem, SolverError, Status, solve
from helpers import (
    agrees,
    from_file,
    judged_policy_value,
    package_state,
    random_mpp,
    scale,
)
from judge import joint_states, optimal_value, optimal_values, policy_value
from strategies import mpp_dicts, problem_dicts, timmdp_dicts

OPTIONS = [
    {"order": order, "actions": actions, "merge": merge}
    for order, actions, merge in itertools.product(
        ("grouped", "interleaved"), ("diagram", "enumerate"), (True, False)
    )
]
every_way = pytest.mark.parametrize(
    "options", OPTIONS, ids=[" ".join(map(str, each.values())) for each in OPTIONS]
)


@every_way
@given(raw=problem_dicts())
def test_value_is_the_judges(options: dict[str, Any], raw: dict[str, Any]) -> None:
    """Every way gives the judge's value, and a policy that is worth it in every joint state."""
    result = solve(from_file(raw), algorithm="spudd", **options)
    assert result.status is Status.OPTIMAL
    assert agrees(result.value, optimal_value(raw))
    assert result.policy is not None
    tolerance = 1e-11 * scale(raw)
    assert result.policy.evaluate() == pytest.approx(result.value, rel=1e-9, abs=tolerance)
    assert judged_policy_value(raw, result.policy) == pytest.approx(
        result.value, rel=1e-9, abs=tolerance
    )


@given(raw=timmdp_dicts(), options=st.sampled_from(OPTIONS), data=st.data())
def test_policy_is_best_from_everywhere(
    raw: dict[str, Any], options: dict[str, Any], data: st.DataObject
) -> None:
    """Also where the policy itself does not get, it does what is best from there."""
    policy = solve(from_file(raw), algorithm="spudd", **options).policy
    assert policy is not None
    stage, state = data.draw(st.sampled_from(list(joint_states(raw))))
    names = [agent["name"] for agent in raw["agents"]]

    def act(at: int, joint_state: tuple[Any, ...]) -> tuple[str, ...]:
        chosen = policy.act(at, package_state(raw, joint_state))
        return tuple(chosen[name] for name in names)

    assert policy_value(raw, act, stage, state) == pytest.approx(
        optimal_values(raw)[stage, state], rel=1e-9, abs=1e-11 * scale(raw)
    )


@given(raw=mpp_dicts(), history=st.booleans(), options=st.sampled_from(OPTIONS))
def test_translation_keeps_the_value(
    raw: dict[str, Any], history: bool, options: dict[str, Any]
) -> None:
    """An MPP and its translations into a TI-MMDP have the same optimal value."""
    problem = from_file(raw)
    assert isinstance(problem, MaintenanceProblem)
    translated = problem.to_timmdp(history=history)
    assert agrees(solve(translated, algorithm="spudd", **options).value, optimal_value(raw))


@every_way
def test_agrees_with_dp_on_larger_problems(options: dict[str, Any]) -> None:
    """Problems too large for the judge: the same value as `dp`."""
    agents, horizon = (3, 6) if options["merge"] else (2, 6)
    problem = from_file(random_mpp(agents, 3, horizon))
    result = solve(problem, algorithm="spudd", **options)
    assert result.value == pytest.approx(solve(problem, algorithm="dp").value, rel=1e-9)
    assert result.policy is not None
    assert result.policy.evaluate() == pytest.approx(result.value, rel=1e-9)


def test_statistics() -> None:
    """Work is counted in iterations and nodes; no joint action is evaluated by itself."""
    result = solve(from_file(random_mpp(3, 3, 7)), algorithm="spudd")
    counts = result.statistics.to_dict()
    assert counts["iterations"] == 7
    assert counts["peak_nodes"] >= 1000
    assert counts["value_nodes"] > 0
    assert counts["garbage_collections"] > 0
    assert counts["joint_states_expanded"] == counts["joint_actions_evaluated"] == 0


def test_both_ways_to_treat_actions_on_a_larger_team() -> None:
    """Joint actions that are enumerated or maximised out give the same value."""
    problem = from_file(random_mpp(4, 2, 6))
    values = [
        solve(problem, algorithm="spudd", actions=actions).value
        for actions in ("diagram", "enumerate")
    ]
    assert values[0] == pytest.approx(values[1], rel=1e-12)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"order": "sifted"}, "order is 'sifted'; expected one of 'grouped', 'interleaved'"),
        ({"order": ["grouped"]}, "order is \\['grouped'\\]"),
        ({"actions": True}, "actions is True; expected one of 'diagram', 'enumerate'"),
        ({"merge": 1}, "merge is 1; expected True or False"),
        ({"ordre": "grouped"}, "no option 'ordre'"),
    ],
)
def test_options_are_checked(options: dict[str, Any], message: str) -> None:
    """What an option cannot be is refused by name."""
    with pytest.raises(SolverError, match=message):
        solve(from_file(random_mpp(1, 1, 1)), algorithm="spudd", **options)


# -- limits (those of test_limits.py hold as well) -------------------------------------------------


@functools.cache
def stoppable() -> tuple[Any, float]:
    """A problem that takes a while, and its optimal value."""
    problem = from_file(random_mpp(3, 3, 8))
    return problem, solve(problem, algorithm="dp").value


@pytest.mark.parametrize("actions", ["diagram", "enumerate"])
@pytest.mark.parametrize("megabytes", [0.2, 0.5, 1, 3, 10])
def test_little_memory(actions: str, megabytes: float) -> None:
    """Whatever memory there is, the bounds hold and the policy is worth its value."""
    problem, best = stoppable()
    try:
        result = solve(problem, algorithm="spudd", actions=actions, memory_limit=megabytes)
    except LimitError as error:
        assert error.reason == "memory_limit"
        assert megabytes < 1
        return
    check_bounds(result, best)
    if result.status is Status.MEMORY_LIMIT:
        assert "MB" in result.message


@pytest.mark.parametrize("actions", ["diagram", "enumerate"])
def test_stopped_at_any_stage(actions: str) -> None:
    """Stopped by a callback in the midst: the stages that are solved count."""
    problem, best = stoppable()
    alone = solve(problem, algorithm="spudd", memory_limit=1).value
    found = []
    for calls in (1, 2, 4, 8):
        seen = itertools.count(1)
        result = solve(
            problem,
            algorithm="spudd",
            actions=actions,
            callback=lambda progress, seen=seen, calls=calls: (
                progress.phase != "compile" and next(seen) == calls
            ),
        )
        check_bounds(result, best)
        assert result.status in (Status.INTERRUPTED, Status.OPTIMAL)
        found.append(result.value)
    assert max(found) > alone


def check_bounds(result: Any, best: float) -> None:
    """What has to hold whenever it is stopped."""
    tolerance = 1e-9 * max(1.0, abs(best))
    assert result.lower_bound == result.value <= result.upper_bound
    assert result.value - tolerance <= best <= result.upper_bound + tolerance
    assert result.policy is not None
    assert result.policy.evaluate() >= result.value - tolerance
