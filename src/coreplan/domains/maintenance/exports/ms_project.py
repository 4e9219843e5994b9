"""A plan as an XML file of Microsoft Project, which ProjectLibre opens too.

The file follows the schema of http://schemas.microsoft.com/project. All days of its calendar are
working days of eight hours: works then last from the first day of their first step to the last day
of their last step in every program that computes the dates again.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from coreplan.domains.maintenance.exports.content import ExportedPlan, ExportedWork
from coreplan.domains.maintenance.exports.table import notes_of
from coreplan.domains.maintenance.exports.texts import cut, plain
from coreplan.model.calendar import Calendar
from coreplan.support.language import around_money, current_speech
from coreplan.view.svg import safe

NAMESPACE = "http://schemas.microsoft.com/project"
NO_CURRENCY = "EUR"
"""The schema requires a currency; without one, amounts are shown without a sign."""
LONGEST_NAME, LONGEST_PROJECT_NAME = 512, 255
HOURS = 8
"""The hours of work of a day."""
_SHIFTS = (("08:00:00", "12:00:00"), ("13:00:00", "17:00:00"))
_BEGIN, _END = _SHIFTS[0][0], _SHIFTS[-1][1]
_DURATION_FORMATS = {"day": 7, "week": 9}
_NOTHING = "PT0H0M0S"
_FIXED_DURATION, _START_NO_EARLIER_THAN, _PRORATED = 1, 4, 2

Element = tuple[str, Any]
"""The name of an element, with its text or the list of its parts."""


def plan_ms_project(plan: ExportedPlan, calendar: Calendar) -> bytes:
    """The planned works as tasks, those of a contractor below a summary task with its name."""
    tasks, assignments = _tasks_and_assignments(plan, calendar)
    resources = [
        _resource(number, contractor.name)
        for number, contractor in enumerate(plan.problem.contractors, 1)
    ]
    calendars = [_base_calendar(), *(_own_calendar(resource) for resource in resources)]
    project = [
        ("SaveVersion", 12),
        ("Name", cut(plan.name, LONGEST_PROJECT_NAME)),
        ("Title", cut(plan.name, LONGEST_NAME)),
        ("ScheduleFromStart", 1),
        ("StartDate", f"{calendar.first_day(plan.stage)}T{_BEGIN}"),
        ("CurrencyDigits", 2),
        *_currency(),
        ("CalendarUID", 1),
        ("DefaultStartTime", _BEGIN),
        ("DefaultFinishTime", _END),
        ("MinutesPerDay", HOURS * 60),
        ("MinutesPerWeek", 7 * HOURS * 60),
        ("DaysPerMonth", 30),
        ("DefaultTaskType", _FIXED_DURATION),
        ("DurationFormat", _DURATION_FORMATS[calendar.step]),
        ("WorkFormat", 2),
        ("NewTasksEffortDriven", 0),
        ("WeekStartDay", 1),
        ("Calendars", calendars),
        ("Tasks", tasks),
        ("Resources", resources),
        ("Assignments", assignments),
    ]
    lines = ['<?xml version="1.0" encoding="UTF-8" standalone="yes"?>']
    lines.append(f'<Project xmlns="{NAMESPACE}">')
    for element in project:
        lines += _lines(element, 1)
    lines.append("</Project>\n")
    return "\n".join(lines).encode()


def _currency() -> list[Element]:
    """The sign and the code of the present currency, and where the sign stands."""
    before, after = around_money()
    sign = before or after
    position = (0 if before else 1) + (2 if "\xa0" in sign else 0)
    return [
        ("CurrencySymbol", sign.strip("\xa0")),
        ("CurrencyCode", current_speech().currency or NO_CURRENCY),
        *([("CurrencySymbolPosition", position)] if sign else []),
    ]


def _tasks_and_assignments(
    plan: ExportedPlan, calendar: Calendar
) -> tuple[list[Element], list[Element]]:
    tasks: list[Element] = []
    assignments: list[Element] = []
    chapter = 0
    for number, contractor in enumerate(plan.problem.contractors, 1):
        works = [work for work in plan.of(contractor.name) if work.course is not None]
        if not works:
            continue
        begin = min(work.course.start for work in works if work.course is not None)
        end = max(work.course.end for work in works if work.course is not None)
        chapter += 1
        head = _head(len(tasks) + 1, contractor.name, f"{chapter}", calendar, begin, end)
        tasks.append(("Task", [*head, ("Summary", 1)]))
        for position, work in enumerate(works, 1):
            key = len(tasks) + 1
            tasks.append(_task(key, f"{chapter}.{position}", plan, work, calendar))
            assignments.append(_assignment(len(assignments) + 1, key, number, work, calendar))
    return tasks, assignments


def _head(
    key: int, name: str, outline: str, calendar: Calendar, begin: int, end: int
) -> list[Element]:
    """The parts of a task that summaries have too."""
    return [
        ("UID", key),
        ("ID", key),
        ("Name", cut(plain(name), LONGEST_NAME)),
        ("Type", _FIXED_DURATION),
        ("IsNull", 0),
        ("WBS", outline),
        ("OutlineNumber", outline),
        ("OutlineLevel", 1 + outline.count(".")),
        ("Priority", 500),
        ("Start", f"{calendar.first_day(begin)}T{_BEGIN}"),
        ("Finish", f"{calendar.last_day(end - 1)}T{_END}"),
        ("Duration", _hours(begin, end, calendar)),
        ("DurationFormat", _DURATION_FORMATS[calendar.step]),
    ]


def _task(
    key: int, outline: str, plan: ExportedPlan, work: ExportedWork, calendar: Calendar
) -> Element:
    assert work.course is not None
    begin, end = work.course.start, work.course.end
    parts = _head(key, work.task.name, outline, calendar, begin, end)
    parts += [
        ("Work", _hours(begin, end, calendar)),
        ("EffortDriven", 0),
        ("Estimated", 0),
        ("Milestone", 0),
        ("Summary", 0),
    ]
    # Amounts are counted in cents.
    cents = None if work.cost is None else f"{round(100 * work.cost)}"
    if cents is not None:
        parts += [("FixedCost", cents), ("FixedCostAccrual", _PRORATED)]
    parts.append(("PercentComplete", 0))
    if cents is not None:
        parts.append(("Cost", cents))
    parts += [
        ("ActualDuration", _NOTHING),
        ("ActualWork", _NOTHING),
        ("RemainingDuration", _hours(begin, end, calendar)),
        ("RemainingWork", _hours(begin, end, calendar)),
        ("ConstraintType", _START_NO_EARLIER_THAN),
        ("CalendarUID", -1),
        ("ConstraintDate", f"{calendar.first_day(begin)}T{_BEGIN}"),
    ]
    notes = notes_of(plan, work)
    if notes:
        parts.append(("Notes", "\n".join(notes)))
    return "Task", parts


def _resource(number: int, contractor: str) -> Element:
    return "Resource", [
        ("UID", number),
        ("ID", number),
        ("Name", cut(plain(contractor), LONGEST_NAME)),
        ("Type", 1),
        ("IsNull", 0),
        ("MaxUnits", "1"),
        ("CalendarUID", number + 1),
    ]


def _assignment(
    key: int, task: int, resource: int, work: ExportedWork, calendar: Calendar
) -> Element:
    assert work.course is not None
    begin, end = work.course.start, work.course.end
    return "Assignment", [
        ("UID", key),
        ("TaskUID", task),
        ("ResourceUID", resource),
        ("PercentWorkComplete", 0),
        ("ActualWork", _NOTHING),
        ("Finish", f"{calendar.last_day(end - 1)}T{_END}"),
        ("RemainingWork", _hours(begin, end, calendar)),
        ("Start", f"{calendar.first_day(begin)}T{_BEGIN}"),
        ("Units", "1"),
        ("Work", _hours(begin, end, calendar)),
    ]


def _base_calendar() -> Element:
    """The calendar of the project: every day of the week has eight hours of work."""
    times = [("WorkingTime", [("FromTime", begin), ("ToTime", end)]) for begin, end in _SHIFTS]
    days = [
        ("WeekDay", [("DayType", day), ("DayWorking", 1), ("WorkingTimes", times)])
        for day in range(1, 8)
    ]
    return "Calendar", [
        ("UID", 1),
        ("Name", "Standard"),
        ("IsBaseCalendar", 1),
        ("BaseCalendarUID", -1),
        ("WeekDays", days),
    ]


def _own_calendar(resource: Element) -> Element:
    """The calendar of a contractor, which is that of the project."""
    parts = dict(resource[1])
    return "Calendar", [
        ("UID", parts["CalendarUID"]),
        ("Name", parts["Name"]),
        ("IsBaseCalendar", 0),
        ("BaseCalendarUID", 1),
    ]


def _hours(begin: int, end: int, calendar: Calendar) -> str:
    return f"PT{(end - begin) * calendar.days * HOURS}H0M0S"


def _lines(element: Element, depth: int) -> Iterator[str]:
    name, content = element
    pad = "  " * depth
    if isinstance(content, list):
        yield f"{pad}<{name}>"
        for part in content:
            yield from _lines(part, depth + 1)
        yield f"{pad}</{name}>"
    else:
        yield f"{pad}<{name}>{safe(str(content))}</{name}>"
