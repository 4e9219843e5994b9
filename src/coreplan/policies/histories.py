"""Completing a joint state without start and end times by those that a policy reaches."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING

from coreplan.model.indexed import JointState
from coreplan.policies.graph import plan_graph

if TYPE_CHECKING:
    from coreplan.policies.policy import Policy

MOST_SITUATIONS = 50_000
"""The most joint histories of a policy that are examined."""


class ReachedHistories:
    """The joint histories that a policy reaches, by progress without times.

    A policy whose states include start and end times may decide well only in states that it
    reaches. People ask by progress without times, so they mean one of the reached histories, if
    any.

    Parameters
    ----------
    policy
        A policy whose states may remember more than people give; otherwise nothing needs to be
        completed.
    """

    def __init__(self, policy: Policy) -> None:
        self._indexed = policy.indexed
        self._known: dict[tuple[Hashable, ...], list[tuple[int, ...]]] = {}
        if not any(agent.states.remembers for agent in self._indexed.agents):
            return
        for situation in plan_graph(policy, MOST_SITUATIONS).situations:
            state = self._indexed.find_state(situation.stage, situation.state)
            self._known.setdefault((situation.stage, *self._done(state)), []).append(state)

    def settle(self, stage: int, given: JointState, state: tuple[int, ...]) -> tuple[int, ...]:
        """The state numbers of a joint state, with times that the policy reaches if none are given.

        Parameters
        ----------
        stage, given
            A joint state from a user.
        state
            The state numbers found for it, with arbitrary times.
        """
        if not self._known:
            return state
        exact = [
            i
            for i, agent in enumerate(self._indexed.agents)
            if agent.states.gives_past(given[agent.name])
        ]
        for reached in self._known.get((stage, *self._done(state)), ()):
            if all(reached[i] == state[i] for i in exact):
                return reached
        return state

    def _done(self, state: Sequence[int]) -> list[Hashable]:
        """The progress in a joint state, without times."""
        return [
            agent.states.situation(index)
            for agent, index in zip(self._indexed.agents, state, strict=True)
        ]
