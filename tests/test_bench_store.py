"""The store of benchmark results: what goes in comes out, once, whoever writes and is killed."""

from __future__ import annotations

import math
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench_runs import check_whole, stored_rows
from coreplan import FormatError
from coreplan.bench.owner import FORGOTTEN_AFTER, Owner, birth
from coreplan.bench.store import (
    CLOCKS,
    FORMAT_VERSION,
    OUTCOMES,
    PROCESSOR,
    WALL,
    Row,
    Store,
    solve_key,
)

RESULT = {"format": "result/1", "status": "optimal", "value": 3.5, "seconds": 0.25}


def make_row(number: int = 0, **changes: Any) -> Row:
    """Some row; different numbers are different solves."""
    row = Row(
        set="mpp",
        instance=f"mpp-{number}",
        parameters={"agents": 2, "horizon": 5},
        digest=f"{number:064x}",
        solver="ours",
        algorithm="core",
        options={"threads": 1},
        time_limit=10.0,
        memory_limit=None,
        outcome="result",
        result=RESULT,
        progress=((0.1, -math.inf, math.inf), (0.2, 3.5, 3.5)),
        versions={"coreplan": "0.1.0"},
    )
    return replace(row, **changes)


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
numbers = st.floats(allow_nan=False, allow_infinity=False)
scalars = st.one_of(st.booleans(), st.integers(-(2**60), 2**60), numbers, texts)
mappings = st.dictionaries(texts, scalars, max_size=3)
seconds = st.floats(0, 1e6)
rows = st.builds(
    Row,
    set=texts,
    instance=texts,
    parameters=mappings,
    digest=texts,
    solver=texts,
    algorithm=texts,
    options=mappings,
    time_limit=seconds,
    memory_limit=st.none() | seconds,
    outcome=st.sampled_from(OUTCOMES),
    message=texts,
    result=st.none() | mappings,
    progress=st.lists(
        st.tuples(seconds, numbers | st.just(-math.inf), numbers | st.just(math.inf)), max_size=4
    ).map(tuple),
    wall_seconds=seconds,
    cpu_seconds=seconds,
    peak_memory_mb=seconds,
    versions=st.fixed_dictionaries({"coreplan": texts, "python": texts}),
    machine=mappings,
    started=texts,
    clock=st.sampled_from(CLOCKS),
)


@given(st.lists(rows, max_size=4, unique_by=lambda row: row.key))
def test_rows_come_back_as_they_were(given_rows: list[Row]) -> None:
    """Whatever a row holds, it is read as it was written, in the order of writing."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "r.sqlite"
        with Store(path, create=True) as store:
            assert all(store.add(row) for row in given_rows)
        assert stored_rows(path) == given_rows


def test_what_a_row_says_of_itself() -> None:
    """Solved, seconds and value come from the result; without one, seconds are the process's."""
    row = make_row(wall_seconds=2.0)
    assert (row.solved, row.seconds, row.value) == (True, 0.25, 3.5)
    stopped = make_row(result={**RESULT, "status": "time_limit"})
    assert (stopped.solved, stopped.value) == (False, 3.5)
    killed = make_row(outcome="killed_time", result=None, wall_seconds=2.0)
    assert (killed.solved, killed.seconds, killed.value) == (False, 2.0, None)
    timed = replace(killed, clock=PROCESSOR, cpu_seconds=1.5)
    assert (timed.seconds, replace(row, clock=PROCESSOR).seconds) == (1.5, 0.25)


def test_the_same_solve_is_there_once(tmp_path: Path) -> None:
    """A second row for the same solve is refused; the first one stays."""
    path = tmp_path / "r.sqlite"
    with Store(path, create=True) as store:
        assert store.add(make_row())
        assert not store.add(make_row(outcome="crashed", result=None))
    assert stored_rows(path) == [make_row()]


def test_rows_stay(tmp_path: Path) -> None:
    """The file itself refuses to change or delete rows."""
    path = tmp_path / "r.sqlite"
    with Store(path, create=True) as store:
        store.add(make_row())
    connection = sqlite3.connect(path)
    for statement in ("DELETE FROM solves", "UPDATE solves SET outcome = 'error'"):
        with pytest.raises(sqlite3.IntegrityError, match="never"):
            connection.execute(statement)
    connection.close()
    assert stored_rows(path) == [make_row()]


KEY: dict[str, Any] = {
    "digest": "ab",
    "algorithm": "core",
    "options": {"merge": False, "threads": 1},
    "time_limit": 10,
    "memory_limit": 4000,
    "version": "0.1.0",
    "clock": WALL,
}


@pytest.mark.parametrize(
    "change",
    [
        {"digest": "ac"},
        {"algorithm": "dp"},
        {"options": {"merge": True, "threads": 1}},
        {"options": {"merge": False}},
        {"time_limit": 10.5},
        {"memory_limit": None},
        {"version": "0.1.1"},
        {"clock": PROCESSOR},
    ],
)
def test_what_makes_a_solve_another_one(change: dict[str, Any]) -> None:
    """Instance, algorithm, options, limits, version and clock tell solves apart."""
    assert solve_key(**KEY) != solve_key(**{**KEY, **change})


def test_what_does_not_make_a_solve_another_one() -> None:
    """The order of options and the spelling of numbers make no difference, nor does a name."""
    same = {"options": {"threads": 1.0, "merge": False}, "time_limit": 10.0, "memory_limit": 4e3}
    assert solve_key(**KEY) == solve_key(**{**KEY, **same})
    assert make_row().key == make_row(solver="another", set="x", instance="y").key


# -- claims -----------------------------------------------------------------------------------


def test_claims_of_others_are_respected(tmp_path: Path) -> None:
    """What one has claimed, another does not get, until it is given up; what is done, nobody."""
    path = tmp_path / "r.sqlite"
    row = make_row()
    with Store(path, create=True) as one, Store(path) as two:
        assert one.claim(["a", "b", "c"], 2) == (["a", "b"], set())
        assert two.claim(["a", "b", "c", row.key], 5) == (["c", row.key], set())
        one.release(["b", "c"])  # the second is not its own
        assert two.claim(["a", "b"], 5) == (["b"], set())
        two.add(row)
        assert one.claim([row.key, "c"], 5) == ([], {row.key})
        two.close()
        assert one.claim(["c"], 5) == (["c"], set())


def test_claims_of_the_dead_count_for_nothing(tmp_path: Path) -> None:
    """A process that was killed holds nothing, even before anybody has asked for its exit code."""
    path = tmp_path / "r.sqlite"
    script = (
        "import sys\n"
        "from coreplan.bench.store import Store\n"
        "store = Store(sys.argv[1], create=True)\n"
        "print(store.claim(['a', 'b'], 1), flush=True)\n"
        "sys.stdin.read()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "(['a'], set())\n"
        with Store(path) as store:
            assert store.claim(["a", "b"], 2) == (["b"], set())
            process.kill()
            os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)  # dead, not yet buried
            assert birth(process.pid) is None
            assert store.claim(["a"], 1) == (["a"], set())
    with Store(path) as store:
        assert store.claim(["a"], 1) == (["a"], set())
    connection = sqlite3.connect(path)
    assert connection.execute("SELECT * FROM owners").fetchall() == []  # nothing heaps up
    connection.close()


def test_who_is_alive(monkeypatch: pytest.MonkeyPatch) -> None:
    """A number that another process has by now is not alive; of other machines, who was seen is."""
    here = Owner.here()
    now = 1e9
    monkeypatch.setattr("coreplan.bench.owner.time", SimpleNamespace(time=lambda: now))
    assert here.is_alive(0)
    assert not replace(here, born="long ago").is_alive(now)
    elsewhere = replace(here, place="elsewhere")
    assert elsewhere.is_alive(now - FORGOTTEN_AFTER / 2)
    assert not elsewhere.is_alive(now - 2 * FORGOTTEN_AFTER)


def test_signs_of_life(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A runner's sign of life can be seen in the store."""
    path = tmp_path / "r.sqlite"
    with Store(path, create=True) as store:
        store.claim(["a"], 1)
        connection = sqlite3.connect(path)
        connection.execute("UPDATE owners SET seen = 1")
        connection.commit()
        monkeypatch.setattr("coreplan.bench.store.time", SimpleNamespace(time=lambda: 1e9))
        store.show_life()
        ((seen,),) = connection.execute("SELECT seen FROM owners").fetchall()
        connection.close()
    assert seen == 1e9


def test_many_make_and_fill_a_store_at_once(tmp_path: Path) -> None:
    """Programs that make the same store at the same time all write into one, and it is whole."""
    path = tmp_path / "r.sqlite"
    ready = threading.Barrier(6)

    def fill(first: int) -> None:
        ready.wait()
        with Store(path, create=True) as store:
            for number in range(first, first + 10):  # half of them are somebody else's, too
                store.add(make_row(number))

    threads = [threading.Thread(target=fill, args=(5 * k,)) for k in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(row.digest for row in stored_rows(path)) == [f"{k:064x}" for k in range(35)]
    check_whole(path)
    assert list(tmp_path.iterdir()) == [path]


def test_killed_while_writing(tmp_path: Path) -> None:
    """A program that is killed while it writes leaves a whole store, with all it had finished."""
    path = tmp_path / "r.sqlite"
    script = (
        "import sys\n"
        "from test_bench_store import make_row\n"
        "from coreplan.bench.store import Store\n"
        "store = Store(sys.argv[1], create=True)\n"
        "number = len(store.keys())\n"
        "while True:\n"
        "    store.claim([make_row(number).key], 1)\n"
        "    store.add(make_row(number))\n"
        "    print(number, flush=True)\n"
        "    number += 1\n"
    )
    said = -1
    for _ in range(4):
        with subprocess.Popen(
            [sys.executable, "-c", script, str(path)],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(Path(__file__).parent)},
        ) as process:
            assert process.stdout is not None
            for _ in range(7):
                process.stdout.readline()
            process.send_signal(signal.SIGKILL)
            for line in process.stdout:
                if line.endswith("\n"):
                    said = int(line)
        found = [int(row.digest, 16) for row in stored_rows(path)]
        assert found == list(range(len(found)))
        assert len(found) > said
        check_whole(path)


# -- files that are something else --------------------------------------------------------------


def other_sqlite(path: Path) -> None:
    """Another program's SQLite file."""
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE t (a)")
    connection.commit()
    connection.close()


@pytest.mark.parametrize("kind", ["text", "empty", "sqlite", "cut"])
@pytest.mark.parametrize("create", [True, False])
def test_files_that_are_no_stores(tmp_path: Path, kind: str, create: bool) -> None:
    """A file that is something else is refused in words, and left as it is."""
    path = tmp_path / "r.sqlite"
    if kind == "text":
        path.write_text("my thesis\n" * 1000, encoding="utf-8")
    elif kind == "empty":
        path.touch()
    elif kind == "sqlite":
        other_sqlite(path)
    else:
        path.write_bytes(b"SQLite format 3\0" + bytes(10))
    before = path.read_bytes()
    with pytest.raises(FormatError, match=r"r\.sqlite: is not a store of results"):
        Store(path, create=create)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_places_without_a_store(tmp_path: Path) -> None:
    """A missing file, a folder and a folder that does not exist are told apart."""
    with pytest.raises(FormatError, match="does not exist"):
        stored_rows(tmp_path / "r.sqlite")
    assert not (tmp_path / "r.sqlite").exists()
    with pytest.raises(FormatError, match="is not a file"):
        stored_rows(tmp_path)
    with pytest.raises(FormatError, match="cannot be made: No such file or directory"):
        Store(tmp_path / "nowhere" / "r.sqlite", create=True)


def test_stores_of_the_future(tmp_path: Path) -> None:
    """A store of a newer version is refused, and left as it is."""
    path = tmp_path / "r.sqlite"
    Store(path, create=True).close()
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA user_version = {FORMAT_VERSION + 1}")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(FormatError, match=r"newer version of coreplan .*update coreplan"):
        Store(path, create=True)
    assert path.read_bytes() == before


def test_stores_of_the_past(tmp_path: Path) -> None:
    """A store from before there were clocks can be read as it is, and gets a clock with a row."""
    path = tmp_path / "r.sqlite"
    with Store(path, create=True) as store:
        store.add(make_row(1))
    connection = sqlite3.connect(path)
    connection.execute("ALTER TABLE solves DROP COLUMN clock")
    connection.execute("PRAGMA user_version = 1")
    connection.close()
    before = path.read_bytes()
    assert stored_rows(path) == [make_row(1)]
    assert path.read_bytes() == before
    with Store(path) as store:
        assert store.keys() == {make_row(1).key}
        assert not store.add(make_row(1))
        assert store.add(make_row(2, clock=PROCESSOR))
    assert stored_rows(path) == [make_row(1), make_row(2, clock=PROCESSOR)]
    check_whole(path)


def test_keys_of_the_past() -> None:
    """The key of a solve by the clock on the wall is the one that older versions gave it."""
    assert solve_key(**KEY) == "e3aef5ae2425d3a023a4c6112f5b08da"


def test_a_damaged_store(tmp_path: Path) -> None:
    """Rows that cannot be read are an error in words."""
    path = tmp_path / "r.sqlite"
    with Store(path, create=True) as store:
        for number in range(50):
            store.add(make_row(number))
    content = bytearray(path.read_bytes())
    content[8192:] = bytes(len(content) - 8192)
    path.write_bytes(content)
    with pytest.raises(FormatError, match=r"r\.sqlite: cannot be read: .*malformed"):
        stored_rows(path)


@pytest.mark.parametrize(
    ("column", "text"),
    [("result", "{bad"), ("options", "[1]"), ("machine", "3"), ("progress", "[[1]]")],
)
def test_damaged_rows(tmp_path: Path, column: str, text: str) -> None:
    """A row that holds something else than it should is named."""
    path = tmp_path / "r.sqlite"
    with Store(path, create=True) as store:
        store.add(make_row(1))
        store.add(make_row(2))
    connection = sqlite3.connect(path)
    connection.execute("DROP TRIGGER solves_stay_the_same")
    connection.execute(f"UPDATE solves SET {column} = ? WHERE id = 2", (text,))
    connection.commit()
    connection.close()
    with pytest.raises(FormatError, match=r"r\.sqlite: row 2 of the table `solves` is damaged"):
        stored_rows(path)


def test_links_to_where_nothing_is_yet(tmp_path: Path) -> None:
    """A store is made where a link points to, and the link stays."""
    link = tmp_path / "link.sqlite"
    link.symlink_to(tmp_path / "r.sqlite")
    with Store(link, create=True) as store:
        store.add(make_row())
    assert link.is_symlink()
    assert stored_rows(tmp_path / "r.sqlite") == [make_row()]


def test_stores_that_must_not_be_written(tmp_path: Path) -> None:
    """Rows can be read from a file that nobody may write."""
    path = tmp_path / "a ?#% file.sqlite"
    with Store(path, create=True) as store:
        store.add(make_row())
    path.chmod(0o444)
    assert stored_rows(path) == [make_row()]
