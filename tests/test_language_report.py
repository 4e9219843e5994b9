"""Reports, compared plans and notebook tables in Dutch and German: other texts, same numbers."""

from __future__ import annotations

import datetime
import gettext
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from cli_runs import Run, one_json
from coreplan import (
    TIMMDP,
    Calendar,
    Contractor,
    Delay,
    MaintenanceProblem,
    Policy,
    Result,
    SolverError,
    Task,
    evaluate_plan,
    make_report,
    read_problem,
    simulate,
    solve,
)
from coreplan.analysis import PlanReport
from coreplan.cli import example_path
from coreplan.domains.maintenance.plan_comparison import compare_plans
from coreplan.domains.maintenance.report.comparison import comparison_report
from coreplan.solving.result import Status
from coreplan.support import language
from coreplan.support.language import speaking
from helpers import from_file, random_mpp
from reports import Page, column_of

SPRING = Calendar(datetime.date(2026, 4, 6), "week")
KEYS = re.compile(r"\.(sections\[\d+\]|unit|no)$")
"""Texts that are keys for scripts."""


def example(name: str) -> tuple[MaintenanceProblem, Result]:
    """A bundled example and its best plan."""
    problem = read_problem(example_path(name))
    assert isinstance(problem, MaintenanceProblem)
    return problem, solve(problem)


def texts_of(data: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """All texts in plain values, with their places."""
    if isinstance(data, dict):
        for key, value in data.items():
            yield from texts_of(value, f"{path}.{key}")
    elif isinstance(data, list | tuple):
        for k, value in enumerate(data):
            yield from texts_of(value, f"{path}[{k}]")
    elif isinstance(data, str) and data:
        yield path, data


def without_texts(data: Any) -> Any:
    """Plain values without their texts, but with all keys."""
    if isinstance(data, dict):
        return {key: without_texts(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [without_texts(value) for value in data]
    return "" if isinstance(data, str) else data


class Shown(HTMLParser):
    """What people read of a page: its texts and labels, without styles and plan trees."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.texts: list[str] = []
        self._silent = 0
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep labels."""
        self.texts += [value or "" for name, value in attrs if name in ("aria-label", "title")]
        self._silent += tag in ("style", "script", "pre")

    def handle_endtag(self, tag: str) -> None:
        """Note the end of what is not read."""
        self._silent -= tag in ("style", "script", "pre")

    def handle_data(self, data: str) -> None:
        """Keep a text."""
        if not self._silent and data.strip():
            self.texts.append(data)


class _Brackets(gettext.NullTranslations):
    """A language in which every text of the catalogue stands in brackets."""

    def gettext(self, message: str) -> str:
        return f"⟦{message}⟧"

    def ngettext(self, msgid1: str, msgid2: str, n: int) -> str:
        return f"⟦{msgid1 if n == 1 else msgid2}⟧"

    def pgettext(self, context: str, message: str) -> str:
        return message if message in (".", ",") else f"⟦{message}⟧"


@pytest.fixture
def brackets(monkeypatch: pytest.MonkeyPatch) -> None:
    """Speak the language in brackets: what stands outside does not go through the catalogue."""
    monkeypatch.setattr(language, "_present_catalogue", _Brackets)


def outside(text: str, names: set[str]) -> str:
    """The words of a text that are neither in brackets nor names."""
    before = ""
    while before != text:
        before, text = text, re.sub(r"⟦[^⟦⟧]*⟧", "", text)
    for name in sorted(names, key=len, reverse=True):
        text = text.replace(name, "")
    return "".join(re.findall(r"[^\W\d_]+", text))


def names_in(problem: MaintenanceProblem) -> set[str]:
    """The names of a problem, which are the same in every language."""
    tasks = {task.name for contractor in problem.contractors for task in contractor.tasks}
    return {problem.name, *problem.agent_names, *tasks}


# -- reports of maintenance plans ------------------------------------------------------------------


@pytest.mark.parametrize("code", ["nl", "de"])
@pytest.mark.parametrize("calendar", [None, SPRING])
def test_only_texts_differ(code: str, calendar: Calendar | None) -> None:
    """A page in another language has the same keys and numbers; all its texts are other texts."""
    problem, result = example("ring_road.yaml")
    english = make_report(result, calendar=calendar, each_contractor=True)
    with speaking(code, "EUR"):
        other = make_report(result, calendar=calendar, each_contractor=True)
    same = {*names_in(problem), "–", *(["1 week"] if code == "nl" else [])}
    pages = [(english, other)]
    pages += [(english.contractors[name], other.contractors[name]) for name in problem.agent_names]
    for before, after in pages:
        assert without_texts(after.data) == without_texts(before.data)
        translated = dict(texts_of(after.data))
        for place, text in texts_of(before.data):
            if KEYS.search(place):
                assert translated[place] == text
            elif not place.startswith(".dates"):
                assert (translated[place] == text) == (text in same), place
        assert f'lang="{code}"' in after.html
    assert make_report(result, calendar=calendar).data == english.data  # nothing leaks


def test_sentences_in_dutch_and_german() -> None:
    """The conclusions of a page, with amounts and counts as people write them there."""
    _, result = example("ring_road.yaml")
    with speaking("nl", "EUR"):
        dutch = make_report(result, calendar=SPRING, contractor="Van Dijk")
        whole = make_report(result).data
    assert whole["summary"]["headline"] == (
        "Het plan kost naar verwachting in totaal €\u00a0508,76."
    )
    assert whole["summary"]["proof"] == "Bewezen het beste plan: geen plan kost minder."
    assert "bespaart €\u00a0703,59 (58%)" in whole["coordination"]["words"]
    assert "€\u00a01.212,35 kosten" in whole["coordination"]["words"]
    assert whole["subtitle"] == "4 aannemers, 9 werken, 12 stappen"
    assert "de verwachte kosten per stap" in whole["words"]["hindrance"]
    assert whole["words"]["footer"].endswith("Stappen tellen vanaf 0.")
    assert dutch.data["summary"]["headline"].startswith("Uw werken kosten naar verwachting €")
    assert dutch.data["delays"]["lists"][0]["title"] == "Wat u doet"
    with speaking("de", "EUR"):
        german = make_report(result, calendar=SPRING).data
    assert german["summary"]["headline"] == (
        "Der Plan kostet voraussichtlich insgesamt 508,76\u00a0€."
    )
    assert "die erwarteten Kosten je Woche" in german["words"]["hindrance"]
    assert [column["title"] for column in german["works_table"]["columns"]] == [
        "Auftragnehmer",
        "Maßnahme",
        "Beginn",
        "Ende",
        "Dauer",
        "Verzögerung",
        "abgeschlossen",
        "erwartete Kosten",
    ]
    assert {"percent": 0.35, "note": "2 Wochen länger"} in column_of(german, "Verzögerung")
    assert "zwischen 437,00\u00a0€ und 658,00\u00a0€" in german["distribution"]["words"]


Plan = tuple[Result | PlanReport | Policy, dict[str, Any]]


def _later() -> Plan:
    ring, _ = example("ring_road.yaml")
    state = {
        "Noord Infra": {"doing": "junction 4", "remaining": 1},
        "Van Dijk": {"doing": "ring east", "remaining": 3},
        "AquaWegen": {"done": ["sluice road"]},
        "Stadsbeheer": {"done": ["cycle path"]},
    }
    return solve(ring, stage=4, state=state), {"each_contractor": True}


def _gap() -> Plan:
    two, _ = example("two_works.yaml")
    return evaluate_plan(two, {"Alpha": {"a1": 0}, "Beta": {"b1": 0}}), {}


AT_ONCE = {"Noord Infra": "bridge deck", "Van Dijk": "tunnel lights", "AquaWegen": "drainage"}
"""Works of the bundled example that hinder each other."""


def _worse() -> Plan:
    ring, _ = example("ring_road.yaml")
    together = {name: {work: 0} for name, work in AT_ONCE.items()}
    return evaluate_plan(ring, together), {}


def _one_contractor(*tasks: Task) -> Plan:
    problem = MaintenanceProblem((Contractor("Alpha", tasks),), 4, (), True, "x")
    return solve(problem), {"each_contractor": True}


def _left_out() -> Plan:
    tasks = (Task("a1", 1, cost=2), Task("a2", 3, cost=1, revenue=9, delay=Delay(0.1, 1)))
    problem = MaintenanceProblem((Contractor("Alpha", tasks),), 3, (), False, "x")
    return solve(problem), {"each_contractor": True}


def _policy() -> Plan:
    policy = example("ring_road.yaml")[1].policy
    assert policy is not None
    return policy, {}


DAYS = Calendar(SPRING.start, "day")
PLANS: dict[str, Callable[[], Plan]] = {
    "best": lambda: (example("ring_road.yaml")[1], {"each_contractor": True}),
    "weeks": lambda: (example("ring_road.yaml")[1], {"calendar": SPRING, "each_contractor": True}),
    "days": lambda: (example("ring_road.yaml")[1], {"calendar": DAYS}),
    "earns": lambda: (example("two_works.yaml")[1], {"each_contractor": True}),
    "own states": lambda: (solve(example("two_works.yaml")[0], algorithm="dec-mdp"), {}),
    "cut": lambda: (solve(from_file(random_mpp(4, 3, 9))), {"most_pieces": 150}),
    "policy": _policy,
    "later": _later,
    "gap": _gap,
    "worse than alone": _worse,
    "left out": _left_out,
    "certain": lambda: _one_contractor(Task("a1", 2, cost=1, delay=Delay(1.0, 1))),
    "some revenue": lambda: _one_contractor(Task("a1", 1, cost=9, revenue=2)),
    "certain revenue": lambda: _one_contractor(Task("a1", 1, cost=1, revenue=2)),
}
"""Plans of which different things are said, with the options of their reports."""


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("name", PLANS)
def test_all_texts_are_in_the_catalogue(
    brackets: None, monkeypatch: pytest.MonkeyPatch, name: str, exact: bool
) -> None:
    """No text of a page is written past the catalogue, nor glued from pieces of sentences."""
    if not exact:
        monkeypatch.setattr("coreplan.domains.maintenance.report.findings.timeline", _never)
        monkeypatch.setattr("coreplan.domains.maintenance.report.findings.RUNS", 300)
    plan, options = PLANS[name]()
    report = make_report(plan, **options)
    policy = plan if isinstance(plan, Policy) else plan.policy
    assert policy is not None
    assert isinstance(policy.problem, MaintenanceProblem)
    names = {*names_in(policy.problem), "coreplan"}
    for page in (report, *report.contractors.values()):
        for place, text in texts_of(page.data):
            if not KEYS.search(place):
                assert not outside(text, names), (place, text)


def _never(policy: Policy, time_limit: float) -> None:
    raise SolverError("too large")


def test_coordination_out_of_reach(monkeypatch: pytest.MonkeyPatch) -> None:
    """A missing part is announced in the language of the page."""

    def fails(*_: object, **__: object) -> None:
        raise SolverError("too large")

    monkeypatch.setattr("coreplan.domains.maintenance.report.money.value_of_coordination", fails)
    _, result = example("two_works.yaml")
    with speaking("de"):
        words = make_report(result).data["coordination"]["words"]
    assert words == "Der Wert der Abstimmung konnte nicht berechnet werden: too large."


def test_columns_of_a_works_list_keep_their_titles() -> None:
    """Titles from a file are names, even if they look like texts of coreplan or have braces."""
    problem, _ = example("two_works.yaml")
    details = {"Alpha/a1": {"delay": "2", "{number} {}": "x"}}
    with speaking("nl"):
        data = make_report(solve(replace(problem, details=details))).data
    titles = [column["title"] for column in data["works_table"]["columns"]]
    assert titles[-2:] == ["delay", "{number} {}"]
    assert "vertraging" in titles
    assert [cell["name"] for cell in column_of(data, "delay")] == ["2", ""]


# -- the command -----------------------------------------------------------------------------------


def test_the_command_in_dutch(run: Run, small: Path, tmp_path: Path) -> None:
    """What the command prints, and the pages, are Dutch; keys of --json are not."""
    page = tmp_path / "plan.html"
    speak = ("--language", "nl", "--currency", "EUR")
    code, out, err = run("report", small, "-o", page, "--each-contractor", *speak)
    assert (code, err) == (0, "")
    files = [tmp_path / f"plan-{name}.html" for name in ("alpha", "beta")]
    lines = out.splitlines()
    assert lines[-1] == f"de pagina's van 2 aannemers staan ernaast: {files[0]} t/m {files[1]}"
    assert lines[-2] == f"het rapport staat in {page}"
    assert any(line.startswith("Het plan levert naar verwachting in totaal €") for line in lines)
    assert all("bezig" not in line and "report" not in line for line in lines[:-2])
    for file in (page, *files):
        text = file.read_text(encoding="utf-8")
        assert '<html lang="nl">' in text
        assert Page(text).data["summary"]["headline"].endswith("op.")
    alone = tmp_path / "alone.html"
    code, out, _ = run("report", small, "-o", alone, "--contractor", "Beta", *speak)
    assert "De werken van Beta leveren naar verwachting €\u00a0" in out
    assert alone.read_bytes() == files[1].read_bytes()
    one = tmp_path / "one.html"
    said = [
        one_json(run("report", small, "-o", one, "--force", "--json", *options).out)
        for options in (speak, ())
    ]
    sizes = [each.pop("bytes") for each in said]
    assert said[0] == said[1]
    assert sizes[0] > sizes[1]  # with translations
    assert '<html lang="en">' in one.read_text(encoding="utf-8")


# -- two plans -------------------------------------------------------------------------------------


def test_two_plans_in_german() -> None:
    """The headings, titles, legend, labels and footer of two compared plans are German."""
    problem, result = example("two_works.yaml")
    comparison = compare_plans(problem.read_plan({"Alpha": {"a1": 0}, "Beta": {"b1": 0}}), result)
    english = comparison_report(comparison, names=("<old>", "new.json"))
    with speaking("de", "EUR"):
        german = comparison_report(comparison, names=("<old>", "new.json"))
        dated = comparison_report(comparison, calendar=SPRING).html
    assert without_texts(german.data) == without_texts(english.data)
    shown = Shown(german.html).texts
    for text in (
        "Kurz gefasst",
        "Kosten",
        "Maßnahmen",
        "Maßnahme",
        "Beginn alt (Schritt)",
        "Beginn neu (Schritt)",
        "Unterschied",
        "Die Maßnahmen beider Pläne als Balken; die Tabelle darunter nennt dieselben Termine.",
    ):
        assert text in shown
    assert any(text.endswith(": zwei Pläne im Vergleich") for text in shown)
    assert any(text.startswith("Obere Balken: der alte Plan.") for text in shown)
    assert shown[-1].rstrip().endswith("Alle Beträge sind Erwartungswerte.")
    assert "Alt: <bdi>" in german.html
    assert "<old>" not in german.html
    assert {"Beginn alt (Datum)", "Beginn neu (Datum)"} <= set(Shown(dated).texts)
    for text in ("Upper bars", "difference", "In short", "Made by", "This file", "old start"):
        assert not any(text in each for each in shown)
        assert any(text in each for each in Shown(english.html).texts)
    assert comparison_report(comparison, names=("<old>", "new.json")).html == english.html


# -- plans of any kind -----------------------------------------------------------------------------


def robots() -> tuple[TIMMDP, Result]:
    """Two robots and their best plan."""
    problem = read_problem(example_path("two_robots.yaml"))
    assert isinstance(problem, TIMMDP)
    return problem, solve(problem)


def test_plans_of_any_kind_in_dutch() -> None:
    """The report of a plan that is not about works: Dutch words, the same numbers."""
    _, result = robots()
    english = make_report(result)
    with speaking("nl"):
        dutch = make_report(result)
    assert without_texts(dutch.data) == without_texts(english.data)
    assert english.data["summary"]["headline"] == "The plan is worth 12.52."
    assert dutch.data["summary"]["headline"] == "Het plan is 12,52 waard."
    assert dutch.data["summary"]["proof"] == "Bewezen het beste plan."
    shown = Shown(dutch.html).texts
    for text in ("Samenvatting", "Waarschijnlijke acties", "Delen van de waarde", "wanneer"):
        assert text in shown
    for text in ("in totaal", "12,52", "deel van de gevallen", "5%", "stap 0"):
        assert text in shown
    assert "12.52" not in dutch.html
    assert make_report(result).html == english.html


@pytest.mark.parametrize("known", ["proven", "gap", "nothing", "own states"])
def test_all_texts_on_plans_of_any_kind_are_in_the_catalogue(brackets: None, known: str) -> None:
    """No text of such a page is written past the catalogue."""
    problem, result = robots()
    assert result.policy is not None
    plan: Any = {
        "proven": result,
        "own states": solve(problem, algorithm="dec-mdp"),
        "gap": replace(result, status=Status.GAP_LIMIT, upper_bound=result.upper_bound + 1),
        "nothing": result.policy,
    }[known]
    report = make_report(plan, calendar=SPRING)
    names = {problem.name, *problem.agent_names, "coreplan"}
    for agent in problem.agents:
        names |= {*agent.actions, *agent.states}
    names |= {name for name, _ in report.data["parts"]}
    texts = Shown(report.html).texts
    assert len(texts) > 30
    for text in texts:
        assert not outside(text, names), text


# -- notebooks -------------------------------------------------------------------------------------


def tables(problem: Any, result: Result) -> str:
    """All tables of a problem and its plan."""
    assert result.policy is not None
    made = (problem, result, result.policy, simulate(result.policy, 100, 1))
    return "".join(each._repr_html_() for each in made)


def test_notebook_tables_in_german() -> None:
    """Tables have German titles and numbers, and nothing leaks into English ones."""
    problem, result = example("two_works.yaml")
    english = tables(problem, result)
    with speaking("de"):
        german = tables(problem, result)
    shown = set(Shown(german).texts)
    for text in ("Auftragnehmer", "Maßnahme", "Kosten je Schritt", "Zeitfenster Beginn"):
        assert text in shown
    for text in ("obere Schranke", "Algorithmus", "Standardabweichung", "0 bis 2"):
        assert text in shown
    assert "100 Simulationen mit Startwert 1" in shown
    for text in ("contractor", "upper bound", "start window", "from seed", "mean return"):
        assert text in english
        assert text not in german
    assert result.value != int(result.value)
    assert f"{result.value:.10g}".replace(".", ",") in shown
    assert tables(problem, result) == english


def test_all_texts_of_notebook_tables_are_in_the_catalogue(brackets: None) -> None:
    """Only names, and words that name settings, are the same in every language."""
    for problem, result in (example("ring_road.yaml"), robots()):
        names = {problem.name, *problem.agent_names, result.algorithm, result.objective}
        names |= {str(result.status), " s"}
        if isinstance(problem, MaintenanceProblem):
            names |= names_in(problem)
        else:
            for agent in problem.agents:
                names |= {*agent.actions, *agent.states}
        for text in Shown(tables(problem, result)).texts:
            if not text.endswith(" at stage 0"):  # actions of agents, for researchers
                assert not outside(text, names), text
