"""`coreplan bench figures`."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from bench_rows import PLAIN, made_up_rows, make_row
from cli_runs import Run, one_json
from coreplan.bench.choices import Moves, write_moves
from coreplan.bench.figures import style
from coreplan.bench.store import Row, Store

needs_matplotlib = pytest.mark.extras


def stored(path: Path, rows: list[Row]) -> Path:
    """A store with these rows."""
    with Store(path, create=True) as store:
        for row in rows:
            store.add(row)
    return path


@needs_matplotlib
def test_figures_and_page_are_written(run: Run, tmp_path: Path) -> None:
    """Figures go into a new folder, the page links to them, and claims are counted."""
    results = stored(tmp_path / "results.sqlite", made_up_rows(3))
    folder, page = tmp_path / "new" / "figures", tmp_path / "page.md"
    choices = tmp_path / "choices.json"
    choices.write_text(write_moves(Moves(1.0, "wall", "0.1.0", {})), encoding="utf-8")
    options = ("--page", page, "--command", "make it", "--rows", tmp_path / "rows.csv.gz")
    done = run("bench", "figures", results, "-o", folder, *options, "--choices", choices)
    assert done.code == 0, done.err
    assert "the paper's claims: " in done.out
    assert len(list(folder.glob("*.svg"))) == 9
    text = page.read_text(encoding="utf-8")
    assert "(new/figures/decentralised.svg)" in text
    assert "## How the verdicts move with open choices" in text
    assert "- Command: `make it`\n" in text
    assert "- Rows: [rows.csv.gz](rows.csv.gz)\n" in text


@needs_matplotlib
def test_a_table_gives_the_same_as_its_store(run: Run, tmp_path: Path) -> None:
    """Page and figures are the same, byte for byte, from a store and from a table of it."""
    rows = made_up_rows(4)
    random.Random(1).shuffle(rows)
    results, table = stored(tmp_path / "results.sqlite", rows), tmp_path / "results.csv.gz"
    assert run("bench", "show", results, "--csv", table).code == 0
    made = []
    for source, place in ((results, tmp_path / "a"), (table, tmp_path / "b")):
        (place / "docs").mkdir(parents=True)
        page = place / "docs" / "page.md"
        done = run("bench", "figures", source, "-o", place / "figures", "--page", page)
        assert done.code == 0, done.err
        files = sorted(each for each in place.rglob("*") if each.is_file())
        made.append({each.relative_to(place): each.read_bytes() for each in files})
    assert len(made[0]) == 10
    assert made[0] == made[1]


@needs_matplotlib
def test_a_page_beside_its_figures(run: Run, tmp_path: Path) -> None:
    """The page may be in the folder for figures, which is not there yet."""
    results = stored(tmp_path / "results.sqlite", [make_row("mpp", 1, "core")])
    page = tmp_path / "f" / "page.md"
    done = run("bench", "figures", results, "-o", tmp_path / "f", "--page", page)
    assert done.code == 0, done.err
    assert "(solved.svg)" in page.read_text(encoding="utf-8")


@needs_matplotlib
def test_json(run: Run, tmp_path: Path) -> None:
    """With --json one object says what was drawn and measured."""
    results = stored(tmp_path / "results.sqlite", [make_row("mpp", 1, "core")])
    done = run("bench", "figures", results, "-o", tmp_path / "f", "--format", "png", "--json")
    assert done.code == 0, done.err
    answer = one_json(done.out)
    assert answer["solves"] == 1
    assert [each["letter"] for each in answer["figures"]] == list("abcdefghij")
    assert [each["name"] for each in answer["figures"] if each["path"]] == ["solved", "limits"]
    assert {each["verdict"] for each in answer["claims"]} == {"not measured"}
    assert answer["contradictions"] == []


@needs_matplotlib
def test_contradictions_are_errors(run: Run, tmp_path: Path) -> None:
    """Solves that cannot both be right end with 1, and are named."""
    rows = [make_row("mpp", 1, "core", value=-5.0), make_row("mpp", 1, "dp", PLAIN, value=-4.0)]
    results = stored(tmp_path / "results.sqlite", rows)
    done = run("bench", "figures", results, "-o", tmp_path / "f")
    assert done.code == 1
    assert "CONTRADICTION: mpp-1: DP claims a plan worth -4" in done.err


@needs_matplotlib
def test_bad_input_is_refused(run: Run, tmp_path: Path) -> None:
    """No store, an empty one, and targets that cannot be written are errors; nothing is lost."""
    results = stored(tmp_path / "results.sqlite", [make_row("mpp", 1, "core")])
    other = tmp_path / "notes.txt"
    other.write_text("mine", encoding="utf-8")
    out = ("-o", tmp_path / "f")
    assert "does not exist" in run("bench", "figures", tmp_path / "none", *out).err
    assert run("bench", "figures", other, *out).code == 2
    empty = stored(tmp_path / "empty.sqlite", [])
    assert "has no solves yet" in run("bench", "figures", empty, *out).err
    before = results.read_bytes()
    assert run("bench", "figures", results, *out, "--page", results).code == 2
    assert run("bench", "figures", results, *out, "--page", tmp_path / "no" / "page.md").code == 2
    assert run("bench", "figures", results, "-o", other).code == 2
    assert "notes.txt" in run("bench", "figures", results, *out, "--choices", other).err
    assert run("bench", "figures", results).code == 2
    assert other.read_text(encoding="utf-8") == "mine"
    assert results.read_bytes() == before


def test_the_missing_extra_is_named(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without matplotlib the command says what to install."""
    monkeypatch.setattr(style.importlib.util, "find_spec", lambda name: None)
    results = stored(tmp_path / "results.sqlite", [make_row("mpp", 1, "core")])
    done = run("bench", "figures", results, "-o", tmp_path / "f")
    assert done.code == 2
    assert "coreplan[plot]" in done.err
    assert not (tmp_path / "f").exists()


def test_help_shows_examples(run: Run) -> None:
    """The help of the group and of the command show how it is used."""
    assert "figures" in run("bench", "--help").out
    assert (
        "coreplan bench figures results.sqlite -o figures" in run("bench", "figures", "--help").out
    )
