"""Solves on a Ray cluster (extra ``ray``): a running one, or a new one on this machine.

Each Ray task passes its request to its own worker process on its node. The same worker runs on a
single machine, and enforces limits in the same way. Only the program that started the run writes
the store. All nodes need the same version of coreplan.
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
            "Ray is not installed; install the extra `ray`: pip install 'coreplan[ray]'"
        )


def solve_on_node(request: Mapping[str, Any]) -> Answer:
    """Solve a request on a node, with the worker of this process."""
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
        Address of a running cluster, for instance ``auto`` or ``ray://head:10001``; None to start
        one on this machine.
    jobs
        Number of solves at the same time; None for as many as the cores allow.

    Raises
    ------
    SolverError
        If Ray is not installed, or the cluster cannot be reached.
    """

    def __init__(self, threads: int, address: str | None = None, jobs: int | None = None) -> None:
        check_ray()
        # Set before Ray is imported: it then sends no data, and does not warn about graphics cards.
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
        """Number of solves that can run at the same time; nodes may come and go."""
        if self._fixed_jobs is not None:
            return self._fixed_jobs
        cores = self._ray.cluster_resources().get("CPU", 1)
        return max(1, int(cores // self._threads))

    def submit(self, key: str, request: Mapping[str, Any]) -> None:
        """Start a request; at most as many at a time as the number of jobs."""
        self._keys[self._solve.remote(dict(request))] = key

    def wait(self, seconds: float) -> list[tuple[str, Answer]]:
        """The keys and answers of finished solves; waits until at least one has finished.

        Raises
        ------
        SolverError
            If Ray fails. The solvers may be fine: their processes are separate from Ray's.
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
                    "finished is kept; run the same command again to continue"
                ) from None
        return ended

    def close(self) -> None:
        """End all running solves at once; stop the cluster if it was started here."""
        for reference in self._keys:
            with suppress(Exception):
                self._ray.cancel(reference, force=True)
        self._keys = {}
        self._ray.shutdown()
        if self._previous is not None:
            signal.signal(signal.SIGTERM, self._previous)


def _check_address(address: str) -> None:
    """Raise a SolverError if no cluster answers at an address; Ray itself would try for minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not host or not port.isdecimal():
        return  # a word that Ray understands, for instance "auto"
    try:
        socket.create_connection((host, int(port)), timeout=_CONNECT_SECONDS).close()
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or error
        raise SolverError(f"Ray at {address!r} cannot be used: {reason}") from None


def _end_well_when_terminated() -> Any:
    """Let SIGTERM end a run as a second Ctrl-C does; return the former handler.

    Ray's handler would exit as if the run were complete; without it, Ray's processes would stay.
    """
    if threading.current_thread() is not threading.main_thread():
        return None

    def end(_: int, __: FrameType | None) -> None:
        raise KeyboardInterrupt

    return signal.signal(signal.SIGTERM, end)
