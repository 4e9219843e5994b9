"""The test set ``mixed``: random TI-MMDPs that are not maintenance problems."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from coreplan.bench.sets.draw import Draw
from coreplan.model.conditions import Condition
from coreplan.model.timmdp import TIMMDP, Agent, Entry, RewardFunction

ENTRIES = 3
"""Entries of each reward function."""
STAGES_CHANCE = 0.3
"""Probability that an entry applies only at some stages."""


def make_mixed(
    draw: Draw,
    name: str,
    *,
    agents: int,
    horizon: int,
    states: int,
    actions: int,
    density: float,
    apart: float,
) -> TIMMDP:
    """A random team of agents that walk in circles.

    Rewards depend on states, actions, outcomes and features, some only at some stages. Every agent
    has its own rewards. Random pairs of agents interact, and one set of three or four agents always
    does. Every interaction has gains and losses.

    Parameters
    ----------
    draw, name
        Source of random numbers; name of the problem.
    agents, horizon
        Number of agents, at least 3, and of stages.
    states, actions
        Most local states of an agent, and most actions in a state.
    density
        Probability that two agents interact.
    apart
        Probability that one agent, of four or more, interacts with no other.
    """
    team = [_make_agent(draw, f"A{i + 1}", states, actions) for i in range(agents)]
    coupled = team[:-1] if draw.chance(apart) and agents > 3 else team
    scopes = [list(pair) for pair in itertools.combinations(coupled, 2) if draw.chance(density)]
    scopes.append(draw.some(coupled, draw.integer(3, min(4, len(coupled)))))
    own = [_make_reward(draw, [agent], horizon, -4.0, 8.0) for agent in team]
    shared = [_make_reward(draw, scope, horizon, 1.0, 9.0) for scope in scopes]
    return TIMMDP(tuple(team), (*own, *shared), horizon, name)


def _make_agent(draw: Draw, name: str, states: int, actions: int) -> Agent:
    count = draw.integer(2, states)
    names = [f"s{k}" for k in range(count)]
    transitions = {}
    for k, state in enumerate(names):
        # The first action may lead on in the circle: every state can then be reached again.
        laws = [_make_law(draw, names, names[(k + 1) % count])]
        for _ in range(draw.integer(1 if k else 2, actions) - 1):
            laws.append(_make_law(draw, names, draw.choice(names)))
        transitions[state] = {f"a{j}": law for j, law in enumerate(laws)}
    features = {state: {"busy": draw.chance(0.5)} for state in names}
    return Agent(name, names[0], transitions, features)


def _make_law(draw: Draw, states: Sequence[str], certain: str) -> dict[str, float]:
    """Probabilities of one to three next states, one of them given, in thousandths."""
    others = [state for state in states if state != certain]
    some = draw.some(others, draw.integer(0, min(2, len(others))))
    law = {}
    left = 1000
    for k, state in enumerate(some):
        part = draw.integer(1, left - len(some) + k)
        law[state] = part / 1000
        left -= part
    return {certain: left / 1000, **law}


def _make_reward(
    draw: Draw, scope: Sequence[Agent], horizon: int, low: float, high: float
) -> RewardFunction:
    """Entries of which, between several agents, every other one is a loss."""
    entries = []
    for k in range(ENTRIES):
        when = {agent.name: _make_condition(draw, agent) for agent in scope}
        sign = -1 if len(scope) > 1 and k % 2 else 1
        stages = None
        if draw.chance(STAGES_CHANCE):
            stages = tuple(draw.some(range(horizon), draw.integer(1, horizon)))
        entries.append(Entry(when, sign * draw.uniform(low, high, 2), stages))
    return RewardFunction(tuple(agent.name for agent in scope), tuple(entries))


def _make_condition(draw: Draw, agent: Agent) -> Condition:
    kind = draw.choice(("action", "state", "next", "state and action", "feature"))
    if kind == "feature":
        return Condition(next={"busy": draw.chance(0.5)})
    if kind == "next":
        return Condition(next=draw.choice(agent.states))
    state = draw.choice(agent.states) if kind != "action" else None
    known = agent.actions if state is None else tuple(agent.transitions[state])
    return Condition(state=state, action=draw.choice(known) if kind != "state" else None)
