"""Commands, exports and works lists in Dutch and German, with a currency."""

from __future__ import annotations

import csv
import datetime
import io
import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from cli_runs import Run, one_json
from cli_runs import run as run  # the fixture
from clocks import ticking
from coreplan import read_works
from coreplan.cli import example_path
from coreplan.domains.maintenance.exports import check_export
from coreplan.domains.maintenance.exports.content import ExportedPlan, exported_plan
from coreplan.domains.maintenance.exports.icalendar import plan_icalendar
from coreplan.domains.maintenance.exports.ms_project import plan_ms_project
from coreplan.domains.maintenance.exports.table import (
    STATUS,
    contractor_columns,
    input_columns,
    list_columns,
)
from coreplan.domains.maintenance.exports.works_csv import plan_csv
from coreplan.domains.maintenance.works.columns import HINDRANCE, WORKS, Column, recognise
from coreplan.domains.maintenance.works.opening import HINDRANCE_SHEETS, WORKS_SHEETS
from coreplan.domains.maintenance.works.template import write_templates
from coreplan.errors import ModelError
from coreplan.model.calendar import Calendar
from coreplan.model.dated_steps import DatedSteps
from coreplan.support.language import (
    LANGUAGES,
    Speech,
    current_speech,
    say,
    say_marked,
    speaking,
)
from exported import DAYS, STAMP, WEEKS, later_plan, small_plan
from helpers import random_mpp

OTHERS = ("nl", "de")
TWO_WORKS = example_path("two_works.yaml")
SCHEDULE = example_path("two_works_schedule.yaml")
NBSP = "\xa0"

COMMANDS: dict[str, Sequence[object]] = {
    "plan": ("plan", TWO_WORKS),
    "evaluate": ("evaluate", TWO_WORKS, "--schedule", SCHEDULE),
    "explain": ("explain", TWO_WORKS),
    "sensitivity": ("sensitivity", TWO_WORKS),
    "simulate": ("simulate", TWO_WORKS, "--runs", 10),
    "compare plan": ("compare", "plan", TWO_WORKS, TWO_WORKS),
    "check": ("check", TWO_WORKS),
    "info": ("info", TWO_WORKS),
    "demo": ("demo",),
    "solve": ("solve", TWO_WORKS),
}
MONEY = ("plan", "evaluate", "explain", "sensitivity", "simulate", "compare plan", "demo", "solve")

TITLES = (
    "contractor,work,duration,delay chance,delay duration,cost,planned start,status,actual start,"
    "budget,earliest start"
)
LIST = f"""# a remark
works of this year,,,,,,,,,,
{TITLES}
Alpha,a1,2,30%,1,3,06-04-2026,,13-04-2026,B1,
Alpha,a2,3,,,4,13-04-2026,,,B2,2027-04-06
Beta,b1,2,,,5,08-04-2026,done,06-04-2026,B3,
"""


def lines_of(*texts: str) -> set[str]:
    """The lines of texts that have letters."""
    return {line for text in texts for line in text.splitlines() if any(map(str.isalpha, line))}


# -- options ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_of_planners_has_a_language(name: str, run: Run) -> None:
    """The options change the output, the environment does the same, and the next run is English."""
    arguments = COMMANDS[name]
    before = run(*arguments)
    assert before.code == 0
    dutch = run(*arguments, "--language", "nl", "--currency", "eur")
    assert dutch.code == 0
    assert dutch.out != before.out
    assert (f"€{NBSP}" in dutch.out) == (name in MONEY)
    assert "€" not in before.out
    assert current_speech() == Speech()
    if name != "simulate":  # it prints its time
        assert run(*arguments).out == before.out


@pytest.mark.parametrize("language", OTHERS)
def test_the_environment_gives_language_and_currency(
    language: str, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """COREPLAN_LANGUAGE and COREPLAN_CURRENCY count unless an option says something else."""
    asked = run("solve", TWO_WORKS, "--language", language, "--currency", "CHF").out
    plain = run("solve", TWO_WORKS).out
    assert "CHF" in asked
    monkeypatch.setenv("COREPLAN_LANGUAGE", language.upper())
    monkeypatch.setenv("COREPLAN_CURRENCY", "chf")
    assert run("solve", TWO_WORKS).out == asked
    pounds = run("solve", TWO_WORKS, "--language", "en", "--currency", "GBP").out
    assert "£" in pounds
    assert pounds.replace("£", "") == plain


@pytest.mark.parametrize(
    ("option", "code", "message"),
    [
        ("--language", "fr", "choose one of en (English), nl (Nederlands), de (Deutsch)"),
        ("--language", "dutch", "is no known language"),
        ("--currency", "euro", "is no code of a currency; use one such as EUR, GBP or CHF"),
        ("--currency", "€", "is no code of a currency"),
    ],
)
def test_wrong_codes_are_errors(
    option: str, code: str, message: str, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A wrong code is named with what is possible, also in the environment."""
    wrong = run("plan", TWO_WORKS, option, code)
    assert wrong.code == 2
    assert f"Invalid value for '{option}'" in wrong.err
    assert message in " ".join(wrong.err.split())
    variable = f"COREPLAN_{option.removeprefix('--').upper()}"
    monkeypatch.setenv(variable, code)
    wrong = run("check", TWO_WORKS)
    assert wrong.code == 2
    assert variable in wrong.err


@pytest.mark.parametrize(
    "arguments",
    [
        ("plan", TWO_WORKS, "--time-limit", "soon"),
        ("plan", "missing.yaml"),
        ("plan", "--help"),
        ("explain", TWO_WORKS, "--top", "x"),
    ],
)
def test_a_language_ends_with_its_command(arguments: Sequence[object], run: Run) -> None:
    """Whatever ends a command, the next one in the same process is English; errors always are."""
    english = run(*arguments)
    dutch = run(*arguments, "--language", "nl", "--currency", "EUR")
    assert dutch == english
    assert current_speech() == Speech()


def test_json_keeps_its_keys(run: Run) -> None:
    """Programs find the same keys and numbers in every language."""
    english, dutch = (
        one_json(run("plan", TWO_WORKS, "--json", "--language", each, "--currency", "EUR").out)
        for each in ("en", "nl")
    )
    assert list(english) == list(dutch)
    assert english["value"] == dutch["value"]


# -- lines of commands -----------------------------------------------------------------------------

SAID: dict[str, dict[str, list[str]]] = {
    "nl": {
        "plan": ["het plan staat in ", "(CSV)"],
        "solve": ["Als eerste te doen:"],
        "compare": ["oud: het beste plan voor ", "nieuw: ", ", een plan voor ", "staat in "],
        "check": [": in orde, mpp/1, 2 aannemers"],
    },
    "de": {
        "plan": ["der Plan steht in ", "(CSV)"],
        "solve": ["Was zuerst zu tun ist:"],
        "compare": ["alt: der beste Plan für ", "neu: ", ", ein Plan für ", "steht in "],
        "check": [": in Ordnung, mpp/1, 2 Auftragnehmer"],
    },
}


@pytest.mark.parametrize("language", OTHERS)
def test_lines_of_commands(language: str, run: Run, tmp_path: Path) -> None:
    """What commands say about their files is in the user's language."""
    spoken = ("--language", language)
    csv_file, policy_file = tmp_path / "plan.csv", tmp_path / "plan.json"
    ran = {
        "plan": run(
            *("plan", TWO_WORKS, "--export", csv_file, "--save-policy", policy_file),
            *spoken,
        ),
        "solve": run("solve", TWO_WORKS, *spoken),
        "compare": run(
            *("compare", "plan", TWO_WORKS, SCHEDULE, "-o", tmp_path / "page.html"), *spoken
        ),
        "check": run("check", TWO_WORKS, *spoken),
    }
    for command, texts in SAID[language].items():
        assert ran[command].code == 0
        for text in texts:
            assert text in ran[command].out


def test_why_a_search_has_stopped(run: Run, tmp_path: Path) -> None:
    """The reason for the end of a search is a sentence of its own in each language."""
    problem, schedule = tmp_path / "problem.json", tmp_path / "schedule.yaml"
    problem.write_text(json.dumps(random_mpp(4, 4, 16)), encoding="utf-8")
    schedule.write_text("format: schedule/1\n", encoding="utf-8")
    said = {}
    for language in LANGUAGES:
        with ticking():
            ran = run(
                *("evaluate", problem, "--schedule", schedule, "--time-limit", 0.3),
                *("--threads", 1, "--language", language),
            )
        said[language] = ran.out.splitlines()[-1]
    assert said == {
        "en": "The search for a better plan: Stopped by the time limit.",
        "nl": "Het zoeken naar een beter plan: Gestopt door de tijdslimiet.",
        "de": "Die Suche nach einem besseren Plan: Durch die Zeitgrenze gestoppt.",
    }


# -- works lists -----------------------------------------------------------------------------------


def test_notes_on_a_list(tmp_path: Path, run: Run) -> None:
    """Every note that reading a list gives is in the user's language, except for names."""
    path = tmp_path / "list.csv"
    path.write_text(LIST, encoding="utf-8")
    said = {}
    for language in LANGUAGES:
        ran = run(
            *("check", path, "--start-date", "2026-04-06", "--horizon", 30),
            *("--today", "2026-04-20", "--dates", "dmy", "--language", language),
        )
        assert ran.code == 0, ran.err
        said[language] = ran.err
    assert len(said["en"].splitlines()) >= 7
    for language, note in (("nl", "let op: "), ("de", "Hinweis: ")):
        lines = said[language].splitlines()
        assert len(lines) == len(said["en"].splitlines())
        assert all(line.startswith(note) for line in lines)
        # Without their first word and the file, no line is as in English.
        assert not {line.split(": ", 2)[-1] for line in lines} & {
            line.split(": ", 2)[-1] for line in said["en"].splitlines()
        }
    english = "dates are read with the day first (--dates dmy): '06-04-2026' is 6 Apr 2026"
    assert english in said["en"]
    assert "gelezen met de dag voorop (--dates dmy): '06-04-2026' is 6 apr 2026" in said["nl"]
    assert "mit dem Tag zuerst gelesen (--dates dmy): '06-04-2026' ist 6. Apr. 2026" in said["de"]


PROGRESS = """contractor,work,steps,delay chance,delay duration,cost,latest start,status,started on
A,delayed,2,30%,2,1,,running,0
B,over,2,,,1,,,0
C,in time,4,30%,2,1,,running,1
D,now,2,30%,2,1,,running,3
E,too late,2,,,1,2,not started,
"""
RULES = "work A,work B,cost,budget\nA/delayed,B/over,5,x\nB/over,A/delayed,6,y\n"
TITLES_BY_DATE = "contractor,work,duration,cost 13-04-2026,cost 06-04-2026\nA,a1,1,3,4\n"
TWO_REMARKS = "# one\n# two\n\nworks\nof the year\ncontractor,work,duration,cost\nA,Brücke,1,4\n"


def test_all_kinds_of_notes(tmp_path: Path) -> None:
    """Notes on progress, rules, titles with dates, and encodings are translated, each as one."""
    start = datetime.date(2026, 4, 6)
    for name, text in {
        "progress.csv": PROGRESS,
        "rules.csv": RULES,
        "dates.csv": TITLES_BY_DATE,
        "months.csv": TITLES_BY_DATE.replace("13-04", "04-13").replace("06-04", "04-06"),
    }.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / "old.csv").write_text(TWO_REMARKS, encoding="cp1252")
    said: dict[str, list[str]] = {}
    for language in LANGUAGES:
        with speaking(language):
            lists = [
                read_works(tmp_path / "progress.csv", tmp_path / "rules.csv", horizon=9, today=3),
                read_works(tmp_path / "dates.csv", start_date=start),
                read_works(tmp_path / "months.csv", start_date=start),
                read_works(tmp_path / "old.csv", horizon=3),
            ]
        said[language] = [note.replace(str(tmp_path), "") for each in lists for note in each.notes]
    kinds = (
        "counts as delayed",
        "counts as done",
        "counts as not delayed",
        "starts now",
        "can no longer start",
        "name the same works",
        "it stays in the list",
        "the day first (as",
        "the month first (as",
        "2 rows that begin with #",
        "2 rows above the titles",
        "Windows-1252",
        "the best plan may be to do nothing",
        "going on from step 3: 1 of 5 works done, 3 running",
    )
    for kind in kinds:
        assert any(kind in note for note in said["en"]), kind
    for language in OTHERS:
        assert len(said[language]) == len(said["en"])
        assert not set(said[language]) & set(said["en"])
        words = " ".join(said[language]).split()
        assert not {"the", "and", "works", "row", "left"} & set(words)


def test_an_import_speaks_the_language(tmp_path: Path, run: Run) -> None:
    """The lines of an import, with what a problem file cannot hold, are translated."""
    (tmp_path / "list.csv").write_text(
        "contractor,work,duration,cost,latest start,planned start,budget\nA,a1,1,4,1,0,B1\n",
        encoding="utf-8",
    )
    said: dict[str, set[str]] = {}
    for language in LANGUAGES:
        output = tmp_path / f"{language}.yaml"
        lines: list[str] = []
        for more in (
            ("--start-date", "2026-04-06", "--closed", "spring: 2026-04-06..2026-04-19"),
            ("--start-date", "2026-04-06", "--force"),
            ("--force",),
        ):
            ran = run(
                *("import", tmp_path / "list.csv", "-o", output, "--horizon", 5, *more),
                *("--language", language),
            )
            assert ran.code == 0, ran.err
            lines += ran.out.splitlines()
        said[language] = {
            line.replace(f"{language}.", "").replace(f"{tmp_path}", "") for line in lines
        }
    kinds = (
        "keeps them",
        "existed before",
        "leave no start",
        "columns for people",
        "planned starts",
    )
    for kind in kinds:
        assert any(kind in line for line in said["en"]), kind
    for language in OTHERS:
        assert len(said[language]) == len(said["en"])
        assert not said[language] & said["en"]


@pytest.mark.parametrize(
    ("language", "texts"),
    [
        (
            "nl",
            [
                "datums worden gelezen met de dag voorop (zoals '13-04-2026' laat zien): "
                "'06-04-2026' is 6 apr 2026",
                "een datum die niet de eerste dag van een week is, staat voor de hele week: "
                "8 apr 2026 voor 6 apr – 12 apr 2026",
            ],
        ),
        (
            "de",
            [
                "Datumsangaben werden mit dem Tag zuerst gelesen (wie '13-04-2026' zeigt): "
                "'06-04-2026' ist 6. Apr. 2026",
                "ein Datum, das nicht der erste Tag einer Woche ist, steht für seine Woche: "
                "8. Apr. 2026 für 6. Apr. – 12. Apr. 2026",
            ],
        ),
    ],
)
def test_notes_on_dates(language: str, texts: list[str]) -> None:
    """How written dates were read is told in the user's language."""
    dates = ["06-04-2026", "13-04-2026", "8 april 2026"]
    with speaking(language):
        steps = DatedSteps(Calendar(datetime.date(2026, 4, 6), "week"))
        steps.decide(dates)
        for date in dates:
            steps.read(date)
        assert steps.notes() == texts


def test_the_month_first_has_its_own_sentence() -> None:
    """No word for the order is put into a sentence that has another one."""
    with speaking("nl"):
        steps = DatedSteps(WEEKS)
        steps.decide(["04-06-2026", "04-13-2026"])
        assert "met de maand voorop" in steps.notes()[0]


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("columns", [WORKS, HINDRANCE])
def test_translated_titles_are_understood(language: str, columns: tuple[Column, ...]) -> None:
    """Every title in a template or an export is one that works lists may have."""
    for column in columns:
        with speaking(language):
            title = say_marked(column.title, context="column")
        for name in (title, *column.names, *column.dutch, *column.german):
            heading = recognise(name, columns)
            assert heading is not None, name
            assert heading.key == column.key
        if column.key != "member" and language != "en":
            assert title == (column.dutch if language == "nl" else column.german)[0]


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("calendar", [WEEKS, DAYS])
def test_titles_of_exports_have_their_units(language: str, calendar: Calendar) -> None:
    """Durations and costs in an export say the length of a step, and lists understand it."""
    with speaking(language):
        titles = [each.title for each in input_columns(exported_plan(later_plan(), calendar))]
        titles += [each.title for each in contractor_columns(exported_plan(later_plan(), calendar))]
    found = {heading for title in titles if (heading := recognise(title, WORKS)) is not None}
    units = {heading.key for heading in found if heading.unit == calendar.step}
    assert units == {"duration", "delay_duration", "cost", "left"}


@pytest.mark.parametrize(
    ("title", "key"),
    [
        ("Kosten 3", "cost"),
        ("kosten week 3", "cost"),
        ("kosten vanaf 2026-03-02", "cost"),
        ("DAUER (Tage)", "duration"),
        ("duur in weken", "duration"),
        ("Verzo\u0308gerungsrisiko (%)", "delay_chance"),
        ("resterende weken", "left"),
        ("verbleibende Tage", "left"),
    ],
)
def test_other_ways_to_write_titles(title: str, key: str) -> None:
    """Titles with numbers, dates and units are understood in each language."""
    heading = recognise(title, WORKS)
    assert heading is not None
    assert heading.key == key


@pytest.mark.parametrize("language", LANGUAGES)
def test_sheets_and_statuses_are_understood(language: str, tmp_path: Path) -> None:
    """The names of sheets and the statuses that exports write are read again."""
    with speaking(language):
        assert say("works", context="sheet").casefold() in WORKS_SHEETS
        assert say("hindrance", context="sheet").casefold() in HINDRANCE_SHEETS
        words = {key: say_marked(word, context="status") for key, word in STATUS.items()}
    path = tmp_path / "list.csv"
    path.write_text(
        "contractor,work,duration,cost,status,steps left\n"
        f"Alpha,a1,1,1,{words['done']},\n"
        f"Alpha,a2,2,1,{words['running'].upper()},1\n"
        f"Alpha,a3,1,1,{words['not started']},\n",
        encoding="utf-8",
    )
    state = read_works(path, horizon=6, today=2).state
    assert state is not None
    assert (state["Alpha"].done, state["Alpha"].doing) == (("a1",), "a2")


@pytest.mark.parametrize("language", OTHERS)
def test_templates_in_a_language(language: str, tmp_path: Path, run: Run) -> None:
    """A template in another language gives the same problem, apart from its names."""
    assert run("template", tmp_path / "en").code == 0
    ran = run("template", tmp_path / language, "--language", language)
    assert ran.out.startswith("geschreven: " if language == "nl" else "geschrieben: ")
    for name in ("works.csv", "works_with_dates.csv"):
        made = [
            read_works(
                tmp_path / each / name,
                tmp_path / each / "hindrance.csv",
                horizon=12,
                must_complete=True,
                start_date=datetime.date(2026, 3, 2),
            )
            for each in ("en", language)
        ]
        shapes = [
            (
                [
                    (task.duration, task.cost, task.delay, task.revenue, task.window)
                    for contractor in each.problem.contractors
                    for task in contractor.tasks
                ],
                [(len(rule.tasks), rule.cost) for rule in each.problem.network],
                [list(starts.values()) for starts in each.planned.values()],
                len(each.places),
            )
            for each in made
        ]
        assert shapes[0] == shapes[1]
        assert not made[1].notes
    readme = (tmp_path / language / "README.txt").read_text(encoding="utf-8")
    english = (tmp_path / "en" / "README.txt").read_text(encoding="utf-8")
    same = lines_of(readme) & lines_of(english)
    # Commands are the same.
    assert {line for line in same if "coreplan" not in line and "--start-date" not in line} <= {
        "  status"
    }


def test_special_letters_in_templates_have_a_mark_for_excel(tmp_path: Path) -> None:
    """Excel reads UTF-8 only with a mark; English templates need none."""
    write_templates(tmp_path / "en")
    with speaking("de"):
        write_templates(tmp_path / "de")
    assert (tmp_path / "de" / "works.csv").read_bytes().startswith(b"\xef\xbb\xbf")
    assert (tmp_path / "en" / "works.csv").read_bytes().startswith(b"contractor,")


# -- exports ---------------------------------------------------------------------------------------


def calendar_lines(plan: ExportedPlan) -> list[str]:
    """The logical lines of the texts of an iCalendar file."""
    text = plan_icalendar(plan, WEEKS, STAMP).decode().replace("\r\n ", "")
    return [
        line.replace("\\,", ",")
        for each in text.splitlines()
        if each.startswith("DESCRIPTION:")
        for line in each.removeprefix("DESCRIPTION:").split("\\n")
    ]


def test_calendars_speak_the_language() -> None:
    """Notes of events are Dutch or German, identifiers stay, and no English is left."""
    plans: list[Callable[[], ExportedPlan]] = [
        lambda: exported_plan(small_plan(), WEEKS),
        lambda: exported_plan(later_plan(), WEEKS),
    ]
    said: dict[str, list[str]] = {}
    marks: dict[str, list[str]] = {}
    for language in LANGUAGES:
        with speaking(language, "EUR"):
            said[language] = [line for plan in plans for line in calendar_lines(plan())]
            text = plan_icalendar(plans[0](), WEEKS, STAMP).decode()
        marks[language] = [line for line in text.splitlines() if line.startswith("UID:")]
        assert f"//{language.upper()}\r\n" in text
    assert marks["en"] == marks["nl"] == marks["de"]
    assert "Aannemer: Alpha" in said["nl"]
    assert "Kan vertraagd worden: 30% kans op 2 weken extra." in said["nl"]
    assert f"Kann sich verzögern: 30{NBSP}% Wahrscheinlichkeit für 2 Wochen mehr." in said["de"]
    assert any(line.startswith(f"Verwachte kosten: €{NBSP}") for line in said["nl"])
    assert any(line.endswith(f"{NBSP}€.") for line in said["de"])
    for language in OTHERS:
        assert len(said[language]) == len(said["en"])
        assert not set(said[language]) & set(said["en"])


@pytest.mark.parametrize(
    ("language", "currency", "parts"),
    [
        ("en", None, ("", "EUR", None)),
        ("en", "EUR", ("€", "EUR", "0")),
        ("nl", "EUR", ("€", "EUR", "2")),
        ("de", "EUR", ("€", "EUR", "3")),
        ("en", "CHF", ("CHF", "CHF", "2")),
        ("de", None, ("", "EUR", None)),
    ],
)
def test_projects_have_the_currency(
    language: str, currency: str | None, parts: tuple[str, str, str | None]
) -> None:
    """Microsoft Project gets the currency, and the place of its sign; its schema needs one."""
    symbol, code, position = parts
    with speaking(language, currency):
        text = plan_ms_project(exported_plan(small_plan(), WEEKS), WEEKS).decode()
    assert f"<CurrencySymbol>{symbol}</CurrencySymbol>" in text
    assert f"<CurrencyCode>{code}</CurrencyCode>" in text
    assert ("<CurrencySymbolPosition>" in text) == (position is not None)
    if position is not None:
        assert f"<CurrencySymbolPosition>{position}</CurrencySymbolPosition>" in text


def test_csv_is_the_same_in_every_language() -> None:
    """Programs that read the file find the same titles, words and numbers."""
    english = plan_csv(exported_plan(later_plan(), WEEKS))
    for language in OTHERS:
        with speaking(language, "EUR"):
            assert plan_csv(exported_plan(later_plan(), WEEKS)) == english
            assert current_speech() == Speech(language, "EUR")
    titles = next(csv.reader(io.StringIO(english.decode("utf-8-sig"))))
    assert {"contractor", "planned start", "expected cost", "weeks left"} <= set(titles)


def test_titles_of_earlier_exports_are_left_out() -> None:
    """Columns that an export in any language has added are no columns of the user."""
    details = {
        "Alpha/a1": {"verwachte kosten": 3, "geplantes Ende": 4, "planned end": 5, "budget": 6}
    }
    for language in LANGUAGES:
        with speaking(language):
            plan = exported_plan(small_plan(), WEEKS, details)
            titles = [column.title for column in list_columns(plan)]
        assert "budget" in titles
        earlier = [title for title in titles if title in details["Alpha/a1"]]
        assert len(earlier) == 2  # the title of the user, and that of the export itself
        assert len(set(titles)) == len(titles)


def test_errors_stay_english() -> None:
    """An error can be looked up, whatever the language of the output is."""
    with speaking("nl"), pytest.raises(ModelError, match="cannot export a plan to"):
        check_export("plan.doc", WEEKS)
