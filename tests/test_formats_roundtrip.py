"""What is written is read back as the same problem, in JSON and in YAML 1.1 and 1.2."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from coreplan import (
    TIMMDP,
    Agent,
    Condition,
    Contractor,
    Delay,
    Entry,
    Hindrance,
    MaintenanceProblem,
    RewardFunction,
    Task,
    read_problem,
    solve,
    write_problem,
)
from coreplan.formats import problem_to_dict, schema
from helpers import from_file
from judge import Problem
from strategies import NAMES, aggregate_dicts, problem_dicts, staged_dicts

SUFFIXES = (".json", ".yaml", ".yml", "")

# Texts that a careless writer would not get back: what YAML 1.1 or 1.2 takes for something else,
# what has to be escaped, and what is too long for a plain key.
HOSTILE = [
    *NAMES,
    *("~", "Yes", "OFF", "n", "y", "1_000", "0o7", "0b1", "1:30", "12:30:45", "+1", "1.", "1e-6"),
    *("-.inf", ".NaN", "2001-12-14t21:59:43.10-05:00", "<<", "=", "!!str", "%YAML", "? x", ": "),
    *("\x00", "\x07", "\x1b[31m", "\x7f", "\x85", "\xa0", "\u2028", "\u2029", "\ufeff", "\uffff"),
    *("a\r\nb", "\n", "\t", " \n ", "a\u0085b", "\U0001f600", "\U0010ffff", "\ud7ff\ue000", "𝒳"),
    *("'", '"', "''", '\\"', "\\u0041", "\\x41", "a'b\"c", "{a: b}", "[", "]", ",", "#", "-a"),
    *("x" * 999, "x" * 1024, "é" * 1025, '"' * 600, "\n" * 700, "w " * 2000, "\x01" * 300),
]  # fmt: skip


def texts(pool: list[str], alphabet: str = "") -> st.SearchStrategy[str]:
    """Draw hostile names and free ones, without lone surrogates, which no file can hold."""
    free = st.text(
        st.characters(codec="utf-8", exclude_characters=alphabet), min_size=1, max_size=12
    )
    return st.sampled_from([text for text in pool if not set(alphabet) & set(text)]) | free


def rewritten(problem: TIMMDP | MaintenanceProblem, suffix: str) -> TIMMDP | MaintenanceProblem:
    """Write a problem, check that others can read the file, and read it back."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"other{suffix}"
        write_problem(problem, path)
        text = path.read_text(encoding="utf-8")
        meant = problem_to_dict(problem)
        if suffix not in (".yaml", ".yml"):
            assert json.loads(text) == meant
        else:
            assert yaml.safe_load(text) == meant  # PyYAML follows YAML 1.1
        jsonschema.validate(meant, schema(meant["format"]))
        return read_problem(path)


@given(
    raw=problem_dicts(max_work=200) | aggregate_dicts(max_work=200) | staged_dicts(max_work=200),
    suffix=st.sampled_from(SUFFIXES),
)
def test_problems_survive(raw: Problem, suffix: str) -> None:
    """A problem that is written and read again is equal, and writing it again changes nothing."""
    problem = from_file(raw)
    again = rewritten(problem, suffix)
    assert again == problem
    assert problem_to_dict(again) == problem_to_dict(problem)
    assert hash(again) == hash(problem)


@given(
    raw=problem_dicts(max_work=200) | aggregate_dicts(max_work=200) | staged_dicts(max_work=200),
    suffix=st.sampled_from(SUFFIXES),
)
def test_values_survive(raw: Problem, suffix: str) -> None:
    """The optimal value of a problem that is written and read again is the same, bit by bit."""
    problem = from_file(raw)
    assert solve(rewritten(problem, suffix)).value == solve(problem).value


@given(raw=problem_dicts(max_work=200) | aggregate_dicts(max_work=200) | staged_dicts(max_work=200))
def test_yaml_and_json_mean_the_same(raw: Problem) -> None:
    """A file means the same under either ending, since JSON is YAML."""
    jsonschema.validate(raw, schema(raw["format"]))
    with tempfile.TemporaryDirectory() as folder:
        problems = []
        for suffix in SUFFIXES:
            path = Path(folder) / f"problem{suffix}"
            path.write_text(json.dumps(raw, ensure_ascii=False), encoding="utf-8")
            problems.append(read_problem(path))
    assert all(problem == problems[0] for problem in problems)


@given(
    names=st.lists(texts(HOSTILE), min_size=4, max_size=4, unique=True),
    words=st.lists(texts(HOSTILE), min_size=2, max_size=2),
    number=st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(10**20), 10**20),
    suffix=st.sampled_from(SUFFIXES),
)
@example(names=["x" * 2000, "y" * 2000, "z" * 1024, "1e3"], words=["\n", "no"], number=1e-6,
         suffix=".yaml")  # fmt: skip
def test_hostile_names_of_timmdp(
    names: list[str], words: list[str], number: float, suffix: str
) -> None:
    """Names of agents, states, actions and features can be any text, and values any number."""
    one, two, three, four = names
    feature, text = words
    first = Agent(
        one,
        three,
        {three: {two: {four: 0.25, three: 0.75}}, four: {one: {four: 1}}},
        {four: {feature: text, f"{feature}2": number, f"{feature}3": True}},
    )
    second = Agent(two, one, {one: {four: {one: 1}}})
    entries = (
        Entry({one: Condition((three, four), (one, two), {feature: text})}, number, (0, 1)),
        Entry({two: Condition(one, four, one), one: Condition(next={f"{feature}2": number})}, -1),
    )
    rewards = (RewardFunction((two, one), entries), RewardFunction((one,)))
    problem = TIMMDP((first, second), rewards, 2, text)
    assert rewritten(problem, suffix) == problem


@given(
    names=st.lists(texts(HOSTILE, "/"), min_size=4, max_size=4, unique=True),
    name=texts(HOSTILE) | st.just(""),
    number=st.floats(allow_nan=False, allow_infinity=False),
    suffix=st.sampled_from(SUFFIXES),
)
def test_hostile_names_of_mpp(names: list[str], name: str, number: float, suffix: str) -> None:
    """Names of agents and tasks can be any text without a slash, and costs any number."""
    one, two, three, four = names
    chance = min(1.0, abs(number))
    tasks = (Task(three, 1, number, Delay(chance, 10**15), -number, (0, 10**18)), Task(four, 2, 1))
    problem = MaintenanceProblem(
        (Contractor(one, tasks), Contractor(two, (Task(three, 3, (number, 0.1)),))),
        horizon=2,
        network=(Hindrance((f"{two}/{three}", f"{one}/{four}"), (0, number)),),
        name=name,
    )
    assert rewritten(problem, suffix) == problem


@pytest.mark.parametrize("suffix", [".json", ".yaml"])
def test_long_files_stay_readable_by_people(tmp_path: Path, suffix: str) -> None:
    """Parts that fit stand on one line, and no line is much longer than a hundred characters."""
    tasks = tuple(Task(f"task {k}", 2, (1.0,) * 20, Delay(0.5, 3), 9) for k in range(3))
    path = tmp_path / f"long{suffix}"
    write_problem(MaintenanceProblem((Contractor("A", tasks),), 20), path)
    lines = path.read_text().splitlines()
    assert max(map(len, lines)) <= 110
    assert len(lines) < 60


def test_standard_output(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """The name - stands for the standard output."""
    problem = MaintenanceProblem((Contractor("A", (Task("a", 1, 2),)),), 3)
    write_problem(problem, "-")
    assert json.loads(capsys.readouterr().out) == problem_to_dict(problem)
    assert list(tmp_path.iterdir()) == []


def test_dicts_are_plain() -> None:
    """A problem as a dict holds nothing but plain dicts, lists, texts and numbers."""

    def check(value: Any) -> None:
        assert type(value) in (dict, list, str, int, float, bool)
        for each in value.values() if isinstance(value, dict) else ():
            check(each)
        for each in value if isinstance(value, list) else ():
            check(each)

    task = Task("a", 1, (2.0, 3.0), window=(0, 1))
    check(problem_to_dict(MaintenanceProblem((Contractor("A", (task,)),), 2)))
    agent = Agent("r", "s", {"s": {"go": {"s": 1}}}, {"s": {"x": True}})
    entry = Entry({"r": Condition(state={"x": True}, action=("go",))}, 1.0, (0,))
    check(problem_to_dict(TIMMDP((agent,), (RewardFunction(("r",), (entry,)),), 2)))
