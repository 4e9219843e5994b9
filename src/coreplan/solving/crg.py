"""Conditional return graphs (CRGs), as defined in the paper: build, measure, ask.

A CRG holds, for one agent, its local states per stage and, between them, trees that say on which
actions and transitions of other agents its share of the rewards depends. The readings chosen where
the printed definitions leave a choice are in docs/paper-to-code.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, get_args

from coreplan import _core
from coreplan.errors import LimitError, ModelError, SolverError
from coreplan.model.indexed import IndexedProblem, JointState
from coreplan.model.problem import index_problem
from coreplan.model.sums_as_entries import KIND, sums_as_entries
from coreplan.solving.compile import AnyProblem, describe, no_action
from coreplan.solving.limits import Limits
from coreplan.support.checks import found, unknown_name
from coreplan.support.late import late

if TYPE_CHECKING:
    from coreplan.analysis.sequences import ExecutionSequence
    from coreplan.view.svg import Drawing

Assignment = str | Mapping[Any, str] | Callable[[str, tuple[str, ...]], str]
"""Which agent answers for which reward function: ``balanced`` (every agent for about as many),
``highest-degree`` (the agent with most interactions), ``smallest`` (function by function, the agent
that gives the smallest graphs), a mapping from a function's name or position to an agent's name, or
a callable (name, agents) -> agent's name."""

ASSIGNMENTS = ("balanced", "highest-degree", "smallest")
Bounds = Literal["returns", "expected"]
"""What the bounds L and U are about: all possible returns, or the expected return over the agent's
own outcomes."""
BOUNDS: tuple[Bounds, ...] = get_args(Bounds)


@dataclass(frozen=True)
class CrgSize:
    """Numbers of nodes and arcs of CRGs, by kind.

    Attributes
    ----------
    states
        Local states.
    action_nodes, influence_nodes
        Internal nodes of action trees (roots included) and of influence trees.
    action_arcs, wildcard_arcs
        Arcs for own and dependent actions, and for `*`.
    influence_arcs, no_influence_arcs
        Arcs for state transitions of others, and for `◇`.
    reward_arcs
        Arcs into the next local state: the transitions that the CRG tells apart.
    """

    states: float = 0
    action_nodes: float = 0
    influence_nodes: float = 0
    action_arcs: float = 0
    wildcard_arcs: float = 0
    influence_arcs: float = 0
    no_influence_arcs: float = 0
    reward_arcs: float = 0

    @property
    def nodes(self) -> float:
        """All nodes."""
        return self.states + self.action_nodes + self.influence_nodes

    @property
    def arcs(self) -> float:
        """All arcs."""
        return (
            self.action_arcs
            + self.wildcard_arcs
            + self.influence_arcs
            + self.no_influence_arcs
            + self.reward_arcs
        )

    def __add__(self, other: CrgSize) -> CrgSize:
        return CrgSize(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(CrgSize)))

    @classmethod
    def _of(cls, size: _core.CrgSize) -> CrgSize:
        return cls(*(getattr(size, f.name) for f in fields(cls)))


@dataclass(frozen=True)
class RewardPart:
    """A reward function that several agents take part in, and the agent that answers for it."""

    name: str
    function: int
    agents: tuple[str, ...]
    owner: str


@dataclass(frozen=True)
class PathStep:
    """What a path of a CRG says of one other agent.

    Attributes
    ----------
    agent
        Its name.
    action
        The dependent action, or ``*`` for any other.
    influence
        The state transition (from, to) that is told apart; None for ``◇``, any other.
    """

    agent: str
    action: str
    influence: tuple[str, str] | None


class ConditionalReturnGraph:
    """The CRG of one agent.

    Attributes
    ----------
    agent
        The agent's name.
    sizes, naive_sizes
        Per stage (the last one: local states at the horizon): numbers of nodes and arcs, and those
        of the graph in which nothing is grouped.
    """

    def __init__(self, owner: ConditionalReturnGraphs, position: int) -> None:
        self._owner = owner
        self._core = owner.core
        self.position = position
        self.agent = owner.indexed.agents[position].name

    @cached_property
    def sizes(self) -> tuple[CrgSize, ...]:
        """Numbers of nodes and arcs per stage."""
        return tuple(CrgSize._of(size) for size in self._core.size_at(self.position))

    @cached_property
    def naive_sizes(self) -> tuple[CrgSize, ...]:
        """The same without any grouping."""
        return tuple(CrgSize._of(size) for size in self._core.naive_at(self.position))

    @property
    def size(self) -> CrgSize:
        """Numbers of nodes and arcs over all stages."""
        return sum(self.sizes, CrgSize())

    @property
    def naive_size(self) -> CrgSize:
        """The same without any grouping."""
        return sum(self.naive_sizes, CrgSize())

    def _state_action_factor(self) -> float:
        """The factor h·|A|·|S|² of the paper's bound, for this agent."""
        graphs = self._owner.graphs
        begin = graphs.layer_begin(self.position)
        states = max(int(b) - int(a) for a, b in pairwise(begin))
        stages = graphs.horizon - graphs.first_stage
        return float(stages * len(self._owner.indexed.agents[self.position].actions) * states**2)

    @property
    def printed_bound(self) -> float:
        """Theorem 1's bound as printed, for this agent: h·|A||S|²·(αβ)^w.

        It leaves out wildcards and takes w from one function, so it can be too small.
        """
        alpha = max(self._core.most_dependent(self.position), default=0)
        beta = max(self._core.most_influence(self.position), default=0)
        scopes = [len(part.agents) - 1 for part in self._owner.parts if part.owner == self.agent]
        return self._state_action_factor() * float(alpha * beta) ** max(scopes, default=0)

    @property
    def size_bound(self) -> float:
        """A bound that holds: (2m+2)·h·|A||S|²·Π_j (α_j+1)(β_j+1), with m other agents in scope."""
        bound = (2 * self._core.others(self.position) + 2) * self._state_action_factor()
        for alpha, beta in zip(
            self._core.most_dependent(self.position),
            self._core.most_influence(self.position),
            strict=True,
        ):
            bound *= (alpha + 1) * (beta + 1)
        return bound

    def is_independent(self, stage: int, state: Any = None) -> bool:
        """Whether nothing the agent does from a local state on can interact any more."""
        node = self._owner.node(self.position, stage, state)
        return bool(self._core.independent(self.position)[node])

    def bounds(self, stage: int, state: Any = None) -> tuple[float, float]:
        """Bounds (L, U) from a local state on: of the return (eq. UB) or of its expectation."""
        node = self._owner.node(self.position, stage, state)
        return (
            float(self._core.lower(self.position)[node]),
            float(self._core.upper(self.position)[node]),
        )

    def draw(
        self,
        stages: tuple[int, int] | int | None = None,
        *,
        rewards: bool = False,
        bounds: bool = False,
        naive: bool = False,
        sequence: ExecutionSequence | None = None,
    ) -> Drawing:
        """A picture of this graph; see :meth:`ConditionalReturnGraphs.draw`."""
        return self._owner.draw(
            [self.agent], stages, rewards=rewards, bounds=bounds, naive=naive, sequence=sequence
        )

    def __repr__(self) -> str:
        size = self.size
        return f"<CRG of {self.agent!r}: {size.nodes:,.0f} nodes, {size.arcs:,.0f} arcs>"


class ConditionalReturnGraphs:
    """The CRGs of all agents of a problem. Made by :func:`build_crgs`.

    Attributes
    ----------
    problem
        The problem.
    original
        The problem with numbers for names.
    indexed
        The same with entries instead of aggregates.
    parts
        The reward functions that several agents take part in, and who answers for each.
    agents
        One :class:`ConditionalReturnGraph` per agent, in the problem's order.
    definition, influence, bounds, share
        How they were made.
    """

    def __init__(
        self,
        problem: AnyProblem,
        original: IndexedProblem,
        indexed: IndexedProblem,
        merged: _core.MergedGraphs,
        full: _core.LocalGraphs,
        core: _core.ConditionalReturnGraphs,
        parts: Sequence[RewardPart],
        *,
        history: bool,
        definition: str,
        influence: str,
        bounds: Bounds,
        share: bool,
    ) -> None:
        self.problem = problem
        self.original = original
        self.indexed = indexed
        self.merged = merged
        self.full = full
        self.graphs = merged.graphs
        self.core = core
        self.parts = tuple(parts)
        self.history = history
        self.definition = definition
        self.influence = influence
        self.bounds = bounds
        self.share = share
        self.agents = tuple(ConditionalReturnGraph(self, i) for i in range(len(indexed.agents)))

    def __getitem__(self, agent: str) -> ConditionalReturnGraph:
        for crg in self.agents:
            if crg.agent == agent:
                return crg
        names = self.indexed.agent_names
        raise ModelError(unknown_name(agent, "agent", names, "the problem"))

    @property
    def size(self) -> CrgSize:
        """Numbers of nodes and arcs of all CRGs."""
        return sum((crg.size for crg in self.agents), CrgSize())

    @property
    def naive_size(self) -> CrgSize:
        """The same without any grouping."""
        return sum((crg.naive_size for crg in self.agents), CrgSize())

    @property
    def printed_bound(self) -> float:
        """The paper's bound on all n CRGs together: n·h·|S|^(2+2w)·|A|^(1+w).

        It assumes that all actions and transitions can interact. S and A are the largest of all
        agents. Like Theorem 1 it takes w from one function, so it can be too small.
        """
        states = max(
            int(b) - int(a)
            for crg in self.agents
            for a, b in pairwise(self.graphs.layer_begin(crg.position))
        )
        actions = max(len(agent.actions) for agent in self.indexed.agents)
        width = max((len(part.agents) - 1 for part in self.parts), default=0)
        stages = self.graphs.horizon - self.graphs.first_stage
        return (
            float(len(self.agents) * stages)
            * float(states) ** (2 + 2 * width)
            * float(actions) ** (1 + width)
        )

    @property
    def size_bound(self) -> float:
        """A valid bound on the arcs of all CRGs: the sum of the agents' bounds."""
        return sum(crg.size_bound for crg in self.agents)

    def node(self, agent: int, stage: int, state: Any = None) -> int:
        """The number of a local state's node at a stage; None: where planning starts."""
        who = self.indexed.agents[agent]
        if not self.indexed.stage <= stage <= self.indexed.horizon:
            raise ModelError(
                f"stage is {found(stage)}; the graphs run from stage {self.indexed.stage} to "
                f"{self.indexed.horizon}"
            )
        index = who.start if state is None else who.states.find(stage, state)
        begin = self.full.layer_begin(agent)
        first, last = (
            int(begin[stage - self.indexed.stage]),
            int(begin[stage - self.indexed.stage + 1]),
        )
        states = self.full.node_state(agent)[first:last]
        at = int(states.searchsorted(index))
        if at >= len(states) or states[at] != index:
            raise ModelError(
                f"agent {found(who.name)} cannot be in state {who.states.label(index)!r} at stage "
                f"{stage}"
            )
        return int(self.merged.node_class(agent)[first + at])

    def upper_bound(self, stage: int, state: JointState | None = None) -> float:
        """U of a joint state: no policy earns more from here on."""
        return self._bound(stage, state, 1)

    def lower_bound(self, stage: int, state: JointState | None = None) -> float:
        """L of a joint state: every policy (of those kept) earns at least this."""
        return self._bound(stage, state, 0)

    def _bound(self, stage: int, state: JointState | None, which: int) -> float:
        total = sum(self.graphs.constant_at(t) for t in range(stage, self.indexed.horizon))
        for crg in self.agents:
            total += crg.bounds(stage, None if state is None else state[crg.agent])[which]
        return total

    def draw(
        self,
        agents: Sequence[str] | str | None = None,
        stages: tuple[int, int] | int | None = None,
        *,
        rewards: bool = False,
        bounds: bool = False,
        naive: bool = False,
        sequence: ExecutionSequence | None = None,
    ) -> Drawing:
        """A picture of the graphs of some agents, that notebooks show and that can be saved.

        Parameters
        ----------
        agents
            Names of the agents; None: all.
        stages
            (first, last): from the states of the first stage to those of the last; a number t
            stands for (t, t + 1); None: all.
        rewards
            Whether arcs into the next state carry their rewards.
        bounds
            Whether states carry [L, U].
        naive
            Whether each graph has beside it the one that groups nothing.
        sequence
            An execution sequence to highlight. Transitions that the graphs leave out, because the
            agent is locally independent and another action is better, cannot be highlighted.

        Raises
        ------
        ModelError
            If the sequence is impossible.
        SolverError
            If this is more than can be looked at.
        """
        made: Drawing = late("ConditionalReturnGraphs.draw")(
            self, agents, stages, rewards, bounds, naive, sequence
        )
        return made

    def groups(self, stage: int, state: JointState | None = None) -> list[tuple[str, ...]]:
        """The agents that can still interact with each other, given a joint state."""
        names = self.indexed.agent_names
        nodes = [
            self.node(i, stage, None if state is None else state[name])
            for i, name in enumerate(names)
        ]
        found_groups = self.core.groups(list(range(len(names))), nodes)
        return [tuple(names[k] for k in group) for group in found_groups]


def build_crgs(
    problem: AnyProblem,
    *,
    assignment: Assignment = "balanced",
    definition: str = "lossless",
    neutral: str = "zero",
    influence: str = "pairs",
    bounds: Bounds = "returns",
    merge: bool = False,
    share: bool = False,
    history: bool | None = None,
    stage: int = 0,
    state: JointState | None = None,
    limits: Limits | None = None,
) -> ConditionalReturnGraphs:
    """Build the conditional return graphs of a problem.

    Parameters
    ----------
    problem
        A TI-MMDP or an MPP.
    assignment
        Who answers for which reward function.
    definition
        ``lossless`` (the reading that keeps all rewards) or ``literal`` (the printed definitions).
    neutral
        Which signature needs no label: ``zero``, or ``largest``, the most frequent one.
    influence
        Influence arcs for ``pairs`` of states, or for ``features``: for what conditions see of
        them, the paper's further abstraction.
    bounds
        The meaning of L and U. ``returns``: the smallest and the largest possible return (eq. UB).
        ``expected``: the smallest and the largest expected return over the agent's own outcomes,
        for all actions and outcomes of the others (the numbers of the paper's figure).
    merge
        Whether local states with the same future transitions become one (needs ``features``).
    share
        Whether paths with equal rewards share arcs: state transitions under one action, and
        dependent actions (see "Grouping" in docs/paper-to-code.md).
    history
        For an MPP: whether local states keep start and end times; default: unless merged.
    stage, state
        Where planning starts.
    limits
        Time and memory.

    Examples
    --------
    >>> from coreplan import Contractor, Hindrance, MaintenanceProblem, Task
    >>> problem = MaintenanceProblem(
    ...     (Contractor("Alpha", (Task("a1", 1, cost=3, revenue=20),)),
    ...      Contractor("Beta", (Task("b1", 1, cost=1, revenue=15),))),
    ...     horizon=2, network=(Hindrance(("Alpha/a1", "Beta/b1"), cost=7.5),))
    >>> crgs = build_crgs(problem, influence="features", merge=True)
    >>> crgs.parts[0].owner, crgs["Alpha"].size.wildcard_arcs
    ('Alpha', 2.0)
    """
    for name, value, allowed in (
        ("definition", definition, ("lossless", "literal")),
        ("neutral", neutral, ("zero", "largest")),
        ("influence", influence, ("pairs", "features")),
        ("bounds", bounds, BOUNDS),
    ):
        if value not in allowed:
            raise SolverError(unknown_name(value, name, allowed, "a CRG"))
    if merge and influence != "features":
        raise SolverError(
            "merged states have no pairs of states of their own; with merge=True use "
            "influence='features'"
        )
    if share and definition == "literal":
        raise SolverError("share=True needs definition='lossless'")
    limits = limits or Limits()
    keep_times = (not merge) if history is None else history
    original = index_problem(
        problem, history=keep_times, stage=stage, state=state, guard=limits.guard
    )
    indexed = sums_as_entries(original, "a conditional return graph")
    description = describe(indexed)
    try:
        full = _core.unroll(description, limits.monitor)
        merged = _core.merge_transitions(description, full, merge, limits.monitor)
        parts, owners = assign(
            indexed,
            full,
            assignment,
            lambda owners: _core.count_crg_arcs(
                description, merged.graphs, owners, influence == "features", share, limits.monitor
            ),
        )
        core = _core.make_crgs(
            description,
            merged.graphs,
            owners,
            definition == "literal",
            neutral == "largest",
            influence == "features",
            bounds == "expected",
            share,
            limits.monitor,
        )
    except _core.LimitReached as error:
        raise LimitError(*error.args) from None
    except _core.NoAction as error:
        raise no_action(indexed, *error.args) from None
    return ConditionalReturnGraphs(
        problem,
        original,
        indexed,
        merged,
        full,
        core,
        parts,
        history=keep_times,
        definition=definition,
        influence=influence,
        bounds=bounds,
        share=share,
    )


def assign(
    indexed: IndexedProblem,
    graphs: _core.LocalGraphs,
    assignment: Assignment,
    count_arcs: Callable[[list[int]], float],
) -> tuple[list[RewardPart], list[int]]:
    """Divide the reward functions over agents: the parts, and the owner of every entry.

    A function of which entries look at different sets of agents is as many parts as there are sets
    (the paper has one function per set of agents); entries that look at one agent only are that
    agent's own reward and are not divided. `count_arcs` counts the arcs of the graphs, given the
    owner of every entry.
    """
    names = indexed.agent_names
    entries = graphs.interaction_entries()
    position: dict[tuple[int, tuple[int, ...]], int] = {}
    for function, agents in entries:
        position.setdefault((function, tuple(agents)), len(position))
    scopes = list(position)
    if isinstance(assignment, Mapping):
        _check_functions(indexed, assignment)
    degree = [sum(i in agents for _, agents in scopes) for i in range(len(names))]
    load = [0] * len(names)
    owners = []
    # Of an aggregate, the parts of an agent together are what it adds to the worth of the sum of
    # those after it.
    sums = {entry.function for entry in indexed.entries if entry.kind == KIND}
    for function, scope in scopes:
        if function in sums:
            owner = _owner_of_sum(indexed, assignment, function, scope)
        elif assignment in ("balanced", "smallest"):
            owner = min(scope, key=lambda i: (load[i], i))
        elif assignment == "highest-degree":
            owner = min(scope, key=lambda i: (-degree[i], i))
        else:
            owner = _given_owner(indexed, assignment, function, scope)
        load[owner] += 1
        owners.append(owner)

    def spread(owners: Sequence[int]) -> list[int]:
        return [owners[position[function, tuple(agents)]] for function, agents in entries]

    if assignment == "smallest":
        owners = _smallest(scopes, owners, lambda owners: count_arcs(spread(owners)))
    parts = [
        RewardPart(
            indexed.functions[function], function, tuple(names[i] for i in scope), names[owner]
        )
        for (function, scope), owner in zip(scopes, owners, strict=True)
    ]
    return parts, spread(owners)


def _owner_of_sum(
    indexed: IndexedProblem, assignment: Assignment, function: int, scope: tuple[int, ...]
) -> int:
    """The agent that answers for a part of an aggregate: the given one as far as it takes part."""
    if isinstance(assignment, str) and assignment in ASSIGNMENTS:
        return scope[0]
    members = {
        i for entry in indexed.entries if entry.function == function for i, _ in entry.members
    }
    owner = _given_owner(indexed, assignment, function, tuple(sorted(members)))
    return owner if owner in scope else scope[0]


def _smallest(
    scopes: Sequence[tuple[int, tuple[int, ...]]],
    owners: list[int],
    count_arcs: Callable[[list[int]], float],
) -> list[int]:
    """Give each part in turn to the agent that results in the fewest arcs."""
    least = count_arcs(owners)
    for k, (_, scope) in enumerate(scopes):
        for owner in scope:
            if owner == owners[k]:
                continue
            tried = [*owners[:k], owner, *owners[k + 1 :]]
            arcs = count_arcs(tried)
            if arcs < least:
                least, owners = arcs, tried
    return owners


def _check_functions(indexed: IndexedProblem, assignment: Mapping[Any, str]) -> None:
    """Raise a SolverError if an assignment names an unknown reward function."""
    for key in assignment:
        known = (
            key in indexed.functions
            if isinstance(key, str)
            else key in range(len(indexed.functions))
        )
        if not known:
            raise SolverError(
                f"the assignment names an unknown reward function, {found(key)}; expected a name, "
                f"or a position from 0 to {len(indexed.functions) - 1}"
            )


def _given_owner(
    indexed: IndexedProblem, assignment: Assignment, function: int, agents: tuple[int, ...]
) -> int:
    name = indexed.functions[function]
    looked_at = tuple(indexed.agent_names[i] for i in agents)
    if isinstance(assignment, str):
        raise SolverError(unknown_name(assignment, "assignment", ASSIGNMENTS, "coreplan"))
    if callable(assignment):
        chosen = assignment(name, looked_at)
    elif function in assignment or name in assignment:
        chosen = assignment[function] if function in assignment else assignment[name]
    else:
        raise SolverError(f"the assignment says nothing of reward function {function}, {name!r}")
    if chosen not in indexed.agent_names:
        raise SolverError(unknown_name(chosen, "agent", indexed.agent_names, "the problem"))
    if chosen not in looked_at:
        raise SolverError(
            f"agent {found(chosen)} cannot answer for reward function {function}, {found(name)}; "
            f"expected one of its agents: {', '.join(map(repr, looked_at))}"
        )
    return indexed.agent_names.index(chosen)
