"""Grouping of similar interactions: graph size and joint actions against the loss.

For each instance and tolerance, `core-2016` solves the problem with `group=TOLERANCE`. The tables
have nodes and arcs of the conditional return graphs and joint actions evaluated, relative to those
with tolerance 0 (geometric means); and the proven bound on the loss, the gap of the result, and the
true loss (the optimum less the value of the plan; the mean and the largest) in per cent of the
optimum. See "Grouping" in docs/paper-to-code.md.

Run: .venv/bin/python benchmarks/grouping.py [--count 12] [--agents 3] [--time-limit 60]
"""

from __future__ import annotations

import argparse
import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from coreplan import MaintenanceProblem, Result, solve
from instances import random_mpp


@dataclass(frozen=True)
class Family:
    """Instances of one kind, with the tolerances to try, 0 first."""

    name: str
    hindrance: tuple[float, float]
    tolerances: tuple[float, ...]


FAMILIES = (
    Family("hindrance of all sizes, 5 to 100", (5, 100), (0, 1, 5, 10, 20, 40, 80)),
    Family("similar hindrance, 90 to 100", (90, 100), (0, 1, 2, 5, 10)),
)


@dataclass(frozen=True)
class Run:
    """One instance with one tolerance."""

    nodes: float
    arcs: float
    actions: int
    proven: float
    """The bound on the loss, in per cent of the optimum."""
    gap: float
    """The gap of the result, in per cent of the optimum."""
    lost: float
    """The optimum less the value of the plan, in per cent of the optimum."""
    brackets: bool
    """Whether the bounds of the result contain the optimum."""


def instances(family: Family, count: int, agents: int) -> list[MaintenanceProblem]:
    """Maintenance problems; half of the pairs of works of two contractors hinder each other."""
    return [
        random_mpp(
            agents,
            3,
            6 + k % 3,
            seed=k,
            density=0.5,
            must_complete=True,
            hindrance=family.hindrance,
        )
        for k in range(count)
    ]


def measure(
    problem: MaintenanceProblem, tolerance: float, optimum: float, limit: float
) -> Run | None:
    """Solve one instance; None if the time limit stopped it."""
    result: Result = solve(
        problem,
        algorithm="core-2016",
        group=tolerance,
        bounds="expected",
        time_limit=limit,
    )
    if result.status == "time_limit":
        return None
    others = result.statistics.others
    unit = abs(optimum) / 100
    return Run(
        others["crg_nodes"],
        others["crg_arcs"],
        result.statistics.joint_actions_evaluated,
        others.get("grouping_loss", 0.0) / unit,
        result.gap / unit,
        (optimum - result.value) / unit,
        result.value - 1e-6 * unit <= optimum <= result.upper_bound + 1e-6 * unit,
    )


def relative(runs: Sequence[Run], base: Sequence[Run], name: str) -> float:
    """The geometric mean of the ratios of a count to that with tolerance 0."""
    ratios = (
        math.log((getattr(run, name) + 1) / (getattr(first, name) + 1))
        for run, first in zip(runs, base, strict=True)
    )
    return math.exp(statistics.fmean(ratios))


def compare(family: Family, count: int, agents: int, limit: float) -> bool:
    """Print the table of a family; False if a result contradicts an optimum."""
    problems = instances(family, count, agents)
    optima = [solve(problem).value for problem in problems]
    runs = [
        [measure(problem, each, optimum, limit) for each in family.tolerances]
        for problem, optimum in zip(problems, optima, strict=True)
    ]
    solved = [[run for run in row if run] for row in runs if all(row)]
    print(f"{family.name}: {len(solved)} of {count} problems of {agents} contractors, means")
    print(
        f"{'tolerance':>9}{'nodes':>8}{'arcs':>8}{'joint actions':>15}{'loss, proven':>14}"
        f"{'gap':>9}{'loss, true':>12}{'most':>9}"
    )
    for k, tolerance in enumerate(family.tolerances if solved else ()):
        column = [row[k] for row in solved]
        base = [row[0] for row in solved]
        print(
            f"{tolerance:>9g}"
            f"{relative(column, base, 'nodes'):>8.3f}{relative(column, base, 'arcs'):>8.3f}"
            f"{relative(column, base, 'actions'):>15.3f}"
            f"{statistics.fmean(run.proven for run in column):>13.2f}%"
            f"{statistics.fmean(run.gap for run in column):>8.2f}%"
            f"{abs(statistics.fmean(run.lost for run in column)):>11.2f}%"
            f"{abs(max(run.lost for run in column)):>8.2f}%"
        )
    agrees = all(run.brackets for row in runs for run in row if run)
    if not agrees:
        print("CONTRADICTION: the bounds of a result do not contain the optimum")
    return agrees


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a table for each family."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=12)
    parser.add_argument("--agents", type=int, default=3)
    parser.add_argument("--time-limit", type=float, default=60)
    asked = parser.parse_args(arguments)
    agree = [compare(each, asked.count, asked.agents, asked.time_limit) for each in FAMILIES]
    return 0 if all(agree) else 1


if __name__ == "__main__":
    raise SystemExit(main())
