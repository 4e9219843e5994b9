"""Discounted problems without an end, against exact solutions of their linear equations."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import judge
from coreplan import (
    TIMMDP,
    Agent,
    Aggregate,
    Amount,
    Condition,
    Entry,
    LimitError,
    ModelError,
    Policy,
    RewardFunction,
    SolverError,
)
from coreplan.model import StageTransitions
from coreplan.solving import infinite as infinite_module
from coreplan.solving import solve_infinite
from coreplan.solving.infinite import StationaryPolicy
from helpers import from_file, scale
from strategies import aggregate_dicts, timmdp_dicts


def endless(raw: dict[str, Any]) -> dict[str, Any] | None:
    """The problem without what depends on the stage; None if an agent can get stuck."""
    for agent in raw["agents"]:
        reached = [agent["initial"]]
        for state in reached:
            rows = agent["transitions"].get(state, {})
            if not rows:
                return None
            for law in rows.values():
                reached += [s for s, p in law.items() if p > 0 and s not in reached]
    rewards = [
        {
            **function,
            "entries": [
                {key: value for key, value in entry.items() if key != "stages"}
                for entry in function["entries"]
            ],
        }
        for function in raw.get("rewards", [])
    ]
    agents = [
        {key: value for key, value in agent.items() if key != "transitions_at"}
        for agent in raw["agents"]
    ]
    made = {**raw, "agents": agents, "rewards": rewards}
    made.pop("discount", None)
    if "aggregates" in raw:
        made["aggregates"] = [
            {key: value for key, value in each.items() if key != "stages"}
            for each in raw["aggregates"]
        ]
    return made


class Chain:
    """The joint MDP, by the judge's model: states, and for each of its actions rewards and laws."""

    def __init__(self, raw: dict[str, Any], discount: float) -> None:
        self.model = judge.TiMmdp(raw)
        self.discount = discount
        self.states = [self.model.joint_initial()]
        self.moves: list[list[tuple[Any, float, dict[int, float]]]] = []
        known = {self.states[0]: 0}
        for state in self.states:
            rows = []
            for action in self.model.joint_actions(0, state):
                reward, law, total = 0.0, dict[int, float](), 0.0
                for after, chance in self.model.joint_outcomes(state, action):
                    if after not in known:
                        known[after] = len(self.states)
                        self.states.append(after)
                    reward += chance * self.model.reward(0, state, action, after)
                    law[known[after]] = law.get(known[after], 0.0) + chance
                    total += chance
                law = {k: p / total for k, p in law.items()}
                rows.append((action, reward / total, law))
            self.moves.append(rows)

    def evaluate(self, chosen: list[int]) -> np.ndarray[Any, Any]:
        """The values of all states under a policy: a system of linear equations."""
        n = len(self.states)
        matrix, right = np.eye(n), np.zeros(n)
        for s, k in enumerate(chosen):
            _, right[s], law = self.moves[s][k]
            for after, chance in law.items():
                matrix[s, after] -= self.discount * chance
        return np.linalg.solve(matrix, right)

    def optimum(self) -> float:
        """The optimal value of the first state, by policy iteration."""
        chosen = [0] * len(self.states)
        while True:
            values = self.evaluate(chosen)
            better = list(chosen)
            for s, rows in enumerate(self.moves):
                worth = [
                    r + self.discount * sum(p * values[t] for t, p in law.items())
                    for _, r, law in rows
                ]
                best = max(range(len(rows)), key=worth.__getitem__)
                if worth[best] > worth[chosen[s]] + 1e-12 * (1 + abs(worth[best])):
                    better[s] = best
            if better == chosen:
                return float(values[0])
            chosen = better

    def worth(self, raw: dict[str, Any], policy: StationaryPolicy) -> float:
        """The value of a policy from the first state."""
        names = [agent["name"] for agent in raw["agents"]]
        chosen = []
        for s, state in enumerate(self.states):
            acts = policy.act(dict(zip(names, state, strict=True)))
            wanted = tuple(acts[name] for name in names)
            chosen.append(next(k for k, row in enumerate(self.moves[s]) if row[0] == wanted))
        return float(self.evaluate(chosen)[0])


discounts = st.sampled_from([0.1, 0.5, 0.9, 0.95])


@given(raw=timmdp_dicts(max_work=400) | aggregate_dicts(max_work=300), discount=discounts)
def test_the_stationary_optimum(raw: dict[str, Any], discount: float) -> None:
    """The bounds contain the solution of the linear equations, and the policy keeps the lower."""
    made = endless(raw)
    if made is None:
        return
    problem = from_file(made)
    assert isinstance(problem, TIMMDP)
    chain = Chain(made, discount)
    size = scale(made) / (1 - discount)
    result = solve_infinite(problem, discount=discount, accuracy=1e-7 * size)
    best = chain.optimum()
    assert result.method == "stationary"
    assert result.reached
    assert result.upper_bound - result.lower_bound <= 1e-7 * size
    assert result.lower_bound - 1e-9 * size <= best <= result.upper_bound + 1e-9 * size
    assert isinstance(result.policy, StationaryPolicy)
    assert chain.worth(made, result.policy) >= result.lower_bound - 1e-9 * size


@given(raw=timmdp_dicts(max_work=200), discount=st.sampled_from([0.1, 0.5]))
def test_a_finite_horizon_with_a_tail(raw: dict[str, Any], discount: float) -> None:
    """The other method has valid bounds too, for any number of stages."""
    made = endless(raw)
    if made is None:
        return
    problem = from_file(made)
    assert isinstance(problem, TIMMDP)
    best = Chain(made, discount).optimum()
    size = scale(made) / (1 - discount)
    for horizon in (1, 3, 6):
        result = solve_infinite(problem, discount=discount, horizon=horizon, accuracy=1e-6 * size)
        assert (result.method, result.horizon) == ("horizon", horizon)
        assert isinstance(result.policy, Policy)
        assert result.lower_bound <= best + 1e-9 * size
        assert result.upper_bound >= best - 1e-9 * size
        assert result.tail[0] <= result.tail[1]


def robots(count: int, cost: float = 4.0) -> TIMMDP:
    """Robots that go to and fro, earn at one end, and hinder each other in pairs at the other."""
    transitions = {
        "a": {"go": {"b": 0.7, "a": 0.3}, "stay": {"a": 1.0}},
        "b": {"go": {"a": 1.0}, "work": {"b": 0.5, "a": 0.5}},
    }
    agents = [Agent(f"r{i}", "a", transitions) for i in range(count)]
    work = Condition(action="work")
    rewards = [
        RewardFunction([agent.name], [Entry({agent.name: work}, 5 + i)])
        for i, agent in enumerate(agents)
    ]
    rewards += [
        RewardFunction([f"r{i}", f"r{i + 1}"], [Entry({f"r{i}": work, f"r{i + 1}": work}, -cost)])
        for i in range(count - 1)
    ]
    return TIMMDP(agents, rewards, discount=0.8)


def test_too_large_for_the_joint_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    """A team that is too large is solved for as many stages as the accuracy needs."""
    exact = solve_infinite(robots(4), accuracy=1e-6)
    monkeypatch.setattr(infinite_module, "MOST_CELLS", 10)
    result = solve_infinite(robots(4), accuracy=0.01)
    assert result.method == "horizon"
    assert result.reached
    assert result.gap <= 0.01
    assert result.lower_bound <= exact.upper_bound
    assert result.upper_bound >= exact.lower_bound
    assert result.horizon is not None
    spread = (result.tail[1] - result.tail[0]) / 0.8**result.horizon
    assert 0.8 ** (result.horizon - 1) * spread > 0.005  # no more stages than needed
    other = solve_infinite(robots(4), accuracy=0.01, algorithm="dp")
    assert math.isclose(other.lower_bound, result.lower_bound, abs_tol=0.01)


def test_agents_that_never_interact_are_solved_apart() -> None:
    """Twenty agents without interactions take as many joint states as they have states."""
    result = solve_infinite(robots(20, cost=0.0).__class__(
        robots(20).agents, robots(20).rewards[:20], discount=0.8
    ))  # fmt: skip
    assert result.method == "stationary"
    alone = [
        solve_infinite(TIMMDP([a], [r], discount=0.8)).lower_bound
        for a, r in zip(robots(20).agents, robots(20).rewards[:20], strict=True)
    ]
    assert math.isclose(result.lower_bound, sum(alone), abs_tol=0.01)


def test_the_policy_for_a_finite_horizon() -> None:
    """A stationary policy can be evaluated over many stages, which come near its value."""
    result = solve_infinite(robots(3), accuracy=1e-6)
    assert isinstance(result.policy, StationaryPolicy)
    value = result.policy.for_horizon(80).evaluate()
    assert math.isclose(value, result.lower_bound, abs_tol=1e-4)


def test_from_another_state() -> None:
    """Bounds and policy begin where they are asked to."""
    problem = robots(2)
    states = {"r0": "b", "r1": "b"}
    result = solve_infinite(problem, state=states, accuracy=1e-8)
    moved = TIMMDP(
        [Agent(a.name, "b", a.transitions) for a in problem.agents], problem.rewards, discount=0.8
    )
    assert math.isclose(
        result.lower_bound, solve_infinite(moved, accuracy=1e-8).lower_bound, abs_tol=1e-7
    )
    assert isinstance(result.policy, StationaryPolicy)
    assert result.policy.act() == result.policy.act(states)


def test_periodic_chains_and_discounts_near_one() -> None:
    """A cycle whose values swing converges, and the bounds stay valid near discount 1."""
    flip = Agent("a", "s", {"s": {"go": {"t": 1.0}}, "t": {"go": {"s": 1.0}}})
    income = RewardFunction(["a"], [Entry({"a": Condition(state="s")}, 1.0)])
    for discount in (0.9, 0.999, 0.9999):
        result = solve_infinite(TIMMDP([flip], [income], discount=discount), accuracy=1e-4)
        wanted = 1 / (1 - discount**2)
        assert result.reached
        assert result.lower_bound <= wanted <= result.upper_bound


def test_a_limit_leaves_valid_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """If the time limit strikes, the bounds are wider, but they hold."""
    exact = solve_infinite(robots(3), accuracy=1e-9)
    monkeypatch.setattr(infinite_module, "_is_over", lambda limits: True)
    result = solve_infinite(robots(3), accuracy=1e-9, time_limit=1000)
    assert not result.reached
    assert result.lower_bound <= exact.lower_bound
    assert result.upper_bound >= exact.upper_bound


def test_what_depends_on_the_stage_is_refused() -> None:
    """Transitions or rewards of some stages have no meaning without an end."""
    agent = Agent("a", "s", {"s": {"go": {"s": 1}}})
    with pytest.raises(ModelError, match=r"rewards\[0\].entries\[0\] counts at some stages only"):
        solve_infinite(TIMMDP([agent], [RewardFunction(["a"], [Entry({}, 1, [0])])], discount=0.5))
    change = StageTransitions([0], {"s": {"go": {"s": 1}}})
    other = Agent("a", "s", {"s": {"go": {"s": 1}}}, transitions_at=[change])
    with pytest.raises(ModelError, match="other transitions at some stages"):
        solve_infinite(TIMMDP([other], discount=0.5))
    peak = Aggregate("peak", [Amount({"a": Condition(action="go")}, 1)], table=[0, 1], stages=[0])
    with pytest.raises(ModelError, match="'peak' counts at some stages only"):
        solve_infinite(TIMMDP([agent], aggregates=[peak], discount=0.5))


@pytest.mark.parametrize("discount", [None, 1, 0, 1.5, "x", True])
def test_discounts_that_are_none(discount: Any) -> None:
    """Without a discount below 1, sums have no end."""
    agent = Agent("a", "s", {"s": {"go": {"s": 1}}})
    with pytest.raises(SolverError, match="above 0 and below 1"):
        solve_infinite(TIMMDP([agent]), discount=discount)
    with pytest.raises(SolverError, match="accuracy"):
        solve_infinite(TIMMDP([agent], discount=0.5), accuracy=-1)


def test_agents_that_get_stuck() -> None:
    """A state without actions that is reached later than the problem's horizon is an error."""
    agent = Agent("a", "s", {"s": {"go": {"t": 1}}, "t": {"go": {"u": 1}}})
    with pytest.raises(ModelError, match="state 'u' has no action"):
        solve_infinite(TIMMDP([agent], discount=0.5))


def test_no_time_at_all() -> None:
    """A limit that strikes before the first bounds is an error."""
    with pytest.raises(LimitError):
        solve_infinite(robots(2), time_limit=1e-9)
