"""Descriptions of TI-MMDPs: how they are made, that they stay as they are, and what is refused."""

from __future__ import annotations

import copy
import dataclasses
import itertools
import pickle
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coreplan import TIMMDP, Agent, Condition, Entry, ModelError, RewardFunction, solve
from coreplan.model import Transition
from coreplan.model.conditions import same_feature
from coreplan.support.frozen import FrozenMapping
from counting import count_calls
from helpers import agrees, from_file
from strategies import FEATURE_VALUES, timmdp_dicts

TABLE = {
    "home": {"go": {"there": 0.75, "home": 0.25}, "wait": {"home": 1}},
    "there": {"wait": {"there": 1}},
}


def robot(name: str = "robot", **changes: Any) -> Agent:
    """A robot that may go somewhere and stays there."""
    parts: dict[str, Any] = {
        "initial": "home",
        "transitions": TABLE,
        "features": {"there": {"done": True}},
    }
    return Agent(name, **(parts | changes))


def one_entry(**changes: Any) -> TIMMDP:
    """A problem of one robot with one entry."""
    parts: dict[str, Any] = {"when": {"robot": Condition(action="go")}, "value": 1.0}
    return TIMMDP((robot(),), (RewardFunction(("robot",), (Entry(**(parts | changes)),)),), 3)


# -- from functions ---------------------------------------------------------------------------


def wear_outcomes(wear: int, action: str) -> dict[int, float]:
    """A machine that is repaired, or wears by one with chance 1/2."""
    return {0: 1.0} if action == "repair" else {wear: 0.5, wear + 1: 0.5}


def machine(horizon: int, **options: Any) -> Agent:
    """A machine that can be repaired once it is worn."""
    return Agent.from_functions(
        "machine",
        0,
        lambda wear: ["run", "repair"] if wear else ["run"],
        wear_outcomes,
        horizon=horizon,
        **options,
    )


def test_functions_and_tables_make_the_same_agent() -> None:
    """An agent made from functions equals, and hashes like, the same agent from tables."""
    made = machine(2, features=lambda wear: {"worn": True} if wear else {})
    written = Agent(
        "machine",
        "0",
        {
            "0": {"run": {"0": 0.5, "1": 0.5}},
            "1": {"run": {"1": 0.5, "2": 0.5}, "repair": {"0": 1}},
        },
        {"1": {"worn": True}, "2": {"worn": True}},
    )
    assert made == written
    assert hash(made) == hash(written)
    assert [made.value_of(state) for state in made.states] == [0, 1, 2]


@pytest.mark.parametrize("horizon", [1, 2, 5])
def test_functions_are_unrolled_only_within_the_horizon(horizon: int) -> None:
    """No state is asked for its actions that cannot be reached before the last decision."""
    asked: list[int] = []

    def actions(count: int) -> list[str]:
        asked.append(count)
        return ["up", "down"]

    def outcomes(count: int, action: str) -> dict[int, float]:
        return {count + 1: 1.0, -1: 0.0} if action == "up" else {max(count - 1, 0): 1.0}

    agent = Agent.from_functions("counter", 0, actions, outcomes, horizon=horizon)
    assert asked == list(range(horizon))
    assert set(agent.transitions) == {str(count) for count in range(horizon)}
    assert set(agent.states) == {str(count) for count in range(-1, horizon + 1)}
    assert TIMMDP((agent,), (), horizon).horizon == horizon


def test_functions_of_a_long_horizon_stop_when_nothing_is_new() -> None:
    """A cyclic agent of two states costs two calls, however long the horizon."""
    asked: list[str] = []

    def actions(state: str) -> list[str]:
        asked.append(state)
        return ["go"]

    agent = Agent.from_functions(
        "a", "x", actions, lambda s, _: {"y" if s == "x" else "x": 1.0}, horizon=100_000
    )
    assert asked == ["x", "y"]
    assert agent.states == ("x", "y")


def test_states_that_share_a_label_are_refused() -> None:
    """Two values with one label are an error that names both values and the label."""
    with pytest.raises(ModelError, match=r"'machine': the states 0 and 1 are both labelled 'same'"):
        machine(3, label=lambda wear: "same")
    with pytest.raises(ModelError, match="tells them apart"):
        # The text "1" is its own label, which is also that of the number 1.
        Agent.from_functions("a", "1", lambda s: ["go"], lambda s, a: {1: 1.0}, horizon=2)


def test_labels_name_the_states() -> None:
    """A given label names the states, in transitions, features and values alike."""
    agent = machine(2, label=lambda wear: f"wear {wear}", features=lambda wear: {"wear": wear})
    assert agent.states == ("wear 0", "wear 1", "wear 2")
    assert agent.features["wear 2"] == {"wear": 2}
    assert agent.value_of("wear 2") == 2


# -- rewards from functions -------------------------------------------------------------------


def chain(name: str) -> Agent:
    """An agent with two states, two actions and chances."""
    return Agent.from_functions(
        name,
        0,
        lambda s: ["keep", "try"],
        lambda s, a: {s: 1.0} if a == "keep" else {0: 0.25, 1: 0.75},
        horizon=3,
    )


def worth(*moves: Transition, stage: int = 0) -> float:
    """A reward that looks at everything: states, actions, outcomes and the stage."""
    total = 0.0
    for place, move in enumerate(moves, start=1):
        total += place * (3 * move.state - 2 * move.next) + (move.action == "try") * (stage - 1)
    return total if sum(move.next for move in moves) % 2 == 0 else -total


@pytest.mark.parametrize("staged", [False, True])
@pytest.mark.parametrize("scope", [1, 2, 3])
def test_reward_functions_agree_with_entries_made_by_hand(scope: int, staged: bool) -> None:
    """A reward made from a function is worth what the same reward is worth entry by entry."""
    agents = [chain(f"a{i}") for i in range(scope)]
    stages = range(3) if staged else None
    made = RewardFunction.from_function(agents, worth, stages=stages)
    entries = []
    for moves in itertools.product(*(list(agent.moves()) for agent in agents)):
        values = [Transition(int(move.state), move.action, int(move.next)) for move in moves]
        when = {
            agent.name: Condition(move.state, move.action, move.next)
            for agent, move in zip(agents, moves, strict=True)
        }
        for stage in range(3):
            value = worth(*values, stage=stage if staged else 0)
            entries.append(Entry(when, value, (stage,)))
    by_hand = RewardFunction(tuple(agent.name for agent in agents), tuple(entries))
    assert made.scope == by_hand.scope
    assert len(made.entries) < len(entries)  # zeros are left out, equal stages taken together
    value = solve(TIMMDP(tuple(agents), (made,), 3)).value
    assert agrees(value, solve(TIMMDP(tuple(agents), (by_hand,), 3)).value)
    assert value != 0


@pytest.mark.parametrize(
    ("function", "value"),
    [
        # From 0 the agent tries at once: 3/4 are in state 1 from stage 1 on.
        (lambda t: t.state, 0.75 + (0.75 + 0.25 * 0.75)),
        (lambda t: -1.0 if t.action == "try" else 0.5, 1.5),
        (lambda t: t.next, 0.75 + (0.75 + 0.25 * 0.75) + (1 - 0.25**3)),
    ],
)
def test_rewards_of_state_action_and_outcome(
    function: Callable[[Transition], float], value: float
) -> None:
    """Rewards of the state, of the action and of the outcome have the values worked out by hand."""
    agent = chain("a")
    problem = TIMMDP((agent,), (RewardFunction.from_function([agent], function),), 3)
    assert agrees(solve(problem).value, value)


def test_rewards_of_the_stage() -> None:
    """A function is asked only about the stages given, which is where it is earned."""
    agent = chain("a")

    def bonus(move: Transition, *, stage: int) -> float:
        assert stage in (0, 2)
        return 10.0 + stage

    made = RewardFunction.from_function([agent], bonus, stages=iter([0, 2]))
    assert {entry.stages for entry in made.entries} == {(0,), (2,)}
    assert agrees(solve(TIMMDP((agent,), (made,), 3)).value, 22.0)
    never = RewardFunction.from_function([agent], bonus, stages=[])
    assert never.entries == ()


def test_a_reward_function_may_be_asked_of_named_states() -> None:
    """Agents from tables pass the names of their states."""
    seen: set[Transition] = set()

    def note(move: Transition) -> float:
        seen.add(move)
        return 0.0

    RewardFunction.from_function([robot()], note)
    assert Transition("home", "go", "there") in seen
    assert len(seen) == 4


# -- frozen -----------------------------------------------------------------------------------


def parts_of(value: object) -> list[object]:
    """Everything that a description consists of."""
    found = [value]
    if dataclasses.is_dataclass(value):
        inner = [getattr(value, each.name) for each in dataclasses.fields(value)]
    elif isinstance(value, Mapping):
        inner = [*value, *value.values()]
    elif isinstance(value, tuple):
        inner = list(value)
    else:
        inner = []
    return found + [part for each in inner for part in parts_of(each)]


def test_nothing_of_a_problem_can_be_changed() -> None:
    """Every part of a description is frozen: attributes, mappings and lists, however deep."""
    table: dict[str, Any] = {"s": {"go": {"s": 1}}}
    features: dict[str, Any] = {"s": {"f": 1}}
    agent = Agent("a", "s", table, features)
    when = {"a": Condition(state={"f": 1}, action=["go"], next=["s"])}
    stages = [0]
    entries = [Entry(when, 1, stages)]  # type: ignore[arg-type]
    scope = ["a"]
    agents = [agent]
    rewards = [RewardFunction(scope, entries)]  # type: ignore[arg-type]
    problem = TIMMDP(agents, rewards, 2)  # type: ignore[arg-type]
    before = copy.deepcopy(problem)
    parts = parts_of(problem)
    assert len(parts) > 30
    for part in parts:
        assert isinstance(part, str | int | float | bool | tuple | FrozenMapping | None) or (
            dataclasses.is_dataclass(part)
        )
        if dataclasses.is_dataclass(part):
            for each in dataclasses.fields(part):
                with pytest.raises(dataclasses.FrozenInstanceError):
                    setattr(part, each.name, None)
        if isinstance(part, FrozenMapping):
            with pytest.raises(TypeError):
                part["x"] = 1  # type: ignore[index]
            with pytest.raises(TypeError):
                del part["x"]  # type: ignore[attr-defined]
            with pytest.raises(AttributeError):
                part.extra = 1  # type: ignore[attr-defined]
            assert not hasattr(part, "update")
    # What it was made from may change; the problem does not.
    table["s"]["go"]["s"] = 0.5
    table["t"] = {}
    features["s"]["f"] = 2
    when["b"] = Condition()
    given_lists: list[list[Any]] = [stages, entries, scope, agents, rewards]
    for given_list in given_lists:
        given_list.clear()
    assert problem == before


@given(raw=timmdp_dicts())
def test_problems_can_be_pickled_copied_compared_and_hashed(raw: dict[str, Any]) -> None:
    """Pickles and copies are equal and hash alike; another name makes a difference."""
    problem = from_file(raw)
    assert isinstance(problem, TIMMDP)
    for other in (
        pickle.loads(pickle.dumps(problem)),
        copy.copy(problem),
        copy.deepcopy(problem),
        from_file(raw),
    ):
        assert other == problem
        assert hash(other) == hash(problem)
        assert repr(other) == repr(problem)
    assert dataclasses.replace(problem, name=problem.name + "!") != problem


def test_a_pickled_agent_keeps_its_values() -> None:
    """An agent from functions still knows what its states stand for after pickling."""
    agent = pickle.loads(pickle.dumps(machine(3)))
    assert agent.value_of("2") == 2


def test_mappings_compare_without_order_and_show_it() -> None:
    """Frozen mappings equal any mapping with the same items, in any order, and keep their own."""
    mapping = FrozenMapping({"b": 1, "a": 2})
    assert mapping == {"a": 2, "b": 1} == mapping
    assert hash(mapping) == hash(FrozenMapping({"a": 2, "b": 1}))
    assert mapping != {"a": 2}
    assert mapping != 3
    assert list(mapping) == ["b", "a"]
    assert repr(mapping) == "{'b': 1, 'a': 2}"
    assert "c" not in mapping
    assert len(mapping) == 2


# -- features ---------------------------------------------------------------------------------


def with_feature(own: Any) -> Agent:
    """An agent that goes to a state with a feature; states out of reach have all other values."""
    others = {f"u{k}": {"f": value} for k, value in enumerate([*FEATURE_VALUES, True, False, 1, 0])}
    moves = {name: {"go": {"t": 1.0}} for name in ("s", *others)}
    return Agent("a", "s", moves, {"t": {"f": own}, **others})


def featured(test: object, own: object) -> TIMMDP:
    """Earns 1 if a test of a feature matches."""
    agent = with_feature(own)
    condition = Condition(next={"f": test})  # type: ignore[dict-item]
    return TIMMDP((agent,), (RewardFunction(("a",), (Entry({"a": condition}, 1),)),), 1)


@given(test=st.sampled_from(FEATURE_VALUES), own=st.sampled_from(FEATURE_VALUES))
def test_features_match_by_value_and_kind(test: object, own: object) -> None:
    """A boolean matches only the same boolean, and a number any writing of the same number."""
    expected = test == own and isinstance(test, bool) == isinstance(own, bool)
    assert solve(featured(test, own)).value == float(expected)
    assert same_feature(test, own) == expected
    assert (featured(test, 0) == featured(own, 0)) == expected
    assert (featured(0, test) == featured(0, own)) == expected
    if expected:
        assert hash(featured(test, own)) == hash(featured(own, test))


@pytest.mark.parametrize(("own", "value"), [(True, 1.0), (1, 10.0), (1.0, 10.0), (False, 0.0)])
def test_true_and_one_are_told_apart_within_one_problem(own: object, value: float) -> None:
    """Conditions on ``true`` and on 1 stay two conditions where a problem has both."""
    agent = with_feature(own)
    for order in (1, -1):
        entries = (
            Entry({"a": Condition(next={"f": True})}, 1),
            Entry({"a": Condition(next={"f": 1})}, 10),
        )[::order]
        assert solve(TIMMDP((agent,), (RewardFunction(("a",), entries),), 1)).value == value


def test_several_features_must_all_match() -> None:
    """All named features must be equal, and a state that lacks one does not match."""
    agent = robot(features={"there": {"x": 1, "y": "b"}, "home": {"x": 1}})
    assert agent.matches(FrozenMapping({"x": 1}), "home")
    assert agent.matches(FrozenMapping({"x": 1, "y": "b"}), "there")
    assert not agent.matches(FrozenMapping({"x": 1, "y": "c"}), "there")
    assert not agent.matches(FrozenMapping({"x": 1, "y": "b"}), "home")
    assert agent.matches(("home", "there"), "home")
    assert agent.matches(None, "home")


# -- what is refused --------------------------------------------------------------------------

GOOD = {"s": {"go": {"s": 1}}}


def refuse(make: Callable[[], object]) -> list[str]:
    """The lines of the error that making something raises."""
    with pytest.raises(ModelError) as caught:
        make()
    assert str(caught.value).splitlines() == [str(problem) for problem in caught.value.problems]
    return str(caught.value).splitlines()


AGENTS: list[tuple[Agent | Callable[[], Agent], str, str]] = [
    (Agent("", "s", GOOD), "agents[0].name", "found ''; expected the name of the agent"),
    (Agent(3, "s", GOOD), "agents[0].name", "put it into quotes"),  # type: ignore[arg-type]
    (Agent("a", None, GOOD), "agents[0].initial", "found null"),  # type: ignore[arg-type]
    (
        Agent("a", "x", GOOD),
        "agents[0].initial",
        "state 'x' has no action and can be reached at stage 0",
    ),
    (
        Agent("a", "s", {"s": {"go": {"s": 0.5, "t": 0.4}}, "t": GOOD["s"]}),
        "agents[0].transitions.s.go",
        "the probabilities add up to 0.9; expected 1",
    ),
    (
        Agent("a", "s", {"s": {"go": {"s": 1 + 2e-9}}}),
        "agents[0].transitions.s.go",
        "add up to 1.000000002",
    ),
    (
        Agent("a", "s", {"s": {"go": {"s": 2, "t": -1}}, "t": GOOD["s"]}),
        "agents[0].transitions.s.go.t",
        "found -1; expected a probability",
    ),
    (
        Agent("a", "s", {"s": {"go": {"s": float("nan")}}}),
        "agents[0].transitions.s.go.s",
        "found nan; expected a probability",
    ),
    (
        Agent("a", "s", {"s": {"go": {"s": True}}}),
        "agents[0].transitions.s.go.s",
        "found true; expected a probability",
    ),
    (
        Agent("a", "s", {"s": {"go": {}}}),
        "agents[0].transitions.s.go",
        "add up to 0; expected 1",
    ),
    (
        Agent("a", "s", {"s": {"go": {"s": 1}, "": {"s": 1}}}),
        "agents[0].transitions.s['']",
        "found ''; expected the name of an action",
    ),
    (
        Agent("a", "s", {"s": {"go": {1: 1}}, 1: {"go": {1: 1}}}),  # type: ignore[dict-item]
        "agents[0].transitions.1",
        "found 1; expected the name of a state",
    ),
    (
        Agent("a", "s", {"s": {"go": {"t t": 1}}}),
        "agents[0].transitions",
        "state 't t' has no action and can be reached at stage 1, before the horizon",
    ),
    (
        Agent("a", "s", {"s": {"go": {"t t": 1}}, "t t": {}}),
        "agents[0].transitions['t t']",
        "state 't t' has no action and can be reached at stage 1",
    ),
    (
        Agent("a", "s", GOOD, {"z": {"f": 1}}),
        "agents[0].features.z",
        "agent 'a' has no state 'z'",
    ),
    (
        Agent("a", "s", GOOD, {"s": {"f": None}}),  # type: ignore[dict-item]
        "agents[0].features.s.f",
        "found null; expected a text, a boolean or a finite number",
    ),
    (
        Agent("a", "s", GOOD, {"s": {"": 1}}),
        "agents[0].features.s['']",
        "expected the name of a feature",
    ),
]


@pytest.mark.parametrize(("agent", "place", "words"), AGENTS)
def test_agents_that_make_no_sense_are_refused(agent: Agent, place: str, words: str) -> None:
    """Each mistake in an agent is a ModelError that names its place and what is wrong."""
    lines = refuse(lambda: TIMMDP((agent,), (), 2))
    assert any(line.startswith(f"{place}: ") and words in line for line in lines), lines


ENTRIES: list[tuple[dict[str, Any], str, str]] = [
    ({"value": float("inf")}, "value", "found inf; expected a reward, a finite number"),
    ({"value": "1"}, "value", "found '1'; expected a reward"),
    ({"value": True}, "value", "found true; expected a reward"),
    ({"stages": (3,)}, "stages[0]", "found 3; expected a stage from 0 to 2 (the horizon is 3)"),
    ({"stages": (0, -1)}, "stages[1]", "found -1; expected a stage"),
    ({"stages": (0.5,)}, "stages[0]", "found 0.5; expected a stage"),
    ({"stages": (True,)}, "stages[0]", "found true; expected a stage"),
    ({"when": {"robbot": Condition()}}, "when.robbot", "has no agent 'robbot'; did you mean"),
    ({"when": {"robot": {"action": "go"}}}, "when.robot", "expected a Condition"),
    (
        {"when": {"robot": Condition(state="hom")}},
        "when.robot.state[0]",
        "agent 'robot' has no state 'hom'; did you mean 'home'?",
    ),
    (
        {"when": {"robot": Condition(next=["there", "x"])}},
        "when.robot.next[1]",
        "agent 'robot' has no state 'x'",
    ),
    (
        {"when": {"robot": Condition(action="gone")}},
        "when.robot.action[0]",
        "agent 'robot' has no action 'gone'",
    ),
    (
        {"when": {"robot": Condition(action=[])}},
        "when.robot.action",
        "found an empty list; expected one or more names",
    ),
    (
        {"when": {"robot": Condition(state={"dne": True})}},
        "when.robot.state.dne",
        "agent 'robot' has no feature 'dne'; did you mean 'done'?",
    ),
    (
        {"when": {"robot": Condition(state={"done": None})}},  # type: ignore[dict-item]
        "when.robot.state.done",
        "found null; expected a text, a boolean or a finite number",
    ),
]


@pytest.mark.parametrize(("changes", "place", "words"), ENTRIES)
def test_entries_that_make_no_sense_are_refused(
    changes: dict[str, Any], place: str, words: str
) -> None:
    """Each mistake in an entry is a ModelError that names its place and what is wrong."""
    (line,) = refuse(lambda: one_entry(**changes))
    assert line.startswith(f"rewards[0].entries[0].{place}: "), line
    assert words in line


def test_a_condition_on_an_agent_out_of_scope_is_refused() -> None:
    """A condition may speak only of agents in the scope."""
    function = RewardFunction(("a",), (Entry({"b": Condition()}, 1),))
    (line,) = refuse(lambda: TIMMDP((robot("a"), robot("b")), (function,), 1))
    assert line.startswith("rewards[0].entries[0].when.b: agent 'b' is not in the scope")


WHOLE: list[tuple[dict[str, Any], str, str]] = [
    ({"agents": ()}, "agents", "found no agents; expected one or more"),
    ({"agents": (robot(), robot())}, "agents[1].name", "agent 'robot' is listed twice"),
    ({"agents": "robot"}, "agents", "found 'robot'; expected agents"),
    ({"agents": [{"name": "a"}]}, "agents[0]", "expected an object of the class Agent"),
    ({"rewards": [3]}, "rewards[0]", "found 3; expected an object of the class RewardFunction"),
    ({"horizon": 0}, "horizon", "found 0; expected the number of decisions, a whole number"),
    ({"horizon": 100_001}, "horizon", "from 1 to 100000"),
    ({"horizon": 2.5}, "horizon", "found 2.5"),
    ({"horizon": "3"}, "horizon", "found '3'"),
    ({"horizon": True}, "horizon", "found true"),
    ({"horizon": 10**400}, "horizon", "a whole number from 1 to 100000"),
    ({"name": 3}, "name", "found 3; expected a text"),
    ({"rewards": [RewardFunction(())]}, "rewards[0].scope", "found an empty scope"),
    (
        {"rewards": [RewardFunction(("robot", "robot"))]},
        "rewards[0].scope[1]",
        "agent 'robot' is in the scope twice",
    ),
    (
        {"rewards": [RewardFunction(("robt",))]},
        "rewards[0].scope[0]",
        "the problem has no agent 'robt'; did you mean 'robot'?",
    ),
]


@pytest.mark.parametrize(("changes", "place", "words"), WHOLE)
def test_problems_that_make_no_sense_are_refused(
    changes: dict[str, Any], place: str, words: str
) -> None:
    """Each mistake in a problem as a whole is a ModelError that names its place."""
    parts: dict[str, Any] = {"agents": (robot(),), "rewards": (), "horizon": 2, "name": "p"}
    (line,) = refuse(lambda: TIMMDP(**(parts | changes)))
    assert line.startswith(f"{place}: "), line
    assert words in line


KINDS: list[tuple[Callable[[], object], str]] = [
    (lambda: Agent("a", "s", None), "transitions: found null; expected a mapping"),  # type: ignore[arg-type]
    (lambda: Agent("a", "s", {"s": ["go"]}), "transitions.s: found ['go']; expected a mapping"),  # type: ignore[dict-item]
    (lambda: Agent("a", "s", {"s": {"go": "s"}}), "transitions.s.go: found 's'; expected"),  # type: ignore[dict-item]
    (lambda: Agent("a", "s", GOOD, {"s": "f"}), "features.s: found 'f'; expected a mapping"),  # type: ignore[dict-item]
    (lambda: Agent("a", "s", GOOD, [1]), "features: found [1]; expected a mapping"),  # type: ignore[arg-type]
    (lambda: Agent(["a"], "s", GOOD), "name: found ['a']; expected a name"),  # type: ignore[arg-type]
    (lambda: Agent("a", ["s"], GOOD), "initial: found ['s']; expected a name"),  # type: ignore[arg-type]
    (lambda: RewardFunction("a"), "scope: found 'a'; expected a list of agents' names"),  # type: ignore[arg-type]
    (lambda: RewardFunction([["a"]]), "scope[0]: found ['a']; expected a name"),  # type: ignore[arg-type]
    (lambda: RewardFunction(("a",), (1,)), "entries[0]: found 1; expected an object of the class"),  # type: ignore[arg-type]
    (lambda: Entry(when=[1]), "when: found [1]; expected agents' conditions"),  # type: ignore[arg-type]
    (lambda: Entry(stages=3), "stages: found 3; expected a list of stages"),  # type: ignore[arg-type]
    (lambda: Condition(state=3), "state: found 3; expected a name"),  # type: ignore[arg-type]
    (lambda: Condition(action={"x": 1}), "action: found {'x': 1}; expected a name"),  # type: ignore[arg-type]
]


@pytest.mark.parametrize(("make", "words"), KINDS)
def test_parts_of_the_wrong_kind_are_refused_at_once(
    make: Callable[[], object], words: str
) -> None:
    """What is no mapping, list or name where one is due is refused when the part is made."""
    (line,) = refuse(make)
    assert line.startswith(words), line


def test_everything_wrong_is_reported_at_once_up_to_twenty() -> None:
    """An error lists all mistakes, but no more than twenty."""
    bad = Entry({"robot": Condition(action="x", state="y")}, None, (9,))  # type: ignore[arg-type]
    assert len(refuse(lambda: TIMMDP((robot(),), (RewardFunction(("robot",), (bad,)),), 1))) == 4
    many = RewardFunction(("robot",), (bad,) * 10)
    assert len(refuse(lambda: TIMMDP((robot(),), (many,), 1))) == 20


def test_what_is_allowed() -> None:
    """Whole numbers with a zero fraction, states beyond the horizon and tiny errors pass."""
    agent = Agent("a", "s", {"s": {"go": {"t": 1 - 5e-10, "u": 0}}}, {"u": {"f": 1}})
    function = RewardFunction(("a",), (Entry({}, 2, (0.0,)), Entry(), Entry({}, 5, ())))  # type: ignore[arg-type]
    problem = TIMMDP((agent,), (function,), 1.0)  # type: ignore[arg-type]
    assert problem.horizon == 1
    assert problem.rewards[0].entries[0].stages == (0,)
    # The empty list of stages is never; the probability is used as it is.
    value = solve(problem, algorithm="dp").value
    assert value == pytest.approx(2 * (1 - 5e-10), rel=1e-15)


def test_agents_are_found_by_name() -> None:
    """A problem gives its agents by name and the joint initial state."""
    problem = TIMMDP((robot("a"), robot("b")), (), 1)
    assert problem.agent("b") is problem.agents[1]
    assert problem.initial_state == {"a": "home", "b": "home"}
    with pytest.raises(ModelError, match="the problem has no agent 'c'"):
        problem.agent("c")


# -- models without traps ---------------------------------------------------------------------


@pytest.mark.parametrize("scope", [1, 2, 3])
@given(data=st.data())
def test_equal_rewards_become_few_entries_of_the_same_worth(
    scope: int, data: st.DataObject
) -> None:
    """However rewards are spread over transitions, each is earned exactly once."""
    agents = [chain(f"a{i}") for i in range(scope)]
    moves = list(itertools.product(*(list(agent.moves()) for agent in agents)))
    drawn = data.draw(
        st.lists(st.sampled_from([0.0, 0.0, 1.0, -2.5]), min_size=len(moves), max_size=len(moves))
    )
    values = dict(zip(moves, drawn, strict=True))

    def worth(*asked: Transition) -> float:
        return values[tuple(Transition(str(m.state), m.action, str(m.next)) for m in asked)]

    made = RewardFunction.from_function(agents, worth)
    assert len(made.entries) <= sum(value != 0 for value in drawn)
    for joint, value in values.items():
        earned = [entry.value for entry in made.entries if earns(entry, agents, joint)]
        assert earned == ([value] if value else [])


def earns(entry: Entry, agents: list[Agent], joint: tuple[Transition, ...]) -> bool:
    """Whether a joint transition matches an entry."""
    for agent, move in zip(agents, joint, strict=True):
        test = entry.when.get(agent.name, Condition())
        assert not isinstance(test.action, str)
        if test.action is not None and move.action not in test.action:
            return False
        for part, state in ((test.state, move.state), (test.next, move.next)):
            assert part is None or isinstance(part, tuple)
            if not agent.matches(part, state):
                return False
    return True


def walker(size: int, horizon: int | None = None, name: str = "w") -> Agent:
    """An agent that walks to and fro on cells; its states are pairs of numbers."""

    def outcomes(state: tuple[int, int], action: str) -> dict[tuple[int, int], float]:
        x, y = state
        return {((x + (1 if action == "on" else -1)) % size, y): 1.0}

    return Agent.from_functions(
        name, (0, 7), lambda _: ["on", "back"], outcomes, horizon=horizon,
        features=lambda s: {"x": s[0], "far": s[0] > 2},
    )  # fmt: skip


def test_meeting_takes_an_entry_for_each_cell() -> None:
    """Where only the next cells matter, actions and states are not spelled out."""
    agents = [walker(16, name="a"), walker(16, name="b")]
    made = RewardFunction.from_function(agents, lambda a, b: -5.0 * (a.next == b.next))
    assert len(made.entries) == 16
    everywhere = RewardFunction.from_function(agents, lambda a, b: 3.0)
    assert [dict(entry.when) for entry in everywhere.entries] == [{}]


def test_rewards_made_from_an_agent_with_fewer_transitions_are_an_error() -> None:
    """An agent made for a shorter horizon has no rewards later, which would go unnoticed."""
    short, long = walker(16, horizon=3), walker(16, horizon=10)
    reward = RewardFunction.from_function([short], lambda m: 1.0)
    with pytest.raises(ModelError, match="made from another agent 'w'"):
        TIMMDP((long,), (reward,), 10)
    with pytest.raises(ModelError, match="made from another agent 'w'"):
        TIMMDP((walker(8),), (reward,), 10)
    # The same transitions are enough, and an agent may have fewer.
    assert TIMMDP((walker(16, horizon=3),), (reward,), 3).horizon == 3
    more = RewardFunction.from_function([long], lambda m: 1.0)
    assert solve(TIMMDP((short,), (more,), 3)).value == 3.0


@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        ({"x": 99}, "no state of agent 'w' has the value 99 of the feature 'x'"),
        ({"far": 1}, "has the value 1 of the feature 'far'; it has false, true"),
        ({"far": "yes"}, "has the value 'yes' of the feature 'far'; it has false, true"),
        ({"x": True}, "has the value true of the feature 'x'"),
        ({"y": 1}, "no feature 'y'"),
    ],
)
def test_a_feature_or_value_that_no_state_has_is_an_error(
    wanted: dict[str, Any], words: str
) -> None:
    """A mistyped value would match nothing, without a word."""
    entry = Entry({"w": Condition(next=wanted)}, 1.0)
    with pytest.raises(ModelError, match=words):
        TIMMDP((walker(5),), (RewardFunction(("w",), (entry,)),), 3)


def test_one_may_ask_for_no_where_all_states_say_yes() -> None:
    """A feature that is true or false has both values, whichever the states have."""
    agent = Agent("a", "s", {"s": {"go": {"s": 1.0}}}, {"s": {"busy": True}})
    for wanted, value in ((True, 2.0), (False, 0.0)):
        entry = Entry({"a": Condition(next={"busy": wanted})}, 1.0)
        assert solve(TIMMDP([agent], [RewardFunction(["a"], [entry])], 2)).value == value


def test_conditions_by_features_are_looked_up() -> None:
    """Work for many conditions on many states grows with their matches, not with both."""
    agent = walker(1500)
    entries = tuple(Entry({"w": Condition(next={"x": x})}, 1.0) for x in range(1500))
    problem = TIMMDP((agent,), (RewardFunction(("w",), entries),), 2)
    assert count_calls(problem.index) < 300_000  # 1,500 times 1,500 would be 2,250,000


def test_too_many_calls_are_refused_at_once_and_progress_is_told() -> None:
    """The function is not called at all if it would be called too often."""
    agents = [walker(64, name=f"a{i}") for i in range(4)]
    with pytest.raises(ModelError, match=r"268,435,456 times.*128 of 'a0'"):
        RewardFunction.from_function(agents, lambda *moves: pytest.fail("called"))
    news: list[tuple[int, int]] = []
    RewardFunction.from_function(
        agents[:2], lambda *moves: 0.0, progress=lambda *both: news.append(both)
    )
    assert news == [(0, 128**2), (10_000, 128**2), (128**2, 128**2)]


def test_failures_of_functions_name_what_they_were_asked() -> None:
    """A mistake in a function of the model is found by its state and action, not by its stack."""

    def fails(*_: Any) -> Any:
        raise KeyError("north")

    with pytest.raises(ModelError, match=r"agent 'w' from \(0, 7\) by 'on' to \(1, 7\).*KeyError"):
        RewardFunction.from_function([walker(4)], fails)
    with pytest.raises(ModelError, match=r"returned null for agent 'w' from .*expected a number"):
        RewardFunction.from_function([walker(4)], lambda m: None)  # type: ignore[arg-type, return-value]
    cases: list[tuple[dict[str, Any], str]] = [
        ({"actions": fails}, r"agent 'w': `actions` failed for the state \(0, 7\): KeyError"),
        ({"outcomes": fails}, r"`outcomes` failed for the state \(0, 7\) and action 'on': KeyErr"),
        ({"features": fails}, r"`features` failed for the state \(0, 7\): KeyError"),
        ({"label": fails}, r"`label` failed for the state \(0, 7\): KeyError"),
        ({"outcomes": lambda s, a: None}, r"`outcomes` returned null .* a mapping"),
        ({"outcomes": lambda s, a: {(1,): "x"}}, r"'x' for the state \(0, 7\) and action 'on'"),
        ({"outcomes": lambda s, a: {s: 0.5}}, r"add up to 0.5"),
        ({"actions": lambda s: 3}, r"`actions` returned 3 for the state \(0, 7\)"),
        ({"actions": lambda s: []}, r"`actions` returned no action for the state \(0, 7\)"),
        ({"features": lambda s: 3}, r"`features` returned 3 .* a mapping"),
        ({"label": lambda s: 3}, r"`label` returned 3 .* a text"),
    ]
    sound: dict[str, Any] = {"actions": lambda s: ["on"], "outcomes": lambda s, a: {s: 1.0}}
    for wrong, words in cases:
        with pytest.raises(ModelError, match=words):
            Agent.from_functions("w", (0, 7), **(sound | wrong), horizon=2)


def test_an_agent_may_have_all_states_that_it_can_ever_reach() -> None:
    """Without a horizon, conditions may name every state, and the agent serves any horizon."""
    agent = walker(16)
    assert len(agent.transitions) == 16
    assert len(walker(16, horizon=3).transitions) < 16
    goal = Entry({"w": Condition(next="(9, 7)")}, 1.0)
    assert solve(TIMMDP((agent,), (RewardFunction(("w",), (goal,)),), 3)).value == 0.0
    with pytest.raises(ModelError, match=r"more than 1,000 states.*horizon"):
        Agent.from_functions(
            "w", 0, lambda s: ["on"], lambda s, a: {s + 1: 1.0}, horizon=None, most_states=1000
        )


def test_states_may_be_given_as_the_values_that_they_were_made_from() -> None:
    """Names and values both say which state is meant; unknown ones are errors with names."""
    agent = walker(6)
    reward = RewardFunction.from_function([agent], lambda m: float(m.next[0] == 3))
    problem = TIMMDP((agent,), (reward,), 4)
    policy = solve(problem).policy
    assert policy is not None
    assert policy.act(2, {"w": (2, 7)}) == policy.act(2, {"w": "(2, 7)"}) == {"w": "on"}
    assert solve(problem, stage=3, state={"w": (2, 7)}).value == 1.0
    for unknown in ((9, 9), "(9, 9)", [2, 7], 3.5):
        with pytest.raises(ModelError, match="agent 'w' has no state"):
            policy.act(2, {"w": unknown})


def test_numbers_of_numpy_are_the_same_states_as_plain_ones() -> None:
    """A state computed with numpy has the name that the plain number has."""
    agent = Agent.from_functions(
        "w", np.int64(0), lambda s: ["on"], lambda s, a: {(s + 1) % np.int64(3): 1.0}, horizon=None
    )
    assert agent.states == ("0", "1", "2")
    pairs = Agent.from_functions(
        "p", (np.int64(0), "x"), lambda s: ["on"],
        lambda s, a: {(np.int64(1) - s[0], s[1]): 1.0}, horizon=None,
    )  # fmt: skip
    assert pairs.states == ("(0, 'x')", "(1, 'x')")
    assert solve(TIMMDP((agent,), (), 1), state={"w": np.int64(2)}, stage=0).value == 0.0


def test_a_problem_is_shown_by_its_size() -> None:
    """The text of a problem on the console is one line, however large the problem is."""
    agent = walker(1500)
    reward = RewardFunction.from_function([agent], lambda m: float(m.next[0]))
    problem = TIMMDP([agent], [reward], 3, name="cells " * 20)
    shown = [repr(problem), repr(agent), repr(reward), repr(Agent("a", "s", {}))]
    assert all(len(each) < 150 and "\n" not in each for each in shown)
    assert "1 agent, horizon 3" in shown[0]
    assert "1,500 states, 2 actions" in shown[1]
    assert "of w: 1,499 entries" in shown[2]


def test_type_checkers_accept_what_runs(tmp_path: Path) -> None:
    """Lists are as good as tuples, a solve has a policy, and so has the README."""
    readme = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
    examples = re.findall(r"```python\n(.*?)```", readme, re.DOTALL)
    assert len(examples) >= 2
    for k, example in enumerate(examples):
        (tmp_path / f"readme{k}.py").write_text(example, encoding="utf-8")
    (tmp_path / "user.py").write_text(
        "from coreplan import TIMMDP, Agent, Entry, RewardFunction, solve\n"
        "agent = Agent('a', 's', {'s': {'go': {'s': 1}}})\n"
        "problem = TIMMDP([agent], [RewardFunction(['a'], [Entry({}, 1.0, [0])])], 1)\n"
        "value: float = solve(problem, time_limit=1.0).policy.evaluate()\n"
    )
    code = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--cache-dir", tmp_path / "c", "."],
        cwd=tmp_path, capture_output=True, text=True,
    )  # fmt: skip
    assert code.returncode == 0, code.stdout
