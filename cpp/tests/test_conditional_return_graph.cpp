#include "crg/conditional_return_graph.hpp"

#include <numeric>

#include "check.hpp"
#include "crgs.hpp"
#include "problems.hpp"
#include "reference.hpp"

namespace coreplan {
namespace {

using namespace problems;
using Indices = std::vector<Index>;

std::vector<double> counts(const CrgSize& size) {
    return {size.states,        size.action_nodes,   size.influence_nodes,   size.action_arcs,
            size.wildcard_arcs, size.influence_arcs, size.no_influence_arcs, size.reward_arcs};
}
using Counts = std::vector<double>;

// Both can do something together at stage 0 only. Then agent 0 is in state 1, where action 1 is a
// gamble that is worth less than action 0, though it may pay more.
Description gambler() {
    Description d = team(3, {agent(5, 2,
                                   {{0, 0, {{1}}},
                                    {0, 1, {{1}}},
                                    {1, 0, {{2}}},
                                    {1, 1, {{3, 0.5}, {4, 0.5}}},
                                    {2, 0, {{2}}},
                                    {3, 0, {{3}}},
                                    {4, 0, {{4}}}}),
                             one_state(2)});
    d.entries.push_back(
        entry(2.0, {when(d, 0, on({0}, {1}, {1})), when(d, 1, on_actions({1}))}, Indices{0}));
    d.entries.push_back(entry(5.0, {when(d, 0, on({1}, {0}, {2}))}));
    d.entries.push_back(entry(9.0, {when(d, 0, on({1}, {1}, {3}))}));
    return d;
}

TEST("a state in which the agent is on its own keeps the arcs of its best choice only") {
    const WithCrgs setup(gambler());
    const ConditionalReturnGraph& crg = setup.crgs.of(0);
    // Nodes: 0 | 1 | 2, 3, 4 | the same again at the horizon.
    CHECK(setup.graph(0).layer_begin == Indices{0, 1, 2, 5, 8});
    CHECK(!crg.independent[0]);
    for (std::size_t node = 1; node < 8; ++node) CHECK(crg.independent[node]);
    CHECK(crg.local_choice[1] == 0);
    CHECK(crg.local_value[1] == 5.0);
    CHECK(crg.in_graph == std::vector<bool>{true, true, true, false, false, true, false, false});
    // The gamble's 9 is no upper bound, its 0 no lower one: it is not in the graph.
    CHECK(crg.upper[1] == 5.0);
    CHECK(crg.lower[1] == 5.0);
    CHECK(crg.upper[0] == 7.0);
    CHECK(crg.lower[0] == 5.0);
    CHECK(setup.crgs.of(1).upper[0] == 0.0);  // the first agent answers for the entry
}

TEST("bounds on the expectation take the mean over the agent's own outcomes, all the way down") {
    const WithCrgs returns(gambler());
    const WithCrgs expected(gambler(), false, {false, false, false, true});
    for (std::size_t i = 0; i < 2; ++i) {
        for (std::size_t node = 0; node < expected.graph(i).node_count(); ++node) {
            CHECK(expected.crgs.of(i).upper[node] <= returns.crgs.of(i).upper[node]);
            CHECK(expected.crgs.of(i).lower[node] >= returns.crgs.of(i).lower[node]);
        }
    }
    // A third state before, from which one gets into state 0 of before or, with chance 1/4, into
    // a state that earns nothing: U is 3/4 of the old one where the return may be all of it.
    Description d = team(4, {agent(7, 2,
                                   {{0, 0, {{1, 0.75}, {6, 0.25}}},
                                    {1, 0, {{2}}},
                                    {1, 1, {{2}}},
                                    {2, 0, {{3}}},
                                    {3, 0, {{3}}},
                                    {6, 0, {{6}}}}),
                             one_state(2)});
    d.entries.push_back(
        entry(2.0, {when(d, 0, on({1}, {1}, {2})), when(d, 1, on_actions({1}))}, Indices{1}));
    d.entries.push_back(entry(5.0, {when(d, 0, on({2}, {0}, {3}))}));
    const WithCrgs literal(d);
    const WithCrgs mean(d, false, {false, false, false, true});
    CHECK(literal.crgs.of(0).upper[0] == 7.0);
    CHECK(literal.crgs.of(0).lower[0] == 0.0);
    CHECK(mean.crgs.of(0).upper[0] == 0.75 * 7.0);
    CHECK(mean.crgs.of(0).lower[0] == 0.75 * 5.0);
}

TEST("sizes are those of the arcs that are kept, layer by layer; naive ones those of all") {
    const WithCrgs setup(gambler());
    const ConditionalReturnGraph& crg = setup.crgs.of(0);
    // Stage 0: action 0 with one path; action 1 with the other agent's action 1, or any other.
    CHECK(counts(crg.size_at[0]) == Counts{1, 1 + 3, 2, 1 + 2, 1, 0, 2, 1 + 2});
    CHECK(counts(crg.size_at[1]) == Counts{1, 1, 0, 1, 0, 0, 0, 1});
    CHECK(counts(crg.size_at[2]) == Counts{1, 1, 0, 1, 0, 0, 0, 1});
    CHECK(counts(crg.size_at[3]) == Counts{1, 0, 0, 0, 0, 0, 0, 0});
    // Naive: under every arc the two actions of the other agent, each with its one transition.
    CHECK(counts(crg.naive_at[0]) == Counts{1, 6, 4, 6, 0, 4, 0, 4});
    CHECK(counts(crg.naive_at[1]) == Counts{1, 9, 6, 9, 0, 6, 0, 6});
    CHECK(counts(crg.naive_at[2]) == Counts{3, 9, 6, 9, 0, 6, 0, 6});
    CHECK(counts(crg.naive_at[3]) == Counts{3, 0, 0, 0, 0, 0, 0, 0});
    CHECK(crg.others == 1);
    CHECK(crg.most_dependent == Indices{0, 1});
    CHECK(crg.most_influence == Indices{0, 0});
    CHECK(setup.crgs.of(1).others == 0);

    CrgSize all;
    for (std::size_t i = 0; i < 2; ++i) {
        for (const CrgSize& size : setup.crgs.of(i).size_at) all += size;
    }
    CHECK(counts(setup.crgs.size()) == counts(all));
    CHECK(all.nodes() == all.states + all.action_nodes + all.influence_nodes);
    const Counts kinds = counts(all);
    CHECK(all.nodes() + all.arcs() == std::accumulate(kinds.begin(), kinds.end(), 0.0));
}

TEST("arcs of a layer that match the same share a tree, and so do all that match nothing") {
    const WithCrgs setup(gambler());
    const ConditionalReturnGraph& crg = setup.crgs.of(0);
    CHECK(crg.arc_tree.size() == setup.graph(0).arc_next.size());
    CHECK(crg.trees.size() == 4);  // two at stage 0, one at each later stage
    CHECK(crg.arc_tree[0] != crg.arc_tree[1]);
    for (std::size_t arc = 2; arc < 5; ++arc) CHECK(crg.arc_tree[arc] == crg.arc_tree[2]);
    CHECK(crg.trees[crg.arc_tree[2]].entries.empty());
}

TEST("merged arcs that only rewards or kinds of pairs tell apart are all counted") {
    // Two outcomes with different own rewards lead to the same merged state.
    Description d =
        team(1, {agent(3, 1, {{0, 0, {{1, 0.5}, {2, 0.5}}}, {1, 0, {{1}}}, {2, 0, {{2}}}})});
    CHECK(WithCrgs(d, true).crgs.size().reward_arcs == 1.0);
    d.entries.push_back(entry(1.0, {when(d, 0, on_nexts({2}))}));
    const WithCrgs setup(d, true);
    CHECK(setup.crgs.size().reward_arcs == 2.0);
    CHECK(setup.crgs.size().states == 2.0);
}

TEST("the memory limit is obeyed while graphs are built, and the time limit") {
    const Description d = gambler();
    Monitor free;
    const LocalGraphs graphs = unroll(d, free);
    const std::vector<AgentId> owner = some_owners(graphs.rewards, 0);
    Monitor small(Monitor::kNoLimit, 100);
    const auto build = [&](Monitor& monitor) {
        ConditionalReturnGraphs crgs(d, graphs, owner, {}, monitor);
    };
    CHECK(testing::caught<LimitReached>([&] { build(small); }).stop == Stop::memory_limit);
    Monitor late(0);
    CHECK(testing::caught<LimitReached>([&] { build(late); }).stop == Stop::time_limit);
}

TEST("without interactions every agent's own value is exact, and all are on their own") {
    int interesting = 0;
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        const testing::Context context("seed", seed);
        Description d = random_team(seed);
        std::erase_if(d.entries, [](const Entry& entry) { return entry.members.size() > 1; });
        const WithCrgs setup(d, seed % 2 == 0);
        double sum = setup.constants_from(d.first_stage);
        for (std::size_t i = 0; i < d.agents.size(); ++i) {
            CHECK(setup.crgs.of(i).independent[0]);
            sum += setup.crgs.of(i).local_value[0];
        }
        const double best = reference::optimum(d);
        CHECK_NEAR(sum, best, relative(best, unit_mass(d) ? 1e-9 : 1e-7));
        if (!d.entries.empty()) ++interesting;
    }
    CHECK(interesting > 100);
}

// Bounds of all joint states that agents can be in one by one.
void check_bounds(const Description& d, const WithCrgs& setup, reference::Bellman& bellman) {
    const std::size_t n = d.agents.size();
    for (Index layer = 0; layer <= setup.full.stage_count(); ++layer) {
        const Index stage = d.first_stage + layer;
        const double constants = setup.constants_from(stage);
        Indices digits(n, 0);
        for (bool more = true; more;) {
            double lower = constants, upper = constants;
            reference::JointState state;
            for (std::size_t i = 0; i < n; ++i) {
                const LocalGraph& graph = setup.full.agents[i];
                const Index node = graph.layer_begin[layer] + digits[i];
                const std::size_t one = at(setup.merged.node_class[i][node]);
                state.push_back(static_cast<Index>(graph.node_state[node]));
                lower += setup.crgs.of(i).lower[one];
                upper += setup.crgs.of(i).upper[one];
            }
            const double best = bellman.value(stage, state);
            const double tolerance = relative(best, unit_mass(d) ? 1e-12 : 1e-7);
            CHECK(lower <= best + tolerance);
            CHECK(upper >= best - tolerance);
            more = false;
            for (std::size_t i = n; i-- > 0 && !more;) {
                const LocalGraph& graph = setup.full.agents[i];
                more = ++digits[i] < graph.layer_begin[layer + 1] - graph.layer_begin[layer];
                if (!more) digits[i] = 0;
            }
        }
    }
}

TEST("bounds hold in every joint state of random problems, whoever answers for the rewards") {
    for (std::uint64_t seed = 0; seed < 250; ++seed) {
        const testing::Context context("seed", seed);
        const Description d = random_team(seed);
        reference::Bellman bellman(d);
        for (const std::uint64_t owners : {0U, 1U, 2U}) {
            const CrgOptions options{owners == 2, owners == 1, owners == 1, seed / 2 % 2 == 0};
            const WithCrgs setup(d, (seed + owners) % 2 == 0, options, owners);
            check_bounds(d, setup, bellman);
            for (std::size_t i = 0; i < d.agents.size(); ++i) {
                const ConditionalReturnGraph& crg = setup.crgs.of(i);
                for (std::size_t node = 0; node < setup.graph(i).node_count(); ++node) {
                    CHECK(crg.lower[node] <= crg.upper[node]);
                    if (!crg.independent[node]) continue;
                    CHECK(crg.lower[node] <= crg.local_value[node] + 1e-6);
                    CHECK(crg.upper[node] >= crg.local_value[node] - 1e-6);
                }
            }
        }
    }
}

TEST("a graph is never larger than the one in which nothing is grouped") {
    for (const bool merge : {false, true}) {
        const testing::Context context("merge", merge);
        for (std::uint64_t seed = 0; seed < 250; ++seed) {
            const testing::Context which("seed", seed);
            const WithCrgs setup(random_team(seed), merge);
            for (std::size_t i = 0; i < setup.crgs.agent_count(); ++i) {
                const ConditionalReturnGraph& crg = setup.crgs.of(i);
                for (std::size_t layer = 0; layer < crg.size_at.size(); ++layer) {
                    CHECK(crg.size_at[layer].states <= crg.naive_at[layer].states);
                    CHECK(crg.size_at[layer].reward_arcs <= crg.naive_at[layer].reward_arcs);
                }
            }
        }
    }
}

}  // namespace
}  // namespace coreplan
