"""Tables for notebooks: right numbers, and every name shown as text."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import given

from coreplan import Contractor, MaintenanceProblem, Task, simulate, solve
from coreplan.solving.compile import AnyProblem
from helpers import from_file, random_mpp
from strategies import problem_dicts

ALLOWED = {"p", "b", "br", "bdi", "small", "table", "thead", "tbody", "tr", "th", "td"}


class Reader(HTMLParser):
    """The texts of all cells, and all tags with their attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Only plain tags, which nest."""
        assert tag in ALLOWED
        assert dict(attrs) in ({}, {"style": "text-align: left"})
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        """What was opened last is closed first."""
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        """Keep it."""
        self.texts.append(data)


def pages(problem: AnyProblem) -> list[list[str]]:
    """The texts of everything that has a table."""
    result = solve(problem)
    assert result.policy is not None
    shown = simulate(result.policy, 100, 1)
    made = (problem, result, result.policy, shown)
    return [Reader(each._repr_html_()).texts for each in made]  # type: ignore[attr-defined]


@given(problem_dicts(max_work=300))
def test_names_are_text(raw: dict[str, Any]) -> None:
    """Whatever names are, tables are well formed and show them."""
    problem = from_file(raw)
    texts = pages(problem)[0]
    for agent in raw["agents"]:
        if isinstance(problem, MaintenanceProblem) and not agent["tasks"]:
            continue
        assert agent["name"] in texts


@pytest.mark.parametrize(
    "name",
    [
        "<script>alert(1)</script>",
        '"><img src=x onerror=alert(1)>',
        "&amp;",
        "'",
        "שלום",
        "a" * 9999,
    ],
)
def test_hostile_names_are_text(name: str) -> None:
    """Tags, quotes and very long names are shown, never obeyed."""
    safe = name.replace("/", "-")
    problem = MaintenanceProblem((Contractor(safe, (Task(safe, 1, 1, revenue=2),)),), 2, name=name)
    for texts in pages(problem):
        assert any(text[:100] == name[:100] for text in texts)
        assert max(map(len, texts)) <= 200


def test_numbers_are_those_of_the_result() -> None:
    """The value, the bound and the course that is expected are in the tables."""
    problem = from_file(random_mpp(2, 2, 6))
    result = solve(problem)
    assert result.policy is not None
    texts = Reader(result._repr_html_()).texts
    assert f"{result.value:.10g}" in texts
    assert "optimal" in texts
    texts = Reader(result.policy._repr_html_()).texts
    for work in result.policy.schedule().works:
        assert f"{work.start} to {work.end - 1}" in texts


def test_long_tables_are_cut() -> None:
    """A problem with many tasks shows some of them, and says how many there are."""
    tasks = tuple(Task(f"w{k}", 1, 1) for k in range(60))
    text = MaintenanceProblem((Contractor("C", tasks),), 5)._repr_html_()
    assert text.count("<tr>") == 41
    assert "and 20 more" in text
