"""The actions of agents at each stage, and all that depends on the stage.

The formats of other tools have states and actions, but no stages. They can express a problem
directly only if its actions and rewards are the same at every stage; other problems need a clock.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from coreplan import _core
from coreplan.interop.expectations import Expectations, Members, StageValue
from coreplan.model.indexed import IndexedAgent, IndexedProblem, JointState
from coreplan.model.problem import index_problem
from coreplan.solving.compile import AnyProblem, unroll_problem
from coreplan.solving.limits import Limits
from coreplan.solving.solver import check_problem, errors_of_the_core
from coreplan.support.checks import found

Choices = Mapping[int, int]
"""For each action that is available in a state: the choice that it stands for."""


@dataclass
class Offers:
    """The available actions of one agent in the local states that it can reach.

    Attributes
    ----------
    reached
        For each layer, the horizon included: the states that the agent can be in.
    layers, choices
        For each state: the layers before the horizon at which the agent can be in it, ascending,
        and the available actions with their choices.
    """

    reached: list[list[int]] = field(default_factory=list)
    layers: dict[int, list[int]] = field(default_factory=dict)
    choices: dict[int, list[Choices]] = field(default_factory=dict)

    @property
    def states(self) -> list[int]:
        """All states that can be reached, the horizon included."""
        return sorted({state for layer in self.reached for state in layer})

    @property
    def actions(self) -> list[int]:
        """All actions that are available in some state."""
        return sorted({action for each in self.choices.values() for row in each for action in row})

    def at(self, state: int, layer: int) -> Choices:
        """The available actions in a state.

        If the agent cannot be in the state at this layer, nothing depends on the answer. It is then
        that of the last layer before at which the agent can be there, or of the first one after.
        """
        layers = self.layers.get(state)
        if not layers:
            return {}
        return self.choices[state][max(0, bisect.bisect_right(layers, layer) - 1)]

    def choice(self, action: int, state: int, layer: int) -> int | None:
        """The choice that an action stands for in a state; None in a state without choices.

        An action that is not available behaves like the first available one. No state gets a new
        transition or reward.
        """
        offered = self.at(state, layer)
        return offered.get(action, next(iter(offered.values()), None))


def read_offers(indexed: IndexedProblem, graphs: _core.LocalGraphs) -> list[Offers]:
    """Read the available actions of each agent from the unrolled graphs."""
    every = []
    for number, described in enumerate(indexed.agents):
        layer_begin = graphs.layer_begin(number).tolist()
        node_state = graphs.node_state(number).tolist()
        choice_begin = graphs.choice_begin(number).tolist()
        base = graphs.choice_base(number).tolist()
        offers = Offers()
        for layer in range(len(layer_begin) - 1):
            nodes = range(layer_begin[layer], layer_begin[layer + 1])
            offers.reached.append([node_state[node] for node in nodes])
            if indexed.stage + layer == indexed.horizon:
                continue
            for node in nodes:
                row = base[choice_begin[node] : choice_begin[node + 1]]
                offers.layers.setdefault(node_state[node], []).append(layer)
                offers.choices.setdefault(node_state[node], []).append(
                    {described.choice_action[choice]: choice for choice in row}
                )
        every.append(offers)
    return every


class Stages(NamedTuple):
    """A problem as exports need it."""

    indexed: IndexedProblem
    expectations: Expectations
    """Not discounted: the tool does that."""
    offers: list[Offers]
    """For each agent: its available actions."""
    reasons: list[str]
    """All that depends on the stage, in words; empty for a stationary problem."""


def read_stages(
    problem: AnyProblem, stage: int, state: JointState | None, limits: Limits | None
) -> Stages:
    """Find the actions and expected rewards of a problem at every stage, for an export."""
    check_problem(problem)
    limits = limits or Limits()
    indexed = index_problem(problem, stage=stage, state=state, guard=limits.guard)
    expectations = Expectations(indexed, discounted=False)
    with errors_of_the_core():
        offers = read_offers(indexed, unroll_problem(indexed, limits))
    return Stages(indexed, expectations, offers, stage_dependence(indexed, expectations, offers))


def stage_dependence(
    indexed: IndexedProblem, expectations: Expectations, every: Sequence[Offers]
) -> list[str]:
    """All that differs between stages, in words; empty for a stationary problem."""
    reasons = list(_changing_rewards(indexed, expectations))
    for described, offers in zip(indexed.agents, every, strict=True):
        reasons += _changing_actions(indexed, described, offers)
    return reasons


def _changing_actions(
    indexed: IndexedProblem, described: IndexedAgent, offers: Offers
) -> Iterator[str]:
    for state, each in sorted(offers.choices.items()):
        other = next((k for k, row in enumerate(each) if row != each[0]), None)
        if other is not None:
            layers = offers.layers[state]
            yield (
                f"agent {found(described.name)} has other actions in state "
                f"{found(described.states.label(state))} at stage {indexed.stage + layers[other]} "
                f"than at stage {indexed.stage + layers[0]}"
            )


def _changing_rewards(indexed: IndexedProblem, expectations: Expectations) -> Iterator[str]:
    stages = range(indexed.stage, indexed.horizon)
    values: dict[Members, StageValue] = {
        (): expectations.constant,
        **{((who, k),): v for who, own in enumerate(expectations.own) for k, v in own.items()},
        **expectations.shared,
    }
    changing = sorted(
        {
            function
            for members, value in values.items()
            if not value.is_same_at(stages)
            for function in expectations.functions[members]
        }
    )
    changing += sorted({sum_.function for sum_ in expectations.sums if not sum_.is_same_at(stages)})
    for function in changing:
        yield f"the reward {found(indexed.functions[function])} differs between stages"
