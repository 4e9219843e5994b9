"""Rules that decide as they go: the best joint action if a known policy is followed afterwards.

Such a rule has no table of decisions. It stores what it needs to find them: a model of the team,
with one or more *bases*, policies whose exact value is known from every joint state. In a joint
state it takes the joint action with the highest value if a base is followed from the next stage on.
It is therefore worth at least as much as every base (docs/large-teams.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coreplan.errors import ModelError
from coreplan.policies.rules import GONE, Indices, Integers, LocalMap, Reduced, TeamRule
from coreplan.support.late import late

Floats = NDArray[np.float64]

MOST_DECIDED = 20_000
"""The most joint states of a stage for which decisions are made in an exact evaluation."""


@dataclass(frozen=True, eq=False)
class AgentTables:
    """One agent of a rule's model.

    A class is a set of local states of one stage with the same future. Its actions earn an expected
    reward and lead to an after-state: what others see of the action, as pairs of a signal and its
    probability, and the probabilities of the next classes. Classes and after-states are numbered
    through all stages.
    """

    layer_begin: Indices
    """For each stage, the horizon included: its first class; at the end, their number."""
    action_begin: Indices
    """For each class: its first action; at the end, their number."""
    action_reward: Floats
    action_after: Indices
    after_layer_begin: Indices
    """For each stage: its first after-state; at the end, their number."""
    outcome_begin: Indices
    """For each after-state: its first outcome; at the end, their number."""
    outcome_next: Indices
    outcome_probability: Floats
    factor_begin: Indices
    """For each after-state: its first signal; at the end, their number."""
    factor_signal: Indices
    factor_chance: Floats


@dataclass(frozen=True)
class Encounter:
    """A reward of several agents that match at the same stage."""

    members: tuple[tuple[int, int], ...]
    """Pairs of an agent of the team, by position, and its signal."""
    values: tuple[tuple[int, float], ...]
    """The reward, for each stage at which it is possible."""


@dataclass(frozen=True, eq=False)
class ClusterTable:
    """The actions of a few agents of the team in the joint classes that these lead to."""

    agents: tuple[int, ...]
    """Positions in the team."""
    layers: Indices
    """For each row: the stage, counted from the model's first one, ascending."""
    classes: Indices
    """For each row, a row: the agents' classes within the stage."""
    positions: Indices
    """For each row, a row: the positions of the agents' actions."""


@dataclass(frozen=True, eq=False)
class BasePolicy:
    """A policy of the team with a known value from every joint state."""

    local: tuple[Indices, ...]
    """For each agent and class: the position of its action outside of clusters."""
    clusters: tuple[ClusterTable, ...]


@dataclass(frozen=True, eq=False)
class TeamModel:
    """A team in the classes of a rule, and the policies to look ahead from."""

    stage: int
    """The first stage."""
    horizon: int
    agents: tuple[AgentTables, ...]
    encounters: tuple[Encounter, ...]
    bases: tuple[BasePolicy, ...]
    """The first is the one that the plan has without looking ahead."""

    @cached_property
    def core(self) -> Any:
        """Finds decisions; made on first use."""
        return late("TeamModel.core")(self)

    def choose(self, stage: int, classes: Sequence[Indices]) -> list[Indices]:
        """For each agent: the position of its action in many joint states.

        Parameters
        ----------
        stage
            The stage.
        classes
            For each agent: its class within the stage in each joint state, or GONE if the model
            does not have it; its position is then meaningless.
        """
        return list(late("TeamModel.choose")(self, stage, classes))


@dataclass(frozen=True, eq=False)
class LookaheadRule:
    """Joint actions of a team that decides as it goes.

    Parameters
    ----------
    agents
        The agents of the team, by number.
    reduced
        For each of them: the map from its classes to those of the model.
    model
        The model of the team.
    """

    agents: tuple[int, ...]
    reduced: tuple[Reduced, ...]
    model: TeamModel


def check_ahead(
    rules: Sequence[LookaheadRule], maps: Sequence[LocalMap], teams: Sequence[TeamRule]
) -> None:
    """Check that agents are in one rule at most, and that rules do not cut teams in two."""
    taken: set[int] = set()
    for rule in rules:
        if len(rule.agents) < 2 or not {*rule.agents} <= {*range(len(maps))}:
            raise ModelError(
                "a rule that looks ahead is for other agents than those of the problem"
            )
        if len({*rule.agents, *taken}) != len(rule.agents) + len(taken):
            raise ModelError("an agent is in two rules that look ahead")
        if not len(rule.agents) == len(rule.reduced) == len(rule.model.agents):
            raise ModelError("a rule that looks ahead lacks an agent")
        taken.update(rule.agents)
        for team in teams:
            if 0 < len({*team.agents} & {*rule.agents}) < len(team.agents):
                raise ModelError("a rule that looks ahead has only some of the agents of a team")


def own_classes(rule: LookaheadRule, k: int, numbers: Integers) -> Indices:
    """The classes of the model, within the stage, for an agent's classes through all stages."""
    known: Indices = rule.reduced[k].class_of[numbers]
    return known


def positions_of_map(
    rule: LookaheadRule, k: int, numbers: Integers, positions: Indices
) -> tuple[Integers, NDArray[np.bool_]]:
    """Positions among the actions of an agent's own classes, and where the rule knows them."""
    reduced = rule.reduced[k]
    known = reduced.class_of[numbers] != GONE
    begin = reduced.action_begin[numbers].astype(np.int64)
    found = np.zeros(len(numbers), np.int64)
    found[known] = reduced.action_of[begin[known] + positions[known]]
    return found, known
