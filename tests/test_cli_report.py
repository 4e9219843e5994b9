"""`coreplan report`: files that are written, and those that are left alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli_runs import Run, one_json, shell
from clocks import ticking
from coreplan import cli
from helpers import random_mpp
from reports import Page


def test_report(run: Run, small: Path, tmp_path: Path) -> None:
    """The page is written, and the terminal says what stands first in it and where it is."""
    page = tmp_path / "plan.html"
    code, out, err = run("report", small, "-o", page)
    assert (code, err) == (0, "")
    assert out.splitlines()[0].startswith("small: 2 contractors, 3 works")
    assert "The plan is expected to earn 33.10 in all." in out.splitlines()
    assert "Proven to be the best plan: no plan earns more." in out.splitlines()
    assert out.splitlines()[-1] == f"the report is in {page}"
    data = Page(page.read_text(encoding="utf-8")).data
    assert (data["title"], data["dates"]) == ("small", None)


def test_report_as_json(run: Run, small: Path, tmp_path: Path) -> None:
    """With --json exactly one object is printed: where the report is and what it says."""
    page = tmp_path / "plan.html"
    code, out, err = run("report", small, "-o", page, "--json")
    assert (code, err) == (0, "")
    said = one_json(out)
    assert said["report"] == str(page)
    assert said["bytes"] == page.stat().st_size
    assert said["value"] == pytest.approx(33.1)
    assert said["upper_bound"] == pytest.approx(33.1)
    assert (said["optimal"], said["complete"]) == (True, True)
    assert said["coordination"] == pytest.approx(15)


def test_report_with_dates(run: Run, small: Path, tmp_path: Path) -> None:
    """Dates come from the options, else from the calendar beside the problem, which is said."""
    page = tmp_path / "plan.html"
    assert run("report", small, "-o", page, "--start-date", "2026-03-02", "--step", "day").code == 0
    data = Page(page.read_text(encoding="utf-8")).data
    assert (data["unit"], data["dates"]["first"][1]) == ("day", "3 Mar 2026")
    beside = small.with_name("small.calendar.yaml")
    beside.write_text("format: calendar/1\nstart: 2026-05-04\n")
    code, out, _ = run("report", small, "-o", page, "--force", "--title", "Summer")
    assert (code, f"dates from {beside}" in out) == (0, True)
    data = Page(page.read_text(encoding="utf-8")).data
    assert (data["title"], data["dates"]["first"][0]) == ("Summer", "4 May 2026")
    beside.write_text("format: calendar/1\nstart: tomorrow\n")
    code, _, err = run("report", small, "-o", page, "--force")
    assert (code, f"{beside}:2:8" in err) == (2, True)


def test_report_of_a_policy(run: Run, small: Path, tmp_path: Path) -> None:
    """A saved plan is reported, with or without a search for a better one."""
    plan, page = tmp_path / "plan.json", tmp_path / "plan.html"
    assert run("solve", small, "--save-policy", plan).code == 0
    code, out, _ = run("report", small, "-o", page, "--policy", plan)
    assert (code, "Proven to be the best plan: no plan earns more." in out) == (0, True)
    code, out, _ = run("report", small, "-o", page, "--policy", plan, "--no-bound", "--force")
    assert (code, "has not been computed" in out) == (0, True)


def test_what_is_there_stays(run: Run, small: Path, tmp_path: Path) -> None:
    """A file is overwritten only with --force, and never by a report that fails."""
    page = tmp_path / "plan.html"
    page.write_text("precious")
    code, out, err = run("report", small, "-o", page)
    assert (code, out) == (2, "")
    assert "already exists; add --force to overwrite it" in err
    small.write_text("format: mpp/1\n")
    assert run("report", small, "-o", page, "--force").code == 2
    assert page.read_text() == "precious"
    assert [each.name for each in tmp_path.iterdir() if each.name.startswith(".")] == []


def test_what_cannot_be_reported(run: Run, small: Path, tmp_path: Path) -> None:
    """Folders, missing files and a report over its own source are errors: code 2."""
    page = tmp_path / "plan.html"
    for arguments, said in (
        ((small, "-o", tmp_path), "is a folder"),
        ((small, "-o", tmp_path / "none" / "plan.html"), "does not exist"),
        ((small, "-o", small, "--force"), "would overwrite its own input"),
        ((small, "-o", "-"), "name a file"),
        ((small,), "Missing option"),
        ((tmp_path / "missing.yaml", "-o", page), "No such file"),
        (("-", "-o", page, "--policy", "-"), "only one of"),
        ((small, "-o", page, "--step", "day"), "--step needs --start-date"),
        ((small, "-o", page, "--start-date", "3/4/2026"), "could be 3 Apr 2026 or 4 Mar 2026"),
        ((small, "-o", page, "--start-date", "9999-12-20"), "after the year 9999"),
    ):
        code, out, err = run("report", *arguments)
        assert (code, out) == (2, ""), arguments
        assert said in err
    assert not page.exists()


def test_plans_of_robots(run: Run, tmp_path: Path) -> None:
    """Plans of any kind have a report, with what is not about works only."""
    page = tmp_path / "robots.html"
    code, out, err = run("report", cli.example_path("two_robots.yaml"), "-o", page)
    assert (code, err) == (0, "")
    assert "The plan is worth 12.52." in out
    assert "r1 gets to s1" in page.read_text(encoding="utf-8")


def test_report_within_a_time_limit(run: Run, tmp_path: Path) -> None:
    """A plan that is not proven to be the best is reported with its gap."""
    problem = tmp_path / "hard.json"
    problem.write_text(json.dumps(random_mpp(6, 4, 14)))
    page = tmp_path / "plan.html"
    with ticking():
        code, out, err = run("report", problem, "-o", page, "--time-limit", 1, "--json")
    assert (code, err) == (0, "")
    said = one_json(out)
    assert said["upper_bound"] >= said["value"]
    summary = Page(page.read_text(encoding="utf-8")).data["summary"]
    assert summary["proven"] == said["optimal"]
    assert ("Not proven" in summary["proof"]) == (not said["optimal"])


def test_help_shows_examples() -> None:
    """The help has examples, and names all options."""
    done = shell("report", "--help")
    assert done.returncode == 0
    assert "coreplan report works.yaml -o plan.html" in done.stdout
    for option in ("--policy", "--time-limit", "--start-date", "--step", "--title", "--force"):
        assert option in done.stdout
