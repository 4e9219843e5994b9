"""Timelines: chances per step against all that can happen, one execution sequence at a time."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import judge
from coreplan import ModelError, SolverError, solve
from coreplan.analysis import execution_sequences
from coreplan.domains.maintenance.money import split_value
from coreplan.domains.maintenance.timeline import Timeline, likely_works, timeline
from coreplan.policies.evaluation import evaluate_stages
from coreplan.policies.graph import plan_graph
from coreplan.policies.policy import Policy
from group_rules import random_groups
from helpers import from_file, package_state, random_mpp, scale
from judge import at_stage
from strategies import mpp_dicts, timmdp_dicts
from team_rules import random_teams
from test_policy import policy_of

Chances = dict[tuple[str, str], list[float]]


def by_sequences(raw: dict[str, Any], policy: Policy) -> tuple[Chances, Chances, Chances]:
    """Per work and step: the chances that it starts, is worked on, and is completed."""
    works = [(agent["name"], task["name"]) for agent in raw["agents"] for task in agent["tasks"]]
    starts, working, ends = ({each: [0.0] * policy.horizon for each in works} for _ in range(3))
    for sequence, probability in execution_sequences(policy):
        for step, action in enumerate(sequence.actions):
            stage = sequence.stage + step
            for name, done in action.items():
                before, after = sequence.states[step][name], sequence.states[step + 1][name]
                task = before.doing if done == "continue" else done.removeprefix("start ")
                if done == "wait":
                    continue
                working[name, task][stage] += probability
                if done != "continue":
                    starts[name, task][stage] += probability
                if after.doing != task:
                    ends[name, task][stage] += probability
    return starts, working, ends


def _start(policy: Policy) -> tuple[int, ...]:
    return policy.indexed.find_state(policy.stage, None)


def check(raw: dict[str, Any], policy: Policy) -> Timeline:
    """Compare a timeline with all execution sequences."""
    close = {"rel": 1e-9, "abs": 1e-12}
    starts, working, ends = by_sequences(raw, policy)
    made = timeline(policy)
    for each in made.works:
        key = (each.contractor, each.work)
        assert list(each.starts) == pytest.approx(starts[key], **close)
        assert list(each.working) == pytest.approx(working[key], **close)
        assert each.completed == pytest.approx(sum(ends[key]), **close)
        possible = [step for step, chance in enumerate(starts[key]) if chance > 0]
        assert each.first_start == min(possible, default=None)
        assert each.last_start == max(possible, default=None)
        steps = [step for step, chance in enumerate(working[key]) if chance > 0]
        assert (each.last_end is None) == (not steps)
        assert each.last_end == max(steps, default=None)
        completions = [step for step, chance in enumerate(ends[key]) if chance > 0]
        cut_off = policy.horizon - 1 if steps else None
        assert each.first_end == min(completions, default=cut_off)
        stands = policy.indexed.name_state(_start(policy))[each.contractor]
        assert each.done == (each.work in stands.done)
        assert each.under_way == (each.work == stands.doing)
        sure = 1.0 if each.under_way else sum(starts[key])
        assert each.started == pytest.approx(sure, **close)
    # Money: what is worked on costs what the problem says.
    for i, agent in enumerate(raw["agents"]):
        for stage in range(policy.horizon):
            cost = sum(
                at_stage(task["cost"], stage) * working[agent["name"], task["name"]][stage]
                for task in agent["tasks"]
            )
            revenue = sum(
                task.get("revenue", 0) * ends[agent["name"], task["name"]][stage]
                for task in agent["tasks"]
            )
            size = 1e-9 * scale(raw)
            assert made.own_cost[i][stage] == pytest.approx(cost, rel=1e-9, abs=size)
            assert made.revenue[i][stage] == pytest.approx(revenue, rel=1e-9, abs=size)
    return made


@given(raw=mpp_dicts(), data=st.data(), seed=st.integers(0, 2**32))
def test_chances_are_those_of_all_sequences(
    raw: dict[str, Any], data: st.DataObject, seed: int
) -> None:
    """Whatever a team does, from any situation on, chances and costs are those of what happens."""
    stage, state = data.draw(st.sampled_from(list(judge.joint_states(raw))))
    policy = policy_of(from_file(raw), stage=stage, state=package_state(raw, state))
    made = check(raw, random_teams(policy, Random(seed)))
    assert made.stage == stage


@given(raw=mpp_dicts(), data=st.data(), seed=st.integers(0, 2**32))
def test_works_of_a_complete_graph_are_exact(
    raw: dict[str, Any], data: st.DataObject, seed: int
) -> None:
    """Where all situations are in the graph, the likely works are those of the timeline."""
    stage, state = data.draw(st.sampled_from(list(judge.joint_states(raw))))
    policy = policy_of(from_file(raw), stage=stage, state=package_state(raw, state))
    policy = random_teams(policy, Random(seed))
    for one, other in zip(
        likely_works(policy, plan_graph(policy)), timeline(policy).works, strict=True
    ):
        assert one.starts == pytest.approx(other.starts)
        assert one.working == pytest.approx(other.working)
        assert (one.first_end, one.last_end) == (other.first_end, other.last_end)
    for work in likely_works(policy, plan_graph(policy, most_situations=3)):
        assert all(0 <= chance <= 1 for chance in work.working)


@given(seed=st.integers(0, 500))
def test_chances_of_groups(seed: int) -> None:
    """The same where contractors fall apart into groups, and where a group's claims are false."""
    raw = random_mpp(3, 2, 5, seed)
    policy = policy_of(from_file(raw))
    check(raw, random_groups(policy, Random(seed)))


@given(raw=mpp_dicts())
def test_money_is_that_of_the_evaluation(raw: dict[str, Any]) -> None:
    """Steps add up to the parts of the value, those to the value, and all to `split_value`."""
    policy = solve(from_file(raw)).policy
    assert policy is not None
    made = timeline(policy)
    close = {"rel": 1e-9, "abs": 1e-9 * scale(raw)}
    assert made.money == split_value(policy)
    assert made.money.value == pytest.approx(policy.evaluate(), **close)
    assert [sum(row) for row in made.hindrance] == pytest.approx(
        list(made.money.hindrances), **close
    )
    assert [sum(row) for row in made.own_cost] == pytest.approx(list(made.money.works_of), **close)
    assert [sum(row) for row in made.revenue] == pytest.approx(list(made.money.revenue_of), **close)
    total = made.money.revenue - made.money.works - made.money.hindrance
    assert total == pytest.approx(made.money.value, **close)


def test_extra_steps_are_those_of_delays() -> None:
    """Work within the planned duration is told apart from work that only a delay makes."""
    task = {"name": "a", "duration": 2, "cost": 1, "revenue": 50}
    late = {**task, "name": "b", "delay": {"probability": 0.4, "duration": 2}}
    raw = {
        "format": "mpp/1",
        "horizon": 7,
        "must_complete": True,
        "agents": [{"name": "A", "tasks": [late, {**task, "window": [2, 5]}]}],
    }
    policy = solve(from_file(raw)).policy
    assert policy is not None
    works = {each.work: each for each in check(raw, policy).of("A")}
    assert works["b"].planned == (1, 1, 0, 0, 0, 0, 0)
    assert works["b"].extra == (0, 0, 0.4, 0.4, 0, 0, 0)
    assert (works["b"].first_end, works["b"].last_end, works["b"].delay_chance) == (1, 3, 0.4)
    assert works["a"].planned == (0, 0, 0.6, 0.6, 0.4, 0.4, 0)
    assert works["a"].likely_start == 2
    assert works["a"].to_dict()["last_start"] == 4


@given(raw=timmdp_dicts())
def test_records_add_up(raw: dict[str, Any]) -> None:
    """At every stage each agent's choices have a chance of 1 in all, and amounts make the value."""
    policy = policy_of(from_file(raw))
    value, records = evaluate_stages(policy)
    assert [record.stage for record in records] == list(range(policy.horizon))
    for record in records:
        for chances in record.choices:
            assert sum(chances.values()) == pytest.approx(1, rel=1e-8)
    total = sum(sum(record.earned.values()) for record in records)
    assert total == pytest.approx(value, rel=1e-9, abs=1e-9 * scale(raw))


def test_what_has_no_timeline() -> None:
    """A general problem has no works; and what takes too long is an error."""
    raw = random_mpp(3, 3, 10)
    policy = policy_of(from_file(raw))
    with pytest.raises(SolverError, match="too long"):
        timeline(policy, time_limit=-1)
    translated = policy_of(from_file(raw).to_timmdp())  # type: ignore[union-attr]
    with pytest.raises(
        ModelError, match="a timeline of works needs a plan of a maintenance problem"
    ):
        timeline(translated)
