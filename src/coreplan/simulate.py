"""An estimate of what a policy is worth, by simulation: for where its exact value is out of reach.

Like evaluation it uses the problem's own description alone, and nothing of the solvers.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from coreplan.checks import found, is_number
from coreplan.errors import ModelError
from coreplan.evaluate import Floats, Integers, Laws, Moves, entries_by_stage

if TYPE_CHECKING:
    from coreplan.policy import Policy

RUNS_AT_ONCE = 1 << 14
"""How many runs are simulated side by side; another number would give other estimates."""


@dataclass(frozen=True)
class Estimate:
    """What a policy earned in simulated runs, and an interval for what it is worth.

    The interval is the mean ± z·s/√runs: s is the standard deviation of the runs' returns, z the
    quantile of the normal distribution. It is an approximation, good for many runs; where much
    hangs on what happens rarely, it can be too narrow. It proves nothing.

    Attributes
    ----------
    mean
        The mean return.
    low, high
        The interval.
    runs
        How many runs there were.
    confidence
        About how likely such an interval holds the exact value.
    """

    mean: float
    low: float
    high: float
    runs: int
    confidence: float


def estimate_value(policy: Policy, runs: int, seed: int, confidence: float = 0.95) -> Estimate:
    """Estimate the value of a policy; see :meth:`coreplan.Policy.estimate`."""
    for name, value, least in (("runs", runs, 2), ("seed", seed, 0)):
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise ModelError(
                f"{name} is {found(value)}; expected a whole number of at least {least}"
            )
    if not is_number(confidence) or not 0 < confidence < 1:
        raise ModelError(
            f"confidence is {found(confidence)}; expected a number between 0 and 1, such as 0.95"
        )
    returns = simulate_returns(policy, runs, seed)
    mean = float(returns.mean())
    z = -NormalDist().inv_cdf((1 - confidence) / 2)
    margin = z * float(returns.std(ddof=1)) / math.sqrt(runs)
    return Estimate(mean, mean - margin, mean + margin, runs, confidence)


def simulate_returns(policy: Policy, runs: int, seed: int) -> Floats:
    """What a policy earned in each of some independent runs."""
    simulation = _Simulation(policy, seed)
    return np.concatenate(
        [simulation.run(min(RUNS_AT_ONCE, runs - done)) for done in range(0, runs, RUNS_AT_ONCE)]
    )


class _Simulation:
    """Runs of a policy, many side by side."""

    def __init__(self, policy: Policy, seed: int) -> None:
        self._policy = policy
        self._random = np.random.default_rng(seed)
        self._laws = Laws(policy.indexed)
        self._entries_at = entries_by_stage(policy.indexed)

    def run(self, runs: int) -> Floats:
        """The returns of some runs."""
        indexed = self._policy.indexed
        agents = range(len(indexed.agents))
        start = indexed.find_state(indexed.stage, None)
        states = [np.full(runs, state, np.uint32) for state in start]
        returns = np.zeros(runs)
        # Chances that add up to a little more or less than 1 count as they are, as in evaluation.
        weights = np.ones(runs)
        for stage in range(indexed.stage, indexed.horizon):
            choices = self._policy.choose_many(stage, agents, states)
            steps = [_Step(self._laws, i, choices[i], self._random) for i in agents]
            for step in steps:
                weights = weights * step.mass
            states = [step.next for step in steps]
            earned = np.zeros(runs)
            for number in self._entries_at(stage):
                entry = indexed.entries[number]
                asked = [steps[i].matches(condition) for i, condition in entry.members]
                matches = [each for each in asked if each is not None]
                if len(matches) == len(asked):
                    earned += entry.value * np.all(matches, axis=0)
            returns += weights * earned
        return returns


class _Step:
    """What happens to one agent at a stage, in each of the runs."""

    def __init__(
        self, laws: Laws, agent: int, choices: Integers, random: np.random.Generator
    ) -> None:
        moves = Moves(laws, agent, choices)
        law = moves.law_of
        # The outcomes of law k share the numbers from k to k + 1, by their chances.
        upper = [
            k + chance / each.mass
            for k, each in enumerate(moves.laws)
            for chance in itertools.accumulate(each.chances)
        ]
        drawn = np.searchsorted(upper, law + random.random(len(law)), side="right")
        # Rounding must not lead to the outcome of another law.
        self._drawn = np.clip(drawn, moves.begin[law], moves.begin[law] + moves.count[law] - 1)
        self.next = moves.next[self._drawn]
        self.mass = moves.mass[law]
        self._matched = [
            laws.rewards.matched(agent, transition)
            for each in moves.laws
            for transition in each.transitions
        ]
        self._matches: dict[int, NDArray[np.bool_] | None] = {}

    def matches(self, condition: int) -> NDArray[np.bool_] | None:
        """Whether a condition matches; None if it does so in no run."""
        if condition not in self._matches:
            matched = np.array([condition in each for each in self._matched])[self._drawn]
            self._matches[condition] = matched if matched.any() else None
        return self._matches[condition]
