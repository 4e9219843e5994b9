"""The exact expected value of a policy, recomputed from the problem's own description.

Nothing here is shared with the solvers: no compiled model, no merged states, no bounds.
"""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

from coreplan.errors import SolverError
from coreplan.indexed import IndexedProblem
from coreplan.rewards import TransitionRewards

if TYPE_CHECKING:
    from coreplan.policy import Policy

MOST_JOINT_STATES = 5_000_000
"""Beyond this many joint states in one stage, forward evaluation gives up."""


def evaluate_forward(policy: Policy, most: int = MOST_JOINT_STATES) -> float:
    """Carry the distribution over joint states forward and add up expected rewards."""
    indexed = policy.indexed
    rewards = TransitionRewards(indexed)
    occupied = {indexed.find_state(indexed.stage, None): 1.0}
    total = 0.0
    for stage in range(indexed.stage, indexed.horizon):
        following: dict[tuple[int, ...], float] = {}
        for state, probability in occupied.items():
            choices = policy.choose(stage, state)
            laws = [
                agent.outcomes(choice)
                for agent, choice in zip(indexed.agents, choices, strict=True)
            ]
            for outcome in itertools.product(*laws):
                chance = probability * math.prod(p for _, _, p in outcome)
                total += chance * rewards.total(stage, [o for o, _, _ in outcome])
                after = tuple(n for _, n, _ in outcome)
                following[after] = following.get(after, 0.0) + chance
        if len(following) > most:
            raise SolverError(
                f"the policy can lead to more than {most} joint states at stage {stage + 1}: its "
                "exact value is out of reach of enumeration"
            )
        occupied = following
    return total


def evaluate_local(policy: Policy) -> float:
    """The same for a policy in which every agent looks at its own state only.

    The agents are then independent processes: the chance that an entry's conditions all match is
    the product of the agents' chances, so the value is exact for any number of agents.
    """
    indexed = policy.indexed
    rewards = TransitionRewards(indexed)
    n = len(indexed.agents)
    occupied: list[dict[int, float]] = [{agent.start: 1.0} for agent in indexed.agents]
    total = 0.0
    for stage in range(indexed.stage, indexed.horizon):
        chances: list[dict[int, float]] = []  # per agent: condition -> chance that it matches
        mass = []  # per agent: chance that it gets through this stage, 1 up to rounding
        for i in range(n):
            matched, occupied[i], all_of_it = _move_alone(
                policy, indexed, rewards, i, stage, occupied[i]
            )
            chances.append(matched)
            mass.append(all_of_it)
        for entry in indexed.entries:
            if not rewards.counts_at(entry, stage):
                continue
            looked_at = dict(entry.members)
            expected = entry.value
            for i in range(n):
                if i in looked_at:
                    expected *= chances[i].get(looked_at[i], 0.0)
                else:
                    expected *= mass[i]
            total += expected
    return total


def _move_alone(
    policy: Policy,
    indexed: IndexedProblem,
    rewards: TransitionRewards,
    i: int,
    stage: int,
    occupied: dict[int, float],
) -> tuple[dict[int, float], dict[int, float], float]:
    matched: dict[int, float] = {}
    following: dict[int, float] = {}
    for state, probability in occupied.items():
        choice = policy.choose_local(stage, i, state)
        for transition, after, p in indexed.agents[i].outcomes(choice):
            chance = probability * p
            following[after] = following.get(after, 0.0) + chance
            for condition in rewards.matched(i, transition):
                matched[condition] = matched.get(condition, 0.0) + chance
    return matched, following, sum(following.values())
