"""One solve on a Ray cluster of this machine: the same as in one process, whatever happens."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cli_runs import one_json, shell
from coreplan import MaintenanceProblem, Progress, SolverError, Status, solve
from coreplan.bench.sets import generate
from coreplan.formats import write_problem
from coreplan.model.timmdp import TIMMDP
from coreplan.solving import on_ray
from coreplan.solving.partners import Carrier
from helpers import fingerprint
from ray_clusters import running_cluster

AnyProblem = TIMMDP | MaintenanceProblem
OPTIONS: dict[str, Any] = {"work_limit": 1.0, "threads": 1, "exact": False, "search": False}
TWO: dict[str, Any] = {"cluster": "ray", "workers": 2}


@pytest.fixture(scope="module")
def problem() -> AnyProblem:
    """Contractors of one team that acts in clusters."""
    (instance,) = generate("mpp", 1, agents=[12], horizon=[9], density=1.0)
    return instance.problem


@pytest.fixture
def carriers(monkeypatch: pytest.MonkeyPatch) -> list[Carrier]:
    """The first partner's carriers, as they are made."""
    made: list[Carrier] = []

    class Noted(Carrier):
        def __init__(self, *given: Any) -> None:
            super().__init__(*given)
            made.append(self)

    monkeypatch.setattr(on_ray, "Carrier", Noted)
    return made


def helpers() -> Iterator[int]:
    """The processes that take part in a solve, beside the first one."""
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            try:
                command = (folder / "cmdline").read_bytes()
                owner = folder.stat().st_uid
            except OSError:
                continue
            if command.startswith(b"ray::take_part") and owner == os.getuid():
                yield int(folder.name)


@pytest.mark.extras
def test_the_same_on_ray(problem: AnyProblem, carriers: list[Carrier]) -> None:
    """Two processes give the result of one, and do share work."""
    expected = solve(problem, **OPTIONS)
    assert fingerprint(solve(problem, **OPTIONS, **TWO)) == fingerprint(expected)
    (carrier,) = carriers
    assert carrier.count == 2
    assert carrier.rounds > 0
    assert carrier.sent > 0 and carrier.received > 0


@pytest.mark.extras
def test_a_killed_partner_changes_nothing(problem: AnyProblem, carriers: list[Carrier]) -> None:
    """A lost worker costs time only."""
    expected = solve(problem, **OPTIONS)
    killed: list[int] = []

    def kill(_: Progress) -> None:
        if not killed:
            killed.extend(helpers())
            for each in killed:
                os.kill(each, signal.SIGKILL)

    result = solve(problem, **OPTIONS, **TWO, callback=kill)
    assert killed
    assert carriers[0].count == 1
    assert fingerprint(result) == fingerprint(expected)


@pytest.mark.extras
def test_stopping_ends_all_partners(problem: AnyProblem, carriers: list[Carrier]) -> None:
    """The first one answers with what it has, and the others end."""

    def stop(_: Progress) -> bool:
        return bool(carriers) and carriers[0].rounds > 0

    options = OPTIONS | {"work_limit": None}
    result = solve(problem, **options, **TWO, callback=stop)
    assert result.status is Status.INTERRUPTED
    assert result.lower_bound <= result.upper_bound
    assert not list(helpers())


@pytest.mark.extras
def test_a_partner_that_does_not_answer_is_left_out(
    problem: AnyProblem, carriers: list[Carrier], monkeypatch: pytest.MonkeyPatch
) -> None:
    """However long it would have taken."""
    expected = solve(problem, **OPTIONS)
    monkeypatch.setattr(on_ray, "_PATIENCE", 0.0)
    stopped: list[int] = []

    def stop(_: Progress) -> None:
        if not stopped:
            stopped.extend(helpers())
            for each in stopped:
                os.kill(each, signal.SIGSTOP)

    result = solve(problem, **OPTIONS, **TWO, callback=stop)
    assert carriers[0].count == 1
    assert fingerprint(result) == fingerprint(expected)


@pytest.mark.extras
def test_on_a_running_cluster(
    problem: AnyProblem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By its address, also from the command line; it is left running, and is not overfilled."""
    path = tmp_path / "problem.json"
    write_problem(problem, path)
    command = ["solve", path, "--work-limit", "0.5", "--threads", "1", "--json"]
    expected = one_json(shell(*command).stdout)
    with running_cluster(monkeypatch) as (address, cluster):
        there = shell(*command, "--cluster", "ray", "--address", address)
        assert there.returncode == 0
        found = one_json(there.stdout)
        too_many = shell(*command, "--cluster", "ray", "--address", address, "--workers", "3")
        assert too_many.returncode == 2
        assert "workers is 3; the cluster's cores allow 2 (threads=1)" in too_many.stderr
        assert cluster.poll() is None
    for result in (expected, found):
        del result["seconds"], result["statistics"]["peak_memory_mb"]
    assert found == expected


@pytest.mark.extras
def test_a_cluster_that_is_not_there(problem: AnyProblem) -> None:
    """The error names the address."""
    with pytest.raises(SolverError, match=r"Ray at '127\.0\.0\.1:1' cannot be used"):
        solve(problem, cluster="ray", address="127.0.0.1:1")


def test_without_ray(problem: AnyProblem, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where Ray is missing, the extra to install is named."""
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(SolverError, match=r"pip install 'coreplan\[ray\]'"):
        solve(problem, cluster="ray")
