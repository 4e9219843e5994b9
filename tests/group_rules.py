"""Rules of groups for tests, made of the description of a problem in plain Python."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from random import Random

import numpy as np

from coreplan import Policy
from coreplan.model.rewards import TransitionRewards
from coreplan.policies.group_rule import Chances, Event, GroupRule, GroupTable
from coreplan.policies.rules import GONE, LocalRule, Reduced, TeamRule
from team_rules import class_counts

Decisions = Mapping[tuple[int, tuple[int, ...], tuple[int, ...]], tuple[int, ...]]
"""Per (layer, agents, classes): the positions of actions."""
Ahead = frozenset[tuple[int, int]]
"""(condition, stage) pairs that an agent can still match."""


def with_groups(policy: Policy, teams: Sequence[TeamRule], groups: GroupRule | None) -> Policy:
    """The same policy with other joint rules."""
    return Policy(
        policy.problem,
        policy.indexed,
        policy.maps,
        teams,
        policy.local,
        history=policy.history,
        groups=groups,
    )


def make_rule(
    policy: Policy,
    teams: Iterable[Iterable[int]],
    decisions: Decisions,
    reduced: Sequence[Reduced] | None = None,
) -> GroupRule:
    """A rule for some teams whose lists are as short as can be, for the actions that are left."""
    events = []
    for team in map(frozenset, teams):
        for entry in policy.indexed.entries:
            members = tuple(each for each in entry.members if each[0] in team)
            if len(members) > 1:
                events.append(Event(members, entry.stages))
        for aggregate in policy.indexed.aggregates:
            # Two agents that can both add to a sum interact.
            amounts = {(i, condition) for i, condition, _ in aggregate.amounts if i in team}
            for one, other in itertools.combinations(sorted(amounts), 2):
                if one[0] != other[0]:
                    events.append(Event((one, other), aggregate.stages))
    linked = frozenset(i for event in events for i, _ in event.members)
    chances = tuple(write_lists(each) for each in lists_ahead(policy, events, linked, reduced))
    return GroupRule(
        chances, tuple(events), make_tables(decisions), None if reduced is None else tuple(reduced)
    )


def make_tables(decisions: Decisions) -> tuple[GroupTable, ...]:
    """Decisions as tables."""
    by_agents: dict[tuple[int, ...], list[tuple[int, tuple[int, ...], tuple[int, ...]]]] = {}
    for (layer, agents, classes), positions in decisions.items():
        by_agents.setdefault(agents, []).append((layer, classes, positions))
    return tuple(
        GroupTable(agents, *(np.array(column, np.uint32) for column in zip(*rows, strict=True)))
        for agents, rows in by_agents.items()
    )


def lists_ahead(
    policy: Policy,
    events: Sequence[Event],
    agents: frozenset[int],
    reduced: Sequence[Reduced] | None,
) -> list[list[Ahead]]:
    """Per agent and class of the rule, over all stages: what it can still match."""
    rewards = TransitionRewards(policy.indexed)
    layers = policy.horizon - policy.stage
    result = []
    for i, (agent, each) in enumerate(zip(policy.indexed.agents, policy.maps, strict=True)):
        used = {c for event in events for k, c in event.members if k == i}
        counts = [int(n) for n in (each if reduced is None else reduced[i]).class_count]
        own: list[list[Ahead]] = [[frozenset()] * count for count in counts]
        later: dict[int, Ahead] = {}  # by state
        for layer in range(layers - 1, -1, -1) if i in agents else ():
            stage = policy.stage + layer
            begin = int(each.class_count[:layer].sum())
            class_of = {}
            for node in range(int(each.layer_begin[layer]), int(each.layer_begin[layer + 1])):
                state = int(each.node_state[node])
                mine = int(each.node_class[node])
                actions = each.node_action[each.action_begin[node] : each.action_begin[node + 1]]
                if reduced is not None:
                    number = begin + mine
                    mine = int(reduced[i].class_of[number])
                    row = reduced[i].action_begin[number : number + 2]
                    actions = actions[reduced[i].action_of[row[0] : row[1]]]
                if mine == GONE:
                    continue
                class_of[state] = mine
                for action in actions:
                    choice = agent.choices(stage, state)[agent.actions[action]]
                    for transition, after, _ in agent.outcomes(choice):
                        matched = used & rewards.matched(i, transition)
                        now = {(condition, stage) for condition in matched}
                        own[layer][mine] |= now | later.get(after, frozenset())
            later = {state: own[layer][mine] for state, mine in class_of.items()}
        result.append([ahead for row in own for ahead in row])
    return result


def write_lists(ahead: Sequence[Ahead]) -> Chances:
    """Lists as a rule has them; each different one once, after an empty one."""
    numbers: dict[Ahead, int] = {frozenset(): 0}
    for each in ahead:
        numbers.setdefault(each, len(numbers))
    begin = np.cumsum([0, *(len(each) for each in numbers)])
    runs = [x for each in numbers for c, stage in sorted(each) for x in (c, stage, stage)]
    return Chances(
        np.array([numbers[each] for each in ahead], np.uint32),
        begin.astype(np.uint32),
        np.array(runs, np.uint32),
    )


def nobody(policy: Policy, agent: int) -> Reduced:
    """Classes for an agent that a rule knows nothing of."""
    classes = int(policy.maps[agent].class_count.sum())
    layers = policy.horizon - policy.stage
    columns = ([GONE] * classes, [0] * layers, [0] * (classes + 1), [])
    return Reduced(*(np.array(each, np.uint32) for each in columns))


def split_teams(policy: Policy, teams: Sequence[TeamRule]) -> Policy:
    """The same policy, where some teams decide in groups: each group as the whole team would."""
    reduced = [nobody(policy, i) for i in range(len(policy.maps))]
    for team in teams:
        assert team.reduced is not None
        for i, each in zip(team.agents, team.reduced, strict=True):
            reduced[i] = each
    bare = make_rule(policy, [team.agents for team in teams], {}, reduced)
    decisions: dict[tuple[int, tuple[int, ...], tuple[int, ...]], tuple[int, ...]] = {}
    for team in teams:
        for layer, classes, positions in _team_decisions(policy, team):
            for group in groups_of(bare, layer, dict(zip(team.agents, classes, strict=True))):
                at = [team.agents.index(i) for i in group]
                key = (layer, group, tuple(classes[k] for k in at))
                decisions.setdefault(key, tuple(positions[k] for k in at))
    rule = GroupRule(bare.chances, bare.events, make_tables(decisions), bare.reduced)
    return with_groups(policy, [team for team in policy.teams if team not in teams], rule)


def _team_decisions(
    policy: Policy, team: TeamRule
) -> Iterable[tuple[int, tuple[int, ...], tuple[int, ...]]]:
    """(layer, classes, positions) for all joint classes that a dense rule decides."""
    assert team.reduced is not None
    number = 0
    for layer, counts in enumerate(class_counts(policy, team)):
        widths = []
        for i, each, count in zip(team.agents, team.reduced, counts, strict=True):
            begin = int(policy.maps[i].class_count[:layer].sum())
            row = [1] * count
            for k in range(begin, begin + int(policy.maps[i].class_count[layer])):
                if each.class_of[k] != GONE:
                    row[each.class_of[k]] = int(each.action_begin[k + 1] - each.action_begin[k])
            widths.append(row)
        for classes in itertools.product(*map(range, counts)):
            code = int(team.actions[number]) - 1
            number += 1
            positions = []
            for own, row in reversed(list(zip(classes, widths, strict=True))):
                code, position = divmod(code, row[own])
                positions.append(position)
            if code == 0:
                yield layer, classes, tuple(reversed(positions))


def groups_of(rule: GroupRule, layer: int, classes: Mapping[int, int]) -> list[tuple[int, ...]]:
    """The groups of some agents, by their classes within a layer; from the definition."""
    assert rule.reduced is not None
    can: dict[int, set[tuple[int, int]]] = {}
    for i, own in classes.items():
        chances = rule.chances[i]
        number = chances.list_of[int(rule.reduced[i].class_count[:layer].sum()) + own]
        runs = chances.runs[3 * chances.list_begin[number] : 3 * chances.list_begin[number + 1]]
        can[i] = {
            (int(c), stage)
            for c, first, last in runs.reshape(-1, 3)
            for stage in range(first, last + 1)
        }
    groups = [{i} for i in classes]
    for event in rule.events:
        if not all(i in can for i, _ in event.members):
            continue
        stages = [{stage for c, stage in can[i] if c == own} for i, own in event.members]
        if event.stages is not None:
            stages.append(set(event.stages))
        if set.intersection(*stages):
            linked = [group for group in groups if any(i in group for i, _ in event.members)]
            groups = [group for group in groups if group not in linked]
            groups.append(set().union(*linked))
    return [tuple(sorted(group)) for group in groups]


def random_groups(policy: Policy, random: Random) -> Policy:
    """Anything may be decided in groups, but only actions that are left are taken, in any rule."""
    agents = range(len(policy.maps))
    made = [_leave_some(policy, i, random) for i in agents]
    reduced = [each for each, _ in made]
    local = []
    for each, own in zip(reduced, policy.local.actions, strict=True):
        rule = own.copy()
        for k, (begin, end) in enumerate(itertools.pairwise(each.action_begin.tolist())):
            if begin < end:
                rule[k] = each.action_of[random.randrange(begin, end)]
        local.append(rule)
    bare = make_rule(policy, [agents], {}, reduced)
    decisions = {}
    for layer in range(policy.horizon - policy.stage):
        for classes in itertools.product(*(range(len(widths[layer])) for _, widths in made)):
            for group in groups_of(bare, layer, dict(enumerate(classes))):
                key = (layer, group, tuple(classes[i] for i in group))
                if key not in decisions and random.random() < 0.8:
                    decisions[key] = tuple(
                        random.randrange(made[i][1][layer][classes[i]]) for i in group
                    )
    rule = GroupRule(bare.chances, bare.events, make_tables(decisions), bare.reduced)
    return Policy(
        policy.problem,
        policy.indexed,
        policy.maps,
        (),
        LocalRule(tuple(local)),
        history=policy.history,
        groups=rule,
    )


def _leave_some(policy: Policy, agent: int, random: Random) -> tuple[Reduced, list[list[int]]]:
    """Leave out actions, and classes that cannot be reached then; also the widths of the rest."""
    each, who = policy.maps[agent], policy.indexed.agents[agent]
    layers = policy.horizon - policy.stage
    reached = {who.start}
    class_of, begin, action_of, widths = [], [0], [], []
    for layer in range(layers + 1):
        kept: dict[int, list[int]] = {}  # by class of the map
        following = set()
        for node in range(int(each.layer_begin[layer]), int(each.layer_begin[layer + 1])):
            state, own = int(each.node_state[node]), int(each.node_class[node])
            if layer == layers or state not in reached:
                continue
            actions = each.node_action[each.action_begin[node] : each.action_begin[node + 1]]
            if own not in kept:
                kept[own] = random.sample(range(len(actions)), random.randint(1, len(actions)))
            for k in kept[own]:
                choice = who.choices(policy.stage + layer, state)[who.actions[actions[k]]]
                following.update(after for _, after, _ in who.outcomes(choice))
        reached = following
        numbers = {own: number for number, own in enumerate(kept)}
        for own in range(int(each.class_count[layer])):
            class_of.append(numbers.get(own, GONE))
            action_of += kept.get(own, [])
            begin.append(len(action_of))
        widths.append([len(row) for row in kept.values()])
    columns = (class_of, [len(row) for row in widths[:layers]], begin, action_of)
    return Reduced(*(np.array(column, np.uint32) for column in columns)), widths
