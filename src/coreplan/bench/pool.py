"""Parallel solves on this machine: workers, and their requests."""

from __future__ import annotations

import json
import os
import selectors
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from types import TracebackType
from typing import Any, Protocol, Self

from coreplan.bench.worker import Lines
from coreplan.errors import SolverError

Answer = dict[str, Any]

_START = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from coreplan.bench.worker import main; main()"
)

# A process with threads cannot be forked safely, and numpy starts threads unless it is told not to.
# The solvers have their own threads.
_ONE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "VECLIB_MAXIMUM_THREADS": "1",
}


class Pool(Protocol):
    """A group of workers that solve requests."""

    @property
    def jobs(self) -> int:
        """Number of solves that can run at the same time."""

    def submit(self, key: str, request: Mapping[str, Any]) -> None:
        """Start a request; at most as many at a time as the number of jobs."""

    def wait(self, seconds: float) -> list[tuple[str, Answer]]:
        """The keys and answers of finished solves; waits until at least one has finished."""

    def close(self) -> None:
        """End all running solves at once."""


class Worker:
    """A worker process of this machine, seen from the runner."""

    def __init__(self) -> None:
        # Its last words go to a file: a pipe might fill up before it is read.
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed by `close`
        self._process = subprocess.Popen(
            # -P: modules come from the same folders as ours.
            [sys.executable, "-P", "-c", _START, json.dumps(sys.path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            start_new_session=True,  # Ctrl-C goes to the runner, which decides
            env={**os.environ, **_ONE_THREAD},
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._requests = self._process.stdin
        self._answers = Lines(self._process.stdout.fileno())

    def fileno(self) -> int:
        """The stream of answers, to wait for."""
        return self._answers.fileno()

    def submit(self, request: Mapping[str, Any]) -> None:
        """Send a request to the process."""
        with suppress(BrokenPipeError):  # `receive` will report it
            self._requests.write(json.dumps(request).encode() + b"\n")
            self._requests.flush()

    def receive(self) -> Answer | None:
        """Read the available data; return an answer if it is complete.

        Raises
        ------
        WorkerLostError
            If the process has ended unexpectedly.
        """
        self._answers.read()
        line = self._answers.next()
        if line is not None:
            answer: Answer = json.loads(line)
            return answer
        if self._answers.closed:
            code = self._process.wait()
            self._errors.seek(0)
            said = self._errors.read().decode("utf-8", errors="replace").strip().splitlines()
            reason = f": {said[-1]}" if said else ""
            raise WorkerLostError(f"a worker process ended with exit code {code}{reason}")
        return None

    def solve(self, request: Mapping[str, Any]) -> Answer:
        """Send a request and wait for the answer."""
        self.submit(request)
        while True:
            answer = self.receive()
            if answer is not None:
                return answer

    def close(self) -> None:
        """End the process and its children."""
        with suppress(BrokenPipeError):
            self._requests.close()
        try:
            self._process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()
        self._errors.close()


class WorkerLostError(SolverError):
    """A worker process has ended unexpectedly, without an answer."""


class LocalPool:
    """Workers on this machine.

    Parameters
    ----------
    jobs
        Number of solves at the same time.
    """

    def __init__(self, jobs: int) -> None:
        self._jobs = jobs
        self._idle: list[Worker] = []
        self._busy: dict[Worker, tuple[str, Mapping[str, Any]]] = {}
        self._again: set[str] = set()
        self._selector = selectors.DefaultSelector()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def jobs(self) -> int:
        """Number of solves that can run at the same time."""
        return self._jobs

    def submit(self, key: str, request: Mapping[str, Any]) -> None:
        """Start a request; at most as many at a time as the number of jobs."""
        worker = self._idle.pop() if self._idle else Worker()
        self._busy[worker] = (key, request)
        self._selector.register(worker, selectors.EVENT_READ)
        worker.submit(request)

    def wait(self, seconds: float) -> list[tuple[str, Answer]]:
        """The keys and answers of finished solves; waits until at least one has finished.

        Raises
        ------
        WorkerLostError
            If a worker process ended unexpectedly twice for the same solve.
        """
        ended = []
        for event, _ in self._selector.select(seconds):
            worker: Any = event.fileobj
            try:
                answer = worker.receive()
            except WorkerLostError:
                self._replace(worker)
                continue
            if answer is not None:
                self._selector.unregister(worker)
                key, _ = self._busy.pop(worker)
                self._idle.append(worker)
                ended.append((key, answer))
        return ended

    def close(self) -> None:
        """End all running solves at once."""
        workers = [*self._idle, *self._busy]
        self._idle, self._busy = [], {}
        self._selector.close()
        for worker in workers:
            worker.close()

    def _replace(self, worker: Worker) -> None:
        """Repeat the request of a lost worker; raise its error the second time."""
        self._selector.unregister(worker)
        key, request = self._busy.pop(worker)
        worker.close()
        if key in self._again:
            raise
        self._again.add(key)
        self.submit(key, request)
