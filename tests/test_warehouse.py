"""A stranger's domain, in a file of its own, gets all that the package can do."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from coreplan import Policy, make_report, read_problem, simulate, solve, write_problem
from coreplan.interop.prism import to_prism
from coreplan.view.plan_view import view_plan
from coreplan.view.words import describe_problem

FILE = Path(__file__).parents[1] / "examples" / "warehouse.py"


@pytest.fixture(scope="module")
def warehouse() -> ModuleType:
    """The example as a module."""
    spec = importlib.util.spec_from_file_location("warehouse", FILE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["warehouse"] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def policy(warehouse: ModuleType) -> Policy:
    """Its optimal plan."""
    found = solve(warehouse.TWO).policy
    assert found is not None
    return found


def test_the_example_is_short() -> None:
    """A domain takes no more than this."""
    assert len(FILE.read_text(encoding="utf-8").splitlines()) <= 120


@pytest.mark.parametrize("algorithm", ["core", "dp", "spudd"])
def test_all_solvers_agree(warehouse: ModuleType, algorithm: str) -> None:
    """The domain is solved as itself and as what it is translated into."""
    problem = warehouse.TWO
    value = solve(problem, algorithm=algorithm).value
    assert value == pytest.approx(solve(problem.to_timmdp(), algorithm="dp").value, rel=1e-9)


def test_robots_keep_out_of_each_others_way(warehouse: ModuleType) -> None:
    """It costs to meet; alone, each would earn more."""
    alone = sum(
        solve(warehouse.Warehouse((robot,), warehouse.TWO.horizon)).value
        for robot in warehouse.TWO.robots
    )
    assert solve(warehouse.TWO).value < alone - 0.1


def test_evaluation_and_simulation(policy: Policy) -> None:
    """The exact value is what was found, and simulated runs are near to it."""
    value = policy.evaluate()
    assert value == pytest.approx(solve(policy.problem).value, rel=1e-9)
    shown = simulate(policy, 20_000, seed=7)
    assert abs(shown.mean - value) <= 5 * shown.deviation / np.sqrt(shown.runs)
    assert "mean return" in str(shown)


def test_words(policy: Policy) -> None:
    """Tree, explanation and the plan for the terminal speak of places and moves."""
    assert describe_problem(policy.problem) == "2 robots, horizon 9"
    tree = str(policy.tree(depth=1))
    assert "Ann gets to" in tree
    said = str(policy.explain(0))
    assert "alternatives, for this step only:" in said
    assert "Ben: stay" in said
    view = view_plan(policy.problem, policy)
    lines = [str(line) for line in view.lines(80, "utf-8", None, 8)]
    assert any(line.startswith("step 0: Ann: ") for line in lines)
    assert lines[-1] == f"the plan is worth {policy.evaluate():.10g}"
    assert view.to_dict()["value"] == policy.evaluate()
    assert "Ann" in policy._repr_html_()
    assert "Ben" in policy.problem._repr_html_()


def test_report(policy: Policy) -> None:
    """The page holds what is not of one domain only, and its numbers agree."""
    report = make_report(solve(policy.problem))
    assert report.data["summary"]["proven"]
    assert "Proven to be the best plan" in report.html
    assert "Likely actions" in report.html
    assert sum(amount for _, amount in report.data["parts"]) == pytest.approx(policy.evaluate())
    for step in report.data["steps"]:
        for actions in step["actions"]:
            assert sum(chance for _, chance in actions) <= 1 + 1e-9
    assert "<script" not in report.html


def test_files(policy: Policy, tmp_path: Path) -> None:
    """Problem and plan are saved, and read again."""
    write_problem(policy.problem, tmp_path / "warehouse.json")
    again = read_problem(tmp_path / "warehouse.json")
    assert solve(again).value == pytest.approx(policy.evaluate())
    policy.save(tmp_path / "plan.json")
    assert Policy.load(tmp_path / "plan.json", policy.problem).evaluate() == policy.evaluate()
    policy.to_csv(tmp_path / "plan.csv")
    assert "Ann state" in (tmp_path / "plan.csv").read_text(encoding="utf-8")


def test_prism(policy: Policy) -> None:
    """It is exported for others."""
    assert "module" in to_prism(policy.problem).text
