"""What the pages of the docs contain: code blocks, commands and tables."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks(page: Path, language: str) -> list[str]:
    """The code blocks of one language on a page."""
    return re.findall(rf"```{language}\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)


def commands(page: Path) -> list[str]:
    """The commands that a page shows with a `$`; a backslash continues a line."""
    lines = "\n".join(blocks(page, "console")).replace("\\\n", " ").splitlines()
    return [line.removeprefix("$ ") for line in lines if line.startswith("$ coreplan")]


def rows(page: Path) -> list[list[list[str]]]:
    """The tables of a page: their rows, the heading first, as cells."""
    found: list[list[list[str]]] = []
    inside = False
    for line in page.read_text(encoding="utf-8").splitlines():
        if not line.startswith("|"):
            inside = False
            continue
        if not inside:
            found.append([])
            inside = True
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if not all(set(cell) <= set("-: ") and cell for cell in cells):
            found[-1].append(cells)
    return found


def tables(page: Path) -> list[dict[str, str]]:
    """The tables of a page as the second cell by the first one."""
    return [{row[0]: row[1] for row in table[1:]} for table in rows(page)]
