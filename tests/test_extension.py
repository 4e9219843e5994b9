"""Algorithms of others: registered, offered by a package, and written on the model's arrays."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib import metadata
from importlib.metadata import EntryPoint
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from hypothesis import given

import coreplan.solving.registry as registry
from coreplan import SolverError, compare, read_problem, register_algorithm, solve
from coreplan.bench.results import read_rows
from coreplan.solving import compile_problem
from helpers import agrees, from_file, random_mpp
from strategies import aggregate_dicts, mpp_dicts, timmdp_dicts

FILE = Path(__file__).parents[1] / "examples" / "value_iteration.py"
NAME = "value-iteration"


def load() -> ModuleType:
    """The example as a module."""
    spec = importlib.util.spec_from_file_location("value_iteration", FILE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["value_iteration"] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module", autouse=True)
def registered() -> Iterator[None]:
    """The example's algorithm is known, as long as these tests run."""
    register_algorithm(NAME, load().value_iteration)
    yield
    registry.forget_algorithm(NAME)


@pytest.mark.parametrize("problems", [mpp_dicts, timmdp_dicts, aggregate_dicts])
def test_the_arrays_say_all(problems: object) -> None:
    """A solver that sees nothing but the arrays finds what others find, also its policy."""

    @given(problems())  # type: ignore[operator]
    def check(problem: dict[str, object]) -> None:
        made = from_file(problem)
        exact = solve(made, algorithm="dp")
        found = solve(made, algorithm=NAME)
        assert agrees(found.value, exact.value)
        assert found.policy is not None
        assert agrees(found.policy.evaluate(), exact.value)

    check()


def test_arrays_are_read_only() -> None:
    """What others are shown, they cannot change."""
    model = compile_problem(from_file(random_mpp(2, 2, 4))).arrays
    for agent in model.agents:
        for array in vars(agent).values():
            assert isinstance(array, np.ndarray)
            with pytest.raises(ValueError, match="read-only"):
                array[:1] = 0
        assert len(agent.layer_begin) == model.layers + 2
        assert len(agent.reward) == len(agent.after) == agent.action_begin[-1]


def test_it_is_an_algorithm_like_the_others() -> None:
    """`compare` runs it; its options are checked."""
    problem = from_file(random_mpp(2, 2, 5))
    runs = compare(problem, [NAME, "dp"]).runs
    assert [run.algorithm for run in runs] == [NAME, "dp"]
    assert not compare(problem, [NAME, "dp"]).contradictions
    with pytest.raises(SolverError, match="no option 'threads'"):
        solve(problem, algorithm=NAME, threads=2)


def test_a_package_offers_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Entry points are found when they are asked for; ours cannot be replaced."""
    monkeypatch.syspath_prepend(str(FILE.parent))
    offered = [
        EntryPoint("theirs", "value_iteration:value_iteration", registry.GROUP),
        EntryPoint("core", "value_iteration:value_iteration", registry.GROUP),
    ]
    monkeypatch.setattr(metadata, "entry_points", lambda group: offered)
    known = registry._Algorithms()
    assert "theirs" in known
    assert list(known)[:6] == list(registry._OWN)
    assert known["theirs"].function.__name__ == "value_iteration"
    assert known["core"] is registry._OWN["core"]


BENCH = """
format: bench/1
limits: {time: 600}
solvers:
  ours: {algorithm: dp}
  other: {algorithm: theirs}
sets:
  - {set: mpp, count: 1, parameters: {agents: 2, horizon: 4}}
"""


def test_an_installed_package_is_known_everywhere(tmp_path: Path) -> None:
    """`solve`, `compare` and `bench run` of the command line know what a package offers."""
    site = tmp_path / "site"
    (site / "theirs-1.0.dist-info").mkdir(parents=True)
    (site / "theirs-1.0.dist-info" / "METADATA").write_text("Name: theirs\nVersion: 1.0\n")
    (site / "theirs-1.0.dist-info" / "entry_points.txt").write_text(
        f"[{registry.GROUP}]\ntheirs = value_iteration:value_iteration\n"
    )
    shutil.copy(FILE, site)
    problem = FILE.with_name("two_works.yaml")
    config = tmp_path / "bench.yaml"
    config.write_text(BENCH, encoding="utf-8")
    value = solve(read_problem(problem), algorithm="dp").value

    def run(*arguments: object) -> str:
        path = os.pathsep.join(filter(None, [str(site), os.environ.get("PYTHONPATH")]))
        done = subprocess.run(
            [sys.executable, "-m", "coreplan.cli", *map(str, arguments)],
            env={**os.environ, "PYTHONPATH": path},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    found = json.loads(run("solve", problem, "--algorithm", "theirs", "--json"))
    assert agrees(found["value"], value)
    assert "theirs" in run("compare", "algorithms", problem, "--algorithms", "theirs,dp")
    run("bench", "run", config, "-o", tmp_path / "results.sqlite", "--jobs", 1)
    rows = {row.algorithm: row for row in read_rows(tmp_path / "results.sqlite")}
    assert set(rows) == {"dp", "theirs"}
    values = [rows[name].value for name in ("theirs", "dp")]
    assert None not in values
    assert agrees(*values)


def test_what_cannot_be_registered() -> None:
    """Names of ours, and what is no algorithm."""
    with pytest.raises(SolverError, match="choose another name"):
        register_algorithm("core", load().value_iteration)
    with pytest.raises(SolverError, match="is not a function of a task"):
        register_algorithm("nothing", lambda: None)  # type: ignore[arg-type, return-value]
    with pytest.raises(SolverError, match="expected a text"):
        register_algorithm("", load().value_iteration)
    with pytest.raises(SolverError, match="no algorithm 'dp' is registered"):
        registry.forget_algorithm("dp")
