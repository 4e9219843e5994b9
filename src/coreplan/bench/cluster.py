"""Solves on a Ray cluster (extra ``ray``): a running one, or a new one on this machine.

Each Ray task passes its request to its own worker process on its node. The same worker runs on a
single machine, and enforces limits in the same way. Only the program that started the run writes
the store. All nodes need the same version of coreplan.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from types import TracebackType
from typing import Any, Self

from coreplan.bench.pool import Answer, Worker
from coreplan.errors import SolverError
from coreplan.support.ray_cluster import RayConnection, reason_of

_worker: Worker | None = None


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
        self._connection = RayConnection(address, threads * (jobs or 1))
        self._ray: Any = self._connection.ray
        self._threads = threads
        self._fixed_jobs = jobs
        self._keys: dict[Any, str] = {}
        self._solve = self._ray.remote(num_cpus=threads, max_retries=2)(solve_on_node)

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
        return max(1, self._connection.cores // self._threads)

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
                raise SolverError(
                    f"Ray failed: {reason_of(error)}; what has finished is kept; run the same "
                    "command again to continue"
                ) from None
        return ended

    def close(self) -> None:
        """End all running solves at once; stop the cluster if it was started here."""
        for reference in self._keys:
            with suppress(Exception):
                self._ray.cancel(reference, force=True)
        self._keys = {}
        self._connection.close()
