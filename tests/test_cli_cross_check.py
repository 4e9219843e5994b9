"""`coreplan cross-check`: the verdict, and what happens without Storm."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import coreplan
from cli_runs import Run, one_json
from coreplan import read_problem
from coreplan.interop.storm import StormAnswer
from helpers import random_mpp
from waiting import HANG, wait_for


def test_without_storm(run: Run, small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where stormpy is missing, how to install it is told: exit code 2."""
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    code, out, err = run("cross-check", small, "--with", "storm")
    assert (code, out) == (2, "")
    assert "pip install 'coreplan[storm]'" in err


@pytest.mark.parametrize("as_json", [True, False])
@pytest.mark.parametrize("off", [0.0, 0.5])
def test_verdicts(
    run: Run, small: Path, monkeypatch: pytest.MonkeyPatch, off: float, as_json: bool
) -> None:
    """Agreement ends with 0, disagreement with 1, and both are told."""
    value = coreplan.solve(read_problem(small)).value
    answer = StormAnswer(value + off, 0.1, 0.1, "dd", 10)
    for place in ("cli.cross_check", "interop.storm"):
        monkeypatch.setattr(f"coreplan.{place}.check_storm", lambda *_: None)
    monkeypatch.setattr("coreplan.interop.storm.storm_value", lambda *_, **__: answer)
    code, out, err = run("cross-check", small, *(["--json"] if as_json else []))
    assert (code, err) == (int(off > 0), "")
    if as_json:
        report = one_json(out)
        assert report["agrees"] is (off == 0)
        assert report["storm"]["value"] == value + off
        assert report["result"]["value"] == value
    else:
        assert re.search(r"^they agree" if off == 0 else "^THEY DISAGREE", out, re.MULTILINE)


@pytest.mark.parametrize("arguments", [["--with", "prism"], ["--engine", "fast"]])
def test_options_that_are_wrong(run: Run, small: Path, arguments: list[str]) -> None:
    """Tools and engines that do not exist are bad usage."""
    code, out, err = run("cross-check", small, *arguments)
    assert (code, out) == (2, "")
    assert arguments[0] in err


@pytest.mark.extras
@pytest.mark.parametrize("engine", ["sparse", "dd", "hybrid"])
def test_with_storm(run: Run, small: Path, engine: str) -> None:
    """With Storm installed, it agrees."""
    code, out, err = run("cross-check", small, "--engine", engine, "--json")
    assert (code, err) == (0, "")
    report: dict[str, Any] = one_json(out)
    assert report["agrees"] is True
    assert report["storm"]["engine"] == engine


@pytest.mark.extras
def test_ctrl_c_ends_storm(tmp_path: Path) -> None:
    """Ctrl-C while Storm works ends both: exit code 130, and no process is left."""
    path = tmp_path / "large.json"
    path.write_text(json.dumps(random_mpp(4, 3, 8)), encoding="utf-8")
    process = subprocess.Popen(
        [sys.executable, "-m", "coreplan.cli", "cross-check", str(path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        # Where tests run in the background, Ctrl-C may be ignored, and children would inherit that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    wait_for(lambda: children.read_text(encoding="ascii").split() or process.poll() is not None)
    assert process.poll() is None, process.communicate()[1]
    worker = children.read_text(encoding="ascii").split()
    # Storm is at work, or about to be.
    wait_for(lambda: "storm" in Path(f"/proc/{worker[0]}/maps").read_text(encoding="utf-8"))
    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=HANG)
    assert process.returncode == 130
    assert err.strip() == "error: interrupted"
    assert len(worker) == 1
    assert not Path(f"/proc/{worker[0]}").exists()
