"""The processors that this process may use, and the number of threads for them."""

from __future__ import annotations

import logging
import math
import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

from coreplan.errors import SolverError
from coreplan.support.checks import found

logger = logging.getLogger(__name__)

MOST_PER_PROCESSOR = 4
"""The most threads or processes per usable processor."""
ALWAYS_ALLOWED = 16
"""The number of threads or processes that every machine allows."""

_ROOT = Path("/")


def usable_processors(root: Path = _ROOT) -> int:
    """Count the processors that the operating system and the container leave to this process.

    Parameters
    ----------
    root
        The folder that holds ``proc`` and ``sys``.

    Returns
    -------
    int
        At least 1: the smaller of the CPU affinity and the CPU quota of the control groups
        (versions 1 and 2). A part of a processor counts as a whole one.
    """
    count = os.cpu_count() or 1
    if hasattr(os, "sched_getaffinity"):
        with suppress(OSError):
            count = len(os.sched_getaffinity(0))
    quota = min(_quotas(root), default=math.inf)
    return max(1, math.ceil(min(count, quota)))


def choose_count(asked: int | None, what: str = "threads") -> int:
    """Check the number of threads or processes that a caller asks for.

    Parameters
    ----------
    asked
        The number that a caller asks for; None for one per usable processor.
    what
        The name of the option, for messages.

    Returns
    -------
    int
        The number asked for, but at most the larger of 16 and 4 per usable processor. A warning in
        the log reports a reduction.

    Raises
    ------
    SolverError
        If the number is not a whole number of at least 1.
    """
    check_count(asked, what)
    usable = usable_processors()
    if asked is None:
        return usable
    most = max(ALWAYS_ALLOWED, MOST_PER_PROCESSOR * usable)
    if asked > most:
        logger.warning(
            "%s",
            f"{what} is {found(asked)}; coreplan uses {most}, the most for {usable} usable "
            f"processor{'s' if usable > 1 else ''}",
        )
    return min(asked, most)


def check_count(asked: object, what: str = "threads") -> None:
    """Raise a SolverError for what :func:`choose_count` cannot settle."""
    if asked is None:
        return
    if isinstance(asked, bool) or not isinstance(asked, int):
        raise SolverError(f"{what} is {found(asked)}; expected a whole number or None")
    if asked < 1:
        raise SolverError(f"{what} is {found(asked)}; expected at least 1")


def _quotas(root: Path) -> Iterator[float]:
    """The quotas, in processors, of the control groups of this process."""
    try:
        lines = (root / "proc/self/cgroup").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return
    mount = root / "sys/fs/cgroup"
    for line in lines.splitlines():
        # For instance "0::/user.slice" (version 2) or "4:cpu,cpuacct:/docker/1f2e" (version 1).
        _, _, rest = line.partition(":")
        controllers, _, group = rest.partition(":")
        if not controllers:
            yield from _quotas_up(mount, group, _quota_v2)
        elif "cpu" in controllers.split(","):
            for name in dict.fromkeys((controllers, "cpu")):
                yield from _quotas_up(mount / name, group, _quota_v1)


def _quotas_up(mount: Path, group: str, read: Callable[[Path], float]) -> Iterator[float]:
    """The quotas of a group and of all groups around it.

    A container may see the outside name of its group; then only the mount itself exists.
    """
    parts = [part for part in group.split("/") if part not in ("", ".", "..")]
    for length in range(len(parts), -1, -1):
        with suppress(OSError, ValueError, IndexError, ZeroDivisionError):
            quota = read(mount.joinpath(*parts[:length]))
            if quota > 0:
                yield quota


def _quota_v2(folder: Path) -> float:
    quota, period = (folder / "cpu.max").read_text(encoding="ascii").split()[:2]
    return math.inf if quota == "max" else int(quota) / int(period)


def _quota_v1(folder: Path) -> float:
    quota = int((folder / "cpu.cfs_quota_us").read_text(encoding="ascii"))
    period = int((folder / "cpu.cfs_period_us").read_text(encoding="ascii"))
    return math.inf if quota < 0 else quota / period
