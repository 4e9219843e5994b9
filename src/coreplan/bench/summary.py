"""Summaries of rows: a line per test set and solver."""

from __future__ import annotations

import json
import math
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from coreplan.bench.store import Row


@dataclass(frozen=True)
class Summary:
    """The results of one solver on one test set.

    Attributes
    ----------
    set, solver, algorithm, options, time_limit, memory_limit, version, clock
        The common values of the rows.
    solves
        Number of rows.
    solved
        Rows with a proven optimum.
    no_plan
        Rows in which a limit was reached before any plan was found.
    killed
        Rows of solvers that exceeded a limit and were killed.
    failed
        Rows of solvers that crashed or ended with an error.
    median_seconds, p90_seconds, max_seconds
        Time of all solves, including those that a limit stopped. 90 % took at most
        ``p90_seconds``.
    """

    set: str
    solver: str
    algorithm: str
    options: Mapping[str, Any]
    time_limit: float
    memory_limit: float | None
    version: str
    clock: str
    solves: int
    solved: int
    no_plan: int
    killed: int
    failed: int
    median_seconds: float
    p90_seconds: float
    max_seconds: float

    def to_dict(self) -> dict[str, Any]:
        """All attributes by name."""
        return asdict(self)


def summarise(rows: Iterable[Row]) -> list[Summary]:
    """One summary per set and solver, and its options, limits and version, in order of the rows."""
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        options = json.dumps(dict(row.options), sort_keys=True)
        limits = (row.time_limit, row.memory_limit, row.clock)
        group = (row.set, row.solver, row.algorithm, options, *limits, row.version)
        groups.setdefault(group, []).append(row)
    # Rows of one set stay together, in whatever order their solves ended.
    sets = {group[0]: position for position, group in reversed(list(enumerate(groups)))}
    return [_summary(groups[group]) for group in sorted(groups, key=lambda each: sets[each[0]])]


def _summary(rows: list[Row]) -> Summary:
    first = rows[0]
    outcomes = Counter(row.outcome for row in rows)
    seconds = sorted(row.seconds for row in rows)
    return Summary(
        set=first.set,
        solver=first.solver,
        algorithm=first.algorithm,
        options=dict(first.options),
        time_limit=first.time_limit,
        memory_limit=first.memory_limit,
        version=first.version,
        clock=first.clock,
        solves=len(rows),
        solved=sum(row.solved for row in rows),
        no_plan=outcomes["no_plan"],
        killed=outcomes["killed_time"] + outcomes["killed_memory"],
        failed=outcomes["crashed"] + outcomes["error"],
        median_seconds=statistics.median(seconds),
        p90_seconds=seconds[math.ceil(0.9 * len(seconds)) - 1],
        max_seconds=seconds[-1],
    )
