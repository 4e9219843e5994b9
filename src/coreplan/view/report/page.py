"""Assembling a report's page from template, style, scripts and data."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from importlib.resources import files
from typing import Any

from coreplan.support.language import around_money, current_speech, local_number
from coreplan.support.language.scripts import fill_template, page_catalogue
from coreplan.support.version import __version__
from coreplan.view.svg import one_line, safe

MOST_TITLE = 200
"""The most characters of a title in the browser's tab."""


def assemble(
    body: str, title: str, data: dict[str, Any] | None = None, scripts: Sequence[str] = ()
) -> str:
    """Write the page. It loads nothing, and a content security policy forbids loading.

    Parameters
    ----------
    body
        The body of the page.
    title
        The title in the browser's tab.
    data
        The data for the scripts.
    scripts
        Parts of the page's script; each one may use those before it.
    """
    style = part(__package__, "style.css")
    rules = ["default-src 'none'", f"style-src '{_hash(style)}'"]
    if scripts:
        # One scope for all parts, so that no name becomes global.
        read = 'const data = JSON.parse(document.getElementById("data").textContent);\n'
        parts_of_script = [read, part(__package__, "say.js"), *scripts]
        script = f'"use strict";\n(() => {{\n{"".join(parts_of_script)}}})();\n'
        data = (data or {}) | {"language": _language(scripts)}
        rules.append(f"script-src '{_hash(script)}'")
        body += (
            f'<script type="application/json" id="data">{as_script(data)}</script>\n'
            f"<script>{script}</script>\n"
        )
    parts = {
        "language": current_speech().language,
        "policy": "; ".join([*rules, "base-uri 'none'", "form-action 'none'"]),
        "generator": f"coreplan {__version__}",
        "title": safe(one_line(title)[:MOST_TITLE]),
        "style": style,
        "body": body,
    }
    page = []
    # Fill in marks from left to right, once each: a mark in a filled-in text is no mark.
    rest = part(__package__, "page.html")
    for name, text in parts.items():
        before, mark, rest = rest.partition("{" + name + "}")
        assert mark, name
        page += [before, text]
    return "".join([*page, rest])


def _language(scripts: Sequence[str]) -> dict[str, Any]:
    """What the scripts need to write in the present language and currency."""
    return {
        "marks": {mark: local_number(mark) for mark in (".", ",")},
        "money": [list(around_money(negative=negative)) for negative in (False, True)],
        **page_catalogue(scripts),
    }


def as_script(data: object) -> str:
    """Write JSON for a script element: in ASCII, without characters that could end the element."""
    text = json.dumps(data, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def part(package: str | None, name: str) -> str:
    """Read a text file of a package; templates in the present language."""
    assert package is not None
    text = (files(package) / name).read_text(encoding="utf-8")
    return fill_template(text) if name.endswith(".html") else text


def _hash(text: str) -> str:
    """The hash of a script or style for a content security policy."""
    digest = hashlib.sha256(text.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"
