"""Rewards that nobody earns alone: bounds of teams of sensors, after the same counted work.

Run: .venv/bin/python benchmarks/gains.py [--work 10] [--sizes 5x1 7x2 9x2] [--horizon 8]

A size is a number of sensors and of targets (`examples/sensors.py`). The work is counted in units
of about a second of one thread, so that the bounds do not depend on the load of the machine.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from coreplan import Result, solve

sys.path.append(str(Path(__file__).parents[1] / "examples"))

from sensors import sensors

SIZES = ("4x1", "5x1", "6x2", "7x2", "8x2", "10x3")


def line(name: str, how: str, result: Result) -> str:
    """One line of the table."""
    work = result.statistics.others
    parts = "".join(
        f"{work.get(side, 0.0):>11.2f}"
        for side in ("work", "relaxation_work", "policies_work", "search_work")
    )
    return (
        f"{name:<10}{how:<14}{result.lower_bound:>12.4f}{result.upper_bound:>12.4f}"
        f"{100 * result.relative_gap:>9.3f}{result.status:>12}{result.seconds:>9.2f}{parts}"
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Solve teams of growing size, jointly and with each sensor on its own."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=float, default=10.0, help="work of each solve")
    parser.add_argument("--sizes", nargs="+", default=SIZES, help="sensors x targets")
    parser.add_argument("--horizon", type=int, default=8)
    parser.add_argument("--time-limit", type=float, default=10.0, help="of dec-mdp, in seconds")
    asked = parser.parse_args(arguments)
    print(
        f"{'sensors':<10}{'algorithm':<14}{'at least':>12}{'at most':>12}{'gap %':>9}{'status':>12}"
        f"{'seconds':>9}{'work':>11}{'relaxation':>11}{'policies':>11}{'search':>11}"
    )
    for size in asked.sizes:
        count, targets = map(int, size.split("x"))
        problem = sensors(count, targets, asked.horizon)
        print(line(size, "core", solve(problem, work_limit=asked.work)), flush=True)
        alone = solve(problem, algorithm="dec-mdp", time_limit=asked.time_limit)
        print(line("", "dec-mdp", alone), flush=True)


if __name__ == "__main__":
    main()
