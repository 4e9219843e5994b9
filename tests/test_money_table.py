"""The table of costs in a terminal: every number is one of the plan's money, and it fits."""

from __future__ import annotations

import itertools
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from coreplan import solve
from coreplan.domains.maintenance import Money
from coreplan.domains.maintenance.money import split_value
from coreplan.domains.maintenance.parts import Contractor, Hindrance, Task
from coreplan.domains.maintenance.problem import MaintenanceProblem
from coreplan.domains.maintenance.view.money_table import MOST_HINDRANCES, money_table
from helpers import from_file
from strategies import mpp_dicts


def amounts(line: str) -> list[float]:
    """The numbers at the end of a line."""
    words = reversed(line.split())
    numbers = itertools.takewhile(re.compile(r"-?[\d,]+\.\d\d").fullmatch, words)
    return [float(word.replace(",", "")) for word in numbers][2::-1]


@given(raw=mpp_dicts(), width=st.integers(70, 120))
def test_rows_add_up(raw: dict[str, Any], width: int) -> None:
    """There is a row per contractor and per hindrance that costs; they add up to the last row."""
    problem = from_file(raw)
    assert isinstance(problem, MaintenanceProblem)
    policy = solve(problem).policy
    assert policy is not None
    money = split_value(policy)
    title, *lines = [line.plain for line in money_table(problem, money, width)]
    costs = money.value < 0
    verb = "costs" if costs else "earns"
    assert title.split() == ["expected", "revenue", "cost", "of", "works", verb, "in", "all"]
    assert all(cell_len(line) <= width for line in lines)
    count = len(problem.contractors)
    for line, revenue, works in zip(lines[:count], money.revenue_of, money.works_of, strict=True):
        total = works - revenue if costs else revenue - works
        for shown, exact in zip(amounts(line), (revenue, works, total), strict=True):
            assert abs(shown - exact) <= 0.02 + 1e-9 * abs(exact)
    for column in range(3):
        rows = [amounts(line)[column] for line in lines[:count]]
        rows += [amounts(line)[-1] for line in lines[count:-1]] if column == 2 else []
        assert round(sum(rows) - amounts(lines[-1])[column], 6) == 0, "rows do not add up"
    assert abs(amounts(lines[-1])[-1] - abs(money.value)) <= 0.005 + 1e-9 * abs(money.value)


def test_the_dearest_hindrance_comes_first() -> None:
    """Many rules are cut to the most expensive, with the sum of the rest; long names fit."""
    many = MOST_HINDRANCES + 3
    names = [f"work {k} " + "x" * 100 for k in range(many)]
    one = Contractor("One", tuple(Task(name, 1, 0) for name in names))
    other = Contractor("Other", (Task("b", 1, 0),))
    network = tuple(Hindrance((f"One/{name}", "Other/b"), 1) for name in names)
    problem = MaintenanceProblem((one, other), many + 1, network)
    costs = [float(k) for k in range(1, many + 1)]
    money = Money(-sum(costs), 0.0, 0.0, sum(costs), tuple(costs), (0.0, 0.0), (0.0, 0.0))
    lines = [line.plain for line in money_table(problem, money, 80)]
    shown = [line for line in lines if line.startswith("hindrance")]
    assert [amounts(line)[-1] for line in shown] == [
        *costs[:2:-1],
        sum(costs[:3]),
    ]
    assert shown[-1].startswith("hindrance: 3 more rules")
    assert all(len(line) <= 80 for line in lines)
    assert "-0.00" not in "\n".join(lines)


@pytest.mark.parametrize("width", [40, 60, 80])
def test_names_of_hindrance_stay_apart(width: int) -> None:
    """Rules whose names differ at their ends only are still told apart, and nothing is cut."""
    names = [f"resurfacing of the northern ring road part {k}" for k in (1, 2)]
    one = Contractor("One", tuple(Task(name, 1, 0) for name in names))
    other = Contractor("Other", (Task("bridge deck", 1, 0),))
    network = tuple(Hindrance((f"One/{name}", "Other/bridge deck"), 1) for name in names)
    problem = MaintenanceProblem((one, other), 4, network)
    money = Money(-3.0, 0.0, 0.0, 3.0, (1.0, 2.0), (0.0, 0.0), (0.0, 0.0))
    lines = [line.plain for line in money_table(problem, money, width)]
    text = " ".join(re.sub(r"  +[\d.]+$", "", line).strip() for line in lines)
    for name in names:
        assert f"hindrance: One/{name} + Other/bridge deck" in text


AMOUNTS = st.lists(st.floats(-1e6, 1e6).map(lambda amount: round(amount, 4)), max_size=6)


@given(hindrances=AMOUNTS, revenue=AMOUNTS, works=AMOUNTS)
def test_cents_add_up(hindrances: list[float], revenue: list[float], works: list[float]) -> None:
    """In cents every sum is the sum of its parts, and no amount is off by two cents or more."""
    sums = [sum(each) for each in (revenue, works, hindrances)]
    value = sums[0] - sums[1] - sums[2]
    money = Money(value, *sums, tuple(hindrances), tuple(revenue), tuple(works))
    cents = money.in_cents()

    def whole(amount: float) -> int:
        assert abs(100 * amount - round(100 * amount)) < 1e-6
        return round(100 * amount)

    assert whole(cents.value) == whole(cents.revenue) - whole(cents.works) - whole(cents.hindrance)
    assert whole(cents.revenue) == sum(map(whole, cents.revenue_of))
    assert whole(cents.works) == sum(map(whole, cents.works_of))
    assert whole(cents.hindrance) == sum(map(whole, cents.hindrances))
    assert abs(cents.value - value) <= 0.005 + 1e-6
    pairs = [(cents.revenue, sums[0]), (cents.works, sums[1]), (cents.hindrance, sums[2])]
    pairs += zip(cents.revenue_of + cents.works_of, (*revenue, *works), strict=True)
    pairs += zip(cents.hindrances, hindrances, strict=True)
    # A sum may be off by one cent, and a part by one more.
    assert all(abs(shown - exact) < 0.02 + 1e-6 for shown, exact in pairs)
