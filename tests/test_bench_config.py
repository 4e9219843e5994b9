"""Configurations of benchmark runs: what they mean, and what is wrong with them, by line."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from coreplan import FormatError, ModelError
from coreplan.bench.config import BenchConfig, Solver, read_config
from coreplan.support.processors import usable_processors

GOOD = """\
format: bench/1
name: paper, small
seed: 1
limits: {time: 10, memory: 4000}
solvers:
  core: {algorithm: core, options: {threads: 1}}
  core-2016: {algorithm: core-2016, options: {merge: false}}
  core-2016 memo: {algorithm: core-2016, options: {merge: false, memo: true}}
  dp: {algorithm: dp}
sets:
  - {set: rand3, count: 100, solvers: [core, dp]}
  - {set: mpp, parameters: {agents: [2, 3]}, limits: {time: 30}}
  - {set: rand4, count: 2.0, solvers: [dp], limits: {memory: null}}
"""


def read(text: str, tmp_path: Path) -> BenchConfig:
    """Read a configuration from a text."""
    path = tmp_path / "paper.yaml"
    path.write_text(text, encoding="utf-8")
    return read_config(path)


def test_what_a_configuration_means(tmp_path: Path) -> None:
    """Solvers, counts, parameters and limits arrive where they belong, with defaults."""
    config = read(GOOD, tmp_path)
    assert (config.name, config.seed) == ("paper, small", 1)
    first, second, third = config.sets
    assert (first.set, first.count, first.parameters) == ("rand3", 100, {})
    assert (first.time_limit, first.memory_limit) == (10, 4000)
    assert first.solvers == (Solver("core", "core", {"threads": 1}), Solver("dp", "dp", {}))
    assert (second.set, second.count, second.parameters) == ("mpp", None, {"agents": [2, 3]})
    assert (second.time_limit, second.memory_limit) == (30, 4000)
    assert [each.name for each in second.solvers] == ["core", "core-2016", "core-2016 memo", "dp"]
    assert (third.count, third.time_limit, third.memory_limit) == (2, 10, None)
    assert {each.clock for each in config.sets} == {"wall"}
    timed = read(GOOD.replace("{time: 30}", "{clock: processor}"), tmp_path)
    assert [each.clock for each in timed.sets] == ["wall", "processor", "wall"]
    timed = read(GOOD.replace("time: 10", "time: 10, clock: processor"), tmp_path)
    assert {each.clock for each in timed.sets} == {"processor"}


def test_defaults(tmp_path: Path) -> None:
    """The name is the file's, the seed is 0, and there is no memory limit."""
    config = read(
        "{format: bench/1, solvers: {dp: {algorithm: dp}}, sets: [{set: mpp, limits: {time: 1}}]}",
        tmp_path,
    )
    assert (config.name, config.seed, config.sets[0].memory_limit) == ("paper", 0, None)


@pytest.mark.parametrize(
    ("old", "new", "line", "said"),
    [
        ("bench/1", "bench/2", 1, "expected bench/1"),
        ("seed: 1", "sed: 1", 3, "the configuration has no key 'sed'; did you mean 'seed'?"),
        ("seed: 1", "seed: -1", 3, "found -1; expected the seed, a whole number of at least 0"),
        ("name: paper, small", "name: 7", 2, "expected the name of the configuration"),
        ("time: 10", "time: 0", 4, "found the number 0; expected a number above 0: seconds"),
        ("memory: 4000", "memory: much", 4, "expected a number above 0: MB"),
        ("memory: 4000", "space: 1", 4, "limits has no key 'space'"),
        ("memory: 4000", "clock: sun", 4, "found the text 'sun'; expected wall or processor"),
        ("memory: 4000", "clock: [wall]", 4, "expected wall or processor"),
        ("time: 10, memory", "memory", 11, "the time limit is missing; add `limits: {time: 60}`"),
        ("algorithm: dp", "algorithm: dpp", 9, "has no algorithm 'dpp'; did you mean 'dp'?"),
        ("dp: {algorithm: dp}", "dp: {}", 9, "a solver needs the key 'algorithm'"),
        ("dp: {algorithm: dp}", "dp: dp", 9, "found the text 'dp'; expected a solver, a mapping"),
        ("threads: 1", "thread: 1", 6, "algorithm 'core' has no option 'thread'; did you mean"),
        ("threads: 1", "threads: 0", 6, "the algorithm does not take these options: threads is 0"),
        ("threads: 1", "threads: [1]", 6, "expected a number, a text, true or false"),
        ("memo: true", "memo: maybe", 8, "memo is 'maybe'; expected True or False"),
        (", memo: true", "", 8, "the same algorithm with the same options as solver 'core-2016'"),
        ("set: rand3", "set: rand33", 11, "coreplan has no test set 'rand33'; did you mean"),
        ("set: rand3, ", "", 11, "a set needs the key 'set'"),
        ("count: 100", "count: 0", 11, "expected the count, a whole number from 1 to 1000000"),
        ("count: 100", "count: 1000001", 11, "the count, a whole number from 1 to 1000000"),
        ("[core, dp]", "[core, dpp]", 11, "configuration has no solver 'dpp'; did you mean 'dp'"),
        ("[core, dp]", "[core, core]", 11, "solver 'core' is listed twice"),
        ("[core, dp]", "[]", 11, "found an empty list; expected one solver or more"),
        ("agents: [2, 3]", "agent: 2", 12, "test set 'mpp' has no parameter 'agent'; did you mean"),
        ("agents: [2, 3]", "agents: [0]", 12, "agents"),
        ("agents: [2, 3]", "count: 3", 12, "test set 'mpp' has no parameter 'count'"),
        ("limits: {time: 30}", "limits: 30", 12, "expected limits, a mapping"),
    ],
)
def test_mistakes_are_found_by_line(
    tmp_path: Path, old: str, new: str, line: int, said: str
) -> None:
    """A mistake is told with the line in which it stands, and what to do about it."""
    assert old in GOOD
    with pytest.raises(FormatError) as caught:
        read(GOOD.replace(old, new, 1), tmp_path)
    assert any(each.line == line and said in each.message for each in caught.value.problems), str(
        caught.value
    )


@pytest.mark.parametrize("old", ["threads: 1", "{threads: 1}"])
def test_processor_time_is_for_one_thread(tmp_path: Path, old: str) -> None:
    """A solver that may use several threads is refused, by line, where processor time counts."""
    new = {"threads: 1": "threads: 2", "{threads: 1}": "{}"}[old]
    several = GOOD.replace(old, new, 1)
    assert read(several, tmp_path).sets
    with pytest.raises(FormatError, match="solver 'core' may use several threads") as caught:
        read(several.replace("time: 10", "time: 10, clock: processor"), tmp_path)
    assert [each.line for each in caught.value.problems] == [6]
    # Only solvers of sets that go by processor time count.
    assert read(several.replace("memory: null", "clock: processor"), tmp_path).sets


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "format: bench/1",
        "{format: bench/1, solvers: {}, sets: []}",
        "{format: bench/1, solvers: [], sets: {}}",
        "{format: bench/1, solvers: {'': {algorithm: dp}}, sets: [{set: mpp, limits: {time: 1}}]}",
        "{format: bench/1, solvers: {a: {algorithm: [dp]}}, sets: [1, null, mpp]}",
        "{format: bench/1, solvers: {a: {algorithm: dp, options: 1}}, sets: [{set: [mpp]}]}",
        "{format: bench/1, solvers: null, sets: [{set: mpp, solvers: dp, parameters: []}]}",
        "{format: bench/1, solvers: {core: {algorithm: core, options: {start: here}}}, sets: [{}]}",
    ],
)
def test_what_is_no_configuration(tmp_path: Path, text: str) -> None:
    """Whatever stands in the file instead, the error is one in words."""
    with pytest.raises(FormatError):
        read(text, tmp_path)


def test_overriding(tmp_path: Path) -> None:
    """Limits and counts can be set for all sets, and sets and solvers be chosen."""
    config = read(GOOD, tmp_path)
    assert config.override() == config
    changed = config.override(count=2, time_limit=1.5, memory_limit=100, solvers=["core"])
    assert [(each.set, each.count, each.time_limit) for each in changed.sets] == [
        ("rand3", 2, 1.5),
        ("mpp", 2, 1.5),
    ]
    assert {each.memory_limit for each in changed.sets} == {100}
    assert [each.set for each in config.override(sets=["mpp"]).sets] == ["mpp"]


@pytest.mark.parametrize(
    ("choice", "said"),
    [
        ({"sets": ["mp"]}, "has no set 'mp'; did you mean 'mpp'"),
        ({"solvers": ["cor"]}, "has no solver 'cor'; did you mean 'core'"),
        ({"sets": ["rand4"], "solvers": ["core"]}, "none of these solvers solves any of"),
        ({"time_limit": math.nan}, "the time limit is nan; expected a finite number above 0"),
        ({"time_limit": math.inf}, "the time limit is inf; expected a finite number above 0"),
        ({"memory_limit": -1.0}, "the memory limit is -1.0; expected a finite number above 0"),
        ({"count": 10**7}, "found 10000000; expected the count, a whole number from 1 to"),
    ],
)
def test_choices_that_are_not_there(tmp_path: Path, choice: dict[str, Any], said: str) -> None:
    """What cannot be chosen, or makes no sense as a limit or count, is an error."""
    with pytest.raises(ModelError, match=said):
        read(GOOD, tmp_path).override(**choice)


def test_threads(tmp_path: Path) -> None:
    """A configuration takes as many threads as its greediest solver."""
    assert read(GOOD, tmp_path).threads == 1
    assert read(GOOD.replace("threads: 1", "threads: 3"), tmp_path).threads == 3
    assert read(GOOD.replace("{threads: 1}", "{}"), tmp_path).threads == usable_processors()
