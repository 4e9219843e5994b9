"""`coreplan sensitivity`: sentences, JSON, limits, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli_runs import Run, one_json
from clocks import ticking
from coreplan import read_problem
from coreplan.domains.maintenance import sensitivity
from helpers import random_mpp


def test_explain_says_what_costs_most(run: Run, small: Path) -> None:
    """A sentence for each rule, window and delay, numbered, with the numbers of the analysis."""
    code, out, err = run("sensitivity", small)
    assert (code, err) == (0, "")
    title, value, *lines = out.splitlines()
    assert title == "small: 2 contractors, 3 works, 6 steps, 1 hindrance rule"
    report = sensitivity(read_problem(small))
    assert f"{report.result.value:,.2f}" in value
    assert value.startswith("the best plan is expected to earn ")
    assert [line[:3] for line in lines] == ["1. ", "2. "]
    first = report.influences[0]
    assert "If Alpha/bridge were never delayed (now with a chance of 30 %, by 1 step)" in lines[0]
    assert f" earns {first.high:,.2f} more" in lines[0]


def test_explain_as_json(run: Run, small: Path) -> None:
    """With --json exactly one object is printed, the same as from Python but for times."""
    code, out, err = run("sensitivity", small, "--json", "--relax")
    assert (code, err) == (0, "")
    found = one_json(out)
    expected = sensitivity(read_problem(small), relax=True).to_dict()
    assert found["relaxed"] is True
    assert found["influences"] == expected["influences"]
    assert found["result"]["value"] == expected["result"]["value"]


def test_only_some_are_shown(run: Run, small: Path) -> None:
    """--top shows the most costly and counts the others; --only leaves other kinds out."""
    code, out, _ = run("sensitivity", small, "--top", "1")
    assert code == 0
    assert "\n1. " in out
    assert "2. " not in out
    assert out.endswith("and 1 more, not shown\n")
    _, out, _ = run("sensitivity", small, "--top", "1", "--json")
    assert len(one_json(out)["influences"]) == 1
    _, out, _ = run("sensitivity", small, "--only", "hindrance")
    assert "delayed" not in out
    assert "hinder each other (7.5 per step)" in out
    _, out, _ = run("sensitivity", small, "--only", "windows")
    assert "nothing to examine" in out


def test_dates(run: Run, tmp_path: Path) -> None:
    """With a start date, windows are dates of starts, not ends of weeks, and steps are weeks."""
    path = tmp_path / "dated.json"
    raw = random_mpp(2, 1, 9)
    raw["agents"][0]["tasks"][0]["window"] = [1, 10**9]
    raw["agents"][1]["tasks"][0]["window"] = [1, 2]
    path.write_text(json.dumps(raw), encoding="utf-8")
    code, out, err = run("sensitivity", path, "--start-date", "2026-03-02")
    assert (code, err) == (0, "")
    assert "steps are weeks; the first begins on 2 Mar 2026" in out
    assert "If C1/w0 could start at any time (now 9 Mar to 16 Mar 2026), " in out
    assert "If C0/w0 could start at any time (now 9 Mar 2026 to " in out
    assert ", by 1 week), " in out
    code, out, _ = run(
        "sensitivity", path, "--start-date", "2026-03-02", "--step", "day", "--relax"
    )
    assert code == 0
    assert "If C1/w0 could start 1 day earlier or later (now 3 Mar to 4 Mar 2026), " in out


@pytest.mark.parametrize(
    "options", [("--only", "rules"), ("--top", "0"), ("--time-limit", "0"), ("--threads", "0")]
)
def test_wrong_options(run: Run, small: Path, options: tuple[str, str]) -> None:
    """Options that make no sense are refused by name."""
    code, out, err = run("sensitivity", small, *options)
    assert (code, out) == (2, "")
    assert options[0] in err


def test_not_a_maintenance_problem(run: Run, large: Path) -> None:
    """A ti-mmdp/1 file has no rules of hindrance, and is refused before anything is printed."""
    code, out, err = run("sensitivity", large)
    assert (code, out) == (2, "")
    assert "only a maintenance problem (mpp/1) has hindrance rules" in err


def test_time_limit(run: Run, tmp_path: Path) -> None:
    """With little time for a large problem there are ranges, and what was left out is said."""
    path = tmp_path / "hard.json"
    path.write_text(json.dumps(random_mpp(6, 3, 12)), encoding="utf-8")
    with ticking():
        code, out, err = run("sensitivity", path, "--time-limit", "0.05", "--json")
    assert (code, err) == (0, "")
    report = one_json(out)
    assert report["status"] == "time_limit"
    assert not all(each["examined"] for each in report["influences"])
    for each in report["influences"]:
        assert each["low"] is None or each["high"] is None or each["low"] <= each["high"]
    with ticking():
        code, out, _ = run("sensitivity", path, "--time-limit", "0.05", "--top", "3")
    assert code == 0
    assert "the time limit was reached: " in out


def test_no_plan_in_time(run: Run, small: Path) -> None:
    """If there is no plan in time there is nothing to explain: exit code 3."""
    code, out, err = run("sensitivity", small, "--memory-limit", "0.0001", "--json")
    assert (code, out) == (3, "")
    assert "memory" in err
