"""Stored solves for tests of figures: single ones by hand, and a whole made-up evaluation."""

from __future__ import annotations

import hashlib
import math
import random
from collections.abc import Mapping
from typing import Any

from coreplan.bench.store import Row

VERSIONS = {"coreplan": "0.1.0", "python": "3.12.1", "numpy": "2.1.0"}
MACHINE = {
    "processor": "Test CPU",
    "cores": 2,
    "memory_mb": 8000,
    "system": "Linux",
    "jobs": 2,
}
PLAIN = {"merge": False}
MEMO = {"merge": False, "memo": True}
EXPECTED = {"merge": False, "bounds": "expected"}
PUBLISHED_SPUDD = {"merge": False, "actions": "enumerate"}
REFERENCE_SPUDD = {"encoding": "reference"}


def make_row(
    name: str,
    instance: object,
    algorithm: str,
    options: Mapping[str, Any] | None = None,
    *,
    value: float | None = -100.0,
    gap: float = 0.0,
    seconds: float = 1.0,
    limit: float = 10.0,
    agents: int = 2,
    horizon: int = 5,
    statistics: Mapping[str, float] | None = None,
    progress: tuple[tuple[float, float, float], ...] = (),
    outcome: str | None = None,
    **parameters: object,
) -> Row:
    """One solve; with a gap it is not proven, without a value it found nothing."""
    result = None
    if value is not None:
        result = {
            "format": "result/1",
            "problem": str(instance),
            "algorithm": algorithm,
            "objective": "decentralised" if algorithm == "dec-mdp" else "centralised",
            "status": "time_limit" if gap else "optimal",
            "value": value,
            "lower_bound": value,
            "upper_bound": value + gap,
            "gap": gap,
            "seconds": seconds,
            "statistics": {
                "joint_actions_evaluated": 0,
                "joint_states_expanded": 0,
                "peak_memory_mb": 50.0,
                **(statistics or {}),
            },
        }
    return Row(
        set=name,
        instance=f"{name}-{instance}",
        parameters={"agents": agents, "horizon": horizon, **parameters},
        digest=hashlib.sha256(f"{name}-{instance}".encode()).hexdigest(),
        solver=f"{algorithm} {dict(options or {})}",
        algorithm=algorithm,
        options=dict(options or {}),
        time_limit=limit,
        memory_limit=4000.0,
        outcome=outcome or ("result" if result else "no_plan"),
        result=result,
        progress=progress,
        wall_seconds=seconds + 0.1,
        cpu_seconds=seconds,
        peak_memory_mb=60.0,
        versions=VERSIONS,
        machine=MACHINE,
        started="2026-01-02T03:04:05+00:00",
    )


def made_up_rows(count: int = 30, seed: int = 1) -> list[Row]:
    """An evaluation with all sets and algorithms, whose numbers look like real ones."""
    rng = random.Random(seed)
    rows: list[Row] = []
    for name, equal, mean in (
        ("rand3", 0.55, 0.05),
        ("rand4", 0.5, 0.08),
        ("rand5", 0.45, 0.1),
        ("coordint", 0.0, 0.33),
    ):
        for k in range(3 * count):
            cost = rng.uniform(100, 400)
            loss = 0.0 if rng.random() < equal else min(0.75, rng.gammavariate(3, mean / 3))
            rows.append(make_row(name, k, "core", value=-cost, seconds=rng.uniform(0.001, 0.01)))
            rows.append(make_row(name, k, "dec-mdp", value=-cost / (1 - loss)))
    for agents in (2, 3, 4):
        for k in range(count):
            rows += _made_up_mpp(rng, f"{agents}-{k}", agents, 5 + k % 6)
    for agents in (2, 3, 4, 5, 6, 7, 8, 10, 15, 20, 31, 63):
        for horizon in (4, 5, 6, 7, 8):
            for k in range(max(count // 10, 1)):
                rows += _made_up_pyramid(rng, f"{agents}-{horizon}-{k}", agents, horizon)
    for contention, best in (("low", 1e-5), ("high", 0.01)):
        for agents in (10, 30, 100, 300):
            for k in range(2):
                start = 0.002 * agents * rng.uniform(0.8, 1.2)
                worst = best * agents / 10
                points = tuple(
                    (start * 1.3**i, -1000.0, -1000.0 + 1000 * max(worst, 0.5 * 0.75**i))
                    for i in range(40)
                    if start * 1.3**i < 20
                )
                gap = 0.0 if worst < 2e-5 else 1000 * worst
                rows.append(
                    make_row(
                        "large", f"{contention}-{agents}-{k}", "core", {"threads": 1},
                        value=-1000.0, gap=gap, seconds=12.0 if not gap else 20.0, limit=20.0,
                        agents=agents, horizon=26, contention=contention, progress=points,
                    )
                )  # fmt: skip
    return rows


def _made_up_mpp(rng: random.Random, name: str, agents: int, horizon: int) -> list[Row]:
    size = math.exp(1.1 * agents + 0.55 * horizon + rng.gauss(0, 0.7))
    value = -rng.uniform(100, 400)
    where = {"agents": agents, "horizon": horizon}
    rows = []

    def add(
        algorithm: str, options: dict[str, Any], actions: float, speed: float, cells: float = 0
    ) -> None:
        seconds = 0.001 + actions / speed * math.exp(rng.gauss(0, 0.4))
        counts = {
            "joint_actions_evaluated": int(actions),
            "joint_states_expanded": int(actions / 5),
            "kernel_cells": int(cells),
        }
        failed = seconds > 10
        rows.append(
            make_row(
                "mpp", name, algorithm, options, value=value, gap=20.0 if failed else 0.0,
                seconds=min(seconds, 10.0), statistics=counts, **where,
            )
        )  # fmt: skip

    add("dp", PLAIN, 300 * size, 3e5)
    add("spudd", PUBLISHED_SPUDD, 300 * size, 5e4)
    add("spudd", {}, 10 * size, 3e4)
    for options, fewer in ((PLAIN, 1), (MEMO, 8)):
        actions = 300 * size / fewer / rng.uniform(4, 20)
        add("crg-ps", dict(options), actions, 6e4)
        add("core-2016", dict(options), actions / rng.uniform(1, 12), 6e4)
    for name_of, cost in (("", 1.0), ("merge", 40.0), ("search", 5.0), ("split", 1.1)):
        options = {"threads": 1, **({name_of: False} if name_of else {})}
        cells = 20 * size * cost
        add("core", options, size / 5 if rng.random() < 0.3 else 0, 1e6 / cost, cells)
    return rows


def _made_up_pyramid(rng: random.Random, name: str, agents: int, horizon: int) -> list[Row]:
    where = {"agents": agents, "horizon": horizon}
    rows = []
    for algorithm, options, per_agent in (
        ("spudd", PUBLISHED_SPUDD, 1.5),
        ("core-2016", PLAIN, 0.9),
        ("core-2016", MEMO, 0.7),
        ("core", {"threads": 1}, 0.12),
    ):
        seconds = 0.001 * math.exp(per_agent * agents + 0.5 * (horizon - 4) + rng.gauss(0, 0.8))
        failed = seconds > 10
        rows.append(
            make_row(
                "pyra", name, algorithm, options, value=-300.0, gap=9.0 if failed else 0.0,
                seconds=min(seconds, 10.0), **where,
            )
        )  # fmt: skip
    return rows
