"""The paper's algorithms on conditional return graphs: CRG-PS and CoRe, as printed."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from coreplan import _core
from coreplan.errors import SolverError
from coreplan.policies.group_rule import Chances, Event, GroupRule, GroupTable
from coreplan.policies.policy import Policy
from coreplan.policies.rules import LocalMap, LocalRule
from coreplan.solving.crg import Assignment, ConditionalReturnGraphs, build_crgs
from coreplan.solving.result import Result
from coreplan.solving.task import SolverTask, check_flags, check_gaps
from coreplan.support.checks import unknown_name

DECOUPLE = ("table", "search")
ACTION_ORDER = ("promising", "listed")
REWARDS = ("graph", "entries", "checked")


def solve_crg_ps(
    task: SolverTask,
    merge: bool = True,
    memo: bool = False,
    assignment: Assignment = "balanced",
    decouple: str = "table",
    rewards: str = "graph",
) -> Result:
    """CRG-enabled policy search: decoupling, but no pruning."""
    options = search_options(bounded=False, memo=memo, decouple=decouple, rewards=rewards)
    return _solve(task, "crg-ps", build_for(task, merge, assignment), options)


def solve_core_2016(
    task: SolverTask,
    merge: bool = True,
    memo: bool = False,
    assignment: Assignment = "balanced",
    bounds: str = "returns",
    decouple: str = "table",
    action_order: str = "promising",
    rewards: str = "graph",
    independent_actions: bool = False,
    relative_gap: float = 0.0,
    absolute_gap: float = 0.0,
) -> Result:
    """Conditional return policy search, Algorithm 1 of the paper."""
    check_gaps(relative_gap=relative_gap, absolute_gap=absolute_gap)
    options = search_options(
        memo=memo,
        decouple=decouple,
        action_order=action_order,
        rewards=rewards,
        independent_actions=independent_actions,
    )
    options.relative_gap = float(relative_gap)
    options.absolute_gap = float(absolute_gap)
    return _solve(task, "core-2016", build_for(task, merge, assignment, bounds), options)


def search_options(
    *,
    bounded: bool = True,
    memo: bool = False,
    decouple: str = "table",
    action_order: str = "promising",
    rewards: str = "graph",
    independent_actions: bool = False,
) -> _core.CoreOptions:
    """The readings of the algorithm, checked.

    Parameters
    ----------
    bounded
        Whether to prune by bounds: CoRe; without, CRG-PS.
    memo
        Whether to remember solved groups; the algorithm as printed does not.
    decouple
        What a decoupled agent earns: from its optimal local policy, solved once (``table``), or
        found by ``search`` each time.
    action_order
        Joint actions with the highest U first (``promising``), or as they are ``listed``.
    rewards
        Walk the CRGs for the reward of a joint transition (``graph``), add up the ``entries`` of
        the problem, or walk and compare with the sum (``checked``).
    independent_actions
        Whether to bound joint actions per set of agents that cannot interact at this stage.
    """
    check_flags(memo=memo, independent_actions=independent_actions)
    for name, value, allowed in (
        ("decouple", decouple, DECOUPLE),
        ("action_order", action_order, ACTION_ORDER),
        ("rewards", rewards, REWARDS),
    ):
        if value not in allowed:
            raise SolverError(unknown_name(value, name, allowed, "the search"))
    options = _core.CoreOptions()
    options.bounds = bounded
    options.memo = memo
    options.table = decouple == "table"
    options.promising = action_order == "promising"
    options.rewards = getattr(_core.RewardSource, rewards)
    options.independent_actions = independent_actions
    return options


def build_for(
    task: SolverTask, merge: bool, assignment: Assignment, bounds: str = "returns"
) -> ConditionalReturnGraphs:
    """The CRGs that a search runs on."""
    check_flags(merge=merge)
    return build_crgs(
        task.problem,
        assignment=assignment,
        influence="features",
        bounds=bounds,
        merge=merge,
        stage=task.stage,
        state=task.state,
        limits=task.limits,
    )


def _solve(
    task: SolverTask, algorithm: str, crgs: ConditionalReturnGraphs, options: _core.CoreOptions
) -> Result:
    monitor = task.limits.monitor
    # What holds whatever happens to the search.
    model = _core.compile(crgs.graphs, False, monitor)
    alone = _core.independent_bounds(model, monitor)
    task.limits.phase = "search"
    found = _core.solve_core_2016(crgs.core, options, monitor)
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
        allowed_gap=math.inf if options.absolute_gap or options.relative_gap else 0.0,
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
        crgs.indexed,
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
