"""`coreplan import` and `coreplan template`: files, options, notes, and what must not happen."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from cli_runs import Run, one_json
from coreplan import read_problem
from coreplan.domains.maintenance.formats.calendar import read_calendar

WORKS = "contractor,work,duration,cost\nAlpha,a1,2,3\nBeta,b1,1,4\n"


@pytest.fixture
def works(tmp_path: Path) -> Path:
    """A list of works."""
    path = tmp_path / "works.csv"
    path.write_text(WORKS)
    return path


@pytest.fixture
def hindrance(tmp_path: Path) -> Path:
    """A list of hindrance."""
    path = tmp_path / "hindrance.csv"
    path.write_text("work A,work B,cost\na1,b1,7.5\n")
    return path


def test_templates_and_import(run: Run, tmp_path: Path) -> None:
    """What `template` writes, `import` takes, and the problem is sound."""
    folder, output = tmp_path / "lists", tmp_path / "problem.yaml"
    code, out, err = run("template", folder)
    assert (code, err) == (0, "")
    assert out.count("written: ") == 4
    lists = [folder / "works_with_dates.csv", folder / "hindrance.csv"]
    code, out, err = run(
        "import", *lists, "--start-date", "2026-03-02", "--must-complete", "-o", output
    )
    assert (code, err) == (0, "")
    assert "12 steps" in out
    assert "steps are weeks; the first begins on 2 Mar 2026" in out
    assert "note: " in out
    assert "'place'" in out
    assert read_problem(output).name == "problem"
    assert read_calendar(tmp_path / "problem.calendar.yaml").step == "week"
    assert run("check", output).code == 0
    code, out, err = run("template", folder)
    assert (code, out) == (2, "")
    assert "exists already" in err


def test_import_as_json(run: Run, works: Path, hindrance: Path, tmp_path: Path) -> None:
    """--json prints one object: what was made, or what is wrong."""
    output = tmp_path / "p.json"
    code, out, err = run(
        "import", works, hindrance, "--horizon", 4, "--name", "ring", "-o", output, "--json"
    )
    assert (code, err) == (0, "")
    said = one_json(out)
    assert said["ok"] is True
    assert (said["works"], said["hindrances"], said["horizon"]) == (2, 1, 4)
    assert said["problem"] == read_problem(output).name == "ring"
    works.write_text(WORKS.replace("2,3", "x,y"))
    code, out, err = run("import", works, "-o", tmp_path / "q.json", "--json", "--horizon", 4)
    assert (code, err) == (2, "")
    said = one_json(out)
    assert [problem["line"] for problem in said["problems"]] == [2, 2]
    assert [problem["column"] for problem in said["problems"]] == [3, 4]
    assert said["problems"][0]["place"] == f"{works}, row 2, column C (duration)"
    missing = tmp_path / "missing.csv"
    code, out, err = run("import", missing, "-o", tmp_path / "q.json", "--json", "--horizon", 4)
    assert (code, err) == (2, "")
    assert one_json(out)["file"] == str(missing)
    assert not (tmp_path / "q.json").exists()


def test_errors_name_cells(run: Run, works: Path, tmp_path: Path) -> None:
    """What is wrong is said by row and column, with exit code 2 and no file."""
    works.write_text(WORKS.replace("2,3", "x,y"))
    code, out, err = run("import", works, "-o", tmp_path / "p.yaml", "--horizon", 4)
    assert (code, out) == (2, "")
    lines = err.splitlines()
    assert lines[0].startswith(f"error: {works}, row 2, column C (duration): found 'x'")
    assert lines[1].startswith(f"error: {works}, row 2, column D (cost): found 'y'")
    assert not (tmp_path / "p.yaml").exists()


def test_nothing_is_overwritten(run: Run, works: Path, tmp_path: Path) -> None:
    """What is there stays, unless told otherwise; lists are never overwritten."""
    output, calendar = tmp_path / "p.yaml", tmp_path / "p.calendar.yaml"
    options = ["--horizon", 4, "-o", output]
    output.write_text("mine")
    code, _, err = run("import", works, *options)
    assert code == 2
    assert "--force" in err
    assert output.read_text() == "mine"
    output.unlink()
    calendar.write_text("mine")
    code, _, err = run("import", works, *options, "--start-date", "2026-03-02")
    assert code == 2
    assert calendar.read_text() == "mine"
    assert not output.exists()
    code, out, _ = run("import", works, *options, "--json")
    assert code == 0
    assert any(str(calendar) in note for note in one_json(out)["notes"])
    assert run("import", works, *options, "--start-date", "2026-03-02", "--force").code == 0
    assert read_calendar(calendar).step == "week"
    code, _, err = run("import", works, "--horizon", 4, "-o", works, "--force")
    assert code == 2
    assert works.read_text() == WORKS


@pytest.mark.parametrize(
    "options",
    [
        [],
        ["--step", "day", "--horizon", 4],
        ["--start-date", "3/4/2026", "--horizon", 4],
        ["--start-date", "2026-02-30", "--horizon", 4],
        ["--start-date", "2026-03-02", "--step", "month", "--horizon", 4],
        ["--horizon", 0],
        ["--horizon", 100_001],
    ],
)
def test_bad_options(run: Run, works: Path, tmp_path: Path, options: list[object]) -> None:
    """Options that make no sense end with code 2 and leave no file."""
    code, out, err = run("import", works, "-o", tmp_path / "p.yaml", *options)
    assert (code, out) == (2, "")
    assert err
    assert not (tmp_path / "p.yaml").exists()


def test_the_standard_input(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A list can come from the standard input, but not both."""
    output = tmp_path / "p.yaml"
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(WORKS.encode())))
    assert run("import", "-", "--horizon", 4, "-o", output).code == 0
    assert len(read_problem(output).contractors) == 2  # type: ignore[union-attr]
    assert run("import", "-", "-", "--horizon", 4, "-o", tmp_path / "q.yaml").code == 2
