"""Modules of users in benchmark runs: algorithms, test sets and formats of one's own."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from bench_runs import run_all
from coreplan import CoreplanError, FormatError, ModelError
from coreplan.bench import cluster
from coreplan.bench.cluster import solve_on_node
from coreplan.bench.config import BenchConfig, config_of_files, read_config
from coreplan.bench.modules import ModuleError, load_module
from coreplan.bench.pool import Answer
from coreplan.bench.results import read_rows
from coreplan.bench.runner import Run, plan_solves
from coreplan.bench.sets import TEST_SETS, forget_test_set, generate, register_test_set
from coreplan.bench.sets.parameters import EACH, Parameter, TestSet
from coreplan.bench.store import Row, Store
from coreplan.bench.summary import summarise
from coreplan.errors import SolverError
from coreplan.formats import problem as formats
from coreplan.solving.registry import forget_algorithm, registered_algorithms

PROJECT = Path(__file__).parents[1]

MINE = '''\
"""Algorithms for tests: one that works, and many that do not."""

import os
from dataclasses import dataclass, replace

import numpy as np

from coreplan import Result, register_algorithm, solve
from coreplan.solving import SolverOptions
from coreplan.solving.option_fields import Choice, Flag, option


@dataclass(frozen=True, kw_only=True)
class MineOptions(SolverOptions):
    merge: bool = option(True, "Merge equivalent states.", Flag())
    manner: str = option(
        "good",
        "How to behave.",
        Choice("good", "raise", "none", "number", "numpy", "unwritable", "exit", "leave", "nan"),
    )


def mine(task, options: MineOptions) -> Result:
    found = replace(solve(task.problem, algorithm="dp", merge=options.merge), algorithm="mine")
    if options.manner == "raise":
        return 1 / 0
    if options.manner == "none":
        return None
    if options.manner == "number":
        return 3
    if options.manner == "numpy":
        return replace(found, value=np.float64(found.value), seconds=np.float64(found.seconds))
    if options.manner == "unwritable":
        return replace(found, seconds=np.float32(0.5))
    if options.manner == "nan":
        return replace(found, value=float("nan"))
    if options.manner == "exit":
        raise SystemExit(3)
    if options.manner == "leave":
        os._exit(3)
    return found


register_algorithm("mine", mine)
'''


@pytest.fixture(autouse=True)
def clean() -> Iterator[None]:
    """What a test registers is forgotten, and paths of modules are."""
    path = list(sys.path)
    yield
    sys.path[:] = path
    for name in list(registered_algorithms()):
        forget_algorithm(name)
    for name in ("ladders", "broken", "odd"):
        try:
            forget_test_set(name)
        except ModelError:
            continue


def write(folder: Path, text: str, name: str = "mine.py") -> Path:
    """Write a module."""
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def configured(folder: Path, **parts: Any) -> BenchConfig:
    """A configuration that names the module `mine.py` next to it."""
    given: dict[str, Any] = {
        "format": "bench/1",
        "modules": ["mine.py"],
        "limits": {"time": 60, "memory": 1000},
        "solvers": {"mine": {"algorithm": "mine"}, "dp": {"algorithm": "dp"}},
        "sets": [{"set": "rand3", "count": 2}],
        **parts,
    }
    path = folder / "config.yaml"
    path.write_text(json.dumps(given), encoding="utf-8")
    return read_config(path)


def outcome(folder: Path, manner: str) -> Row:
    """The row of a solve in some manner."""
    solver = {"mine": {"algorithm": "mine", "options": {"manner": manner}}}
    read = configured(folder, solvers=solver, sets=[{"set": "rand3", "count": 1}])
    run_all(read, folder / "r.sqlite")
    (row,) = read_rows(folder / "r.sqlite")
    return row


# -- algorithms -----------------------------------------------------------------------------------


def test_a_registered_algorithm_is_run(tmp_path: Path) -> None:
    """Workers load the module; its solves have the results of the algorithm, and its code."""
    write(tmp_path, MINE)
    run_all(configured(tmp_path), tmp_path / "r.sqlite")
    rows = read_rows(tmp_path / "r.sqlite")
    assert [row.solver for row in rows] == ["dp", "mine"] * 2
    for plain, own in zip(rows[::2], rows[1::2], strict=True):
        assert (plain.value, plain.solved) == (own.value, own.solved)
        assert plain.value is not None
        assert "code" not in plain.versions
        assert len(own.versions["code"]) == 12
    assert {each.version for each in summarise(rows)} == {row.version for row in rows}


def test_changed_code_is_another_solver(tmp_path: Path) -> None:
    """Solves by other code are not taken for done, and those of coreplan's algorithms are."""
    write(tmp_path, MINE)
    before = configured(tmp_path)
    assert run_all(before, tmp_path / "r.sqlite").added.total() == 4
    assert run_all(before, tmp_path / "r.sqlite").added.total() == 0
    write(tmp_path, f"{MINE}\n# improved\n")
    after = configured(tmp_path)
    assert len(plan_solves(before).keys() & plan_solves(after).keys()) == 2
    assert run_all(after, tmp_path / "r.sqlite").added.total() == 2
    rows = read_rows(tmp_path / "r.sqlite")
    assert {row.key for row in rows} == plan_solves(before).keys() | plan_solves(after).keys()


def test_a_run_goes_on_with_the_code_that_it_began_with(tmp_path: Path) -> None:
    """A file that changes, or disappears, during a run does not change the run."""
    path = write(tmp_path, MINE)
    read = configured(tmp_path)
    path.unlink()
    run_all(read, tmp_path / "r.sqlite")
    assert {row.outcome for row in read_rows(tmp_path / "r.sqlite")} == {"result"}


class Nodes:
    """A pool that gives each request to a node as a cluster does: as text, to its own worker."""

    jobs = 1

    def __init__(self) -> None:
        self._ended: list[tuple[str, Answer]] = []

    def submit(self, key: str, request: Mapping[str, Any]) -> None:
        """Solve a request."""
        self._ended.append((key, solve_on_node(json.loads(json.dumps(request)))))

    def wait(self, seconds: float) -> list[tuple[str, Answer]]:
        """What has been solved."""
        ended, self._ended = self._ended, []
        return ended

    def close(self) -> None:
        """Nothing runs."""


def test_modules_travel_to_the_nodes_of_a_cluster(tmp_path: Path) -> None:
    """A node needs no file: it gets the text of the module with each request."""
    path = write(tmp_path, MINE)
    read = configured(tmp_path, solvers={"mine": {"algorithm": "mine"}})
    path.unlink()
    try:
        with Store(tmp_path / "r.sqlite", create=True) as store:
            Run(plan_solves(read), store, Nodes(), modules=read.modules).run()
    finally:
        assert cluster._worker is not None
        cluster._worker.close()
        cluster._worker = None
    assert [row.outcome for row in read_rows(tmp_path / "r.sqlite")] == ["result"] * 2


@pytest.mark.parametrize(
    ("manner", "kind", "said"),
    [
        ("good", "result", ""),
        ("numpy", "result", ""),
        ("raise", "error", "ZeroDivisionError: division by zero (mine.py, line 26)"),
        ("none", "error", "algorithm 'mine' returned null; expected a Result"),
        ("number", "error", "algorithm 'mine' returned 3; expected a Result"),
        ("nan", "error", "value is nan; expected a finite number"),
        ("unwritable", "error", "the result cannot be written: Object of type float32"),
        ("exit", "crashed", "SystemExit: 3"),
        ("leave", "crashed", "ended with exit code 3"),
    ],
)
def test_errors_of_users_are_outcomes(tmp_path: Path, manner: str, kind: str, said: str) -> None:
    """Whatever the code of a user does, the run ends well and says what happened, and where."""
    write(tmp_path, MINE)
    row = outcome(tmp_path, manner)
    assert row.outcome == kind
    assert said in row.message
    assert (row.result is None) == (kind != "result")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"manners": "good"}, "algorithm 'mine' has no option 'manners'; did you mean 'manner'?"),
        ({"manner": "bad"}, "manner is 'bad'; expected one of 'good'"),
        ({"merge": 1}, "merge is 1; expected True or False"),
        ({"merge": None}, "expected a number, a text, true or false"),
    ],
)
def test_options_of_registered_algorithms_are_checked(
    tmp_path: Path, options: dict[str, Any], said: str
) -> None:
    """Unknown and invalid options are mistakes of the configuration."""
    write(tmp_path, MINE)
    with pytest.raises(FormatError) as caught:
        configured(tmp_path, solvers={"m": {"algorithm": "mine", "options": options}})
    assert said in str(caught.value)


def test_a_required_option_is_missing(tmp_path: Path) -> None:
    """A function whose options have no default is refused before the run, not in each solve."""
    write(
        tmp_path,
        "from coreplan import register_algorithm\n"
        "register_algorithm('mine', lambda task, depth: None)\n",
    )
    with pytest.raises(FormatError, match=r"does not take these options: .*depth"):
        configured(tmp_path)


def test_algorithms_are_not_tried_before_the_run(tmp_path: Path) -> None:
    """An algorithm for other problems only is not called by the check of its options."""
    write(
        tmp_path,
        "from coreplan import register_algorithm\n"
        "def mine(task):\n    raise ValueError(task.problem.name)\n"
        "register_algorithm('mine', mine)\n",
    )
    run_all(configured(tmp_path), tmp_path / "r.sqlite")
    messages = {row.message for row in read_rows(tmp_path / "r.sqlite") if row.solver == "mine"}
    assert messages == {f"ValueError: rand3-000{k} (mine.py, line 3)" for k in range(2)}


def test_threads_of_registered_algorithms(tmp_path: Path) -> None:
    """An option `threads` of a user may hold anything; processor time needs exactly one."""
    write(
        tmp_path,
        "from coreplan import register_algorithm\n"
        "register_algorithm('mine', lambda task, threads='many': None)\n",
    )
    assert configured(tmp_path).threads >= 1
    with pytest.raises(FormatError, match="solver 'mine' may use several threads"):
        configured(tmp_path, limits={"time": 60, "clock": "processor"})


# -- loading --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x = (", "SyntaxError: '(' was never closed (mine.py, line 1)"),
        ("\n\nhelp_me", "NameError: name 'help_me' is not defined (mine.py, line 3)"),
        ("import nothing_of_this_name", "ModuleNotFoundError: No module named"),
        ("raise SystemExit(1)", "SystemExit: 1 (mine.py, line 1)"),
        ("def f():\n    f()\nf()", "RecursionError"),
        (
            "import coreplan\ncoreplan.register_algorithm('dp', print)",
            "'dp' is an algorithm of coreplan; choose another name (mine.py, line 2)",
        ),
        ("\x00", "cannot be loaded: "),
    ],
)
def test_modules_that_fail(tmp_path: Path, text: str, said: str) -> None:
    """A module that cannot be loaded is a mistake of the configuration, with the module's line."""
    write(tmp_path, text)
    with pytest.raises(FormatError) as caught:
        configured(tmp_path)
    assert "config.yaml:1:" in str(caught.value)
    assert "modules[0]" in str(caught.value)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("none.py", "none.py: cannot be read"),
        ("nothing_of_this_name", "there is no module 'nothing_of_this_name'"),
        ("nothing_of_this.name", "module 'nothing_of_this.name' cannot be loaded"),
        ("a/b", "'a/b' is not a module; expected a file that ends in .py"),
        ("", "'' is not a module"),
        ("..", "'..' is not a module"),
    ],
)
def test_modules_that_are_not_there(tmp_path: Path, name: str, said: str) -> None:
    """A module that cannot be found is told as such."""
    with pytest.raises(CoreplanError) as caught:
        load_module(name, tmp_path)
    assert said in str(caught.value)


def test_what_is_not_a_list_of_modules(tmp_path: Path) -> None:
    """Modules are a list of texts."""
    for wrong in ("mine.py", [7], {"a": 1}, [None]):
        with pytest.raises(FormatError, match="modules"):
            configured(tmp_path, modules=wrong)


def test_a_module_may_import_its_neighbours(tmp_path: Path) -> None:
    """A file next to the module is found, but does not hide an installed module."""
    write(tmp_path, "raise RuntimeError", "json.py")
    write(tmp_path, "NAME = 'mine'\n", "neighbour_of_mine.py")
    write(
        tmp_path,
        "import json, neighbour_of_mine\nimport coreplan\njson.dumps(1)\n"
        "coreplan.register_algorithm(neighbour_of_mine.NAME, lambda task: None)\n",
    )
    assert configured(tmp_path).modules[0].name == "mine.py"


def test_an_installed_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An installed module is named by its name; a changed one is refused where it is solved."""
    monkeypatch.syspath_prepend(str(tmp_path))
    path = write(tmp_path, MINE.replace('"mine"', '"from afar"'), "installed_solvers.py")
    solvers = {"far": {"algorithm": "from afar"}}
    sets = [{"set": "rand3", "count": 1}]
    read = configured(tmp_path, modules=["installed_solvers"], solvers=solvers, sets=sets)
    run_all(read, tmp_path / "r.sqlite")
    path.write_text(path.read_text(encoding="utf-8") + "\n# new\n", encoding="utf-8")
    run_all(read, tmp_path / "s.sqlite")
    (row,), (refused,) = read_rows(tmp_path / "r.sqlite"), read_rows(tmp_path / "s.sqlite")
    assert (row.outcome, len(row.versions["code"])) == ("result", 12)
    assert refused.outcome == "error"
    assert "is not the one that the run began with" in refused.message


def test_what_modules_print_does_not_disturb(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The standard output belongs to the command: what a module prints goes to the other stream."""
    load_module(str(write(tmp_path, "print('hello')")))
    assert capsys.readouterr() == ("", "hello\n")


# -- test sets ------------------------------------------------------------------------------------

LADDERS = """
from coreplan import TIMMDP, Agent, Condition, Entry, RewardFunction
from coreplan.bench.sets import Parameter, TestSet, register_test_set
from coreplan.bench.sets.parameters import EACH


def make(draw, name, *, rungs, agents):
    states = [str(k) for k in range(rungs + 1)]
    up = {s: {"up": {states[min(k + 1, rungs)]: 1.0}} for k, s in enumerate(states)}
    climbers = tuple(Agent(f"climber {k}", "0", up) for k in range(agents))
    worth = draw.uniform(1.0, 2.0, 2)
    top = [Entry({each.name: Condition(next=states[-1])}, worth) for each in climbers]
    own = tuple(RewardFunction((each.name,), (entry,)) for each, entry in zip(climbers, top))
    return TIMMDP(climbers, own, rungs, name)


register_test_set(
    TestSet(
        "ladders", "climbers", 2,
        {"rungs": Parameter((2, 3), "rungs", EACH, least=1), "agents": Parameter(2, "climbers")},
        make,
    )
)
"""


def test_a_registered_test_set_is_run(tmp_path: Path) -> None:
    """A family of problems of one's own is generated, solved, and has sizes in its rows."""
    write(tmp_path, LADDERS)
    sets = [{"set": "ladders", "count": 1, "parameters": {"rungs": [2, 4]}}]
    read = configured(tmp_path, solvers={"dp": {"algorithm": "dp"}}, sets=sets)
    assert read.modules == ()  # only made here: processes that solve need no module
    run_all(read, tmp_path / "r.sqlite")
    rows = read_rows(tmp_path / "r.sqlite")
    assert [row.instance for row in rows] == ["ladders-2-0000", "ladders-4-0000"]
    assert [dict(row.parameters) for row in rows] == [
        {"rungs": rungs, "agents": 2, "horizon": rungs} for rungs in (2, 4)
    ]
    assert all(row.solved for row in rows)


@pytest.mark.parametrize(
    ("set_of", "said"),
    [
        ({"set": "ladder"}, "coreplan has no test set 'ladder'; did you mean 'ladders'?"),
        (
            {"set": "ladders", "parameters": {"rung": 2}},
            "test set 'ladders' has no parameter 'rung'; did you mean 'rungs'?",
        ),
        ({"set": "ladders", "parameters": {"rungs": 0}}, "found 0; expected a whole number"),
        ({"set": ["ladders"]}, "coreplan has no test set"),
    ],
)
def test_mistakes_about_registered_test_sets(
    tmp_path: Path, set_of: dict[str, Any], said: str
) -> None:
    """The parameters of registered test sets are checked like those of coreplan's."""
    write(tmp_path, LADDERS)
    with pytest.raises(FormatError) as caught:
        configured(tmp_path, solvers={"dp": {"algorithm": "dp"}}, sets=[set_of])
    assert said in str(caught.value)


def test_errors_of_generators_are_in_words() -> None:
    """A generator that fails, or makes something else, is an error in words."""

    def fail(draw: Any, name: str, **values: Any) -> Any:
        raise ZeroDivisionError("by nothing")

    parameters = {"agents": Parameter(2, "agents", EACH)}
    register_test_set(TestSet("broken", "fails", 1, parameters, fail))
    register_test_set(TestSet("odd", "odd", 1, parameters, lambda draw, name, agents: 7))  # type: ignore[arg-type, return-value]
    with pytest.raises(ModelError, match="cannot make 'broken-2-0000': ZeroDivisionError: by noth"):
        list(generate("broken"))
    with pytest.raises(ModelError, match="test set 'odd' made 7; expected a problem"):
        list(generate("odd"))


def test_names_of_test_sets_are_taken() -> None:
    """Nobody can stand in for a test set of coreplan."""
    with pytest.raises(ModelError, match="'mpp' is a test set of coreplan; choose another name"):
        register_test_set(TEST_SETS["mpp"])
    odd = TestSet("odd", "odd", 1, {"count": Parameter(2, "how many")}, lambda draw, name: None)  # type: ignore[arg-type, return-value]
    with pytest.raises(ModelError, match="has a parameter 'count'; give it another name"):
        register_test_set(odd)
    with pytest.raises(ModelError, match="no test set 'mpp' is registered"):
        forget_test_set("mpp")


# -- formats --------------------------------------------------------------------------------------

STEPS = """
from coreplan import TIMMDP, Agent, Condition, Entry, RewardFunction
from coreplan.formats import register_problem_format
from coreplan.model import TranslatedProblem


class Steps(TranslatedProblem):
    def __init__(self, name, horizon):
        self.name, self.horizon = name, horizon

    def to_timmdp(self):
        walker = Agent("walker", "here", {"here": {"step": {"here": 1.0}}})
        step = Entry({"walker": Condition(action="step")}, 1.0)
        return TIMMDP((walker,), (RewardFunction(("walker",), (step,)),), self.horizon, self.name)

    def to_dict(self):
        return {"format": "steps/1", "name": self.name, "horizon": self.horizon}


def read(document):
    parts = document.fields(document.root, (), "the steps", ("format", "horizon"), ("name",))
    return document.finish(lambda: Steps(parts.get("name", document.stem), parts["horizon"]))


register_problem_format("steps/1", read)
"""


def test_files_in_a_format_of_ones_own(tmp_path: Path) -> None:
    """A module may teach a run another format of problems."""
    module = write(tmp_path, STEPS, "steps.py")
    path = tmp_path / "five.yaml"
    path.write_text("{format: steps/1, horizon: 5}", encoding="utf-8")
    try:
        read = config_of_files([str(path)], ["dp"], modules=[str(module)])
        run_all(read, tmp_path / "r.sqlite")
    finally:
        formats._readers.pop("steps/1", None)
    (row,) = read_rows(tmp_path / "r.sqlite")
    assert (row.instance, row.value, row.solved) == ("five.yaml", 5.0, True)


def test_errors_are_of_one_tree() -> None:
    """Errors of modules and solvers are caught as all others are."""
    assert issubclass(ModuleError, CoreplanError)
    assert issubclass(SolverError, CoreplanError)
