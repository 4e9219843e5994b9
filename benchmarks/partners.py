"""One solve by several processes: overhead on this machine, and a model of larger clusters.

Run: .venv/bin/python benchmarks/partners.py [--agents 100] [--work 20] [--repeats 3] [--no-ray]

First the same solve by one process with two threads and by two processes of one thread each on a
Ray cluster, in turn: medians of seconds, and their ratio. Then a model of w processes: what is not
shared takes as long as alone; a shared round takes as long as the most loaded process needs, a
round trip, and the time in which each process gets the parcels of all others. Work of pieces and
bytes are those of the rounds of a real solve; one unit of work counts as one second.
"""

from __future__ import annotations

import argparse
import statistics
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from coreplan import CoreOptions, solve
from coreplan.bench.sets import generate
from coreplan.solving.engine.core import solve_core
from coreplan.solving.limits import Limits
from coreplan.solving.partners import Carrier, Meeting
from coreplan.solving.task import AnyProblem, SolverTask

WORKERS = (1, 2, 4, 8, 16, 32, 64)
ROUND_TRIP = 0.005
"""Seconds for giving and collecting: about what Ray takes on one machine."""
BANDWIDTH = 1e9
"""Bytes per second that a process can get."""


@dataclass(frozen=True)
class Round:
    """A shared round: the work of its pieces, and the bytes of all parcels."""

    work: tuple[float, ...]
    size: int

    def seconds(self, workers: int) -> float:
        """Time that the round takes in the model."""
        load = [0.0] * workers
        for each in self.work:
            load[load.index(min(load))] += each
        if workers == 1:
            return load[0]
        return max(load) + ROUND_TRIP + self.size * (workers - 1) / workers / BANDWIDTH


def record(problem: AnyProblem, work: float) -> tuple[list[Round], float]:
    """The shared rounds of a solve by two partners in this process, and its whole work."""
    meeting = Meeting(2)
    rounds: list[Round] = []
    spent: list[float] = []

    def note(pieces: Sequence[float], size: int) -> None:
        rounds.append(Round(tuple(pieces), size))

    def take_part(who: int) -> None:
        carrier = Carrier(who, 2, meeting)
        if who == 0:
            carrier.noted = note
        limits = Limits()
        limits.monitor.set_partners(carrier)
        solve_core(SolverTask(problem, 0, None, limits), CoreOptions(threads=1, work_limit=work))
        spent.append(limits.work)

    threads = [threading.Thread(target=take_part, args=(who,)) for who in range(2)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    return rounds, spent[0]


def seconds_of(problem: AnyProblem, work: float, **options: Any) -> float:
    """Time of a solve from its start to its end, without that of the cluster."""
    begin: list[float] = []

    def note(_: object) -> None:
        if not begin:
            begin.append(time.perf_counter())

    solve(problem, work_limit=work, callback=note, **options)
    return time.perf_counter() - begin[0]


def main() -> None:
    """Print the comparison and the model."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--agents", type=int, default=100)
    parser.add_argument("--work", type=float, default=20.0)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--no-ray", action="store_true")
    asked = parser.parse_args()
    (instance,) = generate("large", 1, agents=[asked.agents], contention=["high"])
    problem = instance.problem
    print(f"{instance.name}, {asked.work:g} units of work")
    if not asked.no_ray:
        ways: dict[str, dict[str, Any]] = {
            "1 process, 2 threads": {"threads": 2},
            "2 processes, 1 thread": {"threads": 1, "cluster": "ray", "workers": 2},
        }
        times: dict[str, list[float]] = {name: [] for name in ways}
        for _ in range(asked.repeats):
            for name, options in ways.items():
                times[name].append(seconds_of(problem, asked.work, **options))
        medians = {name: statistics.median(each) for name, each in times.items()}
        for name, median in medians.items():
            print(f"  {name}: {median:.2f} s")
        print(f"  ratio: {medians['2 processes, 1 thread'] / medians['1 process, 2 threads']:.2f}")
    rounds, work = record(problem, asked.work)
    shared = sum(sum(each.work) for each in rounds)
    size = sum(each.size for each in rounds)
    pieces = statistics.mean(len(each.work) for each in rounds) if rounds else 0
    print(
        f"{len(rounds)} shared rounds of {pieces:.0f} pieces on average, {shared:.2f} of "
        f"{work:.2f} units of work, {size / 1e6:.2f} MB of parcels"
    )
    print("workers  seconds  speed-up  of the shared rounds")
    for workers in WORKERS:
        together = sum(each.seconds(workers) for each in rounds)
        seconds = max(work - shared, 0.0) + together
        print(
            f"{workers:7d}  {seconds:7.2f}  {work / seconds:8.2f}  "
            f"{shared / together if together else 1:8.2f}"
        )


if __name__ == "__main__":
    main()
