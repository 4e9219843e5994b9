"""What several test files use: raw dictionaries in, problems of the package out."""

from __future__ import annotations

import itertools
import json
import math
import os
import random
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import judge
from coreplan import TIMMDP, ContractorState, MaintenanceProblem, Result, read_problem
from coreplan.solving.tuning import Tuning

Algorithm = tuple[str, dict[str, Any]]
"""The name of an algorithm, and options."""

ALGORITHMS: list[Algorithm] = [
    ("dp", {}),
    ("dp", {"merge": False}),
    ("spudd", {}),
    ("spudd", {"merge": False, "order": "interleaved", "actions": "enumerate"}),
    ("spudd", {"encoding": "reference"}),
    ("crg-ps", {}),
    ("crg-ps", {"merge": False, "memo": True}),
    ("core-2016", {}),
    ("core-2016", {"merge": False, "memo": True, "assignment": "highest-degree"}),
    ("core", {}),
    ("core", {"merge": False}),
    ("core", {"threads": 1, "eliminate": False}),
]
"""All algorithms, each in a few ways: what holds of a solver has to hold of these."""

EAGER: dict[str, Any] = {"tuning": Tuning(search_cluster=2, prepare=0.0, actions_per_line=4)}
"""Lets the search of `core` begin at once, with pairs only, so that it has something to do, and
have many lines early, so that threads have something to do."""

BEFORE_THE_SEARCH = ("compile", "shrinking")
"""Phases in which there is no plan yet: whatever stops a solver then ends without a result."""

CORE_STEPS = ("shape", "drop", "settle", "eliminate", "merge")
"""The options of `core` that switch off a step of shrinking."""


def from_file(raw: dict[str, Any], suffix: str = ".json") -> TIMMDP | MaintenanceProblem:
    """Write a raw dictionary to a file and read it with the package."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"problem{suffix}"
        path.write_text(json.dumps(raw), encoding="utf-8")
        return read_problem(path)


def fingerprint(result: Result) -> dict[str, Any]:
    """All that has to be the same: everything but seconds and memory."""
    document = result.to_dict()
    del document["seconds"]
    del document["statistics"]["peak_memory_mb"]
    assert result.policy is not None
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "plan.json"
        result.policy.save(path)
        return {"result": json.dumps(document), "plan": path.read_bytes()}


def agrees(value: float, expected: float, tolerance: float = 1e-9) -> bool:
    """Whether two values are equal up to a relative (near zero: absolute) tolerance."""
    return math.isclose(value, expected, rel_tol=tolerance, abs_tol=tolerance)


def rewards_in(raw: dict[str, Any]) -> list[float]:
    """All rewards, costs and revenues that a problem speaks of."""
    if raw["format"] != "mpp/1":
        values = [entry["value"] for f in raw.get("rewards", []) for entry in f["entries"]]
        for each in raw.get("aggregates", []):
            values += each["value"].get("table", [y for _, y in each["value"].get("points", [])])
        return values
    return [
        number
        for part in [*(t for a in raw["agents"] for t in a["tasks"]), *raw.get("network", [])]
        for each in (part["cost"], part.get("revenue", 0))
        for number in (each if isinstance(each, list) else [each])
    ]


def scale(raw: dict[str, Any]) -> float:
    """A bound on how large rewards get, for absolute tolerances where they cancel out."""
    return max(1.0, sum(map(abs, rewards_in(raw))) * raw["horizon"])


def judge_state(raw: dict[str, Any], joint_state: dict[str, Any]) -> tuple[Any, ...]:
    """A joint state as the judge names it."""
    if raw["format"] != "mpp/1":
        return tuple(joint_state[agent["name"]] for agent in raw["agents"])
    states = []
    for agent in raw["agents"]:
        state = joint_state[agent["name"]]
        names = {task["name"] for task in agent["tasks"]}
        todo = names - set(state.done) - {state.doing}
        states.append((frozenset(todo), state.doing, state.remaining))
    return tuple(states)


def package_state(raw: dict[str, Any], joint_state: tuple[Any, ...]) -> dict[str, Any]:
    """A joint state of the judge as the package names it."""
    named = {}
    for agent, state in zip(raw["agents"], joint_state, strict=True):
        if raw["format"] == "mpp/1":
            todo, doing, remaining = state
            done = tuple(
                task["name"]
                for task in agent["tasks"]
                if task["name"] not in todo and task["name"] != doing
            )
            named[agent["name"]] = ContractorState(done, doing, remaining)
        else:
            named[agent["name"]] = state
    return named


def judged_policy_value(
    raw: dict[str, Any], policy: Any, joint_state: tuple[Any, ...] | None = None
) -> float:
    """The value of a policy by the judge's own recursion, from where the policy starts."""
    names = [agent["name"] for agent in raw["agents"]]

    def act(stage: int, joint_state: tuple[Any, ...]) -> tuple[str, ...]:
        chosen = policy.act(stage, package_state(raw, joint_state))
        return tuple(chosen[name] for name in names)

    return judge.policy_value(raw, act, policy.stage, joint_state)


def random_mpp(agents: int, tasks: int, horizon: int, seed: int = 1) -> dict[str, Any]:
    """A seeded random ``mpp/1`` problem in which much hinders much: as hard as its size says."""
    draw = random.Random(f"{agents}/{tasks}/{horizon}/{seed}")
    contractors = [
        {
            "name": f"C{i}",
            "tasks": [
                {
                    "name": f"w{k}",
                    "duration": draw.randint(1, 2),
                    "delay": {"probability": round(draw.uniform(0.1, 0.9), 3), "duration": 1},
                    "cost": [round(draw.uniform(10, 50), 2) for _ in range(horizon)],
                    "revenue": round(draw.uniform(100, 300), 2),
                }
                for k in range(tasks)
            ],
        }
        for i in range(agents)
    ]
    network = [
        {"tasks": [f"C{i}/w{k}", f"C{j}/w{m}"], "cost": round(draw.uniform(50, 100), 2)}
        for i, j in itertools.combinations(range(agents), 2)
        for k, m in itertools.product(range(tasks), repeat=2)
        if draw.random() < 0.4
    ]
    return {
        "format": "mpp/1",
        "name": f"random {agents}x{tasks}x{horizon}",
        "horizon": horizon,
        "agents": contractors,
        "network": network,
    }


def dense_team(horizon: int, seed: int = 1) -> dict[str, Any]:
    """A seeded random ``ti-mmdp/1`` problem: five agents that get from everywhere to everywhere.

    Every pair of them interacts, for better or worse, so that nothing can be left out.
    """
    draw = random.Random(f"{horizon}/{seed}")
    names = [f"A{i}" for i in range(5)]
    states = [f"s{k}" for k in range(10)]
    actions = ["x", "y", "z"]

    def law() -> dict[str, float]:
        weights = [draw.randint(1, 9) for _ in states]
        return {s: weight / sum(weights) for s, weight in zip(states, weights, strict=True)}

    agents = [
        {
            "name": name,
            "initial": states[0],
            "transitions": {s: {a: law() for a in actions} for s in states},
        }
        for name in names
    ]
    rewards = [
        {
            "scope": [name],
            "entries": [
                {"when": {name: {"state": s, "action": a}}, "value": draw.randint(0, 20)}
                for s, a in itertools.product(states, actions)
            ],
        }
        for name in names
    ] + [
        {
            "scope": pair,
            "entries": [
                {"when": {name: {"action": a} for name in pair}, "value": draw.choice([-9, 9])}
                for a in actions
            ],
        }
        for pair in map(list, itertools.combinations(names, 2))
    ]
    return {
        "format": "ti-mmdp/1",
        "name": f"dense {horizon}",
        "horizon": horizon,
        "agents": agents,
        "rewards": rewards,
    }


def precise(raw: dict[str, Any]) -> bool:
    """Whether probabilities sum to 1; if not, the bounds leave room for that."""
    return raw["format"] == "mpp/1" or all(
        abs(sum(law.values()) - 1) < 1e-14
        for agent in raw["agents"]
        for each in [agent, *agent.get("transitions_at", [])]
        for by_action in each["transitions"].values()
        for law in by_action.values()
    )


def closes(raw: dict[str, Any]) -> bool:
    """Whether rounding, and what the input leaves open, allow the bounds to meet."""
    return precise(raw) and scale(raw) < 1e5


def coupled_team(seed: int) -> dict[str, Any]:
    """A seeded random ``ti-mmdp/1`` problem whose bounds do not meet by themselves, as a rule.

    Some agents, cyclic, interact for better and worse, in twos and threes, at some stages or all,
    by states, actions or outcomes. Some of the problems have an agent apart, and some have
    probabilities that sum to 1 only as far as the format asks for.
    """
    draw = random.Random(seed)
    count = draw.choice([3, 3, 4])
    horizon = draw.randint(3, 5 if count == 3 else 4)
    names = [f"A{i}" for i in range(count)]
    states = [f"s{k}" for k in range(draw.randint(2, 3) if count == 3 else 2)]
    actions = ["x", "y"]
    off = draw.choice([0.0, 0.0, 0.0, 4e-10])

    def law() -> dict[str, float]:
        nexts = draw.sample(states, draw.randint(1, 2))
        if len(nexts) == 1:
            return {nexts[0]: 1.0}
        first = draw.choice([0.5, 0.25, 0.1, min(round(draw.random(), 3), 0.999)])
        return {nexts[0]: first, nexts[1]: 1 - first + draw.choice([-off, off])}

    def condition() -> dict[str, Any]:
        kind = draw.choice(["action", "action", "state", "next", "both"])
        parts: dict[str, Any] = {}
        if kind in ("action", "both"):
            parts["action"] = draw.choice(actions)
        if kind in ("state", "both"):
            parts["state"] = draw.choice(states)
        if kind == "next":
            parts["next"] = draw.choice(states)
        return parts

    def entry(scope: list[str], value: float) -> dict[str, Any]:
        made: dict[str, Any] = {"when": {name: condition() for name in scope}, "value": value}
        if draw.random() < 0.3:
            made["stages"] = sorted(draw.sample(range(horizon), draw.randint(1, horizon)))
        return made

    agents = [
        {
            "name": name,
            "initial": states[0],
            "transitions": {state: {action: law() for action in actions} for state in states},
        }
        for name in names
    ]
    apart = draw.random() < 0.2
    scopes = [
        list(scope)
        for size in (2, 2, 3)
        for scope in itertools.combinations(names[1:] if apart else names, size)
        if draw.random() < 0.7
    ]
    functions = [
        {"scope": scope, "entries": [entry(scope, round(draw.uniform(-5, 4), 2)) for _ in range(3)]}
        for scope in [*([name] for name in names), *scopes]
    ]
    return {
        "format": "ti-mmdp/1",
        "name": f"coupled {seed}",
        "horizon": horizon,
        "agents": agents,
        "rewards": functions,
    }


def interrupt(script: str, *arguments: str) -> dict[str, Any]:
    """Press Ctrl-C when a script says that it is searching; what it prints then."""
    with subprocess.Popen(
        [sys.executable, "-c", script, *arguments],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parent)},
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "searching\n"
        process.send_signal(signal.SIGINT)
        report: dict[str, Any] = json.loads(process.stdout.read())
        assert process.wait() == 0
    return report
