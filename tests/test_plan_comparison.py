"""Two plans compared: what moves, and what it costs or saves."""

from __future__ import annotations

import datetime
import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli_runs import Run, one_json
from coreplan import (
    Calendar,
    Contractor,
    Delay,
    Hindrance,
    MaintenanceProblem,
    ModelError,
    Policy,
    Task,
    solve,
    speaking,
    write_problem,
)
from coreplan.domains.maintenance import Closure, ContractorState
from coreplan.domains.maintenance.plan_comparison import (
    PlanComparison,
    WorkComparison,
    compare_plans,
)
from coreplan.domains.maintenance.problem_changes import find_problem_changes
from coreplan.domains.maintenance.report.comparison import comparison_report
from coreplan.domains.maintenance.view.comparison_text import (
    comparison_lines,
    cost_rows,
    headline,
    move_in_words,
    problem_change_in_words,
    works_summary,
)
from helpers import from_file
from test_preference import flat_problems

PROBLEM = MaintenanceProblem(
    (
        Contractor("Alpha", (Task("a1", 2, cost=3, delay=Delay(0.25, 1)), Task("a2", 1, cost=2))),
        Contractor("Beta", (Task("b1", 2, cost=(1.0, 1.0, 1.0, 2.0, 2.0, 2.0)),)),
    ),
    horizon=6,
    network=(Hindrance(("Alpha/a1", "Beta/b1"), cost=7.5),),
    must_complete=True,
    name="works",
)
MINE = {"Alpha": {"a1": 0, "a2": 3}, "Beta": {"b1": 1}}


@pytest.fixture
def found() -> PlanComparison:
    """The planners' own schedule against the best plan."""
    return compare_plans(PROBLEM.read_plan(MINE), solve(PROBLEM))


def plan_of(problem: MaintenanceProblem) -> Policy:
    """The best plan."""
    policy = solve(problem).policy
    assert policy is not None
    return policy


def kinds(comparison: PlanComparison) -> dict[str, str]:
    """How each work differs."""
    return {f"{each.contractor}/{each.work}": each.kind for each in comparison.works}


# -- the numbers -----------------------------------------------------------------------------------


@given(raw=flat_problems(), data=st.data())
def test_costs_are_those_of_both_plans(raw: dict[str, object], data: st.DataObject) -> None:
    """The saving is the exact difference of both values, and the parts add up to both totals."""
    problem = from_file(raw)
    assert isinstance(problem, MaintenanceProblem)
    mine = {
        contractor.name: {contractor.tasks[0].name: data.draw(st.integers(0, problem.horizon - 1))}
        for contractor in problem.contractors
    }
    plan, result = problem.read_plan(mine), solve(problem)
    comparison = compare_plans(plan, result)
    assert comparison.saving == pytest.approx(result.value - plan.evaluate(), abs=1e-9)
    *parts, total = comparison.cost_lines()
    assert total.what == "total"
    assert sum(each.old for each in parts) == pytest.approx(total.old, abs=1e-9)
    assert sum(each.new for each in parts) == pytest.approx(total.new, abs=1e-9)
    for contractor, planned in mine.items():
        for work, step in planned.items():
            row = next(e for e in comparison.works if (e.contractor, e.work) == (contractor, work))
            assert row.old_start == step


@given(cost=st.floats(0.001, 9.999), chance=st.floats(0.01, 0.99))
def test_shown_amounts_add_up(cost: float, chance: float) -> None:
    """All columns of the table add up to their last row in cents, whatever the costs are."""
    tasks = tuple(Task(f"w{k}", 1, cost=cost, delay=Delay(chance, 1)) for k in range(2))
    problem = MaintenanceProblem(
        (Contractor("A", tasks), Contractor("B", tasks)),
        horizon=6,
        network=(Hindrance(("A/w0", "B/w1"), cost=cost / 3),),
        must_complete=True,
    )
    mine = problem.read_plan({"A": {"w0": 1, "w1": 3}, "B": {"w1": 1, "w0": 3}})
    rows = cost_rows(compare_plans(mine, solve(problem)).cost_lines(in_cents=True))
    cents = [[round(100 * float(each.replace(",", ""))) for each in row[1:]] for row in rows]
    *parts, total = cents
    for k in range(3):
        assert sum(part[k] for part in parts) == total[k]
    assert all(new - old == more for old, new, more in cents)


def test_what_moves(found: PlanComparison) -> None:
    """Planned starts are those without delays; moves are counted in steps."""
    rows = {each.work: each for each in found.works}
    assert found.new.problem is PROBLEM
    best = plan_of(PROBLEM).schedule().to_schedule()
    for each in found.works:
        assert each.old_start == MINE[each.contractor][each.work]
        assert each.new_start == best[each.contractor][each.work]
        assert each.kind in ("same", "shifted") or each.moved != 0
    assert rows["a1"].old_expected == 0
    assert rows["a2"].old_expected == pytest.approx(3)  # a1 has ended by then, delayed or not
    assert found.saving is not None
    assert found.saving > 0
    assert headline(found).startswith("The new plan saves ")


def test_a_plan_against_itself(found: PlanComparison) -> None:
    """Nothing moves, and both plans cost the same."""
    same = compare_plans(found.new.policy, found.new.policy)
    assert set(kinds(same).values()) == {"same"}
    assert same.saving == 0
    assert headline(same).startswith("Both plans cost ")
    assert works_summary(same) == "No work moves."


def test_a_work_that_moves_only_on_average() -> None:
    """If only later delays move a start, the work does not count as moved, but is not the same."""
    contractors = (
        Contractor("Alpha", (Task("a1", 1, cost=1, delay=Delay(0.5, 1), window=(0, 0)),)),
        Contractor("Beta", (Task("b1", 1, cost=1, window=(1, 5)),)),
    )
    problem = MaintenanceProblem(
        contractors, 6, (Hindrance(("Alpha/a1", "Beta/b1"), 9),), must_complete=True
    )
    plan = problem.read_plan({"Alpha": {"a1": 0}, "Beta": {"b1": 1}})
    comparison = compare_plans(plan, plan_of(problem))
    row = comparison.works[1]
    assert (row.kind, row.old_start, row.new_start) == ("shifted", 1, 1)
    assert row.shifted == pytest.approx(0.5)
    text = "\n".join(line.plain for line in comparison_lines(comparison, 80))
    assert "0.5 steps later on average" in text


def test_works_that_come_and_go() -> None:
    """Works of one problem only are new or removed; works of one plan only are planned or not."""
    beta = PROBLEM.contractors[1]
    gamma = Contractor("Gamma", (Task("c1", 1, cost=1),))
    other = replace(PROBLEM, contractors=(PROBLEM.contractors[0], gamma), network=())
    found = compare_plans(plan_of(PROBLEM), plan_of(other))
    assert kinds(found)["Beta/b1"] == "removed"
    assert kinds(found)["Gamma/c1"] == "added"
    assert [(each.what, each.names) for each in found.changes][:2] == [
        ("contractor", ("Beta",)),
        ("contractor", ("Gamma",)),
    ]
    free = MaintenanceProblem((beta,), 6)
    none, some = free.read_plan({}), free.read_plan({"Beta": {"b1": 0}})
    assert kinds(compare_plans(none, some)) == {"Beta/b1": "planned"}
    assert kinds(compare_plans(some, none)) == {"Beta/b1": "dropped"}


def test_earnings_are_no_costs() -> None:
    """Plans that both earn money are compared by their earnings."""
    alpha = Contractor("Alpha", (Task("a1", 1, cost=(3.0, 2.0), revenue=9),))
    problem = MaintenanceProblem((alpha,), 2)
    plans = [problem.read_plan({"Alpha": {"a1": step}}) for step in (0, 1)]
    found = compare_plans(*plans)
    assert headline(found) == "The new plan earns 1.00 (17 %) more: it earns 7.00 instead of 6.00."
    assert ("in all", "6.00", "7.00", "+1.00") in cost_rows(found.cost_lines(in_cents=True))


def test_only_plans_of_works() -> None:
    """Plans of other problems are refused with a reason."""
    policy = solve(PROBLEM.to_timmdp()).policy
    assert policy is not None
    with pytest.raises(ModelError, match="only plans of works"):
        compare_plans(policy, policy)


# -- the problems ----------------------------------------------------------------------------------


def test_changed_problem_data() -> None:
    """Every changed number is found, and only those."""
    alpha, beta = PROBLEM.contractors
    a1 = replace(alpha.tasks[0], duration=3, cost=4, delay=Delay(0.5, 1), window=(1, 4), revenue=5)
    other = replace(
        PROBLEM,
        contractors=(Contractor("Alpha", (a1, alpha.tasks[1])), beta),
        network=(Hindrance(("Beta/b1", "Alpha/a1"), cost=8),),
        must_complete=False,
    )
    changes = find_problem_changes(PROBLEM, other)
    assert {each.what for each in changes} == {
        *("duration", "cost", "delay", "window", "revenue", "hindrance", "must_complete")
    }
    assert all(each.names in ((), ("Alpha/a1",), ("Alpha/a1", "Beta/b1")) for each in changes)
    calendar = Calendar(datetime.date(2026, 3, 2), "week")
    texts = [problem_change_in_words(each, calendar) for each in changes]
    assert "Alpha/a1: takes 3 weeks instead of 2" in texts
    assert "Alpha/a1: may start 9 Mar to 30 Mar 2026 instead of at any time" in texts
    assert "hindrance of Alpha/a1 + Beta/b1: 8.00 instead of 7.50 per week" in texts
    assert not find_problem_changes(PROBLEM, replace(PROBLEM, name="other"))


# -- the command and the page ----------------------------------------------------------------------


@pytest.fixture
def compare(run: Run) -> Run:
    """Run the command."""
    return lambda *arguments: run("compare", "plan", *arguments)


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    """A problem, a changed one, a schedule and a saved plan."""
    made = {
        name: tmp_path / name for name in ("works.yaml", "later.yaml", "mine.yaml", "best.json")
    }
    write_problem(PROBLEM, made["works.yaml"])
    write_problem(replace(PROBLEM, horizon=7, contractors=_longer()), made["later.yaml"])
    made["mine.yaml"].write_text("Alpha: {a1: 0, a2: 3}\nBeta: {b1: 1}\n")
    plan_of(PROBLEM).save(made["best.json"])
    return made


def _longer() -> tuple[Contractor, ...]:
    alpha, _ = PROBLEM.contractors
    return (
        Contractor("Alpha", (replace(alpha.tasks[0], duration=3), alpha.tasks[1])),
        Contractor("Beta", (Task("b1", 2, cost=1),)),
    )


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("mine.yaml", "works.yaml"), "saves"),
        (("works.yaml", "mine.yaml"), "more"),
        (("mine.yaml", "best.json", "--problem", "works.yaml"), "saves"),
        (("best.json", "works.yaml"), "Both plans cost"),
        (("works.yaml", "later.yaml"), "Alpha/a1: takes 3 steps instead of 2"),
        (("best.json", "later.yaml", "--problem", "works.yaml"), "Alpha/a1: takes 3 steps"),
        (("best.json", "mine.yaml", "--problem", "works.yaml", "--problem", "later.yaml"), "takes"),
    ],
)
def test_files_in_any_role(
    compare: Run, files: dict[str, Path], arguments: tuple[str, ...], words: str
) -> None:
    """Schedules, saved plans and problems are compared with each other, in 80 columns."""
    code, out, err = compare(*(files.get(each, each) for each in arguments))
    assert (code, err) == (0, "")
    assert words in out
    table = out[out.index("planned") :] if "planned start" in out else ""
    assert all(len(line) <= 80 for line in table.splitlines())
    assert "joint states" not in out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("mine.yaml", "best.json"), "name their problem with --problem"),
        (("works.yaml", "later.yaml", "--problem", "works.yaml"), "leave out --problem"),
        (("-", "works.yaml"), "must be files"),
        (("best.json", "later.yaml"), "belongs to another problem"),
        (("missing.yaml", "works.yaml"), "cannot be read"),
        (("mine.yaml", "works.yaml", "-o", "works.yaml"), "would overwrite its own input"),
    ],
)
def test_mistakes(
    compare: Run, files: dict[str, Path], arguments: tuple[str, ...], words: str
) -> None:
    """A missing problem, a wrong plan or an output over an input is refused with a reason."""
    before = files["works.yaml"].read_bytes()
    code, _, err = compare(*(files.get(each, each) for each in arguments))
    assert code == 2
    assert words in " ".join(re.sub(r"[│╭╰─╮╯]", " ", err).split())
    assert files["works.yaml"].read_bytes() == before


def test_as_json(compare: Run, files: dict[str, Path]) -> None:
    """With --json one object has all numbers of the comparison."""
    code, out, _ = compare(files["mine.yaml"], files["works.yaml"], "--json")
    assert code == 0
    data = one_json(out)
    mine = PROBLEM.read_plan(MINE)
    assert data["old"]["value"] == pytest.approx(mine.evaluate())
    assert data["new"]["proven"] is True
    assert data["saving"] == pytest.approx(data["new"]["value"] - data["old"]["value"])
    assert {each["work"] for each in data["works"]} == {"a1", "a2", "b1"}


def test_the_page(compare: Run, files: dict[str, Path], tmp_path: Path) -> None:
    """The page has the conclusion, every work, and dates; it is not overwritten unasked."""
    page = tmp_path / "compared.html"
    wanted = (files["works.yaml"], files["later.yaml"], "-o", page, "--start-date", "2026-03-02")
    assert compare(*wanted).code == 0
    html = page.read_text()
    for text in ("The new plan costs", "Alpha/a1: takes 3 weeks", "2 Mar 2026", "proven"):
        assert text in html
    for work in ("a1", "a2", "b1"):
        assert f"<bdi>\u2068{work}" in html or f"<bdi>{work}" in html
    assert "http" not in html.replace("http-equiv", "")
    refused = compare(*wanted)
    assert refused.code == 2
    assert "already exists" in refused.err
    assert page.read_text() == html
    assert compare(*wanted, "--force").code == 0


def test_names_are_no_markup() -> None:
    """Names with angle brackets or of any length are shown as text."""
    name = "<b>x</b>" * 9
    alpha = Contractor(name.replace("/", ""), (Task(name.replace("/", ""), 1, cost=1),))
    problem = MaintenanceProblem((alpha,), 3, must_complete=True)
    plans = [problem.read_plan({alpha.name: {alpha.tasks[0].name: step}}) for step in (0, 1)]
    comparison = compare_plans(*plans)
    assert "<b>" not in comparison_report(comparison).html
    lines = comparison_lines(comparison, 80)
    assert all(len(line.plain) <= 80 for line in lines)


def test_closed_periods_are_compared() -> None:
    """A period that is closed in one problem only is a difference of the problems, by its name."""
    closed = replace(PROBLEM, closed=(Closure(0, 0, "work", "Easter"),))
    (change,) = find_problem_changes(PROBLEM, closed)
    assert problem_change_in_words(change) == "closed periods: Easter instead of none"
    (change,) = find_problem_changes(closed, PROBLEM)
    assert problem_change_in_words(change) == "closed periods: none instead of Easter"
    assert not find_problem_changes(closed, closed)


# -- works lists ---------------------------------------------------------------------------------

LIST = """contractor;work;duration;cost;planned start
Alpha;a1;2;3;{a1}
Beta;b1;2;1;{b1}
"""
RULES = "work A;work B;cost\nAlpha/a1;Beta/b1;7,5\n"
LIST_OPTIONS = ("--start-date", "2026-04-06", "--horizon", "6", "--must-complete")


def write_lists(folder: Path, **starts: str) -> tuple[Path, Path]:
    """A works list with planned starts, and its hindrance."""
    works, rules = folder / "works.csv", folder / "rules.csv"
    works.write_text(LIST.format(**starts), encoding="utf-8")
    rules.write_text(RULES, encoding="utf-8")
    return works, rules


def test_a_list_alone_compares_its_planned_starts_with_the_best_plan(
    run: Run, tmp_path: Path
) -> None:
    """The planner's own dates are the old plan; the best one is new."""
    works, rules = write_lists(tmp_path, a1="2026-04-06", b1="2026-04-13")
    asked = ["compare", "plan", works, "--hindrance", rules, *LIST_OPTIONS]
    code, out, err = run(*asked)
    assert code == 0, err
    assert "old: the planned starts in" in out
    assert "The new plan saves 7.50" in out
    compared = one_json(run(*asked, "--json").out)
    assert compared["old"]["value"] == -(2 * 3 + 2 * 1 + 7.5)
    assert compared["new"]["value"] == -(2 * 3 + 2 * 1)


def test_lists_are_problems_on_both_sides(run: Run, tmp_path: Path) -> None:
    """Two lists are two scenarios; a schedule belongs to the list on the other side."""
    works, rules = write_lists(tmp_path, a1="", b1="")
    dearer = tmp_path / "dearer.csv"
    dearer.write_text(works.read_text(encoding="utf-8").replace("a1;2;3", "a1;2;5"))
    asked = ["--hindrance", rules, *LIST_OPTIONS, "--json"]
    compared = one_json(run("compare", "plan", works, dearer, *asked).out)
    assert (compared["old"]["value"], compared["new"]["value"]) == (-8.0, -12.0)
    mine = tmp_path / "mine.yaml"
    mine.write_text("format: schedule/1\nAlpha: {a1: 2026-04-06}\nBeta: {b1: 2026-04-06}\n")
    compared = one_json(run("compare", "plan", mine, works, *asked).out)
    assert (compared["old"]["value"], compared["new"]["value"]) == (-(8.0 + 15.0), -8.0)


@pytest.mark.parametrize(
    ("language", "words"),
    [("en", "1 week later"), ("nl", "1 week later"), ("de", "1 Woche später")],
)
def test_nearly_one_week_is_one_week(language: str, words: str) -> None:
    """A mean that is shown as 1 is in the singular."""
    nearly = WorkComparison("Alpha", "a1", "shifted", 2, 2, 4, 4, 2.0, 2.999)
    with speaking(language):
        assert words in move_in_words(nearly, Calendar(datetime.date(2026, 3, 2)))


LATER = ("--stage", "2", "--state")


def test_plans_are_compared_from_a_later_situation(
    compare: Run, files: dict[str, Path], tmp_path: Path
) -> None:
    """With `--stage` and `--state` all plans go on from there: schedules, saved and best ones."""
    now, page = tmp_path / "now.yaml", tmp_path / "page.html"
    now.write_text("Alpha: {done: [a1]}\nBeta: {}\n")
    state = {"Alpha": ContractorState(frozenset({"a1"})), "Beta": ContractorState()}
    best = solve(PROBLEM, stage=2, state=state)
    starts = {"Alpha": {"a2": 3}, "Beta": {"b1": 3}}
    mine = PROBLEM.read_plan(starts, stage=2, state=state)
    files["mine.yaml"].write_text("Alpha: {a1: 0, a2: 3}\nBeta: {b1: 3}\n")
    asked = (*LATER, now)
    compared = one_json(compare(files["mine.yaml"], files["works.yaml"], *asked, "--json").out)
    assert (compared["old"]["value"], compared["new"]["value"]) == (mine.evaluate(), best.value)
    saved = plan_of(PROBLEM).starting_from(2, state)
    compared = one_json(compare(files["best.json"], files["works.yaml"], *asked, "--json").out)
    assert compared["old"]["value"] == saved.evaluate()
    code, out, err = compare(files["mine.yaml"], files["works.yaml"], *asked, "-o", page)
    assert (code, err) == (0, "")
    words = "All amounts count from step 2 on: money spent or earned before is not included."
    assert words in out
    assert words in page.read_text(encoding="utf-8")


def test_a_stage_may_be_a_date_of_the_new_problem(
    compare: Run, files: dict[str, Path], tmp_path: Path
) -> None:
    """`--stage DATE` counts by the dates of the new plan's problem."""
    now = tmp_path / "now.yaml"
    now.write_text("Alpha: {done: [a1]}\nBeta: {}\n")
    dated = ("--start-date", "2026-03-02", "--state", now, "--json")
    arguments = (files["best.json"], files["works.yaml"], *dated)
    by_date = one_json(compare(*arguments, "--stage", "2026-03-16").out)
    assert by_date["new"] == one_json(compare(*arguments, "--stage", "2").out)["new"]
    code, _, err = compare(files["best.json"], files["works.yaml"], "--stage", "2")
    assert code == 2
    assert "--stage 2 needs --state FILE" in err
    assert "give --today DATE instead" in " ".join(err.split())


def test_lists_are_compared_from_today(run: Run, tmp_path: Path) -> None:
    """With `--today`, the plans go on from the progress in the list."""
    works, rules = tmp_path / "works.csv", tmp_path / "rules.csv"
    works.write_text(
        "contractor;work;duration;cost per week;planned start;status;actual start;weeks left\n"
        "Alpha;a1;2;3;2026-04-06;running;2026-04-06;1\n"
        "Beta;b1;2;1;2026-04-13;not started;;\n",
        encoding="utf-8",
    )
    rules.write_text(RULES, encoding="utf-8")
    asked = ["compare", "plan", works, "--hindrance", rules, *LIST_OPTIONS]
    code, _, err = run(*asked)
    assert code == 2
    assert "--today" in err
    compared = one_json(run(*asked, "--today", "2026-04-13", "--json").out)
    assert compared["old"]["value"] == -(3 + 2 * 1 + 7.5)
    assert compared["new"]["value"] == -(3 + 2 * 1)


def test_what_stands_alone_must_have_planned_starts(run: Run, small: Path, tmp_path: Path) -> None:
    """A problem alone, and a list without planned starts, are errors that say what is missing."""
    code, _, err = run("compare", "plan", small)
    assert code == 2
    assert "give the other one as NEW" in err
    works, rules = write_lists(tmp_path, a1="", b1="")
    code, _, err = run("compare", "plan", works, "--hindrance", rules, *LIST_OPTIONS)
    assert code == 2
    assert "fill in the start of every work" in err
    code, _, err = run("compare", "plan", works, "--problem", small)
    assert code == 2
    assert "--problem needs two plans" in err


def test_errors_are_english_in_every_language(run: Run, tmp_path: Path) -> None:
    """An error is one sentence in one language, with dates of the list's calendar."""
    works, rules = write_lists(tmp_path, a1="2026-04-06", b1="2026-05-18")
    code, _, err = run(
        "compare", "plan", works, "--hindrance", rules, *LIST_OPTIONS, "--language", "nl"
    )
    assert code == 2
    assert "cannot start work 'b1' on 18 May 2026" in err
    assert " mei " not in err
    assert " stap " not in err
