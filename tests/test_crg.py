"""Conditional return graphs: they lose no reward, follow the definitions, and bound the value."""

from __future__ import annotations

import itertools
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coreplan import (
    TIMMDP,
    Agent,
    Condition,
    Entry,
    ModelError,
    RewardFunction,
    SolverError,
    read_problem,
    solve,
)
from coreplan.analysis import ExecutionSequence
from coreplan.cli import example_path
from coreplan.model.rewards import TransitionRewards
from coreplan.solving import ConditionalReturnGraphs, build_crgs
from coreplan.solving.crg import ASSIGNMENTS
from crg_reference import Reference
from helpers import from_file, package_state, scale
from judge import joint_states, model_of, optimal_values
from strategies import problem_dicts, timmdp_dicts

OPTIONS = st.fixed_dictionaries(
    {
        "assignment": st.sampled_from(ASSIGNMENTS),
        "neutral": st.sampled_from(["zero", "largest"]),
        "influence": st.sampled_from(["pairs", "features"]),
    }
)


def layer_arcs(crgs: ConditionalReturnGraphs, agent: int, layer: int) -> range:
    """The arcs of an agent's graph that leave a layer."""
    graphs = crgs.graphs
    begin, choices, arcs = (
        graphs.layer_begin(agent),
        graphs.choice_begin(agent),
        graphs.arc_begin(agent),
    )
    return range(int(arcs[choices[begin[layer]]]), int(arcs[choices[begin[layer + 1]]]))


def joint_arcs(crgs: ConditionalReturnGraphs, most: int = 300) -> list[tuple[int, tuple[int, ...]]]:
    """(layer, an arc for every agent): all that are possible, or a sample of them."""
    found = []
    n = len(crgs.indexed.agents)
    draw = random.Random(1)
    for layer in range(crgs.indexed.horizon - crgs.indexed.stage):
        rows = [layer_arcs(crgs, i, layer) for i in range(n)]
        count = 1
        for row in rows:
            count *= len(row)
        if count <= most:
            found += [(layer, arcs) for arcs in itertools.product(*rows)]
        else:
            found += [(layer, tuple(draw.choice(row) for row in rows)) for _ in range(most)]
    return found


def path_total(crgs: ConditionalReturnGraphs, layer: int, arcs: tuple[int, ...]) -> float:
    """The reward that the CRGs' paths give to a joint transition."""
    total = crgs.graphs.constant_at(crgs.indexed.stage + layer)
    for i in range(len(arcs)):
        total += crgs.core.path_reward(i, layer, list(arcs))
    return total


def team_reward(crgs: ConditionalReturnGraphs, layer: int, arcs: tuple[int, ...]) -> float:
    """The team's reward by the problem's own entries."""
    rewards = TransitionRewards(crgs.indexed)
    transitions = [int(crgs.graphs.arc_base(i)[arc]) for i, arc in enumerate(arcs)]
    return rewards.total(crgs.indexed.stage + layer, transitions)


@given(raw=problem_dicts(), options=OPTIONS)
def test_no_reward_is_lost(raw: dict[str, Any], options: dict[str, Any]) -> None:
    """For every possible joint transition, the paths found in the CRGs give the team's reward."""
    crgs = build_crgs(from_file(raw), **options)
    for layer, arcs in joint_arcs(crgs):
        assert path_total(crgs, layer, arcs) == pytest.approx(
            team_reward(crgs, layer, arcs), rel=1e-9, abs=1e-12 * scale(raw)
        )


@given(raw=problem_dicts())
def test_no_reward_is_lost_by_merging(raw: dict[str, Any]) -> None:
    """Merged graphs still give every transition of the merged states its reward."""
    crgs = build_crgs(from_file(raw), influence="features", merge=True)
    for layer, arcs in joint_arcs(crgs, most=100):
        assert path_total(crgs, layer, arcs) == pytest.approx(
            team_reward(crgs, layer, arcs), rel=1e-9, abs=1e-12 * scale(raw)
        )


@pytest.mark.parametrize("definition", ["lossless", "literal"])
@given(raw=timmdp_dicts())
def test_trees_follow_the_definitions(definition: str, raw: dict[str, Any]) -> None:
    """Dependent actions and labelled pairs are exactly those that the definitions ask for, by the
    chosen reading and as printed.
    """  # noqa: D205
    crgs = build_crgs(from_file(raw), definition=definition)
    reference = Reference(crgs)
    judgement = reference.literal_verdict if definition == "literal" else reference.verdict
    n = len(crgs.indexed.agents)
    for i in range(n):
        for layer in range(crgs.indexed.horizon):
            for arc in layer_arcs(crgs, i, layer)[:6]:
                own = reference.triple(i, int(crgs.graphs.arc_base(i)[arc]))
                tree = {each.agent: each for each in crgs.core.tree(i, arc).agents}
                for j in range(n):
                    if j == i:
                        continue
                    verdict = judgement(i, layer, own, j)
                    if j not in tree:
                        assert not verdict.dependent
                        assert not any(verdict.influence.values())
                        continue
                    assert set(tree[j].dependent) == verdict.dependent
                    check_labels(crgs, reference, (i, layer, arc, j), verdict.influence)


def check_labels(
    crgs: ConditionalReturnGraphs,
    reference: Reference,
    where: tuple[int, int, int, int],
    influence: dict[int | None, set[tuple[int, int]]],
) -> None:
    """Compare which moves of agent j are labelled with what the definitions say."""
    i, layer, arc, j = where
    tree = {each.agent: each for each in crgs.core.tree(i, arc).agents}[j]
    arcs = [layer_arcs(crgs, k, layer)[0] for k in range(len(crgs.indexed.agents))]
    arcs[i] = arc
    for move in layer_arcs(crgs, j, layer):
        arcs[j] = move
        s, a, s_next = reference.triple(j, int(crgs.graphs.arc_base(j)[move]))
        branch = a if a in tree.dependent else None
        expected = (s, s_next) in influence[branch]
        steps = {agent: (b, group) for agent, b, group in crgs.core.path(i, layer, arcs)}
        if tree.trivial:
            assert j not in steps
            assert not expected
        else:
            taken, group = steps[j]
            assert tree.branches[taken].action == branch
            assert (group is not None) == expected


@given(raw=problem_dicts(), seed=st.integers(0, 5))
def test_returns_are_sums_over_graphs(raw: dict[str, Any], seed: int) -> None:
    """The return of a random execution sequence is the sum over the CRGs along it."""
    problem = from_file(raw)
    crgs = build_crgs(problem)
    draw = random.Random(seed)
    indexed, graphs = crgs.indexed, crgs.graphs
    n = len(indexed.agents)
    nodes = [0] * n
    total = 0.0
    states = [indexed.find_state(0, None)]
    actions = []
    for layer in range(indexed.horizon):
        arcs = []
        for i in range(n):
            choices, begins = graphs.choice_begin(i), graphs.arc_begin(i)
            first, last = begins[choices[nodes[i]]], begins[choices[nodes[i] + 1]]
            arcs.append(draw.randrange(int(first), int(last)))
            nodes[i] = int(graphs.arc_next(i)[arcs[i]])
        total += path_total(crgs, layer, tuple(arcs))
        moves = [Reference(crgs).triple(i, int(graphs.arc_base(i)[arcs[i]])) for i in range(n)]
        actions.append(
            {
                who.name: who.actions[move[1]]
                for who, move in zip(indexed.agents, moves, strict=True)
            }
        )
        states.append(tuple(move[2] for move in moves))
    sequence = ExecutionSequence(
        tuple(indexed.name_state(state) for state in states), tuple(actions)
    )
    assert problem.returns(sequence).total == pytest.approx(total, rel=1e-9, abs=1e-12 * scale(raw))


@pytest.mark.parametrize("bounds", ["returns", "expected"])
@given(raw=problem_dicts(), merge=st.booleans(), assignment=st.sampled_from(ASSIGNMENTS))
def test_bounds_bracket_every_joint_state(
    bounds: str, raw: dict[str, Any], merge: bool, assignment: str
) -> None:
    """L ≤ V* ≤ U in every joint state that can be reached, and for every joint action there."""
    crgs = build_crgs(
        from_file(raw), influence="features", merge=merge, bounds=bounds, assignment=assignment
    )
    model = model_of(raw)
    values = optimal_values(raw)
    tolerance = 1e-9 * scale(raw)

    def bounds_of(stage: int, state: tuple[Any, ...]) -> tuple[float, float]:
        named = package_state(raw, state)
        return crgs.lower_bound(stage, named), crgs.upper_bound(stage, named)

    for stage, state in itertools.islice(joint_states(raw), 60):
        lower, upper = bounds_of(stage, state)
        assert lower - tolerance <= values[stage, state] <= upper + tolerance
        if stage == raw["horizon"]:
            continue
        for action in itertools.islice(model.joint_actions(stage, state), 12):
            least = most = worth = 0.0
            for following, p in model.joint_outcomes(state, action):
                reward = model.reward(stage, state, action, following)
                after = bounds_of(stage + 1, following)
                least += p * (reward + after[0])
                most += p * (reward + after[1])
                last = stage + 1 == raw["horizon"]
                worth += p * (reward + (0.0 if last else values[stage + 1, following]))
            assert least - tolerance <= worth <= most + tolerance


@given(raw=problem_dicts())
def test_expected_bounds_are_tighter(raw: dict[str, Any]) -> None:
    """Means over own outcomes lie between their extremes, in every local state."""
    problem = from_file(raw)
    returns, expected = (build_crgs(problem, bounds=each) for each in ("returns", "expected"))
    tolerance = 1e-9 * scale(raw)
    for i in range(len(returns.agents)):
        assert (expected.core.upper(i) <= returns.core.upper(i) + tolerance).all()
        assert (expected.core.lower(i) >= returns.core.lower(i) - tolerance).all()


@given(raw=problem_dicts(), options=OPTIONS)
def test_sizes_stay_within_the_bound(raw: dict[str, Any], options: dict[str, Any]) -> None:
    """Every CRG has at most (2m+2)·h·|A||S|²·Π(α+1)(β+1) arcs and internal nodes, and is not larger
    than the naive graph.
    """  # noqa: D205
    for crg in build_crgs(from_file(raw), **options).agents:
        assert crg.size.arcs <= crg.size_bound
        assert crg.size.action_nodes + crg.size.influence_nodes <= crg.size_bound
        assert crg.size.reward_arcs <= crg.naive_size.reward_arcs


@given(raw=problem_dicts())
def test_features_need_no_more_arcs_than_pairs(raw: dict[str, Any]) -> None:
    """Influence arcs for features are at most as many as for pairs of states."""
    problem = from_file(raw)
    by_pair = build_crgs(problem).size
    by_feature = build_crgs(problem, influence="features").size
    assert by_feature.arcs <= by_pair.arcs
    assert by_feature.states == by_pair.states


@given(raw=problem_dicts())
def test_groups_are_those_that_can_still_interact(raw: dict[str, Any]) -> None:
    """Two agents that share an entry which can still happen are in one group, and only those."""
    crgs = build_crgs(from_file(raw))
    reference = Reference(crgs)
    names = crgs.indexed.agent_names
    for stage, state in itertools.islice(joint_states(raw), 40):
        named = package_state(raw, state)
        moves = [
            future_moves(crgs, reference, i, stage, named[names[i]]) for i in range(len(names))
        ]
        linked: list[set[str]] = []
        for entry in reference.entries:
            alive = entry.value != 0 and any(
                all(
                    any(reference.matches(i, c, x) for x in moves[i].get(t, ()))
                    for i, c in entry.members
                )
                for t in (range(raw_horizon(raw)) if entry.stages is None else entry.stages)
            )
            if alive:
                linked.append({names[i] for i, _ in entry.members})
        groups: list[set[str]] = [{name} for name in names]
        for link in linked:
            touched = [group for group in groups if group & link]
            groups = [group for group in groups if not group & link] + [set().union(*touched)]
        assert {frozenset(g) for g in crgs.groups(stage, named)} == {frozenset(g) for g in groups}


def raw_horizon(raw: dict[str, Any]) -> int:
    """The horizon of a raw problem."""
    return int(raw["horizon"])


def future_moves(
    crgs: ConditionalReturnGraphs, reference: Reference, agent: int, stage: int, state: Any
) -> dict[int, set[tuple[int, int, int]]]:
    """Per stage: the triples that an agent can still do, from a local state on."""
    graphs = crgs.graphs
    layer = {crgs.node(agent, stage, state)}
    found: dict[int, set[tuple[int, int, int]]] = {}
    choices, arcs = graphs.choice_begin(agent), graphs.arc_begin(agent)
    for t in range(stage, crgs.indexed.horizon):
        following = set()
        for node in layer:
            for arc in range(int(arcs[choices[node]]), int(arcs[choices[node + 1]])):
                found.setdefault(t, set()).add(
                    reference.triple(agent, int(graphs.arc_base(agent)[arc]))
                )
                following.add(int(graphs.arc_next(agent)[arc]))
        layer = following
    return found


@given(raw=problem_dicts())
def test_local_independence_is_safe(raw: dict[str, Any]) -> None:
    """From a locally independent state on, the agent is alone whatever the others do."""
    crgs = build_crgs(from_file(raw))
    names = crgs.indexed.agent_names
    for stage, state in itertools.islice(joint_states(raw), 60):
        named = package_state(raw, state)
        groups = crgs.groups(stage, named)
        for name in names:
            if crgs[name].is_independent(stage, named[name]):
                assert (name,) in groups


# -- cases by hand ------------------------------------------------------------------------------


def two_agents(entries: tuple[Entry, ...]) -> TIMMDP:
    """Two agents with two actions each and one reward function of both."""
    agents = [Agent(name, "s", {"s": {"a": {"s": 1}, "b": {"s": 1}}}) for name in ("one", "two")]
    return TIMMDP(tuple(agents), (RewardFunction(("one", "two"), entries),), horizon=1)


def test_printed_definition_loses_a_constant_reward() -> None:
    """A reward that does not depend on what the other does is lost by the printed definitions.

    Whatever agent two does, 5 is earned as soon as agent one does a. No action of two differs from
    another, so none is dependent; the wildcard is 0 "by definition".
    """
    both = ("a", "b")
    problem = two_agents(
        tuple(
            Entry({"one": Condition(action="a"), "two": Condition(action=each)}, 5) for each in both
        )
    )

    def everyone_is_one(name: str, agents: tuple[str, ...]) -> str:
        return "one"

    for definition, lost in (("lossless", 0.0), ("literal", 5.0)):
        crgs = build_crgs(problem, definition=definition, assignment=everyone_is_one)
        differences = {
            team_reward(crgs, layer, arcs) - path_total(crgs, layer, arcs)
            for layer, arcs in joint_arcs(crgs)
        }
        assert max(differences) == lost


@given(raw=timmdp_dicts())
def test_printed_definition_never_invents_arcs_that_lose_less(raw: dict[str, Any]) -> None:
    """The literal graphs can be built for any problem and have sizes to compare with."""
    literal = build_crgs(from_file(raw), definition="literal")
    for crg in literal.agents:
        assert crg.size.reward_arcs <= crg.naive_size.reward_arcs


def test_printed_bound_can_be_too_small() -> None:
    """A star with 6 partners has 64 leaves per transition, where the printed factor is 0.

    The hub answers for six reward functions of two agents each. Each partner has one dependent
    action and no influence: α = 1 and β = 0, so (αβ)^w = 0; but with six partners there are
    2^6 = 64 combinations of `a` and the wildcard.
    """
    names = ["hub", *(f"p{k}" for k in range(6))]
    agents = [Agent(name, "s", {"s": {"a": {"s": 1}, "b": {"s": 1}}}) for name in names]
    rewards = [
        RewardFunction(
            ("hub", name),
            (Entry({"hub": Condition(action="a"), name: Condition(action="a")}, 2.0**k),),
        )
        for k, name in enumerate(names[1:])
    ]
    crgs = build_crgs(TIMMDP(tuple(agents), tuple(rewards), horizon=1), assignment="highest-degree")
    hub = crgs["hub"]
    assert hub.size.reward_arcs == 64 + 1  # a: 64 leaves; b: interacts with nobody
    assert hub.printed_bound == 0
    assert hub.size.arcs <= hub.size_bound


def paper_example(**options: Any) -> ConditionalReturnGraphs:
    """The CRGs of the paper's example, with the interaction assigned to agent 2."""
    problem = read_problem(example_path("paper_example.yaml"))
    return build_crgs(problem, assignment=lambda name, agents: "agent 2", **options)


def test_paper_example_has_the_papers_counts() -> None:
    """In one run: 3 + 4 states at stage 1 and 3 + 6 arcs into them; unmerged 4 + 4 states."""
    merged = paper_example(influence="features", merge=True)
    assert [crg.sizes[1].states for crg in merged.agents] == [3, 4]
    assert [crg.sizes[0].reward_arcs for crg in merged.agents] == [3, 6]
    unmerged = paper_example()
    assert [crg.sizes[1].states for crg in unmerged.agents] == [4, 4]
    assert [crg.sizes[0].reward_arcs for crg in unmerged.agents] == [4, 6]


def test_paper_example_has_the_papers_arcs() -> None:
    """After a of agent 2: a of agent 1 with f and not f, and one wildcard without influence."""
    crgs = paper_example()
    who = crgs.indexed.agents[1]
    first = crgs.graphs.arc_begin(1)
    for choice in range(3):
        action = who.actions[who.choice_action[int(crgs.graphs.choice_base(1)[choice])]]
        tree = crgs.core.tree(1, int(first[choice]))
        if action != "a":
            assert not tree.agents
            continue
        (other,) = tree.agents
        dependent, wildcard = other.branches
        assert crgs.indexed.agents[0].actions[dependent.action] == "a"
        assert dependent.labelled_arcs == 2
        assert not dependent.has_other
        assert wildcard.action is None
        assert wildcard.labelled_arcs == 0
        assert wildcard.has_other


def test_paper_example_decouples_as_described() -> None:
    """After a of either agent they are independent; from b and b they are not."""
    crgs = paper_example()
    assert crgs.groups(0) == [("agent 1", "agent 2")]
    assert crgs.groups(1, {"agent 1": "b", "agent 2": "a"}) == [("agent 1",), ("agent 2",)]
    assert crgs.groups(1, {"agent 1": "b", "agent 2": "b"}) == [("agent 1", "agent 2")]
    assert crgs["agent 1"].is_independent(1, "a f")
    assert not crgs["agent 1"].is_independent(1, "b")


def test_assignment_divides_all_functions() -> None:
    """Every reward function is assigned once, to an agent it looks at; user choices are kept."""
    problem = read_problem(example_path("ring_road.yaml"))
    for assignment in ASSIGNMENTS:
        parts = build_crgs(problem, assignment=assignment, influence="features", merge=True).parts
        assert len(parts) == len(problem.network)  # type: ignore[union-attr]
        assert all(part.owner in part.agents for part in parts)
    by_name = {part.name: part.agents[-1] for part in parts}
    chosen = build_crgs(problem, assignment=by_name, influence="features", merge=True).parts
    assert all(part.owner == part.agents[-1] for part in chosen)


def test_only_agents_in_scope_can_answer() -> None:
    """An owner that a reward function does not look at is an error that names both."""
    problem = read_problem(example_path("ring_road.yaml"))
    part = build_crgs(problem, influence="features", merge=True).parts[0]
    other = next(c.name for c in problem.contractors if c.name not in part.agents)  # type: ignore[union-attr]

    def wrong(name: str, agents: tuple[str, ...]) -> str:
        return other if name == part.name else agents[0]

    with pytest.raises(SolverError) as caught:
        build_crgs(problem, assignment=wrong, influence="features", merge=True)
    assert f"{other!r} cannot answer" in str(caught.value)
    assert repr(part.name) in str(caught.value)
    assert part.agents[0] in str(caught.value)
    with pytest.raises(SolverError, match="unknown reward function, 'nothing'"):
        build_crgs(problem, assignment={"nothing": other}, influence="features", merge=True)


def test_smallest_assignment_makes_small_graphs() -> None:
    """It never has more arcs than the balanced one, and fewer where owners matter."""
    # Whoever has one action needs a tree for each action of the other; the other needs none.
    one = Agent("one", "s", {"s": {"a": {"s": 1}}})
    many = Agent("many", "s", {"s": {name: {"s": 1} for name in "abcdef"}})
    entries = tuple(
        Entry({"one": Condition(action="a"), "many": Condition(action=name)}, 2.0**k)
        for k, name in enumerate("abcde")
    )
    other = RewardFunction(("many",), (Entry({"many": Condition(action="f")}, 1),))
    both = RewardFunction(("one", "many"), entries)
    third = Agent("third", "s", {"s": {"x": {"s": 1}, "y": {"s": 1}}})
    pair = RewardFunction(
        ("one", "third"),
        (Entry({"third": Condition(action="x"), "one": Condition(action="a")}, 1),),
    )
    problem = TIMMDP((one, many, third), (both, other, pair), horizon=2)
    balanced, smallest = (build_crgs(problem, assignment=each) for each in ("balanced", "smallest"))
    assert smallest.size.arcs <= balanced.size.arcs
    ring = read_problem(example_path("ring_road.yaml"))
    sizes = [
        build_crgs(ring, assignment=each, influence="features", merge=True).size.arcs
        for each in ("smallest", "balanced", "highest-degree")
    ]
    assert sizes[0] <= min(sizes)
    assert sizes[0] < sizes[1]


def test_bounds_of_all_graphs_together() -> None:
    """The sum of the agents' bounds holds; the paper's has n, and no sparsity."""
    crgs = paper_example()
    assert crgs.size_bound == sum(crg.size_bound for crg in crgs.agents)
    assert crgs.size.arcs <= crgs.size_bound
    # n = 2, h = 2, at most 7 states of a stage, 3 actions, w = 1.
    states = max(
        int(b) - int(a) for i in range(2) for a, b in itertools.pairwise(crgs.graphs.layer_begin(i))
    )
    assert crgs.printed_bound == 2 * 2 * states**4 * 3**2


def test_options_that_make_no_sense_are_refused() -> None:
    """Unknown options, and merged states with pairs of states, are errors."""
    problem = read_problem(example_path("two_works.yaml"))
    with pytest.raises(SolverError, match="did you mean 'literal'"):
        build_crgs(problem, definition="litteral")
    with pytest.raises(SolverError, match="features"):
        build_crgs(problem, merge=True)
    with pytest.raises(ModelError, match="did you mean 'Alpha'"):
        build_crgs(problem)["Alfa"]


@given(raw=problem_dicts())
def test_wider_definitions_do_not_change_the_value(raw: dict[str, Any]) -> None:
    """Whoever answers for a reward function, the optimum stays the same."""
    problem = from_file(raw)
    last = solve(problem, algorithm="core-2016", assignment=lambda name, agents: agents[-1])
    first = solve(problem, algorithm="core-2016", assignment=lambda name, agents: agents[0])
    assert first.value == pytest.approx(last.value, rel=1e-9, abs=1e-12 * scale(raw))
