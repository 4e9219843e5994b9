"""Random problems of all kinds, drawn from a seed and small enough for the judge.

A problem is drawn as other tests draw theirs and then twisted: rewards of very different sizes,
probabilities that sum to 1 only as far as the format asks, conditions that always match, agents
apart, one agent, one stage.
"""

from __future__ import annotations

import copy
import functools
import math
import random
from collections.abc import Callable
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import seed as fix_seed
from hypothesis import strategies as st

import judge
from helpers import coupled_team, random_mpp
from judge import Problem
from strategies import aggregate_dicts, problem_dicts, staged_dicts

MOST_WORK = 2500
"""Joint transitions that the judge may have to look at."""

KINDS = (problem_dicts, problem_dicts, staged_dicts, aggregate_dicts)
"""Half of the problems have discounts, actions that depend on the stage, or rewards for sums."""

BATCH = 40
MASS_TOLERANCE = 9e-10
"""How far probabilities may be from 1 in sum; the format allows 1e-9."""


def draw_problem(draw: random.Random, seed: int) -> Problem:
    """Draw a problem; those of successive seeds share what takes long to draw."""
    kind = draw.choice(["any", "any", "team", "team", "team", "works"])
    if kind == "any":
        raw = _from_strategies(seed)
    elif kind == "team":
        raw = coupled_team(draw.randrange(10**6))
    else:
        agents, tasks = draw.choice([(2, 1), (2, 2), (3, 1), (3, 2), (4, 1)])
        raw = random_mpp(agents, tasks, draw.randint(2, 6), draw.randrange(10**6))
    raw = copy.deepcopy(raw)
    for twist in draw.sample(TWISTS, draw.choice([0, 1, 1, 2, 3])):
        twist(raw, draw)
    return cut_down(raw)


def cut_down(raw: Problem, most: int = MOST_WORK) -> Problem:
    """Shorten the horizon, then leave agents out, until the judge has little enough to do."""
    while judge.count_joint_transitions(raw) > most:
        if raw["horizon"] > 2:
            set_horizon(raw, int(raw["horizon"]) - 1)
        else:
            drop_agent(raw, len(raw["agents"]) - 1)
    return raw


def _from_strategies(number: int) -> Problem:
    """The problem of a number among those that hypothesis draws."""
    return _batch(number // BATCH)[number % BATCH]


@functools.lru_cache(maxsize=4)
def _batch(number: int) -> list[Problem]:
    """Problems that hypothesis draws with a seed; its first ones are always the simplest."""
    drawn: list[Problem] = []

    @fix_seed(number)
    @settings(
        max_examples=BATCH,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(st.one_of(each(max_work=MOST_WORK) for each in KINDS))
    def collect(raw: Problem) -> None:
        drawn.append(raw)

    collect()
    return [drawn[k % len(drawn)] for k in range(BATCH)]


# -- changes that keep a problem sound ------------------------------------------------------------


def set_horizon(raw: Problem, horizon: int) -> None:
    """Change the number of stages, and what is said stage by stage with it."""
    raw["horizon"] = horizon
    if raw["format"] == "mpp/1":
        for part in _parts_with_costs(raw):
            if isinstance(part["cost"], list):
                part["cost"] = [part["cost"][t % len(part["cost"])] for t in range(horizon)]
        return
    for function in raw.get("rewards", []):
        for entry in function["entries"]:
            if "stages" in entry:
                entry["stages"] = [t for t in entry["stages"] if int(t) < horizon] or [0]
    for aggregate in raw.get("aggregates", []):
        if "stages" in aggregate:
            aggregate["stages"] = [t for t in aggregate["stages"] if int(t) < horizon] or [0]
    for agent in raw["agents"]:
        for change in agent.get("transitions_at", []):
            change["stages"] = [t for t in change["stages"] if int(t) < horizon]
        if "transitions_at" in agent:
            agent["transitions_at"] = [each for each in agent["transitions_at"] if each["stages"]]


def drop_agent(raw: Problem, position: int) -> None:
    """Leave an agent out, and what is said of it."""
    name = raw["agents"].pop(position)["name"]
    if raw["format"] == "mpp/1":
        for entry in raw.get("network", []):
            entry["tasks"] = [task for task in entry["tasks"] if not task.startswith(f"{name}/")]
        raw["network"] = [each for each in raw.get("network", []) if len(each["tasks"]) > 1]
        return
    for function in raw.get("rewards", []):
        function["scope"] = [each for each in function["scope"] if each != name]
        for entry in function["entries"]:
            entry.get("when", {}).pop(name, None)
    raw["rewards"] = [each for each in raw.get("rewards", []) if each["scope"]]
    for aggregate in raw.get("aggregates", []):
        aggregate["amounts"] = [each for each in aggregate["amounts"] if name not in each["when"]]


def _parts_with_costs(raw: Problem) -> list[dict[str, Any]]:
    tasks = [task for agent in raw["agents"] for task in agent["tasks"]]
    return [*tasks, *raw.get("network", [])]


def entries_of(raw: Problem) -> list[dict[str, Any]]:
    """All entries of all reward functions."""
    return [entry for function in raw.get("rewards", []) for entry in function["entries"]]


# -- twists ---------------------------------------------------------------------------------------

Twist = Callable[[Problem, random.Random], None]


def _scale_all(raw: Problem, draw: random.Random) -> None:
    """Make all rewards larger or smaller by the same factor."""
    factor = 10.0 ** draw.randint(-9, 9)
    _change_rewards(raw, lambda value: value * factor)


def _scale_each(raw: Problem, draw: random.Random) -> None:
    """Make every reward larger or smaller by a factor of its own."""
    _change_rewards(raw, lambda value: value * 10.0 ** draw.randint(-9, 9))


def _scale_one(raw: Problem, draw: random.Random) -> None:
    """Let one reward dwarf the others."""
    factor = 10.0 ** draw.randint(3, 9)
    parts = _parts_with_costs(raw) if raw["format"] == "mpp/1" else entries_of(raw)
    if parts:
        part = draw.choice(parts)
        key = "cost" if raw["format"] == "mpp/1" else "value"
        part[key] = _times(part[key], lambda value: value * factor)


def _change_rewards(raw: Problem, change: Callable[[float], float]) -> None:
    if raw["format"] == "mpp/1":
        for part in _parts_with_costs(raw):
            part["cost"] = _times(part["cost"], change)
            if "revenue" in part:
                part["revenue"] = change(part["revenue"])
        return
    for entry in entries_of(raw):
        entry["value"] = change(entry["value"])
    for aggregate in raw.get("aggregates", []):
        value = aggregate["value"]
        if "table" in value:
            value["table"] = [change(each) for each in value["table"]]
        else:
            value["points"] = [[x, change(y)] for x, y in value["points"]]


def _times(cost: Any, change: Callable[[float], float]) -> Any:
    return [change(each) for each in cost] if isinstance(cost, list) else change(cost)


def laws_of(raw: Problem) -> list[dict[str, float]]:
    """The probabilities of next states, of all agents, states and actions."""
    if raw["format"] == "mpp/1":
        return []
    return [
        law
        for agent in raw["agents"]
        for actions in agent["transitions"].values()
        for law in actions.values()
    ]


def _miss_one(raw: Problem, draw: random.Random) -> None:
    """Let probabilities sum to nearly 1."""
    off = draw.choice([MASS_TOLERANCE, -MASS_TOLERANCE, 4e-10, -1e-12])
    for law in laws_of(raw):
        if draw.random() < 0.7:
            factor = (1 + off * draw.random()) / math.fsum(law.values())
            for state in law:
                law[state] *= factor


def _match_always(raw: Problem, draw: random.Random) -> None:
    """Let conditions on agents match whatever they do."""
    if raw["format"] == "mpp/1":
        return
    agents = {agent["name"]: agent for agent in raw["agents"]}
    for entry in entries_of(raw):
        for name in entry.get("when", {}):
            if draw.random() < 0.3:
                states = list(agents[name]["transitions"])
                actions = list(
                    {a: None for each in agents[name]["transitions"].values() for a in each}
                )
                entry["when"][name] = draw.choice(
                    [
                        {},
                        {"state": states},
                        {"action": actions},
                        {"action": actions, "next": states},
                    ]
                )


def _look_at_all(raw: Problem, draw: random.Random) -> None:
    """Add a reward that looks at all agents."""
    if raw["format"] == "mpp/1":
        return
    when: dict[str, Any] = {}
    for agent in raw["agents"]:
        actions = list({a: None for each in agent["transitions"].values() for a in each})
        when[agent["name"]] = {"action": draw.choice(actions)} if draw.random() < 0.65 else {}
    entry = {"when": when, "value": draw.choice([-5.0, 3.0, -0.1])}
    raw.setdefault("rewards", []).append({"scope": list(when), "entries": [entry]})


def _add_bystander(raw: Problem, draw: random.Random) -> None:
    """Add an agent that rewards name without asking anything of it."""
    if raw["format"] == "mpp/1":
        return
    name = "bystander"
    moves = {action: {"here": 1} for action in draw.choice([["rest"], ["rest", "turn"]])}
    raw["agents"].insert(
        draw.randrange(len(raw["agents"]) + 1),
        {"name": name, "initial": "here", "transitions": {"here": moves}},
    )
    for function in raw.get("rewards", []):
        if draw.random() < 0.7:
            function["scope"].insert(draw.randrange(len(function["scope"]) + 1), name)
            for entry in function["entries"]:
                always = draw.choice([{}, {}, {"state": "here"}, {"action": list(moves)}])
                entry.setdefault("when", {})[name] = always


def _set_apart(raw: Problem, draw: random.Random) -> None:
    """Remove interactions, of one agent or of all."""
    apart = draw.choice([None, *(agent["name"] for agent in raw["agents"])])
    if raw["format"] == "mpp/1":
        raw["network"] = [
            entry
            for entry in raw.get("network", [])
            if apart is not None
            and not any(task.startswith(f"{apart}/") for task in entry["tasks"])
        ]
    else:
        raw["rewards"] = [
            function
            for function in raw.get("rewards", [])
            if len(function["scope"]) < 2 or (apart is not None and apart not in function["scope"])
        ]


def _one_agent(raw: Problem, draw: random.Random) -> None:
    """Leave one agent only, with more stages than the judge has time for otherwise."""
    while len(raw["agents"]) > 1:
        drop_agent(raw, draw.randrange(len(raw["agents"])))
    if raw["format"] != "mpp/1" and all(
        agent["transitions"].get(state) and "transitions_at" not in agent
        for agent in raw["agents"]
        for state in _states(agent)
    ):
        set_horizon(raw, draw.randint(1, 12))


def _states(agent: dict[str, Any]) -> set[str]:
    return {agent["initial"], *agent["transitions"]} | {
        state
        for actions in agent["transitions"].values()
        for law in actions.values()
        for state in law
    }


def _one_stage(raw: Problem, _: random.Random) -> None:
    """Leave one stage only."""
    raw.pop("must_complete", None)
    set_horizon(raw, 1)


TWISTS: list[Twist] = [
    *(_scale_all, _scale_each, _scale_one, _miss_one, _miss_one, _match_always, _match_always),
    *(_add_bystander, _look_at_all, _look_at_all, _set_apart, _one_agent, _one_stage),
]
