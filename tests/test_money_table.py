"""The table of costs in a terminal: every number is one of the plan's money, and it fits."""

from __future__ import annotations

import itertools
import re
from typing import Any

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
            assert abs(shown - exact) <= 0.005 + 1e-9 * abs(exact)
    rows = [amounts(line)[-1] for line in lines[:-1]]
    rounding = 0.006 * (len(rows) + 1) + 1e-9 * (money.revenue + abs(money.works))
    assert abs(sum(rows) - amounts(lines[-1])[-1]) <= rounding
    assert abs(amounts(lines[-1])[-1] - abs(money.value)) <= 0.005 + 1e-9 * abs(money.value)


def test_the_dearest_hindrance_comes_first() -> None:
    """Many entries are cut to the most expensive, with the sum of the rest; long names are cut."""
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
