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


def processor_seconds(pid: int) -> float:
    """Processor time that a process has used; 0 if it does not run or the system does not tell."""
    with suppress(OSError, ValueError, IndexError):
        if Path("/proc/self/stat").exists():
            # The name of the program, in parentheses, may contain anything.
            text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
            user, system = text.rpartition(")")[2].split()[11:13]
            return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")
        return duration_in_seconds(_output("ps", "-o", "time=", "-p", str(pid)))
    return 0.0


def duration_in_seconds(text: str) -> float:
    """The seconds of a duration as `ps` writes it: ``[[days-]hours:]minutes:seconds``.

    Examples
    --------
    >>> duration_in_seconds("1-02:03:04"), duration_in_seconds("3:04.25")
    (93784.0, 184.25)
    """
    days, _, rest = text.strip().rpartition("-")
    seconds = 86400.0 * int(days or 0)
    for position, part in enumerate(reversed(rest.split(":"))):
        seconds += 60**position * float(part)
    return seconds


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
