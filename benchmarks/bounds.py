"""Certified gaps over time, for large teams: a table, and a plot as SVG.

Run: .venv/bin/python benchmarks/bounds.py --time-limit 60 [--plot gaps.svg] [--data DIR] [CASE ...]
     .venv/bin/python benchmarks/bounds.py --work 100 CASE ...

A case is a number of agents and their contention, for instance 100-high: the first instance of that
group of the test set `large`. Others are 100-teams (teams of 30, 18, 7, 6, 5, 5, 4, 3 and 2 agents
with high contention), mpp-6-0.5-1 (agents, density, seed), pyra-31-9 (agents, horizon) and
realistic-8-52-0 (agents, weeks, seed). --data adds the files of a folder with realistic cases. Gaps
are relative to the value. --work measures them by counted work, in units of about a second of one
thread: the same on any machine, however busy; it also names the teams that are not proven.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from coreplan import MaintenanceProblem, Progress, Result, read_problem, solve
from coreplan.bench.sets import generate
from coreplan.model.timmdp import TIMMDP
from coreplan.view.svg import FONTS, decimal, safe
from instances import pyramid, random_mpp, realistic, scattered

MOMENTS = (1.0, 2.0, 5.0, 10.0, 30.0, 60.0)
WORKS = (1.0, 2.0, 5.0, 10.0, 33.0, 100.0)
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#000000", "#999999")
WIDTH, HEIGHT, MARGIN = 760, 420, 60


@dataclass
class Run:
    """The gaps of one run over time, or over counted work."""

    name: str
    result: Result
    seconds: list[float] = field(default_factory=list)
    """Or units of work."""
    gaps: list[float] = field(default_factory=list)

    def gap_at(self, moment: float) -> float:
        """The gap at a moment; NaN before the first one."""
        known = [gap for at, gap in zip(self.seconds, self.gaps, strict=True) if at <= moment]
        return known[-1] if known else math.nan


def measure(
    name: str, problem: TIMMDP | MaintenanceProblem, time_limit: float, work: float | None
) -> Run:
    """Solve one case and keep every change of the gap."""
    seconds: list[float] = []
    gaps: list[float] = []

    def note(progress: Progress) -> None:
        if math.isfinite(progress.relative_gap) and progress.relative_gap != (gaps or [-1.0])[-1]:
            seconds.append(progress.seconds if work is None else progress.work)
            gaps.append(progress.relative_gap)

    if work is None:
        result = solve(problem, time_limit=time_limit, callback=note)
        seconds.append(result.seconds)
    else:
        result = solve(problem, work_limit=work, callback=note)
        seconds.append(result.statistics.others["work"])
    gaps.append(result.relative_gap)
    return Run(name, result, seconds, gaps)


def make(name: str) -> MaintenanceProblem:
    """The problem of a case."""
    kind, *numbers = name.split("-")
    if kind == "mpp":
        agents, density, seed = numbers
        return random_mpp(int(agents), 3, 10, int(seed), density=float(density), must_complete=True)
    if kind == "pyra":
        return pyramid(int(numbers[0]), 3, int(numbers[1]), 0)
    if kind == "realistic":
        agents, weeks, seed = numbers
        return realistic(int(agents), int(weeks), int(seed))
    if numbers == ["teams"]:
        return scattered(int(kind), 52, 2)
    return next(generate("large", agents=int(kind), contention=numbers[0])).problem


def show(run: Run, moments: Sequence[float], teams: bool) -> None:
    """Print one line of the table, and which teams are not proven."""
    cells = "".join(
        f"{100 * run.gap_at(moment):>9.4f}" if run.gap_at(moment) >= 0 else f"{'-':>9}"
        for moment in moments
    )
    work = run.result.statistics
    print(
        f"{run.name:<32}{cells}{run.result.status:>13}{run.result.seconds:>8.1f} s"
        f"{work.peak_memory_mb:>8.0f} MB",
        flush=True,
    )
    if teams and run.result.message:
        print("  " + run.result.message.replace("; not", ";\n  not"), flush=True)


def plot(runs: list[Run], limit: float, unit: str) -> str:
    """Gaps over time or work, both logarithmic."""
    first, last = 0.1, limit
    top, bottom = 0.1, 1e-5

    def x(seconds: float) -> float:
        part = math.log(max(seconds, first) / first) / math.log(last / first)
        return MARGIN + min(part, 1.0) * (WIDTH - MARGIN - 200)

    def y(gap: float) -> float:
        part = math.log(top / min(max(gap, bottom), top)) / math.log(top / bottom)
        return 20 + part * (HEIGHT - 20 - MARGIN)

    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        f'font-family="{FONTS}" font-size="12">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
    ]
    for gap in (0.1, 0.01, 1e-3, 1e-4, 1e-5):
        lines.append(
            f'<path d="M{MARGIN} {decimal(y(gap))}H{decimal(x(last))}" stroke="#ddd"/>'
            f'<text x="{MARGIN - 6}" y="{decimal(y(gap) + 4)}" text-anchor="end">'
            f"{100 * gap:g} %</text>"
        )
    for moment in (0.1, 1.0, 10.0, 60.0):
        if moment <= last:
            lines.append(
                f'<path d="M{decimal(x(moment))} 20V{HEIGHT - MARGIN}" stroke="#ddd"/>'
                f'<text x="{decimal(x(moment))}" y="{HEIGHT - MARGIN + 18}" text-anchor="middle">'
                f"{moment:g} {unit}</text>"
            )
    lines.append(
        f'<text x="{decimal((MARGIN + x(last)) / 2)}" y="{HEIGHT - 14}" text-anchor="middle">'
        f"certified gap of the value over {'time' if unit == 's' else 'work'}</text>"
    )
    for k, run in enumerate(runs):
        colour = COLOURS[k % len(COLOURS)]
        path = ""
        for at, gap in zip(run.seconds, run.gaps, strict=True):
            point = f"{decimal(x(at))} {decimal(y(gap))}"
            path += f"M{point}" if not path else f"H{decimal(x(at))}V{decimal(y(gap))}"
        lines.append(f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="1.8"/>')
        label = 30 + 18 * k
        lines.append(
            f'<path d="M{WIDTH - 190} {label - 4}h20" stroke="{colour}" stroke-width="3"/>'
            f'<text x="{WIDTH - 164}" y="{label}">{safe(run.name)}</text>'
        )
    return "\n".join([*lines, "</svg>\n"])


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the cases asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="*", help="for instance 100-high; default: all of `large`")
    parser.add_argument("--time-limit", type=float, default=60.0)
    parser.add_argument("--work", type=float, help="units of work, instead of a time limit")
    parser.add_argument("--data", type=Path, help="a folder with problems in files")
    parser.add_argument("--plot", type=Path, help="file for the plot of gaps over time (SVG)")
    asked = parser.parse_args(arguments)
    names = asked.cases or [f"{n}-{kind}" for n in (10, 30, 100, 300) for kind in ("low", "high")]
    runs = []
    moments, unit = (MOMENTS, "s") if asked.work is None else (WORKS, "u")
    header = "".join(f"{f'{moment:g} {unit}':>9}" for moment in moments)
    print(f"{'gap in % of the value, after':<32}{header}{'':>13}{'':>10}{'memory':>11}")

    def run(name: str, problem: TIMMDP | MaintenanceProblem) -> None:
        runs.append(measure(name, problem, asked.time_limit, asked.work))
        show(runs[-1], moments, asked.work is not None)

    # Files first: the memory shown is the largest of the process so far.
    files = sorted(asked.data.glob("*.json")) if asked.data else []
    for path in files:
        if path.stem != "values" and "cut" not in path.stem:
            run(path.stem, read_problem(path))
    start = time.perf_counter()
    for name in names:
        run(name, make(name))
    print(f"{time.perf_counter() - start:.0f} s")
    if asked.plot:
        asked.plot.write_text(plot(runs, asked.work or asked.time_limit, unit), encoding="utf-8")
        print(f"the plot is in {asked.plot}")


if __name__ == "__main__":
    main()
