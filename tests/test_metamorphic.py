"""Changes of a problem whose effect on the optimum is known beforehand, for every algorithm."""

from __future__ import annotations

import copy
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coreplan import Result, Status, solve
from coreplan.solving.compile import AnyProblem
from helpers import ALGORITHMS, CORE_STEPS, Algorithm, from_file, scale
from strategies import problem_dicts, subsets, timmdp_dicts

EVERY: list[Algorithm] = [*ALGORITHMS, ("dec-mdp", {})]
"""Also the one with another objective: what holds of optima holds of both."""

WITHOUT_A_STEP: list[Algorithm] = [("core", {step: False}) for step in CORE_STEPS]


def solved(problem: AnyProblem, algorithm: Algorithm) -> Result:
    """Solve a problem to optimality."""
    name, options = algorithm
    result = solve(problem, algorithm=name, **options)
    assert result.status is Status.OPTIMAL
    return result


def assert_worth(
    changed: dict[str, Any],
    raw: dict[str, Any],
    *,
    shift: float = 0.0,
    plus: dict[str, Any] | None = None,
    algorithms: Sequence[Algorithm] = EVERY,
) -> None:
    """By every algorithm a changed problem is worth the other, a shift and a further problem."""
    parts = [from_file(each) for each in (raw, plus) if each is not None]
    problem = from_file(changed)
    tolerance = 1e-12 * (scale(changed) + scale(raw))
    for algorithm in algorithms:
        expected = sum((solved(part, algorithm).value for part in parts), start=shift)
        value = solved(problem, algorithm).value
        assert value == pytest.approx(expected, rel=1e-11, abs=tolerance), algorithm


# -- the same problem in other words ----------------------------------------------------------


def in_any_order(data: st.DataObject, items: Any) -> Any:
    """A list or a dictionary in another order."""
    if isinstance(items, dict):
        return {key: items[key] for key in data.draw(st.permutations(list(items)))}
    return data.draw(st.permutations(items))


@given(raw=problem_dicts(), data=st.data())
def test_the_order_of_agents_does_not_matter(raw: dict[str, Any], data: st.DataObject) -> None:
    """Agents, and whatever else is a list of equals, may be given in any order.

    That holds for `core` whichever step of shrinking is left out.
    """
    changed = copy.deepcopy(raw)
    changed["agents"] = in_any_order(data, changed["agents"])
    for key in ("rewards", "network"):
        if key in changed:
            changed[key] = in_any_order(data, changed[key])
    for agent in changed["agents"]:
        if "tasks" in agent:
            agent["tasks"] = in_any_order(data, agent["tasks"])
    assert_worth(changed, raw, algorithms=[*EVERY, *WITHOUT_A_STEP])


@given(raw=timmdp_dicts(), data=st.data())
def test_the_order_of_states_and_actions_does_not_matter(
    raw: dict[str, Any], data: st.DataObject
) -> None:
    """States, a state's actions and an action's outcomes may be listed in any order."""
    changed = copy.deepcopy(raw)
    for agent in changed["agents"]:
        agent["transitions"] = {
            state: {
                action: in_any_order(data, law)
                for action, law in in_any_order(data, by_action).items()
            }
            for state, by_action in in_any_order(data, agent["transitions"]).items()
        }
    assert_worth(changed, raw)


def new(names: Any) -> Any:
    """Other names, in another order, for a name, names in a list, or keys of a dictionary."""
    if isinstance(names, str):
        return f"new {names[::-1]}"
    if isinstance(names, list):
        return [new(name) for name in names]
    return {new(name): inside for name, inside in names.items()}


def rename_agent(agent: dict[str, Any]) -> None:
    """Give an agent, its states and its actions or tasks other names."""
    agent["name"] = new(agent["name"])
    for task in agent.get("tasks", []):
        task["name"] = new(task["name"])
    if "transitions" in agent:
        agent["initial"] = new(agent["initial"])
        agent["transitions"] = {
            new(state): {new(action): new(law) for action, law in by_action.items()}
            for state, by_action in agent["transitions"].items()
        }
    if "features" in agent:
        agent["features"] = new(agent["features"])


@given(raw=problem_dicts())
def test_names_do_not_matter(raw: dict[str, Any]) -> None:
    """Agents, states, actions and tasks may have any names."""
    changed = copy.deepcopy(raw)
    for agent in changed["agents"]:
        rename_agent(agent)
    for function in changed.get("rewards", []):
        function["scope"] = new(function["scope"])
        for entry in function["entries"]:
            for parts in entry.get("when", {}).values():
                # What is no name, nor a list of names, is a mapping of features.
                parts.update({k: new(v) for k, v in parts.items() if not isinstance(v, dict)})
            if "when" in entry:
                entry["when"] = new(entry["when"])
    for hindrance in changed.get("network", []):
        hindrance["tasks"] = ["/".join(map(new, task.split("/"))) for task in hindrance["tasks"]]
    assert_worth(changed, raw)


def part_of(cost: Any, part: float) -> Any:
    """A part of a cost, be it one number or one per stage."""
    return [each * part for each in cost] if isinstance(cost, list) else cost * part


@given(raw=problem_dicts(), data=st.data())
def test_rewards_may_be_split(raw: dict[str, Any], data: st.DataObject) -> None:
    """One function's entries over two functions, one entry's value over two: the sum counts."""
    changed = copy.deepcopy(raw)
    if "rewards" in raw:
        changed["rewards"] = []
    for function in raw.get("rewards", []):
        halves: tuple[list[Any], list[Any]] = ([], [])
        for entry in function["entries"]:
            for part in data.draw(st.sampled_from([(1,), (0.25, 0.75), (-1, 2)])):
                half = halves[data.draw(st.integers(0, 1))]
                half.append(entry | {"value": entry["value"] * part})
        changed["rewards"] += [{"scope": function["scope"], "entries": half} for half in halves]
    if "network" in raw:
        changed["network"] = [
            {"tasks": hindrance["tasks"], "cost": part_of(hindrance["cost"], part)}
            for hindrance in raw["network"]
            for part in data.draw(st.sampled_from([(1,), (0.25, 0.75), (-1, 2)]))
        ]
    assert_worth(changed, raw)


# -- another problem, whose value is known ----------------------------------------------------


def everything_of(agent: dict[str, Any]) -> list[dict[str, Any]]:
    """Conditions of which exactly one is met whatever the agent does: one for each action."""
    actions = dict.fromkeys(a for row in agent["transitions"].values() for a in row)
    return [{agent["name"]: {"action": action}} for action in actions]


@given(raw=timmdp_dicts(), constant=st.sampled_from([1, -3, 0.5, 1000]), data=st.data())
def test_a_constant_shifts_the_value(
    raw: dict[str, Any], constant: float, data: st.DataObject
) -> None:
    """What an agent earns at a stage whatever it does is added to the value, no more, no less."""
    changed = copy.deepcopy(raw)
    stages = data.draw(subsets(list(range(int(raw["horizon"]))), 4))
    agent = data.draw(st.sampled_from(raw["agents"]))
    conditions = data.draw(
        st.sampled_from([[{}], [{agent["name"]: {}}], everything_of(agent), everything_of(agent)])
    )
    bonus = [{"when": when, "value": constant, "stages": stages} for when in conditions]
    function = {"scope": [agent["name"]], "entries": bonus}
    changed["rewards"] = [*raw.get("rewards", []), function]
    assert_worth(changed, raw, shift=len(stages) * constant)


@given(raw=problem_dicts(), factor=st.sampled_from([2, 0.5, 1024, 3]))
def test_money_may_be_counted_in_any_unit(raw: dict[str, Any], factor: float) -> None:
    """All rewards times a factor give the value times the factor; for powers of 2 to the bit."""
    changed = copy.deepcopy(raw)
    for function in changed.get("rewards", []):
        for entry in function["entries"]:
            entry["value"] *= factor
    works = [task for agent in changed["agents"] for task in agent.get("tasks", [])]
    for part in [*works, *changed.get("network", [])]:
        part["cost"] = part_of(part["cost"], factor)
        if "revenue" in part:
            part["revenue"] *= factor
    tolerance = 1e-12 * scale(changed) if factor == 3 else 0.0
    before, after = from_file(raw), from_file(changed)
    for algorithm in EVERY:
        expected = factor * solved(before, algorithm).value
        value = solved(after, algorithm).value
        assert value == pytest.approx(expected, rel=1e-11 if tolerance else 0, abs=tolerance), (
            algorithm
        )


def own_rewards(raw: dict[str, Any], agent: str) -> list[dict[str, Any]]:
    """The entries that look at one agent only."""
    return [
        entry
        for function in raw.get("rewards", [])
        for entry in function["entries"]
        if list(entry.get("when", {})) == [agent]
    ]


@given(raw=problem_dicts(max_work=200), data=st.data())
def test_an_agent_apart_adds_its_own_value(raw: dict[str, Any], data: st.DataObject) -> None:
    """A copy of an agent that interacts with nobody adds what it earns alone."""
    changed = copy.deepcopy(raw)
    agent = data.draw(st.sampled_from(raw["agents"]))
    twin = copy.deepcopy(agent) | {"name": "the twin"}
    position = data.draw(st.integers(0, len(raw["agents"])))
    changed["agents"].insert(position, twin)
    alone = {key: raw[key] for key in raw if key not in ("agents", "rewards", "network")}
    alone["agents"] = [twin]
    if raw["format"] == "ti-mmdp/1":
        entries = [
            entry | {"when": {"the twin": entry["when"][agent["name"]]}}
            for entry in own_rewards(raw, agent["name"])
        ]
        alone["rewards"] = [{"scope": ["the twin"], "entries": entries}]
        changed["rewards"] = [*raw.get("rewards", []), *alone["rewards"]]
    assert_worth(changed, raw, plus=alone)


# -- the same problem again -------------------------------------------------------------------


@given(raw=problem_dicts(max_work=300))
def test_solving_twice_gives_the_same_bits(raw: dict[str, Any]) -> None:
    """Compiling and solving are deterministic, down to the last bit of values and policies."""
    for algorithm in EVERY:
        first, second = (solved(from_file(raw), algorithm) for _ in range(2))
        assert first.value == second.value, algorithm
        assert first.upper_bound == second.upper_bound, algorithm
        assert first.policy is not None
        assert second.policy is not None
        for one, other in zip(first.policy.teams, second.policy.teams, strict=True):
            if one.values is not None:
                assert other.values is not None
                assert np.array_equal(one.values, other.values), algorithm
        with tempfile.TemporaryDirectory() as folder:
            paths = (Path(folder) / "first.json", Path(folder) / "second.json")
            first.policy.save(paths[0])
            second.policy.save(paths[1])
            assert paths[0].read_text() == paths[1].read_text(), algorithm
