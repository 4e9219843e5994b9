"""The properties of a machine that matter for measurements, and the memory of a process."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import numpy as np

from coreplan.support.memory import BYTES_PER_MB
from coreplan.support.processors import usable_processors
from coreplan.support.version import __version__


def versions() -> dict[str, str]:
    """The versions of coreplan, Python and numpy."""
    return {
        "coreplan": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
    }


def describe_machine() -> dict[str, str | int]:
    """Processor, cores, memory and system; nothing that identifies the owner."""
    return {
        "processor": _processor(),
        "cores": usable_processors(),
        "memory_mb": _memory_mb(),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
    }


def resident_mb(pid: int) -> float:
    """Present memory of a process, in MB; 0 if it does not run or the system does not tell."""
    with suppress(OSError, ValueError, IndexError):
        if Path("/proc/self/statm").exists():
            pages = int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1])
            return pages * os.sysconf("SC_PAGE_SIZE") / BYTES_PER_MB
        return float(_output("ps", "-o", "rss=", "-p", str(pid))) * 1024 / BYTES_PER_MB
    return 0.0


def _processor() -> str:
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").split("\n"):
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    if sys.platform == "darwin":
        with suppress(OSError):
            return _output("sysctl", "-n", "machdep.cpu.brand_string")
    return platform.processor() or platform.machine()


def _memory_mb() -> int:
    with suppress(OSError, ValueError):
        return round(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / BYTES_PER_MB)
    return 0


def _output(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
