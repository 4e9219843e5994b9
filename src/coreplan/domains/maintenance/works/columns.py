"""The columns of works lists: their titles, other names, and explanations."""

from __future__ import annotations

import datetime
import difflib
import re
import unicodedata
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from coreplan.errors import ModelError, shorten
from coreplan.model.calendar import STEPS
from coreplan.model.dates import UNDECIDED, DateStyle, parse_date
from coreplan.support.language import marked


@dataclass(frozen=True)
class Column:
    """A column that a table can have.

    Attributes
    ----------
    key
        The name of the column in the program.
    title
        The title for people, in English; other accepted titles are in `names`.
    text
        The explanation for people.
    required
        Whether every list needs it.
    dutch, german
        Accepted titles in other languages.
    """

    key: str
    title: str
    text: str
    names: tuple[str, ...] = ()
    required: bool = False
    dutch: tuple[str, ...] = ()
    german: tuple[str, ...] = ()


_PLACE = Column(
    "place",
    marked("place", context="column"),
    marked("The place of the work, for people: reports show it."),
    ("road", "road place", "place road", "location", "section", "where", "stretch"),
    dutch=("plaats", "locatie", "weg", "wegvak", "traject"),
    german=("Ort", "Straße", "Abschnitt", "Strecke"),
)
_NOTE = Column(
    "note",
    marked("note", context="column"),
    marked("Any remark, for people: reports show it."),
    ("notes", "remark", "remarks", "comment", "comments", "description"),
    dutch=("opmerking", "opmerkingen", "toelichting"),
    german=("Bemerkung", "Bemerkungen", "Anmerkung", "Anmerkungen"),
)
_COST = Column(
    "cost",
    marked("cost per step", context="column"),
    marked(
        "The cost of a step of work: one number, or one number for each step (30 28 26 ...). "
        "Instead, the list may have a column for each step: cost 0, cost 1, ..., or cost 1, cost "
        "2, ... for the first and second step, or by date: cost 2026-03-02, ..."
    ),
    ("cost", "costs", "costs per step", "cost step", "price per step"),
    dutch=("kosten per stap", "kosten"),
    german=("Kosten je Schritt", "Kosten", "Kosten pro Schritt"),
)

WORKS = (
    Column(
        "contractor",
        marked("contractor", context="column"),
        marked("Who does the work. A contractor does one work at a time."),
        ("contractors", "company", "firm", "agent", "who", "party"),
        required=True,
        dutch=("aannemer", "aannemers", "bedrijf"),
        german=("Auftragnehmer", "Firma", "Unternehmen"),
    ),
    Column(
        "work",
        marked("work", context="column"),
        marked("The name of the work, without '/'."),
        ("works", "task", "job", "activity", "work name", "name of work", "project", "name"),
        required=True,
        dutch=("werk", "werken", "werkzaamheid"),
        german=("Maßnahme", "Maßnahmen", "Baumaßnahme"),
    ),
    _PLACE,
    Column(
        "duration",
        marked("duration", context="column"),
        marked("The number of steps without a delay, at least 1."),
        ("steps", "length", "duration in steps", "number of steps"),
        required=True,
        dutch=("duur", "aantal stappen"),
        german=("Dauer", "Anzahl Schritte"),
    ),
    Column(
        "delay_chance",
        marked("delay chance", context="column"),
        marked("The chance that the work is delayed: 0.3, 30% or 30 %. Empty: never delayed."),
        (
            "chance of delay",
            "delay probability",
            "probability of delay",
            "delay risk",
            "risk of delay",
            "chance of a delay",
        ),
        dutch=("kans op vertraging", "vertragingskans", "kans op een vertraging"),
        german=(
            "Wahrscheinlichkeit der Verzögerung",
            "Verzögerungswahrscheinlichkeit",
            "Verzögerungsrisiko",
        ),
    ),
    Column(
        "delay_duration",
        marked("delay duration", context="column"),
        marked("The number of extra steps if the work is delayed, at least 1."),
        ("delay length", "delay steps", "duration of delay", "extra duration", "extra steps"),
        dutch=("duur van de vertraging", "duur vertraging", "extra duur", "extra stappen"),
        german=(
            "Dauer der Verzögerung",
            "Verzögerungsdauer",
            "zusätzliche Dauer",
            "zusätzliche Schritte",
        ),
    ),
    Column(
        "revenue",
        marked("revenue", context="column"),
        marked("The money earned when the work is completed. Empty: nothing."),
        ("income", "revenues", "earnings", "payment"),
        dutch=("opbrengst", "opbrengsten"),
        german=("Erlös", "Erlöse"),
    ),
    _COST,
    Column(
        "earliest",
        marked("earliest start", context="column"),
        marked(
            "The first step in which the work may start: its number, from 0, or a date. Empty: any."
        ),
        ("earliest", "start not before", "not before", "first start", "window start"),
        dutch=("vroegste begin", "vroegste start", "niet eerder dan"),
        german=("frühester Beginn", "frühester Start", "nicht vor"),
    ),
    Column(
        "latest",
        marked("latest start", context="column"),
        marked("The last step in which the work may start: its number or a date. Empty: any."),
        ("latest", "start not after", "not after", "last start", "window end"),
        dutch=("laatste begin", "uiterlijk begin", "laatste start", "niet later dan"),
        german=("spätester Beginn", "spätester Start", "nicht nach"),
    ),
    Column(
        "planned",
        marked("planned start", context="column"),
        marked(
            "The step in which the work is planned to start: its number or a date. `coreplan "
            "evaluate` computes what these starts cost."
        ),
        ("planned", "start planned", "plan start", "scheduled start"),
        dutch=("gepland begin", "geplande start", "start gepland"),
        german=("geplanter Beginn", "geplanter Start"),
    ),
    Column(
        "status",
        marked("status", context="column"),
        marked(
            "not started, running or done. Empty: not started or, with an actual start, what "
            "follows from it."
        ),
        ("work status",),
        dutch=("status",),
        german=("Status",),
    ),
    Column(
        "actual",
        marked("actual start", context="column"),
        marked(
            "The step in which the work has started: its number or a date. Empty: it has not "
            "started, or nobody knows when."
        ),
        ("started on", "start actual", "real start"),
        dutch=("werkelijk begin", "werkelijke start", "begonnen op"),
        german=("tatsächlicher Beginn", "tatsächlicher Start", "begonnen am"),
    ),
    Column(
        "left",
        marked("steps left", context="column"),
        marked(
            "The number of steps that a running work still takes, delays included. Empty: it "
            "follows from the actual start and the duration."
        ),
        (
            "weeks left",
            "days left",
            "remaining",
            "steps remaining",
            "remaining steps",
            "remaining duration",
        ),
        dutch=("resterende stappen", "resterende duur", "resterend"),
        german=("verbleibende Schritte", "verbleibende Dauer", "Restdauer"),
    ),
    _NOTE,
)
"""The columns of the list of works."""

HINDRANCE = (
    Column(
        "member",
        marked("work A", context="column"),
        marked(
            "Works that hinder traffic if they run at the same time: work A, work B and, if "
            "needed, work C, ... Write contractor/work, or the work alone if only one contractor "
            "has a work of this name."
        ),
        required=True,
        dutch=("werk A",),
        german=("Maßnahme A",),
    ),
    Column(
        _COST.key,
        _COST.title,
        marked(
            "The cost of a step in which all of these works run, written as in the list of works."
        ),
        (*_COST.names, "hindrance", "hindrance per step", "hindrance cost"),
        dutch=(*_COST.dutch, "hinder", "hinder per stap"),
        german=(*_COST.german, "Behinderung", "Behinderung je Schritt"),
    ),
    _PLACE,
    _NOTE,
)
"""The columns of the list of hindrance."""

CLOSED = (
    Column(
        "name",
        marked("period", context="column"),
        marked("The name of the period, for people: a holiday or an event."),
        ("name", "closed period", "holiday", "event", "reason", "what"),
        dutch=("periode", "naam", "vakantie", "evenement", "reden"),
        german=("Zeitraum", "Name", "Ferien", "Anlass", "Grund"),
    ),
    Column(
        "from",
        marked("from", context="column"),
        marked("The first day of the period: a date, or a week."),
        ("first day", "begin", "start"),
        required=True,
        dutch=("van", "vanaf", "eerste dag", "begin"),
        german=("von", "ab", "erster Tag", "Beginn"),
    ),
    Column(
        "to",
        marked("up to and including", context="column"),
        marked("The last day of the period: a date, or a week. Empty: the same as the first."),
        ("to", "until", "last day", "end", "through"),
        dutch=("t/m", "tot en met", "tot", "laatste dag", "einde"),
        german=("bis", "bis einschließlich", "letzter Tag", "Ende"),
    ),
    Column(
        "no",
        marked("closed for", context="column"),
        marked(
            "work: no work runs in the period. start: works may run in it, but none starts. Empty: "
            "work."
        ),
        ("forbidden", "not allowed", "no"),
        dutch=("gesloten voor", "niet toegestaan", "geen"),
        german=("gesperrt für", "nicht erlaubt", "kein"),
    ),
    _NOTE,
)
"""The columns of the list of closed periods."""

FOR_PEOPLE = ("place", "note")
"""The columns that do not change a problem."""

CLOSE = 0.8
"""A title that is at least this similar to a known one is taken for a mistake in writing it."""

CLOSE_WORD = 0.7
"""As `CLOSE`, for a short word, in which one mistake changes more."""

LONGEST_TITLE = 200
"""The most characters of a column's title."""

# No bracket may open inside: otherwise a title with many open brackets takes quadratic time.
_BRACKETS = re.compile(r"[(\[]([^()\[\]]*+)[)\]]")
_UNITS = {
    word: unit
    for unit, words in (
        ("step", "step steps stap stappen schritt schritte schritten"),
        ("day", "day days dag dagen tag tage tagen"),
        ("week", "week weeks weken woche wochen"),
    )
    for word in words.split()
}
"""The words for units, in all languages."""
_WORD = f"({'|'.join(_UNITS)})"
_LEFT = re.compile(rf"{_WORD} (?:left|remaining)|(?:resterende|verbleibende) {_WORD}")
_UNIT = re.compile(rf"\b(?:per |in |pro |je |/ ?)?{_WORD}$")
_MEMBER = re.compile(r"(?:works?|tasks?|werk|massnahme) ?([a-z]|\d{1,2})")
_COSTS = "(?:costs?|hindrance|kosten|hinder|behinderung)"
_NUMBERED = re.compile(rf"{_COSTS}(?: (?:in |of |for |van |im )?{_WORD})? (?P<step>\d{{1,6}})")
_DATED = re.compile(rf"{_COSTS} (?:from |on |of |vanaf |op |ab |am )?(\S.*)")


class Heading(NamedTuple):
    """The meaning of a column's title."""

    key: str
    """The column that it stands for."""
    step: int | None = None
    """For costs of single steps: the number of the step as it is written."""
    day: datetime.date | None = None
    """For costs of single steps: the date."""
    unit: str | None = None
    """The length of a step, ``day`` or ``week``, if the title gives it."""


def recognise(
    title: str, columns: tuple[Column, ...], style: DateStyle = UNDECIDED
) -> Heading | None:
    """Find the column that a title stands for; None if it is unknown.

    Titles with dates are read in the given style.

    Examples
    --------
    >>> recognise("Delay chance (%)", WORKS).key, recognise("Duration (weeks)", WORKS).unit
    ('delay_chance', 'week')
    """
    if len(title) > LONGEST_TITLE:
        return None
    brackets = _BRACKETS.search(title)
    unit = _unit(_tidy(brackets[1])) if brackets else None
    plain = _tidy(_BRACKETS.sub(" ", title))
    known = _names(columns)
    if "left" in known.values() and (match := _LEFT.fullmatch(plain)):
        return Heading("left", unit=_unit(match[1] or match[2]) or unit)
    if plain in known:
        return Heading(known[plain], unit=unit)
    costs = any(column.key == "cost" for column in columns)
    if costs and (match := _NUMBERED.fullmatch(plain)):
        return Heading("cost", step=int(match["step"]), unit=unit)
    if costs and (text := date_in_title(title)):
        try:
            return Heading("cost", day=parse_date(text, style), unit=unit)
        except ModelError:
            pass
    if "member" in known.values() and _MEMBER.fullmatch(plain):
        return Heading("member")
    # 'cost per week' and 'duration in days' give the length of a step.
    shorter = _UNIT.sub("", plain).strip()
    if shorter != plain and shorter in known:
        return Heading(known[shorter], unit=_unit(plain))
    return None


def mistaken(
    title: str, columns: tuple[Column, ...], missing: AbstractSet[str]
) -> tuple[str, bool] | None:
    """Find the missing column that an unknown title may stand for.

    Parameters
    ----------
    title
        A title that :func:`recognise` does not know.
    columns
        The columns that the list can have.
    missing
        The keys of those that it does not have.

    Returns
    -------
    tuple or None
        The title to suggest, in quotes, and whether the two are so similar that it must be a
        mistake in writing. None if nothing is similar. Columns for people do not count: they change
        nothing.

    Examples
    --------
    >>> mistaken("duraton", WORKS, {"duration"}), mistaken("latest date", WORKS, {"latest"})
    (("'duration'", True), ("'latest start'", False))
    >>> mistaken("budget code", WORKS, {"duration"}) is None
    True
    """
    plain = _tidy(_BRACKETS.sub(" ", title))
    if plain == "delay" and missing & {"delay_chance", "delay_duration"}:
        return "'delay chance' or 'delay duration'", True
    head, _, rest = plain.rpartition(" ")
    keys = {column.key for column in columns}
    for key, words in (("cost", ("cost", "hindrance")), ("member", ("work", "task"))):
        # 'cots 3', 'wrok C': one of several columns, which would be missing in silence.
        ends = _MEMBER_END if key == "member" else _COST_END
        if key in keys and ends.fullmatch(rest) and (head not in words):
            close = difflib.get_close_matches(head, words, n=1, cutoff=CLOSE_WORD)
            if close:
                return repr(f"{close[0]} {rest}"), True
    names = {
        name: key
        for name, key in _names(columns).items()
        if key in missing and key not in FOR_PEOPLE
    }
    cutoff = CLOSE_WORD if len(plain) <= 6 else CLOSE
    close = difflib.get_close_matches(plain, names, n=1, cutoff=cutoff)
    if close:
        return repr(close[0]), True
    parts = set(plain.split())
    for column in columns:
        # Words that are part of no other column: 'latest date' is hardly anything else.
        if names and column.key in names.values() and parts & _TELLING.get(column.key, set()):
            return repr(column.title), False
    return None


_MEMBER_END = re.compile(r"[a-z]|\d{1,2}")
_COST_END = re.compile(r"\d{1,6}")
_TELLING = {
    "duration": {"duration"},
    "delay_chance": {"delay", "delays", "chance", "probability", "risk"},
    "delay_duration": {"delay", "delays"},
    "revenue": {"revenue", "revenues", "income"},
    "cost": {"cost", "costs"},
    "earliest": {"earliest", "begin", "from"},
    "latest": {"latest", "deadline", "until", "before"},
    "planned": {"planned", "scheduled"},
    "actual": {"actual", "actually"},
    "status": {"status"},
    "left": {"remaining", "left"},
    "member": {"work", "works", "task"},
}
"""Words of titles that may stand for a column."""


def too_long(title: str) -> str:
    """The message for a title with too many characters; empty if it is short enough."""
    if len(title) <= LONGEST_TITLE:
        return ""
    return (
        f"the title {shorten(title)!r} has {len(title):,} characters; use at most {LONGEST_TITLE}"
    )


def date_in_title(title: str) -> str | None:
    """The text after ``cost`` in a title, which may be a date; None in other titles."""
    match = None
    if len(title) <= LONGEST_TITLE:
        match = _DATED.fullmatch(" ".join(title.casefold().split()))
    return None if match is None else match[1]


def _tidy(text: str) -> str:
    plain = unicodedata.normalize("NFC", text).casefold()
    return " ".join(re.sub(r"[_/.:-]+", " ", plain).split())


def _unit(text: str) -> str | None:
    match = _UNIT.search(text)
    unit = _UNITS[match[1]] if match else None
    return unit if unit in STEPS else None


@cache
def _names(columns: tuple[Column, ...]) -> dict[str, str]:
    names: dict[str, str] = {}
    for column in columns:
        for name in (column.title, *column.names, *column.dutch, *column.german):
            names[_tidy(name)] = column.key
    return names
