"""The definitions of dependent actions and influence, straight from their text, for small problems.

For a stage t and a transition τ of agent i: X_j are agent j's transitions that are possible at t.
The signature of a triple x = (s, a, s') of j, possible or not, is the vector, over all possible
transitions of the other agents in scope, of the sum of i's reward functions that contain j and that
j can change. Action a of j is dependent if some possible (s, a, s') has a signature other than 0
and some other action b makes (s, b, s') differ from it. The influence of a dependent action, or of
all others together, is the set of possible pairs (s, s') with a signature other than 0, unless all
possible pairs have the same one.

The printed definitions, with R(τ^e ∖ τ^j) read as 0, are followed by `literal_verdict`: function by
function, an action is dependent if some joint transition with it earns something and would earn
something else with another action; a possible pair is an influence if some joint transition with it
earns something and would earn something else with another pair of states, possible or not. The
influence of the wildcard is the union of those of its actions.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import cached_property

from coreplan.model.indexed import IndexedEntry
from coreplan.solving.crg import ConditionalReturnGraphs

Triple = tuple[int, int, int]


@dataclass
class Verdict:
    """What the definitions say of one other agent."""

    dependent: set[int]
    influence: dict[int | None, set[tuple[int, int]]]
    """Per dependent action, and for None (the wildcard): the labelled pairs."""


class Reference:
    """Asks the definitions about the transitions of a problem's CRGs."""

    def __init__(self, crgs: ConditionalReturnGraphs) -> None:
        self.crgs = crgs
        self.indexed = crgs.indexed

    def triple(self, agent: int, transition: int) -> Triple:
        """(state, action, next state) of a transition of the description."""
        who = self.indexed.agents[agent]
        choice = next(
            c for c in range(len(who.choice_action)) if who.outcome_begin[c + 1] > transition
        )
        state = next(s for s in range(len(who.states)) if who.choice_begin[s + 1] > choice)
        return state, who.choice_action[choice], who.outcome_next[transition]

    def matches(self, agent: int, condition: int, triple: Triple) -> bool:
        """Whether a condition matches a triple, possible or not."""
        parts = self.indexed.agents[agent].conditions[condition]
        return all(part is None or at in part for part, at in zip(parts, triple, strict=True))

    @cached_property
    def entries(self) -> list[IndexedEntry]:
        """Entries that really look at several agents, with the members that they look at."""
        kept = []
        for entry in self.indexed.entries:
            members = []
            possible = True
            for agent, condition in entry.members:
                who = self.indexed.agents[agent]
                matching = [
                    self.matches(agent, condition, self.triple(agent, o))
                    for o in range(len(who.outcome_next))
                ]
                possible = possible and any(matching)
                if not all(matching):
                    members.append((agent, condition))
            if possible and len(members) > 1:
                kept.append(entry._replace(members=tuple(members)))
        return kept

    @cached_property
    def owners(self) -> list[int]:
        """Per entry: the agent that its reward function is assigned to."""
        names = self.indexed.agent_names
        owner = {(part.function, part.agents): part.owner for part in self.crgs.parts}
        return [
            names.index(owner[e.function, tuple(names[i] for i, _ in e.members)])
            for e in self.entries
        ]

    def possible(self, agent: int, layer: int) -> list[Triple]:
        """The distinct triples that an agent can do at a layer."""
        graphs = self.crgs.full
        begin = graphs.layer_begin(agent)
        choices = graphs.choice_begin(agent)
        arcs = graphs.arc_begin(agent)
        first, last = arcs[choices[begin[layer]]], arcs[choices[begin[layer + 1]]]
        bases = graphs.arc_base(agent)[first:last]
        return list(dict.fromkeys(self.triple(agent, int(o)) for o in bases))

    def literal_verdict(self, agent: int, layer: int, own: Triple, other: int) -> Verdict:
        """The same by the printed definitions."""
        stage = self.indexed.stage + layer
        functions: dict[int, list[IndexedEntry]] = {}
        for entry, owner in zip(self.entries, self.owners, strict=True):
            at_stage = entry.stages is None or stage in entry.stages
            if owner == agent and at_stage and other in dict(entry.members):
                functions.setdefault(entry.function, []).append(entry)
        states = range(len(self.indexed.agents[other].states))
        every = range(len(self.indexed.agents[other].actions))
        mine = self.possible(other, layer)
        dependent: set[int] = set()
        single: dict[int, set[tuple[int, int]]] = {a: set() for a in every}
        for entries in functions.values():
            third = sorted({i for e in entries for i, _ in e.members if i not in (agent, other)})
            for z in itertools.product(*(self.possible(k, layer) for k in third)):
                moves = {**dict(zip(third, z, strict=True)), agent: own}

                def reward(
                    x: Triple,
                    moves: dict[int, Triple] = moves,
                    entries: list[IndexedEntry] = entries,
                ) -> float:
                    whole = {**moves, other: x}
                    return sum(
                        entry.value
                        for entry in entries
                        if all(self.matches(i, c, whole[i]) for i, c in entry.members)
                    )

                for s, a, n in mine:
                    here = reward((s, a, n))
                    if here == 0:
                        continue
                    if any(reward((s, b, n)) != here for b in every if b != a):
                        dependent.add(a)
                    if any(reward((s2, a, n2)) != here for s2 in states for n2 in states):
                        single[a].add((s, n))
        influence: dict[int | None, set[tuple[int, int]]] = {a: single[a] for a in dependent}
        influence[None] = set().union(*(single[a] for a in every if a not in dependent))
        return Verdict(dependent, influence)

    def verdict(self, agent: int, layer: int, own: Triple, other: int) -> Verdict:
        """Dependent actions and influence of another agent, given the agent's own transition."""
        stage = self.indexed.stage + layer
        active: dict[tuple[int, tuple[int, ...]], list[IndexedEntry]] = {}
        for entry, owner in zip(self.entries, self.owners, strict=True):
            if owner != agent or (entry.stages is not None and stage not in entry.stages):
                continue
            if other not in dict(entry.members):
                continue
            if all(self.matches(i, c, own) for i, c in entry.members if i == agent):
                scope = tuple(i for i, _ in entry.members)
                active.setdefault((entry.function, scope), []).append(entry)
        mine = self.possible(other, layer)
        third = sorted({i for _, scope in active for i in scope if i not in (agent, other)})
        combinations = list(itertools.product(*(self.possible(k, layer) for k in third)))

        def vector(entries: list[IndexedEntry], x: Triple) -> tuple[float, ...]:
            values = []
            for z in combinations:
                moves = dict(zip(third, z, strict=True)) | {other: x, agent: own}
                total = 0.0
                for entry in entries:
                    if all(self.matches(i, c, moves[i]) for i, c in entry.members):
                        total += entry.value
                values.append(total)
            return tuple(values)

        changeable = [
            entries
            for function in {function for function, _ in active}
            for entries in [[e for (f, _), es in active.items() if f == function for e in es]]
            if len({vector(entries, x) for x in mine}) > 1
        ]
        kept = [entry for entries in changeable for entry in entries]
        # The order of the description, so that sums have the same bits.
        kept.sort(key=self.entries.index)

        def signature(x: Triple) -> tuple[float, ...]:
            return vector(kept, x)

        neutral = tuple(0.0 for _ in combinations)
        every = range(len(self.indexed.agents[other].actions))
        dependent = {
            a
            for s, a, n in mine
            if signature((s, a, n)) != neutral
            and any(b != a and signature((s, b, n)) != signature((s, a, n)) for b in every)
        }
        influence: dict[int | None, set[tuple[int, int]]] = {}
        for branch in [*sorted(dependent), None]:
            there = [
                x for x in mine if (x[1] == branch if branch is not None else x[1] not in dependent)
            ]
            if len({signature(x) for x in there}) > 1:
                influence[branch] = {(s, n) for s, a, n in there if signature((s, a, n)) != neutral}
            else:
                influence[branch] = set()
        return Verdict(dependent, influence)
