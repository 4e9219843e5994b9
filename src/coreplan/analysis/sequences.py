"""Execution sequences: the course of an execution, stage by stage, and its return.

The paper writes an execution sequence as [s_0, a_0, s_1, ..., s_t] and its return, Eq. 3, as the
sum of all reward functions over its transitions. The value of a policy is the expected return over
all its possible sequences, Eq. 4.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from coreplan.errors import ModelError
from coreplan.model.indexed import IndexedProblem, by_agent
from coreplan.model.problem import index_problem
from coreplan.model.rewards import TransitionRewards
from coreplan.policies.policy import Policy
from coreplan.solving.compile import AnyProblem
from coreplan.support.checks import found, unknown_name
from coreplan.support.late import provides


@dataclass(frozen=True)
class ExecutionSequence:
    """Joint states and the joint actions between them.

    Parameters
    ----------
    states
        The joint states, one more than actions, each with a local state for every agent.
    actions
        Joint actions, each with the name of an action for every agent.
    stage
        The stage of the first state.
    """

    states: tuple[Mapping[str, Any], ...]
    actions: tuple[Mapping[str, str], ...]
    stage: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "states", tuple(self.states))
        object.__setattr__(self, "actions", tuple(self.actions))
        if len(self.states) != len(self.actions) + 1:
            raise ModelError(
                f"the sequence has {len(self.states)} states; expected "
                f"{len(self.actions) + 1} for {len(self.actions)} actions"
            )


@dataclass(frozen=True)
class Returns:
    """The return of a sequence, and its parts.

    Attributes
    ----------
    total
        The return: the sum over all reward functions.
    parts
        The return of each reward function, in the problem's order.
    names
        The names of the reward functions.
    """

    total: float
    parts: tuple[float, ...]
    names: tuple[str, ...]


@provides("PlanningProblem.returns")
def returns(problem: AnyProblem, sequence: ExecutionSequence) -> Returns:
    """The return of an execution sequence (paper, Eq. 3), in total and per reward function.

    Examples
    --------
    >>> from coreplan import Contractor, ContractorState, MaintenanceProblem, Task
    >>> alpha = Contractor("Alpha", (Task("a1", duration=1, cost=3, revenue=20),))
    >>> problem = MaintenanceProblem((alpha,), horizon=2)
    >>> sequence = ExecutionSequence(
    ...     states=({"Alpha": ContractorState()}, {"Alpha": ContractorState(done=("a1",))}),
    ...     actions=({"Alpha": "start a1"},))
    >>> problem.returns(sequence)
    Returns(total=17.0, parts=(17.0,), names=('own costs and revenues of Alpha',))
    """
    if isinstance(sequence.stage, bool) or not isinstance(sequence.stage, int):
        raise ModelError(f"stage is {found(sequence.stage)}; expected a whole number")
    last = sequence.stage + len(sequence.actions)
    if sequence.stage < 0 or last > problem.horizon:
        raise ModelError(
            f"the sequence runs from stage {sequence.stage} to {last}; expected stages from 0 to "
            f"the horizon, {problem.horizon}"
        )
    start = min(sequence.stage, problem.horizon - 1)
    timed = sequence.stage < problem.horizon and any(
        getattr(each, "times", None) is not None
        for state in sequence.states
        if isinstance(state, Mapping)
        for each in state.values()
    )
    indexed = index_problem(problem, history=timed, stage=start, state=sequence.states[0])
    rewards = TransitionRewards(indexed)
    parts = [0.0] * len(indexed.functions)
    state = indexed.find_state(start, sequence.states[0])
    for step, joint_action in enumerate(sequence.actions):
        stage = sequence.stage + step
        following = indexed.find_state(stage + 1, sequence.states[step + 1])
        transitions = _find_transitions(indexed, stage, state, joint_action, following)
        for function, value in rewards.by_function(stage, transitions):
            parts[function] += value
        state = following
    return Returns(sum(parts), tuple(parts), indexed.functions)


def _find_transitions(
    indexed: IndexedProblem,
    stage: int,
    state: Sequence[int],
    joint_action: Mapping[str, str],
    following: Sequence[int],
) -> list[int]:
    """Find the agents' transitions; raises a ModelError if one is impossible."""
    transitions = []
    actions = by_agent(joint_action, indexed.agent_names, "action")
    for agent, now, action, then in zip(indexed.agents, state, actions, following, strict=True):
        available = agent.choices(stage, now)
        if action not in available:
            raise ModelError(
                unknown_name(
                    action,
                    "action",
                    list(available),
                    f"agent {found(agent.name)} in state {agent.states.label(now)!r} at stage "
                    f"{stage}",
                )
            )
        matching = [o for o, after, _ in agent.outcomes(available[action]) if after == then]
        if not matching:
            raise ModelError(
                f"agent {found(agent.name)} cannot get from {agent.states.label(now)!r} to "
                f"{agent.states.label(then)!r} by {found(action)} at stage {stage}"
            )
        transitions.append(matching[0])
    return transitions


def execution_sequences(policy: Policy) -> Iterator[tuple[ExecutionSequence, float]]:
    """All possible sequences of a policy, each with its probability.

    Their number grows quickly, so this is for small problems only.
    """
    indexed = policy.indexed
    first = indexed.stage

    def name(
        states: Sequence[tuple[int, ...]], actions: Sequence[dict[str, str]]
    ) -> ExecutionSequence:
        return ExecutionSequence(
            tuple(indexed.name_state(state) for state in states), tuple(actions), first
        )

    # Depth first with an explicit stack: the horizon may be long.
    start = indexed.find_state(first, None)
    stack: list[tuple[tuple[tuple[int, ...], ...], tuple[dict[str, str], ...], float]]
    stack = [((start,), (), 1.0)]
    while stack:
        states, actions, probability = stack.pop()
        stage = first + len(actions)
        if stage == indexed.horizon:
            yield name(states, actions), probability
            continue
        choices = policy.choose(stage, states[-1])
        action = {
            agent.name: agent.actions[agent.choice_action[choice]]
            for agent, choice in zip(indexed.agents, choices, strict=True)
        }
        joint: list[tuple[tuple[int, ...], float]] = [((), 1.0)]
        for agent, choice in zip(indexed.agents, choices, strict=True):
            joint = [
                ((*known, after), chance * p)
                for known, chance in joint
                for _, after, p in agent.outcomes(choice)
            ]
        for following, chance in reversed(joint):
            stack.append(((*states, following), (*actions, action), probability * chance))


@provides("Policy.evaluate.sequences")
def expected_return(policy: Policy) -> float:
    """Compute the value of a policy from all its execution sequences (paper, Eq. 4)."""
    return sum(
        probability * returns(policy.problem, sequence).total
        for sequence, probability in execution_sequences(policy)
    )
