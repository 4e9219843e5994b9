"""Results of simulated runs of a policy."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coreplan.analysis.trajectories import Trajectory
from coreplan.errors import ModelError
from coreplan.support.checks import found, is_number
from coreplan.support.frozen import FrozenMapping
from coreplan.support.late import late

Floats = NDArray[np.float64]

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
"""The quantiles that summaries show."""


@dataclass(frozen=True)
class Estimate:
    """The mean return of simulated runs, and an interval for the expected value.

    The interval is the mean ± z·s/√runs: s is the standard deviation over the runs, z the quantile
    of the normal distribution. It is an approximation that is good for many runs. It can be too
    narrow if rare events matter much. It is not a proof.

    Attributes
    ----------
    mean
        The mean over the runs.
    low, high
        The interval.
    runs
        The number of runs.
    confidence
        The approximate probability that the interval contains the exact value.
    """

    mean: float
    low: float
    high: float
    runs: int
    confidence: float

    def to_dict(self) -> dict[str, float]:
        """The parts by name."""
        return {
            "mean": self.mean,
            "low": self.low,
            "high": self.high,
            "runs": self.runs,
            "confidence": self.confidence,
        }


def make_estimate(mean: float, squares: float, runs: int, confidence: float) -> Estimate:
    """Make an estimate from a mean and the sum of squared distances from it."""
    z = -NormalDist().inv_cdf((1 - confidence) / 2)
    margin = z * math.sqrt(squares / (runs - 1)) / math.sqrt(runs)
    return Estimate(mean, mean - margin, mean + margin, runs, confidence)


@dataclass(frozen=True)
class Completion:
    """The steps in which simulated runs completed a task.

    Attributes
    ----------
    contractor, task
        Their names.
    undone
        The part of the runs that did not complete it by the horizon.
    mean
        The mean step of completion, over the runs that completed it; None if no run did.
    stage
        The first stage of `shares`.
    shares
        For each stage up to the last: the part of the runs that completed it in that step.
    """

    contractor: str
    task: str
    undone: float
    mean: float | None
    stage: int
    shares: tuple[float, ...]

    def to_dict(self) -> dict[str, Any]:
        """The parts by name."""
        return {
            "contractor": self.contractor,
            "task": self.task,
            "undone": self.undone,
            "mean": self.mean,
            "stage": self.stage,
            "shares": list(self.shares),
        }


@dataclass(frozen=True, eq=False)
class Simulation:
    """The results of simulated runs of a policy; made by :func:`coreplan.simulate`.

    Attributes
    ----------
    problem
        The problem's name.
    value
        An estimate of the value of the policy.
    runs, asked
        The number of runs, and the number requested, which is larger if the simulation was stopped.
    seed
        The seed of the random numbers.
    seconds
        Wall time.
    returns
        The return of each run, in ascending order.
    own
        For each agent, by name: its own reward. In a maintenance problem: revenue minus the cost of
        its works.
    shared
        For each set of agents, by their names: the reward of their interactions. In a maintenance
        problem that is minus the hindrance. Sets without rewards are left out; the empty set has
        the rewards that do not depend on the agents.
    aggregates
        For each reward for sums over agents, by its name: the reward.
    functions, function_names
        For each reward function, in the problem's order: its mean reward, and its name.
    money
        In a maintenance problem: the mean revenue, cost of works and hindrance, also for each entry
        of the network.
    completions
        In a maintenance problem: the completions of all tasks that were not done at the start.
    trajectories
        The first runs step by step, as many as :func:`coreplan.simulate` was asked to keep.
    """

    problem: str
    value: Estimate
    asked: int
    seed: int
    seconds: float
    returns: Floats = field(repr=False)
    own: Mapping[str, Estimate]
    shared: Mapping[tuple[str, ...], Estimate]
    functions: tuple[float, ...]
    function_names: tuple[str, ...]
    aggregates: Mapping[str, Estimate] = FrozenMapping()
    money: Any | None = None
    completions: tuple[Completion, ...] = ()
    trajectories: tuple[Trajectory, ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "own", FrozenMapping(self.own))
        object.__setattr__(self, "shared", FrozenMapping(self.shared))
        object.__setattr__(self, "aggregates", FrozenMapping(self.aggregates))

    @property
    def runs(self) -> int:
        """The number of simulated runs."""
        return self.value.runs

    @property
    def mean(self) -> float:
        """The mean return."""
        return self.value.mean

    @property
    def deviation(self) -> float:
        """The standard deviation of the returns."""
        return float(self.returns.std(ddof=1))

    @property
    def stopped(self) -> bool:
        """Whether the simulation stopped before the requested number of runs."""
        return self.runs < self.asked

    def quantile(self, share: float) -> float:
        """The return that this share of the runs does not exceed; 0.5 gives the median."""
        if not is_number(share) or not 0 <= share <= 1:
            raise ModelError(f"share is {found(share)}; expected a number from 0 to 1")
        return float(np.quantile(self.returns, share, method="inverted_cdf"))

    def histogram(self, bins: int | Sequence[float] = 20) -> tuple[NDArray[np.int64], Floats]:
        """Count the runs whose returns lie in each of some intervals.

        Parameters
        ----------
        bins
            The number of intervals of equal width, or their edges in ascending order.

        Returns
        -------
        tuple
            The number of runs in each interval, and the edges, one more than intervals.
        """
        counts, ends = np.histogram(self.returns, bins=bins)
        return counts, ends.astype(np.float64)

    def to_dict(self) -> dict[str, Any]:
        """All but the single returns, as plain values for machines."""
        counts, ends = self.histogram()
        return {
            "problem": self.problem,
            "value": self.value.to_dict(),
            "runs": self.runs,
            "asked": self.asked,
            "seed": self.seed,
            "seconds": self.seconds,
            "deviation": self.deviation,
            "minimum": float(self.returns[0]),
            "maximum": float(self.returns[-1]),
            "quantiles": {f"{share:g}": self.quantile(share) for share in QUANTILES},
            "histogram": {"ends": ends.tolist(), "counts": counts.tolist()},
            "own": {name: each.to_dict() for name, each in self.own.items()},
            "shared": [
                {"agents": list(names), **each.to_dict()} for names, each in self.shared.items()
            ],
            "aggregates": {name: each.to_dict() for name, each in self.aggregates.items()},
            "functions": [
                {"name": name, "mean": mean}
                for name, mean in zip(self.function_names, self.functions, strict=True)
            ],
            "money": None if self.money is None else self.money.to_dict(),
            "completions": [each.to_dict() for each in self.completions],
        }

    def summary(self) -> str:
        """The main numbers in a few lines of text."""
        return "\n".join(late("Simulation.text")(self))

    def __str__(self) -> str:
        return self.summary()

    def _repr_html_(self) -> str:
        return str(late("Simulation.html")(self))
