"""Which plan a command shows, and from where: the same options in all commands that show plans."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cli_runs import Run, one_json
from coreplan import Policy, cli, read_problem, solve
from coreplan.formats import read_state

RING = cli.example_path("ring_road.yaml")
WEEK_4 = cli.example_path("ring_road_week_4.yaml")
SHOWING = ["plan", "evaluate", "report", "simulate", "explain"]
SPENT = "All amounts count from step 4 on: money spent or earned before is not included."
LATER = ("--stage", 4, "--state", WEEK_4)


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The best plan of the ring road, in a file."""
    policy = solve(read_problem(RING)).policy
    assert policy is not None
    path = tmp_path_factory.mktemp("plans") / "plan.json"
    policy.save(path)
    return path


@pytest.fixture
def more(tmp_path: Path) -> dict[str, list[object]]:
    """What commands need besides the plan."""
    return {"report": ["-o", tmp_path / "plan.html"], "simulate": ["--runs", 200]}


@pytest.mark.parametrize("command", SHOWING)
def test_all_take_the_same_options(run: Run, command: str) -> None:
    """The plan and the situation have the same options in every command that shows a plan."""
    said = run(command, "--help").out
    for option in ("--policy FILE", "--schedule FILE", "--stage T", "--state FILE"):
        assert option in said


@pytest.mark.parametrize("command", SHOWING)
def test_a_saved_plan_is_asked_later(
    run: Run, command: str, saved: Path, more: dict[str, list[object]]
) -> None:
    """Every command shows a saved plan from a later stage and state on, with no other plan."""
    code, out, err = run(command, RING, "--policy", saved, *LATER, *more.get(command, []), "--json")
    assert (code, err) == (0, "")
    later = Policy.load(saved, read_problem(RING)).starting_from(
        4, read_state(WEEK_4, read_problem(RING))
    )
    value: Any = one_json(out)["value"]
    if command == "simulate":
        assert value["mean"] == pytest.approx(later.evaluate(), rel=0.05)
    else:
        assert value == pytest.approx(later.evaluate())


@pytest.mark.parametrize("command", SHOWING)
def test_a_schedule_is_shown(
    run: Run, command: str, small: Path, schedule: Path, more: dict[str, list[object]]
) -> None:
    """Every command takes a schedule, and names the works that it leaves out."""
    schedule.write_text("Alpha: {bridge: 0}\nBeta: {road: 0}\n")
    code, out, err = run(command, small, "--schedule", schedule, *more.get(command, []))
    assert (code, err) == (0, "")
    assert ("not in the schedule" in out) == (command != "explain")
    given = ("--schedule", schedule, "--policy", schedule)
    code, _, err = run(command, small, *given, *more.get(command, []))
    assert code == 2
    assert "give one plan" in err


@pytest.mark.parametrize("command", ["plan", "solve", "evaluate", "report", "simulate"])
def test_money_that_is_spent_already(
    run: Run, command: str, saved: Path, more: dict[str, list[object]]
) -> None:
    """A plan from a later stage on says that money spent before is left out; others do not."""
    plan = () if command == "solve" else ("--policy", saved)
    code, out, _ = run(command, RING, *plan, *LATER, *more.get(command, []))
    assert code == 0
    if command == "report":
        out = Path(str(more["report"][1])).read_text(encoding="utf-8")
    assert out.count(SPENT) == 1
    if command != "report":
        assert "money spent" not in run(command, RING, *plan, *more.get(command, [])).out


def test_a_state_that_the_plan_does_not_cover(run: Run, saved: Path, tmp_path: Path) -> None:
    """A state that cannot follow from a saved plan is refused in words; a new plan can start there.

    In the example a work of two steps has five left, more than its delay allows.
    """
    state = read_state(WEEK_4, read_problem(RING))
    problem = read_problem(RING)
    contractor = problem.contractors[0]
    raw: dict[str, Any] = {
        each.name: {"done": list(state[each.name]["done"])}
        if isinstance(state[each.name], dict)
        else {"done": list(state[each.name].done)}
        for each in problem.contractors
    }
    task = next(each for each in contractor.tasks if each.name not in raw[contractor.name]["done"])
    raw[contractor.name] |= {"doing": task.name, "remaining": 9}
    path = tmp_path / "late.json"
    path.write_text(json.dumps(raw))
    code, out, err = run("plan", RING, "--policy", saved, "--stage", 4, "--state", path)
    assert (code, out) == (2, "")
    assert f"contractor '{contractor.name}' cannot be in this state in step 4" in err
    assert "or make a new plan from this state" in " ".join(err.split())
    assert "ContractorState" not in err


def test_solving_options_go_with_solving_only(run: Run, small: Path, schedule: Path) -> None:
    """A finished plan is shown as it is: limits of a search are refused, by the option's name."""
    code, _, err = run("plan", small, "--schedule", schedule, "--time-limit", 3)
    assert code == 2
    assert "--schedule shows a finished plan" in err
