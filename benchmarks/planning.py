"""From a list of works to a report and exports: the time of each part.

Run by hand: .venv/bin/python benchmarks/planning.py [--contractors 6 100] [--seeds 3]

The lists have three works per contractor over half a year, with flat costs, some windows and some
delays; works of neighbouring contractors may hinder each other. Each part runs once per seed. The
table has, per number of contractors, the processor time of each part in the median of the seeds,
the most of the total, the work that the search counted, and the largest part that a better plan
could save. The goals are 3 s for 6 contractors, and 30 s for 100.
"""

from __future__ import annotations

import argparse
import datetime
import random
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from coreplan import Result, read_works, solve
from coreplan.domains.maintenance.exports import write_export
from coreplan.domains.maintenance.exports.content import exported_plan
from coreplan.files.writing import to_csv, write_text
from coreplan.view.report import make_report

WEEKS, WORKS = 26, 3
START = datetime.date(2026, 3, 2)
PARTS = ("read", "solve", "report", "exports")
EXPORTS = (".csv", ".ics", ".xml")
"""The formats that need no extra."""

_Made = TypeVar("_Made")


def write_lists(contractors: int, seed: int, folder: Path) -> tuple[Path, Path]:
    """Write a list of works and a list of hindrance."""
    draw = random.Random(f"planning/{contractors}/{seed}")
    works: list[list[Any]] = [
        [
            *("contractor", "work", "duration", "delay chance", "delay duration"),
            *("cost per week", "earliest start", "latest start"),
        ]
    ]
    for i in range(contractors):
        for k in range(WORKS):
            delay = draw.random() < 0.5
            first = draw.choice((0, 0, 4, 8))
            works.append(
                [
                    *(f"Contractor {i + 1}", f"work {i + 1}-{k + 1}", draw.randint(1, 4)),
                    *(
                        (round(draw.uniform(0.1, 0.5), 2), draw.randint(1, 2))
                        if delay
                        else ("", "")
                    ),
                    round(draw.uniform(5, 50), 2),
                    *((START + datetime.timedelta(weeks=first), "") if first else ("", "")),
                ]
            )
    hindrance: list[list[Any]] = [["work A", "work B", "cost per week"]]
    for i in range(contractors - 1):
        for j in range(i + 1, min(i + 3, contractors)):
            for k in range(WORKS * WORKS):
                if draw.random() < 0.2:
                    pair = (f"work {i + 1}-{k // WORKS + 1}", f"work {j + 1}-{k % WORKS + 1}")
                    hindrance.append([*pair, round(draw.uniform(20, 100), 2)])
    paths = folder / "works.csv", folder / "hindrance.csv"
    for path, rows in zip(paths, (works, hindrance), strict=True):
        write_text(to_csv(rows), path)
    return paths


def measure(
    contractors: int, seed: int, work_limit: int | None, folder: Path
) -> tuple[dict[str, float], Result]:
    """Plan one list; the processor seconds of each part, and the result."""
    seconds: dict[str, float] = {}

    def timed(part: str, make: Callable[[], _Made]) -> _Made:
        begin = time.process_time()
        made = make()
        seconds[part] = time.process_time() - begin
        return made

    lists = write_lists(contractors, seed, folder)
    read = timed(
        "read",
        lambda: read_works(
            *lists, horizon=WEEKS, must_complete=True, start_date=START, step="week"
        ),
    )
    result = timed("solve", lambda: solve(read.problem, work_limit=work_limit))
    calendar = read.calendar
    timed("report", lambda: make_report(result, calendar=calendar).save(folder / "plan.html"))

    def export() -> None:
        content = exported_plan(result, calendar)
        for ending in EXPORTS:
            write_export(content, folder / f"plan{ending}")

    timed("exports", export)
    return seconds, result


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--contractors", type=int, nargs="+", default=[6, 100])
    parser.add_argument("--seeds", type=int, default=3, help="lists per number of contractors")
    parser.add_argument("--work-limit", type=int, help="the most work of a search")
    asked = parser.parse_args()
    print(f"{'contractors':>11}", *(f"{part:>9}" for part in (*PARTS, "in all", "most")), end="")
    print(f"{'work':>16}{'gap':>8}")
    for contractors in asked.contractors:
        rows: list[dict[str, float]] = []
        works, gaps = [], []
        for seed in range(asked.seeds):
            with tempfile.TemporaryDirectory() as folder:
                seconds, result = measure(contractors, seed, asked.work_limit, Path(folder))
            rows.append(seconds)
            works.append(result.statistics.others.get("work", 0))
            gaps.append((result.upper_bound - result.value) / max(abs(result.value), 1e-9))
        totals = [sum(row.values()) for row in rows]
        medians = [statistics.median(row[part] for row in rows) for part in PARTS]
        shown = (*medians, statistics.median(totals), max(totals))
        print(f"{contractors:11}", *(f"{each:8.2f}s" for each in shown), end="")
        print(f"{statistics.median(works):16.3f}{100 * max(gaps):7.2f}%", flush=True)


if __name__ == "__main__":
    main()
