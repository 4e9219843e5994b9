"""The house keeps its order: what may import what, and from where."""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

import coreplan
from coreplan.support.late import late
from coreplan.support.moved import MOVED

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
    """The root imports everything, so an import of the root closes a cycle."""
    for name, tree in modules():
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module == "coreplan" != name:
                assert {each.name for each in node.names} == {"_core"}, name
                assert name.split(".")[1] not in WITHOUT_CORE, name


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
    if parent == "coreplan" and hasattr(coreplan, child):
        monkeypatch.setattr(coreplan, child, getattr(coreplan, child))  # as it was, at the end
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
