"""Speed and memory of plain dynamic programming (`dp`), each case in its own process.

Run by `make bench`, or: .venv/bin/python benchmarks/dp.py
"""

from __future__ import annotations

import multiprocessing
import statistics
from dataclasses import dataclass

from coreplan import TIMMDP, MaintenanceProblem, solve
from coreplan.solving import compile_problem
from coreplan.support.memory import peak_memory_mb
from instances import random_mpp

REPEATS = 3


@dataclass(frozen=True)
class Case:
    """An instance and how to solve it."""

    name: str
    agents: int
    horizon: int
    merge: bool = True
    must_complete: bool = False
    translate: bool = False
    """Whether to use the TI-MMDP: unmerged states are then (to do, current, remaining)."""


CASES = [
    Case("4 agents, horizon 8", 4, 8),
    Case("4 agents, horizon 8, not merged", 4, 8, merge=False, translate=True),
    Case("4 agents, horizon 8, must complete", 4, 8, must_complete=True),
    Case("4 agents, horizon 10, must complete", 4, 10, must_complete=True),
    Case("3 agents, horizon 10", 3, 10),
    Case("2 agents, horizon 8", 2, 8),
    Case("2 agents, horizon 8, with start/end times", 2, 8, merge=False),
]


def measure(case: Case) -> dict[str, float]:
    """Solve a case a few times; the median time, the work, and memory beyond the start."""
    problem: MaintenanceProblem | TIMMDP
    problem = random_mpp(case.agents, 3, case.horizon, seed=7, must_complete=case.must_complete)
    if case.translate:
        problem = problem.to_timmdp()
    compiled = compile_problem(problem, merge=case.merge)
    before = peak_memory_mb()
    first = solve(problem, algorithm="dp", merge=case.merge)
    taken = peak_memory_mb() - before
    seconds = [first.seconds]
    for _ in range(REPEATS - 1):
        seconds.append(solve(problem, algorithm="dp", merge=case.merge).seconds)
    assert compiled.joint_states == first.statistics.joint_states_expanded
    return {
        "states": first.statistics.joint_states_expanded,
        "actions": first.statistics.joint_actions_evaluated,
        "seconds": statistics.median(seconds),
        "bytes": 1e6 * taken / first.statistics.joint_states_expanded,
        "value": first.value,
    }


def main() -> None:
    """Print a table."""
    print("3 tasks per agent, interaction density 0.3, seed 7; one core; median of 3 runs")
    print(
        f"{'case':<42}{'joint states':>14}{'joint actions':>15}{'seconds':>9}"
        f"{'M states/s':>12}{'M actions/s':>13}{'bytes/state':>13}"
    )
    context = multiprocessing.get_context("spawn")
    for case in CASES:
        with context.Pool(1) as pool:
            row = pool.apply(measure, (case,))
        speed = row["states"] / row["seconds"] / 1e6
        backups = row["actions"] / row["seconds"] / 1e6
        # The memory of small cases is lost in that of the interpreter.
        memory = f"{row['bytes']:.1f}" if row["states"] > 1e6 else "-"
        print(
            f"{case.name:<42}{row['states']:>14,.0f}{row['actions']:>15,.0f}{row['seconds']:>9.3f}"
            f"{speed:>12.2f}{backups:>13.2f}{memory:>13}"
        )


if __name__ == "__main__":
    main()
