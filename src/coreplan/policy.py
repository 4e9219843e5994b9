"""Policies: what everybody does, at every stage, in every joint state that can come about."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from coreplan.checks import found
from coreplan.errors import ModelError
from coreplan.evaluate import evaluate_forward, evaluate_local
from coreplan.group_rule import GroupRule
from coreplan.indexed import IndexedProblem, JointState

if TYPE_CHECKING:
    from coreplan.compile import AnyProblem, CompiledProblem

Indices = NDArray[np.uint32]


@dataclass(frozen=True, eq=False)
class LocalMap:
    """One agent's way from local states to the classes that rules speak of, and back to actions.

    Nodes are (stage, local state) pairs, sorted by stage, then by the state's number. Nodes of a
    class have the same actions, up to their names: action k of a class is `node_action` at
    ``action_begin[node] + k``.
    """

    layer_begin: Indices
    """Per stage from the first: where its nodes begin; one more for the end."""
    node_state: Indices
    node_class: Indices
    """Number of the node's class within its stage."""
    class_count: Indices
    """Per stage: how many classes there are."""
    action_begin: Indices
    node_action: Indices
    """Number of an action's name."""

    def actions_of_classes(self) -> list[Indices]:
        """Per stage and class: how many actions there are."""
        per_node = np.diff(self.action_begin)
        rows = []
        for layer, classes in enumerate(self.class_count):
            nodes = slice(int(self.layer_begin[layer]), int(self.layer_begin[layer + 1]))
            counts = np.zeros(int(classes), np.uint32)
            counts[self.node_class[nodes]] = per_node[nodes]
            rows.append(counts)
        return rows

    def node(self, layer: int, state: int) -> int | None:
        """The node of a local state at a layer, or None if it cannot be reached there."""
        begin, end = int(self.layer_begin[layer]), int(self.layer_begin[layer + 1])
        at = begin + int(np.searchsorted(self.node_state[begin:end], state))
        return at if at < end and self.node_state[at] == state else None


@dataclass(frozen=True, eq=False)
class Reduced:
    """One agent's way from the classes of its map to the fewer classes that a team's rule uses.

    Classes of the map are counted over all stages, those of the rule within a stage.
    """

    class_of: Indices
    """Per class of the map: the class of the rule, or GONE where the rule does not know it."""
    class_count: Indices
    """Per stage before the horizon: how many classes the rule has."""
    action_begin: Indices
    """Per class of the map: where its row of `action_of` begins; one more for the end."""
    action_of: Indices
    """Per action of the rule's class: the number of the action of the map's class."""


GONE = 0xFFFF_FFFF


@dataclass(frozen=True, eq=False)
class TeamRule:
    """A joint action for the joint classes of some agents.

    The joint class (c_1, ..., c_n) of a stage has the number c_1·m_2·...·m_n + ... + c_n, where m_i
    is agent i's number of classes at that stage; stages follow one another. An entry is 0 where the
    rule does not know, else 1 + the number of the joint action, made in the same way of the agents'
    action numbers.
    """

    agents: tuple[int, ...]
    actions: Indices
    values: NDArray[np.float64] | None = None
    """The optimal values of the joint classes, where the solver gives them."""
    reduced: tuple[Reduced, ...] | None = None
    """Per agent of the team, if the rule uses classes of its own."""


@dataclass(frozen=True, eq=False)
class LocalRule:
    """An action for every class of every agent, whatever the others do.

    Per agent: the action's number for the classes of all stages, one stage after the other.
    """

    actions: tuple[Indices, ...]


@dataclass(frozen=True)
class _Numbering:
    """How the joint classes of a team are numbered."""

    steps: list[list[int]]
    """Per stage and agent of the team: what one class more adds."""
    layer_offset: list[int]
    """Per stage: the number of its first joint class; one more for the end."""


def number_joint_classes(counts: Sequence[Indices], layers: int) -> _Numbering:
    """Number the joint classes of agents with these numbers of classes per stage."""
    steps_at: list[list[int]] = []
    offset = [0]
    for layer in range(layers):
        # In Python's numbers: the product may be beyond all others.
        sizes = [int(each[layer]) for each in counts]
        *steps, size = itertools.accumulate(reversed(sizes), operator.mul, initial=1)
        steps_at.append(steps[::-1])
        offset.append(offset[-1] + size)
    return _Numbering(steps_at, offset)


class Policy:
    """What to do: a joint action for every stage and every joint state that can be reached.

    States can be reached by any actions, not only by the policy's own: people deviate. Made by
    :func:`coreplan.solve` or loaded by :meth:`load`.

    Attributes
    ----------
    problem
        The problem that it is for.
    stage
        The stage that it starts from.
    horizon
        The number of stages of the problem.
    """

    def __init__(
        self,
        problem: AnyProblem,
        indexed: IndexedProblem,
        maps: Sequence[LocalMap],
        teams: Sequence[TeamRule],
        local: LocalRule,
        *,
        history: bool,
        groups: GroupRule | None = None,
    ) -> None:
        self.problem = problem
        self.indexed = indexed
        self.maps = tuple(maps)
        self.teams = tuple(teams)
        self.local = local
        self.groups = groups
        self.history = history
        self.stage = indexed.stage
        self.horizon = indexed.horizon
        self._class_offset = [
            np.concatenate([[0], np.cumsum(each.class_count, dtype=np.int64)]) for each in self.maps
        ]

        self._numbering = [self._number(team) for team in self.teams]

    def _number(self, team: TeamRule) -> _Numbering:
        counts = [
            self.maps[i].class_count if team.reduced is None else team.reduced[k].class_count
            for k, i in enumerate(team.agents)
        ]
        return number_joint_classes(counts, self.horizon - self.stage)

    @property
    def is_local(self) -> bool:
        """Whether every agent looks at its own state only."""
        return not self.teams and self.groups is None

    # -- what to do ---------------------------------------------------------------------------

    def act(self, stage: int, joint_state: JointState | None = None) -> dict[str, str]:
        """The joint action at a stage in a joint state.

        Parameters
        ----------
        stage
            The stage, from the policy's first one to horizon - 1.
        joint_state
            A local state for every agent, by name. In a maintenance problem: what each contractor
            has done, is doing and how many steps remain. None: the state that the policy starts in.

        Returns
        -------
        dict
            An action's name for every agent.

        Raises
        ------
        ModelError
            If the joint state cannot come about at that stage.
        """
        if (
            isinstance(stage, bool)
            or not isinstance(stage, int)
            or not (self.stage <= stage < self.horizon)
        ):
            raise ModelError(
                f"stage is {found(stage)}; this policy runs from stage {self.stage} to "
                f"{self.horizon - 1}"
            )
        if joint_state is None and stage != self.stage:
            raise ModelError(f"say in which joint state the agents are at stage {stage}")
        state = self.indexed.find_state(stage, joint_state)
        nodes = self._nodes(stage, state)
        return {
            agent.name: agent.actions[action]
            for agent, action in zip(self.indexed.agents, self._actions(stage, nodes), strict=True)
        }

    def choose(self, stage: int, state: Sequence[int]) -> list[int]:
        """The agents' choices, all in numbers (see :class:`coreplan.indexed.IndexedAgent`)."""
        return [
            self._choice(stage, i, at, action)
            for i, (at, action) in enumerate(
                zip(state, self._actions(stage, self._nodes(stage, state)), strict=True)
            )
        ]

    def choose_local(self, stage: int, agent: int, state: int) -> int:
        """One agent's choice by the local rule."""
        node = self._node(stage, agent, state)
        return self._choice(stage, agent, state, self._local_action(stage, agent, node))

    def _choice(self, stage: int, agent: int, state: int, action: int) -> int:
        who = self.indexed.agents[agent]
        return who.choices(stage, state)[who.actions[action]]

    def _nodes(self, stage: int, state: Sequence[int]) -> list[int]:
        return [self._node(stage, i, at) for i, at in enumerate(state)]

    def _node(self, stage: int, agent: int, state: int) -> int:
        node = self.maps[agent].node(stage - self.stage, state)
        if node is None:
            who = self.indexed.agents[agent]
            raise ModelError(
                f"agent {found(who.name)} cannot be in state {who.states.label(state)!r} at stage "
                f"{stage}: no actions lead there from where this policy starts"
            )
        return node

    def _actions(self, stage: int, nodes: Sequence[int]) -> list[int]:
        """Numbers of the agents' action names."""
        actions = [self._local_action(stage, i, node) for i, node in enumerate(nodes)]
        if self.groups is not None:
            self._decide_groups(self.groups, stage, nodes, actions)
        for team, numbering in zip(self.teams, self._numbering, strict=True):
            self._decide_team(team, numbering, stage, nodes, actions)
        return actions

    def _decide_team(
        self,
        team: TeamRule,
        numbering: _Numbering,
        stage: int,
        nodes: Sequence[int],
        actions: list[int],
    ) -> None:
        """Overwrite the actions of a team whose rule knows the joint class."""
        layer = stage - self.stage
        number = numbering.layer_offset[layer]
        rows: list[Indices | None] = []  # per agent: what the rule's actions are in the map
        for k, i in enumerate(team.agents):
            own = int(self.maps[i].node_class[nodes[i]])
            row = None
            if team.reduced is not None:
                reduced = team.reduced[k]
                at = int(self._class_offset[i][layer]) + own
                own = int(reduced.class_of[at])
                if own == GONE:
                    return
                row = reduced.action_of[reduced.action_begin[at] : reduced.action_begin[at + 1]]
            rows.append(row)
            number += own * numbering.steps[layer][k]
        code = int(team.actions[number]) - 1
        if code < 0:
            return
        for k in range(len(team.agents) - 1, -1, -1):
            i = team.agents[k]
            row = rows[k]
            begin = int(self.maps[i].action_begin[nodes[i]])
            count = int(self.maps[i].action_begin[nodes[i] + 1]) - begin
            code, position = divmod(code, count if row is None else len(row))
            actions[i] = int(
                self.maps[i].node_action[begin + (position if row is None else int(row[position]))]
            )

    def _decide_groups(
        self, rule: GroupRule, stage: int, nodes: Sequence[int], actions: list[int]
    ) -> None:
        """Overwrite the actions of agents that a group's decision is known for."""
        layer = stage - self.stage
        classes = [int(each.node_class[node]) for each, node in zip(self.maps, nodes, strict=True)]
        numbers = [
            int(offset[layer]) + each
            for offset, each in zip(self._class_offset, classes, strict=True)
        ]
        for group in rule.groups(numbers):
            positions = rule.decisions.get((layer, group, tuple(classes[i] for i in group)))
            if positions is not None:
                for i, position in zip(group, positions, strict=True):
                    begin = int(self.maps[i].action_begin[nodes[i]])
                    actions[i] = int(self.maps[i].node_action[begin + position])

    def _local_action(self, stage: int, agent: int, node: int) -> int:
        each = self.maps[agent]
        at = self._class_offset[agent][stage - self.stage] + int(each.node_class[node])
        position = int(self.local.actions[agent][at])
        return int(each.node_action[int(each.action_begin[node]) + position])

    # -- what it is worth ---------------------------------------------------------------------

    def evaluate(self, method: str = "forward") -> float:
        """The exact expected value, from where the policy starts, recomputed from the problem.

        Parameters
        ----------
        method
            ``forward`` carries the distribution over joint states along (a policy in which every
            agent looks at itself only is evaluated agent by agent, for any number of agents);
            ``sequences`` enumerates all execution sequences, the paper's Eq. 4: small problems
            only.
        """
        if method == "sequences":
            from coreplan.sequences import execution_sequences, returns

            return sum(
                probability * returns(self.problem, sequence).total
                for sequence, probability in execution_sequences(self)
            )
        if method != "forward":
            raise ModelError(f"method is {found(method)}; expected 'forward' or 'sequences'")
        return evaluate_local(self) if self.is_local else evaluate_forward(self)

    # -- files --------------------------------------------------------------------------------

    def save(self, path: str | Path) -> None:
        """Write it to a file in the format ``policy/1`` (see docs/policy-format.md)."""
        from coreplan.formats.policy import write_policy

        write_policy(self, path)

    @classmethod
    def load(cls, path: str | Path, problem: AnyProblem) -> Policy:
        """Read a ``policy/1`` file that was saved for the same problem."""
        from coreplan.formats.policy import read_policy

        return read_policy(path, problem)

    def __repr__(self) -> str:
        kind = "local" if self.is_local else "joint"
        return (
            f"<Policy for {self.problem.name!r}: {kind} rules, stages {self.stage} to "
            f"{self.horizon - 1}>"
        )


def make_maps(compiled: CompiledProblem) -> list[LocalMap]:
    """The way from local states to the classes of a compiled problem."""
    maps = []
    for i, agent in enumerate(compiled.indexed.agents):
        classes_begin = compiled.model.layer_begin(i)
        layer_begin = compiled.graphs.layer_begin(i)
        per_layer = np.diff(layer_begin)
        node_class = compiled.model.node_class(i) - np.repeat(classes_begin[:-1], per_layer)
        action_of_choice = np.array(agent.choice_action or [0], dtype=np.uint32)
        maps.append(
            LocalMap(
                layer_begin,
                compiled.graphs.node_state(i),
                node_class.astype(np.uint32),
                np.diff(classes_begin).astype(np.uint32),
                compiled.model.node_choice_begin(i),
                action_of_choice[compiled.model.node_choice(i)],
            )
        )
    return maps
