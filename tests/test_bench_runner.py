"""Benchmark runs: outcomes of solvers that misbehave, and stores that survive whatever happens."""

from __future__ import annotations

import random
import signal
import subprocess
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import coreplan
from bench_hooks import lines, set_gate
from bench_runs import check_whole, run_all, small_config, start_run, stopping, stored_rows
from coreplan import SolverError
from coreplan.bench.config import SetRun, Solver
from coreplan.bench.live import state_in_words
from coreplan.bench.owner import birth
from coreplan.bench.pool import LocalPool, Worker, WorkerLostError
from coreplan.bench.results import read_rows
from coreplan.bench.runner import MOST_LOSSES, Pace, Run, default_jobs, plan_solves
from coreplan.bench.sets import generate
from coreplan.bench.store import PROCESSOR, WALL, Row, Store
from coreplan.bench.worker import MOST_POINTS, BoundsLog
from waiting import HANG, wait_for


def solve_one(tmp_path: Path, hook: str, **options: Any) -> Row:
    """What is recorded of one solve by a function of `bench_hooks`."""
    tmp_path.mkdir(exist_ok=True)
    path = tmp_path / "r.sqlite"
    limits = {"time_limit": options.pop("time_limit", HANG)}
    memory_limit = options.pop("memory_limit", 100.0)
    kill = {"grace": options.pop("grace", 5.0), "patience": options.pop("patience", HANG)}
    clock = options.pop("clock", WALL)
    config = small_config("core", count=1, **limits, **options)
    sets = (replace(config.sets[0], memory_limit=memory_limit, clock=clock),)
    run_all(replace(config, sets=sets), path, f"bench_hooks:{hook}", **kill)
    (row,) = read_rows(path)
    return row


# -- what is recorded ---------------------------------------------------------------------------


def test_everything_is_recorded(tmp_path: Path) -> None:
    """A row says what was solved and how, and holds the result that `solve` gives."""
    path = tmp_path / "r.sqlite"
    state = run_all(small_config("dp"), path)
    assert (state.done, state.total, state.interrupted) == (3, 3, False)
    rows = read_rows(path)
    instances = list(generate("rand3", count=3, seed=1))
    assert sorted(row.digest for row in rows) == sorted(each.digest() for each in instances)
    for row in rows:
        (instance,) = (each for each in instances if each.name == row.instance)
        result = coreplan.solve(instance.problem, algorithm="dp")
        assert (row.set, row.solver, row.algorithm, row.options) == ("rand3", "dp", "dp", {})
        assert row.parameters == dict(instance.parameters)
        assert (row.time_limit, row.memory_limit) == (HANG, 500)
        assert (row.outcome, row.message, row.solved) == ("result", "", True)
        assert row.result is not None
        same = {"seconds", "statistics"}
        assert {k: v for k, v in row.result.items() if k not in same} == {
            k: v for k, v in result.to_dict().items() if k not in same
        }
        assert row.progress[-1][1:] == (result.lower_bound, result.upper_bound)
        assert row.wall_seconds >= row.seconds > 0
        assert row.cpu_seconds > 0
        assert 5 < row.peak_memory_mb < 500
        assert row.versions["coreplan"] == coreplan.__version__
        assert set(row.versions) == {"coreplan", "python", "numpy"}
        assert set(row.machine) == {"processor", "cores", "memory_mb", "system", "jobs"}
        assert row.machine["jobs"] == 2
        assert row.started.endswith("+00:00")


@pytest.mark.parametrize(
    ("hook", "outcome", "said"),
    [
        ("segfault", "crashed", "ended by signal 11 (SIGSEGV)"),
        ("leaving", "crashed", "ended with exit code 7, without an answer: so long"),
        ("refusing", "error", "cannot do this"),
        ("broken", "error", "ZeroDivisionError: by nothing"),
        ("limited", "no_plan", "too short"),
        ("absurd", "no_plan", "memory limit"),
        ("noisy", "result", ""),
        ("nothing_of_this_name", "error", "AttributeError"),
    ],
)
def test_outcomes(tmp_path: Path, hook: str, outcome: str, said: str) -> None:
    """Whatever a solver does, it is recorded as what it is."""
    row = solve_one(tmp_path, hook)
    assert row.outcome == outcome
    assert said in row.message
    assert (row.result is None) == (outcome != "result")
    assert row.wall_seconds > 0


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_killed_from_outside(tmp_path: Path, number: int) -> None:
    """A solve that is killed from outside is solved again by the next run."""
    path, log = tmp_path / "r.sqlite", tmp_path / "log"
    config = small_config("core", count=1, file=str(log), times=MOST_LOSSES - 1, number=number)
    for losses in range(1, MOST_LOSSES):
        state = run_all(config, path, "bench_hooks:killed")
        assert (state.lost, state.done, state.total) == (1, 0, 1)
        assert "1 killed from outside, the next run repeats them" in state_in_words(state)
        assert read_rows(path) == []
        assert len(lines(log)) == losses
    state = run_all(config, path, "bench_hooks:killed")
    assert (state.lost, state.done, state.total) == (0, 1, 1)
    (row,) = read_rows(path)
    assert row.solved


def test_killed_from_outside_every_time(tmp_path: Path) -> None:
    """A solve that is killed again and again counts as crashed after a few times."""
    path, log = tmp_path / "r.sqlite", tmp_path / "log"
    config = small_config("core", count=1, file=str(log), times=99, number=int(signal.SIGKILL))
    states = [run_all(config, path, "bench_hooks:killed") for _ in range(MOST_LOSSES + 1)]
    assert [state.lost for state in states] == [1] * (MOST_LOSSES - 1) + [0, 0]
    assert [state.done for state in states] == [0] * (MOST_LOSSES - 1) + [1, 1]
    assert len(lines(log)) == MOST_LOSSES
    (row,) = read_rows(path)
    assert row.outcome == "crashed"
    assert f"{MOST_LOSSES} times in all" in row.message
    check_whole(path)


def test_killed_for_its_time(tmp_path: Path) -> None:
    """A solver that does not stop is killed some time after its limit."""
    row = solve_one(tmp_path, "busy", time_limit=0.4, grace=0.3)
    assert row.outcome == "killed_time"
    assert row.wall_seconds >= 0.8
    assert row.cpu_seconds > 0
    assert "the time limit is 0.4 s" in row.message


def test_the_clock_of_a_solve(tmp_path: Path) -> None:
    """A solver goes by the machine's clock, or by processor time where that is asked for."""
    assert solve_one(tmp_path, "clocked").message == "goes by None"
    row = solve_one(tmp_path / "p", "clocked", clock=PROCESSOR)
    assert row.message == "goes by process_time"
    assert (row.clock, row.seconds) == (PROCESSOR, row.cpu_seconds)


def test_seconds_of_the_processor(tmp_path: Path) -> None:
    """By processor time, a solver takes no more seconds than its process took of the processor."""
    path = tmp_path / "r.sqlite"
    config = small_config("dp", "spudd")
    timed = replace(config, sets=(replace(config.sets[0], clock=PROCESSOR),))
    assert run_all(timed, path).done == 6
    for row in read_rows(path):
        assert row.solved
        assert row.clock == PROCESSOR
        assert 0 < row.seconds <= row.cpu_seconds
        assert all(point[0] <= row.cpu_seconds for point in row.progress)
    # By the other clock they are other solves.
    assert run_all(config, path).before == 0


def test_killed_for_its_processor_time(tmp_path: Path) -> None:
    """A solver that does not stop is killed when it has used more than its processor time."""
    row = solve_one(tmp_path, "busy", time_limit=0.4, grace=0.3, clock=PROCESSOR)
    assert row.outcome == "killed_time"
    assert row.cpu_seconds >= 0.8
    assert "the time limit is 0.4 s of processor time" in row.message


def test_killed_for_doing_nothing(tmp_path: Path) -> None:
    """A solver that waits for ever uses no processor time, and is killed for that."""
    log = str(tmp_path / "log")
    row = solve_one(tmp_path, "sleeping", clock=PROCESSOR, patience=0.2, file=log)
    assert row.outcome == "killed_time"
    assert "it waits for something; the time limit is" in row.message


def test_killed_for_its_memory(tmp_path: Path) -> None:
    """A solver that takes more memory than its limit and the margin is killed."""
    row = solve_one(tmp_path, "greedy")
    assert row.outcome == "killed_memory"
    # 100 MB of limit, with the margin 225 MB, and the program itself.
    assert 225 < row.peak_memory_mb < 600
    assert "the memory limit is 100 MB" in row.message


def test_more_memory_than_there_are_addresses(tmp_path: Path) -> None:
    """A memory limit beyond all bounds is none, and nothing crashes over it."""
    assert solve_one(tmp_path, "noisy", memory_limit=1e300).outcome == "result"


@given(st.integers(0, 5 * MOST_POINTS))
def test_progress_is_thinned(changes: int) -> None:
    """However often bounds change, few points are kept: the first, the last, and some between."""
    log = BoundsLog()
    for number in range(changes):
        for _ in range(2):  # the second time nothing has changed
            log.note(float(number), float(number), 1e6)
    assert len(log.points) <= MOST_POINTS
    assert [point[0] for point in log.points] == sorted({point[0] for point in log.points})
    if changes:
        assert log.points[0][0] == 0
        assert log.points[-1][0] == changes - 1
        gaps = [b[0] - a[0] for a, b in zip(log.points, log.points[1:], strict=False)]
        assert max(gaps, default=1) <= 8  # they are spread over all of it


# -- what is solved, and in which order ------------------------------------------------------------


def test_the_order_of_solves() -> None:
    """Sets in their order, and all solvers on an instance before the next one."""
    config = small_config("core", "dp", count=2)
    second = SetRun("mpp", 1, {"agents": [2, 3]}, config.sets[0].solvers, 5.0, None)
    solves = plan_solves(replace(config, sets=(*config.sets, second)))
    assert [(each.instance, each.solver.name) for each in solves.values()] == [
        (name, solver)
        for name in ("rand3-0000", "rand3-0001", "mpp-2-0000", "mpp-3-0000")
        for solver in ("core", "dp")
    ]
    # The same set twice, with the same limits, is nothing more.
    assert plan_solves(replace(config, sets=config.sets * 2)) == plan_solves(config)


def test_what_is_done_is_not_done_again(tmp_path: Path) -> None:
    """A second run solves nothing; more instances, solvers or other limits add just what is new."""
    path, log = tmp_path / "r.sqlite", tmp_path / "log"

    def run(*algorithms: str, **changes: Any) -> tuple[int, int]:
        config = small_config(*algorithms, file=str(log), **changes)
        state = run_all(config, path, "bench_hooks:logged")
        assert state.done == state.total
        return state.before, state.added.total()

    assert run("core") == (0, 3)
    assert run("core") == (3, 0)
    assert run("core", count=4) == (3, 1)
    assert run("dp", "core", count=4) == (4, 4)
    assert run("core", count=2, time_limit=HANG / 2) == (0, 2)
    assert len(lines(log)) == len(read_rows(path)) == 10


def test_the_pace() -> None:
    """What is left is guessed from the same set and solver, else the solver, else all."""
    pace = Pace()
    assert pace.seconds_left({("a", "x"): 3}, 1) is None
    pace.add("a", "x", 1.0)
    pace.add("a", "x", 3.0)
    pace.add("b", "y", 10.0)
    assert pace.seconds_left({("a", "x"): 3}, 1) == pytest.approx(6)
    assert pace.seconds_left({("b", "x"): 3}, 2) == pytest.approx(3)
    assert pace.seconds_left({("b", "z"): 3, ("b", "y"): 1}, 1) == pytest.approx(14 + 10)
    assert pace.seconds_left({}, 4) == 0


def test_jobs_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many solves run side by side as there are cores for their threads, at least one."""
    monkeypatch.setattr("coreplan.bench.runner.usable_processors", lambda: 8)
    assert default_jobs(small_config("dp")) == 8
    assert default_jobs(small_config("dp", "core", threads=3)) == 2
    assert default_jobs(small_config("core", threads=20)) == 1


def test_workers_of_another_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Results of another version of coreplan are not taken for those of this one."""
    monkeypatch.setattr("coreplan.bench.runner.__version__", "9.9")
    with pytest.raises(SolverError, match=r"has coreplan .*, this program is 9\.9"):
        run_all(small_config("dp"), tmp_path / "r.sqlite")
    assert read_rows(tmp_path / "r.sqlite") == []


# -- workers ------------------------------------------------------------------------------------


def request(hook: str, **options: Any) -> dict[str, Any]:
    """A request as the runner sends it."""
    return {
        "function": hook,
        "modules": [],
        "text": next(generate("rand3")).text(),
        "algorithm": "core",
        "options": options,
        "time_limit": HANG,
        "memory_limit": None,
        "grace": 5.0,
        "patience": HANG,
        "clock": WALL,
    }


def test_workers_that_are_lost(tmp_path: Path) -> None:
    """What a lost worker was solving is handed out once more; then it is an error."""
    log = tmp_path / "log"
    with LocalPool(1) as pool:
        pool.submit("a", request("bench_hooks:sleeping", file=str(log)))
        for lost in (1, 2):
            wait_for(lambda lost=lost: len(lines(log)) == lost)
            child = int(lines(log)[-1])
            (worker,) = pool._busy
            worker._process.kill()
            if lost == 1:
                assert pool.wait(HANG) == []
            else:
                with pytest.raises(WorkerLostError, match="exit code -9"):
                    pool.wait(HANG)
            wait_for(lambda child=child: birth(child) is None)  # its child ends with it


def test_workers_stay() -> None:
    """One worker, loaded once, solves one problem after the other, each in another process."""
    with LocalPool(1) as pool:
        used = set()
        for number in range(4):
            pool.submit(str(number), request("coreplan.solve:solve"))
            used |= {worker._process.pid for worker in pool._busy}
            while not (ended := pool.wait(HANG)):
                pass
            assert [(key, answer["outcome"]) for key, answer in ended] == [(str(number), "result")]
    assert len(used) == 1


def test_workers_that_cannot_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a worker says on its way out is told."""
    monkeypatch.setattr("coreplan.bench.pool._START", "raise ValueError('no way')")
    worker = Worker()
    with pytest.raises(WorkerLostError, match="exit code 1: ValueError: no way"):
        worker.solve(request("coreplan.solve:solve"))
    worker.close()


# -- runs that end early ------------------------------------------------------------------------


def test_resuming_after_kill(tmp_path: Path) -> None:
    """Killed again and again, a run loses nothing that had finished and repeats next to nothing."""
    path, log = tmp_path / "r.sqlite", tmp_path / "log"
    draw = random.Random(1)
    before = 0
    for kills in range(1, 6):
        most = len(lines(log)) + draw.randint(1, 12)
        set_gate(log, most)
        process = start_run(path, "bench_hooks:logged", 100, file=str(log))
        wait_for(lambda most=most: len(lines(log)) >= most)
        process.kill()
        assert process.wait() == -signal.SIGKILL
        rows = read_rows(path)
        assert len(rows) >= before
        # What was noted in the log was recorded, but for what was on its way.
        assert len(rows) >= len(lines(log)) - 2 * kills
        before = len(rows)
        check_whole(path)
    set_gate(log, 1000)
    process = start_run(path, "bench_hooks:logged", 100, file=str(log))
    assert process.wait(HANG) == 0
    check_whole(path)
    done = Counter((row.instance, row.algorithm) for row in read_rows(path))
    assert len(done) == 200
    assert set(done.values()) == {1}
    assert 200 <= len(lines(log)) <= 200 + 2 * kills


def test_two_runs_on_one_store(tmp_path: Path) -> None:
    """Two runs at once share the work: everything is solved, and nothing twice."""
    path, log = tmp_path / "r.sqlite", tmp_path / "log"
    set_gate(log, 0)
    processes = [start_run(path, "bench_hooks:logged", 20, file=str(log)) for _ in range(2)]
    wait_for(lambda: path.exists() and count(path, "owners") == 2)
    set_gate(log, 1000)
    assert [process.wait(HANG) for process in processes] == [0, 0]
    done = Counter((row.instance, row.algorithm) for row in read_rows(path))
    assert len(done) == 40
    assert set(done.values()) == {1}
    assert sorted(lines(log)) == sorted(f"{name} {by}" for name, by in done)
    check_whole(path)


def test_a_run_takes_over_from_a_dead_one(tmp_path: Path) -> None:
    """A run that waits for what another one claimed goes on with it when that one is killed."""
    path, log = tmp_path / "r.sqlite", tmp_path / "log"
    set_gate(log, 0)
    first = start_run(path, "bench_hooks:logged", 1, file=str(log))
    wait_for(lambda: path.exists() and count(path, "claims") == 2)
    second = start_run(path, "bench_hooks:logged", 1, file=str(log))
    wait_for(lambda: count(path, "owners") == 2)
    first.kill()
    first.wait()
    set_gate(log, 1000)
    assert second.wait(HANG) == 0
    assert len(read_rows(path)) == 2


def count(path: Path, table: str) -> int:
    """How many claims, or owners of them, a store holds."""
    try:
        with Store(path) as store:
            ((number,),) = store._connection.execute(f"SELECT COUNT(*) FROM {table}").fetchall()
            return int(number)
    except coreplan.FormatError:  # it is just being made
        return 0


def sleepers(log: Path, process: subprocess.Popen[bytes]) -> list[int]:
    """The processes of two solves that never end."""
    wait_for(lambda: len(lines(log)) == 2 or process.poll() is not None)
    children = [int(line) for line in lines(log)]
    assert all(birth(child) for child in children)
    return children


def test_solvers_end_with_their_runner(tmp_path: Path) -> None:
    """When the runner is killed, its solvers and their workers are gone at once."""
    path, log = tmp_path / "r.sqlite", tmp_path / "log"
    process = start_run(path, "bench_hooks:sleeping", 5, file=str(log))
    children = sleepers(log, process)
    parents = [
        int(Path(f"/proc/{child}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[1])
        for child in children
        if Path("/proc/self/stat").exists()
    ]
    process.kill()
    process.wait()
    wait_for(lambda: not any(birth(each) for each in [*children, *parents]))


def test_ctrl_c_twice(tmp_path: Path) -> None:
    """The first Ctrl-C waits for running solves, the second ends them without a record."""
    path, log = tmp_path / "r.sqlite", tmp_path / "log"
    process = start_run(path, "bench_hooks:sleeping", 5, file=str(log))
    children = sleepers(log, process)
    process.send_signal(signal.SIGINT)
    wait_for(stopping(path).exists)
    assert process.poll() is None
    assert all(birth(child) for child in children)
    process.send_signal(signal.SIGINT)
    assert process.wait(HANG) == 130
    wait_for(lambda: not any(birth(child) for child in children))
    assert read_rows(path) == []
    assert count(path, "claims") == 0


def test_ctrl_c_once(tmp_path: Path) -> None:
    """After one Ctrl-C what runs is finished and kept, and the rest is left for the next run."""
    path, log = tmp_path / "r.sqlite", tmp_path / "log"
    set_gate(log, 2)
    process = start_run(path, "bench_hooks:logged", 40, file=str(log))
    wait_for(lambda: len(lines(log)) >= 2)
    process.send_signal(signal.SIGINT)
    wait_for(stopping(path).exists)
    set_gate(log, 1000)
    assert process.wait(HANG) == 130
    rows = read_rows(path)
    assert 2 <= len(rows) == len(lines(log)) < 80


def test_a_store_that_cannot_be_written(tmp_path: Path) -> None:
    """If the store fails in the middle, the run ends with an error, and its solvers end."""
    log = tmp_path / "log"
    config = small_config("core", file=str(log))
    with Store(tmp_path / "r.sqlite", create=True) as store, LocalPool(1) as pool:
        run = Run(plan_solves(config), store, pool, function="bench_hooks:logged")
        store._connection.execute("DROP TABLE claims")
        with pytest.raises(coreplan.FormatError, match=r"r\.sqlite: cannot be written: no such"):
            run.run()


# -- Ray ----------------------------------------------------------------------------------------


@pytest.mark.extras
def test_solves_on_ray(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a Ray cluster the same is recorded as here, with the same limits."""
    from coreplan.bench.cluster import RayPool

    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))  # nodes import `bench_hooks`
    here, there = tmp_path / "here.sqlite", tmp_path / "there.sqlite"
    config = small_config("core", "dp", count=4)
    run_all(config, here)
    with Store(there, create=True) as store, RayPool(1, jobs=2) as pool:
        assert Run(plan_solves(config), store, pool).run().done == 8
        assert Run(plan_solves(config), store, pool).run().before == 8
        killed = small_config("core", count=1, time_limit=0.4)
        Run(plan_solves(killed), store, pool, function="bench_hooks:busy", grace=0.3).run()
        crashed = small_config("dp", count=1, time_limit=0.5)
        Run(plan_solves(crashed), store, pool, function="bench_hooks:segfault").run()
    key = lambda row: (row.instance, row.algorithm, row.value)  # noqa: E731
    rows = stored_rows(there)
    assert sorted(map(key, rows[:8])) == sorted(map(key, read_rows(here)))
    assert [row.outcome for row in rows[8:]] == ["killed_time", "crashed"]


@pytest.mark.extras
def test_a_ray_cluster_that_is_not_there() -> None:
    """An address that nobody listens at is an error in words."""
    from coreplan.bench.cluster import RayPool

    with pytest.raises(SolverError, match=r"Ray at '127\.0\.0\.1:1' cannot be used"):
        RayPool(1, "127.0.0.1:1")


def test_without_ray(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where Ray is missing, the extra to install is named."""
    from coreplan.bench.cluster import RayPool

    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(SolverError, match=r"pip install 'coreplan\[ray\]'"):
        RayPool(1)


def test_solver_names_do_not_matter() -> None:
    """A solver under another name does the same solves."""
    config = small_config("dp")
    renamed = replace(config.sets[0], solvers=(Solver("other", "dp", {}),))
    assert list(plan_solves(config)) == list(plan_solves(replace(config, sets=(renamed,))))
