"""Solves on a Ray cluster (extra ``ray``): an existing one, or one that is started here.

Each Ray task hands its request to a worker process of its own on its node, the same that runs on
one machine, so limits are kept in the same way. The store is written by the program that started
the run, and nobody else. coreplan has to be installed on all nodes, in the same version.
"""

from __future__ import annotations

import importlib.util
import logging
import os
import signal
import socket
import threading
from collections.abc import Mapping
from contextlib import suppress
from types import FrameType, TracebackType
from typing import Any, Self

from coreplan.bench.pool import Answer, Worker
from coreplan.errors import SolverError
from coreplan.support.processors import usable_processors

_CONNECT_SECONDS = 5.0
_worker: Worker | None = None


def check_ray() -> None:
    """Raise a SolverError if Ray is not installed."""
    if importlib.util.find_spec("ray") is None:
        raise SolverError(
            "Ray is not installed; it is the extra `ray`: pip install 'coreplan[ray]'"
        )


def solve_on_node(request: Mapping[str, Any]) -> Answer:
    """Solve a request by the worker that belongs to this process; runs on a node."""
    global _worker
    if _worker is None:
        _worker = Worker()
    try:
        return _worker.solve(request)
    except SolverError:
        lost, _worker = _worker, None  # the next one gets a new worker
        lost.close()
        raise


class RayPool:
    """Workers on a Ray cluster.

    Parameters
    ----------
    threads
        Cores that each solve takes.
    address
        Of an existing cluster, for instance ``auto`` or ``ray://head:10001``; None to start one on
        this machine.
    jobs
        How many solves run side by side; None for as many as there are cores for.

    Raises
    ------
    SolverError
        If Ray is not installed, or the cluster cannot be reached.
    """

    def __init__(self, threads: int, address: str | None = None, jobs: int | None = None) -> None:
        check_ray()
        # Before Ray is imported: nothing is sent anywhere, and no warnings about graphics cards.
        os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
        os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
        import ray  # type: ignore[import-not-found, import-untyped, unused-ignore]

        self._ray: Any = ray
        self._threads = threads
        self._fixed_jobs = jobs
        self._keys: dict[Any, str] = {}
        if address is not None:
            _check_address(address)
        cores = max(usable_processors(), threads * (jobs or 1))
        local = {
            "address": "local",
            "num_cpus": cores,
            "include_dashboard": False,
            "_node_ip_address": "127.0.0.1",
        }
        try:
            ray.init(
                log_to_driver=False,
                logging_level=logging.ERROR,
                **(local if address is None else {"address": address}),
            )
        except Exception as error:  # Ray raises errors of many kinds here
            what = "a Ray cluster on this machine" if address is None else f"Ray at {address!r}"
            reason = str(error).strip().splitlines()
            hint = "" if address is None else "; if it asks for a token, set RAY_AUTH_MODE=token"
            raise SolverError(
                f"{what} cannot be used: {reason[0] if reason else type(error).__name__}{hint}"
            ) from None
        self._previous = _end_well_when_terminated()
        self._solve = ray.remote(num_cpus=threads, max_retries=2)(solve_on_node)

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
        """How many solves can run side by side; nodes may come and go."""
        if self._fixed_jobs is not None:
            return self._fixed_jobs
        cores = self._ray.cluster_resources().get("CPU", 1)
        return max(1, int(cores // self._threads))

    def submit(self, key: str, request: Mapping[str, Any]) -> None:
        """Hand out a request; at most as many at a time as there are jobs."""
        self._keys[self._solve.remote(dict(request))] = key

    def wait(self, seconds: float) -> list[tuple[str, Answer]]:
        """The keys and answers of solves that have ended; waits for one, but not longer.

        Raises
        ------
        SolverError
            If Ray fails; that says nothing of the solvers, whose processes are apart from Ray's.
        """
        ready, _ = self._ray.wait(list(self._keys), num_returns=1, timeout=seconds)
        ended = []
        for reference in ready:
            key = self._keys.pop(reference)
            try:
                ended.append((key, self._ray.get(reference)))
            except self._ray.exceptions.RayError as error:
                reason = str(error).strip().splitlines()
                raise SolverError(
                    f"Ray failed: {reason[-1] if reason else type(error).__name__}; what has "
                    "finished is kept, run again to go on"
                ) from None
        return ended

    def close(self) -> None:
        """End everything that runs, at once; a cluster that was started here is stopped."""
        for reference in self._keys:
            with suppress(Exception):
                self._ray.cancel(reference, force=True)
        self._keys = {}
        self._ray.shutdown()
        if self._previous is not None:
            signal.signal(signal.SIGTERM, self._previous)


def _check_address(address: str) -> None:
    """Raise a SolverError if nobody listens at an address; Ray itself would try for minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not host or not port.isdecimal():
        return  # a word such as "auto", which Ray understands
    try:
        socket.create_connection((host, int(port)), timeout=_CONNECT_SECONDS).close()
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or error
        raise SolverError(f"Ray at {address!r} cannot be used: {reason}") from None


def _end_well_when_terminated() -> Any:
    """Let SIGTERM end a run as a second Ctrl-C does; what it did before.

    Ray would exit as if all were well; without its handler, its processes would stay.
    """
    if threading.current_thread() is not threading.main_thread():
        return None

    def end(_: int, __: FrameType | None) -> None:
        raise KeyboardInterrupt

    return signal.signal(signal.SIGTERM, end)
