"""Works lists with written dates, closed periods, a day to go on from, and an earlier plan."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from cli_runs import Run, one_json
from cli_runs import run as run  # the fixture

TITLES = (
    "contractor",
    "work",
    "duration",
    "delay chance",
    "delay duration",
    "cost",
    "latest start",
    "planned start",
    "actual start",
    "status",
    "budget code",
)
AT_FIRST = (
    ("Alpha", "a1", 2, 0.3, 1, 3, "31-05-2026", "06-04-2026", None, None, "B1"),
    ("Alpha", "a2", 3, None, None, 4, None, "A2", None, None, "B2"),
    ("Beta", "b1", 2, None, None, 5, None, "13-04-2026", None, None, "B3"),
    ("Beta", "b2", 1, 0.2, 2, 2, None, "06-04-2026", None, None, "B4"),
)
BEGUN = {"a1": ("06-04-2026", "done"), "b1": ("wk 16", "running"), "b2": ("06-04-2026", "done")}
CALENDAR = """format: calendar/1
start: 2026-04-06
step: week
closed:
- name: holiday
  from: 2026-05-04
  to: 2026-05-10
"""


def write_list(path: Path, begun: dict[str, tuple[str, str]], a2: str = "11-05-2026") -> None:
    """Write the list, with these actual starts and states, and the planned start of a2."""
    rows: list[tuple[Any, ...]] = [TITLES]
    planned = [a2 if row[7] == "A2" else row[7] for row in AT_FIRST]
    rows += [
        (*row[:7], start, *begun.get(row[1], (None, None)), row[10])
        for row, start in zip(AT_FIRST, planned, strict=True)
    ]
    if path.suffix == ".csv":
        text = [";".join("" if cell is None else str(cell) for cell in row) for row in rows]
        path.write_text("\n".join(text))
        return
    book = import_module("openpyxl").Workbook()
    for row in rows:
        book.active.append(row)
    book.save(path)


@pytest.fixture(params=["list.csv", pytest.param("list.xlsx", marks=pytest.mark.extras)])
def planned(run: Run, tmp_path: Path, request: pytest.FixtureRequest) -> tuple[Path, Path]:
    """A list of works that are running, and the plan that was made before they started."""
    works, plan = tmp_path / request.param, tmp_path / "plan.json"
    hindrance = tmp_path / "hindrance.csv"
    hindrance.write_text("work A;work B;cost\na2;b1;5\na2;b2;7\n")
    (tmp_path / "list.calendar.yaml").write_text(CALENDAR)
    write_list(works, {})
    saved = run("plan", works, *options(works), "--save-policy", plan)
    assert saved.code == 0, saved.err
    write_list(works, BEGUN)
    return works, plan


def options(works: Path) -> list[Any]:
    """The options of every command with this list."""
    return ["--hindrance", works.with_name("hindrance.csv"), "--horizon", 12, "--must-complete"]


def test_an_earlier_plan_goes_on_from_a_week(run: Run, planned: tuple[Path, Path]) -> None:
    """A saved plan goes on from a list whose day is a week, outside the closed period."""
    works, plan = planned
    more = [*options(works), "--today", "wk 17", "--policy", plan, "--json"]
    shown = run("plan", works, *more)
    assert shown.code == 0, shown.err
    said = one_json(shown.out)
    assert said["stage"] == 2
    valued = one_json(run("evaluate", works, *more).out)
    # a2 takes 3 weeks at 4, b1 one more week at 5; the holiday keeps them apart
    assert valued["value"] == pytest.approx(-17.0)
    assert valued["upper_bound"] == pytest.approx(-17.0)
    assert "dates are read with the day first (as '31-05-2026' shows)" in shown.err
    assert "going on from 20 Apr 2026: 2 of 4 works done, 1 running" in shown.err


def test_the_planned_starts_go_on_from_a_week(run: Run, planned: tuple[Path, Path]) -> None:
    """Without a plan file, the planned starts of the works that have not started are the plan."""
    works, _ = planned
    valued = run("evaluate", works, *options(works), "--today", "20 apr 2026", "--json")
    assert one_json(valued.out)["value"] == pytest.approx(-17.0)


def test_a_planned_start_in_a_closed_period(run: Run, planned: tuple[Path, Path]) -> None:
    """A planned start in a closed period is reported at its row."""
    works, _ = planned
    write_list(works, BEGUN, a2="04-05-2026")
    code, out, err = run("evaluate", works, *options(works), "--today", "wk 17")
    assert (code, out) == (2, "")
    assert "row 3" in err
    assert "holiday" in err


def test_a_plan_that_decided_otherwise(run: Run, planned: tuple[Path, Path]) -> None:
    """A plan that starts another work than the one that has just started is refused."""
    works, plan = planned
    write_list(works, {"b1": ("06-04-2026", "running"), "a1": ("06-04-2026", "running")})
    code, _, err = run("plan", works, *options(works), "--today", "wk 15", "--policy", plan)
    assert code == 2
    assert "this plan does not" in err
    assert "Beta" in err


def test_exports_have_the_columns_of_the_list(
    run: Run, planned: tuple[Path, Path], tmp_path: Path
) -> None:
    """An exported plan has the columns that people added to their list."""
    works, plan = planned
    export = tmp_path / "export.csv"
    more = ["--today", "wk 17", "--policy", plan, "--export", export]
    assert run("plan", works, *options(works), *more).code == 0
    titles, *rows = (line.split(",") for line in export.read_text("utf-8-sig").splitlines())
    column = titles.index("budget code")
    assert [row[column] for row in rows] == ["B1", "B2", "B3", "B4"]


def test_days_that_are_not_clear(run: Run, planned: tuple[Path, Path]) -> None:
    """An ambiguous day of the list is an error until --dates says what comes first."""
    works, _ = planned
    code, _, err = run("plan", works, *options(works), "--today", "04-05-2026")
    assert code == 2
    assert "could be 4 May 2026 or 5 Apr 2026" in err
    asked = ["--today", "04-05-2026", "--dates", "mdy"]
    assert "has the day first" in run("plan", works, *options(works), *asked).err


def test_periods_in_the_past_do_not_matter(run: Run, tmp_path: Path) -> None:
    """Works that are done leave room, even where all works together would not fit any more."""
    rows = [
        "contractor;work;duration;cost;actual start;status",
        "Alpha;a1;2;3;2026-04-06;done",
        "Alpha;a2;2;3;;",
    ]
    works = tmp_path / "works.csv"
    works.write_text("\n".join(rows))
    calendar = "format: calendar/1\nstart: 2026-04-06\nstep: week\nclosed:\n"
    (tmp_path / "works.calendar.yaml").write_text(
        f"{calendar}- from: 2026-04-13\n  to: 2026-04-26\n"
    )
    asked = ["plan", works, "--horizon", 6, "--must-complete", "--json"]
    code, out, err = run(*asked, "--today", "2026-04-27")
    assert code == 0, err
    assert one_json(out)["stage"] == 3
    # A period that is still to come counts: two of the three weeks that are left.
    (tmp_path / "works.calendar.yaml").write_text(
        f"{calendar}- from: 2026-05-04\n  to: 2026-05-17\n"
    )
    code, _, err = run(*asked, "--today", "2026-04-27")
    assert code == 2
    assert "Alpha cannot finish all its works" in err
