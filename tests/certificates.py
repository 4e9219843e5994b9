"""Certificates for tests: of every state as a class of its own, and of what the engine reduces."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Sequence

import numpy as np

from coreplan import TIMMDP, MaintenanceProblem, _core, solve
from coreplan.model.indexed import IndexedAgent, IndexedProblem
from coreplan.policies.rules import GONE, Reduced
from coreplan.proof.certificate import (
    AgentClasses,
    Certificate,
    Cluster,
    PairShare,
    agent_classes,
    index_problem,
)
from coreplan.solving import compile_problem
from coreplan.solving.limits import Limits
from coreplan.solving.maps import make_maps

AnyProblem = TIMMDP | MaintenanceProblem


def identity_classes(agent: IndexedAgent, stage: int, horizon: int) -> AgentClasses:
    """Every local state that can be reached is a class of its own, with all its actions."""
    layer_begin, states, class_of, class_count = [0], [], [], []
    action_begin, after, action_of = [0], [], []
    reached = {agent.start}
    for t in range(stage, horizon):
        here = sorted(reached)
        reached = set()
        states += here
        class_of += range(len(here))
        class_count.append(len(here))
        layer_begin.append(len(states))
        number = 0
        for state in here:
            for action, choice in agent.choices(t, state).items():
                action_of.append(agent.actions.index(action))
                after.append(number)
                number += 1
                reached.update(next_state for _, next_state, _ in agent.outcomes(choice))
            action_begin.append(len(action_of))
    arrays = (layer_begin, states, class_of, class_count, action_begin, after, action_of)
    return AgentClasses(*(np.array(each, dtype=np.uint32) for each in arrays))


def some_classes(
    agent: IndexedAgent, stage: int, horizon: int, keep: Callable[[int, int, int], bool]
) -> AgentClasses:
    """Every local state is a class of its own, with the actions that are kept (stage, state, name).

    States that these do not lead to are gone.
    """
    layer_begin, states, class_of, class_count = [0], [], [], []
    action_begin, action_of = [0], []
    reached, kept = {agent.start}, {agent.start}
    for t in range(stage, horizon):
        here, wanted = sorted(reached), kept
        reached, kept = set(), set()
        for state in here:
            if state in wanted:
                class_of.append(len(wanted & {s for s in here if s < state}))
            else:
                class_of.append(GONE)
            for action, choice in agent.choices(t, state).items():
                after = {next_state for _, next_state, _ in agent.outcomes(choice)}
                reached |= after
                number = agent.actions.index(action)
                if state in wanted and keep(t, state, number):
                    action_of.append(number)
                    kept |= after
            if state in wanted:
                action_begin.append(len(action_of))
        states += here
        class_count.append(len(wanted))
        layer_begin.append(len(states))
    after_states = range(len(action_of))
    arrays = (layer_begin, states, class_of, class_count, action_begin, after_states, action_of)
    return AgentClasses(*(np.array(each, dtype=np.uint32) for each in arrays))


def reduced_classes(problem: AnyProblem) -> list[AgentClasses]:
    """What the engine takes together and leaves out."""
    compiled = compile_problem(problem)
    limits = Limits()  # it has to outlive its monitor
    reduction = _core.reduce(compiled.model, True, True, True, True, True, limits.monitor)
    layers = compiled.indexed.horizon
    made = []
    for i, own in enumerate(make_maps(compiled)):
        begin = reduction.model.layer_begin(i).astype(np.int64)
        class_of = reduction.class_of(i).astype(np.int64)
        gone = class_of == GONE
        class_of -= np.repeat(begin[:-1], np.diff(compiled.model.layer_begin(i)))
        class_of[gone] = GONE
        reduced = Reduced(
            class_of.astype(np.uint32),
            np.diff(begin)[:layers].astype(np.uint32),
            reduction.action_begin(i),
            reduction.action_of(i),
        )
        actions = reduction.model.action_begin(i)
        numbers = np.arange(int(actions[-1]), dtype=np.uint32)
        made.append(agent_classes(own, reduced, actions, numbers))
    return made


def random_clusters(
    indexed: IndexedProblem,
    agents: Sequence[AgentClasses],
    draw: random.Random,
    size: Callable[[random.Random], float],
) -> list[Cluster]:
    """Some clusters of some agents, with shares of a given size."""
    n = len(indexed.agents)
    clusters = []
    owned: set[int] = set()
    for _ in range(draw.randint(0, 4)):
        members = tuple(sorted(draw.sample(range(n), draw.randint(1, min(n, 3)))))
        wide = [
            e
            for e, entry in enumerate(indexed.entries)
            if len(entry.members) > 2
            and e not in owned
            and {i for i, _ in entry.members} <= set(members)
            and draw.random() < 0.8
        ]
        owned.update(wide)
        shares = tuple(
            None
            if draw.random() < 0.2
            else np.array([size(draw) for _ in range(int(agents[i].action_begin[-1]))])
            for i in members
        )
        pairs = tuple(
            random_pair(agents, pair, draw, size)
            for pair in itertools.combinations(members, 2)
            if draw.random() < 0.7
        )
        clusters.append(Cluster(members, shares, pairs, tuple(wide)))
    return clusters


def random_pair(
    agents: Sequence[AgentClasses],
    pair: tuple[int, int],
    draw: random.Random,
    size: Callable[[random.Random], float],
) -> PairShare:
    """Shares of some of a pair's costs."""
    rows = []
    layers = len(agents[0].class_count)
    for _ in range(draw.randint(0, 20)):
        t = draw.randrange(layers)
        afters = []
        for i in pair:
            first, last = agents[i].class_begin[t], agents[i].class_begin[t + 1]
            begin, end = agents[i].action_begin[first], agents[i].action_begin[last]
            afters.append(int(agents[i].after[draw.randrange(int(begin), int(end))]))
        rows.append((t, *afters))
    columns = np.array(rows, dtype=np.uint32).reshape(-1, 3).T
    return PairShare(pair, *columns, np.array([size(draw) for _ in rows]))


def one_cluster(indexed: IndexedProblem) -> Cluster:
    """All agents together."""
    n = len(indexed.agents)
    wide = tuple(e for e, entry in enumerate(indexed.entries) if len(entry.members) > 2)
    return Cluster(tuple(range(n)), (None,) * n, (), wide)


def make_certificate(
    problem: AnyProblem,
    clusters: Sequence[Cluster] | None = None,
    *,
    agents: Sequence[AgentClasses] | None = None,
    lower: float | None = None,
    upper: float | None = None,
    algorithm: str = "dp",
) -> Certificate:
    """A certificate; by default one cluster, every state a class of its own, true claims."""
    indexed = index_problem(problem)
    if agents is None:
        agents = [identity_classes(each, 0, problem.horizon) for each in indexed.agents]
    result = solve(problem, algorithm=algorithm)
    return Certificate(
        problem,
        indexed,
        result.lower_bound if lower is None else lower,
        result.upper_bound if upper is None else upper,
        tuple(agents),
        tuple([one_cluster(indexed)] if clusters is None else clusters),
        result.policy,
    )
