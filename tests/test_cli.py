"""The command line: what it prints where, its exit codes, and what it does with files."""

from __future__ import annotations

import errno
import io
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import jsonschema
import pytest

import coreplan
from coreplan import Policy, Result, cli, read_problem
from helpers import dense_team, random_mpp

COMMANDS = ["solve", "evaluate", "check", "info", "crg", "schema", "trace", "verify", "demo"]
FORMATS = ["ti-mmdp/1", "mpp/1", "result/1", "policy/1", "schedule/1"]

SMALL = """
format: mpp/1
name: small
horizon: 6
agents:
  - name: Alpha
    tasks:
      - {name: bridge, duration: 2, cost: 3, revenue: 20, delay: {probability: 0.3, duration: 1}}
      - {name: tunnel, duration: 1, cost: 2, revenue: 9}
  - name: Beta
    tasks: [{name: road, duration: 2, cost: 1, revenue: 15}]
network: [{tasks: [Alpha/bridge, Beta/road], cost: 7.5}]
"""

DRIVER = """
import sys, time
import coreplan.cli as cli
solve = cli.solve_problem

def watched(problem, **options):
    inner = options.pop("callback", None)
    def callback(progress):
        if progress.phase not in ("compile", "shrinking"):
            print("searching", file=sys.stderr, flush=True)
            time.sleep(float(sys.argv[1]))
        return inner(progress) if inner else None
    return solve(problem, callback=callback, **options)

cli.solve_problem = watched
cli.main(sys.argv[2:])
"""
"""The command line, except that it says when the search runs and takes its time then."""


class Ran(NamedTuple):
    """What a run of the command line gave."""

    code: int
    out: str
    err: str


Run = Callable[..., Ran]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Run the command line in this process."""

    def call(*arguments: object) -> Ran:
        with pytest.raises(SystemExit) as ended:
            cli.main([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        assert isinstance(ended.value.code, int)
        assert "Traceback" not in err
        assert "\x1b" not in out + err
        return Ran(ended.value.code, out, err)

    return call


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A file with a small problem."""
    path = tmp_path / "small.yaml"
    path.write_text(SMALL, encoding="utf-8")
    return path


@pytest.fixture
def schedule(tmp_path: Path) -> Path:
    """A file with a schedule for the small problem, in which everything coincides."""
    path = tmp_path / "schedule.yaml"
    path.write_text("Alpha: {bridge: 0, tunnel: 4}\nBeta: {road: 0}\n", encoding="utf-8")
    return path


@pytest.fixture
def large(tmp_path: Path) -> Path:
    """A file with a problem that takes far longer than a test."""
    path = tmp_path / "large.json"
    path.write_text(json.dumps(dense_team(100)), encoding="utf-8")
    return path


def shell(*arguments: object, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run the command line in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "coreplan.cli", *map(str, arguments)],
        capture_output=True,
        check=False,
        timeout=60,
        **{"encoding": "utf-8", **options},
    )


def one_json(text: str) -> Any:
    """The one JSON value, on one line, that a text consists of."""
    assert text.endswith("\n")
    assert text.count("\n") == 1
    return json.loads(text)


def valid_result(text: str) -> dict[str, Any]:
    """The one result/1 object that a text consists of."""
    result: dict[str, Any] = one_json(text)
    jsonschema.validate(result, coreplan.schema("result/1"))
    assert result["lower_bound"] == result["value"] <= result["upper_bound"]
    assert result["gap"] == result["upper_bound"] - result["value"]
    return result


# -- solve -----------------------------------------------------------------------------------------


def test_solve_prints_header_and_summary(run: Run, small: Path) -> None:
    """Without --json: what the problem is, how large it is, what was found, what to do first."""
    code, out, err = run("solve", small)
    assert (code, err) == (0, "")
    assert coreplan.__version__ in out
    assert "small: 2 contractors, 3 tasks, horizon 6, 1 hindrance rule" in out
    sizes = coreplan.compile_problem(read_problem(small)).sizes
    assert (
        f"local states: {sum(s.states for s in sizes)}, {sum(s.unrolled for s in sizes)} unrolled, "
        f"{sum(s.merged for s in sizes)} merged" in out
    )
    assert "interactions: 1" in out
    value = coreplan.solve(read_problem(small)).value
    assert f"value {value:.10g}, proven optimal" in out
    assert "table cells computed" in out
    assert "joint states expanded" not in out  # by dynamic programming only
    assert "joint states expanded" in run("solve", small, "--algorithm", "dp").out
    assert re.search(r"- Alpha (starts|waits)", out)
    assert re.search(r"- Beta (starts|waits)", out)


def test_solve_as_json_is_one_object(run: Run, small: Path) -> None:
    """With --json exactly one object is printed, valid by the schema, and nothing else."""
    code, out, err = run("solve", small, "--json")
    assert (code, err) == (0, "")
    result = valid_result(out)
    assert (result["problem"], result["status"]) == ("small", "optimal")
    assert result["algorithm"] == "core"
    assert result["value"] == coreplan.solve(read_problem(small)).value


def test_solve_reads_the_standard_input(
    run: Run, small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`-` stands for the standard input, in YAML or JSON."""
    expected = valid_result(run("solve", small, "--json").out)["value"]
    problem = json.dumps(random_mpp(2, 2, 4))
    for text, value in ((SMALL, expected), (problem, None)):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
        code, out, _ = run("solve", "-", "--json")
        assert code == 0
        assert value is None or valid_result(out)["value"] == value


def test_the_standard_input_is_read_once(run: Run) -> None:
    """The problem and the state cannot both come from the standard input."""
    code, out, err = run("solve", "-", "--state", "-")
    assert (code, out) == (2, "")
    assert "standard input" in err


def test_no_merge_gives_the_same_value(run: Run, small: Path) -> None:
    """--no-merge looks at more local states and finds the same value."""
    merged = valid_result(run("solve", small, "--json").out)
    unmerged = valid_result(run("solve", small, "--no-merge", "--json").out)
    assert unmerged["value"] == pytest.approx(merged["value"], rel=1e-12)
    assert " merged" not in run("solve", small, "--no-merge").out


@pytest.mark.parametrize("algorithm", ["core", "dp"])
def test_log_and_gap(
    run: Run, large: Path, monkeypatch: pytest.MonkeyPatch, algorithm: str
) -> None:
    """In a run of seconds there is a line at most every half second; the gap is the result's."""
    results: list[Result] = []
    solve = coreplan.solve

    def remember(*arguments: Any, **options: Any) -> Result:
        results.append(solve(*arguments, **options))
        return results[-1]

    monkeypatch.setattr(cli, "solve_problem", remember)
    code, out, err = run("solve", large, "--algorithm", algorithm, "--time-limit", "2.2")
    assert (code, err) == (0, "")
    (result,) = results
    times = [float(found) for found in re.findall(r"^ *([\d.]+)s  ", out, re.MULTILINE)]
    assert 1 <= len(times) <= 4
    # Printed with one digit.
    assert all(after - before >= 0.4 for before, after in zip([0.0, *times], times, strict=False))
    assert times[-1] <= 2.3
    assert out.count("lower bound") == 1
    assert "inf" not in out
    summary = re.search(
        r"^value (\S+), stopped by the time limit; the optimum is at most (\S+), "
        r"a gap of (\S+) \((\S+) %\)$",
        out,
        re.MULTILINE,
    )
    assert summary is not None
    value, upper, gap, relative = (float(group) for group in summary.groups())
    assert value == pytest.approx(result.value, rel=1e-9)
    assert upper == pytest.approx(result.upper_bound, rel=1e-9)
    assert gap == pytest.approx(result.gap, rel=1e-3)
    assert relative == pytest.approx(100 * result.relative_gap, rel=1e-2)


def test_logging_is_as_before(run: Run, small: Path) -> None:
    """The command line leaves the library's logger as it found it."""
    import logging

    logger = logging.getLogger("coreplan")
    before = (logger.level, list(logger.handlers))
    run("solve", small)
    assert (logger.level, list(logger.handlers)) == before


@pytest.mark.parametrize(
    ("given", "megabytes"),
    [("4G", 4000), ("500", 500), ("500MB", 500), ("0.5g", 500), ("2000K", 2), ("1 T", 1e6)],
)
def test_amounts_of_memory(
    run: Run, small: Path, monkeypatch: pytest.MonkeyPatch, given: str, megabytes: float
) -> None:
    """--memory-limit is a number of MB, or has a unit."""
    limits: list[float] = []
    solve = coreplan.solve

    def remember(*arguments: Any, **options: Any) -> Result:
        limits.append(options["memory_limit"])
        return solve(*arguments, **options)

    monkeypatch.setattr(cli, "solve_problem", remember)
    assert run("solve", small, "--memory-limit", given).code == 0
    assert limits == [pytest.approx(megabytes)]


@pytest.mark.parametrize("given", ["much", "", "-1", "0", "nan", "inf", "4X", "G", "500B", "1e99T"])
def test_amounts_of_nonsense(run: Run, small: Path, given: str) -> None:
    """What is no amount of memory is refused, with an example of one."""
    code, out, err = run("solve", small, "--memory-limit", given)
    assert (code, out) == (2, "")
    assert "--memory-limit" in err
    assert "4G" in err


def test_limits_give_results(run: Run, large: Path) -> None:
    """A limit that strikes after there is a plan gives a result and exit code 0."""
    for algorithm, option, value, status in (
        ("core", "--time-limit", "0.2", "time_limit"),
        ("dp", "--memory-limit", "20", "memory_limit"),
    ):
        command = ("solve", large, "--algorithm", algorithm, option, value)
        code, out, err = run(*command, "--json")
        assert (code, err) == (0, "")
        assert valid_result(out)["status"] == status
        assert f"stopped by the {status.replace('_', ' ')}" in run(*command).out


@pytest.mark.parametrize("command", ["solve", "info"])
def test_a_limit_before_any_plan(run: Run, small: Path, command: str) -> None:
    """A limit that strikes before there is any plan gives exit code 3 and no result."""
    code, out, err = run(command, small, "--memory-limit", "0.0001", "--json")
    assert (code, out) == (3, "")
    assert err.startswith("error: ")
    assert "memory limit" in err


@pytest.mark.parametrize("option", ["--time-limit", "--stage", "--algorithm"])
def test_options_that_are_wrong(run: Run, small: Path, option: str) -> None:
    """A value that an option cannot have is bad usage, and the option is named."""
    code, out, err = run("solve", small, option, "-1")
    assert (code, out) == (2, "")
    assert option in err


# -- a plan in a file ------------------------------------------------------------------------------


@pytest.mark.parametrize("as_json", [True, False])
def test_save_policy(run: Run, small: Path, tmp_path: Path, as_json: bool) -> None:
    """--save-policy writes a plan that loads and is worth what was found."""
    path = tmp_path / "plan.json"
    extra = ["--json"] if as_json else []
    code, out, _ = run("solve", small, "--save-policy", path, *extra)
    assert code == 0
    problem = read_problem(small)
    value = coreplan.solve(problem).value
    assert Policy.load(path, problem).evaluate() == pytest.approx(value)
    if as_json:
        assert valid_result(out)["value"] == value
    else:
        assert str(path) in out


def unwritable(folder: Path, problem: Path, kind: str) -> Path | str:
    """A path that a plan cannot be written to."""
    if kind == "read-only folder":
        if os.geteuid() == 0:
            pytest.skip("everything is writable for root")
        (folder / "locked").mkdir(mode=0o555)
        return folder / "locked" / "plan.json"
    known: dict[str, Path | str] = {
        "no such folder": folder / "nowhere" / "plan.json",
        "a folder": folder,
        "below a file": problem / "plan.json",
        "nothing": "",
        "the standard output": "-",
        "the problem": folder / "." / problem.name,
    }
    return known[kind]


@pytest.mark.parametrize(
    "kind",
    [
        "no such folder",
        "a folder",
        "below a file",
        "nothing",
        "the standard output",
        "the problem",
        "read-only folder",
    ],
)
def test_an_unwritable_plan_is_refused_before_solving(
    run: Run, small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """Nobody waits for a plan that cannot be written, and nothing is overwritten."""
    monkeypatch.setattr(cli, "solve_problem", lambda *_, **__: pytest.fail("it was solved"))
    code, out, err = run("solve", small, "--save-policy", unwritable(tmp_path, small, kind))
    assert (code, out) == (2, "")
    assert "'--save-policy'" in err
    assert small.read_text(encoding="utf-8") == SMALL


def test_an_old_plan_survives_a_failure(
    run: Run, small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If there is no plan, or it cannot be written, what the file held before stays."""
    path = tmp_path / "plan.json"
    path.write_text("old", encoding="utf-8")
    assert run("solve", small, "--save-policy", path, "--memory-limit", "0.0001").code == 3
    assert path.read_text(encoding="utf-8") == "old"

    def full(*_: object) -> NoReturn:
        raise OSError(errno.ENOSPC, "No space left on device")

    before = sorted(tmp_path.iterdir())
    monkeypatch.setattr(Path, "replace", full)
    code, out, err = run("solve", small, "--save-policy", path, "--json")
    assert code == 2
    assert valid_result(out)["status"] == "optimal"  # the result itself is not lost
    assert "cannot be written: No space left" in err
    assert path.read_text(encoding="utf-8") == "old"
    assert sorted(tmp_path.iterdir()) == before


def test_a_plan_is_saved_whoever_reads_the_output(small: Path, tmp_path: Path) -> None:
    """The plan is in its file even if nobody reads what is printed."""
    path = tmp_path / "plan.json"
    process = subprocess.Popen(
        [sys.executable, "-m", "coreplan.cli", "solve", str(small), "--save-policy", str(path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    with process.stderr as stderr:
        assert stderr.read() == b""
    assert process.wait() == 0
    Policy.load(path, read_problem(small))


# -- from a later situation ------------------------------------------------------------------------


def test_stage_and_state(run: Run, small: Path, tmp_path: Path) -> None:
    """--stage and --state plan from there: the value is what is earned from then on."""
    state = tmp_path / "now.yaml"
    state.write_text("Alpha: {done: [tunnel], doing: bridge, remaining: 1}\nBeta: {}\n")
    code, out, err = run("solve", small, "--stage", 2, "--state", state, "--json")
    assert (code, err) == (0, "")
    # bridge: one more step, -3 + 20; road: two steps, -2 + 15, and no use in hindering each other.
    assert valid_result(out)["value"] == pytest.approx(17 + 13)
    shown = run("solve", small, "--stage", 2, "--state", state).out
    assert "Alpha goes on with bridge for 1 more step" in shown
    late = valid_result(run("solve", small, "--stage", 5, "--json").out)
    assert late["value"] == pytest.approx(9 - 2)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Alpha: {}", "'Beta'"),
        ("Alpha: {done: [brigde]}\nBeta: {}", "did you mean 'bridge'?"),
        ("Alpha: {}\nBeta: {}\nGamma: {}", "'Gamma'"),
        ("Alpha: {done: [bridge], doing: bridge, remaining: 1}\nBeta: {}", "both done and being"),
        ("Alpha: {remaining: 2}\nBeta: {}", "say what it is doing"),
        ("Alpha: {doing: bridge, remaining: 0}\nBeta: {}", "at least 1"),
        ("Alpha: {finished: [bridge]}\nBeta: {}", "'finished'"),
        ("Alpha: {}\nAlpha: {}\nBeta: {}", "Alpha"),
        ("[Alpha, Beta]", "a state for each agent"),
        ("", "now.yaml"),
    ],
)
def test_states_that_make_no_sense(
    run: Run, small: Path, tmp_path: Path, text: str, said: str
) -> None:
    """A state that does not fit the problem is refused, with the file and what is wrong."""
    state = tmp_path / "now.yaml"
    state.write_text(text)
    code, out, err = run("solve", small, "--stage", 2, "--state", state)
    assert (code, out) == (2, "")
    assert err.startswith(f"error: {state}")
    assert said in err


@pytest.mark.parametrize("stage", [6, 99])
def test_stages_beyond_the_horizon(run: Run, small: Path, stage: int) -> None:
    """A stage beyond the horizon is refused, with the stages that there are."""
    code, out, err = run("solve", small, "--stage", stage, "--json")
    assert (code, out) == (2, "")
    assert "from 0 to 5" in err


def test_state_of_a_timmdp(run: Run, tmp_path: Path) -> None:
    """The state of a ti-mmdp/1 problem names a state for each agent."""
    file = cli.example_path("two_robots.yaml")
    state = tmp_path / "now.json"
    state.write_text('{"r1": "s1", "r2": "u0"}')
    assert run("solve", file, "--stage", 1, "--state", state).code == 0
    state.write_text('{"r1": "s11", "r2": "u0"}')
    code, out, err = run("solve", file, "--stage", 1, "--state", state)
    assert (code, out) == (2, "")
    assert "'s11'" in err


# -- plans that there are --------------------------------------------------------------------------


def test_evaluate_a_schedule(run: Run, small: Path, schedule: Path) -> None:
    """What the schedule earns, what hindrance costs, and how much can be gained at most."""
    code, out, err = run("evaluate", small, "--schedule", schedule)
    assert (code, err) == (0, "")
    assert "small: 2 contractors, 3 tasks" in out
    # bridge 20 - 6.9, tunnel 9 - 2, road 15 - 2, and two steps of hindrance.
    assert (
        "your plan is expected to earn 18.10 in all: revenue 44.00, works 10.90, hindrance 15.00"
        in out.splitlines()
    )
    assert (
        "no plan can earn more than 33.10; at most 15.00 (82.9 %) can be gained; "
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
    assert "no plan can earn more than 33.10: your plan is optimal" in out
    assert "estimated from 1,000 runs, not exact" in out
    assert run("evaluate", small, "--policy", plan, "--stage", 2).code == 2


def test_evaluate_says_what_is_left_out(run: Run, small: Path, schedule: Path) -> None:
    """Works that the schedule does not mention are named."""
    schedule.write_text("Alpha: {bridge: 0}\n")
    out = run("evaluate", small, "--schedule", schedule, "--no-bound").out
    assert "not in the schedule, so never started: Alpha/tunnel, Beta/road" in out


def test_evaluate_within_limits(run: Run, large: Path, tmp_path: Path) -> None:
    """The search for a bound keeps to the time limit; the plan's value is exact all the same."""
    plan = tmp_path / "plan.json"
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
        ("Alpha: {bridge: 6}", ":1:17", "'bridge' in step 6: the problem has steps 0 to 5"),
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


def test_solve_from_a_plan(run: Run, small: Path, schedule: Path, tmp_path: Path) -> None:
    """--start takes a schedule or a policy, told apart by content, for `core` only."""
    plan = tmp_path / "plan"
    best = valid_result(run("solve", small, "--json", "--save-policy", plan).out)["value"]
    for start in (schedule, plan):
        code, out, err = run("solve", small, "--start", start, "--json")
        assert (code, err) == (0, "")
        assert valid_result(out)["value"] == pytest.approx(best)
    code, _, err = run("solve", small, "--start", plan, "--algorithm", "dp")
    assert (code, "'start'" in err) == (2, True)
    code, _, err = run("solve", small, "--start", plan, "--save-policy", plan)
    assert (code, "overwrite" in err) == (2, True)


# -- check, info, schema, demo ---------------------------------------------------------------------


def test_check(run: Run, small: Path, tmp_path: Path) -> None:
    """`check` says ok for good files and what is wrong where for bad ones: exit code 2."""
    bad = tmp_path / "bad.yaml"
    bad.write_text(SMALL.replace("duration: 1, cost: 2", "duration: 0, cost: x"))
    code, out, err = run("check", small)
    assert (code, err) == (0, "")
    assert out == f"{small}: ok, mpp/1, 2 contractors, 3 tasks, horizon 6, 1 hindrance rule\n"
    code, out, err = run("check", bad, small)
    assert code == 2
    assert out.startswith(f"{small}: ok")
    lines = err.splitlines()
    assert len(lines) == 2
    for line, place in zip(lines, ("duration", "cost"), strict=True):
        assert line.startswith(f"error: {bad}:9:")
        assert f"agents[0].tasks[1].{place}" in line


def test_check_as_json(run: Run, small: Path, tmp_path: Path) -> None:
    """`check --json` prints one list with a report for each file, and nothing else."""
    bad = tmp_path / "bad.yaml"
    bad.write_text(SMALL.replace("horizon", "horizont"))
    code, out, err = run("check", small, bad, tmp_path / "missing.yaml", "--json")
    assert (code, err) == (2, "")
    good, wrong, missing = one_json(out)
    assert good == {"file": str(small), "ok": True, "problems": []}
    assert (wrong["file"], wrong["ok"]) == (str(bad), False)
    assert {"line", "column", "place", "message"} <= set(wrong["problems"][0])
    assert any("did you mean 'horizon'" in each["message"] for each in wrong["problems"])
    assert "cannot be read" in missing["problems"][0]["message"]
    code, out, _ = run("check", small, "--json")
    assert code == 0
    assert one_json(out) == [good]


def test_info(run: Run, small: Path) -> None:
    """`info` shows how large each agent is, and as JSON the same numbers."""
    code, out, err = run("info", small, "--json")
    assert (code, err) == (0, "")
    report = one_json(out)
    compiled = coreplan.compile_problem(read_problem(small))
    assert [agent["name"] for agent in report["agents"]] == ["Alpha", "Beta"]
    assert [agent["merged"] for agent in report["agents"]] == [s.merged for s in compiled.sizes]
    assert report["joint_states"] == compiled.joint_states
    assert (report["horizon"], report["interactions"]) == (6, 1)
    code, out, err = run("info", small)
    assert (code, err) == (0, "")
    first = report["agents"][0]
    numbers = [first[key] for key in ("local_states", "unrolled", "transitions", "merged")]
    assert re.search(r"^Alpha +" + " +".join(map(str, numbers)) + "$", out, re.MULTILINE)
    assert f"{report['joint_states']:.0f} joint states" in out
    assert "1 interaction that can happen" in out
    unmerged = one_json(run("info", small, "--no-merge", "--json").out)
    assert unmerged["agents"][0]["merged"] is None


def test_info_of_very_many_agents(run: Run, tmp_path: Path) -> None:
    """More joint states than a number can count are told as valid JSON, and readably."""
    agents = [
        {
            "name": f"a{k}",
            "initial": "s",
            "transitions": {"s": {"x": {"s": 0.5, "t": 0.5}}, "t": {"x": {"s": 0.5, "t": 0.5}}},
        }
        for k in range(1100)
    ]
    rewards = [
        {"scope": [a["name"]], "entries": [{"when": {a["name"]: {"state": "s"}}, "value": 1}]}
        for a in agents
    ]
    path = tmp_path / "wide.json"
    path.write_text(
        json.dumps({"format": "ti-mmdp/1", "horizon": 2, "agents": agents, "rewards": rewards})
    )
    assert one_json(run("info", path, "--json").out)["joint_states"] is None
    assert max(map(len, run("solve", path).out.splitlines())) < 200


@pytest.mark.parametrize("name", [*FORMATS, None])
def test_schema(run: Run, name: str | None) -> None:
    """`schema` prints a valid JSON Schema for each format, or for all in one."""
    code, out, err = run("schema", *([name] if name else []))
    assert (code, err) == (0, "")
    schema = json.loads(out)
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema == coreplan.schema(name)


def test_schema_of_an_unknown_format(run: Run) -> None:
    """A format that does not exist is refused, with those that do."""
    code, out, err = run("schema", "mpp/2")
    assert (code, out) == (2, "")
    assert "mpp/1" in err


def test_demo(run: Run) -> None:
    """`demo` solves the bundled example to optimality."""
    code, out, err = run("demo")
    assert (code, err) == (0, "")
    assert "4 contractors, 9 tasks" in out
    assert "proven optimal" in out
    assert valid_result(run("demo", "--json").out)["status"] == "optimal"


# -- help, usage and errors ------------------------------------------------------------------------


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_examples(run: Run, command: str) -> None:
    """Every command explains itself, with examples that start with its name."""
    code, out, err = run(command, "--help")
    assert (code, err) == (0, "")
    examples = out.partition("Examples:\n")[2].splitlines()
    assert examples
    assert all(f"coreplan {command}" in line for line in examples)
    assert run(command, "-h").out == out


def test_help_of_all(run: Run) -> None:
    """`coreplan --help` lists every command in full, with examples."""
    code, out, _ = run("--help")
    assert code == 0
    assert "Examples:\n" in out
    for command in COMMANDS:
        assert re.search(rf"^  {command} +[A-Z].*[^.]\.$", out, re.MULTILINE)
    assert run("--version").out == f"coreplan, version {coreplan.__version__}\n"


def test_usage(run: Run, small: Path) -> None:
    """Commands, options and arguments that do not exist or lack are usage errors: code 2."""
    for arguments in ([], ["slove", small], ["solve"], ["solve", small, "--bogus"], ["check"]):
        code, out, err = run(*arguments)
        assert (code, out) == (2, "")
        assert "coreplan" in err


@pytest.mark.parametrize("command", ["solve", "info", "check"])
def test_files_that_cannot_be_read(run: Run, tmp_path: Path, command: str) -> None:
    """A missing file, a folder and a file that is no problem are errors on stderr: code 2."""
    garbage = tmp_path / "garbage"
    garbage.write_bytes(b"\xff\xfe\x00")
    for path in (tmp_path / "missing.yaml", tmp_path, garbage):
        code, out, err = run(command, path)
        assert (code, out) == (2, "")
        assert err.startswith(f"error: {path}")


def test_internal_errors(run: Run, small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A mistake in the program itself gives exit code 1 and a request to report it."""

    def fail(*_: object, **__: object) -> NoReturn:
        raise RuntimeError("it broke")

    monkeypatch.setattr(cli, "solve_problem", fail)
    code, out, err = run("solve", small, "--json")
    assert (code, out) == (1, "")
    assert "internal error: RuntimeError: it broke" in err
    assert "COREPLAN_DEBUG=1" in err


def test_debugging_shows_the_traceback(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only with COREPLAN_DEBUG an internal error comes with its traceback."""

    def fail(*_: object, **__: object) -> NoReturn:
        raise RuntimeError("it broke")

    monkeypatch.setattr(cli, "solve_problem", fail)
    monkeypatch.setenv("COREPLAN_DEBUG", "1")
    with pytest.raises(SystemExit, match="1"):
        cli.main(["demo"])
    assert "Traceback" in capsys.readouterr().err


def test_numbers_that_are_too_large(run: Run, tmp_path: Path) -> None:
    """Rewards that cannot be added up are the problem's fault, not the program's."""
    path = tmp_path / "huge.yaml"
    path.write_text(
        SMALL.replace("revenue: 20", "revenue: 1e308").replace("revenue: 9", "revenue: 1e308")
    )
    code, out, err = run("solve", path, "--json")
    assert (code, out) == (2, "")
    assert "too large" in err


# -- names are shown as they are -------------------------------------------------------------------

ODD = ["[red]x[/red]", ":smile:", "back\\", "[/]", "日本", "[link=x]", "a]b["]


def test_names_are_shown_literally(run: Run, tmp_path: Path) -> None:
    """Names that look like markup, emoji codes or escapes are printed as they are."""
    path = tmp_path / "odd.json"
    raw: dict[str, Any] = {
        "format": "mpp/1",
        "name": "[bold]:warning:[/bold]",
        "horizon": 3,
        "agents": [
            {"name": name, "tasks": [{"name": "[/] :car:", "duration": 1, "cost": 1, "revenue": 9}]}
            for name in [each.replace("/", "|") for each in ODD]
        ],
    }
    raw["agents"][0]["tasks"][0]["name"] = "[red]:car:\\"
    for agent in raw["agents"][1:]:
        agent["tasks"][0]["name"] = "[b]"
    path.write_text(json.dumps(raw))
    for command in ("solve", "info"):
        code, out, _ = run(command, path)
        assert code == 0
        assert "[bold]:warning:[/bold]: 7 contractors" in out
        for agent in raw["agents"]:
            assert agent["name"] in out
    assert "[red]x[|red] starts [red]:car:\\ at once" in run("solve", path).out
    report = one_json(run("info", path, "--json").out)
    assert [agent["name"] for agent in report["agents"]] == [a["name"] for a in raw["agents"]]


@pytest.mark.parametrize("name", ODD)
def test_names_in_errors_are_shown_literally(run: Run, tmp_path: Path, name: str) -> None:
    """The same holds for what errors quote, and for the names of files."""
    path = tmp_path / f"{name.replace('/', '|')}.json"
    path.write_text(json.dumps({"format": "mpp/1", "horizon": 3, "agents": [], name: 1}))
    code, out, err = run("check", path)
    assert (code, out) == (2, "")
    assert f"error: {path}:" in err
    assert repr(name) in err or name in err
    path.write_text(SMALL)
    assert run("check", path.rename(tmp_path / f"{path.stem}.yaml")).out.startswith(
        f"{tmp_path}/{path.stem}.yaml: ok"
    )


def test_an_encoding_that_lacks_letters(tmp_path: Path) -> None:
    """Names beyond the terminal's encoding do no harm; JSON stays right."""
    path = tmp_path / "odd.yaml"
    path.write_text(SMALL.replace("Alpha", "日本é"), encoding="utf-8")
    env = {**os.environ, "PYTHONIOENCODING": "latin-1"}
    done = shell("solve", path, env=env, encoding="latin-1")
    assert (done.returncode, done.stderr) == (0, "")
    assert r"\u65e5\u672c" in done.stdout
    agents = json.loads(shell("info", path, "--json", env=env).stdout)["agents"]
    assert agents[0]["name"] == "日本é"


# -- the process -----------------------------------------------------------------------------------


def start(hold: float, *arguments: object) -> subprocess.Popen[str]:
    """Start the command line in a process group of its own, and wait for its search to run."""
    process = subprocess.Popen(
        [sys.executable, "-c", DRIVER, str(hold), *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        # Where tests run in the background, Ctrl-C may be ignored, and children would inherit that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert process.stderr is not None
    assert process.stderr.readline() == "searching\n"
    return process


@pytest.mark.parametrize("as_json", [True, False])
def test_one_sigint_gives_a_result(large: Path, tmp_path: Path, as_json: bool) -> None:
    """One Ctrl-C gives the best plan so far, also as a file, and exit code 0."""
    plan = tmp_path / "plan.json"
    process = start(0, "solve", large, "--save-policy", plan, *(["--json"] if as_json else []))
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 0
    assert set(err.splitlines()) <= {"searching"}
    if as_json:
        assert valid_result(out)["status"] == "interrupted"
    else:
        assert re.search(r"^value \S+, interrupted; the optimum is at most ", out, re.MULTILINE)
    Policy.load(plan, read_problem(large))


def test_two_sigints_end_at_once(large: Path, tmp_path: Path) -> None:
    """A second Ctrl-C ends at once with exit code 130, without a result and without a plan."""
    plan = tmp_path / "plan.json"
    process = start(60, "solve", large, "--save-policy", plan, "--json")
    os.killpg(process.pid, signal.SIGINT)
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(timeout=0.5)  # the first one is a request
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert out == ""
    assert err.strip() == "error: interrupted"
    assert not plan.exists()


def test_interrupted_before_any_plan(
    run: Run, small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C before there is any plan gives exit code 130."""

    def interrupted(*_: object, **__: object) -> NoReturn:
        raise coreplan.LimitError("interrupted", "interrupted before there was any plan")

    monkeypatch.setattr(cli, "solve_problem", interrupted)
    code, out, err = run("solve", small, "--json")
    assert (code, out) == (130, "")
    assert err == "error: interrupted before there was any plan\n"


@pytest.mark.parametrize("arguments", [["schema"], ["demo"], ["demo", "--json"], ["--help"]])
def test_broken_pipe(arguments: list[str]) -> None:
    """If nobody wants the rest of the output (`| head -1`), that is no error."""
    process = subprocess.Popen(
        [sys.executable, "-m", "coreplan.cli", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    with process.stderr as stderr:
        assert stderr.read() == b""
    assert process.wait() == 0


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_output_that_cannot_be_written() -> None:
    """A full disk is an error in words, not a mistake of the program."""
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "coreplan.cli", "demo", "--json"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 2
    assert done.stderr.startswith("error: the output cannot be written")
    assert len(done.stderr.splitlines()) == 1


def test_as_a_program(small: Path) -> None:
    """Run as a program it prints results on stdout and errors on stderr only."""
    done = shell("solve", small)
    assert (done.returncode, done.stderr) == (0, "")
    assert "\x1b" not in done.stdout
    done = shell("check", "nosuch.yaml")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "error: nosuch.yaml: cannot be read: No such file or directory\n"


def test_import_is_quick_and_light() -> None:
    """Importing the package takes less than 0.3 s of work and imports nothing heavy but numpy."""
    script = """
import sys, time
start = time.process_time()  # whatever else the machine does
import coreplan
seconds = time.process_time() - start
heavy = {"click", "rich", "yaml", "jsonschema", "scipy", "pandas", "matplotlib", "hypothesis"}
print(seconds, *(heavy & set(sys.modules)))
"""
    best = 9.0
    for _ in range(8):
        done = subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True, check=True
        )
        seconds, *heavy = done.stdout.split()
        assert heavy == []
        best = min(best, float(seconds))
        if best < 0.3:
            break
    assert best < 0.3


@pytest.mark.parametrize("name", ["paper_example.yaml", "two_works.yaml"])
def test_every_kind_of_problem_shows_what_to_do_first(name: str) -> None:
    """The first steps are printed for both formats, and money for works only."""
    done = subprocess.run(
        [sys.executable, "-m", "coreplan.cli", "solve", str(cli.example_path(name))],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "What to do first:" in done.stdout
    assert ("expected to earn 25.10" in done.stdout) == (name == "two_works.yaml")
