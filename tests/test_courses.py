"""The courses of a plan are what happens when it is followed."""

from __future__ import annotations

import math
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coreplan import MaintenanceProblem, ModelError, Policy, read_problem, solve
from coreplan.cli import example_path
from coreplan.domains.maintenance import schedule_policy
from coreplan.domains.maintenance.courses import Courses, find_courses
from followed import follow
from helpers import from_file, random_mpp
from strategies import mpp_dicts

Started = list[tuple[str, str, int]]


def walk(
    problem: MaintenanceProblem, parts: tuple[Courses, ...], late: set[tuple[str, str]]
) -> Started | None:
    """What is started if these works are delayed; None if the courses do not hold it."""
    started: Started = []
    for part in parts:
        piece = part.pieces[0]
        while True:
            for start in piece.starts:
                contractor = problem.contractors[start.contractor]
                assert start.contractor in part.contractors
                started.append((contractor.name, contractor.tasks[start.task].name, start.stage))
            if not piece.open:
                break
            open_works = started[len(started) - piece.open :]
            delayed = tuple(k for k, work in enumerate(open_works) if work[:2] in late)
            if delayed not in piece.following:
                return None
            piece = part.pieces[piece.following[delayed]]
    return sorted(started)


def followed(policy: Policy, late: set[tuple[str, str]]) -> Started:
    """The same by following the plan; works that are under way at the start are left out."""
    runs, sequence = follow(policy, lambda *work: work in late)
    under_way = {(name, state.doing) for name, state in sequence.states[0].items()}
    return sorted(run[:3] for run in runs if run[:2] not in under_way)


def tasks_of(problem: MaintenanceProblem) -> list[tuple[str, str]]:
    """All works by contractor and task."""
    return [(each.name, task.name) for each in problem.contractors for task in each.tasks]


@given(mpp_dicts(), st.randoms(use_true_random=False))
def test_courses_are_what_the_plan_does(raw: dict[str, object], draw: random.Random) -> None:
    """Whatever is delayed, walking the pieces starts what following `act` starts."""
    problem = from_file(raw)
    assert isinstance(problem, MaintenanceProblem)
    policy = solve(problem).policy
    assert policy is not None
    parts = find_courses(policy)
    assert all(part.complete for part in parts)
    assert all(math.isclose(part.covered, 1) for part in parts)
    works = tasks_of(problem)
    assert sorted(i for part in parts for i in part.contractors) == [*range(len(raw["agents"]))]  # type: ignore[arg-type]
    for _ in range(5):
        late = {work for work in works if draw.random() < 0.5}
        assert walk(problem, parts, late) == followed(policy, late)


def hard_plan() -> tuple[MaintenanceProblem, Policy]:
    """A plan of one team whose works may nearly all be delayed."""
    problem = from_file(random_mpp(4, 3, 9))
    assert isinstance(problem, MaintenanceProblem)
    policy = solve(problem).policy
    assert policy is not None
    return problem, policy


def test_few_delays_come_first() -> None:
    """Where not all courses are held, those with no delay and with one are; and no false ones."""
    problem, policy = hard_plan()
    everything = find_courses(policy)
    assert sum(len(part.pieces) for part in everything) > 200
    parts = find_courses(policy, most_pieces=150)
    assert sum(len(part.pieces) for part in parts) <= 150
    assert not all(part.complete for part in parts)
    works = tasks_of(problem)
    for late in [set(), *({work} for work in works)]:
        assert walk(problem, parts, late) == followed(policy, late)
    draw = random.Random(1)
    missing = 0
    for _ in range(200):
        late = {work for work in works if draw.random() < 0.6}
        held = walk(problem, parts, late)
        missing += held is None
        assert held is None or held == followed(policy, late)
    assert missing > 0


def test_covered_is_the_chance_of_what_is_held() -> None:
    """The chance to stay among the pieces is the sum over all courses that are held."""
    problem, policy = hard_plan()
    [part] = find_courses(policy, most_pieces=150)
    chance = {
        (contractor.name, task.name): task.durations[1][0]
        for contractor in problem.contractors
        for task in contractor.tasks
    }

    def count(number: int) -> float:
        piece = part.pieces[number]
        if not piece.open:
            return 1.0
        names = [
            (
                problem.contractors[start.contractor].name,
                problem.contractors[start.contractor].tasks[start.task].name,
            )
            for start in piece.open_starts
        ]
        return sum(
            math.prod(
                chance[name] if k in delayed else 1 - chance[name] for k, name in enumerate(names)
            )
            * count(after)
            for delayed, after in piece.following.items()
        )

    assert 0.05 < part.covered < 0.95
    assert part.covered == pytest.approx(count(0), rel=1e-9)


def test_the_course_without_delays_is_always_held() -> None:
    """However little room there is, the page can show what happens if nothing is delayed."""
    problem, policy = hard_plan()
    parts = find_courses(policy, most_pieces=1)
    assert walk(problem, parts, set()) == followed(policy, set())


def test_works_under_way() -> None:
    """A plan from a later stage on has courses from there."""
    problem = read_problem(example_path("ring_road.yaml"))
    assert isinstance(problem, MaintenanceProblem)
    state = {
        "Noord Infra": {"doing": "junction 4", "remaining": 1},
        "Van Dijk": {"doing": "ring east", "remaining": 3},
        "AquaWegen": {"done": ["sluice road"]},
        "Stadsbeheer": {"done": ["cycle path"]},
    }
    policy = solve(problem, stage=4, state=state).policy
    assert policy is not None
    parts = find_courses(policy)
    for late in (set(), {("AquaWegen", "drainage")}, set(tasks_of(problem))):
        started = walk(problem, parts, late)
        assert started == followed(policy, late)
        assert all(stage >= 4 for _, _, stage in started)


def test_plans_of_single_contractors_are_apart() -> None:
    """Contractors who follow a schedule have courses of their own."""
    problem = read_problem(example_path("two_works.yaml"))
    assert isinstance(problem, MaintenanceProblem)
    policy = schedule_policy(problem, {"Alpha": {"a1": 0}, "Beta": {"b1": 0}})
    assert [part.contractors for part in find_courses(policy)] == [(0,), (1,)]


def test_only_works_have_courses() -> None:
    """A plan for robots has no courses of works."""
    policy = solve(read_problem(example_path("two_robots.yaml"))).policy
    assert policy is not None
    with pytest.raises(ModelError, match="courses of works need a plan of a maintenance problem"):
        find_courses(policy)


def test_few_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pieces are made many at a time, also when little room is left: the policy is asked rarely."""
    _, policy = hard_plan()
    rounds = 0
    choose_many = Policy.choose_many

    def counted(self: Policy, *arguments: Any, **more: Any) -> Any:
        nonlocal rounds
        rounds += 1
        return choose_many(self, *arguments, **more)

    monkeypatch.setattr(Policy, "choose_many", counted)
    [part] = find_courses(policy, most_pieces=150)
    assert len(part.pieces) > 120
    assert rounds <= 80
