"""Problems as environments: rewards, outcomes and random steps by names."""

from __future__ import annotations

import gc
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given

from coreplan import (
    TIMMDP,
    Contractor,
    ContractorState,
    Delay,
    Hindrance,
    MaintenanceProblem,
    ModelError,
    Task,
    solve,
)
from coreplan.analysis import Dynamics, dynamics
from helpers import agrees, from_file
from strategies import timmdp_dicts


def best_value(problem: Any, stage: int, state: Any) -> float:
    """Plain recursion by nothing but actions, outcomes and rewards of the environment."""
    if stage == problem.horizon:
        return 0.0
    joint: list[dict[str, str]] = [{}]
    for name, names in problem.dynamics.actions(stage, state).items():
        joint = [{**each, name: action} for each in joint for action in names]
    return max(
        math.fsum(
            chance
            * (problem.reward(stage, state, action, after) + best_value(problem, stage + 1, after))
            for after, chance in problem.dynamics.outcomes(stage, state, action)
        )
        for action in joint
    )


@given(data=timmdp_dicts(max_agents=2, max_horizon=2))
def test_the_environment_has_the_value_of_the_problem(data: dict[str, Any]) -> None:
    """Who plans with the environment alone gets the value that solvers get."""
    problem = from_file(data)
    assert isinstance(problem, TIMMDP)
    assert agrees(best_value(problem, 0, problem.dynamics.initial_state), solve(problem).value)


def works() -> MaintenanceProblem:
    """Two contractors whose works hinder each other, one of which can be delayed."""
    return MaintenanceProblem(
        [
            Contractor("Alpha", [Task("a1", 1, cost=3, delay=Delay(0.25, 1), revenue=20)]),
            Contractor("Beta", [Task("b1", 1, cost=1, revenue=15)]),
        ],
        horizon=3,
        network=[Hindrance(["Alpha/a1", "Beta/b1"], cost=7.5)],
    )


def test_works_are_an_environment_too() -> None:
    """States of contractors and names of starts are those that people use."""
    problem = works()
    assert agrees(best_value(problem, 0, problem.dynamics.initial_state), solve(problem).value)
    idle = {"Alpha": ContractorState(), "Beta": ContractorState()}
    assert problem.dynamics.initial_state == idle
    both = {"Alpha": "start a1", "Beta": "start b1"}
    assert problem.dynamics.actions(0, idle)["Alpha"] == ("start a1", "wait")
    late, on_time = sorted(problem.dynamics.outcomes(0, idle, both), key=lambda each: each[1])
    assert (late[1], on_time[1]) == (0.25, 0.75)
    assert problem.reward(0, idle, both, on_time[0]) == 20 - 3 + 15 - 1 - 7.5
    assert problem.reward(0, idle, both, late[0]) == -3 + 15 - 1 - 7.5


def test_random_steps_have_the_chances_of_the_problem() -> None:
    """Steps repeat with the seed; the mean return of a policy is its value."""
    problem = works()
    policy = solve(problem).policy

    def run(random: np.random.Generator) -> float:
        state, total, over, stage = problem.dynamics.initial_state, 0.0, False, 0
        while not over:
            action = policy.act(stage, state)
            after, reward, over = problem.step(stage, state, action, random)
            assert reward == problem.reward(stage, state, action, after)
            state, total, stage = after, total + reward, stage + 1
        assert stage == problem.horizon
        return total

    runs = [run(np.random.default_rng(seed)) for seed in range(2000)]
    assert runs[7] == run(np.random.default_rng(7))
    spread = float(np.std(runs)) / math.sqrt(len(runs))
    assert abs(float(np.mean(runs)) - policy.evaluate()) < 5 * spread
    idle = problem.dynamics.initial_state
    both = {"Alpha": "start a1", "Beta": "start b1"}
    ends = [problem.sample(0, idle, both, np.random.default_rng(k)) for k in range(400)]
    late = sum(each["Alpha"] != ContractorState(done=("a1",)) for each in ends)
    assert 60 < late < 140  # 100 expected; 40 are 4.6 standard deviations


def test_the_problem_is_indexed_once_and_forgotten_with_it() -> None:
    """The environment of a problem is made once, and does not keep the problem alive."""
    problem = works()
    assert problem.dynamics is problem.dynamics
    assert isinstance(problem.dynamics, Dynamics)
    number = id(problem)
    assert number in dynamics._known
    del problem
    gc.collect()
    assert number not in dynamics._known


@pytest.mark.parametrize(
    ("stage", "action", "after", "words"),
    [
        (9, {}, {}, "stage is 9; expected a whole number from 0 to 2"),
        (0, {"Alpha": "wait"}, {}, "lacks agent 'Beta'"),
        (0, {"Alpha": "go", "Beta": "wait"}, {}, r"agent 'Alpha' in state .* has no action 'go'"),
        (
            0,
            {"Alpha": "wait", "Beta": "wait"},
            {"Alpha": ContractorState(done=("a1",)), "Beta": ContractorState()},
            "agent 'Alpha' cannot get to state",
        ),
    ],
)
def test_what_cannot_be_is_an_error(stage: int, action: Any, after: Any, words: str) -> None:
    """Unknown stages, actions and transitions are told apart by their messages."""
    problem = works()
    idle = problem.dynamics.initial_state
    with pytest.raises(ModelError, match=words):
        problem.reward(stage, idle, action, after)
    if not after:
        with pytest.raises(ModelError, match=words):
            problem.step(stage, idle, action, np.random.default_rng(1))
