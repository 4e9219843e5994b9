"""`dec-mdp` beside GMAA-ICE of the MADP toolbox: values and times on the same problems.

Run by hand: .venv/bin/python benchmarks/dec_mdp_madp.py [--seeds 20] [--time-limit 60]

The problems are random maintenance problems of 2 agents with 2 tasks, horizon 3 to 5. GMAA-ICE gets
them as .dpomdp files (`coreplan export --to dpomdp`) and is looked for on the PATH, or given by
`--program`. Its time is that until it prints its value: starting and reading the file included, its
simulations not. Values agree if they differ by at most 1e-4 of their size, since it prints six
digits. The exit code is 1 if some do not. Without the toolbox, only our own side is measured, and
the table says so.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from coreplan import Status, solve
from coreplan.interop.dpomdp import to_dpomdp
from instances import random_mpp

PROGRAM = "GMAA-ICE"
HORIZONS = (3, 4, 5)
TOLERANCE = 1e-4


@dataclass(frozen=True)
class Answer:
    """What a solver found: None if it did not, within the time."""

    value: float | None
    seconds: float


def run_madp(program: str, text: str, horizon: int, limit: float) -> Answer:
    """Solve the text of a .dpomdp file with GMAA-ICE."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "problem.dpomdp"
        path.write_text(text, encoding="utf-8")
        started = time.perf_counter()
        process = subprocess.Popen(
            [program, str(path), "-h", str(horizon), "--sparse"],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            # It writes into the home folder, and remembers values there by the file's name.
            env={**os.environ, "HOME": folder},
        )
        timer = threading.Timer(limit, process.kill)
        timer.start()
        value = None
        try:
            assert process.stdout is not None
            for line in process.stdout:
                found = re.match(r"value=(\S+)", line)
                if found:
                    value = float(found[1])
                    break
        finally:
            timer.cancel()
            seconds = time.perf_counter() - started
            process.kill()
            process.communicate()
    return Answer(value, seconds)


def differ(ours: float, theirs: float) -> bool:
    """Whether two values are not the same, up to what is printed of them."""
    return abs(ours - theirs) > TOLERANCE * max(1.0, abs(ours))


def measure(horizon: int, seeds: int, limit: float, program: str | None) -> tuple[str, list[str]]:
    """Solve the problems of one horizon: a line of the table, and where values differ."""
    ours, theirs, wrong = [], [], []
    for seed in range(seeds):
        problem = random_mpp(2, 2, horizon, seed)
        result = solve(problem, algorithm="dec-mdp", time_limit=limit)
        solved = result.status is Status.OPTIMAL
        ours.append(Answer(result.value if solved else None, result.seconds))
        if program is None:
            continue
        theirs.append(run_madp(program, to_dpomdp(problem).text, horizon, limit))
        mine, other = ours[-1].value, theirs[-1].value
        if mine is not None and other is not None and differ(mine, other):
            wrong.append(f"h={horizon}, seed {seed}: dec-mdp {mine:.6g}, {PROGRAM} {other:.6g}")
    line = f"{f'2 agents, 2 tasks, h={horizon}':<26}" + "".join(map(columns, (ours, theirs)))
    return line, wrong


def columns(answers: Sequence[Answer]) -> str:
    """How many were solved, with the mean and the worst time."""
    if not answers:
        return f"{'-':>12}{'-':>11}{'-':>11}"
    seconds = [answer.seconds for answer in answers]
    solved = sum(answer.value is not None for answer in answers)
    return (
        f"{f'{solved} of {len(answers)}':>12}{statistics.mean(seconds):>11.4f}{max(seconds):>11.4f}"
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; exit code 1 if values differ."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--seeds", type=int, default=20, help="problems of each horizon")
    parser.add_argument("--time-limit", type=float, default=60, help="seconds for each problem")
    parser.add_argument("--program", help=f"path of {PROGRAM}; by default it is looked for on PATH")
    asked = parser.parse_args(arguments)
    program = shutil.which(asked.program or PROGRAM)
    if program is None:
        print(
            f"{asked.program or PROGRAM} is not installed, so nothing is compared. It is part of "
            "the MADP toolbox (https://github.com/MADPToolbox/MADP): build it, and put its folder "
            "src/solvers on the PATH."
        )
    times = f"{'mean s':>11}{'worst s':>11}"
    print(f"{'':<26}{'dec-mdp':>12}{times}{PROGRAM:>12}{times}")
    wrong: list[str] = []
    for horizon in HORIZONS:
        line, differences = measure(horizon, asked.seeds, asked.time_limit, program)
        print(line, flush=True)
        wrong += differences
    for each in wrong:
        print(f"CONTRADICTION: {each}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
