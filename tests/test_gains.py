"""Rewards that agents can only earn together: bounds, policies and the division of the work."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gains
import shrinking
from coreplan import (
    Contractor,
    Hindrance,
    MaintenanceProblem,
    Progress,
    Result,
    Status,
    _core,
    solve,
)
from coreplan.bench.sets import generate
from coreplan.solving import compile_problem
from coreplan.solving.engine.team import Team
from coreplan.solving.limits import Limits
from coreplan.solving.tuning import Tuning
from helpers import EAGER, agrees, from_file, scale
from instances import pyramid, random_mpp, realistic
from judge import optimal_value
from sensors import sensors

FAIR = 0.2
"""Part of the work that no side that still gains something may fall below."""


def gaining_team(seed: int) -> dict[str, Any]:
    """Agents with interactions of two and three, that earn, cost, or both; some have no choice."""
    draw = random.Random(seed)
    sign = draw.choice([(1,), (-1,), (1, 1, -1)])
    agents = []
    for i in range(draw.choice([3, 4])):
        passive = i > 1 and draw.random() < 0.6
        actions = ["wait"] if passive else ["wait", "act"]
        transitions: dict[str, Any] = {}
        for state in ("u", "v"):
            transitions[state] = {}
            for action in actions:
                chance = draw.choice([0.0, 0.25, 0.5, 1.0])
                law = {"u": chance, "v": 1 - chance}
                transitions[state][action] = {k: p for k, p in law.items() if p > 0}
        agents.append({"name": f"a{i}", "initial": "u", "transitions": transitions})
    names = [agent["name"] for agent in agents]
    rewards: list[dict[str, Any]] = [
        {
            "scope": [agent["name"]],
            "entries": [{"when": {agent["name"]: {"action": "act"}}, "value": -draw.randint(1, 3)}],
        }
        for agent in agents
        if "act" in agent["transitions"]["u"]
    ]
    for _ in range(draw.randint(2, 4)):
        scope = draw.sample(names, draw.choice([2, 3, 3]))
        when = {}
        for name in scope:
            agent = agents[names.index(name)]
            if "act" in agent["transitions"]["u"] and draw.random() < 0.8:
                when[name] = {"action": "act"}
            else:
                when[name] = {draw.choice(["state", "next"]): draw.choice("uv")}
        value = draw.choice(sign) * draw.randint(2, 12)
        rewards.append({"scope": scope, "entries": [{"when": when, "value": value}]})
    return {
        "format": "ti-mmdp/1",
        "name": f"gains {seed}",
        "horizon": draw.choice([2, 3]),
        "agents": agents,
        "rewards": rewards,
    }


@settings(max_examples=60)
@given(seed=st.integers(0, 10**6), tables=st.booleans())
def test_bounds_bracket_whatever_the_signs(seed: int, tables: bool) -> None:
    """With gains, costs and both, of two and three agents, bounds hold and policies are real."""
    raw = gaining_team(seed)
    optimum, tolerance = optimal_value(raw), 1e-9 * scale(raw)

    def check(progress: Progress) -> None:
        assert progress.lower_bound <= optimum + tolerance
        assert progress.upper_bound >= optimum - tolerance

    problem = from_file(raw)
    result = solve(
        problem, exact=False, tables=tables, work_limit=0.5, threads=1, callback=check, **EAGER
    )
    check_result(result, optimum, tolerance)
    apart = solve(problem, exact=False, search=False, work_limit=0.1, threads=1)
    check_result(apart, optimum, tolerance)


def check_result(result: Result, optimum: float, tolerance: float) -> None:
    """Bounds bracket the optimum, and the policy earns at least what is said."""
    assert result.lower_bound <= optimum + tolerance
    assert result.upper_bound >= optimum - tolerance
    assert result.policy is not None
    worth = result.policy.evaluate()
    assert result.value - tolerance <= worth <= optimum + tolerance
    if result.status is Status.OPTIMAL:
        assert agrees(result.value, optimum)


@settings(max_examples=40)
@given(seed=st.integers(0, 10**6))
def test_the_relaxation_alone_never_falls_below_the_optimum(seed: int) -> None:
    """Its bound holds after every round and after clusters have grown."""
    raw = gaining_team(seed)
    optimum, tolerance = optimal_value(raw), 1e-9 * scale(raw)
    limits = Limits()
    model = compile_problem(from_file(raw), limits=limits).model
    relaxation = _core.Relaxation(model, 1, 24, limits.monitor)
    for _ in range(4):
        for _ in range(5):
            relaxation.step(optimum, limits.monitor)
            assert relaxation.upper + model.constant >= optimum - tolerance
        relaxation.grow(1e9, 4, limits.monitor)
        assert relaxation.upper + model.constant >= optimum - tolerance


def reduced_sensors(count: int, targets: int, horizon: int) -> tuple[Any, Limits]:
    """The model of some sensors."""
    limits = Limits()
    return compile_problem(sensors(count, targets, horizon), limits=limits).model, limits


def test_wide_interactions_let_clusters_grow() -> None:
    """Where three agents interact, clusters start with all targets and take in more sensors."""
    model, limits = reduced_sensors(5, 2, 5)
    relaxation = _core.Relaxation(model, 1, 24, limits.monitor)
    assert {len(cluster) for cluster in relaxation.clusters} == {4}
    assert relaxation.grow(1e9, 3, limits.monitor)
    assert max(len(cluster) for cluster in relaxation.clusters) == 5


def test_the_relaxation_of_sensors_is_tight() -> None:
    """Shares that depend on pairs of agents close nearly all of the gap."""
    model, limits = reduced_sensors(4, 2, 6)
    value = solve(sensors(4, 2, 6)).value
    relaxation = _core.Relaxation(model, 1, 24, limits.monitor)
    for _ in range(60):
        relaxation.step(value, limits.monitor)
    assert value - 1e-9 <= relaxation.upper + model.constant <= 1.05 * value


def test_nobody_gains_alone() -> None:
    """Best responses find what agents only earn together, in few tries."""
    model, limits = reduced_sensors(5, 2, 6)
    search = _core.DecentralisedSearch(model, 1, limits.monitor)
    search.improve(4)
    assert search.lower > 1.0


@pytest.mark.parametrize("threads", [1, 2])
def test_threads_change_nothing(threads: int) -> None:
    """The same work gives the same bounds and counts on any number of threads."""
    problem = sensors(5, 2, 6)
    one, other = (
        solve(problem, exact=False, work_limit=0.4, threads=each) for each in (1, threads)
    )
    assert (one.lower_bound, one.upper_bound) == (other.lower_bound, other.upper_bound)
    assert one.statistics.others == other.statistics.others


def test_seven_sensors() -> None:
    """The bounds of a team that no exact solution is in reach of come close to each other."""
    result = solve(sensors(), work_limit=10.0)
    assert result.relative_gap < 0.05
    assert result.lower_bound <= 55.8401 <= result.upper_bound + 1e-4
    assert result.policy is not None
    assert result.policy.estimate(runs=1000, seed=1).mean > 50


FAMILIES: dict[str, Callable[[], Any]] = {
    "mpp": lambda: random_mpp(8, 3, 10, 1, density=0.2, must_complete=True),
    "pyramid": lambda: pyramid(31, 3, 8, 0),
    "realistic": lambda: realistic(8, 52, 0),
    "large, low": lambda: next(generate("large", agents=30, contention="low")).problem,
    "large, high": lambda: next(generate("large", agents=30, contention="high")).problem,
    "sensors": lambda: sensors(7, 2, 8),
    "warehouse": lambda: shrinking.large_warehouse(6, 5, 12),
}


def starved(problem: Any, tuning: Tuning, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The sides of large teams that had less than their part, though they still gained something.

    The last step may have been a long one of another side.
    """
    teams: list[Team] = []
    work = Team.work
    last: dict[int, float] = {}

    def note(team: Team) -> None:
        before = team.spent
        if team not in teams:
            teams.append(team)
        work(team)
        last[id(team)] = team.spent - before

    monkeypatch.setattr(Team, "work", note)
    solve(problem, work_limit=1.0, threads=1, tuning=tuning)
    found = []
    for team in teams:
        spent = team.spent - last[id(team)]
        if spent < 0.2 or team.solution is not None:
            continue
        names = ("relaxation", "policies", "search")
        for name, side in zip(names, team._sides, strict=True):
            waits = side is team._upper_side and team._upper_waits
            if not side.done and not waits and team._gains(side) and side.work < FAIR * spent:
                found.append(f"{name}: {side.work:.3f} of {spent:.3f}")
    return found


@pytest.mark.parametrize("family", FAMILIES)
def test_nobody_starves(family: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Relaxation, policies and search each get a fifth of the first work while they gain."""
    assert starved(FAMILIES[family](), Tuning(), monkeypatch) == []


def side_by_side(parts: list[MaintenanceProblem]) -> MaintenanceProblem:
    """One problem of several that have nothing to do with each other."""
    contractors: list[Contractor] = []
    network: list[Hindrance] = []
    for k, part in enumerate(parts):
        contractors += [replace(each, name=f"{k}{each.name}") for each in part.contractors]
        network += [
            replace(each, tasks=tuple(f"{k}{name}" for name in each.tasks)) for each in part.network
        ]
    return replace(parts[0], contractors=tuple(contractors), network=tuple(network))


SMALL: dict[str, Any] = {"exact": False, "threads": 1, "prefer": "any"}
"""Options with which small teams take the work of bounds and searches."""


def small_teams(count: int) -> tuple[list[MaintenanceProblem], list[Result]]:
    """Problems of one small team each, and their solutions."""
    parts = [random_mpp(5, 3, 9, seed, density=0.3, must_complete=True) for seed in range(count)]
    return parts, [solve(part, **SMALL) for part in parts]


def work_of(results: list[Result]) -> float:
    """Counted work of all these results."""
    return sum(result.statistics.others["work"] for result in results)


def test_teams_take_the_work_of_their_parts() -> None:
    """Many small teams are proven in about the work that they take one by one."""
    parts, alone = small_teams(6)
    whole = solve(side_by_side(parts), **SMALL)
    assert {result.status for result in [*alone, whole]} == {Status.OPTIMAL}
    assert agrees(whole.value, sum(result.value for result in alone))
    assert work_of([whole]) < 1.1 * work_of(alone)


def test_no_team_waits_for_a_large_one() -> None:
    """Small teams are proven while a large one, with the widest gap, takes most of the work."""
    parts, alone = small_teams(3)
    large = random_mpp(9, 3, 9, 1, density=0.5, must_complete=True)
    limit = 8 * work_of(alone)
    result = solve(side_by_side([large, *parts]), work_limit=limit, **SMALL)
    assert result.status is Status.TIME_LIMIT
    gaps = [float(each) for each in re.findall(r"gain at most ([0-9.e-]+)", result.message)]
    assert sum(gap > 1e-6 * abs(result.value) for gap in gaps) == 1


def test_the_benchmark_runs(capsys: pytest.CaptureFixture[str]) -> None:
    """The benchmark prints a line for every problem and algorithm."""
    gains.main(["--work", "0.1", "--sizes", "3x1", "--horizon", "3", "--time-limit", "1000"])
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[1:]] == ["3x1", "dec-mdp"]
