"""What shrinking costs and gains: problems of few and of many states, with and without it.

Run: .venv/bin/python benchmarks/shrinking.py [--work 2] [--sizes 8 12 16]

For every problem: the seconds and the counted work (units of about a second of one thread) of
reading it into the core, of shrinking, and of each of its steps alone; the local states before and
after; and the bounds after the same counted work with and without shrinking. Maps of warehouses
(`examples/warehouse.py`) have many states that differ in every interaction: nothing merges there.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from coreplan import _core, solve
from coreplan.model.problem import PlanningProblem
from coreplan.solving import compile_problem
from coreplan.solving.limits import Limits
from instances import pyramid, random_mpp, realistic

sys.path.append(str(Path(__file__).parents[1] / "examples"))

from sensors import sensors
from warehouse import Robot, Warehouse

STEPS = ("shape", "drop", "settle", "eliminate", "merge")


def large_warehouse(size: int, robots: int, horizon: int) -> Warehouse:
    """Make a square map with rows of racks between aisles, and robots spread over it.

    Parameters
    ----------
    size
        Width and height of the map, in places: every third row has racks, with a way through at
        every fourth place.
    robots
        Number of robots, at most 13; docks begin at one corner, shelves at the opposite one.
    horizon
        Number of decisions.
    """
    rows = [
        ["#" if row % 3 == 1 and column % 4 else "." for column in range(size)]
        for row in range(size)
    ]
    free = [
        (row, column) for row in range(size) for column in range(size) if rows[row][column] == "."
    ]
    letters = [chr(ord("A") + k) for k in range(2 * robots)]
    step = len(free) // (2 * robots)
    marks = [*free[::step][:robots], *free[::-step][:robots]]
    for letter, (row, column) in zip(letters, marks, strict=True):
        rows[row][column] = letter
    return Warehouse(
        tuple(
            Robot(f"robot {k + 1}", letters[k], letters[robots + k], slip=0.1 + 0.01 * k)
            for k in range(robots)
        ),
        horizon,
        "\n".join(map("".join, rows)),
        name=f"warehouse of {size} x {size} places, {robots} robots",
    )


def problems(sizes: Sequence[int]) -> Iterator[tuple[str, PlanningProblem]]:
    """Problems of all kinds, by name."""
    yield "mpp 6 x 3 x 20", random_mpp(6, 3, 20, 1, must_complete=True)
    yield "mpp 8 x 3 x 20, free", random_mpp(8, 3, 20, 3)
    yield "pyramid 15 x 3 x 8", pyramid(15, 3, 8, 1)
    yield "realistic 10 x 52", realistic(10, 52, 1)
    yield "sensors 7 x 2 x 8", sensors(7, 2, 8)
    for size in sizes:
        yield f"warehouse {size} x {size}", large_warehouse(size, 6, 2 * size)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a line for every problem."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=float, default=1.0, help="work of each solve")
    parser.add_argument("--sizes", nargs="+", type=int, default=[8, 12, 16], help="of the maps")
    asked = parser.parse_args(arguments)
    print(
        f"{'problem':<24}{'reading s':>10}{'shrinking s':>12}{'work':>9}{'rounds':>7}{'states':>9}"
        f"{'left':>9}{'gap %':>9}{'without':>9}{'total s':>9}{'without':>9}"
    )
    for name, problem in problems(asked.sizes):
        limits = Limits()
        start = time.process_time()
        model = compile_problem(problem, limits=limits).model
        read, work = time.process_time(), limits.work
        report = _core.reduce(model, **dict.fromkeys(STEPS, True), monitor=limits.monitor).report
        shrunk = time.process_time()
        cells = (
            f"{name:<24}{read - start:>10.3f}{shrunk - read:>12.4f}{limits.work - work:>9.4f}"
            f"{report.rounds:>7}{report.classes_before:>9}{report.classes_after:>9}"
        )
        gaps = seconds = ""
        for steps in ({}, dict.fromkeys(STEPS, False)):
            begin = time.process_time()
            result = solve(problem, work_limit=asked.work, **steps)
            gaps += f"{100 * result.relative_gap:>9.3f}"
            seconds += f"{time.process_time() - begin:>9.2f}"
        print(cells + gaps + seconds, flush=True)


if __name__ == "__main__":
    main()
