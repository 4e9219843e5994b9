"""A plan to start from: its value, and the actions of single agents in it.

A policy is about the problem's own states; the engine works on classes of a compiled, reduced
model. The translation is the inverse of the one for the engine's own policies.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coreplan import _core
from coreplan.errors import LimitError, SolverError
from coreplan.model.indexed import IndexedProblem, JointState
from coreplan.policies.policy import Policy
from coreplan.policies.rules import GONE
from coreplan.solving.compile import AnyProblem, CompiledProblem
from coreplan.solving.limits import Limits
from coreplan.solving.task import SolverTask
from coreplan.support.checks import found

StartPlan = Policy | Mapping[str, Any] | Callable[[int, dict[str, Any]], Mapping[str, str]]
"""A policy, a function of the stage and the joint state (:meth:`coreplan.Policy.from_function`),
or a plan in the terms of the domain: for a maintenance problem, a schedule."""

Base = NDArray[np.uint32]
"""One agent's own policy: per class of the reduced model, the position of an action."""


def make_plan(
    problem: AnyProblem,
    plan: object,
    stage: int,
    state: JointState | None,
    limits: Limits | None = None,
) -> Policy:
    """Turn a schedule into a policy for a problem, or take a policy for it from a stage on."""
    if isinstance(plan, Policy):
        if plan.problem != problem:
            raise SolverError(
                f"the plan is for another problem ({found(plan.problem.name)}) than "
                f"{found(problem.name)}, or the problem has changed since"
            )
        if stage < plan.stage:
            return plan  # the beginnings are compared later
        return plan.starting_from(stage, state)
    if callable(plan):
        return Policy.from_function(problem, plan, stage=stage, state=state)
    if not isinstance(plan, Mapping):
        raise SolverError(
            f"the plan is {found(plan)}; expected a Policy, a function of the stage and the joint "
            "state or, for a maintenance problem, a schedule {contractor: {work: step}}"
        )
    return problem.read_plan(plan, stage=stage, state=state, limits=limits)


def check_beginning(policy: Policy, indexed: IndexedProblem) -> None:
    """Raise a SolverError if a policy and a problem start from different stages or states."""
    if policy.stage != indexed.stage:
        raise SolverError(
            f"the plan starts from stage {policy.stage}; expected a plan from stage {indexed.stage}"
        )
    for mine, asked in zip(policy.indexed.agents, indexed.agents, strict=True):
        planned, given = (
            each.states.without_past(each.states.value(each.start)) for each in (mine, asked)
        )
        if planned != given:
            raise SolverError(
                f"the plan starts with agent {found(mine.name)} in state {planned!r}; expected "
                f"state {given!r}"
            )


@dataclass(frozen=True)
class Start:
    """A policy to start from, with its exact value, which is not checked again.

    That of a policy that decides as it goes is the exact value of the policy that it looks ahead
    from: it is worth at least as much.
    """

    policy: Policy
    value: float

    def bases(
        self, compiled: CompiledProblem, reduction: _core.Reduction
    ) -> list[NDArray[np.uint32]] | None:
        """Per agent: its action by class of the reduced model; None if actions depend on others."""
        policy = self.policy.base
        if not policy.is_local:
            return None
        alone = _core.independent_bounds(reduction.model, Limits.unlimited_monitor())
        return [
            _AgentStart(policy, compiled, reduction, i).base(alone.action(i))
            for i in range(len(compiled.indexed.agents))
        ]


def take_start(task: SolverTask, compiled: CompiledProblem, plan: StartPlan | Start) -> Start:
    """Check and evaluate a plan to start from; its value is the first lower bound.

    Raises
    ------
    ModelError
        If a schedule is invalid.
    SolverError
        If the plan is for another problem, or its exact value is too costly to compute.
    LimitError
        If its exact value takes more than half of the remaining time, or Ctrl-C is pressed.
    """
    given = plan.policy if isinstance(plan, Start) else plan
    policy = make_plan(task.problem, given, task.stage, task.state, task.limits)
    check_beginning(policy, compiled.indexed)
    value = plan.value if isinstance(plan, Start) else _value_of(policy, task.limits)
    if not math.isfinite(value):
        raise OverflowError("the sum of the rewards is too large")
    task.limits.phase = "start"
    task.limits.report(value, math.inf)
    return Start(policy, value)


def _value_of(policy: Policy, limits: Limits) -> float:
    """The exact value of a plan, computed within half of the remaining time."""
    try:
        with limits.end_if_interrupted():
            return policy.base.evaluate(time_limit=0.5 * limits.seconds_left)
    except LimitError as error:
        if error.reason != "time_limit":
            raise
        raise LimitError(
            "time_limit",
            "the time limit is too short to compute the value of the plan to start from",
        ) from None
    except SolverError as error:
        raise SolverError(f"cannot start from this plan: {error}") from None


class _AgentStart:
    """One agent's map from the states of a policy to the classes of a reduced model."""

    def __init__(
        self, policy: Policy, compiled: CompiledProblem, reduction: _core.Reduction, agent: int
    ) -> None:
        self._agent = agent
        self._policy = policy
        self._indexed = compiled.indexed
        self._same_states = policy.history == (not compiled.merged)
        graphs = compiled.graphs
        self._layer_begin = graphs.layer_begin(agent).astype(np.int64)
        self._node_state = graphs.node_state(agent)
        self._row_begin = graphs.choice_begin(agent).astype(np.int64)
        self._row_choice = graphs.choice_base(agent).astype(np.int64)
        self._arc_begin = graphs.arc_begin(agent).astype(np.int64)
        self._arc_next = graphs.arc_next(agent).astype(np.int64)
        self._arc_chance = graphs.arc_probability(agent)
        self._action_of_choice = np.array(
            compiled.indexed.agents[agent].choice_action or [0], np.int64
        )
        self._node_class = compiled.model.node_class(agent).astype(np.int64)
        self._kept_begin = compiled.model.node_choice_begin(agent).astype(np.int64)
        self._kept_choice = compiled.model.node_choice(agent).astype(np.int64)
        self._class_of = reduction.class_of(agent).astype(np.int64)
        self._reduced_begin = reduction.action_begin(agent).astype(np.int64)
        self._reduced_action = reduction.action_of(agent).astype(np.int64)

    def base(self, otherwise: Base) -> Base:
        """The agent's actions in the policy; `otherwise` where these are unknown or removed."""
        planned = self._planned()
        weight = self._weights(planned)
        into = self._class_of[self._node_class]
        position = self._positions(planned, into)
        likely = (weight > 0) & (planned >= 0) & (into != GONE) & (position < 0)
        for node in np.flatnonzero(likely).tolist():
            position[node] = self._as_good(node, int(planned[node]))
        base = otherwise.copy()
        known = np.flatnonzero(position >= 0)
        # States of one class may have different planned actions: the most likely one counts.
        known = known[np.argsort(weight[known], kind="stable")]
        base[into[known]] = position[known]
        return base

    def _planned(self) -> NDArray[np.int64]:
        """Per node: the position of the planned choice in the graph; -1 at the horizon."""
        layers = len(self._layer_begin) - 2
        planned = np.full(len(self._node_state), -1, np.int64)
        counts = np.diff(self._row_begin)
        for layer in range(layers):
            stage = self._indexed.stage + layer
            begin, end = self._layer_begin[layer : layer + 2]
            states = self._find_states(stage, self._node_state[begin:end])
            actions = self._policy.local_actions(stage, self._agent, states).astype(np.int64)
            rows = np.repeat(np.arange(begin, end), counts[begin:end])
            at = np.arange(self._row_begin[begin], self._row_begin[end])
            wanted = actions[rows - begin]
            hits = self._action_of_choice[self._row_choice[at]] == wanted
            planned[rows[hits]] = at[hits]
        return planned

    def _find_states(self, stage: int, states: NDArray[np.uint32]) -> NDArray[np.uint32]:
        """The policy's numbers of states: only one of the two models may keep histories."""
        if self._same_states:
            return states
        ours = self._indexed.agents[self._agent].states
        theirs = self._policy.indexed.agents[self._agent].states
        numbers = [theirs.find(stage, ours.without_past(ours.value(int(k)))) for k in states]
        return np.array(numbers, np.uint32)

    def _weights(self, planned: NDArray[np.int64]) -> NDArray[np.float64]:
        """Per node: the probability that the agent reaches it."""
        weight = np.zeros(len(self._node_state))
        weight[self._layer_begin[0]] = 1.0
        for layer in range(len(self._layer_begin) - 2):
            begin, end = self._layer_begin[layer : layer + 2]
            nodes = begin + np.flatnonzero(weight[begin:end])
            first, last = (self._arc_begin[planned[nodes] + k] for k in (0, 1))
            counts = last - first
            arcs = np.repeat(first - np.cumsum(counts) + counts, counts) + np.arange(counts.sum())
            chance = np.repeat(weight[nodes], counts) * self._arc_chance[arcs]
            np.add.at(weight, self._arc_next[arcs], chance)
        return weight

    def _positions(self, planned: NDArray[np.int64], into: NDArray[np.int64]) -> NDArray[np.int64]:
        """Per node: the position of the planned choice in the reduced class; -1 if removed."""
        nodes = np.flatnonzero((planned >= 0) & (into != GONE))
        own = self._node_class[nodes]
        counts = np.diff(self._reduced_begin)[own]
        rows = np.repeat(nodes, counts)
        within = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
        actions = self._reduced_action[np.repeat(self._reduced_begin[own], counts) + within]
        choices = self._kept_choice[self._kept_begin[rows] + actions]
        hits = choices == self._row_choice[planned[rows]]
        position = np.full(len(planned), -1, np.int64)
        position[rows[hits]] = within[hits]
        return position

    def _as_good(self, node: int, planned: int) -> int:
        """The position of a choice with the same consequences; -1 if none exists.

        The reduced model keeps only one of several equally good choices.
        """
        own = self._node_class[node]
        actions = self._reduced_action[self._reduced_begin[own] : self._reduced_begin[own + 1]]
        choices = self._kept_choice[self._kept_begin[node] + actions]
        row = range(int(self._row_begin[node]), int(self._row_begin[node + 1]))
        at = {int(self._row_choice[k]): k for k in row}
        wanted = self._leads_to(planned)
        same = (k for k, each in enumerate(choices) if self._leads_to(at[int(each)]) == wanted)
        return next(same, -1)

    def _leads_to(self, at: int) -> Sequence[tuple[int, float]]:
        arcs = slice(int(self._arc_begin[at]), int(self._arc_begin[at + 1]))
        nexts = self._class_of[self._node_class[self._arc_next[arcs]]]
        return sorted(zip(nexts.tolist(), self._arc_chance[arcs].tolist(), strict=True))
