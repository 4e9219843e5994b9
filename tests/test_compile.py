"""Compiled problems: how large they get, what an agent can still take part in, what is refused."""

from __future__ import annotations

import itertools
import math
from typing import Any

import pytest
from hypothesis import given

import judge
from coreplan import (
    TIMMDP,
    Agent,
    Condition,
    Contractor,
    Entry,
    LimitError,
    MaintenanceProblem,
    ModelError,
    RewardFunction,
    Task,
    solve,
)
from coreplan.solving import AgentSize, compile_problem
from coreplan.solving.limits import Limits
from helpers import from_file
from strategies import mpp_dicts, timmdp_dicts

# -- sizes ------------------------------------------------------------------------------------


def forked(second: float = 10.0, chance: float = 0.5) -> TIMMDP:
    """From s to u or v, from both to x or y; u earns 10 if it gets to x, v if it gets to y."""
    law = {"x": 0.5, "y": 0.5}
    agent = Agent(
        "a",
        "s",
        {
            "s": {"up": {"u": 1}, "down": {"v": 1}},
            "u": {"go": law},
            "v": {"run": {"x": chance, "y": 1 - chance}},
        },
    )
    earn = (
        Entry({"a": Condition(state="u", next="x")}, 10),
        Entry({"a": Condition(state="v", next="y")}, second),
    )
    return TIMMDP((agent,), (RewardFunction(("a",), earn),), 2)


def test_states_that_are_equal_in_expectation_merge() -> None:
    """Two states merge if they earn the same in expectation, though by different outcomes."""
    merged = compile_problem(forked())
    # s, u, v, x and y; u and v are one, and so are x and y, since nothing comes after them.
    assert merged.sizes == (AgentSize("a", states=5, unrolled=5, transitions=6, merged=3),)
    assert merged.joint_states == 2
    unmerged = compile_problem(forked(), merge=False)
    assert unmerged.sizes == (AgentSize("a", states=5, unrolled=5, transitions=6, merged=5),)
    assert unmerged.joint_states == 3
    assert solve(forked()).value == solve(forked(), merge=False).value == 5
    assert "5 unrolled, 3 merged; joint states: 2" in str(merged)
    assert "5 unrolled; joint states: 3" in str(unmerged)


@pytest.mark.parametrize("problem", [forked(second=11.0), forked(chance=0.75)])
def test_states_that_differ_in_expectation_do_not_merge(problem: TIMMDP) -> None:
    """Two states stay apart if they earn different amounts."""
    assert compile_problem(problem).sizes[0].merged == 4
    assert solve(problem).value == solve(problem, merge=False).value


def test_what_happens_later_counts_too() -> None:
    """States that earn the same now but lead to different futures stay apart."""
    table = {
        "s": {"up": {"u": 1}, "down": {"v": 1}},
        "u": {"go": {"x": 1}},
        "v": {"go": {"y": 1}},
        "x": {"go": {"x": 1}},
        "y": {"go": {"y": 1}},
    }
    later = Entry({"a": Condition(state="x")}, 1, (2,))
    problem = TIMMDP((Agent("a", "s", table),), (RewardFunction(("a",), (later,)),), 3)
    # s | u, v | x, y | one class at the horizon
    assert compile_problem(problem).sizes[0].merged == 6
    free = TIMMDP((Agent("a", "s", table),), (), 3)
    assert compile_problem(free).sizes[0].merged < 6


def test_states_that_interact_differently_do_not_merge() -> None:
    """Two states stay apart if only one of them can take part in an interaction."""
    table = {"s": {"up": {"u": 1}, "down": {"v": 1}}, "u": {"go": {"u": 1}}, "v": {"go": {"v": 1}}}
    other = Agent("b", "s", {"s": {"go": {"s": 1}, "rest": {"s": 1}}})
    for both, classes in ((("u", "v"), 3), (("u",), 4)):
        meet = Entry({"a": Condition(state=both), "b": Condition(action="go")}, 1)
        problem = TIMMDP((Agent("a", "s", table), other), (RewardFunction(("a", "b"), (meet,)),), 2)
        compiled = compile_problem(problem)
        assert compiled.sizes[0].merged == classes
        assert compiled.interactions == 1


def test_sizes_of_a_maintenance_problem() -> None:
    """A contractor's states are counted with and without start and end times."""
    problem = MaintenanceProblem((Contractor("A", (Task("a", 2, 3, revenue=20),)),), 4)
    merged = compile_problem(problem).sizes[0]
    # idle at stages 0..4, one left at 1..4, finished at 2..4
    assert (merged.states, merged.unrolled) == (3, 5 + 4 + 3)
    # With times: idle (5), one left by the stage of the start (4), finished likewise and by stage.
    unmerged = compile_problem(problem, merge=False).sizes[0]
    assert unmerged.unrolled == 5 + 4 + (3 + 2 + 1)
    assert unmerged.merged == unmerged.unrolled == unmerged.states


@given(raw=timmdp_dicts())
def test_joint_states_of_a_timmdp_are_the_judges(raw: dict[str, Any]) -> None:
    """Unmerged, the number of joint states is what counting them all gives; merging adds none."""
    problem = from_file(raw)
    unmerged = compile_problem(problem, merge=False)
    assert unmerged.joint_states == judge.count_joint_states(raw)
    merged = compile_problem(problem)
    assert merged.joint_states <= unmerged.joint_states
    for size, full in zip(merged.sizes, unmerged.sizes, strict=True):
        assert 1 <= size.merged <= size.unrolled == full.merged == full.unrolled
        assert size.transitions == full.transitions
        assert size.states == full.states


@given(raw=mpp_dicts())
def test_joint_states_of_an_mpp_are_the_judges(raw: dict[str, Any]) -> None:
    """Translated without times, unmerged, an MPP has as many joint states as the judge counts."""
    problem = from_file(raw)
    assert isinstance(problem, MaintenanceProblem)
    count = judge.count_joint_states(raw)
    assert compile_problem(problem.to_timmdp(), merge=False).joint_states == count
    assert compile_problem(problem).joint_states <= count
    assert compile_problem(problem, merge=False).joint_states >= count


def test_joint_states_beyond_all_whole_numbers_are_counted_roughly() -> None:
    """The number of joint states of a large team is a float, not an overflow."""
    table = {"s": {"go": {"s": 0.5, "t": 0.5}}, "t": {"go": {"s": 0.5, "t": 0.5}}}
    agents = tuple(Agent(f"a{i}", "s", table) for i in range(500))
    assert compile_problem(TIMMDP(agents, (), 3), merge=False).joint_states == pytest.approx(
        1 + 2 * 2.0**500
    )


# -- what an agent can still take part in -----------------------------------------------------


def runs(problem: TIMMDP, agent: int, *, merge: bool = False) -> list[list[int]]:
    """Per stage and class: the runs of stages in which the agent can still take part."""
    compiled = compile_problem(problem, merge=merge)
    counts = compiled.model.remaining_signal_counts(agent, Limits().monitor)
    begin = compiled.model.layer_begin(agent)
    assert len(counts) == compiled.model.class_count(agent)
    return [counts[a:b].tolist() for a, b in itertools.pairwise(begin)]


def meeting(stages: tuple[int, ...] | None, value: float = 1.0) -> TIMMDP:
    """Two agents that can meet at some stages, until the first one has left."""
    leaver = Agent(
        "a",
        "in",
        {"in": {"stay": {"in": 1}, "leave": {"out": 1}}, "out": {"stay": {"out": 1}}},
    )
    other = Agent("b", "s", {"s": {"go": {"s": 1}, "rest": {"s": 1}}})
    meet = {"a": Condition(state="in", action="stay"), "b": Condition(action="go")}
    return TIMMDP(
        (leaver, other), (RewardFunction(("a", "b"), (Entry(meet, value, stages),)),), horizon=4
    )


def test_an_agent_can_take_part_until_it_has_left() -> None:
    """Before the horizon there is one run for who is in, none for who is out, and none after."""
    assert runs(meeting(None), 0) == [[1], [1, 0], [1, 0], [1, 0], [0, 0]]
    assert runs(meeting(None), 1) == [[1], [1], [1], [1], [0]]


def test_stages_apart_are_runs_apart() -> None:
    """Stages 0, 1 and 3 are two runs, of which one is left from stage 2 on."""
    assert runs(meeting((0, 1, 3)), 1) == [[2], [2], [1], [1], [0]]


@given(raw=timmdp_dicts())
def test_what_is_left_to_take_part_in(raw: dict[str, Any]) -> None:
    """At the horizon nothing is left, and without interactions nothing ever was."""
    problem = from_file(raw)
    assert isinstance(problem, TIMMDP)
    interactions = compile_problem(problem).interactions
    for agent, merge in itertools.product(range(len(problem.agents)), (True, False)):
        counts = runs(problem, agent, merge=merge)
        assert len(counts) == problem.horizon + 1
        assert set(counts[-1]) == {0}
        if interactions == 0:
            assert all(set(layer) == {0} for layer in counts)


# -- what is refused --------------------------------------------------------------------------


@pytest.mark.parametrize("stage", [-1, 2, 0.0, "0", True, None])
def test_stages_out_of_range_are_refused(stage: Any) -> None:
    """Planning starts at a whole stage before the horizon."""
    with pytest.raises(ModelError, match="expected a whole number from 0 to 1"):
        compile_problem(forked(), stage=stage)


def test_a_state_without_actions_is_refused_where_it_is_met() -> None:
    """From a state that has no action, nothing can be planned; the error says who, where, when."""
    said = "agent 'a' has no action in state 'x', which it can reach at stage 1; add an action"
    with pytest.raises(ModelError, match=said):
        compile_problem(forked(), stage=1, state={"a": "x"})
    assert compile_problem(forked(), stage=1, state={"a": "v"}).sizes[0].unrolled == 3


def test_what_does_not_fit_into_memory_is_refused() -> None:
    """A limit that strikes while compiling is a LimitError that says which."""
    tasks = tuple(Task(f"t{k}", 1, 1) for k in range(12))
    problem = MaintenanceProblem((Contractor("A", tasks),), 50)
    with pytest.raises(LimitError) as caught:
        compile_problem(problem, limits=Limits(memory_limit=1))
    assert caught.value.reason == "memory_limit"
    assert math.isfinite(compile_problem(problem).joint_states)
