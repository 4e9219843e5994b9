"""Works lists in CSV files: what is understood, and what is said of what is not."""

from __future__ import annotations

import contextlib
import csv
import datetime
import io
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import coreplan
from coreplan import Delay, FormatError, ModelError, read_works
from coreplan.domains.maintenance import WorksList
from coreplan.domains.maintenance.parts import Hindrance
from coreplan.domains.maintenance.problem import MaintenanceProblem
from coreplan.domains.maintenance.works import WorksListError
from coreplan.domains.maintenance.works.cells import (
    CellError,
    NumberStyle,
    read_chance,
    read_cost,
    read_number,
    read_step,
)
from coreplan.domains.maintenance.works.columns import HINDRANCE, WORKS, recognise
from coreplan.formats import problem_to_dict
from helpers import from_file
from strategies import mpp_dicts

MONDAY = datetime.date(2026, 3, 2)
TITLES = (
    "contractor,work,duration,delay chance,delay duration,revenue,cost,earliest start,latest start"
)
GOOD = f"{TITLES}\nAlpha,a1,2,30%,1,20,3,0,6\nBeta,b1,3,,,15,1,,\n"


def write(folder: Path, text: str, name: str = "works.csv", encoding: str = "utf-8") -> Path:
    """Write a file."""
    path = folder / name
    path.write_bytes(text.encode(encoding))
    return path


def read(folder: Path, works: str, hindrance: str | None = None, **options: Any) -> WorksList:
    """Write lists and read them."""
    other = None if hindrance is None else write(folder, hindrance, "hindrance.csv")
    return read_works(write(folder, works), other, **{"horizon": 8, **options})


def errors(folder: Path, works: str, hindrance: str | None = None, **options: Any) -> list[str]:
    """What is said of lists, a line for each problem, without the folder."""
    with pytest.raises(FormatError) as caught:
        read(folder, works, hindrance, **options)
    return str(caught.value).replace(f"{folder}/", "").splitlines()


# -- what is understood ---------------------------------------------------------------------------


def test_a_list_becomes_a_problem(tmp_path: Path) -> None:
    """Every column ends where it belongs."""
    made = read(tmp_path, GOOD, "work A,work B,cost\nAlpha/a1,b1,7.5\n")
    alpha, beta = made.problem.contractors
    [a1], [b1] = alpha.tasks, beta.tasks
    assert (a1.name, a1.duration, a1.delay, a1.revenue) == ("a1", 2, Delay(0.3, 1), 20)
    assert (a1.cost, a1.window) == (3, (0, 6))
    assert (b1.delay, b1.window, b1.cost) == (None, None, 1)
    assert made.problem.network == (Hindrance(("Alpha/a1", "Beta/b1"), 7.5),)
    assert (made.problem.horizon, made.problem.must_complete) == (8, False)
    assert (made.problem.name, made.calendar, made.notes) == ("works", None, ())


def as_lists(raw: dict[str, Any], delimiter: str) -> tuple[str, str]:
    """A problem as works lists."""

    def number(value: Any) -> str:
        text = repr(float(value))
        text += "" if "e" in text else "0"  # 1.234 could be a thousand
        return text.replace(".", ",") if delimiter == ";" else text

    def cost(value: Any) -> str:
        if not isinstance(value, list):
            return number(value)
        text = " ".join(map(number, value))
        return f"[{text}]" if len(value) == 1 else text

    works, hindrance = io.StringIO(), io.StringIO()
    table = csv.writer(works, delimiter=delimiter)
    table.writerow(column.title for column in WORKS)
    for agent in raw["agents"]:
        for task in agent["tasks"]:
            delay = task.get("delay")
            table.writerow(
                [
                    agent["name"],
                    task["name"],
                    "somewhere",
                    number(task["duration"]),
                    number(delay["probability"]) if delay else "",
                    number(delay["duration"]) if delay else "",
                    number(task.get("revenue", 0)),
                    cost(task["cost"]),
                    *(str(int(end)) for end in task.get("window", [])),
                    *([] if "window" in task else ["", ""]),
                    "",
                ]
            )
    most = max([2, *(len(entry["tasks"]) for entry in raw.get("network", []))])
    table = csv.writer(hindrance, delimiter=delimiter)
    table.writerow([*(f"work {k}" for k in range(most)), "cost per step"])
    for entry in raw.get("network", []):
        empty = [""] * (most - len(entry["tasks"]))
        table.writerow([*entry["tasks"], *empty, cost(entry["cost"])])
    return works.getvalue(), hindrance.getvalue()


def renamed(raw: dict[str, Any]) -> dict[str, Any]:
    """A problem with names as people have them, without contractors that have nothing to do."""
    agents = []
    names = {}
    for i, agent in enumerate(raw["agents"]):
        tasks = []
        for j, task in enumerate(agent["tasks"]):
            names[f"{agent['name']}/{task['name']}"] = f"Bau, {i} & Söhne/work; {j}"
            tasks.append({**task, "name": f"work; {j}"})
        agents += [{"name": f"Bau, {i} & Söhne", "tasks": tasks}] if tasks else []
    network = [
        {**entry, "tasks": [names[each] for each in entry["tasks"]]}
        for entry in raw.get("network", [])
    ]
    return {**raw, "agents": agents, "network": network}


@given(raw=mpp_dicts(), delimiter=st.sampled_from([",", ";", "\t"]))
def test_any_problem_can_be_a_list(
    tmp_path_factory: pytest.TempPathFactory, raw: dict[str, Any], delimiter: str
) -> None:
    """A problem that is written as lists, whatever separates cells, is read back."""
    raw = renamed(raw)
    assume(raw["agents"])
    problem = from_file(raw)
    assert isinstance(problem, MaintenanceProblem)
    folder = tmp_path_factory.mktemp("lists")
    works, hindrance = as_lists(raw, delimiter)
    made = read(
        folder,
        works,
        hindrance,
        horizon=problem.horizon,
        must_complete=problem.must_complete,
        name=problem.name,
    )
    assert problem_to_dict(made.problem) == problem_to_dict(problem)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_files_as_programs_write_them(tmp_path: Path, encoding: str, delimiter: str) -> None:
    """Encodings and separators of spreadsheet programs are found out, blank lines do not count."""
    text = "\n\nWork,Contractor,COST,Duration (weeks)\n\nBrücke,Müller,3,2\n,,,\n"
    path = write(tmp_path, text.replace(",", delimiter).replace("\n", "\r\n"), encoding=encoding)
    made = read_works(path, horizon=4)
    assert made.problem.contractors[0].name == "Müller"
    assert made.problem.contractors[0].tasks[0].name == "Brücke"
    assert any("Windows-1252" in note for note in made.notes) == (encoding == "cp1252")


def test_what_separates_cells_can_be_said(tmp_path: Path) -> None:
    """A first line sep=; is understood, and rows are still counted from the first."""
    text = "sep=;\ncontractor;work;duration;cost\nA, B and C;x;1;2,5\nD;y;?;1\n"
    assert errors(tmp_path, text)[0].startswith("works.csv, row 4, column C (duration)")
    made = read(tmp_path, text.replace("?", "1"))
    assert made.problem.contractors[0].name == "A, B and C"
    assert made.problem.contractors[0].tasks[0].cost == 2.5


def test_titles_and_comments_around_the_table(tmp_path: Path) -> None:
    """Rows above the titles and rows with # are left out, and that is said."""
    text = "Works of 2026,,,\n# for people,,,\ncontractor,work,duration,cost\nA,a,1,1\n"
    made = read(tmp_path, text)
    assert len(made.problem.contractors) == 1
    notes = " ".join(made.notes)
    assert "left out row 1 above the titles" in notes
    assert "left out 1 row that begins with #" in notes


def test_columns_for_people_are_kept(tmp_path: Path) -> None:
    """Places, notes and unknown columns stay with their works, in the order of the list."""
    made = read(
        tmp_path,
        "contractor,budget code,work,road,cost,duration,remarks,location,empty\n"
        "A,=1+1,a,A40,1,1,x,Utrecht,\nA,,b,,1,1,,,\n",
    )
    assert dict(made.places) == {"A/a": "A40"}
    expected = {"budget code": "=1+1", "road": "A40", "remarks": "x", "location": "Utrecht"}
    assert dict(made.details) == {"A/a": expected}
    assert list(made.details["A/a"]) == list(expected)
    assert made.problem.details == made.details
    assert made.notes[0] == (
        f"{tmp_path}/works.csv: the column 'budget code' is unknown; reports show it, and no plan "
        "depends on it"
    )
    assert any("no list of hindrance" in note for note in made.notes)
    assert not any("'road'" in note or "'empty'" in note for note in made.notes)


def test_details_are_no_part_of_a_problem(tmp_path: Path) -> None:
    """Two problems that differ only in what people wrote beside the works are equal."""
    titles = "contractor,work,duration,cost"
    plain = read(tmp_path, f"{titles}\nA,a,1,1\n").problem
    noted = read(tmp_path, f"{titles},code\nA,a,1,1,7\n").problem
    assert noted == plain
    assert hash(noted) == hash(plain)
    assert problem_to_dict(noted) == problem_to_dict(plain)


@pytest.mark.parametrize(
    ("title", "meant"),
    [
        ("earliest strat", "'earliest start'"),
        ("Lates start", "'latest start'"),
        ("delay chanse", "'delay chance'"),
        ("revenu", "'revenue'"),
        ("plannd start", "'planned start'"),
        ("stauts", "'status'"),
        ("weks left", "'weeks left'"),
        ("delay", "'delay chance' or 'delay duration'"),
    ],
)
def test_titles_with_a_mistake_in_them(tmp_path: Path, title: str, meant: str) -> None:
    """An unknown title close to a missing column is an error: its values would be lost."""
    [line] = errors(tmp_path, f"contractor,work,duration,cost,{title}\nA,a,1,1,1\n")
    assert f"column E ({title}): found the unknown column {title!r}; did you mean {meant}?" in line


def test_a_mistake_in_a_required_title(tmp_path: Path) -> None:
    """'duraton' is an error that names 'duration', which is missing."""
    lines = errors(tmp_path, "contractor,work,duraton,cost\nA,a,1,1\n")
    assert "did you mean 'duration'?" in lines[-1]
    lines = errors(tmp_path, "contractor,work,how long,cost\nA,a,1,1\n")
    assert lines == [
        "works.csv, row 1: the column 'duration' is missing; add it, or give this title to the "
        "column 'how long'"
    ]


@pytest.mark.parametrize(
    ("titles", "cells", "meant"),
    [("cost 0,cots 1", "1,2", "'cost 1'"), ("cost 1,cots 2", "1,2", "'cost 2'")],
)
def test_costs_of_steps_with_a_mistake(tmp_path: Path, titles: str, cells: str, meant: str) -> None:
    """A mistyped column of costs does not shorten the plan in silence."""
    text = f"contractor,work,duration,{titles}\nA,a,1,{cells}\n"
    assert f"did you mean {meant}?" in "\n".join(errors(tmp_path, text, horizon=None))


def test_a_mistyped_member_of_a_hindrance_rule(tmp_path: Path) -> None:
    """A third work under a mistyped title does not drop out of its rule in silence."""
    works = "contractor,work,duration,cost\nA,a,1,1\nB,b,1,1\nC,c,1,1\n"
    [line] = errors(tmp_path, works, "work A,work B,wrok C,cost\na,b,c,9\n")
    assert "did you mean 'work c'?" in line


@pytest.mark.parametrize("title", ["latest date", "deadline", "remaining budget", "planned end"])
def test_titles_that_may_be_a_column(tmp_path: Path, title: str) -> None:
    """A title that may stand for a missing column is kept, and the note asks whether it does."""
    made = read(tmp_path, f"contractor,work,duration,cost,{title}\nA,a,1,1,3\n")
    [note] = [each for each in made.notes if repr(title) in each]
    assert "no plan depends on it; did you mean '" in note


def test_plans_of_doing_nothing_are_warned_of(tmp_path: Path) -> None:
    """Where works only cost and none has to be done, people are told what that means."""
    text = "contractor,work,duration,cost\nA,a,1,1\n"
    assert any("do nothing" in note for note in read(tmp_path, text).notes)
    assert not any("do nothing" in note for note in read(tmp_path, text, must_complete=True).notes)


@pytest.mark.parametrize(
    ("titles", "cells"),
    [
        ("cost 1,cost 2,cost 3", "5,6,7"),
        ("cost 0,cost 1,cost 2", "5,6,7"),
        ("cost 3,cost 1,cost 2", "7,5,6"),
        ("Cost week 1,Cost week 2,Cost week 3", "5,6,7"),
        ("cost 2026-03-02,cost 9 Mar 2026,cost 16.3.2026", "5,6,7"),
        ("cost 2026-03-16,cost 2026-03-10,cost 2026-03-02", "7,6,5"),
        ("cost per step", "5 6 7"),
        ("cost per step", "[5 | 6; 7]"),
        ("cost per step", '"5, 6, 7"'),
        ("cost per step", '"5,6,7"'),
    ],
)
def test_costs_of_single_steps(tmp_path: Path, titles: str, cells: str) -> None:
    """Costs by step stand in columns, by number or date and in any order, or in one cell."""
    text = f"contractor,work,duration,{titles}\nA,a,1,{cells}\n"
    made = read(tmp_path, text, horizon=None, start_date=MONDAY)
    assert made.problem.horizon == 3
    assert made.problem.contractors[0].tasks[0].cost == (5, 6, 7)


def test_rows_with_one_cost_beside_costs_by_step(tmp_path: Path) -> None:
    """Each row has either one cost or one for each step."""
    text = "contractor,work,duration,cost,cost 0,cost 1\nA,a,1,4,,\nB,b,1,,1,2\n"
    made = read(tmp_path, text, horizon=None)
    assert [c.tasks[0].cost for c in made.problem.contractors] == [4, (1, 2)]


@given(st.dates(MONDAY, datetime.date(2026, 12, 31)), st.sampled_from(["day", "week"]))
def test_windows_by_date(
    tmp_path_factory: pytest.TempPathFactory, day: datetime.date, step: str
) -> None:
    """A work does not start before its earliest date, nor after its latest, and as near as can."""
    folder = tmp_path_factory.mktemp("dates")
    text = (
        "contractor,work,duration,cost,earliest start,latest start\n"
        f"A,a,1,1,{day.isoformat()},\nB,b,1,1,,{day.day}.{day.month}.{day.year}\n"
    )
    made = read(folder, text, horizon=400, start_date=MONDAY, step=step)
    calendar = made.calendar
    assert calendar is not None
    first = made.problem.contractors[0].tasks[0].window
    last = made.problem.contractors[1].tasks[0].window
    assert first is not None
    assert last is not None
    assert calendar.first_day(first[0]) >= day
    assert first[0] == 0 or calendar.first_day(first[0] - 1) < day
    assert first[1] == 399
    assert last[0] == 0
    assert calendar.first_day(last[1]) <= day < calendar.first_day(last[1] + 1)


# -- cells ----------------------------------------------------------------------------------------

POINT, COMMA, EITHER = NumberStyle.POINT, NumberStyle.COMMA, NumberStyle.EITHER


@pytest.mark.parametrize(
    ("text", "style", "value"),
    [
        ("3", POINT, 3),
        (" -2.5 ", POINT, -2.5),
        ("−2.5", POINT, -2.5),
        ("1.234", POINT, 1.234),
        ("1,234.5", POINT, 1234.5),
        ("1,234,567", POINT, 1234567),
        ("1e3", POINT, 1000),
        ("2,5", COMMA, 2.5),
        ("2.5", COMMA, 2.5),
        ("1,234", COMMA, 1.234),
        ("0.125", COMMA, 0.125),
        ("1.234,5", COMMA, 1234.5),
        ("1\u00a0234,5", COMMA, 1234.5),
        ("1'234.5", EITHER, 1234.5),
        ("2,5", EITHER, 2.5),
        ("0,125", EITHER, 0.125),
    ],
)
def test_numbers(text: str, style: NumberStyle, value: float) -> None:
    """Numbers are read as people write them."""
    assert read_number(text, "a number", style) == value


@pytest.mark.parametrize(
    ("text", "style", "said"),
    [
        ("1,234", POINT, "could be 1234 or 1.234"),
        ("1.234", COMMA, "could be 1234 or 1.234"),
        ("1,234", EITHER, "could be 1234 or 1.234"),
        ("1.234", EITHER, "could be 1234 or 1.234"),
        ("2,5", POINT, "with a decimal point"),
        ("€ 30", POINT, "without a currency sign"),
        ("30 EUR", POINT, "without a currency sign"),
        ("30%", POINT, "without a per cent sign"),
        ("=A1*2", POINT, "replace the formula"),
        ("two", POINT, "found 'two'; expected a cost, a number"),
        ("1 234", POINT, "expected a cost"),
        ("nan", POINT, "expected a cost"),
        ("inf", POINT, "expected a cost"),
        ("1e999", POINT, "finite"),
        ("9" * 500, POINT, "expected a cost"),
        ("٣", POINT, "expected a cost"),
        (True, POINT, "found true"),
        (MONDAY, POINT, "the date 2026-03-02"),
        (datetime.datetime(2026, 3, 2, 4, 5), POINT, "the time"),
        (float("nan"), POINT, "expected a cost"),
    ],
)
def test_what_is_no_number(text: Any, style: NumberStyle, said: str) -> None:
    """What is no number, or could be two, is refused with what was found."""
    with pytest.raises(CellError, match=said):
        read_number(text, "a cost", style)


@given(st.integers(0, 1000))
def test_percentages_are_exact(share: int) -> None:
    """A chance in per cent is the number that is nearest to it."""
    for text in (f"{share / 10}%", f"{share / 10} %", f" {share / 10} % "):
        assert read_chance(text, POINT) == share / 1000


@pytest.mark.parametrize("value", ["30", 30, 1.5, "-1%", "101 %", "%", "a%", "1,5%", -0.1])
def test_what_is_no_chance(value: Any) -> None:
    """Chances are from 0 to 1, or have a per cent sign."""
    with pytest.raises(CellError, match="the chance of a delay"):
        read_chance(value, POINT)


def test_lists_of_costs() -> None:
    """A list is told from a number, also where numbers have a comma."""
    assert read_cost("2,5", "a cost", COMMA) == 2.5
    assert read_cost("2,5 3,5", "a cost", COMMA) == [2.5, 3.5]
    assert read_cost("2,5; 3", "a cost", COMMA) == [2.5, 3]
    assert read_cost("[4]", "a cost", POINT) == [4]
    assert read_cost("1,234.5", "a cost", POINT) == 1234.5
    with pytest.raises(CellError, match="could be"):
        read_cost("1,234", "a cost", POINT)
    with pytest.raises(CellError, match="number 2 of the list '1 x 3': found 'x'"):
        read_cost("1 x 3", "a cost", POINT)


@pytest.mark.parametrize("value", ["1.5", 1.5, "-", "x", "2/3/2026", "2026-02-30", True])
def test_what_is_no_step(value: Any) -> None:
    """A start is the number of a step or a date."""
    with pytest.raises(CellError):
        read_step(value, "a start", None)


@given(st.text(max_size=12), st.sampled_from(list(NumberStyle)))
def test_any_text_is_read_or_refused(text: str, style: NumberStyle) -> None:
    """Whatever is in a cell, there is a value or a CellError."""
    for read_cell in (
        lambda: read_number(text, "x", style),
        lambda: read_chance(text, style),
        lambda: read_cost(text, "x", style),
        lambda: read_step(text, "x", None),
    ):
        try:
            value = read_cell()
        except CellError:
            continue
        for each in value if isinstance(value, list) else [value]:
            assert abs(each) < float("inf")


@pytest.mark.parametrize("columns", [WORKS, HINDRANCE])
def test_every_name_of_a_column_is_known(columns: Any) -> None:
    """Titles and their synonyms are recognised, whatever their case and what is in brackets."""
    for column in columns:
        for name in (column.title, *column.names):
            for text in (name, name.upper(), f" {name.replace(' ', '_')} ", f"{name} [k€]"):
                heading = recognise(text, columns)
                assert heading is not None
                assert heading.key == column.key


# -- what is wrong --------------------------------------------------------------------------------

BAD_CELLS = [
    ("contractor", "", "the cell is empty; expected the contractor's name"),
    ("contractor", "A/B", "expected a name without '/'"),
    ("work", "", "the cell is empty"),
    ("work", "=B1", "formula"),
    ("work", "a/1", "expected a name without '/'"),
    ("duration", "", "the cell is empty; expected the duration in steps"),
    ("duration", "two", "found 'two'; expected the duration in steps, a number"),
    ("duration", "0", "found 0; expected the duration in steps, a whole number of at least 1"),
    ("duration", "1.5", "found 1.5; expected the duration in steps, a whole number"),
    ("delay chance", "30", "found '30'; expected the chance of a delay"),
    ("delay chance", "", "the cell is empty, but delay duration is '1'"),
    ("delay duration", "", "the cell is empty, but delay chance is '30%'"),
    ("delay duration", "0", "found 0; expected the delay in steps"),
    ("revenue", "much", "found 'much'; expected the revenue"),
    ("cost", "", "the cell is empty; expected the cost per step"),
    ("cost", "cheap", "found 'cheap'"),
    ("cost", "1 2 3", "found a list of 3 numbers; expected one for each of the 8"),
    ("earliest start", "soon", "expected the earliest start, a step or a date"),
    ("earliest start", "-1", "numbered from 0"),
    ("earliest start", "7", "found '7' (step 7), which is after the latest start '6' (step 6)"),
    (
        "earliest start",
        "2026-03-02",
        "but the first day of step 0 is not known; give it (--start-date)",
    ),
    ("latest start", "3/4/2026", "could be 3 Apr 2026 or 4 Mar 2026"),
]


@pytest.mark.parametrize(("title", "cell", "said"), BAD_CELLS)
def test_a_bad_cell_is_named(tmp_path: Path, title: str, cell: str, said: str) -> None:
    """One bad cell gives one problem: with file, row, column, content, and what is expected."""
    column = TITLES.split(",").index(title)
    cells = ["Alpha", "a1", "2", "30%", "1", "20", "3", "0", "6"]
    cells[column] = cell
    [line] = errors(tmp_path, f"{TITLES}\nBeta,b1,1,,,,1,,\n\n{','.join(cells)}\n")
    assert line.startswith(f"works.csv, row 4, column {'ABCDEFGHI'[column]} ({title}): ")
    assert said in line


def test_all_bad_cells_are_named_at_once(tmp_path: Path) -> None:
    """All problems of both lists are reported together, in their order."""
    works = f"{TITLES}\nA,a,x,30%,1,y,3,,\nB,b,0,z,1,,1 2,,\n"
    lines = errors(tmp_path, works, "work A,work B,cost\na,c,1\na,b,?\n,b,1\n")
    places = [line.partition(":")[0] for line in lines]
    assert places == [
        "works.csv, row 2, column C (duration)",
        "works.csv, row 2, column F (revenue)",
        "works.csv, row 3, column C (duration)",
        "works.csv, row 3, column D (delay chance)",
        "works.csv, row 3, column G (cost)",
        "hindrance.csv, row 2, column B (work B)",
        "hindrance.csv, row 3, column C (cost)",
        "hindrance.csv, row 4, column A (work A)",
    ]


def test_very_many_problems_are_counted(tmp_path: Path) -> None:
    """Of very many problems the first are shown, and how many more there are."""
    rows = "".join(f"A,w{k},x,1\n" for k in range(3000))
    with pytest.raises(WorksListError) as caught:
        read(tmp_path, "contractor,work,duration,cost\n" + rows)
    assert caught.value.count == 3000
    assert [problem.line for problem in caught.value.problems] == list(range(2, 22))
    assert str(caught.value).endswith("and 2,980 more problems")


BAD_LISTS = [
    ("", "works.csv: the list is empty"),
    ("contractor,work,duration,cost\n", "the list has no works"),
    ("contractor,work\nA,a\n", "row 1: the column 'duration' is missing"),
    ("contractor,work,duration\nA,a,1\n", "row 1: the column 'cost per step' is missing"),
    (
        "contractor,wrok,duration,cost\nA,a,1,1\n",
        "column B (wrok): found the unknown column 'wrok'",
    ),
    ("contractor,wrok,duration,cost\nA,a,1,1\n", "did you mean 'work'"),
    ("contractor,work,duration,cost,delay\nA,a,1,1,\n", "'delay chance' or 'delay duration'"),
    (
        "contractor,work,duration,cost,task\nA,a,1,1,b\n",
        "the list has this column twice, also as 'work'; remove or rename one of them",
    ),
    (
        "contractor,work,duration,cost\nA,a,1,2,5\n",
        "row 2, column E: found '5' in a",
    ),
    ("contractor,work,duration,cost\nA,a,1,1\nA,a,2,1\n", "twice, first in row 2"),
    (
        "contractor,work,duration,cost\nA,a,1,1\na,b,2,1\n",
        "found 'a', but 'A' in row 2; write the name in the same way everywhere",
    ),
    ('contractor,work,duration,cost\nA,"a,1,1\n', "a quote is not closed"),
    (
        "contractor,work,duration,cost,delay chance\nA,a,1,1,20%\n",
        "but the column 'delay duration' is missing; add it",
    ),
    ("contractor,work,duration,cost 0,cost 2\nA,a,1,1,1\n", "this is not a step of the plan"),
    ("contractor,work,duration,cost 1,cost week 1\nA,a,1,1,1\n", "twice"),
    ("contractor,work,duration,cost 0,cost 1\nA,a,1,1,\n", "row 2, column E (cost 1)"),
    (
        "contractor,work,duration,cost,cost 0\nA,a,1,1,1\n",
        "and also costs of single steps; give one or the other",
    ),
    (
        "contractor,work,duration,cost 2026-03-02\nA,a,1,1\n",
        "found a cost by date, but the first day of step 0 is not known; give it",
    ),
    (
        "contractor,work,duration (days),cost per week\nA,a,1,1\n",
        "found days in some titles and weeks in others",
    ),
]


@pytest.mark.parametrize(("text", "said"), BAD_LISTS)
def test_bad_lists(tmp_path: Path, text: str, said: str) -> None:
    """Missing, unknown and double columns, stray cells and double names are errors."""
    horizon = 2 if "cost 0" in text or "cost 1" in text else 8
    assert said in "\n".join(errors(tmp_path, text, horizon=horizon))


BAD_HINDRANCE = [
    ("work A,cost\na,1\n", "the column 'work A' or 'work B' is missing"),
    ("work A,work B,cost\na,\n", "the cell is empty; give two or more works"),
    ("work A,work B,cost\na,x,1\n", "has no work 'x'"),
    ("work A,work B,cost\na,Beta/bb,1\n", "did you mean 'Beta/b'"),
    ("work A,work B,cost\na,Bta/b,1\n", "did you mean 'Beta/b'"),
    ("work A,work B,cost\na,same,1\n", "several contractors have; write one of Alpha/same"),
    (
        "work A,work B,cost\na,Alpha/same,1\n",
        "has the same contractor, who does one work at a time",
    ),
    ("work A,work B,cost\na,a,1\n", "has the same contractor, who does one work at a time"),
    ("work A,work B,cost\na,b,\n", "the cell is empty; expected the hindrance per step"),
    ("work A,work B,cost\na,b,1 2\n", "a list of 2 numbers; expected one for each of the 8"),
    ("work A,work B,hindranse\na,b,1\n", "did you mean 'hindrance'?"),
]


@pytest.mark.parametrize(("text", "said"), BAD_HINDRANCE)
def test_bad_hindrance(tmp_path: Path, text: str, said: str) -> None:
    """Works that do not exist, or cannot coincide, are errors of the list of hindrance."""
    works = "contractor,work,duration,cost\n"
    works += "Alpha,a,1,1\nAlpha,same,1,1\nBeta,b,1,1\nBeta,same,1,1\n"
    lines = errors(tmp_path, works, text)
    assert all(line.startswith("hindrance.csv, row ") for line in lines)
    assert said in "\n".join(lines)


def test_options_that_make_no_sense(tmp_path: Path) -> None:
    """A horizon that is missing or no number, and a step without a start, are errors."""
    text = "contractor,work,duration,cost\nA,a,1,1\n"
    assert (
        "the number of steps is not known; give it (--horizon)"
        in errors(tmp_path, text, horizon=None)[0]
    )
    with pytest.raises(ModelError, match="the number of steps"):
        read(tmp_path, text, horizon=0)
    with pytest.raises(ModelError, match="start_date"):
        read(tmp_path, text, step="day")
    wrong = errors(tmp_path, text.replace("cost", "cost per week"), start_date=MONDAY, step="day")
    assert "found weeks in the title, but steps are days; change the title or --step" in wrong[0]


def test_works_that_do_not_fit(tmp_path: Path) -> None:
    """Where every work must be done and cannot be, the row of the first such work is named."""
    text = "contractor,work,duration,cost\nB,b,1,1\nA,a0,1,1\nA,a1,5,1\nA,a2,9,1\n"
    [line] = errors(tmp_path, text, must_complete=True, horizon=6)
    assert line.startswith("works.csv, row 5, column B (work): ")
    assert "'a2' does not fit" in line
    assert "delays" not in line


def test_notes_on_what_may_be_a_mistake(tmp_path: Path) -> None:
    """The same works twice in the hindrance, and works that can never start, are pointed out."""
    works = "contractor,work,duration,cost,earliest start\nA,a,1,1,\nB,b,1,1,9\n"
    made = read(tmp_path, works, "work A,work B,cost\na,b,1\nb,a,2\n")
    notes = "\n".join(made.notes)
    assert "rows 2 and 3 name the same works" in notes
    assert "B/b can never start" in notes


def test_files_that_are_none(tmp_path: Path) -> None:
    """Missing files, folders, and bytes of no encoding are FormatErrors."""
    with pytest.raises(FormatError, match="cannot be read"):
        read_works(tmp_path / "missing.csv")
    with pytest.raises(FormatError, match="cannot be read"):
        read_works(tmp_path)
    path = tmp_path / "x.csv"
    path.write_bytes(b"contractor,work\n\x81\xff\n")
    with pytest.raises(FormatError, match="neither UTF-8 nor Windows-1252"):
        read_works(path)
    path.write_bytes(b"a\0b\0")
    with pytest.raises(FormatError, match="found no text"):
        read_works(path)


@given(st.binary(max_size=300))
def test_any_bytes_are_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, content: bytes
) -> None:
    """Whatever is in a file, there is a problem or a CoreplanError."""
    path = tmp_path_factory.mktemp("bytes") / "works.csv"
    for head in (b"", b"contractor;work;duration;cost\n"):
        path.write_bytes(head + content)
        with contextlib.suppress(coreplan.CoreplanError):
            read_works(path, path, horizon=3)


def test_ten_thousand_rows(tmp_path: Path) -> None:
    """Long lists are read whole."""
    rows = [f"C{k % 400},w{k},{1 + k % 5},20%,1,5,{k},,\n" for k in range(10_000)]
    pairs = [f"C{k % 400}/w{k},w{k + 1},{k}\n" for k in range(9_999)]
    made = read(tmp_path, TITLES + "\n" + "".join(rows), "work A,work B,cost\n" + "".join(pairs))
    assert sum(len(each.tasks) for each in made.problem.contractors) == 10_000
    assert len(made.problem.network) == 9_999
    assert json.dumps(problem_to_dict(made.problem))
