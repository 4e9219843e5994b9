"""Works lists that are made to take long, or much memory, or to print very much."""

from __future__ import annotations

import io
import re
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from coreplan import FormatError, read_works
from coreplan.domains.maintenance import WorksList
from coreplan.domains.maintenance.works import columns, table, workbook_scan
from coreplan.domains.maintenance.works.cells import NumberStyle, read_cost
from coreplan.domains.maintenance.works.columns import LONGEST_TITLE, WORKS, recognise, too_long
from coreplan.domains.maintenance.works.excel import write_workbook
from coreplan.domains.maintenance.works.table import MOST_CELLS, ProblemLog, Table
from coreplan.domains.maintenance.works.workbook_scan import (
    MOST_EXPANDED,
    WorkbookError,
    scan_workbook,
)
from coreplan.errors import ModelError
from coreplan.support.checks import MOST_STAGES

needs_excel = pytest.mark.extras

TITLES = ["contractor", "work", "duration", "cost"]
ROWS = [TITLES, ["Alpha", "a1", 2, 3], ["Beta", "b1", 3, 4]]
SHEET = "xl/worksheets/sheet1.xml"
LONG = "(" * 100_000


def read_text(folder: Path, text: str | bytes, hindrance: str | None = None) -> WorksList:
    """Read a list of works, for eight steps, with a small part of the memory of a computer."""
    works, other = folder / "works.csv", folder / "hindrance.csv"
    works.write_bytes(text if isinstance(text, bytes) else text.encode())
    if hindrance is not None:
        other.write_text(hindrance)
    return within(200, lambda: read_works(works, None if hindrance is None else other, horizon=8))


def within(megabytes: int, call: Callable[[], WorksList]) -> WorksList:
    """Call a function, which must not take more memory than this."""
    tracemalloc.start()
    try:
        return call()
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < megabytes * 10**6


# Long titles and cells


def test_long_titles_are_not_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    """The length of a title is looked at before anything else is done with it."""
    assert recognise("cost (" + "x" * 20 + ")", WORKS) is not None
    monkeypatch.setattr(columns, "_BRACKETS", None)
    monkeypatch.setattr(columns, "_tidy", None)
    title = "(" * (LONGEST_TITLE + 1)
    assert recognise(title, WORKS) is None
    assert "has 201 characters; use at most 200" in too_long(title)


def test_brackets_inside_brackets() -> None:
    """No search for a closing bracket goes on beyond the next that opens."""
    assert columns._BRACKETS.search("((((") is None
    match = columns._BRACKETS.search("a (b [c] d)")
    assert match is not None
    assert match[1] == "c"


@pytest.mark.parametrize(
    ("works", "hindrance"),
    [
        (f"contractor,work,duration,cost,{LONG}\nA,a,1,1,1\n", None),
        (f"contractor,work,duration,cost,{LONG},{LONG}\nA,a,1,1,1,1\n", None),
        (f"{LONG}\n", None),
        (f"contractor,work,duration,cost\n{LONG},{LONG},{LONG},{LONG}\n", None),
        (f"contractor,work,duration,cost\nA,{LONG},1,1\nA,{LONG},1,1\n", None),
        (f"contractor,work,duration,cost\nA,{LONG}/x,1,1\n", None),
        (f"contractor,work,duration,cost\n{'a' * 9999},a,1,1\n{'A' * 9999},b,1,1\n", None),
        (f"contractor,work,duration,cost\nA,a,1,1,{LONG}\n", None),
        (f"contractor,work,duration,cost,latest start\nA,a,1,1,{LONG}\n", None),
        (f"contractor,work,duration,cost,delay chance\nA,a,1,1,{LONG}%\n", None),
        (f"contractor,work,duration,cost\nA,a,1,1 {LONG} 2\n", None),
        (f"contractor,work,duration,cost\nA,={LONG},1,1\n", None),
        (
            f"contractor,work,duration,cost\nA{LONG},a,1,1\nB{LONG},a,1,1\n",
            "work A,work B,cost\na,a,1\n",
        ),
        (
            f"contractor,work,duration,cost\nA,{LONG},1,1\nB,b,1,1\n",
            f"work A,work B,cost\nb,{LONG}x,1\nA/{LONG}x,b,1\nb,b,{LONG}\n{LONG},A/{LONG},1\n",
        ),
        (f"contractor,work,duration,{'cost' + ' ' * 99}1,cost 1\nA,a,1,1,1\n", None),
        (f'contractor,work,duration,cost\nA,a,1,"{"x" * 140_000}"\n', None),
    ],
)
def test_messages_are_short(tmp_path: Path, works: str, hindrance: str | None) -> None:
    """No message shows a whole cell or title that is long."""
    with pytest.raises(FormatError) as caught:
        read_text(tmp_path, works, hindrance)
    assert all(len(line) < 800 for line in str(caught.value).splitlines())


def test_notes_are_short(tmp_path: Path) -> None:
    """No note shows a whole name that is long."""
    name = "n" * 50_000
    read = read_text(
        tmp_path,
        f"contractor,work,duration,cost,earliest start,note ({'x' * 150})\n"
        f"{name},{name},1,1,99,{name}\n",
    )
    assert any("can never start" in note for note in read.notes)
    assert all(len(note) < 500 for note in read.notes)


def test_white_space_in_costs_is_looked_at_once() -> None:
    """White space that separates nothing, as before, is no separator, and stays in the message."""
    spaces = "\u2003" * 100_000  # no space, tab or line end
    with pytest.raises(Exception, match="expected a cost, a number"):
        read_cost(f"1{spaces}2", "a cost", NumberStyle.POINT)
    text = f"1{spaces};{spaces}2,{spaces}3 \u2003| 4"
    assert read_cost(text, "a cost", NumberStyle.POINT) == [1, 2, 3, 4]


# Many cells


@pytest.mark.parametrize(
    "text",
    [
        "contractor,work" + "," * (MOST_CELLS + 10),
        "contractor,work" + "\n" * (MOST_CELLS + 10),
        "contractor,work" + "\r" * (MOST_CELLS + 10),
        "contractor;work" + ";" * (MOST_CELLS + 10),
    ],
)
def test_too_many_cells_of_a_text(
    tmp_path: Path, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cells are counted before any is made."""
    monkeypatch.setattr(table.csv, "reader", None)  # type: ignore[attr-defined]
    with pytest.raises(
        FormatError, match="more than 2,000,000 cells, the most that coreplan reads"
    ):
        read_text(tmp_path, text)


def test_a_quote_without_an_end(tmp_path: Path) -> None:
    """A quote that is not closed ends at the limit of a cell, or at the end."""
    start = "contractor,work,duration,cost\nA,a,1,1\n"
    with pytest.raises(FormatError, match="after row 2: a quote is not closed"):
        read_text(tmp_path, f'{start}"' + "x,y\n" * 1000)
    with pytest.raises(FormatError, match="after row 2: a cell has more than 131,072 characters"):
        read_text(tmp_path, f'{start}"' + "x,y\n" * 100_000)


def test_long_lists_are_refused(tmp_path: Path) -> None:
    """A list may not be as long as other files."""
    file = tmp_path / "works.csv"
    with file.open("wb") as out:
        out.truncate(table.MOST_LIST_BYTES + 1)
    with pytest.raises(FormatError, match="is longer than 67,108,864 bytes"):
        read_works(file, horizon=8)


def test_few_lines_tell_the_separator(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What separates cells is found out from the begin of a text."""
    asked = []

    def known(title: str) -> bool:
        asked.append(title)
        return False

    table._guess_delimiter("x;y\n" * 100_000, known)
    table._guess_delimiter(";" * 10**6, known)
    assert len(asked) < 3 * table._LOOKED_AT


def test_a_horizon_beyond_all_plans(tmp_path: Path) -> None:
    """A horizon is checked before its steps are counted."""
    file = tmp_path / "works.csv"
    file.write_text("contractor,work,duration,cost 0,cost 1\nA,a,1,1,1\n")
    with pytest.raises(ModelError, match=f"from 1 to {MOST_STAGES}"):
        read_works(file, horizon=10**15)


def test_very_many_problems_are_counted_and_few_are_kept() -> None:
    """Of very many problems the first by place are shown, whenever they were noted."""
    log = ProblemLog()
    where = Table("a.csv", None, [], NumberStyle.POINT)
    for row in range(25_000, 0, -1):
        log.add(where, f"wrong in {row}", row)
    assert len(log) == 25_000
    assert len(log._found) < 10_000
    with pytest.raises(FormatError, match="and 24,980 more problems") as caught:
        log.raise_any()
    assert [problem.line for problem in caught.value.problems] == list(range(1, 21))


class Looked(str):
    """A text that counts how often it is compared."""

    compared = 0

    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        Looked.compared += 1
        return str.__eq__(self, other)


def test_works_of_a_contractor_are_not_compared_one_by_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Names are looked up, so that a long list takes time in proportion to its length."""
    from coreplan.domains.maintenance.works import rows as rows_of_works

    monkeypatch.setattr(rows_of_works, "read_name", lambda value: Looked(value))
    monkeypatch.setattr(Looked, "compared", 0)
    count = 2000
    works = "".join(f"A,a{k},1,1\nB{k},b,1,1\n" for k in range(count))
    pairs = "".join(f"A/a{k},B{k}/b,1\n" for k in range(count))
    read = read_text(
        tmp_path, f"contractor,work,duration,cost\n{works}", f"work A,work B,cost\n{pairs}"
    )
    assert len(read.problem.network) == count
    assert Looked.compared < 100 * count


# Workbooks


def workbook(folder: Path, parts: dict[str, str | bytes], rows: Any = ROWS) -> Path:
    """A workbook in which parts are replaced, or changed by what begins with `<` and has `...`."""
    file = folder / "works.xlsx"
    write_workbook({"works": rows}, file)
    made = io.BytesIO()
    with zipfile.ZipFile(file) as old, zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            new.writestr(name, parts.get(name, old.read(name)))
        for name in parts.keys() - set(old.namelist()):
            new.writestr(name, parts[name])
    file.write_bytes(made.getvalue())
    return file


def sheet(rows: str, more: str = "") -> str:
    """The XML of a sheet."""
    names = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
    return f"<worksheet {names}><sheetData>{rows}</sheetData>{more}</worksheet>"


def row(number: int, *cells: object, first: str = "A") -> str:
    """The XML of a row, with texts in it."""
    inside = ""
    for k, cell in enumerate(cells):
        place = f"{chr(ord(first) + k)}{number}"
        inside += f'<c r="{place}" t="inlineStr"><is><t>{cell}</t></is></c>'
    return f'<row r="{number}">{inside}</row>'


LIST = "".join(row(k, *cells) for k, cells in enumerate(ROWS, 1))


def read_book(path: Path) -> WorksList:
    """Read a workbook, for eight steps."""
    return within(100, lambda: read_works(path, horizon=8))


@needs_excel
def test_a_cell_far_away(tmp_path: Path) -> None:
    """Empty cells between others take no memory; a stray one is named."""
    far = '<row r="999999"><c r="NTP999999" t="inlineStr"><is><t>x</t></is></c></row>'
    with pytest.raises(FormatError, match="row 999999, column NTP: found 'x' in a column without"):
        read_book(workbook(tmp_path, {SHEET: sheet(LIST + far)}))
    blank = '<row r="1048576"><c r="XFD1048576" s="0"/></row>'
    assert len(read_book(workbook(tmp_path, {SHEET: sheet(LIST + blank)})).problem.contractors) == 2


@needs_excel
@pytest.mark.parametrize("area", ["A1:XFD1048576", "A10:XFD1048576"])
def test_all_cells_merged(tmp_path: Path, area: str) -> None:
    """Merged cells are not made one by one; what is merged over columns is an error if filled."""
    merged = f'<mergeCells count="1"><mergeCell ref="{area}"/></mergeCells>'
    path = workbook(tmp_path, {SHEET: sheet(LIST, merged)})
    if area.startswith("A10"):
        assert len(read_book(path).problem.contractors) == 2
    else:
        with pytest.raises(FormatError, match=r"merged with others \(A1:XFD1048576\); unmerge it"):
            read_book(path)


@needs_excel
def test_a_column_merged_to_its_end(tmp_path: Path) -> None:
    """A contractor's name may be merged over more rows than there are."""
    merged = '<mergeCells><mergeCell ref="A2:A1048576"/></mergeCells>'
    rows = row(1, *TITLES) + row(2, "Alpha", "a1", 2, 3) + row(4, "b1", 1, 4, first="B")
    [alpha] = read_book(workbook(tmp_path, {SHEET: sheet(rows, merged)})).problem.contractors
    assert [task.name for task in alpha.tasks] == ["a1", "b1"]


@needs_excel
def test_merged_areas_that_overlap(tmp_path: Path) -> None:
    """Very many areas over the same rows are refused."""
    merged = "<mergeCells>" + '<mergeCell ref="A2:A1048576"/>' * 2000 + "</mergeCells>"
    rows = row(1, *TITLES) + "".join(row(k, "Alpha", f"a{k}", 2, 3) for k in range(2, 1000))
    with pytest.raises(FormatError, match="more than 1,000,000 cells"):
        read_book(workbook(tmp_path, {SHEET: sheet(rows, merged)}))


@needs_excel
def test_too_many_cells_of_a_sheet(tmp_path: Path) -> None:
    """A row counts as far as its last cell; the sheet is refused before it is read."""
    far = "".join(f'<row r="{k}"><c r="XFD{k}"/></row>' for k in range(4, 100))
    path = workbook(tmp_path, {SHEET: sheet(LIST + far)})
    with pytest.raises(FormatError, match="sheet 'works' has more than 1,000,000 cells, the most"):
        read_book(path)


@needs_excel
def test_too_many_cells_of_a_sheet_that_is_not_read(tmp_path: Path) -> None:
    """Other sheets may have as many cells as they like."""
    far = "".join(f'<row r="{k}"><c r="XFD{k}"/></row>' for k in range(4, 100))
    file = tmp_path / "works.xlsx"
    write_workbook({"works": ROWS, "data": [["x"]]}, file)
    made = io.BytesIO()
    with zipfile.ZipFile(file) as old, zipfile.ZipFile(made, "w") as new:
        for name in old.namelist():
            other = name == "xl/worksheets/sheet2.xml"
            new.writestr(name, sheet(far) if other else old.read(name))
    file.write_bytes(made.getvalue())
    assert len(read_book(file).problem.contractors) == 2


@needs_excel
@pytest.mark.parametrize("name", [SHEET, "xl/sharedStrings.xml", "xl/media/image1.png"])
def test_expansion(tmp_path: Path, name: str) -> None:
    """A small file that expands to a large one is refused before it is expanded."""
    path = workbook(tmp_path, {name: b" " * (MOST_EXPANDED + 1)})
    assert path.stat().st_size < 200_000
    with pytest.raises(FormatError, match="more than 100,000,000 bytes uncompressed"):
        read_book(path)


@needs_excel
def test_expansion_beyond_what_is_declared(tmp_path: Path) -> None:
    """A part that says it is short is read no further than that."""
    path = workbook(tmp_path, {"xl/media/image1.png": b" " * 50_000_000})
    content = path.read_bytes()
    size = (50_000_000).to_bytes(4, "little")
    assert content.count(size) == 2  # before the part, and in the directory
    path.write_bytes(content.replace(size, (1000).to_bytes(4, "little")))
    with pytest.raises(FormatError, match="cannot be read as an Excel workbook"):
        read_book(path)


@needs_excel
def test_what_is_expanded_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit holds for what really comes out of a part, whatever it says before."""
    content = workbook(tmp_path, {}).read_bytes()
    monkeypatch.setattr(workbook_scan, "MOST_EXPANDED", 100_000)
    scan_workbook(content)
    monkeypatch.setattr(zipfile.ZipFile, "open", lambda *_: io.BytesIO(b"x" * 100_001))
    with pytest.raises(WorkbookError, match="more than 100,000 bytes uncompressed"):
        scan_workbook(content)


@needs_excel
@pytest.mark.parametrize(
    "name", [SHEET, "xl/sharedStrings.xml", "xl/styles.xml", "[Content_Types].xml"]
)
def test_entities(tmp_path: Path, name: str) -> None:
    """No part may declare what could stand for a very long text."""
    entities = '<!ENTITY a "aaaaaaaaaa">' + "".join(
        f'<!ENTITY {b} "{f"&{a};" * 10}">' for a, b in zip("abcdefgh", "bcdefghi", strict=True)
    )
    text = f'<?xml version="1.0"?><!DOCTYPE x [{entities}]>' + sheet(row(1, "&i;"))
    with pytest.raises(FormatError, match=r"its part .* declares a document type"):
        read_book(workbook(tmp_path, {name: text}))


@needs_excel
@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ('<row r="99999999999999"/>', "row 99999999999999 follows row 3"),
        ('<row r="1e12"/>', "row 1e12 follows row 3"),
        ('<row r="1048577"/>', "row 1048577 follows row 3"),
        ('<row r="2"/>', "row 2 follows row 3"),
        ('<row r="-4"/>', "row -4 follows row 3"),
        ('<row r="4"><c r="XFE4"/></row>', "cell XFE4 is in the wrong place in row 4"),
        ('<row r="4"><c r="B4"/><c r="A4"/></row>', "cell A4 is in the wrong place in row 4"),
        ('<row r="4"><c r="A5"/></row>', "cell A5 is in the wrong place in row 4"),
        ('<row r="4"><c r="?"/></row>', "'?' is not the name of a cell"),
        ("<row><c></row>", "is damaged: mismatched tag"),
    ],
)
def test_rows_and_cells_at_the_wrong_place(tmp_path: Path, rows: str, message: str) -> None:
    """Rows and cells stand in order, and where a sheet has a place for them."""
    with pytest.raises(FormatError, match=re.escape(message)):
        read_book(workbook(tmp_path, {SHEET: sheet(LIST + rows)}))


@needs_excel
def test_rows_and_cells_without_names(tmp_path: Path) -> None:
    """Rows and cells that do not say where they are follow each other."""
    rows = re.sub(r' r="[A-Z]*\d+"', "", LIST)
    assert len(read_book(workbook(tmp_path, {SHEET: sheet(rows)})).problem.contractors) == 2


@needs_excel
def test_formulas_that_are_shared(tmp_path: Path) -> None:
    """A long formula that very many cells share is neither repeated nor shown as a whole."""
    long = "1+" * 4000 + "1"
    first = f'<c r="C2"><f t="shared" ref="C2:C900" si="0">{long}</f></c>'
    others = "".join(
        f'<row r="{k}"><c r="C{k}"><f t="shared" si="0"/></c></row>' for k in range(3, 900)
    )
    text = sheet(row(1, *TITLES) + f'<row r="2">{first}</row>' + others)
    with pytest.raises(FormatError, match=r"row 3, .*found the formula '=1\+1\+") as caught:
        read_book(workbook(tmp_path, {SHEET: text}))
    assert all(len(line) < 800 for line in str(caught.value).splitlines())


@needs_excel
def test_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A workbook has few parts, compressed as usual, and few elements besides its cells."""
    path = workbook(tmp_path, {"xl/styles.xml": "<a>" + "<a/>" * 20_000 + "</a>"})
    monkeypatch.setattr(workbook_scan, "MOST_CELLS", 10_000)
    with pytest.raises(FormatError, match="more than 10,000 elements besides its cells"):
        read_book(path)
    monkeypatch.setattr(workbook_scan, "MOST_PARTS", 3)
    with pytest.raises(FormatError, match=r"it has \d+ parts; coreplan reads at most 3"):
        read_book(path)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_LZMA) as file:
        file.writestr("a.xml", "<a/>")
    with pytest.raises(FormatError, match="its compression is not one that workbooks use"):
        read_book(path)
