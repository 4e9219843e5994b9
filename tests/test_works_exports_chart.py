"""Exports of the chart: pictures and pages of a plan, with any names."""

from __future__ import annotations

import itertools
from pathlib import Path
from xml.etree import ElementTree

import pytest

from coreplan import Contractor, MaintenanceProblem, Task, plot
from coreplan.domains.maintenance import export_plan, schedule_policy
from coreplan.support.language import speaking
from exported import WEEKS, hostile_plan, small_plan

needs_matplotlib = pytest.mark.extras
LABELS = {
    "en": "week that begins on",
    "nl": "week die begint op",
    "de": "Woche, beginnend am",
}
MAGIC = {".png": b"\x89PNG", ".pdf": b"%PDF", ".svg": b"<?xml"}


@needs_matplotlib
@pytest.mark.parametrize("ending", MAGIC)
def test_pictures(tmp_path: Path, ending: str) -> None:
    """Each format has its own content, and the same plan gives the same file."""
    policy = small_plan()
    first, second = tmp_path / f"one{ending}", tmp_path / f"two{ending}"
    export_plan(policy, first, second, calendar=WEEKS)
    assert first.read_bytes().startswith(MAGIC[ending])
    assert first.read_bytes() == second.read_bytes()


@needs_matplotlib
def test_a_picture_has_a_bar_for_each_work(tmp_path: Path) -> None:
    """All works that can be done have bars; hatched ones are for delays."""
    path = tmp_path / "plan.svg"
    export_plan(small_plan(), path)
    bars = {
        each.get("id") for each in ElementTree.parse(path).iter("{http://www.w3.org/2000/svg}g")
    }
    assert {f"planned {name}" for name in ("Alpha/a1", "Alpha/a2", "Beta/b1")} <= bars
    assert "delayed Alpha/a1" in bars


@needs_matplotlib
@pytest.mark.parametrize("ending", MAGIC)
def test_hostile_names_in_pictures(tmp_path: Path, ending: str) -> None:
    """Names with control characters, formulas or missing letters neither fail nor break a file."""
    path = tmp_path / f"plan{ending}"
    export_plan(hostile_plan(), path, calendar=WEEKS)
    assert path.read_bytes().startswith(MAGIC[ending])
    if ending == ".svg":
        ElementTree.parse(path)


@needs_matplotlib
def test_long_charts_have_pages(tmp_path: Path) -> None:
    """A PDF of many contractors has several pages, one of few has one."""
    contractors = tuple(Contractor(f"C{k}", (Task("w", 1, cost=1),)) for k in range(60))
    policy = schedule_policy(
        MaintenanceProblem(contractors, horizon=4), {each.name: {"w": 0} for each in contractors}
    )
    path, small = tmp_path / "long.pdf", tmp_path / "small.pdf"
    export_plan(policy, path)
    export_plan(small_plan(), small)
    pages = [file.read_bytes().count(b"/Type /Page ") for file in (path, small)]
    assert pages == [len(list(plot._page_rows([2] * 60))), 1]
    assert pages[0] > 1


def test_rows_of_pages() -> None:
    """Pages together have all rows once; they end between contractors that fit on a page."""
    most = plot.ROWS_OF_PAGE
    blocks = [3, most - 1, 2, 2 * most + 3, 4, 5]
    pages = list(plot._page_rows(blocks))
    assert pages[0][0] == 0
    assert pages[-1][1] == sum(blocks)
    assert all(one[1] == other[0] for one, other in itertools.pairwise(pages))
    assert all(0 < end - begin <= most for begin, end in pages)
    assert pages[:2] == [(0, 3), (3, 3 + most - 1)]


@needs_matplotlib
@pytest.mark.parametrize(
    ("language", "texts"),
    [
        ("en", ("planned", "only if delayed", "height of a bar: its chance", "4 May")),
        ("nl", ("gepland", "alleen bij vertraging", "hoogte van een balk: de kans", "4 mei")),
        (
            "de",
            ("geplant", "nur bei Verzögerung", "Höhe eines Balkens: seine Wahrscheinlichkeit"),
        ),
    ],
)
def test_charts_speak_the_language(language: str, texts: tuple[str, ...], tmp_path: Path) -> None:
    """The legend, the label and the dates of a chart are in the user's language."""
    path = tmp_path / "plan.svg"
    with speaking(language):
        export_plan(small_plan(), path, calendar=WEEKS)
    svg = path.read_text(encoding="utf-8")
    for text in texts:
        assert f"<!-- {text} -->" in svg
    for each, label in LABELS.items():
        assert (label in svg) == (each == language)
