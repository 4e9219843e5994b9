"""Exports to Excel: kinds of cells, formats, sheets for contractors, and hostile names."""

from __future__ import annotations

import datetime
import importlib
import io
import zipfile
from pathlib import Path
from typing import Any

import pytest

from coreplan import Policy, read_problem, read_works, solve
from coreplan.cli import example_path
from coreplan.domains.maintenance import export_plan
from coreplan.domains.maintenance.exports.content import exported_plan
from coreplan.domains.maintenance.exports.workbook import plan_workbook
from coreplan.domains.maintenance.works.columns import HINDRANCE, WORKS, recognise
from coreplan.domains.maintenance.works.excel import write_workbook
from coreplan.domains.maintenance.works.template import write_templates
from coreplan.model.calendar import Calendar
from coreplan.support.language import say, speaking
from exported import HOSTILE, MONDAY, WEEKS, hostile_plan, later_plan, small_plan

pytestmark = pytest.mark.extras


def book(policy: Policy, calendar: Calendar | None = None, **more: Any) -> Any:
    """The workbook of a plan."""
    content = plan_workbook(exported_plan(policy, calendar, **more), "plan.xlsx")
    return importlib.import_module("openpyxl").load_workbook(io.BytesIO(content))


def rows(sheet: Any) -> list[dict[str, Any]]:
    """The rows of a sheet, by title, as cells."""
    titles, *others = sheet.iter_rows()
    return [{title.value: cell for title, cell in zip(titles, row, strict=True)} for row in others]


def test_dates_are_dates_and_numbers_are_numbers() -> None:
    """Dates, chances and amounts have types and formats of their own, so that Excel can sort."""
    policy = small_plan()
    course = {work.task: work for work in policy.schedule().works}
    for row in rows(book(policy, WEEKS)["works"]):
        work = course[row["work"].value]
        assert row["planned start"].value.date() == WEEKS.first_day(work.start)
        assert row["planned end"].value.date() == WEEKS.last_day(work.end - 1)
        assert row["planned start"].number_format == "d mmm yyyy"
        assert row["expected cost"].number_format == "#,##0.00"
        assert isinstance(row["chance of planned start"].value, int | float)
        assert row["chance of planned start"].number_format == "0 %"
        assert row["duration (weeks)"].data_type == "n"
    for row in rows(book(policy)["works"]):
        assert row["planned start"].value == course[row["work"].value].start


def test_small_chances_do_not_look_like_none() -> None:
    """A chance below 1 % or above 99 % is shown with decimals."""
    problem = read_problem(example_path("two_works.yaml")).to_dict()
    problem["agents"][0]["tasks"][0]["delay"]["probability"] = 0.004
    policy = solve(read_problem_of(problem)).policy
    assert policy is not None
    chances = [row["delay chance"] for row in rows(book(policy)["works"])]
    assert [cell.number_format for cell in chances if cell.value] == ["0.0### %"]


def read_problem_of(raw: dict[str, Any]) -> Any:
    """A problem from its form in files."""
    return importlib.import_module("helpers").from_file(raw)


def test_sheets_are_ready_to_read_and_print() -> None:
    """Headers are bold and stay in view, rows can be filtered, pages are landscape, one wide."""
    made = book(small_plan(), WEEKS)
    assert made.sheetnames == ["works", "Alpha", "Beta", "hindrance", "plan"]
    for sheet in made:
        assert sheet.page_setup.orientation == "landscape"
        assert (sheet.page_setup.fitToWidth, sheet.page_setup.fitToHeight) == (1, 0)
        assert sheet.sheet_properties.pageSetUpPr.fitToPage
        if sheet.title == "plan":
            continue
        assert all(cell.font.bold for cell in sheet[1])
        assert sheet.freeze_panes[1:] == "2"
        assert sheet.auto_filter.ref.startswith("A1:")
        assert all(8 < each.width < 50 for each in sheet.column_dimensions.values())
    assert made["works"].freeze_panes == "C2"
    # The print has the plan; the rest of the list is what the plan was made from.
    assert made["works"].print_area == "'works'!$A$1:$J$4"


def test_a_sheet_for_each_contractor() -> None:
    """A contractor's works come in order of their starts, with the sum of their costs."""
    policy = solve(read_problem(example_path("ring_road.yaml"))).policy
    assert policy is not None
    made = book(policy, Calendar(MONDAY, "week", source="/home/me/works.calendar.yaml"))
    plan = exported_plan(policy)
    assert plan.money is not None
    total = 0
    for contractor, cost in zip(plan.problem.contractors, plan.money.works_of, strict=True):
        *works, last = rows(made[contractor.name])
        starts = [row["planned start"].value for row in works]
        assert starts == sorted(starts)
        assert {row["work"].value for row in works} == {task.name for task in contractor.tasks}
        assert (last["work"].value, last["expected cost"].value) == ("total", cost)
        total += round(100 * sum(row["expected cost"].value for row in works))
    said = {row[0].value: row[1].value for row in made["plan"].iter_rows()}
    assert round(100 * said["expected cost of works"]) == total
    assert said["expected cost in all"] == pytest.approx(-policy.evaluate(), abs=0.005)
    assert said["plan of"] == "ring road"
    assert said["time"] == "steps are weeks; the first begins on 2 Mar 2026"  # not its file


def test_a_plan_from_a_later_step_says_what_is_left_out() -> None:
    """The state of works has a column, and the totals say that money spent before is left out."""
    made = book(later_plan(), WEEKS)
    assert [row["status"].value for row in rows(made["works"])] == [
        "running",
        "not started",
        "done",
    ]
    lines = [row[1].value for row in made["plan"].iter_rows()]
    assert "Money spent before this plan begins is not included." in lines


@pytest.mark.parametrize("calendar", [None, WEEKS])
def test_an_exported_workbook_can_be_read_again(tmp_path: Path, calendar: Calendar | None) -> None:
    """Its lists of works and hindrance, without the plan's columns, give the same problem."""
    policy = small_plan()
    made = book(policy, calendar)
    lists = {}
    for name, columns in (("works", WORKS), ("hindrance", HINDRANCE)):
        table = rows(made[name])
        plan = ("planned", "chance of", "earliest start with", "latest", "expected cost")
        known = [
            title
            for title in table[0]
            if not title.startswith(plan) or title in ("latest start", "earliest start")
        ]
        assert all(recognise(title, columns) for title in known)
        lists[name] = [known, *([row[title].value for title in known] for row in table)]
    path = tmp_path / "again.xlsx"
    write_workbook(lists, path)
    dates = {} if calendar is None else {"start_date": MONDAY, "step": "week"}
    again = read_works(path, horizon=10, **dates).problem  # type: ignore[arg-type]
    problem = exported_plan(policy).problem
    assert (again.contractors, again.network) == (problem.contractors, problem.network)


def test_hostile_names_are_texts() -> None:
    """No cell of any sheet is a formula or an error, whatever the names are."""
    more = {"works/works": {"place": "=1+1", "=day": datetime.date(2026, 3, 2)}}
    content = plan_workbook(exported_plan(hostile_plan(), WEEKS, more), "plan.xlsx")
    made = importlib.import_module("openpyxl").load_workbook(io.BytesIO(content))
    texts = 0
    for sheet in made:
        for row in sheet.iter_rows():
            for cell in row:
                assert cell.data_type in ("s", "n", "d")
                if cell.data_type == "s":
                    texts += 1
                    assert cell.value.lstrip()[:1] not in tuple("=+-@")
    assert texts > 5 * len(HOSTILE)
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        for name in archive.namelist():
            if name.startswith("xl/worksheets/"):
                assert b"<f>" not in archive.read(name)


def test_names_of_sheets() -> None:
    """Each contractor has a sheet with a valid name; the sheets of lists keep theirs."""
    made = book(hostile_plan(), WEEKS)
    names = made.sheetnames
    assert len(names) == len(HOSTILE) + 3
    assert len({name.casefold() for name in names}) == len(names)
    for name in names:
        assert 0 < len(name.encode("utf-16-le")) <= 2 * 31
        assert not set(name) & set("[]:*?/\\")
        assert not name.startswith("'")
        assert not name.endswith("'")
    assert {"works", "works (2)", "hindrance", "Hindrance (2)", "History (2)"} <= set(names)
    assert rows(made["works"])[0]["contractor"].value == f"'{HOSTILE[0]}".replace("/", "|")


def test_to_a_file(tmp_path: Path) -> None:
    """`export_plan` writes the workbook as a whole."""
    path = tmp_path / "PLAN.XLSX"
    export_plan(small_plan(), path)
    assert importlib.import_module("openpyxl").load_workbook(path).sheetnames[0] == "works"


def strings(policy: Policy) -> set[str]:
    """All texts in a workbook, with the names of sheets."""
    made = book(policy, WEEKS, details={"Alpha/a1": {"budget": "B1"}})
    cells = {cell.value for sheet in made for row in sheet.iter_rows() for cell in row}
    return {text for text in cells if isinstance(text, str)} | set(made.sheetnames)


@pytest.mark.parametrize("language", ["nl", "de"])
def test_workbooks_speak_the_language(language: str) -> None:
    """Titles, sheets and sentences are Dutch or German; only names are as in English."""
    for policy in (small_plan(), later_plan()):
        english = strings(policy)
        with speaking(language, "EUR"):
            translated = strings(policy)
        names = {"Alpha", "Beta", "a1", "a2", "b1", "Alpha/a1", "Beta/b1", "small plan"}
        names |= {"budget", "B1", "1 2 3 4 5 6 7 8 9.25 10"}
        same = {text.casefold() for text in english & translated}
        assert same <= {name.casefold() for name in names} | {"status", "plan"}
        assert len(translated) >= len(english) - 1


@pytest.mark.parametrize(
    ("language", "currency", "amount", "chance"),
    [
        ("en", None, "#,##0.00", "0 %"),
        ("en", "EUR", "[$€]#,##0.00", "0 %"),
        ("en", "CHF", "[$CHF] #,##0.00;[$CHF] -#,##0.00", "0 %"),
        ("nl", "EUR", "[$€] #,##0.00;[$€] -#,##0.00", "0%"),
        ("de", "EUR", "#,##0.00 [$€]", "0 %"),
        ("de", None, "#,##0.00", "0 %"),
    ],
)
def test_amounts_have_the_currency(
    language: str, currency: str | None, amount: str, chance: str
) -> None:
    """Formats of numbers have the currency where the language writes it; values stay numbers."""
    with speaking(language, currency):
        works, *contractors, _hindrance, totals = book(small_plan(), WEEKS)
    formats = {
        cell.number_format
        for sheet in (works, *contractors)
        for row in sheet.iter_rows(min_row=2)
        for cell in row
        if isinstance(cell.value, int | float)
    }
    assert formats == {"General", amount, chance}
    assert {row[1].number_format for row in totals if isinstance(row[1].value, float)} == {amount}


@pytest.mark.parametrize("language", ["nl", "de"])
@pytest.mark.parametrize("other", ["en", "nl"])
def test_a_translated_workbook_can_be_read_again(language: str, other: str, tmp_path: Path) -> None:
    """The list in an export is a works list in its language; exports of it add no columns."""
    policy = small_plan()
    path = tmp_path / "plan.xlsx"
    with speaking(language, "EUR"):
        export_plan(policy, path, calendar=WEEKS)
    with speaking(other):
        again = read_works(path, calendar=WEEKS, horizon=10)
        assert again.problem.contractors == policy.problem.contractors
        assert again.problem.network == policy.problem.network
        name = say("works", context="sheet")
        titles = [cell.value for cell in book(policy, WEEKS)[name][1]]
        result = solve(again.problem)
        assert result.policy is not None
        assert [cell.value for cell in book(result.policy, WEEKS)[name][1]] == titles


@pytest.mark.parametrize("language", ["nl", "de"])
def test_translated_templates_as_workbooks(language: str, tmp_path: Path) -> None:
    """The sheets of a template are found by their names in every language."""
    with speaking(language):
        works, dated, _ = write_templates(tmp_path, excel=True)
    made = read_works(works, horizon=12)
    assert len(made.problem.network) == 2
    assert not made.notes
    assert read_works(dated, horizon=12, start_date=MONDAY).planned == made.planned
