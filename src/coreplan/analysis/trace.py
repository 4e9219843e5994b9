"""A record of the published search: every joint state and joint action that it visits, and why."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from coreplan import _core
from coreplan.analysis.followed import FollowedSequence, in_brackets
from coreplan.analysis.followed import follow as follow_sequence
from coreplan.errors import LimitError, SolverError
from coreplan.model.indexed import JointState
from coreplan.solving.algorithms.core_2016 import build_for, search_options
from coreplan.solving.compile import AnyProblem
from coreplan.solving.crg import Assignment, Bounds, ConditionalReturnGraphs
from coreplan.solving.limits import Limits
from coreplan.solving.options import ActionOrder, Core2016Options, Decoupling, RewardsFrom
from coreplan.solving.solver import check_problem, errors_of_the_core
from coreplan.solving.task import SolverTask
from coreplan.support.checks import found as shown
from coreplan.support.late import late

MOST_STATES = 2000
"""The default for the most visits of joint states in a trace."""


@dataclass(frozen=True)
class TracedLocal:
    """The local state of one agent.

    Attributes
    ----------
    agent
        The name of the agent.
    state
        The local state, in the form that :func:`coreplan.solve` takes.
    label
        The local state as text.
    alike
        Other local states that were merged with it, because they have the same future.
    """

    agent: str
    state: Any
    label: str
    alike: tuple[str, ...]


@dataclass(frozen=True)
class TracedOutcome:
    """One outcome of a joint action: its probability, and the visits that follow.

    Attributes
    ----------
    probability
        The probability of the outcome.
    states
        Positions in :attr:`SearchTrace.states`: one visit, or one per group if the outcome
        decoupled the agents.
    """

    probability: float
    states: tuple[int, ...]

    @property
    def decoupled(self) -> bool:
        """Whether the agents split into groups that cannot interact any more."""
        return len(self.states) > 1


@dataclass(frozen=True)
class TracedAction:
    """One joint action of a group of agents in a joint state.

    Attributes
    ----------
    actions
        The agents' actions, in the order of the joint state's agents.
    lower, upper
        L and U of Algorithm 1: expectations over the joint outcomes.
    graph_lower, graph_upper
        The bounds from each agent's conditional return graph alone, whatever the others' outcomes;
        with ``bounds="returns"`` also whatever the agent's own outcomes.
    certain
        L_max at the turn of this action; None if it was unknown.
    pruned
        Whether it was skipped, because U is less than L_max.
    given_up
        U when the search stopped with it, because its first outcomes left it less than L_max; None
        if it was pruned or evaluated to the end.
    value
        The value; None if it was pruned or given up.
    outcomes
        The outcomes that the search looked at: all of them unless the action was given up. Empty if
        it was pruned, and at the last stage.
    """

    actions: tuple[str, ...]
    lower: float
    upper: float
    graph_lower: float
    graph_upper: float
    certain: float | None
    pruned: bool
    given_up: float | None
    value: float | None
    outcomes: tuple[TracedOutcome, ...]


@dataclass(frozen=True)
class TracedState:
    """One visit of the search: a group of agents in a joint state.

    Attributes
    ----------
    stage
        The stage.
    locals
        The local state of each agent of the group.
    parent, parent_action
        The positions, in :attr:`SearchTrace.states` and in its actions, of the visit and action
        that led here; None at the start of the search.
    probability
        The probability of the outcome that led here.
    value
        The optimal value of the group from here on.
    independent
        Whether this is one agent that follows its own best policy, without a search.
    remembered
        Whether the value was remembered from an earlier visit.
    actions
        The joint actions, in the order of the search. Empty without a search.
    best
        The position of the best joint action; None without a search.
    """

    stage: int
    locals: tuple[TracedLocal, ...]
    parent: int | None
    parent_action: int | None
    probability: float
    value: float
    independent: bool
    remembered: bool
    actions: tuple[TracedAction, ...]
    best: int | None

    @property
    def agents(self) -> tuple[str, ...]:
        """The names of the agents."""
        return tuple(local.agent for local in self.locals)


@dataclass(frozen=True)
class SearchTrace:
    """A complete record of the search; made by :func:`trace_search`.

    Attributes
    ----------
    problem
        The problem's name.
    algorithm
        ``core-2016``, or ``crg-ps`` if it ran without bounds.
    stage, horizon
        The first stage of the search, and the number of stages.
    value
        The optimum.
    constants
        For each stage from the first: the reward that does not depend on the agents. It is part of
        `value`, not of the values of joint states.
    start
        The first visit, or one visit per group if the agents were decoupled from the start.
    states
        All visits, in the order of the search.
    crgs
        The conditional return graphs that the search ran on.
    followed
        An execution sequence that views highlight, or None.
    """

    problem: str
    algorithm: str
    stage: int
    horizon: int
    value: float
    constants: tuple[float, ...]
    start: TracedOutcome
    states: tuple[TracedState, ...]
    crgs: ConditionalReturnGraphs = field(repr=False, compare=False)
    followed: FollowedSequence | None = None

    @property
    def joint_states_expanded(self) -> int:
        """The number of visits with a search."""
        return sum(bool(state.actions) for state in self.states)

    @property
    def joint_actions_evaluated(self) -> int:
        """The number of evaluated joint actions, with those that were given up."""
        return sum(not action.pruned for state in self.states for action in state.actions)

    @property
    def joint_actions_pruned(self) -> int:
        """The number of pruned joint actions."""
        return sum(action.pruned for state in self.states for action in state.actions)

    @property
    def decouplings(self) -> int:
        """The number of outcomes that decoupled agents."""
        return self.start.decoupled + sum(
            outcome.decoupled
            for state in self.states
            for action in state.actions
            for outcome in action.outcomes
        )

    def to_text(self, branches: Sequence[str] = ()) -> str:
        """The search as an indented tree; `branches` as in :meth:`to_svg`."""
        return str(late("SearchTrace.text")(self, branches))

    def to_svg(self, branches: Sequence[str] = (), *, graphs: bool = False) -> str:
        """The search as a picture, from left to right by stage.

        Parameters
        ----------
        branches
            Show only these joint actions of the first joint state, and all that follows them:
            ``["(b, b)", "(b, a)"]``. By default everything is shown.
        graphs
            Whether to draw the conditional return graphs below, with rewards and bounds.

        Raises
        ------
        SolverError
            If the search has no such joint action at its start, or the graphs are too large.
        """
        return str(late("SearchTrace.to_svg")(self, branches, graphs))

    def to_dict(self) -> dict[str, Any]:
        """The search as plain dictionaries and lists, for JSON."""
        followed = {} if self.followed is None else {"followed": _followed_dict(self.followed)}
        return {
            "problem": self.problem,
            "algorithm": self.algorithm,
            "stage": self.stage,
            "horizon": self.horizon,
            "value": self.value,
            "constants": list(self.constants),
            "joint_states_expanded": self.joint_states_expanded,
            "joint_actions_evaluated": self.joint_actions_evaluated,
            "joint_actions_pruned": self.joint_actions_pruned,
            "decouplings": self.decouplings,
            "start": list(self.start.states),
            "states": [_state_dict(state) for state in self.states],
            **followed,
        }


def _followed_dict(followed: FollowedSequence) -> dict[str, Any]:
    return {
        "probability": followed.probability,
        "reward": followed.reward,
        "steps": [
            {
                "actions": list(step.actions),
                "states": list(step.labels),
                "probability": step.probability,
                "reward": step.reward,
            }
            for step in followed.steps
        ],
    }


def _state_dict(state: TracedState) -> dict[str, Any]:
    return {
        "stage": state.stage,
        "agents": [
            {"name": local.agent, "state": local.label, "alike": list(local.alike)}
            for local in state.locals
        ],
        "parent": state.parent,
        "parent_action": state.parent_action,
        "probability": state.probability,
        "value": state.value,
        "independent": state.independent,
        "remembered": state.remembered,
        "best": state.best,
        "actions": [
            {
                "actions": list(action.actions),
                "lower": action.lower,
                "upper": action.upper,
                "graph_lower": action.graph_lower,
                "graph_upper": action.graph_upper,
                "certain": action.certain,
                "pruned": action.pruned,
                "given_up": action.given_up,
                "value": action.value,
                "outcomes": [
                    {"probability": outcome.probability, "states": list(outcome.states)}
                    for outcome in action.outcomes
                ],
            }
            for action in state.actions
        ],
    }


def trace_search(
    problem: AnyProblem,
    *,
    bounds: Bounds | bool = "returns",
    memo: bool = False,
    merge: bool = True,
    assignment: Assignment = "balanced",
    decouple: Decoupling = "table",
    action_order: ActionOrder = "promising",
    rewards: RewardsFrom = "graph",
    update_bounds: bool = True,
    independent_actions: bool = False,
    stage: int = 0,
    state: JointState | None = None,
    time_limit: float | None = None,
    most_states: int = MOST_STATES,
    follow: Sequence[str] = (),
) -> SearchTrace:
    """Run the published search on a small problem and record every visit.

    Parameters
    ----------
    problem
        A TI-MMDP or an MPP.
    bounds
        The bounds to prune by, as in CoRe (``core-2016``): ``returns`` or ``expected``, see
        :func:`coreplan.solving.build_crgs`. True means ``returns``. With False the search does not
        prune, which is CRG-PS.
    memo
        Whether to remember solved groups; the algorithm as printed does not.
    merge
        Whether to merge equivalent local states.
    assignment
        The assignment of reward functions to agents; see :func:`coreplan.solving.build_crgs`.
    decouple, action_order, rewards, update_bounds, independent_actions
        As in :class:`~coreplan.Core2016Options`.
    stage, state
        Where the search starts; by default at the beginning.
    time_limit
        Seconds; None for no limit.
    most_states
        The most visits of joint states (and 20 times as many joint actions) to record.
    follow
        The steps of an execution sequence that views highlight: joint actions, with an outcome
        where several are possible: ``["(b, b)", "(a, a) -> (ba not f, ba)"]``.

    Raises
    ------
    LimitError
        If a limit is reached, because a part of a search is of no use.
    ModelError
        If the state or the sequence to follow is invalid.
    SolverError
        If the search is larger than `most_states`, an option is invalid, or the search did not
        follow the sequence, because it pruned a joint action or decoupled the agents.

    Examples
    --------
    >>> from coreplan import Contractor, Hindrance, MaintenanceProblem, Task
    >>> problem = MaintenanceProblem(
    ...     (Contractor("Alpha", (Task("a1", 1, cost=3, revenue=20),)),
    ...      Contractor("Beta", (Task("b1", 1, cost=1, revenue=15),))),
    ...     horizon=1, network=(Hindrance(("Alpha/a1", "Beta/b1"), cost=7.5),))
    >>> print(trace_search(problem).to_text())  # doctest: +NORMALIZE_WHITESPACE
    problem by core-2016, from stage 0 on: worth 23.5
    1 joint state searched, 1 joint action evaluated, 3 pruned, 0 decouplings
    <BLANKLINE>
    stage 0 [Alpha: idle/to do a1, Beta: idle/to do b1] is worth 23.5
      (start a1, start b1): bounds [23.5, 23.5], worth 23.5 (best)
      (start a1, wait): bounds [17, 17], pruned: at best 17, 23.5 is certain
      (wait, start b1): bounds [14, 14], pruned: at best 14, 23.5 is certain
      (wait, wait): bounds [0, 0], pruned: at best 0, 23.5 is certain
    """
    check_problem(problem)
    options = Core2016Options(
        merge=merge,
        memo=memo,
        assignment=assignment,
        bounds="returns" if isinstance(bounds, bool) else bounds,
        decouple=decouple,
        action_order=action_order,
        rewards=rewards,
        update_bounds=update_bounds,
        independent_actions=independent_actions,
    )
    if isinstance(most_states, bool) or not isinstance(most_states, int) or most_states < 1:
        raise SolverError(
            f"most_states is {shown(most_states)}; expected a whole number of at least 1"
        )
    limits = Limits(time_limit)
    with limits.catch_interrupts(), errors_of_the_core():
        crgs = build_for(SolverTask(problem, stage, state, limits), options)
        search = search_options(options, bounded=bounds is not False)
        search.most_trace = min(most_states, 10**9)
        found = _core.solve_core_2016(crgs.core, search, limits.monitor)
    if found.trace_full:
        raise SolverError(
            f"the search is too long to show: it visits more than {most_states:,} joint states "
            f"(or {20 * most_states:,} joint actions); start at a later stage (stage and state), "
            "remember solved states (memo), shrink the problem or raise most_states"
        )
    if found.stop != _core.Stop.none:
        reason = found.stop.name
        raise LimitError(reason, f"the search was stopped ({reason.replace('_', ' ')})")
    trace = _Reader(crgs, found).read("crg-ps" if bounds is False else "core-2016")
    if not follow:
        return trace
    followed = follow_sequence(crgs.indexed, follow, trace.constants)
    _check_followed(trace, followed)
    return replace(trace, followed=followed)


def _check_followed(trace: SearchTrace, followed: FollowedSequence) -> None:
    """Raise a SolverError if the search did not visit all of a sequence."""
    outcome = trace.start
    for step in followed.steps:
        name = in_brackets(step.actions)
        if outcome.decoupled:
            raise SolverError(
                f"step {shown(name)} cannot be followed: the search decoupled the agents before it"
            )
        state = trace.states[outcome.states[0]]
        if not state.actions:
            raise SolverError(
                f"step {shown(name)} cannot be followed: the search knew the value of the state "
                "before it without a search"
            )
        action = next(each for each in state.actions if each.actions == step.actions)
        if action.pruned:
            raise SolverError(
                f"step {shown(name)} cannot be followed: the search pruned it; bounds=False "
                "(--no-bounds) prunes nothing"
            )
        if not action.outcomes:
            return  # the last stage
        wanted = dict(zip(state.agents, step.labels, strict=True))
        outcome = next(each for each in action.outcomes if leads_to(trace.states, each, wanted))


def leads_to(
    states: Sequence[TracedState], outcome: TracedOutcome, labels: Mapping[str, str]
) -> bool:
    """Whether an outcome has, for each agent, the labelled local state or one merged with it."""
    return all(
        labels[local.agent] in (local.label, *local.alike)
        for k in outcome.states
        for local in states[k].locals
    )


class _Reader:
    """Translates the numbers of the core's records into names."""

    def __init__(self, crgs: ConditionalReturnGraphs, found: _core.CoreResult) -> None:
        self._crgs = crgs
        self._found = found
        self._records = found.trace
        agents = range(len(crgs.indexed.agents))
        self._class_of = [crgs.merged.node_class(i) for i in agents]
        self._state_of = [crgs.full.node_state(i) for i in agents]
        self._choice_begin = [crgs.graphs.choice_begin(i) for i in agents]
        self._choice_base = [crgs.graphs.choice_base(i) for i in agents]
        self._locals: dict[tuple[int, int], TracedLocal] = {}

    def read(self, algorithm: str) -> SearchTrace:
        indexed = self._crgs.indexed
        # The visits after each joint action, in order.
        following: dict[tuple[int, int], list[int]] = {}
        for position, record in enumerate(self._records):
            following.setdefault((record.parent, record.parent_action), []).append(position)
        return SearchTrace(
            problem=indexed.name,
            algorithm=algorithm,
            stage=indexed.stage,
            horizon=indexed.horizon,
            value=self._found.lower,
            constants=tuple(
                self._crgs.graphs.constant_at(t) for t in range(indexed.stage, indexed.horizon)
            ),
            start=self._outcomes(following[-1, 0])[0],
            states=tuple(
                self._state(position, record, following)
                for position, record in enumerate(self._records)
            ),
            crgs=self._crgs,
        )

    def _state(
        self,
        position: int,
        record: _core.TraceState,
        following: dict[tuple[int, int], list[int]],
    ) -> TracedState:
        actions = tuple(
            self._action(record, action, following.get((position, k), []))
            for k, action in enumerate(record.actions)
        )
        worth = [-math.inf if a.value is None else a.value for a in actions]
        return TracedState(
            stage=self._crgs.indexed.stage + record.layer,
            locals=tuple(map(self._local, record.agents, record.nodes)),
            parent=None if record.parent < 0 else record.parent,
            parent_action=None if record.parent < 0 else record.parent_action,
            probability=record.probability,
            value=record.value,
            independent=record.independent,
            remembered=record.remembered,
            actions=actions,
            best=worth.index(max(worth)) if worth else None,
        )

    def _action(
        self, record: _core.TraceState, action: _core.TraceAction, looks: Sequence[int]
    ) -> TracedAction:
        return TracedAction(
            actions=tuple(map(self._action_name, record.agents, record.nodes, action.choices)),
            lower=action.lower,
            upper=action.upper,
            graph_lower=action.graph_lower,
            graph_upper=action.graph_upper,
            certain=action.best_known if math.isfinite(action.best_known) else None,
            pruned=action.pruned,
            given_up=action.value if action.given_up else None,
            value=None if action.pruned or action.given_up else action.value,
            outcomes=self._outcomes(looks),
        )

    def _outcomes(self, looks: Sequence[int]) -> tuple[TracedOutcome, ...]:
        """Combine the groups of each outcome; every visit knows their number."""
        outcomes = []
        first = 0
        while first < len(looks):
            record = self._records[looks[first]]
            last = first + record.groups
            outcomes.append(TracedOutcome(record.probability, tuple(looks[first:last])))
            first = last
        return tuple(outcomes)

    def _local(self, agent: int, node: int) -> TracedLocal:
        if (agent, node) not in self._locals:
            who = self._crgs.indexed.agents[agent]
            numbers = self._state_of[agent][self._class_of[agent] == node]
            first, *others = (int(number) for number in numbers)
            self._locals[agent, node] = TracedLocal(
                who.name,
                who.states.value(first),
                who.states.label(first),
                tuple(who.states.label(each) for each in others),
            )
        return self._locals[agent, node]

    def _action_name(self, agent: int, node: int, choice: int) -> str:
        who = self._crgs.indexed.agents[agent]
        base = self._choice_base[agent][self._choice_begin[agent][node] + choice]
        return who.actions[who.choice_action[int(base)]]
