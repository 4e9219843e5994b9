"""The paper's algorithms on conditional return graphs: CRG-PS and CoRe, as printed."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from coreplan import _core
from coreplan.policies.group_rule import Chances, Event, GroupRule, GroupTable
from coreplan.policies.policy import Policy
from coreplan.policies.rules import LocalMap, LocalRule
from coreplan.solving.crg import ConditionalReturnGraphs, build_crgs
from coreplan.solving.options import Core2016Options, CrgPsOptions, RewardsFrom
from coreplan.solving.result import Result
from coreplan.solving.simplification import simplify
from coreplan.solving.task import SolverTask

REWARDS: dict[RewardsFrom, _core.RewardSource] = {
    "graph": _core.RewardSource.graph,
    "entries": _core.RewardSource.entries,
    "checked": _core.RewardSource.checked,
}
"""Where the core gets the reward of a joint transition from."""


def solve_crg_ps(task: SolverTask, options: CrgPsOptions) -> Result:
    """CRG-enabled policy search: decoupling, but no pruning."""
    return _solve_grouped(task, "crg-ps", options, search_options(options, bounded=False))


def solve_core_2016(task: SolverTask, options: Core2016Options) -> Result:
    """Conditional return policy search, Algorithm 1 of the paper."""
    search = search_options(options, bounded=True)
    search.relative_gap = float(options.relative_gap)
    search.absolute_gap = float(options.absolute_gap)
    return _solve_grouped(task, "core-2016", options, search)


def search_options(options: CrgPsOptions | Core2016Options, *, bounded: bool) -> _core.CoreOptions:
    """The options of the search in the core, without gaps.

    Parameters
    ----------
    options
        The options of the algorithm.
    bounded
        Whether to prune by bounds, as in CoRe; otherwise the search is CRG-PS.
    """
    search = _core.CoreOptions()
    search.bounds = bounded
    search.memo = options.memo
    search.table = options.decouple == "table"
    search.rewards = REWARDS[options.rewards]
    if isinstance(options, Core2016Options):
        search.update = options.update_bounds
        search.promising = options.action_order == "promising"
        search.independent_actions = options.independent_actions
    return search


def build_for(task: SolverTask, options: CrgPsOptions | Core2016Options) -> ConditionalReturnGraphs:
    """The CRGs that a search runs on."""
    return build_crgs(
        task.problem,
        assignment=options.assignment,
        influence="features",
        bounds=options.bounds if isinstance(options, Core2016Options) else "returns",
        merge=options.merge,
        share=options.group > 0,
        stage=task.stage,
        state=task.state,
        limits=task.limits,
    )


def _solve_grouped(
    task: SolverTask,
    algorithm: str,
    options: CrgPsOptions | Core2016Options,
    search: _core.CoreOptions,
) -> Result:
    """Solve the problem with its interactions grouped, if the options say so."""
    if not options.group:
        return _solve(task, algorithm, options, search)
    simplified = simplify(
        task.problem, options.group, stage=task.stage, state=task.state, limits=task.limits
    )
    result = _solve(replace(task, problem=simplified.problem), algorithm, options, search)
    return simplified.restore(result, task.limits)


def _solve(
    task: SolverTask,
    algorithm: str,
    options: CrgPsOptions | Core2016Options,
    search: _core.CoreOptions,
) -> Result:
    crgs = build_for(task, options)
    monitor = task.limits.monitor
    # What holds whatever happens to the search.
    model = _core.compile(crgs.graphs, False, monitor)
    alone = _core.independent_bounds(model, monitor)
    task.limits.phase = "search"
    found = _core.solve_core_2016(crgs.core, search, monitor)
    solved = found.stop == _core.Stop.none
    fallback = [
        crgs.core.local_choice(i) if solved else alone.action(i)
        for i in range(len(crgs.indexed.agents))
    ]
    policy = make_policy(crgs, found if solved else None, fallback)
    # Groups count the masses of their own laws, the whole team those of all.
    error = 2 * _core.mass_error(model)
    upper = min(alone.upper, crgs.upper_bound(task.stage) + error)
    lower = found.lower if solved else alone.lower
    if solved and not model.unit_mass:
        lower = policy.evaluate()
    size = crgs.size
    return task.make_result(
        algorithm,
        lower,
        max(min(found.upper + error, upper) if solved else upper, lower),
        found.stop,
        policy,
        found.states_expanded,
        found.actions_evaluated,
        others={
            "crg_nodes": int(size.nodes),
            "crg_arcs": int(size.arcs),
            "joint_actions_bounded": found.actions_bounded,
            "joint_actions_pruned": found.actions_pruned,
            "decouplings": found.decouplings,
        },
        allowed_gap=math.inf if search.absolute_gap or search.relative_gap else 0.0,
    )


@dataclass(frozen=True)
class _Classes:
    """The classes of one agent's nodes that a policy speaks of.

    They are the nodes of the (merged) graph, except that nodes which differ only in the past that
    their states remember are one class: the same decisions are best in all of them, and people ask
    without that past.
    """

    of_node: NDArray[np.int64]
    """Per node of the graph: its class within the layer."""
    count: NDArray[np.int64]
    """Per layer."""
    example: NDArray[np.int64]
    """Per class, layer by layer: one of its nodes."""


def _find_classes(crgs: ConditionalReturnGraphs, agent: int) -> _Classes:
    begin = crgs.graphs.layer_begin(agent).astype(np.int64)
    states = crgs.indexed.agents[agent].states
    nodes = np.arange(begin[-1])
    if not crgs.history or not states.remembers:
        return _Classes(nodes - np.repeat(begin[:-1], np.diff(begin)), np.diff(begin), nodes)
    of_node = np.zeros(len(nodes), np.int64)
    count = []
    example = []
    state_of = crgs.graphs.node_state(agent)
    for first, last in pairwise(begin):
        known: dict[Hashable, int] = {}
        for node in range(first, last):
            situation = states.situation(int(state_of[node]))
            if situation not in known:
                known[situation] = len(known)
                example.append(node)
            of_node[node] = known[situation]
        count.append(len(known))
    return _Classes(of_node, np.array(count), np.array(example))


def make_policy(
    crgs: ConditionalReturnGraphs,
    found: _core.CoreResult | None,
    fallback: Sequence[NDArray[np.uint32]],
) -> Policy:
    """The policy that a search found; elsewhere everybody does what is best alone."""
    agents = range(len(crgs.indexed.agents))
    classes = [_find_classes(crgs, i) for i in agents]
    groups = None
    if found is not None:
        chances = tuple(
            Chances(
                crgs.core.run_list_of(i)[classes[i].example],
                crgs.core.run_list_begin(i),
                crgs.core.runs(i),
            )
            for i in agents
        )
        events = tuple(
            Event(tuple(members), None if stages is None else tuple(stages))
            for members, stages in crgs.core.events()
        )
        groups = GroupRule(chances, events, _make_tables(found, classes))
    return Policy(
        crgs.problem,
        crgs.original,
        [_make_map(crgs, i, classes[i]) for i in agents],
        (),
        LocalRule(tuple(fallback[i][classes[i].example] for i in agents)),
        history=crgs.history,
        groups=groups,
    )


def _make_tables(found: _core.CoreResult, classes: Sequence[_Classes]) -> tuple[GroupTable, ...]:
    """The decisions of each group; of several for nodes of one class, the last."""
    rows: dict[tuple[int, ...], dict[tuple[int, ...], list[int]]] = {}
    for decision in found.decisions:
        agents = tuple(decision.agents)
        own = (
            int(classes[i].of_node[node]) for i, node in zip(agents, decision.nodes, strict=True)
        )
        rows.setdefault(agents, {})[decision.layer, *own] = decision.choices
    tables = []
    for agents, decided in rows.items():
        keys = np.array(list(decided), np.uint32)
        positions = np.array(list(decided.values()), np.uint32)
        tables.append(GroupTable(agents, keys[:, 0], keys[:, 1:], positions))
    return tuple(tables)


def _make_map(crgs: ConditionalReturnGraphs, agent: int, classes: _Classes) -> LocalMap:
    node_of = crgs.merged.node_class(agent)
    choice_begin = crgs.graphs.choice_begin(agent)
    labels = np.array(crgs.indexed.agents[agent].choice_action or [0], dtype=np.uint32)
    action = labels[crgs.graphs.choice_base(agent)]
    # The actions of a state are those of its node of the merged graph, in that node's order.
    counts = np.diff(choice_begin)[node_of]
    action_begin = np.concatenate([[0], np.cumsum(counts)]).astype(np.uint32)
    within = np.arange(action_begin[-1]) - np.repeat(action_begin[:-1], counts)
    node_action = action[np.repeat(choice_begin[:-1][node_of], counts) + within]
    return LocalMap(
        crgs.full.layer_begin(agent),
        crgs.full.node_state(agent),
        classes.of_node[node_of].astype(np.uint32),
        classes.count.astype(np.uint32),
        action_begin,
        node_action.astype(np.uint32),
    )
