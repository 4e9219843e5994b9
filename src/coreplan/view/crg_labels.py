"""The labels in a picture of a conditional return graph."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, singledispatch
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from coreplan import _core
from coreplan.model.conditions import StateTest
from coreplan.model.indexed import IndexedEntry, IndexedProblem
from coreplan.model.problem import PlanningProblem
from coreplan.model.rewards import TransitionRewards
from coreplan.model.timmdp import TIMMDP
from coreplan.model.translated import TranslatedProblem
from coreplan.view.svg import fit, isolated, text_width

if TYPE_CHECKING:
    from coreplan.solving.crg import ConditionalReturnGraphs

STATE_WIDTH = 150.0
ACTION_WIDTH = 130.0
INFLUENCE_WIDTH = 320.0
_SUPERSCRIPTS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def number(value: float) -> str:
    """Write a reward or bound.

    Examples
    --------
    >>> number(-0.0), number(12.5), number(1 / 3)
    ('0', '12.5', '0.333333')
    """
    return f"{value + 0.0:.6g}"


def superscript(agent: int) -> str:
    """The superscript of an agent: its number, from 1, as in the paper.

    Examples
    --------
    >>> superscript(0), superscript(11)
    ('¹', '¹²')
    """
    return str(agent + 1).translate(_SUPERSCRIPTS)


@dataclass(frozen=True)
class Label:
    """A text in a picture, shortened to fit.

    Attributes
    ----------
    lines
        The lines of the text.
    who
        The superscript of the agent.
    after
        The text after the superscript.
    full
        The whole text, if the lines are shortened.
    """

    lines: tuple[str, ...]
    who: str = ""
    after: str = ""
    full: str = ""

    @property
    def width(self) -> float:
        """The approximate width."""
        widest = max(map(text_width, self.lines), default=0.0)
        return widest + text_width(self.who) + text_width(self.after)


def one(text: str, most: float, who: str = "", after: str = "", full: str = "") -> Label:
    """Make a label of one line."""
    shown = fit(text, most)
    return Label((isolated(shown),), who, after, full or ("" if shown == text else text))


class Moves:
    """The arcs of one agent's graph, with their nodes and actions."""

    def __init__(self, graphs: _core.LocalGraphs, agent: int, choice_action: Sequence[int]) -> None:
        self._graphs = graphs
        self._agent = agent
        self._choices = graphs.choice_begin(agent)
        self._arcs = graphs.arc_begin(agent)
        self._next = graphs.arc_next(agent)
        self._base = graphs.arc_base(agent)
        self._reward = graphs.arc_reward(agent)
        self._choice_action = np.asarray(choice_action, dtype=np.int64)

    @cached_property
    def _choice(self) -> NDArray[np.int64]:
        return np.repeat(np.arange(len(self._arcs) - 1), np.diff(self._arcs))

    @cached_property
    def _node(self) -> NDArray[np.int64]:
        return np.repeat(np.arange(len(self._choices) - 1), np.diff(self._choices))

    def layer(self, layer: int) -> range:
        """The arcs that leave a layer."""
        begin = self._graphs.layer_begin(self._agent)
        first, last = self._choices[begin[layer]], self._choices[begin[layer + 1]]
        return range(int(self._arcs[first]), int(self._arcs[last]))

    def action(self, arc: int) -> int:
        """The number of an arc's action."""
        base = self._graphs.choice_base(self._agent)[self._choice[arc]]
        return int(self._choice_action[base])

    def pair(self, arc: int) -> tuple[int, int]:
        """The nodes that an arc leads from and to."""
        return int(self._node[self._choice[arc]]), int(self._next[arc])

    def base(self, arc: int) -> int:
        """The transition of the description that an arc stands for."""
        return int(self._base[arc])

    def outcome(self, arc: int) -> tuple[int, float]:
        """The end of an arc and the agent's own reward."""
        return int(self._next[arc]), float(self._reward[arc])

    def find(self, move: _core.Move) -> int:
        """The arc of a move."""
        first = self._arcs[self._choices[move.from_node]]
        last = self._arcs[self._choices[move.from_node + 1]]
        return next(
            arc
            for arc in range(int(first), int(last))
            if self._base[arc] == move.transition and self._next[arc] == move.to_node
        )


class Labels:
    """Names the parts of a problem's graphs."""

    def __init__(self, crgs: ConditionalReturnGraphs, moves: list[Moves]) -> None:
        self._crgs = crgs
        self.moves = moves
        self._agents = crgs.indexed.agents
        self._member_lists: dict[int, dict[int, list[int]]] = {}

    # -- states and actions ------------------------------------------------------------------

    def heading(self, agent: int, naive: bool) -> Label:
        """The heading of a graph."""
        name = self._agents[agent].name
        what = "naive graph of" if naive else "CRG of"
        shown = fit(name, 2 * STATE_WIDTH)
        full = "" if shown == name else name
        return Label((f"{what} {isolated(shown)}",), superscript(agent), "", full)

    def agent(self, agent: int) -> Label:
        """Explain the superscript of an agent."""
        name = self._agents[agent].name
        shown = fit(name, STATE_WIDTH)
        return Label(
            (f"{superscript(agent)} {isolated(shown)}",), full="" if shown == name else name
        )

    def state(self, agent: int, node: int) -> Label:
        """Name a local state or, if it is merged, several."""
        members = self._members(agent)[node]
        names = [self._state_lines(agent, state) for state in members]
        full = "\n".join(" · ".join(lines) for lines in names)
        if len(names) > 1:
            together = ", ".join(" · ".join(lines) for lines in names)
            if text_width(together) <= STATE_WIDTH:
                lines = [together]
            else:
                lines = [*names[0], f"and {len(names) - 1:,} more"]
        else:
            (lines,) = names
        if len(lines) > 4:
            lines = [*lines[:3], "…"]
        shown = tuple(fit(line, STATE_WIDTH) for line in lines)
        plain = len(names) == 1 and list(shown) == names[0]
        return Label(tuple(map(isolated, shown)), full="" if plain else full)

    def _members(self, agent: int) -> dict[int, list[int]]:
        """The states of each node."""
        if agent not in self._member_lists:
            classes = self._crgs.merged.node_class(agent)
            states = self._crgs.full.node_state(agent)
            found: dict[int, list[int]] = {}
            for node, state in zip(classes.tolist(), states.tolist(), strict=True):
                found.setdefault(node, []).append(state)
            self._member_lists[agent] = found
        return self._member_lists[agent]

    def _state_lines(self, agent: int, state: int) -> list[str]:
        return self._agents[agent].states.lines(state)

    def _node_name(self, agent: int, node: int) -> str:
        state = int(self._crgs.graphs.node_state(agent)[node])
        return " · ".join(self._state_lines(agent, state))

    def own(self, agent: int, arc: int, chance: float) -> Label:
        """Name the agent's own action, with its chance if it is uncertain."""
        after = "" if chance > 1 - 1e-12 else f" ({chance:.4g})"
        name = self._agents[agent].actions[self.moves[agent].action(arc)]
        return one(name, ACTION_WIDTH, superscript(agent), after)

    def action(self, agent: int, *actions: int) -> Label:
        """An action of another agent, or several that share an arc."""
        names = " or ".join(self._agents[agent].actions[action] for action in actions)
        return one(names, ACTION_WIDTH, superscript(agent))

    def other(self, agent: int, sign: str, meaning: str) -> Label:
        """Explain the sign for all other actions or transitions."""
        name = fit(self._agents[agent].name, STATE_WIDTH)
        return Label((sign,), superscript(agent), full=f"{meaning} of {name}")

    # -- influence -----------------------------------------------------------------------------

    def pair(self, agent: int, arc: int, others: int = 0) -> Label:
        """A state transition, and how many others share its arc."""
        left, right = (self._node_name(agent, node) for node in self.moves[agent].pair(arc))
        half = INFLUENCE_WIDTH / 2 - text_width(" → ")
        shown = [isolated(fit(each, half)) for each in (left, right)]
        text = f"{left} → {right}"
        full = "" if " → ".join(shown) == text else text
        after = f" and {others:,} more" if others else ""
        return Label((" → ".join(shown),), superscript(agent), after, full)

    def features(
        self,
        agent: int,
        layer: int,
        arc: int,
        other: int,
        action: int | None,
        examples: Sequence[_core.Move],
    ) -> list[Label]:
        """Name kinds of state transitions by the conditions that distinguish them."""
        looked_at = self._conditions(agent, layer, arc, other)
        seen = []
        for example in examples:
            state, after = self._ends[other][example.transition]
            seen.append(
                [
                    self._texts(other, condition, action)
                    for condition in looked_at
                    if self._sees(other, condition, state, after)
                ]
            )
        # Leave out conditions that all kinds have in common.
        starts = {start for texts in seen for start, _ in texts}
        brief = len(starts) == 1 and all(end for texts in seen for _, end in texts)
        labels = []
        for example, texts in zip(examples, seen, strict=True):
            full = " ∧ ".join(dict.fromkeys(_arrow(start, end) for start, end in texts))
            short = " ∧ ".join(dict.fromkeys(_arrow("" if brief else s, e) for s, e in texts))
            if not short:
                labels.append(self.pair(other, self.moves[other].find(example)))
                continue
            label = one(short, INFLUENCE_WIDTH, superscript(other))
            shortened = label.full or short != full
            labels.append(Label(label.lines, label.who, "", full if shortened else ""))
        return labels

    def _conditions(self, agent: int, layer: int, arc: int, other: int) -> list[int]:
        """The conditions on another agent that matter for a transition of this agent."""
        stage = self._crgs.indexed.stage + layer
        own = self._rewards.matched(agent, self.moves[agent].base(arc))
        found: dict[int, None] = {}
        for entry in self._owned(agent):
            members = dict(entry.members)
            if entry.value == 0 or other not in members or members.get(agent) not in own:
                continue
            if self._rewards.counts_at(entry, stage):
                found[members[other]] = None
        return list(found)

    def _owned(self, agent: int) -> list[IndexedEntry]:
        """The entries of the reward functions that belong to an agent's graph."""
        names = self._crgs.indexed.agent_names
        mine = {p.function for p in self._crgs.parts if p.owner == names[agent]}
        return [entry for entry in self._crgs.indexed.entries if entry.function in mine]

    @cached_property
    def _rewards(self) -> TransitionRewards:
        return TransitionRewards(self._crgs.indexed)

    @cached_property
    def _ends(self) -> list[list[tuple[int, int]]]:
        """The state and next state of each transition of each agent."""
        ends = []
        for who in self._agents:
            row = []
            for state in range(len(who.states)):
                first = who.outcome_begin[who.choice_begin[state]]
                last = who.outcome_begin[who.choice_begin[state + 1]]
                row += [(state, who.outcome_next[o]) for o in range(first, last)]
            ends.append(row)
        return ends

    def seen(self, agent: int, transition: int) -> frozenset[int]:
        """The conditions of interactions whose parts on states a transition matches."""
        state, after = self._ends[agent][transition]
        return frozenset(
            condition
            for condition in self._interacting[agent]
            if self._sees(agent, condition, state, after)
        )

    @cached_property
    def _interacting(self) -> list[set[int]]:
        """The conditions of each agent in entries of several agents."""
        found: list[set[int]] = [set() for _ in self._agents]
        for entry in self._crgs.indexed.entries:
            if len(entry.members) > 1:
                for agent, condition in entry.members:
                    found[agent].add(condition)
        return found

    def _sees(self, agent: int, condition: int, state: int, after: int) -> bool:
        """Whether a condition's parts on states match."""
        states, _, nexts = self._agents[agent].conditions[condition]
        return (states is None or state in states) and (nexts is None or after in nexts)

    def _texts(self, agent: int, condition: int, action: int | None) -> tuple[str, str]:
        """The tests of a condition on the state and on the next state."""
        return self._condition_words(agent, condition, action is not None)

    @cached_property
    def _condition_words(self) -> ConditionWords:
        return condition_words(self._crgs.problem, self._crgs.indexed)


ConditionWords = Callable[[int, int, bool], tuple[str, str]]
"""(agent, condition, whether an action is shown) → tests on the state and the next state."""


@singledispatch
def condition_words(problem: PlanningProblem, indexed: IndexedProblem) -> ConditionWords:
    """Write conditions as text; a domain may register its own function."""
    return lambda agent, condition, with_action: ("", "")


@condition_words.register
def _of_timmdp(problem: TIMMDP, indexed: IndexedProblem) -> ConditionWords:
    described = [entry for function in problem.rewards for entry in function.entries]
    words = {}
    for entry, numbered in zip(described, indexed.entries, strict=True):
        for agent, condition in numbered.members:
            given = entry.when[indexed.agents[agent].name]
            words[agent, condition] = (_test(given.state), _test(given.next))
    return lambda agent, condition, with_action: words[agent, condition]


@condition_words.register
def _of_translated(problem: TranslatedProblem, indexed: IndexedProblem) -> ConditionWords:
    return condition_words(problem.translated, indexed)


def _test(test: StateTest | object) -> str:
    """Write a test on a state as text."""
    if test is None:
        return ""
    if isinstance(test, Mapping):
        return ", ".join(_feature(name, value) for name, value in test.items())
    return ", ".join(test) if isinstance(test, tuple) else str(test)


def _feature(name: str, value: object) -> str:
    """Write the value of a feature; if it is true or false, as in the paper: ``f``, ``¬f``."""
    if isinstance(value, bool):
        return name if value else f"¬{name}"
    return f"{name} = {value}"


def _arrow(start: str, end: str) -> str:
    """Write the tests on state and next state as one text."""
    if start and end:
        return f"{start} → {end}"
    return f"→ {end}" if end else start
