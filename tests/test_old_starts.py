"""Old plans: what a new plan changes, and what changes cost."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli_runs import Run, one_json
from coreplan import (
    Contractor,
    MaintenanceProblem,
    ModelError,
    Policy,
    Status,
    Task,
    make_report,
    solve,
    write_problem,
)
from coreplan.domains.maintenance import Closure
from coreplan.domains.maintenance.money import rounded
from coreplan.domains.maintenance.old_starts import PricedProblem, start_changes, without_price
from coreplan.domains.maintenance.view.changes_text import changes_in_words
from coreplan.model.problem import index_problem
from helpers import from_file
from test_preference import PATIENT, best_of, flat_problems

ALPHA = Contractor("Alpha", (Task("a1", 1, cost=(5.0, 4.0, 3.0, 1.0)), Task("a2", 1, cost=2)))
PROBLEM = MaintenanceProblem((ALPHA,), 4, must_complete=True, name="works")


def price(
    problem: MaintenanceProblem, old: dict[str, dict[str, int]], cost: float
) -> PricedProblem:
    """The problem with a price for changes."""
    return PricedProblem(**problem.parts(), old=old, change_cost=cost)


@given(raw=flat_problems(), cost=st.sampled_from([0.25, 1.0, 3.0]), data=st.data())
def test_the_price_of_changes_is_part_of_the_objective(
    raw: dict[str, Any], cost: float, data: st.DataObject
) -> None:
    """The value is the best one with the price of every start: brute force; the parts add up."""
    problem = from_file(raw)
    assert isinstance(problem, MaintenanceProblem)
    old = {
        agent["name"]: {
            task["name"]: data.draw(st.integers(0, raw["horizon"]))
            for task in agent["tasks"]
            if data.draw(st.booleans())
        }
        for agent in raw["agents"]
    }

    def bonus(agent: str, task: str, stage: int) -> float:
        planned = old.get(agent, {}).get(task)
        return 0.0 if planned is None else -cost * abs(stage - planned)

    value, _ = best_of(index_problem(problem), lambda *_: (0,), bonus)
    result = solve(price(problem, old, cost), tuning=PATIENT)
    assert result.value == pytest.approx(float(value), rel=1e-9, abs=1e-9)
    assert result.policy is not None
    plain = without_price(result.policy)
    assert plain.problem == problem
    changes = start_changes(plain, old)
    assert plain.evaluate() - cost * changes.difference == pytest.approx(result.value, abs=1e-9)
    planned = {(e.contractor, e.task): e.start for e in plain.schedule().works}
    same = [planned.get((c, w)) == step for c, starts in old.items() for w, step in starts.items()]
    assert (changes.kept, changes.moved) == (same.count(True), same.count(False))


def test_a_high_price_keeps_the_old_plan() -> None:
    """The dearer a change is, the fewer changes pay."""
    old = {"Alpha": {"a1": 1, "a2": 0}}
    starts = []
    for cost in (0.5, 2.0):
        policy = solve(price(PROBLEM, old, cost)).policy
        assert policy is not None
        starts.append(policy.schedule().to_schedule()["Alpha"])
    assert starts == [{"a1": 3, "a2": 0}, {"a1": 1, "a2": 0}]


def test_a_plan_with_a_price_is_a_plan_of_the_problem(tmp_path: Path) -> None:
    """The saved plan is one for the problem without the price."""
    policy = solve(price(PROBLEM, {"Alpha": {"a1": 1}}, 0.5)).policy
    assert policy is not None
    without_price(policy).save(tmp_path / "plan.json")
    loaded = Policy.load(tmp_path / "plan.json", PROBLEM)
    assert loaded.evaluate() == pytest.approx(without_price(policy).evaluate())


@pytest.mark.parametrize("cost", [-1.0, float("nan"), float("inf"), "much"])
def test_what_is_no_price(cost: Any) -> None:
    """A price is a number of at least 0."""
    with pytest.raises(ModelError, match="the cost of a changed step"):
        price(PROBLEM, {}, cost)


def test_works_under_way_are_no_changes() -> None:
    """What has begun or is done cannot be moved any more, and does not count."""
    state = {"Alpha": {"done": ["a2"], "doing": "a1", "remaining": 1}}
    old = {"Alpha": {"a1": 3, "a2": 3}, "Gone": {"g": 1}}
    policy = solve(PROBLEM, stage=2, state=state).policy
    assert policy is not None
    changes = start_changes(policy, old)
    assert (changes.moved, changes.kept, changes.difference) == (0, 0, 0)


@given(value=st.floats(-999, 999), difference=st.floats(0, 20), cost=st.floats(0.01, 9))
def test_shown_amounts_add_up(value: float, difference: float, cost: float) -> None:
    """The plan's own costs, the costs of changes and the total agree to the cent."""
    changes = replace(start_changes(_plan(), {}), difference=difference)
    _, line = changes_in_words(changes, cost, value)
    amounts = [
        round(100 * float(each.replace(",", ""))) for each in re.findall(r"[\d,]+\.\d\d", line)
    ]
    if "of the" in line:
        changed, total, _, own = amounts
        assert own == abs(round(100 * rounded(value)))
    else:
        changed, _, total = amounts
        total = -total
    assert total - changed == -round(100 * rounded(value))


def _plan() -> Policy:
    policy = solve(PROBLEM).policy
    assert policy is not None
    return policy


# -- the commands ----------------------------------------------------------------------------------


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    """A problem and an old schedule, which is partly impossible by now."""
    works, old = tmp_path / "works.yaml", tmp_path / "old.yaml"
    write_problem(PROBLEM, works)
    old.write_text("format: schedule/1\nAlpha: {a2: 9, gone: 1}\nGone: {g: 2}\n")
    return works, old


def test_keep(run: Run, files: tuple[Path, Path], tmp_path: Path) -> None:
    """`--keep` takes old starts, even impossible ones, and says how much changes."""
    works, old = files
    code, out, err = run("plan", works, "--keep", old, "--json")
    assert (code, err) == (0, "")
    shown = one_json(out)
    starts = {each["work"]: each["first_start"] for each in shown["works"]}
    assert starts == {"a1": 3, "a2": 2}  # as late as possible
    assert shown["changes"] == {
        "moved": 1,
        "kept": 0,
        "difference": 7.0,
        "change_cost": None,
        "cost": 0.0,
    }
    plain = one_json(run("plan", works, "--json").out)
    assert plain["value"] == shown["value"]
    assert {each["work"]: each["first_start"] for each in plain["works"]}["a2"] == 0
    out = run("plan", works, "--keep", old).out
    assert (
        "compared with the old plan: 1 work moved, 0 as before; all starts differ by 7 steps" in out
    )
    assert "changes cost" not in out
    assert "a2 (step 2)" in run("solve", works, "--keep", old).out.replace("\n", " ")
    page = tmp_path / "page.html"
    assert run("report", works, "--keep", old, "-o", page).code == 0


def test_change_cost(run: Run, files: tuple[Path, Path]) -> None:
    """`--change-cost` is part of the objective, and is shown apart from money."""
    works, old = files
    old.write_text("Alpha: {a1: 1, a2: 0}\n")
    code, out, err = run("plan", works, "--keep", old, "--change-cost", "0.5")
    assert (code, err) == (0, "")
    assert re.search(r"^in all +0\.00 +3\.00 +3\.00$", out, re.MULTILINE)
    words = " ".join(out.split())
    assert "changes cost 1.00 of the 4.00 (0.50 for each step); the plan itself costs 3.00" in words
    assert "This plan costs 4.00" in out
    shown = one_json(run("plan", works, "--keep", old, "--change-cost", "0.5", "--json").out)
    assert (shown["value"], shown["result"]["value"]) == (-3.0, -4.0)
    assert shown["changes"]["cost"] == 1.0


def test_change_cost_when_solving(run: Run, files: tuple[Path, Path], tmp_path: Path) -> None:
    """`solve` takes `--change-cost` like `plan`, and saves the plan without the price."""
    works, old = files
    old.write_text("Alpha: {a1: 1, a2: 0}\n")
    saved = tmp_path / "saved.json"
    asked = ("solve", works, "--keep", old, "--change-cost", "0.5")
    code, out, err = run(*asked, "--save-policy", saved)
    assert (code, err) == (0, "")
    words = " ".join(out.split())
    assert "changes cost 1.00 of the 4.00 (0.50 for each step); the plan itself costs 3.00" in words
    shown = one_json(run(*asked, "--json").out)
    assert (shown["value"], shown["changes"]["cost"]) == (-4.0, 1.0)
    valued = one_json(run("evaluate", works, "--policy", saved, "--no-bound", "--json").out)
    assert valued["value"] == -3.0
    code, _, err = run(*asked, "--certificate", tmp_path / "proof.json")
    assert code == 2
    assert "leave out --change-cost" in err


def test_change_cost_in_reports(run: Run, files: tuple[Path, Path], tmp_path: Path) -> None:
    """A report shows the plan's own amounts, and apart from them what changes cost."""
    works, old = files
    old.write_text("Alpha: {a1: 1, a2: 0}\n")
    page = tmp_path / "page.html"
    asked = ("report", works, "--keep", old, "--change-cost", "0.5", "-o", page)
    code, out, err = run(*asked)
    assert (code, err) == (0, "")
    assert "The plan is expected to cost 3.00 in all." in out
    assert "Proven to be the best plan with the costs of its changes." in out
    costs = "changes cost 1.00 of the 4.00 (0.50 for each step); the plan itself costs 3.00"
    assert costs in " ".join(out.split())
    text = page.read_text(encoding="utf-8")
    assert costs in text
    assert "no plan costs less" not in text
    shown = one_json(run(*asked, "--force", "--json").out)
    assert (shown["value"], shown["optimal"], shown["upper_bound"]) == (-3.0, True, None)
    assert shown["changes"]["cost"] == 1.0


def test_reports_of_unproven_plans_with_prices() -> None:
    """Without a proof, the report says what could be saved at most, costs of changes included."""
    old = {"Alpha": {"a1": 1, "a2": 0}}
    priced = PricedProblem(**PROBLEM.parts(), old=old, change_cost=0.5)
    result = solve(priced)
    open_result = replace(result, upper_bound=result.value + 0.25, status=Status.GAP_LIMIT)
    summary = make_report(open_result).data["summary"]
    assert not summary["proven"]
    assert "at most 0.25 could be saved, costs of changes included" in summary["proof"]
    assert (
        summary["value"]
        == result.value + 0.5 * start_changes(without_price(result.policy), old).difference
    )


def test_a_saved_plan_is_kept(run: Run, files: tuple[Path, Path], tmp_path: Path) -> None:
    """OLD may be a saved plan for the same problem."""
    works, _ = files
    late = tmp_path / "late.json"
    assert run("plan", works, "--prefer", "late", "--save-policy", late).code == 0
    out = run("plan", works, "--keep", late).out
    assert "0 works moved, 2 as before; all starts differ by 0 steps expected" in out


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--change-cost", "2"), "--change-cost needs --keep OLD"),
        (("--keep", "works.yaml"), "schedule/1"),
        (("--keep", "missing.yaml"), "cannot be read"),
        (("--keep", "old.yaml", "--change-cost", "-1"), "--change-cost"),
        (("--keep", "old.yaml", "--policy", "old.yaml"), "--policy shows a finished plan"),
    ],
)
def test_mistakes(run: Run, files: tuple[Path, Path], options: tuple[str, ...], words: str) -> None:
    """A price without a plan, or what is no plan, is refused with a reason."""
    folder = files[0].parent
    given = [folder / each if each.endswith(".yaml") else each for each in options]
    code, _, err = run("plan", files[0], *given)
    assert code == 2
    assert words in " ".join(re.sub(r"[│╭╰─╮╯]", " ", err).split())


def test_closed_periods_stay_closed() -> None:
    """With a price for changes, works still keep out of closed periods, and so without it again."""
    closed = replace(PROBLEM, closed=(Closure(3, 3),))
    priced = PricedProblem(**closed.parts(), old={"Alpha": {"a1": 3}}, change_cost=0.5)
    assert priced.plain == closed
    policy = solve(priced).policy
    assert policy is not None
    assert policy.schedule().to_schedule()["Alpha"]["a1"] == 2
