"""What README and docs show really works."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
NEED_EXTRAS = ["plots.md"]
"""Pages whose Python blocks need an optional dependency."""


def blocks(page: Path, language: str) -> list[str]:
    """The code blocks of one language on a page."""
    return re.findall(rf"```{language}\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)


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


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_run(page: Path, tmp_path: Path) -> None:
    """Every command that a page shows with a `$` ends well."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    for block in blocks(page, "console"):
        for line in block.splitlines():
            if not line.startswith("$ coreplan"):
                continue
            arguments = shlex.split(line.removeprefix("$ coreplan"))
            done = subprocess.run(
                [sys.executable, "-m", "coreplan.cli", *arguments],
                cwd=tmp_path,
                capture_output=True,
                text=True,
                check=False,
            )
            assert done.returncode == 0, f"{line}\n{done.stderr}"


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
