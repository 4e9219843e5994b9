"""How the verdicts on the paper's claims move with the choices that the paper leaves open.

Every choice of `coreplan.bench.choices` is run on small draws, with a short limit. Solves are kept
under build/choices; a run that was stopped goes on where it was. The verdicts go into
benchmarks/results/choices.json, which `coreplan bench figures --choices` shows on its page.

Run: .venv/bin/python benchmarks/choices.py [--limit 0.5] [--only mpp] [-o FILE]
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from pathlib import Path

from coreplan import __version__
from coreplan.bench.choices import (
    CLOCK,
    FIELDS,
    Choice,
    Field,
    Mark,
    Moves,
    judge_choice,
    write_moves,
)
from coreplan.bench.pool import LocalPool
from coreplan.bench.runner import Run, plan_solves
from coreplan.bench.store import Row, Store

HERE = Path(__file__).parent
SOLVES = HERE.parent / "build" / "choices"
MEMORY_MB = 2000.0


def solve_all(field: Field, choice: Choice, limit: float, folder: Path, jobs: int) -> list[Row]:
    """The solves of one choice; those of an earlier run are taken from its file."""
    name = re.sub(r"\W+", "-", f"{field.name}-{choice.label}-{limit:g}")
    folder.mkdir(parents=True, exist_ok=True)
    config = field.config(choice, limit, MEMORY_MB)
    with Store(folder / f"{name}.sqlite", create=True) as store, LocalPool(jobs) as pool:
        state = Run(plan_solves(config), store, pool).run()
        if state.interrupted:
            raise KeyboardInterrupt
        return list(store.rows())


def main(arguments: Sequence[str] | None = None) -> int:
    """Run all choices, print their verdicts and write them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--limit", type=float, default=0.5, help="seconds for each solve")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--only", choices=[each.name for each in FIELDS])
    parser.add_argument("--solves", type=Path, default=SOLVES, help="folder of the solves")
    parser.add_argument("-o", "--output", type=Path, default=HERE / "results" / "choices.json")
    given = parser.parse_args(arguments)
    marks: dict[str, dict[str, dict[str, Mark]]] = {}
    for field in FIELDS:
        if given.only not in (None, field.name):
            continue
        for choice in field.choices:
            rows = solve_all(field, choice, given.limit, given.solves, given.jobs)
            found = judge_choice(field, rows)
            marks.setdefault(field.name, {})[choice.label] = found
            agree = sum(mark.verdict == "agree" for mark in found.values())
            spent = sum(row.cpu_seconds for row in rows)
            print(
                f"{field.name}, {choice.label}: {agree} of {len(found)} agree; {len(rows):,} "
                f"solves in {spent:.0f} s of processor time",
                flush=True,
            )
    given.output.parent.mkdir(parents=True, exist_ok=True)
    moves = Moves(given.limit, CLOCK, __version__, marks)
    given.output.write_text(write_moves(moves), encoding="utf-8")
    print(f"written: {given.output}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
