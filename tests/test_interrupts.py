"""Ctrl-C at known points: during imports, in outputs, once and twice."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import coreplan.support.interrupts
from cli_runs import Run
from clocks import standing, ticking
from coreplan import LimitError, Policy, Progress, Status, cli, compare, read_problem, solve
from coreplan.domains.maintenance.influence import sensitivity
from coreplan.errors import CertificateError
from coreplan.support.clock import now
from coreplan.support.interrupts import (
    catch_interrupts,
    finish_soon,
    forget_interrupts,
    interrupted_since,
    seconds_to_finish,
)
from helpers import from_file, random_mpp
from waiting import HANG

WORKS = cli.example_path("two_works.yaml")


@pytest.fixture(autouse=True)
def plain_sigint() -> Iterator[None]:
    """Python's own handler for Ctrl-C, and no Ctrl-C of other tests."""
    forget_interrupts()
    previous = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, previous)
    forget_interrupts()


def press(*_: Any, **__: Any) -> None:
    """Press Ctrl-C."""
    signal.raise_signal(signal.SIGINT)


def start(script: str, *arguments: object, **options: Any) -> subprocess.Popen[str]:
    """Start a script in a process of its own, in which Ctrl-C is as ever."""
    return subprocess.Popen(
        [sys.executable, "-c", script, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        **options,
    )


# -- while modules are imported -------------------------------------------------------------------

IMPORTING = """
import os, signal, sys

class Press:
    def find_spec(self, name, path=None, target=None):
        if name == module:
            os.kill(os.getpid(), signal.SIGINT)

module = sys.argv.pop(1)
sys.meta_path.insert(0, Press())
from coreplan_launcher import main
main()
"""
"""The command, with a Ctrl-C when a module is about to be imported."""


@pytest.mark.parametrize(
    "module",
    ["coreplan", "numpy", "coreplan._core", "coreplan.cli", "click", "rich", "coreplan.cli.verify"],
)
def test_sigint_during_imports(module: str) -> None:
    """Ctrl-C while modules are imported ends with one plain line and exit code 130."""
    process = start(IMPORTING, module, "demo")
    assert process.communicate(timeout=HANG) == ("", "error: interrupted\n")
    assert process.returncode == 130


def test_the_command_starts_there() -> None:
    """The console command is the module that imports nothing heavy."""
    script = "import sys, coreplan_launcher; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    modules = done.stdout.split()
    assert "coreplan_launcher" in modules
    assert not {"coreplan", "numpy", "click", "rich"} & set(modules)
    project = Path(__file__).parents[1] / "pyproject.toml"
    assert 'coreplan = "coreplan_launcher:main"' in project.read_text(encoding="utf-8")


def test_ignored_sigint_stays_ignored() -> None:
    """Where Ctrl-C is ignored, as in the background of a shell, it stays so."""
    script = IMPORTING.replace("import os", "import signal as s; s.signal(2, s.SIG_IGN); import os")
    process = start(script, "numpy", "demo", "--json")
    out, err = process.communicate(timeout=HANG)
    assert (process.returncode, err) == (0, "")
    assert json.loads(out)["status"] == "optimal"


# -- the certificate ------------------------------------------------------------------------------

SLOW_CERTIFICATE = """
import ctypes, signal, sys, time
import coreplan.solving.engine.core as module
import coreplan.support.interrupts

def in_python(*_, **__):
    print("making", file=sys.stderr, flush=True)
    while True:
        time.sleep(0.01)

def in_c(*_, **__):
    mutex = ctypes.create_string_buffer(256)
    lock = ctypes.CDLL(None).pthread_mutex_lock
    lock(mutex)
    print("making", file=sys.stderr, flush=True)
    lock(mutex)  # no signal wakes it
    raise AssertionError

module.certify = {"python": in_python, "c": in_c}[sys.argv.pop(1)]
patience = float(sys.argv.pop(1))
if patience >= 0:  # as if Ctrl-C had been pressed in the search, that long before it is too late
    coreplan.support.interrupts.FINISH_SECONDS = patience
    import coreplan.cli.solve as command
    solve = command.solve_problem
    def pressed(*arguments, **options):
        with coreplan.support.interrupts.catch_interrupts(lambda: None):
            signal.raise_signal(signal.SIGINT)
            return solve(*arguments, **options)
    command.solve_problem = pressed
from coreplan_launcher import main
main()
"""
"""The command line, with a certificate that takes for ever."""


@pytest.mark.parametrize("kind", ["python", "c"])
@pytest.mark.parametrize(("patience", "presses"), [(-1, 1), (0.5, 0), (1e6, 1)])
def test_a_certificate_that_takes_for_ever(
    tmp_path: Path, kind: str, patience: float, presses: int
) -> None:
    """It is given up; the result is printed, the plan is saved, and nothing is left half-written.

    Be it by a Ctrl-C while it is made, a while after one in the search, or by a second one.
    """
    plan, proof = tmp_path / "p.json", tmp_path / "c.json.gz"
    files = ["--save-policy", plan, "--certificate", proof]
    process = start(SLOW_CERTIFICATE, kind, patience, "solve", WORKS, "--json", *files)
    assert process.stderr is not None
    for _ in range(presses):
        assert process.stderr.readline() == "making\n"
        os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=HANG)
    assert process.returncode == 130
    assert json.loads(out)["status"] == "optimal"
    # Where nobody presses, time may be over before it is begun.
    assert (
        err.removeprefix("making\n")
        == f"error: interrupted: the certificate in {proof} is not complete\n"
    )
    Policy.load(plan, read_problem(WORKS))
    assert [each.name for each in tmp_path.iterdir()] == ["p.json"]


def test_the_result_is_kept_in_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C while `solve` writes a certificate raises an error that holds the result."""
    monkeypatch.setattr("coreplan.solving.engine.core.certify", press)
    with pytest.raises(CertificateError, match="not written: interrupted") as caught:
        solve(read_problem(WORKS), certificate=tmp_path / "c.json")
    assert caught.value.result.status is Status.OPTIMAL
    assert not list(tmp_path.iterdir())


def test_an_old_interrupt_does_not_matter(tmp_path: Path) -> None:
    """A Ctrl-C of an earlier call gives nothing up in this one."""
    with catch_interrupts(lambda: None):
        press()
    coreplan.support.interrupts._noted = now() - 1e6
    solve(read_problem(WORKS), certificate=tmp_path / "c.json")
    assert (tmp_path / "c.json").exists()


def test_no_records_after_an_interrupt(monkeypatch: pytest.MonkeyPatch) -> None:
    """After Ctrl-C the records of the search, which take long to check, are left out."""
    asked: list[bool] = []

    def note(*arguments: Any, searches: bool, **options: Any) -> Any:
        asked.append(searches)
        return certify(*arguments, searches=searches, **options)

    import coreplan.solving.engine.core as module

    certify = module.certify
    monkeypatch.setattr(module, "certify", note)
    problem = from_file(random_mpp(3, 2, 6))
    assert solve(problem, certificate=True).certificate is not None
    pressed: list[str] = []

    def callback(progress: Progress) -> None:
        if progress.phase not in ("compile", "shrinking") and not pressed:
            pressed.append(progress.phase)
            press()

    assert solve(problem, certificate=True, callback=callback).certificate is not None
    assert pressed
    assert asked == [True, False]


# -- what is left to do after the first one -------------------------------------------------------


def test_time_to_finish() -> None:
    """After a Ctrl-C that was taken as a request, outputs are given up when their time is over."""
    with ticking(0.25):
        begin = now()
        assert not interrupted_since(begin)
        assert seconds_to_finish() == float("inf")
        with catch_interrupts(lambda: None):
            press()
        assert interrupted_since(begin)
        assert not interrupted_since(now())
        assert seconds_to_finish() == coreplan.support.interrupts.FINISH_SECONDS - 0.5
    coreplan.support.interrupts._noted = now() - 1e6
    assert seconds_to_finish() == 0
    with pytest.raises(KeyboardInterrupt), finish_soon():
        while True:
            pass
    forget_interrupts()
    with finish_soon():
        pass


def pressing_solve(*arguments: Any, **options: Any) -> Any:
    """Solve, and press Ctrl-C when it is too late to stop with less than the optimum."""
    with catch_interrupts(lambda: None):
        press()
        return solve(*arguments, **options)


def test_compare_hears_a_late_interrupt(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C ends a comparison also if the algorithm that runs is just done."""
    monkeypatch.setattr(sys.modules["coreplan.analysis.comparison"], "solve", pressing_solve)
    comparison = compare(read_problem(WORKS), ["core", "dp", "spudd"])
    assert comparison.runs[0].result is not None
    assert comparison.runs[0].result.status is Status.OPTIMAL
    assert [run.reason for run in comparison.runs[1:]] == ["not_run", "not_run"]


def test_sensitivity_hears_a_late_interrupt(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C ends an examination also if the search that runs is just done."""
    searches: list[object] = []

    def counted(*arguments: Any, **options: Any) -> Any:
        searches.append(arguments)
        return pressing_solve(*arguments, **options)

    monkeypatch.setattr(sys.modules["coreplan.domains.maintenance.influence"], "solve", counted)
    problem: Any = from_file(random_mpp(3, 2, 6))
    assert sensitivity(problem).status in (Status.INTERRUPTED, Status.OPTIMAL)
    assert len(searches) == 1


def test_simulate_after_an_interrupt(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """After Ctrl-C in the search, runs are simulated for a moment only."""
    limits: list[Any] = []

    def noted(*arguments: Any, time_limit: Any, **options: Any) -> Any:
        limits.append(time_limit)
        return simulate(*arguments, **options)

    import coreplan.cli.simulate as command

    simulate = command.simulate_policy
    monkeypatch.setattr(command, "simulate_policy", noted)
    assert run("simulate", WORKS, "--runs", 100, "--json").code == 0
    monkeypatch.setattr(command, "solve", pressing_solve)
    with standing():
        assert run("simulate", WORKS, "--runs", 100, "--json").code == 0
    assert limits == [None, coreplan.support.interrupts.FINISH_SECONDS / 2]


def test_report_after_an_interrupt(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """After Ctrl-C in the search, each part of a report gets a moment only."""
    given: list[dict[str, Any]] = []

    def noted(*arguments: Any, **options: Any) -> Any:
        given.append(options)
        return make_report(*arguments, **options)

    import coreplan.cli.report as command

    make_report = command.make_report
    monkeypatch.setattr(command, "make_report", noted)
    monkeypatch.setattr(command, "solve_problem", pressing_solve)
    with standing():
        code, out, err = run("report", WORKS, "-o", tmp_path / "r.html", "--json")
    assert (code, err) == (0, "")
    assert json.loads(out)["optimal"] is True
    assert 0 < given[0]["time_limit"] <= coreplan.support.interrupts.FINISH_SECONDS / 4
    assert given[0]["most_pieces"] <= 1000


def test_plan_after_an_interrupt(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """After Ctrl-C in the search, a plan shows what can be computed in a moment."""
    import coreplan.cli.plan as command
    import coreplan.domains.maintenance.view.plan_view as view

    limits: list[float] = []
    timeline = view.timeline

    def noted(policy: Policy, limit: float) -> Any:
        limits.append(limit)
        return timeline(policy, 60.0)

    monkeypatch.setattr(view, "timeline", noted)
    monkeypatch.setattr(command, "solve_problem", pressing_solve)
    with standing():
        code, out, _ = run("plan", WORKS)
    assert code == 0
    assert "earns in all" in out
    assert limits[0] <= coreplan.support.interrupts.FINISH_SECONDS / 2


# -- a plan to start from -------------------------------------------------------------------------


def test_interrupted_while_a_start_is_evaluated(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C while the plan to start from is evaluated ends at once, without a result."""
    problem = read_problem(WORKS)
    policy = solve(problem).policy
    steps: list[int] = []

    def evaluate(*_: Any, **__: Any) -> float:
        press()
        steps.append(1)
        return 0.0

    monkeypatch.setattr(Policy, "evaluate", evaluate)
    with pytest.raises(LimitError) as caught:
        solve(problem, start=policy)
    assert caught.value.reason == "interrupted"
    assert not steps


def test_a_start_and_a_tiny_limit(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the time is too short to evaluate the plan to start from, the time limit is why."""
    problem = read_problem(WORKS)
    policy = solve(problem).policy
    assert policy is not None
    plan = tmp_path / "plan.json"
    policy.save(plan)
    evaluate = Policy.evaluate

    def in_no_time(self: Policy, *, time_limit: float) -> float:
        assert time_limit > 0
        return evaluate(self, time_limit=-1.0)

    monkeypatch.setattr(Policy, "evaluate", in_no_time)
    with pytest.raises(LimitError, match="too short") as caught:
        solve(problem, start=policy, time_limit=60)
    assert caught.value.reason == "time_limit"
    code, out, err = run("solve", WORKS, "--start", plan, "--time-limit", 60, "--json")
    assert (code, out) == (3, "")
    assert "the time limit is too short to compute the value of the plan to start from" in err
    monkeypatch.undo()
    for limit in (1e-9, 1e-5, 1e-4, 1e-3):
        with ticking():
            code, out, err = run("solve", WORKS, "--start", plan, "--time-limit", limit, "--json")
        assert code in (0, 3), err
