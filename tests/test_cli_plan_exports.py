"""`coreplan plan --export`: several files of one plan, and errors before the search."""

from __future__ import annotations

from pathlib import Path
from unittest import mock

import pytest

from cli_runs import Run, one_json
from coreplan import cli

DATES = ["--start-date", "2026-03-02"]


def test_several_files(run: Run, small: Path, tmp_path: Path) -> None:
    """Each --export writes one file in the format of its ending, and its name is printed."""
    files = [tmp_path / f"plan{ending}" for ending in (".csv", ".ics", ".XML")]
    options = [part for file in files for part in ("--export", file)]
    code, out, err = run("plan", small, *DATES, *options)
    assert (code, err) == (0, "")
    assert files[0].read_text(encoding="utf-8-sig").startswith("contractor,work,planned start")
    assert files[1].read_text(encoding="utf-8").startswith("BEGIN:VCALENDAR")
    assert files[2].read_text(encoding="utf-8").startswith("<?xml")
    lines = "".join(out.split())  # long names of files are broken
    for file in files:
        assert f"theplanisin{file}" in lines
    assert "Alpha" in out


def test_with_json_and_a_saved_plan(run: Run, small: Path, tmp_path: Path) -> None:
    """With --json nothing but JSON is printed; a saved plan gives the same export."""
    first, second, saved = (tmp_path / name for name in ("one.csv", "two.csv", "plan.json"))
    code, out, _ = run("plan", small, "--json", "--export", first, "--save-policy", saved)
    assert code == 0
    assert one_json(out)["problem"] == "small"
    assert run("plan", small, "--policy", saved, "--export", second).code == 0
    assert first.read_bytes() == second.read_bytes()


def test_files_are_overwritten_only_by_force(run: Run, small: Path, tmp_path: Path) -> None:
    """A file that exists stays as it is, unless --force is given."""
    path = tmp_path / "plan.csv"
    path.write_text("mine")
    code, out, err = run("plan", small, "--export", path)
    assert (code, out) == (2, "")
    assert "add --force to overwrite it" in err
    assert path.read_text() == "mine"
    assert run("plan", small, "--export", path, "--force").code == 0
    assert path.read_text(encoding="utf-8-sig") != "mine"


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (["plan.doc"], "found the ending '.doc'"),
        (["plan"], "found the ending ''"),
        (["plan.ics"], "iCalendar needs dates; give the first day of step 0 (--start-date"),
        (["nowhere/plan.csv"], "does not exist"),
        (["plan.csv", "plan.csv"], "is named twice"),
        (["-"], "cannot be written to the standard output"),
    ],
)
def test_errors_come_before_the_search(
    run: Run, small: Path, tmp_path: Path, names: list[str], said: str
) -> None:
    """What cannot be exported is an error at once: nothing is solved, printed or written."""
    options = [
        part for name in names for part in ("--export", name if name == "-" else tmp_path / name)
    ]
    with mock.patch("coreplan.cli.plan.solve_problem", side_effect=AssertionError):
        code, out, err = run("plan", small, *options)
    assert (code, out) == (2, "")
    assert "".join(said.split()) in "".join(err.split())
    assert [each.name for each in tmp_path.iterdir()] == [small.name]


def test_only_plans_of_works(run: Run, tmp_path: Path) -> None:
    """Plans of other domains cannot be exported; the message names what can save them."""
    robots = cli.example_path("two_robots.yaml")
    code, out, err = run("plan", robots, "--export", tmp_path / "plan.csv")
    assert (code, out) == (2, "")
    assert "--save-policy" in err


def test_a_failing_export_does_not_stop_the_others(run: Run, small: Path, tmp_path: Path) -> None:
    """If one file cannot be made, the others and the plan still are; the exit code is 2."""
    made = tmp_path / "plan.csv"
    far = ["--start-date", "9999-11-20", "--step", "day"]
    with mock.patch(
        "coreplan.domains.maintenance.exports.plan_icalendar",
        side_effect=cli.CoreplanError("no calendar today"),
    ):
        files = ["--export", tmp_path / "plan.ics", "--export", made]
        code, out, err = run("plan", small, *far, *files)
    assert code == 2
    assert "no calendar today" in err
    assert made.exists()
    assert "Alpha" in out
