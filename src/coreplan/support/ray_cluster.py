"""A connection to a Ray cluster (extra ``ray``): a running one, or a new one on this machine."""

from __future__ import annotations

import importlib.util
import logging
import os
import signal
import socket
import threading
from types import FrameType, TracebackType
from typing import Any, Self

from coreplan.errors import SolverError
from coreplan.support.processors import usable_processors

_CONNECT_SECONDS = 5.0


def check_ray() -> None:
    """Raise a SolverError if Ray is not installed."""
    if importlib.util.find_spec("ray") is None:
        raise SolverError(
            "Ray is not installed; install the extra `ray`: pip install 'coreplan[ray]'"
        )


class RayConnection:
    """A connection to a Ray cluster, which ends with a ``with`` statement.

    Parameters
    ----------
    address
        Address of a running cluster, for instance ``auto`` or ``ray://head:10001``; None to start
        one on this machine.
    cores
        Cores that a new cluster on this machine has at least; by default those that this process
        may use.

    Attributes
    ----------
    ray
        The package.

    Raises
    ------
    SolverError
        If Ray is not installed, or the cluster cannot be reached.
    """

    def __init__(self, address: str | None = None, cores: int = 1) -> None:
        check_ray()
        # Set before Ray is imported: it then sends no data, and does not warn about graphics cards.
        os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
        os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
        import ray  # type: ignore[import-not-found, import-untyped, unused-ignore]

        self.ray: Any = ray
        if address is not None:
            _check_address(address)
        local = {
            "address": "local",
            "num_cpus": max(usable_processors(), cores),
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
            hint = "" if address is None else "; if it asks for a token, set RAY_AUTH_MODE=token"
            raise SolverError(
                f"{what} cannot be used: {reason_of(error, first=True)}{hint}"
            ) from None
        self._previous = _end_well_when_terminated()

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
    def cores(self) -> int:
        """Cores of all nodes at this moment; nodes may come and go."""
        return int(self.ray.cluster_resources().get("CPU", 1))

    def close(self) -> None:
        """Leave the cluster; stop it if it was started here."""
        self.ray.shutdown()
        if self._previous is not None:
            signal.signal(signal.SIGTERM, self._previous)


def reason_of(error: BaseException, *, first: bool = False) -> str:
    """The line of an error's text that says most: the last one, or the first."""
    lines = str(error).strip().splitlines()
    return lines[0 if first else -1] if lines else type(error).__name__


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
