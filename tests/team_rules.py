"""Rules of teams for tests: random ones, and ones that know little; in plain Python."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from random import Random

import numpy as np

from coreplan import Policy
from coreplan.policies.rules import GONE, Reduced, TeamRule

State = tuple[int, ...]


def with_teams(policy: Policy, teams: Sequence[TeamRule]) -> Policy:
    """The same policy with other joint rules."""
    return Policy(
        policy.problem,
        policy.indexed,
        policy.maps,
        teams,
        policy.local,
        history=policy.history,
    )


def class_counts(policy: Policy, team: TeamRule) -> list[list[int]]:
    """Per stage and agent of a team: how many classes its rule has."""
    counts = [
        policy.maps[i].class_count if team.reduced is None else team.reduced[k].class_count
        for k, i in enumerate(team.agents)
    ]
    return [[int(each[layer]) for each in counts] for layer in range(policy.horizon - policy.stage)]


def joint_class(policy: Policy, team: TeamRule, stage: int, state: State) -> int | None:
    """The number of a team's joint class, or None if its rule does not know it."""
    layer = stage - policy.stage
    counts = class_counts(policy, team)
    number = 0
    for k, i in enumerate(team.agents):
        each = policy.maps[i]
        nodes = range(int(each.layer_begin[layer]), int(each.layer_begin[layer + 1]))
        (node,) = [node for node in nodes if each.node_state[node] == state[i]]
        own = int(each.node_class[node])
        if team.reduced is not None:
            own = int(team.reduced[k].class_of[int(each.class_count[:layer].sum()) + own])
            if own == GONE:
                return None
        number = number * counts[layer][k] + own
    return sum(math.prod(row) for row in counts[:layer]) + number


def reached(policy: Policy) -> Iterator[tuple[int, State]]:
    """Every (stage, joint state) that a policy can lead to."""
    states = {policy.indexed.find_state(policy.stage, None)}
    for stage in range(policy.stage, policy.horizon):
        following = set()
        for state in sorted(states):
            yield stage, state
            laws = [
                [after for _, after, _ in agent.outcomes(choice)]
                for agent, choice in zip(
                    policy.indexed.agents, policy.choose(stage, state), strict=True
                )
            ]
            following.update(itertools.product(*laws))
        states = following


def sparse(policy: Policy) -> Policy:
    """The same policy with rules that know only the joint classes that it can lead to."""
    teams = []
    states = list(reached(policy))
    for team in policy.teams:
        numbers = {joint_class(policy, team, stage, state) for stage, state in states}
        known = np.array(sorted(numbers - {None}), np.uint64)  # type: ignore[type-var]
        teams.append(
            TeamRule(team.agents, team.actions[known], reduced=team.reduced, numbers=known)
        )
    return with_teams(policy, teams)


def random_teams(policy: Policy, random: Random) -> Policy:
    """Agents at random in teams or in none, with rules that do anything, and know little or all."""
    agents = list(range(len(policy.maps)))
    random.shuffle(agents)
    teams = []
    while agents:
        size = random.randint(1, len(agents))
        members, agents = tuple(agents[:size]), agents[size:]
        if random.random() < 0.8:
            own_classes = random.random() < 0.5
            team = random_team(policy, members, random, own_classes=own_classes)
            if random.random() < 0.5:
                most = len(team.actions)
                known = sorted(random.sample(range(most), random.randint(0, most)))
                numbers = np.array(known, np.uint64)
                team = replace(team, actions=team.actions[numbers], numbers=numbers)
            teams.append(team)
    return with_teams(policy, teams)


def random_team(
    policy: Policy, agents: tuple[int, ...], random: Random, *, own_classes: bool = False
) -> TeamRule:
    """A rule with any joint action, now and then none, for all joint classes."""
    layers = policy.horizon - policy.stage
    # Per agent, stage and class: how many actions there are.
    widths = [[row.tolist() for row in policy.maps[i].actions_of_classes()] for i in agents]
    reduced = None
    if own_classes:
        made = [_random_reduced(policy, i, random) for i in agents]
        reduced = tuple(each for each, _ in made)
        widths = [each for _, each in made]
    actions = [
        random.randint(0 if random.random() < 0.2 else 1, math.prod(each))
        for layer in range(layers)
        for each in itertools.product(*(row[layer] for row in widths))
    ]
    return TeamRule(agents, np.array(actions, np.uint32), reduced=reduced)


def _random_reduced(policy: Policy, agent: int, random: Random) -> tuple[Reduced, list[list[int]]]:
    """Classes of a rule's own, and per stage how many actions each has."""
    layers = policy.horizon - policy.stage
    class_of, begin, action_of, widths = [], [0], [], []
    for layer, row in enumerate(policy.maps[agent].actions_of_classes()):
        own: list[int] = []  # the rule's class k has the k-th of these numbers of actions
        for count in row.tolist():
            if layer == layers or random.random() < 0.2:
                class_of.append(GONE)
            else:
                width = random.randint(1, count)
                if width not in own:
                    own.append(width)
                class_of.append(own.index(width))
                action_of += random.sample(range(count), width)
            begin.append(len(action_of))
        widths.append(own)
    columns = (class_of, [len(row) for row in widths[:layers]], begin, action_of)
    return Reduced(*(np.array(each, np.uint32) for each in columns)), widths[:layers]
