"""Problems in the PRISM language, as Markov decision processes for Storm or PRISM.

A file has one module per agent, and a clock. In each stage the agents choose one after the other
(the clock's `turn` gives the order), then all of them move at once and the next stage begins:

    stage t:  agent 0 chooses · agent 1 chooses · ... · all move

The file therefore has one command per local state and action, and one per outcome of a choice.
Joint actions are not written out, and a tool builds the choices of the agents one after the other
instead of all combinations. Choosing late gives no advantage: nothing random happens before all
have chosen, and the maximiser knows all choices.

An agent has one variable. Before its turn the variable is the agent's local state, afterwards its
choice: the distribution of its next state, and the conditions that interactions see. Equivalent
local states of one stage share the number of the first of them, and so do equivalent choices.
Numbers are those of the description, the same at all stages, so that one command serves as many
stages as possible: tools try the guards of all commands in every state that they build. A command
has an arbitrary effect at stages at which the agent cannot be in its state.

Rewards are expectations. An agent earns its own reward when it chooses. The reward of an
interaction is earned when the agents move: its value times the product of the agents'
probabilities. Every path makes the same number of steps, one per agent and one more in each stage.
The value is therefore the maximal expected reward accumulated over that many steps.

A reward for a sum over agents has a module with the sum so far, to which agents add when they
choose. It is earned when the agents move.

Symbolic engines (decision diagrams) also maximise over codes of actions that do not exist, which
count as 0, so maxima below 0 are wrong. With `shift`, a constant is added to the reward of each
step, so that no reward is negative. Each step happens exactly once on every path, so the value
grows by the sum of the constants, whatever the agents do.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple, TypeVar

from coreplan.errors import SolverError
from coreplan.interop.expectations import Expectations, Sum
from coreplan.interop.text import finite, quoted
from coreplan.model.indexed import JointState
from coreplan.solving.compile import AnyProblem, CompiledProblem, compile_problem
from coreplan.solving.limits import Limits
from coreplan.solving.solver import check_problem, errors_of_the_core
from coreplan.support.checks import found

T = TypeVar("T")

SMALLEST = sys.float_info.min
"""Numbers nearer to 0 count as 0: Storm cannot read them, and they do not change any value."""

MOST_SUMS = 10_000
"""The most sums of an aggregate: each is a case of the reward."""

MOST_NAMES = 3
"""The most local states that a comment names."""


@dataclass(frozen=True)
class PrismModel:
    """A problem in the PRISM language.

    Attributes
    ----------
    text
        The content of the file.
    query
        The property to check, in PRISM's language.
    steps
        The number of steps of every path.
    shift
        The difference between the property's value and the problem's; 0 without `shift`.
    """

    text: str
    query: str
    steps: int
    shift: float


def to_prism(
    problem: AnyProblem,
    *,
    merge: bool = True,
    shift: bool = False,
    stage: int = 0,
    state: JointState | None = None,
    limits: Limits | None = None,
) -> PrismModel:
    """Write a problem in the PRISM language.

    Parameters
    ----------
    problem
        A TI-MMDP or an MPP.
    merge
        Whether to merge equivalent local states.
    shift
        Whether to make the reward of every step non-negative; symbolic engines need it.
    stage, state
        Where planning starts; by default at the beginning.
    limits
        Time and memory for unrolling and merging.

    Examples
    --------
    >>> from coreplan import Contractor, MaintenanceProblem, Task
    >>> alpha = Contractor("Alpha", (Task("a1", duration=1, cost=3, revenue=20),))
    >>> model = to_prism(MaintenanceProblem((alpha,), horizon=2))
    >>> model.query
    'R{"value"}max=? [ C<=4 ]'
    """
    check_problem(problem)
    with errors_of_the_core():
        compiled = compile_problem(problem, merge=merge, stage=stage, state=state, limits=limits)
    expectations = Expectations(compiled.indexed)
    agents = [
        _AgentReader(compiled, expectations, agent).read()
        for agent in range(len(compiled.indexed.agents))
    ]
    writer = _Writer(compiled, expectations, agents, shift)
    text = "\n".join(writer.lines()) + "\n"
    steps = (problem.horizon - stage) * (len(agents) + 1)
    return PrismModel(text, f'R{{"value"}}max=? [ C<={steps} ]', steps, math.fsum(writer.added))


class _Choice(NamedTuple):
    """An action of a local state."""

    name: str
    reward: float
    """The agent's own reward."""
    chosen: int
    """The number that stands for the choice: of those that do the same, the first."""
    number: int
    """Its own number."""


Law = tuple[tuple[int, float], ...]
"""Next places with their probabilities."""


@dataclass
class _Stage:
    """One agent at one stage."""

    choices: dict[int, list[_Choice]] = field(default_factory=dict)
    """The choices in each place (a number of a local state)."""
    laws: dict[int, Law] = field(default_factory=dict)
    """The next places after each choice."""


@dataclass
class _Agent:
    """One agent as a module."""

    name: str
    labels: Mapping[int, str]
    stages: list[_Stage]
    start: int
    largest: int

    @property
    def most_choices(self) -> int:
        """The largest number of actions anywhere."""
        return max(self.most_choices_of.values())

    @cached_property
    def most_choices_of(self) -> dict[int, int]:
        """For each place: the largest number of actions at any stage."""
        most: dict[int, int] = {}
        for stage in self.stages:
            for number, choices in stage.choices.items():
                most[number] = max(most.get(number, 0), len(choices))
        return most

    @property
    def chosen(self) -> list[int]:
        """The numbers of all choices of any stage."""
        return sorted({number for stage in self.stages for number in stage.laws})


class _AgentReader:
    """Makes the module of an agent from the unrolled graph and the classes of its nodes."""

    def __init__(self, compiled: CompiledProblem, expectations: Expectations, agent: int) -> None:
        graphs, model = compiled.graphs, compiled.model
        self._agent = agent
        self._indexed = compiled.indexed.agents[agent]
        self._expectations = expectations
        self._first = graphs.first_stage
        self._layers = graphs.horizon - graphs.first_stage
        self._class_begin: list[int] = model.layer_begin(agent).tolist()
        self._node_class: list[int] = model.node_class(agent).tolist()
        self._kept_begin: list[int] = model.node_choice_begin(agent).tolist()
        self._kept: list[int] = model.node_choice(agent).tolist()
        self._state: list[int] = graphs.node_state(agent).tolist()
        self._choice_begin: list[int] = graphs.choice_begin(agent).tolist()
        self._choice_base: list[int] = graphs.choice_base(agent).tolist()
        self._arc_begin: list[int] = graphs.arc_begin(agent).tolist()
        self._arc_next: list[int] = graphs.arc_next(agent).tolist()
        self._arc_chance: list[float] = graphs.arc_probability(agent).tolist()
        self._nodes: list[list[int]] = [[] for _ in range(model.class_count(agent))]
        for node, number in enumerate(self._node_class):
            self._nodes[number].append(node)

    def read(self) -> _Agent:
        """Make the module of the agent."""
        # For each class: its place, which is its first state; and all its states, for comments.
        states = [[self._state[node] for node in nodes] for nodes in self._nodes]
        self._place = [min(each) for each in states]
        labels: dict[int, list[str]] = {}
        for each in states[: self._class_begin[self._layers]]:
            known = labels.setdefault(min(each), [])
            known += [name for name in map(self._indexed.states.label, each) if name not in known]
        stages = [self._read_stage(layer) for layer in range(self._layers)]
        chosen = max(number for stage in stages for number in stage.laws)
        return _Agent(
            self._indexed.name,
            {place: _names(each) for place, each in labels.items()},
            stages,
            self._place[self._node_class[0]],
            max(chosen, *self._place),
        )

    def _read_stage(self, layer: int) -> _Stage:
        stage = _Stage()
        at = self._first + layer
        watched = {
            condition
            for members, values in self._expectations.shared.items()
            for who, condition in members
            if who == self._agent and values.at(at) != 0
        }
        chances = self._expectations.chances[self._agent]
        known: dict[object, int] = {}
        for number in range(self._class_begin[layer], self._class_begin[layer + 1]):
            choices = stage.choices[self._place[number]] = []
            for choice, arcs in self._choices(self._nodes[number][0]):
                law = self._law(arcs)
                seen = sorted(each for each in chances[choice].items() if each[0] in watched)
                chosen = known.setdefault((law, tuple(seen)), choice)
                stage.laws[chosen] = law
                reward = self._expectations.own_reward(self._agent, choice, at)
                name = self._indexed.actions[self._indexed.choice_action[choice]]
                choices.append(_Choice(name, reward, chosen, choice))
        return stage

    def _choices(self, node: int) -> Iterator[tuple[int, range]]:
        """The choices of a node that its class keeps: the number in the description, and arcs."""
        kept = set(self._kept[self._kept_begin[node] : self._kept_begin[node + 1]])
        for choice in range(self._choice_begin[node], self._choice_begin[node + 1]):
            if self._choice_base[choice] in kept:
                yield (
                    self._choice_base[choice],
                    range(self._arc_begin[choice], self._arc_begin[choice + 1]),
                )

    def _law(self, arcs: range) -> Law:
        parts: dict[int, list[float]] = {}
        for arc in arcs:
            place = self._place[self._node_class[self._arc_next[arc]]]
            parts.setdefault(place, []).append(self._arc_chance[arc])
        sums = sorted((place, math.fsum(each)) for place, each in parts.items())
        return tuple((place, chance) for place, chance in sums if chance >= SMALLEST)


def _names(labels: Sequence[str]) -> str:
    shown = ", ".join(quoted(label) for label in labels[:MOST_NAMES])
    more = len(labels) - MOST_NAMES
    return f"{shown} and {more} more" if more > 0 else shown


def _number(value: float) -> str:
    return repr(finite(value)) if abs(value) >= SMALLEST else "0.0"


class _Writer:
    """Writes the file; `added` collects the constants that were added to rewards."""

    def __init__(
        self,
        compiled: CompiledProblem,
        expectations: Expectations,
        agents: Sequence[_Agent],
        shift: bool,
    ) -> None:
        self._compiled = compiled
        self._expectations = expectations
        self._agents = agents
        self._shift = shift
        self._first = compiled.graphs.first_stage
        self._horizon = compiled.graphs.horizon
        self.added: list[float] = []

    def lines(self) -> Iterator[str]:
        """The lines of the file, in order."""
        rewards = list(self._rewards())
        yield f"// {quoted(self._compiled.problem.name)}, written by coreplan"
        yield "// In each stage the agents choose in turn, then all move at once."
        steps = (self._horizon - self._first) * (len(self._agents) + 1)
        yield f'// The value is R{{"value"}}max=? [ C<={steps} ]'
        if self._shift:
            added = _number(math.fsum(self.added))
            yield f"// minus {added}, which was added so that no reward is negative."
        yield "mdp"
        yield ""
        yield from self._clock()
        for position, agent in enumerate(self._agents):
            yield ""
            yield from self._module(position, agent)
        for number, each in enumerate(self._expectations.sums):
            yield ""
            yield from self._sum(number, each)
        yield ""
        yield 'rewards "value"'
        yield from rewards
        yield "endrewards"

    def _clock(self) -> Iterator[str]:
        turns = len(self._agents)
        yield "module clock"
        yield f"  stage : [{self._first}..{self._horizon}] init {self._first};"
        yield f"  turn : [0..{turns}] init 0;"
        for position, agent in enumerate(self._agents):
            for k in range(agent.most_choices):
                yield (
                    f"  [choose{position}_{k}] turn={position} & stage<{self._horizon} -> "
                    f"(turn'={position + 1});"
                )
        yield f"  [move] turn={turns} -> (turn'=0) & (stage'=stage+1);"
        yield f"  [end] stage={self._horizon} -> true;"
        yield "endmodule"

    def _module(self, position: int, agent: _Agent) -> Iterator[str]:
        place = f"place{position}"
        yield f"module agent{position} // {quoted(agent.name)}"
        yield f"  {place} : [0..{agent.largest}] init {agent.start};"
        for (number, k), by_stage in self._by_place(agent).items():
            does = {
                stage: None if c is None else (c.name, c.chosen) for stage, c in by_stage.items()
            }
            for guard, done in _parts(does):
                if done is not None:
                    yield (
                        f"  [choose{position}_{k}] {place}={number}{guard} -> "
                        f"({place}'={done[1]}); // {agent.labels[number]}: {quoted(done[0])}"
                    )
        laws: dict[int, dict[int, Law]] = {}
        for layer, stage in enumerate(agent.stages):
            for number, law in stage.laws.items():
                laws.setdefault(number, {})[self._first + layer] = law
        for number, law_at in sorted(laws.items()):
            for guard, law in _parts(law_at):
                moves = " + ".join(f"{_number(chance)}:({place}'={to})" for to, chance in law)
                yield f"  [move] {place}={number}{guard} -> {moves};"
        yield "endmodule"

    def _sum(self, number: int, each: Sum) -> Iterator[str]:
        """The module of an aggregate: the sum of what the agents have added so far."""
        most = sum(int(units.max()) for units in each.added.values())
        if most >= MOST_SUMS:
            name = found(self._compiled.indexed.functions[each.function])
            raise SolverError(
                f"the reward {name} depends on a sum with {most + 1:,} values, and each of them "
                f"would be a case of the PRISM file; the most is {MOST_SUMS:,}. Use larger steps"
            )
        sums = f"sum{number}"
        name = quoted(self._compiled.indexed.functions[each.function])
        yield f"module {sums} // {name}"
        yield f"  {sums} : [0..{most}] init 0;"
        for who, added in each.added.items():
            agent = self._agents[who]
            for (place, k), by_stage in self._by_place(agent).items():
                units = {
                    stage: None if choice is None else int(added[choice.number])
                    for stage, choice in by_stage.items()
                }
                for guard, more in _parts(units):
                    if more is not None:
                        to = f"({sums}'={sums}+{more})" if more else "true"
                        # Symbolic engines also look at sums that do not come up.
                        room = f" & {sums}<={most - more}" if more else ""
                        yield f"  [choose{who}_{k}] place{who}={place}{guard}{room} -> {to};"
        yield f"  [move] true -> ({sums}'=0);"
        yield "endmodule"

    def _by_place(self, agent: _Agent) -> dict[tuple[int, int], dict[int, _Choice | None]]:
        """For each place and number of an action: the choice at each stage, or None."""
        found: dict[tuple[int, int], dict[int, _Choice | None]] = {}
        for layer, stage in enumerate(agent.stages):
            for number, choices in stage.choices.items():
                for k in range(agent.most_choices_of[number]):
                    choice = choices[k] if k < len(choices) else None
                    found.setdefault((number, k), {})[self._first + layer] = choice
        return dict(sorted(found.items()))

    def _rewards(self) -> Iterator[str]:
        for position, agent in enumerate(self._agents):
            yield from self._own_rewards(position, agent)
        yield from self._shared_rewards()

    def _own_rewards(self, position: int, agent: _Agent) -> Iterator[str]:
        extra = {
            self._first + layer: self._lift(
                min(choice.reward for each in stage.choices.values() for choice in each)
            )
            for layer, stage in enumerate(agent.stages)
        }
        for (number, k), by_stage in self._by_place(agent).items():
            values = {
                stage: choice.reward + extra[stage]
                for stage, choice in by_stage.items()
                if choice is not None
            }
            if any(values.values()):
                yield f"  [choose{position}_{k}] place{position}={number} : {_tree(values)};"

    def _shared_rewards(self) -> Iterator[str]:
        """The rewards of interactions, and those that do not depend on the agents."""
        constant = self._expectations.constant
        stages = range(self._first, self._horizon)
        least = {stage: constant.at(stage) for stage in stages}
        items = []
        for members, values in self._expectations.shared.items():
            by_stage = {stage: values.at(stage) for stage in stages}
            matching = [self._matching(who, condition) for who, condition in members]
            if not any(by_stage.values()) or not all(matching):
                continue
            most = math.prod(max(each.values()) for each in matching)
            for stage, value in by_stage.items():
                least[stage] += min(0.0, value * most)
            tests = [
                _one_of(who, list(each)) for (who, _), each in zip(members, matching, strict=True)
            ]
            factors = [_tree(by_stage)]
            for (who, _), each in zip(members, matching, strict=True):
                factors += _factor(who, each)
            items.append(f"  [move] {' & '.join(tests)} : {' * '.join(factors)};")
        for number, total in enumerate(self._expectations.sums):
            weights = {stage: total.weight_at(stage) for stage in stages}
            largest = sum(int(units.max()) for units in total.added.values())
            worth = total.values[: largest + 1]
            if not any(weights.values()) or not any(worth):
                continue
            for stage in stages:
                least[stage] += min(0.0, *worth) * weights[stage]
            reward = _tree(dict(enumerate(worth)), f"sum{number}")
            same = all(weight == 1 for weight in weights.values())
            factor = "" if same else f"{_tree(weights)} * "
            items.append(f"  [move] true : {factor}{reward};")
        anyway = {stage: constant.at(stage) + self._lift(least[stage]) for stage in stages}
        # Written even if it is 0: a file needs some reward.
        yield f"  [move] true : {_tree(anyway)};"
        yield from items

    def _matching(self, who: int, condition: int) -> dict[int, float]:
        """The choices of an agent that may match a condition, with probabilities."""
        chances = {
            chosen: self._expectations.chance(who, chosen, condition)
            for chosen in self._agents[who].chosen
        }
        return {chosen: chance for chosen, chance in chances.items() if chance > 0}

    def _lift(self, least: float) -> float:
        """The constant for a step with this least reward."""
        if not self._shift or least >= 0:
            return 0.0
        self.added.append(-least)
        return -least


def _runs(by_stage: Mapping[int, T]) -> list[tuple[int, T]]:
    """Merge neighbouring stages of equal value: the last stage of each run, and the value."""
    runs: list[tuple[int, T]] = []
    for stage, value in sorted(by_stage.items()):
        if runs and runs[-1][1] == value:
            runs[-1] = (stage, value)
        else:
            runs.append((stage, value))
    return runs


def _parts(by_stage: Mapping[int, T]) -> Iterator[tuple[str, T]]:
    """The different values with guards for their stages; other stages do not matter."""
    runs = _runs(by_stage)
    for k, (last, value) in enumerate(runs):
        after = f" & stage>{runs[k - 1][0]}" if k > 0 else ""
        until = f" & stage<={last}" if k < len(runs) - 1 else ""
        yield after + until, value


def _tree(by_stage: Mapping[int, float], variable: str = "stage") -> str:
    """A number that depends on the stage, as nested cases; other stages do not matter."""

    def write(runs: Sequence[tuple[int, float]]) -> str:
        if len(runs) == 1:
            return _number(runs[0][1])
        half = len(runs) // 2  # keeps the nesting shallow for any number of stages
        return f"({variable}<={runs[half - 1][0]} ? {write(runs[:half])} : {write(runs[half:])})"

    return write(_runs(by_stage))


def _one_of(who: int, numbers: Sequence[int]) -> str:
    tests = "|".join(f"place{who}={number}" for number in numbers)
    return f"({tests})"


def _factor(who: int, matching: Mapping[int, float]) -> list[str]:
    """The factor of an agent that may match; empty if it certainly matches."""
    by_chance: dict[float, list[int]] = {}
    for number, chance in matching.items():
        by_chance.setdefault(chance, []).append(number)
    *some, (last, _) = by_chance.items()
    text = _number(last)
    for chance, numbers in some:
        text = f"({_one_of(who, numbers)} ? {_number(chance)} : {text})"
    return [] if text == "1.0" else [text]
