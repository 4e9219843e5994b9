"""Policies of known value: the loss against the sum of the agents' own optima, over time.

Run: .venv/bin/python benchmarks/policies.py [file ...]
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from coreplan import MaintenanceProblem, _core, read_problem
from coreplan.model.timmdp import TIMMDP
from coreplan.solving import compile_problem
from coreplan.solving.limits import Limits
from coreplan.support.processors import usable_processors
from instances import random_mpp

TIMES = (0.1, 0.3, 1.0, 3.0, 10.0)
SLICE = 5_000_000
"""Work between two looks at the clock, about 5 ms."""
STEPS = {"shape": True, "drop": True, "settle": True, "eliminate": True, "merge": True}


def report(name: str, problem: TIMMDP | MaintenanceProblem) -> None:
    """Search each team for the given times and print the sum of the losses."""
    limits = Limits()
    reduction = _core.reduce(
        compile_problem(problem, limits=limits).model, **STEPS, monitor=limits.monitor
    )
    teams = [team for team in _core.components(reduction.model) if len(team) > 1]
    models = [_core.restrict_to(reduction.model, team) for team in teams]
    start = time.perf_counter()
    searches = [
        _core.PolicySearch(model, 1, 8, 20_000, 10, usable_processors(), limits.monitor)
        for model in models
    ]
    print(f"{name:<34}", end="")
    done = time.perf_counter() - start
    for seconds in TIMES:
        for search in searches:
            end = time.perf_counter() + max(seconds - done, 0.0) / len(searches)
            while time.perf_counter() < end and not search.exhausted:
                search.improve(SLICE)
        done = max(seconds, done)
        print(f"{-sum(search.value for search in searches):>11.2f}", end="", flush=True)
    clusters = sum(len(search.policy().clusters) for search in searches)
    print(f"{max(map(len, teams), default=0):>8}{clusters:>10}")


def main() -> None:
    """Run on the files given, or on random problems."""
    print(f"{'loss after':<34}" + "".join(f"{t:>9} s" for t in TIMES), end="")
    print(f"{'':>5}{'agents':>8}{'clusters':>10}")
    for path in sys.argv[1:]:
        report(Path(path).name, read_problem(path))
    if len(sys.argv) > 1:
        return
    for agents, tasks, horizon, density in (
        (5, 3, 26, 0.3),
        (10, 3, 36, 0.3),
        (30, 3, 52, 0.1),
        (100, 3, 52, 0.03),
        (300, 3, 52, 0.01),
    ):
        problem = random_mpp(agents, tasks, horizon, 1, density=density, must_complete=True)
        report(f"mpp {agents} x {tasks} x {horizon}, density {density}", problem)


if __name__ == "__main__":
    main()
