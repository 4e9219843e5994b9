"""The page of a report: template, style, script and data put together into one file."""

from __future__ import annotations

import base64
import hashlib
import json
from importlib.resources import files
from typing import Any

from coreplan.support.version import __version__
from coreplan.view.svg import one_line, safe

SCRIPTS = ("words", "courses", "chart", "path", "tables", "start")
"""The parts of the page's script, in the order in which they build on each other."""
MOST_TITLE = 200
"""Characters of a title that a browser's tab is given."""


def assemble(data: dict[str, Any]) -> str:
    """The page as text. It loads nothing, and the browser is told to forbid it."""
    style = _part("style.css")
    script = "".join(_part(f"script/{name}.js") for name in SCRIPTS)
    # One scope for all of them, and none of it outside.
    script = f'"use strict";\n(() => {{\n{script}}})();\n'
    policy = "; ".join(
        [
            "default-src 'none'",
            f"style-src '{_hash(style)}'",
            f"script-src '{_hash(script)}'",
            "base-uri 'none'",
            "form-action 'none'",
        ]
    )
    parts = {
        "policy": policy,
        "generator": f"coreplan {__version__}",
        "title": safe(one_line(data["title"])[:MOST_TITLE]),
        "style": style,
        "script": script,
        "data": as_script(data),
    }
    page = []
    # Each mark of the template once, from left to right: what is put in is not looked at again.
    rest = _part("template.html")
    for name in ("policy", "generator", "title", "style", "data", "script"):
        before, mark, rest = rest.partition("{" + name + "}")
        assert mark, name
        page += [before, parts[name]]
    return "".join([*page, rest])


def as_script(data: object) -> str:
    """JSON that can stand within a script element: ASCII, and nothing that ends the element."""
    text = json.dumps(data, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _part(name: str) -> str:
    assert __package__ is not None
    return (files(__package__) / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    """How a content security policy refers to a script or a style."""
    digest = hashlib.sha256(text.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"
