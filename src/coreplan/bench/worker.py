"""The worker process: it forks a child for each solve and enforces the limits.

The runner talks to it through two pipes (see :mod:`coreplan.bench.pool`), with a line of JSON for
each request and each answer. The worker has the package loaded already, and a child starts within a
few milliseconds. A child that exceeds its limits is killed. When the runner ends in any way, its
pipe closes: the worker kills the child and ends. When the worker ends, the child ends.
"""

from __future__ import annotations

import gc
import importlib
import json
import math
import os
import select
import signal
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import nullcontext, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NoReturn

from coreplan.bench.machine import describe_machine, processor_seconds, resident_mb, versions
from coreplan.bench.modules import in_words, load_again
from coreplan.bench.store import PROCESSOR
from coreplan.errors import CoreplanError, LimitError, SolverError, shorten
from coreplan.formats import parse_problem
from coreplan.solving.limits import Progress
from coreplan.solving.result import Result
from coreplan.support.clock import replace_clock
from coreplan.support.memory import BYTES_PER_MB, memory_in_mb

SOLVE = "coreplan.solve:solve"
"""The function that solves, as ``module:function``; called like :func:`coreplan.solve`."""

CANCEL = b"cancel\n"
"""The runner's request to stop a solve."""

KILLED = "killed_outside"
"""The outcome of a solve that a signal from outside ended: not the worker's, and not a crash."""

MOST_POINTS = 200
"""Number of points of progress to keep."""

TIME_FACTOR, TIME_GRACE = 1.25, 5.0
"""A solver is killed after its time limit times this, plus these seconds."""

PATIENCE, LEAST_SHARE = 600.0, 0.001
"""A solver whose processor time counts is killed if, over this many seconds, it uses less than this
share of a processor: it waits for something. On a busy machine, even the most modest process gets
more than that."""

MEMORY_FACTOR, MEMORY_GRACE = 1.25, 100.0
"""A solver is killed above its memory limit times this, plus these MB and the program itself."""

_ADDRESSES_FACTOR, _ADDRESSES_GRACE = 4.0, 4000.0
_LOOK_EVERY = 0.05 if sys.platform == "linux" else 0.5
_LONGEST_MESSAGE = 500
_OWN_SIGNALS = frozenset(
    getattr(signal, name)
    for name in ("SIGSEGV", "SIGABRT", "SIGFPE", "SIGILL", "SIGBUS", "SIGTRAP", "SIGSYS", "SIGPIPE")
    if hasattr(signal, name)
)
"""Signals that a process causes itself."""
_CHUNK = 1 << 16
_TINY = '{"format": "mpp/1", "horizon": 1, "agents": [{"name": "A", "tasks": []}]}'


class Lines:
    """Lines that come through a pipe, a piece at a time."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self.closed = False
        self._buffer = bytearray()

    def fileno(self) -> int:
        """The pipe."""
        return self.descriptor

    def read(self) -> None:
        """Read the available data; wait if there is none."""
        piece = os.read(self.descriptor, _CHUNK)
        self.closed = not piece
        self._buffer += piece

    def next(self) -> bytes | None:
        """The next whole line, or None."""
        line, found, rest = self._buffer.partition(b"\n")
        if not found:
            return None
        self._buffer = rest
        return bytes(line + found)


class BoundsLog:
    """A callback for `solve` that records changes of bounds, or some of them if they are many."""

    def __init__(self) -> None:
        self._kept: list[tuple[float, float, float]] = []
        self._last: tuple[float, float, float] | None = None
        self._changes = 0
        self._keep_every = 1

    def __call__(self, progress: Progress) -> None:
        """Record the bounds of a solver if one has changed."""
        self.note(progress.seconds, progress.lower_bound, progress.upper_bound)

    def note(self, seconds: float, lower: float, upper: float) -> None:
        """Record bounds if one has changed."""
        # Algorithms of others may tell numbers of numpy.
        seconds, lower, upper = float(seconds), float(lower), float(upper)
        if math.isnan(seconds) or math.isnan(lower) or math.isnan(upper):
            return
        if self._last is not None and self._last[1:] == (lower, upper):
            return
        self._last = (seconds, lower, upper)
        if len(self._kept) == MOST_POINTS - 1:
            self._kept = self._kept[::2]
            self._keep_every *= 2
        if self._changes % self._keep_every == 0:
            self._kept.append(self._last)
        self._changes += 1

    @property
    def points(self) -> list[tuple[float, float, float]]:
        """The first change, the last one, and some between, evenly spaced."""
        last = [] if self._last is None or self._last in self._kept[-1:] else [self._last]
        return [*self._kept, *last]


def find_function(name: str) -> Any:
    """The function that a text ``module:function`` names."""
    module, _, function = name.partition(":")
    return getattr(importlib.import_module(module), function)


def solve_request(request: Mapping[str, Any]) -> dict[str, Any]:
    """Answer a request in this process; the answer has an outcome in every case."""
    log = BoundsLog()
    result, message = None, ""
    timed = request["clock"] == PROCESSOR
    modules = request["modules"]
    try:
        for each in modules:
            load_again(each)
        with replace_clock(time.process_time) if timed else nullcontext():
            found = find_function(request["function"])(
                parse_problem(request["text"]),
                algorithm=request["algorithm"],
                time_limit=request["time_limit"],
                memory_limit=request["memory_limit"],
                callback=log,
                **request["options"],
            )
        log.note(found.seconds, found.lower_bound, found.upper_bound)
        outcome, result, message = "result", checked_result(found), found.message
    except LimitError as error:
        outcome, message = "no_plan", str(error)
    except MemoryError:
        outcome, message = "no_plan", "the memory limit was reached before any plan was found"
    except CoreplanError as error:
        outcome, message = "error", str(error)
    except Exception as error:
        outcome = "error"
        message = in_words(error, {each["path"]: Path(each["path"]).name for each in modules})
    return {
        "outcome": outcome,
        "message": shorten(message, _LONGEST_MESSAGE),
        "result": result,
        "progress": log.points,
    }


def checked_result(found: Result) -> dict[str, Any]:
    """The ``result/1`` object of a result; a SolverError if it cannot be written."""
    result = found.to_dict()
    try:
        json.dumps(result, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise SolverError(f"the result cannot be written: {error}; use plain numbers") from None
    return result


class Child:
    """A solve in a process of its own."""

    def __init__(self, request: Mapping[str, Any]) -> None:
        self._answer = bytearray()
        self._errors = b""
        self._verdict = ("", "")
        self._request = request
        own_memory = resident_mb(os.getpid())
        limit = request["memory_limit"]
        self._most_memory = (
            None if limit is None else own_memory + MEMORY_FACTOR * limit + MEMORY_GRACE
        )
        answer, answer_end = os.pipe()
        errors, errors_end = os.pipe()
        lifeline, self._lifeline_end = os.pipe()
        self._pipes = {answer: "answer", errors: "errors"}
        self._started = datetime.now(UTC)
        self._start = time.perf_counter()
        self.pid = os.fork()
        if self.pid == 0:
            for end in (answer, errors, self._lifeline_end):
                os.close(end)
            _be_child(request, answer_end, errors_end, lifeline)
        for end in (answer_end, errors_end, lifeline):
            os.close(end)
        self._next_look = self._start
        self._most_seconds = TIME_FACTOR * request["time_limit"] + request["grace"]
        self._by_processor = request["clock"] == PROCESSOR
        self._seen_busy = (self._start, 0.0)

    def run(self, commands: Lines) -> dict[str, Any] | None:
        """Wait until the solve has ended; its outcome, or None if the runner has cancelled it."""
        cancelled = False
        while True:
            ended, status, usage = os.wait4(self.pid, os.WNOHANG)
            if ended:
                break
            now = time.perf_counter()
            self._look(now)
            waiting = [*self._pipes, commands.descriptor]
            # Both pipes closed: it is about to end.
            patience = _LOOK_EVERY if self._pipes else 0.001
            if not self._by_processor:
                patience = min(patience, self._start + self._most_seconds - now)
            if cancelled or commands.closed:
                waiting.pop()
            for ready in select.select(waiting, [], [], max(0.001, patience))[0]:
                if ready == commands.descriptor:
                    commands.read()
                    cancelled = commands.closed or commands.next() is not None
                    if cancelled:
                        self._kill("cancelled", "")
                else:
                    self._take(ready)
        seconds = time.perf_counter() - self._start
        self._drain()
        if cancelled:
            return None
        return {
            **self._judge(os.waitstatus_to_exitcode(status)),
            "wall_seconds": round(seconds, 6),
            "cpu_seconds": round(usage.ru_utime + usage.ru_stime, 6),
            "peak_memory_mb": round(memory_in_mb(usage.ru_maxrss), 1),
            "started": self._started.isoformat(timespec="milliseconds"),
        }

    def _look(self, now: float) -> None:
        """Kill the solve if it exceeds its limits."""
        if self._verdict[0]:
            return
        limit = f"the time limit is {self._request['time_limit']:g} s"
        if not self._by_processor and now >= self._start + self._most_seconds:
            self._kill(
                "killed_time", f"still running {now - self._start:.1f} s after its start; {limit}"
            )
        if self._verdict[0] or now < self._next_look:
            return
        self._next_look = now + _LOOK_EVERY
        if self._by_processor:
            self._look_at_processor(now, limit)
        if self._most_memory is not None:
            memory = resident_mb(self.pid)
            if memory > self._most_memory:
                self._kill(
                    "killed_memory",
                    f"it used {memory:.0f} MB, including the program itself; the memory limit is "
                    f"{self._request['memory_limit']:g} MB",
                )

    def _look_at_processor(self, now: float, limit: str) -> None:
        """Kill the solve if it has used too much processor time, or next to none for long."""
        used = processor_seconds(self.pid)
        since, before = self._seen_busy
        if used >= self._most_seconds:
            self._kill(
                "killed_time",
                f"still running after {used:.1f} s of processor time; {limit} of processor time",
            )
        elif now >= since + self._request["patience"]:
            if used - before < LEAST_SHARE * (now - since):
                self._kill(
                    "killed_time",
                    f"it used {used - before:.2g} s of processor time in {now - since:.0f} s: it "
                    f"waits for something; {limit} of processor time",
                )
            self._seen_busy = (now, used)

    def _kill(self, verdict: str, message: str) -> None:
        self._verdict = (verdict, message)
        with suppress(ProcessLookupError, PermissionError):
            os.kill(self.pid, signal.SIGKILL)
        with suppress(
            ProcessLookupError, PermissionError
        ):  # also the processes that it has started
            os.killpg(self.pid, signal.SIGKILL)

    def _judge(self, code: int) -> dict[str, Any]:
        nothing: dict[str, Any] = {"result": None, "progress": []}
        if code == 0 and self._answer.endswith(b"\n"):
            answered: dict[str, Any] = json.loads(self._answer)
            return answered
        if self._verdict[0]:
            return {"outcome": self._verdict[0], "message": self._verdict[1], **nothing}
        outcome = "crashed"
        if code < 0:
            outcome = "crashed" if -code in _OWN_SIGNALS else KILLED
            message = f"ended by signal {-code} ({signal.Signals(-code).name})"
            if -code == signal.SIGKILL:
                message += ", perhaps because the system ran out of memory"
        else:
            message = f"ended with exit code {code}, without an answer"
        said = self._errors.decode("utf-8", errors="replace").strip().splitlines()
        if said:
            message += f": {shorten(said[-1].strip(), _LONGEST_MESSAGE)}"
        return {"outcome": outcome, "message": message, **nothing}

    def _take(self, pipe: int) -> None:
        """Read the data in a pipe, or close it at its end."""
        piece = os.read(pipe, _CHUNK)
        if not piece:
            del self._pipes[pipe]
            os.close(pipe)
        elif self._pipes[pipe] == "answer":
            self._answer += piece
        else:
            self._errors = (self._errors + piece)[-2000:]

    def _drain(self) -> None:
        """Read the rest of the pipes, and close them."""
        for pipe in list(self._pipes):
            # Another process may hold the other end; then the end of the pipe never comes.
            while pipe in self._pipes and select.select([pipe], [], [], 0)[0]:
                self._take(pipe)
        for pipe in self._pipes:
            os.close(pipe)
        os.close(self._lifeline_end)


def _be_child(request: Mapping[str, Any], answer: int, errors: int, lifeline: int) -> NoReturn:
    """Solve, write the answer, end; the parent's resources are not cleaned up here."""
    code = 1
    try:
        os.setsid()
        nothing = os.open(os.devnull, os.O_RDWR)
        os.dup2(nothing, 0)
        os.dup2(nothing, 1)
        os.dup2(errors, 2)
        threading.Thread(target=_end_with_parent, args=(lifeline,), daemon=True).start()
        _be_modest(request["memory_limit"])
        left = memoryview(json.dumps(solve_request(request)).encode() + b"\n")
        while left:
            left = left[os.write(answer, left) :]
        code = 0
    except BaseException as error:
        with suppress(BaseException):
            os.write(2, f"{type(error).__name__}: {error}\n".encode())
    finally:
        os._exit(code)


def _end_with_parent(lifeline: int) -> None:
    """End this process when the parent, which holds the other end of a pipe, ends."""
    with suppress(OSError):
        os.read(lifeline, 1)
    os._exit(1)


def _be_modest(memory_limit: float | None) -> None:
    """Let the system end this process first if memory is short; limit single large requests."""
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")
    if memory_limit is None or sys.platform != "linux":
        return  # other systems do not limit addresses, or count them differently
    import resource

    with suppress(OSError, ValueError, OverflowError):
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
        most = pages * os.sysconf("SC_PAGE_SIZE") + BYTES_PER_MB * (
            _ADDRESSES_FACTOR * memory_limit + _ADDRESSES_GRACE
        )
        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        if hard == resource.RLIM_INFINITY or most < hard:
            resource.setrlimit(resource.RLIMIT_AS, (int(most), int(most)))


def main() -> None:
    """Answer requests from the standard input until it is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    commands = Lines(os.dup(0))
    answers = os.dup(1)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)  # children may print and read
    os.dup2(nothing, 1)
    here = {"versions": versions(), "machine": describe_machine()}
    parse_problem(_TINY)  # also loads the modules for reading
    gc.collect()
    gc.freeze()  # children then do not copy memory that never changes
    while True:
        line = commands.next()
        if line is None:
            if commands.closed:
                return
            commands.read()
        elif line != CANCEL:  # it came too late
            answer = Child(json.loads(line)).run(commands)
            if commands.closed:
                return
            written = {"outcome": "cancelled"} if answer is None else {**answer, **here}
            left = memoryview(json.dumps(written).encode() + b"\n")
            while left:
                left = left[os.write(answers, left) :]
