"""Policies from a later stage and joint state on: the part of a policy that still counts there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

from coreplan.errors import ModelError
from coreplan.model.indexed import IndexedAgent, JointState
from coreplan.model.problem import index_problem
from coreplan.policies.group_rule import GroupRule, GroupTable
from coreplan.policies.lookahead import LookaheadRule
from coreplan.policies.rules import (
    GONE,
    Indices,
    Integers,
    LocalMap,
    LocalRule,
    Reduced,
    TeamRule,
    count_before,
    number_joint_classes,
)
from coreplan.support.checks import found

if TYPE_CHECKING:
    from coreplan.policies.policy import Policy

_Policy = TypeVar("_Policy", bound="Policy")


def later_policy(policy: _Policy, stage: int, joint_state: JointState | None) -> _Policy:
    """The same decisions, for a start at a later stage and in a given joint state.

    The result has the states that can be reached from there, numbered as if it had been solved
    from there: it can be evaluated, drawn and saved as any other policy.
    """
    problem, horizon, step = policy.problem, policy.horizon, policy.problem.words.stage
    if isinstance(stage, bool) or not isinstance(stage, int) or stage >= horizon or stage < 0:
        raise ModelError(
            f"stage is {found(stage)}; expected a whole number from 0 to {horizon - 1}"
        )
    if stage < policy.stage:
        raise ModelError(
            f"this plan starts at {step} {policy.stage}; it does not cover {step} {stage}"
        )
    if joint_state is None and stage != policy.stage:
        raise ModelError(f"the joint state at stage {stage} is missing; give joint_state")
    state = _find(policy, stage, joint_state)
    _check_decided(policy, stage, state, joint_state)
    if (stage, state) == (policy.stage, policy.find_state(stage, None)):
        return policy
    indexed = index_problem(
        problem, history=policy.history, stage=stage, state=policy.indexed.name_state(state)
    )
    first = stage - policy.stage
    kept = [
        _Kept.of(each, before, after, stage, first)
        for each, before, after in zip(
            policy.maps, policy.indexed.agents, indexed.agents, strict=True
        )
    ]
    maps = [each.map for each in kept]
    local = LocalRule(
        tuple(
            actions[each.numbers] for actions, each in zip(policy.local.actions, kept, strict=True)
        )
    )
    teams = [_later_team(team, policy.maps, kept, first, horizon - stage) for team in policy.teams]
    groups = None if policy.groups is None else _later_groups(policy.groups, kept, first)
    ahead = [_later_ahead(rule, kept, first) for rule in policy.ahead]
    return type(policy)(
        problem, indexed, maps, teams, local, history=policy.history, groups=groups, ahead=ahead
    )


def _find(policy: Policy, stage: int, joint_state: JointState | None) -> tuple[int, ...]:
    """The numbers of a joint state; raises a ModelError if the policy does not cover it."""
    try:
        state = policy.find_state(stage, joint_state)
    except ModelError as error:
        # A state that the problem does not have at all is another mistake.
        index_problem(policy.problem, stage=stage, state=joint_state)
        raise ModelError(_not_covered(policy, stage, str(error))) from None
    layer = stage - policy.stage
    for agent, each, number in zip(policy.indexed.agents, policy.maps, state, strict=True):
        nodes = slice(int(each.layer_begin[layer]), int(each.layer_begin[layer + 1]))
        if number not in each.node_state[nodes]:
            who = f"{policy.problem.words.agent} {found(agent.name)}"
            reason = f"{who} cannot be in state {agent.states.label(number)!r}; correct the state"
            raise ModelError(_not_covered(policy, stage, reason))
    return state


def _check_decided(
    policy: Policy, stage: int, state: tuple[int, ...], joint_state: JointState | None
) -> None:
    """Raise a ModelError if agents have decided otherwise than the policy: a work that has started.

    The state then allows fewer actions than its place in the policy.
    """
    if joint_state is None or joint_state == policy.indexed.name_state(state):
        return
    words = policy.problem.words
    given = index_problem(policy.problem, stage=stage, state=joint_state)
    for mine, agent, choice in zip(
        policy.indexed.agents, given.agents, policy.choose(stage, state), strict=True
    ):
        action = mine.actions[mine.choice_action[choice]]
        allowed = list(agent.choices(stage, agent.start))
        if allowed and action not in allowed:
            raise ModelError(
                f"this plan does not go on from the state at {words.stage} {stage}: there, "
                f"{words.agent} {found(agent.name)} has decided {found(allowed[0])}, and the plan "
                f"has {found(action)}; correct the state, or make a new plan from it"
            )


def _not_covered(policy: Policy, stage: int, reason: str) -> str:
    """The message for a state that nothing leads to from the start of a policy."""
    return (
        f"this plan does not cover the state at {policy.problem.words.stage} {stage}, because "
        f"nothing leads there from its start: {reason}, or make a new plan from this state"
    )


@dataclass(frozen=True)
class _Kept:
    """The part of an agent's map that still counts.

    Attributes
    ----------
    map
        The new map.
    classes
        For each stage of the new map: the old classes that are kept, ascending.
    numbers
        The same classes, in the numbers through all stages of the old map.
    """

    map: LocalMap
    classes: list[Integers]
    numbers: Integers

    @classmethod
    def of(
        cls, old: LocalMap, before: IndexedAgent, after: IndexedAgent, stage: int, first: int
    ) -> _Kept:
        """Keep the states that an agent reaches from its new start.

        Parameters
        ----------
        old
            The whole map.
        before, after
            The agent in the numbers of the old and of the new policy.
        stage
            The first stage of the new policy.
        first
            The same, counted from the first stage of the old one.
        """
        number_of = {before.states.label(k): k for k in range(len(before.states))}
        class_begin = count_before(old.class_count)
        begin = old.layer_begin.astype(np.int64)
        nodes, states, node_class, classes, numbers = [], [], [], [], []
        reached = {after.start}
        for layer in range(first, len(old.class_count)):
            here = sorted(reached)
            mine = np.array([number_of[after.states.label(k)] for k in here], np.int64)
            known = old.node_state[begin[layer] : begin[layer + 1]]
            at = begin[layer] + known.searchsorted(mine)
            used, new_class = np.unique(old.node_class[at], return_inverse=True)
            nodes.append(at)
            states.append(np.array(here, np.uint32))
            node_class.append(new_class.astype(np.uint32))
            classes.append(used.astype(np.int64))
            numbers.append(used + class_begin[layer])
            now = stage + layer - first
            reached = {
                next_state
                for k in here
                for choice in after.choices(now, k).values()
                for _, next_state, _ in after.outcomes(choice)
            }
        chosen = np.concatenate(nodes)
        rows, action_begin = _rows(old.action_begin, chosen)
        action_of = {name: k for k, name in enumerate(after.actions)}
        renamed = np.array([action_of.get(name, 0) for name in before.actions], np.uint32)
        made = LocalMap(
            count_before(np.array([len(each) for each in nodes], np.uint32)).astype(np.uint32),
            np.concatenate(states),
            np.concatenate(node_class),
            np.array([len(each) for each in classes], np.uint32),
            action_begin,
            renamed[old.node_action[rows]],
        )
        return cls(made, classes, np.concatenate(numbers).astype(np.int64))


def _rows(begin: Indices, chosen: Integers) -> tuple[Integers, Indices]:
    """The positions of the chosen rows of a list of rows, and where the new rows begin."""
    wide = begin.astype(np.int64)
    counts = wide[chosen + 1] - wide[chosen]
    new_begin = np.concatenate([[0], np.cumsum(counts)])
    positions = np.repeat(wide[chosen] - new_begin[:-1], counts) + np.arange(counts.sum())
    return positions, new_begin.astype(np.uint32)


def _later_classes(
    reduced: Reduced | None, kept: _Kept, layers: int
) -> tuple[Reduced | None, list[Integers]]:
    """A rule's own classes for the kept ones of an agent, and for each stage the old numbers."""
    if reduced is None:
        return None, kept.classes
    class_of = reduced.class_of[kept.numbers]
    positions, action_begin = _rows(reduced.action_begin, kept.numbers)
    used = []
    ends = np.cumsum([len(each) for each in kept.classes]).tolist()
    for layer in range(layers):
        own = slice(ends[layer] - len(kept.classes[layer]), ends[layer])
        known = class_of[own] != GONE
        numbers, place = np.unique(class_of[own][known], return_inverse=True)
        class_of[own.start + np.flatnonzero(known)] = place
        used.append(numbers.astype(np.int64))
    counts = np.array([len(each) for each in used], np.uint32)
    return Reduced(class_of, counts, action_begin, reduced.action_of[positions]), used


def _later_team(
    team: TeamRule, maps: Sequence[LocalMap], kept: Sequence[_Kept], first: int, layers: int
) -> TeamRule:
    """The entries of a team's rule for the joint classes that can still come about."""
    own = [
        _later_classes(None if team.reduced is None else team.reduced[k], kept[i], layers)
        for k, i in enumerate(team.agents)
    ]
    used = [each for _, each in own]
    reduced = tuple(each for each, _ in own if each is not None) or None
    old = number_joint_classes(maps, team.agents, team.reduced, first + layers)
    new_maps = [each.map for each in kept]
    new = number_joint_classes(new_maps, team.agents, reduced, layers)
    entries: list[NDArray[np.intp]] = []
    numbers: list[NDArray[np.uint64]] = []
    for layer in range(layers):
        begin, end = old.layer_offset[first + layer : first + layer + 2]
        here = [each[layer] for each in used]
        if team.numbers is None:
            at = np.array([begin], np.int64)
            for each, step in zip(here, old.steps[first + layer], strict=True):
                at = np.add.outer(at, each * step).ravel()
            entries.append(at)
            continue
        low, high = team.numbers.searchsorted(np.array([begin, end], np.uint64)).tolist()
        rest = team.numbers[low:high] - np.uint64(begin)
        number = np.full(len(rest), new.layer_offset[layer], np.uint64)
        there = np.ones(len(rest), bool)
        steps = zip(here, old.steps[first + layer], new.steps[layer], strict=True)
        for each, old_step, new_step in steps:
            asked, rest = np.divmod(rest, np.uint64(old_step))
            place, known = _places(each, asked.astype(np.int64))
            there &= known
            number += place.astype(np.uint64) * np.uint64(new_step)
        entries.append(low + np.flatnonzero(there))
        numbers.append(number[there])
    chosen = np.concatenate(entries)
    return TeamRule(
        team.agents,
        team.actions[chosen],
        None if team.values is None else team.values[chosen],
        reduced,
        None if team.numbers is None else np.concatenate(numbers),
    )


def _later_ahead(rule: LookaheadRule, kept: Sequence[_Kept], first: int) -> LookaheadRule:
    """The same rule for fewer classes; its model is that of the whole plan."""
    reduced = []
    for each, i in zip(rule.reduced, rule.agents, strict=True):
        positions, action_begin = _rows(each.action_begin, kept[i].numbers)
        reduced.append(
            Reduced(
                each.class_of[kept[i].numbers],
                each.class_count[first:],
                action_begin,
                each.action_of[positions],
            )
        )
    return replace(rule, reduced=tuple(reduced))


def _places(sorted_numbers: Integers, asked: Integers) -> tuple[Integers, NDArray[np.bool_]]:
    """The places of numbers in a list, and which of them are in it."""
    place = sorted_numbers.searchsorted(asked)
    known = place < len(sorted_numbers)
    known[known] = sorted_numbers[place[known]] == asked[known]
    return np.where(known, place, 0), known


def _later_groups(rule: GroupRule, kept: Sequence[_Kept], first: int) -> GroupRule:
    """The decisions of groups for the joint classes that can still come about."""
    reduced, used, chances = [], [], []
    for i, each in enumerate(kept):
        old = None if rule.reduced is None else rule.reduced[i]
        # Without own classes, the rule has a list for the classes at the horizon, too.
        layers = len(each.classes) - (old is not None)
        made, numbers = _later_classes(old, each, layers)
        if made is not None and old is not None:
            begin = count_before(old.class_count)
            through = [some + begin[first + layer] for layer, some in enumerate(numbers)]
            lists = rule.chances[i].list_of[np.concatenate(through)]
            reduced.append(made)
        else:
            lists = rule.chances[i].list_of[each.numbers]
        used.append(numbers)
        chances.append(replace(rule.chances[i], list_of=lists))
    tables = [_later_table(table, used, first) for table in rule.tables]
    own = tuple(reduced) if rule.reduced is not None else None
    return GroupRule(tuple(chances), rule.events, tuple(tables), own)


def _later_table(table: GroupTable, used: Sequence[Sequence[Integers]], first: int) -> GroupTable:
    """The rows of a table of decisions for classes that are kept, with their new numbers."""
    rows = np.flatnonzero(table.layers >= first)
    layers = table.layers[rows] - np.uint32(first)
    classes = np.zeros((len(rows), len(table.agents)), np.uint32)
    there = np.ones(len(rows), bool)
    for layer in np.unique(layers).tolist():
        at = np.flatnonzero(layers == layer)
        for k, i in enumerate(table.agents):
            place, known = _places(used[i][layer], table.classes[rows[at], k].astype(np.int64))
            classes[at, k] = place
            there[at] &= known
    rows = rows[there]
    return GroupTable(table.agents, layers[there], classes[there], table.positions[rows])
