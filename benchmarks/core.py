"""The exact part of the engine: the tensor kernel, literature sizes, the gain of shrinking.

Run: .venv/bin/python benchmarks/core.py, with --only shrinking for one part, and with --data DIR to
also shrink problems in files.
"""

from __future__ import annotations

import argparse
import math
import statistics
import time
from collections.abc import Callable, Collection
from contextlib import suppress
from pathlib import Path

import numpy as np

from coreplan import FormatError, MaintenanceProblem, _core, read_problem, solve
from coreplan.solving import compile_problem
from coreplan.solving.compile import AnyProblem
from coreplan.solving.limits import Limits
from instances import pyramid, random_mpp

STEPS = ("shape", "drop", "settle", "eliminate", "merge")


def pass_cells(model: _core.CompiledModel, team: list[int]) -> float:
    """Table cells that plain passes would read and write, one agent and one operation at a time."""
    begins = [(model.layer_begin(i), model.after_layer_begin(i)) for i in team]
    total = 0.0
    for layer in range(len(begins[0][0]) - 2):
        states = [int(c[layer + 1] - c[layer]) for c, _ in begins]
        afters = [int(f[layer + 1] - f[layer]) for _, f in begins]
        sizes = [int(c[layer + 2] - c[layer + 1]) for c, _ in begins]
        tables = [math.prod(sizes)]
        for wanted in (afters, states):
            for m, size in enumerate(wanted):
                sizes[m] = size
                tables.append(math.prod(sizes))
        # Every pass reads one table and writes the next; interactions are added in one more.
        total += 2 * sum(tables) - tables[0] - tables[-1] + 2 * tables[len(team)]
    return total


def best_of(count: int, work: Callable[[], object]) -> float:
    """The shortest of several runs, in seconds."""
    times = []
    for _ in range(count):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def kernel_speed() -> None:
    """Cells per second of the kernel, against streaming passes, in the same run."""
    print("tensor kernel, one thread: value cells per second, against streaming over")
    print("  tables: every value read once and written once (no method can do with less)")
    print("  passes: all tables of plain passes, one agent and one operation at a time")
    print(
        f"{'team':<14}{'cells':>14}{'kernel':>12}{'with policy':>14}{'streaming':>13}"
        f"{'tables':>9}{'passes':>9}"
    )
    for agents, horizon in ((2, 40), (2, 400), (3, 16), (4, 10)):
        problem = random_mpp(agents, 4, horizon, seed=1, density=0.3, longest_delay=3)
        limits = Limits()
        model = compile_problem(problem, limits=limits).model
        team = sorted(range(agents), key=lambda i: int(model.layer_begin(i)[-1]))
        prepared = _core.PreparedTeam(model, team, limits.monitor)
        cells = prepared.solve(False, 1, limits.monitor).cells
        widest = max(
            math.prod(int(n) for n in row)
            for row in zip(*(np.diff(model.layer_begin(i)) for i in team), strict=True)
        )
        # A pass over tables as large as those of the widest stage: in the cache if they are.
        source = np.random.default_rng(1).random(widest)
        target = np.empty_like(source)
        repeat = max(1, 20_000_000 // widest)
        runs = 3 if cells > 1e8 else 7
        plain = cells / best_of(runs, lambda: prepared.solve(False, 1, limits.monitor))  # noqa: B023
        policy = cells / best_of(runs, lambda: prepared.solve(True, 1, limits.monitor))  # noqa: B023
        stream = (widest * repeat) / best_of(
            runs,
            lambda: [np.add(source, 1.0, out=target) for _ in range(repeat)],  # noqa: B023
        )
        passes = plain * pass_cells(model, team) / cells / 2 / stream
        print(
            f"{agents} x 4 x {horizon:<6}{cells:>14,}{plain / 1e6:>8.0f} M/s"
            f"{policy / 1e6:>10.0f} M/s{stream / 1e6:>9.0f} M/s{plain / stream:>9.2f}{passes:>9.2f}"
        )


def report(name: str, problems: list[MaintenanceProblem]) -> None:
    """Solve problems and print their times."""
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


def families(data: Path | None) -> dict[str, list[AnyProblem]]:
    """Problems by kind; with `data`, also those in the files of a folder."""
    found: dict[str, list[AnyProblem]] = {
        f"mpp, {agents} agents, density {density}": [
            random_mpp(agents, 3, horizon, seed, density=density, must_complete=True)
            for horizon in (8, 10)
            for seed in range(10)
        ]
        for agents in (2, 3, 4)
        for density in (0.1, 0.5)
    }
    found["pyra, 10 agents, horizon 6"] = [pyramid(10, 2, 6, seed) for seed in range(10)]
    if data is not None:
        problems = []
        for path in sorted(data.iterdir()):
            with suppress(FormatError):  # a folder may also contain other files
                problems.append(read_problem(path))
        found[f"files in {data.name}"] = problems
    return found


def remaining(model: _core.CompiledModel, steps: Collection[str], limits: Limits) -> float:
    """The number of joint states after only some steps of shrinking."""
    options = {step: step in steps for step in STEPS}
    return _core.reduce(model, **options, monitor=limits.monitor).report.joint_after


def short(factor: float) -> str:
    """A factor with three digits or so."""
    if factor < 99.95:
        return f"{factor:.2f}" if factor < 9.995 else f"{factor:.1f}"
    return f"{factor:,.0f}" if factor < 1e6 else f"{factor:.0e}"


def shown(factors: list[float]) -> str:
    """Factors in a cell: the median and, unless all are the same, the least and the largest."""
    least, most = short(min(factors)), short(max(factors))
    span = "" if least == most else f" ({least}-{most})"
    return short(statistics.median(factors)) + span


def shrinking(data: Path | None) -> None:
    """Print the gain of each step of shrinking, in joint states: the factor and its range."""
    print("shrinking: the factor by which it reduces merged joint states; median (least-most)")
    print("without: the factor lost without this step; alone: only this step, after shaping")
    print(f"{'':<28}{'':<9}" + "".join(f"{name:>18}" for name in ("all steps", *STEPS)))
    for family, problems in families(data).items():
        gained: list[float] = []
        lost: dict[str, list[float]] = {step: [] for step in STEPS}
        alone: dict[str, list[float]] = {step: [] for step in STEPS}
        for problem in problems:
            limits = Limits()
            compiled = compile_problem(problem, limits=limits)
            before, model = compiled.joint_states, compiled.model
            after = remaining(model, STEPS, limits)
            gained.append(before / after)
            for step in STEPS:
                others = [each for each in STEPS if each != step]
                lost[step].append(remaining(model, others, limits) / after)
                alone[step].append(before / remaining(model, ("shape", step), limits))
        rows = {"without": [shown(gained), *map(shown, lost.values())], "alone": [""]}
        rows["alone"] += [shown(each) if step != "shape" else "-" for step, each in alone.items()]
        for name, (kind, cells) in zip((family, ""), rows.items(), strict=True):
            print(f"{name:<28}{kind:<9}" + "".join(f"{cell:>18}" for cell in cells))


PARTS: dict[str, Callable[[Path | None], None]] = {
    "kernel": lambda _: kernel_speed(),
    "literature": lambda _: literature(),
    "shrinking": shrinking,
}


def main() -> None:
    """Run the parts that are asked for, by default all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--data", type=Path, metavar="DIR", help="a folder with more problems to shrink"
    )
    parser.add_argument("--only", choices=PARTS, help="run only this part")
    arguments = parser.parse_args()
    data: Path | None = arguments.data
    if data is not None and not data.is_dir():
        parser.error(f"the folder {data} does not exist")
    for number, part in enumerate([arguments.only] if arguments.only else PARTS):
        print(end="\n" if number else "")
        PARTS[part](data)


if __name__ == "__main__":
    main()
