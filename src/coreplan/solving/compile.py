"""Compilation of a problem: number its parts, unroll it over stages, merge equal states."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from functools import cached_property

from coreplan import _core
from coreplan.errors import LimitError, ModelError
from coreplan.model.indexed import IndexedProblem, JointState
from coreplan.model.problem import PlanningProblem, index_problem
from coreplan.solving.arrays import ModelArrays, model_arrays
from coreplan.solving.limits import Limits
from coreplan.support.checks import found

logger = logging.getLogger(__name__)

AnyProblem = PlanningProblem
"""A problem of any domain."""


@dataclass(frozen=True)
class AgentSize:
    """The size of one agent's part of a problem.

    Attributes
    ----------
    name
        The agent.
    states
        Local states of the description.
    unrolled
        Reachable (stage, local state) pairs, up to and including the horizon.
    transitions
        Unrolled transitions of positive probability.
    merged
        Unrolled states that remain after merging equivalent ones.
    """

    name: str
    states: int
    unrolled: int
    transitions: int
    merged: int


@dataclass(eq=False)
class CompiledProblem:
    """A problem in the form that algorithms work on.

    Attributes
    ----------
    problem
        The original problem.
    indexed
        The problem with numbers for names.
    graphs
        The unrolled local graphs, with rewards per transition.
    model
        The compiled model, with expectations only.
    merged
        Whether equivalent states were merged.
    """

    problem: AnyProblem
    indexed: IndexedProblem
    graphs: _core.LocalGraphs
    model: _core.CompiledModel
    merged: bool

    @cached_property
    def sizes(self) -> tuple[AgentSize, ...]:
        """Sizes per agent, before and after merging."""
        return tuple(
            AgentSize(
                agent.name,
                len(agent.states),
                self.graphs.node_count(i),
                self.graphs.arc_count(i),
                self.model.class_count(i),
            )
            for i, agent in enumerate(self.indexed.agents)
        )

    @cached_property
    def arrays(self) -> ModelArrays:
        """The compiled model as arrays, for algorithms of other packages."""
        return model_arrays(self.model, len(self.indexed.agents))

    def __str__(self) -> str:
        states = sum(size.states for size in self.sizes)
        unrolled = sum(size.unrolled for size in self.sizes)
        merged = f", {sum(size.merged for size in self.sizes):,} merged" if self.merged else ""
        return (
            f"local states: {states:,}, {unrolled:,} unrolled{merged}; "
            f"joint states: {count_in_words(self.joint_states)}; "
            f"interactions: {self.interactions:,}"
            + (f"; rewards for sums: {self.aggregates:,}" if self.aggregates else "")
        )

    @property
    def joint_states(self) -> float:
        """Number of reachable joint states before the horizon (of merged states, if merged)."""
        return self.model.joint_state_count

    @property
    def interactions(self) -> int:
        """Interaction rewards that can happen at some stage."""
        return self.model.interaction_count

    @property
    def aggregates(self) -> int:
        """Rewards for sums over agents that are more than own rewards at some stage."""
        return self.model.aggregate_count


def count_in_words(number: float) -> str:
    """A count, in full as long as it is readable."""
    return f"{number:,.0f}" if number < 1e15 else f"{number:.3g}"


def compile_problem(
    problem: AnyProblem,
    *,
    merge: bool = True,
    history: bool | None = None,
    stage: int = 0,
    state: JointState | None = None,
    limits: Limits | None = None,
) -> CompiledProblem:
    """Unroll a problem and, by default, merge equivalent local states.

    Parameters
    ----------
    problem
        A problem of any domain.
    merge
        Whether to merge. Unmerged states of a maintenance problem keep start and end times, as in
        the literature.
    history
        Whether states keep start and end times, as in the literature; by default if they are not
        merged.
    stage, state
        Stage and state from which to plan; by default the beginning.
    limits
        Time and memory limits; by default only the machine's memory.

    Raises
    ------
    LimitError
        If the model does not fit into memory, detected before memory runs out.
    ModelError
        If the state is invalid, or an agent can reach a state without actions.

    Examples
    --------
    >>> from coreplan import Contractor, MaintenanceProblem, Task
    >>> alpha = Contractor("Alpha", (Task("a1", duration=2, cost=3, revenue=20),))
    >>> compiled = compile_problem(MaintenanceProblem((alpha,), horizon=4))
    >>> compiled.sizes
    (AgentSize(name='Alpha', states=3, unrolled=12, transitions=13, merged=10),)
    """
    limits = limits or Limits()
    if history is None:
        history = not merge
    indexed = index_problem(problem, history=history, stage=stage, state=state, guard=limits.guard)
    graphs = unroll_problem(indexed, limits)
    try:
        model = _core.compile(graphs, merge, limits.monitor)
    except _core.LimitReached as error:
        raise LimitError(*error.args) from None
    compiled = CompiledProblem(problem, indexed, graphs, model, merge)
    if logger.isEnabledFor(logging.INFO):
        logger.info("%s", compiled)
    return compiled


def unroll_problem(indexed: IndexedProblem, limits: Limits) -> _core.LocalGraphs:
    """Unroll an indexed problem: find the reachable local states of each stage."""
    try:
        return _core.unroll(describe(indexed), limits.monitor)
    except _core.LimitReached as error:
        raise LimitError(*error.args) from None
    except _core.NoAction as error:
        raise no_action(indexed, *error.args) from None


def no_action(indexed: IndexedProblem, agent: int, state: int, stage: int) -> ModelError:
    """The error for an agent that reaches a state without actions before the horizon."""
    who = indexed.agents[agent]
    return ModelError(
        who.stuck
        or f"agent {found(who.name)} has no action in state {who.states.label(state)!r}, which it "
        f"can reach at stage {stage}; add an action, or make the state unreachable"
    )


def describe(indexed: IndexedProblem) -> _core.Description:
    """Build the core's description of an indexed problem."""
    weights = []
    if indexed.discount != 1:
        weights = [indexed.weight(stage) for stage in range(indexed.horizon)]
    description = _core.Description(indexed.horizon, indexed.stage, weights)
    for i, agent in enumerate(indexed.agents):
        description.add_agent(
            len(agent.states),
            len(agent.actions),
            agent.choice_begin,
            agent.choice_action,
            agent.choice_first,
            agent.choice_last,
            agent.outcome_begin,
            agent.outcome_next,
            agent.outcome_probability,
            agent.start,
        )
        for condition in agent.conditions:
            description.add_condition(i, *condition)
    for entry in indexed.entries:
        description.add_entry(entry.members, entry.value, entry.stages, entry.function)
    for aggregate in indexed.aggregates:
        description.add_aggregate(aggregate.amounts, aggregate.values, aggregate.stages)
    return description
