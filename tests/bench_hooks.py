"""Solvers that misbehave, and one that keeps a log; called in place of `coreplan.solve`."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from pathlib import Path
from typing import Any

import coreplan
from coreplan import LimitError, Result, SolverError
from coreplan.support.clock import clock_instead
from waiting import wait_for


def lines(path: Path) -> list[str]:
    """The lines of a file that may not be there yet."""
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


def set_gate(log: Path, most: int) -> None:
    """Let solves wait that would make a log longer than that."""
    made = log.with_suffix(".made")
    made.write_text(str(most), encoding="utf-8")
    made.replace(log.with_suffix(".gate"))


def logged(problem: Any, *, file: str, **options: Any) -> Result:
    """Solve, wait for the gate if there is one, and note in a file that it was done."""
    result = coreplan.solve(problem, **options)
    path = Path(file)
    gate = path.with_suffix(".gate")
    if gate.exists():
        wait_for(lambda: len(lines(path)) < int(gate.read_text(encoding="utf-8")))
    with path.open("a", encoding="utf-8") as log:
        log.write(f"{problem.name} {options['algorithm']}\n")
    return result


def sleeping(problem: Any, *, file: str, **_: Any) -> Result:
    """Never end; note the number of the process in a file."""
    with Path(file).open("a", encoding="utf-8") as log:
        log.write(f"{os.getpid()}\n")
    while True:
        signal.pause()


def busy(problem: Any, **_: Any) -> Result:
    """Never end, and never rest."""
    while True:
        pass


def greedy(problem: Any, **_: Any) -> Result:
    """Take much more memory than is allowed, little by little, and keep it."""
    taken = [bytearray(b"x" * 5_000_000) for _ in range(80)]
    while taken:
        signal.pause()
    raise AssertionError


def absurd(problem: Any, **_: Any) -> Result:
    """Ask for a million megabytes at once."""
    bytearray(10**12)
    raise AssertionError


def segfault(problem: Any, **_: Any) -> Result:
    """Read where nothing is."""
    ctypes.string_at(0)
    raise AssertionError


def killed(problem: Any, *, file: str, times: int, number: int, **options: Any) -> Result:
    """Be killed by a signal so many times, and note each of them in a file; then solve."""
    with Path(file).open("a+", encoding="utf-8") as log:
        log.seek(0)
        before = len(log.readlines())
        log.write("begun\n")
    if before < times:
        os.kill(os.getpid(), number)
        signal.pause()
    return coreplan.solve(problem, **options)


def leaving(problem: Any, **_: Any) -> Result:
    """End the process."""
    sys.stderr.write("some words\nso long\n")
    sys.stderr.flush()
    os._exit(7)


def noisy(problem: Any, **options: Any) -> Result:
    """Print very much, everywhere, then solve."""
    for descriptor in (1, 2):
        for _ in range(100):
            os.write(descriptor, b"{}\n" * 10_000)
    return coreplan.solve(problem, **options)


def refusing(problem: Any, **_: Any) -> Result:
    """Say no."""
    raise SolverError("cannot do this")


def broken(problem: Any, **_: Any) -> Result:
    """Fail in a way that nobody thought of."""
    raise ZeroDivisionError("by nothing")


def clocked(problem: Any, **_: Any) -> Result:
    """Say which clock is in place of the machine's."""
    raise SolverError(f"goes by {getattr(clock_instead(), '__name__', None)}")


def limited(problem: Any, **_: Any) -> Result:
    """Meet a limit at once."""
    raise LimitError("time_limit", "too short")
