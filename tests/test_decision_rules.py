"""Decision rules: true for all that a policy can lead to, and in words that say the same."""

from __future__ import annotations

import datetime
from dataclasses import replace
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coreplan import Calendar, ContractorState, ModelError, Policy, solve
from coreplan.analysis import execution_sequences
from coreplan.domains.maintenance.decision_rules import (
    LEAST_CHANGE,
    DecisionRule,
    Starts,
    decision_rules,
)
from coreplan.domains.maintenance.problem import MaintenanceProblem
from coreplan.domains.maintenance.view.rules_text import rule_in_words, rules_in_words
from helpers import from_file, random_mpp
from strategies import mpp_dicts, timmdp_dicts
from team_rules import random_teams
from test_policy import policy_of

Work = tuple[str, str]
Course = tuple[dict[Work, int], dict[Work, bool], float]
"""When works start, which of them are delayed, and how likely that is."""


def courses(policy: Policy) -> list[Course]:
    """All that can happen."""
    found = []
    problem = policy.problem
    assert isinstance(problem, MaintenanceProblem)
    durations = {(c.name, t.name): t.duration for c in problem.contractors for t in c.tasks}
    for sequence, probability in execution_sequences(policy):
        starts: dict[Work, int] = {}
        late: dict[Work, bool] = {}
        for step, action in enumerate(sequence.actions):
            for name, chosen in action.items():
                if chosen.startswith("start "):
                    work = (name, chosen.removeprefix("start "))
                    after = sequence.states[step + 1][name]
                    left = after.remaining if after.doing == work[1] else 0
                    starts[work] = sequence.stage + step
                    late[work] = left + 1 > durations[work]
        found.append((starts, late, probability))
    return found


def check(policy: Policy) -> tuple[DecisionRule, ...]:
    """Compare the rules of a policy with all that can happen."""
    made = decision_rules(policy)
    assert made.covered == 1
    every = courses(policy)
    weights = [rule.weight for rule in made.rules]
    assert weights == sorted(weights, reverse=True)
    problem = policy.problem
    assert isinstance(problem, MaintenanceProblem)
    delays = {(c.name, t.name): t.delay for c in problem.contractors for t in c.tasks}
    for rule in made.rules:
        delay = delays[rule.contractor, rule.work]
        assert delay is not None
        assert rule.delay_chance == delay.probability
        assert not rule.is_vague
        work, other = (rule.contractor, rule.work), (rule.other_contractor, rule.other_work)
        here = [each for each in every if each[0].get(work) == rule.start]
        assert rule.several_starts == any(
            work in starts and starts[work] != rule.start for starts, _, _ in every
        )
        to_come = [each for each in here if each[0].get(other, policy.horizon) > rule.start]
        assert rule.always == (len(to_come) == len(here))
        late = [each for each in to_come if each[1][work]]
        assert sum(chance for _, _, chance in late) == pytest.approx(rule.probability)
        on_time = [each for each in to_come if not each[1][work]]
        for side, some in ((rule.delayed, late), (rule.on_time, on_time)):
            total = sum(chance for _, _, chance in some)
            steps = [starts[other] for starts, _, _ in some if other in starts]
            assert side.first == min(steps, default=None)
            assert side.last == max(steps, default=None)
            mean = sum(chance * starts.get(other, policy.horizon) for starts, _, chance in some)
            assert side.mean == pytest.approx(mean / total)
            never = sum(chance for starts, _, chance in some if other not in starts)
            assert side.never == pytest.approx(never / total, abs=1e-12)
    return made.rules


@given(raw=mpp_dicts(), seed=st.integers(0, 2**32))
def test_rules_are_true_of_all_that_can_happen(raw: dict[str, Any], seed: int) -> None:
    """Whatever a team does, its rules say what the sequences that it leads to show."""
    check(random_teams(policy_of(from_file(raw)), Random(seed)))


@pytest.mark.parametrize("seed", range(8))
def test_no_difference_is_overlooked(seed: int) -> None:
    """Where a delay of one changes when another contractor can start, there is a rule."""
    policy = policy_of(from_file(random_mpp(2, 2, 7, seed)))
    rules = {(r.contractor, r.work, r.start, r.other_work): r for r in check(policy)}
    every = courses(policy)
    works = {work for starts, _, _ in every for work in starts}
    for work in works:
        for stage in range(policy.horizon):
            here = [each for each in every if each[0].get(work) == stage]
            for other in works:
                if other[0] == work[0] or len({late[work] for _, late, _ in here}) < 2:
                    continue
                means, possible = [], []
                for side in (True, False):
                    some = [
                        (starts.get(other, policy.horizon), chance)
                        for starts, late, chance in here
                        if late[work] is side and starts.get(other, policy.horizon) > stage
                    ]
                    total = sum(chance for _, chance in some)
                    possible.append((min(some)[0], max(some)[0]) if some else None)
                    means.append(sum(step * chance for step, chance in some) / total if some else 0)
                differs = abs(means[0] - means[1]) >= LEAST_CHANGE + 1e-9
                differs = differs and possible[0] != possible[1]
                assert differs <= ((*work, stage, other[1]) in rules)


RING: dict[str, Any] = {
    "format": "mpp/1",
    "horizon": 12,
    "must_complete": True,
    "agents": [
        {
            "name": "Alpha",
            "tasks": [
                {
                    "name": "a1",
                    "duration": 3,
                    "cost": [3, 3, 3, 3, 3, 5, 5, 5, 5, 5, 5, 5],
                    "delay": {"probability": 0.3, "duration": 2},
                }
            ],
        },
        {
            "name": "Beta",
            "tasks": [{"name": "b1", "duration": 2, "cost": [2, 2, 2, 1, 1, 1, 1, 1, 2, 2, 2, 2]}],
        },
    ],
    "network": [{"tasks": ["Alpha/a1", "Beta/b1"], "cost": 100}],
}


def test_a_rule_is_what_act_says() -> None:
    """Following `act` after a delay, and without one, gives what the rule says, in words too."""
    policy = solve(from_file(RING)).policy
    assert policy is not None
    [rule] = check(policy)
    problem = policy.problem
    assert isinstance(problem, MaintenanceProblem)
    starts = []
    for steps in (5, 3):
        for stage in range(12):
            left = steps - stage
            alpha = ContractorState(doing="a1", remaining=left) if 0 < left < steps else None
            alpha = alpha or ContractorState(done=() if stage == 0 else ("a1",))
            action = policy.act(stage, {"Alpha": alpha, "Beta": ContractorState()})
            if stage == 0:
                assert action["Alpha"] == "start a1"
            if action["Beta"] == "start b1":
                starts.append(stage)
                break
    assert starts == [rule.delayed.first, rule.on_time.first] == [5, 3]
    assert rule_in_words(rule, problem) == (
        "if a1 is delayed (30 %), Beta waits 2 steps with b1: it starts in step 5 instead of in "
        "step 3"
    )
    calendar = Calendar(datetime.date(2026, 3, 2), "week")
    assert rule_in_words(rule, problem, calendar) == (
        "if a1 is delayed (30 %), Beta waits 2 weeks with b1: it starts on 6 Apr 2026 instead of "
        "on 23 Mar 2026"
    )
    assert rule.to_dict()["change"] == 2


def test_rules_in_words() -> None:
    """Earlier starts, ranges, works that are left out and doubtful conditions have words."""
    problem = from_file(RING)
    assert isinstance(problem, MaintenanceProblem)
    never, sure, range_ = Starts(None, None, 12, 1.0), Starts(3, 3, 3, 0), Starts(4, 6, 4.5, 0)

    def words(late: Starts, usual: Starts, several: bool = False, always: bool = True) -> str:
        rule = DecisionRule("Alpha", "a1", 0, several, "Beta", "b1", 0.3, 0.2, always, late, usual)
        return rule_in_words(rule, problem).removeprefix("if a1")

    assert words(never, sure) == (
        " is delayed (30 %), Beta leaves b1 out instead of starting it in step 3"
    )
    assert words(sure, never).endswith("Beta starts b1 in step 3 instead of leaving it out")
    assert words(sure, Starts(4, 4, 4, 0)).endswith(
        "Beta starts b1 1 step earlier: in step 3 instead of in step 4"
    )
    assert words(range_, sure).endswith(
        "Beta starts b1 on average 1.5 steps later: in steps 4 to 6 instead of in step 3"
    )
    assert "in step 5 (or not at all: 25 %)" in words(Starts(5, 5, 6.75, 0.25), sure)
    assert words(range_, sure, several=True).startswith(", started in step 0, is delayed (")
    assert words(range_, sure, always=False).endswith("in step 3, unless b1 has started")


def test_rules_for_the_same_delay_come_together() -> None:
    """Where a delay has several consequences, they are listed under it."""
    problem = from_file(RING)
    assert isinstance(problem, MaintenanceProblem)
    sure, late = Starts(3, 3, 3, 0), Starts(4, 4, 4, 0)
    one = DecisionRule("Alpha", "a1", 0, False, "Beta", "b1", 0.3, 0.3, True, late, sure)
    other = DecisionRule("Beta", "b1", 0, False, "Alpha", "a1", 0.2, 0.2, True, late, sure)
    assert rules_in_words([one, other], problem) == [
        f"- {rule_in_words(one, problem)}",
        f"- {rule_in_words(other, problem)}",
    ]
    lines = rules_in_words([one, other, replace(one, other_contractor="Gamma")], problem)
    assert lines[0] == "- if a1 is delayed (30 %):"
    assert [line.split()[1] for line in lines[1:3]] == ["Beta", "Gamma"]
    assert lines[3] == f"- {rule_in_words(other, problem)}"


def test_names_that_several_have() -> None:
    """Where a name is not clear, the contractor's is said, too."""
    raw = {**RING, "network": [{"tasks": ["Alpha/a1", "Beta/a1"], "cost": 100}]}
    raw["agents"] = [RING["agents"][0], {**RING["agents"][1]}]
    raw["agents"][1]["tasks"] = [{**RING["agents"][1]["tasks"][0], "name": "a1"}]
    policy = solve(from_file(raw)).policy
    assert policy is not None
    [rule] = decision_rules(policy).rules
    text = rule_in_words(rule, policy.problem)  # type: ignore[arg-type]
    assert text.startswith("if Alpha/a1 is delayed (30 %), Beta waits 2 steps with Beta/a1")


def test_delays_too_unlikely_for_numbers() -> None:
    """A chance that rounds to zero makes no rule, and no error."""
    task = {"duration": 3, "cost": 1, "delay": {"probability": 1e-200, "duration": 2}}
    tasks = [{**task, "name": name} for name in ("a1", "a2", "a3")]
    raw = {
        "format": "mpp/1",
        "horizon": 20,
        "must_complete": True,
        "agents": [{"name": "Alpha", "tasks": tasks}],
    }
    policy = solve(from_file(raw)).policy
    assert policy is not None
    # Where a1 was delayed, a delay of a2 would be of probability 1e-400.
    assert all(rule.probability > 0 for rule in decision_rules(policy).rules)


def test_large_plans_are_cut() -> None:
    """Where there are too many situations, the likeliest are looked at, and that is said."""
    policy = policy_of(from_file(random_mpp(3, 3, 10)))
    made = decision_rules(policy, most_situations=30)
    assert 0 < made.covered < 1


@given(raw=timmdp_dicts())
def test_other_problems_have_no_rules(raw: dict[str, Any]) -> None:
    """Only a maintenance plan has them."""
    with pytest.raises(ModelError, match="rules for delays need a plan of a maintenance problem"):
        decision_rules(policy_of(from_file(raw)))


def test_chances_are_those_of_the_delay() -> None:
    """However unlikely the start, the chance in a rule is that of a delay, as in the chart."""
    policy = policy_of(from_file(random_mpp(4, 3, 12)))
    problem = policy.problem
    assert isinstance(problem, MaintenanceProblem)
    rules = [rule for rule in decision_rules(policy, 200).rules if rule.several_starts]
    assert rules
    for rule in rules:
        [task] = [t for t in problem.contractor(rule.contractor).tasks if t.name == rule.work]
        assert task.delay is not None
        assert rule.probability < task.delay.probability
        assert f"is delayed ({100 * task.delay.probability:.0f} %)" in rule_in_words(rule, problem)
