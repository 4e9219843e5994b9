"""Limits, Ctrl-C and callbacks: whenever a solver stops, what it gives is valid."""

from __future__ import annotations

import functools
import itertools
import json
import math
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clocks import AT_EVERY_LOOK, LOOK, ticking
from coreplan import (
    TIMMDP,
    LimitError,
    MaintenanceProblem,
    Progress,
    Result,
    SolverError,
    Status,
    solve,
)
from coreplan.solving import task
from coreplan.support.clock import replace_clock
from helpers import (
    BEFORE_THE_SEARCH,
    dense_team,
    from_file,
    interrupt,
    judged_policy_value,
    package_state,
    random_mpp,
    scale,
)
from judge import joint_states, optimal_value
from strategies import problem_dicts

SOON = 1000 * LOOK
"""Seconds of a ticking clock that a solver may take to end: so many looks at it."""

unlike_algorithms = pytest.mark.parametrize("algorithm", ["core", "dp", "spudd"])
"""Those that work in quite different ways; the others share most with dp."""


@functools.cache
def long_problem(algorithm: str) -> TIMMDP | MaintenanceProblem:
    """A problem that fits into memory and takes an algorithm far longer than any limit here."""
    return from_file(dense_team(100) if algorithm == "core" else random_mpp(5, 3, 8))


@functools.cache
def medium_problem(algorithm: str, seed: int) -> tuple[TIMMDP | MaintenanceProblem, float, float]:
    """A problem that takes milliseconds; its optimal value and the time of a ticking clock."""
    problem = from_file(random_mpp(3, 3, 7, seed))
    with ticking():
        result = solve(problem, algorithm=algorithm, **one_thread(algorithm))
    return problem, result.value, result.seconds


def one_thread(algorithm: str) -> dict[str, Any]:
    """Options that let a ticking clock strike at the same point every time."""
    return {"threads": 1} if algorithm == "core" else {}


@pytest.fixture
def plain_sigint() -> Iterator[None]:
    """Python's own handler for Ctrl-C, whatever the tests were started by."""
    previous = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, previous)


def check_stopped(result: Result, status: Status) -> None:
    """What holds of every result of a solver that was stopped."""
    assert result.status is status
    assert all(
        math.isfinite(number)
        for number in (result.value, result.lower_bound, result.upper_bound, result.seconds)
    )
    assert result.lower_bound == result.value <= result.upper_bound
    assert result.policy is not None
    assert result.policy.evaluate() >= result.value - 1e-9 * max(1.0, abs(result.value))
    assert result.to_dict()["gap"] == result.upper_bound - result.value


# -- each limit on a problem that is too large -----------------------------------------------------


@unlike_algorithms
@pytest.mark.parametrize("limit", [0.02, 0.1])
def test_time_limit(algorithm: str, limit: float) -> None:
    """A time limit ends the search in time, with a real policy and valid bounds."""
    problem = long_problem(algorithm)
    with ticking():
        result = solve(problem, algorithm=algorithm, time_limit=limit)
    assert limit <= result.seconds <= limit + SOON
    check_stopped(result, Status.TIME_LIMIT)


def test_time_limit_by_the_clock_of_the_machine() -> None:
    """What strikes after a certain look of other clocks strikes after a certain time of this."""
    problem = long_problem("dp")
    result = solve(problem, algorithm="dp", time_limit=0.5, callback=lambda _: None)
    assert result.seconds >= 0.5
    check_stopped(result, Status.TIME_LIMIT)


def test_time_limit_while_the_search_is_prepared() -> None:
    """The time limit also holds where the tables that the search needs take long to make."""
    bits = range(8)
    states = [f"{k:08b}" for k in range(256)]
    # From each state into four others, so that all of them can be reached soon.
    moves = {
        state: {"go": {states[(4 * k + j) % 256]: 0.25 for j in range(4)}}
        for k, state in enumerate(states)
    }
    agents = [
        {
            "name": name,
            "initial": states[0],
            "transitions": moves,
            "features": {state: {f"bit {b}": state[b] for b in bits} for state in states},
        }
        for name in ("a", "b")
    ]
    entries = [
        {
            "when": {
                "a": {"state": {f"bit {one}": "1"}},
                "b": {"state": {f"bit {other}": "1"}},
            },
            "value": 1 + one * other,
        }
        for one, other in itertools.product(bits, repeat=2)
    ]
    problem = from_file(
        {
            "format": "ti-mmdp/1",
            "horizon": 60,
            "agents": agents,
            "rewards": [{"scope": ["a", "b"], "entries": entries}],
        }
    )
    with ticking():
        result = solve(problem, algorithm="dp", time_limit=0.02)
    assert result.seconds <= 0.02 + SOON
    check_stopped(result, Status.TIME_LIMIT)
    assert not result.statistics.joint_states_expanded


def test_memory_limit() -> None:
    """If the table does not fit into the memory limit, that is found out before the search."""
    problem = long_problem("dp")
    result = solve(problem, algorithm="dp", memory_limit=20)
    check_stopped(result, Status.MEMORY_LIMIT)
    assert not result.statistics.joint_states_expanded
    assert "joint states" in result.message


def test_more_than_any_machine_has() -> None:
    """Without a memory limit, a table beyond all machines is refused, with a plan all the same."""
    problem = from_file(random_mpp(8, 3, 9))
    result = solve(problem, algorithm="dp")
    check_stopped(result, Status.MEMORY_LIMIT)
    assert not result.statistics.joint_states_expanded


def test_core_does_with_the_memory_that_it_has() -> None:
    """Where a team's tables do not fit, `core` bounds it by smaller ones, as long as it may."""
    problem = long_problem("core")
    loose, middle, tight = (
        solve(problem, algorithm="core", memory_limit=limit, work_limit=0.6)
        for limit in (8, 30, 90)
    )
    check_stopped(loose, Status.MEMORY_LIMIT)
    assert "MB" in loose.message
    for result in (middle, tight):
        assert result.status in (Status.TIME_LIMIT, Status.MEMORY_LIMIT)
        check_stopped(result, result.status)
        assert "5 agents that influence each other" in result.message
    assert tight.upper_bound <= middle.upper_bound <= loose.upper_bound


@unlike_algorithms
@pytest.mark.parametrize("calls", [1, 3])
def test_callback_stops(algorithm: str, calls: int) -> None:
    """A callback that returns True stops the search, and is not called again."""
    seen: list[Progress] = []

    def stop(progress: Progress) -> bool:
        if progress.phase in BEFORE_THE_SEARCH:
            return False
        seen.append(progress)
        return len(seen) == calls

    problem = long_problem(algorithm)
    with ticking():
        result = solve(problem, algorithm=algorithm, callback=stop)
    check_stopped(result, Status.INTERRUPTED)
    assert len(seen) == calls
    assert result.seconds <= seen[-1].seconds + SOON
    assert result.lower_bound >= seen[-1].lower_bound
    assert result.upper_bound <= seen[-1].upper_bound


def test_only_true_stops() -> None:
    """A callback that returns anything but True, even if it is truthy, does not stop."""
    problem = long_problem("core")
    with ticking():
        result = solve(problem, callback=lambda _: "go on", time_limit=0.3)
    check_stopped(result, Status.TIME_LIMIT)


@unlike_algorithms
def test_sigint_in_a_process_of_its_own(algorithm: str) -> None:
    """Ctrl-C gives the best plan so far."""
    script = """
import json, signal, sys
from coreplan import solve
from test_limits import BEFORE_THE_SEARCH, long_problem
signal.signal(signal.SIGINT, signal.default_int_handler)
algorithm = sys.argv[1]
said = []
def say(progress):
    if not said and progress.phase not in BEFORE_THE_SEARCH:
        said.append(print("searching", flush=True))
result = solve(long_problem(algorithm), algorithm=algorithm, callback=say, time_limit=900)
assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
json.dump({**result.to_dict(), "worth": result.policy.evaluate()}, sys.stdout)
"""
    report = interrupt(script, algorithm)
    assert report["status"] == "interrupted"
    assert report["lower_bound"] == report["value"] <= report["upper_bound"]
    assert report["worth"] >= report["value"] - 1e-6


@unlike_algorithms
def test_in_another_thread(plain_sigint: None, algorithm: str) -> None:
    """In a thread limits work as ever; Ctrl-C stays the main thread's business."""
    problem = long_problem(algorithm)
    results: list[Result] = []
    searching, pressed = threading.Event(), threading.Event()

    def wait(progress: Progress) -> None:
        if progress.phase not in BEFORE_THE_SEARCH:
            searching.set()
            pressed.wait()

    def work() -> None:
        results.append(solve(problem, algorithm=algorithm, callback=wait, time_limit=0.1))

    thread = threading.Thread(target=work)
    with ticking():
        thread.start()
        searching.wait()
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
        pressed.set()
        thread.join()
    assert results[0].seconds <= 0.1 + SOON
    check_stopped(results[0], Status.TIME_LIMIT)


# -- stopped at any moment: what holds by the judge (for `core` also in test_core.py) --------------


def limits_of_small_problems() -> st.SearchStrategy[dict[str, Any]]:
    """Draw limits some of which strike while or after a small problem is compiled."""
    seconds = st.floats(1e-6, 2e-3)
    megabytes = st.floats(math.log(5e-4), math.log(1)).map(math.exp)
    return (
        megabytes.map(lambda limit: {"memory_limit": limit})
        | seconds.map(lambda limit: {"time_limit": limit})
        | st.tuples(seconds, megabytes).map(
            lambda both: {"time_limit": both[0], "memory_limit": both[1]}
        )
    )


@pytest.mark.parametrize("algorithm", ["dp", "spudd"])
@given(raw=problem_dicts(max_work=6000), limits=limits_of_small_problems(), merge=st.booleans())
def test_small_problems_under_small_limits(
    algorithm: str, raw: dict[str, Any], limits: dict[str, Any], merge: bool
) -> None:
    """Bounds bracket the optimum, and the policy acts everywhere and is worth its value."""
    problem = from_file(raw)
    try:
        with ticking():
            result = solve(problem, algorithm=algorithm, merge=merge, **limits)
    except LimitError as error:
        assert error.reason in limits
        return
    assert result.status is Status.OPTIMAL or result.status in limits
    tolerance = 1e-9 * scale(raw)
    assert result.lower_bound == result.value <= result.upper_bound
    assert result.value - tolerance <= optimal_value(raw) <= result.upper_bound + tolerance
    assert result.policy is not None
    names = [agent["name"] for agent in raw["agents"]]
    for stage, state in joint_states(raw):
        assert list(result.policy.act(stage, package_state(raw, state))) == names
    worth = judged_policy_value(raw, result.policy)
    assert worth >= result.value - tolerance
    assert result.policy.evaluate() == pytest.approx(worth, rel=1e-9, abs=tolerance)


@given(raw=problem_dicts())
def test_bounds_where_the_table_does_not_fit(raw: dict[str, Any]) -> None:
    """The bounds of agents that look at themselves only hold on every kind of problem."""
    problem = from_file(raw)
    # As large as what is needed to compile it, so that nothing is left for the table.
    low, high = 0.0, 1.0
    for _ in range(20):
        middle = (low + high) / 2
        try:
            solve(problem, algorithm="dp", memory_limit=middle)
            high = middle
        except LimitError as error:
            assert error.reason == "memory_limit"
            low = middle
    result = solve(problem, algorithm="dp", memory_limit=high)
    tolerance = 1e-9 * scale(raw)
    assert result.value - tolerance <= optimal_value(raw) <= result.upper_bound + tolerance
    assert result.policy is not None
    assert judged_policy_value(raw, result.policy) >= result.value - tolerance


@unlike_algorithms
@given(seed=st.integers(1, 4), fraction=st.floats(0.01, 1.1))
def test_stopped_in_the_middle(algorithm: str, seed: int, fraction: float) -> None:
    """Wherever in the search the clock strikes, bounds hold and the policy is worth its value."""
    problem, optimum, seconds = medium_problem(algorithm, seed)
    try:
        with ticking():
            limit = fraction * seconds
            result = solve(problem, algorithm=algorithm, time_limit=limit, **one_thread(algorithm))
    except LimitError as error:
        assert error.reason == "time_limit"
        return
    assert result.status in (Status.OPTIMAL, Status.TIME_LIMIT)
    tolerance = 1e-9 * optimum
    assert result.value - tolerance <= optimum <= result.upper_bound + tolerance
    assert result.policy is not None
    assert result.policy.evaluate() >= result.value - tolerance


# -- limits that strike before there is any plan ---------------------------------------------------


@functools.cache
def huge_contractor() -> TIMMDP | MaintenanceProblem:
    """A contractor with so many tasks that its local states cannot be listed."""
    tasks = [
        {"name": f"t{k}", "duration": 2, "cost": 1 + k, "revenue": 90, "window": [k, 200]}
        for k in range(28)
    ]
    return from_file({"format": "mpp/1", "horizon": 90, "agents": [{"name": "A", "tasks": tasks}]})


@pytest.mark.parametrize("merge", [True, False])
def test_too_many_local_states_for_the_time(merge: bool) -> None:
    """A contractor with too many tasks runs into the time limit: no result, but an error."""
    problem = huge_contractor()
    with pytest.raises(LimitError, match="time limit") as caught, ticking() as clock:
        solve(problem, time_limit=10 * LOOK, merge=merge)
    assert clock.looks <= 20
    assert caught.value.reason == "time_limit"


@pytest.mark.parametrize("merge", [True, False])
def test_too_many_local_states_for_the_memory(merge: bool) -> None:
    """A contractor with too many tasks is refused before it fills the memory."""
    with pytest.raises(LimitError, match="30 MB") as caught:
        solve(huge_contractor(), memory_limit=30, merge=merge)
    assert caught.value.reason == "memory_limit"


def test_interrupted_before_there_is_a_plan(plain_sigint: None) -> None:
    """Ctrl-C while local states are being listed is an error with the reason `interrupted`."""
    problem = huge_contractor()
    looks = 0

    def press() -> float:
        nonlocal looks
        looks += 1
        if looks == 10:
            signal.raise_signal(signal.SIGINT)
        return 0.0

    with pytest.raises(LimitError, match="interrupted") as caught, replace_clock(press):
        solve(problem)
    assert looks < 20
    assert caught.value.reason == "interrupted"
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.parametrize("merge", [True, False])
def test_a_long_horizon_is_refused_by_an_estimate(merge: bool) -> None:
    """100000 stages of thousands of states are refused before they are made, with little memory."""
    script = f"""
import json, sys
from coreplan import LimitError, solve
from coreplan.support.memory import peak_memory_mb
from helpers import from_file
ring = {{
    f"s{{k}}": {{"walk": {{f"s{{(k + 1) % 4001}}": 1}}, "run": {{f"s{{(7 * k + 3) % 4001}}": 1}}}}
    for k in range(4001)
}}
problem = from_file({{"format": "ti-mmdp/1", "horizon": 100000,
                     "agents": [{{"name": "A", "initial": "s0", "transitions": ring}}]}})
before = peak_memory_mb()
try:
    solve(problem, memory_limit=40, merge={merge})
except LimitError as error:
    json.dump([error.reason, str(error), peak_memory_mb() - before], sys.stdout)
"""
    done = subprocess.run(
        [sys.executable, "-c", script],
        stdout=subprocess.PIPE,
        check=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parent)},
    )
    reason, message, megabytes = json.loads(done.stdout)
    assert reason == "memory_limit"
    assert "MB" in message
    assert megabytes <= 60


@pytest.mark.parametrize("name", ["time_limit", "memory_limit"])
@pytest.mark.parametrize("value", [0, -1, -0.0, math.nan, True, "5", [1]])
def test_limits_that_are_none(name: str, value: Any) -> None:
    """A limit is a number above 0; anything else is refused by name."""
    with pytest.raises(SolverError, match=f"{name} is .*expected a number above 0"):
        solve(long_problem("core"), **{name: value})


def test_limits_may_be_infinite() -> None:
    """An infinite limit is no limit."""
    problem = from_file(random_mpp(2, 1, 3))
    result = solve(problem, time_limit=math.inf, memory_limit=math.inf)
    assert result.status is Status.OPTIMAL


# -- Ctrl-C and exceptions -------------------------------------------------------------------------


@unlike_algorithms
def test_second_sigint_ends_at_once(plain_sigint: None, algorithm: str) -> None:
    """The second Ctrl-C raises KeyboardInterrupt, and the old handler is back."""
    problem = long_problem(algorithm)

    def press_twice(_: Progress) -> None:
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt), ticking():
        solve(problem, algorithm=algorithm, callback=press_twice)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@unlike_algorithms
def test_first_sigint_stops_with_a_plan(plain_sigint: None, algorithm: str) -> None:
    """The first Ctrl-C stops with what there is, and the old handler is back."""
    handlers = []

    def press(progress: Progress) -> None:
        if progress.phase in BEFORE_THE_SEARCH:
            return
        handlers.append(signal.getsignal(signal.SIGINT))
        signal.raise_signal(signal.SIGINT)

    problem = long_problem(algorithm)
    with ticking():
        result = solve(problem, algorithm=algorithm, callback=press)
    check_stopped(result, Status.INTERRUPTED)
    assert len(handlers) == 1
    assert handlers[0] is not signal.default_int_handler
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@unlike_algorithms
def test_first_sigint_while_compiling(
    plain_sigint: None, monkeypatch: pytest.MonkeyPatch, algorithm: str
) -> None:
    """Ctrl-C before the problem is compiled: no result, but an error with the reason."""
    compile_problem = task.compile_problem

    def press(*arguments: Any, **options: Any) -> Any:
        signal.raise_signal(signal.SIGINT)
        return compile_problem(*arguments, **options)

    monkeypatch.setattr(task, "compile_problem", press)
    with pytest.raises(LimitError) as caught:
        solve(long_problem(algorithm), algorithm=algorithm)
    assert caught.value.reason == "interrupted"
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_handler_of_somebody_else_is_left_alone() -> None:
    """Where a program has a handler of its own for Ctrl-C, that one is called."""
    pressed: list[int] = []

    def own(number: int, _: object) -> None:
        pressed.append(number)

    problem = long_problem("core")
    previous = signal.signal(signal.SIGINT, own)
    try:
        with ticking():
            result = solve(
                problem, callback=lambda _: signal.raise_signal(signal.SIGINT), time_limit=0.3
            )
        assert signal.getsignal(signal.SIGINT) is own
    finally:
        signal.signal(signal.SIGINT, previous)
    check_stopped(result, Status.TIME_LIMIT)
    assert set(pressed) == {signal.SIGINT}


@unlike_algorithms
@pytest.mark.parametrize("kind", [ZeroDivisionError, SystemExit, KeyboardInterrupt])
def test_an_exception_in_the_callback(
    plain_sigint: None, algorithm: str, kind: type[BaseException]
) -> None:
    """An exception of the callback goes through unchanged, and the next run is as ever."""

    def fail(_: Progress) -> None:
        raise kind("mine")

    problem = long_problem(algorithm)
    with pytest.raises(kind) as caught, ticking():
        solve(problem, algorithm=algorithm, callback=fail)
    assert caught.value.args == ("mine",)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    problem, optimum, _ = medium_problem(algorithm, 1)
    assert solve(problem, algorithm=algorithm).value == optimum


# -- what a callback is told -----------------------------------------------------------------------


@unlike_algorithms
def test_progress_is_valid_at_every_call(algorithm: str) -> None:
    """Time and work grow, bounds tighten, and they bracket the optimum at every call."""
    problem = from_file(dense_team(4) if algorithm == "core" else random_mpp(4, 3, 7))
    seen: list[Progress] = []
    with ticking(AT_EVERY_LOOK):
        result = solve(problem, algorithm=algorithm, callback=seen.append)
    assert result.status is Status.OPTIMAL
    assert len(seen) > 10
    for before, after in itertools.pairwise(seen):
        assert before.seconds < after.seconds
        assert before.phase == "compile" or after.phase != "compile"  # first compile, then the rest
        assert before.lower_bound <= after.lower_bound
        assert before.upper_bound >= after.upper_bound
        assert before.joint_states_expanded <= after.joint_states_expanded
        assert before.joint_actions_evaluated <= after.joint_actions_evaluated
    tolerance = 1e-9 * result.value
    for progress in seen:
        assert progress.lower_bound - tolerance <= result.value
        assert result.value <= progress.upper_bound + tolerance
        if progress.phase == "search" and progress.joint_states_expanded:
            assert math.isfinite(progress.lower_bound)
            assert math.isfinite(progress.upper_bound)
    assert seen[-1].seconds <= result.seconds
    assert seen[-1].joint_states_expanded <= result.statistics.joint_states_expanded


@unlike_algorithms
def test_callback_is_called_some_20_times_a_second(algorithm: str) -> None:
    """A callback is called every 50 ms or so, and when a bound changes, not at every step."""
    seen: list[Progress] = []
    problem = long_problem(algorithm)
    with ticking():
        solve(problem, algorithm=algorithm, callback=seen.append, time_limit=0.6)
    changes = sum(
        (before.lower_bound, before.upper_bound) != (after.lower_bound, after.upper_bound)
        for before, after in itertools.pairwise(seen)
    )
    assert 9 <= len(seen) <= 13 + changes
