"""Dates as people write them, in three languages, week numbers, and the order of day and month."""

from __future__ import annotations

import datetime
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coreplan import Calendar, ModelError
from coreplan.model.dated_steps import DatedSteps, is_dated
from coreplan.model.dates import (
    DateStyle,
    Order,
    find_order,
    is_ambiguous,
    order_shown_by,
    parse_date,
    parse_days,
)

DAY = datetime.date
DAYS = st.dates(DAY(1900, 1, 1), DAY(2200, 1, 1))
MONTHS = {
    "en": "January February March April May June July August September October November December",
    "nl": "januari februari maart april mei juni juli augustus september oktober november december",
    "de": "Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
}
SHORT = {
    "en": "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec",
    "nl": "jan feb mrt apr mei jun jul aug sep okt nov dec",
    "de": "Jan. Feb. Mär. Apr. Mai Jun. Jul. Aug. Sept. Okt. Nov. Dez.",
}


@given(DAYS, st.sampled_from([*MONTHS.values(), *SHORT.values()]), st.sampled_from(["", "."]))
def test_month_names_in_three_languages(day: DAY, names: str, dot: str) -> None:
    """Month names in English, Dutch and German are read, long and short."""
    name = names.split()[day.month - 1]
    assert parse_date(f"{day.day}{dot} {name} {day.year}") == day
    assert parse_date(f"{day.day:02}-{name.upper()}-{day.year}") == day
    if not dot:
        assert parse_date(f"{name} {day.day}, {day.year}") == day


@given(DAYS)
def test_the_order_decides_ambiguous_dates(day: DAY) -> None:
    """With an order, numbers are read in this order; without one only clear dates are read."""
    dmy, mdy = f"{day.day}-{day.month}-{day.year}", f"{day.month:02}/{day.day:02}/{day.year}"
    assert parse_date(dmy, DateStyle("dmy")) == parse_date(mdy, DateStyle("mdy")) == day
    assert is_ambiguous(dmy) == is_ambiguous(mdy) == (day.day <= 12 and day.day != day.month)
    if is_ambiguous(dmy):
        with pytest.raises(ModelError, match=f"write .*{day.isoformat()}.*--dates dmy"):
            parse_date(dmy)
    else:
        assert parse_date(dmy) == parse_date(mdy) == day


def test_a_date_that_shows_its_order() -> None:
    """13-4-2026 has the day first, 4/13/2026 the month; dots always have the day first."""
    assert [order_shown_by(each) for each in ("13-4-2026", "4/13/2026", "13.4.2026")] == [
        "dmy",
        "mdy",
        "dmy",
    ]
    assert [order_shown_by(each) for each in ("4-4-2026", "4.13.2026", "32-1-2026", "x")] == [
        None,
        None,
        None,
        None,
    ]
    assert find_order(["6-4-2026", "13-4-2026"]) == Order("dmy", "13-4-2026")
    assert find_order(["13-4-2026", "4/13/2026"]) == Order(None, "13-4-2026", "4/13/2026")
    with pytest.raises(ModelError, match=r"--dates mdy.; write 2026-04-13"):
        parse_date("13-4-2026", DateStyle("mdy"))


@given(DAYS)
def test_weeks_are_their_monday(day: DAY) -> None:
    """A week number in any notation is the Monday of this week, by the ISO calendar."""
    year, week, weekday = day.isocalendar()
    monday = day - datetime.timedelta(weekday - 1)
    for text in (
        f"{year}-W{week:02}",
        f"{year}W{week:02}",
        f"W{week} {year}",
        f"wk {week} {year}",
        f"wk{week}-{year}",
        f"Week {week}, {year}",
        f"KW {week}/{year}",
        f"{year} week {week}",
    ):
        assert parse_days(text) == (monday, monday + datetime.timedelta(6))


@given(DAYS, st.integers(1, 52))
def test_weeks_without_a_year_follow_the_start(start: DAY, week: int) -> None:
    """A week number without a year is the next such week that ends on the start or later."""
    days = parse_days(f"wk {week}", DateStyle(None, start))
    assert days.first >= start and days.last.isocalendar()[1] == week
    assert days.last.isoweekday() == 7 and (days.last - start).days <= 53 * 7
    assert days.first == start or days.first.isoweekday() == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("wk 54", "a year has no week 54"),
        ("KW 0", "a year has no week 0"),
        ("2026-W54", "2026 has no week 54"),
        ("1 brumaire 2026", "is not a valid date"),
        ("31 april 2026", "is not a valid date"),
        ("1 mei", "has no year"),
        ("6/4", "has no year"),
        ("6/4/26", "has a year of two digits"),
        ("13/13/2026", "is not a valid date"),
        ("0-4-2026", "is not a valid date"),
        ("week", "is not a date"),
        ("9" * 100, "is not a date"),
    ],
)
def test_what_is_no_date(text: str, said: str) -> None:
    """What is no date or week is refused, with the reason."""
    with pytest.raises(ModelError, match=re.escape(said)):
        parse_date(text, DateStyle("dmy", DAY(2026, 3, 2)))


@given(st.text(max_size=40) | st.from_regex(r"[0-9wWk .,/-]{1,20}", fullmatch=True))
def test_any_text_is_a_date_or_an_error(text: str) -> None:
    """No text ends in another exception than a ModelError."""
    for style in (
        DateStyle(),
        DateStyle("dmy", DAY(9990, 1, 1)),
        DateStyle("mdy", DAY(2026, 1, 1)),
    ):
        try:
            days = parse_days(text, style)
        except ModelError:
            continue
        assert days.first <= days.last


def test_steps_by_date() -> None:
    """A date stands for the step that contains it; the user is told where that is not obvious."""
    steps = DatedSteps(Calendar(DAY(2026, 3, 2), "week"))
    assert [steps.read(each) for each in ("2026-03-02", "wk 12", "2026-03-16")] == [0, 2, 2]
    assert steps.read("22.3.2026", last=True) == steps.read("wk 12", last=True) == 2
    assert steps.notes() == []
    assert steps.read("2026-03-18") == 2
    assert steps.notes() == [
        "a date that is not the first day of a week stands for its week: 18 Mar 2026 for 16 Mar – "
        "22 Mar 2026"
    ]
    with pytest.raises(ModelError, match="before the first day of the plan, 2 Mar 2026"):
        steps.read("2026-03-01")
    with pytest.raises(ModelError, match="the first day of step 0 is not known"):
        DatedSteps(None).read("wk 12")


def test_the_dates_of_a_file_decide_together() -> None:
    """One date that shows the order decides for the file, and the user is told."""
    steps = DatedSteps(Calendar(DAY(2026, 3, 2), "day"))
    steps.decide(["06-04-2026", 3, "13-04-2026", None])
    assert steps.read("06-04-2026") == 35
    (note,) = steps.notes()
    assert note == (
        "dates are read with the day first (as '13-04-2026' shows): '06-04-2026' is 6 Apr 2026"
    )
    assert [is_dated(each) for each in ("wk 1", "1.4.2026", "1", "1.5", "-2", "", 3)] == [
        True,
        True,
        False,
        False,
        False,
        False,
        False,
    ]
