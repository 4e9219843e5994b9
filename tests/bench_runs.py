"""What the tests of benchmark runs share; as a program, a run that can be killed."""

from __future__ import annotations

import json
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

from coreplan.bench.config import BenchConfig, SetRun, Solver
from coreplan.bench.pool import LocalPool
from coreplan.bench.runner import Run, RunState, plan_solves
from coreplan.bench.store import Row, Store
from waiting import HANG


def small_config(
    *algorithms: str, count: int = 3, time_limit: float = HANG, **options: Any
) -> BenchConfig:
    """A few small problems, by these algorithms, all with these options."""
    solvers = tuple(Solver(name, name, options) for name in algorithms)
    return BenchConfig("test", 1, (SetRun("rand3", count, {}, solvers, time_limit, 500.0),))


def run_all(
    config: BenchConfig, path: Path, function: str = "coreplan.solve:solve", **options: Any
) -> RunState:
    """Run a configuration into a store in this process."""
    jobs = options.pop("jobs", 2)
    with Store(path, create=True) as store, LocalPool(jobs) as pool:
        options = {"function": function, "modules": config.modules, **options}
        return Run(plan_solves(config), store, pool, **options).run()


def start_run(path: Path, function: str, count: int, **options: Any) -> subprocess.Popen[bytes]:
    """Start a run in a process of its own."""
    tests = str(Path(__file__).parent)
    return subprocess.Popen(
        [sys.executable, __file__, str(path), function, str(count), json.dumps(options)],
        cwd=tests,
        start_new_session=True,
        # Where tests run in the background, Ctrl-C may be ignored, and children would inherit that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def stored_rows(path: Path) -> list[Row]:
    """The rows of a store, in the order in which they were written."""
    with Store(path) as store:
        return list(store.rows())


def check_whole(path: Path) -> None:
    """The file of a store is sound."""
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    connection.close()


def stopping(path: Path) -> Path:
    """A file that a run makes when it has heard Ctrl-C."""
    return path.with_suffix(".stopping")


def tell(state: RunState) -> None:
    """Let others know that Ctrl-C was heard."""
    if state.stopping:
        stopping(Path(sys.argv[1])).touch()


if __name__ == "__main__":
    given = small_config("core", "dp", count=int(sys.argv[3]), **json.loads(sys.argv[4]))
    ended = run_all(given, Path(sys.argv[1]), sys.argv[2], tell=tell)
    sys.exit(130 if ended.interrupted else 0)
