"""Rules of teams that know some joint classes only."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import event, given
from hypothesis import strategies as st

import judge
from coreplan import TIMMDP, ModelError, Policy
from coreplan.policies.rules import TeamRule
from helpers import from_file, package_state
from strategies import problem_dicts
from team_rules import joint_class, random_team, random_teams, sparse, with_teams
from test_policy import crowd, policy_of, with_local_rule


def saved_and_loaded(policy: Policy, suffix: str = ".json") -> Policy:
    """The policy that comes back from a file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"policy{suffix}"
        policy.save(path)
        return Policy.load(path, policy.problem)


@pytest.mark.parametrize("algorithm", ["dp", "core"])
@given(raw=problem_dicts(max_work=500), data=st.data())
def test_a_rule_needs_to_know_only_what_can_come_about(
    algorithm: str, raw: dict[str, Any], data: st.DataObject
) -> None:
    """Restricted to what it can lead to, a policy is worth the same; elsewhere all act alone."""
    situations = list(judge.joint_states(raw))
    first, start = data.draw(st.sampled_from([situations[0], *situations]))
    full = policy_of(
        from_file(raw), algorithm=algorithm, stage=first, state=package_state(raw, start)
    )
    few = sparse(full)
    loaded = saved_and_loaded(few, data.draw(st.sampled_from([".json", ".yaml"])))
    event(f"{len(full.teams)} teams")
    assert few.evaluate() == loaded.evaluate() == full.evaluate()
    alone = with_local_rule(full)
    names = [agent["name"] for agent in raw["agents"]]
    for stage, state in situations:
        named = package_state(raw, state)
        try:
            best, local = full.act(stage, named), alone.act(stage, named)
        except ModelError:  # before the policy starts, or out of its reach
            with pytest.raises(ModelError):
                few.act(stage, named)
            continue
        expected = dict(local)
        for team in few.teams:
            assert team.numbers is not None
            number = joint_class(few, team, stage, few.indexed.find_state(stage, named))
            known = number is not None and number in team.numbers
            event(f"known: {known}")
            if known:
                expected |= {names[i]: best[names[i]] for i in team.agents}
        assert few.act(stage, named) == loaded.act(stage, named) == expected


@given(raw=problem_dicts(max_work=500), seed=st.integers(0, 2**32))
def test_any_team_rules_survive_files(raw: dict[str, Any], seed: int) -> None:
    """Any teams with any rules, dense or not, act the same when they are loaded."""
    policy = random_teams(policy_of(from_file(raw)), Random(seed))
    loaded = saved_and_loaded(policy)
    for stage, state in judge.joint_states(raw):
        named = package_state(raw, state)
        assert loaded.act(stage, named) == policy.act(stage, named)
    assert loaded.evaluate() == policy.evaluate()


def test_numbers_of_64_bits_are_told_apart() -> None:
    """Where numbers are beyond 2^63, the rule is for the joint classes it names and no others."""
    policy = policy_of(crowd(62), memory_limit=50)
    assert isinstance(policy.problem, TIMMDP)
    team = TeamRule(tuple(range(62)), np.zeros(0, np.uint32), numbers=np.zeros(0, np.uint64))
    # All but one are there, where they can only go; the one at home can go or wait.
    states = [{f"a{i}": "home" if i == who else "there" for i in range(62)} for who in range(62)]
    numbers = {}
    for who, state in enumerate(states):
        number = joint_class(policy, team, 3, policy.indexed.find_state(3, state))
        assert number is not None
        numbers[number] = who
    assert max(numbers) > 2**63
    known = [number for number in sorted(numbers) if numbers[number] % 3]
    entries = [1 + numbers[number] % 2 for number in known]
    rule = replace(team, actions=np.array(entries, np.uint32), numbers=np.array(known, np.uint64))
    some = with_teams(policy, [rule])
    loaded = saved_and_loaded(some)
    for number, who in numbers.items():
        expected = policy.act(3, states[who])
        if number in known:
            actions = list(policy.problem.agents[who].transitions["home"])
            expected[f"a{who}"] = actions[who % 2]
        assert some.act(3, states[who]) == loaded.act(3, states[who]) == expected


def test_joint_classes_beyond_64_bits_are_refused() -> None:
    """A rule for a team with too many joint classes is an error that says so."""
    policy = policy_of(crowd(64), memory_limit=50)
    for size, fits in ((62, True), (63, False), (64, False)):
        rule = TeamRule(tuple(range(size)), np.zeros(0, np.uint32), numbers=np.zeros(0, np.uint64))
        if fits:
            with_teams(policy, [rule])
            continue
        words = f"a team of {size} agents has more joint classes than 64 bits can number"
        with pytest.raises(ModelError, match=words):
            with_teams(policy, [rule])


def test_rules_that_do_not_fit_are_refused() -> None:
    """The numbers must be as many as the entries, in order, and of joint classes that there are."""
    policy = policy_of(crowd(5))
    dense = random_team(policy, (0, 1), Random(1))
    size = len(dense.actions)

    def rule(numbers: list[int], kind: Any = np.uint64, entries: int = 2) -> TeamRule:
        return replace(dense, actions=dense.actions[:entries], numbers=np.array(numbers, kind))

    with_teams(policy, [rule([0, size - 1])])
    for wrong, words in (
        (rule([0]), "2 entries and 1 numbers of joint classes"),
        (rule([0, 1], np.int64), r"2 numbers of joint classes \(int64\)"),
        (rule([1, 0]), "not in ascending order"),
        (rule([1, 1]), "not in ascending order"),
        (rule([0, size]), "names an unknown joint class"),
        (rule([0, 2**64 - 1]), "names an unknown joint class"),
        (replace(dense, actions=dense.actions[1:]), f"a team rule has {size - 1} entries"),
    ):
        with pytest.raises(ModelError, match=words):
            with_teams(policy, [wrong])
    with pytest.raises(ModelError, match="an agent is in two teams"):
        with_teams(policy, [dense, random_team(policy, (1, 2), Random(1))])
