"""The memory limit is kept, and running out of memory never loses a plan."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import coreplan.solving.engine.core
from coreplan import Status, solve
from coreplan.solving.engine.team import Team
from helpers import dense_team, from_file, random_mpp
from memory_runs import PROBLEMS

HERE = Path(__file__).parent
PROGRAM = 60
"""MB that the program itself may take."""
WORK = 2.0
"""Counted work after which each run stops; the memory limit holds at any time."""

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/statm").exists(), reason="the system does not say how much memory is used"
)


def run_python(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run Python in a process of its own."""
    return subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        timeout=600,
        env={**os.environ, "PYTHONPATH": str(HERE)},
        check=False,
    )


@pytest.mark.parametrize("limit", [20, 50, 200])
@pytest.mark.parametrize("name", PROBLEMS)
def test_the_memory_limit_is_kept(name: str, limit: float) -> None:
    """Whatever the shape of a problem, memory stays within the limit; and the result is valid."""
    run = run_python(str(HERE / "memory_runs.py"), name, str(limit), str(WORK))
    assert run.returncode == 0, run.stderr
    found = json.loads(run.stdout)
    assert found["peak"] <= 1.1 * limit + PROGRAM
    if "error" in found:
        assert found["reason"] == "memory_limit"
        assert "MB" in found["error"]
        return
    assert found["status"] in ("optimal", "memory_limit", "time_limit")
    assert found["lower"] == found["value"] <= found["upper"]
    assert found["peak with evaluation"] <= 1.1 * limit + PROGRAM
    if found["earned"] is not None:
        assert found["earned"] >= found["value"] - 1e-9 * abs(found["value"])
        assert found["earned"] <= found["upper"] + 1e-9 * abs(found["value"])


ADDRESSES = """
import resource, sys
import coreplan.solving.engine.certify, coreplan.cli, coreplan.cli.solve
from memory_runs import resident
more, *arguments = sys.argv[1:]
limit = int((resident("VmSize") + float(more)) * 1e6)
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
coreplan.cli.main(arguments)
"""
"""Runs the command line with so many MB of addresses beside those that the program has by then."""


SIZES = [(4, 3, 9), (5, 3, 7)]
"""Agents, works and steps of problems that plain dynamic programming solves: `core` solves the
first one by the kernel at once, the second one in several ways."""
LADDER = [1, 3, 6, 10, 15, 22, 33, 50, 75, 110, 160, 240, 500]
"""MB of addresses."""
ENOUGH = 50
"""MB with which some plan has to be found."""


@functools.cache
def optimum(size: tuple[int, int, int]) -> float:
    """The value of a problem, by plain dynamic programming."""
    return solve(from_file(random_mpp(*size)), algorithm="dp").value


@pytest.mark.parametrize("limit", [None, "8G"], ids=["counted", "uncounted"])
@pytest.mark.parametrize("megabytes", LADDER)
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_a_limit_of_addresses(
    size: tuple[int, int, int], megabytes: float, limit: str | None, tmp_path: Path
) -> None:
    """Whenever the system gives no more memory, there is a plan with bounds, or a proper error.

    By default, the limit of addresses is what is counted on; with a larger memory limit, requests
    for memory really fail.
    """
    file = tmp_path / "problem.json"
    file.write_text(json.dumps(random_mpp(*size)), encoding="utf-8")
    arguments = ["solve", str(file), "--json", "--threads", "4", "--work-limit", str(WORK)]
    if limit is not None:
        arguments += ["--memory-limit", limit]
    run = run_python("-c", ADDRESSES, str(megabytes), *arguments)
    assert "Traceback" not in run.stderr
    if run.returncode == 3:
        assert megabytes < ENOUGH
        assert run.stderr.startswith("error: ")
        return
    assert run.returncode == 0, run.stderr
    found: dict[str, Any] = json.loads(run.stdout)
    assert found["status"] in ("optimal", "memory_limit", "time_limit")
    slack = 1e-9 * abs(optimum(size))
    assert found["lower_bound"] <= optimum(size) + slack
    assert found["upper_bound"] >= optimum(size) - slack


@pytest.mark.parametrize("part", ["work", "solve_exactly", "_improve_upper", "_improve_both"])
def test_what_was_found_before_memory_ran_out(part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever part of the engine finds no memory, the plan in hand is the answer."""

    def fail(*_: object) -> None:
        raise MemoryError

    problem = from_file(dense_team(4))
    best = solve(problem).value
    monkeypatch.setattr(Team, part, fail)
    result = solve(problem, exact=part == "solve_exactly", work_limit=20)
    assert result.status in (Status.MEMORY_LIMIT, Status.OPTIMAL)
    assert result.lower_bound == result.value <= best + 1e-9 <= result.upper_bound + 2e-9
    assert result.policy is not None
    assert result.policy.evaluate() >= result.value - 1e-9


def test_no_memory_to_write_the_plan_down(monkeypatch: pytest.MonkeyPatch) -> None:
    """Then it is the one in which agents look at themselves only; the upper bound stays."""
    problem = from_file(dense_team(4))
    best = solve(problem).value
    make, calls = coreplan.solving.engine.core._make_policy, []

    def fail_once(*arguments: Any) -> Any:
        calls.append(arguments)
        if len(calls) == 1:
            raise MemoryError
        return make(*arguments)

    monkeypatch.setattr(coreplan.solving.engine.core, "_make_policy", fail_once)
    result = solve(problem)
    assert len(calls) == 2
    assert result.status is Status.MEMORY_LIMIT
    assert result.value < best <= result.upper_bound + 1e-9
    assert result.policy is not None
    assert result.policy.is_local
    assert abs(result.policy.evaluate() - result.value) <= 1e-9 * best
