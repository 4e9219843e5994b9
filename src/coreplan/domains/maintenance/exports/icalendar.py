"""A plan as an iCalendar file (RFC 5545): one all-day event for each planned work."""

from __future__ import annotations

import datetime
import uuid
from collections.abc import Iterator

from coreplan.domains.maintenance.exports.content import ExportedPlan, ExportedWork
from coreplan.domains.maintenance.exports.table import notes_of
from coreplan.domains.maintenance.exports.texts import plain
from coreplan.model.calendar import Calendar
from coreplan.support.language import current_speech, say
from coreplan.support.version import __version__

LONGEST_LINE = 75
"""The most bytes of a line, without its end."""
_NAMESPACE = uuid.UUID("0c2e6e5c-1f5f-4c43-9d4e-2f8f3a1f7d0b")
"""The fixed part of all identifiers of events."""


def plan_icalendar(plan: ExportedPlan, calendar: Calendar, stamp: datetime.datetime) -> bytes:
    """The planned works as events.

    The identifier of an event depends on the names of the problem, the contractor and the work
    only: calendar programs replace an event when the plan is exported again.

    Parameters
    ----------
    plan
        The plan.
    calendar
        The dates of its steps.
    stamp
        The moment of the export, in UTC.
    """
    lines = [
        "BEGIN:VCALENDAR",
        "VERSION:2.0",
        f"PRODID:-//coreplan//coreplan {__version__}//{current_speech().language.upper()}",
        "CALSCALE:GREGORIAN",
        f"X-WR-CALNAME:{_text(plan.name)}",
    ]
    for contractor in plan.problem.contractors:
        for work in plan.of(contractor.name):
            if work.start is not None:
                lines += _event(plan, work, calendar, stamp)
    lines.append("END:VCALENDAR")
    return "".join(f"{piece}\r\n" for line in lines for piece in _folded(line)).encode()


def _event(
    plan: ExportedPlan, work: ExportedWork, calendar: Calendar, stamp: datetime.datetime
) -> Iterator[str]:
    assert work.course is not None
    name = "\0".join((plan.problem.name, work.contractor, work.task.name))
    # Halves of characters have no UTF-8.
    key = uuid.uuid5(_NAMESPACE, name.encode("utf-8", "replace").decode())
    begin, after = calendar.first_day(work.course.start), calendar.first_day(work.course.end)
    contractor = plain(work.contractor)
    yield "BEGIN:VEVENT"
    yield f"UID:{key}@coreplan"
    yield f"DTSTAMP:{stamp:%Y%m%dT%H%M%SZ}"
    yield f"DTSTART;VALUE=DATE:{_date(begin)}"
    yield f"DTEND;VALUE=DATE:{_date(after)}"
    yield f"SUMMARY:{_text(f'{plain(work.task.name)} ({contractor})')}"
    notes = [say("Contractor: {name}", name=contractor), *notes_of(plan, work)]
    yield f"DESCRIPTION:{_text(chr(10).join(notes))}"
    yield f"CATEGORIES:{_text(contractor)}"
    yield "TRANSP:TRANSPARENT"  # the people who read the calendar stay available
    yield "END:VEVENT"


def _date(day: datetime.date) -> str:
    return f"{day.year:04}{day.month:02}{day.day:02}"


def _text(text: str) -> str:
    """Escape a text."""
    for char in ("\\", ";", ","):
        text = text.replace(char, f"\\{char}")
    return text.replace("\n", "\\n")


def _folded(line: str) -> Iterator[str]:
    """Break a long line; a space marks the continuation, and no character is broken."""
    piece, size = "", 0
    for char in line:
        width = len(char.encode())
        if size + width > LONGEST_LINE:
            yield piece
            piece, size = " ", 1
        piece += char
        size += width
    yield piece
