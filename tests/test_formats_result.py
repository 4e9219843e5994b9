"""``result/1``: what is written is read back, and what does not fit together is refused."""

from __future__ import annotations

import json
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from coreplan import FormatError, Result, Status, solve
from coreplan.formats import read_result, schema, write_result
from coreplan.solving import Statistics
from helpers import from_file
from judge import Problem
from strategies import problem_dicts

EXAMPLE = """\
{"format": "result/1", "problem": "ring road", "algorithm": "core", "objective": "centralised",
 "status": "optimal",
 "value": 12.25, "lower_bound": 12.25, "upper_bound": 12.25, "gap": 0.0,
 "seconds": 0.01, "statistics": {"joint_actions_evaluated": 42, "joint_states_expanded": 17,
 "crg_nodes": 120, "crg_arcs": 310, "peak_memory_mb": 35.2}}
"""


def read_text(text: str, suffix: str = ".json") -> Result:
    """Read a result from a file with this text."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"result{suffix}"
        path.write_text(text, encoding="utf-8")
        return read_result(path)


@pytest.mark.parametrize("suffix", [".json", ".yaml", ""])
def test_example(suffix: str) -> None:
    """The example of the format reads as written."""
    result = read_text(EXAMPLE, suffix)
    assert result == Result(
        problem="ring road",
        algorithm="core",
        status=Status.OPTIMAL,
        value=12.25,
        lower_bound=12.25,
        upper_bound=12.25,
        seconds=0.01,
        statistics=Statistics(17, 42, 35.2, {"crg_nodes": 120, "crg_arcs": 310}),
        tolerance=1e-9,
    )
    assert result.gap == 0
    assert result.policy is None
    assert result.to_dict() == {**json.loads(EXAMPLE), "tolerance": 1e-9}


def test_optimal_means_within_the_tolerance_that_is_stated() -> None:
    """A file says how near is near enough; without that, a thousand millionth part is."""
    near = EXAMPLE.replace(
        '"upper_bound": 12.25, "gap": 0.0', '"upper_bound": 12.25001, "gap": 1e-5'
    )
    with pytest.raises(FormatError, match="found 'optimal'"):
        read_text(near)
    stated = near.replace('"seconds"', '"tolerance": 1e-6, "seconds"')
    assert read_text(stated).tolerance == 1e-6
    with pytest.raises(FormatError, match="expected at least 0"):
        read_text(near.replace('"seconds"', '"tolerance": -1, "seconds"'))


@given(raw=problem_dicts(max_work=100), suffix=st.sampled_from([".json", ".yaml", ".yml", ""]))
def test_results_of_solvers_survive(raw: Problem, suffix: str) -> None:
    """A solver's result is valid by its schema, and equal when it is read back."""
    result = solve(from_file(raw))
    # Memory is written with one digit.
    memory = round(result.statistics.peak_memory_mb, 1)
    result = replace(result, statistics=replace(result.statistics, peak_memory_mb=memory))
    jsonschema.validate(result.to_dict(), schema("result/1"))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"result{suffix}"
        result.save(path)
        assert read_result(path) == result
        text = path.read_text(encoding="utf-8")
        load = yaml.safe_load if suffix in (".yaml", ".yml") else json.loads
        assert load(text) == result.to_dict()


@given(
    value=st.floats(-1e300, 1e300),
    gap=st.floats(0, 1e300),
    seconds=st.floats(0, 1e9),
    count=st.integers(0, 2**63),
    status=st.sampled_from([status for status in Status if status is not Status.OPTIMAL]),
    name=st.text(st.characters(codec="utf-8")),
    suffix=st.sampled_from([".json", ".yaml"]),
)
def test_any_result_survives(
    value: float, gap: float, seconds: float, count: int, status: Status, name: str, suffix: str
) -> None:
    """Whatever the numbers and names are, a result is equal when it is read back."""
    others = {f"count {name}": 0.5, "kernel_cells": count}
    result = Result(
        problem=name,
        algorithm=name,
        status=status,
        value=value,
        lower_bound=value,
        upper_bound=value + gap,
        seconds=seconds,
        statistics=Statistics(count, count, 0.1, others),
        objective="decentralised",
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"result{suffix}"
        write_result(result, path)
        assert read_result(path) == result


BROKEN = [
    ({"value": 13}, "lower_bound", "expected the value"),
    ({"lower_bound": 12}, "lower_bound", "12.25"),
    ({"value": 13, "lower_bound": 13}, "upper_bound", "at least the value"),
    ({"upper_bound": 12}, "upper_bound", "at least the value"),
    ({"gap": 1}, "gap", "expected upper_bound - value"),
    ({"gap": -1e-7}, "gap", "expected upper_bound - value"),
    ({"upper_bound": 13, "status": "time_limit"}, "gap", "0.75"),
    ({"upper_bound": 13, "gap": 0.75}, "status", "optimal"),
    ({"upper_bound": 12.25001, "gap": 0.00001}, "status", "optimal"),
    ({"status": "optimum"}, "status", "did you mean 'optimal'?"),
    ({"status": "done"}, "status", "gap_limit"),
    ({"status": None}, "status", "found null"),
    ({"objective": "centralized"}, "objective", "did you mean 'centralised'?"),
    ({"objective": 3}, "objective", "the number 3"),
    ({"problem": 3}, "problem", "expected a text"),
    ({"algorithm": ["dp"]}, "algorithm", "a list"),
    ({"value": "12.25"}, "value", "found '12.25'"),
    ({"value": None}, "value", "found null"),
    ({"value": True}, "value", "found true"),
    ({"seconds": -1}, "seconds", "at least 0"),
    ({"seconds": [1]}, "seconds", "found [1]"),
    ({"statistics": []}, "statistics", "a list"),
    ({"statistics": {"crg_nodes": "many"}}, "statistics.crg_nodes", "found 'many'"),
    ({"statistics": {"peak_memory_mb": None}}, "statistics.peak_memory_mb", "found null"),
    ({"valeu": 1}, "valeu", "did you mean 'value'?"),
    ({"format": "result/2"}, "format", "did you mean 'result/1'?"),
    ({"format": "mpp/1"}, "format", "result/1"),
]


@pytest.mark.parametrize(("change", "place", "words"), BROKEN)
def test_inconsistent_results_are_refused(change: dict[str, Any], place: str, words: str) -> None:
    """A result that does not fit together is refused, with the place and what is expected."""
    with pytest.raises(FormatError) as caught:
        read_text(json.dumps({**json.loads(EXAMPLE), **change}, indent=1))
    (problem,) = caught.value.problems
    assert problem.place == place
    assert words in problem.message
    if len(change) == 1 and place in json.loads(EXAMPLE):
        assert problem.line == 2 + list(json.loads(EXAMPLE)).index(place)


@pytest.mark.parametrize("key", json.loads(EXAMPLE))
def test_required_keys(key: str) -> None:
    """Every key of a result is required."""
    raw = json.loads(EXAMPLE)
    del raw[key]
    with pytest.raises(FormatError, match=f"needs the key '{key}'") as caught:
        read_text(json.dumps(raw))
    assert len(caught.value.problems) == 1


@pytest.mark.parametrize("number", [".inf", "-.inf", ".nan", "1e999", "1" * 6000])
@pytest.mark.parametrize("key", ["value", "lower_bound", "upper_bound", "gap", "seconds"])
def test_numbers_must_be_finite(key: str, number: str) -> None:
    """No number of a result may be infinite or not a number, and none too long."""
    raw = {**json.loads(EXAMPLE), key: "HERE"}
    with pytest.raises(FormatError) as caught:
        read_text(json.dumps(raw).replace('"HERE"', number), ".yaml")
    assert [problem.place for problem in caught.value.problems] == [key]


def test_a_gap_beyond_all_numbers_is_refused() -> None:
    """Bounds that are finite but too far apart for a finite gap are refused."""
    raw = {**json.loads(EXAMPLE), "status": "time_limit", "upper_bound": 1.7e308}
    raw |= {"value": -1.7e308, "lower_bound": -1.7e308, "gap": 1.7e308}
    with pytest.raises(FormatError, match="gap"):
        read_text(json.dumps(raw))


def test_whole_numbers_are_numbers() -> None:
    """Numbers may be written without a fraction."""
    raw = {**json.loads(EXAMPLE), "value": 12, "lower_bound": 12.0, "upper_bound": 12, "gap": 0}
    result = read_text(json.dumps(raw))
    assert (result.value, type(result.value)) == (12.0, float)


@given(
    data=st.data(),
    junk=st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5)
    | st.lists(st.integers(), max_size=2) | st.dictionaries(st.text(max_size=3), st.floats()),
)  # fmt: skip
def test_mutated_results_are_refused_or_read(data: st.DataObject, junk: Any) -> None:
    """A result in which anything is replaced gives a FormatError or a result that fits together."""
    raw = json.loads(EXAMPLE)
    inside = data.draw(st.sampled_from([raw, raw["statistics"]]))
    inside[data.draw(st.sampled_from(list(inside)))] = junk
    text = json.dumps(raw, ensure_ascii=False).encode("utf-8", "replace").decode()
    try:
        result = read_text(text)
    except FormatError:
        return
    assert result.lower_bound == result.value <= result.upper_bound
    jsonschema.validate(result.to_dict(), schema("result/1"))
