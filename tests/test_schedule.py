"""Schedules: what people who follow one do, what is wrong with one, and files of them."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

import judge
from coreplan import ContractorState, FormatError, MaintenanceProblem, ModelError, Policy
from coreplan.domains.maintenance import read_schedule, schedule_policy, write_schedule
from coreplan.formats import read_plan
from helpers import agrees, from_file, judged_policy_value, package_state, scale
from strategies import mpp_dicts

Planned = dict[str, dict[str, int]]


@st.composite
def planned_works(draw: DrawFn) -> tuple[dict[str, Any], Planned]:
    """Draw a maintenance problem and a schedule: mostly one that people would make."""
    raw = draw(mpp_dicts())
    horizon = int(raw["horizon"])
    schedule: Planned = {}
    for agent in raw["agents"]:
        if not draw(st.integers(0, 7)):
            continue
        planned: dict[str, int] = {}
        careless = draw(st.integers(0, 7)) == 7
        free = 0
        for task in draw(st.permutations(agent["tasks"])):
            if not draw(st.integers(0, 5)):
                continue
            first, last = (int(each) for each in task.get("window", (0, horizon)))
            step = max(free, first) + draw(st.sampled_from([0, 0, 0, 1, 2]))
            if careless:
                step = draw(st.integers(0, horizon - 1))
            elif not step <= min(last, horizon - 1):
                continue
            planned[task["name"]] = step
            delay = task.get("delay", {"probability": 0})
            free = step + int(task["duration"])
            free += int(delay["duration"]) if delay["probability"] == 1 else 0
        schedule[agent["name"]] = planned
    return raw, schedule


class Followers:
    """Who follows a schedule, told again by the judge's rules."""

    def __init__(self, raw: dict[str, Any], schedule: Planned) -> None:
        self.model = judge.Mpp(raw)
        self.names = [agent["name"] for agent in raw["agents"]]
        self.schedule = schedule

    def action(self, agent: int, stage: int, local: Any) -> str:
        """What a contractor does, looking at itself only."""
        available = self.model.actions(agent, stage, local)
        planned = self.schedule.get(self.names[agent], {})
        tasks = list(self.model.tasks[agent])
        order = sorted(planned, key=lambda name: (planned[name], tasks.index(name)))
        due = [f"start {name}" for name in order if planned[name] <= stage]
        forced = [f"start {name}" for name in [*order, *tasks]]
        for wish in ["continue", *due, "wait", *forced]:
            if wish in available:
                return wish
        raise AssertionError

    def act(self, stage: int, joint: Any) -> tuple[str, ...]:
        """What all of them do."""
        return tuple(self.action(i, stage, local) for i, local in enumerate(joint))

    def undelayed(self, agent: int) -> dict[str, int]:
        """When works start if nothing is delayed."""
        starts = {}
        local = self.model.initial(agent)
        for stage in range(self.model.horizon):
            action = self.action(agent, stage, local)
            if action.startswith("start "):
                starts[action.removeprefix("start ")] = stage
            # Of two outcomes the first is the one without delay.
            local = self.model.outcomes(agent, local, action)[0][0]
        return starts


def try_policy(raw: dict[str, Any], schedule: Planned) -> Policy | None:
    """The policy of a schedule; None if that is refused."""
    problem = from_file(raw)
    assert isinstance(problem, MaintenanceProblem)
    try:
        return schedule_policy(problem, schedule)
    except ModelError:
        return None


@given(drawn=planned_works())
def test_refused_if_and_only_if_it_cannot_go_as_planned(
    drawn: tuple[dict[str, Any], Planned],
) -> None:
    """A schedule is accepted exactly if all starts are as planned where nothing is delayed."""
    raw, schedule = drawn
    followers = Followers(raw, schedule)
    fits = all(
        followers.undelayed(i).get(work) == step
        for i, name in enumerate(followers.names)
        for work, step in schedule.get(name, {}).items()
    )
    assert (try_policy(raw, schedule) is not None) == fits


@given(drawn=planned_works())
def test_value_is_that_of_the_same_behaviour(drawn: tuple[dict[str, Any], Planned]) -> None:
    """A schedule's exact value is what the judge finds for the behaviour in its own words."""
    raw, schedule = drawn
    policy = try_policy(raw, schedule)
    assume(policy is not None)
    assert policy is not None
    assert policy.is_local
    followers = Followers(raw, schedule)
    expected = judge.policy_value(raw, followers.act)
    tolerance = 1e-12 * scale(raw)
    assert abs(policy.evaluate() - expected) <= tolerance
    assert abs(judged_policy_value(raw, policy) - expected) <= tolerance


@given(drawn=planned_works())
def test_every_state_has_the_planned_action(drawn: tuple[dict[str, Any], Planned]) -> None:
    """Wherever a contractor gets, by whatever it did, it does the first planned thing allowed."""
    raw, schedule = drawn
    policy = try_policy(raw, schedule)
    assume(policy is not None)
    assert policy is not None
    followers = Followers(raw, schedule)
    for stage, per_agent in enumerate(judge.local_states(raw)):
        # Everybody looks at itself only, so each state has to be seen once.
        for joint in itertools.zip_longest(*per_agent):
            joint = tuple(
                per_agent[i][-1] if local is None else local for i, local in enumerate(joint)
            )
            acts = policy.act(stage, package_state(raw, joint))
            assert tuple(acts.values()) == followers.act(stage, joint)


@given(drawn=planned_works(), data=st.data())
def test_from_any_situation(drawn: tuple[dict[str, Any], Planned], data: st.DataObject) -> None:
    """From a later stage and state, what is late is no mistake, and the rule is the same."""
    raw, schedule = drawn
    assume(try_policy(raw, schedule) is not None)
    stage, joint = data.draw(st.sampled_from(list(judge.joint_states(raw))))
    problem = from_file(raw)
    assert isinstance(problem, MaintenanceProblem)
    state = package_state(raw, joint)
    followers = Followers(raw, schedule)
    try:
        policy = schedule_policy(problem, schedule, stage=stage, state=state)
    except ModelError as error:
        # What was done may have been no part of the plan; then some starts may be impossible.
        assert "cannot start work" in str(error)
        return
    expected = judge.policy_value(raw, followers.act, stage, joint)
    assert abs(policy.evaluate() - expected) <= 1e-12 * scale(raw)


# -- what is wrong ---------------------------------------------------------------------------------

WORKS: dict[str, Any] = {
    "format": "mpp/1",
    "name": "works",
    "horizon": 8,
    "agents": [
        {
            "name": "Alpha",
            "tasks": [
                {
                    "name": "a1",
                    "duration": 2,
                    "cost": 1,
                    "delay": {"probability": 0.5, "duration": 1},
                },
                {"name": "a2", "duration": 3, "cost": 1, "revenue": 10},
            ],
        },
        {
            "name": "Beta",
            "tasks": [
                {"name": "b1", "duration": 1, "cost": 1, "window": [2, 5], "revenue": 4},
                {"name": "b2", "duration": 2, "cost": 1, "revenue": 6},
            ],
        },
    ],
    "network": [{"tasks": ["Alpha/a1", "Beta/b1"], "cost": 20}],
}


def works(**changes: Any) -> MaintenanceProblem:
    """The example, changed."""
    problem = from_file({**WORKS, **changes})
    assert isinstance(problem, MaintenanceProblem)
    return problem


def refused(schedule: Any, **changes: Any) -> str:
    """Why a schedule of the example is refused."""
    with pytest.raises(ModelError) as caught:
        schedule_policy(works(**changes), schedule)
    return str(caught.value)


@pytest.mark.parametrize(
    ("schedule", "must_complete", "words"),
    [
        ({"Alfa": {"a1": 0}}, False, "no contractor 'Alfa'; did you mean 'Alpha'?"),
        ({"Alpha": {"a3": 0}}, False, "contractor 'Alpha' has no work 'a3'; it has 'a1'"),
        ({"Alpha": {"a1": "0"}}, False, "found '0'; expected the step in which contractor 'Alpha'"),
        ({"Alpha": {"a1": 1.5}}, False, "found 1.5"),
        ({"Alpha": {"a1": True}}, False, "found true"),
        ({"Alpha": {"a1": None}}, False, "found null"),
        ({"Alpha": 3}, False, "expected the planned starts of contractor 'Alpha'"),
        ([], False, "expected a schedule"),
        ({"Alpha": {"a1": 8}}, False, "'a1' in step 8: the plan covers steps 0 to 7"),
        ({"Alpha": {"a1": -1}}, False, "'a1' in step -1"),
        ({"Beta": {"b1": 6}}, False, "'b1' in step 6: its window is steps 2 to 5; choose steps"),
        (
            {"Alpha": {"a1": 0, "a2": 1}},
            False,
            "'a2' in step 1: it works on 'a1' in steps 0 to 1, even without delays; "
            "choose steps 2 to 7",
        ),
        (
            {"Alpha": {"a1": 0, "a2": 0}},
            True,
            "'a2' in step 0: it works on 'a1' in steps 0 to 1, even without delays; "
            "choose steps 2 to 5",
        ),
        (
            {"Alpha": {"a1": 3, "a2": 5}},
            True,
            "'a1' in step 3: the work has to start by step 2, or delays could keep the contractor "
            "from finishing all its works (must_complete); choose steps 0 to 2",
        ),
        (
            {"Beta": {"b2": 5}},
            True,
            "'b2' in step 5: it works on 'b1' in step 5, even without delays; 'b1' is not in the "
            "schedule, but has to be completed (must_complete): add it; choose step 6",
        ),
        (
            {"Beta": {"b2": 4}},
            True,
            "'b2' in step 4: delays could then keep it from finishing all its works "
            "(must_complete); choose steps 0 to 3",
        ),
    ],
)
def test_what_cannot_be(schedule: Any, must_complete: bool, words: str) -> None:
    """A schedule that cannot be is refused with contractor, work, step and what is possible."""
    assert words in refused(schedule, must_complete=must_complete)


def test_all_mistakes_are_reported() -> None:
    """Mistakes of different contractors and works are reported at once."""
    said = refused({"Alpha": {"a9": 0, "a1": 99}, "Beta": {"b1": 0}, "Gamma": {}})
    assert len(said.splitlines()) == 4


def test_late_works_keep_their_order() -> None:
    """A work that is late because the one before was delayed starts as soon as it can."""
    policy = schedule_policy(works(), {"Alpha": {"a1": 0, "a2": 2}})
    idle = ContractorState()
    assert policy.act(0) == {"Alpha": "start a1", "Beta": "wait"}
    late = {"Alpha": ContractorState(doing="a1", remaining=1), "Beta": idle}
    assert policy.act(2, late)["Alpha"] == "continue"
    done = {"Alpha": ContractorState(done=("a1",)), "Beta": idle}
    assert policy.act(2, done)["Alpha"] == "start a2"
    assert policy.act(3, done)["Alpha"] == "start a2"


def test_works_that_are_not_planned() -> None:
    """They are never started, unless all works have to be completed: then as late as can be."""
    assert schedule_policy(works(), {}).evaluate() == 0
    must = schedule_policy(works(must_complete=True), {})
    assert must.act(1, {"Alpha": {}, "Beta": {}}) == {"Alpha": "wait", "Beta": "wait"}
    assert must.act(2, {"Alpha": {}, "Beta": {}})["Alpha"] == "start a1"


def test_what_is_late_from_the_start_is_no_mistake() -> None:
    """From a state in which a contractor is behind, its planned works follow as they can."""
    schedule = {"Alpha": {"a1": 0, "a2": 2}}
    state = {"Alpha": ContractorState(doing="a1", remaining=2), "Beta": ContractorState()}
    policy = schedule_policy(works(), schedule, stage=2, state=state)
    assert policy.evaluate() == pytest.approx(-2 - 3 + 10)
    with pytest.raises(ModelError, match="'a2' in step 5: it works on 'a1' in steps 4 to 5"):
        schedule_policy(works(), {"Alpha": {"a1": 4, "a2": 5}}, stage=2)


def test_bad_schedules_cause_hindrance() -> None:
    """Works that are planned at the same time pay for it."""
    apart = schedule_policy(works(), {"Alpha": {"a1": 0}, "Beta": {"b1": 3}}).evaluate()
    together = schedule_policy(works(), {"Alpha": {"a1": 2}, "Beta": {"b1": 2}}).evaluate()
    assert apart == pytest.approx(-2.5 + 3)
    assert together == pytest.approx(apart - 20)


def test_policies_of_schedules_can_be_saved(tmp_path: Path) -> None:
    """The policy of a schedule is as good after it was saved and loaded."""
    policy = schedule_policy(works(), {"Alpha": {"a1": 0, "a2": 2}, "Beta": {"b2": 1, "b1": 4}})
    policy.save(tmp_path / "plan.json")
    loaded = Policy.load(tmp_path / "plan.json", works())
    assert agrees(loaded.evaluate(), policy.evaluate(), 1e-12)


# -- files -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", [".json", ".yaml"])
def test_written_and_read(tmp_path: Path, suffix: str) -> None:
    """A schedule that was written is read again, in JSON and in YAML."""
    schedule = {"Alpha": {"a1": 0, "a2": 3}, "Beta": {}}
    path = tmp_path / f"schedule{suffix}"
    write_schedule(schedule, path)
    assert "schedule/1" in path.read_text()
    assert read_schedule(path, works()) == schedule
    assert read_plan(path, works()) == schedule


def test_the_format_may_be_left_out(tmp_path: Path) -> None:
    """A file without a format, with steps that have a zero fraction, is a schedule."""
    path = tmp_path / "plan"
    path.write_text("Alpha: {a1: 0.0}\n")
    assert read_schedule(path, works()) == {"Alpha": {"a1": 0}}


def test_a_contractor_may_be_called_format(tmp_path: Path) -> None:
    """The key then belongs to the contractor."""
    agents = [{"name": "format", "tasks": [{"name": "x", "duration": 1, "cost": 1}]}]
    problem = works(agents=agents, network=[])
    path = tmp_path / "plan.yaml"
    write_schedule({"format": {"x": 2}}, path)
    assert read_schedule(path, problem) == read_plan(path, problem) == {"format": {"x": 2}}


@pytest.mark.parametrize(
    ("text", "position", "words"),
    [
        ("Alpha: {a1: 0}\nGama: {b1: 2}\n", (2, 1), "no contractor 'Gama'"),
        ("Alpha:\n  a1: 0\n  a9: 1\n", (3, 3), "no work 'a9'"),
        ("Alpha:\n  a1: 0\n  a2: 1\n", (3, 7), "'a2' in step 1: it works on 'a1'"),
        ("Beta:\n  b1: 7\n", (2, 7), "'b1' in step 7: its window is steps 2 to 5"),
        ("Alpha: {a1: soon}\n", (1, 13), "found 'soon'"),
        ("Alpha: [a1]\n", (1, 8), "expected the planned starts of contractor 'Alpha'"),
        ("Alpha: {a1: 0}\nAlpha: {a2: 3}\n", (2, 1), "Alpha"),
        ("[1, 2]\n", (1, 1), "a mapping"),
        ("format: mpp/1\n", (1, 9), "expected schedule/1"),
    ],
)
def test_mistakes_in_files(
    tmp_path: Path, text: str, position: tuple[int, int], words: str
) -> None:
    """A mistake is reported with its line and column."""
    path = tmp_path / "schedule.yaml"
    path.write_text(text)
    with pytest.raises(FormatError) as caught:
        read_schedule(path, works())
    (problem,) = caught.value.problems
    assert (problem.line, problem.column) == position
    assert words in problem.message


def test_mistakes_of_all_kinds_are_reported_at_once(tmp_path: Path) -> None:
    """What cannot be read does not hide what makes no sense."""
    path = tmp_path / "schedule.json"
    path.write_text(json.dumps({"Alpha": [1], "Beta": {"b1": 0, "b2": "x"}, "Gamma": {}}))
    with pytest.raises(FormatError) as caught:
        read_schedule(path, works())
    assert len(caught.value.problems) == 4


def test_a_plan_is_one_or_the_other(tmp_path: Path) -> None:
    """A file that is neither a policy nor a schedule is refused with what is expected."""
    path = tmp_path / "plan.yaml"
    path.write_text("format: result/1\n")
    with pytest.raises(FormatError, match="expected policy/1 or schedule/1"):
        read_plan(path, works())
    robots = from_file(
        {
            "format": "ti-mmdp/1",
            "horizon": 1,
            "agents": [{"name": "r", "initial": "s", "transitions": {"s": {"go": {"s": 1}}}}],
        }
    )
    path.write_text("r: {go: 1}\n")
    with pytest.raises(FormatError, match="the key 'format', with the value policy/1"):
        read_plan(path, robots)
