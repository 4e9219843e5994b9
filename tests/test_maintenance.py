"""The maintenance planning problem: its semantics, its states, and its translation."""

from __future__ import annotations

import copy
import dataclasses
import itertools
import math
import pickle
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import judge
from coreplan import (
    TIMMDP,
    Contractor,
    ContractorState,
    Delay,
    Hindrance,
    MaintenanceProblem,
    ModelError,
    Task,
    solve,
)
from coreplan.domains.maintenance.feasibility import NEVER, Feasibility
from coreplan.domains.maintenance.states import ContractorStates
from coreplan.domains.maintenance.translate import index_maintenance
from coreplan.model.problem import index_problem
from coreplan.solving import compile_problem
from helpers import agrees, from_file, package_state
from strategies import infeasible_mpp_dicts, mpp_dicts


def alone(*tasks: Task, horizon: int, must_complete: bool = False) -> MaintenanceProblem:
    """A problem of one contractor."""
    return MaintenanceProblem((Contractor("A", tasks),), horizon, must_complete=must_complete)


def read(raw: dict[str, Any]) -> MaintenanceProblem:
    """Read a raw MPP."""
    problem = from_file(raw)
    assert isinstance(problem, MaintenanceProblem)
    return problem


# -- what the words mean ----------------------------------------------------------------------

VALUES: list[tuple[str, MaintenanceProblem, float]] = [
    ("two steps of 3, then 20", alone(Task("a", 2, 3, revenue=20), horizon=2), 14),
    ("a last step at stage h-1 completes", alone(Task("a", 3, 1, revenue=5), horizon=3), 2),
    ("cut off, it would only cost", alone(Task("a", 3, 1, revenue=5), horizon=2), 0),
    ("cut off, it may still pay by a negative cost", alone(Task("a", 3, -1), horizon=2), 2),
    ("work that does not pay is left undone", alone(Task("a", 2, 3, revenue=5), horizon=4), 0),
    ("unless it must be done", alone(Task("a", 2, 3), horizon=4, must_complete=True), -6),
    ("each task is done once", alone(Task("a", 1, -1), horizon=5), 1),
    ("one at a time", alone(Task("a", 2, -1), Task("b", 2, -1), horizon=3), 3),
    (
        "the cost is that of the stage",
        alone(Task("a", 2, (9, 1, 2, 9), revenue=10), horizon=4),
        10 - 3,
    ),
    (
        "it may start in the window only",
        alone(Task("a", 1, (0, 0, 5, 4, 0), window=(2, 3), revenue=10), horizon=5),
        6,
    ),
    (
        "the window is about the start, not the end",
        alone(Task("a", 3, 1, window=(2, 2), revenue=10), horizon=5),
        7,
    ),
    ("a window beyond the horizon is never", alone(Task("a", 1, -1, window=(3, 9)), horizon=3), 0),
    (
        # On time with 3/4: 20 - 2·4; late: 20 - 3·4.
        "a delay costs its steps",
        alone(Task("a", 2, 4, delay=Delay(0.25, 1), revenue=20), horizon=3),
        0.75 * 12 + 0.25 * 8,
    ),
    (
        # Late, it is cut off after 2 steps and earns nothing.
        "a delay may cost the revenue",
        alone(Task("a", 2, 4, delay=Delay(0.25, 1), revenue=20), horizon=2),
        0.75 * 12 + 0.25 * -8,
    ),
    (
        "a delay of probability 0 never happens",
        alone(Task("a", 2, 1, delay=Delay(0, 9), revenue=5), horizon=2, must_complete=True),
        3,
    ),
    (
        "a delay of probability 1 always does",
        alone(Task("a", 1, 1, delay=Delay(1, 1), revenue=5), horizon=2, must_complete=True),
        3,
    ),
    (
        # a is known to be late from stage 1 on: then b, of 3 steps, is not worth starting at 2
        # (it would be cut off), but it is at 1.
        "a delay is known one step after the start",
        alone(
            Task("a", 1, 0, delay=Delay(0.5, 1), revenue=100),
            Task("b", 3, 1, revenue=10, window=(1, 2)),
            horizon=4,
        ),
        100 + 0.5 * 7,
    ),
    ("no tasks at all", alone(horizon=3), 0),
    ("no tasks, all of them to be done", alone(horizon=3, must_complete=True), 0),
]


@pytest.mark.parametrize(("_", "problem", "value"), VALUES)
def test_values_worked_out_by_hand(_: str, problem: MaintenanceProblem, value: float) -> None:
    """The optimal value is the one worked out by hand, directly and by both translations."""
    assert agrees(solve(problem).value, value)
    assert agrees(solve(problem, merge=False).value, value)
    assert agrees(solve(problem.to_timmdp()).value, value)
    assert agrees(solve(problem.to_timmdp(history=True)).value, value)


def pair(cost: Any, horizon: int = 2) -> MaintenanceProblem:
    """Two contractors, of two steps and of one, and what it costs when they coincide."""
    a = Contractor("A", (Task("a", 2, 0, revenue=10),))
    b = Contractor("B", (Task("b", 1, 0, revenue=10),))
    return MaintenanceProblem((a, b), horizon, (Hindrance(("B/b", "A/a"), cost),))


@pytest.mark.parametrize(
    ("problem", "value"),
    [
        (pair(4), 16),
        (pair(4, horizon=3), 20),
        (pair((4, 3)), 17),
        (pair(-4), 24),
        (pair((-1, -3, 0), horizon=3), 23),
        (pair(100), 10),
    ],
)
def test_hindrance_is_paid_in_every_stage_in_which_all_work(
    problem: MaintenanceProblem, value: float
) -> None:
    """Tasks that coincide cost what the stage says, and can be kept apart if there is time."""
    assert agrees(solve(problem).value, value)


def test_hindrance_of_three_needs_all_three() -> None:
    """An entry of three tasks costs nothing while only two of them are worked on."""
    contractors = tuple(
        Contractor(name, (Task("t", 1, 0, revenue=5, window=(0, 0)),)) for name in "ABC"
    )
    three = Hindrance(("A/t", "B/t", "C/t"), 4)
    assert agrees(solve(MaintenanceProblem(contractors, 1, (three,))).value, 11)
    assert agrees(solve(MaintenanceProblem(contractors, 1, (three, three))).value, 10)
    assert agrees(
        solve(
            MaintenanceProblem((*contractors[:2], Contractor("C", (Task("t", 1, 0),))), 1, (three,))
        ).value,
        10,
    )


def test_what_can_be_done_when() -> None:
    """An idle contractor waits or starts within windows; a working one continues."""
    problem = alone(Task("a", 2, 1, window=(1, 2)), Task("b", 1, 1), horizon=4)
    agent = index_problem(problem).agents[0]

    def available(stage: int, **state: Any) -> set[str]:
        return set(agent.choices(stage, agent.states.find(stage, ContractorState(**state))))

    assert available(0) == {"wait", "start b"}
    assert available(1) == available(2) == {"wait", "start a", "start b"}
    assert available(3) == {"wait", "start b"}
    assert available(2, doing="a", remaining=1) == {"continue"}
    assert available(2, done=("b",)) == {"wait", "start a"}
    assert available(3, done=("a", "b")) == {"wait"}


def test_must_complete_leaves_only_safe_actions() -> None:
    """Where all must be done, an action is there only if everything still fits, even if late."""
    tasks = (Task("a", 2, 1, delay=Delay(0.1, 1)), Task("b", 1, 1, window=(0, 3)))
    agent = index_problem(alone(*tasks, horizon=5, must_complete=True)).agents[0]

    def available(stage: int, **state: Any) -> set[str]:
        return set(agent.choices(stage, agent.states.find(stage, ContractorState(**state))))

    # Late, a takes 3 steps; b must start by stage 3, which is also when a is over at the latest.
    assert available(0) == {"wait", "start a", "start b"}
    assert available(1) == {"start b"}
    assert available(2, done=("b",)) == {"start a"}
    assert available(2, done=("a",)) == {"wait", "start b"}
    assert available(3, done=("a",)) == {"start b"}
    assert available(4, done=("a", "b")) == {"wait"}


# -- feasibility ------------------------------------------------------------------------------


@st.composite
def task_lists(draw: st.DrawFn) -> tuple[list[dict[str, Any]], int]:
    """Tasks with windows and delays, certain and impossible ones among them, and a horizon."""
    horizon = draw(st.integers(1, 8))
    tasks = []
    for k in range(draw(st.integers(0, 4))):
        task: dict[str, Any] = {"name": f"t{k}", "duration": draw(st.integers(1, 3)), "cost": 0}
        if draw(st.booleans()):
            chance = draw(st.sampled_from([0, 0.5, 1]))
            task["delay"] = {"probability": chance, "duration": draw(st.integers(1, 3))}
        if draw(st.booleans()):
            first = draw(st.integers(0, horizon))
            task["window"] = [first, first + draw(st.integers(0, horizon))]
        tasks.append(task)
    return tasks, horizon


def make_tasks(raw: list[dict[str, Any]]) -> list[Task]:
    """The tasks in the words of the package."""
    return [
        Task(
            task["name"],
            task["duration"],
            task["cost"],
            delay=Delay(**task["delay"]) if "delay" in task else None,
            window=tuple(task["window"]) if "window" in task else None,
        )
        for task in raw
    ]


@given(drawn=task_lists())
def test_latest_stages_agree_with_brute_force(drawn: tuple[list[dict[str, Any]], int]) -> None:
    """For every set and stage, what can be completed is what trying everything finds."""
    raw, horizon = drawn
    feasibility = Feasibility(make_tasks(raw), horizon)
    model = judge.Mpp({"horizon": horizon, "agents": [{"name": "A", "tasks": raw}]})
    for todo in range(1 << len(raw)):
        names = frozenset(task["name"] for k, task in enumerate(raw) if todo >> k & 1)
        for stage in range(horizon + 1):
            possible = model.can_complete(0, stage, (names, None, 0))
            assert (stage <= feasibility.latest(todo)) == possible
            for k, task in enumerate(raw):
                if not todo >> k & 1:
                    continue
                first, last = task.get("window", (0, math.inf))
                safe = (
                    stage < horizon
                    and first <= stage <= last
                    and model._safe(0, stage, (names, None, 0), f"start {task['name']}")
                )
                assert (first <= stage <= feasibility.latest_start(todo, k)) == safe


@given(drawn=task_lists())
def test_misfits_are_minimal(drawn: tuple[list[dict[str, Any]], int]) -> None:
    """The tasks named cannot be completed together, but can without any one of them."""
    raw, horizon = drawn
    misfits = Feasibility(make_tasks(raw), horizon).misfits()

    def fits(positions: list[int]) -> bool:
        tasks = [raw[k] for k in positions]
        return not judge.infeasible_agents(
            {"horizon": horizon, "agents": [{"name": "A", "tasks": tasks}]}
        )

    assert bool(misfits) != fits(list(range(len(raw))))
    if misfits:
        assert not fits(misfits)
        for k in misfits:
            assert fits([other for other in misfits if other != k])


@given(raw=infeasible_mpp_dicts())
def test_problems_that_cannot_be_completed_are_refused(raw: dict[str, Any]) -> None:
    """The error names every contractor whose tasks do not fit, and the tasks."""
    contractors = [
        Contractor(
            agent["name"], tuple(make_tasks([dict(task, cost=0) for task in agent["tasks"]]))
        )
        for agent in raw["agents"]
    ]
    with pytest.raises(ModelError) as caught:
        MaintenanceProblem(tuple(contractors), raw["horizon"], must_complete=True)
    names = judge.infeasible_agents(raw)
    assert len(caught.value.problems) == len(names)
    for problem, name in zip(caught.value.problems, names, strict=True):
        position = [agent["name"] for agent in raw["agents"]].index(name)
        tasks = contractors[position].tasks
        misfits = Feasibility(tasks, int(raw["horizon"])).misfits()
        assert problem.place == f"agents[{position}].tasks[{misfits[0]}]"
        delays = [tasks[k].delay for k in misfits]
        late = ", delays included" if any(each and each.probability > 0 for each in delays) else ""
        last = int(raw["horizon"]) - 1
        head = f"contractor {name!r} cannot finish all its works by step {last}{late}: "
        assert problem.message.startswith(head)
        assert all(repr(tasks[k].name) in problem.message for k in misfits)


def test_tasks_without_windows_fit_by_their_sum() -> None:
    """A thousand tasks without windows are no trouble, and the first stage they need is exact."""
    tasks = [Task(f"t{k}", 2, 0, delay=Delay(0.5, 1)) for k in range(1000)]
    assert Feasibility(tasks, 3000).latest((1 << 1000) - 1) == 0
    assert Feasibility(tasks, 3001).latest((1 << 1000) - 1) == 1
    assert Feasibility(tasks, 2999).latest((1 << 1000) - 1) == NEVER
    assert len(Feasibility(tasks, 2999).misfits()) == 1000


def test_too_many_windowed_tasks_are_refused_in_words() -> None:
    """Where it cannot be told what fits, solving and translating say so."""
    tasks = tuple(Task(f"t{k}", 1, 0, window=(0, 50)) for k in range(31))
    problem = alone(*tasks, horizon=60, must_complete=True)
    for use in (solve, MaintenanceProblem.to_timmdp):
        with pytest.raises(ModelError, match="'A' has too many works with windows"):
            use(problem)


# -- states in and out ------------------------------------------------------------------------


@pytest.mark.parametrize("history", [False, True])
@given(raw=mpp_dicts())
def test_states_round_trip(history: bool, raw: dict[str, Any]) -> None:
    """Every state is found again by its value, by its parts and by its label, all different."""
    indexed = index_maintenance(read(raw), history=history)
    for agent in indexed.agents:
        states = agent.states
        assert isinstance(states, ContractorStates)
        labels = [states.label(k) for k in range(len(states))]
        assert len(set(labels)) == len(labels)
        for k, label in enumerate(labels):
            value = states.value(k)
            assert (value.times is not None) == history
            stage = states.states[k].stage if history else 0  # type: ignore[union-attr]
            assert states.find(stage, value) == k
            assert states.find(stage, label) == k
            parts: dict[str, Any] = {"done": list(value.done), "doing": value.doing}
            parts["remaining"] = value.remaining
            if value.times is not None:
                parts["times"] = {name: list(times) for name, times in value.times.items()}
            assert states.find(stage, parts) == k
            assert hash(pickle.loads(pickle.dumps(value))) == hash(value)
            if history:  # without times, it is one of those that did the same
                other = states.find(stage, dataclasses.replace(value, times=None))
                assert dataclasses.replace(states.value(other), times=None) == (
                    dataclasses.replace(value, times=None)
                )
                with pytest.raises(ModelError, match="cannot be in this state in step"):
                    states.find(stage + 1, label)


def test_times_are_those_of_the_works() -> None:
    """With history, states tell the first and last stage of work of everything started."""
    problem = alone(Task("a", 2, 0, delay=Delay(0.5, 1)), Task("b", 1, 0), horizon=4)
    states = index_maintenance(problem, history=True).agents[0].states
    values = [states.value(k) for k in range(len(states))]
    assert ContractorState((), "a", 1, {"a": (0, 1)}) in values
    assert ContractorState((), "a", 2, {"a": (0, 2)}) in values
    assert ContractorState(("a", "b"), None, 0, {"a": (0, 2), "b": (3, 3)}) in values
    assert ContractorState(("a", "b"), None, 0, {"a": (1, 2), "b": (0, 0)}) in values
    assert ContractorState(("b",), "a", 2, {"a": (3, 5), "b": (0, 0)}) in values
    assert all(
        sorted(value.times) == sorted((*value.done, *filter(None, [value.doing])))
        for value in values
    )


def test_given_times_are_kept() -> None:
    """Planning on from a state with times gives states that still tell them."""
    problem = alone(Task("a", 2, 0), Task("b", 2, 0), Task("c", 1, 0), horizon=6)
    state = ContractorState(("c",), "a", 1, {"a": (2, 3), "c": (0, 0)})
    policy = solve(problem, merge=False, stage=3, state={"A": state}).policy
    assert policy is not None
    assert policy.act(3, {"A": state}) == {"A": "continue"}
    after = ContractorState(("a", "c"), None, 0, {"a": (2, 3), "c": (0, 0)})
    assert policy.act(4, {"A": after}) == policy.act(4, {"A": {"done": ["a", "c"]}})
    with pytest.raises(ModelError, match="cannot be in this state in step"):
        policy.act(4, {"A": dataclasses.replace(after, times={"a": (2, 3), "c": (1, 1)})})


WRONG_STATES: list[tuple[Any, str]] = [
    (ContractorState(("x",)), "contractor 'A' has no work 'x'"),
    ({"done": ["a", "aa"]}, "contractor 'A' has no work 'aa'"),
    ({"done": "a"}, "contractor 'A': found done = 'a'; expected a list of works"),
    ({"done": None}, "contractor 'A': found done = null; expected a list of works"),
    ({"doing": "x", "remaining": 1}, "contractor 'A' has no work 'x'"),
    (
        {"done": ["a"], "doing": "a", "remaining": 1},
        "work 'a' is both done and being done; remove one",
    ),
    (
        {"doing": "a"},
        "found `remaining` 0 for work 'a'; expected the remaining steps, a whole number of at "
        "least 1",
    ),
    ({"doing": "a", "remaining": 1.5}, "found `remaining` 1.5 for work 'a'"),
    ({"doing": "a", "remaining": True}, "found `remaining` true for work 'a'"),
    ({"doing": "a", "remaining": "2"}, "found `remaining` '2' for work 'a'"),
    ({"remaining": 2}, "found `remaining` 2 but no work; give the work under `doing`"),
    ({"dne": ["a"]}, "the state of contractor 'A' has no part 'dne'; did you mean 'done'?"),
    ({"times": [1]}, "found times = [1]; expected work: [first step, last step]"),
    ({"times": {"a": 1}}, "expected work: [first step, last step]"),
    ({"times": {"a": [1, 2, 3]}}, "expected work: [first step, last step]"),
    ({"times": {"a": [0, 0.5]}, "done": ["a"]}, "expected work: [first step, last step]"),
    ({"times": {"x": [0, 1]}}, "contractor 'A' has no work 'x'"),
    ({"times": {"a": [0, 1]}}, "work 'a' has times but is neither done nor being done"),
    (None, "found null; expected what it has done and is doing"),
    (7, "found 7; expected what it has done and is doing"),
]


@pytest.mark.parametrize(("state", "words"), WRONG_STATES)
def test_states_that_make_no_sense_are_refused(state: Any, words: str) -> None:
    """A state that makes no sense is a ModelError that names the contractor and the fault."""
    problem = alone(Task("a", 2, 0), Task("b", 1, 0), horizon=4)
    if state is not None:  # as a start, None would mean the beginning
        with pytest.raises(ModelError) as caught:
            solve(problem, stage=1, state={"A": state})
        assert words in str(caught.value)
    with pytest.raises(ModelError) as caught:
        index_problem(problem).agents[0].states.find(1, state)
    assert words in str(caught.value)


def test_times_must_fit_the_steps_that_remain() -> None:
    """A task under way ends when its remaining steps are done."""
    problem = alone(Task("a", 3, 0), horizon=6)
    state = ContractorState((), "a", 2, {"a": (1, 5)})
    with pytest.raises(
        ModelError, match="found 5 as the last step of work 'a'; expected 3, since 2 steps"
    ):
        solve(problem, merge=False, stage=2, state={"A": state})


def test_a_text_is_no_list_of_tasks() -> None:
    """What is done is a list; a text would silently be taken letter by letter."""
    with pytest.raises(ModelError, match="found done = 'ab'; expected a list of works"):
        ContractorState("ab")  # type: ignore[arg-type]


def test_states_can_be_hashed_and_do_not_change() -> None:
    """A state made from lists and dictionaries is frozen all the same."""
    times = {"a": [0, 1]}
    state = ContractorState(["a"], None, 0, times)  # type: ignore[arg-type]
    times["a"][0] = 9
    assert state == ContractorState(("a",), times={"a": (0, 1)})
    assert hash(state) == hash(copy.deepcopy(state))
    assert repr(state) == "ContractorState(done=('a',), times={'a': (0, 1)})"


# -- from where people stand ------------------------------------------------------------------


@pytest.mark.parametrize("merge", [True, False])
def test_more_may_remain_than_the_task_can_take(merge: bool) -> None:
    """A contractor that is later than any delay of the model can be planned for."""
    a = Task("a", 2, 1, delay=Delay(0.5, 1), revenue=10)
    problem = alone(a, Task("b", 1, 1, revenue=5), horizon=8)
    state = {"A": ContractorState((), "a", 5)}
    result = solve(problem, stage=2, state=state, merge=merge)
    # 5 more steps to stage 6, then b at stage 7.
    assert agrees(result.value, (10 - 5) + (5 - 1))
    assert result.policy is not None
    assert agrees(result.policy.evaluate(), result.value)
    assert agrees(result.policy.evaluate("sequences"), result.value)
    assert solve(problem, stage=4, state=state, merge=merge).value == -4  # cut off


@pytest.mark.parametrize("merge", [True, False])
def test_what_breaks_must_complete_is_refused(merge: bool) -> None:
    """A situation from which not all can be done is an error that names the contractor."""
    tasks = (Task("a", 2, 1), Task("b", 1, 1, window=(0, 2)))
    problem = MaintenanceProblem(
        (Contractor("Fine", ()), Contractor("Late", tasks)), 5, must_complete=True
    )
    fine = {"Fine": ContractorState()}
    for state in (
        ContractorState((), "a", 2),  # b would have to start at 3
        ContractorState(("a",), "b", 5),
        ContractorState(("b",), "a", 5),
    ):
        with pytest.raises(
            ModelError,
            match=r"Late cannot finish all its works by step 4; plan more steps, widen a window",
        ):
            solve(problem, stage=1, state=fine | {"Late": state}, merge=merge)
    with pytest.raises(
        ModelError,
        match=r"Late cannot finish all its works by step 4; plan more steps, widen a window",
    ):
        solve(problem, stage=4, state=fine | {"Late": ContractorState(("b",))}, merge=merge)
    ok = solve(problem, stage=1, state=fine | {"Late": ContractorState((), "a", 1)}, merge=merge)
    assert agrees(ok.value, -2)


@given(raw=mpp_dicts(), data=st.data())
def test_any_situation_is_planned_for_as_the_judge_does(
    raw: dict[str, Any], data: st.DataObject
) -> None:
    """From states that the model itself would not lead to, the value is the judge's, if any."""
    stage = data.draw(st.integers(0, int(raw["horizon"]) - 1))
    state = []
    for agent in raw["agents"]:
        names = [task["name"] for task in agent["tasks"]]
        todo = frozenset(name for name in names if data.draw(st.booleans()))
        started = [name for name in names if name not in todo]
        doing = data.draw(st.sampled_from([None, *started]))
        state.append((todo, doing, data.draw(st.integers(1, 6)) if doing else 0))
    joint_state = tuple(state)
    merge = data.draw(st.booleans())
    try:
        expected = judge.mpp_value(raw, stage, joint_state)
    except ValueError:
        with pytest.raises(ModelError, match="cannot finish all its works by step "):
            solve(read(raw), stage=stage, state=package_state(raw, joint_state), merge=merge)
        return
    result = solve(read(raw), stage=stage, state=package_state(raw, joint_state), merge=merge)
    assert agrees(result.value, expected)


# -- the translation --------------------------------------------------------------------------


def test_names_and_features_of_states() -> None:
    """States have names that people can read, and features that rewards can speak of."""
    problem = alone(Task("a", 2, 1, delay=Delay(0.5, 1)), Task("b", 1, 1), horizon=9)
    agent = problem.to_timmdp().agents[0]
    assert agent.initial == "idle/to do a/to do b"
    assert set(agent.states) == {
        "idle/to do a/to do b",
        *("a, 1 left", "a, 2 left", "a, 1 left/to do b", "a, 2 left/to do b"),
        *("idle/to do a", "idle/to do b", "finished"),
    }
    assert dict(agent.transitions["idle/to do a"]["start a"]) == {
        "a, 1 left": 0.5,
        "a, 2 left": 0.5,
    }
    assert dict(agent.transitions["a, 2 left/to do b"]) == {"continue": {"a, 1 left/to do b": 1.0}}
    assert agent.features["a, 2 left/to do b"] == {
        "status a": "under way",
        "may work on a": True,
        "status b": "to do",
        "working on": "a",
        "remaining": 2,
    }
    assert agent.features["idle/to do b"] == {
        "status a": "done",
        "status b": "to do",
        "may work on b": True,
    }
    assert agent.features["finished"] == {"status a": "done", "status b": "done"}


def test_names_and_features_of_histories() -> None:
    """With history, states also tell the stage and the times of all works."""
    agent = alone(Task("a", 1, 1), Task("b", 2, 1), horizon=3).to_timmdp(history=True).agents[0]
    name = "stage 2/b, 1 left/a from 0 to 0/b from 1 to 2"
    assert agent.features[name] == {
        "status a": "done",
        "status b": "under way",
        "may work on b": True,
        "working on": "b",
        "remaining": 1,
        "stage": 2,
    }
    assert dict(agent.transitions[name]) == {
        "continue": {"stage 3/finished/a from 0 to 0/b from 1 to 2": 1.0}
    }


@pytest.mark.parametrize(
    ("task", "must_complete", "staged"),
    [
        (Task("a", 2, 1), False, False),
        (Task("a", 2, (1, 2, 3, 4)), False, False),
        (Task("a", 2, 1, window=(0, 3)), False, False),
        (Task("a", 2, 1, window=(0, 99)), False, False),
        (Task("a", 2, 1, window=(0, 2)), False, True),
        (Task("a", 2, 1, window=(1, 3)), False, True),
        (Task("a", 2, 1), True, True),
    ],
)
def test_stages_are_in_the_states_only_where_needed(
    task: Task, must_complete: bool, staged: bool
) -> None:
    """States are told apart by stage only where their actions depend on it, agent by agent."""
    problem = MaintenanceProblem(
        (Contractor("A", (task,)), Contractor("B")), 4, must_complete=must_complete
    )
    agent, other = problem.to_timmdp().agents
    assert all(name.startswith("stage ") == staged for name in agent.states)
    assert all(("stage" in own) == staged for own in agent.features.values())
    assert other.states == ("finished",)


def local_counts(problem: MaintenanceProblem | TIMMDP) -> list[list[int]]:
    """How many local states each agent can reach at each stage."""
    graphs = compile_problem(problem, merge=False).graphs
    return [
        [int(after - before) for before, after in itertools.pairwise(graphs.layer_begin(i))]
        for i in range(len(compile_problem(problem, merge=False).indexed.agents))
    ]


@given(raw=mpp_dicts())
def test_the_translation_is_the_same_problem(raw: dict[str, Any]) -> None:
    """Conditions in numbers and in features agree: equal values and numbers of local states."""
    problem = read(raw)
    expected = judge.optimal_value(raw)
    for history in (False, True):
        translated = problem.to_timmdp(history=history)
        assert translated.horizon == problem.horizon
        assert translated.name == problem.name
        assert len(translated.rewards) == len(problem.contractors) + len(problem.network)
        assert agrees(solve(translated).value, expected)
        graphs = compile_problem(translated, merge=False)
        indexed = index_maintenance(problem, history=history)
        for i, agent in enumerate(indexed.agents):
            # What can be reached, by the choices in numbers.
            layer = {agent.start}
            counts = []
            for stage in range(problem.horizon + 1):
                counts.append(len(layer))
                layer = {
                    after
                    for state in layer
                    for choice in agent.choices(stage, state).values()
                    for _, after, _ in agent.outcomes(choice)
                }
            begin = graphs.graphs.layer_begin(i)
            assert [int(b - a) for a, b in itertools.pairwise(begin)] == counts
    assert local_counts(problem) == local_counts(problem.to_timmdp(history=True))


@given(raw=mpp_dicts())
def test_reachable_states_are_the_judges(raw: dict[str, Any]) -> None:
    """Without times, an agent's reachable states at every stage are those of the judge."""
    indexed = index_maintenance(read(raw))
    by_stage = judge.local_states(raw)
    for i, agent in enumerate(indexed.agents):
        layer = {agent.start}
        for stage, judged in enumerate(by_stage):
            found = {
                (
                    frozenset(t["name"] for t in raw["agents"][i]["tasks"])
                    - set(value.done)
                    - {value.doing},
                    value.doing,
                    value.remaining,
                )
                for value in (agent.states.value(state) for state in layer)
            }
            assert found == set(judged[i])
            layer = {
                after
                for state in layer
                for choice in agent.choices(stage, state).values()
                for _, after, _ in agent.outcomes(choice)
            }


# -- what is refused --------------------------------------------------------------------------


def problem_of(task: Task | None = None, **changes: Any) -> MaintenanceProblem:
    """A problem of two contractors with some part changed."""
    parts: dict[str, Any] = {
        "contractors": (
            Contractor("A", (task or Task("a", 1, 1),)),
            Contractor("B", (Task("b", 1, 1), Task("c", 1, 1))),
        ),
        "horizon": 4,
    }
    return MaintenanceProblem(**(parts | changes))


TASK = "agents[0].tasks[0]"
WRONG: list[tuple[Callable[[], object], str, str]] = [
    (lambda: problem_of(Task("", 1, 1)), f"{TASK}.name", "expected the name of the work"),
    (lambda: problem_of(Task("x/y", 1, 1)), f"{TASK}.name", "expected a name without '/'"),
    (lambda: problem_of(Task("a", 0, 1)), f"{TASK}.duration", "found 0; expected the duration"),
    (lambda: problem_of(Task("a", 1.5, 1)), f"{TASK}.duration", "found 1.5"),  # type: ignore[arg-type]
    (lambda: problem_of(Task("a", 1, math.nan)), f"{TASK}.cost", "found nan; expected the cost"),
    (lambda: problem_of(Task("a", 1, "1")), f"{TASK}.cost", "found '1'; expected the cost"),  # type: ignore[arg-type]
    (
        lambda: problem_of(Task("a", 1, (1, 2, 3))),
        f"{TASK}.cost",
        "found a list of 3 numbers; expected one for each of the 4 steps",
    ),
    (lambda: problem_of(Task("a", 1, (1, 2, None, 4))), f"{TASK}.cost[2]", "found null"),  # type: ignore[arg-type]
    (lambda: problem_of(Task("a", 1, 1, revenue=math.inf)), f"{TASK}.revenue", "found inf"),
    (lambda: problem_of(Task("a", 1, 1, delay=Delay(1.5, 1))), f"{TASK}.delay.probability", "1.5"),
    (
        lambda: problem_of(Task("a", 1, 1, delay=Delay(-0.5, 1))),
        f"{TASK}.delay.probability",
        "-0.5",
    ),
    (lambda: problem_of(Task("a", 1, 1, delay=Delay(0.5, 0))), f"{TASK}.delay.duration", "found 0"),
    (lambda: problem_of(Task("a", 1, 1, delay=(0.5, 1))), f"{TASK}.delay", "expected a Delay"),  # type: ignore[arg-type]
    (lambda: problem_of(Task("a", 1, 1, window=(3, 2))), f"{TASK}.window", "3 is after the last"),
    (lambda: problem_of(Task("a", 1, 1, window=(-1, 2))), f"{TASK}.window[0]", "found -1"),
    (lambda: problem_of(Task("a", 1, 1, window=(1,))), f"{TASK}.window", "[first step, last"),  # type: ignore[arg-type]
    (lambda: problem_of(Task("a", 1, 1, window=3)), f"{TASK}.window", "found 3; expected"),  # type: ignore[arg-type]
    (lambda: problem_of(horizon=0), "horizon", "found 0; expected the number of steps"),
    (lambda: problem_of(name=None), "name", "found null; expected a text"),
    (lambda: problem_of(must_complete=1), "must_complete", "found 1; expected true or false"),
    (lambda: problem_of(contractors=()), "agents", "found no contractors"),
    (lambda: problem_of(contractors=3), "agents", "found 3; expected contractors"),
    (lambda: problem_of(contractors=("A",)), "agents[0]", "an object of the class Contractor"),
    (lambda: problem_of(contractors=(Contractor("A/B"),)), "agents[0].name", "without '/'"),
    (lambda: problem_of(contractors=(Contractor(["A"]),)), "agents[0].name", "found ['A']"),  # type: ignore[arg-type]
    (lambda: problem_of(contractors=(Contractor("A"),) * 2), "agents[1].name", "is listed twice"),
    (
        lambda: problem_of(contractors=(Contractor("A", (Task("a", 1, 1),) * 2),)),
        "agents[0].tasks[1].name",
        "work 'a' is listed twice",
    ),
    (lambda: Contractor("A", (3,)), "tasks[0]", "an object of the class Task"),  # type: ignore[arg-type]
    (lambda: Hindrance("A/a", 1), "tasks", "found 'A/a'; expected a list"),  # type: ignore[arg-type]
    (lambda: problem_of(network=(3,)), "network[0]", "an object of the class Hindrance"),
    (
        lambda: problem_of(network=(Hindrance(("A/a",), 1),)),
        "network[0].tasks",
        "found one work; expected two",
    ),
    (
        lambda: problem_of(network=(Hindrance(("A/a", "B"), 1),)),
        "network[0].tasks[1]",
        "found 'B'; expected 'contractor/work'",
    ),
    (
        lambda: problem_of(network=(Hindrance(("A/a", "C/b"), 1),)),
        "network[0].tasks[1]",
        "the problem has no contractor 'C'",
    ),
    (
        lambda: problem_of(network=(Hindrance(("A/a", "B/x"), 1),)),
        "network[0].tasks[1]",
        "contractor 'B' has no work 'x'",
    ),
    (
        lambda: problem_of(network=(Hindrance(("B/b", "B/c"), 1),)),
        "network[0].tasks[1]",
        "contractor 'B' has two works in this entry",
    ),
    (
        lambda: problem_of(network=(Hindrance(("A/a", "B/c"), (1, 2)),)),
        "network[0].cost",
        "found a list of 2 numbers",
    ),
]


@pytest.mark.parametrize(("make", "place", "words"), WRONG)
def test_problems_that_make_no_sense_are_refused(
    make: Callable[[], object], place: str, words: str
) -> None:
    """Each mistake is a ModelError that names its place and what is wrong."""
    with pytest.raises(ModelError) as caught:
        make()
    (problem,) = caught.value.problems
    assert problem.place == place
    assert words in problem.message


@given(raw=mpp_dicts())
def test_problems_can_be_pickled_compared_and_hashed(raw: dict[str, Any]) -> None:
    """Pickles and copies are equal and hash alike, and nothing can be set."""
    problem = read(raw)
    for other in (pickle.loads(pickle.dumps(problem)), copy.deepcopy(problem), read(raw)):
        assert other == problem
        assert hash(other) == hash(problem)
    parts: list[Any] = [problem, *problem.contractors, *problem.network]
    for part in parts:
        for each in dataclasses.fields(part):
            with pytest.raises(dataclasses.FrozenInstanceError):
                setattr(part, each.name, None)


def test_contractors_are_found_by_name() -> None:
    """A problem gives its contractors by name."""
    problem = problem_of()
    assert problem.contractor("B") is problem.contractors[1]
    with pytest.raises(ModelError, match="the problem has no contractor 'C'"):
        problem.contractor("C")
