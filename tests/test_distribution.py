"""What a policy may earn, against all execution sequences."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from coreplan import Policy, SolverError, read_problem, solve
from coreplan.analysis import execution_sequences, return_distribution
from coreplan.analysis.distribution import exact_distribution
from coreplan.analysis.sequences import returns
from coreplan.cli import example_path
from helpers import agrees, from_file, scale
from strategies import problem_dicts


def plan(name: str) -> Policy:
    """The best plan for an example."""
    policy = solve(read_problem(example_path(name))).policy
    assert policy is not None
    return policy


@given(problem_dicts(max_work=500))
def test_exact_distribution(raw: dict[str, object]) -> None:
    """The exact chances to earn at most so much are those over all execution sequences."""
    problem = from_file(raw)
    policy = solve(problem).policy
    assert policy is not None
    distribution = return_distribution(policy)
    assert distribution.exact
    assert distribution.probabilities.sum() == pytest.approx(1)
    assert np.all(np.diff(distribution.values) >= 0)
    size = scale(raw)
    earned = [
        (returns(problem, sequence).total, chance)
        for sequence, chance in execution_sequences(policy)
    ]
    mass = sum(chance for _, chance in earned)
    assert agrees(distribution.mean / size, policy.evaluate() / size, 1e-8)
    for limit in {value for value, _ in earned}:
        expected = sum(chance for value, chance in earned if value <= limit + 1e-7 * size) / mass
        found = distribution.probabilities[distribution.values <= limit + 1e-7 * size].sum()
        assert found == pytest.approx(expected, abs=1e-7)


def test_quantiles_and_histogram() -> None:
    """Quantiles are returns that come about; a histogram holds everything between its edges."""
    distribution = return_distribution(plan("two_works.yaml"))
    below = np.cumsum(distribution.probabilities)
    for chance in (0.05, 0.3, 0.5, 0.95, 1.0):
        at = int(np.flatnonzero(distribution.values == distribution.quantile(chance))[0])
        assert below[at] >= chance - 1e-9
        assert at == 0 or below[at - 1] < chance
    low, high = distribution.values[0], distribution.values[-1]
    assert distribution.histogram(np.linspace(low, high, 6)).sum() == pytest.approx(1)


def test_simulated_where_it_is_large() -> None:
    """Beyond the limit runs are simulated: about the same, and the same for the same seed."""
    policy = plan("ring_road.yaml")
    exact = exact_distribution(policy)
    with pytest.raises(SolverError, match="distribution is out of reach"):
        exact_distribution(policy, most_rows=10)
    simulated = return_distribution(policy, most_rows=10, runs=20_000, seed=3)
    assert not simulated.exact
    assert simulated.runs == 20_000
    assert simulated.mean == pytest.approx(exact.mean, rel=0.01)
    edges = np.linspace(exact.values[0], exact.values[-1], 9)
    assert simulated.histogram(edges) == pytest.approx(exact.histogram(edges), abs=0.02)
    again = return_distribution(policy, most_rows=10, runs=20_000, seed=3)
    assert np.array_equal(simulated.values, again.values)
    assert np.array_equal(simulated.probabilities, again.probabilities)
