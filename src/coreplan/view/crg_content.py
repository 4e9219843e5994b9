"""The content of a picture of a conditional return graph: states, trees and labels, no places."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from coreplan import _core
from coreplan.solving.compile import describe
from coreplan.solving.limits import Limits
from coreplan.view.crg_labels import Label, Labels, Moves, number

if TYPE_CHECKING:
    from coreplan.solving.crg import ConditionalReturnGraphs

MOST_WAYS = 64
"""The most combinations of merged transitions that are examined for one reward."""


@dataclass
class StateNode:
    """A local state in the picture."""

    label: Label
    independent: bool
    bounds: str
    taken: bool = False
    """Whether the highlighted execution sequence passes it."""


@dataclass
class TreeNode:
    """A node of an action or influence tree, with the arc that leads to it."""

    parent: int
    depth: int
    kind: str
    """``action`` for inner nodes of action trees, ``leaf`` for their leaves, ``influence``."""
    arc: str
    """The kind of the arc: ``own``, ``action``, ``wildcard``, ``influence`` or ``no-influence``."""
    label: Label
    reward: str = ""
    taken: bool = False


@dataclass
class Transition:
    """One transition of the agent: a tree, or a plain arc if other agents have no influence."""

    source: int
    target: int
    label: Label
    nodes: list[TreeNode] = field(default_factory=list)
    reward: str = ""
    taken: bool = False

    @property
    def leaves(self) -> list[TreeNode]:
        """The nodes with arcs to the next state, from top to bottom."""
        deepest = self.nodes[-1].depth if self.nodes else 0
        return [node for node in self.nodes if node.depth == deepest]


@dataclass
class Panel:
    """A graph: the states of each stage, and the transitions between stages."""

    heading: Label
    first_stage: int
    columns: list[list[StateNode]]
    stages: list[list[Transition]]
    naive: bool = False


@dataclass
class _Influence:
    """An arc for a state transition of another agent; it stands for all of `arcs`."""

    kind: str
    label: Label
    arcs: tuple[int, ...]
    taken: bool = False


@dataclass
class _Branch:
    """An arc for an action of another agent."""

    kind: str
    label: Label
    influences: list[_Influence]
    taken: bool = False


class Content:
    """Collects the content of one agent's graph; `taken` are the arcs of a highlighted sequence."""

    def __init__(
        self,
        crgs: ConditionalReturnGraphs,
        labels: Labels,
        agent: int,
        taken: Mapping[int, Sequence[int]] | None = None,
    ) -> None:
        self.crgs = crgs
        self.labels = labels
        self.agent = agent
        self._taken = taken or {}
        self.graphs = crgs.graphs
        self.moves = labels.moves[agent]
        self._trees: dict[int, _core.RewardTree] = {}

    def panel(self, first: int, last: int, *, naive: bool = False) -> Panel:
        """Collect the graph between two stages."""
        start = self.crgs.indexed.stage
        begin = self.graphs.layer_begin(self.agent)
        shown = self.crgs.core.in_graph(self.agent)
        layers = [
            [n for n in range(begin[t - start], begin[t - start + 1]) if naive or shown[n]]
            for t in range(first, last + 1)
        ]
        stages = []
        for layer, (here, after) in enumerate(itertools.pairwise(layers), first - start):
            place = {node: k for k, node in enumerate(after)}
            stages.append(
                [
                    transition
                    for k, node in enumerate(here)
                    for transition in self._transitions(layer, k, node, place, naive)
                ]
            )
        columns = [[self._state(node, naive) for node in nodes] for nodes in layers]
        return Panel(self.labels.heading(self.agent, naive), first, columns, stages, naive)

    def _state(self, node: int, naive: bool) -> StateNode:
        core = self.crgs.core
        lower, upper = core.lower(self.agent)[node], core.upper(self.agent)[node]
        independent = not naive and bool(core.independent(self.agent)[node])
        bounds = "" if naive else f"[{number(lower)}, {number(upper)}]"
        label = self.labels.state(self.agent, node)
        return StateNode(label, independent, bounds, not naive and node in self._passed)

    @cached_property
    def _passed(self) -> set[int]:
        """The nodes of this agent that the highlighted sequence passes."""
        pairs = (self.moves.pair(arcs[self.agent]) for arcs in self._taken.values())
        return {node for pair in pairs for node in pair}

    def _transitions(
        self, layer: int, source: int, node: int, place: dict[int, int], naive: bool
    ) -> Iterator[Transition]:
        choices = self.graphs.choice_begin(self.agent)
        first, last = int(choices[node]), int(choices[node + 1])
        if not naive and self.crgs.core.independent(self.agent)[node]:
            first += int(self.crgs.core.local_choice(self.agent)[node])
            last = first + 1
        begin = self.graphs.arc_begin(self.agent)
        for choice in range(first, last):
            merged: dict[object, list[int]] = {}
            for arc in range(int(begin[choice]), int(begin[choice + 1])):
                # Merged states can have several arcs that differ only in graphs of other agents.
                key = arc if naive else (*self.moves.outcome(arc), id(self.tree(arc)))
                merged.setdefault(key, []).append(arc)
            for arcs in merged.values():
                arc = arcs[0]
                chance = sum(float(self.graphs.arc_probability(self.agent)[a]) for a in arcs)
                made = Transition(
                    source,
                    place[int(self.graphs.arc_next(self.agent)[arc])],
                    self.labels.own(self.agent, arc, chance),
                )
                if not naive and layer in self._taken:
                    made.taken = self._taken[layer][self.agent] in arcs
                others = self._all(layer) if naive else self._told_apart(layer, arc, made.taken)
                self._grow(made, layer, arc, others, naive)
                yield made

    def tree(self, arc: int) -> _core.RewardTree:
        """The tree of an arc; arcs with the same tree share one object."""
        if arc not in self._trees:
            self._trees[arc] = self.crgs.core.tree(self.agent, arc)
        return self._trees[arc]

    # -- branches ----------------------------------------------------------------------------

    def _told_apart(self, layer: int, arc: int, taken: bool) -> dict[int, list[_Branch]]:
        """The branches of each other agent in the tree."""
        others = {}
        steps = {}
        if taken:
            path = self.crgs.core.path(self.agent, layer, self._taken[layer])
            steps = {who: (branch, group) for who, branch, group in path}
        for other in self.tree(arc).agents:
            if other.trivial:
                continue
            pairs = self._labelled_pairs(layer, arc, other)
            others[other.agent] = [
                self._branch(layer, arc, other.agent, branch, pairs.get(b, []))
                for b, branch in enumerate(other.branches)
            ]
            if other.agent in steps:
                self._mark(layer, other.agent, others[other.agent], *steps[other.agent])
        return others

    def _branch(
        self,
        layer: int,
        arc: int,
        other: int,
        branch: _core.Branch,
        pairs: list[int],
    ) -> _Branch:
        moves = self.labels.moves[other]
        influences = []
        if self.crgs.share:
            for group in branch.groups:
                if group.labelled:
                    taken = moves.find(group.example)
                    label = self.labels.pair(other, taken, group.pairs - 1)
                    influences.append(_Influence("influence", label, (taken,)))
        elif self.crgs.influence == "features":
            groups = [group.example for group in branch.groups if group.labelled]
            texts = self.labels.features(self.agent, layer, arc, other, branch.action, groups)
            for example, text in zip(groups, texts, strict=True):
                influences.append(_Influence("influence", text, (moves.find(example),)))
        else:
            for each in pairs:
                influences.append(_Influence("influence", self.labels.pair(other, each), (each,)))
        if branch.other is not None:
            nothing = self.labels.other(other, "◇", "no influence: all other state transitions")
            influences.append(_Influence("no-influence", nothing, (moves.find(branch.other),)))
        if branch.action is None:
            return _Branch("wildcard", self.labels.other(other, "∗", "other actions"), influences)
        return _Branch(
            "action", self.labels.action(other, branch.action, *branch.sharing), influences
        )

    def _mark(
        self, layer: int, other: int, branches: list[_Branch], branch: int, group: int | None
    ) -> None:
        """Mark what the highlighted sequence takes among another agent's branches."""
        branches[branch].taken = True
        influences = branches[branch].influences
        if group is None:
            influences[-1].taken = True  # ◇ comes last
        elif self.crgs.influence == "features":
            influences[group].taken = True
        else:
            moves = self.labels.moves[other]
            pair = moves.pair(self._taken[layer][other])
            next(each for each in influences if moves.pair(each.arcs[0]) == pair).taken = True

    def _labelled_pairs(self, layer: int, arc: int, other: _core.TreeAgent) -> dict[int, list[int]]:
        """For each branch, an arc of the other agent for each labelled pair of states."""
        found: dict[int, dict[tuple[int, int], int]] = {}
        if self.crgs.share or self.crgs.influence == "features":
            return {}
        if not any(branch.labelled_arcs for branch in other.branches):
            return {}
        position = [each.agent for each in self.tree(arc).agents if not each.trivial].index(
            other.agent
        )
        arcs = self._any_arcs(layer, arc)
        moves = self.labels.moves[other.agent]
        for each in moves.layer(layer):
            arcs[other.agent] = each
            _, branch, group = self.crgs.core.path(self.agent, layer, arcs)[position]
            if group is not None:
                found.setdefault(branch, {}).setdefault(moves.pair(each), each)
        return {branch: list(pairs.values()) for branch, pairs in found.items()}

    def _all(self, layer: int) -> dict[int, list[_Branch]]:
        """All moves of each agent in this agent's reward functions."""
        others = {}
        for other in self.scope:
            moves = self.labels.moves[other]
            # Conditions can distinguish moves between the same two merged states.
            found: dict[int, dict[tuple[tuple[int, int], int], list[int]]] = {}
            for each in moves.layer(layer):
                pairs = found.setdefault(moves.action(each), {})
                seen = self.crgs.core.pair_type(other, each)
                pairs.setdefault((moves.pair(each), seen), []).append(each)
            others[other] = [
                _Branch(
                    "action",
                    self.labels.action(other, action),
                    [
                        _Influence("influence", self.labels.pair(other, arcs[0]), tuple(arcs))
                        for arcs in pairs.values()
                    ],
                )
                for action, pairs in sorted(found.items())
            ]
        return others

    @cached_property
    def scope(self) -> list[int]:
        """The other agents in this agent's reward functions."""
        names = self.crgs.indexed.agent_names
        mine = [part for part in self.crgs.parts if part.owner == names[self.agent]]
        return sorted({names.index(name) for part in mine for name in part.agents} - {self.agent})

    # -- trees -------------------------------------------------------------------------------

    def _grow(
        self,
        made: Transition,
        layer: int,
        arc: int,
        others: dict[int, list[_Branch]],
        naive: bool,
    ) -> None:
        """Make the nodes of a tree, level by level, with the rewards at its leaves."""
        if not others:
            made.reward = self._reward(layer, arc, {}, naive)
            return
        made.nodes = [TreeNode(-1, 0, "action", "own", made.label, taken=made.taken)]
        level: list[tuple[int, tuple[_Branch, ...]]] = [(0, ())]
        depth = 0
        for branches in others.values():
            depth += 1
            kind = "leaf" if depth == len(others) else "action"
            following = []
            for parent, taken in level:
                for branch in branches:
                    following.append((len(made.nodes), (*taken, branch)))
                    node = TreeNode(parent, depth, kind, branch.kind, branch.label)
                    node.taken = branch.taken and made.nodes[parent].taken
                    made.nodes.append(node)
            level = following
        ends: list[tuple[int, tuple[_Branch, ...], tuple[_Influence, ...]]]
        ends = [(leaf, taken, ()) for leaf, taken in level]
        for k in range(len(others)):
            depth += 1
            after = []
            for parent, taken, seen in ends:
                for each in taken[k].influences:
                    after.append((len(made.nodes), taken, (*seen, each)))
                    node = TreeNode(parent, depth, "influence", each.kind, each.label)
                    node.taken = each.taken and made.nodes[parent].taken
                    made.nodes.append(node)
            ends = after
        for end, _, seen in ends:
            arcs = {j: each.arcs for j, each in zip(others, seen, strict=True)}
            made.nodes[end].reward = self._reward(layer, arc, arcs, naive)

    def _any_arcs(self, layer: int, arc: int) -> list[int]:
        """One arc for every agent: the own arc, and any arc of each other agent."""
        arcs = [moves.layer(layer)[0] for moves in self.labels.moves]
        arcs[self.agent] = arc
        return arcs

    def _reward(self, layer: int, arc: int, others: dict[int, tuple[int, ...]], naive: bool) -> str:
        """The rewards of a path; several if merged states have different rewards."""
        core = self.lossless if naive else self.crgs.core
        arcs = self._any_arcs(layer, arc)
        found = set()
        for ways in itertools.islice(itertools.product(*others.values()), MOST_WAYS):
            for j, each in zip(others, ways, strict=True):
                arcs[j] = each
            found.add(core.path_reward(self.agent, layer, arcs))
        return " or ".join(dict.fromkeys(number(each) for each in sorted(found)))

    @cached_property
    def lossless(self) -> _core.ConditionalReturnGraphs:
        """Graphs with the reward of every transition, for all definitions that can be drawn."""
        if self.crgs.definition == "lossless":
            return self.crgs.core
        names = self.crgs.indexed.agent_names
        owner = {(p.function, p.agents): names.index(p.owner) for p in self.crgs.parts}
        owners = [
            owner[function, tuple(names[i] for i in agents)]
            for function, agents in self.graphs.interaction_entries()
        ]
        description = describe(self.crgs.indexed)
        return _core.make_crgs(
            description, self.graphs, owners, False, False, False, False, False, Limits().monitor
        )


def make_moves(crgs: ConditionalReturnGraphs) -> list[Moves]:
    """The arcs of every agent."""
    return [
        Moves(crgs.graphs, agent, who.choice_action)
        for agent, who in enumerate(crgs.indexed.agents)
    ]
