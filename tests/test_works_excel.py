"""Works lists in Excel workbooks: sheets, dates, formulas, merged cells, and damaged files."""

from __future__ import annotations

import datetime
import importlib
import zipfile
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from coreplan import CoreplanError, Delay, FormatError, read_works
from coreplan.domains.maintenance import WorksList
from coreplan.domains.maintenance.works.excel import write_workbook
from coreplan.domains.maintenance.works.template import HORIZON, START, write_templates

needs_excel = pytest.mark.extras

MONDAY = datetime.date(2026, 3, 2)
TITLES = [
    *("contractor", "work", "duration", "delay chance", "delay duration", "cost", "latest start")
]
ROWS = [TITLES, ["Alpha", "a1", 2, 0.3, 1, 3, 6], ["Beta", "b1", 3.0, None, None, "2,5", None]]
HINDRANCE = [["work A", "work B", "cost"], ["Alpha/a1", "b1", 7.5]]


def read(path: Path, **options: Any) -> WorksList:
    """Read a workbook, for eight steps."""
    return read_works(path, **{"horizon": 8, **options})


def errors(path: Path, **options: Any) -> list[str]:
    """What is said of a workbook, a line for each problem, without the folder."""
    with pytest.raises(FormatError) as caught:
        read(path, **options)
    return str(caught.value).replace(f"{path.parent}/", "").splitlines()


def changed(tmp_path: Path, change: Any, **sheets: Any) -> Path:
    """A workbook that was changed by a function of its sheet of works."""
    openpyxl = importlib.import_module("openpyxl")
    path = tmp_path / "works.xlsx"
    write_workbook({"works": ROWS, **sheets}, path)
    book = openpyxl.load_workbook(path)
    change(book["works"])
    book.save(path)
    return path


@needs_excel
def test_one_workbook_or_two(tmp_path: Path) -> None:
    """Both lists are sheets of one workbook, or the only sheets of two, or one is a CSV file."""
    both, one, two = (tmp_path / name for name in ("both.xlsx", "one.xlsx", "two.xlsx"))
    write_workbook({"Notes": [["x"]], "Hindrance": HINDRANCE, "Works": ROWS}, both)
    write_workbook({"Sheet1": ROWS}, one)
    write_workbook({"Tabelle1": HINDRANCE}, two)
    text = tmp_path / "h.csv"
    text.write_text("work A,work B,cost\nAlpha/a1,b1,7.5\n")
    problems = [
        read(both, name="x").problem,
        *(read_works(one, other, horizon=8, name="x").problem for other in (two, text)),
    ]
    assert problems[0] == problems[1] == problems[2]
    alpha, beta = problems[0].contractors
    assert alpha.tasks[0].delay == Delay(0.3, 1)
    assert alpha.tasks[0].window == (0, 6)
    assert (beta.tasks[0].duration, beta.tasks[0].cost) == (3, 2.5)
    assert len(problems[0].network) == 1
    assert read(one).problem.network == ()


@needs_excel
def test_dates_are_cells(tmp_path: Path) -> None:
    """Cells that are dates are dates, with or without a midnight."""
    rows = [list(row) for row in ROWS]
    rows[1][6] = datetime.date(2026, 3, 10)
    rows[2][6] = datetime.datetime(2026, 3, 23)
    path = tmp_path / "works.xlsx"
    write_workbook({"works": rows}, path)
    made = read(path, start_date=MONDAY)
    assert [c.tasks[0].window for c in made.problem.contractors] == [(0, 1), (0, 3)]
    [first, second] = errors(path)
    assert first.startswith("works.xlsx, sheet 'works', row 2, column G (latest start): found the")
    assert "the date 2026-03-10, but the first day of step 0 is not known" in first
    assert "row 3" in second


@needs_excel
def test_wrong_cells_are_named(tmp_path: Path) -> None:
    """Cells of the wrong kind name sheet, row and column."""

    def change(sheet: Any) -> None:
        sheet["B2"] = datetime.date(2026, 3, 10)
        sheet["C2"] = datetime.date(2026, 3, 10)
        sheet["C3"] = True
        sheet["D2"] = 30
        sheet["F3"] = "#REF!"
        sheet["F3"].data_type = "e"
        sheet["G2"] = datetime.datetime(2026, 3, 10, 12, 30)

    lines = errors(changed(tmp_path, change))
    places = [line.partition(":")[0].removeprefix("works.xlsx, sheet 'works', ") for line in lines]
    assert places == [
        "row 2, column B (work)",
        "row 2, column C (duration)",
        "row 2, column D (delay chance)",
        "row 2, column G (latest start)",
        "row 3, column C (duration)",
        "row 3, column F (cost)",
    ]
    assert "turn texts like 3-2 into dates" in lines[0]
    assert "found true" in lines[4]
    assert "found the error '#REF!'" in lines[5]


@needs_excel
def test_formulas_without_a_value(tmp_path: Path) -> None:
    """A formula that no program has computed yet is an error that says what to do."""

    def change(sheet: Any) -> None:
        sheet["F2"] = "=C2*3"

    [line] = errors(changed(tmp_path, change))
    assert "row 2, column F (cost): found the formula '=C2*3' without a saved value" in line


@needs_excel
def test_formulas_with_a_value(tmp_path: Path) -> None:
    """The value of a formula counts, as it was when the file was saved; an error is an error."""

    def change(sheet: Any) -> None:
        sheet["C2"], sheet["C3"] = "=1+3", "=1/0"

    path = changed(tmp_path, change)
    # openpyxl does not compute; put values into the file as a spreadsheet program does.
    with zipfile.ZipFile(path) as book:
        parts = {name: book.read(name) for name in book.namelist()}
    name = "xl/worksheets/sheet1.xml"
    sheet = parts[name].decode()
    for cell, value, kind in (("C2", "4", ""), ("C3", "#DIV/0!", ' t="e"')):
        formula = "1+3" if cell == "C2" else "1/0"
        before = f'<c r="{cell}"><f>{formula}</f><v /></c>'
        before = before if before in sheet else before.replace("<v />", "<v></v>")
        assert before in sheet
        sheet = sheet.replace(before, f'<c r="{cell}"{kind}><f>{formula}</f><v>{value}</v></c>')
    with zipfile.ZipFile(path, "w") as book:
        for each, content in {**parts, name: sheet.encode()}.items():
            book.writestr(each, content)
    [line] = errors(path)
    assert "row 3, column C (duration): found the formula '=1/0', which gives '#DIV/0!'" in line
    with zipfile.ZipFile(path, "w") as book:
        fixed = sheet.replace('t="e"', "").replace("#DIV/0!", "5").encode()
        for each, content in {**parts, name: fixed}.items():
            book.writestr(each, content)
    assert [c.tasks[0].duration for c in read(path).problem.contractors] == [4, 5]


@needs_excel
def test_merged_cells(tmp_path: Path) -> None:
    """A contractor's cell may span its rows; merged numbers, and merged columns, are refused."""

    def contractors(sheet: Any) -> None:
        sheet["A3"] = None
        sheet.merge_cells("A2:A3")
        sheet.merge_cells("A4:A5")  # with nothing in them

    made = read(changed(tmp_path, contractors))
    assert [len(each.tasks) for each in made.problem.contractors] == [2]

    def numbers(sheet: Any) -> None:
        sheet.merge_cells("C2:C3")

    [line] = errors(changed(tmp_path, numbers))
    assert "row 3, column C (duration): this cell is merged with the one above (C2:C3)" in line

    def columns(sheet: Any) -> None:
        sheet.merge_cells("C2:D2")

    lines = errors(changed(tmp_path, columns))
    assert "row 2, column C (duration): this cell is merged with others (C2:D2)" in lines[0]

    def title(sheet: Any) -> None:
        sheet.insert_rows(1, 2)
        sheet["A1"] = "Works of 2026"
        sheet.merge_cells("A1:G1")

    made = read(changed(tmp_path, title))
    assert any("left out row 1 above the titles" in note for note in made.notes)


@needs_excel
def test_sheets_that_are_missing(tmp_path: Path) -> None:
    """Where no sheet has the right name or titles, the names of all sheets are listed."""
    path = tmp_path / "works.xlsx"
    write_workbook({"2025": [["x"]], "2026": [["y"]]}, path)
    [line] = errors(path)
    assert "the workbook has no sheet 'works'; it has '2025', '2026'; give the name of" in line
    [line] = errors(path, sheet="plan")
    assert "the workbook has no sheet 'plan'; it has '2025', '2026'" in line
    [line] = errors(path, sheet="2025", hindrance_sheet="x")
    assert "the workbook has no sheet 'x'" in line


@needs_excel
def test_sheets_are_found_by_their_titles(tmp_path: Path) -> None:
    """The only sheets with the titles of the two lists are read, and a note says so."""
    path = tmp_path / "planning.xlsx"
    write_workbook({"Cover": [["2026"]], "Plan": ROWS, "Nuisance": HINDRANCE}, path)
    made = read(path, name="x")
    assert len(made.problem.network) == 1
    assert list(made.notes[:2]) == [
        f"{path}: read the sheet 'Plan', by its titles",
        f"{path}: read the sheet 'Nuisance', by its titles",
    ]
    named = read(path, name="x", sheet="Plan", hindrance_sheet="Nuisance")
    assert named.problem == made.problem
    assert not any("by its titles" in note for note in named.notes)


@needs_excel
def test_two_sheets_with_the_same_titles(tmp_path: Path) -> None:
    """Of two lists neither is taken in silence; a name chooses one of them."""
    path = tmp_path / "works.xlsx"
    write_workbook({"2025": ROWS[:2], "2026": ROWS}, path)
    [line] = errors(path)
    assert (
        "the sheets '2025', '2026' look like lists of works; choose one of them (--sheet)" in line
    )
    assert len(read(path, sheet="2025").problem.contractors) == 1
    assert len(read(path, sheet="2026").problem.contractors) == 2
    write_workbook({"works": ROWS, "N": HINDRANCE, "S": HINDRANCE}, path)
    [line] = errors(path)
    assert "look like lists of hindrance; choose one of them (--hindrance-sheet)" in line


def test_a_text_file_has_no_sheets(tmp_path: Path) -> None:
    """A sheet of a CSV file is an error, for both lists."""
    path = tmp_path / "works.csv"
    path.write_text("contractor,work,duration,cost\nA,a,1,1\n")
    for sheet in ("sheet", "hindrance_sheet"):
        [line] = errors(path, **{sheet: "x"})
        assert line == "works.csv: is a CSV file, which has no sheets; name no sheet"


@needs_excel
def test_numbers_shown_in_per_cent(tmp_path: Path) -> None:
    """A chance typed as 110% is a number for Excel; the message shows it as people see it."""

    def change(sheet: Any) -> None:
        sheet["D2"], sheet["D3"], sheet["E3"] = 1.1, 0.25, 1
        sheet["D2"].number_format = sheet["D3"].number_format = "0%"

    [line] = errors(changed(tmp_path, change))
    assert "found '110%'; expected the chance of a delay" in line
    assert line.endswith("from 0 % to 100 %")

    def mend(sheet: Any) -> None:
        change(sheet)
        sheet["D2"] = 0.35

    made = read(changed(tmp_path, mend)).problem
    assert [each.tasks[0].delay for each in made.contractors] == [Delay(0.35, 1), Delay(0.25, 1)]


@needs_excel
def test_cells_beside_the_works(tmp_path: Path) -> None:
    """Numbers and dates beside the works are kept as people write them; faults there do no harm."""

    def change(sheet: Any) -> None:
        for column, cells in enumerate(
            [("code", 4711.0, "=1+"), ("signed", MONDAY, "#REF!"), (MONDAY, True, None)], 8
        ):
            for row, cell in enumerate(cells, 1):
                sheet.cell(row, column, cell)

    made = read(changed(tmp_path, change))
    assert made.details == {
        "Alpha/a1": {"code": "4711", "signed": "2026-03-02", "2026-03-02": "yes"},
        "Beta/b1": {"code": "=1+", "signed": "#REF!"},
    }


@needs_excel
def test_files_that_are_no_workbooks(tmp_path: Path) -> None:
    """Damaged, old and missing workbooks are FormatErrors."""
    path = tmp_path / "works.xlsx"
    for content in (b"", b"hello", b"PK\x03\x04 and nothing"):
        path.write_bytes(content)
        [line] = errors(path)
        assert "cannot be read as an Excel workbook" in line
    path.write_bytes(b"\xd0\xcf\x11\xe0old")
    assert "save it as .xlsx" in errors(path)[0]
    assert "cannot be read" in errors(tmp_path / "missing.xlsx")[0]
    # Content counts, not only names.
    other = tmp_path / "works.csv"
    other.write_bytes(b"PK\x03\x04 and nothing")
    assert "cannot be read as an Excel workbook" in errors(other)[0]


def test_without_openpyxl(tmp_path: Path) -> None:
    """Where the extra is not installed, the error names it."""
    path = tmp_path / "works.xlsx"
    path.write_bytes(b"PK\x03\x04")
    real = importlib.import_module

    def missing(name: str, *rest: Any) -> Any:
        if name.startswith("openpyxl"):
            raise ModuleNotFoundError(name)
        return real(name, *rest)

    with mock.patch.object(importlib, "import_module", missing):
        for attempt in (
            lambda: read_works(path),
            lambda: write_templates(tmp_path / "new", excel=True),
        ):
            with pytest.raises(CoreplanError, match=r"coreplan\[excel\]"):
                attempt()


@pytest.mark.parametrize("excel", [False, pytest.param(True, marks=needs_excel)])
def test_templates_can_be_imported(tmp_path: Path, excel: bool) -> None:
    """The examples of the templates are sound, with steps and with dates, and mean the same."""
    files = {path.name: path for path in write_templates(tmp_path / "t", excel=excel)}
    ending = "xlsx" if excel else "csv"
    other = None if excel else files["hindrance.csv"]
    steps = read_works(files[f"works.{ending}"], other, must_complete=True, name="x")
    dates = read_works(
        files[f"works_with_dates.{ending}"],
        other,
        must_complete=True,
        name="x",
        start_date=START,
    )
    assert steps.problem == dates.problem
    assert steps.problem.horizon == HORIZON
    assert len(steps.problem.network) == 2
    windows = [task.window for each in steps.problem.contractors for task in each.tasks]
    assert windows == [None, None, None, (5, 10)]
    assert "delay chance" in files["README.txt"].read_text()


def test_templates_overwrite_nothing(tmp_path: Path) -> None:
    """Files that are there stay, unless told otherwise."""
    path = tmp_path / "hindrance.csv"
    path.write_text("mine")
    with pytest.raises(FormatError, match="exists already"):
        write_templates(tmp_path)
    assert path.read_text() == "mine"
    assert [each.name for each in tmp_path.iterdir()] == ["hindrance.csv"]
    write_templates(tmp_path, force=True)
    assert path.read_text() != "mine"
    with pytest.raises(FormatError, match="cannot be made"):
        write_templates(path / "inside")


@needs_excel
def test_ten_thousand_rows(tmp_path: Path) -> None:
    """Long workbooks are read whole."""
    path = tmp_path / "works.xlsx"
    rows = [[f"C{k % 400}", f"w{k}", 1 + k % 5, 0.2, 1, k, None] for k in range(10_000)]
    write_workbook({"works": [TITLES, *rows]}, path)
    assert sum(len(each.tasks) for each in read(path).problem.contractors) == 10_000
