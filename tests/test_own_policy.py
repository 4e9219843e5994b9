"""Policies that people write as functions: exact values, simulation, files, starts, comparisons."""

from __future__ import annotations

import itertools
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coreplan import (
    TIMMDP,
    Agent,
    ModelError,
    Policy,
    RewardFunction,
    SolverError,
    evaluate_plan,
    solve,
)
from coreplan.policies import OwnPolicy
from coreplan.policies import own as own_module
from helpers import agrees, from_file
from judge import optimal_value
from strategies import timmdp_dicts


def first_names(problem: TIMMDP) -> Any:
    """A function that takes the last available action by name, which depends on the others."""
    indexed = problem.index()

    def decide(stage: int, state: dict[str, Any]) -> dict[str, str]:
        place = sum(len(str(each)) for each in state.values()) + stage
        numbers = indexed.find_state(stage, state)
        chosen = {}
        for agent, number in zip(indexed.agents, numbers, strict=True):
            names = sorted(agent.choices(stage, number))
            chosen[agent.name] = names[place % len(names)]
        return chosen

    return decide


def by_hand(problem: TIMMDP, decide: Any) -> float:
    """The value of a function by plain recursion over the description."""
    agents = {agent.name: agent for agent in problem.agents}

    def reward(
        stage: int, state: dict[str, str], acts: dict[str, str], after: dict[str, str]
    ) -> float:
        total = 0.0
        for function in problem.rewards:
            for entry in function.entries:
                if entry.stages is not None and stage not in entry.stages:
                    continue
                if all(
                    agents[name].matches(test.state, state[name])  # type: ignore[arg-type]
                    and (test.action is None or acts[name] in test.action)
                    and agents[name].matches(test.next, after[name])  # type: ignore[arg-type]
                    for name, test in entry.when.items()
                ):
                    total += entry.value
        return total

    def value(stage: int, state: dict[str, str]) -> float:
        if stage == problem.horizon:
            return 0.0
        acts = decide(stage, dict(state))
        nexts: list[tuple[float, dict[str, str]]] = [(1.0, {})]
        for name, agent in agents.items():
            law = agent.transitions[state[name]][acts[name]]
            nexts = [
                (chance * own, {**joint, name: after})
                for chance, joint in nexts
                for after, own in law.items()
                if own > 0
            ]
        return sum(
            chance * (reward(stage, state, acts, joint) + value(stage + 1, joint))
            for chance, joint in nexts
        )

    return value(0, problem.initial_state)


@given(data=timmdp_dicts(max_agents=2, max_horizon=3))
def test_a_function_is_worth_what_plain_recursion_says(data: dict[str, Any]) -> None:
    """In random problems: exactly, by the table in its file, by arrays, and never too much."""
    problem = from_file(data)
    assert isinstance(problem, TIMMDP)
    decide = first_names(problem)
    mine = Policy.from_function(problem, decide)
    value = mine.evaluate()
    assert agrees(value, by_hand(problem, decide))
    assert agrees(mine.evaluate("sequences"), value)
    assert agrees(mine.stored().evaluate(), value)
    best = solve(problem).value
    assert value <= best + 1e-9 * max(1.0, abs(best))
    report = evaluate_plan(problem, decide)
    assert report.value == value
    assert report.upper_bound is not None
    assert agrees(report.upper_bound, best)
    started = solve(problem, start=decide)
    assert agrees(started.value, best)


def walkers(count: int = 3, size: int = 4, horizon: int = 4) -> TIMMDP:
    """Agents on a ring, whose steps fail now and then; meeting costs, the last cell earns."""

    def outcomes(cell: tuple[int], action: str) -> dict[tuple[int], float]:
        step = {"on": 1, "stay": 0}[action]
        return {cell: 1.0} if not step else {((cell[0] + 1) % size,): 0.75, cell: 0.25}

    agents = [
        Agent.from_functions(f"w{i}", (i % size,), lambda _: ["on", "stay"], outcomes)
        for i in range(count)
    ]
    rewards = [RewardFunction.from_function([a], lambda m: float(m.next[0] == 3)) for a in agents]
    rewards += [
        RewardFunction.from_function([a, b], lambda m, n: -2.0 * (m.next == n.next))
        for a, b in itertools.pairwise(agents)
    ]
    return TIMMDP(agents, rewards, horizon)


def hurry(stage: int, state: dict[str, Any]) -> dict[str, str]:
    """Everybody goes on to the last cell, but never into somebody who stays there."""
    taken = {cell for (cell,) in state.values() if cell == 3}
    return {
        name: "stay" if cell == 3 or (cell == 2 and taken) else "on"
        for name, (cell,) in state.items()
    }


def test_states_are_given_as_they_were_made() -> None:
    """The function gets tuples where states were made from tuples."""
    problem = walkers()
    seen: list[Any] = []

    def note(stage: int, state: dict[str, Any]) -> dict[str, str]:
        seen.append(state)
        return hurry(stage, state)

    mine = Policy.from_function(problem, note)
    assert mine.act(0) == {"w0": "on", "w1": "on", "w2": "on"}
    assert seen == [{"w0": (0,), "w1": (1,), "w2": (2,)}]
    assert mine.act(1, {"w0": (0,), "w1": (1,), "w2": (3,)})["w2"] == "stay"


def test_one_question_for_each_joint_state() -> None:
    """The function is asked once, however often its answers are needed."""
    asked: list[tuple[int, tuple[Any, ...]]] = []

    def note(stage: int, state: dict[str, Any]) -> dict[str, str]:
        asked.append((stage, tuple(state.values())))
        return hurry(stage, state)

    mine = Policy.from_function(walkers(), note)
    first = mine.evaluate()
    assert mine.evaluate() == first
    assert len(asked) == len(set(asked))


def test_simulation_explanation_and_plan_tree_work() -> None:
    """All that a solver's policy can do, a function can do."""
    problem = walkers()
    mine = Policy.from_function(problem, hurry)
    value = mine.evaluate()
    estimate = mine.estimate(4000, 1)
    assert estimate.low <= value <= estimate.high
    explained = mine.explain(0)
    assert agrees(explained.value, value)
    assert sum(1 for _ in mine.tree(depth=2).to_dict()) > 0
    assert "w0" in str(problem.index().agents[0].name)


def test_the_file_has_the_same_decisions(tmp_path: Path) -> None:
    """A saved function is a table of the joint states that it reaches."""
    problem = walkers()
    mine = Policy.from_function(problem, hurry)
    mine.save(tmp_path / "mine.json")
    again = Policy.load(tmp_path / "mine.json", problem)
    assert agrees(again.evaluate(), mine.evaluate())
    assert again.act(0) == mine.act(0)


def test_too_many_joint_states_are_not_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    """A table that would be too large is an error that says so."""
    with pytest.raises(SolverError, match="more than 5 joint states"):
        own_module.as_table(Policy.from_function(walkers(), hurry), most=5)


def test_arrays_decide_as_single_states_do() -> None:
    """A function of arrays gets numbers of states, and gives numbers of actions."""
    problem = walkers()
    indexed = problem.index()
    sizes: list[int] = []

    def many(stage: int, states: Any) -> Any:
        sizes.append(len(states))
        rows = []
        for row in states:
            named = indexed.original_state(row.tolist())
            acts = hurry(stage, named)
            rows.append([a.actions.index(acts[a.name]) for a in indexed.agents])
        return np.array(rows)

    mine = Policy.from_function(problem, many, arrays=True)
    assert agrees(mine.evaluate(), Policy.from_function(problem, hurry).evaluate())
    assert max(sizes) > 1


def test_agents_alone_have_exact_values_in_large_teams() -> None:
    """With a function for each agent, no joint state is ever made."""
    problem = walkers(count=30)
    alone = {
        agent.name: (lambda stage, cell: "stay" if cell == (3,) else "on")
        for agent in problem.agents
    }
    mine = Policy.from_function(problem, alone)
    assert mine.is_local
    value = mine.evaluate()
    estimate = mine.estimate(2000, 3)
    assert estimate.low - 1 <= value <= estimate.high + 1
    small = walkers(count=3)
    joint = Policy.from_function(
        small, lambda t, s: {n: "stay" if c == (3,) else "on" for n, c in s.items()}
    )
    few = Policy.from_function(small, dict.fromkeys(small.agent_names, alone["w0"]))
    assert agrees(few.evaluate(), joint.evaluate())


def test_values_from_any_situation() -> None:
    """`value` and `q` agree with one another, with explanations and with a later start."""
    problem = walkers()
    for mine in (Policy.from_function(problem, hurry), solve(problem).policy):
        assert agrees(mine.value(), mine.evaluate())
        state = {"w0": (1,), "w1": (2,), "w2": (3,)}
        now = mine.value(1, state)
        assert agrees(now, mine.starting_from(1, state).evaluate())
        assert agrees(mine.q(1, state, mine.act(1, state)), now)
        other = {**mine.act(1, state), "w2": "on"}
        assert other != mine.act(1, state)
        explained = {
            tuple(each.changes.items()): each.value for each in mine.explain(1, state).alternatives
        }
        assert agrees(mine.q(1, state, other), explained[(("w2", "on"),)])
        with pytest.raises(ModelError, match=r"agent 'w0' in state .* no action 'fly'"):
            mine.q(1, state, {**other, "w0": "fly"})
        with pytest.raises(ModelError, match="cannot be in state"):
            mine.value(1, {**state, "w0": (3,)})


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda s: {}, r"failed at stage 0 in state .*TypeError"),
        (lambda t, s: {}, r"answer at stage 0 .* lacks agent 'w0'"),
        (lambda t, s: None, r"answer at stage 0 .*found null"),
        (
            lambda t, s: dict.fromkeys(s, "fly"),
            r"agent 'w0' in state '\(0,\)' at stage 0 has no act",
        ),
        (lambda t, s: {**hurry(t, s), "x": "on"}, r"has no agent 'x'"),
        (lambda t, s: dict.fromkeys(s, 0), r"has no action 0"),
    ],
)
def test_wrong_answers_are_errors_that_name_the_situation(function: Any, words: str) -> None:
    """Who wrote the function sees what it was asked and what is wrong with its answer."""
    with pytest.raises(ModelError, match=words):
        Policy.from_function(walkers(), function).evaluate()
    with pytest.raises(ModelError, match=words):
        evaluate_plan(walkers(), function)


@pytest.mark.parametrize("answer", [[[0]], [[0.0, 0.0, 0.0]], [[0, 0, 9]], [[0, 0, -1]], "no"])
def test_wrong_arrays_are_errors(answer: Any) -> None:
    """Wrong shapes, wrong types and unknown actions are told apart from sound answers."""
    mine = Policy.from_function(walkers(), lambda t, s: np.array(answer), arrays=True)
    with pytest.raises(ModelError, match=r"array of shape|has no action"):
        mine.act(0)


def test_a_start_that_is_wrong_is_an_error() -> None:
    """The stage and state of a function are checked as those of a solve are."""
    with pytest.raises(ModelError, match="expected a whole number from 0 to 3"):
        Policy.from_function(walkers(), hurry, stage=4)
    with pytest.raises(ModelError, match="has no state"):
        Policy.from_function(walkers(), hurry, stage=1, state={f"w{i}": (9,) for i in range(3)})
    with pytest.raises(ModelError, match="expected a function"):
        Policy.from_function(walkers(), 3)  # type: ignore[arg-type]
    with pytest.raises(ModelError, match="lacks agent 'w1'"):
        Policy.from_function(walkers(), {"w0": lambda t, s: "on"})


def test_a_function_never_makes_the_result_worse() -> None:
    """Given as a start, a function is the first lower bound, and its policy may be the answer."""
    problem = walkers(count=4)
    mine = Policy.from_function(problem, hurry)
    values: list[float] = []
    result = solve(
        problem, start=hurry, callback=lambda news: values.append(news.lower_bound) is not None
    )
    known = [value for value in values if value > -math.inf]  # compiling, there is no bound yet
    assert known
    assert all(value >= mine.evaluate() - 1e-9 for value in known)
    assert result.value >= mine.evaluate() - 1e-9
    assert agrees(result.policy.evaluate(), result.value)
    assert agrees(result.value, optimal_value(problem.to_dict()))
    assert isinstance(mine, OwnPolicy)


# -- runs step by step ------------------------------------------------------------------------


@given(data=timmdp_dicts(max_agents=3, max_horizon=3), seed=st.integers(0, 2**64))
def test_kept_runs_are_those_of_the_simulation(data: dict[str, Any], seed: int) -> None:
    """The kept runs earn what the same runs have earned in the core, and follow the policy."""
    problem = from_file(data)
    assert isinstance(problem, TIMMDP)
    policy = solve(problem).policy
    simulated = policy.simulate(20, seed, keep=20)
    totals = sorted(each.total for each in simulated.trajectories)
    assert np.allclose(totals, simulated.returns, rtol=1e-8, atol=1e-8)
    for run in simulated.trajectories:
        assert run.stage == 0
        assert len(run.states) == len(run.actions) + 1 == problem.horizon + 1
        for stage, (state, actions, after) in enumerate(
            zip(run.states, run.actions, run.states[1:], strict=False)
        ):
            assert policy.act(stage, state) == actions
            for agent in problem.agents:
                law = agent.transitions[state[agent.name]][actions[agent.name]]
                assert law[after[agent.name]] > 0


def test_few_runs_are_kept_and_their_states_are_as_they_were_made() -> None:
    """Only as many runs are kept as asked for; without asking, none."""
    policy = Policy.from_function(walkers(), hurry)
    assert policy.simulate(10).trajectories == ()
    kept = policy.simulate(10, keep=3).trajectories
    assert len(kept) == 3
    assert kept[0].states[0] == {"w0": (0,), "w1": (1,), "w2": (2,)}
    assert kept == policy.simulate(50, keep=3, threads=2).trajectories
    assert len(policy.simulate(10, keep=99).trajectories) == 10
    with pytest.raises(ModelError, match="keep is -1"):
        policy.simulate(10, keep=-1)
