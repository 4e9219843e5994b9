"""`spudd` against `dp`, `core-2016` and `core`: random maintenance problems, time-dependent costs.

2 and 3 agents, 3 tasks, horizon 5 to 10. `spudd` runs in both encodings: stage by stage on the
states that can be reached, and on the reference model with a clock, which has states and actions of
its own (`--no-merge` does not change it). Where Storm (the extra `storm`) is installed, its sparse
and dd engines run as well. Every run has a process of its own and one thread; times are wall time
of `solve`, for Storm that of reading, building and computing.

Run: .venv/bin/python benchmarks/spudd.py [--agents 2 3] [--seeds 3] [--time-limit 60] [--no-merge]
"""

from __future__ import annotations

import argparse
import importlib.util
import math
import multiprocessing
import statistics
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from coreplan import LimitError, Status, solve
from coreplan.interop.storm import storm_value
from instances import random_mpp


@dataclass(frozen=True)
class Solver:
    """A way to solve an instance."""

    name: str
    algorithm: str
    options: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Run:
    """What came out: the value if it was solved, and the time."""

    value: float | None
    seconds: float
    peak_nodes: float | None = None


SOLVERS = [
    Solver("spudd", "spudd"),
    Solver("spudd interleaved", "spudd", {"order": "interleaved"}),
    Solver("spudd enumerate", "spudd", {"actions": "enumerate"}),
    Solver("spudd reference", "spudd", {"encoding": "reference"}),
    Solver("dp", "dp"),
    Solver("core-2016", "core-2016", {"memo": True}),
    Solver("core", "core", {"threads": 1}),
]
STORM = "storm"


def storm_solvers() -> list[Solver]:
    """Storm's engines, if it is installed."""
    if importlib.util.find_spec("stormpy") is None:
        return []
    return [Solver(f"storm {engine}", STORM, {"engine": engine}) for engine in ("sparse", "dd")]


def run(solver: Solver, agents: int, horizon: int, seed: int, limit: float, merge: bool) -> Run:
    """Solve one instance."""
    problem = random_mpp(agents, 3, horizon, seed, must_complete=True)
    try:
        if solver.algorithm == STORM:
            answer = storm_value(problem, time_limit=limit, merge=merge, **solver.options)
            return Run(answer.value, answer.seconds)
        options = (
            solver.options if "encoding" in solver.options else {"merge": merge, **solver.options}
        )
        result = solve(problem, algorithm=solver.algorithm, time_limit=limit, **options)
    except LimitError:
        return Run(None, limit)
    solved = result.status is Status.OPTIMAL
    return Run(
        result.value if solved else None,
        result.seconds,
        result.statistics.others.get("peak_nodes"),
    )


def in_its_own_process(*arguments: Any) -> Run:
    """Run it where nothing is left from others."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(run, arguments)


def row(solver: Solver, runs: Sequence[Run]) -> str:
    """A line of the table."""
    times = [each.seconds for each in runs]
    solved = sum(each.value is not None for each in runs)
    nodes = [each.peak_nodes for each in runs if each.peak_nodes is not None]
    return (
        f"  {solver.name:<20}{solved:>3} of {len(runs):<4}{statistics.median(times):>10.4f}"
        f"{max(times):>10.4f}" + (f"{statistics.median(nodes):>14,.0f}" if nodes else "")
    )


def disagreements(found: dict[str, list[Run]]) -> list[str]:
    """Instances on which two solvers proved different values."""
    wrong = []
    for k, runs in enumerate(zip(*found.values(), strict=True)):
        values = [each.value for each in runs if each.value is not None]
        if values and not all(math.isclose(v, values[0], rel_tol=1e-6) for v in values):
            wrong.append(f"instance {k}: {dict(zip(found, runs, strict=True))}")
    return wrong


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a table per size; exit code 1 if solvers disagree."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--agents", type=int, nargs="+", default=[2, 3])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--time-limit", type=float, default=60)
    parser.add_argument("--quick", action="store_true", help="small instances only")
    parser.add_argument("--no-merge", action="store_true", help="states with start and end times")
    given = parser.parse_args(arguments)
    solvers = [*SOLVERS, *storm_solvers()]
    wrong = []
    for agents in given.agents:
        for horizon in (5, 6) if given.quick else range(5, 11):
            print(f"{agents} agents, 3 tasks, horizon {horizon}")
            print(f"  {'':<20}{'solved':<11}{'median s':>9}{'worst s':>10}{'peak nodes':>14}")
            found: dict[str, list[Run]] = {}
            for solver in solvers:
                runs = [
                    in_its_own_process(
                        solver, agents, horizon, seed, given.time_limit, not given.no_merge
                    )
                    for seed in range(given.seeds)
                ]
                found[solver.name] = runs
                print(row(solver, runs), flush=True)
            wrong += disagreements(found)
    for each in wrong:
        print(f"CONTRADICTION: {each}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
