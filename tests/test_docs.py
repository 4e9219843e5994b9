"""What README and docs show really works."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from docs_pages import PAGES, ROOT, blocks, commands, rows

NEED_EXTRAS = ["plots.md"]
"""Pages whose Python blocks need an optional dependency."""


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, marks=pytest.mark.extras) if page.name in NEED_EXTRAS else page
        for page in PAGES
    ],
    ids=lambda page: page.name,
)
def test_python_blocks_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every Python block of a page runs, one after the other."""
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {}
    for block in blocks(page, "python"):
        exec(compile(block, page.name, "exec"), namespace)


def test_shown_plans_are_those_that_are_printed(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On the page about plans, a text right after a Python block is what the block prints."""
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs" / "plans.md").read_text(encoding="utf-8")
    namespace: dict[str, object] = {}
    shown = 0
    for block, text in re.findall(
        r"```python\n(.*?)```\n(?:\n```text\n(.*?)```)?", page, re.DOTALL
    ):
        exec(compile(block, "plans.md", "exec"), namespace)
        printed = capsys.readouterr().out
        assert not text or printed == text
        shown += bool(text)
    assert shown == 2


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_run(page: Path, tmp_path: Path) -> None:
    """Every command that a page shows with a `$` ends well."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    for command in commands(page):
        done = subprocess.run(
            [sys.executable, "-m", "coreplan.cli", *shlex.split(command)[1:]],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{command}\n{done.stderr}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    """Links to files of the project point to files that exist."""
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), target


def test_pictures_are_those_that_the_program_draws(tmp_path: Path) -> None:
    """The pictures of the docs are what tools/draw-docs draws with this version."""
    (tmp_path / "docs" / "images").mkdir(parents=True)
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    subprocess.run(
        ["bash", str(ROOT / "tools" / "draw-docs"), str(Path(sys.executable).parent)],
        cwd=tmp_path,
        check=True,
    )
    drawn = sorted((tmp_path / "docs" / "images").iterdir())
    assert drawn
    for picture in drawn:
        committed = ROOT / "docs" / "images" / picture.name
        assert picture.read_text(encoding="utf-8") == committed.read_text(encoding="utf-8")


def test_readme_shows_the_example_that_is_bundled() -> None:
    """The problem printed in the README is the one in examples/."""
    shown = blocks(ROOT / "README.md", "yaml")[0]
    bundled = (ROOT / "examples" / "two_works.yaml").read_text(encoding="utf-8")
    assert bundled.endswith(shown)


def functions_of(file: Path) -> set[str]:
    """The names of the tests in a file."""
    return set(re.findall(r"^def (test_\w+)", file.read_text(encoding="utf-8"), re.MULTILINE))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_tests_that_pages_name_exist(page: Path) -> None:
    """Every test file, and every test, that a page names is there."""
    text = page.read_text(encoding="utf-8")
    known = {name for file in (ROOT / "tests").glob("test_*.py") for name in functions_of(file)}
    for file, name in re.findall(r"`((?:cpp/)?tests/[\w/]+\.\w+)(?:::(\w+))?`", text):
        assert (ROOT / file).exists(), file
        assert not name or name in functions_of(ROOT / file), f"{file}::{name}"
    for name in re.findall(r"`(test_\w+)`", text):
        assert name in known, name


def test_every_row_of_the_paper_is_tested() -> None:
    """On the page about the paper, each row names a test, or says that the code is to come."""
    tables = [each for each in rows(ROOT / "docs" / "paper-to-code.md") if "tested by" in each[0]]
    assert len(tables) == 2
    for heading, *body in tables:
        at = heading.index("tested by")
        above = ""
        for row in body:
            assert all(row), row
            if row[1].startswith("not yet"):
                assert row[at] == "–", row
                assert row[1].removeprefix("not yet").strip(" :"), row
                continue
            if row[at].startswith("the same"):  # as the row above
                assert above, row
            else:
                above = row[at]
            assert "tests/" in above, row
