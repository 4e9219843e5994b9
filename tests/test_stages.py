"""Discounts, and actions that depend on the stage: in every algorithm and every analysis."""

from __future__ import annotations

import itertools
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import judge
from coreplan import (
    TIMMDP,
    Agent,
    Aggregate,
    Amount,
    Condition,
    Entry,
    ModelError,
    Policy,
    RewardFunction,
    read_problem,
    simulate,
    solve,
)
from coreplan.analysis import execution_sequences, return_distribution
from coreplan.analysis.sequences import returns
from coreplan.errors import FormatError
from coreplan.model import StageTransitions
from coreplan.policies import plan_graph
from coreplan.proof.verify import verify
from coreplan.solving import simplify
from helpers import (
    ALGORITHMS,
    EAGER,
    agrees,
    from_file,
    judged_policy_value,
    package_state,
    scale,
)
from strategies import aggregate_dicts, staged_dicts, timmdp_dicts

every_algorithm = pytest.mark.parametrize(
    ("algorithm", "options"),
    ALGORITHMS,
    ids=[f"{name} {' '.join(options)}".strip() for name, options in ALGORITHMS],
)


def team(raw: dict[str, Any]) -> TIMMDP:
    """The problem of a dictionary."""
    problem = from_file(raw)
    assert isinstance(problem, TIMMDP)
    return problem


# ------------------------------------------------------------------------------- algorithms


@every_algorithm
@given(raw=staged_dicts())
def test_value_is_the_judges(algorithm: str, options: dict[str, Any], raw: dict[str, Any]) -> None:
    """Every algorithm finds the judge's value, with a policy that is worth it."""
    problem, best = team(raw), judge.optimal_value(raw)
    result = solve(problem, algorithm=algorithm, **options)
    tolerance = 1e-9 * scale(raw)
    assert abs(result.value - best) <= max(tolerance, 1e-6 * max(1.0, abs(best)))
    assert result.lower_bound <= best + tolerance
    assert result.upper_bound >= best - tolerance
    assert abs(result.policy.evaluate() - result.value) <= tolerance
    assert abs(judged_policy_value(raw, result.policy) - result.value) <= tolerance


@given(raw=staged_dicts(), options=st.sampled_from([{}, {"merge": False}, EAGER]))
def test_search_and_certificate(raw: dict[str, Any], options: dict[str, Any]) -> None:
    """The engine's certificate proves its bounds."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "certificate.json"
        solve(team(raw), certificate=path, **options)
        shown = verify(team(raw), path)
    assert shown.confirmed, shown


@given(raw=staged_dicts(max_work=300))
def test_decentralised(raw: dict[str, Any]) -> None:
    """A policy by own states only is worth what it claims, and no more than the optimum."""
    result = solve(team(raw), algorithm="dec-mdp")
    tolerance = 1e-9 * scale(raw)
    assert abs(judged_policy_value(raw, result.policy) - result.value) <= tolerance
    assert result.value <= judge.optimal_value(raw) + tolerance
    assert result.upper_bound >= result.value - tolerance


@given(raw=staged_dicts(), data=st.data())
def test_from_a_later_situation(raw: dict[str, Any], data: st.DataObject) -> None:
    """From a later stage on, rewards still count as at their own stage."""
    stage, state = data.draw(st.sampled_from(list(judge.joint_states(raw))[:50]))
    best = judge.timmdp_value(raw, stage, state)
    result = solve(team(raw), stage=stage, state=package_state(raw, state))
    assert abs(result.value - best) <= 1e-6 * max(1.0, abs(best)) + 1e-9 * scale(raw)
    assert abs(result.policy.evaluate() - result.value) <= 1e-9 * scale(raw)


@given(raw=aggregate_dicts(max_work=500), discount=st.sampled_from([0.5, 0.9, 1e-3]))
def test_aggregates_are_discounted(raw: dict[str, Any], discount: float) -> None:
    """Rewards for sums over agents count as the other rewards of their stage."""
    raw["discount"] = discount
    best = judge.optimal_value(raw)
    size = scale(raw) + sum(
        abs(each) for a in raw["aggregates"] for row in a["value"].values() for each in flat(row)
    )
    for algorithm in ("core", "dp"):
        result = solve(team(raw), algorithm=algorithm)
        assert abs(result.value - best) <= max(1e-9 * size, 1e-6 * max(1.0, abs(best)))
        assert result.upper_bound >= best - 1e-9 * size
        assert abs(judged_policy_value(raw, result.policy) - result.value) <= 1e-9 * size
        assert abs(result.policy.evaluate() - result.value) <= 1e-9 * size


@given(raw=aggregate_dicts(max_work=200), discount=st.sampled_from([0.5, 0.9]))
def test_aggregates_in_analyses_are_discounted(raw: dict[str, Any], discount: float) -> None:
    """Returns of sequences, their distribution, simulations and situations agree."""
    problem = team({**raw, "discount": discount})
    policy = solve(problem, algorithm="dp").policy
    size = scale(raw) + sum(
        abs(each) for a in raw["aggregates"] for row in a["value"].values() for each in flat(row)
    )
    value = policy.evaluate()
    known = [(p, returns(problem, s).total) for s, p in execution_sequences(policy)]
    assert abs(sum(p * total for p, total in known) - value) <= 1e-8 * size
    assert abs(return_distribution(policy).mean - value) <= 1e-8 * size
    shown = simulate(policy, 20, seed=5)
    for each in shown.returns:
        assert min(abs(each - total) for _, total in known) <= 1e-9 * size
    assert abs(sum(shown.functions) - shown.value.mean) <= 1e-9 * size
    first = plan_graph(policy).situations[0].value
    assert first is None or abs(first - value) <= 1e-9 * size


def flat(row: Any) -> list[float]:
    """The numbers in lists of numbers."""
    return [row] if not isinstance(row, list) else [x for each in row for x in flat(each)]


@given(raw=timmdp_dicts())
def test_discount_of_one_changes_nothing(raw: dict[str, Any]) -> None:
    """A problem with discount 1 is the same problem, with the same result to the bit."""
    plain = team(raw)
    same = replace(plain, discount=1)
    assert same == plain
    assert same.to_dict() == plain.to_dict()
    first, second = solve(plain), solve(same)
    assert (first.value, first.upper_bound) == (second.value, second.upper_bound)


@given(raw=timmdp_dicts(max_work=800), discount=st.sampled_from([0.5, 0.25]))
def test_discount_is_a_factor_per_stage(raw: dict[str, Any], discount: float) -> None:
    """A discount means the same as entries with other values at each stage."""
    spelled = {
        **raw,
        "rewards": [
            {
                **function,
                "entries": [
                    {**entry, "value": entry["value"] * discount**t, "stages": [t]}
                    for entry in function["entries"]
                    for t in {int(s) for s in entry.get("stages", range(int(raw["horizon"])))}
                ],
            }
            for function in raw.get("rewards", [])
        ],
    }
    short = solve(replace(team(raw), discount=discount), algorithm="dp").value
    assert agrees(short, solve(team(spelled), algorithm="dp").value, 1e-9 * scale(raw))


# --------------------------------------------------------------------------------- analysis


@given(raw=staged_dicts(max_work=300, discounted=True))
def test_distribution_and_sequences(raw: dict[str, Any]) -> None:
    """Returns are discounted: those of sequences, and their distribution."""
    problem = team(raw)
    policy = solve(problem, algorithm="dp").policy
    tolerance = 1e-8 * scale(raw)
    mean = sum(p * returns(problem, s).total for s, p in execution_sequences(policy))
    assert abs(mean - policy.evaluate()) <= tolerance
    assert abs(return_distribution(policy).mean - policy.evaluate()) <= tolerance


@settings(max_examples=30)
@given(raw=staged_dicts(max_work=300))
def test_simulation(raw: dict[str, Any]) -> None:
    """Every simulated return is one that a sequence has, and the parts add up to the mean."""
    problem = team(raw)
    policy = solve(problem, algorithm="dp").policy
    size = scale(raw)
    known = sorted(returns(problem, s).total for s, _ in execution_sequences(policy))
    shown = simulate(policy, 50, seed=3)
    for value in shown.returns:
        assert min(abs(value - each) for each in known) <= 1e-9 * size
    assert abs(sum(shown.functions) - shown.value.mean) <= 1e-9 * size
    kept = simulate(policy, 20, seed=3, keep=20).trajectories
    for each in kept:
        assert min(abs(sum(each.rewards) - other) for other in known) <= 1e-9 * size


@given(raw=staged_dicts(max_work=200), data=st.data())
def test_values_from_any_situation(raw: dict[str, Any], data: st.DataObject) -> None:
    """Values and action values from a later stage on count rewards as at their own stage."""
    problem, act = team(raw), judge.greedy_policy(raw)
    names = [agent["name"] for agent in raw["agents"]]

    def decide(stage: int, state: dict[str, Any]) -> dict[str, str]:
        return dict(zip(names, act(stage, tuple(state[name] for name in names)), strict=True))

    policy = Policy.from_function(problem, decide)
    stage, joint = data.draw(st.sampled_from(list(judge.joint_states(raw))[:30]))
    state = dict(zip(names, joint, strict=True))
    best = judge.timmdp_value(raw, stage, joint)
    assert abs(policy.value(stage, state) - best) <= 1e-9 * scale(raw)
    assert abs(policy.q(stage, state, decide(stage, state)) - best) <= 1e-9 * scale(raw)


@given(raw=staged_dicts(max_work=300))
def test_plan_graph(raw: dict[str, Any]) -> None:
    """The values of a plan's situations are discounted."""
    policy = solve(team(raw), algorithm="dp").policy
    graph = plan_graph(policy)
    first = graph.situations[0]
    if graph.complete and first.value is not None:
        assert abs(first.value - policy.evaluate()) <= 1e-9 * scale(raw)


@given(raw=staged_dicts(max_work=300))
def test_environment(raw: dict[str, Any]) -> None:
    """The environment has the actions, outcomes and discounted rewards of each stage."""
    problem, model = team(raw), judge.TiMmdp(raw)
    names = [agent["name"] for agent in raw["agents"]]
    for stage, joint in itertools.islice(judge.joint_states(raw), 20):
        state = dict(zip(names, joint, strict=True))
        offered = problem.dynamics.actions(stage, state)
        for i, name in enumerate(names):
            assert sorted(offered[name]) == sorted(model.actions(i, stage, joint[i]))
        for action in model.joint_actions(stage, joint)[:4]:
            acts = dict(zip(names, action, strict=True))
            expected = dict(model.joint_outcomes(joint, action, stage))
            for after, chance in problem.dynamics.outcomes(stage, state, acts):
                following = tuple(after[name] for name in names)
                assert agrees(chance, expected[following])
                reward = problem.reward(stage, state, acts, after)
                wanted = model.reward(stage, joint, action, following)
                assert abs(reward - wanted) <= 1e-9 * scale(raw)


@given(raw=staged_dicts(max_work=500))
def test_saved_policies(raw: dict[str, Any]) -> None:
    """A saved policy acts and earns the same when it is read again."""
    problem = team(raw)
    policy = solve(problem).policy
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "policy.json"
        policy.save(path)
        again = Policy.load(path, problem)
    assert again.evaluate() == policy.evaluate()


@given(raw=staged_dicts(max_work=500, discounted=True), tolerance=st.sampled_from([1, 3, 20]))
def test_simplification(raw: dict[str, Any], tolerance: float) -> None:
    """Bounds for the original of a simplified problem hold."""
    simplified = simplify(team(raw), tolerance=tolerance)
    result = simplified.restore(solve(simplified.problem))
    best = judge.optimal_value(raw)
    assert result.lower_bound <= best + 1e-9 * scale(raw)
    assert result.upper_bound >= best - 1e-9 * scale(raw)


def test_a_long_horizon() -> None:
    """A discount over 100,000 stages takes no more than one over few, and rewards fade away."""
    agent = Agent("a", "s", {"s": {"go": {"s": 0.5, "t": 0.5}}, "t": {"go": {"s": 1}}})
    income = RewardFunction(["a"], [Entry({"a": Condition(state="s")}, 1)])
    problem = TIMMDP([agent], [income], 100_000, discount=0.99)
    # V(s) = 1 + 0.99 (V(s) + V(t)) / 2, V(t) = 0.99 V(s)
    wanted = 1 / (1 - 0.99 / 2 - 0.99**2 / 2)
    for algorithm in ("core", "dp"):
        result = solve(problem, algorithm=algorithm)
        assert agrees(result.value, wanted)
        assert agrees(result.policy.evaluate(), wanted)
    assert simulate(result.policy, 10, seed=1).value.mean < 100


# ------------------------------------------------------------------------------------ model


@given(raw=staged_dicts())
def test_files(raw: dict[str, Any]) -> None:
    """A problem is the same after it is written and read, in the format that it needs."""
    problem = team(raw)
    written = problem.to_dict()
    needs = problem.discount != 1 or any(agent.transitions_at for agent in problem.agents)
    assert written["format"] == ("ti-mmdp/2" if needs else "ti-mmdp/1")
    assert from_file(written) == problem
    assert judge.optimal_value(written) == judge.optimal_value(raw)


@pytest.mark.parametrize("discount", [0, -0.5, 1.1, "half", True, float("nan"), None])
def test_discounts_that_are_none(discount: Any) -> None:
    """A discount is a number above 0 and at most 1."""
    agent = Agent("a", "s", {"s": {"go": {"s": 1}}})
    with pytest.raises(ModelError, match="discount"):
        TIMMDP([agent], [], 2, discount=discount)


FERRY: dict[str, Any] = {
    "format": "ti-mmdp/2",
    "horizon": 4,
    "agents": [
        {
            "name": "ferry",
            "initial": "port",
            "transitions": {
                "port": {"sail": {"island": 1}, "wait": {"port": 1}},
                "island": {"wait": {"island": 1}},
            },
            "transitions_at": [{"stages": [0, 1], "transitions": {"port": {"wait": {"port": 1}}}}],
        }
    ],
}


def ferry(**changes: Any) -> dict[str, Any]:
    """The ferry with another first block of transitions at stages."""
    agent = FERRY["agents"][0]
    return {
        **FERRY,
        "agents": [{**agent, "transitions_at": [{**agent["transitions_at"][0], **changes}]}],
    }


@pytest.mark.parametrize(
    ("raw", "place", "words"),
    [
        (ferry(stages=[4]), "transitions_at[0].stages[0]", "expected a stage from 0 to 3"),
        (ferry(stages=[[1]]), "transitions_at[0].stages[0]", "expected a stage"),
        (ferry(stages=1), "transitions_at[0].stages", "a list"),
        (
            ferry(transitions={"prot": {"wait": {"port": 1}}}),
            "transitions_at[0].transitions.prot",
            "did you mean 'port'",
        ),
        (
            ferry(transitions={"port": {"wait": {"port": 0.5}}}),
            "transitions_at[0].transitions.port.wait",
            "add up to 0.5",
        ),
        (
            ferry(transitions={"port": {}}),
            "transitions_at[0].transitions.port",
            "state 'port' has no action and can be reached at stage 0",
        ),
        (
            ferry(transitions={"port": {"wait": {"sea": 1}}}),
            "agents[0].transitions",
            "state 'sea' has no action and can be reached at stage 1",
        ),
        ({**FERRY, "format": "ti-mmdp/1"}, "transitions_at", "needs the format ti-mmdp/2"),
        ({**FERRY, "discount": 2}, "discount", "above 0 and at most 1"),
    ],
)
def test_mistakes_in_files(raw: dict[str, Any], place: str, words: str) -> None:
    """A mistake is an error with its place."""
    with pytest.raises(FormatError) as caught:
        from_file(raw)
    assert words in str(caught.value)
    assert place in str(caught.value)


def test_a_state_named_twice() -> None:
    """Two blocks that say what a state does at one stage contradict each other."""
    row = {"port": {"wait": {"port": 1}}}
    agent = {**FERRY["agents"][0]}
    agent["transitions_at"] = [
        {"stages": [0, 1, 1], "transitions": row},
        {"stages": [2, 1], "transitions": row},
    ]
    with pytest.raises(FormatError, match=r"other transitions at stage 1 already.*\[0\]"):
        from_file({**FERRY, "agents": [agent]})
    agent["transitions_at"][1]["stages"] = [2]
    from_file({**FERRY, "agents": [agent]})


def test_unreachable_states_need_no_action_then() -> None:
    """A state may be without actions at stages at which the agent cannot be in it."""
    raw = ferry(stages=[0], transitions={"island": {}})
    assert team(raw).agents[0].actions_of("island", 0) == {}
    raw = ferry(stages=[1], transitions={"island": {}})
    with pytest.raises(FormatError, match=r"state 'island' has no action .* at stage 1"):
        from_file(raw)


def test_conditions_know_what_only_some_stages_have() -> None:
    """Actions, next states and features of `transitions_at` can be asked for."""
    raw = ferry(stages=[3], transitions={"port": {"swim": {"beach": 1}}})
    raw["agents"][0]["features"] = {"beach": {"dry": False}}
    raw["rewards"] = [
        {
            "scope": ["ferry"],
            "entries": [
                {"when": {"ferry": {"action": "swim", "next": {"dry": False}}}, "value": 5}
            ],
        }
    ]
    problem = team(raw)
    assert "beach" in problem.agents[0].states
    assert "swim" in problem.agents[0].actions
    assert solve(problem).value == 5


def test_spells() -> None:
    """An action that goes on while others change is one choice for the core."""
    agent = team(FERRY).index().agents[0]
    assert [
        (agent.actions[a], first, last)
        for a, first, last in zip(
            agent.choice_action, agent.choice_first, agent.choice_last, strict=True
        )
    ] == [("wait", 0, 3), ("sail", 2, 3), ("wait", 0, 3)]


# ------------------------------------------------------------------------- from functions


def test_functions_of_the_stage() -> None:
    """An agent from functions of the stage has the same value as by hand, stage by stage."""

    def actions(wear: int, stage: int) -> list[str]:
        return ["run", "repair"] if stage % 2 else ["run"]

    def outcomes(wear: int, action: str, stage: int) -> dict[int, float]:
        if action == "repair":
            return {0: 1.0}
        worse = 0.5 if stage < 3 else 0.25
        return {wear: 1 - worse, wear + 1: worse}

    machine = Agent.from_functions("machine", 0, actions, outcomes, horizon=6, by_stage=True)
    income = RewardFunction.from_function(
        [machine], lambda t: (10 - t.state**2) if t.action == "run" else -5
    )
    problem = TIMMDP([machine], [income], 6)

    def best(stage: int, wear: int) -> float:
        if stage == 6:
            return 0.0
        return max(
            (10 - wear**2 if action == "run" else -5)
            + sum(p * best(stage + 1, n) for n, p in outcomes(wear, action, stage).items())
            for action in actions(wear, stage)
        )

    assert agrees(solve(problem).value, best(0, 0))
    # Also from states that the plan does not lead to, at any stage.
    assert agrees(solve(problem, stage=2, state={"machine": 1}).value, best(2, 1))
    assert list(machine.actions_of("1", 0)) == ["run"]


def test_functions_of_the_stage_need_a_horizon() -> None:
    """Without a horizon nobody knows for which stages to ask."""
    with pytest.raises(ModelError, match="horizon"):
        Agent.from_functions("a", 0, lambda s, stage: [], lambda s, a, stage: {}, by_stage=True)


def test_mistakes_in_functions_of_the_stage() -> None:
    """The message names the state, the action and the stage."""

    def outcomes(state: int, action: str, stage: int) -> dict[int, float]:
        return {0: 1.0 if stage < 2 else 0.5}

    with pytest.raises(ModelError, match=r"state 0 and action 'go' and stage 2 add up to 0.5"):
        Agent.from_functions("a", 0, lambda s, stage: ["go"], outcomes, horizon=3, by_stage=True)


# --------------------------------------------------------------------------------- patterns


def test_terminal_rewards() -> None:
    """A reward for the state at the end is an entry of the last stage on the next state."""
    horizon = 3
    robot = Agent(
        "robot",
        "away",
        {
            "away": {"go": {"home": 0.5, "away": 0.5}, "stay": {"away": 1}},
            "home": {"stay": {"home": 1}},
        },
    )
    at_the_end = Entry({"robot": Condition(next="home")}, 100, stages=[horizon - 1])
    steps = Entry({"robot": Condition(action="go")}, -1)
    problem = TIMMDP([robot], [RewardFunction(["robot"], [at_the_end, steps])], horizon)
    # Home after 3 tries with 7/8; a try is paid while away: 1 + 1/2 + 1/4.
    assert agrees(solve(problem).value, 100 * 7 / 8 - 1.75)


def test_reprs_stay_short() -> None:
    """Tables of many stages do not flood the screen."""
    change = StageTransitions(range(1000), {"s": {"go": {"s": 1}}})
    assert len(repr(change)) < 100


def test_readers_refuse_discounts_in_the_first_version(tmp_path: Path) -> None:
    """The key needs the second version, and the message says so."""
    path = tmp_path / "problem.yaml"
    text = "format: ti-mmdp/1\nhorizon: 1\ndiscount: 0.9\nagents:\n"
    text += "  - {name: a, initial: s, transitions: {s: {go: {s: 1}}}}\n"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(FormatError, match="needs the format ti-mmdp/2") as caught:
        read_problem(path)
    assert ":3:" in str(caught.value)


def test_amounts_at_some_stages_only() -> None:
    """What an action of some stages adds to a sum counts there."""
    agents = [
        Agent(
            name,
            "s",
            {"s": {"rest": {"s": 1}}},
            transitions_at=[StageTransitions([1], {"s": {"rest": {"s": 1}, "charge": {"s": 1}}})],
        )
        for name in ("a", "b", "c")
    ]
    peak = Aggregate(
        "peak",
        [Amount({name: Condition(action="charge")}, 1) for name in ("a", "b", "c")],
        table=[0, 1, 4, -9],
    )
    problem = TIMMDP(agents, [], 3, aggregates=[peak], discount=0.5)
    assert solve(problem).value == 2
    assert solve(problem, algorithm="dp").value == 2
