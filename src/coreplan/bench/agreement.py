"""Contradictions between stored solves."""

from __future__ import annotations

from collections.abc import Iterable

from coreplan.analysis.comparison import ComparedRun, judge_runs
from coreplan.bench.store import Row
from coreplan.bench.variants import variant_of
from coreplan.solving.result import Result, Status


def find_contradictions(rows: Iterable[Row]) -> list[str]:
    """Claims about one instance that cannot both be true, as text.

    Each of them is a bug in coreplan.
    """
    runs: dict[str, list[ComparedRun]] = {}
    names: dict[str, str] = {}
    for row in rows:
        result = _result(row)
        if result is not None:
            names.setdefault(row.digest, row.instance)
            runs.setdefault(row.digest, []).append(ComparedRun(str(variant_of(row)), result))
    return [
        f"{names[digest]}: {contradiction}"
        for digest, compared in runs.items()
        for contradiction in judge_runs(names[digest], compared).contradictions
    ]


def _result(row: Row) -> Result | None:
    if row.result is None:
        return None
    return Result(
        problem=row.instance,
        algorithm=str(variant_of(row)),
        objective=row.result["objective"],
        status=Status(row.result["status"]),
        value=row.result["value"],
        lower_bound=row.result["lower_bound"],
        upper_bound=row.result["upper_bound"],
        seconds=row.result["seconds"],
    )
