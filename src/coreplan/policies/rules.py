"""The parts of policies: maps from local states to classes, and rules with actions for classes."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from coreplan.errors import ModelError
from coreplan.policies.group_rule import GroupRule

Indices = NDArray[np.uint32]
Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class LocalMap:
    """One agent's map from local states to classes, which rules use, and back to actions.

    Nodes are pairs of stage and local state, sorted by stage, then by the number of the state.
    Nodes of a class have the same actions, up to their names: action k of a class is `node_action`
    at ``action_begin[node] + k``.
    """

    layer_begin: Indices
    """For each stage from the first: its first node; at the end, the number of nodes."""
    node_state: Indices
    node_class: Indices
    """Number of the node's class within its stage."""
    class_count: Indices
    """For each stage: the number of classes."""
    action_begin: Indices
    node_action: Indices
    """Number of an action's name."""

    def actions_of_classes(self) -> list[Indices]:
        """For each stage and class: the number of actions."""
        per_node = np.diff(self.action_begin)
        rows = []
        for layer, classes in enumerate(self.class_count):
            nodes = slice(int(self.layer_begin[layer]), int(self.layer_begin[layer + 1]))
            counts = np.zeros(int(classes), np.uint32)
            counts[self.node_class[nodes]] = per_node[nodes]
            rows.append(counts)
        return rows


@dataclass(frozen=True, eq=False)
class Reduced:
    """One agent's map from the classes of its local map to the fewer classes of a joint rule.

    Classes of the local map are counted through all stages, those of the rule within a stage.
    """

    class_of: Indices
    """For each class of the map: the class of the rule, or GONE if the rule does not know it."""
    class_count: Indices
    """For each stage before the horizon: the number of classes of the rule."""
    action_begin: Indices
    """For each class of the map: the start of its row in `action_of`; at the end, the length."""
    action_of: Indices
    """For each action of the rule's class: the number of the action of the map's class."""


GONE = 0xFFFF_FFFF


@dataclass(frozen=True, eq=False)
class TeamRule:
    """A joint action for the joint classes of some agents.

    The joint class (c_1, ..., c_n) of a stage has the number c_1·m_2·...·m_n + ... + c_n, where m_i
    is agent i's number of classes at that stage; the numbers of later stages follow. An entry is 0
    if the rule does not decide, else 1 + the number of the joint action. That number is made in the
    same way from the agents' action numbers.
    """

    agents: tuple[int, ...]
    actions: Indices
    """For each joint class: the entry with its joint action."""
    values: NDArray[np.float64] | None = None
    """For each joint class: its optimal value, if the solver gives it."""
    reduced: tuple[Reduced, ...] | None = None
    """For each agent of the team: the map to the rule's classes, if the rule has its own."""
    numbers: NDArray[np.uint64] | None = None
    """The numbers of the joint classes that the rule knows, ascending; None means all."""

    def find(self, numbers: NDArray[np.uint64]) -> Indices:
        """Look up the entries of `actions` for joint classes, by number; 0 if unknown."""
        if self.numbers is None:
            return self.actions[numbers]
        at = np.searchsorted(self.numbers, numbers)
        there = np.flatnonzero(at < len(self.numbers))
        there = there[self.numbers[at[there]] == numbers[there]]
        entries = np.zeros(len(numbers), np.uint32)
        entries[there] = self.actions[at[there]]
        return entries


@dataclass(frozen=True, eq=False)
class LocalRule:
    """An action for every class of every agent, whatever the others do.

    For each agent: the number of the action for each class, counted through all stages.
    """

    actions: tuple[Indices, ...]


@dataclass(frozen=True)
class Numbering:
    """The numbering of the joint classes of a team."""

    steps: list[list[int]]
    """For each stage and agent of the team: the step between numbers of neighbouring classes."""
    layer_offset: list[int]
    """For each stage: the number of its first joint class; at the end, the number of all."""


MOST_JOINT_CLASSES = 2**64 - 1
"""The most joint classes of a team, so that 64 bits can number them."""


def number_joint_classes(
    maps: Sequence[LocalMap],
    agents: Sequence[int],
    reduced: Sequence[Reduced] | None,
    layers: int,
) -> Numbering:
    """Number the joint classes of a team's rule."""
    counts = [
        maps[i].class_count if reduced is None else reduced[k].class_count
        for k, i in enumerate(agents)
    ]
    steps_at: list[list[int]] = []
    offset = [0]
    for layer in range(layers):
        # Python's integers: the product may exceed all other number types.
        sizes = [int(each[layer]) for each in counts]
        *steps, size = itertools.accumulate(reversed(sizes), operator.mul, initial=1)
        steps_at.append(steps[::-1])
        offset.append(offset[-1] + size)
    return Numbering(steps_at, offset)


def check_numbers(team: TeamRule, numbering: Numbering) -> None:
    """Check that a rule has an entry for every joint class, or lists the ones it knows."""
    classes = numbering.layer_offset[-1]
    if team.numbers is None:
        if len(team.actions) != classes:
            raise ModelError(
                f"a team rule has {len(team.actions)} entries; expected {classes}, one for each "
                "joint class"
            )
        return
    if classes > MOST_JOINT_CLASSES:
        raise ModelError(
            f"a team of {len(team.agents)} agents has more joint classes than 64 bits can number; "
            "use smaller teams, or a rule with fewer classes of its own"
        )
    if team.numbers.dtype != np.uint64 or len(team.numbers) != len(team.actions):
        raise ModelError(
            f"a team rule has {len(team.actions)} entries and {len(team.numbers)} numbers of joint "
            f"classes ({team.numbers.dtype}); expected as many of each, and the type uint64"
        )
    if np.any(team.numbers[1:] <= team.numbers[:-1]):
        raise ModelError("the numbers of a team rule's joint classes are not in ascending order")
    if len(team.numbers) and int(team.numbers[-1]) >= classes:
        raise ModelError("a team rule names an unknown joint class")


def check_disjoint(teams: Iterable[Sequence[int]]) -> None:
    """Check that no agent is in two teams, or twice in one."""
    taken: set[int] = set()
    for agents in teams:
        if len({*agents, *taken}) != len(agents) + len(taken):
            raise ModelError("an agent is in two teams")
        taken.update(agents)


def check_groups(rule: GroupRule, maps: Sequence[LocalMap], teams: Iterable[TeamRule]) -> None:
    """Check that a group rule names known agents outside teams, with a list for every class."""
    if len(rule.chances) != len(maps) or not rule.agents <= {*range(len(maps))}:
        raise ModelError("a group rule is for other agents than those of the problem")
    if rule.reduced is not None and len(rule.reduced) != len(maps):
        raise ModelError("a group rule has classes of its own for only some of the agents")
    if any(i in rule.agents for team in teams for i in team.agents):
        raise ModelError("an agent is both in a team and in a group")
    for i, chances in enumerate(rule.chances):
        counts = maps[i].class_count if rule.reduced is None else rule.reduced[i].class_count
        if len(chances.list_of) != int(counts.sum(dtype=np.int64)):
            raise ModelError("a group rule lacks the list of a class")


def count_before(class_count: Indices) -> Integers:
    """For each stage: the number of classes of earlier stages; at the end, of all."""
    return np.concatenate([[0], np.cumsum(class_count, dtype=np.int64)])
