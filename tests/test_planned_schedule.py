"""Courses of plans: what is done if these delays happen."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coreplan import (
    Contractor,
    ContractorState,
    Delay,
    MaintenanceProblem,
    ModelError,
    Policy,
    Task,
)
from coreplan.analysis import execution_sequences
from coreplan.domains.maintenance import PlannedSchedule, planned_schedule, schedule_policy
from helpers import from_file, random_mpp
from strategies import mpp_dicts, timmdp_dicts
from test_policy import policy_of


def check_course(policy: Policy, course: PlannedSchedule) -> None:
    """A course is an execution sequence of the policy, with its probability."""
    (probability,) = (
        probability
        for each, probability in execution_sequences(policy)
        if each.states == course.states and each.actions == course.actions
    )
    assert course.probability == pytest.approx(probability)


@given(mpp_dicts(max_work=400), st.data())
def test_given_outcomes_happen(raw: dict[str, Any], data: st.DataObject) -> None:
    """The course is one of the policy's, works take as long as their outcomes say."""
    problem = from_file(raw)
    assert isinstance(problem, MaintenanceProblem)
    policy = policy_of(problem)
    tasks = {f"{c.name}/{t.name}": t for c in problem.contractors for t in c.tasks}
    outcomes = {}
    for name, task in tasks.items():
        possible = [steps > task.duration for _, steps in task.durations]
        if data.draw(st.booleans()):
            delayed = data.draw(st.sampled_from(possible))
            outcomes[name] = data.draw(
                st.sampled_from([delayed, "delayed" if delayed else "not delayed"])
            )
    course = policy.schedule(outcomes)
    check_course(policy, course)
    for work in course.works:
        name = f"{work.contractor}/{work.task}"
        task = tasks[name]
        assert work.given == (name in outcomes)
        expected = outcomes.get(name, False) in (True, "delayed")
        if task.delay is None:
            assert work.delayed is None
        elif len(task.durations) > 1 or work.given:
            assert work.delayed == expected
        longer = task.delay.duration if task.delay is not None and work.delayed else 0
        assert work.end - work.start == task.duration + longer
        assert course.actions[work.start][work.contractor] == f"start {work.task}"
        assert work.completed == (work.task in course.states[-1][work.contractor].done)
        assert work.completed == (work.end <= problem.horizon)
    seen = {f"{work.contractor}/{work.task}" for work in course.works}
    assert seen.isdisjoint(course.unstarted)
    assert seen | set(course.unstarted) == set(tasks)


@given(timmdp_dicts(max_work=400))
def test_other_problems_take_the_likeliest(raw: dict[str, Any]) -> None:
    """In general each agent gets to its likeliest next state."""
    policy = policy_of(from_file(raw))
    course = planned_schedule(policy)
    check_course(policy, course)
    agents = {agent.name: agent for agent in policy.problem.agents}  # type: ignore[union-attr]
    for step, action in enumerate(course.actions):
        for name, agent in agents.items():
            law = agent.transitions[course.states[step][name]][action[name]]
            assert law[course.states[step + 1][name]] == max(law.values())
    assert str(course).startswith("one course of the plan")


def road(probability: float = 0.7) -> MaintenanceProblem:
    """A task that is delayed more often than not, and one that never is."""
    late = Task("a1", 1, cost=1, revenue=9, delay=Delay(probability, 2))
    return MaintenanceProblem(
        (Contractor("Alpha", (late,)), Contractor("Beta", (Task("b1", 2, 1, revenue=9),))), 4
    )


def test_what_is_expected() -> None:
    """By default nothing is delayed; if asked for, what is likelier happens."""
    policy = policy_of(road())
    plain, likelier = policy.schedule(), policy.schedule(expected="likelier")
    assert [(w.delayed, w.given, w.end - w.start) for w in plain.of("Alpha")] == [(False, False, 1)]
    assert [(w.delayed, w.given, w.end - w.start) for w in likelier.of("Alpha")] == [
        (True, False, 3)
    ]
    assert [w.delayed for w in plain.of("Beta")] == [None]
    assert (plain.probability, likelier.probability) == (pytest.approx(0.3), pytest.approx(0.7))
    certain = policy_of(road(1.0)).schedule()
    assert [(w.delayed, w.end - w.start) for w in certain.of("Alpha")] == [(True, 3)]
    assert certain.probability == 1


def test_it_can_be_followed_as_a_schedule() -> None:
    """The starts make a schedule that people can follow, and that earns no more than the plan."""
    problem = from_file(random_mpp(3, 2, 8))
    policy = policy_of(problem)
    course = policy.schedule()
    assert isinstance(problem, MaintenanceProblem)
    followed = schedule_policy(problem, course.to_schedule())
    assert followed.schedule().works == course.works
    assert followed.evaluate() <= policy.evaluate() + 1e-9


def test_works_that_are_under_way() -> None:
    """A plan from the middle on has the works that were begun before."""
    state = {
        "Alpha": ContractorState(doing="a1", remaining=3),
        "Beta": ContractorState(done=("b1",)),
    }
    policy = policy_of(road(), stage=2, state=state)
    (work,) = policy.schedule().works
    assert (work.task, work.start, work.end, work.under_way) == ("a1", 2, 5, True)
    assert not work.completed
    assert policy.schedule().to_schedule() == {}
    assert "a1: steps 2 to 4 (already under way; not completed in time)" in str(policy.schedule())


def test_it_can_be_read() -> None:
    """Every contractor has its works, a line each; and all of it is plain JSON."""
    policy = policy_of(road())
    text = str(policy.schedule({"Alpha/a1": True}))
    assert text.splitlines()[0] == "one course of the plan, with a probability of 70 %"
    assert "  a1: steps 0 to 2 (delayed)" in text.splitlines()
    assert "  b1: steps 0 to 1" in text.splitlines()
    assert "  a1: step 0 (not delayed, as assumed)" in str(policy.schedule()).splitlines()
    plain = json.loads(json.dumps(policy.schedule().to_dict(), allow_nan=False))
    assert plain["works"][0]["task"] == "a1"
    assert math.isclose(plain["probability"], 0.3)
    with pytest.raises(ModelError, match="Gamma"):
        policy.schedule().of("Gamma")


@pytest.mark.parametrize(
    ("outcomes", "words"),
    [
        ({"Alpha/a9": True}, "Alpha/a9"),
        ({"a1": True}, "'a1'"),
        (
            {"Alpha/a1": "late"},
            "found 'late' as the outcome of 'Alpha/a1'; expected True or 'delayed'",
        ),
        ({"Alpha/a1": 1}, "found 1 as the outcome of 'Alpha/a1'"),
        ({"Alpha/a1": None}, "found null as the outcome"),
        ({"Beta/b1": True}, "work 'Beta/b1' is never delayed; leave out its outcome"),
        (["Alpha/a1"], "expected a mapping"),
    ],
)
def test_outcomes_that_cannot_be_are_refused(outcomes: Any, words: str) -> None:
    """Unknown tasks and impossible outcomes are named."""
    with pytest.raises(ModelError, match=words):
        policy_of(road()).schedule(outcomes)
    with pytest.raises(
        ModelError, match="work 'Alpha/a1' is always delayed; leave out its outcome"
    ):
        policy_of(road(1.0)).schedule({"Alpha/a1": False})


def test_other_mistakes() -> None:
    """Outcomes are for road works, and there are two things to expect."""
    with pytest.raises(ModelError, match="found expected = 'late'"):
        policy_of(road()).schedule(expected="late")
    robots = policy_of(road().to_timmdp())
    with pytest.raises(ModelError, match="only works of a maintenance problem have outcomes"):
        robots.schedule({"Alpha/a1": True})
