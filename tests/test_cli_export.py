"""`coreplan export`: to files and to the standard output, and what cannot be written."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli_runs import SMALL, Run
from coreplan import cli, read_problem
from coreplan.interop.dpomdp import to_dpomdp
from coreplan.interop.prism import to_prism
from coreplan.interop.spudd import to_spudd

WRITERS = {"prism": to_prism, "spudd": to_spudd, "dpomdp": to_dpomdp}
ROBOTS = cli.example_path("two_robots.yaml")


@pytest.mark.parametrize("target", WRITERS)
def test_export(run: Run, tmp_path: Path, target: str) -> None:
    """The problem goes to the standard output, or to a file that is named."""
    text = WRITERS[target](read_problem(ROBOTS)).text
    code, out, err = run("export", ROBOTS, "--to", target)
    assert (code, out, err) == (0, text, "")
    path = tmp_path / "out"
    code, out, err = run("export", ROBOTS, "--to", target, "-o", path)
    assert (code, err) == (0, "")
    assert str(path) in out
    assert path.read_text(encoding="utf-8") == text


def test_shift(run: Run) -> None:
    """--shift is for prism: no reward is negative then."""
    assert "was added so that" in run("export", ROBOTS, "--to", "prism", "--shift").out
    code, out, err = run("export", ROBOTS, "--to", "spudd", "--shift")
    assert (code, out) == (2, "")
    assert "--shift" in err


@pytest.mark.parametrize("target", ["spudd", "dpomdp"])
def test_clock(run: Run, target: str) -> None:
    """--clock adds the stage to the state; where something depends on it, it is there anyway."""
    plain = run("export", ROBOTS, "--to", target).out
    with_clock = run("export", ROBOTS, "--to", target, "--clock").out
    assert with_clock == WRITERS[target](read_problem(ROBOTS), clock=True).text != plain
    works = cli.example_path("two_works.yaml")
    needed = run("export", works, "--to", target).out
    assert needed == run("export", works, "--to", target, "--clock").out
    code, out, err = run("export", ROBOTS, "--to", "prism", "--clock")
    assert (code, out) == (2, "")
    assert "--clock is for" in err


def test_exports_that_go_wrong(run: Run, small: Path, tmp_path: Path) -> None:
    """No target, an unknown one, a missing file and a file that cannot be written: code 2."""
    for arguments in (
        [small],
        [small, "--to", "dot"],
        [tmp_path / "missing.yaml", "--to", "prism"],
        [small, "--to", "prism", "-o", tmp_path / "nowhere" / "x"],
        [small, "--to", "prism", "-o", small],
    ):
        code, out, err = run("export", *arguments)
        assert (code, out) == (2, "")
        assert err
    assert small.read_text(encoding="utf-8") == SMALL
