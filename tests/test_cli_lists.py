"""Works lists given to the commands that plan: imported on the fly, with the same answers."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Any

import pytest

from cli_runs import Run, one_json
from cli_runs import run as run  # the fixture

TITLES = "contractor,work,duration,cost,planned start,status,weeks left,budget code"
WORKS = f"""{TITLES}
Alpha,a1,2,3,2026-03-02,,,X1
Alpha,a2,2,1,2026-03-16,,,X2
Beta,b1,3,4,2026-03-02,,,
"""
HINDRANCE = "work A,work B,cost\na1,b1,9\n"
OPTIONS = ["--horizon", 8, "--start-date", "2026-03-02", "--must-complete"]


@pytest.fixture
def works(tmp_path: Path) -> Path:
    """A works list with planned starts."""
    path = tmp_path / "works.csv"
    path.write_text(WORKS)
    return path


@pytest.fixture
def hindrance(tmp_path: Path) -> Path:
    """A list of hindrance."""
    path = tmp_path / "hindrance.csv"
    path.write_text(HINDRANCE)
    return path


def started(works: Path) -> list[Any]:
    """Change the list to one in which works have started, and give the options for its day."""
    text = WORKS.replace("03-02,,,X1", "03-02,done,0,X1").replace("02,,,\n", "02,running,2,\n")
    works.write_text(text)
    return [*OPTIONS, "--today", "2026-03-16"]


@pytest.mark.parametrize("command", ["plan", "solve", "simulate", "sensitivity", "info", "explain"])
def test_a_list_is_imported(
    run: Run, works: Path, hindrance: Path, tmp_path: Path, command: str
) -> None:
    """A works list gives the same answer as the problem that `coreplan import` makes of it."""
    problem = tmp_path / "works.yaml"
    assert run("import", works, hindrance, *OPTIONS, "-o", problem).code == 0
    more = ["--runs", 100] if command == "simulate" else []
    code, direct, notes = run(command, works, "--hindrance", hindrance, *OPTIONS, *more, "--json")
    assert code == 0
    assert "note: " in notes
    assert "'budget code' is unknown" in notes
    imported = run(command, problem, *more, "--json")
    assert imported.code == 0

    def steady(text: str) -> Any:
        said = one_json(text)
        for part in (said, said.get("result") or {}):
            for key in ("seconds", "statistics"):
                part.pop(key, None)
        return said

    assert steady(direct) == steady(imported.out)


def test_a_list_without_a_horizon(run: Run, works: Path) -> None:
    """What an import needs and is not given is said with its option."""
    code, out, err = run("plan", works, "--start-date", "2026-03-02")
    assert (code, out) == (2, "")
    assert f"error: {works}: the number of steps is not known; give it (--horizon)" in err


def test_mistakes_of_a_list(run: Run, works: Path) -> None:
    """Mistakes have rows and columns in every command, also as JSON."""
    works.write_text(WORKS.replace("a1,2,3", "a1,two,3"))
    place = f"{works}, row 2, column C (duration)"
    code, out, err = run("plan", works, *OPTIONS)
    assert (code, out) == (2, "")
    assert f"error: {place}: found 'two'" in err
    code, out, _ = run("check", works, *OPTIONS, "--json")
    assert code == 2
    assert one_json(out)[0]["problems"][0]["place"] == place


@pytest.mark.parametrize(
    "options",
    [
        ["--horizon", 8],
        ["--must-complete"],
        ["--sheet", "x"],
        ["--hindrance", "x.csv"],
        ["--today", "2026-03-16"],
    ],
)
def test_problem_files_need_no_options(
    run: Run, works: Path, tmp_path: Path, options: list[Any]
) -> None:
    """Options for works lists are refused with a problem file, which they would not change."""
    problem = tmp_path / "works.yaml"
    assert run("import", works, *OPTIONS, "-o", problem).code == 0
    code, out, err = run("plan", problem, *options)
    assert (code, out) == (2, "")
    assert f"{options[0]}: only for works lists, and" in " ".join(err.split())


def test_a_list_from_the_standard_input(
    run: Run, works: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A list is recognised by its titles; a problem still goes through a pipe as before."""
    problem = tmp_path / "works.yaml"
    assert run("import", works, *OPTIONS, "-o", problem).code == 0
    values = set()
    for content, options in ((works.read_bytes(), OPTIONS), (problem.read_bytes(), [])):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
        code, out, _ = run("solve", "-", *options, "--json")
        assert code == 0
        values.add(one_json(out)["value"])
    assert len(values) == 1


def test_going_on_from_a_day(run: Run, works: Path, tmp_path: Path) -> None:
    """--today plans on from the progress in the list, in every command that shows a plan."""
    options = started(works)
    code, out, err = run("plan", works, *options, "--json")
    assert code == 0
    assert "going on from 16 Mar 2026: 1 of 3 works done, 1 running" in err
    said = one_json(out)
    # a2 costs 2, and b1 has two steps of 4 left.
    assert (said["stage"], said["value"]) == (2, -10)
    page = tmp_path / "plan.html"
    code, out, _ = run("report", works, *options, "-o", page, "--json")
    assert (code, one_json(out)["value"]) == (0, -10)
    code, out, _ = run("simulate", works, *options, "--runs", 10, "--json")
    assert (code, one_json(out)["value"]["mean"]) == (0, -10)
    code, out, _ = run("solve", works, *options, "--json")
    assert (code, one_json(out)["value"]) == (0, -10)
    code, out, _ = run("explain", works, *options, "--json")
    assert (code, one_json(out)["stage"]) == (0, 2)
    assert run("check", works, *options).code == 0


def test_works_have_started_and_no_day_is_given(run: Run, works: Path) -> None:
    """Progress is not ignored in silence: it is an error where a day can be given, else a note."""
    options = started(works)[:-2]
    for command in ("plan", "solve", "evaluate", "simulate", "explain"):
        code, out, err = run(command, works, *options)
        assert (code, out) == (2, "")
        assert f"{works}, row 2: the list says that Alpha/a1 has started; give the day" in err
    for command in ("info", "sensitivity", "check"):
        code, _, err = run(command, works, *options)
        assert code == 0
        assert "all works are planned from the start" in err


def test_the_stage_comes_from_the_list(run: Run, works: Path, tmp_path: Path) -> None:
    """--today and --state would give two situations; both together are refused."""
    state = tmp_path / "now.yaml"
    state.write_text("Alpha: {}\nBeta: {}\n")
    code, _, err = run("plan", works, *started(works), "--stage", 1, "--state", state)
    assert code == 2
    assert "leave out --stage and --state" in " ".join(err.split())


def test_planned_starts_are_evaluated(run: Run, works: Path, hindrance: Path) -> None:
    """`evaluate LIST` values the column planned start, from the beginning or from a day on."""
    lists = [works, "--hindrance", hindrance]
    code, out, _ = run("evaluate", *lists, *OPTIONS, "--json")
    assert code == 0
    # Works cost 6 + 2 + 12; a1 and b1 run together for two weeks.
    assert one_json(out)["value"] == -38
    code, out, _ = run("evaluate", *lists, *started(works), "--json")
    assert (code, one_json(out)["value"]) == (0, -10)
    works.write_text(WORKS.replace("2026-03-16,,,X2", ",,,X2"))
    code, out, err = run("evaluate", *lists, *OPTIONS)
    assert (code, out) == (2, "")
    assert f"{works}, row 3, column E (planned start): the cell is empty; give the planned" in err


def test_a_day_is_checked(run: Run, works: Path) -> None:
    """A day that is no date, and one outside the plan, are errors."""
    assert run("plan", works, *OPTIONS, "--today", "soon").code == 2
    code, _, err = run("plan", works, *OPTIONS, "--today", "2027-01-01")
    assert code == 2
    assert "is after the plan ends on 26 Apr 2026" in err
    code, out, _ = run("plan", works, *OPTIONS, "--today", 2, "--json")
    assert (code, one_json(out)["stage"]) == (0, 2)


def test_what_a_problem_file_cannot_hold(run: Run, works: Path, tmp_path: Path) -> None:
    """`import` says which parts of a list stay there, and which commands show them."""
    problem = tmp_path / "p.yaml"
    code, out, _ = run("import", works, *OPTIONS, "-o", problem, "--json")
    assert code == 0
    notes = one_json(out)["notes"]
    assert f"{problem} does not hold the columns for people, 'budget code'; coreplan report " in (
        " ".join(notes)
    )
    assert f"coreplan evaluate {works} values the planned starts" in " ".join(notes)
