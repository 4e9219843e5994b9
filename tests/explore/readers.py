"""Every reader of files: how to call it, sound files to start from, and what must hold.

Whatever the bytes, a reader returns or raises a CoreplanError with a bounded message. JSON texts
are also compared with Python's own parser.
"""

from __future__ import annotations

import datetime
import functools
import gzip
import io
import json
import math
import re
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cli_runs import SMALL
from coreplan import (
    CoreplanError,
    FormatError,
    MaintenanceProblem,
    Policy,
    read_problem,
    read_works,
    solve,
)
from coreplan.bench.config import read_config
from coreplan.domains.maintenance import read_schedule
from coreplan.domains.maintenance.formats.calendar import read_calendar
from coreplan.errors import MOST_PROBLEMS
from coreplan.files.document import DEEPEST, LONGEST_NUMBER, UnreadableError, clean_text
from coreplan.files.parsing import parse_document
from coreplan.files.quick_json import DoubtError, read_quickly
from coreplan.files.reading import plain
from coreplan.files.writing import to_json, to_yaml
from coreplan.formats import parse_problem, problem_to_dict, read_result, read_state, write_result
from coreplan.proof.certificate import read_certificate
from explore.complaint import demand

LONGEST_MESSAGE = 1500
"""Characters that one problem of a file may be reported with, the file's name apart."""

EXAMPLES = Path(__file__).parents[2] / "examples"


@dataclass(frozen=True)
class Reader:
    """One reader of files.

    Attributes
    ----------
    suffixes
        Endings of file names to read content under.
    read
        Reads the file at a path.
    samples
        Gives sound files to start from.
    """

    name: str
    suffixes: tuple[str, ...]
    read: Callable[[Path], object]
    samples: Callable[[], list[bytes]]


def read_content(reader: Reader, content: bytes, suffix: str) -> None:
    """Read bytes as a file; an error of coreplan is a fine answer, anything else goes on."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"case{suffix}"
        path.write_bytes(content)
        try:
            reader.read(path)
        except FormatError as error:
            demand(1 <= len(error.problems) <= MOST_PROBLEMS, "problems", f"{len(error.problems)}")
            longest = max(len(str(problem)) for problem in error.problems)
            demand(longest <= LONGEST_MESSAGE, "long message", f"{longest} characters")
        except CoreplanError as error:
            demand(len(str(error)) <= LONGEST_MESSAGE, "long message", str(error)[:200])


# -- documents ------------------------------------------------------------------------------------


def _read_document(path: Path) -> None:
    root, problems = parse_document(path.read_bytes(), suffix=path.suffix)
    demand(root is not None or bool(problems), "unexplained", "no document and no problem")
    demand(len(problems) <= MOST_PROBLEMS, "problems", f"{len(problems)} problems")
    lines = len(re.split(rb"\r\n?|\n", path.read_bytes()))
    for each in problems:
        inside = 1 <= each.line <= lines and each.column >= 1
        demand(inside, "position", f"line {each.line}, column {each.column} of {lines} lines")


def _read_json(path: Path) -> None:
    _read_document(path)
    compare_with_standard(path.read_bytes())
    compare_quick_with_careful(path.read_bytes())


class _NotOursError(Exception):
    """JSON that Python accepts and coreplan refuses on purpose."""


def compare_quick_with_careful(content: bytes) -> None:
    """Demand that the quick parser, where it has no doubt, reads what the careful one reads."""
    try:
        quick = read_quickly(clean_text(content))
    except (DoubtError, UnreadableError):
        return
    root, problems = parse_document(content, suffix=".json")
    said = problems[0].message if problems else "nothing"
    demand(root is not None and not problems, "quick json accepted", f"the careful one says {said}")
    assert root is not None
    careful = plain(root)
    same = json.dumps(careful, sort_keys=True) == json.dumps(quick, sort_keys=True)
    demand(same, "quick json values", f"{str(quick)[:200]} instead of {str(careful)[:200]}")


def compare_with_standard(content: bytes) -> None:
    """Demand the verdict and the values that Python's own JSON parser gives."""
    root, problems = parse_document(content, suffix=".json")
    accepted = root is not None and not problems
    standard, value = _standard_json(content)
    if accepted:
        assert root is not None
        demand(standard != "refused", "json accepted", "Python's parser refuses this text")
        ours = plain(root)
        same = json.dumps(ours, sort_keys=True) == json.dumps(value, sort_keys=True)
        demand(same, "json values", f"read {str(ours)[:200]}; Python reads {str(value)[:200]}")
    else:
        said = problems[0].message if problems else "nothing"
        demand(standard != "accepted", "json refused", f"Python's parser accepts it; {said}")


def _standard_json(content: bytes) -> tuple[str, Any]:
    """The verdict of Python's parser: accepted, refused, or accepted against coreplan's rules."""
    try:
        text = content.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError:
        return "refused", None
    if re.search(r"[\x00-\x08\x0b\x0c\x0e-\x1f]", text):
        return "refused", None
    ours = True

    def number(make: Callable[[str], float]) -> Callable[[str], float]:
        def read(spelling: str) -> float:
            nonlocal ours
            if len(spelling) > LONGEST_NUMBER or not math.isfinite(float(spelling)):
                ours = False
                return 0
            return make(spelling)

        return read

    def pairs(members: list[tuple[str, Any]]) -> dict[str, Any]:
        nonlocal ours
        ours = ours and len(dict(members)) == len(members)
        return dict(members)

    def constant(_: str) -> float:
        raise ValueError("not JSON")

    try:
        value = json.loads(
            text,
            parse_int=number(int),
            parse_float=number(float),
            parse_constant=constant,
            object_pairs_hook=pairs,
        )
    except ValueError:
        return "refused", None
    except RecursionError:
        return "against our rules", None
    ours = ours and _depth(text) <= DEEPEST
    ours = ours and not re.search(r"[\ud800-\udfff]", json.dumps(value, ensure_ascii=False))
    return ("accepted" if ours else "against our rules"), value


def _depth(text: str) -> int:
    """The most lists and mappings that are open at once in a sound JSON text."""
    outside = re.sub(r'"(?:[^"\\]|\\.)*"', "", text)
    depth = deepest = 0
    for sign in re.findall(r"[\[\]{}]", outside):
        depth += 1 if sign in "[{" else -1
        deepest = max(deepest, depth)
    return deepest


# -- problems -------------------------------------------------------------------------------------


def _read_problem(path: Path) -> None:
    problem = read_problem(path)
    again = parse_problem(to_json(problem_to_dict(problem)))
    demand(again == problem, "round trip", "what is written differs from what was read")


@functools.cache
def small_problem() -> MaintenanceProblem:
    """The maintenance problem that policies, schedules and states of samples are for."""
    problem = parse_problem(SMALL, "small.yaml")
    assert isinstance(problem, MaintenanceProblem)
    return problem


def _both(text: str) -> list[bytes]:
    """A problem in YAML and in JSON."""
    raw = problem_to_dict(parse_problem(text, "sample.yaml"))
    return [text.encode(), to_json(raw).encode(), to_yaml(raw).encode()]


def _maintenance() -> list[bytes]:
    return [*_both(SMALL), *_both((EXAMPLES / "two_works.yaml").read_text(encoding="utf-8"))]


def _teams() -> list[bytes]:
    return [
        made
        for name in ("two_robots.yaml", "paper_example.yaml", "machines.yaml")
        for text in [(EXAMPLES / name).read_text(encoding="utf-8")]
        if "format: ti-mmdp/" in text
        for made in _both(text)
    ]


# -- what belongs to a problem --------------------------------------------------------------------


def _saved(save: Callable[[Path], object], name: str) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        save(path)
        return path.read_bytes()


def _results() -> list[bytes]:
    result = solve(small_problem(), threads=1)
    return [_saved(lambda path: write_result(result, path), f"r.{end}") for end in ("json", "yaml")]


def _policies() -> list[bytes]:
    made = []
    ways: list[dict[str, Any]] = [{}, {"exact": False}, {"merge": False}]
    for options in ways:
        policy = solve(small_problem(), threads=1, work_limit=5, **options).policy
        assert policy is not None
        made.append(_saved(policy.save, "p.json"))
    return made


def _certificates() -> list[bytes]:
    return [
        _saved(
            lambda path, exact=exact: solve(
                small_problem(), threads=1, work_limit=5, exact=exact, certificate=path
            ),
            "c.json",
        )
        for exact in (True, False)
    ]


def _zipped_certificates() -> list[bytes]:
    plain_ones = _certificates()
    return [*plain_ones, gzip.compress(plain_ones[0], mtime=0)]


def _schedules() -> list[bytes]:
    return [
        b"Alpha: {bridge: 0, tunnel: 4}\nBeta: {road: 0}\n",
        b'{"format": "schedule/1", "Alpha": {"bridge": 0, "tunnel": 3}, "Beta": {"road": 1}}',
    ]


def _states() -> list[bytes]:
    return [
        b"Alpha: {done: [tunnel], doing: bridge, remaining: 2}\nBeta: {done: [road]}\n",
        b'{"Alpha": {"done": ["tunnel"]}, "Beta": {"doing": "road", "remaining": 1}}',
    ]


def _calendars() -> list[bytes]:
    return [
        b"format: calendar/1\nstart: 2026-03-02\nstep: week\n",
        b'{"format": "calendar/1", "start": "2 March 2026", "step": "day"}',
    ]


def _configurations() -> list[bytes]:
    return [(EXAMPLES / "bench" / "small.yaml").read_bytes()]


# -- works lists ----------------------------------------------------------------------------------

START = datetime.date(2026, 4, 6)
TITLES = "contractor,work,duration,delay chance,delay duration,revenue,cost,earliest,latest start"


def _works() -> list[bytes]:
    return [
        f"{TITLES}\nAlpha,a1,2,30%,1,20,3,0,6\nBeta,b1,3,,,15,1,,\n".encode(),
        "contractor;work;duration;cost per week\nAlpha;a1;2;1,5\n".encode("utf-16"),
        (EXAMPLES / "ring_road_works.csv").read_bytes(),
    ]


def _hindrances() -> list[bytes]:
    return [
        (EXAMPLES / "ring_road_hindrance.csv").read_bytes(),
        b"work A,work B,cost\nbridge deck,ring east,9.5\n",
    ]


def _read_works(path: Path) -> object:
    return read_works(path, horizon=12, start_date=START)


def _read_hindrance(path: Path) -> object:
    return read_works(EXAMPLES / "ring_road_works.csv", path, horizon=12, start_date=START)


SHEET = (
    b'<?xml version="1.0"?><worksheet xmlns='
    b'"http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>'
    b'<row r="1"><c r="A1" t="inlineStr"><is><t>contractor</t></is></c><c r="B1" t="inlineStr"><is>'
    b'<t>work</t></is></c><c r="C1" t="inlineStr"><is><t>duration</t></is></c><c r="D1" '
    b't="inlineStr"><is><t>cost</t></is></c></row><row r="2"><c r="A2" t="inlineStr"><is><t>A</t>'
    b'</is></c><c r="B2" t="inlineStr"><is><t>a1</t></is></c><c r="C2"><v>2</v></c><c r="D2">'
    b"<v>3.5</v></c></row>"
    b'</sheetData><mergeCells count="1"><mergeCell ref="A2:A3"/></mergeCells></worksheet>'
)


def workbook(sheet: bytes) -> bytes:
    """A workbook whose one sheet is the given XML."""
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    package = "http://schemas.openxmlformats.org/package/2006"
    kind = "application/vnd.openxmlformats-officedocument.spreadsheetml"
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{package}/content-types"><Default Extension="rels" '
        f'ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Override '
        f'PartName="/xl/workbook.xml" ContentType="{kind}.sheet.main+xml"/><Override '
        f'PartName="/xl/worksheets/sheet1.xml" ContentType="{kind}.worksheet+xml"/></Types>',
        "_rels/.rels": f'<Relationships xmlns="{package}/relationships"><Relationship Id="r1" '
        f'Type="{office}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{main}" xmlns:r="{office}"><sheets><sheet '
        'name="works" sheetId="1" r:id="r1"/></sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{package}/relationships">'
        f'<Relationship Id="r1" Type="{office}/worksheet" Target="worksheets/sheet1.xml"/>'
        "</Relationships>",
    }
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as packed:
        for name, text in parts.items():
            packed.writestr(name, text)
        packed.writestr("xl/worksheets/sheet1.xml", sheet)
    return buffer.getvalue()


def _read_sheet(path: Path) -> object:
    """Read a file's bytes as the XML of a workbook's sheet."""
    book = path.with_name("book.xlsx")
    book.write_bytes(workbook(path.read_bytes()))
    return _read_works(book)


def _make_readers() -> dict[str, Reader]:
    documents = (".json", ".yaml", "")
    small = small_problem
    made = [
        Reader("json", (".json",), _read_json, lambda: _maintenance()[1::3]),
        Reader("yaml", (".yaml", ""), _read_document, lambda: [*_maintenance(), *_teams()]),
        Reader("ti-mmdp", documents, _read_problem, _teams),
        Reader("mpp", documents, _read_problem, _maintenance),
        Reader("result", documents, read_result, _results),
        Reader("policy", (".json",), lambda path: Policy.load(path, small()), _policies),
        Reader(
            "certificate",
            (".json",),
            lambda path: read_certificate(path, small()),
            _zipped_certificates,
        ),
        Reader("schedule", documents, lambda path: read_schedule(path, small()), _schedules),
        Reader("state", documents, lambda path: read_state(path, small()), _states),
        Reader("calendar", documents, read_calendar, _calendars),
        Reader("bench", documents, read_config, _configurations),
        Reader("works", (".csv",), _read_works, _works),
        Reader("hindrance", (".csv",), _read_hindrance, _hindrances),
        # Without openpyxl these are refused: that an extra is missing is an error of coreplan.
        Reader("sheet", (".xml",), _read_sheet, lambda: [SHEET]),
        Reader("workbook", (".xlsx",), _read_works, lambda: [workbook(SHEET)]),
    ]
    return {reader.name: reader for reader in made}


READERS = _make_readers()
"""The readers by name."""
