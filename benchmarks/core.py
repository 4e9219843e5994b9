"""The exact part of the engine: the tensor kernel, literature sizes, what shrinking gains.

Run: .venv/bin/python benchmarks/core.py
"""

from __future__ import annotations

import statistics
import time

import numpy as np

from coreplan import MaintenanceProblem, _core, compile_problem, solve
from coreplan.limits import Limits
from instances import pyramid, random_mpp

STEPS = ("shape", "drop", "settle", "eliminate", "merge")


def kernel_speed() -> None:
    """Cells per second of the kernel, against a streaming pass over the same bytes."""
    print("tensor kernel, one thread, without policy: cells of the value tables per second")
    print(f"{'team':<14}{'cells':>14}{'kernel':>14}{'streaming':>14}{'ratio':>8}")
    for agents, horizon in ((2, 40), (3, 16), (4, 10)):
        problem = random_mpp(agents, 4, horizon, seed=1, density=0.3, longest_delay=3)
        limits = Limits()
        model = compile_problem(problem, limits=limits).model
        team = list(range(agents))
        times = []
        for _ in range(3):
            start = time.perf_counter()
            solution = _core.solve_team(model, team, False, 1, limits.monitor)
            times.append(time.perf_counter() - start)
        seconds = min(times)
        # Every cell is read once as a next state and written once.
        source = np.random.default_rng(1).random(max(solution.cells, 1_000_000))
        target = np.empty_like(source)
        passes = []
        for _ in range(5):
            start = time.perf_counter()
            np.add(source, 1.0, out=target)
            passes.append((time.perf_counter() - start) / len(source))
        stream = 1 / min(passes)
        rate = solution.cells / seconds
        print(
            f"{agents} x 4 x {horizon:<6}{solution.cells:>14,}{rate / 1e6:>11.1f} M/s"
            f"{stream / 1e6:>11.1f} M/s{rate / stream:>8.2f}"
        )


def report(name: str, problems: list[MaintenanceProblem]) -> None:
    """Solve problems and print how long it took."""
    times = []
    proven = 0
    for problem in problems:
        result = solve(problem, algorithm="core")
        proven += result.status == "optimal"
        times.append(1000 * result.seconds)
    print(
        f"{name:<34}{proven:>4} of {len(problems):<4}{statistics.median(times):>10.2f} ms"
        f"{max(times):>10.1f} ms"
    )


def literature() -> None:
    """The sizes of the literature: all proven, in milliseconds."""
    print(f"{'instances':<34}{'proven':>11}{'median':>13}{'worst':>13}")
    for agents in (2, 3, 4):
        report(
            f"mpp, {agents} agents, horizon 5-10",
            [
                random_mpp(agents, 3, horizon, seed, density=density, must_complete=True)
                for horizon in range(5, 11)
                for density in (0.1, 0.2, 0.3, 0.4, 0.5)
                for seed in range(10)
            ],
        )
    for horizon in (4, 6, 8):
        report(
            f"pyra, 10 agents, horizon {horizon}",
            [pyramid(10, 2, horizon, seed) for seed in range(10)],
        )


def shrinking() -> None:
    """Joint states that remain when one step is left out, against all steps."""
    problems = [
        random_mpp(4, 3, horizon, seed, density=0.2, must_complete=True)
        for horizon in (8, 10)
        for seed in range(10)
    ] + [pyramid(6, 2, 6, seed) for seed in range(10)]
    print(f"{'shrinking':<34}{'joint states, factor of no shrinking (median)':>46}")
    for left_out in (None, *STEPS, "all"):
        factors = []
        for problem in problems:
            limits = Limits()
            model = compile_problem(problem, limits=limits).model
            options = {step: left_out not in (step, "all") for step in STEPS}
            found = _core.reduce(model, **options, monitor=limits.monitor).report
            factors.append(found.joint_before / found.joint_after)
        name = "all steps" if left_out is None else f"without {left_out}"
        print(f"{name:<34}{statistics.median(factors):>46.2f}")


def main() -> None:
    """Run all parts."""
    kernel_speed()
    print()
    literature()
    print()
    shrinking()


if __name__ == "__main__":
    main()
