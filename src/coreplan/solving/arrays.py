"""The compiled model as read-only numpy arrays, for algorithms of other packages.

Layers count stages from the first stage of planning, which is layer 0. A *class* is a set of local
states of one stage that have the same future. An *action* of a class earns its expected own reward
and leads to an *after-state*: the part that the other agents' rewards depend on, and the possible
next classes. At a stage the team earns

    constant[layer] + Σ_agents reward[action] + Σ_interactions value · Π_members chance
    + Σ_aggregates table[Σ_members units]

where the chance is that of the member's signal in its agent's after-state, or 0 without this
signal; and the units are those of the member's signal that the after-state has, or 0. Then every
agent moves independently, by the outcomes of its after-state.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from coreplan import _core

Indices = NDArray[np.uint32]
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class AgentArrays:
    """One agent of a compiled model.

    Attributes
    ----------
    layer_begin
        Per layer, the horizon's included: its first class; one more for the end.
    action_begin
        Per class: its first action; one more for the end. Classes at the horizon have none.
    reward
        Per action: its own expected reward.
    after
        Per action: the after-state that it leads to.
    outcome_begin
        Per after-state: its first outcome; one more for the end.
    outcome_next, outcome_probability
        Per outcome: the class at the next stage, and its probability.
    factor_begin
        Per after-state: its first factor; one more for the end.
    factor_signal, factor_chance
        Per factor: a signal that interactions depend on, and its probability.
    """

    layer_begin: Indices
    action_begin: Indices
    reward: Floats
    after: Indices
    outcome_begin: Indices
    outcome_next: Indices
    outcome_probability: Floats
    factor_begin: Indices
    factor_signal: Indices
    factor_chance: Floats

    def chance(self, after: int, signal: int) -> float:
        """The probability of a signal in an after-state."""
        row = slice(int(self.factor_begin[after]), int(self.factor_begin[after + 1]))
        return float(self.factor_chance[row][self.factor_signal[row] == signal].sum())

    def units(self, after: int, units: Mapping[int, int]) -> int:
        """What an after-state adds to an aggregate, given the units by signal."""
        row = slice(int(self.factor_begin[after]), int(self.factor_begin[after + 1]))
        return sum(units.get(int(signal), 0) for signal in self.factor_signal[row])


class InteractionArrays(NamedTuple):
    """A reward that depends on several agents at the same stage."""

    members: tuple[tuple[int, int], ...]
    """The (agent, signal) pairs that must all match."""
    values: dict[int, float]
    """The reward, per layer in which it is possible."""


class AggregateArrays(NamedTuple):
    """A reward for the sum of what agents add at the same stage."""

    members: tuple[tuple[int, dict[int, int]], ...]
    """The agents, each with the units that it adds by signal. An after-state has one of these
    signals at most."""
    tables: dict[int, Floats]
    """The rewards by the sum of units, per layer at which there are any."""


@dataclass(frozen=True, eq=False)
class ModelArrays:
    """A compiled model.

    Attributes
    ----------
    layers
        Number of stages from the first one on, without the horizon.
    constant
        Per layer: the reward that the team earns in any case.
    agents
        The agents, in the problem's order.
    interactions
        Rewards that depend on several agents at the same stage.
    aggregates
        Rewards for sums over agents.
    """

    layers: int
    constant: Floats
    agents: tuple[AgentArrays, ...]
    interactions: tuple[InteractionArrays, ...]
    aggregates: tuple[AggregateArrays, ...] = ()


def model_arrays(model: _core.CompiledModel, agents: int) -> ModelArrays:
    """The arrays of a compiled model of so many agents."""
    first = model.first_stage
    return ModelArrays(
        model.horizon - first,
        _read_only(model.constant_at()),
        tuple(_agent_arrays(model, i) for i in range(agents)),
        tuple(
            InteractionArrays(tuple(members), {stage - first: value for stage, value in values})
            for members, values in model.interactions()
        ),
        tuple(_aggregate_arrays(*each) for each in model.aggregates()),
    )


def _aggregate_arrays(
    members: list[tuple[int, list[tuple[int, int]]]],
    layers: list[int],
    sums: int,
    values: list[float],
) -> AggregateArrays:
    tables = _read_only(np.array(values)).reshape(-1, sums)
    return AggregateArrays(
        tuple((agent, dict(units)) for agent, units in members),
        {layer: tables[k if len(tables) > 1 else 0] for k, layer in enumerate(layers)},
    )


def _agent_arrays(model: _core.CompiledModel, i: int) -> AgentArrays:
    arrays: tuple[NDArray[Any], ...] = (
        model.layer_begin(i),
        model.action_begin(i),
        model.action_reward(i),
        model.action_after(i),
        model.outcome_begin(i),
        model.outcome_next(i),
        model.outcome_probability(i),
        *model.factors(i),
    )
    return AgentArrays(*map(_read_only, arrays))


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    array.flags.writeable = False
    return array
