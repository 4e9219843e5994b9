"""Policies: what they do in every joint state, what they refuse, and what they are worth."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import event, given
from hypothesis import strategies as st

import judge
from coreplan import (
    TIMMDP,
    Agent,
    Condition,
    Contractor,
    ContractorState,
    Entry,
    LimitError,
    MaintenanceProblem,
    ModelError,
    Policy,
    RewardFunction,
    Status,
    Task,
    solve,
)
from coreplan.policies.evaluation import evaluate_policy
from coreplan.policies.rules import LocalRule
from coreplan.solving.compile import AnyProblem
from helpers import agrees, from_file, judged_policy_value, package_state, scale
from strategies import mpp_dicts, problem_dicts, timmdp_dicts


def policy_of(problem: AnyProblem, algorithm: str = "dp", **options: Any) -> Policy:
    """The policy that an algorithm finds, by default dynamic programming."""
    policy = solve(problem, algorithm=algorithm, **options).policy
    assert policy is not None
    return policy


def with_local_rule(policy: Policy, local: LocalRule | None = None) -> Policy:
    """The policy in which everybody looks at their own state only."""
    return Policy(
        policy.problem,
        policy.indexed,
        policy.maps,
        (),
        local or policy.local,
        history=policy.history,
    )


def draw_local_rule(data: st.DataObject, policy: Policy) -> LocalRule:
    """Any actions for all local classes."""
    rules = []
    for each in policy.maps:
        counts: dict[int, int] = {}  # class over all stages -> how many actions it has
        offset = np.concatenate([[0], np.cumsum(each.class_count)])
        for layer in range(policy.horizon - policy.stage):
            for node in range(int(each.layer_begin[layer]), int(each.layer_begin[layer + 1])):
                count = int(each.action_begin[node + 1]) - int(each.action_begin[node])
                counts[int(offset[layer]) + int(each.node_class[node])] = count
        actions = [
            data.draw(st.integers(0, counts[k] - 1)) if k in counts else 0
            for k in range(int(offset[-1]))
        ]
        rules.append(np.array(actions, dtype=np.uint32))
    return LocalRule(tuple(rules))


def robots() -> TIMMDP:
    """Two robots that should not go at the same time."""
    table = {"home": {"go": {"there": 1}, "wait": {"home": 1}}, "there": {"wait": {"there": 1}}}
    go = Condition(action="go")
    return TIMMDP(
        (Agent("r1", "home", table), Agent("r2", "home", table)),
        (
            RewardFunction(("r1", "r2"), (Entry({"r1": go}, 3), Entry({"r2": go}, 2))),
            RewardFunction(("r2", "r1"), (Entry({"r1": go, "r2": go}, -4),)),
        ),
        horizon=3,
    )


def roads() -> MaintenanceProblem:
    """Two contractors with a task each."""
    return MaintenanceProblem(
        (Contractor("A", (Task("a", 2, 1, revenue=9),)), Contractor("B", (Task("b", 1, 1),))), 4
    )


# -- what it does -----------------------------------------------------------------------------


@pytest.mark.parametrize("merge", [True, False])
@given(raw=problem_dicts())
def test_the_action_is_optimal_in_every_reachable_joint_state(
    merge: bool, raw: dict[str, Any]
) -> None:
    """Whatever was done before, the action is available and a best one by the judge's values."""
    policy = policy_of(from_file(raw), merge=merge)
    model = judge.model_of(raw)
    values = judge.optimal_values(raw)
    names = [agent["name"] for agent in raw["agents"]]
    for stage, state in judge.joint_states(raw):
        named = policy.act(stage, package_state(raw, state))
        assert list(named) == names
        action = tuple(named.values())
        assert action in model.joint_actions(stage, state)
        worth = sum(
            chance
            * (
                model.reward(stage, state, action, following)
                + (values[stage + 1, following] if stage + 1 < model.horizon else 0.0)
            )
            for following, chance in model.joint_outcomes(state, action)
        )
        assert worth == pytest.approx(values[stage, state], rel=1e-9, abs=1e-12 * scale(raw))


@given(raw=problem_dicts(), data=st.data())
def test_policies_of_a_later_stage_agree_with_those_from_the_start(
    raw: dict[str, Any], data: st.DataObject
) -> None:
    """A policy made from a later situation is worth the judge's value, and only from there on."""
    stage, state = data.draw(st.sampled_from(list(judge.joint_states(raw))))
    situation = package_state(raw, state)
    merge = data.draw(st.booleans())
    policy = policy_of(from_file(raw), stage=stage, state=situation, merge=merge)
    assert policy.stage == stage
    assert policy.act(stage) == policy.act(stage, situation)
    expected = judge.optimal_values(raw)[stage, state]
    assert policy.evaluate() == pytest.approx(expected, rel=1e-9, abs=1e-12 * scale(raw))
    if stage:
        with pytest.raises(ModelError, match=rf"stage is {stage - 1}; this policy runs from"):
            policy.act(stage - 1, situation)


def test_the_start_may_be_left_out_only_at_the_first_stage() -> None:
    """Without a joint state the policy speaks of where it starts, and nowhere else."""
    policy = policy_of(robots())
    assert policy.act(0) == policy.act(0, {"r1": "home", "r2": "home"})
    with pytest.raises(ModelError, match="the joint state at stage 1 is missing"):
        policy.act(1)


def test_agents_may_be_given_in_any_order() -> None:
    """A joint state is a mapping: its order does not matter, and actions come in the agents'."""
    policy = policy_of(robots())
    one = policy.act(1, {"r2": "home", "r1": "there"})
    assert list(one.items()) == [("r1", "wait"), ("r2", "go")]
    assert one == policy.act(1, {"r1": "there", "r2": "home"})


def test_contractors_may_be_given_in_three_ways() -> None:
    """A contractor's state may be an object, a mapping or its label; done may have any order."""
    tasks = (Task("a1", 1, 1), Task("a2", 2, 1), Task("a3", 1, 1))
    for merge in (True, False):
        policy = policy_of(MaintenanceProblem((Contractor("A", tasks),), 5), merge=merge)
        expected = policy.act(2, {"A": ContractorState(("a1", "a3"))})
        assert policy.act(2, {"A": ContractorState(("a3", "a1"))}) == expected
        assert policy.act(2, {"A": {"done": ["a3", "a1"]}}) == expected
        if merge:
            assert policy.act(2, {"A": "idle/to do a2"}) == expected
        else:
            label = "stage 2/idle/to do a2/a1 from 0 to 0/a3 from 1 to 1"
            assert policy.act(2, {"A": label}) == expected
            timed = ContractorState(("a1", "a3"), times={"a1": (0, 0), "a3": (1, 1)})
            assert policy.act(2, {"A": timed}) == expected


# -- what it refuses --------------------------------------------------------------------------


@pytest.mark.parametrize("stage", [-1, 3, 100, "0", 0.0, True, None])
def test_stages_out_of_range_are_refused(stage: Any) -> None:
    """A stage is a whole number before the horizon."""
    with pytest.raises(ModelError, match="this policy runs from stage 0 to 2"):
        policy_of(robots()).act(stage, {"r1": "home", "r2": "home"})


@pytest.mark.parametrize(
    ("state", "words"),
    [
        ({"r1": "home"}, "the joint state lacks agent 'r2'"),
        ({}, "the joint state lacks agent 'r1', 'r2'"),
        ({"r1": "home", "r2": "home", "r3": "home"}, "the problem has no agent 'r3'"),
        ({"r1": "hom", "r2": "home"}, "agent 'r1' has no state 'hom'; did you mean 'home'?"),
        ({"r1": "home", "r2": None}, "agent 'r2' has no state null"),
        ({"r1": "home", "r2": ["home"]}, "agent 'r2' has no state"),
        (("home", "home"), "expected one state for each agent"),
        ("home", "found 'home'; expected one state for each agent"),
        (
            {"r1": "there", "r2": "home"},
            "agent 'r1' cannot be in state 'there' at stage 0: no actions lead there",
        ),
    ],
)
def test_joint_states_that_make_no_sense_are_refused(state: Any, words: str) -> None:
    """What is missing, unknown or out of reach is named."""
    with pytest.raises(ModelError) as caught:
        policy_of(robots()).act(0, state)
    assert words in str(caught.value)


@pytest.mark.parametrize("merge", [True, False])
@pytest.mark.parametrize(
    ("state", "words"),
    [
        (ContractorState(("a",)), "'A' cannot be in"),
        (ContractorState((), "a", 2), "'A' cannot be in this state"),
        (ContractorState((), "a", 1), None),
        (ContractorState(("x",)), "contractor 'A' has no work 'x'"),
        (ContractorState((), None, 1), "found `remaining` 1 but no work"),
        ("idle/to do b", "'A' cannot be in this state in step 1: found 'idle/to do b'"),
        (3, "found 3; expected what it has done and is doing"),
    ],
)
def test_contractors_states_that_cannot_be_are_refused(
    state: Any, words: str | None, merge: bool
) -> None:
    """A contractor cannot have done more than time allows, nor what it has no task for."""
    policy = policy_of(roads(), merge=merge)
    joint_state = {"A": state, "B": ContractorState()}
    if words is None:
        assert policy.act(1, joint_state)["A"] == "continue"
    else:
        with pytest.raises(ModelError) as caught:
            policy.act(1, joint_state)
        assert words in str(caught.value)


def test_what_a_later_policy_cannot_have_seen_is_refused() -> None:
    """A policy from a later situation knows nothing of states that no longer can come about."""
    policy = policy_of(robots(), stage=1, state={"r1": "there", "r2": "home"})
    with pytest.raises(ModelError, match="agent 'r1' cannot be in state 'home' at stage 2"):
        policy.act(2, {"r1": "home", "r2": "home"})


# -- what it is worth -------------------------------------------------------------------------


@pytest.mark.parametrize("merge", [True, False])
@given(raw=problem_dicts(), data=st.data())
def test_local_policies_are_evaluated_exactly(
    merge: bool, raw: dict[str, Any], data: st.DataObject
) -> None:
    """Any rule of own states only is worth the same factorised, jointly, and to the judge."""
    policy = policy_of(from_file(raw), merge=merge)
    policy = with_local_rule(policy, draw_local_rule(data, policy))
    tolerance = 1e-12 * scale(raw)
    factorised = policy.evaluate()
    jointly = evaluate_policy(policy, parts=[range(len(policy.maps))])
    assert factorised == pytest.approx(jointly, rel=1e-11, abs=tolerance)
    if merge or raw["format"] == "ti-mmdp/1":  # the judge does not keep start and end times
        expected = judged_policy_value(raw, policy)
        assert factorised == pytest.approx(expected, rel=1e-11, abs=tolerance)


def slightly_off(raw: dict[str, Any], data: st.DataObject) -> dict[str, Any]:
    """Change the probabilities of every action such that they add up to 1 ± 5e-10."""
    for agent in raw["agents"]:
        for by_action in agent["transitions"].values():
            for law in by_action.values():
                factor = 1 + data.draw(st.sampled_from([5e-10, -5e-10, 0.0]))
                law.update({after: chance * factor for after, chance in law.items()})
    return raw


@pytest.mark.parametrize("merge", [True, False])
@given(raw=timmdp_dicts(), data=st.data())
def test_probabilities_are_used_as_they_are(
    merge: bool, raw: dict[str, Any], data: st.DataObject
) -> None:
    """Where probabilities add up to 1 ± 5e-10, values are those of the literal recursion."""
    raw = slightly_off(raw, data)
    result = solve(from_file(raw), algorithm="dp", merge=merge)
    assert result.policy is not None
    tolerance = 1e-14 * scale(raw)
    expected = judge.optimal_value(raw)
    assert result.value == pytest.approx(expected, rel=1e-13, abs=tolerance)
    assert result.policy.evaluate() == pytest.approx(expected, rel=1e-13, abs=tolerance)
    local = with_local_rule(result.policy)
    expected = judged_policy_value(raw, local)
    assert local.evaluate() == pytest.approx(expected, rel=1e-13, abs=tolerance)


def test_missing_probability_mass_counts_for_all_agents() -> None:
    """An agent's mass below 1 also scales what others earn at that stage and later."""
    mass = 1 - 5e-10
    lossy = Agent("lossy", "s", {"s": {"go": {"s": mass}}})
    other = Agent("other", "s", {"s": {"go": {"s": 1}}})
    earn = RewardFunction(("other",), (Entry({"other": Condition(action="go")}, 1e6),))
    always = RewardFunction(("lossy",), (Entry({}, 1e6),))
    expected = 2e6 * (mass + mass**2)
    for merge in (True, False):
        problem = TIMMDP((lossy, other), (earn, always), 2)
        result = solve(problem, algorithm="dp", merge=merge)
        assert result.value == pytest.approx(expected, rel=1e-15)
        assert result.policy is not None
        assert result.policy.evaluate() == pytest.approx(expected, rel=1e-15)
        assert with_local_rule(result.policy).evaluate() == pytest.approx(expected, rel=1e-15)


def crowd(count: int, mass: float = 1.0) -> TIMMDP:
    """Agents in a row; neighbours, and three of them at once, disturb each other."""
    agents = []
    rewards = []
    for i in range(count):
        chance = (i + 1) / (count + 1)
        going = {"there": chance * mass, "home": (1 - chance) * mass}
        table = {"home": {"go": going, "wait": {"home": 1.0}}, "there": {"go": {"home": 1.0}}}
        agents.append(Agent(f"a{i}", "home", table))
        own = Entry({f"a{i}": Condition(next="there")}, 1 + i)
        rewards.append(RewardFunction((f"a{i}",), (own, Entry({}, 0.5, (1,)))))
    for i in range(count - 1):
        pair = {f"a{k}": Condition(action="go", next="there") for k in (i, i + 1)}
        rewards.append(RewardFunction((f"a{i}", f"a{i + 1}"), (Entry(pair, -0.25, (0, 2)),)))
    scope = ("a0", "a2", "a4")
    rewards.append(
        RewardFunction(scope, (Entry({name: Condition(next="home") for name in scope}, -2),))
    )
    return TIMMDP(tuple(agents), tuple(rewards), 4)


@pytest.mark.parametrize("mass", [1.0, 1 - 5e-10, 1 + 5e-10])
def test_local_policies_of_thirty_agents_are_evaluated_exactly(mass: float) -> None:
    """With far too many joint states the value is still exact: a sum of products of chances."""
    problem = crowd(30, mass)
    result = solve(problem, algorithm="dp", memory_limit=50)
    assert result.status is Status.MEMORY_LIMIT
    policy = result.policy
    assert policy is not None
    assert policy.is_local
    home = problem.initial_state
    # Chances of (stage, agent, state, action, next), each agent on its own.
    moves: list[list[dict[tuple[str, str, str], float]]] = []
    now = [{"home": 1.0} for _ in problem.agents]
    for stage in range(problem.horizon):
        moves.append([])
        for i, agent in enumerate(problem.agents):
            law: dict[tuple[str, str, str], float] = {}
            after: dict[str, float] = {}
            for state, weight in now[i].items():
                action = policy.act(stage, home | {agent.name: state})[agent.name]
                for following, chance in agent.transitions[state][action].items():
                    law[state, action, following] = weight * chance
                    after[following] = after.get(following, 0.0) + weight * chance
            moves[-1].append(law)
            now[i] = after
    expected = 0.0
    for stage in range(problem.horizon):
        for function in problem.rewards:
            for entry in function.entries:
                if entry.stages is not None and stage not in entry.stages:
                    continue
                expected += entry.value * math.prod(
                    sum(
                        chance
                        for (_, action, following), chance in moves[stage][i].items()
                        if condition.action is None or action in condition.action
                        if condition.next is None or following in condition.next
                    )
                    for i, agent in enumerate(problem.agents)
                    for condition in [entry.when.get(agent.name, Condition())]
                )
    assert policy.evaluate() == pytest.approx(expected, rel=1e-13)
    assert result.value <= expected + 1e-9 * abs(expected)
    assert expected <= result.upper_bound + 1e-9 * abs(expected)
    joint = 1
    for each in policy.maps:
        joint *= int(each.class_count[1])
    assert joint >= 2**30


@given(raw=problem_dicts())
def test_a_policy_without_memory_for_joint_states_is_worth_its_bound(raw: dict[str, Any]) -> None:
    """Where joint states do not fit, the local policy is worth at least the value reported."""
    problem = from_file(raw)
    for step in itertools.count():  # the least memory with which there is any result
        try:
            result = solve(problem, algorithm="dp", memory_limit=0.0005 * 1.15**step)
            break
        except LimitError as error:
            assert error.reason == "memory_limit"
    assert result.policy is not None
    event(f"{result.status}, {'local' if result.policy.is_local else 'joint'} rules")
    tolerance = 1e-9 * scale(raw)
    expected = judged_policy_value(raw, result.policy)
    assert result.policy.evaluate() == pytest.approx(expected, rel=1e-9, abs=tolerance)
    assert result.value - tolerance <= expected <= result.upper_bound + tolerance
    best = judge.optimal_value(raw)
    assert result.value - tolerance <= best <= result.upper_bound + tolerance


@given(raw=mpp_dicts())
def test_histories_do_not_matter(raw: dict[str, Any]) -> None:
    """With and without start and end times in the states, policies are worth the same."""
    problem = from_file(raw)
    expected = judge.optimal_value(raw)
    for merge in (True, False):
        value = policy_of(problem, merge=merge).evaluate()
        assert agrees(value, expected) or abs(value - expected) <= 1e-12 * scale(raw)


def test_an_unknown_way_to_evaluate_is_refused() -> None:
    """There are two ways to evaluate a policy."""
    with pytest.raises(ModelError, match="method is 'magic'; expected 'forward' or 'sequences'"):
        policy_of(robots()).evaluate("magic")


def test_a_policy_shows_what_it_is() -> None:
    """Its text names the problem, the kind of rules and the stages."""
    policy = policy_of(robots(), stage=1)
    assert repr(policy) == "<Policy for 'problem': joint rules, stages 1 to 2>"
    assert "local rules" in repr(with_local_rule(policy))
