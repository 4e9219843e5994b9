"""Joint actions evaluated by `dp`, `crg-ps` and `core-2016`: the paper's comparison, in one run.

On random maintenance problems (2 to 4 agents, 3 tasks, horizon 5 to 10) with unmerged states, which
keep start and end times as in the paper, and without and with memory of solved groups. A second
table compares the ways to assign reward functions to agents.

Run: .venv/bin/python benchmarks/core_2016.py [--count 30] [--time-limit 10]
"""

from __future__ import annotations

import argparse
import statistics
from dataclasses import dataclass

from coreplan import LimitError, MaintenanceProblem, solve
from coreplan.solving import build_crgs
from instances import random_mpp


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
    for assignment in ("balanced", "highest-degree"):
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


def main() -> None:
    """Run both comparisons."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=30)
    parser.add_argument("--time-limit", type=float, default=10)
    arguments = parser.parse_args()
    problems = instances(arguments.count)
    compare_algorithms(problems, arguments.time_limit)
    print()
    compare_assignments([p for p in problems if len(p.contractors) < 4], arguments.time_limit)


if __name__ == "__main__":
    main()
