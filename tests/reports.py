"""What the tests of reports share: hostile names, and what stands in a page."""

from __future__ import annotations

import itertools
import json
from html.parser import HTMLParser
from typing import Any

from coreplan import (
    Contractor,
    Delay,
    Hindrance,
    MaintenanceProblem,
    Policy,
    Task,
    make_report,
    solve,
)
from coreplan.view.report import Report

LONG = "L" * 10_000
HOSTILE = [
    "<script>alert('A')<b>",
    LONG,
    "שלום קבלן עבודות",
    "</script".replace("/", "\\"),
    "\"quotes\" & 'apostrophes' &lt;",
    "\u202eright to left",
    "line\nbreak\ttab\x01control\u2028",
    "<img src=x onerror=alert(1)>",
    "\ud800 alone",
    "<!--",
    "{data}{script}",
    "constructor",
]
TITLE = (
    "</script><script>alert(1)</script></title><style>*{display:none}</style>\" onload='x' מסילה"
)


def hostile_problem() -> MaintenanceProblem:
    """A problem whose names would do harm if they were not shown as text."""
    contractors = tuple(
        Contractor(
            name,
            (
                Task(name, 2, cost=3, revenue=30, delay=Delay(0.3, 2)),
                Task(f"{name}!", 1, cost=2, revenue=9),
            ),
        )
        for name in HOSTILE
    )
    network = tuple(
        Hindrance((f"{one}/{one}", f"{other}/{other}"), cost=9.5)
        for one, other in itertools.pairwise(HOSTILE[:4])
    )
    return MaintenanceProblem(contractors, 8, network, name=TITLE)


def report_of(problem: MaintenanceProblem, **options: Any) -> tuple[Policy, Report]:
    """The best plan and its report."""
    result = solve(problem)
    assert result.policy is not None
    return result.policy, make_report(result, **options)


def column_of(data: dict[str, Any], title: str) -> list[dict[str, Any]]:
    """The cells of a column of the table of works."""
    table = data["works_table"]
    [k] = [k for k, column in enumerate(table["columns"]) if column["title"] == title]
    return [row[k] for row in table["rows"]]


class Page(HTMLParser):
    """The elements of a page, and the text of its scripts and styles, as a browser has them."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, list[str]] = {}
        self._open: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note an element."""
        self.elements.append((tag, dict(attrs)))
        if tag not in ("meta", "link"):
            self._open.append(tag)
            self.texts.setdefault(tag, []).append("")

    def handle_endtag(self, tag: str) -> None:
        """Note an end."""
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        """Note a text."""
        if self._open:
            self.texts[self._open[-1]][-1] += data

    @property
    def data(self) -> Any:
        """What the page shows, without the translations for its scripts."""
        return {key: value for key, value in self._all.items() if key != "language"}

    @property
    def language(self) -> Any:
        """What the scripts need to write in the language of the page."""
        return self._all["language"]

    @property
    def _all(self) -> dict[str, Any]:
        parsed: dict[str, Any] = json.loads(self.texts["script"][0])
        return parsed

    def meta(self, name: str) -> str:
        """The content of a meta element."""
        [content] = [
            attributes["content"]
            for tag, attributes in self.elements
            if tag == "meta" and name in (attributes.get("name"), attributes.get("http-equiv"))
        ]
        assert content is not None
        return content
