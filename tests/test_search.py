"""The search over groups of agents, against the judge: `core` without exact whole teams."""

from __future__ import annotations

import copy
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clocks import AT_EVERY_LOOK, ticking
from coreplan import LimitError, Policy, Progress, Result, Status, solve
from explore.corpus import read_corpus
from helpers import (
    BEFORE_THE_SEARCH,
    EAGER,
    agrees,
    closes,
    coupled_team,
    from_file,
    judged_policy_value,
    package_state,
    precise,
    random_mpp,
    scale,
)
from judge import joint_states, optimal_value
from strategies import problem_dicts

IDEAS = ("split", "skip", "floors", "tables")
"""Options of `core` that switch off an idea of the search."""

SOLVERS: list[tuple[str, dict[str, Any]]] = [
    ("dp", {}),
    ("crg-ps", {"memo": True}),
    ("core-2016", {"memo": True}),
    ("core", {}),
    ("core", {"search": False}),
    ("core", {"exact": False}),
    ("core", {"exact": False, "tables": False}),
]

seeds = st.integers(0, 10**6)


def search(raw: dict[str, Any], **options: Any) -> Result:
    """Solve a problem without exact tables of whole teams, and check what always holds."""
    optimum = optimal_value(raw)
    tolerance = 1e-9 * scale(raw)

    def check(progress: Progress) -> None:
        assert progress.lower_bound <= optimum + tolerance
        assert progress.upper_bound >= optimum - tolerance

    limit = 3.0 if closes(raw) else 0.2
    options = {"work_limit": limit, "threads": 1, "callback": check, **options}
    result = solve(from_file(raw), algorithm="core", exact=False, **EAGER, **options)
    assert result.lower_bound == result.value <= result.upper_bound
    assert result.value <= optimum + tolerance
    assert result.upper_bound >= optimum - tolerance
    assert result.policy is not None
    worth = result.policy.evaluate()
    assert worth >= result.value - tolerance
    if result.status is Status.OPTIMAL:
        assert agrees(result.value, optimum)
        assert worth == pytest.approx(result.value, rel=1e-9, abs=tolerance)
    return result


@settings(max_examples=30)
@given(seed=seeds)
def test_coupled_teams_are_solved(seed: int) -> None:
    """Where bounds do not meet by themselves the search closes the gap, and the policy is real."""
    raw = coupled_team(seed)
    result = search(raw, tables=False)
    assert result.policy is not None
    assert judged_policy_value(raw, result.policy) >= result.value - 1e-9 * scale(raw)
    if precise(raw):
        assert result.status is Status.OPTIMAL


def test_the_search_has_something_to_do() -> None:
    """The problems of these tests are not solved before the search begins."""
    raws = [coupled_team(seed) for seed in range(12)]
    results = [search(raw, tables=False) for raw in raws if precise(raw)]
    assert sum(result.statistics.joint_states_expanded > 0 for result in results) > 5


@settings(max_examples=25)
@given(raw=problem_dicts(), tables=st.booleans())
def test_problems_of_all_kinds(raw: dict[str, Any], tables: bool) -> None:
    """On whatever problem, bounds bracket, the policy is worth its value and acts everywhere."""
    result = search(raw, tables=tables)
    assert result.policy is not None
    names = [agent["name"] for agent in raw["agents"]]
    for stage, state in joint_states(raw):
        assert list(result.policy.act(stage, package_state(raw, state))) == names


@pytest.mark.parametrize("idea", IDEAS)
@settings(max_examples=8)
@given(seed=seeds, others=st.booleans())
def test_every_idea_can_be_left_out(idea: str, seed: int, others: bool) -> None:
    """The value does not depend on which ideas the search uses."""
    options = {"tables": False, idea: False} if others else {idea: False}
    search(coupled_team(seed), **options)


@settings(max_examples=8)
@given(seed=seeds)
def test_merging_does_not_matter(seed: int) -> None:
    """States may be merged beforehand or not."""
    raw = coupled_team(seed)
    results = [search(raw, tables=False, merge=merge) for merge in (True, False)]
    if precise(raw):
        assert agrees(results[0].value, results[1].value)


def renamed(raw: dict[str, Any]) -> dict[str, Any]:
    """The same problem with other names of states, in another order."""
    changed = copy.deepcopy(raw)

    def new(name: str) -> str:
        return f"{9 - int(name[1:])}th"

    for agent in changed["agents"]:
        agent["initial"] = new(agent["initial"])
        agent["transitions"] = {
            new(state): {a: {new(s): p for s, p in law.items()} for a, law in by_action.items()}
            for state, by_action in reversed(agent["transitions"].items())
        }
    for function in changed["rewards"]:
        for entry in function["entries"]:
            for parts in entry["when"].values():
                parts.update({k: new(v) for k, v in parts.items() if k != "action"})
    return changed


@settings(max_examples=8)
@given(seed=seeds, data=st.data())
def test_order_and_names_do_not_matter(seed: int, data: st.DataObject) -> None:
    """Agents may come in any order, states under any names."""
    raw = coupled_team(seed)
    changed = renamed(raw)
    changed["agents"] = data.draw(st.permutations(changed["agents"]))
    changed["rewards"] = data.draw(st.permutations(changed["rewards"]))
    results = [search(each, tables=False) for each in (raw, changed)]
    if precise(raw):
        assert agrees(results[0].value, results[1].value)


@settings(max_examples=10)
@given(seed=seeds)
def test_saved_policies_act_the_same(seed: int) -> None:
    """A saved policy of groups acts as before in every joint state, and is worth the same."""
    raw = coupled_team(seed)
    problem = from_file(raw)
    policy = search(raw, tables=False).policy
    assert policy is not None
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "policy.json"
        policy.save(path)
        loaded = Policy.load(path, problem)
    for stage, state in joint_states(raw):
        named = package_state(raw, state)
        assert loaded.act(stage, named) == policy.act(stage, named)
    assert loaded.evaluate() == policy.evaluate()


@settings(max_examples=10)
@given(seed=seeds, data=st.data())
def test_from_a_later_situation(seed: int, data: st.DataObject) -> None:
    """From any stage and joint state on, bounds bracket what the judge says."""
    from judge import optimal_values

    raw = coupled_team(seed)
    stage, state = data.draw(st.sampled_from(list(joint_states(raw))))
    result = solve(
        from_file(raw),
        exact=False,
        tables=False,
        work_limit=1.0 if precise(raw) else 0.1,
        stage=stage,
        state=package_state(raw, state),
        **EAGER,
    )
    optimum = optimal_values(raw)[stage, state]
    tolerance = 1e-9 * scale(raw)
    assert result.value - tolerance <= optimum <= result.upper_bound + tolerance
    assert result.policy is not None
    assert result.policy.evaluate() >= result.value - tolerance


# -- stopped at any moment ----------------------------------------------------------------------


@pytest.fixture
def plain_sigint() -> Iterator[None]:
    """Python's own handler for Ctrl-C, whatever the tests were started by."""
    previous = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, previous)


def larger(seed: int) -> tuple[dict[str, Any], float]:
    """A problem that takes the search a while, and its optimum."""
    raw = random_mpp(5, 2, 6, seed)
    return raw, solve(from_file(raw), algorithm="core", **EAGER).value


def check_stopped(raw: dict[str, Any], optimum: float, result: Result) -> None:
    """What holds of a result, however it came about."""
    tolerance = 1e-9 * scale(raw)
    assert result.value - tolerance <= optimum <= result.upper_bound + tolerance
    assert result.policy is not None
    assert result.policy.evaluate() >= result.value - tolerance
    if result.status is Status.OPTIMAL:
        assert agrees(result.value, optimum)


@settings(max_examples=12)
@given(seed=st.integers(1, 5), limit=st.floats(0.003, 0.4), tables=st.booleans())
def test_stopped_by_time(seed: int, limit: float, tables: bool) -> None:
    """Whenever the clock strikes, what there is is valid."""
    raw, optimum = larger(seed)
    problem = from_file(raw)
    with ticking():
        result = solve(problem, exact=False, tables=tables, threads=1, time_limit=limit, **EAGER)
    assert result.status in (Status.TIME_LIMIT, Status.OPTIMAL)
    check_stopped(raw, optimum, result)


@settings(max_examples=10)
@given(seed=st.integers(1, 5), digits=st.floats(-1.5, 0.5), tables=st.booleans())
def test_stopped_by_memory(seed: int, digits: float, tables: bool) -> None:
    """However little memory there is, what there is is valid."""
    raw, optimum = larger(seed)
    try:
        result = solve(
            from_file(raw),
            exact=False,
            tables=tables,
            threads=1,
            memory_limit=10**digits,
            work_limit=0.6,
            **EAGER,
        )
    except LimitError as error:
        assert "compiled states" in str(error) or "local states" in str(error)
        return
    check_stopped(raw, optimum, result)


@settings(max_examples=8)
@given(seed=st.integers(1, 5), digits=st.floats(0, 3.5))
def test_stopped_by_the_callback(seed: int, digits: float) -> None:
    """Whoever watches may stop it at any report."""
    raw, optimum = larger(seed)
    problem = from_file(raw)
    left = int(10**digits)

    def stop(progress: Progress) -> bool:
        nonlocal left
        left -= progress.phase not in BEFORE_THE_SEARCH
        return left <= 0

    with ticking(AT_EVERY_LOOK):
        result = solve(problem, exact=False, tables=False, threads=1, callback=stop, **EAGER)
    assert result.status is (Status.INTERRUPTED if left <= 0 else Status.OPTIMAL)
    check_stopped(raw, optimum, result)


def test_stopped_by_an_interrupt_in_the_search(plain_sigint: None) -> None:
    """Ctrl-C while groups are searched gives what there is; an exception goes through."""
    raw, optimum = larger(2)
    problem = from_file(raw)

    def press(progress: Progress) -> None:
        if progress.phase == "search":
            signal.raise_signal(signal.SIGINT)

    def fail(progress: Progress) -> None:
        if progress.phase == "search":
            raise KeyboardInterrupt("mine")

    options = {"exact": False, "tables": False, "threads": 1, **EAGER}
    with ticking(AT_EVERY_LOOK):
        result = solve(problem, callback=press, **options)
        assert result.status is Status.INTERRUPTED
        check_stopped(raw, optimum, result)
        with pytest.raises(KeyboardInterrupt, match="mine"):
            solve(problem, callback=fail, **options)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_policy_of_those_who_stay_together() -> None:
    """Where agents never go apart, the policy is worth its value all the same."""
    raw, optimum = larger(2)
    options = {"exact": False, "tables": False, "threads": 1, "work_limit": 5.0, **EAGER}
    check_stopped(raw, optimum, solve(from_file(raw), split=False, **options))


def test_a_search_without_room_is_said_to_be_short_of_memory() -> None:
    """If there is no memory for a search, that is why the gap stays open."""
    raw, optimum = larger(1)
    result = solve(from_file(raw), exact=False, threads=1, memory_limit=0.1, work_limit=5, **EAGER)
    check_stopped(raw, optimum, result)
    assert result.status is Status.MEMORY_LIMIT


@settings(max_examples=10)
@given(seed=seeds)
def test_threads_do_not_matter(seed: int) -> None:
    """The value is the same on any number of threads."""
    raw = coupled_team(seed)
    for threads in (1, 2, 4):
        result = search(raw, tables=False, threads=threads)
        assert result.status is Status.OPTIMAL or not closes(raw)


# -- problems to remember -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "line",
    [line for line in read_corpus() if "problem" in line],
    ids=lambda line: line["why"][:60],
)
def test_corpus(line: dict[str, Any]) -> None:
    """All exact solvers agree with the judge on the problems of the corpus."""
    raw = line["problem"]
    problem = from_file(raw)
    optimum = optimal_value(raw)
    tolerance = 1e-9 * scale(raw)
    for algorithm, options in SOLVERS:
        both_sides = not options.get("exact", True)
        limits = {"work_limit": 3.0 if closes(raw) else 0.2} if both_sides else {}
        eager = EAGER if algorithm == "core" else {}
        result = solve(problem, algorithm=algorithm, **options, **limits, **eager)
        assert result.value - tolerance <= optimum <= result.upper_bound + tolerance, algorithm
        assert result.policy is not None
        assert result.policy.evaluate() >= result.value - tolerance, algorithm
        if not both_sides or closes(raw):
            assert result.status is Status.OPTIMAL, algorithm
            if precise(raw):
                assert agrees(result.value, optimum), algorithm
