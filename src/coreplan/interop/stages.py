"""Which actions agents have at which stage, and what else depends on the stage.

Formats of other tools know states and actions, but no stages. A problem whose actions and rewards
are the same at every stage can be written as it is; any other needs a clock among its states.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from coreplan import _core
from coreplan.interop.expectations import Expectations, Members, StageValue
from coreplan.model.indexed import IndexedAgent, IndexedProblem
from coreplan.support.checks import found

Choices = Mapping[int, int]
"""Per action of the description: the choice that it is in some state."""


@dataclass
class Offers:
    """What one agent can do in the local states that it can reach.

    Attributes
    ----------
    reached
        Per layer, the horizon included: the states that the agent can be in then.
    layers, choices
        Per state: the layers before the horizon at which the agent can be in it, ascending, and
        what it can do then.
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
        """All actions that are available somewhere."""
        return sorted({action for each in self.choices.values() for row in each for action in row})

    def at(self, state: int, layer: int) -> Choices:
        """What the agent can do in a state.

        Where it cannot be in the state at this layer, nothing depends on the answer: it is that of
        the last layer before at which it can, else of the first one after.
        """
        layers = self.layers.get(state)
        if not layers:
            return {}
        return self.choices[state][max(0, bisect.bisect_right(layers, layer) - 1)]

    def choice(self, action: int, state: int, layer: int) -> int | None:
        """The choice that an action is in a state; None if there are no choices at all.

        An agent that is told to do what it cannot do does what its first available action does. So
        no state gets a new way to move or to earn.
        """
        offered = self.at(state, layer)
        return offered.get(action, next(iter(offered.values()), None))


def read_offers(indexed: IndexedProblem, graphs: _core.LocalGraphs) -> list[Offers]:
    """Read from the unrolled graphs what each agent can do where."""
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


def stage_dependence(
    indexed: IndexedProblem, expectations: Expectations, every: Sequence[Offers]
) -> list[str]:
    """Everything that is not the same at all stages, in words; nothing for a stationary problem."""
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
    for function in changing:
        yield f"the reward {found(indexed.functions[function])} is not the same at all stages"
