"""Policies that people write as functions."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from coreplan.errors import ModelError, SolverError
from coreplan.model.indexed import IndexedAgent, IndexedProblem, JointState, by_agent
from coreplan.model.problem import PlanningProblem
from coreplan.policies.rules import (
    Indices,
    Integers,
    LocalMap,
    LocalRule,
    TeamRule,
    number_joint_classes,
)
from coreplan.support.checks import found, is_integer

if TYPE_CHECKING:
    from coreplan.policies.policy import Policy

Decide = Callable[[int, dict[str, Any]], Mapping[str, str]]
"""A policy as a function of the stage and the joint state."""
DecideAlone = Callable[[int, Any], str]
"""One agent's policy as a function of the stage and its own state."""
DecideMany = Callable[[int, NDArray[np.uint32]], NDArray[Any]]
"""A policy as a function of the stage and many joint states, as numbers."""

MOST_STORED = 1_000_000
"""The most joint states of a function that is turned into a table."""


class OwnRule:
    """A function as a rule: asked once for each joint state, when that is first needed.

    Parameters
    ----------
    indexed
        The problem, for the start of the policy.
    function
        The function.
    arrays
        Whether it decides for many joint states at once, by numbers.
    """

    def __init__(
        self, indexed: IndexedProblem, function: Decide | DecideMany, *, arrays: bool
    ) -> None:
        self.indexed = indexed
        self.function = function
        self.arrays = arrays
        self._known: dict[tuple[int, ...], tuple[int, ...]] = {}

    def choose_many(self, stage: int, states: Sequence[Indices]) -> list[Integers]:
        """For each agent: its choice in each joint state."""
        rows = list(zip(*(each.tolist() for each in states), strict=True))
        unknown = [row for row in dict.fromkeys(rows) if (stage, *row) not in self._known]
        if unknown and self.arrays:
            self._ask_many(stage, unknown)
        else:
            for row in unknown:
                self._known[stage, *row] = self._ask(stage, row)
        decided = [self._known[stage, *row] for row in rows]
        return [np.array([row[i] for row in decided], np.int64) for i in range(len(states))]

    def _ask(self, stage: int, state: tuple[int, ...]) -> tuple[int, ...]:
        given = self.indexed.original_state(state)
        answer = call(self.function, stage, given)
        try:
            actions = by_agent(answer, self.indexed.agent_names, "action")
        except ModelError as error:
            raise ModelError(f"the policy's answer {_situation(stage, given)}: {error}") from None
        return tuple(
            _choice(agent, stage, number, action)
            for agent, number, action in zip(self.indexed.agents, state, actions, strict=True)
        )

    def _ask_many(self, stage: int, rows: list[tuple[int, ...]]) -> None:
        agents = self.indexed.agents
        states = np.array(rows, np.uint32)
        answer = np.asarray(call(self.function, stage, states))
        if answer.shape != states.shape or answer.dtype.kind not in "iu":
            raise ModelError(
                f"the policy returned an array of shape {answer.shape} and type {answer.dtype} at "
                f"stage {stage}; expected numbers of actions in the shape {states.shape}: a row "
                "for each joint state, a column for each agent"
            )
        for row, actions in zip(rows, answer.tolist(), strict=True):
            self._known[stage, *row] = tuple(
                _choice(
                    agent,
                    stage,
                    number,
                    agent.actions[action] if 0 <= action < len(agent.actions) else action,
                )
                for agent, number, action in zip(agents, row, actions, strict=True)
            )


def call(function: Callable[..., Any], stage: int, state: Any) -> Any:
    """Call a function of a policy; its mistakes become errors that name the situation."""
    try:
        return function(stage, state)
    except Exception as error:
        raise ModelError(
            f"the policy failed {_situation(stage, state)}: {type(error).__name__}: {error}"
        ) from error


def _situation(stage: int, state: Any) -> str:
    return f"at stage {stage} in state {found(state)}"


def _choice(agent: IndexedAgent, stage: int, state: int, action: Any) -> int:
    """The number of an agent's choice, by the name of the action."""
    try:
        return agent.find_choice(stage, state, action)
    except ModelError as error:
        raise ModelError(f"the policy: {error}") from None


def own_maps(indexed: IndexedProblem) -> list[LocalMap]:
    """Maps in which every local state is a class of its own."""
    return [_own_map(agent, indexed.stage, indexed.horizon) for agent in indexed.agents]


def _own_map(agent: IndexedAgent, first: int, horizon: int) -> LocalMap:
    layers: list[list[int]] = [[agent.start]]
    begins = [0]
    actions: list[int] = []
    for stage in range(first, horizon):
        after: set[int] = set()
        for state in layers[-1]:
            for choice in agent.choices(stage, state).values():
                actions.append(agent.choice_action[choice])
                after.update(into for _, into, _ in agent.outcomes(choice))
            begins.append(len(actions))
        layers.append(sorted(after))
    begins += [len(actions)] * len(layers[-1])
    sizes = [len(layer) for layer in layers]
    return LocalMap(
        np.concatenate([[0], np.cumsum(sizes)]).astype(np.uint32),
        np.array([state for layer in layers for state in layer], np.uint32),
        np.concatenate([np.arange(size) for size in sizes]).astype(np.uint32),
        np.array(sizes, np.uint32),
        np.array(begins, np.uint32),
        np.array(actions, np.uint32),
    )


def first_actions(maps: Sequence[LocalMap]) -> LocalRule:
    """The local rule that takes the first action everywhere."""
    return LocalRule(
        tuple(np.zeros(int(each.class_count.sum(dtype=np.int64)), np.uint32) for each in maps)
    )


def alone_rule(
    indexed: IndexedProblem, maps: Sequence[LocalMap], functions: Mapping[str, DecideAlone]
) -> LocalRule:
    """The rule of agents that each look at their own state only."""
    asked = by_agent(functions, indexed.agent_names, "function")
    rules = []
    for agent, each, function in zip(indexed.agents, maps, asked, strict=True):
        taken = np.zeros(int(each.class_count.sum(dtype=np.int64)), np.uint32)
        for layer, stage in enumerate(range(indexed.stage, indexed.horizon)):
            for node in range(int(each.layer_begin[layer]), int(each.layer_begin[layer + 1])):
                state = int(each.node_state[node])
                action = call(function, stage, agent.states.original(state))
                chosen = agent.choice_action[_choice(agent, stage, state, action)]
                row = each.node_action[each.action_begin[node] : each.action_begin[node + 1]]
                taken[node] = int(np.flatnonzero(row == chosen)[0])
        rules.append(taken)
    return LocalRule(tuple(rules))


def as_table(policy: Policy, most: int = MOST_STORED) -> list[TeamRule]:
    """The decisions of a policy of all agents together, in all joint states that it reaches.

    Raises
    ------
    SolverError
        If it reaches too many.
    """
    agents, maps = policy.indexed.agents, policy.maps
    layers = policy.horizon - policy.stage
    everyone = tuple(range(len(agents)))
    numbering = number_joint_classes(maps, everyone, None, layers)
    table: dict[int, int] = {}
    reached = {tuple(agent.start for agent in agents)}
    for layer in range(layers):
        stage = policy.stage + layer
        rows = sorted(reached)
        if len(table) + len(rows) > most:
            raise SolverError(
                f"this policy reaches more than {most:,} joint states, too many to store one by one"
            )
        columns = [np.array([row[i] for row in rows], np.uint32) for i in everyone]
        nodes = [
            np.searchsorted(
                each.node_state[int(each.layer_begin[layer]) : int(each.layer_begin[layer + 1])],
                column,
            )
            for each, column in zip(maps, columns, strict=True)
        ]
        chosen = policy.choose_many(stage, everyone, columns)
        reached = set()
        for k in range(len(rows)):
            number = numbering.layer_offset[layer]
            code = 0
            nexts = []
            for i in everyone:
                number += int(nodes[i][k]) * numbering.steps[layer][i]
                choices = list(agents[i].choices(stage, rows[k][i]).values())
                choice = int(chosen[i][k])
                code = code * len(choices) + choices.index(choice)
                nexts.append([into for _, into, _ in agents[i].outcomes(choice)])
            table[number] = code + 1
            if math.prod(map(len, nexts)) > most:
                raise SolverError(
                    f"this policy reaches more than {most:,} joint states, too many to store one "
                    "by one"
                )
            reached.update(itertools.product(*nexts))
    numbers = sorted(table)
    return [
        TeamRule(
            everyone,
            np.array([table[number] for number in numbers], np.uint32),
            numbers=np.array(numbers, np.uint64),
        )
    ]


def start_of_own(problem: PlanningProblem, stage: int, state: JointState | None) -> IndexedProblem:
    """The problem by numbers, for a policy that starts in a situation."""
    if not is_integer(stage) or not 0 <= stage < problem.horizon:
        raise ModelError(
            f"stage is {found(stage)}; expected a whole number from 0 to {problem.horizon - 1}"
        )
    return problem.index(stage=int(stage), state=state)
