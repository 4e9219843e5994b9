"""`coreplan plan`: chart, costs and rules, from solving or from a file, with and without dates."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from unittest import mock

import pytest

from cli_runs import Run, one_json, run_unread, shell
from coreplan import Policy, SolverError, cli, read_problem, solve
from coreplan.domains.maintenance.decision_rules import decision_rules
from coreplan.domains.maintenance.money import split_value
from coreplan.domains.maintenance.timeline import timeline
from helpers import random_mpp
from waiting import HANG

plan_module = sys.modules["coreplan.cli.plan"]
view_module = sys.modules["coreplan.domains.maintenance.view.plan_view"]
RING = cli.example_path("ring_road.yaml")
ROBOTS = cli.example_path("two_robots.yaml")


def solved(path: Path) -> Policy:
    """The optimal policy of a file."""
    policy = solve(read_problem(path)).policy
    assert policy is not None
    return policy


def test_plan(run: Run, small: Path) -> None:
    """It prints whether the plan is optimal, the chart, the money and what delays change."""
    code, out, err = run("plan", small)
    assert (code, err) == (0, "")
    policy = solved(small)
    money = split_value(policy)
    assert "Proven best. This plan earns " in out
    for name in ("Alpha", "  bridge", "  tunnel", "Beta", "  road"):
        assert any(line.startswith(name) for line in out.splitlines())
    total = next(line for line in out.splitlines() if line.startswith("in all"))
    assert total.split()[2:] == [
        f"{each:,.2f}" for each in (money.revenue, money.works, money.value)
    ]
    alpha = [money.revenue_of[0], money.works_of[0], money.revenue_of[0] - money.works_of[0]]
    assert [f"{each:,.2f}" for each in alpha] in [
        line.split()[1:] for line in out.splitlines() if line.startswith("Alpha ")
    ]
    assert "step" in out
    assert "Mar" not in out


def test_rules_are_those_of_the_policy(run: Run) -> None:
    """The rules that matter most are printed, as many as are asked for."""
    rules = decision_rules(solved(RING)).rules
    assert len(rules) > 2
    everything = run("plan", RING, "--rules", 1000).out
    assert "more rule" not in everything
    assert everything.count(" instead of ") == len(rules)
    some = run("plan", RING, "--rules", 2).out
    assert some.count(" instead of ") == 2
    assert f"and {len(rules) - 2} less important rules" in some
    assert "What to do about delays" not in run("plan", RING, "--rules", 0).out


def test_dates(run: Run, small: Path) -> None:
    """Dates come from the calendar beside the file, which is said, or from options."""
    out = run("plan", small, "--start-date", "2026-03-02", "--step", "day").out
    assert "steps are days; the first begins on 2 Mar 2026" in out
    assert "4 Mar  " in out
    calendar = small.with_name("small.calendar.yaml")
    calendar.write_text("format: calendar/1\nstart: 2026-05-04\n")
    out = run("plan", small).out
    assert str(calendar) in out
    assert "4 May" in out
    out = run("plan", small, "--start-date", "2026-06-01").out
    assert str(calendar) not in out
    assert "1 Jun" in out
    calendar.write_text("format: calendar/1\nstart: someday\n")
    code, out, err = run("plan", small)
    assert (code, out) == (2, "")
    assert str(calendar) in err


def test_solve_shows_dates_too(run: Run, small: Path) -> None:
    """`solve` says by date what to do first, if there is a calendar."""
    out = run("solve", small, "--start-date", "2026-03-02").out
    assert "steps are weeks; the first begins on 2 Mar 2026" in out
    assert "at once (2 Mar 2026)" in out
    assert "stage" not in out
    assert "Stadsbeheer starts cycle path" in run("solve", RING, "--start-date", "2026-03-02").out
    assert "waits 2 weeks, then starts" in run("solve", RING, "--start-date", "2026-03-02").out
    assert "at once (step 0)" in run("solve", small).out
    assert run("solve", small, "--step", "day").code == 2


def test_plan_as_json(run: Run) -> None:
    """--json prints all numbers of the timeline, the money and the rules, and nothing else."""
    code, out, err = run("plan", RING, "--json", "--start-date", "2026-03-02")
    assert (code, err) == (0, "")
    said = one_json(out)
    policy = solved(RING)
    made = timeline(policy)
    assert said["exact"] is True
    assert said["value"] == pytest.approx(made.money.value)
    assert said["calendar"] == {"start": "2026-03-02", "step": "week"}
    assert said["result"]["status"] == "optimal"
    assert [each["work"] for each in said["works"]] == [each.work for each in made.works]
    assert [each["completed"] for each in said["works"]] == pytest.approx([1.0] * 9)
    for each in said["works"]:
        assert sum(each["starts"]) == pytest.approx(1)
    assert len(said["rules"]) == len(decision_rules(policy).rules)
    assert sum(each["works"] for each in said["contractors"]) == pytest.approx(made.money.works)


def test_saved_policies(run: Run, small: Path, tmp_path: Path) -> None:
    """A plan is saved, and a saved one is shown as it is, without solving."""
    path = tmp_path / "plan.json"
    code, out, err = run("plan", small, "--save-policy", path)
    assert (code, err) == (0, "")
    assert f"the plan is in {path}" in out
    with mock.patch.object(plan_module, "solve_problem", side_effect=AssertionError):
        code, shown, err = run("plan", small, "--policy", path)
    assert (code, err) == (0, "")
    assert out[out.index("step ") :] == shown[shown.index("step ") :]
    assert "proven" not in shown
    code, _, err = run("plan", small, "--policy", path, "--time-limit", 3)
    assert code == 2
    assert "--policy" in err


def test_from_a_later_stage(run: Run) -> None:
    """From where everybody stands: what is done and what is under way is said."""
    state = cli.example_path("ring_road_week_4.yaml")
    code, out, err = run("plan", RING, "--stage", 4, "--state", state)
    assert (code, err) == (0, "")
    assert "under way" in out
    assert out.count("  done") == 2
    assert "step            4 " in out


def test_where_exact_numbers_are_out_of_reach(run: Run) -> None:
    """The chart then shows what is likely, the value is an estimate, and both are said."""
    with mock.patch.object(view_module, "timeline", side_effect=SolverError("too much")):
        code, out, err = run("plan", RING)
        said = one_json(run("plan", RING, "--json").out)
    assert (code, err) == (0, "")
    assert "the chart shows the likeliest courses only, 100 % of all" in out
    assert "not exact" in out
    assert "cost of works" not in out
    exact = timeline(solved(RING))
    assert said["exact"] is False
    assert said["money"] is None
    assert said["value"] is None
    assert said["estimate"]["low"] < exact.money.value < said["estimate"]["high"]
    for each, work in zip(said["works"], exact.works, strict=True):
        assert each["starts"] == pytest.approx(list(work.starts))


def test_plans_that_go_wrong(run: Run, small: Path, tmp_path: Path) -> None:
    """Missing files and places that cannot be written end with code 2."""
    for arguments in (
        [tmp_path / "missing.yaml"],
        [small, "--policy", tmp_path / "missing.json"],
        [small, "--save-policy", tmp_path / "nowhere" / "x"],
        [small, "--save-policy", small],
        [small, "--step", "day"],
        [small, "--rules", -1],
    ):
        code, out, err = run("plan", *arguments)
        assert (code, out) == (2, "")
        assert err


def test_plans_of_robots(run: Run) -> None:
    """Plans of any kind are shown: what is done, depending on what happens."""
    code, out, err = run("plan", ROBOTS)
    assert (code, err) == (0, "")
    assert "step 0: r1: go, r2: wait" in out
    assert "the plan is worth 12.52" in out
    assert one_json(run("plan", ROBOTS, "--json").out)["value"] == pytest.approx(12.52)


def test_terminals_of_all_kinds(small: Path) -> None:
    """Plain characters where the terminal knows no others; the width is kept; nobody may read."""
    done = shell("plan", small, env={"PYTHONIOENCODING": "ascii", "COLUMNS": "60"})
    assert done.returncode == 0
    assert "##" in done.stdout
    assert done.stdout.isascii()
    chart = [line for line in done.stdout.splitlines() if "##" in line]
    assert max(map(len, chart)) <= 60
    run_unread("plan", str(small))


UNHURRIED = """
import coreplan.support.interrupts
coreplan.support.interrupts.FINISH_SECONDS = 1e6
from coreplan_launcher import main
main()
"""
"""The command line, on a machine of whatever speed."""


def test_ctrl_c_shows_the_best_plan_so_far(tmp_path: Path) -> None:
    """Ctrl-C while it is solving goes on with the plan that there is, and saves it."""
    path, policy = tmp_path / "hard.json", tmp_path / "policy.json"
    path.write_text(json.dumps(random_mpp(8, 4, 30)))
    with subprocess.Popen(
        [sys.executable, "-c", UNHURRIED, "plan", str(path), "--save-policy", str(policy)],
        stdout=subprocess.PIPE,
        encoding="utf-8",
        env={**os.environ, "PYTHONIOENCODING": "utf-8", "PYTHONUNBUFFERED": "1"},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        start_new_session=True,
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if "%" in line:  # the first line with bounds
                break
        os.killpg(process.pid, signal.SIGINT)
        out = process.stdout.read()
        assert process.wait(HANG) == 0
    assert re.search(r"^Stopped\. This plan (costs|earns) \S+; no plan can ", out, re.MULTILINE)
    assert "█ certain work" in out
    assert "earns in all" in out
    assert policy.is_file()


def test_the_documented_plan() -> None:
    """The plan in docs/planning.md is what the command there prints."""
    page = (Path(__file__).parents[1] / "docs" / "planning.md").read_text(encoding="utf-8")
    shown = re.findall(r"```text\n(.*?)```", page, re.DOTALL)[0]
    options = ["--start-date", "2026-04-06", "--step", "week", "--rules", "3"]
    assert f"examples/ring_road.yaml {' '.join(options)}" in page
    done = shell("plan", RING, *options, env={"PYTHONIOENCODING": "utf-8", "COLUMNS": "100"})
    assert done.stdout.endswith(f"\n{shown}")


def test_hostile_names(run: Run, tmp_path: Path) -> None:
    """Names that would steer the terminal, or are markup, are shown as text."""
    path = tmp_path / "hostile.yaml"
    path.write_text(
        'format: mpp/1\nhorizon: 4\nagents:\n  - name: "[bold]A\\e[31m"\n    tasks:\n'
        '      - {name: "[red]x\\n\\ty", duration: 1, cost: 1, revenue: 5}\n'
    )
    code, out, err = run("plan", path)
    assert (code, err) == (0, "")
    assert "[bold]A·[31m" in out
    assert "[red]x··y" in out
