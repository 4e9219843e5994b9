"""Problems as decentralised Markov decision processes, in the .dpomdp format of the MADP toolbox.

The toolbox plans for agents that do not see each other (Dec-POMDPs). Its program `GMAA-ICE` finds
optimal policies for a given number of stages. The file describes the problem that the algorithm
`dec-mdp` solves:

- A state of the file is a joint local state. If actions or rewards depend on the stage, it is a
  stage and a joint local state, and one state `end` stands for all joint states at the horizon.
- After each stage every agent observes its own local state only. All agents know the initial state.
- All actions of an agent are available in all states. An action that the agent cannot take in a
  state behaves like its first available one, so no state gets a new transition or reward.
- Rewards are expectations, given the state and the joint action.
- The format has no number of stages. A comment names it; it is a parameter of the program.

The toolbox enumerates joint states and joint actions, so the format suits small problems only.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from coreplan.errors import SolverError
from coreplan.interop.expectations import Expectations
from coreplan.interop.stages import Offers, read_stages
from coreplan.interop.text import finite, quoted
from coreplan.model.indexed import IndexedProblem, JointState
from coreplan.solving.compile import AnyProblem
from coreplan.solving.limits import Limits

MOST_LINES = 2_000_000
"""The most lines of a file."""

END = "end"
"""The state after the last stage, in a file with stages."""


@dataclass(frozen=True)
class DpomdpModel:
    """A problem in the .dpomdp format.

    Attributes
    ----------
    text
        The content of the file.
    horizon
        The number of stages to plan for.
    observations
        For each agent and observation of the file: the local state that the agent observes.
    """

    text: str
    horizon: int
    observations: Mapping[str, Mapping[str, object]]


def to_dpomdp(
    problem: AnyProblem,
    *,
    clock: bool = False,
    stage: int = 0,
    state: JointState | None = None,
    limits: Limits | None = None,
) -> DpomdpModel:
    """Write a problem as a Dec-MDP in the .dpomdp format.

    Parameters
    ----------
    problem
        A problem of any domain.
    clock
        Whether to make the stage a part of the state even if nothing depends on the stage.
    stage, state
        Where planning starts; by default at the beginning.
    limits
        Time and memory to find all states that can be reached.

    Raises
    ------
    SolverError
        If the file would be too large.

    Examples
    --------
    >>> from coreplan import Contractor, MaintenanceProblem, Task
    >>> alpha = Contractor("Alpha", (Task("a1", duration=1, cost=3, revenue=20),))
    >>> model = to_dpomdp(MaintenanceProblem((alpha,), horizon=2))
    >>> model.horizon, list(model.observations["Alpha"])
    (2, ['s0', 's1'])
    """
    indexed, expectations, offers, reasons = read_stages(problem, stage, state, limits)
    file = _File(indexed, expectations, offers, clock or bool(reasons))
    file.check_size()
    text = "\n".join(file.lines()) + "\n"
    return DpomdpModel(
        text,
        indexed.horizon - indexed.stage,
        {
            described.name: {
                file.local(who, each): described.states.value(each) for each in offers[who].states
            }
            for who, described in enumerate(indexed.agents)
        },
    )


Joint = tuple[int, ...]
"""A local state, or an action, of each agent."""


class _File:
    """The parts of a file."""

    def __init__(
        self,
        indexed: IndexedProblem,
        expectations: Expectations,
        offers: Sequence[Offers],
        clock: bool,
    ) -> None:
        self._indexed = indexed
        self._expectations = expectations
        self._offers = offers
        self._clock = clock
        self._layers = indexed.horizon - indexed.stage
        self._actions = [each.actions for each in offers]
        self._number = [
            {state: number for number, state in enumerate(each.states)} for each in offers
        ]

    # -- names: identifiers begin with a letter ----------------------------------------------------

    def local(self, who: int, state: int) -> str:
        """A local state of an agent, as an observation."""
        return f"s{self._number[who][state]}"

    def _name(self, layer: int, joint: Joint) -> str:
        if self._clock and layer == self._layers:
            return END
        parts = [f"t{layer}"] if self._clock else []
        return "_".join([*parts, *(self.local(who, state) for who, state in enumerate(joint))])

    def _command(self, joint: Joint) -> str:
        return " ".join(f"a{action}" for action in joint)

    # -- sizes -------------------------------------------------------------------------------------

    def check_size(self) -> None:
        """Refuse a problem whose file would be too large for the toolbox."""
        places = math.fsum(
            math.prod(len(each.reached[layer]) for each in self._offers)
            for layer in range(self._layers)
        )
        commands = math.prod(len(actions) for actions in self._actions)
        outcomes = math.prod(
            max(len(self._indexed.agents[who].outcomes(choice)) for choice in choices)
            for who, each in enumerate(self._offers)
            if (
                choices := {
                    c for rows in each.choices.values() for row in rows for c in row.values()
                }
            )
        )
        lines = places * commands * (1 + outcomes)
        if lines > MOST_LINES:
            raise SolverError(
                f"the .dpomdp file would have up to {lines:,.0f} lines, for {places:,.0f} joint "
                f"states and {commands:,} joint actions; expected at most {MOST_LINES:,}. The "
                "format is for small problems: take fewer agents, tasks or stages"
            )

    # -- the file ----------------------------------------------------------------------------------

    def lines(self) -> Iterator[str]:
        """The lines of the file, in order. The format does not allow empty lines."""
        yield from self._head()
        acting, resting = self._places()
        places = [*acting, *resting]
        start = tuple(described.start for described in self._indexed.agents)
        names = [self._name(layer, joint) for layer, joint in places]
        yield f"agents: {len(self._offers)}"
        yield f"discount: {Decimal(repr(self._indexed.discount)):f}"
        yield "values: reward"
        yield f"states: {' '.join([*names, *([END] if self._clock else [])])}"
        yield f"start: {self._name(0, start)}"
        yield "actions:"
        for actions in self._actions:
            yield " ".join(f"a{action}" for action in actions)
        yield "observations:"
        for who, each in enumerate(self._offers):
            yield " ".join(self.local(who, state) for state in each.states)
        for (_, joint), name in zip(places, names, strict=True):
            seen = " ".join(self.local(who, state) for who, state in enumerate(joint))
            yield f"O: * : {name} : {seen} : 1.0"
        for layer, joint in acting:
            yield from self._moves(layer, joint)
        for layer, joint in resting:
            yield f"T: * : {self._name(layer, joint)} : {self._name(layer, joint)} : 1.0"
        if self._clock:
            # Nobody acts on what is observed there.
            seen = " ".join(
                self.local(who, each.states[0]) for who, each in enumerate(self._offers)
            )
            yield f"O: * : {END} : {seen} : 1.0"
            yield f"T: * : {END} : {END} : 1.0"

    def _head(self) -> Iterator[str]:
        yield f"# {quoted(self._indexed.name)}, written by coreplan as a Dec-MDP"
        yield f"# Plan for {self._layers} stages."
        for who, described in enumerate(self._indexed.agents):
            yield f"# agent {who}: {quoted(described.name)}"
            for action in self._actions[who]:
                yield f"#   a{action}: {quoted(described.actions[action])}"
            for state in self._offers[who].states:
                yield f"#   {self.local(who, state)}: {quoted(described.states.label(state))}"

    def _places(self) -> tuple[list[tuple[int, Joint]], list[tuple[int, Joint]]]:
        """The states of the file: those in which agents act, and those only at the horizon.

        Without a clock a joint state counts once, with the first layer at which it can be reached.
        """
        acting: dict[Joint, int] = {}
        every: list[tuple[int, Joint]] = []
        for layer in range(self._layers):
            for joint in itertools.product(*(each.reached[layer] for each in self._offers)):
                if self._clock or joint not in acting:
                    every.append((layer, joint))
                acting.setdefault(joint, layer)
        if self._clock:
            return every, []
        at_end = itertools.product(*(each.reached[self._layers] for each in self._offers))
        return every, [(self._layers, joint) for joint in at_end if joint not in acting]

    def _moves(self, layer: int, joint: Joint) -> Iterator[str]:
        """Transitions and rewards of all joint actions in a joint state."""
        name = self._name(layer, joint)
        for commands in itertools.product(*self._actions):
            choices = []
            for who, (action, state) in enumerate(zip(commands, joint, strict=True)):
                choice = self._offers[who].choice(action, state, layer)
                assert choice is not None, "an agent gets to a state without actions"
                choices.append(choice)
            told = self._command(commands)
            law: dict[str, float] = {}
            for chance, after in self._outcomes(choices):
                target = self._name(layer + 1, after)
                law[target] = law.get(target, 0.0) + chance
            for target, chance in law.items():
                yield f"T: {told} : {name} : {target} : {chance!r}"
            reward = finite(self._reward(layer, choices))
            if reward != 0:
                yield f"R: {told} : {name} : * : * : {reward!r}"

    def _outcomes(self, choices: Sequence[int]) -> Iterator[tuple[float, Joint]]:
        """(probability, next joint state); probabilities add up to 1, up to rounding."""
        laws = []
        for described, choice in zip(self._indexed.agents, choices, strict=True):
            outcomes = described.outcomes(choice)
            mass = math.fsum(chance for _, _, chance in outcomes)
            laws.append([(after, chance / mass) for _, after, chance in outcomes])
        for each in itertools.product(*laws):
            yield math.prod(chance for _, chance in each), tuple(after for after, _ in each)

    def _reward(self, layer: int, choices: Sequence[int]) -> float:
        """The expected reward of the team, given its choices."""
        stage = self._indexed.stage + layer
        known = self._expectations
        terms = [known.constant.at(stage)]
        terms += (known.own_reward(who, choice, stage) for who, choice in enumerate(choices))
        for members, value in known.shared.items():
            chance = math.prod(known.chance(who, choices[who], number) for who, number in members)
            terms.append(value.at(stage) * chance)
        terms += (
            each.weight_at(stage) * each.reward({who: choices[who] for who in each.added})
            for each in known.sums
        )
        return math.fsum(terms)
