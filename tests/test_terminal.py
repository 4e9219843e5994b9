"""Lines for the terminal: broken between words, cut so that names stay apart."""

from __future__ import annotations

import io
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.text import Text

from coreplan import Contractor, MaintenanceProblem, Status, Task, solve
from coreplan.analysis.plan import PlanReport
from coreplan.support.cents import amount_text, cents, rounded
from coreplan.view.terminal import WordConsole, break_lines, fit_apart
from coreplan.view.words import MoneyWorth, Worth, plan_in_words

WORDS = st.lists(st.text(st.characters(categories=["L", "N", "P"]), min_size=1, max_size=12))


@given(words=WORDS, width=st.integers(5, 40), indent=st.integers(0, 4))
def test_lines_break_between_words(words: list[str], width: int, indent: int) -> None:
    """No word is broken, none is lost, and lines are too wide only where a single word is."""
    text = " " * indent + " ".join(words)
    lines = [line.plain for line in break_lines(Text(text), width)]
    assert " ".join(lines).split() == words
    for line in lines:
        assert cell_len(line) <= width or len(line.split()) == 1 or re.match(r" *[-–\d]", line)


@given(words=WORDS, width=st.integers(6, 40))
def test_lines_of_tables_fit(words: list[str], width: int) -> None:
    """Where nothing may be too wide, long words are broken, too."""
    lines = [line.plain for line in break_lines(Text("x " + " ".join(words)), width, fold=True)]
    assert all(cell_len(line) <= width for line in lines)
    assert "".join("".join(lines).split()) == "x" + "".join(words)


def test_items_of_lists_are_indented() -> None:
    """Further lines of an item begin below its first word."""
    lines = [line.plain for line in break_lines(Text("  - Alpha waits 2 weeks with a1"), 18)]
    assert lines == ["  - Alpha waits 2", "    weeks with a1"]


def test_amounts_are_not_broken() -> None:
    """A space that does not break lines, between a currency and a number, is part of a word."""
    text = "cost from €\N{NO-BREAK SPACE}13,266.10 to €\N{NO-BREAK SPACE}15,910.00"
    lines = [line.plain for line in break_lines(Text(text), 20)]
    assert lines == [
        "cost from",
        "€\N{NO-BREAK SPACE}13,266.10 to",
        "€\N{NO-BREAK SPACE}15,910.00",
    ]


@pytest.mark.parametrize("terminal", [True, False])
def test_files_keep_long_lines(terminal: bool) -> None:
    """On a terminal a long sentence becomes several lines; in a file it stays one."""
    file = io.StringIO()
    console = WordConsole(
        file=file, force_terminal=terminal, width=20, color_system=None, soft_wrap=True
    )
    console.print("costs at most 1,000.00 in all", markup=False)
    expected = "costs at most\n1,000.00 in all\n" if terminal else "costs at most 1,000.00 in all\n"
    assert file.getvalue() == expected


@given(names=st.lists(st.text("ab é", min_size=1, max_size=20), unique=True, max_size=6))
def test_cut_names_have_the_width(names: list[str]) -> None:
    """Names are cut or filled to one width."""
    assert all(cell_len(each) == 9 for each in fit_apart(names, 9))


def test_names_stay_apart() -> None:
    """Names that differ at the end only are cut in the middle."""
    names = ["northern ring road 1", "northern ring road 2", "bridge"]
    assert len(set(fit_apart(names, 12))) == 3


@given(amount=st.floats(-1e12, 1e12))
def test_amounts_are_rounded_in_one_way(amount: float) -> None:
    """Texts of plans and tables of money write an amount alike: the nearest cent."""
    assert MoneyWorth().number(amount) == amount_text(amount)
    assert float(amount_text(amount).replace(",", "")) == rounded(amount) == cents(amount) / 100
    assert abs(rounded(amount) - amount) <= 0.005 + 1e-15 * abs(amount) * 4


def test_bounds_in_words() -> None:
    """A search says what the best plan costs or earns at most and at least, as far as known."""
    money = MoneyWorth()
    inf = float("inf")
    assert money.between(-1250, -1225) == "costs at most 1,250.00, at least 1,225.00 (2 % left)"
    assert money.between(100, 110) == "earns at least 100.00, at most 110.00 (10 % left)"
    assert money.between(-inf, -5) == "costs at least 5.00; no plan yet"
    assert money.between(-5, inf) == "costs at most 5.00"
    assert money.between(-inf, inf) == "no plan yet"
    assert money.between(-10, 1e-4 - 10).endswith("(less than 0.01 % left)")
    proven = "proven best; the plan is being completed"
    assert money.between(-10, -10) == f"costs 10.00: {proven}"
    assert Worth().between(1, 2) == "at least 1, at most 2"


def test_differences_agree_with_what_is_shown() -> None:
    """What can be saved is the difference of the two amounts that stand beside it."""
    problem = MaintenanceProblem((Contractor("Alpha", (Task("a1", 1, cost=1),)),), horizon=2)
    report = PlanReport(
        problem="works",
        value=-141.657,
        estimate=None,
        money=None,
        upper_bound=-141.6545,
        best_known=-141.6545,
        search_status=Status.TIME_LIMIT,
        seconds=0.0,
        policy=solve(problem).policy,
    )
    text = " ".join(plan_in_words(report))
    assert "your plan is expected to cost 141.66" in text
    assert "at most 0.01 (" in text
    assert "no plan can cost less than 141.65" in text
