"""The scripts and templates of reports in other languages: what people see and click."""

from __future__ import annotations

import gettext
import re
from collections.abc import Iterator
from datetime import date
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polib
import pytest

from browsers import Watched
from coreplan import (
    Calendar,
    Contractor,
    Delay,
    Hindrance,
    MaintenanceProblem,
    Task,
    make_report,
    solve,
)
from coreplan.domains.maintenance.parts import Closure
from coreplan.domains.maintenance.report import SCRIPTS
from coreplan.support import language
from coreplan.support.cents import amount_text
from coreplan.support.language import current_speech, say_marked, speaking
from coreplan.support.language.scripts import (
    hidden_calls,
    page_catalogue,
    script_messages,
    script_plurals,
    template_messages,
)
from coreplan.view.report import Report
from helpers import from_file, random_mpp
from reports import Page as Parsed

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

CODES = ("nl", "de")
DATES = Calendar(date(2026, 2, 16))
REPORT = files("coreplan.domains.maintenance.report")
SCRIPT = {name: (REPORT / f"script/{name}.js").read_text(encoding="utf-8") for name in SCRIPTS}
TEMPLATE = {
    each.name: each.read_text(encoding="utf-8")
    for each in (*(REPORT / "sections").iterdir(), REPORT / "frame.html")
}


# -- the catalogues --------------------------------------------------------------------------------


def test_every_text_is_a_literal() -> None:
    """No call to say() hides its text from the catalogues, and there are texts in scripts."""
    for name, script in SCRIPT.items():
        assert hidden_calls(script) == 0, name
    assert sum(len(script_messages(script)) for script in SCRIPT.values()) > 80
    assert hidden_calls(SCRIPT["path"].replace('say("', "say(hidden + ", 1)) == 1


@pytest.mark.parametrize("code", CODES)
def test_all_texts_are_translated(code: str) -> None:
    """Scripts and templates have no text without a translation with the same values."""
    path = files("coreplan.support.language") / f"{code}.po"
    catalogue = {
        entry.msgid: list(entry.msgstr_plural.values()) or [entry.msgstr]
        for entry in polib.pofile(path.read_text(encoding="utf-8"))
        if entry.msgctxt is None
    }
    messages = [each for script in SCRIPT.values() for each in script_messages(script)]
    messages += [one for script in SCRIPT.values() for one, _ in script_plurals(script)]
    messages += [each for template in TEMPLATE.values() for each in template_messages(template)]
    for message in messages:
        for text in catalogue[message]:
            assert text, message
            assert set(re.findall(r"{\w+}", text)) == set(re.findall(r"{\w+}", message)), text


ALLOWED = re.compile(
    r"""use\ strict|Arrow\w+|Escape|coreplan\ plan\ --stage\ --state
    |\(max-width:\ 40rem\)|tbody\ tr|button\[data-work=.*
    # classes
    |axis\ below|maybe\ under|cell\ some|column\ none|line\ right|wide\ sums""",
    re.VERBOSE,
)


def words_outside(script: str) -> Iterator[str]:
    """Texts in a script that look like words for people and are not given to say()."""
    script = re.sub(r"(?m)^\s*//.*$|\s// .*$", "", re.sub(r"(?s)/\*\*.*?\*/", "", script))
    text = r'"(?:[^"\\]|\\.)*"'
    said = rf"\bsay(?:Nodes|Count)?\((?:[^\"`]*?){text}(?:\s*[+,]\s*{text})*"
    for literal in re.findall(rf"{text}|`[^`]*`", re.sub(said, "", script)):
        plain = re.sub(r"\$\{[^{}]*(?:\{[^{}]*\}[^{}]*)*\}", "#", literal[1:-1]).strip()
        two = re.search(r"[A-Za-z]{2,} [A-Za-z]{2,}", plain)
        if (two or re.match(r"[A-Z][a-z]+", plain)) and not ALLOWED.fullmatch(plain):
            yield plain


def test_no_words_outside_the_catalogue() -> None:
    """Words for people are given to say(); templates have them in double square brackets."""
    for script in SCRIPT.values():
        assert list(words_outside(script)) == []
    assert list(words_outside('fill(place, "No delays entered.");')) == ["No delays entered."]
    for name, template in TEMPLATE.items():
        rest = re.sub(r"\[\[.*?\]\]", "", template, flags=re.DOTALL)
        assert re.findall(r">\s*[^<>\s{][^<>]*<", rest) == [], name
        assert re.findall(r'(?:aria-label|title|alt)="[^"]+"', rest) == [], name


def test_the_language_stays_within() -> None:
    """A page keeps the language it was made in; the next one is English again."""
    problem = small()
    before = make_report(solve(problem)).html
    with speaking("nl", "EUR"):
        dutch = Parsed(make_report(solve(problem)).html)
    assert dutch.elements[0] == ("html", {"lang": "nl"})
    assert dutch.language["messages"]["Not known"] == "Niet bekend"
    assert dutch.language["money"] == [["€\xa0", ""], ["€\xa0-", ""]]
    assert dutch.language["marks"] == {".": ",", ",": "."}
    assert current_speech().language == "en"
    after = make_report(solve(problem)).html
    assert after == before
    assert Parsed(after).language == {
        "marks": {".": ".", ",": ","},
        "money": [["", ""], ["-", ""]],
        "messages": {},
        "plurals": {},
    }
    assert page_catalogue(SCRIPT.values()) == {"messages": {}, "plurals": {}}


# -- pages in a browser ----------------------------------------------------------------------------


def small() -> MaintenanceProblem:
    """Two works that can be delayed, one that gives way to them, and closed periods."""
    task = Task("a1", 2, cost=1000, delay=Delay(0.3, 1))
    other = Task("b1", 2, cost=1000, delay=Delay(0.125, 3))
    third = Task("c1", 1, cost=[9000, 9000, *[3000.5] * 8])
    return MaintenanceProblem(
        (Contractor("Alpha", (task,)), Contractor("Beta", (other,)), Contractor("Ç", (third,))),
        10,
        (
            Hindrance(("Alpha/a1", "Ç/c1"), cost=50_000),
            Hindrance(("Beta/b1", "Ç/c1"), cost=50_000),
            Hindrance(("Alpha/a1", "Beta/b1"), cost=12.5),
        ),
        must_complete=True,
        name="small",
        closed=(Closure(8, 8, "work", "Bouwvak"), Closure(9, 9, "start", "Kermis")),
    )


def spoken(code: str, currency: str | None = "EUR", **options: Any) -> Report:
    """The report of the small problem in a language."""
    with speaking(code, currency):
        return make_report(solve(small()), **options)


def opened(browser: Browser, tmp_path: Path, html: str, **context: Any) -> tuple[Page, Watched]:
    """Open a report."""
    path = tmp_path / "plan.html"
    path.write_text(html, encoding="utf-8")
    watched = Watched(browser.new_context(**context).new_page())
    return watched.open(path), watched


def click(page: Page, *works: int) -> None:
    """Click works one after the other."""
    for work in works:
        page.click(f'button[data-work="{work}"]')


SENTENCES = {
    ("nl", True): {
        "#shown": "Het diagram toont het plan als b1 (Beta) en a1 (Alpha) vertraagd zijn en geen "
        "ander werk vertraagd is.",
        "#panel-text": "b1, Beta: 16 feb – 22 mrt 2026. Kans op een vertraging van 3 weken: 12,5%.",
        "#path": "Op 23 feb 2026: b1 (Beta) is 3 weken vertraagd. Dan:\n"
        "a1 (Alpha) begint op 16 mrt 2026 in plaats van 9 mrt 2026 (1 week later).\n"
        "c1 (Ç) begint op 30 mrt 2026 in plaats van 2 mrt 2026 (4 weken later); dit verandert "
        "hieronder nog eens.\n"
        "Op 23 mrt 2026: a1 (Alpha) is 1 week vertraagd. Dan:\n"
        "c1 (Ç) begint op 6 apr 2026 in plaats van 30 mrt 2026 (1 week later).",
        "#course": "Dit verloop kost in totaal € 11.013,00: werken € 11.000,50, hinder € 12,50. "
        "Dat is € 4.012,50 meer dan zonder vertragingen. De kans op de ingevoerde vertragingen "
        "is 3,8%.",
        ".scale": "0€ 1,56 per week",
    },
    ("nl", False): {
        "#panel-text": "b1, Beta: stap 0 t/m 4. Kans op een vertraging van 3 stappen: 12,5%.",
        "#path": "In stap 1: b1 (Beta) is 3 stappen vertraagd. Dan:\n"
        "a1 (Alpha) begint in stap 4 in plaats van stap 3 (1 stap later).\n"
        "c1 (Ç) begint in stap 6 in plaats van stap 2 (4 stappen later); dit verandert hieronder "
        "nog eens.\n"
        "In stap 5: a1 (Alpha) is 1 stap vertraagd. Dan:\n"
        "c1 (Ç) begint in stap 7 in plaats van stap 6 (1 stap later).",
        ".scale": "0€ 1,56 per stap",
    },
    ("de", True): {
        "#shown": "Das Diagramm zeigt den Plan, wenn b1 (Beta) und a1 (Alpha) verzögert sind und "
        "keine weitere Maßnahme verzögert ist.",
        "#panel-text": "b1, Beta: 16. Feb. – 22. März 2026. Wahrscheinlichkeit einer Verzögerung "
        "um 3 Wochen: 12,5 %.",
        "#path": "Am 23. Feb. 2026: b1 (Beta) ist um 3 Wochen verzögert. Dann:\n"
        "a1 (Alpha) beginnt am 16. März 2026 statt am 9. März 2026 (1 Woche später).\n"
        "c1 (Ç) beginnt am 30. März 2026 statt am 2. März 2026 (4 Wochen später); das ändert sich "
        "unten noch einmal.\n"
        "Am 23. März 2026: a1 (Alpha) ist um 1 Woche verzögert. Dann:\n"
        "c1 (Ç) beginnt am 6. Apr. 2026 statt am 30. März 2026 (1 Woche später).",
        "#course": "Dieser Verlauf kostet insgesamt 11.013,00 €: Maßnahmen 11.000,50 €, "
        "Behinderungen 12,50 €. Das sind 4.012,50 € mehr als ohne Verzögerungen. Die "
        "Wahrscheinlichkeit der eingegebenen Verzögerungen beträgt 3,8 %.",
        ".scale": "01,56 € je Woche",
    },
    ("de", False): {
        "#panel-text": "b1, Beta: Schritt 0 bis 4. Wahrscheinlichkeit einer Verzögerung um 3 "
        "Schritte: 12,5 %.",
        "#path": "In Schritt 1: b1 (Beta) ist um 3 Schritte verzögert. Dann:\n"
        "a1 (Alpha) beginnt in Schritt 4 statt in Schritt 3 (1 Schritt später).\n"
        "c1 (Ç) beginnt in Schritt 6 statt in Schritt 2 (4 Schritte später); das ändert sich unten "
        "noch einmal.\n"
        "In Schritt 5: a1 (Alpha) ist um 1 Schritt verzögert. Dann:\n"
        "c1 (Ç) beginnt in Schritt 7 statt in Schritt 6 (1 Schritt später).",
        ".scale": "01,56 € je Schritt",
    },
}


def plain(text: str | None) -> str:
    """A text without what only keeps its parts on one line, and without empty lines."""
    return re.sub(r"\s*\n\s*", "\n", (text or "").replace("\xa0", " ").strip())


@pytest.mark.browser
@pytest.mark.parametrize("dates", [True, False], ids=["dates", "steps"])
@pytest.mark.parametrize("code", CODES)
def test_sentences_on_delays(browser: Browser, tmp_path: Path, code: str, dates: bool) -> None:
    """Delays that are entered, and what follows, are told in the language of the page."""
    html = spoken(code, calendar=DATES if dates else None).html
    page, watched = opened(browser, tmp_path, html)
    click(page, 0, 1)
    for place, expected in SENTENCES[code, dates].items():
        assert plain(page.locator(place).inner_text()).replace("\n0", "0") == expected or (
            place == ".scale" and plain(page.text_content(place)) == expected
        ), place
    assert watched.said == []


@pytest.mark.browser
def test_one_and_several(browser: Browser, tmp_path: Path) -> None:
    """Sentences agree with how many works they are about, and with whether these are delayed."""
    for code, said in (
        (
            "nl",
            [
                "als geen werk vertraagd is.",
                "als a1 (Alpha) vertraagd is en geen ander werk vertraagd is.",
                "als a1 (Alpha) op tijd is en geen ander werk vertraagd is.",
                "als b1 (Beta) vertraagd is, a1 (Alpha) op tijd is en geen ander werk "
                "vertraagd is.",
                "als b1 (Beta) en a1 (Alpha) op tijd zijn en geen ander werk vertraagd is.",
            ],
        ),
        (
            "de",
            [
                "wenn keine Maßnahme verzögert ist.",
                "wenn a1 (Alpha) verzögert ist und keine weitere Maßnahme verzögert ist.",
                "wenn a1 (Alpha) pünktlich ist und keine weitere Maßnahme verzögert ist.",
                "wenn b1 (Beta) verzögert ist, a1 (Alpha) pünktlich ist und keine weitere Maßnahme "
                "verzögert ist.",
                "wenn b1 (Beta) und a1 (Alpha) pünktlich sind und keine weitere Maßnahme "
                "verzögert ist.",
            ],
        ),
    ):
        page, _ = opened(browser, tmp_path, spoken(code).html)
        shown = [page.inner_text("#shown")]
        still = [page.inner_text("#open")]
        for work in (0, 0, 1, 1):
            click(page, work)
            shown.append(page.inner_text("#shown"))
            still.append(page.inner_text("#open"))
        for text, end in zip(shown, said, strict=True):
            assert text.endswith(end)
        several, one = still[0].split("."), still[1].split(".")
        if code == "nl":
            assert (
                several[1] == " 2 werken kunnen nog vertraagd raken; ze zijn als op tijd getekend"
            )
            assert one[0] == "1 werk kan nog vertraagd raken; het is als op tijd getekend"
        else:
            assert one[0].startswith("1 Maßnahme kann sich noch verzögern; sie ist")
            assert several[1].startswith(" 2 Maßnahmen können sich noch verzögern; sie sind")


@pytest.mark.browser
@pytest.mark.parametrize("currency", [None, "EUR", "CHF"])
@pytest.mark.parametrize("code", ["en", *CODES])
def test_amounts_and_chances_as_in_other_texts(
    browser: Browser, tmp_path: Path, code: str, currency: str | None
) -> None:
    """Scripts write money and chances exactly as all other outputs do."""
    written: set[str] = set()
    for problem in (small(), from_file(random_mpp(3, 3, 8, seed=4))):
        with speaking(code, currency):
            report = make_report(solve(problem))
        page, _ = opened(browser, tmp_path, report.html)
        data = report.data
        rows = data["coordination"]["rows"]
        cells = [cell for row in data["works_table"]["rows"] for cell in row]
        with speaking(code, currency):
            together = [
                amount_text(row[key]) for row in rows for key in ("together", "alone", "saved")
            ]
            summary = [amount_text(each["amount"]) for each in data["summary"]["amounts"]]
            costs = [amount_text(cell["money"]) for cell in cells if "money" in cell]
            chances = [
                say_marked("{share:.3g} %", share=100 * cell["percent"])
                for cell in cells
                if "percent" in cell
            ]
        assert page.locator("#together td.number").all_text_contents() == together
        shown = page.eval_on_selector_all("#amounts dd", "all => all.map((e) => e.firstChild.data)")
        assert shown == summary
        table = page.eval_on_selector_all(
            "#works tr:not(.total) td span", "all => all.map((e) => e.firstChild?.data)"
        )
        assert costs == [each for each in table if each in costs]
        assert chances == [each for each in table if each in chances]
        assert min(len(costs), len(chances)) >= 3
        written |= {*together, *chances}
    text = " ".join(written)
    group, point = (",", ".") if code == "en" else (".", ",")
    # Thousands, losses and parts of a per cent are among them.
    assert re.search(rf"\d\{group}\d{{3}}\{point}\d\d", text)
    assert re.search(rf"-\D*\d+\{point}\d\d", text)
    assert re.search(rf"\d\{point}\d\s?%", text)


@pytest.mark.browser
@pytest.mark.parametrize(
    ("code", "mouse", "finger"), [("nl", "[Kk]lik", "[Tt]ik"), ("de", "Klicken", "Tippen")]
)
def test_words_for_fingers(
    browser: Browser, tmp_path: Path, code: str, mouse: str, finger: str
) -> None:
    """On a touch screen people tap; elsewhere they click."""
    html = spoken(code).html
    for context, word, other in (
        ({}, mouse, finger),
        ({"has_touch": True, "is_mobile": True}, finger, mouse),
    ):
        page, _ = opened(browser, tmp_path, html, **context)
        for place in ("#panel-text", "#plan-help"):
            assert re.search(rf"\b{word}\b", page.inner_text(place))
        assert not re.search(rf"\b{other}\b", page.inner_text("main"))
        reading = page.inner_text("#heat-reading")
        assert bool(re.search(r"^(Wijs|Zeigen)", reading)) == (word == mouse)
        assert bool(re.search(r"^(Tik|Tippen)", reading)) == (word == finger)


class _Brackets(gettext.NullTranslations):
    """A language in which every text of the catalogue stands in brackets."""

    def gettext(self, message: str) -> str:
        return f"⟦{message}⟧"

    def ngettext(self, msgid1: str, msgid2: str, n: int) -> str:
        return f"⟦{msgid1 if n == 1 else msgid2}⟧"

    def pgettext(self, context: str, message: str) -> str:
        return message if message in (".", ",") else f"⟦{message}⟧"


READ = """() => {
  const texts = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    if (!walker.currentNode.parentElement.closest("script, style, noscript"))
      texts.push(walker.currentNode.data);
  }
  const attributes = [...document.querySelectorAll("[aria-label], [title]")].flatMap((each) =>
    [each.getAttribute("aria-label") ?? "", each.title]);
  return [texts.join(""), ...attributes];
}"""


def without_brackets(text: str) -> str:
    """A text without what stands in brackets."""
    before = ""
    while before != text:
        before, text = text, re.sub(r"⟦[^⟦⟧]*⟧", "", text)
    return text


def strings_in(data: Any) -> Iterator[str]:
    """All texts in the content of a page, besides its keys."""
    if isinstance(data, dict):
        for key, value in data.items():
            if key not in ("language", "sections", "unit", "no"):
                yield from strings_in(value)
    elif isinstance(data, list):
        for each in data:
            yield from strings_in(each)
    elif isinstance(data, str):
        yield data


def report_of_kind(kind: str) -> Report:
    """Pages of all kinds: with and without dates, delays, hindrance, and all their courses."""
    if kind == "calm":
        calm = MaintenanceProblem((Contractor("Alpha", (Task("a1", 2, cost=3),)),), 4)
        return make_report(solve(calm))
    if kind == "large":
        return make_report(solve(from_file(random_mpp(4, 3, 9))), most_pieces=150)
    if kind.startswith("rich"):
        calendar = DATES if kind.endswith("dates") else None
        return make_report(solve(from_file(random_mpp(3, 3, 8, seed=4))), calendar=calendar)
    days = Calendar(date(2026, 2, 16), "day")
    calendars = {"small, dates": DATES, "small, days": days}
    contractor = "Beta" if kind == "contractor" else None
    return make_report(solve(small()), calendar=calendars.get(kind), contractor=contractor)


KINDS = (
    "small",
    "small, dates",
    "small, days",
    "contractor",
    "calm",
    "rich",
    "rich, dates",
    "large",
)


@pytest.mark.browser
@pytest.mark.parametrize("kind", KINDS)
def test_scripts_write_nothing_outside_the_catalogue(
    browser: Browser,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    kind: str,
) -> None:
    """All words of scripts and templates come from the catalogue, whatever is clicked."""
    monkeypatch.setattr(language, "_present_catalogue", _Brackets)
    report = report_of_kind(kind)
    monkeypatch.undo()
    given = {without_brackets(each) for each in strings_in(report.data)} - {""}
    if report.data["dates"]:
        given |= {re.sub(r" \d+$", "", each) for each in given}
    page, watched = opened(browser, tmp_path, report.html)
    seen = 0
    for _ in range(7):
        texts = page.evaluate(READ)
        seen += sum(each.count("⟦") for each in texts)
        for text in texts:
            rest = without_brackets(text)
            for each in sorted(given, key=len, reverse=True):
                rest = rest.replace(each, "")
            assert re.findall(r"[^\W\d_]+", rest) == [], rest
        bars = page.query_selector_all("#chart button")
        if not bars:
            break
        page.evaluate("(bar) => bar.click()", bars[seen % len(bars)])
        if page.query_selector("#heat td.cell"):
            page.focus("#heat")
            page.keyboard.press("ArrowRight")
            page.click("#heat-choices button:last-child")
    assert seen > 30
    assert watched.said == []


@pytest.mark.browser
@pytest.mark.parametrize("viewport", [(360, 740), (1200, 800)], ids=["phone", "desktop"])
@pytest.mark.parametrize("code", CODES)
def test_longer_words_and_amounts_fit(
    browser: Browser, tmp_path: Path, code: str, viewport: tuple[int, int]
) -> None:
    """Large amounts with a currency stay on one line in their places; the page does not scroll."""
    one = Task("bridge deck Merwede", 3, cost=2_650_000, delay=Delay(0.35, 2))
    other = Task("ring east", 4, cost=[3_800_000 + 90_000 * k for k in range(7)])
    rule = Hindrance(("Noord Infra/bridge deck Merwede", "Van Dijk/ring east"), cost=1_950_000)
    problem = MaintenanceProblem(
        (Contractor("Noord Infra", (one,)), Contractor("Van Dijk", (other,))),
        7,
        (rule,),
        must_complete=True,
    )
    with speaking(code, "EUR"):
        html = make_report(solve(problem), calendar=Calendar(date(2026, 8, 31))).html
    size = {"width": viewport[0], "height": viewport[1]}
    page, _ = opened(browser, tmp_path, html, viewport=size)
    click(page, 0)
    page.click("#heat-choices button:last-child")
    assert page.evaluate("document.documentElement.scrollWidth") <= viewport[0]
    sums = page.locator("#heat td.number")
    assert sums.count() == 1
    assert sums.evaluate("(cell) => cell.scrollWidth <= cell.clientWidth")
    lines = page.eval_on_selector_all(
        "#amounts dd",
        """all => all.map((each) => {
          const range = document.createRange();
          range.selectNode(each.firstChild);
          return range.getClientRects().length;
        })""",
    )
    assert lines == [1, 1, 1]
    # On paper nothing can be scrolled: A4 within margins of 15 mm.
    page.set_viewport_size({"width": 680, "height": 1000})
    page.emulate_media(media="print")
    for table in ("#works table", "#together table", "#heat table"):
        box = page.locator(table).bounding_box()
        assert box is not None
        assert box["x"] + box["width"] <= 680, table
