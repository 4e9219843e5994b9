"""What the tests of the command line share: running it, files to run it on, what it printed."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import jsonschema
import pytest

import coreplan
from coreplan import cli
from helpers import dense_team
from waiting import HANG

SMALL = """
format: mpp/1
name: small
horizon: 6
agents:
  - name: Alpha
    tasks:
      - {name: bridge, duration: 2, cost: 3, revenue: 20, delay: {probability: 0.3, duration: 1}}
      - {name: tunnel, duration: 1, cost: 2, revenue: 9}
  - name: Beta
    tasks: [{name: road, duration: 2, cost: 1, revenue: 15}]
network: [{tasks: [Alpha/bridge, Beta/road], cost: 7.5}]
"""


class Ran(NamedTuple):
    """What a run of the command line gave."""

    code: int
    out: str
    err: str


Run = Callable[..., Ran]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Run the command line in this process."""

    def call(*arguments: object) -> Ran:
        with pytest.raises(SystemExit) as ended:
            cli.main([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        assert isinstance(ended.value.code, int)
        assert "Traceback" not in err
        assert "\x1b" not in out + err
        return Ran(ended.value.code, out, err)

    return call


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A file with a small problem."""
    path = tmp_path / "small.yaml"
    path.write_text(SMALL, encoding="utf-8")
    return path


@pytest.fixture
def schedule(tmp_path: Path) -> Path:
    """A file with a schedule for the small problem, in which everything coincides."""
    path = tmp_path / "schedule.yaml"
    path.write_text("Alpha: {bridge: 0, tunnel: 4}\nBeta: {road: 0}\n", encoding="utf-8")
    return path


@pytest.fixture
def large(tmp_path: Path) -> Path:
    """A file with a problem that takes far longer than a test."""
    path = tmp_path / "large.json"
    path.write_text(json.dumps(dense_team(100)), encoding="utf-8")
    return path


def shell(*arguments: object, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run the command line in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "coreplan.cli", *map(str, arguments)],
        capture_output=True,
        check=False,
        timeout=HANG,
        **{"encoding": "utf-8", **options},
    )


def one_json(text: str) -> Any:
    """The one JSON value, on one line, that a text consists of."""
    assert text.endswith("\n")
    assert text.count("\n") == 1
    return json.loads(text)


def valid_result(text: str) -> dict[str, Any]:
    """The one result/1 object that a text consists of."""
    result: dict[str, Any] = one_json(text)
    jsonschema.validate(result, coreplan.formats.schema("result/1"))
    assert result["lower_bound"] == result["value"] <= result["upper_bound"]
    assert result["gap"] == result["upper_bound"] - result["value"]
    return result


def run_unread(*arguments: str) -> None:
    """Run the program while nobody reads what it prints: it has to end well, and say nothing."""
    process = subprocess.Popen(
        [sys.executable, "-m", "coreplan.cli", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    with process.stderr as stderr:
        assert stderr.read() == b""
    assert process.wait() == 0
