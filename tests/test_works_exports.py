"""Exports of plans: their content, CSV, iCalendar, and what is refused."""

from __future__ import annotations

import csv
import datetime
import io
import re
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from coreplan import CoreplanError, FormatError, ModelError, Policy, read_problem, read_works, solve
from coreplan.analysis import execution_sequences
from coreplan.cli import example_path
from coreplan.domains.maintenance import export_plan
from coreplan.domains.maintenance.exports import FORMATS, write_export
from coreplan.domains.maintenance.exports.content import exported_plan
from coreplan.domains.maintenance.exports.icalendar import LONGEST_LINE, plan_icalendar
from coreplan.domains.maintenance.exports.table import notes_of
from coreplan.domains.maintenance.exports.works_csv import plan_csv
from coreplan.domains.maintenance.works.columns import WORKS, recognise
from coreplan.errors import SolverError
from coreplan.files.writing import to_csv
from coreplan.model.calendar import Calendar
from exported import DAYS, HOSTILE, MONDAY, STAMP, WEEKS, hostile_plan, later_plan, small_plan

FORMULA = re.compile(r"[\s\"']*[=+@\t\r-]")


def csv_rows(policy: Policy, calendar: Calendar | None = None, **more: Any) -> list[dict[str, str]]:
    """The rows of a plan as CSV, by title."""
    text = plan_csv(exported_plan(policy, calendar, **more)).decode("utf-8-sig")
    return list(csv.DictReader(io.StringIO(text, newline="")))


# -- content ---------------------------------------------------------------------------------------


def test_works_are_those_of_the_plan() -> None:
    """Starts and ends are those of the course without delays; chances those of all courses."""
    policy = small_plan()
    made = exported_plan(policy)
    course = {(each.contractor, each.task): each for each in policy.schedule().works}
    starts: dict[tuple[str, str], dict[int, float]] = {}
    for sequence, chance in execution_sequences(policy):
        for k, actions in enumerate(sequence.actions):
            for agent in policy.indexed.agents:
                task = agent.task_of(actions[agent.name])
                if task is not None:
                    mine = starts.setdefault((agent.name, task), {})
                    mine[k] = mine.get(k, 0.0) + chance
    for work in made.works:
        name = (work.contractor, work.task.name)
        planned = course[name]
        assert (work.start, work.end) == (planned.start, planned.end - 1)
        assert work.start_chance == pytest.approx(starts[name][planned.start])
        assert (work.times.first_start, work.times.last_start) == (
            min(starts[name]),
            max(starts[name]),
        )
    assert {work.task.name for work in made.works if work.times.last_end != work.end} >= {"a1"}


def test_costs_of_works_add_up_to_those_of_the_plan() -> None:
    """The expected costs of works, in whole cents, add up to what each contractor's works cost."""
    policy = solve(read_problem(example_path("ring_road.yaml"))).policy
    assert policy is not None
    made = exported_plan(policy)
    assert made.money is not None
    for contractor, total in zip(made.problem.contractors, made.money.works_of, strict=True):
        costs = [work.cost for work in made.of(contractor.name)]
        assert sum(round(100 * cost) for cost in costs if cost is not None) == round(100 * total)
    assert made.money.value == pytest.approx(policy.evaluate(), abs=0.005)


def test_likeliest_courses_stand_in_for_all() -> None:
    """If exact chances are out of reach, the likeliest courses give them, and the notes say so."""
    policy = small_plan()
    module = "coreplan.domains.maintenance.exports.content"
    with (
        mock.patch(f"{module}.timeline", side_effect=SolverError("out of reach")),
        mock.patch(f"{module}.MOST_SITUATIONS", 2),
    ):
        made = exported_plan(policy, WEEKS)
    assert made.money is None
    assert made.covered < 1
    assert all(work.cost is None for work in made.works)
    assert all("likeliest courses only" in made.notes(work)[-1] for work in made.works)
    assert [work.start for work in made.works] == [
        work.start for work in exported_plan(policy).works
    ]


def test_notes_name_delays_and_ranges() -> None:
    """Notes say how long a delay is, when the work can start, and its latest end."""
    made = exported_plan(small_plan(), WEEKS)
    notes = {work.task.name: made.notes(work) for work in made.works}
    assert notes["a1"][0] == "Can be delayed: 30 % chance of 2 weeks more."
    assert any(each.startswith("Ends on ") for each in notes["a1"])
    assert any(each.startswith("Expected cost: ") for each in notes["b1"])
    later = exported_plan(later_plan(), WEEKS)
    running = next(work for work in later.works if work.status == "running")
    assert later.notes(running)[0] == "Under way when this plan begins."


@pytest.mark.parametrize("name", FORMATS)
def test_refused_before_anything_is_written(name: str, tmp_path: Path) -> None:
    """A plan of another domain, and a result without a plan, are errors; no file is made."""
    robots = solve(read_problem(example_path("two_robots.yaml")))
    path = tmp_path / f"plan{name}"
    with mock.patch("importlib.util.find_spec", return_value=object()):
        with pytest.raises(ModelError, match="mpp/1"):
            export_plan(robots, path, calendar=WEEKS)
        with pytest.raises(ModelError, match="found no plan"):
            export_plan(None, path, calendar=WEEKS)  # type: ignore[arg-type]
    assert not list(tmp_path.iterdir())


def test_errors_say_what_to_do(tmp_path: Path) -> None:
    """An unknown ending lists the known ones; dates and extras that lack are named."""
    policy = small_plan()
    with pytest.raises(ModelError, match=r"found the ending '.doc'; expected one of .xlsx, .csv"):
        export_plan(policy, tmp_path / "plan.csv", tmp_path / "plan.doc")
    for ending in (".ics", ".xml"):
        with pytest.raises(ModelError, match=r"needs dates; give .*--start-date"):
            export_plan(policy, tmp_path / f"plan{ending}")
    with mock.patch("importlib.util.find_spec", return_value=None):
        for ending, extra in ((".xlsx", "excel"), (".png", "plot"), (".svg", "plot")):
            with pytest.raises(CoreplanError, match=rf"pip install 'coreplan\[{extra}\]'"):
                export_plan(policy, tmp_path / f"plan{ending}")
    with pytest.raises(ModelError, match="no work 'Alpha/a9'"):
        export_plan(policy, tmp_path / "plan.csv", details={"Alpha/a9": {"place": "A40"}})
    with pytest.raises(FormatError, match="cannot be written"):
        export_plan(policy, tmp_path / "nowhere" / "plan.csv")
    assert not list(tmp_path.iterdir())


def test_old_content_stays_if_an_export_fails(tmp_path: Path) -> None:
    """A file is replaced only by a complete one."""
    path = tmp_path / "plan.ics"
    path.write_text("old")
    far = Calendar(datetime.date(9999, 12, 1), "week")
    with pytest.raises(ModelError, match="after the year 9999"):
        export_plan(small_plan(), path, calendar=far)
    assert path.read_text() == "old"


# -- CSV -------------------------------------------------------------------------------------------


def test_csv_with_dates_and_with_steps() -> None:
    """With a calendar, starts and ends are first and last days; without one, numbers of steps."""
    policy = small_plan()
    course = {each.task: each for each in policy.schedule().works}
    for row, numbers in zip(csv_rows(policy, DAYS), csv_rows(policy), strict=True):
        work = course[row["work"]]
        assert row["planned start"] == DAYS.first_day(work.start).isoformat()
        assert row["planned end"] == DAYS.last_day(work.end - 1).isoformat()
        assert (numbers["planned start"], numbers["planned end"]) == (
            str(work.start),
            str(work.end - 1),
        )
    assert "duration (days)" in csv_rows(policy, DAYS)[0]
    assert "cost per step" in csv_rows(policy)[0]
    assert "status" not in csv_rows(policy)[0]


def test_csv_of_a_plan_from_a_later_step() -> None:
    """What is done has no plan; what runs has its end and the steps left, but no invented start."""
    rows = {row["work"]: row for row in csv_rows(later_plan(), WEEKS)}
    assert (rows["b1"]["status"], rows["b1"]["planned start"], rows["b1"]["expected cost"]) == (
        "done",
        "",
        "",
    )
    assert (rows["a1"]["status"], rows["a1"]["weeks left"]) == ("running", "1")
    assert (rows["a1"]["planned start"], rows["a1"]["planned end"]) == (
        "",
        WEEKS.last_day(3).isoformat(),
    )
    assert rows["a2"]["status"] == "not started"


@pytest.mark.parametrize("calendar", [None, WEEKS])
def test_an_exported_list_can_be_read_again(tmp_path: Path, calendar: Calendar | None) -> None:
    """Columns of works lists give the same works again; no other column looks like one."""
    policy = small_plan()
    rows = csv_rows(policy, calendar)
    inputs = ("contractor", "work", "duration", "delay", "cost per", "revenue", "earliest start")
    known = [title for title in rows[0] if title.startswith((*inputs, "latest start"))]
    known = [title for title in known if "with delays" not in title]
    keys = {recognise(title, WORKS) for title in known}
    assert None not in keys
    assert len(keys) == len(known) == 9
    path = tmp_path / "again.csv"
    path.write_text(to_csv([known, *([row[title] for title in known] for row in rows)]))
    dates = {} if calendar is None else {"start_date": MONDAY, "step": "week"}
    again = read_works(path, horizon=10, **dates).problem  # type: ignore[arg-type]
    assert again.contractors == policy.problem.contractors  # type: ignore[attr-defined]


def test_own_columns() -> None:
    """Columns of the user's own follow the plan, as they were given, and notes repeat them."""
    more = {
        "details": {
            "Alpha/a1": {"place": "A40, km 3", "budget code": 17, "Planned End": "before"},
            "Beta/b1": {"place": "=cmd"},
        }
    }
    rows = csv_rows(small_plan(), **more)
    titles = list(rows[0])
    assert "Planned End" not in titles  # of an earlier export: the new one has its own
    assert titles[titles.index("expected cost") + 1 :][:2] == ["place", "budget code"]
    assert [row["place"] for row in rows] == ["A40, km 3", "", "'=cmd"]
    assert [row["budget code"] for row in rows] == ["17", "", ""]
    made = exported_plan(small_plan(), **more)
    assert notes_of(made, made.works[0])[-2:] == ["place: A40, km 3.", "budget code: 17."]


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_no_formula_in_csv(separator: str) -> None:
    """Whatever separates cells for the reading program, no cell begins like a formula."""
    text = plan_csv(exported_plan(hostile_plan(), WEEKS)).decode("utf-8-sig")
    rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=separator))
    assert len(rows) == len(HOSTILE) + 1
    for row in rows:
        for cell in row:
            assert not FORMULA.match(cell) or cell.startswith("'"), cell
    assert not re.search("[\x00-\x09\x0b\x0c\x0e-\x1f]", text)


# -- iCalendar -------------------------------------------------------------------------------------

LINE = re.compile(r"[A-Z-]+(?:;[A-Z]+=[A-Z]+)*:[^\x00-\x08\x0a-\x1f\x7f]*")


def events(content: bytes) -> list[dict[str, str]]:
    """The events of an iCalendar file, after checks of its lines."""
    assert content.endswith(b"\r\n")
    pieces = content.decode().split("\r\n")[:-1]
    assert all(len(piece.encode()) <= LONGEST_LINE for piece in pieces)
    assert not any("\n" in piece or "\r" in piece for piece in pieces)
    lines: list[str] = []
    for piece in pieces:
        if piece.startswith(" "):
            lines[-1] += piece[1:]
        else:
            lines.append(piece)
    assert all(LINE.fullmatch(line) for line in lines)
    assert (lines[0], lines[1], lines[-1]) == ("BEGIN:VCALENDAR", "VERSION:2.0", "END:VCALENDAR")
    found: list[dict[str, str]] = []
    inside = False
    for line in lines[1:-1]:
        if line in ("BEGIN:VEVENT", "END:VEVENT"):
            assert inside == (line == "END:VEVENT")
            inside = not inside
            if inside:
                found.append({})
        elif inside:
            key, _, value = line.partition(":")
            assert key not in found[-1]
            found[-1][key] = value
    assert not inside
    return found


def unescaped(text: str) -> str:
    """A text without its escapes; every special character has to have one."""
    assert not re.search(r"(?<!\\)(?:\\\\)*[;,]", text)
    return re.sub(r"\\(.)", lambda each: {"n": "\n"}.get(each[1], each[1]), text)


@pytest.mark.parametrize("calendar", [WEEKS, DAYS])
def test_calendar_has_an_event_for_each_work(calendar: Calendar) -> None:
    """An event lasts from the first day of a work to the day after its last one."""
    policy = small_plan()
    made = events(plan_icalendar(exported_plan(policy, calendar), calendar, STAMP))
    by_name = {unescaped(each["SUMMARY"]): each for each in made}
    works = policy.schedule().works
    assert len(made) == len(works)
    for work in works:
        event = by_name[f"{work.task} ({work.contractor})"]
        assert event["DTSTART;VALUE=DATE"] == f"{calendar.first_day(work.start):%Y%m%d}"
        after = calendar.last_day(work.end - 1) + datetime.timedelta(1)
        assert event["DTEND;VALUE=DATE"] == f"{after:%Y%m%d}"
        assert event["DTSTAMP"] == "20260102T030405Z"
        assert event["CATEGORIES"] == work.contractor
        assert unescaped(event["DESCRIPTION"]).startswith(f"Contractor: {work.contractor}\n")


def test_identifiers_of_events_stay() -> None:
    """The same work has the same identifier in every export, and no other work has it."""
    first = events(plan_icalendar(exported_plan(small_plan(), WEEKS), WEEKS, STAMP))
    second = events(plan_icalendar(exported_plan(later_plan(), DAYS), DAYS, STAMP))
    names = {each["SUMMARY"]: each["UID"] for each in first}
    assert len(set(names.values())) == 3
    assert {each["SUMMARY"]: each["UID"] for each in second}.items() <= names.items()
    assert len(second) == 2  # b1 is done


def test_hostile_names_in_a_calendar() -> None:
    """No name adds lines or events, and long ones are folded between characters."""
    policy = hostile_plan()
    made = events(plan_icalendar(exported_plan(policy, WEEKS), WEEKS, STAMP))
    assert len(made) == len({each["UID"] for each in made}) == len(HOSTILE)
    shown = [unescaped(each["SUMMARY"]) for each in made]
    assert any("🚧👷🏽‍♀️ and ünïcödé" in each for each in shown)
    assert any("a BEGIN:VEVENT SUMMARY:false" in each for each in shown)


def test_moment_of_the_export(tmp_path: Path) -> None:
    """Without a given moment, all events have one, in UTC."""
    path = tmp_path / "plan.ics"
    write_export(exported_plan(small_plan(), WEEKS), path)
    stamps = {each["DTSTAMP"] for each in events(path.read_bytes())}
    assert len(stamps) == 1
    assert datetime.datetime.strptime(stamps.pop(), "%Y%m%dT%H%M%SZ").year > 2025
