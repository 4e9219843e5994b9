"""The search for policies of known value, as Python sees it."""

from __future__ import annotations

import numpy as np
import pytest

from coreplan import _core, read_problem, solve
from coreplan.cli import example_path
from coreplan.solving import compile_problem
from coreplan.solving.limits import Limits


@pytest.mark.parametrize("joint_agents", [1, 10])
def test_tables_and_defaults(joint_agents: int) -> None:
    """A search hands over tables and defaults, and never claims more than the optimum."""
    problem = read_problem(example_path("ring_road.yaml"))
    limits = Limits()
    model = compile_problem(problem, limits=limits).model
    search = _core.PolicySearch(model, 1, 4, 500, joint_agents, 2, limits.monitor)
    first = search.value
    search.improve(10**12, 30)
    assert search.exact
    assert first <= search.value <= solve(problem).value + 1e-9
    policy = search.policy()
    agents = range(len(problem.contractors))  # type: ignore[union-attr]
    for i in agents:
        actions = np.diff(model.action_begin(i))
        local = policy.local(i)
        assert local.dtype == np.uint32
        assert np.all((local < actions) | (actions == 0))
    for cluster in policy.clusters:
        size = len(cluster.layer)
        assert cluster.classes.shape == cluster.actions.shape == (size, len(cluster.agents))
        assert np.all(np.diff(cluster.layer.astype(np.int64)) >= 0)
        for k, i in enumerate(cluster.agents):
            numbers = model.layer_begin(i)[cluster.layer] + cluster.classes[:, k]
            assert np.all(numbers < model.layer_begin(i)[cluster.layer + 1])
            assert np.all(cluster.actions[:, k] < np.diff(model.action_begin(i))[numbers])


def test_start_from_a_policy() -> None:
    """What one search has found, another can start from."""
    problem = read_problem(example_path("ring_road.yaml"))
    limits = Limits()
    model = compile_problem(problem, limits=limits).model
    one = _core.PolicySearch(model, 1, 4, 500, 10, 1, limits.monitor)
    one.improve(10**12, 3)
    other = _core.PolicySearch(model, 2, 4, 500, 10, 1, limits.monitor)
    policy = one.policy()
    actions = [policy.local(i) for i in range(len(problem.contractors))]  # type: ignore[union-attr]
    other.start(actions)
    assert other.value >= _core.PolicySearch(model, 2, 4, 500, 10, 1, limits.monitor).value
    with pytest.raises(ValueError, match="not one of this model"):
        other.start(actions[:-1])
