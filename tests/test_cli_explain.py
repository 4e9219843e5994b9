"""`coreplan explain`: why the plan does what it does."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli_runs import Run, one_json
from coreplan import cli, read_problem, solve

WORKS = cli.example_path("two_works.yaml")
ROBOTS = cli.example_path("two_robots.yaml")


@pytest.mark.parametrize("file", [WORKS, ROBOTS], ids=["works", "robots"])
def test_the_first_decision(run: Run, file: Path) -> None:
    """It is that of the optimal plan; its worth is the plan's value."""
    policy = solve(read_problem(file)).policy
    assert policy is not None
    code, out, err = run("explain", file)
    assert (code, err) == (0, "")
    assert "alternatives, for this step only:" in out
    said = one_json(run("explain", file, "--json").out)
    assert said["action"] == policy.act(0)
    assert said["value"] == pytest.approx(policy.evaluate())
    assert all(each["loss"] >= -1e-9 for each in said["alternatives"])


def test_a_later_decision(run: Run) -> None:
    """Of a saved plan, where everybody stands then; only one contractor's other actions."""
    ring = cli.example_path("ring_road.yaml")
    state = cli.example_path("ring_road_week_4.yaml")
    name = read_problem(ring).agent_names[0]
    code, out, err = run("explain", ring, "--stage", 4, "--state", state, "--agent", name, "--json")
    assert (code, err) == (0, "")
    said = one_json(out)
    assert said["stage"] == 4
    assert all(set(each["changes"]) == {name} for each in said["alternatives"])


def test_the_step_is_named_by_its_date(run: Run) -> None:
    """If there is a calendar, as everywhere else."""
    out = run("explain", WORKS, "--start-date", "2026-03-02").out
    assert "on 2 Mar 2026:" in out
    assert "in step 0:" not in out
    assert "in step 0:" in run("explain", WORKS).out
    out = run("explain", WORKS, "--start-date", "2026-03-02", "--language", "nl").out
    assert "op 2 mrt 2026:" in out


def test_what_cannot_be_explained(run: Run, tmp_path: Path) -> None:
    """Missing files, unknown agents and a stage without a state are errors: code 2."""
    policy = tmp_path / "p.json"
    solve(read_problem(WORKS)).policy.save(policy)
    for arguments, words in (
        ((tmp_path / "none.yaml",), "none.yaml"),
        ((WORKS, "--agent", "Gamma"), "Gamma"),
        ((WORKS, "--policy", policy, "--stage", 2), "--state"),
        ((ROBOTS, "--policy", policy), "another problem"),
    ):
        code, out, err = run("explain", *arguments)
        assert (code, out) == (2, "")
        assert words in err


def test_what_was_called_so_before(run: Run) -> None:
    """Options of the analysis of influences still lead there, with a warning."""
    code, out, err = run("explain", WORKS, "--only", "delays", "--json")
    assert code == 0
    assert "is now coreplan sensitivity" in err
    again = run("sensitivity", WORKS, "--only", "delays", "--json")
    assert again.err == ""
    known, said = one_json(again.out), one_json(out)
    assert said["influences"] == known["influences"]
