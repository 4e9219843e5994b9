"""Tables of pages in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator


def safe(text: str) -> str:
    """A text with all characters escaped that would end its cell or line.

    Examples
    --------
    >>> print(safe("a <b>"))
    a &lt;b>
    """
    plain = " ".join(text.split())
    return plain.replace("|", "\\|").replace("<", "&lt;")


def table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> Iterator[str]:
    """The lines of a table; an empty cell has a dash.

    Examples
    --------
    >>> list(table(["a", "b"], [["1", ""]]))
    ['| a | b |', '| --- | --- |', '| 1 | – |']
    """
    heads = list(heads)
    yield f"| {' | '.join(map(safe, heads))} |"
    yield f"| {' | '.join('---' for _ in heads)} |"
    for cells in rows:
        yield f"| {' | '.join(safe(cell) or '–' for cell in cells)} |"
