"""The solver `dec-mdp`: the best policy of which every agent sees its own local state only."""

from __future__ import annotations

import copy
import functools
import itertools
import json
import math
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

import judge
from clocks import LOOK, ticking
from coreplan import (
    LimitError,
    Policy,
    Progress,
    Result,
    SolverError,
    Status,
    evaluate_plan,
    read_problem,
    solve,
)
from coreplan.formats.result import read_result
from helpers import (
    agrees,
    coupled_team,
    dense_team,
    from_file,
    interrupt,
    judged_policy_value,
    package_state,
    random_mpp,
    scale,
)
from judge import joint_states, optimal_value
from strategies import mpp_dicts, problem_dicts, timmdp_dicts

SOON = 1000 * LOOK
"""Seconds of a ticking clock that a solver may take to end: so many looks at it."""

Transition = tuple[Any, str, Any]
Behaviour = list[dict[Transition, float]]
"""What an agent does by a local policy: per stage, how likely it makes each transition."""


def behaviours(model: judge.Model, agent: int, start: int, first: Any) -> Iterator[Behaviour]:
    """Everything that an agent can do by policies of (stage, local state), one by one."""

    def go_on(stage: int, here: dict[Any, float], past: Behaviour) -> Iterator[Behaviour]:
        if stage == model.horizon:
            yield past
            return
        choices = [model.actions(agent, stage, state) for state in here]
        for actions in itertools.product(*choices):
            made: dict[Transition, float] = {}
            following: dict[Any, float] = {}
            for (state, chance), action in zip(here.items(), actions, strict=True):
                for after, probability in model.outcomes(agent, state, action, stage):
                    made[state, action, after] = chance * probability
                    following[after] = following.get(after, 0.0) + chance * probability
            yield from go_on(stage + 1, following, [*past, made])

    yield from go_on(start, {first: 1.0}, [])


def best_decentralised(
    raw: dict[str, Any], stage: int = 0, joint: Any = None, most: int = 3000
) -> float | None:
    """The value of the best combination of local policies, by trying all; None if too many."""
    model = judge.model_of(raw)
    begin = model.joint_initial() if joint is None else joint
    per_agent: list[list[Behaviour]] = []
    for agent, state in enumerate(begin):
        known = list(itertools.islice(behaviours(model, agent, stage, state), most + 1))
        per_agent.append(known)
        if math.prod(map(len, per_agent)) > most:
            return None

    @functools.cache
    def reward(at: int, moves: tuple[Transition, ...]) -> float:
        states, actions, nexts = zip(*moves, strict=True)
        return model.reward(at, states, actions, nexts)

    best = -math.inf
    for profile in itertools.product(*per_agent):
        total = 0.0
        for at in range(stage, model.horizon):
            laws = [behaviour[at - stage].items() for behaviour in profile]
            for joint_move in itertools.product(*laws):
                chance = math.prod(probability for _, probability in joint_move)
                total += chance * reward(at, tuple(move for move, _ in joint_move))
        best = max(best, total)
    return best


def small_problems() -> st.SearchStrategy[dict[str, Any]]:
    """Draw problems of all kinds, so small that many can be judged by trying all policies."""
    return (
        timmdp_dicts(max_agents=3, max_states=3, max_actions=2, max_horizon=3, max_work=300)
        | timmdp_dicts(max_agents=2, max_states=2, max_actions=2, max_horizon=4, max_work=300)
        | mpp_dicts(max_agents=3, max_tasks=2, max_horizon=5, max_work=300)
    )


def decentralised(raw: dict[str, Any], **options: Any) -> Result:
    """Solve a raw problem to the decentralised optimum."""
    result = solve(from_file(raw), algorithm="dec-mdp", **options)
    assert result.objective == "decentralised"
    assert result.status is Status.OPTIMAL
    assert result.policy is not None
    assert result.policy.is_local
    return result


# One agent learns by chance what the other would have to know.
GUESS: dict[str, Any] = {
    "format": "ti-mmdp/1",
    "horizon": 2,
    "agents": [
        {
            "name": "sees",
            "initial": "s",
            "transitions": {
                "s": {"look": {"left": 0.5, "right": 0.5}},
                "left": {"wait": {"left": 1}},
                "right": {"wait": {"right": 1}},
            },
        },
        {
            "name": "says",
            "initial": "u",
            "transitions": {"u": {"left": {"u": 1}, "right": {"u": 1}}},
        },
    ],
    "rewards": [
        {
            "scope": ["sees", "says"],
            "entries": [
                {"when": {"sees": {"state": side}, "says": {"action": side}}, "value": 10}
                for side in ("left", "right")
            ],
        }
    ],
}


def test_what_others_know_is_worth_something() -> None:
    """An agent that cannot see what the other has seen guesses, and the result says so."""
    result = decentralised(GUESS)
    assert result.value == pytest.approx(5)
    assert solve(from_file(GUESS)).value == pytest.approx(10)
    assert "decentralised" in result.summary()
    assert result.statistics.others["bayesian_games"] >= 2
    assert result.statistics.others["search_nodes"] >= 2
    assert result.statistics.joint_actions_evaluated >= 3


@pytest.mark.parametrize("merge", [True, False])
@example(raw=GUESS)
@given(raw=small_problems())
def test_value_is_that_of_the_best_local_policies(merge: bool, raw: dict[str, Any]) -> None:
    """No combination of local policies is better, and one is as good."""
    best = best_decentralised(raw)
    assume(best is not None)
    result = decentralised(raw, merge=merge)
    assert result.value == pytest.approx(best, rel=1e-9, abs=1e-12 * scale(raw))
    assert result.upper_bound >= result.value


@given(raw=problem_dicts())
def test_never_above_the_centralised_optimum(raw: dict[str, Any]) -> None:
    """Who sees less earns no more; merging changes nothing; the policy is worth its value."""
    result = decentralised(raw)
    tolerance = 1e-11 * scale(raw)
    assert result.value <= optimal_value(raw) + 1e-9 * max(1.0, abs(result.value)) + tolerance
    worth = pytest.approx(result.value, rel=1e-9, abs=tolerance)
    assert result.policy is not None
    assert result.policy.evaluate() == worth
    assert judged_policy_value(raw, result.policy) == worth
    for stage, state in joint_states(raw):
        action = result.policy.act(stage, package_state(raw, state))
        assert list(action) == [agent["name"] for agent in raw["agents"]]


@given(raw=problem_dicts(max_work=500))
def test_merging_changes_nothing(raw: dict[str, Any]) -> None:
    """All local states apart, with start and end times, or merged: the value is the same."""
    merged, plain = decentralised(raw), decentralised(raw, merge=False)
    tolerance = 1e-11 * scale(raw)
    assert plain.value == pytest.approx(merged.value, rel=1e-9, abs=tolerance)
    assert plain.policy is not None
    assert plain.policy.evaluate() == pytest.approx(plain.value, rel=1e-9, abs=tolerance)


@given(seed=st.integers(0, 10_000))
def test_teams_whose_bounds_do_not_meet_by_themselves(seed: int) -> None:
    """Cyclic agents that interact in twos and threes: below the judge, above every single try."""
    raw = coupled_team(seed)
    problem = from_file(raw)
    with ticking():
        result = solve(problem, algorithm="dec-mdp", time_limit=20)
    assert result.policy is not None
    tolerance = 1e-8 * scale(raw)
    assert result.value <= optimal_value(raw) + tolerance
    assert result.policy.evaluate() == pytest.approx(result.value, rel=1e-9, abs=tolerance)
    for other in range(3):
        with ticking():
            again = solve(problem, algorithm="dec-mdp", time_limit=20, seed=other)
        assert again.value <= result.upper_bound + tolerance


@given(raw=problem_dicts(max_work=500), data=st.data())
def test_agents_in_any_order(raw: dict[str, Any], data: st.DataObject) -> None:
    """The order in which agents are described does not matter."""
    changed = copy.deepcopy(raw)
    changed["agents"] = data.draw(st.permutations(raw["agents"]))
    expected = decentralised(raw).value
    assert decentralised(changed).value == pytest.approx(expected, rel=1e-9, abs=1e-11 * scale(raw))


@given(raw=small_problems(), data=st.data())
def test_from_a_later_situation(raw: dict[str, Any], data: st.DataObject) -> None:
    """From a stage and joint state on, it is the best that agents can do who know that state."""
    stage, state = data.draw(st.sampled_from(list(joint_states(raw))))
    best = best_decentralised(raw, stage, state)
    assume(best is not None)
    result = decentralised(raw, stage=stage, state=package_state(raw, state))
    assert result.value == pytest.approx(best, rel=1e-9, abs=1e-12 * scale(raw))


# -- where both objectives agree ---------------------------------------------------------------


def without_chance(raw: dict[str, Any]) -> dict[str, Any]:
    """The same problem with each agent's likeliest outcomes only."""
    changed = copy.deepcopy(raw)
    for agent in changed["agents"]:
        for by_action in agent.get("transitions", {}).values():
            for action, law in by_action.items():
                likeliest = max(law, key=law.__getitem__)
                by_action[action] = {state: int(state == likeliest) for state in law}
        for task in agent.get("tasks", []):
            task.pop("delay", None)
    return changed


@given(raw=problem_dicts())
def test_without_chance_nothing_is_lost(raw: dict[str, Any]) -> None:
    """Where all is certain, everybody knows where the others are."""
    changed = without_chance(raw)
    result = decentralised(changed)
    assert agrees(result.value, optimal_value(changed))


@given(raw=problem_dicts())
def test_at_horizon_one_nothing_is_lost(raw: dict[str, Any]) -> None:
    """At the last stage all that can be known of the past does not matter."""
    stage = int(raw["horizon"]) - 1
    state = next(state for at, state in joint_states(raw) if at == stage)
    result = decentralised(raw, stage=stage, state=package_state(raw, state))
    assert agrees(result.value, judge.optimal_values(raw)[stage, state])


@given(raw=timmdp_dicts(max_agents=1) | mpp_dicts(max_agents=1))
def test_one_agent_loses_nothing(raw: dict[str, Any]) -> None:
    """An agent by itself sees everything."""
    assert agrees(decentralised(raw).value, optimal_value(raw))


@given(raw=problem_dicts())
def test_without_interactions_nothing_is_lost(raw: dict[str, Any]) -> None:
    """Agents that do not interact need not know of each other."""
    changed = copy.deepcopy(raw)
    changed.pop("network", None)
    for function in changed.get("rewards", []):
        function["entries"] = [e for e in function["entries"] if len(e.get("when", {})) < 2]
    result = decentralised(changed)
    assert agrees(result.value, optimal_value(changed))


def test_symmetric_agents() -> None:
    """Equal agents that must not do the same: they break the symmetry, as far as they can."""
    problem = {
        "format": "mpp/1",
        "horizon": 4,
        "agents": [
            {
                "name": name,
                "tasks": [
                    {
                        "name": "w",
                        "duration": 1,
                        "delay": {"probability": 0.5, "duration": 1},
                        "cost": 0,
                        "revenue": 10,
                    }
                ],
            }
            for name in ("a", "b")
        ],
        "network": [{"tasks": ["a/w", "b/w"], "cost": 100}],
    }
    result = decentralised(problem)
    assert result.value == pytest.approx(20)
    shorter = {**problem, "horizon": 3}
    best = best_decentralised(shorter, most=100_000)
    assert best is not None
    assert best < optimal_value(shorter) - 0.1
    assert decentralised(shorter).value == pytest.approx(best)


# -- the policy ------------------------------------------------------------------------------------


@given(raw=problem_dicts(max_work=500))
def test_policy_can_be_saved(raw: dict[str, Any]) -> None:
    """A saved policy is local, acts as before and is worth the same."""
    problem = from_file(raw)
    result = decentralised(raw)
    assert result.policy is not None
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "policy.json"
        result.policy.save(path)
        loaded = Policy.load(path, problem)
    assert loaded.is_local
    for stage, state in joint_states(raw):
        named = package_state(raw, state)
        assert loaded.act(stage, named) == result.policy.act(stage, named)
    assert loaded.evaluate() == result.policy.evaluate()


def test_policy_can_be_simulated() -> None:
    """Simulation comes close to the value, and the centralised policy's is higher."""
    problem = from_file(GUESS)
    policy = solve(problem, algorithm="dec-mdp").policy
    assert policy is not None
    estimate = policy.estimate(4000, seed=1)
    assert estimate.mean == pytest.approx(5, abs=0.5)


def test_an_action_depends_on_the_own_state_only() -> None:
    """Whatever the others' states are, an agent's action is the same."""
    raw = random_mpp(3, 2, 5)
    policy = decentralised(raw).policy
    assert policy is not None
    seen: dict[tuple[int, str, Any], str] = {}
    for stage, state in joint_states(raw):
        named = package_state(raw, state)
        for name, action in policy.act(stage, named).items():
            assert seen.setdefault((stage, name, named[name]), action) == action


def test_against_the_centralised_optimum_it_is_a_loss() -> None:
    """As any plan, it is compared with what can be gained if everybody sees everything."""
    problem = from_file(GUESS)
    policy = decentralised(GUESS).policy
    assert policy is not None
    report = evaluate_plan(problem, policy)
    assert report.value == pytest.approx(5)
    assert report.upper_bound == pytest.approx(10)
    assert not report.optimal
    assert solve(problem, start=policy).value == pytest.approx(10)


def test_result_file_says_what_it_is_about(tmp_path: Path) -> None:
    """The objective is written down and read back."""
    result = decentralised(GUESS)
    result.save(tmp_path / "result.json")
    assert json.loads((tmp_path / "result.json").read_text())["objective"] == "decentralised"
    assert read_result(tmp_path / "result.json").objective == "decentralised"


def test_options() -> None:
    """Options that make no sense are refused."""
    problem = from_file(GUESS)
    for options in ({"merge": 1}, {"seed": -1}, {"seed": True}, {"seed": 0.5}, {"threads": 2}):
        with pytest.raises(SolverError):
            solve(problem, algorithm="dec-mdp", **options)


def test_too_large_rewards() -> None:
    """Rewards that cannot be added up are an error, not a nonsense value."""
    raw = copy.deepcopy(GUESS)
    for entry in raw["rewards"][0]["entries"]:
        entry["value"] = 1.7e308
    raw["rewards"].append({"scope": ["says"], "entries": [{"value": 1.7e308}]})
    with pytest.raises(SolverError, match="too large"):
        solve(from_file(raw), algorithm="dec-mdp")


# -- limits ----------------------------------------------------------------------------------------


@functools.cache
def hard_problem() -> Any:
    """A team whose decentralised optimum is far beyond any limit here."""
    return from_file(dense_team(12))


def check_stopped(result: Result, status: Status) -> None:
    """What holds of every result of a solver that was stopped."""
    assert result.status is status
    assert result.objective == "decentralised"
    assert result.lower_bound == result.value <= result.upper_bound
    assert math.isfinite(result.upper_bound)
    assert result.policy is not None
    assert result.policy.is_local
    assert result.policy.evaluate() == pytest.approx(result.value, rel=1e-9)
    assert "decentralised" in result.summary()
    assert result.message


@pytest.mark.parametrize("limit", [0.1, 0.5])
def test_time_limit(limit: float) -> None:
    """A time limit ends the search in time, with a real policy and valid bounds."""
    problem = hard_problem()
    with ticking():
        result = solve(problem, algorithm="dec-mdp", time_limit=limit)
    assert limit <= result.seconds <= limit + SOON
    check_stopped(result, Status.TIME_LIMIT)


@pytest.mark.parametrize("memory", [None, 3])
def test_the_clock_decides_nothing(memory: float | None) -> None:
    """A time limit that does not strike leaves the course alone, whatever the clock says."""
    problem = from_file(random_mpp(4, 2, 6))
    runs = []
    for tick in (1e-9, LOOK, 1.0):
        with ticking(tick):
            runs.append(solve(problem, algorithm="dec-mdp", time_limit=1e12, memory_limit=memory))
    first = runs[0]
    for result in runs[1:]:
        assert (result.value, result.upper_bound) == (first.value, first.upper_bound)
        assert result.statistics.others == first.statistics.others


def test_memory_limit() -> None:
    """Where the centralised values do not fit, a relaxation bounds the team."""
    result = solve(from_file(random_mpp(4, 3, 8)), algorithm="dec-mdp", memory_limit=3)
    check_stopped(result, Status.MEMORY_LIMIT)
    assert "relaxation" in result.message
    assert "the table of centralised values would need" in result.message


def test_callback_stops() -> None:
    """A callback that returns True stops the search; bounds only get better."""
    seen: list[Progress] = []

    def stop(progress: Progress) -> bool:
        if progress.phase == "compile":
            return False
        seen.append(progress)
        return len(seen) == 6

    problem = hard_problem()
    with ticking():
        result = solve(problem, algorithm="dec-mdp", callback=stop)
    check_stopped(result, Status.INTERRUPTED)
    lows = [each.lower_bound for each in seen]
    highs = [each.upper_bound for each in seen]
    assert lows == sorted(lows)
    assert highs == sorted(highs, reverse=True)
    assert result.lower_bound >= lows[-1]
    assert result.upper_bound <= highs[-1]


def test_sigint_in_a_process_of_its_own() -> None:
    """Ctrl-C gives the best plan so far."""
    script = """
import json, signal, sys
from coreplan import solve
from test_dec_mdp import hard_problem
signal.signal(signal.SIGINT, signal.default_int_handler)
said = []
def say(progress):
    if not said and progress.phase != "compile":
        said.append(print("searching", flush=True))
result = solve(hard_problem(), algorithm="dec-mdp", callback=say, time_limit=900)
json.dump({**result.to_dict(), "worth": result.policy.evaluate()}, sys.stdout)
"""
    report = interrupt(script)
    assert report["status"] == "interrupted"
    assert report["objective"] == "decentralised"
    assert report["lower_bound"] == report["value"] <= report["upper_bound"]
    assert report["worth"] == pytest.approx(report["value"])


@given(
    raw=problem_dicts(),
    seconds=st.none() | st.floats(1e-6, 3e-3),
    megabytes=st.none() | st.floats(math.log(5e-4), math.log(1)).map(math.exp),
)
def test_small_problems_under_small_limits(
    raw: dict[str, Any], seconds: float | None, megabytes: float | None
) -> None:
    """Wherever a limit strikes, bounds bracket the optimum and the policy is worth its value."""
    problem = from_file(raw)
    optimum = decentralised(raw).value
    try:
        with ticking():
            result = solve(problem, algorithm="dec-mdp", time_limit=seconds, memory_limit=megabytes)
    except LimitError as error:
        assert error.reason in ("time_limit", "memory_limit")
        return
    tolerance = 1e-9 * scale(raw)
    assert result.value - tolerance <= optimum <= result.upper_bound + tolerance
    assert result.policy is not None
    assert result.policy.is_local
    worth = pytest.approx(result.value, rel=1e-9, abs=tolerance)
    assert result.policy.evaluate() == worth
    assert judged_policy_value(raw, result.policy) == worth


@given(seed=st.integers(1, 6), fraction=st.floats(0.01, 1.1))
def test_stopped_in_the_middle(seed: int, fraction: float) -> None:
    """Wherever in the search the clock strikes, bounds hold; a second run agrees."""
    problem, optimum, seconds = timed_problem(seed)
    try:
        with ticking():
            result = solve(problem, algorithm="dec-mdp", time_limit=fraction * seconds)
    except LimitError as error:
        assert error.reason == "time_limit"
        return
    assert result.status in (Status.OPTIMAL, Status.TIME_LIMIT)
    tolerance = 1e-9 * abs(optimum)
    assert result.value - tolerance <= optimum <= result.upper_bound + tolerance
    assert result.policy is not None
    assert result.policy.evaluate() == pytest.approx(result.value)


@functools.cache
def timed_problem(seed: int) -> tuple[Any, float, float]:
    """A problem with its decentralised optimum and the time of a ticking clock that it takes."""
    problem = from_file(random_mpp(2, 3, 7, seed))
    with ticking():
        result = solve(problem, algorithm="dec-mdp")
    assert result.status is Status.OPTIMAL
    return problem, result.value, result.seconds


def test_large_team_gets_bounds() -> None:
    """A team beyond all tables has a policy and bounds that hold for it."""
    problem = from_file(random_mpp(12, 3, 12))
    with ticking():
        result = solve(problem, algorithm="dec-mdp", time_limit=2, memory_limit=500)
    assert result.status in (Status.TIME_LIMIT, Status.MEMORY_LIMIT)
    check_stopped(result, result.status)
    central = solve(problem, work_limit=0.5)
    assert result.value <= central.upper_bound + 1e-6
    # The centralised bound holds for the decentralised optimum as well.
    assert result.upper_bound >= result.value
    assert result.gap <= 0.2 * abs(result.value)


@pytest.mark.parametrize("name", ["two_robots", "two_works", "ring_road", "paper_example"])
def test_examples(name: str) -> None:
    """The bundled examples have decentralised optima, no better than the centralised ones."""
    problem = read_problem(Path(__file__).parents[1] / "examples" / f"{name}.yaml")
    result = solve(problem, algorithm="dec-mdp")
    assert result.status is Status.OPTIMAL
    assert result.value <= solve(problem).value + 1e-9 * max(1.0, abs(result.value))
