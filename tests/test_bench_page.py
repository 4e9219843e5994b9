"""The page about an evaluation: all of it comes from the rows."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

from bench_rows import made_up_rows, make_row
from coreplan.bench.choices import Mark, Moves
from coreplan.bench.claims import RULES
from coreplan.bench.figures import FIGURES, DrawnFigure
from coreplan.bench.page import make_page


def figures(folder: Path) -> list[DrawnFigure]:
    """What drawing would give, the last two without data: one of ours, and that of own sets."""
    drawn = [DrawnFigure(k, folder / f"{k.name}.svg", f"short {k.name}", "Long.") for k in FIGURES]
    return [*drawn[:-2], *(DrawnFigure(kind, None) for kind in FIGURES[-2:])]


def test_the_page_says_how_the_solves_were_made(tmp_path: Path) -> None:
    """Command, number of solves, limits, machine and versions are on the page."""
    rows = made_up_rows(3)
    text = make_page(rows, figures(tmp_path), tmp_path / "page.md", command="make it")
    assert "- Command: `make it`" in text
    instances = len({row.digest for row in rows})
    assert f"- Solves: {len(rows):,} of {instances:,} instances" in text
    assert "- Limits per solve: time 10 s or 20 s; memory 4,000 MB" in text
    assert "- Clock: all seconds are wall-clock seconds\n" in text
    assert "- Machine: Test CPU, 2 cores, 8 GB of memory, Linux, 2 solves side by side" in text
    assert "- Versions: coreplan 0.1.0, numpy 2.1.0, python 3.12.1" in text
    assert "2026-01-02 03:04" in text
    assert "| large | core | 20 s | 16 | 12 % |" in text


def test_the_page_says_which_clock_was_used(tmp_path: Path) -> None:
    """Processor seconds are called that, and solves by two clocks are told apart."""
    row = make_row("mpp", 1, "core")
    timed = dataclasses.replace(row, clock="processor")
    text = make_page([timed], figures(tmp_path), tmp_path / "page.md")
    assert "- Clock: all seconds are processor seconds of the solving process\n" in text
    assert "| mpp | core | 10 s |" in text
    text = make_page([row, timed], figures(tmp_path), tmp_path / "page.md")
    assert "1 solve in processor seconds of the solving process, 1 solve in wall-clock" in text
    assert "| mpp | core | 10 s (processor) |" in text


def test_the_page_names_its_rows(tmp_path: Path) -> None:
    """A table of the rows is linked from where the page is; without one, none is named."""
    rows, page = made_up_rows(1), tmp_path / "docs" / "page.md"
    table = tmp_path / "results" / "my rows.csv.gz"
    text = make_page(rows, figures(tmp_path), page, table=table)
    assert "\n- Rows: [my rows.csv.gz](../results/my%20rows.csv.gz)\n" in text
    assert "- Rows:" not in make_page(rows, figures(tmp_path), page)


def test_links_to_figures_are_relative(tmp_path: Path) -> None:
    """Figures are linked from where the page is; an expected one without data says so."""
    folder = tmp_path / "images" / "my run"
    text = make_page(made_up_rows(1), figures(folder), tmp_path / "docs" / "page.md")
    links = re.findall(r"!\[(.*?)\]\((.*?)\)", text)
    assert links[0] == ("short decentralised", "../images/my%20run/decentralised.svg")
    assert len(links) == len(FIGURES) - 2
    assert text.count("Not measured: these solves have no data for this figure.") == 1


def test_every_claim_is_a_row_of_one_table(tmp_path: Path) -> None:
    """All tables are well-formed, whatever stands in the rows."""
    row = dataclasses.replace(
        make_row("mpp", 1, "core"), set="a|b\n<script>", machine={"processor": "x\n# y | z"}
    )
    text = make_page([row], figures(tmp_path), tmp_path / "page.md")
    for line in text.splitlines():
        if line.startswith("|"):
            cells = len(re.findall(r"(?<!\\)\|", line))
            assert cells in (8, 10), line
    assert "<script>" not in text
    assert "\n# y" not in text
    assert text.count("| not measured | – | – |\n") == len(RULES)


def test_differences_are_tested_and_old_rules_stay_visible(tmp_path: Path) -> None:
    """The page has the claims, tests of causes, verdicts with other choices, and the old rules."""
    moves = Moves(1.0, "wall", "0.1.0", {"mpp": {"links 1": {"faster": Mark("agree", "95 %")}}})
    rows = made_up_rows(3)
    apart = make_row("mpp", "sparse", "core", links=1)
    text = make_page([*rows, apart], figures(tmp_path), tmp_path / "page.md", moves=moves)
    heads = re.findall(r"^## (.*)", text, re.MULTILINE)
    assert heads[-4:] == [
        "The paper's claims",
        "Why claims differ",
        "How the verdicts move with open choices",
        "How the rules of the claims changed",
    ]
    assert "| not run |" in text
    assert "| 1 of 1 | agree (95 %) |" in text
    # A solve of an experiment is counted, but not summarised with others.
    assert f"- Solves: {len(rows) + 1:,} of" in text
    assert "| mpp | core | 10 s | 9 |" in text


def test_contradictions_come_first(tmp_path: Path) -> None:
    """A contradiction is said before any result, and only so many are listed."""
    wrong = [f"instance {k}: one claims more than another" for k in range(30)]
    text = make_page(made_up_rows(1), figures(tmp_path), tmp_path / "page.md", contradictions=wrong)
    assert text.index("30 contradictions found") < text.index("| set |")
    assert "- and 10 more" in text
    assert "No two solves contradict" not in text
