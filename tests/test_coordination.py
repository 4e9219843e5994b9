"""What coordination is worth: everybody's plan alone, its value, and the difference."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from hypothesis import given

import judge
from coreplan import (
    Contractor,
    Hindrance,
    MaintenanceProblem,
    Result,
    SolverError,
    Status,
    Task,
    solve,
)
from coreplan.domains.maintenance import Money, coordination
from coreplan.domains.maintenance.coordination import plan_alone, value_of_coordination
from coreplan.domains.maintenance.money import split_value
from helpers import agrees, from_file, judged_policy_value, package_state, scale
from strategies import mpp_dicts, problem_dicts

RAW = {
    "format": "mpp/1",
    "name": "two",
    "horizon": 5,
    "agents": [
        {"name": "Alpha", "tasks": [{"name": "a1", "duration": 2, "cost": 3, "revenue": 20}]},
        {"name": "Beta", "tasks": [{"name": "b1", "duration": 2, "cost": 1, "revenue": 15}]},
    ],
    "network": [{"tasks": ["Alpha/a1", "Beta/b1"], "cost": 7.5}],
}


def alone_dict(raw: dict[str, Any], agent: int) -> dict[str, Any]:
    """A raw problem in which one agent is by itself, with the rewards that look at it only."""
    one = raw["agents"][agent]
    left = {**raw, "agents": [one]}
    if raw["format"] == "mpp/1":
        left.pop("network", None)
        return left
    entries = [
        entry
        for function in raw.get("rewards", [])
        for entry in function["entries"]
        if list(entry.get("when", {})) == [one["name"]]
    ]
    return {**left, "rewards": [{"scope": [one["name"]], "entries": entries}]}


@given(problem_dicts())
def test_everybody_alone_is_optimal_for_itself(raw: dict[str, Any]) -> None:
    """Alone, every agent earns by itself what the judge finds to be the most that it can."""
    problem = from_file(raw)
    worth = value_of_coordination(problem, solve(problem, algorithm="dp"))
    for i, agent in enumerate(raw["agents"]):
        best = judge.optimal_value(alone_dict(raw, i))
        assert worth.own_alone[agent["name"]] == pytest.approx(best, abs=1e-9 * scale(raw))


@given(problem_dicts())
def test_hindrance_is_paid_all_the_same(raw: dict[str, Any]) -> None:
    """What planning alone is worth is the policy's value by the judge, with all rewards."""
    problem = from_file(raw)
    result = solve(problem, algorithm="dp")
    worth = value_of_coordination(problem, result)
    judged = judged_policy_value(raw, worth.policy_alone)
    assert worth.alone == pytest.approx(judged, abs=1e-9 * scale(raw))
    assert worth.policy_alone.is_local
    slack = 1e-9 * scale(raw)
    assert worth.gain == pytest.approx(judge.optimal_value(raw) - judged, abs=slack)
    assert worth.gain >= -slack
    assert worth.low <= worth.high <= worth.low + slack


@given(mpp_dicts())
def test_parts_add_up(raw: dict[str, Any]) -> None:
    """The parts are those of both policies; own values less hindrance are the value."""
    problem = from_file(raw)
    result = solve(problem)
    worth = value_of_coordination(problem, result)
    assert worth.money == split_value(result.policy)
    assert worth.money_alone == split_value(worth.policy_alone)
    for own, money in ((worth.own, worth.money), (worth.own_alone, worth.money_alone)):
        slack = 1e-9 * scale(raw)
        assert sum(own.values()) == pytest.approx(money.revenue - money.works, abs=slack)
        assert sum(own.values()) - money.hindrance == pytest.approx(money.value, abs=slack)


def test_ties_are_broken_by_the_order_of_the_problem() -> None:
    """Who gains nothing by waiting starts at once, with the first work of the list."""
    tasks = [{"name": name, "duration": 1, "cost": 0.1, "revenue": 0.3} for name in ("x", "y")]
    raw = {"format": "mpp/1", "horizon": 9, "agents": [{"name": "A", "tasks": tasks}]}
    policy = plan_alone(from_file(raw))
    assert policy.act(0) == {"A": "start x"}
    states = [package_state(raw, ((frozenset(todo), None, 0),)) for todo in ({"y"}, {"x", "y"})]
    assert policy.act(1, states[0]) == {"A": "start y"}
    assert policy.act(7, states[1]) == {"A": "start x"}


def test_rounding_makes_no_difference_to_ties(monkeypatch: pytest.MonkeyPatch) -> None:
    """Works that cost the same up to rounding are done in the order of the list."""
    # There is time for one of them; by rounding, 1 - 0.3 - 0.2 is less than 1 - 0.5.
    tasks = (Task("split", 2, cost=[0.2, 0.3]), Task("whole", 1, cost=0.5, window=(1, 1)))
    earning = tuple(dataclasses.replace(task, revenue=1) for task in tasks)
    problem = MaintenanceProblem((Contractor("A", earning),), horizon=2)
    assert plan_alone(problem).act(0) == {"A": "start split"}
    monkeypatch.setattr(coordination, "TIE", 0.0)
    assert plan_alone(problem).act(0) == {"A": "wait"}


def test_what_others_are_sure_to_do_is_ignored() -> None:
    """Alone, nobody minds even those works of others that are certain."""
    alpha = Contractor("Alpha", (Task("a1", 4, cost=1),))
    beta = Contractor("Beta", (Task("b1", 2, cost=1),))
    hindrance = Hindrance(("Alpha/a1", "Beta/b1"), cost=[5, 5, 0, 0])
    problem = MaintenanceProblem((alpha, beta), 4, (hindrance,), must_complete=True)
    worth = value_of_coordination(problem, solve(problem))
    assert worth.policy_alone.act(0) == {"Alpha": "start a1", "Beta": "start b1"}
    assert (worth.alone, worth.value) == (-16, -6)
    assert worth.own_alone == {"Alpha": -4, "Beta": -2}


def test_a_gap_makes_an_interval() -> None:
    """With a gap the gain of the best plan is between that of the plan in hand and the bound's."""
    problem = from_file(RAW)
    best = solve(problem)
    poor = dataclasses.replace(best, status=Status.TIME_LIMIT, upper_bound=best.value + 5)
    worth = value_of_coordination(problem, poor)
    assert (worth.value, worth.alone, worth.gain) == (27, 12, 15)
    assert (worth.low, worth.high) == (15, 20)
    assert "worth between 15.00 and 20.00" in worth.summary()


def test_a_poor_plan_may_be_worse_than_alone() -> None:
    """If the plan in hand is worse than alone the gain is negative, but no bound is."""
    problem = from_file(RAW)
    result = Result("two", "core", Status.TIME_LIMIT, 10.0, 10.0, 30.0, 0.1)
    worth = value_of_coordination(problem, result)
    assert (worth.gain, worth.low, worth.high) == (-2, 0, 18)
    assert worth.money is None
    assert worth.own is None
    assert isinstance(worth.money_alone, Money)
    assert "this plan is worse than planning alone" in worth.summary()


def test_from_a_later_stage() -> None:
    """From a later situation, planning alone starts there, too."""
    problem = from_file(RAW)
    state = {"Alpha": {"doing": "a1", "remaining": 1}, "Beta": {}}
    worth = value_of_coordination(problem, solve(problem, stage=1, state=state))
    assert worth.policy_alone.stage == 1
    # Alone, Beta starts at once and meets a1 for one step; better it waits one.
    assert (worth.alone, worth.value) == (-3 + 20 + 13 - 7.5, -3 + 20 + 13)


def test_another_problem_is_refused() -> None:
    """A result for another problem is an error that names both."""
    problem = from_file(RAW)
    other = dataclasses.replace(problem, horizon=6)
    with pytest.raises(SolverError, match="another problem"):
        value_of_coordination(problem, solve(other))
    unnamed = dataclasses.replace(solve(problem), policy=None, problem="three")
    with pytest.raises(SolverError, match=r"'three'.*'two'"):
        value_of_coordination(problem, unnamed)


def test_many_contractors_are_no_obstacle() -> None:
    """Everybody alone can be evaluated for large teams, where a joint plan may be out of reach."""
    contractors = tuple(
        Contractor(f"C{i}", (Task("w", 2, cost=1 + i, revenue=100),)) for i in range(40)
    )
    network = tuple(Hindrance((f"C{i}/w", f"C{i + 1}/w"), cost=3) for i in range(39))
    problem = MaintenanceProblem(contractors, horizon=6, network=network)
    result = Result("problem", "core", Status.TIME_LIMIT, 0.0, 0.0, 1e4, 0.1)
    worth = value_of_coordination(problem, result)
    assert worth.alone == pytest.approx(sum(100 - 2 * (1 + i) for i in range(40)) - 39 * 6)


def test_words_say_who_gives_up_what() -> None:
    """The summary names the gain, its parts, the other plan, and who gives up or gains what."""
    costs = ({"cost": [3, 3, 4, 4, 4]}, {"cost": [1, 1, 2, 2, 2]})
    agents = [
        {**agent, "tasks": [{**agent["tasks"][0], **cost}]}
        for agent, cost in zip(RAW["agents"], costs, strict=True)
    ]
    problem = from_file({**RAW, "agents": agents})
    worth = value_of_coordination(problem, solve(problem))
    assert agrees(worth.gain, 13)
    lines = worth.summary().splitlines()
    assert lines[0] == (
        "coordination is worth 13.00: this plan is expected to earn 25.00, planning alone "
        "is expected to earn 12.00"
    )
    assert "hindrance 15.00 alone, 0.00 together; works 8.00 alone, 10.00 together" in lines[2]
    assert "as early as possible where it makes no difference" in lines[1]
    assert len(lines) == 4
    assert lines[3] in (
        "Alpha gives up 2.00 for the others",
        "Beta gives up 2.00 for the others",
    )
    assert worth.to_dict()["high"] == worth.high
