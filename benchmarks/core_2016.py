"""The published algorithms: readings of CoRe, and `dp`, `crg-ps` and `core-2016` side by side.

First: how many joint actions of `dp` stand against one of `core-2016`, and how long the search
takes for one, for each reading of the paper (see docs/paper-to-code.md), on instances of the test
set mpp. Second: how many four-agent instances of mpp and ten-agent pyramids both bounds solve. Then
the paper's comparison on random maintenance problems (2 to 4 agents, 3 tasks, horizon 5 to 10) with
unmerged states, which keep start and end times as in the paper, without and with memory of solved
groups; and the ways to assign reward functions to agents.

With --sparse, the instances of mpp and pyra have works of one step, and those of mpp have one
interaction per pair of linked agents. Otherwise they have the sets' own parameters
(docs/test-sets.md).

Run: .venv/bin/python benchmarks/core_2016.py [--count 30] [--time-limit 10] [--only readings]
     [--sparse] [--bounds expected]
"""

from __future__ import annotations

import argparse
import math
import statistics
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from coreplan import LimitError, MaintenanceProblem, Result, _core, solve
from coreplan.bench.sets import generate
from coreplan.solving import build_crgs
from coreplan.solving.algorithms.core_2016 import build_for, search_options
from coreplan.solving.limits import Limits
from coreplan.solving.options import Core2016Options
from coreplan.solving.task import SolverTask
from instances import random_mpp

WEAKEST: dict[str, Any] = {
    "decouple": "search",
    "action_order": "listed",
    "update_bounds": False,
}
READINGS: dict[str, dict[str, Any]] = {
    "agents searched, actions as listed": WEAKEST,
    "agents solved once": {"action_order": "listed", "update_bounds": False},
    "and promising actions first": {"update_bounds": False},
    "and bounds updated: the default": {},
    "only the figure's bounds": {**WEAKEST, "bounds": "expected"},
    "all four": {"bounds": "expected"},
    "and independent actions": {"bounds": "expected", "independent_actions": True},
}
"""Readings of the published algorithm, from the weakest to the strongest."""


@dataclass(frozen=True)
class Run:
    """A way to solve an instance."""

    name: str
    algorithm: str
    memo: bool | None


RUNS = [
    Run("dp", "dp", None),
    Run("crg-ps, memo", "crg-ps", True),
    Run("core-2016, memo", "core-2016", True),
    Run("crg-ps", "crg-ps", False),
    Run("core-2016", "core-2016", False),
]


def instances(count: int) -> list[MaintenanceProblem]:
    """Instances of growing size, the same for every run."""
    made = []
    for k in range(count):
        agents = 2 + k % 3
        horizon = 5 + (k // 3) % 6
        density = (0.1, 0.2, 0.3)[k % 3]
        made.append(random_mpp(agents, 3, horizon, seed=k, density=density, must_complete=True))
    return made


def evaluate(problem: MaintenanceProblem, run: Run, limit: float) -> tuple[int, float] | None:
    """(joint actions evaluated, seconds), or None if it was not solved in time."""
    options = {} if run.memo is None else {"memo": run.memo}
    try:
        result = solve(problem, algorithm=run.algorithm, merge=False, time_limit=limit, **options)
    except LimitError:
        return None
    if result.status != "optimal":
        return None
    return result.statistics.joint_actions_evaluated, result.seconds


def compare_algorithms(problems: list[MaintenanceProblem], limit: float) -> None:
    """Print joint actions evaluated and solved counts."""
    found = {run.name: [evaluate(problem, run, limit) for problem in problems] for run in RUNS}
    print(f"{len(problems)} instances, merge=False, {limit:g} s each")
    print(f"{'':<18}{'solved':>8}{'median joint actions':>22}{'median of ratio to dp':>24}")
    for run in RUNS:
        rows = found[run.name]
        solved = [row for row in rows if row is not None]
        ratios = [
            row[0] / base[0]
            for row, base in zip(rows, found["dp"], strict=True)
            if row is not None and base is not None
        ]
        median = f"{statistics.median(r[0] for r in solved):,.0f}" if solved else "-"
        ratio = f"{statistics.median(ratios):.3f}" if ratios else "-"
        print(f"{run.name:<18}{len(solved):>8}{median:>22}{ratio:>24}")
    common = [
        k for k in range(len(problems)) if all(found[run.name][k] is not None for run in RUNS)
    ]
    print(f"on the {len(common)} instances that all of them solved:")
    for run in RUNS:
        rows = [found[run.name][k] for k in common]
        if rows:
            median = statistics.median(row[0] for row in rows if row)
            seconds = statistics.median(row[1] for row in rows if row)
            print(f"{run.name:<18}{median:>16,.0f} joint actions{seconds:>10.4f} s (medians)")


def compare_assignments(problems: list[MaintenanceProblem], limit: float) -> None:
    """Print CRG sizes and joint actions for the ways to assign reward functions."""
    print("assignment of reward functions, core-2016 with memo, merge=False:")
    for assignment in ("balanced", "highest-degree", "smallest"):
        arcs = []
        actions = []
        for problem in problems:
            arcs.append(build_crgs(problem, assignment=assignment, influence="features").size.arcs)
            result = solve(
                problem,
                algorithm="core-2016",
                assignment=assignment,
                memo=True,
                merge=False,
                time_limit=limit,
            )
            if result.status == "optimal":
                actions.append(result.statistics.joint_actions_evaluated)
        print(
            f"{assignment:<16} median CRG arcs {statistics.median(arcs):>10,.0f}   solved "
            f"{len(actions):>3}   median joint actions {statistics.median(actions):>10,.0f}"
        )


def timed(problem: MaintenanceProblem, **options: Any) -> tuple[Result, float]:
    """A result of core-2016 on unmerged states, and the seconds of processor time it took."""
    begin = time.process_time()
    result = solve(problem, algorithm="core-2016", merge=False, **options)
    return result, time.process_time() - begin


def search_seconds(problem: MaintenanceProblem, limit: float, **options: Any) -> float:
    """The processor time of the search alone: the graphs are built before."""
    limits = Limits(limit)
    chosen = Core2016Options(merge=False, **options)
    crgs = build_for(SolverTask(problem, 0, None, limits), chosen)
    search = search_options(chosen, bounded=True)
    begin = time.process_time()
    _core.solve_core_2016(crgs.core, search, limits.monitor)
    return time.process_time() - begin


def geometric_mean(numbers: Sequence[float]) -> float:
    """The geometric mean."""
    return math.exp(statistics.fmean(map(math.log, numbers)))


SPARSE: dict[str, Any] = {"links": 1, "durations": "shortest"}
"""Parameters of sparser instances: far fewer joint actions matter in them."""


def compare_readings(limit: float, parameters: Mapping[str, Any]) -> None:
    """Print joint actions of DP over CoRe's, and the search's time for one, for each reading."""
    groups = ((2, 6), (3, 2))
    problems = [
        instance.problem
        for agents, count in groups
        for instance in generate("mpp", count=count, agents=[agents], **parameters)
    ]
    print(f"{len(problems)} mpp instances, merge=False, without memory: geometric mean of joint")
    print("actions, median of the search's processor time for one")
    work = [solve(p, algorithm="dp", merge=False).statistics for p in problems]
    print(f"{'':<38}{'DP / CoRe':>10}{'ns / joint action':>20}{'solved':>9}")
    arcs = set()
    for name, options in READINGS.items():
        ratios, costs = [], []
        sizes = []
        for problem, base in zip(problems, work, strict=True):
            result, _ = timed(problem, time_limit=limit, **options)
            sizes.append(result.statistics.others["crg_arcs"])
            if result.status != "optimal":
                continue
            evaluated = result.statistics.joint_actions_evaluated
            ratios.append(base.joint_actions_evaluated / evaluated)
            costs.append(1e9 * search_seconds(problem, limit, **options) / evaluated)
        arcs.add(tuple(sizes))
        print(
            f"{name:<38}{geometric_mean(ratios):>10,.0f}{statistics.median(costs):>20,.0f}"
            f"{len(ratios):>9}"
        )
    print(f"CRG arcs are the same for all readings: {len(arcs) == 1}")


@dataclass
class Solved:
    """How many instances were solved, and how long that took."""

    seconds: list[float] = field(default_factory=list)
    count: int = 0

    def add(self, problem: MaintenanceProblem, limit: float, options: Mapping[str, Any]) -> None:
        """Solve one more."""
        result, seconds = timed(problem, time_limit=limit, **options)
        self.count += 1
        if result.status == "optimal":
            self.seconds.append(seconds)

    def __str__(self) -> str:
        slowest = f", the slowest in {max(self.seconds):.2f} s" if self.seconds else ""
        return f"{len(self.seconds)} of {self.count} solved{slowest}"


def scale_up(limit: float, parameters: Mapping[str, Any], chosen: Sequence[str]) -> None:
    """Print how far each of the bounds gets: four agents of mpp, ten of pyra."""

    def problems_of(name: str, count: int, seed: int = 0, **own: Any) -> list[Any]:
        instances = generate(name, count=count, seed=seed, **own, **parameters)
        return [instance.problem for instance in instances]

    sets = {
        "mpp, 4 agents": problems_of("mpp", 24, agents=[4]),
        "mpp, 4 agents, seed 1": problems_of("mpp", 60, 1, agents=[4]),
        "pyra, 10 agents, horizon 4": problems_of("pyra", 6, agents=[10], horizon=[4]),
    }
    for bounds in chosen:
        for name, problems in sets.items():
            for independent in (False, True):
                options = {"bounds": bounds, "independent_actions": independent}
                solved = Solved()
                for problem in problems:
                    solved.add(problem, limit, options)
                also = ", independent actions" if independent else ""
                print(f"{name}, bounds={bounds!r}{also}, {limit:g} s each: {solved}")


def main() -> None:
    """Run the comparisons."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=30)
    parser.add_argument("--time-limit", type=float, default=10)
    parser.add_argument("--only", choices=["readings", "scale"], help="only this part")
    parser.add_argument("--sparse", action="store_true", help="mpp and pyra with less interaction")
    parser.add_argument("--bounds", choices=["expected", "returns"], help="only these bounds")
    arguments = parser.parse_args()
    parameters = SPARSE if arguments.sparse else {}
    if arguments.only != "scale":
        compare_readings(arguments.time_limit, parameters)
        print()
    if arguments.only != "readings":
        chosen = [arguments.bounds] if arguments.bounds else ["expected", "returns"]
        scale_up(arguments.time_limit, parameters, chosen)
        print()
    if arguments.only:
        return
    problems = instances(arguments.count)
    compare_algorithms(problems, arguments.time_limit)
    print()
    compare_assignments([p for p in problems if len(p.contractors) < 4], arguments.time_limit)


if __name__ == "__main__":
    main()
