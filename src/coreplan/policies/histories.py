"""Which start and end times are meant where a joint state does not give them."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING

from coreplan.model.indexed import JointState
from coreplan.policies.graph import plan_graph

if TYPE_CHECKING:
    from coreplan.policies.policy import Policy

MOST_SITUATIONS = 50_000
"""How many joint histories that a policy leads to are looked at."""


class ReachedHistories:
    """The joint histories that a policy leads to, by what has been done.

    A policy whose states keep start and end times may decide with care only where it leads to.
    People ask by what has been done, so they mean one of these histories, if there is one.

    Parameters
    ----------
    policy
        A policy whose states may remember more than people ask by; where they do not, there is
        nothing to settle.
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
        """The numbers of a joint state, with times that the policy leads to where none are given.

        Parameters
        ----------
        stage, given
            A joint state as people give it.
        state
            What was found for it, with any times.
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
        """What has been done, without times."""
        return [
            agent.states.situation(index)
            for agent, index in zip(self._indexed.agents, state, strict=True)
        ]
