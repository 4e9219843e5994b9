"""How much memory a solver may take by default: the machine, containers, limits of the process."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path

import pytest

from coreplan.support.memory import (
    available_memory,
    container_memory,
    machine_memory,
    memory_by_rlimits,
)
from waiting import HANG

GB = 1_000_000_000


class Tree:
    """Files as the system shows them, in a folder."""

    def __init__(self, folder: Path) -> None:
        self.proc = folder / "proc"
        self.cgroups = folder / "cgroup"
        self.put("proc/meminfo", "MemTotal: 64000000 kB\nMemAvailable:   50000000 kB\n", folder)
        self.folder = folder

    def put(self, path: str, text: str, folder: Path | None = None) -> None:
        """Write a file."""
        file = (folder or self.folder) / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="ascii")

    @property
    def left(self) -> float:
        """What containers leave."""
        return container_memory(self.proc, self.cgroups)


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    """A machine without containers."""
    return Tree(tmp_path)


def test_machine(tree: Tree) -> None:
    """Without any container it is what the machine says."""
    assert machine_memory(tree.proc) == 50_000_000 * 1024
    assert tree.left == math.inf
    assert available_memory(tree.proc, tree.cgroups) <= 50_000_000 * 1024


def test_nothing_is_said(tmp_path: Path) -> None:
    """Where the system shows nothing, there is no limit."""
    assert machine_memory(tmp_path) == math.inf
    assert container_memory(tmp_path, tmp_path) == math.inf


@pytest.mark.parametrize("unreadable", ["", "MemAvailable:", "MemAvailable: lots kB", "\x00"])
def test_strange_files(tree: Tree, unreadable: str) -> None:
    """What is not a number is no limit."""
    tree.put("proc/meminfo", unreadable)
    tree.put("proc/self/cgroup", f"0::/a\n{unreadable}\n:::\n")
    tree.put("cgroup/a/memory.max", unreadable)
    assert machine_memory(tree.proc) == math.inf
    assert tree.left == math.inf


def test_version_2(tree: Tree) -> None:
    """The tightest group on the way up counts, less what it has in use."""
    tree.put("proc/self/cgroup", "0::/pods/one/inner\n")
    tree.put("cgroup/pods/one/inner/memory.max", "max\n")
    tree.put("cgroup/pods/one/memory.max", f"{4 * GB}\n")
    tree.put("cgroup/pods/one/memory.current", f"{1 * GB}\n")
    assert tree.left == 3 * GB
    tree.put("cgroup/pods/memory.max", f"{10 * GB}\n")
    tree.put("cgroup/pods/memory.current", f"{9 * GB}\n")
    assert tree.left == 1 * GB
    # Files in the cache make way.
    tree.put("cgroup/pods/memory.stat", f"anon 1\ninactive_file {GB // 2}\nfile 3\n")
    assert tree.left == 1.5 * GB
    assert available_memory(tree.proc, tree.cgroups) == 1.5 * GB
    tree.put("cgroup/pods/memory.current", f"{12 * GB}\n")
    assert tree.left == 0


def test_version_1(tree: Tree) -> None:
    """The older files are understood as well, with their huge number for no limit."""
    tree.put("proc/self/cgroup", "4:cpu,cpuacct:/job\n7:memory:/job/step\n1:name=systemd:/x\n")
    tree.put("cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n")
    tree.put("cgroup/memory/job/memory.limit_in_bytes", f"{2 * GB}\n")
    tree.put("cgroup/memory/job/memory.usage_in_bytes", f"{GB}\n")
    tree.put("cgroup/memory/job/memory.stat", "total_inactive_file 1000\n")
    tree.put("cgroup/memory/job/step/memory.limit_in_bytes", f"{8 * GB}\n")
    assert tree.left == GB + 1000


def test_paths_from_outside(tree: Tree) -> None:
    """In a container the path may be the machine's own: then the root is the container's."""
    tree.put("proc/self/cgroup", "5:memory:/docker/0123abc\n")
    tree.put("cgroup/memory/memory.limit_in_bytes", f"{3 * GB}\n")
    assert tree.left == 3 * GB
    tree.put("proc/self/cgroup", "0::/../../elsewhere\n")
    tree.put("cgroup/memory.max", f"{GB}\n")
    assert tree.left == GB


def test_both_versions(tree: Tree) -> None:
    """A machine may have both at once: the tighter one counts."""
    tree.put("proc/self/cgroup", "5:memory:/job\n0::/job\n")
    tree.put("cgroup/memory/job/memory.limit_in_bytes", f"{3 * GB}\n")
    tree.put("cgroup/unified/job/memory.max", f"{2 * GB}\n")
    assert tree.left == 2 * GB


@pytest.mark.parametrize("name", ["RLIMIT_AS", "RLIMIT_DATA"])
def test_limits_of_the_process(name: str) -> None:
    """`ulimit -v` and `ulimit -d` count, less what the process has."""
    pytest.importorskip("resource")
    script = f"""
import json, resource
from coreplan.solving.limits import Limits
from coreplan.support.memory import available_memory, memory_by_rlimits
before = memory_by_rlimits()
resource.setrlimit(resource.{name}, (2_000_000_000, resource.RLIM_INFINITY))
print(json.dumps([before, memory_by_rlimits(), available_memory(), Limits().monitor.memory_limit]))
"""
    run = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=HANG
    )
    before, after, available, limit = json.loads(run.stdout)
    assert before == math.inf
    assert 1_000_000_000 < after < 2_000_000_000
    assert available <= after
    assert limit <= 0.8 * after


def test_this_process() -> None:
    """Here and now the answer is a number that makes sense."""
    assert available_memory() > 0
    assert memory_by_rlimits() > 0
