"""One solve on a Ray cluster (extra ``ray``): the processes are partners, and meet in an actor.

The problem travels once; the parcels go from process to process through Ray's object store. The
process that was asked to solve is the first partner: it has the limits, reports progress, and
returns the answer. The others have no limit of time; they end when the first one does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any

from coreplan.errors import SolverError
from coreplan.solving.limits import Limits
from coreplan.solving.options import CoreOptions
from coreplan.solving.partners import FIRST, Carrier, Meeting, Outcome
from coreplan.solving.result import Result
from coreplan.solving.task import SolverTask
from coreplan.support.clock import now
from coreplan.support.ray_cluster import RayConnection

Solver = Callable[[SolverTask, CoreOptions], Result]

_PATIENCE = 120.0
"""Seconds that the first partner waits for the others' parcels when it has given its own."""
_TURNS = 4
"""Calls of the meeting at the same time, beside one of each partner."""


class _Hub:
    """The meeting, as an actor: it passes references on, never the parcels themselves."""

    def __init__(self, count: int) -> None:
        self._meeting = Meeting(count)

    def give(self, who: int, number: int, course: int, parcel: list[Any]) -> None:
        self._meeting.give(who, number, course, parcel)

    def outcome(self, number: int) -> dict[int, list[Any]]:
        outcome = self._meeting.outcome(number, None)
        assert outcome is not None
        return outcome.parcels

    def leave(self, who: int) -> None:
        self._meeting.leave(who)

    def missing(self) -> tuple[int, ...]:
        return self._meeting.missing()


class _RayTransport:
    """The way to the hub."""

    def __init__(self, ray: Any, hub: Any) -> None:
        self._ray = ray
        self._hub = hub
        self._waiting: Any = None
        self._given: dict[int, Any] = {}

    def give(self, who: int, number: int, course: int, parcel: bytes) -> None:
        # In a list, a reference is passed on as it is.
        self._given = {who: self._ray.put(parcel)}
        self._hub.give.remote(who, number, course, list(self._given.values()))

    def outcome(self, number: int, seconds: float) -> Outcome | None:
        if self._waiting is None:
            self._waiting = self._hub.outcome.remote(number)
        try:
            references = self._ray.get(self._waiting, timeout=seconds)
        except self._ray.exceptions.GetTimeoutError:
            return None
        self._waiting = None
        return Outcome({who: self._fetch(each) for who, (each,) in references.items()})

    def _fetch(self, reference: Any) -> bytes | None:
        try:
            return bytes(self._ray.get(reference, timeout=_PATIENCE))
        except self._ray.exceptions.RayError:
            return None  # lost with its owner


class _LeadingTransport(_RayTransport):
    """The first partner's: it goes on without partners that have ended or do not answer."""

    def __init__(self, ray: Any, hub: Any, helpers: dict[int, Any]) -> None:
        super().__init__(ray, hub)
        self._helpers = helpers
        self._since = now()

    def give(self, who: int, number: int, course: int, parcel: bytes) -> None:
        super().give(who, number, course, parcel)
        self._since = now()

    def outcome(self, number: int, seconds: float) -> Outcome | None:
        found = super().outcome(number, seconds)
        if found is None:
            self._leave_lost()
        return found

    def _leave_lost(self) -> None:
        ended, _ = self._ray.wait(
            list(self._helpers.values()), num_returns=len(self._helpers), timeout=0
        )
        lost = {who for who, task in self._helpers.items() if task in ended}
        if now() - self._since > _PATIENCE:
            lost |= set(self._ray.get(self._hub.missing.remote()))
        for who in lost - {FIRST}:
            self._hub.leave.remote(who)


def take_part(
    solver: Solver,
    task: tuple[Any, ...],
    options: CoreOptions,
    memory_limit: float,
    hub: Any,
    who: int,
    count: int,
) -> None:
    """Be a partner in a solve: take its course, and give parcels to the others."""
    import ray  # type: ignore[import-not-found, import-untyped, unused-ignore]

    problem, stage, state, tolerance = task
    limits = Limits(None, memory_limit)
    limits.monitor.set_partners(Carrier(who, count, _RayTransport(ray, hub)))
    solver(SolverTask(problem, stage, state, limits, tolerance), options)


@contextmanager
def partners_on_ray(
    task: SolverTask, options: CoreOptions, solver: Solver
) -> Iterator[CoreOptions]:
    """Let other processes take part in a solve, and yield the options for this one.

    Parameters
    ----------
    task
        The task; its limits get the partners.
    options
        The options, with `cluster`, `address` and `workers`.
    solver
        The function that solves, here and in the other processes.
    """
    threads = options.threads or 1
    alone = replace(options, cluster="local", address=None, workers=None, threads=threads)
    with RayConnection(options.address, threads * (options.workers or 1)) as connection:
        ray = connection.ray
        most = max(1, connection.cores // threads)
        count = most if options.workers is None else options.workers
        if count > most:
            raise SolverError(
                f"workers is {count}; the cluster's cores allow {most} (threads={threads})"
            )
        if count < 2:
            yield alone
            return
        hub = ray.remote(num_cpus=0, max_concurrency=count + _TURNS)(_Hub).remote(count)
        given = ray.put((task.problem, task.stage, task.state, task.tolerance))
        start = ray.remote(num_cpus=threads, max_retries=0)(take_part)
        memory = task.limits.memory_limit_mb
        quiet = replace(alone, certificate=options.wants_certificate)
        helpers = {
            who: start.remote(solver, given, quiet, memory, hub, who, count)
            for who in range(FIRST + 1, count)
        }
        monitor = task.limits.monitor
        carrier = Carrier(FIRST, count, _LeadingTransport(ray, hub, helpers))
        monitor.set_partners(carrier)
        try:
            yield alone
        finally:
            monitor.set_partners(None)
            for helper in helpers.values():
                with suppress(Exception):
                    ray.cancel(helper, force=True)
            with suppress(Exception):
                ray.kill(hub)
