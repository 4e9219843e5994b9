"""A Ray cluster that is running already, for tests that join it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

HEAD = """
import ray, sys
here = ray.init(
    address="local", num_cpus=2, include_dashboard=False, log_to_driver=False,
    _node_ip_address="127.0.0.1",
)
print(here.address_info["gcs_address"], flush=True)
sys.stdin.read()
"""


@contextmanager
def running_cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """Start a cluster of two cores; yield its address and its process."""
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    with subprocess.Popen(
        [sys.executable, "-c", HEAD],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as cluster:
        assert cluster.stdout is not None
        yield cluster.stdout.readline().strip(), cluster
