"""Closed periods in a sheet of the workbook of works."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import pytest

from cli_runs import Run, one_json
from coreplan import Calendar, FormatError, read_works, speaking
from coreplan.domains.maintenance.formats.calendar import read_calendar
from coreplan.domains.maintenance.works.excel import write_workbook
from coreplan.domains.maintenance.works.template import HORIZON, START, write_templates
from coreplan.model.calendar import ClosedPeriod
from coreplan.support.language import LANGUAGES

pytestmark = pytest.mark.extras

MONDAY = datetime.date(2026, 3, 2)
ROWS = [
    ["contractor", "work", "duration", "cost"],
    ["Alpha", "a1", 2, 3],
    ["Beta", "b1", 1, 2],
]
HINDRANCE = [["work A", "work B", "cost"], ["Alpha/a1", "b1", 7.5]]
TITLES = ["period", "from", "up to and including", "closed for"]


def workbook(folder: Path, *rows: list[Any], sheet: str = "closed", titles: Any = TITLES) -> Path:
    """A workbook with these closed periods."""
    path = folder / "works.xlsx"
    write_workbook({"works": ROWS, "hindrance": HINDRANCE, sheet: [titles, *rows]}, path)
    return path


def closed(path: Path, **options: Any) -> tuple[ClosedPeriod, ...]:
    """The closed periods that are read."""
    made = read_works(path, **{"horizon": 8, "start_date": MONDAY, **options})
    assert made.calendar is not None
    return made.calendar.closed


def errors(path: Path, **options: Any) -> list[str]:
    """The mistakes, without the folder."""
    with pytest.raises(FormatError) as caught:
        closed(path, **options)
    return str(caught.value).replace(f"{path.parent}/", "").splitlines()


def test_days_and_weeks(tmp_path: Path) -> None:
    """Days are cells or texts, weeks are whole; an empty last day is the first one."""
    day = datetime.date
    path = workbook(
        tmp_path,
        ["Easter", datetime.datetime(2026, 4, 3), day(2026, 4, 6), "work"],
        ["fair", "wk 16", None, "start"],
        [None, "20-4-2026", "2026-W18", None],
    )
    assert closed(path) == (
        ClosedPeriod("Easter", day(2026, 4, 3), day(2026, 4, 6)),
        ClosedPeriod("fair", day(2026, 4, 13), day(2026, 4, 19), "start"),
        ClosedPeriod("", day(2026, 4, 20), day(2026, 5, 3)),
    )


@pytest.mark.parametrize(
    ("sheet", "titles", "no"),
    [
        ("Gesloten perioden", ["vakantie", "van", "t/m", "gesloten voor"], "geen begin"),
        ("Sperrzeiten", ["Zeitraum", "von", "bis", "gesperrt für"], "Beginn"),
    ],
)
def test_other_languages(tmp_path: Path, sheet: str, titles: list[str], no: str) -> None:
    """Names of sheets, titles and words are also Dutch or German."""
    path = workbook(tmp_path, ["x", "6-4-2026", "13-4-2026", no], sheet=sheet, titles=titles)
    [period] = closed(path)
    assert (period.first, period.last) == (datetime.date(2026, 4, 6), datetime.date(2026, 4, 13))
    assert period.no == "start"


def test_a_sheet_of_another_name(tmp_path: Path) -> None:
    """Other sheets are read only if they are asked for: many lists have first and last days."""
    path = workbook(tmp_path, ["x", "2026-04-06", None, None], sheet="staff holidays")
    assert closed(path) == ()
    assert len(closed(path, closed_sheet="staff holidays")) == 1
    assert any("no sheet 'closures'" in line for line in errors(path, closed_sheet="closures"))


def test_mistakes_are_placed(tmp_path: Path) -> None:
    """Every mistake has its row and column, and the dates of steps must be known."""
    path = workbook(
        tmp_path,
        ["a", None, "2026-04-06", "work"],
        ["b", "2026-04-06", "2026-04-01", "work"],
        ["c", "2026-04-06", 12.5, "work"],
        ["d", "2026-04-06", None, "weekend"],
    )
    found = errors(path)
    places = ["row 2, column B", "row 3, column C", "row 4, column C", "row 5, column D"]
    assert [line.split(" (")[0].split("'closed', ")[1] for line in found] == places
    assert "before the first day" in found[1]
    assert "expected 'work'" in found[3]
    assert "--start-date" in errors(workbook(tmp_path, ["a", "2026-04-06"]), start_date=None)[0]
    missing = errors(workbook(tmp_path, ["a", "2026-04-06"], titles=["period", "until"]))
    assert "the column 'from' is missing" in missing[0]


def test_they_are_added_to_those_of_the_calendar(tmp_path: Path) -> None:
    """A calendar keeps its own periods; the same period counts once."""
    own = ClosedPeriod("Easter", datetime.date(2026, 4, 3), datetime.date(2026, 4, 6))
    path = workbook(
        tmp_path, ["Easter", "2026-04-03", "2026-04-06"], ["fair", "2026-04-20", None, "start"]
    )
    made = closed(path, start_date=None, calendar=Calendar(MONDAY, closed=(own,)))
    assert [each.name for each in made] == ["Easter", "fair"]


def test_commands_respect_them(run: Run, tmp_path: Path) -> None:
    """`plan` keeps works out of the closed weeks of the list, and `import` writes them."""
    # The first two weeks are closed, the third one for starts.
    path = workbook(
        tmp_path, ["holiday", "2026-03-02", "2026-03-15"], ["fair", "2026-03-16", None, "start"]
    )
    asked = ("--horizon", "8", "--must-complete", "--start-date", "2026-03-02")
    shown = one_json(run("plan", path, *asked, "--json").out)
    assert min(work["first_start"] for work in shown["works"]) == 3
    assert len(shown["calendar"]["closed"]) == 2
    problem = tmp_path / "problem.yaml"
    code, _, err = run("import", path, *asked, "-o", problem, "--closed", "2026-04-20")
    assert (code, err) == (0, "")
    calendar = read_calendar(tmp_path / "problem.calendar.yaml")
    assert [each.name for each in calendar.closed] == ["holiday", "fair", ""]
    imported = one_json(run("plan", problem, "--json").out)
    assert imported["value"] == shown["value"]


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_template_has_a_sheet(tmp_path: Path, language: str) -> None:
    """The workbook with dates has closed periods, in every language, and can be planned."""
    with speaking(language):
        write_templates(tmp_path, excel=True)
    made = read_works(
        tmp_path / "works_with_dates.xlsx", horizon=HORIZON, must_complete=True, start_date=START
    )
    assert made.calendar is not None
    [period] = made.calendar.closed
    assert period.no == "start"
    assert made.schedule()
