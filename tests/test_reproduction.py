"""The page of the evaluation in docs/ is what the rows in benchmarks/results/ give."""

from __future__ import annotations

import gzip
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from bench_rows import made_up_rows
from coreplan.bench.agreement import find_contradictions
from coreplan.bench.choices import read_moves
from coreplan.bench.experiments import figure_rows
from coreplan.bench.figures import describe_figures, draw_figures
from coreplan.bench.page import make_page
from coreplan.bench.results import read_rows
from coreplan.bench.table import rows_to_csv, write_table

ROOT = Path(__file__).parents[1]


def tables(root: Path) -> list[Path]:
    """The tables of rows that are kept."""
    return sorted((root / "benchmarks" / "results").glob("*.csv.gz"))


def page_of(root: Path) -> Path:
    """The page of the evaluation."""
    return root / "docs" / "reproduction.md"


def named_table(root: Path) -> Path | None:
    """The table that the page says it is made of."""
    found = re.search(r"^- Rows: \[.*\]\((.*)\)$", page_of(root).read_text("utf-8"), re.MULTILINE)
    return None if found is None else (root / "docs" / found[1]).resolve()


def expected_page(root: Path, table: Path) -> str:
    """What `make reproduce-again` writes, by the command that the page names."""
    rows = read_rows(table)
    choices = root / "benchmarks" / "results" / "choices.json"
    command = re.search(r"^- Command: `(.*)`$", page_of(root).read_text("utf-8"), re.MULTILINE)
    return make_page(
        rows,
        describe_figures(figure_rows(rows), root / "docs" / "images" / "reproduction"),
        page_of(root),
        command="" if command is None else command[1],
        table=table,
        contradictions=find_contradictions(rows),
        moves=read_moves(choices) if choices.exists() else None,
    )


def check(root: Path) -> None:
    """The page and its figures come from a table that is kept; without one, none is named."""
    named = named_table(root)
    if not tables(root):
        assert named is None
        assert "benchmarks/results" not in page_of(root).read_text("utf-8")
        return
    assert named in [path.resolve() for path in tables(root)]
    assert page_of(root).read_text("utf-8") == expected_page(root, named)
    folder = root / "docs" / "images" / "reproduction"
    for figure in describe_figures(figure_rows(read_rows(named)), folder):
        if figure.path is not None:
            drawn = ElementTree.fromstring(figure.path.read_bytes())
            assert figure.headline in "".join(drawn.itertext())


def test_the_page_is_what_its_rows_give() -> None:
    """`make reproduce-again` would change nothing."""
    check(ROOT)


def test_tables_are_as_they_are_written() -> None:
    """The tables that are kept can be read, and writing their rows again gives the same."""
    for path in tables(ROOT):
        assert gzip.decompress(path.read_bytes()).decode("utf-8") == rows_to_csv(read_rows(path))


@pytest.fixture
def evaluation(tmp_path: Path) -> Path:
    """A folder like this repository's, with a page that names no table."""
    for folder in ("docs/images/reproduction", "benchmarks/results"):
        (tmp_path / folder).mkdir(parents=True)
    page_of(tmp_path).write_text("# The evaluation\n", encoding="utf-8")
    return tmp_path


def test_without_rows_no_page_claims_any(evaluation: Path) -> None:
    """A page may stand alone, but not name rows that are not kept."""
    check(evaluation)
    page_of(evaluation).write_text(
        "- Rows: [a.csv.gz](../benchmarks/results/a.csv.gz)\n", encoding="utf-8"
    )
    with pytest.raises(AssertionError):
        check(evaluation)


def test_rows_that_the_page_does_not_name(evaluation: Path) -> None:
    """Rows that are kept without a page of them are noticed."""
    write_table(made_up_rows(1), evaluation / "benchmarks" / "results" / "a.csv.gz")
    with pytest.raises(AssertionError):
        check(evaluation)


@pytest.mark.extras
def test_a_page_that_differs_from_its_rows(evaluation: Path) -> None:
    """A page that was made of its rows is accepted; a changed number or figure is noticed."""
    rows, table = made_up_rows(2), evaluation / "benchmarks" / "results" / "a.csv.gz"
    write_table(rows, table)
    folder, page = evaluation / "docs" / "images" / "reproduction", page_of(evaluation)
    text = make_page(
        rows, draw_figures(figure_rows(rows), folder), page, command="make it", table=table
    )
    page.write_text(text, encoding="utf-8")
    check(evaluation)
    page.write_text(text.replace("100 %", "99 %", 1), encoding="utf-8")
    with pytest.raises(AssertionError):
        check(evaluation)
    page.write_text(text, encoding="utf-8")
    write_table(made_up_rows(2)[1:], table)
    with pytest.raises(AssertionError):
        check(evaluation)
