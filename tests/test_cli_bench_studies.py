"""`coreplan bench run` on problem files, and `coreplan bench compare`: what is said and written."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from cli_runs import Run, one_json
from coreplan import write_problem
from coreplan.bench.results import read_rows
from coreplan.bench.sets import generate
from coreplan.bench.store import Row, Store
from coreplan.bench.table import write_table
from test_bench_comparison import solves
from test_bench_modules import MINE, clean
from test_cli_bench import without_progress

__all__ = ["clean"]

EXAMPLES = Path(__file__).parents[1] / "examples"


@pytest.fixture
def studies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with three small problems and a schedule, in the folder of the program."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "studies"
    folder.mkdir()
    for instance in generate("rand3", 3, seed=5):
        write_problem(instance.problem, folder / f"{instance.name}.json")
    shutil.copy(EXAMPLES / "two_works_schedule.yaml", folder)
    return folder


def store_of(path: Path, *rows: Row) -> Path:
    """A store, or a table, with these rows."""
    if path.suffix == ".csv":
        write_table(rows, path)
    else:
        with Store(path, create=True) as store:
            store.add_all(rows)
    return path


def named(rows: list[Row], name: str) -> list[Row]:
    """Rows of a solver with a name."""
    return [replace(row, solver=name) for row in rows]


# -- run ------------------------------------------------------------------------------------------


def test_a_folder_is_run(run: Run, studies: Path) -> None:
    """A folder, with solvers of the command line, gives results that can be shown and compared."""
    command = ("bench", "run", "studies", "--solver", "core threads=1", "--solver", "dp")
    code, out, err = run(*command, "--time-limit", 20, "--memory-limit", "1G")
    assert code == 0
    assert without_progress(err) == (
        "note: left out, because they are no problems: two_works_schedule.yaml\n"
    )
    assert "6/6 done, 6 solved to the optimum; results in studies.sqlite" in out
    rows = read_rows("studies.sqlite")
    assert {(row.set, row.time_limit, row.memory_limit) for row in rows} == {("studies", 20, 1000)}
    code, out, err = run("bench", "compare", "studies.sqlite")
    assert (code, err) == (0, "")
    assert "solved: 3 by both" in out
    code, out, _ = run(*command, "--time-limit", 20, "--memory-limit", "1G", "--json")
    assert (code, one_json(out)["before"]) == (0, 6)


def test_a_single_file_is_run(run: Run, studies: Path) -> None:
    """A problem file needs no solver, and its results have its name."""
    code, out, err = run("bench", "run", "studies/rand3-0000.json", "--dry-run")
    assert (code, out, err) == (0, "studies, core: 1\n1 solves\n", "")
    code, out, _ = run("bench", "run", "studies/rand3-0000.json", "--solver", "dp")
    assert (code, "results in rand3-0000.sqlite" in out) == (0, True)
    assert {row.time_limit for row in read_rows("rand3-0000.sqlite")} == {60}
    code, out, _ = run(
        "bench", "run", "studies/rand3-0000.json", "studies/rand3-0001.json", "--solver", "dp"
    )
    assert (code, "2/2 done" in out, Path("bench.sqlite").exists()) == (0, True, True)


def test_a_module_is_run(run: Run, studies: Path) -> None:
    """An algorithm of one's own is compared with another one in two commands."""
    Path("mine.py").write_text(MINE, encoding="utf-8")
    code, out, _ = run(
        *("bench", "run", "studies", "--module", "mine.py", "--solver", "dp", "--solver", "mine"),
        *("--solver", "mine manner=raise", "--json"),
    )
    assert (code, one_json(out)["added"]) == (0, {"result": 6, "error": 3})
    code, out, _ = run("bench", "compare", "studies.sqlite", "--solver", "dp", "--solver", "mine")
    assert (code, "better plan: A on 0, B on 0, equal on 3" in out) == (0, True)


def test_modules_for_a_configuration(run: Run, studies: Path) -> None:
    """--module also serves configurations that do not name the module."""
    Path("mine.py").write_text(MINE, encoding="utf-8")
    given = {
        "format": "bench/1",
        "limits": {"time": 30},
        "solvers": {"mine": {"algorithm": "mine"}},
        "sets": [{"files": "studies"}],
    }
    Path("config.json").write_text(json.dumps(given), encoding="utf-8")
    code, _, err = run("bench", "run", "config.json")
    assert (code, "has no algorithm 'mine'" in err) == (2, True)
    code, out, _ = run("bench", "run", "config.json", "--module", "mine.py")
    assert (code, "3/3 done, 3 solved" in out) == (0, True)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["studies", "--solvers", "core"], "give each solver by --solver"),
        (["studies", "--sets", "studies"], "give each solver by --solver"),
        (["studies", "--solver", "dpp"], "coreplan has no algorithm 'dpp'"),
        (["studies", "--solver", "dp merge=1"], "merge is 1; expected True or False"),
        (["studies", "--solver", "dp", "--solver", "dp"], "is the same as 'dp'"),
        (["studies", "--module", "none.py"], "none.py: cannot be read"),
        (["nothing", "--solver", "dp"], "there is no file or folder 'nothing'"),
        (["nothing", "studies"], "there is no file or folder 'nothing'"),
        (["studies/two_works_schedule.yaml"], "two_works_schedule.yaml:"),
        (["broken"], "broken/b.yaml:1:9: format: found the text 'mpp/7'"),
        (["studies/rand3-0000.json", "-o", "studies/rand3-0000.json"], "overwrite its own input"),
        (["-", "-"], "there is no file or folder '-'"),
        ([], "Missing argument"),
    ],
)
def test_bad_usage(run: Run, studies: Path, arguments: list[str], said: str) -> None:
    """What cannot be done is told before anything runs: exit code 2, and no file is written."""
    broken = studies.parent / "broken"
    broken.mkdir()
    (broken / "b.yaml").write_text("format: mpp/7\n", encoding="utf-8")
    before = sorted(studies.parent.rglob("*"))
    code, out, err = run("bench", "run", *arguments)
    assert (code, out) == (2, "")
    assert said in err
    assert sorted(studies.parent.rglob("*")) == before


# -- compare --------------------------------------------------------------------------------------


@pytest.fixture
def both(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Results of two solvers, in the folder of the program."""
    monkeypatch.chdir(tmp_path)
    a = named(solves("core", *(0.1 * k for k in range(1, 9)), None), "ours")
    b = named(solves("dp", *(0.3 * k for k in range(1, 8)), None, 5.0), "plain")
    return store_of(tmp_path / "r.sqlite", *a, *b)


WORDS = """\
A: ours
B: plain
9 instances run by both

solved: 7 by both, 1 only by A, 1 only by B, 0 by neither
time, where both solved: B has 3 times that of A (n = 7; 95 % interval 3 to 3)
time, where A or B solved, the limit standing for the other: B has 2.9 times that of A (n = 9; \
95 % interval 1.7 to 4.8)
faster: A on 8, B on 1, equal on 0; sign test: p = 0.039 (n = 9)
signed-rank test of times, where both solved: p = 0.016 (n = 7)
better plan: A on 0, B on 0, equal on 9; sign test: p = 1 (n = 0)

share of instances solved within a factor of the fastest:
  factor     1     2     5    10   100  solved
  A       89 %  89 %  89 %  89 %  89 %    89 %
  B       11 %  11 %  89 %  89 %  89 %    89 %

"""


def test_what_is_said(run: Run, both: Path) -> None:
    """The comparison in words: sides, solved instances, ratios, tests and the profile."""
    code, out, err = run("bench", "compare", both)
    assert (code, err) == (0, "")
    assert out.startswith(WORDS)
    back = run("bench", "compare", both, "--solver", "plain", "--solver", "ours").out
    assert "where both solved: B has 0.33 times that of A" in back
    assert run("bench", "compare", both, "--solver", "plain").out == back


def test_json(run: Run, both: Path) -> None:
    """All numbers are there as one JSON object."""
    code, out, err = run("bench", "compare", both, "--json")
    assert (code, err) == (0, "")
    found = one_json(out)
    assert (found["a"], found["b"], found["instances"]) == ("ours", "plain", 9)
    assert found["solved"] == {"both": 7, "a": 1, "b": 1, "neither": 0}
    assert found["time"]["mean"] == pytest.approx(3)
    assert found["faster"]["test"] == {"pairs": 9, "p": 20 / 512, "exact": True}
    assert found["profile"]["plain"]["factors"]["5"] == pytest.approx(8 / 9)
    assert found["figure"] is None


def test_two_files(run: Run, tmp_path: Path, both: Path) -> None:
    """Two versions of one solver, in a store and in a table, are told apart by their files."""
    faster = named(solves("core", *(0.05 * k for k in range(1, 9)), 4.0), "ours")
    table = store_of(tmp_path / "new.csv", *faster)
    code, out, _ = run("bench", "compare", both, table, "--solver", "ours")
    assert (code, out.splitlines()[:2]) == (0, ["A: r.sqlite", "B: new.csv"])
    assert "B has 0.5 times that of A" in out
    assert run("bench", "compare", both, table).out == out  # there is one common solver
    crossed = run("bench", "compare", both, table, "--solver", "plain", "--solver", "ours").out
    assert crossed.splitlines()[:2] == ["A: plain", "B: ours"]
    same = run("bench", "compare", table, table).out
    assert same.splitlines()[:2] == [f"A: {table} (A)", f"B: {table} (B)"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["r.sqlite", "--solver", "our"], "r.sqlite has no solver 'our'; did you mean 'ours'?"),
        (["r.sqlite", "--solver", "ours", "--solver", "ours"], "the two solvers are the same"),
        (["three.sqlite"], "three.sqlite has 3 solvers: a, b, c; choose two of them by --solver"),
        (["three.sqlite", "--solver", "a"], "choose two of them by --solver"),
        (["three.sqlite", "three.sqlite"], "choose the solver of A and that of B by --solver"),
        (["r.sqlite", "three.sqlite", "--solver", "ours"], "three.sqlite has no solver 'ours'"),
        (["r.sqlite"] * 3, "give one file of results, or two"),
        (["r.sqlite", *["--solver", "ours"] * 3], "give --solver at most twice"),
        (["r.sqlite", "--sets", "mpp"], "r.sqlite has no set 'mpp'"),
        (["r.sqlite", "--figure", "p.gif"], "ends in none of .svg, .png, .pdf"),
        (["r.sqlite", "--figure", "no/p.svg"], "the folder 'no' does not exist"),
        (["none.sqlite"], "none.sqlite: does not exist"),
        (["empty.sqlite"], "empty.sqlite has no solves yet"),
        ([], "Missing argument"),
    ],
)
def test_bad_comparisons(
    run: Run, both: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], said: str
) -> None:
    """What cannot be compared is told: exit code 2."""
    monkeypatch.setattr("coreplan.cli.bench_compare.check_matplotlib", lambda: None)
    three = [row for name in "abc" for row in named(solves(f"algorithm {name}", 1.0), name)]
    store_of(both.with_name("three.sqlite"), *three)
    store_of(both.with_name("empty.sqlite"))
    code, out, err = run("bench", "compare", *arguments)
    assert (code, out) == (2, "")
    assert said in err


def test_contradictions(run: Run, tmp_path: Path) -> None:
    """Two solvers that prove different optima are an error: exit code 1."""
    a, b = solves("core", 1.0, value=-100.0), solves("dp", 1.0, value=-90.0)
    path = store_of(tmp_path / "r.sqlite", *named(a, "a"), *named(b, "b"))
    code, out, err = run("bench", "compare", path)
    assert code == 1
    assert "CONTRADICTION" in err
    assert "solved: 1 by both" in out


@pytest.mark.extras
def test_the_figure(run: Run, both: Path) -> None:
    """The performance profile is drawn, the same bytes every time."""
    code, _, err = run("bench", "compare", both, "--figure", "p.svg")
    assert (code, err) == (0, "")
    first = Path("p.svg").read_bytes()
    texts = [each.text for each in ElementTree.parse("p.svg").iter() if each.text]
    assert any("ours" in each for each in texts)
    assert any("n = 9" in each for each in texts)
    assert run("bench", "compare", both, "--figure", "p.svg").code == 0
    assert Path("p.svg").read_bytes() == first


def test_no_matplotlib(run: Run, both: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where matplotlib is missing, the extra is named; without a figure it is not needed."""
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    code, _, err = run("bench", "compare", both, "--figure", "p.svg")
    assert (code, "pip install 'coreplan[plot]'" in err) == (2, True)
    assert run("bench", "compare", both).code == 0
