"""What simulated runs of a policy have shown."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coreplan.errors import ModelError
from coreplan.support.checks import found, is_number
from coreplan.support.frozen import FrozenMapping
from coreplan.support.late import late

Floats = NDArray[np.float64]

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
"""Those that summaries show."""


@dataclass(frozen=True)
class Estimate:
    """What was earned in simulated runs on average, and an interval for what is expected.

    The interval is the mean ± z·s/√runs: s is the standard deviation over the runs, z the quantile
    of the normal distribution. It is an approximation, good for many runs; where much hangs on what
    happens rarely, it can be too narrow. It proves nothing.

    Attributes
    ----------
    mean
        The mean over the runs.
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
    """An estimate from a mean and the sum of squared distances from it."""
    z = -NormalDist().inv_cdf((1 - confidence) / 2)
    margin = z * math.sqrt(squares / (runs - 1)) / math.sqrt(runs)
    return Estimate(mean, mean - margin, mean + margin, runs, confidence)


@dataclass(frozen=True)
class Completion:
    """When a task was completed in simulated runs.

    Attributes
    ----------
    contractor, task
        Their names.
    undone
        In which part of the runs it was not completed by the horizon.
    mean
        The mean of the step in which it was completed, where it was; None if it never was.
    stage
        The stage that `shares` begin with.
    shares
        Per stage up to the last: in which part of the runs it was completed in that step.
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
    """What simulated runs of a policy have shown; made by :func:`coreplan.simulate`.

    Attributes
    ----------
    problem
        The problem's name.
    value
        What the policy is worth: an estimate.
    runs, asked
        How many runs there were, and how many had been asked for: fewer, if it was stopped.
    seed
        Where the random numbers start.
    seconds
        Wall time.
    returns
        What each run earned, in ascending order.
    own
        Per agent, by name: what it earned by itself. In a maintenance problem: revenue less the
        cost of its works.
    shared
        Per set of agents, by their names: what they earned by what they did at once. In a
        maintenance problem that is minus the hindrance. Sets with no rewards are left out; the
        empty set has what is earned whatever they do.
    functions, function_names
        Per reward function in the problem's order: the mean of what it gave, and what it is.
    money
        In a maintenance problem: the mean revenue, cost of works and hindrance, also per entry of
        the network.
    completions
        In a maintenance problem: when tasks were completed, but for those that were done already.
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
    money: Any | None = None
    completions: tuple[Completion, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "own", FrozenMapping(self.own))
        object.__setattr__(self, "shared", FrozenMapping(self.shared))

    @property
    def runs(self) -> int:
        """How many runs there were."""
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
        """Whether there are fewer runs than had been asked for."""
        return self.runs < self.asked

    def quantile(self, share: float) -> float:
        """What is earned at most in this share of the runs; 0.5 for the median."""
        if not is_number(share) or not 0 <= share <= 1:
            raise ModelError(f"share is {found(share)}; expected a number from 0 to 1")
        return float(np.quantile(self.returns, share, method="inverted_cdf"))

    def histogram(self, bins: int | Sequence[float] = 20) -> tuple[NDArray[np.int64], Floats]:
        """How often the return is in each of some intervals; and where they end.

        Parameters
        ----------
        bins
            How many intervals of the same width, or where they end, from low to high.

        Returns
        -------
        tuple
            The number of runs per interval, and one end more.
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
