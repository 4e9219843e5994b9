"""The page of a report: template, style, script and data put together into one file."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from importlib.resources import files
from typing import Any

from coreplan.support.version import __version__
from coreplan.view.svg import one_line, safe

MOST_TITLE = 200
"""Characters of a title that a browser's tab is given."""


def assemble(
    body: str, title: str, data: dict[str, Any] | None = None, scripts: Sequence[str] = ()
) -> str:
    """The page as text. It loads nothing, and the browser is told to forbid it.

    Parameters
    ----------
    body
        What stands in the page.
    title
        What the browser's tab is called.
    data
        What the scripts show.
    scripts
        Parts of the page's script, in the order in which they build on each other.
    """
    style = part(__package__, "style.css")
    rules = ["default-src 'none'", f"style-src '{_hash(style)}'"]
    if scripts:
        # One scope for all of them, and none of it outside.
        script = f'"use strict";\n(() => {{\n{"".join(scripts)}}})();\n'
        rules.append(f"script-src '{_hash(script)}'")
        body += (
            f'<script type="application/json" id="data">{as_script(data)}</script>\n'
            f"<script>{script}</script>\n"
        )
    parts = {
        "policy": "; ".join([*rules, "base-uri 'none'", "form-action 'none'"]),
        "generator": f"coreplan {__version__}",
        "title": safe(one_line(title)[:MOST_TITLE]),
        "style": style,
        "body": body,
    }
    page = []
    # Each mark of the page once, from left to right: what is put in is not looked at again.
    rest = part(__package__, "page.html")
    for name, text in parts.items():
        before, mark, rest = rest.partition("{" + name + "}")
        assert mark, name
        page += [before, text]
    return "".join([*page, rest])


def as_script(data: object) -> str:
    """JSON that can stand within a script element: ASCII, and nothing that ends the element."""
    text = json.dumps(data, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def part(package: str | None, name: str) -> str:
    """A text file that belongs to a package."""
    assert package is not None
    return (files(package) / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    """How a content security policy refers to a script or a style."""
    digest = hashlib.sha256(text.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"
