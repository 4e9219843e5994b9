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

from coreplan import solve
from helpers import from_file, random_mpp
from memory_runs import PROBLEMS

HERE = Path(__file__).parent
PROGRAM = 60
"""MB that the program itself may take."""
SECONDS = 2.0
"""When each run stops; the memory limit holds at any time."""

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/statm").exists(), reason="the system does not say how much memory is used"
)


@pytest.mark.parametrize("limit", [20, 50, 200])
@pytest.mark.parametrize("name", PROBLEMS)
def test_the_memory_limit_is_kept(name: str, limit: float) -> None:
    """Whatever the shape of a problem, memory stays within the limit; and the result is valid."""
    run = subprocess.run(
        [sys.executable, str(HERE / "memory_runs.py"), name, str(limit), str(SECONDS)],
        capture_output=True,
        text=True,
        timeout=600,
        env={**os.environ, "PYTHONPATH": str(HERE)},
        check=False,
    )
    assert run.returncode == 0, run.stderr
    found = json.loads(run.stdout)
    assert found["peak"] <= 1.1 * limit + PROGRAM
    if "error" in found:
        assert found["reason"] == "memory_limit"
        assert "MB" in found["error"]
        return
    assert found["status"] in ("optimal", "memory_limit", "time_limit")
    assert found["lower"] == found["value"] <= found["upper"]
    assert found["earned"] >= found["value"] - 1e-9 * abs(found["value"])
    assert found["earned"] <= found["upper"] + 1e-9 * abs(found["value"])
    assert found["peak with evaluation"] <= 1.1 * limit + PROGRAM


ADDRESSES = """
import resource, sys
import coreplan.algorithms.certify, coreplan.cli, coreplan.cli.solve
from memory_runs import resident
more, *arguments = sys.argv[1:]
limit = int((resident("VmSize") + float(more)) * 1e6)
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
coreplan.cli.main(arguments)
"""
"""Runs the command line with so many MB of addresses beside those that the program has by then."""


@functools.cache
def optimum() -> float:
    """The value of the problem below, by plain dynamic programming."""
    return solve(from_file(random_mpp(4, 3, 7)), algorithm="dp").value


def solve_within(megabytes: float, folder: Path) -> subprocess.CompletedProcess[str]:
    """Let `core` solve a problem within so many addresses."""
    file = folder / "problem.json"
    file.write_text(json.dumps(random_mpp(4, 3, 7)), encoding="utf-8")
    arguments = ["solve", str(file), "--json", "--threads", "4", "--time-limit", str(SECONDS)]
    return subprocess.run(
        [sys.executable, "-c", ADDRESSES, str(megabytes), *arguments],
        capture_output=True,
        text=True,
        timeout=600,
        env={**os.environ, "PYTHONPATH": str(HERE)},
        check=False,
    )


LADDER = [1, 2, 4, 6, 8, 10, 12, 15, 18, 22, 27, 33, 40, 50, 60, 75, 90, 120, 160, 240, 400, 800]
ENOUGH = 100
"""MB with which some plan has to be found."""


@pytest.mark.parametrize("megabytes", LADDER)
def test_a_limit_of_addresses(megabytes: float, tmp_path: Path) -> None:
    """Whenever the system gives no more memory, there is a plan with bounds, or a proper error."""
    run = solve_within(megabytes, tmp_path)
    assert "Traceback" not in run.stderr
    if run.returncode == 3:
        assert megabytes < ENOUGH
        assert run.stderr.startswith("error: ")
        return
    assert run.returncode == 0, run.stderr
    found: dict[str, Any] = json.loads(run.stdout)
    slack = 1e-9 * abs(optimum())
    assert found["lower_bound"] <= optimum() + slack
    assert found["upper_bound"] >= optimum() - slack
    assert found["status"] in ("optimal", "memory_limit", "time_limit")
