"""Rewards of transitions: both ways to find what conditions match say the same."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given

from coreplan.model.problem import index_problem
from coreplan.model.rewards import MatchedTransitions, TransitionRewards
from helpers import from_file
from strategies import problem_dicts


@given(problem_dicts())
def test_one_by_one_as_all_at_once(raw: dict[str, Any]) -> None:
    """A transition matches the same conditions whether it is looked at alone or with all others."""
    indexed = index_problem(from_file(raw))
    rewards = TransitionRewards(indexed)
    for number, agent in enumerate(indexed.agents):
        matches = MatchedTransitions(agent)
        columns = list(matches)
        assert len(columns) == len(agent.conditions)
        for condition, column in enumerate(columns):
            alone = [
                condition in rewards.matched(number, transition)
                for transition in range(len(agent.outcome_next))
            ]
            assert column.tolist() == alone
            assert np.array_equal(matches.of(condition), column)
            assert matches.of(condition) is matches.of(condition)
