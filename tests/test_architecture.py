"""The house keeps its order: what may import what, and from where."""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import coreplan
from coreplan import solve
from coreplan.support.late import late
from coreplan.support.moved import MOVED, MOVED_NAMES

SOURCE = Path(coreplan.__file__).parent
WITHOUT_CORE = ("errors", "support", "files", "model", "policies", "proof")
"""Packages that never touch the compiled core: proofs must be checked without it."""
OPTIONAL = ("matplotlib", "pandas", "ray", "stormpy", "openpyxl", "resource")
"""What may be imported inside functions: extras, and what some systems do not have."""
SLOW = {
    ("coreplan.view.svg", "xml.sax.saxutils"),
    ("coreplan.cli.generate", "rich.progress"),
    ("coreplan.files.parsing", "coreplan.files.yaml_text"),
    ("coreplan.view.simulation_text", "rich.cells"),
    ("coreplan.support.language", "polib"),
}
"""What is seldom needed and slow to import."""


def modules() -> Iterator[tuple[str, ast.Module]]:
    """All modules with what they say."""
    for file in sorted(SOURCE.rglob("*.py")):
        parts = file.relative_to(SOURCE).with_suffix("").parts
        name = ".".join(("coreplan", *(part for part in parts if part != "__init__")))
        yield name, ast.parse(file.read_text(encoding="utf-8"))


def imported(node: ast.AST) -> list[str]:
    """What an import statement names."""
    if isinstance(node, ast.Import):
        return [each.name for each in node.names]
    if isinstance(node, ast.ImportFrom) and node.module is not None:
        return [node.module]
    return []


def test_imports_inside_functions_are_for_extras() -> None:
    """What a module needs, it says at its head; so a cycle cannot hide."""
    hidden = []
    for name, tree in modules():
        for function in ast.walk(tree):
            if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            for node in ast.walk(function):
                hidden += [
                    (name, each)
                    for each in imported(node)
                    if each.partition(".")[0] not in OPTIONAL and (name, each) not in SLOW
                ]
    assert not hidden


def test_only_the_compiled_core_comes_from_the_root() -> None:
    """The root knows all layers, so an import of one of its names closes a cycle."""
    for name, tree in modules():
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module == "coreplan" != name:
                assert {each.name for each in node.names} == {"_core"}, name
                assert name.split(".")[1] not in WITHOUT_CORE, name


PROBLEM = """
from coreplan.model import TIMMDP, Agent, Condition, Entry, RewardFunction

moves = {"s": {"go": {"s": 0.5, "t": 0.5}, "stay": {"s": 1.0}}, "t": {"go": {"t": 1.0}}}
agents = tuple(Agent(name, "s", moves) for name in "AB")
own = tuple(Entry({name: Condition(action="go")}, 1.0) for name in "AB")
both = Entry({name: Condition(action="go") for name in "AB"}, -3.0)
problem = TIMMDP(agents, (RewardFunction(("A", "B"), (*own, both)),), horizon=4)
"""
WITHOUT_SOLVERS = f"""
import importlib, pkgutil, sys
from importlib.abc import MetaPathFinder

class Refuse(MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name.startswith(("coreplan._core", "coreplan.solving")):
            raise ImportError(name + " is out of reach")

sys.meta_path.insert(0, Refuse())
(certificate,) = sys.argv[1:]
import coreplan.proof
for module in pkgutil.iter_modules(coreplan.proof.__path__, "coreplan.proof."):
    importlib.import_module(module.name)
{PROBLEM}
print(coreplan.proof.verify.verify(problem, certificate).confirmed)
"""
"""Checks a certificate where neither the core nor any solver can be imported."""


def test_proofs_are_checked_without_solvers(tmp_path: Path) -> None:
    """A certificate is confirmed in a process in which no solver can be imported."""
    made: dict[str, Any] = {}
    exec(PROBLEM, made)
    file = tmp_path / "proof.json"
    assert solve(made["problem"], exact=False, certificate=file).policy is not None
    run = subprocess.run(
        [sys.executable, "-c", WITHOUT_SOLVERS, str(file)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout == "True\n"


def test_imports_run_one_way() -> None:
    """The contracts of pyproject.toml hold."""
    program = Path(sys.executable).with_name("lint-imports")
    root = Path(__file__).parents[1]
    run = subprocess.run(
        [program, "--no-cache"], cwd=root, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stdout


def test_whatever_is_provided_from_above_is_there() -> None:
    """Methods ask for functions of upper layers by name."""
    asked = {
        node.args[0].value
        for _, tree in modules()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "late"
        and isinstance(node.args[0], ast.Constant)
    }
    assert len(asked) > 15
    for name in asked:
        assert callable(late(name))


@pytest.mark.parametrize("old", sorted(MOVED))
def test_old_names_of_modules_work(old: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """For one version, with a warning that names the new one."""
    name = f"coreplan.{old}"
    parent, _, child = name.rpartition(".")
    if parent == "coreplan":
        monkeypatch.setitem(vars(coreplan), child, None)  # as it was before, at the end
    for known in [each for each in sys.modules if each == name or each.startswith(f"{name}.")]:
        del sys.modules[known]
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        module = importlib.import_module(name)
    del sys.modules[name]
    new = importlib.import_module(f"coreplan.{MOVED[old]}")
    for each, value in vars(new).items():
        if not each.startswith("_"):
            assert getattr(module, each) is value
    assert any(f"{name} is now {new.__name__};" in str(each.message) for each in said)


def test_an_old_module_does_not_hide_a_function(monkeypatch: pytest.MonkeyPatch) -> None:
    """`coreplan.solve` was a module as well; the name still works as a function."""
    problem = coreplan.read_problem(Path(__file__).parents[1] / "examples" / "two_works.yaml")
    value = coreplan.solve(problem).value
    monkeypatch.setattr(coreplan, "solve", coreplan.solve)
    with pytest.warns(DeprecationWarning, match=r"coreplan\.solve is now coreplan\.solving\."):
        module = importlib.import_module("coreplan.solve")
    del sys.modules["coreplan.solve"]
    assert coreplan.solve is module  # as Python does it
    assert coreplan.solve(problem).value == value


def test_names_to_start_with() -> None:
    """The package itself has few names; each can be asked for, without any warning."""
    assert len(coreplan.__all__) <= 36
    for name in coreplan.__all__:
        assert getattr(coreplan, name) is not None
    assert not set(coreplan.__all__) & set(MOVED_NAMES)


@pytest.mark.parametrize("old", sorted(MOVED_NAMES))
def test_old_names_of_the_package_work(old: str) -> None:
    """For one version, with a warning that names the new place and blames who asked."""
    place, _, new = f"coreplan.{MOVED_NAMES[old]}".rpartition(".")
    with pytest.warns(DeprecationWarning, match=rf"coreplan\.{old} is now {place}\.{new};") as said:
        value = getattr(coreplan, old)
    assert said[0].filename == __file__
    assert value is getattr(importlib.import_module(place), new)
    module = importlib.import_module(place)
    assert place == "coreplan" or new in getattr(module, "__all__", [new])


def test_names_are_known_to_type_checkers() -> None:
    """What works when it is run is also typed: under TYPE_CHECKING stand the same tables."""
    (tree,) = (tree for name, tree in modules() if name == "coreplan")
    names, old_names = (
        {
            each.asname: f"{node.module}.{each.name}"
            for node in typed.body
            if isinstance(node, ast.ImportFrom)
            for each in node.names
        }
        for typed in tree.body
        if isinstance(typed, ast.If)
    )
    assert names == {name: f"coreplan.{home}.{name}" for name, home in coreplan._HOMES.items()}
    assert sorted(names) == sorted(coreplan.__all__)
    old_names["Problem"] = "coreplan.Diagnostic"  # an assignment
    assert old_names == {old: f"coreplan.{new}" for old, new in MOVED_NAMES.items()}


USES = {
    "import coreplan": "",
    "the engine": "coreplan.solving.solver.solve",
    "a result as text": "coreplan.solve(coreplan.read_problem(sys.argv[1])).summary()",
    "a tree": "str(coreplan.solve(coreplan.read_problem(sys.argv[1])).policy.tree())",
    "a file": "coreplan.formats.read_problem(sys.argv[1])",
}
"""What a user may do first in a process."""


@pytest.mark.parametrize("use", USES)
def test_layers_are_loaded_when_they_are_used(use: str) -> None:
    """Nothing is loaded by the import alone, and whatever is used first finds what it needs."""
    script = f"""
import sys
import coreplan
heavy = ("numpy", "coreplan._core", "coreplan.solving", "coreplan.domains", "coreplan.view")
assert not set(heavy) & set(sys.modules), sorted(set(heavy) & set(sys.modules))
{USES[use]}
"""
    file = Path(__file__).parents[1] / "examples" / "two_works.yaml"
    run = subprocess.run(
        [sys.executable, "-c", script, str(file)], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr


def test_names_that_never_were() -> None:
    """An unknown name is an AttributeError, as in every module."""
    with pytest.raises(AttributeError, match="module 'coreplan' has no attribute 'nothing'"):
        coreplan.nothing  # noqa: B018 - to ask is the test
