"""`coreplan simulate`: plans that run many times."""

from __future__ import annotations

import datetime
import re
import signal
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import pytest

from cli_runs import Run, one_json, run_unread
from coreplan import (
    Calendar,
    Contractor,
    Delay,
    MaintenanceProblem,
    Policy,
    Task,
    cli,
    read_problem,
    simulate,
    solve,
)
from coreplan.view.simulation_text import simulation_in_words
from waiting import HANG


def test_simulate_the_best_plan(run: Run, small: Path) -> None:
    """Without a plan the best one is found; then come the mean, the spread, and tables."""
    code, out, err = run("simulate", small, "--runs", 2000)
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0].startswith("small: 2 contractors, 3 works")
    assert any(line.startswith("Proven best. This plan ") for line in lines)
    assert any(line.startswith("2,000 runs from seed 1 in ") for line in lines)
    assert any(line.startswith("Alpha/bridge ") for line in lines)
    policy = solve(read_problem(small)).policy
    assert policy is not None
    expected = simulate(policy, 2000, 1)
    assert f"mean earnings {expected.mean:,.2f}, between" in out


def test_simulate_as_json(run: Run, small: Path, tmp_path: Path) -> None:
    """With --json exactly one object is printed: what the library gives for the same plan."""
    plan = tmp_path / "plan.json"
    assert run("solve", small, "--save-policy", plan).code == 0
    options = ("--policy", plan, "--runs", 5000, "--seed", 7, "--confidence", 0.9, "--json")
    code, out, err = run("simulate", small, *options)
    assert (code, err) == (0, "")
    report = one_json(out)
    problem = read_problem(small)
    expected = simulate(Policy.load(plan, problem), 5000, 7, confidence=0.9).to_dict()
    assert report.pop("seconds") > 0
    assert report == {key: value for key, value in expected.items() if key != "seconds"}
    again = one_json(run("simulate", small, *options, "--threads", 1).out)
    assert again["value"] == report["value"]
    alone = one_json(run("simulate", small, "--runs", 5000, "--json", "--time-limit", 60).out)
    assert alone["value"]["mean"] == pytest.approx(report["value"]["mean"], rel=0.05)


def test_tables_fit_on_narrow_terminals() -> None:
    """Long names are broken, so that no row of a table is wider than the terminal; none is cut."""
    names = ("renewal of the joints of viaduct 12", "renewal of the joints of viaduct 13")
    works = tuple(Task(name, 2, cost=3, delay=Delay(0.3, 1)) for name in names)
    problem = MaintenanceProblem((Contractor("Alpha", works),), 12, must_complete=True)
    policy = solve(problem).policy
    assert policy is not None
    calendar = Calendar(datetime.date(2026, 3, 2))
    lines = simulation_in_words(simulate(policy, 100, 1), calendar, 80)
    tables = lines[lines.index("") :]
    assert max(map(len, tables)) <= 80
    for name in names:
        assert name in " ".join(" ".join(tables).split())
    wide = simulation_in_words(simulate(policy, 100, 1), calendar)
    assert any(line.startswith(f"Alpha/{names[0]} ") for line in wide)


def test_simulate_a_schedule(run: Run, small: Path, schedule: Path) -> None:
    """People who follow a schedule are simulated, too; only road works have schedules."""
    out = run("simulate", small, "--schedule", schedule, "--runs", 100, "--json").out
    assert one_json(out)["money"]["hindrance"] == 15
    robots = Path(__file__).parent.parent / "examples" / "two_robots.yaml"
    code, _, err = run("simulate", robots, "--schedule", schedule)
    assert code == 2
    assert "--schedule needs an mpp/1 problem" in err


def test_completions_have_dates(run: Run, small: Path) -> None:
    """With a first day, works are completed on dates: of step 0 and the days or weeks after."""
    problem = read_problem(small)
    policy = solve(problem).policy
    assert policy is not None
    [bridge] = [each for each in simulate(policy, 500, 1).completions if each.task == "bridge"]
    steps = [k for k, share in enumerate(bridge.shares) if share > 0]
    for step, title in (("week", "completed in the week from"), ("day", "completed on")):
        out = run(
            "simulate", small, "--runs", 500, "--start-date", "2026-03-02", "--step", step
        ).out
        assert title in out
        calendar = Calendar(datetime.date(2026, 3, 2), step)
        when = f"{calendar.label(steps[0])} to {calendar.label(steps[-1])}"
        assert any(line.startswith("Alpha/bridge") and when in line for line in out.splitlines())


def test_bad_usage_is_refused(run: Run, small: Path, schedule: Path, tmp_path: Path) -> None:
    """Two plans, a single run, and files that are something else end with a message."""
    for options, words in (
        (("--policy", "x", "--schedule", schedule), "give one plan"),
        (("--runs", 1), "--runs"),
        (("--confidence", 1), "--confidence"),
        (("--seed", -1), "--seed"),
        (("--policy", tmp_path / "none.json"), "none.json"),
        (("--policy", small), "small.yaml"),
    ):
        code, out, err = run("simulate", small, *options)
        assert (code, out) == (2, "")
        assert words in err


def test_nobody_has_to_read_it(small: Path) -> None:
    """Whoever closes the pipe ends it quietly."""
    run_unread("simulate", str(small), "--runs", "100")


def test_ctrl_c_prints_what_there_is(small: Path) -> None:
    """A simulation that would take for ever is stopped by Ctrl-C, and says so."""
    script = """
import sys
import coreplan.cli
import coreplan.cli.simulate as command
simulate = command.simulate_policy

def watched(*arguments, callback=None, **options):
    def tell(progress):
        print("simulating", file=sys.stderr, flush=True)
        return callback(progress) if callback else None
    return simulate(*arguments, callback=tell, **options)

command.simulate_policy = watched
coreplan.cli.main(sys.argv[1:])
"""
    with subprocess.Popen(
        [sys.executable, "-c", script, "simulate", str(small), "--runs", "1000000000000"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        assert process.stderr is not None
        assert process.stderr.readline() == "simulating\n"
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=HANG)
    assert process.returncode == 0
    assert set(err.splitlines()) <= {"simulating"}
    assert re.search(
        r"^stopped after [\d,]+ of 1,000,000,000,000 runs from seed 1 in ", out, re.MULTILINE
    )
    assert "mean earnings " in out


def test_the_rows_add_up_as_shown(run: Run) -> None:
    """Own costs add up to works, and the costs of hindrance to their sum, to the cent."""
    problem = cli.example_path("ring_road.yaml")
    plan = ("--schedule", cli.example_path("ring_road_schedule.yaml"))
    for seed in range(1, 9):
        out = run("simulate", problem, *plan, "--runs", 37, "--seed", seed).out
        found = re.search(r"^works (\S+), hindrance (\S+), revenue 0.00$", out, re.MULTILINE)
        assert found is not None
        mean = re.search(r"^mean cost ([\d.,]+), ", out, re.MULTILINE)
        assert mean is not None
        assert Decimal(mean.group(1)) == sum(map(Decimal, found.groups()))
        _, own, together, _ = out.split("\n\n")
        for table, total in zip((own, together), found.groups(), strict=True):
            rows = re.findall(r"^.*?  +([\d.]+)  .* to .*$", table, re.MULTILINE)
            assert rows
            assert sum(map(Decimal, rows)) == Decimal(total)
