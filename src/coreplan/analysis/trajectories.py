"""Single runs of a simulation, step by step: the same runs that its statistics are about."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from coreplan.model.indexed import IndexedAgent
from coreplan.model.rewards import TransitionRewards
from coreplan.policies.evaluation import Beginning
from coreplan.policies.policy import Policy
from coreplan.support.frozen import FrozenMapping

_MASK = 0xFFFF_FFFF_FFFF_FFFF


@dataclass(frozen=True)
class Trajectory:
    """One run of a policy.

    Attributes
    ----------
    stage
        The stage of the first state.
    states
        The joint states, one more than actions: for each agent a value by name, as it was given.
    actions
        The joint actions, each with the name of an action for every agent.
    rewards
        The reward of the team at each stage.
    """

    stage: int
    states: tuple[Mapping[str, Any], ...]
    actions: tuple[Mapping[str, str], ...]
    rewards: tuple[float, ...]

    @property
    def total(self) -> float:
        """The return of the run: the sum of its rewards."""
        return float(sum(self.rewards))


class _Random:
    """The random numbers of a run, as the core makes them (``cpp/policies/random.hpp``)."""

    def __init__(self, seed: int) -> None:
        self._state = seed & _MASK

    def next(self) -> int:
        """The next 64 random bits."""
        self._state = (self._state + 0x9E3779B97F4A7C15) & _MASK
        x = self._state
        x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & _MASK
        return x ^ (x >> 31)

    def unit(self) -> float:
        """A number in [0, 1)."""
        return (self.next() >> 11) * 2.0**-53


def replay(policy: Policy, seed: int, count: int, start: Beginning) -> tuple[Trajectory, ...]:
    """The first runs of a simulation with this seed."""
    keys = np.random.SeedSequence(seed).generate_state(2, np.uint64).tolist()
    rewards = TransitionRewards(policy.indexed)
    return tuple(_replay(policy, keys, run, start, rewards) for run in range(count))


def _replay(
    policy: Policy, keys: list[int], run: int, start: Beginning, rewards: TransitionRewards
) -> Trajectory:
    random = _Random(keys[0] + _Random(keys[1] ^ run).next())
    indexed = policy.indexed
    state = start.state
    states = [state]
    actions = []
    earned = []
    for stage in range(start.stage, policy.horizon):
        first = stage == start.stage and start.choices is not None
        choices = list(start.choices or ()) if first else policy.choose(stage, state)
        drawn = [
            _draw(agent, choice, random)
            for agent, choice in zip(indexed.agents, choices, strict=True)
        ]
        earned.append(rewards.total(stage, drawn))
        actions.append(
            FrozenMapping(
                {
                    agent.name: agent.actions[agent.choice_action[choice]]
                    for agent, choice in zip(indexed.agents, choices, strict=True)
                }
            )
        )
        state = tuple(
            agent.outcome_next[transition]
            for agent, transition in zip(indexed.agents, drawn, strict=True)
        )
        states.append(state)
    return Trajectory(
        start.stage,
        tuple(FrozenMapping(indexed.original_state(each)) for each in states),
        tuple(actions),
        tuple(earned),
    )


def _draw(agent: IndexedAgent, choice: int, random: _Random) -> int:
    """Draw a transition: by cumulated probabilities, the last possible one taking the rest."""
    begin, end = agent.outcome_begin[choice : choice + 2]
    chances = agent.outcome_probability[begin:end]
    last = max(k for k, chance in enumerate(chances) if chance > 0)
    if last == 0:
        return begin
    number = random.unit()
    mass = 0.0
    uppers = []
    for chance in chances:
        mass += chance
        uppers.append(mass)
    return begin + next((k for k in range(last) if number < uppers[k] / mass), last)
