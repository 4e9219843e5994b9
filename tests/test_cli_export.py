"""`coreplan export`: to files and to the standard output, and what cannot be written."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli_runs import SMALL, Run
from coreplan import cli, read_problem
from coreplan.interop.prism import to_prism
from coreplan.interop.spudd import to_spudd

ROBOTS = cli.example_path("two_robots.yaml")


@pytest.mark.parametrize("target", ["prism", "spudd"])
def test_export(run: Run, tmp_path: Path, target: str) -> None:
    """The problem goes to the standard output, or to a file that is named."""
    problem = read_problem(ROBOTS)
    text = to_prism(problem).text if target == "prism" else to_spudd(problem).text
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


def test_what_spudd_cannot_express(run: Run) -> None:
    """A problem that depends on the stage is refused with what depends on it, and no file."""
    code, out, err = run("export", cli.example_path("two_works.yaml"), "--to", "spudd")
    assert (code, out) == (2, "")
    assert "whose format has no stages" in err
    assert "own costs and revenues of Beta" in err


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
