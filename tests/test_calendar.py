"""Calendars: dates of steps, dates as people write them, and the format calendar/1."""

from __future__ import annotations

import datetime
from pathlib import Path

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coreplan import FormatError, ModelError
from coreplan.cli.shared import find_calendar
from coreplan.domains.maintenance.formats.calendar import (
    calendar_path,
    read_calendar,
    write_calendar,
)
from coreplan.model.calendar import Calendar
from coreplan.model.dates import parse_date, write_date

MONDAY = datetime.date(2026, 3, 2)
DAYS = st.dates(datetime.date(1900, 1, 1), datetime.date(2200, 1, 1))
CALENDARS = st.builds(Calendar, DAYS, st.sampled_from(["day", "week"]))


@given(CALENDARS, st.integers(0, 2000))
def test_every_day_of_a_step_is_in_that_step(calendar: Calendar, stage: int) -> None:
    """First and last day of a step are in it, and the day after is in the next one."""
    first, last = calendar.first_day(stage), calendar.last_day(stage)
    assert (last - first).days + 1 == calendar.days
    assert calendar.stage_of(first) == calendar.stage_of(last) == stage
    assert last + datetime.timedelta(1) == calendar.first_day(stage + 1)
    assert calendar.stage_of(calendar.start - datetime.timedelta(1)) == -1


def test_labels() -> None:
    """Labels are dates that people can read, with as many years as are needed."""
    weeks, days = Calendar(MONDAY, "week"), Calendar(MONDAY, "day")
    assert weeks.label(0) == days.label(0) == "2 Mar 2026"
    assert weeks.label(1) == "9 Mar 2026"
    assert weeks.short_label(1) == "9 Mar"
    assert weeks.range_label(0, 0) == "2 Mar – 8 Mar 2026"
    assert weeks.range_label(0, 1) == "2 Mar – 15 Mar 2026"
    assert weeks.range_label(40, 44) == "7 Dec 2026 – 10 Jan 2027"
    assert days.range_label(3, 3) == "5 Mar 2026"
    assert (weeks.steps(1), days.steps(2)) == ("1 week", "2 days")


@given(DAYS)
def test_dates_as_people_write_them(day: datetime.date) -> None:
    """ISO dates, dates with dots and dates with the month's name are read back as they are."""
    dotted = f"{day.day}.{day.month}.{day.year}"
    padded = f" {day.day:02}.{day.month:02}.{day.year} "
    for text in (day.isoformat(), f"{day.isoformat()} 00:00:00", dotted, padded, write_date(day)):
        assert parse_date(text) == day
    assert parse_date(f"{day.day} {day.strftime('%B')} {day.year}") == day


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("2/3/2026", "could be 2 Mar 2026 or 3 Feb 2026; write 2026-03-02 or 2026-02-03"),
        ("02-03-2026", "--dates dmy .the day. or --dates mdy .the month."),
        ("2026-02-30", "is not a valid date"),
        ("31.4.2026", "is not a valid date"),
        ("2 Foo 2026", "is not a valid date"),
        ("6-4-26", "has a year of two digits"),
        ("6 april", "has no year"),
        ("wk 14", "has no year; write the week with its year: 2026-W14"),
        ("wk 54 2026", "2026 has no week 54"),
        ("2025-W53", "2025 has no week 53"),
        ("soon", "is not a date; expected one like 2026-03-02"),
        ("", "is not a date; expected one like 2026-03-02"),
        ("2026-03-02 12:30", "is not a date; expected one like 2026-03-02"),
    ],
)
def test_what_is_no_date(text: str, said: str) -> None:
    """What could be two dates, or none, is refused."""
    with pytest.raises(ModelError, match=said):
        parse_date(text)


def test_calendars_that_make_no_sense() -> None:
    """A start that is no date, an unknown step, and steps after the year 9999 are errors."""
    with pytest.raises(ModelError, match="did you mean 'week'"):
        Calendar(MONDAY, "weeks")
    with pytest.raises(ModelError, match="expected the first day"):
        Calendar("2026-03-02")  # type: ignore[arg-type]
    with pytest.raises(ModelError, match="9999"):
        Calendar(datetime.date(9999, 12, 30)).last_day(0)


@given(CALENDARS)
def test_files(tmp_path_factory: pytest.TempPathFactory, calendar: Calendar) -> None:
    """A calendar that is written is read back, in YAML and JSON, and says its file."""
    folder = tmp_path_factory.mktemp("calendars")
    for name in ("a.calendar.yaml", "a.calendar.json"):
        write_calendar(calendar, folder / name)
        back = read_calendar(folder / name)
        assert back == calendar
        assert back.source == str(folder / name)


def test_wrong_files(tmp_path: Path) -> None:
    """All that is wrong with a file is said, by line."""
    path = tmp_path / "x.calendar.yaml"
    path.write_text("format: calendar/1\nstart: 2/3/2026\nstep: month\nend: 1\n")
    with pytest.raises(FormatError) as caught:
        read_calendar(path)
    lines = str(caught.value).splitlines()
    assert [line.removeprefix(f"{path}:").split(":")[0] for line in lines] == ["2", "3", "4"]


def test_closed_periods_in_files(tmp_path: Path) -> None:
    """Closed periods are read with dates and weeks, and written back as dates."""
    path = tmp_path / "x.calendar.yaml"
    path.write_text(
        "format: calendar/1\nstart: 2 mrt 2026\nclosed:\n"
        "  - {name: holiday, from: wk 52, to: wk 1}\n"
        "  - {from: 06-04-2026, no: start}\n"
        "  - {from: 14-05-2026, to: 15-05-2026, no: work}\n",
        encoding="utf-8",
    )
    calendar = read_calendar(path)
    days = [(each.first.isoformat(), each.last.isoformat(), each.no) for each in calendar.closed]
    assert days == [
        ("2026-12-21", "2027-01-10", "work"),
        ("2026-04-06", "2026-04-06", "start"),
        ("2026-05-14", "2026-05-15", "work"),
    ]
    write_calendar(calendar, path)
    assert read_calendar(path) == calendar


def test_wrong_closed_periods(tmp_path: Path) -> None:
    """All that is wrong with closed periods is said, by line."""
    path = tmp_path / "x.calendar.yaml"
    path.write_text(
        "format: calendar/1\nstart: 2026-03-02\nclosed:\n"
        "  - {from: 2026-03-05, to: 2026-03-04}\n"
        "  - {to: 2026-03-04}\n"
        "  - {from: 06-04-2026}\n"
        "  - {from: 2026-03-05, no: works}\n"
        "  - {from: 2026-03-05, until: 2026-03-06}\n"
        "  - {from: 2026-03-05, name: 3}\n"
        "  - 2026-03-05\n",
        encoding="utf-8",
    )
    with pytest.raises(FormatError) as caught:
        read_calendar(path)
    lines = [line.removeprefix(f"{path}:").split(":")[0] for line in str(caught.value).splitlines()]
    assert lines == ["4", "5", "6", "7", "8", "9", "10"]
    path.write_text("format: calendar/1\nstart: 2026-03-02\nclosed: {from: 1}\n", "utf-8")
    with pytest.raises(FormatError, match="expected the closed periods, a list"):
        read_calendar(path)


def test_finding_calendars(tmp_path: Path) -> None:
    """The calendar beside a file is found; options are stronger than it; a step needs a start."""
    problem = tmp_path / "works.v2.yaml"
    tuesday = datetime.date(2026, 3, 3)
    assert find_calendar(str(problem), None, None) is None
    assert find_calendar("-", None, None) is None
    assert find_calendar(str(problem), tuesday, None) == Calendar(tuesday, "week")
    with pytest.raises(click.UsageError, match="--start-date"):
        find_calendar(str(problem), None, "day")
    write_calendar(Calendar(MONDAY, "day"), calendar_path(problem))
    assert (tmp_path / "works.v2.calendar.yaml").is_file()
    assert find_calendar(str(problem), None, None) == Calendar(MONDAY, "day")
    assert find_calendar(str(problem), None, "week") == Calendar(MONDAY, "week")
    assert find_calendar(str(problem), tuesday, None) == Calendar(tuesday, "day")
    assert find_calendar(str(problem), tuesday, "week") == Calendar(tuesday, "week")
