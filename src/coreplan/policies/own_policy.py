"""A policy that asks a function, see :meth:`coreplan.Policy.from_function`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from coreplan.errors import ModelError
from coreplan.model.indexed import JointState
from coreplan.model.problem import PlanningProblem
from coreplan.policies.own import (
    Decide,
    DecideAlone,
    DecideMany,
    OwnRule,
    alone_rule,
    as_table,
    first_actions,
    own_maps,
    start_of_own,
)
from coreplan.policies.policy import Policy
from coreplan.policies.rules import Indices, Integers
from coreplan.support.checks import found
from coreplan.support.late import provides


class OwnPolicy(Policy):
    """A policy whose decisions are made by a function, when they are first needed."""

    def __init__(self, problem: PlanningProblem, rule: OwnRule) -> None:
        indexed = rule.indexed
        maps = own_maps(indexed)
        super().__init__(problem, indexed, maps, (), first_actions(maps), history=False)
        self._rule = rule

    @property
    def is_local(self) -> bool:
        """False: the function sees the states of all agents."""
        return False

    @property
    def parts(self) -> list[tuple[int, ...]]:
        """All agents together."""
        return [tuple(range(len(self.maps)))]

    def choose_many(
        self,
        stage: int,
        agents: Sequence[int],
        states: Sequence[Indices],
        absent: Sequence[NDArray[np.bool_]] | None = None,
    ) -> list[Integers]:
        """Ask the function about joint states that it has not been asked about yet."""
        order = np.argsort(np.asarray(agents))
        for i in order:
            self._nodes(stage, agents[i], states[i])  # an error if a state cannot come about
        chosen = self._rule.choose_many(stage, [states[i] for i in order])
        return [chosen[agent] for agent in agents]

    def starting_from(self, stage: int, joint_state: JointState | None = None) -> Policy:
        """The same function from a later stage and a joint state on, whatever led there."""
        if joint_state is None and stage != self.stage:
            raise ModelError(f"the joint state at stage {stage} is missing; give joint_state")
        return own_policy(
            self.problem,
            self._rule.function,
            stage=stage,
            state=joint_state,
            arrays=self._rule.arrays,
        )

    def stored(self) -> Policy:
        """The same decisions as a table of all joint states that the policy reaches."""
        return Policy(
            self.problem, self.indexed, self.maps, as_table(self), self.local, history=False
        )


@provides("Policy.from_function")
def own_policy(
    problem: PlanningProblem,
    function: Decide | DecideMany | Mapping[str, DecideAlone],
    *,
    stage: int = 0,
    state: JointState | None = None,
    arrays: bool = False,
) -> Policy:
    """Make a policy from a function; see :meth:`coreplan.Policy.from_function`."""
    indexed = start_of_own(problem, stage, state)
    if isinstance(function, Mapping):
        maps = own_maps(indexed)
        rule = alone_rule(indexed, maps, function)
        return Policy(problem, indexed, maps, (), rule, history=False)
    if not callable(function):
        raise ModelError(
            f"found {found(function)}; expected a function of the stage and the joint state, or "
            "one function for each agent"
        )
    return OwnPolicy(problem, OwnRule(indexed, function, arrays=arrays))
