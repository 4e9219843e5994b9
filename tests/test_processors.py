"""Processors that a process may use, by affinity and container, and what is asked beyond them."""

from __future__ import annotations

import json
import logging
import os
from pathlib import Path
from typing import Any

import pytest

from cli_runs import Run
from coreplan import SolverError, cli, simulate, solve
from coreplan.support.processors import (
    ALWAYS_ALLOWED,
    MOST_PER_PROCESSOR,
    choose_count,
    usable_processors,
)
from helpers import from_file, random_mpp


@pytest.fixture
def eight(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine of 64 processors, 8 of which this process may use."""
    monkeypatch.setattr(os, "cpu_count", lambda: 64)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)), raising=False)


def tree(root: Path, files: dict[str, str]) -> Path:
    """Files of the system under a folder."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


V1 = "12:memory:/a\n4:cpu,cpuacct:/a/b\n1:name=systemd:/a\n0::/\n"


@pytest.mark.parametrize(
    ("files", "usable"),
    [
        ({}, 8),
        # Version 2: in the group itself, in one above, at the mount of a container.
        ({"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/b/cpu.max": "300000 100000\n"}, 3),
        ({"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/b/cpu.max": "max 100000\n"}, 8),
        ({"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/cpu.max": "150000 100000\n"}, 2),
        ({"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "50000 100000\n"}, 1),
        ({"proc/self/cgroup": "0::/../up\n", "sys/fs/cgroup/cpu.max": "200000 100000\n"}, 2),
        ({"proc/self/cgroup": "0::/a\n", "sys/fs/cgroup/a/cpu.max": "9900000 100000\n"}, 8),
        (
            {
                "proc/self/cgroup": "0::/a/b\n",
                "sys/fs/cgroup/a/b/cpu.max": "500000 100000\n",
                "sys/fs/cgroup/a/cpu.max": "400000 100000\n",
            },
            4,
        ),
        # Version 1, by its long name, by its short one, and as a container sees it.
        (
            {
                "proc/self/cgroup": V1,
                "sys/fs/cgroup/cpu,cpuacct/a/b/cpu.cfs_quota_us": "250000\n",
                "sys/fs/cgroup/cpu,cpuacct/a/b/cpu.cfs_period_us": "50000\n",
            },
            5,
        ),
        (
            {
                "proc/self/cgroup": V1,
                "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "200000\n",
                "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
            },
            2,
        ),
        (
            {
                "proc/self/cgroup": V1,
                "sys/fs/cgroup/cpu/a/b/cpu.cfs_quota_us": "-1\n",
                "sys/fs/cgroup/cpu/a/b/cpu.cfs_period_us": "100000\n",
            },
            8,
        ),
        # What makes no sense counts for nothing.
        ({"proc/self/cgroup": "0::/a\n", "sys/fs/cgroup/a/cpu.max": "\n"}, 8),
        ({"proc/self/cgroup": "0::/a\n", "sys/fs/cgroup/a/cpu.max": "10 0\n"}, 8),
        ({"proc/self/cgroup": "0::/a\n", "sys/fs/cgroup/a/cpu.max": "0 100000\n"}, 8),
        ({"proc/self/cgroup": "nonsense\n::\n"}, 8),
    ],
)
def test_usable_processors(eight: None, tmp_path: Path, files: dict[str, str], usable: int) -> None:
    """Affinity and the quotas of control groups count, not the processors of the machine."""
    assert usable_processors(tree(tmp_path, files)) == usable


def test_without_affinity(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Where the system has no affinity, or does not tell, all processors count."""
    monkeypatch.setattr(os, "cpu_count", lambda: 3)
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    assert usable_processors(tmp_path) == 3
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert usable_processors(tmp_path) == 1


def test_too_many_are_cut(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """By default one per processor; more than a sensible number are cut, and the log says so."""
    monkeypatch.setattr("coreplan.support.processors.usable_processors", lambda: 8)
    with caplog.at_level(logging.WARNING, "coreplan"):
        assert choose_count(None) == 8
        assert choose_count(1) == 1
        assert choose_count(8 * MOST_PER_PROCESSOR) == 8 * MOST_PER_PROCESSOR
        assert not caplog.records
        assert choose_count(5_000_000_000) == 8 * MOST_PER_PROCESSOR
        assert "threads is 5000000000; coreplan uses 32" in caplog.text
    monkeypatch.setattr("coreplan.support.processors.usable_processors", lambda: 1)
    assert choose_count(10**5000, "jobs") == ALWAYS_ALLOWED


@pytest.mark.parametrize("value", [0, -1, True, 1.5, "2"])
def test_counts_that_make_no_sense(value: Any) -> None:
    """A number of threads is a whole number of at least 1."""
    with pytest.raises(SolverError, match=r"threads is .*; expected"):
        choose_count(value)


@pytest.mark.parametrize("threads", [5_000_000_000, 100_000])
def test_absurd_numbers_of_threads(
    monkeypatch: pytest.MonkeyPatch, threads: int, caplog: pytest.LogCaptureFixture
) -> None:
    """Solving and simulating start a few threads only, however many are asked for."""
    monkeypatch.setattr("coreplan.support.processors.usable_processors", lambda: 1)
    used: list[int] = []
    from coreplan.solving.engine import core

    def options(limits: Any, threads: int, *rest: Any) -> Any:
        used.append(threads)
        return core_options(limits, threads, *rest)

    core_options = core.EngineOptions
    monkeypatch.setattr(core, "EngineOptions", options)
    problem = from_file(random_mpp(3, 2, 6))
    expected = solve(problem, threads=1).value
    result = solve(problem, threads=threads)
    assert result.value == pytest.approx(expected)
    assert used == [1, ALWAYS_ALLOWED]
    assert result.policy is not None
    shown = simulate(result.policy, 100, threads=threads)
    assert shown.value == simulate(result.policy, 100, threads=1).value
    assert caplog.text.count(f"coreplan uses {ALWAYS_ALLOWED}") == 2


@pytest.mark.parametrize("algorithm", ["core", "dec-mdp"])
@pytest.mark.parametrize("seed", [2**64, -1, 10**40, True, 0.5, None])
def test_seeds_that_make_no_sense(algorithm: str, seed: Any) -> None:
    """A seed has 64 bits; others are refused in words."""
    problem = from_file(random_mpp(2, 2, 5))
    with pytest.raises(SolverError, match=r"seed is .*; expected a whole number from 0 to 2\*\*64"):
        solve(problem, algorithm=algorithm, seed=seed)


@pytest.mark.parametrize("algorithm", ["core", "dec-mdp"])
def test_the_largest_seed(algorithm: str) -> None:
    """All seeds of 64 bits will do."""
    problem = from_file(random_mpp(2, 2, 5))
    largest = solve(problem, algorithm=algorithm, seed=2**64 - 1)
    assert largest.value == pytest.approx(solve(problem, algorithm=algorithm).value)


def test_the_command_line_says_so(run: Run) -> None:
    """A cut is said once: in the full log, or beside the output on the standard error."""
    example = cli.example_path("two_works.yaml")
    code, out, err = run("solve", example, "--threads", 5_000_000_000, "--json")
    assert code == 0
    assert json.loads(out)["status"] == "optimal"
    assert err.startswith("warning: threads is 5000000000; ")
    assert len(err.splitlines()) == 1
    code, out, err = run("solve", example, "--threads", 5_000_000_000, "-v")
    assert (code, err) == (0, "")
    assert out.count("threads is 5000000000; ") == 1
    code, out, err = run("solve", example, "--threads", 5_000_000_000)
    assert code == 0
    assert "threads is" not in out
    assert err.count("warning: threads is 5000000000; ") == 1
    code, out, err = run("simulate", example, "--threads", 5_000_000_000, "--runs", 10, "--json")
    assert code == 0
    assert "warning: threads is 5000000000; " in err
