"""The contingent plan as a tree: actions, and next actions for each outcome."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from coreplan.errors import ModelError
from coreplan.policies.graph import Fact, Outcome, PlanGraph, plan_graph
from coreplan.policies.policy import Policy
from coreplan.support.checks import found
from coreplan.support.frozen import FrozenMapping
from coreplan.support.late import late, provides

MOST_NODES = 1_000
"""The default for the most nodes of a tree."""
MOST_SITUATIONS = 100_000
"""The most situations from which a tree is made."""


@dataclass(frozen=True)
class PlanBranch:
    """One outcome after the steps of a node.

    Attributes
    ----------
    probability
        Its probability, given that the plan has reached the node.
    known
        The news that it brings.
    node
        The number of the next node.
    """

    probability: float
    known: tuple[Fact, ...]
    node: int


@dataclass(frozen=True)
class PlanNode:
    """A sequence of steps in which only the last one has several outcomes.

    Attributes
    ----------
    stage
        The stage of the first step.
    probability
        The probability that the plan reaches this node.
    actions
        For each step: an action for every agent, by name. Empty at the horizon.
    value
        The expected value from here on; None if unknown.
    branches
        The outcomes after the last step, the likeliest first; empty at the end of the plan.
    left_out
        The probability, after the last step, of an outcome that the tree leaves out.
    """

    stage: int
    probability: float
    actions: tuple[Mapping[str, str], ...]
    value: float | None
    branches: tuple[PlanBranch, ...]
    left_out: float


@dataclass(frozen=True, eq=False)
class PlanTree:
    """A contingent plan; made by :func:`plan_tree` or :meth:`coreplan.Policy.tree`.

    Attributes
    ----------
    agents
        The agents' names.
    horizon
        The number of stages of the problem.
    nodes
        The nodes; number 0 is the root, and branches refer to the others.
    complete
        Whether the tree has all outcomes.
    tasks
        For each agent and action: the task that it starts. Empty if the domain has no tasks.
    """

    agents: tuple[str, ...]
    horizon: int
    nodes: tuple[PlanNode, ...] = field(repr=False)
    complete: bool
    tasks: Mapping[str, Mapping[str, str]] = field(default_factory=dict, repr=False)

    @property
    def root(self) -> PlanNode:
        """The first node of the plan."""
        return self.nodes[0]

    @property
    def covered(self) -> float:
        """The probability that an execution stays within the tree up to the horizon."""
        if self.complete:
            return 1.0
        ends = (node for node in self.nodes if not node.branches)
        return min(1.0, sum(node.probability * max(0.0, 1 - node.left_out) for node in ends))

    def to_dict(self) -> dict[str, Any]:
        """The tree as plain values, for machines: a list of nodes that refer to each other."""
        return {
            "agents": list(self.agents),
            "horizon": self.horizon,
            "complete": self.complete,
            "covered": self.covered,
            "nodes": [
                {
                    "stage": node.stage,
                    "probability": node.probability,
                    "actions": [dict(each) for each in node.actions],
                    "value": node.value,
                    "branches": [
                        {
                            "probability": branch.probability,
                            "known": [fact._asdict() for fact in branch.known],
                            "node": branch.node,
                        }
                        for branch in node.branches
                    ],
                    "left_out": node.left_out,
                }
                for node in self.nodes
            ],
        }

    def __str__(self) -> str:
        return "\n".join(late("PlanTree.text")(self))


@provides("Policy.tree")
def plan_tree(
    policy: Policy,
    depth: int | None = None,
    min_probability: float = 0.0,
    most_nodes: int = MOST_NODES,
) -> PlanTree:
    """Make the contingent plan, which branches only at uncertain outcomes.

    Parameters
    ----------
    policy
        The policy.
    depth
        The most branchings on any path; None means no limit.
    min_probability
        Leave out outcomes that are less likely than this.
    most_nodes
        The most nodes to keep; the likeliest are kept.

    Examples
    --------
    >>> from coreplan import Contractor, Delay, Hindrance, MaintenanceProblem, Task, solve
    >>> problem = MaintenanceProblem(
    ...     (Contractor("Alpha", (Task("a1", 2, cost=3, revenue=20, delay=Delay(0.3, 2)),)),
    ...      Contractor("Beta", (Task("b1", 2, cost=1, revenue=15, window=(2, 4)),))),
    ...     horizon=6, network=(Hindrance(("Alpha/a1", "Beta/b1"), cost=7.5),))
    >>> print(plan_tree(solve(problem).policy))
    step 0: Alpha starts a1
    ├─ 70 %: a1 is not delayed (Alpha)
    │  step 2: Beta starts b1
    └─ 30 %: a1 is delayed (Alpha)
       step 4: Beta starts b1
    """
    if depth is not None and (isinstance(depth, bool) or not isinstance(depth, int) or depth < 0):
        raise ModelError(f"depth is {found(depth)}; expected a whole number of at least 0, or None")
    if isinstance(most_nodes, bool) or not isinstance(most_nodes, int) or most_nodes < 1:
        raise ModelError(
            f"most_nodes is {found(most_nodes)}; expected a whole number of at least 1"
        )
    graph = plan_graph(policy, MOST_SITUATIONS, min_probability)
    nodes = _Growth(graph, depth, min_probability, most_nodes).run()
    complete = not any(node.left_out for node in nodes)
    tasks = {
        agent.name: {
            action: task
            for action, task in zip(agent.actions, agent.tasks, strict=True)
            if task is not None
        }
        for agent in policy.indexed.agents
        if agent.tasks
    }
    return PlanTree(graph.agents, graph.horizon, tuple(nodes), complete, FrozenMapping(tasks))


class _Growth:
    """The tree while it grows: the likeliest node first."""

    def __init__(self, graph: PlanGraph, depth: int | None, least: float, most_nodes: int) -> None:
        self._graph = graph
        self._depth = depth
        self._least = least
        self._most = most_nodes

    def run(self) -> list[PlanNode]:
        """Grow the tree, and return its nodes."""
        made: list[PlanNode | None] = [None]
        # (negative probability, number, first situation, number of branchings on the path)
        waiting = [(-1.0, 0, 0, 0)]
        while waiting:
            less, number, situation, depth = heapq.heappop(waiting)
            probability = -less
            last, actions = self._chain(situation)
            outcomes = self._graph.situations[last].outcomes
            shown = self._shown(outcomes, probability, depth, self._most - len(made))
            branches = []
            for outcome in shown:
                there = probability * outcome.probability
                heapq.heappush(waiting, (-there, len(made), outcome.next, depth + 1))
                branches.append(PlanBranch(outcome.probability, outcome.known, len(made)))
                made.append(None)
            left_out = self._graph.situations[last].cut
            if len(shown) < len(outcomes):
                left_out += sum(each.probability for each in outcomes[len(shown) :])
            start = self._graph.situations[situation]
            made[number] = PlanNode(
                start.stage, probability, actions, start.value, tuple(branches), left_out
            )
        return [node for node in made if node is not None]

    def _chain(self, situation: int) -> tuple[int, tuple[Mapping[str, str], ...]]:
        """Follow situations with one outcome: the last situation, and all actions on the path."""
        situations = self._graph.situations
        actions = []
        while situations[situation].action:
            actions.append(situations[situation].action)
            outcomes = situations[situation].outcomes
            if situations[situation].cut or len(outcomes) != 1 or outcomes[0].known:
                break
            situation = outcomes[0].next
        return situation, tuple(actions)

    def _shown(
        self, outcomes: Sequence[Outcome], probability: float, depth: int, room: int
    ) -> list[Outcome]:
        """The outcomes to show: the likeliest ones that are likely enough."""
        if self._depth is not None and depth >= self._depth:
            return []
        likely = itertools.takewhile(
            lambda each: probability * each.probability >= self._least, outcomes
        )
        return list(itertools.islice(likely, max(0, room)))
