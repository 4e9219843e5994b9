"""Storm as a second opinion, and what happens without it."""

from __future__ import annotations

import importlib.util
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import coreplan
import judge
from clocks import standing
from coreplan import LimitError, SolverError, read_problem
from coreplan.cli import example_path
from coreplan.interop import storm
from coreplan.interop.prism import to_prism
from coreplan.interop.storm import StormAnswer, storm_check, storm_value
from coreplan.interop.storm_worker import compute
from helpers import agrees, coupled_team, from_file, package_state, random_mpp, scale
from strategies import Problem, problem_dicts, staged_dicts

needs_storm = pytest.mark.extras


def value_in_this_process(raw: Problem, engine: str, **options: Any) -> float:
    """Storm's value without a process for each problem, which would take seconds."""
    model = to_prism(from_file(raw), shift=engine != "sparse", **options)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.prism"
        path.write_text(model.text, encoding="utf-8")
        value: float = compute(str(path), model.query, engine)["value"]
    return value - model.shift


@needs_storm
@pytest.mark.parametrize("engine", storm.ENGINES)
@settings(max_examples=25)
@given(raw=problem_dicts(max_work=2000) | staged_dicts(max_work=1000), merge=st.booleans())
def test_storm_finds_what_the_judge_finds(engine: str, raw: Problem, merge: bool) -> None:
    """On problems of all kinds Storm's value of the export is the optimum, by every engine."""
    value = value_in_this_process(raw, engine, merge=merge)
    assert agrees(value, judge.optimal_value(raw), 1e-8 * scale(raw))


@needs_storm
@pytest.mark.parametrize("seed", range(8))
def test_teams_that_are_coupled(seed: int) -> None:
    """The same for cyclic teams of three and four that interact in twos and threes."""
    raw = coupled_team(seed)
    for engine in storm.ENGINES:
        value = value_in_this_process(raw, engine)
        assert agrees(value, judge.optimal_value(raw), 1e-7)


@needs_storm
def test_costs_only() -> None:
    """Where every plan costs something, decision diagrams need the shift, and get it."""
    raw = random_mpp(2, 2, 5)
    raw["must_complete"] = True
    for agent in raw["agents"]:
        for task in agent["tasks"]:
            task["revenue"] = 0
    expected = judge.optimal_value(raw)
    assert expected < 0
    for engine in storm.ENGINES:
        assert value_in_this_process(raw, engine) == pytest.approx(expected, rel=1e-9)


@needs_storm
def test_from_a_later_situation() -> None:
    """The value from a later stage and state is that of the judge."""
    raw = random_mpp(2, 2, 6)
    values = judge.optimal_values(raw)
    for (stage, joint), expected in list(values.items())[::40]:
        state = package_state(raw, joint)
        assert value_in_this_process(raw, "sparse", stage=stage, state=state) == pytest.approx(
            expected, abs=1e-9
        )


@needs_storm
@pytest.mark.parametrize("engine", storm.ENGINES)
def test_storm_in_its_own_process(engine: str) -> None:
    """`storm_value` gives the optimum, and how long Storm took for it."""
    problem = read_problem(example_path("two_robots.yaml"))
    answer = storm_value(problem, engine=engine)
    assert answer.value == pytest.approx(coreplan.solve(problem).value)
    assert answer.engine == engine
    assert 0 < answer.build_seconds <= answer.seconds
    assert answer.states > 10


@needs_storm
def test_time_limit() -> None:
    """Storm is ended when its time is up."""
    problem = from_file(random_mpp(4, 3, 8))
    with pytest.raises(LimitError, match="time limit") as caught, standing():
        storm_value(problem, time_limit=0.5)  # for Storm alone: to describe it takes no time
    assert caught.value.reason == "time_limit"


@needs_storm
def test_check_with_and_without_proof() -> None:
    """A check compares with the value, or with the bounds where there is no proof."""
    problem = read_problem(example_path("two_works.yaml"))
    check = storm_check(problem)
    assert check.agrees
    assert "they agree" in str(check)
    assert check.to_dict()["agrees"] is True
    check = storm_check(problem, callback=lambda _: True)
    assert check.agrees


@needs_storm
def test_what_storm_cannot_read_is_an_error_in_words(tmp_path: Path) -> None:
    """If Storm fails, its reason is told."""
    bad = tmp_path / "model.prism"
    bad.write_text("mdp\nmodule broken\n")
    limits = coreplan.solving.limits.Limits(60)
    with pytest.raises(SolverError, match="Storm failed"):
        storm._run_worker(bad, "Pmax=? [ F true ]", "sparse", limits)


@pytest.mark.parametrize("off", [-1e-3, 1e-3])
@pytest.mark.parametrize("proven", [True, False])
def test_a_wrong_value_is_noticed(
    monkeypatch: pytest.MonkeyPatch, off: float, proven: bool
) -> None:
    """A value beside coreplan's, or outside of its bounds, is a disagreement."""
    problem = read_problem(example_path("two_works.yaml"))
    algorithm = "core" if proven else "dp"
    result = coreplan.solve(problem)
    if not proven:
        real = coreplan.solve(problem, algorithm="dp")
        fields = {**real.__dict__, "status": coreplan.Status.TIME_LIMIT}
        bounds = {"value": 20.0, "lower_bound": 20.0, "upper_bound": 30.0}
        result = coreplan.Result(**{**fields, **bounds})
    monkeypatch.setattr(storm, "solve", lambda *_, **__: result)
    monkeypatch.setattr(storm, "check_storm", lambda *_: None)
    edge = result.upper_bound if off > 0 else result.lower_bound
    for value, expected in ((edge, True), (edge + off, False)):
        answer = StormAnswer(value, 0.1, 0.1, "sparse", 10)
        monkeypatch.setattr(storm, "storm_value", lambda *_, _answer=answer, **__: _answer)
        check = storm_check(problem, algorithm=algorithm)
        assert check.agrees is expected
        assert ("DISAGREE" in str(check)) is not expected


def test_decentralised_values_are_not_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    """Storm's value is no check on the best decentralised plan, and that is said."""
    problem = read_problem(example_path("two_works.yaml"))
    fields = {**coreplan.solve(problem).__dict__, "objective": "decentralised"}
    monkeypatch.setattr(storm, "solve", lambda *_, **__: coreplan.Result(**fields))
    monkeypatch.setattr(storm, "check_storm", lambda *_: None)
    with pytest.raises(SolverError, match="decentralised"):
        storm_check(problem)


def test_without_storm(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where stormpy is missing, the extra to install is named."""
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    problem = read_problem(example_path("two_works.yaml"))
    for call in (storm_value, storm_check):
        with pytest.raises(SolverError, match=r"pip install 'coreplan\[storm\]'"):
            call(problem)


def test_engines_that_storm_does_not_have() -> None:
    """An unknown engine is refused, with those that there are."""
    with pytest.raises(SolverError, match="'sparse', 'dd', 'hybrid'"):
        storm_value(read_problem(example_path("two_works.yaml")), engine="fast")
