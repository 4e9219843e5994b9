"""Reports in a real browser: what people see and click."""

from __future__ import annotations

import random
import re
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import axe_playwright_python
import pytest

from browsers import Watched
from coreplan import (
    Calendar,
    Contractor,
    Delay,
    Hindrance,
    MaintenanceProblem,
    Policy,
    SolverError,
    Task,
    make_report,
    read_problem,
    solve,
)
from coreplan.cli import example_path
from coreplan.domains.maintenance.plan_comparison import compare_plans
from coreplan.domains.maintenance.report.comparison import comparison_report
from followed import Run, follow
from helpers import from_file, random_mpp
from reports import HOSTILE, TITLE, column_of, hostile_problem, report_of

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

    def amounts(self) -> dict[str, float]:
        """The amounts in the text about the course, by their words."""
        course = self.page.inner_text("#course")
        found = re.findall(r"(costs|earns|works|hindrance|revenue) (-?[\d,]+\.\d\d)", course)
        assert found, course
        return {words: float(amount.replace(",", "")) for words, amount in found}

    def check(self) -> None:
        """The chart shows what `act` does, and the texts say the same, and what it costs."""
        expected, earned = self.followed()
        assert self.shown() == expected
        amounts = self.amounts()
        shown = -amounts["costs"] if "costs" in amounts else amounts["earns"]
        assert shown == pytest.approx(earned, abs=0.0051)
        parts = amounts.get("revenue", 0) - amounts["works"] - amounts["hindrance"]
        assert parts == pytest.approx(shown, abs=1e-6)
        self.check_words({run[:2]: run[2] for run in expected})

    def check_words(self, starts: dict[tuple[str, str], int]) -> None:
        """The sentence above the chart names the delays entered, and the list what they change."""
        heading = self.page.inner_text("#shown")
        told = {
            state: {
                f"{task} ({contractor})"
                for bar in self.bars()
                if state in bar["state"].split()
                for contractor, task in [self.names[int(bar["work"])]]
            }
            for state in ("late", "good")
        }
        late, good = told["late"], told["good"]
        if late or good:
            named = re.split(r", | and |(?: is| are) (?:delayed|on time)", heading)
            assert {each.removeprefix("The chart shows the plan if ") for each in named} >= (
                late | good
            )
            assert heading.endswith(", and no other work is delayed.")
        else:
            assert "if " not in heading or heading == (
                "The chart shows the plan if no work is delayed."
            )
        # One piece of news per moment, and of all that is said about a work the last holds.
        items = self.page.eval_on_selector_all(
            "#path > li", "all => all.map((e) => e.firstChild.data.split(':')[0])"
        )
        assert len(items) == len(set(items))
        last: dict[str, str] = {}
        for line in self.page.locator("#path ul li").all_inner_texts():
            work = re.match(r"(.+? \(.+?\)) (starts|is not started)", line)
            assert work, line
            if work[1] in last:
                assert last[work[1]].endswith("; this changes again below.")
            last[work[1]] = line
        for work, line in last.items():
            assert line.endswith("."), line
            assert not line.endswith("below."), line
            [start] = [
                begin for (who, task), begin in starts.items() if work == f"{task} ({who})"
            ] or [None]
            if "is not started" in line:
                assert start is None
            elif "in step" in line:
                assert f"starts in step {start}" in line


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
        dates = f"on {calendar.label(start)} instead of {calendar.label(before[contractor, task])}"
        assert f"{task} ({contractor}) starts {dates} ({words})." in told
    assert "The chance of the delays entered is 15 %." in page.inner_text("#course")
    assert page.get_attribute(f'button[data-work="{work}"]', "aria-label") == (
        "sluice road, AquaWegen; 2 Mar – 22 Mar 2026; delayed by 1 week"
    )
    page.click("text=Start over")
    driver.said = {}
    driver.check()
    assert page.inner_text("#path") == ""
    watched.check(path)


def test_news_of_one_day_stands_in_one_place(browser: Browser, tmp_path: Path) -> None:
    """Delays that become known on the same day are one piece of news, with one advice each."""
    task = Task("a1", 2, cost=1, delay=Delay(0.3, 1))
    other = Task("b1", 2, cost=1, delay=Delay(0.3, 3))
    third = Task("c1", 1, cost=[9, 9, *[3] * 8])
    problem = MaintenanceProblem(
        (Contractor("Alpha", (task,)), Contractor("Beta", (other,)), Contractor("C", (third,))),
        10,
        (Hindrance(("Alpha/a1", "C/c1"), cost=50), Hindrance(("Beta/b1", "C/c1"), cost=50)),
        must_complete=True,
    )
    policy, report = report_of(problem)
    page, watched, path = open_report(browser, tmp_path, report.html)
    driver = Driver(page, policy)
    driver.check()
    starts = [run[2] for run in driver.shown()]
    assert starts[0] == starts[1]
    driver.click(0)
    driver.click(1)
    driver.check()
    [item] = page.locator("#path > li").all_inner_texts()
    assert "a1 (Alpha) is delayed by 1 step, b1 (Beta) is delayed by 3 steps. Then:" in item
    assert item.count("c1 (C) starts") == 1
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
        # The name stays readable: it lies above the bar.
        assert page.evaluate(
            """() => {
              const label = document.activeElement.parentElement.querySelectorAll(".label");
              const box = document.activeElement.getBoundingClientRect();
              const own = [...label].find((each) =>
                Math.abs(each.getBoundingClientRect().left - box.left) < 1);
              own.style.pointerEvents = "auto";
              const name = own.querySelector("bdi").getBoundingClientRect();
              const top = document.elementFromPoint(name.left + 2, name.top + name.height / 2);
              own.style.pointerEvents = "";
              return own.contains(top);
            }"""
        )
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
    expected = [cell["money"] for cell in column_of(data, "expected cost")]
    expected.append(data["works_table"]["columns"][7]["total"])
    assert numbers("#works td:nth-child(8)") == pytest.approx(expected, abs=1e-6)
    assert sum(expected[:-1]) == pytest.approx(amounts[0], abs=1e-6)
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
    # Cells are rounded so that they add up to the sum beside them.
    assert cells() == pytest.approx(expected, abs=0.0101)
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
        assert cells() == pytest.approx(hindered, abs=0.0101)
        sums = page.eval_on_selector_all(
            "#heat tbody .number", "all => all.map((e) => e.innerText.replaceAll(',', ''))"
        )
        assert sum(map(float, sums)) == pytest.approx(driver.amounts()["hindrance"], abs=1e-6)
    watched.check(path)


def test_hindrance_out_of_reach(
    browser: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the expected hindrance is not known, only that of the course is shown."""

    def never(policy: Policy, time_limit: float) -> None:
        raise SolverError("too large")

    monkeypatch.setattr("coreplan.domains.maintenance.report.findings.timeline", never)
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
    policy, report = report_of(problem, most_pieces=100)
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


AXE = str(Path(axe_playwright_python.__file__).with_name("axe.min.js"))
RULES = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]}
SCREENS: list[Any] = [
    pytest.param({"viewport": {"width": 1280, "height": 900}}, id="desktop"),
    pytest.param({"viewport": PHONE, "has_touch": True, "is_mobile": True}, id="phone"),
    pytest.param({"color_scheme": "dark"}, id="dark"),
]


@pytest.mark.parametrize("context", SCREENS)
@pytest.mark.parametrize("kind", ["whole", "contractor", "later", "general"])
def test_accessibility(
    browser: Browser, tmp_path: Path, context: dict[str, Any], kind: str
) -> None:
    """axe-core finds no violation of WCAG 2 A or AA, before and after delays are entered."""
    html = page_of_kind(kind)
    page, _, _ = open_report(browser, tmp_path, html, **context)
    page.evaluate(Path(AXE).read_text(encoding="utf-8"))
    for _ in range(2):
        found = page.evaluate("(options) => axe.run(document, options)", RULES)
        assert found["passes"]
        assert [
            (each["id"], node["html"], node["failureSummary"])
            for each in found["violations"]
            for node in each["nodes"]
        ] == []
        for bar in page.query_selector_all("#chart button.open")[:2]:
            page.evaluate("(bar) => bar.click()", bar)
        if page.query_selector("#heat"):
            page.focus("#heat")
            page.keyboard.press("ArrowRight")


def page_of_kind(kind: str) -> str:
    """A page of the whole plan, of a contractor, of a later plan, or of a plan of robots."""
    if kind == "general":
        return make_report(solve(read_problem(example_path("two_robots.yaml")))).html
    raw = random_mpp(3, 3, 8, seed=4)
    raw["must_complete"] = kind != "later"
    problem = from_file(raw)
    assert isinstance(problem, MaintenanceProblem)
    calendar = Calendar(date(2026, 3, 2))
    if kind == "later":
        return make_report(solve(problem, stage=2), calendar=calendar).html
    who = problem.agent_names[1] if kind == "contractor" else None
    return make_report(solve(problem), calendar=calendar, contractor=who).html


def test_the_page_of_a_contractor(browser: Browser, tmp_path: Path) -> None:
    """It shows the contractor's row first, its works and money only, and follows clicks."""
    problem = read_problem(example_path("ring_road.yaml"))
    result = solve(problem)
    assert result.policy is not None
    report = make_report(result, contractor="Van Dijk")
    page, watched, path = open_report(browser, tmp_path, report.html)
    assert page.inner_text("h1") == "Plan for Van Dijk"
    assert page.inner_text("#headline") == report.data["summary"]["headline"]
    names = page.locator("#chart .who bdi").all_inner_texts()
    assert names[0] == "Van Dijk"
    assert page.inner_text("#works-title") == "Your works"
    assert page.query_selector("#hindrance, #possible, #coordination") is None
    driver = Driver(page, result.policy)
    # The page numbers works by its own rows.
    driver.names = [
        (report.data["contractors"][work["contractor"]], work["name"])
        for work in report.data["works"]
    ]
    driver.click(driver.names.index(("AquaWegen", "sluice road")))
    assert driver.shown() == driver.followed()[0]
    assert re.match(r"In this course your work costs [\d,.]+\. That is", page.inner_text("#course"))
    watched.check(path)


def test_words_for_fingers(browser: Browser, tmp_path: Path) -> None:
    """On a touch screen people tap; elsewhere they click."""
    _, html = ring_road()
    for context, word, other in (
        ({}, "Click", "tap"),
        ({"has_touch": True, "is_mobile": True}, "Tap", "click"),
    ):
        page, _, _ = open_report(browser, tmp_path, html, **context)
        assert page.inner_text("#panel-text").startswith(f"{word} a work")
        shown = page.inner_text("main")
        assert f"{word} a work with a striped end" in shown
        assert not re.search(rf"\b{other}\b", shown, re.IGNORECASE)


def test_hindrance_by_keyboard(browser: Browser, tmp_path: Path) -> None:
    """Arrow keys read the cells of the table of hindrance one after the other."""
    raw = random_mpp(3, 3, 8, seed=4)
    raw["must_complete"] = True
    _, report = report_of(from_file(raw))
    page, _, _ = open_report(browser, tmp_path, report.html)
    page.focus("#heat")
    page.keyboard.press("ArrowRight")
    cell = "document.querySelector('#heat .current')"
    assert page.evaluate(f"{cell} === document.querySelector('#heat td.some')")
    seen = page.inner_text("#heat-reading")
    assert page.get_attribute("#heat .current", "title") in seen
    before = int(page.get_attribute("#heat .current", "data-column") or "")
    page.keyboard.press("ArrowRight")
    assert page.get_attribute("#heat .current", "data-column") == str(before + 1)
    assert page.inner_text("#heat-reading") != seen


def test_paper_has_the_rules_and_no_instructions(browser: Browser, tmp_path: Path) -> None:
    """A printed page says what it shows and what to do about delays, and asks for no clicks."""
    policy, html = ring_road()
    page, _, _ = open_report(browser, tmp_path, html)
    driver = Driver(page, policy)
    driver.click(driver.names.index(("AquaWegen", "sluice road")))
    page.emulate_media(media="print")
    shown = page.inner_text("body")
    assert "The chart shows the plan if sluice road (AquaWegen) is delayed" in shown
    assert "if no work is delayed" not in shown
    assert not re.search(r"\b(click|tap)\b", shown, re.IGNORECASE)
    for condition in ("sluice road is delayed", "bridge deck, started in step 2, is delayed"):
        assert condition in page.inner_text("#delays")


LONG_NAMES = ("renewal of the joints of viaduct A 1-1", "renewal of the joints of viaduct A 1-2")


def long_names() -> str:
    """A report in which two works of one contractor have long names that differ at the end."""
    problem = MaintenanceProblem(
        (
            Contractor(
                "Van den Berg en Zonen Infra",
                tuple(
                    Task(name, 2, cost=3, delay=Delay(0.3, 1), window=(1, 9)) for name in LONG_NAMES
                ),
            ),
        ),
        horizon=12,
        must_complete=True,
        details={
            f"Van den Berg en Zonen Infra/{name}": {"road": "A2 left", "budget code": "B1000"}
            for name in LONG_NAMES
        },
    )
    return report_of(problem, calendar=Calendar(date(2026, 3, 2)))[1].html


@pytest.mark.parametrize("viewport", [{"width": 1280, "height": 900}, PHONE, {"width": 680}])
def test_works_are_shown_in_full(
    browser: Browser, tmp_path: Path, viewport: dict[str, int]
) -> None:
    """The table of works fits on the page, and cuts off no name: desktop, phone and paper."""
    paper = "height" not in viewport
    page, _, _ = open_report(browser, tmp_path, long_names(), viewport={"height": 1000, **viewport})
    if paper:
        page.emulate_media(media="print")
    fits = "(e) => [e.scrollWidth - e.clientWidth, e.scrollHeight - e.clientHeight]"
    assert page.eval_on_selector("#works", fits) == [0, 0]
    cut = """(all) => all.filter((e) => {
      const style = getComputedStyle(e);
      return style.overflow !== "visible" && e.scrollWidth > e.clientWidth;
    }).map((e) => e.textContent)"""
    assert page.eval_on_selector_all("#works *", cut) == []
    names = page.get_by_role("rowheader").all_inner_texts()
    assert set(LONG_NAMES) <= set(names)
    # The table keeps its meaning where it looks like cards.
    assert page.get_by_role("table").last.get_by_role("cell", name="B1000").count() == 2


@pytest.mark.parametrize("viewport", [{"width": 1280, "height": 900}, PHONE])
def test_compared_plans_are_shown_in_full(
    browser: Browser, tmp_path: Path, viewport: dict[str, int]
) -> None:
    """Both tables of two compared plans fit on the page, also on a phone; no name is cut off."""
    problem = MaintenanceProblem(
        (
            Contractor(
                "Van den Berg en Zonen", tuple(Task(name, 2, cost=3) for name in LONG_NAMES)
            ),
            Contractor("Beta", (Task("b1", 2, cost=12345.67),)),
        ),
        horizon=12,
        must_complete=True,
        network=(Hindrance((f"Van den Berg en Zonen/{LONG_NAMES[0]}", "Beta/b1"), cost=1234.5),),
    )
    mine = {"Van den Berg en Zonen": dict(zip(LONG_NAMES, (0, 4), strict=True)), "Beta": {"b1": 0}}
    comparison = compare_plans(problem.read_plan(mine), solve(problem))
    report = comparison_report(comparison, calendar=Calendar(date(2026, 3, 2)))
    page, _, _ = open_report(browser, tmp_path, report.html, viewport=viewport)
    assert page.locator(".compared").count() == 2
    fits = "(all) => all.map((e) => e.parentElement.scrollWidth - e.parentElement.clientWidth)"
    assert page.eval_on_selector_all(".compared", fits) == [0, 0]
    names = page.get_by_role("rowheader").all_inner_texts()
    assert set(LONG_NAMES) <= set(names)
    # In the chart, cut names differ where they can, and no date reaches beyond its edge.
    drawn = page.locator("svg text").all_text_contents()
    assert len(set(drawn)) == len(drawn)
    beyond = """(all) => all.filter((e) => e.getBoundingClientRect().right >
      e.ownerSVGElement.getBoundingClientRect().right).length"""
    assert page.eval_on_selector_all("svg text", beyond) == 0


def test_phones_name_the_values_of_works(browser: Browser, tmp_path: Path) -> None:
    """On a narrow screen every value of a work has its title beside it, and empty ones are gone."""
    page, _, _ = open_report(browser, tmp_path, long_names(), viewport=PHONE)
    assert page.is_hidden("#works thead")
    titles = page.eval_on_selector_all(
        "#works tbody tr:first-child td",
        "(all) => all.map((e) => getComputedStyle(e, '::before').content)",
    )
    assert titles[:3] == ['"start"', '"end"', '"takes"']
    assert titles[-2:] == ['"road"', '"budget code"']
    assert page.eval_on_selector_all(
        "#works td.none", "(all) => all.every((e) => !e.checkVisibility())"
    )


def test_labels_of_the_axis_are_not_cut_off(browser: Browser, tmp_path: Path) -> None:
    """No date of the chart's axis reaches beyond the chart, on screens of any width or on paper."""
    problem = from_file(random_mpp(2, 3, 26))
    assert isinstance(problem, MaintenanceProblem)
    _, report = report_of(problem, calendar=Calendar(date(2026, 4, 6)))
    beyond = """() => {
      const edge = document.querySelector("#chart .axis .lane").getBoundingClientRect().right;
      return [...document.querySelectorAll("#chart .axis .tick span")]
        .filter((e) => e.checkVisibility() && e.getBoundingClientRect().right > edge + 1)
        .map((e) => e.textContent);
    }"""
    for width in (360, 680, 800, 1000, 1280):
        viewport = {"width": width, "height": 900}
        page, _, _ = open_report(browser, tmp_path, report.html, viewport=viewport)
        assert page.evaluate(beyond) == []
        page.set_viewport_size({"width": 680, "height": 900})
        page.emulate_media(media="print")
        assert page.evaluate(beyond) == []
        page.close()


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
