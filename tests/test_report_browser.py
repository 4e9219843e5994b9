"""Reports in a real browser: what people see and click."""

from __future__ import annotations

import random
import re
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from browsers import Watched
from coreplan import (
    Calendar,
    MaintenanceProblem,
    Policy,
    SolverError,
    make_report,
    read_problem,
    solve,
)
from coreplan.cli import example_path
from followed import Run, follow
from helpers import from_file, random_mpp
from reports import HOSTILE, TITLE, hostile_problem, report_of

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.browser

PHONE = {"width": 360, "height": 740}
BARS = """() => [...document.querySelectorAll("#chart .bar")].map((bar) => {
  const lane = bar.parentElement;
  const [a, b] = [bar.getBoundingClientRect(), lane.getBoundingClientRect()];
  return {...bar.dataset, tag: bar.tagName, state: bar.className, who: lane.dataset.contractor,
          label: bar.getAttribute("aria-label"),
          left: (a.left - b.left) / b.width, right: (a.right - b.left) / b.width};
})"""


class Driver:
    """A report that is clicked, and what was said by clicking."""

    def __init__(self, page: Page, policy: Policy) -> None:
        self.page = page
        self.policy = policy
        assert isinstance(policy.problem, MaintenanceProblem)
        self.problem = policy.problem
        self.names = [
            (contractor.name, task.name)
            for contractor in self.problem.contractors
            for task in contractor.tasks
        ]
        self.said: dict[int, bool] = {}

    def bars(self) -> list[dict[str, Any]]:
        """The works in the chart."""
        bars: list[dict[str, Any]] = self.page.evaluate(BARS)
        return bars

    def shown(self) -> list[tuple[str, str, int, int]]:
        """The works in the chart, by name and time."""
        return sorted(
            (*self.names[int(bar["work"])], int(bar["begin"]), int(bar["end"]))
            for bar in self.bars()
        )

    def followed(self) -> tuple[list[tuple[str, str, int, int]], float]:
        """What the plan does if things go as was said, by `act`, and what it earns."""
        late = {self.names[work] for work, delayed in self.said.items() if delayed}
        runs: list[Run]
        runs, sequence = follow(self.policy, lambda *work: work in late)
        return sorted(run[:4] for run in runs), self.problem.returns(sequence).total

    def click(self, work: int) -> None:
        """Click a work: not known yet, delayed, on time, and again."""
        self.page.click(f'button[data-work="{work}"]')
        if work not in self.said:
            self.said[work] = True
        elif self.said[work]:
            self.said[work] = False
        else:
            del self.said[work]

    def check(self) -> None:
        """The chart shows what `act` does, and the text what that costs."""
        expected, earned = self.followed()
        assert self.shown() == expected
        course = self.page.inner_text("#course")
        verb = "costs" if "costs" in course else "earns"
        amount = re.search(rf"{verb} (-?[\d,]+\.\d\d) in all", course)
        assert amount, course
        shown = float(amount[1].replace(",", ""))
        assert shown == pytest.approx(-earned if verb == "costs" else earned, abs=0.0051)


def open_report(
    browser: Browser, tmp_path: Path, html: str, **context: Any
) -> tuple[Page, Watched, Path]:
    """Open a report in a browser that knows nothing."""
    path = tmp_path / "plan.html"
    path.write_text(html, encoding="utf-8")
    watched = Watched(browser.new_context(**context).new_page())
    return watched.open(path), watched, path


def problems() -> list[Any]:
    """Problems to click through, of several kinds."""
    bundled = [
        pytest.param(read_problem(example_path(name)), id=name)
        for name in ("ring_road.yaml", "two_works.yaml")
    ]
    sizes = [(2, 3, 8), (3, 2, 8), (3, 3, 10), (4, 2, 7)]
    drawn = [
        pytest.param(from_file(random_mpp(*size, seed=seed)), id=f"{size}, {seed}")
        for size in sizes
        for seed in (1, 2)
    ]
    return bundled + drawn


@pytest.mark.parametrize("problem", problems())
def test_the_plan_changes_to_what_act_says(
    browser: Browser, tmp_path: Path, problem: MaintenanceProblem
) -> None:
    """After every click the chart is what following `act` gives; undo leads back step by step."""
    policy, report = report_of(problem)
    page, watched, path = open_report(browser, tmp_path, report.html)
    driver = Driver(page, policy)
    driver.check()
    assert page.is_disabled("#undo")
    draw = random.Random(problem.name)
    history = []
    for _ in range(8):
        history.append((driver.shown(), page.inner_text("#path")))
        open_works = [int(bar["work"]) for bar in driver.bars() if bar["tag"] == "BUTTON"]
        driver.click(draw.choice(open_works))
        driver.check()
    for shown, path_in_words in reversed(history):
        page.click("#undo")
        assert (driver.shown(), page.inner_text("#path")) == (shown, path_in_words)
    assert page.is_disabled("#undo")
    driver.said = {}
    driver.check()
    watched.check(path)


def ring_road(**options: Any) -> tuple[Policy, str]:
    """The bundled example: its best plan and its report."""
    problem = read_problem(example_path("ring_road.yaml"))
    assert isinstance(problem, MaintenanceProblem)
    policy, report = report_of(problem, **options)
    return policy, report.html


def test_words_for_what_was_said(browser: Browser, tmp_path: Path) -> None:
    """A delay is listed with its date and with what changes by it; starting over forgets it."""
    policy, html = ring_road(calendar=Calendar(date(2026, 3, 2)))
    page, watched, path = open_report(browser, tmp_path, html)
    driver = Driver(page, policy)
    before = {run[:2]: run[2] for run in driver.shown()}
    work = driver.names.index(("AquaWegen", "sluice road"))
    assert "No delays entered" in page.inner_text("#open")
    driver.click(work)
    told = page.inner_text("#path")
    assert told.startswith("On 9 Mar 2026: sluice road (AquaWegen) is delayed by 1 week.")
    calendar = Calendar(date(2026, 3, 2))
    moved = {
        name: start
        for name, start in ((run[:2], run[2]) for run in driver.shown())
        if before.get(name) != start
    }
    assert told.count("starts") == len(moved)
    for (contractor, task), start in moved.items():
        shift = start - before[contractor, task]
        words = f"{calendar.steps(abs(shift))} {'later' if shift > 0 else 'earlier'}"
        assert f"{task} ({contractor}) starts {words}, on {calendar.label(start)}." in told
    assert "The chance of the delays entered is 15 %." in page.inner_text("#course")
    assert page.get_attribute(f'button[data-work="{work}"]', "aria-label") == (
        "sluice road, AquaWegen; 2 Mar – 22 Mar 2026; delayed by 1 week"
    )
    page.click("text=Start over")
    driver.said = {}
    driver.check()
    assert page.inner_text("#path") == ""
    watched.check(path)


def test_choices_in_the_panel(browser: Browser, tmp_path: Path) -> None:
    """The panel sets a work to not known, on time or delayed, and says which it is."""
    policy, html = ring_road()
    page, _, _ = open_report(browser, tmp_path, html)
    driver = Driver(page, policy)
    work = driver.names.index(("AquaWegen", "sluice road"))
    driver.click(work)
    for words, said in (("On time", False), ("Delayed", True), ("Not known", None)):
        page.click(f'#panel-choices button:text-is("{words}")')
        driver.said = {} if said is None else {work: said}
        driver.check()
        assert page.inner_text('#panel-choices button[aria-pressed="true"]') == words


def test_keyboard(browser: Browser, tmp_path: Path) -> None:
    """Works are reached and switched by the keyboard, and keep the focus."""
    policy, html = ring_road()
    page, _, _ = open_report(browser, tmp_path, html)
    driver = Driver(page, policy)
    focused = "document.activeElement.dataset.work"
    for _ in range(20):
        page.keyboard.press("Tab")
        if page.evaluate(focused) is not None:
            break
    work = int(page.evaluate(focused))
    for said in (True, False):
        page.keyboard.press("Enter")
        driver.said = {work: said}
        driver.check()
        assert page.evaluate(focused) == str(work)
    page.keyboard.press("Escape")
    assert page.query_selector("#panel-choices button") is None


def test_bars_stand_where_the_steps_are(browser: Browser, tmp_path: Path) -> None:
    """A bar reaches from the begin of its first step to the end of its last one."""
    policy, html = ring_road()
    page, _, _ = open_report(browser, tmp_path, html)
    driver = Driver(page, policy)
    driver.click(driver.names.index(("Noord Infra", "bridge deck")))
    for bar in driver.bars():
        assert bar["left"] == pytest.approx(int(bar["begin"]) / 12, abs=0.002)
        assert bar["right"] == pytest.approx(int(bar["end"]) / 12, abs=0.002)
        assert driver.problem.contractors[int(bar["who"])].name == driver.names[int(bar["work"])][0]


def test_numbers_on_the_page(browser: Browser, tmp_path: Path) -> None:
    """What a reader sees are the report's numbers: summary, coordination, works, quantiles."""
    result = solve(from_file(random_mpp(3, 3, 10, seed=2)))
    report = make_report(result)
    page, watched, path = open_report(browser, tmp_path, report.html)
    data = report.data
    assert page.inner_text("#headline") == data["summary"]["headline"]
    assert page.inner_text("#proof") == data["summary"]["proof"]

    def numbers(selector: str) -> list[float]:
        texts = page.eval_on_selector_all(selector, "all => all.map((each) => each.innerText)")
        return [float(re.sub(r"[^\d.-]", "", text)) for text in texts]

    amounts = [each["amount"] for each in data["summary"]["amounts"]]
    texts = page.eval_on_selector_all("#amounts dd", "all => all.map((e) => e.firstChild.data)")
    assert [float(text.replace(",", "")) for text in texts] == pytest.approx(amounts, abs=0.0051)
    rows = data["coordination"]["rows"]
    expected = [row[key] for row in rows for key in ("together", "alone", "saved")]
    assert numbers("#together td") == pytest.approx(expected, abs=0.0051)
    expected = [work["expected"] for work in data["works"]]
    assert numbers("#works td:nth-child(7)") == pytest.approx(expected, abs=0.0051)
    expected = [amount for _, amount in data["distribution"]["quantiles"]]
    assert numbers("#costs td") == pytest.approx(expected, abs=0.0051)
    columns = page.eval_on_selector_all(
        "#costs .column", "all => all.map((e) => e.getBoundingClientRect().height)"
    )
    bins = data["distribution"]["bins"]
    assert len(columns) == len(bins)
    for height, chance in zip(columns, bins, strict=True):
        assert height / max(columns) == pytest.approx(chance / max(bins), abs=0.02)
    watched.check(path)


def test_hindrance(browser: Browser, tmp_path: Path) -> None:
    """The map shows expected hindrance per rule and step, or that of the course above."""
    raw = random_mpp(3, 3, 8, seed=4)
    raw["must_complete"] = True
    problem = from_file(raw)
    assert isinstance(problem, MaintenanceProblem)
    policy, report = report_of(problem)
    page, watched, path = open_report(browser, tmp_path, report.html)
    driver = Driver(page, policy)

    def cells() -> dict[tuple[int, int], float]:
        found = page.eval_on_selector_all(
            "#heat td.some",
            "all => all.map((e) => [e.dataset.rule, e.dataset.column, e.textContent])",
        )
        return {(int(rule), int(step)): float(text.replace(",", "")) for rule, step, text in found}

    expected = {
        (rule, step): amount
        for rule, row in enumerate(report.data["hindrance"])
        if sum(abs(amount) for _, amount in row) >= 0.005
        for step, amount in row
    }
    assert expected
    assert cells() == pytest.approx(expected, abs=0.0051)
    page.click("text=The course above")
    for work in [int(bar["work"]) for bar in driver.bars() if bar["tag"] == "BUTTON"][:4]:
        driver.click(work)
        working = {run[:2]: range(run[2], run[3]) for run in driver.followed()[0]}
        hindered = {}
        for number, rule in enumerate(problem.network):
            names = [tuple(name.split("/")) for name in rule.tasks]
            for step in range(problem.horizon):
                if all(step in working.get(name, ()) for name in names):
                    hindered[number, step] = rule.cost
        assert cells() == pytest.approx(hindered)
    watched.check(path)


def test_hindrance_out_of_reach(
    browser: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the expected hindrance is not known, only that of the course is shown."""

    def never(policy: Policy, time_limit: float) -> None:
        raise SolverError("too large")

    monkeypatch.setattr("coreplan.domains.maintenance.report.content.timeline", never)
    _, html = ring_road()
    page, watched, path = open_report(browser, tmp_path, html)
    assert page.inner_text("#heat-choices") == "The course above"
    assert "out of reach" in page.inner_text("#heat-help")
    assert "No hindrance. 8 rules" in page.inner_text("#heat-notes")
    assert "nothing, or less than a cent, in this course" in page.inner_text("#heat-notes")
    watched.check(path)


def test_a_click_that_leads_outside(browser: Browser, tmp_path: Path) -> None:
    """A page that does not hold a course says so, and shows what there is up to then."""
    problem = from_file(random_mpp(4, 3, 9))
    assert isinstance(problem, MaintenanceProblem)
    policy, report = report_of(problem, most_pieces=150)
    page, watched, path = open_report(browser, tmp_path, report.html)
    driver = Driver(page, policy)
    assert page.inner_text("#held") == report.data["words"]["held"]
    assert page.is_hidden("#outside")
    for _ in range(12):
        fresh = [
            int(bar["work"])
            for bar in driver.bars()
            if bar["tag"] == "BUTTON" and int(bar["work"]) not in driver.said
        ]
        if page.is_visible("#outside") or not fresh:
            break
        driver.click(fresh[0])
    assert page.is_visible("#outside")
    assert "This page does not hold the plan of" in page.inner_text("#outside")
    assert page.inner_text("#path").endswith("This page does not hold the plan for this case.")
    assert page.inner_text("#course") == ""
    assert set(driver.shown()) < set(driver.followed()[0])
    page.click("#undo")
    driver.said.popitem()
    driver.check()
    assert page.is_hidden("#outside")
    watched.check(path)


def test_hostile_names(browser: Browser, tmp_path: Path) -> None:
    """Names that look like markup are shown letter by letter; nothing of them runs."""
    policy, report = report_of(hostile_problem())
    page, watched, path = open_report(browser, tmp_path, report.html)
    assert page.evaluate("document.scripts.length") == 2
    assert page.query_selector("img, iframe, link, section b") is None
    assert page.get_attribute("#title bdi", "title") == TITLE
    assert page.title().startswith("</script><script>alert(1)</script></title>")
    names = page.eval_on_selector_all("#chart .who bdi", "all => all.map((e) => e.textContent)")
    assert names == HOSTILE
    driver = Driver(page, policy)
    driver.click(0)
    driver.check()
    watched.check(path)


SIZES = [
    pytest.param(PHONE, id="phone"),
    pytest.param({"width": 768, "height": 1024}, id="tablet"),
    pytest.param({"width": 1200, "height": 800}, id="desktop"),
]


@pytest.mark.parametrize("viewport", SIZES)
@pytest.mark.parametrize("kind", ["ring road", "hostile", "long"])
def test_the_page_itself_does_not_scroll_sideways(
    browser: Browser, tmp_path: Path, kind: str, viewport: dict[str, int]
) -> None:
    """Charts and tables may scroll within the page; the page does not, whatever was clicked."""
    if kind == "ring road":
        problem = read_problem(example_path("ring_road.yaml"))
    elif kind == "hostile":
        problem = hostile_problem()
    else:
        problem = from_file(random_mpp(2, 3, 90))
    assert isinstance(problem, MaintenanceProblem)
    policy, report = report_of(problem, calendar=Calendar(date(2026, 3, 2)))
    page, _, _ = open_report(browser, tmp_path, report.html, viewport=viewport)
    driver = Driver(page, policy)
    for _ in range(2):
        width = page.evaluate("document.documentElement.scrollWidth")
        assert width <= viewport["width"]
        open_works = [int(bar["work"]) for bar in driver.bars() if bar["tag"] == "BUTTON"]
        driver.click(open_works[0])
    driver.check()


CONTRAST = """() => {
  const numbers = (text) => (text.match(/[\\d.]+/g) ?? []).map(Number);
  const probe = document.createElement("i");
  document.body.append(probe);
  const resolve = (color) => {
    probe.style.color = color;
    return numbers(getComputedStyle(probe).color);
  };
  const light = ([r, g, b]) => {
    const part = (x) => (x / 255 <= 0.04045 ? x / 255 / 12.92 : ((x / 255 + 0.055) / 1.055) ** 2.4);
    return 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
  };
  const ratio = (a, b) => {
    const [x, y] = [light(a), light(b)];
    return (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05);
  };
  const behind = (element) => {
    for (let each = element; each; each = each.parentElement) {
      const color = numbers(getComputedStyle(each).backgroundColor);
      if (color.length === 3 || color[3] === 1) return color;
    }
    throw new Error("nothing behind");
  };
  const worst = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || !element.checkVisibility()) continue;
    if (element.closest("script, style, :disabled, .visually-hidden")) continue;
    const color = numbers(getComputedStyle(element).color);
    // Labels of works lie on bars, and beside them.
    const grounds = element.closest(".label")
      ? ["--bar", "--late", "--surface"].map((name) =>
          resolve(getComputedStyle(document.documentElement).getPropertyValue(name)))
      : [behind(element)];
    for (const ground of grounds) {
      const found = ratio(color, ground);
      if (found < 4.5) worst.push([found, walker.currentNode.data, color, ground]);
    }
  }
  return worst;
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_contrast(browser: Browser, tmp_path: Path, scheme: str) -> None:
    """All text stands out from what is behind it by 4.5 to 1 at least, in light and in dark."""
    policy, html = ring_road()
    page, _, _ = open_report(browser, tmp_path, html, color_scheme=scheme)
    driver = Driver(page, policy)
    for work in [int(bar["work"]) for bar in driver.bars() if bar["tag"] == "BUTTON"][:3]:
        driver.click(work)
    driver.click(work)
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    brightness = sum(int(part) for part in re.findall(r"\d+", background)[:3])
    assert (brightness < 150) == (scheme == "dark")
    assert page.evaluate(CONTRAST) == []


def test_print(browser: Browser, tmp_path: Path) -> None:
    """On paper it is light, without buttons, and nothing is wider than the sheet."""
    _, html = ring_road()
    # The width of A4 within margins of 15 mm.
    page, _, _ = open_report(
        browser, tmp_path, html, color_scheme="dark", viewport={"width": 680, "height": 1000}
    )
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.documentElement).colorScheme") == "light"
    assert page.is_hidden("#panel")
    assert page.is_hidden("#heat-choices")
    assert page.is_visible("#chart")
    wide = page.evaluate(
        """() => [...document.querySelectorAll("main *")].filter((e) => e.checkVisibility()
          && !e.closest(".visually-hidden") && e.getBoundingClientRect().right > innerWidth + 1)
          .map((e) => e.outerHTML.slice(0, 100))"""
    )
    assert wide == []
    assert page.pdf(format="A4").startswith(b"%PDF")
