"""`coreplan evaluate`: plans that there are, and those that cannot be."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli_runs import Run, one_json
from clocks import ticking
from coreplan import cli


def test_evaluate_a_schedule(run: Run, small: Path, schedule: Path) -> None:
    """What the schedule earns, what hindrance costs, and how much can be gained at most."""
    code, out, err = run("evaluate", small, "--schedule", schedule)
    assert (code, err) == (0, "")
    assert "small: 2 contractors, 3 works" in out
    # bridge 20 - 6.9, tunnel 9 - 2, road 15 - 2, and two steps of hindrance.
    assert (
        "your plan is expected to earn 18.10 in all: revenue 44.00, works 10.90, hindrance 15.00"
        in out.splitlines()
    )
    assert (
        "at most 15.00 (82.9 %) can be gained: no plan can earn more than 33.10; "
        "a plan that earns 33.10 is known" in out.splitlines()
    )
    assert "not in the schedule" not in out


def test_evaluate_as_json(run: Run, small: Path, schedule: Path) -> None:
    """With --json exactly one object is printed; what there is not is null."""
    code, out, err = run("evaluate", small, "--schedule", schedule, "--json")
    assert (code, err) == (0, "")
    report = one_json(out)
    assert report["value"] == pytest.approx(18.1)
    assert report["exact"] is True
    assert report["upper_bound"] == pytest.approx(33.1)
    assert report["gap"] == pytest.approx(15)
    assert report["money"]["hindrance"] == pytest.approx(15)
    assert report["estimate"] is None
    alone = one_json(run("evaluate", small, "--schedule", schedule, "--json", "--no-bound").out)
    assert alone["value"] == report["value"]
    assert (alone["upper_bound"], alone["gap"], alone["search_status"]) == (None, None, None)


def test_evaluate_a_policy(run: Run, small: Path, tmp_path: Path) -> None:
    """A saved plan is evaluated; the best one is called optimal."""
    plan = tmp_path / "plan.json"
    assert run("solve", small, "--save-policy", plan).code == 0
    code, out, err = run("evaluate", small, "--policy", plan, "--estimate", 1000, "--seed", 7)
    assert (code, err) == (0, "")
    assert "your plan is optimal: no plan can earn more than 33.10" in out
    assert "with a confidence of 95 %, estimated from 1,000 runs, not exact" in out
    assert run("evaluate", small, "--policy", plan, "--stage", 2).code == 2


def test_evaluate_says_what_is_left_out(run: Run, small: Path, schedule: Path) -> None:
    """Works that the schedule does not mention are named."""
    schedule.write_text("Alpha: {bridge: 0}\n")
    out = run("evaluate", small, "--schedule", schedule, "--no-bound").out
    assert "not in the schedule and therefore never started: Alpha/tunnel, Beta/road" in out


def test_evaluate_within_limits(run: Run, large: Path, tmp_path: Path) -> None:
    """The search for a bound keeps to the time limit; the plan's value is exact all the same."""
    plan = tmp_path / "plan.json"
    with ticking():
        assert run("solve", large, "--time-limit", 0.5, "--json", "--save-policy", plan).code == 0
        code, out, err = run("evaluate", large, "--policy", plan, "--time-limit", 1, "--json")
    assert (code, err) == (0, "")
    report = one_json(out)
    assert report["search_status"] == "time_limit"
    assert report["upper_bound"] >= report["best_known"]
    if report["exact"]:
        assert report["best_known"] >= report["value"]


@pytest.mark.parametrize(
    ("text", "position", "said"),
    [
        ("Gamma: {bridge: 0}", ":1:1", "no contractor 'Gamma'"),
        ("Alpha: {brigde: 0}", ":1:9", "did you mean 'bridge'?"),
        ("Alpha: {bridge: 6}", ":1:17", "'bridge' in step 6: the plan covers steps 0 to 5"),
        ("Alpha: {bridge: 0, tunnel: 1}", ":1:28", "works on 'bridge' in steps 0 to 1"),
        ("Alpha: {bridge: now}", ":1:17", "found 'now'"),
        ("format: policy/1", ":1:9", "expected schedule/1"),
        ("[1]", ":1:1", "a mapping"),
    ],
)
def test_schedules_that_make_no_sense(
    run: Run, small: Path, schedule: Path, text: str, position: str, said: str
) -> None:
    """A schedule that cannot be is refused with file, line and column by both commands."""
    schedule.write_text(text)
    code, out, err = run("evaluate", small, "--schedule", schedule)
    assert (code, out) == (2, "")
    assert err.startswith(f"error: {schedule}{position}")
    assert said in err
    code, out, err = run("solve", small, "--start", schedule)
    assert (code, out) == (2, "")
    assert err.startswith(f"error: {schedule}")


def test_plans_that_cannot_be_used(run: Run, small: Path, schedule: Path, tmp_path: Path) -> None:
    """A missing file, no plan, two plans and a schedule for robots are errors of input: code 2."""
    missing = tmp_path / "missing.yaml"
    for option in ("--policy", "--schedule"):
        code, out, err = run("evaluate", small, option, missing)
        assert (code, out) == (2, "")
        assert err == f"error: {missing}: cannot be read: No such file or directory\n"
    assert run("solve", small, "--start", missing).code == 2
    for wrong in ([], ["--policy", schedule, "--schedule", schedule], ["--schedule", "-"]):
        file = "-" if "-" in wrong else small
        code, out, err = run("evaluate", file, *wrong)
        assert (code, out) == (2, "")
        assert "Error: " in err
    code, _, err = run("evaluate", small, "--policy", schedule)
    assert (code, "policy/1" in err) == (2, True)
    robots = cli.example_path("two_robots.yaml")
    assert run("evaluate", robots, "--schedule", schedule).code == 2
    assert run("solve", robots, "--start", schedule).code == 2
