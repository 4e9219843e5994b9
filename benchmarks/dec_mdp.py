"""How fast `dec-mdp` finds optimal decentralised policies, and what they lose.

Run by hand: .venv/bin/python benchmarks/dec_mdp.py [--seeds 200] [--time-limit 10]

The table has, per family of random maintenance problems: how many were solved to the optimum, the
mean and the worst time, the work, and how the decentralised optimum compares with the centralised
one (found by `core`): in how many problems it is lower, and its mean and worst part of it. Families
with "plain" keep all local states with their start and end times apart, as in the literature.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from coreplan import Status, solve
from instances import random_mpp


@dataclass(frozen=True)
class Family:
    """Random maintenance problems of one size."""

    agents: int
    tasks: int
    horizon: int
    density: float = 0.5
    must_complete: bool = False
    merge: bool = True
    part: float = 1.0
    """Of the seeds, that are used: larger problems take longer."""

    @property
    def name(self) -> str:
        """What is in the table."""
        extras = ["must complete"] * self.must_complete + ["plain"] * (not self.merge)
        size = f"{self.agents} agents, {self.tasks} tasks, h={self.horizon}"
        return ", ".join([size, *extras])


FAMILIES = [
    *(Family(2, 2, horizon) for horizon in (3, 4, 5)),
    *(Family(2, 2, horizon, must_complete=True) for horizon in (4, 5)),
    *(Family(2, 2, horizon, merge=False) for horizon in (3, 4, 5)),
    *(Family(2, 3, horizon, part=0.25) for horizon in (5, 8, 10)),
    *(Family(3, 2, horizon, part=0.25) for horizon in (5, 8, 10)),
    *(Family(3, 3, horizon, part=0.05) for horizon in (6, 8, 10)),
    Family(4, 2, 6, part=0.05),
    Family(4, 3, 8, part=0.02),
]


def measure(family: Family, seeds: int, time_limit: float) -> str:
    """Solve the problems of a family; a line of the table."""
    seconds: list[float] = []
    ratios: list[float] = []
    work: list[float] = []
    solved = 0
    count = max(1, round(family.part * seeds))
    for seed in range(count):
        problem = random_mpp(
            family.agents,
            family.tasks,
            family.horizon,
            seed,
            density=family.density,
            must_complete=family.must_complete,
        )
        result = solve(problem, algorithm="dec-mdp", merge=family.merge, time_limit=time_limit)
        central = solve(problem, time_limit=time_limit)
        assert result.value <= central.upper_bound + 1e-6, "better than the centralised optimum"
        seconds.append(result.seconds)
        work.append(result.statistics.others["search_nodes"])
        if result.status is not Status.OPTIMAL or central.status is not Status.OPTIMAL:
            continue
        solved += 1
        # Costs are below zero: the smaller number on top, so that 1 means nothing is lost.
        low, high = sorted((abs(result.value), abs(central.value)))
        ratios.append(low / high if high else 1.0)
    lossy = sum(ratio < 1 - 1e-9 for ratio in ratios)
    mean, worst = (statistics.mean(ratios), min(ratios)) if ratios else (1.0, 1.0)
    return (
        f"{family.name:<38}{f'{solved} of {count}':>12}{statistics.mean(seconds):>10.4f}"
        f"{max(seconds):>10.4f}{statistics.mean(work):>12,.1f}{f'{lossy} of {solved}':>12}"
        f"{mean:>9.4f}{worst:>9.4f}"
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--seeds", type=int, default=200, help="problems of each small family")
    parser.add_argument("--time-limit", type=float, default=10, help="seconds for each problem")
    asked = parser.parse_args(arguments)
    print(
        f"{'family':<38}{'solved':>12}{'mean s':>10}{'worst s':>10}{'nodes':>12}"
        f"{'lossy':>12}{'mean':>9}{'worst':>9}"
    )
    for family in FAMILIES:
        print(measure(family, asked.seeds, asked.time_limit), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
