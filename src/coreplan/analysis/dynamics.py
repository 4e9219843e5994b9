"""A problem as an environment: rewards, outcomes and random steps, by names."""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Mapping
from typing import Any

import numpy as np

from coreplan.errors import ModelError
from coreplan.model.indexed import JointState
from coreplan.model.problem import PlanningProblem
from coreplan.model.rewards import TransitionRewards
from coreplan.support.checks import found, is_integer
from coreplan.support.late import provides

MOST_OUTCOMES = 1_000_000
"""The most joint outcomes that are listed at once."""


class Dynamics:
    """What happens in a problem, asked by stage, state and action; made once for each problem.

    Joint states and actions are mappings from the names of all agents. States are given by their
    names, or by the values that they were made from, and come back as these values.

    Parameters
    ----------
    problem
        The problem.
    """

    def __init__(self, problem: PlanningProblem) -> None:
        self._indexed = problem.index()
        self._horizon = problem.horizon
        self._rewards = TransitionRewards(self._indexed)

    @property
    def initial_state(self) -> dict[str, Any]:
        """The joint state at stage 0."""
        return self._indexed.original_state([agent.start for agent in self._indexed.agents])

    def actions(self, stage: int, state: JointState) -> dict[str, tuple[str, ...]]:
        """The actions that each agent has."""
        numbers = self._find(stage, state)
        return {
            agent.name: tuple(agent.choices(stage, at))
            for agent, at in zip(self._indexed.agents, numbers, strict=True)
        }

    def reward(
        self, stage: int, state: JointState, action: Mapping[str, str], after: JointState
    ) -> float:
        """The reward of the team for a joint transition.

        Raises
        ------
        ModelError
            If the action is not available, or cannot lead there.
        """
        choices = self._indexed.find_choices(stage, self._find(stage, state), action)
        # At the horizon there are states but no actions, so this stage is not checked.
        nexts = self._indexed.find_state(stage + 1, after)
        transitions = []
        for agent, choice, into in zip(self._indexed.agents, choices, nexts, strict=True):
            same = [number for number, next_, _ in agent.outcomes(choice) if next_ == into]
            if not same:
                raise ModelError(
                    f"agent {found(agent.name)} cannot get to state "
                    f"{agent.states.label(into)!r} by this action"
                )
            transitions.append(same[0])
        return self._rewards.total(stage, transitions)

    def outcomes(
        self, stage: int, state: JointState, action: Mapping[str, str]
    ) -> list[tuple[dict[str, Any], float]]:
        """All joint states that can follow, with their probabilities."""
        choices = self._indexed.find_choices(stage, self._find(stage, state), action)
        laws = [
            agent.outcomes(choice)
            for agent, choice in zip(self._indexed.agents, choices, strict=True)
        ]
        count = int(np.prod([float(len(law)) for law in laws]))
        if count > MOST_OUTCOMES:
            raise ModelError(f"{count:,} joint states can follow, too many to list; use `sample`")
        return [
            (
                self._indexed.original_state([into for _, into, _ in joint]),
                float(np.prod([chance for _, _, chance in joint])),
            )
            for joint in itertools.product(*laws)
        ]

    def sample(
        self,
        stage: int,
        state: JointState,
        action: Mapping[str, str],
        random: np.random.Generator,
    ) -> dict[str, Any]:
        """A random next joint state."""
        return self.step(stage, state, action, random)[0]

    def step(
        self,
        stage: int,
        state: JointState,
        action: Mapping[str, str],
        random: np.random.Generator,
    ) -> tuple[dict[str, Any], float, bool]:
        """A random next joint state, the reward, and whether that was the last decision."""
        choices = self._indexed.find_choices(stage, self._find(stage, state), action)
        transitions = []
        for agent, choice in zip(self._indexed.agents, choices, strict=True):
            law = agent.outcomes(choice)
            bounds = np.cumsum([chance for _, _, chance in law])
            k = int(np.searchsorted(bounds, random.random() * bounds[-1], side="right"))
            transitions.append(law[min(k, len(law) - 1)][0])
        nexts = [
            agent.outcome_next[number]
            for agent, number in zip(self._indexed.agents, transitions, strict=True)
        ]
        reward = self._rewards.total(stage, transitions)
        return self._indexed.original_state(nexts), reward, stage + 1 == self._horizon

    def _find(self, stage: int, state: JointState) -> tuple[int, ...]:
        if not is_integer(stage) or not 0 <= stage < self._horizon:
            raise ModelError(
                f"stage is {found(stage)}; expected a whole number from 0 to {self._horizon - 1}"
            )
        return self._indexed.find_state(stage, state)


_known: dict[int, tuple[weakref.ref[PlanningProblem], Dynamics]] = {}


@provides("PlanningProblem.dynamics")
def dynamics_of(problem: PlanningProblem) -> Dynamics:
    """The dynamics of a problem, made at the first call."""
    kept = _known.get(id(problem))
    if kept is not None and kept[0]() is problem:
        return kept[1]
    made = Dynamics(problem)
    number = id(problem)
    _known[number] = (weakref.ref(problem, lambda _: _known.pop(number, None)), made)
    return made
