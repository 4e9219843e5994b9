"""The speed of simulations.

Run by hand: .venv/bin/python benchmarks/simulate.py [--runs 1000000]

The table has, per plan: the simulated runs per second with one thread and with all, the seconds
with all, and the distance of the mean from the exact value, in standard errors.
"""

from __future__ import annotations

import argparse
import math
import sys

from coreplan import Policy, SolverError, simulate, solve
from coreplan.domains.maintenance import schedule_policy
from coreplan.support.processors import usable_processors
from instances import random_mpp

FAMILIES = [(2, 3, 12), (4, 3, 30), (4, 5, 30), (8, 3, 30), (20, 3, 30)]
"""Contractors, tasks of each, horizon."""


def plans(agents: int, tasks: int, horizon: int) -> dict[str, Policy]:
    """A plan of a team, and one of contractors that each follow a schedule."""
    problem = random_mpp(agents, tasks, horizon, 1)
    policy = solve(problem, time_limit=20).policy
    assert policy is not None
    schedule = {
        contractor.name: {task.name: 4 * k for k, task in enumerate(contractor.tasks)}
        for contractor in problem.contractors
    }
    return {"optimised": policy, "schedule": schedule_policy(problem, schedule)}


def measure(policy: Policy, runs: int) -> str:
    """Simulate a plan; a part of a line of the table."""
    one = simulate(policy, runs, 1, threads=1)
    shown = simulate(policy, runs, 1)
    assert shown.mean == one.mean, "threads make a difference"
    try:
        error = shown.deviation / math.sqrt(runs)
        distance = f"{(shown.mean - policy.evaluate(time_limit=60)) / error:+.2f}"
    except (SolverError, ZeroDivisionError):
        distance = "-"
    speeds = f"{runs / one.seconds:>12,.0f}  {runs / shown.seconds:>12,.0f}"
    return f"{speeds}  {shown.seconds:>8.2f}  {distance:>8}"


def main(arguments: list[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=1_000_000)
    parser.add_argument("--most-agents", type=int, default=20)
    options = parser.parse_args(arguments)
    print(f"{options.runs:,} runs, {usable_processors()} processors")
    print(f"{'plan':<40}  {'runs/s, 1':>12}  {'runs/s, all':>12}  {'seconds':>8}  {'off by':>8}")
    for agents, tasks, horizon in FAMILIES:
        if agents > options.most_agents:
            continue
        for kind, policy in plans(agents, tasks, horizon).items():
            name = f"{agents} agents, {tasks} tasks, h={horizon}, {kind}"
            print(f"{name:<40}  {measure(policy, options.runs)}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
