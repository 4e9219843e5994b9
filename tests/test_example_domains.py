"""The domains in examples/: batteries and sensors, and the families that grow with all of them."""

from __future__ import annotations

import importlib
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import domains as tables
import judge
from coreplan import ModelError, Policy, evaluate_plan, solve
from coreplan.bench.config import read_config
from coreplan.bench.runner import plan_solves
from coreplan.bench.sets import TestSet, forget_test_set, generate
from helpers import agrees

EXAMPLES = Path(__file__).parents[1] / "examples"


def load(name: str) -> ModuleType:
    """An example as a module."""
    if str(EXAMPLES) not in sys.path:
        sys.path.append(str(EXAMPLES))
    return importlib.import_module(name)


batteries, sensors = load("batteries"), load("sensors")


@pytest.fixture
def families() -> Iterator[tuple[TestSet, ...]]:
    """The families, which are known as long as the test runs."""
    sys.modules.pop("families", None)
    found = tables.load_families()
    yield found
    for each in found:
        forget_test_set(each.name)


@pytest.mark.parametrize("name", ["batteries", "sensors", "warehouse"])
def test_examples_run(name: str) -> None:
    """Each example is a program that shows its best plan."""
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / f"{name}.py")], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "optimal" in done.stdout


# -- batteries ------------------------------------------------------------------------------------


@given(
    st.lists(st.tuples(st.integers(1, 2), st.integers(0, 1)), min_size=1, max_size=2),
    st.lists(st.sampled_from([1.0, 2.0, 5.0]), min_size=1, max_size=3),
    st.integers(0, 6),
)
def test_batteries_have_the_judges_value(
    homes: list[tuple[int, int]], prices: list[float], limit: int
) -> None:
    """Any neighbourhood is worth what the plain recursion says, by an honest policy."""
    households = tuple(
        batteries.Household(f"home {k}", capacity=capacity, charge=charge)
        for k, (capacity, charge) in enumerate(homes)
    )
    problem = batteries.Batteries(households, tuple(prices), limit)
    exact = judge.optimal_value(problem.to_dict())
    result = solve(problem)
    assert agrees(result.value, exact)
    assert agrees(result.policy.evaluate(), result.value)
    bounded = solve(problem, exact=False, work_limit=0.05)
    assert agrees(bounded.policy.evaluate(), bounded.value)
    assert bounded.value - 1e-6 <= exact <= bounded.upper_bound + 1e-6


@pytest.mark.parametrize("algorithm", ["core", "dp"])
def test_the_peak_is_avoided(algorithm: str) -> None:
    """Together, four households pay less than if each plans for itself, and draw less at once."""
    problem = batteries.FOUR
    found = solve(problem, algorithm=algorithm)
    selfish = solve(problem.independent, algorithm=algorithm).policy
    everyone = Policy.from_function(problem, selfish.act)
    assert found.value > everyone.evaluate() + 5
    assert found.value < solve(problem.independent).value
    assert evaluate_plan(problem, everyone).value == pytest.approx(everyone.evaluate())


@pytest.mark.parametrize("count", [5, 6, 12])
def test_large_neighbourhoods_have_honest_bounds(count: int) -> None:
    """Where no exact method fits, the plan is worth what is said, and less than without a peak."""
    problem = replace(batteries.neighbourhood(count, batteries.DAY[:8]), limit=3 * count // 2)
    result = solve(problem, work_limit=0.5)
    assert agrees(result.policy.evaluate(), result.value)
    assert result.upper_bound < solve(problem.independent).value - 1


def test_a_wide_connection_costs_nothing() -> None:
    """Without a peak, a neighbourhood is worth the sum of its households; wider is never worse."""
    alone = [
        solve(replace(batteries.FOUR, households=(each,), limit=99)).value
        for each in batteries.FOUR.households
    ]
    assert solve(batteries.FOUR.independent).value == pytest.approx(sum(alone))
    values = [solve(replace(batteries.FOUR, limit=limit)).value for limit in (6, 7, 8, 10, 12)]
    assert values == sorted(values)
    assert values[-1] == pytest.approx(sum(alone))


def test_draws_are_never_negative() -> None:
    """A battery helps its own household; nobody feeds into the grid or overcharges."""
    for home in batteries.FOUR.households:
        for state, actions in batteries.FOUR.draws(home).items():
            assert all(draw >= 0 for draw in actions.values())
            assert "charge" not in actions or not state.startswith(f"{home.capacity} ")
            assert "help" not in actions or not state.startswith("0 ")


# -- families -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["warehouse", "sensors", "batteries"])
def test_families_have_right_values(families: tuple[TestSet, ...], name: str) -> None:
    """The smallest problems of each family are solved to the value of dynamic programming."""
    smaller: dict[str, dict[str, Any]] = {
        "warehouse": {"agents": 2, "size": 3, "horizon": 6},
        "sensors": {"sensors": 3, "targets": 1, "horizon": 4},
        "batteries": {"agents": 2, "horizon": 5},
    }
    for instance in generate(name, 3, seed=2, **smaller[name]):
        exact = solve(instance.problem, algorithm="dp")
        assert agrees(solve(instance.problem).value, exact.value)
        assert instance.problem.name == instance.name


def test_families_are_the_same_every_time(families: tuple[TestSet, ...]) -> None:
    """A seed gives the same problems; sizes grow in the order of the table."""
    for family in families:
        first, again, other = (
            next(generate(family.name, 1, seed=seed)).digest() for seed in (4, 4, 5)
        )
        assert first == again != other
        agents = [each.parameters["agents"] for each in generate(family.name, 1)]
        assert agents == sorted(set(agents))


def test_halls_are_large_enough(families: tuple[TestSet, ...]) -> None:
    """More robots than docks are refused."""
    with pytest.raises(ModelError, match="agents is 4; expected at most the size of the hall, 3"):
        next(generate("warehouse", 1, agents=4, size=3))


def test_the_configuration(families: tuple[TestSet, ...]) -> None:
    """The configuration of the families can be read, and its solves are planned."""
    config = read_config(EXAMPLES / "bench" / "families.yaml")
    assert config.modules == ()  # test sets only: processes that solve need no module
    assert len(plan_solves(config)) == 10


def test_tables(families: tuple[TestSet, ...], capsys: pytest.CaptureFixture[str]) -> None:
    """The program behind the tables prints a line for each size."""
    arguments = ["--count", "1", "--time-limit", "20", "--most", "3"]
    assert tables.main(arguments) == 0
    out = capsys.readouterr().out
    for family in families:
        assert f"{family.name}: {family.summary}" in out
    rows = [line for line in out.splitlines() if line.startswith("| ") and line[2].isdigit()]
    assert [row.split(" | ")[0] for row in rows] == ["| 2", "| 3", "| 3", "| 2"]
    assert all("1 of 1" in row for row in rows)
