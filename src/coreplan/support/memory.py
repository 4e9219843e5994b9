"""The memory that this process can still get from the machine, its container and its limits."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

BYTES_PER_MB = 1_000_000
PROC = Path("/proc")
CGROUPS = Path("/sys/fs/cgroup")


def available_memory(proc: Path = PROC, cgroups: Path = CGROUPS) -> float:
    """Bytes that this process can still get; infinity if the system does not tell.

    This is the least of the free memory of the machine, the free memory of the containers around
    the process (control groups, versions 1 and 2) and the limits of the process itself
    (``ulimit -v`` and ``ulimit -d``).

    Parameters
    ----------
    proc, cgroups
        The folders in which the system shows processes and control groups.
    """
    return min(machine_memory(proc), container_memory(proc, cgroups), memory_by_rlimits(proc))


def machine_memory(proc: Path = PROC) -> float:
    """Free bytes of the machine; infinity if it does not tell."""
    available = _field(proc / "meminfo", "MemAvailable")
    return math.inf if available is None else available * 1024


def container_memory(proc: Path = PROC, cgroups: Path = CGROUPS) -> float:
    """Free bytes of the control groups of this process; infinity without any limit."""
    left = math.inf
    for folder, names in _groups(proc, cgroups):
        limit = _number(folder / names.limit)
        if limit is None or limit >= _NO_LIMIT:
            continue  # every solve comes here: read no more files than needed
        used = _number(folder / names.used) or 0.0
        # The system drops cached files when memory is needed.
        spare = _field(folder / "memory.stat", names.spare) or 0.0
        left = min(left, max(0.0, limit - max(0.0, used - spare)))
    return left


def memory_by_rlimits(proc: Path = PROC) -> float:
    """Free bytes under the limits of this process; infinity without any limit."""
    try:
        import resource
    except ImportError:
        return math.inf
    left = math.inf
    for limit, name in ((resource.RLIMIT_AS, "VmSize"), (resource.RLIMIT_DATA, "VmData")):
        most = resource.getrlimit(limit)[0]
        if most != resource.RLIM_INFINITY:
            size = _field(proc / "self" / "status", name) or 0.0
            left = min(left, max(0.0, most - size * 1024))
    return left


def peak_memory_mb() -> float:
    """The largest memory of this process so far, in MB (0 if unknown)."""
    try:
        import resource
    except ImportError:
        return 0.0
    return memory_in_mb(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)


def memory_in_mb(maxrss: float) -> float:
    """The largest memory of a process in MB, from the system's record of its resources."""
    # Linux counts in KiB, macOS in bytes.
    unit = 1 if sys.platform == "darwin" else 1024
    return maxrss * unit / BYTES_PER_MB


def forget_peak_memory() -> None:
    """Restart the measurement of the largest memory, if the system can (Linux)."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


class _Names:
    """Names of files and fields in one version of control groups."""

    def __init__(self, limit: str, used: str, spare: str) -> None:
        self.limit = limit
        self.used = used
        self.spare = spare


_VERSION_1 = _Names("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
_VERSION_2 = _Names("memory.max", "memory.current", "inactive_file")


_NO_LIMIT = 2.0**62
"""Version 1 writes a limit of nearly 2**63 bytes for no limit."""


def _groups(proc: Path, cgroups: Path) -> Iterator[tuple[Path, _Names]]:
    """The folders of the control groups of this process, up to the roots.

    Inside a container, paths may be those of the machine outside; then only the roots exist.
    """
    try:
        lines = (proc / "self" / "cgroup").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return
    for line in lines.splitlines():
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if number == "0" and not controllers:
            roots, names = [cgroups, cgroups / "unified"], _VERSION_2
        elif "memory" in controllers.split(","):
            roots, names = [cgroups / "memory", cgroups / controllers], _VERSION_1
        else:
            continue
        parts = [part for part in path.split("/") if part not in ("", ".", "..")]
        for root in dict.fromkeys(roots):
            for length in range(len(parts), -1, -1):
                yield root.joinpath(*parts[:length]), names


def _number(path: Path) -> float | None:
    """The number in a file; None for other content, for instance ``max``."""
    try:
        return float(int(path.read_text(encoding="ascii")))
    except (OSError, ValueError):
        return None


def _field(path: Path, name: str) -> float | None:
    """The number in a line ``name: number`` or ``name number`` of a file; None without one.

    Every solve asks for some of these, so the other lines are not taken apart.
    """
    try:
        text = path.read_text(encoding="ascii", errors="replace")
    except OSError:
        return None
    found = re.search(rf"^{re.escape(name)}(?::\s*|\s+)(\d+)\b", text, re.MULTILINE)
    return None if found is None else float(found[1])
