"""Solves one problem in this process and prints what memory that took, as JSON.

Started by test_memory_limit.py: ``python memory_runs.py PROBLEM LIMIT SECONDS``.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from coreplan import TIMMDP, LimitError, MaintenanceProblem, SolverError, solve
from coreplan.bench.sets import generate
from helpers import dense_team, from_file

Problem = MaintenanceProblem | TIMMDP


def from_set(name: str, **parameters: object) -> Problem:
    """The first problem of a test set."""
    return next(generate(name, count=1, **parameters)).problem


PROBLEMS: dict[str, Callable[[], Problem]] = {
    "many agents, few interactions": lambda: from_set(
        "large", agents=40, contention="low", horizon=30
    ),
    "two agents, long horizon": lambda: from_set("mpp", agents=2, horizon=200),
    "dense team": lambda: from_file(dense_team(60)),
    "large pyramid": lambda: from_set("pyra", agents=63, horizon=20),
    "not maintenance": lambda: from_set("mixed", agents=8, horizon=40, states=40, density=1),
}
"""Problems of different shapes."""


LONGEST_EVALUATION = 20.0
"""Seconds after which the exact value of a plan is given up; memory counts on."""


def resident(field: str) -> float:
    """What the system says of this process, in MB: ``VmHWM`` is the most memory so far."""
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        name, _, number = line.partition(":")
        if name == field:
            return float(number.split()[0]) * 1024 / 1e6
    raise AssertionError(f"no {field}")


def main(name: str, limit: float, work: float) -> dict[str, Any]:
    """Solve a problem and look at the memory."""
    problem = PROBLEMS[name]()
    before = resident("VmHWM")
    try:
        result = solve(problem, memory_limit=limit, work_limit=work)
    except LimitError as error:
        return {"error": str(error), "reason": error.reason, "peak": resident("VmHWM")}
    peak = resident("VmHWM")
    assert result.policy is not None
    try:
        earned = result.policy.evaluate(memory_limit=limit, time_limit=LONGEST_EVALUATION)
    except (LimitError, SolverError):  # out of reach, or too long to wait for
        earned = None
    return {
        "status": result.status.value,
        "value": result.value,
        "lower": result.lower_bound,
        "upper": result.upper_bound,
        "before": before,
        "peak": peak,
        "earned": earned,
        "peak with evaluation": resident("VmHWM"),
    }


if __name__ == "__main__":
    json.dump(main(sys.argv[1], float(sys.argv[2]), float(sys.argv[3])), sys.stdout)
