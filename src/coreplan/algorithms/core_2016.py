"""The paper's algorithms on conditional return graphs: CRG-PS and CoRe, as printed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from coreplan import _core
from coreplan.algorithms.task import SolverTask
from coreplan.crg import Assignment, ConditionalReturnGraphs, build_crgs
from coreplan.errors import SolverError
from coreplan.group_rule import Chances, Event, GroupRule
from coreplan.policy import LocalMap, LocalRule, Policy
from coreplan.result import Result


def solve_crg_ps(
    task: SolverTask,
    merge: bool = True,
    memo: bool = False,
    assignment: Assignment = "balanced",
) -> Result:
    """CRG-enabled policy search: decoupling, but no pruning."""
    return _solve(task, "crg-ps", False, merge, memo, assignment, 0.0, 0.0)


def solve_core_2016(
    task: SolverTask,
    merge: bool = True,
    memo: bool = False,
    assignment: Assignment = "balanced",
    relative_gap: float = 0.0,
    absolute_gap: float = 0.0,
) -> Result:
    """Conditional return policy search, Algorithm 1 of the paper."""
    for name, value in (("relative_gap", relative_gap), ("absolute_gap", absolute_gap)):
        if isinstance(value, bool) or not isinstance(value, int | float) or not value >= 0:
            raise SolverError(f"{name} is {value!r}; expected a number of at least 0")
    return _solve(
        task, "core-2016", True, merge, memo, assignment, float(relative_gap), float(absolute_gap)
    )


def build_for(task: SolverTask, merge: bool, assignment: Assignment) -> ConditionalReturnGraphs:
    """The CRGs that a search runs on."""
    if not isinstance(merge, bool):
        raise SolverError(f"merge is {merge!r}; expected True or False")
    return build_crgs(
        task.problem,
        assignment=assignment,
        influence="features",
        merge=merge,
        stage=task.stage,
        state=task.state,
        limits=task.limits,
    )


def _solve(
    task: SolverTask,
    algorithm: str,
    bounds: bool,
    merge: bool,
    memo: bool,
    assignment: Assignment,
    relative_gap: float,
    absolute_gap: float,
) -> Result:
    if not isinstance(memo, bool):
        raise SolverError(f"memo is {memo!r}; expected True or False")
    crgs = build_for(task, merge, assignment)
    monitor = task.limits.monitor
    # What holds whatever happens to the search.
    model = _core.compile(crgs.graphs, False, monitor)
    alone = _core.independent_bounds(model, monitor)
    task.limits.phase = "search"
    found = _core.solve_core_2016(
        crgs.core, bounds, memo, absolute_gap, relative_gap, False, monitor
    )
    solved = found.stop == _core.Stop.none
    fallback = [
        crgs.core.local_choice(i) if solved else alone.action(i)
        for i in range(len(crgs.indexed.agents))
    ]
    policy = make_policy(crgs, found if solved else None, fallback)
    upper = min(alone.upper, crgs.upper_bound(task.stage))
    lower = found.lower if solved else alone.lower
    size = crgs.size
    return task.make_result(
        algorithm,
        lower,
        max(min(found.upper, upper) if solved else upper, lower),
        found.stop,
        policy,
        found.states_expanded,
        found.actions_evaluated,
        others={
            "crg_nodes": int(size.nodes),
            "crg_arcs": int(size.arcs),
            "joint_actions_pruned": found.actions_pruned,
            "decouplings": found.decouplings,
        },
    )


def make_policy(
    crgs: ConditionalReturnGraphs,
    found: _core.CoreResult | None,
    fallback: Sequence[NDArray[np.uint32]],
) -> Policy:
    """The policy that a search found; elsewhere everybody does what is best alone."""
    agents = range(len(crgs.indexed.agents))
    groups = None
    if found is not None:
        begins = [crgs.graphs.layer_begin(i) for i in agents]
        decisions = {
            (
                decision.layer,
                tuple(decision.agents),
                tuple(
                    node - int(begins[i][decision.layer])
                    for i, node in zip(decision.agents, decision.nodes, strict=True)
                ),
            ): tuple(decision.choices)
            for decision in found.decisions
        }
        chances = tuple(
            Chances(crgs.core.run_list_of(i), crgs.core.run_list_begin(i), crgs.core.runs(i))
            for i in agents
        )
        events = tuple(
            Event(tuple(members), None if stages is None else tuple(stages))
            for members, stages in crgs.core.events()
        )
        groups = GroupRule(chances, events, decisions)
    return Policy(
        crgs.problem,
        crgs.indexed,
        [_make_map(crgs, i) for i in agents],
        None,
        LocalRule(tuple(fallback)),
        history=crgs.history,
        groups=groups,
    )


def _make_map(crgs: ConditionalReturnGraphs, agent: int) -> LocalMap:
    layer_begin = crgs.full.layer_begin(agent)
    class_begin = crgs.graphs.layer_begin(agent)
    node_class = crgs.merged.node_class(agent)
    choice_begin = crgs.graphs.choice_begin(agent)
    labels = np.array(crgs.indexed.agents[agent].choice_action or [0], dtype=np.uint32)
    action = labels[crgs.graphs.choice_base(agent)]
    # The actions of a node are those of its class, in the class's order.
    counts = np.diff(choice_begin)[node_class]
    action_begin = np.concatenate([[0], np.cumsum(counts)]).astype(np.uint32)
    within = np.arange(action_begin[-1]) - np.repeat(action_begin[:-1], counts)
    node_action = action[np.repeat(choice_begin[:-1][node_class], counts) + within]
    return LocalMap(
        layer_begin,
        crgs.full.node_state(agent),
        (node_class - np.repeat(class_begin[:-1], np.diff(layer_begin))).astype(np.uint32),
        np.diff(class_begin).astype(np.uint32),
        action_begin,
        node_action.astype(np.uint32),
    )
