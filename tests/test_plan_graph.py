"""The graph of what a policy leads to, against the policy itself and the judge."""

from __future__ import annotations

import math
from collections import defaultdict
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import judge
from coreplan import (
    Contractor,
    ContractorState,
    Delay,
    MaintenanceProblem,
    ModelError,
    Policy,
    Task,
    solve,
)
from coreplan.analysis import execution_sequences
from coreplan.policies.graph import PlanGraph, plan_graph
from helpers import agrees, coupled_team, from_file, judge_state, random_mpp, scale
from strategies import mpp_dicts, problem_dicts
from team_rules import random_teams
from test_policy import policy_of


def crew(contractors: int, tasks: int = 1) -> Policy:
    """Contractors that have nothing to do with each other, each with tasks that may be delayed."""
    return policy_of(
        MaintenanceProblem(
            tuple(
                Contractor(
                    f"C{i}",
                    tuple(
                        Task(f"w{k}", 1, cost=1, revenue=9, delay=Delay(0.2 + 0.01 * i, 1))
                        for k in range(tasks)
                    ),
                )
                for i in range(contractors)
            ),
            horizon=2 * tasks,
        ),
        algorithm="core",
    )


def check_shape(graph: PlanGraph) -> None:
    """What holds of every graph, cut or not."""
    stages = [each.stage for each in graph.situations]
    assert stages == sorted(stages)
    assert graph.situations[0].probability == 1
    reached: dict[int, float] = defaultdict(float, {0: 1.0})
    for k, each in enumerate(graph.situations):
        assert agrees(each.probability, reached[k])
        assert graph.find(each.stage, each.state) == k
        assert k in graph.at_stage(each.stage)
        chances = [outcome.probability for outcome in each.outcomes]
        assert chances == sorted(chances, reverse=True)
        assert all(chance >= 0 for chance in chances)  # tiny ones may round to 0
        if each.stage < graph.horizon:
            assert agrees(sum(chances) + each.cut, 1.0)
        for outcome in each.outcomes:
            assert graph.situations[outcome.next].stage == each.stage + 1
            reached[outcome.next] += each.probability * outcome.probability
    for stage in range(graph.stage, graph.horizon + 1):
        weights = [graph.situations[k].probability for k in graph.at_stage(stage)]
        assert weights == sorted(weights, reverse=True)
    at_the_end = [graph.situations[k].probability for k in graph.at_stage(graph.horizon)]
    assert agrees(graph.covered, sum(at_the_end))


@given(problem_dicts(), st.sampled_from(["dp", "core", "teams"]), st.integers(0, 99))
def test_a_complete_graph_says_what_the_policy_does(
    raw: dict[str, Any], kind: str, seed: int
) -> None:
    """Its actions are the policy's, its values those of the judge, and nothing is missing."""
    policy = policy_of(from_file(raw), algorithm="dp" if kind == "teams" else kind)
    if kind == "teams":
        policy = random_teams(policy, Random(seed))
    graph = plan_graph(policy)
    assert graph.complete
    assert graph.covered == 1
    check_shape(graph)

    def act(stage: int, state: tuple[Any, ...]) -> tuple[str, ...]:
        found = [
            graph.situations[k]
            for k in graph.at_stage(stage)
            if judge_state(raw, dict(graph.situations[k].state)) == state
        ]
        (situation,) = found
        return tuple(situation.action[name] for name in graph.agents)

    first = graph.situations[0].value
    assert first is not None
    tolerance = 1e-9 * scale(raw)
    assert abs(first - judge.policy_value(raw, act, policy.stage, None)) <= tolerance
    assert abs(first - policy.evaluate()) <= tolerance
    for each in graph.situations:
        if each.stage < graph.horizon:
            assert each.action == policy.act(each.stage, each.state)
        else:
            assert not each.action
            assert not each.outcomes
            assert each.value == 0


@pytest.mark.parametrize("seed", range(4))
def test_values_are_those_of_starting_there(seed: int) -> None:
    """The value to go of an optimal policy is the optimal value of the problem from there on."""
    problem = from_file(coupled_team(seed))
    graph = plan_graph(policy_of(problem))
    for k in Random(seed).sample(range(len(graph.situations)), 8):
        each = graph.situations[k]
        if each.stage < graph.horizon:
            best = solve(problem, algorithm="dp", stage=each.stage, state=each.state).value
            assert each.value == pytest.approx(best, rel=1e-9, abs=1e-9)


@given(mpp_dicts())
def test_facts_tell_the_ways_of_chance_apart(raw: dict[str, Any]) -> None:
    """A fact says whether a task takes as long as it does, and whatever is uncertain has one."""
    problem = from_file(raw)
    assert isinstance(problem, MaintenanceProblem)
    graph = plan_graph(policy_of(problem))
    tasks = {(c.name, t.name): t for c in problem.contractors for t in c.tasks}
    for each in graph.situations:
        started = {
            name: action.removeprefix("start ")
            for name, action in each.action.items()
            if action.startswith("start ")
        }
        uncertain = {name for name, task in started.items() if len(tasks[name, task].durations) > 1}
        for outcome in each.outcomes:
            assert {fact.agent for fact in outcome.known} == uncertain
            after = graph.situations[outcome.next].state
            for fact in outcome.known:
                task = tasks[fact.agent, started[fact.agent]]
                assert fact.task == task.name
                steps = after[fact.agent].remaining + 1
                assert task.delay is not None
                assert steps == task.duration + (task.delay.duration if fact.delayed else 0)
                assert fact.text == f"{task.name} is {'' if fact.delayed else 'not '}delayed"


def test_paths_are_execution_sequences() -> None:
    """The ways through the graph are the execution sequences, with their probabilities."""
    policy = policy_of(from_file(coupled_team(3)))
    graph = plan_graph(policy)
    ways: dict[tuple[Any, ...], float] = {}
    stack: list[tuple[tuple[int, ...], float]] = [((0,), 1.0)]
    while stack:
        way, probability = stack.pop()
        for outcome in graph.situations[way[-1]].outcomes:
            stack.append(((*way, outcome.next), probability * outcome.probability))
        if graph.situations[way[-1]].stage == graph.horizon:
            states = (tuple(graph.situations[k].state.values()) for k in way)
            ways[tuple(states)] = probability
    for sequence, probability in execution_sequences(policy):
        states = (tuple(state[name] for name in graph.agents) for state in sequence.states)
        assert ways.pop(tuple(states)) == pytest.approx(probability, rel=1e-12)
    assert not ways


def test_general_facts_are_next_states() -> None:
    """In a general problem a fact names the state that chance has led to."""
    graph = plan_graph(policy_of(from_file(coupled_team(2))))
    facts = [
        (fact, graph.situations[outcome.next].state[fact.agent])
        for each in graph.situations
        for outcome in each.outcomes
        for fact in outcome.known
    ]
    assert facts
    assert all((fact.text, fact.task, fact.delayed) == (to, None, None) for fact, to in facts)


def test_a_policy_with_histories_has_a_graph() -> None:
    """States that keep their times are situations of their own."""
    problem = from_file(random_mpp(2, 2, 6))
    policy = policy_of(problem, merge=False)
    graph = plan_graph(policy)
    check_shape(graph)
    assert agrees(graph.situations[0].value or math.nan, policy.evaluate())
    last = graph.situations[-1].state["C0"]
    assert isinstance(last, ContractorState)
    assert last.times is not None


def test_it_starts_where_the_policy_starts() -> None:
    """A policy from the middle on gives a graph from there on."""
    problem = from_file(random_mpp(2, 2, 6))
    state = {"C0": ContractorState(doing="w0", remaining=1), "C1": ContractorState()}
    graph = plan_graph(policy_of(problem, stage=2, state=state))
    assert (graph.stage, graph.horizon) == (2, 6)
    assert graph.situations[0].stage == 2
    assert graph.situations[0].state == state
    with pytest.raises(ModelError, match="stage is 1; expected one from 2 to 6"):
        graph.at_stage(1)
    assert graph.find(1, state) is None


@pytest.mark.parametrize("most", [1, 5, 40, 300])
def test_a_cut_graph_keeps_the_likeliest(most: int) -> None:
    """It stays within its size, says what it covers, and always leads to the horizon."""
    policy = crew(6, tasks=2)
    whole = plan_graph(policy)
    assert whole.complete
    assert len(whole.situations) > 300
    graph = plan_graph(policy, most_situations=most)
    check_shape(graph)
    assert not graph.complete
    assert 0 < graph.covered < 1
    assert len(graph.situations) <= max(most, policy.horizon + 1)
    assert len(graph.at_stage(policy.horizon)) >= 1
    for each in graph.situations:
        k = whole.find(each.stage, each.state)
        assert k is not None
        assert each.probability <= whole.situations[k].probability * (1 + 1e-12)
        assert each.action == whole.situations[k].action
        known = all(graph.situations[o.next].value is not None for o in each.outcomes)
        assert (each.value is not None) == (each.cut == 0 and known)
        if each.value is not None:
            assert each.value == pytest.approx(whole.situations[k].value)
    # From the start on, nothing is lost on the way: those kept are the likeliest of all.
    second = [graph.situations[k].state for k in graph.at_stage(1)]
    assert second == [whole.situations[k].state for k in whole.at_stage(1)][: len(second)]


def test_more_room_covers_more() -> None:
    """A larger graph covers at least as much; a graph with room for all is complete."""
    policy = crew(6, tasks=2)
    size = len(plan_graph(policy).situations)
    covered = [plan_graph(policy, most).covered for most in (10, 50, 250)]
    assert covered == sorted(covered)
    assert plan_graph(policy, size).complete
    assert not plan_graph(policy, size - 1).complete


def test_what_is_unlikely_is_left_out() -> None:
    """Nothing less likely than asked for is kept, even if nothing else is left."""
    policy = crew(4, tasks=2)
    whole = plan_graph(policy)
    graph = plan_graph(policy, min_probability=0.02)
    check_shape(graph)
    assert not graph.complete
    assert min(each.probability for each in graph.situations) >= 0.02
    likely = [each for each in whole.situations if each.probability >= 0.02]
    assert 1 < len(graph.situations) <= len(likely)
    alone = plan_graph(policy, min_probability=0.9)
    check_shape(alone)
    assert len(alone.situations) == 1
    assert alone.covered == 0
    assert alone.situations[0].cut == pytest.approx(1)


def test_many_agents_do_not_explode() -> None:
    """Sixty contractors have 2^60 outcomes in the first step; the likeliest of all is kept."""
    policy = crew(60)
    graph = plan_graph(policy, most_situations=200)
    check_shape(graph)
    likeliest = math.prod(0.8 - 0.01 * i if i <= 30 else 0.2 + 0.01 * i for i in range(60))
    assert graph.situations[0].outcomes[0].probability == pytest.approx(likeliest)
    assert len(graph.situations) <= 200


@pytest.mark.parametrize(
    ("given_options", "words"),
    [
        ({"most_situations": 0}, "most_situations is 0; expected a whole number of at least 1"),
        ({"most_situations": True}, "most_situations is true"),
        ({"most_situations": 2.5}, "most_situations is 2.5"),
        ({"min_probability": -0.1}, "min_probability is -0.1; expected a number from 0 to 1"),
        ({"min_probability": 1.1}, "min_probability is 1.1"),
        ({"min_probability": "x"}, "min_probability is 'x'"),
    ],
)
def test_what_makes_no_sense_is_refused(given_options: dict[str, Any], words: str) -> None:
    """A size is a whole number above 0, a probability one."""
    with pytest.raises(ModelError, match=words):
        plan_graph(crew(1), **given_options)
