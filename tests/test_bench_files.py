"""Benchmark runs on problem files: what is found, what is read, what is wrong, by file and line."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from bench_runs import run_all
from cli_runs import SMALL
from coreplan import CoreplanError, FormatError, ModelError, read_problem, solve, write_problem
from coreplan.bench.config import BenchConfig, config_of_files, read_config
from coreplan.bench.results import read_rows
from coreplan.bench.runner import plan_solves
from coreplan.bench.sets import generate
from coreplan.bench.sets.files import find_files, name_of_set, read_instances
from coreplan.bench.store import Row
from coreplan.bench.table import read_table, write_table
from helpers import agrees

EXAMPLES = Path(__file__).parents[1] / "examples"
CONFIG = """\
format: bench/1
limits: {time: 30, memory: 1000}
solvers:
  core: {algorithm: core, options: {threads: 1}}
  dp: {algorithm: dp}
sets:
  - {files: "studies/*.yaml", solvers: [core]}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder `studies` with three problems and a schedule, below a folder of its own."""
    place = tmp_path / "studies"
    place.mkdir()
    for name in ("two_works.yaml", "two_robots.yaml"):
        shutil.copy(EXAMPLES / name, place)
    instance = next(generate("rand3", 1, seed=3))
    write_problem(instance.problem, place / "drawn.json")
    (place / "notes.txt").write_text("not a problem", encoding="utf-8")
    return place


def config(folder: Path, text: str = CONFIG) -> BenchConfig:
    """Read a configuration that stands next to the folder."""
    path = folder.parent / "mine.yaml"
    path.write_text(text, encoding="utf-8")
    return read_config(path)


def names(read: BenchConfig) -> list[str]:
    """The names of all instances."""
    return [each.name for run in read.sets for each in run.instances(read.seed)]


# -- finding --------------------------------------------------------------------------------------


def test_paths_are_relative_to_the_configuration(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Patterns, folders and files begin at the configuration, wherever the program runs."""
    (folder.parent / "elsewhere").mkdir()
    monkeypatch.chdir(folder.parent / "elsewhere")
    yaml = ["two_robots.yaml", "two_works.yaml"]
    assert names(config(folder)) == yaml
    assert config(folder).sets[0].set == "studies"
    for given, found in (
        ("studies", ["drawn.json", *yaml]),
        ("studies/drawn.json", ["drawn.json"]),
        ("stud*/**/*.json", ["drawn.json"]),
        (str(folder / "*.yaml"), yaml),
    ):
        assert names(config(folder, CONFIG.replace("studies/*.yaml", given))) == found
    several = CONFIG.replace('"studies/*.yaml"', "[studies/drawn.json, studies]")
    assert names(config(folder, several)) == ["drawn.json", *yaml]


def test_names_are_unique(folder: Path) -> None:
    """Files of one name in several folders have the names of their folders."""
    other = folder.parent / "others"
    other.mkdir()
    shutil.copy(folder / "two_works.yaml", other / "two_works.yaml")
    text = (other / "two_works.yaml").read_text(encoding="utf-8")
    (other / "two_works.yaml").write_text(
        text.replace("revenue: 20", "revenue: 21"), encoding="utf-8"
    )
    files = find_files([str(folder / "two_works.yaml"), str(other)])
    instances, notes = read_instances("mine", files)
    assert [each.name for each in instances] == ["studies/two_works.yaml", "others/two_works.yaml"]
    assert notes == ()
    assert name_of_set(files) == folder.parent.name


def test_names_of_folders_may_look_like_patterns(tmp_path: Path) -> None:
    """Brackets and stars in the name of the configuration's folder are letters."""
    folder = tmp_path / "a[1]*" / "studies"
    folder.mkdir(parents=True)
    shutil.copy(EXAMPLES / "two_works.yaml", folder)
    assert names(config(folder)) == ["two_works.yaml"]
    shutil.copy(EXAMPLES / "two_works.yaml", folder / "x[1].yaml")
    assert [each.path.name for each in find_files(["x[1].yaml"], folder)] == ["x[1].yaml"]


def test_other_files_of_a_folder_are_left_out() -> None:
    """In a folder, schedules and states are left out, with a note; asked for, they are errors."""
    read = config_of_files([str(EXAMPLES)], ["dp"])
    assert "ring_road.yaml" in names(read)
    assert not any("schedule" in name or "week" in name for name in names(read))
    assert read.notes == (
        "left out, because they are no problems: ring_road_schedule.yaml, ring_road_week_4.yaml, "
        "two_works_schedule.yaml",
    )
    with pytest.raises(CoreplanError, match=r"two_works_schedule.yaml:\d+:\d+: .*schedule/1"):
        config_of_files([str(EXAMPLES / "two_works_schedule.yaml")], ["dp"])


def test_works_lists_are_problems(tmp_path: Path) -> None:
    """A works list that is named is read as one, with its remarks."""
    path = tmp_path / "list.csv"
    path.write_text(
        "contractor;work;duration;cost 0;cost 1;cost 2;status\nAlpha;a1;2;1;2;3;running\n",
        encoding="utf-8",
    )
    read = config_of_files([str(path)], ["dp"])
    assert names(read) == ["list.csv"]
    assert "list.csv: works have started; here, all works are planned from the start" in read.notes


def test_the_same_problem_twice_is_solved_once(tmp_path: Path) -> None:
    """Two files with the same content are one instance, and that is said."""
    (tmp_path / "a.yaml").write_text(SMALL, encoding="utf-8")
    (tmp_path / "b.yaml").write_text(f"# The same.\n{SMALL}", encoding="utf-8")
    read = config_of_files([str(tmp_path)], ["dp"])
    assert names(read) == ["a.yaml"]
    assert read.notes == ("b.yaml is the same problem as a.yaml; it is solved once",)


# -- mistakes -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("new", "line", "said"),
    [
        ("files: nothing/*.yaml", 7, "no file matches 'nothing/*.yaml'"),
        ("files: nothing.yaml", 7, "there is no file or folder 'nothing.yaml'"),
        ("files: empty", 7, "the folder 'empty' has no file that ends in .json, .yaml, .yml"),
        ("files: []", 7, "found an empty list; expected one path or more"),
        ("files: 7", 7, "found the number 7; expected paths of files, a list"),
        ("files: [studies, 7]", 7, "found the number 7; expected the path of files, a text"),
        ('files: ""', 7, "found the text ''; expected the path of files, a text"),
        ('files: "a\\0b"', 7, "there is no file or folder"),
        ("files: studies, count: 3", 7, "a set of files has no key 'count'"),
        ("files: studies, parameters: {}", 7, "a set of files has no key 'parameters'"),
        ("files: studies, set: mpp", 7, "'mpp' is a test set of coreplan; give the files another"),
        ("files: studies, set: 3", 7, "expected the name of the set"),
        ("files: studies, solver: core", 7, "a set of files has no key 'solver'"),
        ("set: studies", 7, "coreplan has no test set 'studies'"),
    ],
)
def test_mistakes_of_the_configuration(folder: Path, new: str, line: int, said: str) -> None:
    """A mistake in a set of files is reported with its line."""
    (folder.parent / "empty").mkdir()
    with pytest.raises(FormatError) as caught:
        config(folder, CONFIG.replace('files: "studies/*.yaml"', new))
    assert any(each.line == line and said in str(each) for each in caught.value.problems) or (
        said in str(caught.value)
    ), str(caught.value)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (SMALL.replace("duration: 2, cost: 3", "duration: -2, cost: 3"), "broken.yaml:8:34: "),
        ("format: [mpp/1]\n", "broken.yaml:1:9"),
        ("format: {a: 1}\n", "broken.yaml:1:9"),
        ("format: mpp/9\n", "broken.yaml:1:9"),
        ("format: ti-mmdp/1\nagents: []\n", "broken.yaml:"),
        ("{", "broken.yaml:1:"),
        ("", "broken.yaml:1:1: the file is empty"),
        ("\x00", "broken.yaml:1:1"),
        ("&a [*a]", "broken.yaml:1:"),
        ("- " * 1000, "broken.yaml:1:"),
    ],
)
def test_broken_files_are_reported_before_anything_runs(
    folder: Path, content: str, said: str
) -> None:
    """Reading the configuration reports all broken files, each with its line."""
    (folder / "broken.yaml").write_text(content, encoding="utf-8")
    (folder / "binary.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(CoreplanError) as caught:
        config(folder)
    assert said in str(caught.value)
    assert "binary.yaml:1:1: found the byte 0xff" in str(caught.value)


def test_very_many_broken_files(tmp_path: Path) -> None:
    """Of very many mistakes, the first ones are shown and the others are counted."""
    for k in range(30):
        (tmp_path / f"{k:02}.yaml").write_text("format: mpp/1\n", encoding="utf-8")
    with pytest.raises(CoreplanError) as caught:
        config_of_files([str(tmp_path)], ["dp"])
    lines = str(caught.value).splitlines()
    assert len(lines) == 21
    assert lines[-1].endswith("more mistakes")


def test_a_folder_without_problems(tmp_path: Path) -> None:
    """A folder in which everything is something else is an error."""
    shutil.copy(EXAMPLES / "two_works_schedule.yaml", tmp_path)
    with pytest.raises(CoreplanError, match=r"no file in .* is a problem"):
        config_of_files([str(tmp_path)], ["dp"])


def test_a_folder_with_the_name_of_a_test_set(tmp_path: Path) -> None:
    """Files cannot pass for a test set of the paper."""
    folder = tmp_path / "mpp"
    folder.mkdir()
    shutil.copy(EXAMPLES / "two_works.yaml", folder)
    with pytest.raises(ModelError, match="'mpp' is a test set of coreplan"):
        config_of_files([str(folder)], ["dp"])


@pytest.mark.parametrize(
    ("solver", "said"),
    [
        ("dpp", "coreplan has no algorithm 'dpp'; did you mean 'dp'?"),
        ("", "is not a solver"),
        ("dp 'merge", "is not a solver; try core"),
        ("dp merge", "'merge' is not an option; try merge=false"),
        ("dp =1", "'=1' is not an option"),
        ("dp merge=no", "merge is 'no'; expected True or False"),
        ("dp merg=false", "algorithm 'dp' has no option 'merg'; did you mean 'merge'?"),
        ("dp merge=true merge=false", "option 'merge' is given twice"),
        ("core threads=NaN", "threads is 'NaN'"),
        ("core threads=[1]", "threads is '[1]'"),
        ("core  threads=1", "is the same as 'core threads=1'; leave one of them out"),
    ],
)
def test_mistakes_of_solvers_in_commands(folder: Path, solver: str, said: str) -> None:
    """What people write after --solver is checked before the run."""
    with pytest.raises(CoreplanError) as caught:
        config_of_files([str(folder)], ["core threads=1", solver])
    assert said in str(caught.value)


def test_solvers_as_people_write_them(folder: Path) -> None:
    """An algorithm with options, whose values are numbers, words, or true and false."""
    written = ["core-2016 merge=false memo=true", "core threads=1 relative-gap=0.5", "dp"]
    written.append('core-2016 bounds="expected"')
    solvers = config_of_files([str(folder)], written).sets[0].solvers
    assert [(each.name, each.algorithm, dict(each.options)) for each in solvers] == [
        (written[0], "core-2016", {"merge": False, "memo": True}),
        (written[1], "core", {"threads": 1, "relative_gap": 0.5}),
        ("dp", "dp", {}),
        (written[3], "core-2016", {"bounds": "expected"}),
    ]


# -- running --------------------------------------------------------------------------------------


def test_files_are_solved_as_what_they_are(folder: Path, tmp_path: Path) -> None:
    """The results are those of the problems in the files, and tables hold them, too."""
    read = config(folder, CONFIG.replace("solvers: [core]", "solvers: [core, dp]"))
    store = tmp_path / "r.sqlite"
    assert run_all(read, store).done == 4
    rows = read_rows(store)
    assert len(rows) == 4
    for row in rows:
        problem = read_problem(folder / row.instance)
        assert row.set == "studies"
        assert dict(row.parameters) == {
            "agents": len(problem.agent_names),
            "horizon": problem.horizon,
        }
        assert row.value is not None
        assert agrees(row.value, solve(problem).value)
    write_table(rows, tmp_path / "r.csv")
    assert read_table(tmp_path / "r.csv") == [row_without_progress(row) for row in rows]


def row_without_progress(row: Row) -> Row:
    """A row as tables hold it."""
    return replace(row, progress=())


def test_a_changed_file_is_another_instance(folder: Path, tmp_path: Path) -> None:
    """The content identifies an instance: comments and layout do not count, a number does."""
    before = plan_solves(config(folder))
    path = folder / "two_works.yaml"
    text = path.read_text(encoding="utf-8")
    path.write_text(f"# A remark.\n{text}", encoding="utf-8")
    assert plan_solves(config(folder)).keys() == before.keys()
    path.rename(folder / "renamed.yaml")
    assert "name:" in text.partition("agents:")[0]  # so the name is not the file's
    assert plan_solves(config(folder)).keys() == before.keys()
    (folder / "renamed.yaml").write_text(
        text.replace("revenue: 20", "revenue: 21"), encoding="utf-8"
    )
    after = plan_solves(config(folder))
    assert len(after.keys() & before.keys()) == 1
    assert len(after) == 2


def test_overriding_the_count_takes_the_first_files(folder: Path) -> None:
    """With --count, only the first files of a set are solved."""
    read = config(folder)
    assert names(read.override(count=1)) == ["two_robots.yaml"]
    assert names(read.override(count=10)) == names(read)
