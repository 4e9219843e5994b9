"""Tables of results: small, always the same, and read back as they were written."""

from __future__ import annotations

import csv
import gzip
import io
import json
import math
import random
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench_rows import made_up_rows, make_row
from coreplan import FormatError
from coreplan.bench.results import read_rows
from coreplan.bench.store import CLOCKS, OUTCOMES, Row, Store
from coreplan.bench.table import for_table, in_order, read_table, rows_to_csv, write_table
from coreplan.solving.result import Status

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8) | st.sampled_from(
    [
        "",
        "5",
        "-5",
        "=1+1",
        "'=x",
        "''-",
        "true",
        "null",
        "[1]",
        '"a"',
        "NaN",
        "a,b",
        'a"b',
        "a\r\nb",
    ]
)
numbers = st.floats(allow_nan=False, allow_infinity=False)
scalars = st.one_of(st.booleans(), st.integers(-(2**60), 2**60), numbers, texts)
names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=5)
mappings = st.dictionaries(names, scalars, max_size=3)
seconds = st.floats(0, 1e6)
results = st.fixed_dictionaries(
    {
        "objective": texts,
        "status": st.sampled_from([str(each) for each in Status]),
        "value": numbers,
        "lower_bound": numbers,
        "upper_bound": numbers,
        "seconds": seconds,
    },
    optional={
        "problem": texts,
        "statistics": st.dictionaries(names, numbers | st.integers(0, 10**15), min_size=1),
    },
)


@st.composite
def rows(draw: st.DrawFn) -> Row:
    """Any row that a run can write."""
    outcome = draw(st.sampled_from(OUTCOMES))
    points = st.tuples(seconds, numbers | st.just(-math.inf), numbers | st.just(math.inf))
    return Row(
        set=draw(texts | st.just("large")),
        instance=draw(texts),
        parameters={
            **draw(mappings),
            "agents": draw(st.integers(1, 300)),
            "horizon": draw(st.integers(1, 60)),
        },
        digest=draw(texts),
        solver=draw(texts),
        algorithm=draw(texts | st.just("core")),
        options=draw(mappings | st.just({"threads": 1})),
        time_limit=draw(seconds),
        memory_limit=draw(st.none() | seconds),
        outcome=outcome,
        message=draw(texts),
        result=draw(results) if outcome == "result" else None,
        progress=tuple(draw(st.lists(points, max_size=3))),
        wall_seconds=draw(seconds),
        cpu_seconds=draw(seconds),
        peak_memory_mb=draw(seconds),
        versions=draw(st.dictionaries(names, texts, max_size=3)),
        machine=draw(mappings),
        started=draw(texts),
        clock=draw(st.sampled_from(CLOCKS)),
    )


different_rows = st.lists(rows(), max_size=4, unique_by=lambda row: row.key)


@given(different_rows, st.sampled_from(["r.csv", "r.csv.gz"]))
def test_rows_come_back_as_they_were(given_rows: list[Row], name: str) -> None:
    """Whatever rows hold, they are read as they were written, except progress that is left out."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        write_table(given_rows, path)
        found = read_rows(path)
        assert found == in_order(map(for_table, given_rows))
        assert [row.key for row in found] == [row.key for row in in_order(given_rows)]
        before = path.read_bytes()
        write_table(found, path)
        assert path.read_bytes() == before


@given(different_rows, st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_matter(given_rows: list[Row], mix: random.Random) -> None:
    """The same rows give the same text in whatever order they come."""
    mixed = mix.sample(given_rows, len(given_rows))
    assert rows_to_csv(mixed) == rows_to_csv(given_rows)


def test_what_is_left_out() -> None:
    """Progress is kept where a figure shows it: of the engine, on large teams."""
    points = ((0.5, -2.0, -1.0),)
    shown = make_row("large", 1, "core", {"threads": 1}, progress=points)
    assert for_table(shown) == shown
    for other in (
        make_row("mpp", 1, "core", progress=points),
        make_row("large", 1, "dp", progress=points),
        make_row("large", 1, "core", {"merge": False}, progress=points),
    ):
        assert for_table(other) == replace(other, progress=())


def test_tables_are_small_and_always_the_same(tmp_path: Path) -> None:
    """Rows take less than 100 bytes each, and no time or name is in the file."""
    many = made_up_rows(30)
    write_table(many, tmp_path / "a.csv.gz")
    write_table(reversed(many), tmp_path / "b.csv.gz")
    content = (tmp_path / "a.csv.gz").read_bytes()
    assert content == (tmp_path / "b.csv.gz").read_bytes()
    assert content[3:8] == bytes(5)  # no flags, no time
    assert len(content) < 100 * len(many)


def test_a_store_and_its_table_have_the_same_rows(tmp_path: Path) -> None:
    """Results are read in one order, from a store as from a table; a table fills a new store."""
    many = made_up_rows(2)
    table, again = tmp_path / "r.csv.gz", tmp_path / "again.csv.gz"
    with Store(tmp_path / "r.sqlite", create=True) as store:
        assert store.add_all(many) == len(many)
    stored = read_rows(tmp_path / "r.sqlite")
    assert stored == in_order(many)
    write_table(stored, table)
    assert read_rows(table) == [for_table(row) for row in stored]
    with Store(tmp_path / "new.sqlite", create=True) as store:
        assert store.add_all(read_rows(table)) == len(many)
        assert store.add_all(read_rows(table)) == 0
        assert store.keys() == {row.key for row in many}
    write_table(read_rows(tmp_path / "new.sqlite"), again)
    assert again.read_bytes() == table.read_bytes()


# -- files that are something else --------------------------------------------------------------


def changed(tmp_path: Path, column: str, cell: str) -> Path:
    """A table of two rows, with another cell in the second."""
    first, second = make_row("mpp", 1, "core"), make_row("mpp", 2, "core", value=None)
    header, *lines = (line.split("\t") for line in _tabbed([first, second]))
    at = 1 if first.outcome == "result" and column.startswith("result.") else 2
    lines[at - 1][header.index(column)] = cell
    path = tmp_path / "r.csv"
    quoted = [[f'"{c.replace(chr(34), 2 * chr(34))}"' if c else "" for c in line] for line in lines]
    path.write_text(
        "\n".join(",".join(line) for line in [header, *quoted]) + "\n", encoding="utf-8"
    )
    return path


def _tabbed(many: list[Row]) -> list[str]:
    return ["\t".join(line) for line in csv.reader(io.StringIO(rows_to_csv(many)))]


@pytest.mark.parametrize(
    ("column", "cell", "said"),
    [
        ("outcome", "fine", "outcome: found 'fine'; expected one of result, no_plan"),
        ("clock", "", "clock: found an empty cell; expected one of wall, processor"),
        ("time_limit", "long", "time_limit: found 'long'; expected a number, 0 or more"),
        ("time_limit", "NaN", "time_limit: found 'NaN'; expected a number, 0 or more"),
        ("time_limit", "1e999", "time_limit: found '1e999'; expected a number, 0 or more"),
        ("wall_seconds", "-1", "wall_seconds: found '-1'; expected a number, 0 or more"),
        ("memory_limit", "null", "memory_limit: found 'null'; expected a number, 0 or more"),
        ("options", "{", "options: found '{'; expected options, a JSON object"),
        ("options", "[]", "options: found '[]'; expected a JSON object"),
        ("progress", "[[1]]", "progress: found '[[1]]'; expected a JSON list of seconds"),
        ("progress", "5", "progress: found '5'; expected a JSON list of seconds"),
        ("progress", "[[1, true, 2]]", "expected a JSON list of seconds"),
        ("progress", "[" * 100_000, "expected a JSON list of seconds"),
        ("parameters.agents", "two", "parameters.agents: found 'two'; expected a whole number"),
        ("parameters.horizon", "", "parameters.horizon: found an empty cell; expected a whole"),
        ("versions.coreplan", "1.5", "versions.coreplan: found 1.5; expected a version, a text"),
        ("result.status", "good", "result.status: found 'good'; expected one of optimal"),
        ("result.value", "", "result.value: found an empty cell; expected a finite number"),
        ("result.upper_bound", "much", "result.upper_bound: found 'much'; expected a finite"),
        ("result.objective", "5", "result.objective: found '5'; expected an objective, a text"),
        ("result.statistics.peak_memory_mb", "x", "found 'x'; expected a finite number"),
    ],
)
def test_mistakes_are_found_by_line_and_column(
    tmp_path: Path, column: str, cell: str, said: str
) -> None:
    """A cell that holds something else is named, with its line and the number of its column."""
    path = changed(tmp_path, column, cell)
    with pytest.raises(FormatError) as caught:
        read_table(path)
    (problem,) = caught.value.problems
    header = path.read_text(encoding="utf-8").splitlines()[0].split(",")
    assert said in str(problem)
    assert problem.line == (2 if column.startswith("result.") else 3)
    assert problem.column == header.index(column) + 1


HEADER = rows_to_csv([make_row("mpp", 1, "core")]).splitlines()[0]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "r.csv:1:1: is not a table of results: it has no column 'set'"),
        ("name,week\nbridge,3\n", "r.csv:1:1: a table of results has no column 'name'"),
        (HEADER.replace("solver", "solvr"), "has no column 'solvr'; did you mean 'solver'?"),
        (HEADER.replace("solver", "set"), "column 'set' comes twice"),
        (HEADER.replace(",clock", ""), "it has no column 'clock'"),
        (HEADER.replace("parameters.agents", "parameters.x"), "no column 'parameters.agents'"),
        (HEADER + "\n1,2,3\n", "r.csv:2:1: found 3 cells; expected"),
        (HEADER + '\n"a\n', "is not CSV: unexpected end of data"),
        (HEADER + '\n"a"b\n', "is not CSV: "),
        ("\0", "r.csv"),
    ],
)
def test_texts_that_are_no_tables(tmp_path: Path, text: str, said: str) -> None:
    """Whatever stands in a file instead of a table, the error is one in words."""
    path = tmp_path / "r.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(FormatError) as caught:
        read_rows(path)
    assert said in str(caught.value)


def test_values_of_a_result_without_a_result(tmp_path: Path) -> None:
    """A row that says it has no result must not have parts of one."""
    path = tmp_path / "r.csv"
    text = rows_to_csv([make_row("mpp", 1, "core")])
    path.write_text(text.replace(",result,", ",no_plan,"), encoding="utf-8")
    with pytest.raises(FormatError, match="a row without a result has values of one"):
        read_table(path)


def test_the_same_solve_twice(tmp_path: Path) -> None:
    """A solve may be in a table once."""
    path = tmp_path / "r.csv"
    text = rows_to_csv([make_row("mpp", 1, "core")])
    path.write_text(text + text.splitlines()[1] + "\n", encoding="utf-8")
    with pytest.raises(FormatError, match=r"r\.csv:3:1: is the same solve as line 2"):
        read_table(path)


@pytest.mark.parametrize("cut", [0, 5, 30, 200, -1])
def test_compressed_tables_that_are_damaged(tmp_path: Path, cut: int) -> None:
    """A compressed table that was cut, or is not compressed, is an error in words."""
    path = tmp_path / "r.csv.gz"
    write_table(made_up_rows(1), path)
    path.write_bytes(path.read_bytes()[:cut])
    with pytest.raises(FormatError, match=r"r\.csv\.gz"):
        read_rows(path)
    path.write_bytes(gzip.compress(b"\xff\xfe\xfa"))
    with pytest.raises(FormatError, match=r"r\.csv\.gz"):
        read_rows(path)


def test_any_cell_may_be_hostile(tmp_path: Path) -> None:
    """Whatever stands in any one cell, a table is read or refused in words."""
    path = tmp_path / "r.csv"
    hostile: list[Any] = ["", "x", "-1", "1e999", "null", "[]", "{}", "true", "'", json.dumps("\0")]
    for column in HEADER.split(","):
        for cell in hostile:
            if cell == "" and column.startswith("result."):
                continue
            try:
                read_table(changed(tmp_path, column, cell))
            except FormatError as error:
                assert str(path) in str(error)
