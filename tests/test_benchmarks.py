"""Benchmarks do what they say; how fast anything is, is not tested."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest

import bounds
import dec_mdp
import dec_mdp_madp
import grouping
import planning
import search
import simulate
import spudd
from clocks import LOOK, ticking
from coreplan import MaintenanceProblem, solve, write_problem
from instances import pyramid, random_mpp, realistic

QUICK = ["--quick", "--seeds", "1", "--time-limit", "0.2"]


@pytest.fixture(autouse=True)
def counted_time() -> Iterator[None]:
    """Time limits strike after so much work, however busy the machine is."""
    with ticking(40 * LOOK):
        yield


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A folder with a problem, its optimum, and something else."""
    folder = tmp_path / "data"
    folder.mkdir()
    problem = pyramid(3, 2, 4, 0)
    write_problem(problem, folder / "small.json")
    (folder / "notes.txt").write_text("not a problem", encoding="utf-8")
    known(folder, solve(problem).value)
    return folder


def known(folder: Path, value: float) -> None:
    """Say what the optimum is."""
    entries = [{"file": "small.json", "own_value": value}]
    (folder / "values.json").write_text(json.dumps(entries), encoding="utf-8")


@pytest.mark.parametrize("family", search.FAMILIES)
def test_every_family_runs(
    family: str, data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every family gives lines of a table, runs in a file, and a plot with its name."""
    file, picture = tmp_path / "runs.json", tmp_path / "proven.svg"
    options = ["--data", str(data), "--json", str(file), "--plot", str(picture)]
    assert search.main([*QUICK, "--only", family, *options]) == 0
    printed = capsys.readouterr()
    first, *lines = printed.out.splitlines()
    assert first == search.header()
    rows = [line for line in lines if line.startswith(f"{family} ")]
    runs = json.loads(file.read_text(encoding="utf-8"))["runs"]
    assert rows
    assert len(runs) >= len(rows)
    assert {run["family"] for run in runs} == {family}
    assert len([line for line in printed.err.splitlines() if " of " in line]) == len(runs)
    text = [each.text for each in ElementTree.parse(picture).iter() if each.text]
    assert {family, "time in seconds", "proven optimal"} <= set(text)


def test_known_optima_are_compared(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An optimum that is not what a file says it is gives exit code 1."""
    command = [*QUICK, "--only", "real", "--data", str(data)]
    assert search.main(command) == 0
    assert "known optima" in capsys.readouterr().out
    known(data, 1e6)
    assert search.main(command) == 1
    assert "CONTRADICTION: real, small, small: at least 1000000 (known)" in capsys.readouterr().out


def test_files_need_a_folder(capsys: pytest.CaptureFixture[str]) -> None:
    """Without a folder, the family of files is left out with a word."""
    assert search.main([*QUICK, "--only", "real"]) == 0
    assert "--data" in capsys.readouterr().err


def test_ablation_asks_by_name(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """An option that `core` does not have is left out with a word; others are compared."""
    monkeypatch.setattr(search, "OPTIONS", {"merge": False, "magic": False})
    assert search.main([*QUICK, "--only", "ablation"]) == 0
    printed = capsys.readouterr()
    assert "'magic'" in printed.err
    assert "without magic" not in printed.out
    assert printed.out.count("without merge") == 2


def test_counts_of_the_statistics() -> None:
    """A count that is not reported is a dash, not a zero."""
    assert search.median_of([None, None]) is None
    assert search.median_of([None, 3.0, 5.0]) == 4
    assert [search.short(each) for each in (None, 0, 2.5, 1234.5, 5e7)] == [
        "-",
        "0",
        "2.5",
        "1,234",
        "5.00e+07",
    ]


def test_limits_before_any_plan() -> None:
    """A run that a limit stops before there is a plan is counted and drawn as not proven."""
    instance = search.Instance("one", lambda: realistic(4, 52, 0))
    case = search.Case("compare", "too large", "dp", [instance], 1e-6, "dp", how="dp")
    run = search.measure(case, instance)
    assert run.result is None
    assert not run.proven
    assert "0 of 1" in search.row(case, [run])
    assert "no plan" in search.row(case, [run])
    assert "dp: 0 of 1" in search.plot([run])
    assert run.to_dict()["result"] is None


def test_decentralised_families(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every family gives a line of the table, solved or not."""
    families = [dec_mdp.Family(2, 2, 3), dec_mdp.Family(2, 1, 3, must_complete=True, merge=False)]
    monkeypatch.setattr(dec_mdp, "FAMILIES", families)
    assert dec_mdp.main(["--seeds", "2"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3
    assert all("2 of 2" in line for line in lines[1:])


@pytest.mark.parametrize("agents", [3, 6, 10])
@pytest.mark.parametrize("weeks", [15, 26, 52])
def test_realistic_problems(agents: int, weeks: int) -> None:
    """Realistic problems are as described: works, seasons, and two or three neighbours each."""
    for seed in range(10):
        problem = realistic(agents, weeks, seed)
        assert problem == realistic(agents, weeks, seed)
        assert problem.must_complete
        assert len(problem.contractors) == agents
        for contractor in problem.contractors:
            assert 3 <= len(contractor.tasks) <= 5
            for task in contractor.tasks:
                assert 1 <= task.duration <= 6
                assert isinstance(task.cost, tuple)
                assert task.cost[0] == max(task.cost)
        assert set(neighbours(problem).values()) <= {2, 3}


def neighbours(problem: MaintenanceProblem) -> Counter[str]:
    """Per contractor, with how many others it interferes."""
    pairs = {tuple(work.split("/")[0] for work in each.tasks) for each in problem.network}
    return Counter(name for pair in pairs for name in pair)


def test_madp_is_compared(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """GMAA-ICE gets the problem as a file and the horizon; values that differ are found."""
    monkeypatch.setattr(dec_mdp_madp, "HORIZONS", (3,))
    value = solve(random_mpp(2, 2, 3, 0), algorithm="dec-mdp").value
    program = tmp_path / "GMAA-ICE"
    for printed, code in ((value, 0), (value + 1, 1)):
        program.write_text(
            f'#!/bin/sh\ngrep -q "^agents: 2" "$1" && [ "$2 $3" = "-h 3" ] || exit 1\n'
            f'echo "GMAA"\necho\necho "value={printed:.6g}"\nexec sleep 600\n'
        )
        program.chmod(0o755)
        monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
        assert dec_mdp_madp.main(["--seeds", "1"]) == code
        out = capsys.readouterr().out
        assert out.count("1 of 1") == 2
        assert ("CONTRADICTION" in out) == bool(code)


def test_madp_that_gives_no_value(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A program that fails has solved nothing; a missing one is said to be missing."""
    monkeypatch.setattr(dec_mdp_madp, "HORIZONS", (3,))
    program = tmp_path / "broken"
    program.write_text("#!/bin/sh\necho no\nexit 1\n")
    program.chmod(0o755)
    assert dec_mdp_madp.main(["--seeds", "1", "--program", str(program)]) == 0
    assert "0 of 1" in capsys.readouterr().out
    assert dec_mdp_madp.main(["--seeds", "1", "--program", "no-such-program"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("no-such-program is not installed, so nothing is compared.")
    assert out.count("1 of 1") == 1


def test_spudd_is_compared(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every solver has a line per size, and values that differ are found."""
    monkeypatch.setattr(spudd, "in_its_own_process", spudd.run)
    assert spudd.main(["--quick", "--seeds", "1", "--time-limit", "5"]) == 0
    out = capsys.readouterr().out
    for solver in spudd.SOLVERS:
        assert out.count(f"  {solver.name:<20}") == 4
    runs = {"one": [spudd.Run(1.0, 0.1)], "other": [spudd.Run(2.0, 0.1)]}
    assert len(spudd.disagreements(runs)) == 1
    assert not spudd.disagreements({"one": runs["one"], "late": [spudd.Run(None, 5.0)]})


def test_grouping_is_measured(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A line per tolerance; small graphs have a proven loss; wrong bounds are found."""
    family = grouping.Family("similar", (90, 100), (0, 200))
    monkeypatch.setattr(grouping, "FAMILIES", (family,))
    assert grouping.main(["--count", "1", "--agents", "2"]) == 0
    title, _, none, all_dropped = capsys.readouterr().out.splitlines()
    assert title.startswith("similar: 1 of 1 problems of 2 contractors")
    assert none.split()[:4] == ["0", "1.000", "1.000", "1.000"]
    assert float(all_dropped.split()[2]) < 1
    assert float(all_dropped.split()[4].rstrip("%")) > 0
    (problem,) = grouping.instances(family, 1, 2)
    optimum = solve(problem).value
    right, wrong = (grouping.measure(problem, 0, each, 10) for each in (optimum, 2 * optimum))
    assert right is not None
    assert right.brackets
    assert wrong is not None
    assert not wrong.brackets


def test_simulations_are_measured(capsys: pytest.CaptureFixture[str]) -> None:
    """A line for each plan, with a mean that is near the exact value."""
    assert simulate.main(["--runs", "2000", "--most-agents", "2"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 4
    for line in lines[2:]:
        assert line.startswith("2 agents, 3 tasks, h=12, ")
        assert abs(float(line.split()[-1])) < 5


def test_planning_measures_every_part(tmp_path: Path) -> None:
    """From a list of works to exports: each part has a time, and all files are made."""
    seconds, result = planning.measure(2, 0, None, tmp_path)
    assert tuple(seconds) == planning.PARTS
    assert result.policy is not None
    made = {path.name for path in tmp_path.iterdir()}
    assert {"plan.html", *(f"plan{ending}" for ending in planning.EXPORTS)} <= made


@pytest.mark.parametrize(
    "case", ["10-low", "20-teams", "mpp-3-0.5-1", "pyra-5-4", "realistic-3-26-0"]
)
def test_gaps_are_measured_by_work(case: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Every kind of case gives a line with a gap for each amount of work."""
    bounds.main(["--work", "0.05", case])
    head, line, *_ = capsys.readouterr().out.splitlines()
    assert head.split()[-3:] == ["100", "u", "memory"]
    numbers = [cell for cell in line.split()[1:] if cell.replace(".", "").isdigit()]
    assert len(numbers) >= len(bounds.WORKS)
