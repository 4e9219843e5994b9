"""`coreplan solve`: what it prints, plans in files, later situations, limits and Ctrl-C."""

from __future__ import annotations

import errno
import io
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, NoReturn

import pytest

import coreplan
from cli_runs import SMALL, Run, run_unread, valid_result
from clocks import AT_EVERY_LOOK, ticking
from coreplan import Policy, Result, cli, read_problem
from helpers import random_mpp
from waiting import HANG

DRIVER = """
import select
import sys
import coreplan.cli
import coreplan.cli.solve as command
from coreplan.support import interrupts
solve = command.solve_problem

def watched(problem, **options):
    inner = options.pop("callback", None)
    def callback(progress):
        if progress.phase not in ("compile", "shrinking"):
            print("searching", file=sys.stderr, flush=True)
            if sys.argv[1] == "hold":
                # Waiting lets Python look for signals, whichever thread got them.
                while not interrupts._heard:
                    select.select([], [], [], 0.01)
                print("heard", file=sys.stderr, flush=True)
                while True:
                    select.select([], [], [], 0.01)
        return inner(progress) if inner else None
    return solve(problem, callback=callback, **options)

command.solve_problem = watched
coreplan.cli.main(sys.argv[2:])
"""
"""The command line, except that it says when the search runs.

If it is to hold, the search then stands still until a second Ctrl-C ends it.
"""


def test_solve_prints_header_and_summary(run: Run, small: Path) -> None:
    """With -v: what the problem is, how large it is, what was found, what to do first."""
    code, out, err = run("solve", small, "-v")
    assert (code, err) == (0, "")
    assert coreplan.__version__ in out
    assert "small: 2 contractors, 3 works, 6 steps, 1 hindrance rule" in out
    sizes = coreplan.solving.compile_problem(read_problem(small)).sizes
    assert (
        f"local states: {sum(s.states for s in sizes)}, {sum(s.unrolled for s in sizes)} unrolled, "
        f"{sum(s.merged for s in sizes)} merged" in out
    )
    assert "interactions: 1" in out
    value = coreplan.solve(read_problem(small)).value
    verb = "costs" if value < 0 else "earns"
    assert f"Proven best. This plan {verb} {abs(value):,.2f}." in out
    assert "table cells computed" in out
    assert "joint states expanded" not in out  # by dynamic programming only
    assert "joint states expanded" in run("solve", small, "--algorithm", "dp").out
    assert re.search(r"- Alpha (starts|waits)", out)
    assert re.search(r"- Beta (starts|waits)", out)


@pytest.mark.parametrize("command", ["solve", "plan", "simulate", "report"])
def test_planners_get_no_technical_line(
    run: Run, small: Path, tmp_path: Path, command: str
) -> None:
    """Without -v, commands for works speak of the plan only; with it also of states and work."""
    more: list[object] = ["-o", tmp_path / "plan.html", "--force"] if command == "report" else []
    code, out, err = run(command, small, *more)
    assert (code, err) == (0, "")
    for word in ("state", "merged", "shrunk", "table cells", " MB", coreplan.__version__):
        assert word not in out
    assert "local states: " in run(command, small, *more, "-v").out


def test_researchers_get_the_work_in_any_case(run: Run) -> None:
    """For a ti-mmdp problem, and for a chosen algorithm, the sizes and the work are printed."""
    assert "local states: " in run("solve", cli.example_path("paper_example.yaml")).out


@pytest.mark.parametrize("verbose", [False, True])
def test_the_log_of_a_search(run: Run, tmp_path: Path, verbose: bool) -> None:
    """Planners read what the best plan costs at most and at least, and that Ctrl-C is welcome.

    No line is wider than 80 characters, and no column of the researchers' log is empty.
    """
    path = tmp_path / "many.json"
    path.write_text(json.dumps(random_mpp(9, 3, 14, seed=3)))
    with ticking(AT_EVERY_LOOK):
        code, out, err = run("solve", path, "--time-limit", 40, *(["-v"] if verbose else []))
    assert (code, err) == (0, "")
    log = [line for line in out.splitlines() if re.match(r" *[\d.]+ s ", line)]
    assert log
    assert out.count("Ctrl-C stops and keeps the best plan so far") == 1
    assert all(len(line) <= 80 for line in log)
    if verbose:
        assert not any(re.search(r" -( |$)", line) for line in log[-1:])
        return
    amount = r"[\d,]+\.\d\d"
    money = rf"(costs at most|earns at least) {amount}, at (least|most) {amount} \(.* left\)"
    assert any(re.search(money, line) for line in log)
    assert "bound" not in out


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
    code, out, err = run("solve", "-", "--stage", 0, "--state", "-")
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

    monkeypatch.setattr("coreplan.cli.solve.solve_problem", remember)
    with ticking():
        code, out, err = run("solve", large, "--algorithm", algorithm, "--time-limit", "2.2")
    assert (code, err) == (0, "")
    (result,) = results
    times = [float(found) for found in re.findall(r"^ *([\d.]+) s ", out, re.MULTILINE)]
    assert 1 <= len(times) <= 4
    # Printed with one digit.
    assert all(after - before >= 0.4 for before, after in zip([0.0, *times], times, strict=False))
    assert times[-1] <= 2.3
    assert out.count("lower bound") == 1
    assert not re.search(r"\binf\b", out)
    summary = re.search(
        r"^Stopped by the time limit\. This plan is worth (\S+); no plan is worth more than (\S+) "
        r"\(a gap of (\S+), (\S+) %\)\.$",
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

    monkeypatch.setattr("coreplan.cli.solve.solve_problem", remember)
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
        with ticking():
            code, out, err = run(*command, "--json")
            assert (code, err) == (0, "")
            assert valid_result(out)["status"] == status
            assert f"Stopped by the {status.replace('_', ' ')}." in run(*command).out


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
    monkeypatch.setattr(
        "coreplan.cli.solve.solve_problem", lambda *_, **__: pytest.fail("it was solved")
    )
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
    run_unread("solve", str(small), "--save-policy", str(path))
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
    state.write_text("Alpha: {}\nBeta: {}\n")
    late = valid_result(run("solve", small, "--stage", 5, "--state", state, "--json").out)
    assert late["value"] == pytest.approx(9 - 2)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Alpha: {}", "'Beta'"),
        ("Alpha: {done: [brigde]}\nBeta: {}", "did you mean 'bridge'?"),
        ("Alpha: {}\nBeta: {}\nGamma: {}", "'Gamma'"),
        ("Alpha: {done: [bridge], doing: bridge, remaining: 1}\nBeta: {}", "both done and being"),
        ("Alpha: {remaining: 2}\nBeta: {}", "give the work under `doing`"),
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
def test_stages_beyond_the_horizon(run: Run, small: Path, tmp_path: Path, stage: int) -> None:
    """A stage beyond the horizon is refused, with the possible stages."""
    state = tmp_path / "now.yaml"
    state.write_text("Alpha: {}\nBeta: {}\n")
    code, out, err = run("solve", small, "--stage", stage, "--state", state, "--json")
    assert (code, out) == (2, "")
    assert "from 0 to 5" in err


@pytest.mark.parametrize("command", ["solve", "plan", "evaluate", "explain", "trace"])
def test_a_stage_needs_a_state(run: Run, small: Path, tmp_path: Path, command: str) -> None:
    """Nothing is assumed of what was done before a stage, nor of the stage of a state."""
    state = tmp_path / "now.yaml"
    state.write_text("Alpha: {}\nBeta: {}\n")
    code, out, err = run(command, small, "--stage", 4)
    assert (code, out) == (2, "")
    assert "--stage 4 needs --state FILE" in err
    code, out, err = run(command, small, "--state", state)
    assert (code, out) == (2, "")
    assert "--state needs --stage" in err


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


# -- from a plan that there is ---------------------------------------------------------------------


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


# -- Ctrl-C ----------------------------------------------------------------------------------------


def start(hold: str, *arguments: object) -> subprocess.Popen[str]:
    """Start the command line in a process group of its own, and wait for its search to run."""
    process = subprocess.Popen(
        [sys.executable, "-c", DRIVER, hold, *map(str, arguments)],
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
    process = start(
        "go on", "solve", large, "--save-policy", plan, *(["--json"] if as_json else [])
    )
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=HANG)
    assert process.returncode == 0
    assert set(err.splitlines()) <= {"searching"}
    if as_json:
        assert valid_result(out)["status"] == "interrupted"
    else:
        assert re.search(r"^Stopped\. This plan is worth \S+; no plan is ", out, re.MULTILINE)
    Policy.load(plan, read_problem(large))


def test_two_sigints_end_at_once(large: Path, tmp_path: Path) -> None:
    """A second Ctrl-C ends at once with exit code 130, without a result and without a plan."""
    plan = tmp_path / "plan.json"
    process = start("hold", "solve", large, "--save-policy", plan, "--json")
    os.killpg(process.pid, signal.SIGINT)
    assert process.stderr is not None
    assert process.stderr.readline() == "heard\n"
    assert process.poll() is None  # the first one is a request
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=HANG)
    assert process.returncode == 130
    assert out == ""
    assert err.strip() == "error: interrupted"
    assert not plan.exists()


def test_interrupted_before_any_plan(
    run: Run, small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C before there is any plan gives exit code 130."""

    def interrupted(*_: object, **__: object) -> NoReturn:
        raise coreplan.LimitError("interrupted", "interrupted before any plan was found")

    monkeypatch.setattr("coreplan.cli.solve.solve_problem", interrupted)
    code, out, err = run("solve", small, "--json")
    assert (code, out) == (130, "")
    assert err == "error: interrupted before any plan was found\n"


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
    money = "This plan earns 25.10." in done.stdout
    assert money == ("an expected value for all contractors" in done.stdout)
    assert money == (name == "two_works.yaml")
