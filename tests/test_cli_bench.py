"""`coreplan bench run` and `show`: from a configuration to a table, and what can go wrong."""

from __future__ import annotations

import csv
import io
import json
import re
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from cli_runs import Run, one_json, run_unread, shell
from coreplan.bench.live import RunDisplay, duration_in_words, print_summaries, state_in_words
from coreplan.bench.results import read_rows
from coreplan.bench.runner import RunState
from coreplan.bench.store import Row, Store
from coreplan.bench.summary import summarise
from coreplan.bench.table import in_order, rows_to_csv
from ray_clusters import running_cluster
from test_bench_store import RESULT, make_row
from waiting import HANG

CONFIG = """\
format: bench/1
limits: {time: 10, memory: 1000}
solvers:
  ours: {algorithm: core, options: {threads: 1}}
  plain: {algorithm: dp}
sets:
  - {set: rand3, count: 3}
  - {set: mpp, count: 1, parameters: {agents: [2], horizon: 5}, solvers: [ours]}
"""


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A configuration of seven small solves, in the folder in which the program runs."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "mine.yaml"
    path.write_text(CONFIG, encoding="utf-8")
    return path


def without_progress(text: str) -> str:
    """What a run prints beside lines of progress: a run that takes long has some."""
    return re.sub(r"^\d+/\d+ done\b.*\n", "", text, flags=re.MULTILINE)


def test_run_and_show(run: Run, config: Path) -> None:
    """A run ends with a table, which `show` prints again; a second run has nothing to do."""
    code, out, err = run("bench", "run", config)
    assert (code, without_progress(err)) == (0, "")
    assert re.search(r"^rand3 +ours +10 s +3 +100 % +- +- +- ", out, re.MULTILINE)
    assert re.search(r"^rand3 +plain +10 s +3 +100 % +- +- +- ", out, re.MULTILINE)
    assert re.search(r"^mpp +ours +10 s +1 +100 % +- +- +- ", out, re.MULTILINE)
    assert out.endswith("7/7 done, 7 solved to the optimum; results in mine.sqlite\n")
    assert len(read_rows("mine.sqlite")) == 7
    code, shown, err = run("bench", "show", "mine.sqlite")
    assert (code, err) == (0, "")
    assert out.startswith(shown)
    code, out, err = run("bench", "run", config, "--json")
    assert (code, without_progress(err)) == (0, "")
    report = one_json(out)
    assert (report["total"], report["done"], report["before"]) == (7, 7, 7)
    assert (report["added"], report["interrupted"]) == ({}, False)
    assert len(report["summary"]) == 3
    assert len(read_rows("mine.sqlite")) == 7


def test_choosing(run: Run, config: Path) -> None:
    """Sets, solvers, counts and limits can be given on the command line."""
    code, out, err = run(
        *("bench", "run", config, "-o", "other.sqlite", "--sets", "rand3", "--solvers", "plain"),
        *("--count", 2, "--time-limit", 5, "--memory-limit", "2G", "--jobs", 1, "--json"),
    )
    assert (code, without_progress(err)) == (0, "")
    rows = read_rows("other.sqlite")
    assert [(row.set, row.solver) for row in rows] == [("rand3", "plain")] * 2
    assert {(row.time_limit, row.memory_limit) for row in rows} == {(5, 2000)}
    assert {row.machine["jobs"] for row in rows} == {1}
    assert one_json(out)["results"] == "other.sqlite"


def test_continuing_from_a_table(run: Run, config: Path) -> None:
    """A run on another machine goes on from a table of the solves that are done."""
    code, _, err = run("bench", "run", config, "--sets", "rand3", "--count", 4)
    assert (code, without_progress(err)) == (0, "")
    code, shown, _ = run("bench", "show", "mine.sqlite", "--csv", "done.csv.gz")
    assert code == 0
    assert run("bench", "show", "done.csv.gz") == (0, shown, "")
    code, out, err = run(
        *("bench", "run", config, "--from", "done.csv.gz", "--from", "mine.sqlite"),
        *("-o", "new.sqlite", "--json"),
    )
    assert (code, without_progress(err)) == (0, "")
    report = one_json(out)
    assert (report["total"], report["before"], report["added"]) == (7, 6, {"result": 1})
    old, new = read_rows("done.csv.gz"), read_rows("new.sqlite")
    # The fourth instance is none of the configuration's.
    assert (len(old), len(new)) == (8, 7)
    assert [row for row in new if row.set == "rand3"] == [
        row for row in old if row.instance != "rand3-0003"
    ]


@pytest.mark.parametrize("as_json", [True, False])
def test_dry_run(run: Run, config: Path, as_json: bool) -> None:
    """With --dry-run the solves are counted, and nothing is written: any output will do."""
    options = ["-o", "no/where.sqlite", *(["--json"] if as_json else [])]
    code, out, err = run("bench", "run", config, "--dry-run", *options)
    assert (code, err) == (0, "")
    if as_json:
        assert {"set": "rand3", "solver": "plain", "solves": 3} in one_json(out)
    else:
        assert out == "rand3, ours: 3\nrand3, plain: 3\nmpp, ours: 1\n7 solves\n"
    assert list(config.parent.iterdir()) == [config]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["mine.yaml", "--address", "auto"], "--address is for --cluster ray"),
        (["mine.yaml", "--sets", "rand33"], "has no set 'rand33'; did you mean 'rand3'?"),
        (["mine.yaml", "--solvers", "our"], "has no solver 'our'; did you mean 'ours'?"),
        (["mine.yaml", "--sets", ","], "',' names nothing; try mpp,pyra"),
        (["mine.yaml", "--time-limit", "nan"], "the time limit is nan; expected a finite number"),
        (["mine.yaml", "--time-limit", "inf"], "the time limit is inf; expected a finite number"),
        (["mine.yaml", "--count", "9999999"], "found 9999999; expected the count"),
        (["mine.yaml", "-o", "mine.yaml"], "would overwrite its own input 'mine.yaml'"),
        (["mine.yaml", "-o", "no/where"], "the folder 'no' does not exist"),
        (["mine.yaml", "-o", "notes.txt"], "notes.txt: is not a store of results"),
        (["mine.yaml", "--from", "notes.txt"], "notes.txt: is not a store of results"),
        (["mine.yaml", "--from", "no.csv.gz"], "no.csv.gz: cannot be read"),
        (["mine.yaml", "--from", "notes.txt", "-o", "notes.txt"], "overwrite its own input"),
        (["mine.yaml", "--jobs", "0"], "--jobs"),
        (["mine.yaml", "--cluster", "moon"], "--cluster"),
        (["nothing.yaml"], "nothing.yaml: cannot be read"),
        (["notes.txt"], "notes.txt:1:1"),
    ],
)
def test_bad_usage(run: Run, config: Path, arguments: list[str], said: str) -> None:
    """What cannot be done is told: exit code 2, and no file is changed."""
    notes = config.with_name("notes.txt")
    notes.write_text("my notes", encoding="utf-8")
    code, out, err = run("bench", "run", *arguments)
    assert (code, out) == (2, "")
    assert said in err
    assert notes.read_text(encoding="utf-8") == "my notes"
    assert config.read_text(encoding="utf-8") == CONFIG
    assert sorted(config.parent.iterdir()) == sorted([config, notes])


def test_without_ray(run: Run, config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where Ray is missing, the extra is named: exit code 2."""
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    code, out, err = run("bench", "run", config, "--cluster", "ray")
    assert (code, out) == (2, "")
    assert "pip install 'coreplan[ray]'" in err


@pytest.mark.extras
def test_on_ray(config: Path) -> None:
    """On a Ray cluster of this machine the same comes out, and nothing else is printed."""
    done = shell("bench", "run", config, "--cluster", "ray", "--jobs", "2")
    assert (done.returncode, without_progress(done.stderr)) == (0, "")
    assert "7/7 done, 7 solved to the optimum" in done.stdout
    assert len(read_rows(config.with_name("mine.sqlite"))) == 7


@pytest.mark.extras
def test_on_an_existing_ray_cluster(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run can use a cluster that is there, by its address, and leaves it running."""
    with running_cluster(monkeypatch) as (address, cluster):
        done = shell("bench", "run", config, "--cluster", "ray", "--address", address)
        assert (done.returncode, without_progress(done.stderr)) == (0, "")
        assert "7/7 done, 7 solved to the optimum" in done.stdout
        again = shell("bench", "run", config, "--cluster", "ray", "--address", address)
        assert (again.returncode, without_progress(again.stderr)) == (0, "")
        assert cluster.poll() is None


def test_ctrl_c(config: Path) -> None:
    """Ctrl-C ends a run with what there is: exit code 130, and a second run does the rest."""
    config.write_text(CONFIG.replace("count: 3", "count: 200"), encoding="utf-8")
    store = config.with_name("mine.sqlite")
    # Says when there is a row, and waits then.
    script = """
import sys
import coreplan.cli
from coreplan.bench.store import Store
add = Store.add

def slowly(self, row):
    added = add(self, row)
    print("added", file=sys.stderr, flush=True)
    sys.stdin.readline()
    return added

Store.add = slowly
coreplan.cli.main(sys.argv[1:])
"""
    process = subprocess.Popen(
        [sys.executable, "-c", script, "bench", "run", str(config), "--jobs", "1"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert process.stderr is not None
    for line in process.stderr:
        if line == "added\n":
            break
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=HANG)
    assert process.returncode == 130
    assert "Traceback" not in err
    count = len(read_rows(store))
    assert count in (1, 2)  # what ran beside it was finished
    assert f"{count}/401 done" in out


# -- show -----------------------------------------------------------------------------------------


def make_store(path: Path, *rows: Row) -> Path:
    """A store with these rows."""
    with Store(path, create=True) as store:
        for row in rows:
            store.add(row)
    return path


def outcomes() -> list[Row]:
    """Ten rows of one solver: seconds 1 to 10, six of them solved."""
    rows = [make_row(k, result={**RESULT, "seconds": k}) for k in range(1, 7)]
    stopped = {**RESULT, "status": "time_limit", "seconds": 7}
    rows.append(make_row(7, result=stopped))
    for k, outcome in ((8, "no_plan"), (9, "killed_memory"), (10, "crashed")):
        rows.append(make_row(k, outcome=outcome, result=None, wall_seconds=float(k)))
    return rows


def test_the_table(run: Run, tmp_path: Path) -> None:
    """A line counts outcomes, and gives median, 90 % and most seconds of all solves."""
    path = make_store(tmp_path / "r.sqlite", *outcomes())
    code, out, err = run("bench", "show", path)
    assert (code, err) == (0, "")
    titles, line = out.splitlines()
    assert re.split(" {2,}", titles) == [
        *("set", "solver", "limit", "solves", "solved", "no plan", "killed", "failed"),
        *("median", "p90", "max"),
    ]
    assert re.split(" {2,}", line) == [
        *("mpp", "ours", "10 s", "10", "60 %", "1", "1", "1", "5.5 s", "9 s", "10 s")
    ]
    code, out, err = run("bench", "show", path, "--json")
    (summary,) = one_json(out)["summary"]
    assert (summary["solves"], summary["solved"], summary["no_plan"]) == (10, 6, 1)
    assert (summary["killed"], summary["failed"]) == (1, 1)
    assert (summary["median_seconds"], summary["p90_seconds"]) == (5.5, 9)


def test_rows_that_differ_are_told_apart(run: Run, tmp_path: Path) -> None:
    """The same solver with other options, memory or version has a line and a column of its own."""
    rows = [
        make_row(),
        make_row(options={"threads": 2}),
        make_row(memory_limit=500.0),
        make_row(versions={"coreplan": "0.2.0"}),
        make_row(time_limit=20.0),
    ]
    _, out, _ = run("bench", "show", make_store(tmp_path / "r.sqlite", *rows))
    titles, *table = out.splitlines()
    assert titles.split()[:6] == ["set", "solver", "algorithm", "memory", "version", "limit"]
    assert len({line[: line.index(" s ")] for line in table}) == 5
    assert "core (threads=2)" in out


def test_almost_all(tmp_path: Path) -> None:
    """100 % is said only if all were solved, 0 % only if none was."""
    rows = [make_row(k) for k in range(1999)]
    unsolved = make_row(1999, outcome="no_plan", result=None)
    console = Console(record=True, width=200)
    print_summaries(console, summarise([*rows, unsolved]))
    print_summaries(console, summarise([rows[0], *[unsolved] * 1999]))
    shown = console.export_text()
    assert "99.9 %" in shown
    assert "0.1 %" in shown


def test_csv(run: Run, tmp_path: Path) -> None:
    """All rows go to a CSV file, with names for what is inside."""
    path = make_store(tmp_path / "r.sqlite", *outcomes())
    table = tmp_path / "r.csv"
    code, _, err = run("bench", "show", path, "--csv", table)
    assert (code, err) == (0, "")
    with table.open(encoding="utf-8", newline="") as file:
        written = list(csv.DictReader(file))
    assert len(written) == 10
    for row, line in zip(in_order(outcomes()), written, strict=True):
        assert line["instance"] == row.instance
        assert line["outcome"] == row.outcome
        assert line["parameters.agents"] == "2"
        assert json.loads(line["options"]) == {"threads": 1}
        assert line["result.value"] == ("" if row.result is None else "3.5")
        assert line["versions.coreplan"] == "0.1.0"
    code, out, _ = run("bench", "show", path, "--csv", "-")
    assert (code, out) == (0, table.read_text(encoding="utf-8"))


def test_names_in_csv_are_no_formulas(tmp_path: Path) -> None:
    """Names of a configuration cannot become formulas of a spreadsheet; numbers stay numbers."""
    rows = [make_row(1, solver="=cmd|' /C calc'!A0", message="-1"), make_row(2, solver="core")]
    table = [*csv.DictReader(io.StringIO(rows_to_csv(rows)))]
    assert [line["solver"] for line in table] == ["'=cmd|' /C calc'!A0", "core"]
    assert [line["message"] for line in table] == ["'-1", ""]
    assert table[0]["time_limit"] == str(rows[0].time_limit)


def test_showing_what_is_not_there(run: Run, tmp_path: Path) -> None:
    """An empty store is shown as such; other files are errors; a store is not overwritten."""
    path = make_store(tmp_path / "r.sqlite")
    assert run("bench", "show", path) == (0, "no solves yet\n", "")
    code, out, err = run("bench", "show", tmp_path / "none.sqlite")
    assert (code, out) == (2, "")
    assert "does not exist" in err
    before = path.read_bytes()
    assert run("bench", "show", path, "--csv", path).code == 2
    assert path.read_bytes() == before


def test_nobody_reads(tmp_path: Path) -> None:
    """A reader that has had enough is no error."""
    run_unread("bench", "show", str(make_store(tmp_path / "r.sqlite", *outcomes())))


# -- progress -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.4, "0 s"),
        (59.6, "1 min 0 s"),
        (200, "3 min 20 s"),
        (3599.9, "1 h 0 min"),
        (18600, "5 h 10 min"),
        (277200, "3 d 5 h"),
    ],
)
def test_durations(seconds: float, words: str) -> None:
    """Durations are said as people do."""
    assert duration_in_words(seconds) == words


def test_the_state_in_words() -> None:
    """What is done, what runs, what failed and how long it will take."""
    state = RunState(total=20, before=3, running=2, seconds_left=125.0)
    state.added.update({"result": 4, "killed_time": 1})
    state.solved = 4
    assert state_in_words(state) == (
        "8/20 done, 2 running, 4 solved to the optimum, 1 killed (time), about 2 min 5 s left"
    )
    assert "waiting for another run" in state_in_words(replace(state, waiting=True))
    assert "waiting for running solves" in state_in_words(replace(state, stopping=True))


@pytest.mark.parametrize("terminal", [True, False])
def test_the_display(terminal: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a terminal there is a bar, else a line now and then; Ctrl-C is answered in both."""
    now = [0.0]
    monkeypatch.setattr("coreplan.bench.live.time", Clock(now))
    console = Console(force_terminal=terminal, width=150, record=True, file=io.StringIO())
    state = RunState(total=20, running=1)
    with RunDisplay(console) as display:
        display.preparing(5)
        for second in range(25):
            now[0] = float(second)
            display(state)
        display(replace(state, stopping=True))
        display(replace(state, stopping=True))
    shown = console.export_text()
    assert shown.count("stopping: waiting for 1 running") == 1
    if terminal:
        assert "━" in shown
    else:
        assert shown.count("0/20 done, 1 running\n") == 2


class Clock:
    """A module `time` that tells what it is told."""

    def __init__(self, now: list[float]) -> None:
        self._now = now

    def monotonic(self) -> Any:
        """The time."""
        return self._now[0]
