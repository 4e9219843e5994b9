"""The chart of a plan in a terminal: what it shows is what the timeline says, and it fits."""

from __future__ import annotations

import datetime
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from rich.cells import cell_len

from coreplan import Calendar, Contractor, Task, solve
from coreplan.domains.maintenance import Closure
from coreplan.domains.maintenance.problem import MaintenanceProblem
from coreplan.domains.maintenance.timeline import Timeline, timeline
from coreplan.domains.maintenance.view.gantt_text import BLOCKS, PLAIN, Marks, gantt, marks_for
from coreplan.view.words import when
from helpers import from_file
from strategies import mpp_dicts

MONDAY = datetime.date(2026, 3, 2)


def drawn(
    raw: dict[str, Any], width: int, marks: Marks = BLOCKS, calendar: Calendar | None = None
) -> tuple[Timeline, list[str]]:
    """The timeline of an optimal plan, and its chart."""
    problem = from_file(raw)
    assert isinstance(problem, MaintenanceProblem)
    policy = solve(problem).policy
    assert policy is not None
    made = timeline(policy)
    names = [contractor.name for contractor in problem.contractors]
    lines = gantt(made.works, names, policy.stage, policy.horizon, width, marks, calendar)
    return made, [line.plain for line in lines]


def bars(lines: list[str], marks: Marks) -> list[str]:
    """The rows of the chart, without names and words; the chart must have no other such marks."""
    allowed = {marks.sure, *marks.chances, marks.extra, marks.idle}
    rows = []
    for line in lines[1:-1]:
        for word in line.split(" "):
            if len(word) > 3 and set(word) <= allowed:
                rows.append(word)
    return rows


PLAN: dict[str, Any] = {
    "format": "mpp/1",
    "horizon": 10,
    "must_complete": True,
    "agents": [
        {
            "name": "Alpha",
            "tasks": [
                {
                    "name": "first",
                    "duration": 2,
                    "cost": 1,
                    "delay": {"probability": 0.3, "duration": 2},
                    "window": [0, 0],
                },
                {"name": "second", "duration": 1, "cost": [9, 9, 1, 2, 3, 4, 5, 6, 7, 8]},
            ],
        },
        {"name": "Beta", "tasks": []},
    ],
}


@pytest.mark.parametrize(("marks", "expected"), [(BLOCKS, "█░·▆▃"), (PLAIN, "#~.73")])
def test_a_chart(marks: Marks, expected: str) -> None:
    """Certain work, work only if delayed, chances and idle steps have marks of their own."""
    sure, extra, idle, likely, unlikely = expected
    _, lines = drawn(PLAN, 24, marks)
    assert lines[0].split() == ["step", "0", "2", "4", "6", "8"]
    assert lines[1] == "Alpha"
    # Steps are two characters wide. No room is left beside them: starts come below.
    assert lines[2].split()[1] == 4 * sure + 4 * extra + 12 * idle
    assert lines[3] == "      step 0, delay 30 %"
    assert lines[4].split()[1] == 4 * idle + 2 * likely + 2 * idle + 2 * unlikely + 10 * idle
    assert lines[5] == "      steps 2 to 4"
    assert lines[6:8] == ["Beta", "  no works"]
    assert all(mark in " ".join(lines[8:]) for mark in (sure, extra))


def test_a_chart_with_words_and_dates() -> None:
    """Where there is room, steps are wider and words stand beside; dates where there are."""
    _, lines = drawn(PLAN, 100, BLOCKS, Calendar(MONDAY, "week"))
    assert lines[0].split()[:4] == ["from", "2", "Mar", "16"]
    assert "████████░░░░░░░░" in lines[2]
    assert lines[2].endswith("2 Mar 2026, delay 30 %")
    assert lines[3].endswith("16 Mar to 30 Mar 2026")
    _, lines = drawn(PLAN, 100)
    assert lines[3].endswith("steps 2 to 4")


def mark_of(planned: float, extra: float, marks: Marks) -> str:
    """The mark of a step, in the test's own words."""
    if planned == 0:
        return marks.extra if extra > 0 else marks.idle
    if planned + extra > 1 - 1e-9:
        return marks.sure
    if marks is PLAIN:
        return str(min(9, max(1, round((planned + extra) * 10))))
    return marks.chances[min(6, int((planned + extra) * 8))]


@given(raw=mpp_dicts(), width=st.integers(10, 30), plain=st.booleans(), dates=st.booleans())
def test_every_mark_is_what_the_timeline_says(
    raw: dict[str, Any], width: int, plain: bool, dates: bool
) -> None:
    """Each step of each work has the mark of its chances, in steps of one width."""
    marks = PLAIN if plain else BLOCKS
    # A blank name would look like the lines of starts below a row.
    assume(all(task["name"].strip() for agent in raw["agents"] for task in agent["tasks"]))
    made, lines = drawn(raw, width, marks, Calendar(MONDAY) if dates else None)
    rows = [line for line in lines[1:-1] if line[:2] == "  " and line != "  no works"]
    if "starts" in lines[0]:
        rows = [line.rsplit("  ", 1)[0] for line in rows]
    else:
        rows = [line for line in rows if line[:6] != 6 * " "]
    for line, work in zip(rows, made.works, strict=True):
        each, rest = divmod(len(line.split(" ")[-1]), made.horizon)
        assert (each > 0, rest) == (True, 0)
        steps = zip(work.planned, work.extra, strict=True)
        expected = "".join(each * mark_of(*chances, marks) for chances in steps)
        assert line.endswith(f" {expected}")


@given(raw=mpp_dicts(), width=st.integers(34, 130))
def test_charts_fit(raw: dict[str, Any], width: int) -> None:
    """No line of a chart is wider than allowed, whatever the names, and no start is left out."""
    for calendar in (None, Calendar(MONDAY)):
        made, lines = drawn(raw, width, BLOCKS, calendar)
        assert all(cell_len(line) <= width for line in lines[:-1])
        text = " ".join(" ".join(lines).split())
        for work in made.works:
            if work.first_start is not None:
                assert when(work.last_start or 0, calendar).removeprefix("step ") in text


def test_long_plans_are_compressed() -> None:
    """Steps that do not fit are taken together, and the legend says how many."""
    raw = {**PLAN, "horizon": 200, "agents": [PLAN["agents"][0]]}
    raw["agents"] = [{"name": "A", "tasks": [{**PLAN["agents"][0]["tasks"][0]}]}]
    _, lines = drawn(raw, 60)
    assert all(len(line) <= 60 for line in lines[:-1])
    [bar] = bars(lines, BLOCKS)
    each = -(-200 // len(bar))
    assert f"one column: {each} steps" in lines[-1]
    assert bar.startswith("█")
    assert set(bar[2:]) == {"·"}


def test_names_of_all_kinds() -> None:
    """Long, wide and unprintable names neither break the chart nor reach the terminal."""
    raw = {**PLAN, "agents": [{**PLAN["agents"][0], "name": "\x1b[31mA\nB" + "x" * 500}]}
    raw["agents"][0]["tasks"] = [
        {"name": name, "duration": 1, "cost": 1} for name in ("橋" * 60, "\x07bell", "y" * 10_000)
    ]
    _, lines = drawn(raw, 45)
    assert all(cell_len(line) <= 45 for line in lines[:-1])
    assert not any(ord(each) < 32 for line in lines for each in line)
    assert len({cell_len(line) for line in lines[2:5]}) == 1


def test_marks_for_terminals() -> None:
    """Blocks are for terminals that can show them."""
    assert marks_for("utf-8") is BLOCKS
    for encoding in ("ascii", "latin-1", "cp1252", None, "no such encoding"):
        assert marks_for(encoding) is PLAIN


def test_closed_steps_are_marked() -> None:
    """Steps without work in closed periods have their own marks, which the legend explains."""
    task = Task("a1", 1, cost=[1, 0, 1, 1, 1])
    closed = (Closure(2, 2), Closure(3, 3, "start"))
    problem = MaintenanceProblem((Contractor("Alpha", (task,)),), 5, (), True, "x", closed)
    policy = solve(problem).policy
    for marks in (BLOCKS, PLAIN):
        *_, row, legend = gantt(
            timeline(policy).works, ["Alpha"], 0, 5, 80, marks, None, problem.closed
        )
        chart = row.plain.split()[1]
        cells = [chart[4 * step] for step in range(5)]
        idle = marks.idle
        assert cells == [idle, marks.sure, marks.closed, marks.no_start, idle]
        assert f"{marks.closed} closed; {marks.no_start} no start" in legend.plain
