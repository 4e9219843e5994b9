"""Benchmarks do what they say; how fast anything is, is not tested."""

from __future__ import annotations

from collections import Counter

import pytest

from coreplan import MaintenanceProblem
from instances import realistic


@pytest.mark.parametrize("agents", [3, 6, 10])
@pytest.mark.parametrize("weeks", [15, 26, 52])
def test_realistic_problems(agents: int, weeks: int) -> None:
    """Realistic problems are as described: works, seasons, and two or three neighbours each."""
    for seed in range(10):
        problem = realistic(agents, weeks, seed)
        assert problem == realistic(agents, weeks, seed)
        assert problem.must_complete
        assert len(problem.contractors) == agents
        for contractor in problem.contractors:
            assert 3 <= len(contractor.tasks) <= 5
            for task in contractor.tasks:
                assert 1 <= task.duration <= 6
                assert isinstance(task.cost, tuple)
                assert task.cost[0] == max(task.cost)
        assert set(neighbours(problem).values()) <= {2, 3}


def neighbours(problem: MaintenanceProblem) -> Counter[str]:
    """Per contractor, with how many others it interferes."""
    pairs = {tuple(work.split("/")[0] for work in each.tasks) for each in problem.network}
    return Counter(name for pair in pairs for name in pair)
