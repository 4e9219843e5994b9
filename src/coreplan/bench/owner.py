"""Who works on something: a process that others can see to be alive or dead."""

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
        Where its number means something: the machine, and the container if there is one.
    pid
        Its number there.
    born
        When it was started, as the system tells it. Numbers are used again, these are not.
    """

    place: str
    pid: int
    born: str

    @classmethod
    def here(cls) -> Owner:
        """The process that asks."""
        return cls(_place(), os.getpid(), birth(os.getpid()) or "")

    def is_alive(self, seen: float) -> bool:
        """Whether the process still runs.

        Parameters
        ----------
        seen
            When it gave its last sign of life, in seconds since 1970. That counts only for
            processes of other machines; those of this one can be looked at.
        """
        if self.place == _place():
            return birth(self.pid) == self.born
        return time.time() - seen < FORGOTTEN_AFTER


def birth(pid: int) -> str | None:
    """When a process of this machine was started, as a text; None if it does not run."""
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
    # The name of the program, between brackets, may hold anything.
    state, *fields = text.rpartition(")")[2].split()
    if state in "ZX":  # it has ended, and nobody has asked for its exit code yet
        return None
    return f"{_boot()}/{fields[18]}"


def _boot() -> str:
    """The time of a process's start is counted from the start of the system, so that belongs to it.

    Empty where the system does not tell.
    """
    with suppress(OSError):
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    return ""


def _place() -> str:
    """A name for the machine, and the container on it, that tells nothing about them."""
    names = [platform.node()]
    with suppress(OSError):
        names.append(str(Path("/proc/self/ns/pid").readlink()))
    return hashlib.sha256("\0".join(names).encode()).hexdigest()[:16]
