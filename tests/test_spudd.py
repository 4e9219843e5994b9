"""The solver `spudd`: every order and way to treat actions. See also test_algorithms.py."""

from __future__ import annotations

import functools
import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coreplan import (
    TIMMDP,
    Contractor,
    LimitError,
    MaintenanceProblem,
    ModelError,
    SolverError,
    Status,
    Task,
    solve,
)
from coreplan.model.indexed import IndexedProblem
from coreplan.model.problem import FactoredStates, StateVariable
from coreplan.solving.algorithms.spudd import make_commands
from helpers import (
    agrees,
    from_file,
    judged_policy_value,
    package_state,
    random_mpp,
    scale,
)
from judge import joint_states, optimal_value, optimal_values, policy_value
from strategies import mpp_dicts, problem_dicts, timmdp_dicts

REFERENCE = {"encoding": "reference"}
OPTIONS: list[dict[str, Any]] = [
    *(
        {"order": order, "actions": actions, "merge": merge}
        for order, actions, merge in itertools.product(
            ("grouped", "interleaved"), ("diagram", "enumerate"), (True, False)
        )
    ),
    REFERENCE,
]
every_way = pytest.mark.parametrize(
    "options", OPTIONS, ids=[" ".join(map(str, each.values())) for each in OPTIONS]
)


@every_way
@given(raw=problem_dicts())
def test_value_is_the_judges(options: dict[str, Any], raw: dict[str, Any]) -> None:
    """Every way gives the judge's value, and a policy that is worth it in every joint state."""
    result = solve(from_file(raw), algorithm="spudd", **options)
    assert result.status is Status.OPTIMAL
    assert agrees(result.value, optimal_value(raw))
    assert result.policy is not None
    tolerance = 1e-11 * scale(raw)
    assert result.policy.evaluate() == pytest.approx(result.value, rel=1e-9, abs=tolerance)
    assert judged_policy_value(raw, result.policy) == pytest.approx(
        result.value, rel=1e-9, abs=tolerance
    )


@given(raw=timmdp_dicts(), options=st.sampled_from(OPTIONS), data=st.data())
def test_policy_is_best_from_everywhere(
    raw: dict[str, Any], options: dict[str, Any], data: st.DataObject
) -> None:
    """Also where the policy itself does not get, it does what is best from there."""
    policy = solve(from_file(raw), algorithm="spudd", **options).policy
    assert policy is not None
    stage, state = data.draw(st.sampled_from(list(joint_states(raw))))
    names = [agent["name"] for agent in raw["agents"]]

    def act(at: int, joint_state: tuple[Any, ...]) -> tuple[str, ...]:
        chosen = policy.act(at, package_state(raw, joint_state))
        return tuple(chosen[name] for name in names)

    assert policy_value(raw, act, stage, state) == pytest.approx(
        optimal_values(raw)[stage, state], rel=1e-9, abs=1e-11 * scale(raw)
    )


@given(raw=mpp_dicts(), history=st.booleans(), options=st.sampled_from(OPTIONS))
def test_translation_keeps_the_value(
    raw: dict[str, Any], history: bool, options: dict[str, Any]
) -> None:
    """An MPP and its translations into a TI-MMDP have the same optimal value."""
    problem = from_file(raw)
    assert isinstance(problem, MaintenanceProblem)
    translated = problem.to_timmdp(history=history)
    assert agrees(solve(translated, algorithm="spudd", **options).value, optimal_value(raw))


@every_way
def test_agrees_with_dp_on_larger_problems(options: dict[str, Any]) -> None:
    """Problems too large for the judge: the same value as `dp`."""
    agents, horizon = (3, 6) if options.get("merge") else (2, 6)
    problem = from_file(random_mpp(agents, 3, horizon))
    result = solve(problem, algorithm="spudd", **options)
    assert result.value == pytest.approx(solve(problem, algorithm="dp").value, rel=1e-9)
    assert result.policy is not None
    assert result.policy.evaluate() == pytest.approx(result.value, rel=1e-9)


def test_statistics() -> None:
    """Work is counted in iterations and nodes; no joint action is evaluated by itself."""
    result = solve(from_file(random_mpp(3, 3, 7)), algorithm="spudd")
    counts = result.statistics.to_dict()
    assert counts["iterations"] == 7
    assert counts["peak_nodes"] >= 1000
    assert counts["value_nodes"] > 0
    assert counts["garbage_collections"] > 0
    assert counts["joint_states_expanded"] == counts["joint_actions_evaluated"] == 0


def test_both_ways_to_treat_actions_on_a_larger_team() -> None:
    """Joint actions that are enumerated or maximised out give the same value."""
    problem = from_file(random_mpp(4, 2, 6))
    values = [
        solve(problem, algorithm="spudd", actions=actions).value
        for actions in ("diagram", "enumerate")
    ]
    assert values[0] == pytest.approx(values[1], rel=1e-12)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"order": "sifted"}, "order is 'sifted'; expected one of 'grouped', 'interleaved'"),
        ({"order": ["grouped"]}, "order is \\['grouped'\\]"),
        ({"actions": True}, "actions is True; expected one of 'diagram', 'enumerate'"),
        ({"merge": 1}, "merge is 1; expected True or False"),
        ({"encoding": "flat"}, "encoding is 'flat'; expected one of 'stages', 'reference'"),
        ({**REFERENCE, "merge": False}, "merge is False; encoding 'reference' can only"),
        ({**REFERENCE, "order": "interleaved"}, "order is 'interleaved'; encoding 'reference'"),
        ({**REFERENCE, "actions": "diagram"}, "actions is 'diagram'; encoding 'reference'"),
        ({"ordre": "grouped"}, "no option 'ordre'"),
    ],
)
def test_options_are_checked(options: dict[str, Any], message: str) -> None:
    """What an option cannot be is refused by name."""
    with pytest.raises(SolverError, match=message):
        solve(from_file(random_mpp(1, 1, 1)), algorithm="spudd", **options)


# -- the reference encoding ------------------------------------------------------------------------


def test_reference_statistics() -> None:
    """There are as many sweeps as stages, each with all joint actions."""
    result = solve(from_file(random_mpp(2, 3, 7)), algorithm="spudd", encoding="reference")
    counts = result.statistics.to_dict()
    assert counts["iterations"] == 7
    # Each contractor starts one of three tasks, or none.
    assert counts["joint_actions"] == 16
    assert counts["backups"] == 16 * 7
    assert counts["model_nodes"] > 0
    # Three bits for the stages 0 to 7. A task is to do, has up to `duration` steps left, or done.
    tasks = [task for agent in random_mpp(2, 3, 7)["agents"] for task in agent["tasks"]]
    bits = [(task["duration"] + 1).bit_length() for task in tasks]
    assert counts["variables"] == 3 + sum(bits)
    stages = solve(from_file(random_mpp(2, 3, 7)), algorithm="spudd", actions="enumerate")
    assert counts["peak_nodes"] > stages.statistics.to_dict()["peak_nodes"]


def loop(name: str) -> dict[str, Any]:
    """An agent that goes round in a circle, or stays."""
    go = {"x": {"stay": {"x": 1}, "go": {"y": 0.5, "x": 0.5}}, "y": {"back": {"x": 1}}}
    return {"name": name, "initial": "x", "transitions": go}


@pytest.mark.parametrize("horizon", [1, 5])
@pytest.mark.parametrize("count", [1, 3])
def test_reference_on_cyclic_graphs(horizon: int, count: int) -> None:
    """Cycles, rewards of some stages and of all agents together, also for one agent or stage."""
    names = [f"A{k}" for k in range(count)]
    all_go = {name: {"action": "go"} for name in names}
    raw: dict[str, Any] = {
        "format": "ti-mmdp/1",
        "horizon": horizon,
        "agents": [loop(name) for name in names],
        "rewards": [
            {
                "scope": names,
                "entries": [
                    {"when": all_go, "value": 7, "stages": [horizon - 1]},
                    {"when": {name: {"next": "y"} for name in names}, "value": -1},
                    {"when": {names[0]: {"state": "y"}}, "value": -2},
                    {"value": 0.25, "stages": [0]},
                ],
            }
        ],
    }
    result = solve(from_file(raw), algorithm="spudd", encoding="reference")
    assert agrees(result.value, optimal_value(raw))
    assert result.policy is not None
    assert agrees(judged_policy_value(raw, result.policy), result.value)
    assert result.statistics.to_dict()["joint_actions"] == 2**count


def test_reference_with_windows_and_must_complete() -> None:
    """What may be done depends on the clock."""
    raw = random_mpp(2, 2, 6)
    raw["must_complete"] = True
    for agent in raw["agents"]:
        agent["tasks"][0] |= {"window": [1, 4], "revenue": -100}
    raw["agents"][0]["tasks"][0]["duration"] = 1
    result = solve(from_file(raw), algorithm="spudd", encoding="reference")
    assert agrees(result.value, optimal_value(raw))
    assert result.policy is not None
    assert agrees(judged_policy_value(raw, result.policy), result.value)


def test_reference_from_a_later_situation() -> None:
    """Planning may start from any stage and state."""
    raw = random_mpp(2, 2, 5)
    problem = from_file(raw)
    for (stage, joint), expected in list(optimal_values(raw).items())[::40]:
        state = package_state(raw, joint)
        found = solve(problem, algorithm="spudd", encoding="reference", stage=stage, state=state)
        assert found.value == pytest.approx(expected, abs=1e-9)


def test_too_many_joint_actions() -> None:
    """They are counted before anything else, and said."""
    with pytest.raises(SolverError, match="this team has 16,384 joint actions"):
        solve(from_file(random_mpp(7, 3, 3)), algorithm="spudd", encoding="reference")


def test_variables_of_tasks() -> None:
    """A maintenance problem has a variable per task: to do, so many steps left, done."""
    problem = MaintenanceProblem(
        (Contractor("Alpha", (Task("a", 3, cost=1), Task("b", 1, cost=1))),), horizon=5
    )
    indexed = problem.index()
    variables, values = problem.state_variables(indexed, 0)
    assert variables == (StateVariable("a", 4), StateVariable("b", 2))
    states = indexed.agents[0].states
    named = {states.label(k): tuple(row) for k, row in enumerate(values)}
    assert named["idle/to do a/to do b"] == (0, 0)
    assert named["a, 2 left/to do b"] == (2, 0)
    assert named["a, 1 left"] == (1, 1)
    assert named["idle/to do b"] == (3, 0)
    assert named["finished"] == (3, 1)
    # Waiting and going on are never offered together.
    assert indexed.agents[0].actions == ("wait", "continue", "start a", "start b")
    assert make_commands(indexed.agents[0]) == [0, 0, 1, 2]


class Factored(TIMMDP):
    """A problem of one agent with two states that says itself what its variables are."""

    rows: Any = ((0, 1), (1, 0))
    sizes: Any = (2, 3)

    def state_variables(self, indexed: IndexedProblem, agent: int) -> FactoredStates:
        """Two variables, right or wrong."""
        return FactoredStates(
            tuple(StateVariable(f"v{k}", size) for k, size in enumerate(self.sizes)), self.rows
        )


def factored(rows: Any = Factored.rows) -> Factored:
    """A factored problem with these values of its states."""
    plain = from_file(
        {
            "format": "ti-mmdp/1",
            "horizon": 4,
            "agents": [loop("A")],
            "rewards": [{"scope": ["A"], "entries": [{"when": {"A": {"next": "y"}}, "value": 3}]}],
        }
    )
    assert isinstance(plain, TIMMDP)
    kind = type("Given", (Factored,), {"rows": rows})
    made = kind(agents=plain.agents, horizon=plain.horizon, rewards=plain.rewards)
    assert isinstance(made, Factored)
    return made


def test_a_domain_offers_variables() -> None:
    """Whatever the variables, the value is the same; they are what the model is made of."""
    plain = solve(factored(), algorithm="dp").value
    result = solve(factored(), algorithm="spudd", encoding="reference")
    assert agrees(result.value, plain)
    assert result.statistics.to_dict()["variables"] == 3 + 1 + 2


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (((0, 1),), "describe 1 local states; expected 2"),
        (((0, 1), (1, 3)), "a local state the values \\[1, 3\\]; expected one value from 0"),
        (((0, 1), (1,)), "a local state the values \\[1\\]"),
        (((0, 1), (0, 1)), "do not tell all local states apart"),
    ],
)
def test_variables_are_checked(rows: Any, message: str) -> None:
    """Variables that do not fit the states are refused in words."""
    with pytest.raises(ModelError, match=message):
        solve(factored(rows), algorithm="spudd", encoding="reference")


# -- limits (those of test_limits.py hold as well) -------------------------------------------------


@functools.cache
def stoppable() -> tuple[Any, float]:
    """A problem that takes a while, and its optimal value."""
    problem = from_file(random_mpp(3, 3, 8))
    return problem, solve(problem, algorithm="dp").value


@pytest.mark.parametrize("options", [{"actions": "diagram"}, {"actions": "enumerate"}, REFERENCE])
@pytest.mark.parametrize("megabytes", [0.2, 0.5, 1, 3, 10])
def test_little_memory(options: dict[str, Any], megabytes: float) -> None:
    """Whatever memory there is, the bounds hold and the policy is worth its value."""
    problem, best = stoppable()
    try:
        result = solve(problem, algorithm="spudd", memory_limit=megabytes, **options)
    except LimitError as error:
        assert error.reason == "memory_limit"
        assert megabytes < 1
        return
    check_bounds(result, best)
    if result.status is Status.MEMORY_LIMIT:
        assert "MB" in result.message


@pytest.mark.parametrize("actions", ["diagram", "enumerate"])
def test_stopped_at_any_stage(actions: str) -> None:
    """Stopped by a callback in the midst: the stages that are solved count."""
    problem, best = stoppable()
    alone = solve(problem, algorithm="spudd", memory_limit=1).value
    found = []
    for calls in (1, 2, 4, 8):
        seen = itertools.count(1)
        result = solve(
            problem,
            algorithm="spudd",
            actions=actions,
            callback=lambda progress, seen=seen, calls=calls: (
                progress.phase != "compile" and next(seen) == calls
            ),
        )
        check_bounds(result, best)
        assert result.status in (Status.INTERRUPTED, Status.OPTIMAL)
        found.append(result.value)
    assert max(found) > alone


def test_reference_is_stopped() -> None:
    """Stopped by a callback: the policy of single agents, with its value and valid bounds."""
    problem, best = stoppable()
    seen: list[str] = []

    def stop(progress: Any) -> bool:
        seen.append(progress.phase)
        return progress.phase != "compile"

    result = solve(problem, algorithm="spudd", encoding="reference", callback=stop)
    check_bounds(result, best)
    assert result.status is Status.INTERRUPTED
    assert seen[-1] != "compile"
    assert result.statistics.to_dict()["iterations"] < 8


def check_bounds(result: Any, best: float) -> None:
    """What has to hold whenever it is stopped."""
    tolerance = 1e-9 * max(1.0, abs(best))
    assert result.lower_bound == result.value <= result.upper_bound
    assert result.value - tolerance <= best <= result.upper_bound + tolerance
    assert result.policy is not None
    assert result.policy.evaluate() >= result.value - tolerance
