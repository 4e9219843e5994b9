"""Owners of claims: processes of which others can see whether they still run."""

from __future__ import annotations

import hashlib
import os
import platform
import subprocess
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

FORGOTTEN_AFTER = 600.0
"""Seconds without a sign of life after which a process of another machine counts as dead."""


@dataclass(frozen=True)
class Owner:
    """A process.

    Attributes
    ----------
    place
        The machine, and the container if any, in which its number is valid.
    pid
        Its number there.
    born
        Its time of start, from the system. Numbers of processes are used again, this pair is not.
    """

    place: str
    pid: int
    born: str

    @classmethod
    def here(cls) -> Owner:
        """The current process."""
        return cls(_place(), os.getpid(), birth(os.getpid()) or "")

    def is_alive(self, seen: float) -> bool:
        """Whether the process still runs.

        Parameters
        ----------
        seen
            Time of its last sign of life, in seconds since 1970. It matters only for processes of
            other machines; those of this machine are checked directly.
        """
        if self.place == _place():
            return birth(self.pid) == self.born
        return time.time() - seen < FORGOTTEN_AFTER


def birth(pid: int) -> str | None:
    """The time of start of a process of this machine, as text; None if it does not run."""
    if Path("/proc/self/stat").exists():
        return _birth_by_proc(pid)
    done = subprocess.run(
        ["ps", "-o", "stat=,lstart=", "-p", str(pid)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "LC_ALL": "C"},
    )
    state, _, started = done.stdout.strip().partition(" ")
    return started.strip() if started and not state.startswith("Z") else None


def _birth_by_proc(pid: int) -> str | None:
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    # The name of the program, between brackets, may contain any character.
    state, *fields = text.rpartition(")")[2].split()
    if state in "ZX":  # it has ended, but its parent has not asked for the exit code yet
        return None
    return f"{_boot()}/{fields[18]}"


def _boot() -> str:
    """The start of the system, from which the start of a process is counted.

    Empty if the system does not tell.
    """
    with suppress(OSError):
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    return ""


def _place() -> str:
    """An anonymous name of the machine, and of the container on it."""
    names = [platform.node()]
    with suppress(OSError):
        names.append(str(Path("/proc/self/ns/pid").readlink()))
    return hashlib.sha256("\0".join(names).encode()).hexdigest()[:16]
