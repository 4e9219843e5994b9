"""Tests of the judge on cases computed by hand, and of the judge against enumeration."""

from __future__ import annotations

import itertools
import json
import math
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from judge import (
    Joint,
    JointAction,
    Mpp,
    Problem,
    available_actions,
    count_joint_states,
    count_joint_transitions,
    greedy_policy,
    infeasible_agents,
    joint_states,
    model_of,
    mpp_feasible,
    mpp_value,
    optimal_value,
    optimal_values,
    policy_value,
    same_feature_value,
    timmdp_value,
)
from strategies import (
    MAX_WORK,
    infeasible_mpp_dicts,
    mpp_dicts,
    problem_dicts,
    timmdp_dicts,
)

examples = settings(max_examples=100, deadline=None)
fewer_examples = settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow],
)


def near(value: float) -> Any:
    """Compare up to rounding, for values made of numbers up to 1e6."""
    return pytest.approx(value, rel=1e-9, abs=1e-7)


def two_robots() -> Problem:
    """Return the example of the format's description."""
    return {
        "format": "ti-mmdp/1",
        "name": "two robots",
        "horizon": 3,
        "agents": [
            {
                "name": "r1",
                "initial": "s0",
                "transitions": {
                    "s0": {"go": {"s1": 0.8, "s0": 0.2}, "wait": {"s0": 1}},
                    "s1": {"wait": {"s1": 1}},
                },
                "features": {"s1": {"done": True}},
            },
            {
                "name": "r2",
                "initial": "u0",
                "transitions": {
                    "u0": {"go": {"u1": 1}, "wait": {"u0": 1}},
                    "u1": {"wait": {"u1": 1}},
                },
            },
        ],
        "rewards": [
            {
                "scope": ["r1"],
                "entries": [
                    {"when": {"r1": {"action": "go"}}, "value": -1},
                    {"when": {"r1": {"action": "go", "next": {"done": True}}}, "value": 10},
                ],
            },
            {
                "scope": ["r1", "r2"],
                "entries": [
                    {
                        "when": {"r1": {"action": "go", "next": "s1"}, "r2": {"action": "go"}},
                        "value": -5,
                        "stages": [0, 1],
                    }
                ],
            },
        ],
    }


def coins(entries: list[dict[str, Any]], horizon: int = 1, **extra: Any) -> Problem:
    """Return a problem of two agents, "x" and "y", with one action: flip a fair coin."""
    flip = {"flip": {"heads": 0.5, "tails": 0.5}}
    agents = [
        {"name": name, "initial": "heads", "transitions": {"heads": flip, "tails": flip}, **extra}
        for name in ("x", "y")
    ]
    return {
        "format": "ti-mmdp/1",
        "horizon": horizon,
        "agents": agents,
        "rewards": [{"scope": ["x", "y"], "entries": entries}],
    }


def mpp(horizon: int, *tasks: dict[str, Any] | list[dict[str, Any]], **extra: Any) -> Problem:
    """Return a maintenance problem; agents are "A", "B", ..., each with a task or a list."""
    agents = [
        {"name": name, "tasks": own if isinstance(own, list) else [own]}
        for name, own in zip("ABCD", tasks, strict=False)
    ]
    return {"format": "mpp/1", "horizon": horizon, "agents": agents, **extra}


# ------------------------------------------------------------------------- ti-mmdp/1, by hand


def test_two_robots() -> None:
    """The example of the format's description is worth 8.68."""
    # r2 gains nothing by going, so it waits.  For r1 in s0, a try is worth -1 + 0.8 * 10 = 7 and
    # leaves it in s0 with 0.2: V1 = 7, V2 = 7 + 0.2 * 7 = 8.4, V3 = 7 + 0.2 * 8.4 = 8.68.
    assert optimal_value(two_robots()) == near(8.68)
    assert timmdp_value(two_robots(), 1, ("s0", "u0")) == near(8.4)
    assert timmdp_value(two_robots(), 2, ("s0", "u1")) == near(7)
    assert timmdp_value(two_robots(), 1, ("s1", "u0")) == 0
    assert timmdp_value(two_robots(), 3, ("s0", "u0")) == 0


def test_two_robots_with_a_stage_to_avoid_the_interaction() -> None:
    """With 3 for r2 to go, r2 waits for stage 2, where the interaction does not apply."""
    # 8.68 for r1 as before, plus 3 at stage 2 free of the interaction.
    problem = two_robots()
    problem["rewards"].append(
        {"scope": ["r2"], "entries": [{"when": {"r2": {"action": "go"}}, "value": 3}]}
    )
    assert optimal_value(problem) == near(11.68)


def test_two_robots_react_to_each_other() -> None:
    """If the interaction applies in all stages, r2 goes once it sees that r1 has arrived."""
    # Stage 2, (s0, u0): r1 alone 7; both 7 + 3 - 0.8 * 5 = 6; r2 alone 3: so 7.  (s1, u0): 3.
    # Stage 1, (s0, u0): r1 alone 7 + 0.8 * 3 + 0.2 * 7 = 10.8; both 6 + 0.2 * 7 = 7.4;
    #   r2 alone 3 + 7 = 10; so 10.8.  (s0, u1): 8.4.  (s1, u0): 3.
    # Stage 0: r1 alone 7 + 0.8 * 3 + 0.2 * 10.8 = 11.56; r2 alone 3 + 8.4 = 11.4;
    #   both 6 + 0.2 * 8.4 = 7.68; none 10.8.
    problem = two_robots()
    del problem["rewards"][1]["entries"][0]["stages"]
    problem["rewards"].append(
        {"scope": ["r2"], "entries": [{"when": {"r2": {"action": "go"}}, "value": 3}]}
    )
    assert optimal_value(problem) == near(11.56)


def test_outcome_dependent_interaction() -> None:
    """An interaction on the next states is weighed with the probability of both outcomes."""
    # Both heads: 0.25 * 8 = 2; x heads and y tails: 0.25 * -4 = -1; per flip 1, three flips 3.
    entries = [
        {"when": {"x": {"next": "heads"}, "y": {"next": "heads"}}, "value": 8},
        {"when": {"x": {"next": ["heads"]}, "y": {"next": ["tails"]}}, "value": -4},
    ]
    assert optimal_value(coins(entries, horizon=3)) == near(3)


def test_overlapping_entries_stages_and_missing_parts() -> None:
    """All matching entries count; parts, agents and stages that are not given match anything."""
    # 1 in all 4 stages: 4.  10 in stages 0 and 3 (a list, not a range): 20.  Empty condition for x:
    # 100 in all 4 stages: 400.  y in heads: stage 0 for sure, then half: 1000 * 2.5 = 2500.
    # Together 2924.
    entries: list[dict[str, Any]] = [
        {"value": 1},
        {"when": {}, "value": 10, "stages": [0, 3.0]},
        {"when": {"x": {}}, "value": 100},
        {"when": {"y": {"state": ["heads"], "action": ["flip"]}}, "value": 1000},
    ]
    assert optimal_value(coins(entries, horizon=4)) == near(2924)


def test_features() -> None:
    """In features true is not 1, 1 equals 1.0, all must be equal, a missing one does not match."""
    # Heads has {up: true, n: 1}, tails has {n: 0}; one flip of x, heads with probability 0.5:
    # 1 counts (0.5); 10 does not (1 is not true); 100 counts (50); 1000 does not (n differs);
    # 10000 counts for neither (tails has no `up`); 100000 does not (0 is not false).  Sum 50.5.
    entries = [
        {"when": {"x": {"next": {"up": True}}}, "value": 1},
        {"when": {"x": {"next": {"up": 1}}}, "value": 10},
        {"when": {"x": {"next": {"up": True, "n": 1.0}}}, "value": 100},
        {"when": {"x": {"next": {"up": True, "n": 2}}}, "value": 1000},
        {"when": {"x": {"next": {"up": False}}}, "value": 10000},
        {"when": {"x": {"next": {"n": False}}}, "value": 100000},
    ]
    features = {"heads": {"up": True, "n": 1}, "tails": {"n": 0}}
    assert optimal_value(coins(entries, features=features)) == near(50.5)


def test_feature_values_by_type() -> None:
    """Feature values are equal if they are the same boolean, number or string."""
    assert same_feature_value(True, True)
    assert same_feature_value(1, 1.0)
    assert same_feature_value("1", "1")
    assert not same_feature_value(True, 1)
    assert not same_feature_value(1.0, True)
    assert not same_feature_value(False, 0)
    assert not same_feature_value(True, False)
    assert not same_feature_value("1", 1)
    assert not same_feature_value("true", True)


def test_impossible_outcomes_and_probabilities_as_they_are() -> None:
    """An outcome of probability 0 needs no action, and probabilities are not normalised."""
    # Stage 0: go gives 0.25 + 0.75000000025 = 1.00000000025 times (1 + the value of stage 1); stage
    # 1 in "t": 1 for its own action.  So 1.00000000025 * 2.
    problem: Problem = {
        "format": "ti-mmdp/1",
        "horizon": 2.0,
        "agents": [
            {
                "name": "only",
                "initial": "s",
                "transitions": {
                    "s": {"go": {"t": 0.25, "u": 0.75000000025, "nowhere": 0}},
                    "t": {"stay": {"dead end": 1}},
                    "u": {"stay": {"dead end": 1}},
                },
            }
        ],
        "rewards": [{"scope": ["only"], "entries": [{"value": 1}]}],
    }
    assert optimal_value(problem) == pytest.approx(2.0000000005, rel=1e-14)
    assert list(joint_states(problem)) == [(0, ("s",)), (1, ("t",)), (1, ("u",))]


def test_no_rewards() -> None:
    """A problem without rewards is worth 0."""
    problem = two_robots()
    del problem["rewards"]
    assert optimal_value(problem) == 0


def test_reachable_joint_states_of_two_robots() -> None:
    """The two robots have 1 joint state at stage 0 and 4 at each of the stages 1 and 2."""
    assert count_joint_states(two_robots()) == 9
    assert set(joint_states(two_robots())) == {
        (0, ("s0", "u0")),
        *((t, (s, u)) for t in (1, 2) for s in ("s0", "s1") for u in ("u0", "u1")),
    }
    # Local transitions per stage: r1 3 in s0, 1 in s1; r2 2 in u0, 1 in u1.
    # So 3 * 2 = 6 at stage 0 and (3 + 1) * (2 + 1) = 12 at each of the others.
    assert count_joint_transitions(two_robots()) == 30


# ----------------------------------------------------------------------------- mpp/1, by hand


def reacting() -> Problem:
    """Return a problem: a task of A that may be delayed into the stage in which B would work."""
    return mpp(
        2,
        {
            "name": "a",
            "duration": 1,
            "delay": {"probability": 0.5, "duration": 1},
            "revenue": 10,
            "cost": 1,
        },
        {"name": "b", "duration": 1, "revenue": 4, "cost": 0},
        network=[{"tasks": ["A/a", "B/b"], "cost": 6}],
    )


def test_the_best_plan_reacts_to_a_delay() -> None:
    """B starts at stage 1 only if A turns out not to be delayed."""
    # A at stage 0: 10 - 1 - 0.5 * 1 = 8.5.  B at stage 1: 4 without a delay, 4 - 6 < 0 with one, so
    # it then does nothing: 0.5 * 4 = 2.  Together 10.5.  The alternatives: B at 0 and A at 1 gives
    # 4 + (0.5 * 10 - 1) = 8; both at 0 gives 8.5 + 4 - 6 = 6.5.
    assert optimal_value(reacting()) == near(10.5)


def test_value_of_a_plan_that_does_not_react() -> None:
    """The policy that starts B at stage 1 in any case is worth 9.5."""
    # 8.5 + 4 - 0.5 * 6 = 9.5.

    def act(stage: int, joint: Joint) -> JointAction:
        if stage == 0:
            return ("start a", "wait")
        return ("wait" if joint[0] == (frozenset(), None, 0) else "continue", "start b")

    assert policy_value(reacting(), act) == near(9.5)


def test_policy_value_refuses_unavailable_actions() -> None:
    """A policy that waits while it has to continue is refused."""
    with pytest.raises(ValueError, match="not available"):
        policy_value(reacting(), lambda stage, _: ("wait" if stage else "start a", "wait"))


def test_values_of_joint_states_of_an_mpp() -> None:
    """The value from a later joint state counts only what is still to come."""
    # From stage 1: A delayed with one step to go earns 10 - 1 = 9, and B leaves its task.
    late: Joint = ((frozenset(), "a", 1), (frozenset({"b"}), None, 0))
    on_time: Joint = ((frozenset(), None, 0), (frozenset({"b"}), None, 0))
    assert mpp_value(reacting(), 1, late) == near(9)
    assert mpp_value(reacting(), 1, on_time) == near(4)
    assert available_actions(reacting(), 1, late) == [["continue"], ["wait", "start b"]]


def test_must_complete_forces_work() -> None:
    """A task that only costs is left undone, unless it must be completed."""
    # Undone: 0.  Done at the cheaper of costs 5 and 1: -1.
    task = {"name": "a", "duration": 1, "cost": [5, 1]}
    assert optimal_value(mpp(2, task)) == 0
    assert optimal_value(mpp(2, task, must_complete=True)) == near(-1)


def test_must_complete_counts_possible_delays_only() -> None:
    """A possible delay forbids the late start; a delay of probability 0 does not."""
    # With the delay the task has to start at stage 0: -5 - 0.1 * 1 = -5.1.  With probability 1:
    # -5 - 1 = -6.  With probability 0 it starts at stage 1: -1.
    task = {"name": "a", "duration": 1, "cost": [5, 1]}
    expected = {0.1: -5.1, 1: -6, 0: -1}
    for probability, value in expected.items():
        delayed = {**task, "delay": {"probability": probability, "duration": 1}}
        assert optimal_value(mpp(2, delayed, must_complete=True)) == near(value)


def test_must_complete_restricts_the_order() -> None:
    """Windows and delays leave one order of the tasks."""
    # h = 4.  "a" takes 1 or, with 0.5, 2 steps; "b" takes 2 steps and may start until stage 2.
    # Order a, b: "a" ends before stage 2 at the latest if it starts at 0; then "b" fits (2 and 3).
    # Order b, a: "b" at stages 0 and 1, "a" at 2 (and 3): fits too.  "a" at stage 1 after waiting,
    # delayed, would put "b" at stage 3: too late.  Costs of "a" are 1, 0, 8, 8 and of "b" 0.
    # Order a, b: -1 - 0.5 * 0 = -1.  Order b, a: at least -8.  "a" at 1 would be 0 - 0.5 * 8 = -4.
    first = {
        "name": "a",
        "duration": 1,
        "cost": [1, 0, 8, 8],
        "delay": {"probability": 0.5, "duration": 1},
    }
    second = {"name": "b", "duration": 2, "cost": 0, "window": [0, 2]}
    problem = mpp(4, [first, second], must_complete=True)
    assert optimal_value(problem) == near(-1)
    start = ((frozenset({"a", "b"}), None, 0),)
    assert available_actions(problem, 0, start) == [["start a", "start b"]]
    # On time, with "a" done at stage 1, "b" may start at once or at stage 2, not later.
    assert available_actions(problem, 1, ((frozenset({"b"}), None, 0),)) == [["wait", "start b"]]
    assert available_actions(problem, 2, ((frozenset({"b"}), None, 0),)) == [["start b"]]
    assert available_actions(problem, 3, ((frozenset({"b"}), None, 0),)) == [[]]


def test_infeasible_problem() -> None:
    """If the tasks of an agent do not fit, the problem is infeasible and has no value."""
    # A: 2 + 1 steps in 3 stages fit.  B: 1 + 1 (delay) + 2 = 4 steps do not.
    fits = [{"name": "p", "duration": 2, "cost": 0}, {"name": "q", "duration": 1, "cost": 0}]
    late = {"probability": 1e-9, "duration": 1}
    fails = [
        {"name": "p", "duration": 2, "cost": 0},
        {"name": "q", "duration": 1, "cost": 0, "delay": late},
    ]
    problem = mpp(3, fits, fails)
    assert mpp_feasible(problem)
    assert infeasible_agents(problem) == ["B"]
    problem["must_complete"] = True
    assert not mpp_feasible(problem)
    with pytest.raises(ValueError, match="no action"):
        optimal_value(problem)


def test_window() -> None:
    """A task starts at the best stage of its window, both ends included."""
    # Costs by stage 5, 4, 3, 0 and revenue 10: in the window [1, 2] the best is 10 - 3 = 7, in
    # [0, 1] it is 10 - 4 = 6, in [3, 9] it is 10, and [4, 9] is too late for anything.
    task = {"name": "a", "duration": 1.0, "cost": [5, 4, 3, 0], "revenue": 10}
    expected = {(1, 2): 7, (0, 1): 6, (3, 9): 10, (2, 2): 7, (4, 9): 0}
    for window, value in expected.items():
        assert optimal_value(mpp(4, {**task, "window": list(window)})) == near(value)


def test_window_restricts_the_start_only() -> None:
    """Work may go on after the last stage of the window."""
    # Started at stage 0, worked on in 0, 1 and 2: 10 - 3 * 1 = 7.
    task = {"name": "a", "duration": 3, "cost": 1, "revenue": 10, "window": [0, 0]}
    assert optimal_value(mpp(3, task)) == near(7)


def test_task_cut_off_by_the_horizon() -> None:
    """A task that the horizon cuts off is paid for step by step but earns no revenue."""
    # A negative cost of 2 per step, 3 steps, of which the horizon leaves 2: 2 * 2 = 4, no revenue.
    cut = {"name": "a", "duration": 3, "cost": -2, "revenue": 10}
    assert optimal_value(mpp(2, cut)) == near(4)
    # Cut off only if delayed: two steps cost 2, and the revenue of 8 comes with 0.75: 6 - 2 = 4.
    late = {"probability": 0.25, "duration": 1}
    risky = {"name": "a", "duration": 2, "cost": 1, "revenue": 8, "delay": late}
    assert optimal_value(mpp(2, risky)) == near(4)


def test_revenue_of_a_task_that_ends_with_the_horizon() -> None:
    """A task whose last step of work is stage h-1 completes."""
    # 10 - 2 * 3 = 4, also with must_complete, and also for one step at h = 1: 10 - 3 = 7.
    task = {"name": "a", "duration": 2, "cost": 3, "revenue": 10}
    assert optimal_value(mpp(2, task)) == near(4)
    assert optimal_value(mpp(2, task, must_complete=True)) == near(4)
    assert optimal_value(mpp(1, {**task, "duration": 1})) == near(7)


def test_network_entry_of_three_tasks() -> None:
    """An entry of three tasks costs nothing unless all three are worked on."""
    # One stage, 5 for each task.  Entry cost 7: two tasks, 10 (three: 15 - 7 = 8).  Entry cost 4:
    # three tasks, 15 - 4 = 11.  The entry of cost 4 twice: two tasks, 10 (three: 15 - 8 = 7).
    tasks = [{"name": "t", "duration": 1, "cost": 0, "revenue": 5}] * 3

    def value(*costs: float) -> float:
        entries = [{"tasks": ["A/t", "B/t", "C/t"], "cost": cost} for cost in costs]
        return optimal_value(mpp(1, *tasks, network=entries))

    assert value(7) == near(10)
    assert value(4) == near(11)
    assert value(4, 4) == near(10)


def test_stage_dependent_costs() -> None:
    """Costs per step given as lists are those of the stage of the work, also in the network."""
    # Two steps each, h = 3, start at 0 or 1.  A costs 1 + 2 or 2 + 4, B costs 0.  Network 9, 1, 0.
    # Both must be done.  A at 0 (-3): B at 0 shares stages 0 and 1 (-10), B at 1 shares 1 (-1).
    # A at 1 (-6): B at 0 shares stage 1 (-1), B at 1 shares 1 and 2 (-1).  Best -3 - 1 = -4.
    problem = mpp(
        3,
        {"name": "a", "duration": 2, "cost": [1, 2, 4]},
        {"name": "b", "duration": 2, "cost": 0},
        must_complete=True,
        network=[{"tasks": ["B/b", "A/a"], "cost": [9, 1, 0]}],
    )
    assert optimal_value(problem) == near(-4)


def test_a_task_is_done_once() -> None:
    """A profitable task cannot be repeated, and an agent does one task at a time."""
    # h = 3: "a" (1 step, 5) once and "b" (1 step, 2) once: 7.  In one stage only "a": 5.
    tasks = [
        {"name": "a", "duration": 1, "cost": 0, "revenue": 5},
        {"name": "b", "duration": 1, "cost": 0, "revenue": 2},
    ]
    assert optimal_value(mpp(3, tasks)) == near(7)
    assert optimal_value(mpp(1, tasks)) == near(5)


def test_certain_delay() -> None:
    """A delay of probability 1 makes the task longer, and there is no other outcome."""
    # One step and two of delay: 10 - 3 * 2 = 4.  Joint states: 1 at stage 0; at 1 waiting or two
    # steps to go; at 2 waiting, two steps to go, one step to go.
    delay = {"probability": 1, "duration": 2}
    task = {"name": "a", "duration": 1, "cost": 2, "revenue": 10, "delay": delay}
    assert optimal_value(mpp(3, task)) == near(4)
    assert count_joint_states(mpp(3, task)) == 1 + 2 + 3


def test_no_tasks() -> None:
    """Agents without tasks wait, and earn nothing."""
    assert optimal_value(mpp(3, [], [], must_complete=True)) == 0
    assert count_joint_states(mpp(3, [], [])) == 3


# ------------------------------------------------------------------------ drawn problems


@examples
@given(timmdp_dicts())
def test_drawn_timmdp_has_a_finite_value(problem: Problem) -> None:
    """The judge gives every drawn ti-mmdp/1 problem a finite value."""
    assert math.isfinite(timmdp_value(problem))
    assert optimal_value(problem) == timmdp_value(problem)
    assert count_joint_transitions(problem) <= MAX_WORK
    assert json.loads(json.dumps(problem)) == problem


@examples
@given(mpp_dicts())
def test_drawn_mpp_has_a_finite_value(problem: Problem) -> None:
    """The judge gives every drawn mpp/1 problem a finite value, and each is feasible."""
    assert mpp_feasible(problem)
    assert math.isfinite(mpp_value(problem))
    assert optimal_value(problem) == mpp_value(problem)
    assert count_joint_transitions(problem) <= MAX_WORK
    assert json.loads(json.dumps(problem)) == problem


@fewer_examples
@given(problem_dicts())
def test_values_are_of_the_reachable_joint_states(problem: Problem) -> None:
    """The recursion visits exactly the reachable joint states, all with finite values."""
    values = optimal_values(problem)
    assert set(values) == set(joint_states(problem))
    assert len(values) == count_joint_states(problem)
    assert all(map(math.isfinite, values.values()))


@examples
@given(infeasible_mpp_dicts())
def test_drawn_infeasible_mpp_is_infeasible(problem: Problem) -> None:
    """The judge refuses every problem drawn as infeasible."""
    assert not mpp_feasible(problem)
    assert infeasible_agents(problem)
    with pytest.raises(ValueError, match="no action"):
        optimal_value(problem)


def fits_in_some_order(agent: dict[str, Any], horizon: int) -> bool:
    """Tell whether the tasks fit one after the other if every possible delay happens."""
    for order in itertools.permutations(agent["tasks"]):
        now: float = 0
        for task in order:
            first, last = task.get("window", (0, horizon))
            now = max(now, first)
            if now > last:
                break
            delay = task.get("delay", {"probability": 0, "duration": 0})
            now += task["duration"] + (delay["duration"] if delay["probability"] > 0 else 0)
        else:
            if now <= horizon:
                return True
    return False


@examples
@given(mpp_dicts() | infeasible_mpp_dicts())
def test_feasible_is_to_fit_with_all_delays(problem: Problem) -> None:
    """An agent can be sure to complete its tasks iff they fit with every possible delay."""
    # An agent that is not delayed can wait as if it were, so the worst case decides.
    expected = [
        agent["name"]
        for agent in problem["agents"]
        if not fits_in_some_order(agent, int(problem["horizon"]))
    ]
    assert infeasible_agents(problem) == expected


@examples
@given(problem_dicts())
def test_greedy_policy_attains_the_optimal_value(problem: Problem) -> None:
    """The value of the greedy policy, carried forward, is the optimal value."""
    assert policy_value(problem, greedy_policy(problem)) == near(optimal_value(problem))


@fewer_examples
@given(problem_dicts(), st.randoms(use_true_random=False))
def test_no_policy_beats_the_optimal_value(problem: Problem, random: Any) -> None:
    """A policy drawn at random is worth at most the optimal value."""

    def act(stage: int, joint: Joint) -> JointAction:
        return tuple(random.choice(own) for own in available_actions(problem, stage, joint))

    optimum = optimal_value(problem)
    assert policy_value(problem, act) <= optimum + 1e-7 + 1e-9 * abs(optimum)


tiny_problems = timmdp_dicts(
    max_agents=2, max_states=2, max_actions=2, max_horizon=3, max_work=30
) | mpp_dicts(max_agents=2, max_tasks=2, max_horizon=3, max_work=30)


@fewer_examples
@given(tiny_problems)
def test_enumeration_of_all_policies(problem: Problem) -> None:
    """The best of all deterministic policies has the optimal value."""
    model = model_of(problem)
    states = list(joint_states(problem))
    choices = [model.joint_actions(stage, joint) for stage, joint in states]
    assume(math.prod(map(len, choices)) <= 300)
    best = max(
        policy_value(problem, lambda t, joint, plan=plan: plan[t, joint])  # type: ignore[misc]
        for plan in (
            dict(zip(states, combination, strict=True))
            for combination in itertools.product(*choices)
        )
    )
    assert optimal_value(problem) == near(best)


def as_timmdp(problem: Problem) -> Problem:
    """Translate an mpp/1 problem naively, with the stage as a part of each local state."""
    model = Mpp(problem)
    horizon = model.horizon

    def label(stage: int, local: Any) -> str:
        return repr((stage, sorted(local[0]), local[1], local[2]))

    def distinct(local: Any, action: str) -> str:
        # Work on different tasks gets different action names, for the rewards to name.
        return f"continue {local[1]}" if action == "continue" else action

    agents = []
    rewards: list[dict[str, Any]] = []
    for i, agent in enumerate(model.agents):
        transitions: dict[str, Any] = {}
        idle: dict[str, Any] = {}
        layer = [model.initial(i)]
        for stage in range(horizon):
            following: dict[Any, None] = {}
            for local in layer:
                own = transitions.setdefault(label(stage, local), {})
                for action in model.actions(i, stage, local):
                    outcomes = model.outcomes(i, local, action)
                    own[distinct(local, action)] = {label(stage + 1, s): p for s, p in outcomes}
                    following.update((s, None) for s, _ in outcomes)
            layer = list(following)
            for local in layer:
                idle[label(stage + 1, local)] = {"idle": local[1] is None}
        name = agent["name"]
        agents.append(
            {
                "name": name,
                "initial": label(0, model.initial(i)),
                "transitions": transitions,
                "features": idle,
            }
        )
        for task in agent["tasks"]:
            work = [f"start {task['name']}", f"continue {task['name']}"]
            done = {name: {"action": work, "next": {"idle": True}}}
            entries: list[dict[str, Any]] = [{"when": done, "value": task.get("revenue", 0)}]
            for stage in range(horizon):
                cost = task["cost"][stage] if isinstance(task["cost"], list) else task["cost"]
                when = {name: {"action": work}}
                entries.append({"when": when, "value": -cost, "stages": [stage]})
            rewards.append({"scope": [name], "entries": entries})
    for entry in problem.get("network", []):
        pairs = [full.split("/") for full in entry["tasks"]]
        when = {name: {"action": [f"start {task}", f"continue {task}"]} for name, task in pairs}
        entries = []
        for stage in range(horizon):
            cost = entry["cost"][stage] if isinstance(entry["cost"], list) else entry["cost"]
            entries.append({"when": when, "value": -cost, "stages": [stage]})
        rewards.append({"scope": [name for name, _ in pairs], "entries": entries})
    return {"format": "ti-mmdp/1", "horizon": horizon, "agents": agents, "rewards": rewards}


@fewer_examples
@given(mpp_dicts(max_work=500))
def test_both_formats_agree(problem: Problem) -> None:
    """An mpp/1 problem and its translation into ti-mmdp/1 have the same value."""
    assert timmdp_value(as_timmdp(problem)) == near(mpp_value(problem))
