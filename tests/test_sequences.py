"""Execution sequences: what they earn, which are impossible, and what a policy is worth by them."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import judge
from coreplan import (
    TIMMDP,
    Agent,
    Condition,
    Contractor,
    ContractorState,
    Delay,
    Entry,
    Hindrance,
    MaintenanceProblem,
    ModelError,
    RewardFunction,
    Task,
    solve,
)
from coreplan.analysis import ExecutionSequence, execution_sequences
from coreplan.solving.compile import AnyProblem
from helpers import from_file, judge_state, package_state, scale
from strategies import mpp_dicts, timmdp_dicts

SMALL = timmdp_dicts(max_agents=2, max_states=3, max_actions=2, max_horizon=3, max_work=60) | (
    mpp_dicts(max_agents=2, max_tasks=2, max_horizon=5, max_work=120)
)


def robots() -> TIMMDP:
    """The two robots of the file formats, with a bonus at some stages."""
    r1 = Agent(
        "r1",
        "s0",
        {"s0": {"go": {"s1": 0.8, "s0": 0.2}, "wait": {"s0": 1}}, "s1": {"wait": {"s1": 1}}},
        {"s1": {"done": True}},
    )
    r2 = Agent("r2", "u0", {"u0": {"go": {"u1": 1}, "wait": {"u0": 1}}, "u1": {"wait": {"u1": 1}}})
    own = (
        Entry({"r1": Condition(action="go")}, -1),
        Entry({"r1": Condition(action="go", next={"done": True})}, 10),
    )
    both = Entry(
        {"r1": Condition(action="go", next="s1"), "r2": Condition(action="go")}, -5, (0, 1)
    )
    return TIMMDP(
        (r1, r2),
        (
            RewardFunction(("r1",), own),
            RewardFunction(("r1", "r2"), (both,)),
            RewardFunction(("r2",), (Entry({}, 100, (2,)),)),
        ),
        horizon=3,
    )


def roads() -> MaintenanceProblem:
    """Two contractors that hinder each other."""
    a1 = Task("a1", 2, cost=3, delay=Delay(0.3, 1), revenue=20)
    b1 = Task("b1", 1, cost=(1, 2, 4, 8), revenue=5)
    return MaintenanceProblem(
        (Contractor("A", (a1,)), Contractor("B", (b1,))),
        horizon=4,
        network=(Hindrance(("A/a1", "B/b1"), cost=(10, 20, 30, 40)),),
    )


def walk(*steps: dict[str, Any], stage: int = 0) -> ExecutionSequence:
    """A sequence from states and actions in turns."""
    return ExecutionSequence(steps[::2], steps[1::2], stage)


def at(r1: str, r2: str) -> dict[str, str]:
    """A joint state or action of the robots."""
    return {"r1": r1, "r2": r2}


@pytest.mark.parametrize(
    ("sequence", "parts"),
    [
        # No step earns nothing.
        (walk(at("s0", "u0")), (0, 0, 0)),
        # r1 fails, at a cost of 1; no interaction, since r1 did not get to s1.
        (walk(at("s0", "u0"), at("go", "go"), at("s0", "u1")), (-1, 0, 0)),
        # r1 succeeds while r2 goes: -1 + 10, and -5 for both.
        (walk(at("s0", "u0"), at("go", "go"), at("s1", "u1")), (9, -5, 0)),
        # Wait, fail, then succeed together at stage 2, where the interaction does not count but
        # the bonus does.
        (
            walk(
                *(at("s0", "u0"), at("wait", "wait"), at("s0", "u0"), at("go", "wait")),
                *(at("s0", "u0"), at("go", "go"), at("s1", "u1")),
            ),
            (-1 + 9, 0, 100),
        ),
        # The last step alone.
        (walk(at("s0", "u0"), at("go", "go"), at("s1", "u1"), stage=2), (9, 0, 100)),
        # A state from which the robots cannot have started; it can still be where they are.
        (walk(at("s1", "u0"), at("wait", "go"), at("s1", "u1"), stage=1), (0, 0, 0)),
    ],
)
def test_returns_of_robots(sequence: ExecutionSequence, parts: tuple[float, ...]) -> None:
    """Returns of a TI-MMDP are those worked out by hand, in total and per reward function."""
    returns = robots().returns(sequence)
    assert returns.parts == parts
    assert returns.total == sum(parts)
    assert returns.names == ("rewards[0] of r1", "rewards[1] of r1, r2", "rewards[2] of r2")


def contractors(first: ContractorState, second: ContractorState) -> dict[str, ContractorState]:
    """A joint state of the contractors."""
    return {"A": first, "B": second}


IDLE = ContractorState()
A_DONE = ContractorState(("a1",))
B_DONE = ContractorState(("b1",))


@pytest.mark.parametrize("timed", [False, True])
@pytest.mark.parametrize("delayed", [False, True])
def test_returns_of_contractors(delayed: bool, timed: bool) -> None:
    """Returns of an MPP are those worked out by hand: costs, revenues and hindrance per stage."""

    def state(
        now: int, a: tuple[int, int] | None = None, b: tuple[int, int] | None = None
    ) -> dict[str, ContractorState]:
        """Where both stand at a stage, given first and last stage of their works."""
        joint = {}
        for name, task, work in (("A", "a1", a), ("B", "b1", b)):
            under_way = work is not None and work[1] >= now
            joint[name] = ContractorState(
                (task,) if work and not under_way else (),
                task if under_way else None,
                work[1] - now + 1 if work and under_way else 0,
                ({task: work} if work else {}) if timed else None,
            )
        return joint

    end = 3 if delayed else 2
    sequence = walk(
        state(0),
        {"A": "wait", "B": "wait"},
        state(1),
        {"A": "start a1", "B": "wait"},
        state(2, (1, end)),
        {"A": "continue", "B": "start b1"},
        state(3, (1, end), (2, 2)),
        {"A": "continue" if delayed else "wait", "B": "wait"},
        state(4, (1, end), (2, 2)),
    )
    returns = roads().returns(sequence)
    # A works 2 or 3 steps of 3 each and earns 20 at the end; B works at stage 2, for 4, and earns
    # 5; at that stage both work, which costs 30.
    assert returns.parts == (20 - 3 * (3 if delayed else 2), 5 - 4, -30)
    assert returns.total == sum(returns.parts)
    assert returns.names == (
        "own costs and revenues of A",
        "own costs and revenues of B",
        "hindrance of A/a1, B/b1",
    )


def test_work_cut_off_by_the_horizon_earns_nothing() -> None:
    """A task that is still under way at the horizon has cost what it cost."""
    sequence = walk(
        contractors(IDLE, B_DONE),
        {"A": "start a1", "B": "wait"},
        contractors(ContractorState((), "a1", 2), B_DONE),
        stage=3,
    )
    assert roads().returns(sequence).parts == (-3, 0, 0)
    after = contractors(ContractorState((), "a1", 2, {"a1": (3, 5)}), B_DONE)
    assert roads().returns(walk(after, stage=4)).total == 0


def test_a_sequence_may_start_in_a_deviating_situation() -> None:
    """A contractor may have more left than the task can take; what it then does still counts."""
    states = [contractors(ContractorState((), "a1", left), B_DONE) for left in (4, 3, 2)]
    go = {"A": "continue", "B": "wait"}
    assert roads().returns(walk(states[0], go, states[1], go, states[2])).parts == (-6, 0, 0)


def test_the_rest_of_a_timed_sequence_is_a_sequence() -> None:
    """A sequence with start and end times can be cut at any stage, and the returns add up."""
    problem = roads()
    policy = solve(problem, merge=False).policy
    assert policy is not None
    for sequence, _ in execution_sequences(policy):
        assert sequence.states[0]["A"].times == {}
        whole = problem.returns(sequence).total
        for cut in range(problem.horizon + 1):
            first = ExecutionSequence(sequence.states[: cut + 1], sequence.actions[:cut])
            rest = ExecutionSequence(sequence.states[cut:], sequence.actions[cut:], stage=cut)
            parts = problem.returns(first).total + problem.returns(rest).total
            assert parts == pytest.approx(whole)


WRONG: list[tuple[AnyProblem, ExecutionSequence, str]] = [
    (
        robots(),
        walk(at("s0", "u0"), at("wait", "go"), at("s1", "u1")),
        "agent 'r1' cannot get from 's0' to 's1' by 'wait' at stage 0",
    ),
    (
        robots(),
        walk(at("s0", "u0"), at("wait", "go"), at("s0", "u1"), at("wait", "go"), at("s0", "u1")),
        "agent 'r2' in state 'u1' at stage 1 has no action 'go'",
    ),
    (robots(), walk(at("s0", "u0"), at("fly", "go"), at("s0", "u1")), "has no action 'fly'"),
    (robots(), walk(at("s0", "u9")), "agent 'r2' has no state 'u9'"),
    (robots(), walk(at("s0", "u0"), {"r1": "go"}, at("s0", "u0")), "action lacks agent 'r2'"),
    (robots(), walk(at("s0", "u0"), at("go", "go"), {"r1": "s0"}), "state lacks agent 'r2'"),
    (
        robots(),
        walk(at("s0", "u0"), at("wait", "go"), at("s0", "u1"), stage=3),
        "the sequence runs from stage 3 to 4; expected stages from 0 to the horizon, 3",
    ),
    (robots(), walk(at("s0", "u0"), stage=-1), "the sequence runs from stage -1 to -1"),
    (
        roads(),
        walk(contractors(IDLE, IDLE), {"A": "start a1", "B": "wait"}, contractors(A_DONE, IDLE)),
        "agent 'A' cannot get from 'idle/to do a1' to 'finished' by 'start a1' at stage 0",
    ),
    (
        roads(),
        walk(contractors(A_DONE, IDLE), {"A": "start a1", "B": "wait"}, contractors(A_DONE, IDLE)),
        "agent 'A' in state 'finished' at stage 0 has no action 'start a1'; it has 'wait'",
    ),
    (
        roads(),
        walk(contractors(A_DONE, IDLE), {"A": "wait", "B": "wait"}, contractors(IDLE, IDLE)),
        "contractor 'A' cannot be in this state in step 1: found 'idle'",
    ),
]


@pytest.mark.parametrize(("problem", "sequence", "words"), WRONG)
def test_impossible_sequences_are_refused(
    problem: AnyProblem, sequence: ExecutionSequence, words: str
) -> None:
    """A sequence that cannot happen is a ModelError that says who cannot do what, and when."""
    with pytest.raises(ModelError) as caught:
        problem.returns(sequence)
    assert words in str(caught.value)


@pytest.mark.parametrize("stage", [0.5, "0", True, None])
def test_stages_that_are_no_numbers_are_refused(stage: Any) -> None:
    """The first stage of a sequence is a whole number."""
    with pytest.raises(ModelError, match="expected a whole number"):
        robots().returns(walk(at("s0", "u0"), stage=stage))


def test_joint_states_that_are_no_mappings_are_refused() -> None:
    """Joint states and actions are mappings from agents' names."""
    with pytest.raises(ModelError, match="expected one state for each agent"):
        robots().returns(ExecutionSequence(("s0",), ()))  # type: ignore[arg-type]
    with pytest.raises(ModelError, match="expected one action for each agent"):
        robots().returns(ExecutionSequence((at("s0", "u0"),) * 2, ("go",)))  # type: ignore[arg-type]


@pytest.mark.parametrize(("states", "actions"), [(0, 0), (1, 1), (3, 1)])
def test_sequences_of_the_wrong_length_are_refused(states: int, actions: int) -> None:
    """There is one more state than there are actions."""
    with pytest.raises(
        ModelError, match=f"has {states} states; expected {actions + 1} for {actions}"
    ):
        ExecutionSequence(({},) * states, ({},) * actions)


@pytest.mark.parametrize("merge", [True, False])
@given(raw=SMALL)
def test_the_value_of_a_policy_is_its_expected_return(merge: bool, raw: dict[str, Any]) -> None:
    """Summing over all execution sequences gives the optimal value, as forward evaluation does."""
    result = solve(from_file(raw), merge=merge)
    assert result.policy is not None
    tolerance = 1e-12 * scale(raw)
    by_sequences = result.policy.evaluate("sequences")
    assert by_sequences == pytest.approx(result.value, rel=1e-9, abs=tolerance)
    assert by_sequences == pytest.approx(result.policy.evaluate(), rel=1e-9, abs=tolerance)


@pytest.mark.parametrize("merge", [True, False])
@given(raw=SMALL)
def test_sequences_are_what_the_judge_sees(merge: bool, raw: dict[str, Any]) -> None:
    """Probabilities add up to 1; each sequence follows the policy and earns what the judge says."""
    problem = from_file(raw)
    policy = solve(problem, merge=merge).policy
    assert policy is not None
    model = judge.model_of(raw)
    total = 0.0
    seen = set()
    for sequence, probability in execution_sequences(policy):
        total += probability
        assert len(sequence.actions) == problem.horizon
        states = [judge_state(raw, dict(state)) for state in sequence.states]
        actions = [tuple(action.values()) for action in sequence.actions]
        chance, earned = 1.0, 0.0
        for t, action in enumerate(actions):
            assert policy.act(t, sequence.states[t]) == sequence.actions[t]
            chance *= dict(model.joint_outcomes(states[t], action))[states[t + 1]]
            earned += model.reward(t, states[t], action, states[t + 1])
        assert probability == pytest.approx(chance)
        returns = problem.returns(sequence)
        assert returns.total == pytest.approx(earned, rel=1e-12, abs=1e-14 * scale(raw))
        assert sum(returns.parts) == returns.total
        assert len(returns.parts) == len(returns.names)
        seen.add(tuple(states))
    assert math.isclose(total, 1.0, rel_tol=1e-9)
    assert len(seen) == len(list(execution_sequences(policy)))


@given(raw=SMALL, data=st.data())
def test_sequences_of_a_later_situation(raw: dict[str, Any], data: st.DataObject) -> None:
    """From a later situation, too, the expected return is the judge's optimal value."""
    stage, state = data.draw(st.sampled_from(list(judge.joint_states(raw))))
    merge = data.draw(st.booleans())
    result = solve(from_file(raw), stage=stage, state=package_state(raw, state), merge=merge)
    assert result.policy is not None
    assert result.policy.evaluate("sequences") == pytest.approx(
        judge.optimal_values(raw)[stage, state], rel=1e-9, abs=1e-12 * scale(raw)
    )


def test_long_sequences_need_no_recursion() -> None:
    """A sequence of thousands of steps can be enumerated and evaluated."""
    agent = Agent("a", "s", {"s": {"go": {"s": 1}}})
    problem = TIMMDP((agent,), (RewardFunction(("a",), (Entry({}, 1),)),), 3000)
    policy = solve(problem).policy
    assert policy is not None
    assert policy.evaluate("sequences") == 3000
