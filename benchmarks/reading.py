"""Time and memory to check large problem files.

Run by hand: .venv/bin/python benchmarks/reading.py [--megabytes 50]

Each kind of file is made, then checked by `coreplan check` in its own process. The table has,
per kind: the size of the file, the processor time and the peak of resident memory of that process.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

MEGABYTE = 1_000_000


def _agent(name: str, states: Iterator[tuple[str, Any]]) -> Iterator[str]:
    yield f'{{"name": "{name}", "initial": "s0", "transitions": {{'
    for k, (state, actions) in enumerate(states):
        yield f'{", " if k else ""}"{state}": {json.dumps(actions)}'
    yield "}}"


def _chances(draw: random.Random, count: int) -> list[float]:
    weights = [draw.random() + 0.01 for _ in range(count)]
    return [weight / sum(weights) for weight in weights]


def _table(draw: random.Random, states: int, outcomes: int) -> Iterator[tuple[str, Any]]:
    """States with three actions each, and this many outcomes of an action."""
    for s in range(states):
        actions = {}
        for action in ("go", "wait", "repair"):
            after = draw.sample(range(states), outcomes)
            chances = [1] if outcomes == 1 else _chances(draw, outcomes)
            actions[action] = {f"s{t}": p for t, p in zip(after, chances, strict=True)}
        yield f"s{s}", actions


def transitions(size: int, outcomes: int = 8) -> Iterator[str]:
    """Four agents with large tables, most of the text numbers; a ``ti-mmdp/1`` file."""
    draw = random.Random(1)
    letters = 27.5 if outcomes == 1 else 12 + 30 * outcomes
    states = max(2 * outcomes, int(size / 4 / 3 / letters))
    yield '{"format": "ti-mmdp/1", "name": "tables", "horizon": 20, "agents": ['
    for i in range(4):
        yield ", " if i else ""
        yield from _agent(f"A{i}", _table(draw, states, outcomes))
    yield '], "rewards": []}'


def sure_transitions(size: int) -> Iterator[str]:
    """Four agents with large tables of actions that have one outcome each."""
    return transitions(size, 1)


def rewards(size: int) -> Iterator[str]:
    """Four small agents and very many reward entries over pairs of them; a ``ti-mmdp/1`` file."""
    draw = random.Random(2)
    yield '{"format": "ti-mmdp/1", "name": "rewards", "horizon": 20, "agents": ['
    for i in range(4):
        yield ", " if i else ""
        yield from _agent(f"A{i}", _table(draw, 100, 3))
    yield '], "rewards": ['
    functions = 20
    for k in range(functions):
        first, second = draw.sample(range(4), 2)
        yield f'{", " if k else ""}{{"scope": ["A{first}", "A{second}"], "entries": ['
        for j in range(max(1, size // functions // 112)):
            when = {
                f"A{i}": {"state": f"s{draw.randrange(100)}", "action": draw.choice(["go", "wait"])}
                for i in (first, second)
            }
            entry = {"when": when, "value": round(draw.uniform(-50, 50), 2)}
            yield f"{', ' if j else ''}{json.dumps(entry)}"
        yield "]}"
    yield "]}"


def works(size: int) -> Iterator[str]:
    """Very many contractors with three works each, and hindrance; an ``mpp/1`` file."""
    draw = random.Random(3)
    count = max(2, size // 458)
    yield '{"format": "mpp/1", "name": "works", "horizon": 30, "agents": ['
    for i in range(count):
        tasks = [
            {
                "name": f"w{j}",
                "duration": draw.randint(1, 5),
                "delay": {"probability": round(draw.uniform(0, 0.5), 2), "duration": 2},
                "revenue": draw.randint(50, 90),
                "cost": round(draw.uniform(1, 9), 2),
                "window": [draw.randint(0, 5), 25],
            }
            for j in range(3)
        ]
        yield f"{', ' if i else ''}{json.dumps({'name': f'C{i}', 'tasks': tasks})}"
    yield '], "network": ['
    for i in range(count - 1):
        pair = [f"C{i}/w{draw.randrange(3)}", f"C{i + 1}/w{draw.randrange(3)}"]
        yield f"{', ' if i else ''}{json.dumps({'tasks': pair, 'cost': draw.randint(1, 20)})}"
    yield "]}"


KINDS: dict[str, Callable[[int], Iterator[str]]] = {
    "transitions": transitions,
    "sure transitions": sure_transitions,
    "rewards": rewards,
    "works": works,
}


def write(parts: Iterator[str], file: Path) -> None:
    """Write a text from its parts."""
    with file.open("w", encoding="utf-8") as out:
        out.writelines(chain(parts, "\n"))


def measure(file: Path) -> tuple[float, float]:
    """Processor seconds and peak resident megabytes of `coreplan check`."""
    process = subprocess.Popen([sys.executable, "-m", "coreplan.cli", "check", str(file)])
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"{file.name} was rejected")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024 / MEGABYTE


def main(arguments: list[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--megabytes", type=float, default=50)
    parser.add_argument("--kind", choices=list(KINDS), action="append")
    options = parser.parse_args(arguments)
    print(f"{'file':<18}  {'MB':>6}  {'seconds':>8}  {'peak MB':>8}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for kind in options.kind or KINDS:
            file = Path(folder) / f"{kind.replace(' ', '-')}.json"
            write(KINDS[kind](int(options.megabytes * MEGABYTE)), file)
            seconds, peak = measure(file)
            size = file.stat().st_size / MEGABYTE
            print(f"{kind:<18}  {size:>6.1f}  {seconds:>8.2f}  {peak:>8.0f}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
