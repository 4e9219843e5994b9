"""SVG pictures: safe texts from any names, and a picture that notebooks show."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from html import escape
from pathlib import Path

from coreplan.files.writing import write_text

FONT_SIZE = 12.0
FONTS = "'DejaVu Sans', Verdana, 'Segoe UI', Helvetica, Arial, sans-serif"

# Characters that XML 1.0 forbids, and marks that change the direction of the text around them.
_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_TURNING = re.compile("[\u200e\u200f\u202a-\u202e\u2066-\u2069\u061c]")
_BREAKS = re.compile("[\t\n\r\x85\u2028\u2029]")
_NARROW = frozenset("iljIft.,:;|!'()[]{}/\\ ·’")
_WIDE = frozenset("mwMW@%&→∧…—")
_ISOLATE, _END_ISOLATE = "\u2068", "\u2069"


@dataclass(frozen=True)
class Drawing:
    """An SVG picture. Notebooks show it; :meth:`save` writes it to a file.

    Attributes
    ----------
    svg
        The picture as SVG text.
    """

    svg: str

    def _repr_svg_(self) -> str:
        return self.svg

    def save(self, path: str | Path) -> None:
        """Write the picture to a file, completely or not at all."""
        write_text(self.svg, path)

    def __str__(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        return f"<Drawing: {len(self.svg):,} characters of SVG>"


def text_width(text: str, size: float = FONT_SIZE) -> float:
    """The approximate width of a text in an unknown font."""
    return size * sum(map(_char_width, text))


def _char_width(char: str) -> float:
    if unicodedata.combining(char) or unicodedata.category(char) in ("Cf", "Mn", "Me"):
        return 0.0
    if unicodedata.east_asian_width(char) in "WF":
        return 1.05
    if char in _NARROW:
        return 0.38
    return 0.95 if char in _WIDE else 0.72 if char.isupper() else 0.63


def one_line(text: str) -> str:
    r"""Put a text on one line, without marks that change the direction of other text.

    Examples
    --------
    >>> one_line("two\nlines")
    'two↵lines'
    """
    return _TURNING.sub("\ufffd", _BREAKS.sub("↵", text))


def fit(text: str, width: float) -> str:
    """Cut a text to a width, with a mark at the cut.

    Examples
    --------
    >>> fit("short", 100), fit("much too long for this", 60)
    ('short', 'much t…')
    """
    text = one_line(text)
    if len(text) <= 60 and text_width(text) <= width:
        return text
    left = width - text_width("…")
    kept = 0
    for char in text[:59]:
        left -= text_width(char)
        if left < 0:
            break
        kept += 1
    return f"{text[:kept].rstrip()}…"


def isolated(text: str) -> str:
    """Isolate a text that runs from right to left, so that it does not move other text."""
    if any(unicodedata.bidirectional(char) in ("R", "AL", "AN") for char in text):
        return f"{_ISOLATE}{text}{_END_ISOLATE}"
    return text


def safe(text: str) -> str:
    """Escape a text for the content of an element."""
    return escape(_NOT_XML.sub("\ufffd", text), quote=False)


def attribute(text: str) -> str:
    """Escape and quote a text for an attribute."""
    from xml.sax.saxutils import quoteattr  # loads much of the network library

    return quoteattr(_NOT_XML.sub("\ufffd", text))


def stacked(*pictures: str) -> str:
    """Put pictures of this package below each other, as one picture."""
    sizes = []
    for picture in pictures:
        size = re.match(r'<svg [^>]*?width="([\d.]+)" height="([\d.]+)"', picture)
        if size is None:
            raise ValueError("the picture does not begin with its size")
        sizes.append((float(size[1]), float(size[2])))
    width, height = max(w for w, _ in sizes), sum(h for _, h in sizes)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{decimal(width)}" '
        f'height="{decimal(height)}" viewBox="0 0 {decimal(width)} {decimal(height)}">',
        f'<rect width="{decimal(width)}" height="{decimal(height)}" fill="white"/>',
    ]
    top = 0.0
    for picture, (_, own) in zip(pictures, sizes, strict=True):
        parts.append(picture.replace("<svg ", f'<svg y="{decimal(top)}" ', 1).rstrip())
        top += own
    return "\n".join([*parts, "</svg>\n"])


def decimal(number: float) -> str:
    """Write a coordinate, rounded to a tenth of a pixel.

    Examples
    --------
    >>> decimal(12.04), decimal(-0.01), decimal(-3.25)
    ('12', '0', '-3.2')
    """
    return f"{round(number, 1) + 0.0:.1f}".removesuffix(".0")
