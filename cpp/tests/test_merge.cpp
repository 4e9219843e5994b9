#include "crg/merge.hpp"

#include <map>
#include <set>
#include <tuple>

#include "check.hpp"
#include "problems.hpp"

namespace coreplan {
namespace {

using namespace problems;

struct Merged {
    explicit Merged(const Description& d, bool merge = true)
        : full(unroll(d, monitor)), result(merge_transitions(d, full, merge, monitor)) {}

    // The node that stands for a state of agent 0 at a layer.
    [[nodiscard]] NodeId of(Index layer, Index state) const {
        const LocalGraph& graph = full.agents[0];
        for (Index k = graph.layer_begin[layer]; k < graph.layer_begin[layer + 1]; ++k) {
            if (graph.node_state[k] == StateId{state}) return result.node_class[0][k];
        }
        throw std::out_of_range("the state cannot be reached at this layer");
    }
    [[nodiscard]] const LocalGraph& graph() const { return result.graphs.agents[0]; }
    [[nodiscard]] Index nodes(Index layer) const {
        return graph().layer_begin[layer + 1] - graph().layer_begin[layer];
    }

    Monitor monitor;
    LocalGraphs full;
    MergedGraphs result;
};

// From state 0 by chance to u = 1 or v = 2, from there to 3 or 4, where nothing happens any more.
Description fork(std::vector<Choice> of_u_and_v) {
    std::vector<Choice> choices{{0, 0, {{1, 0.5}, {2, 0.5}}}, {3, 0, {{3}}}, {4, 0, {{4}}}};
    choices.insert(choices.end(), of_u_and_v.begin(), of_u_and_v.end());
    return team(3, {agent(5, 3, choices), one_state(2)});
}

TEST("states that are equal in expectation only stay apart, since rewards are kept by transition") {
    Description d = fork({{1, 0, {{3, 0.5}, {4, 0.5}}}, {2, 0, {{3, 0.5}, {4, 0.5}}}});
    // u earns 1 either way, v 0 or 2.
    d.entries.push_back(entry(1.0, {when(d, 0, on_states({1}))}));
    d.entries.push_back(entry(2.0, {when(d, 0, on({2}, {0}, {4}))}));
    const Merged merged(d);
    CHECK(merged.of(1, 1) != merged.of(1, 2));
    CHECK(merged.of(2, 3) == merged.of(2, 4));
    // What knows expectations only does merge them.
    const CompiledModel expected = compiled(d, true);
    CHECK(expected.agents[0].layer_begin[2] - expected.agents[0].layer_begin[1] == 1);
}

TEST("states with the same chances of the same rewards become one, and so do their outcomes") {
    Description d = fork({{1, 0, {{3, 0.25}, {4, 0.75}}}, {2, 0, {{3, 1.0}}}});
    d.entries.push_back(entry(1.0, {when(d, 0, on_states({1, 2}))}));
    const Merged merged(d);
    CHECK(merged.of(1, 1) == merged.of(1, 2));
    CHECK(merged.nodes(0) == 1);
    CHECK(merged.nodes(1) == 1);
    CHECK(merged.nodes(2) == 1);
    CHECK(merged.nodes(3) == 1);
    CHECK(merged.graph().arc_probability == std::vector<double>{1, 1, 1});
    CHECK(merged.graph().arc_reward == std::vector<double>{0, 1, 0});
    CHECK(merged.graph().node_state[1] == StateId{1});  // the first one stands for all
}

TEST("arcs with different rewards or into different nodes stay apart within a merged state") {
    Description d = fork({{1, 0, {{3, 0.5}, {4, 0.5}}}, {2, 0, {{4, 0.5}, {3, 0.5}}}});
    d.entries.push_back(entry(2.0, {when(d, 0, on({1, 2}, {0}, {4}))}));
    const Merged merged(d);
    CHECK(merged.of(1, 1) == merged.of(1, 2));
    CHECK(merged.graph().arc_begin == std::vector<Index>{0, 1, 3, 4});
    const std::set<double> rewards(merged.graph().arc_reward.begin() + 1,
                                   merged.graph().arc_reward.begin() + 3);
    CHECK(rewards == std::set<double>{0, 2});
}

TEST("actions keep their names: the same under another name is not the same, another order is") {
    Description named = fork({{1, 0, {{3}}}, {2, 1, {{3}}}});
    const Merged by_name(named);
    CHECK(by_name.of(1, 1) != by_name.of(1, 2));
    // dp, which has no use for names, merges them.
    const CompiledModel nameless = compiled(named, true);
    CHECK(nameless.agents[0].layer_begin[2] - nameless.agents[0].layer_begin[1] == 1);

    Description ordered = fork({{1, 1, {{3}}}, {1, 2, {{4}}}, {2, 2, {{4}}}, {2, 1, {{3}}}});
    ordered.entries.push_back(entry(4.0, {when(ordered, 0, on_actions({2}))}));
    const Merged any_order(ordered);
    CHECK(any_order.of(1, 1) == any_order.of(1, 2));
    // The choices of the state that stands for both, in its own order.
    const Index node = any_order.graph().layer_begin[1];
    const AgentDescription& who = ordered.agents[0];
    std::vector<Index> names;
    for (Index c = any_order.graph().choice_begin[node];
         c < any_order.graph().choice_begin[node + 1]; ++c) {
        names.push_back(who.choice_action[at(any_order.graph().choice_base[c])]);
    }
    CHECK(names == std::vector<Index>{1, 2});
}

TEST("states that interactions tell apart stay apart, even if no reward is ever paid") {
    Description d = fork({{1, 0, {{3}}}, {2, 0, {{3}}}});
    CHECK(Merged(d).of(1, 1) == Merged(d).of(1, 2));
    d.entries.push_back(entry(1.0, {when(d, 0, on_states({1})), when(d, 1, on_actions({1}))}));
    CHECK(Merged(d).of(1, 1) != Merged(d).of(1, 2));
}

TEST("without merging, graphs are copied as they are") {
    for (std::uint64_t seed = 0; seed < 30; ++seed) {
        const testing::Context context("seed", seed);
        const Merged copied(random_team(seed), false);
        CHECK(copied.result.graphs.first_stage == copied.full.first_stage);
        CHECK(copied.result.graphs.horizon == copied.full.horizon);
        for (std::size_t i = 0; i < copied.full.agents.size(); ++i) {
            const LocalGraph& before = copied.full.agents[i];
            const LocalGraph& after = copied.result.graphs.agents[i];
            CHECK(after.layer_begin == before.layer_begin);
            CHECK(after.node_state == before.node_state);
            CHECK(after.choice_begin == before.choice_begin);
            CHECK(after.choice_base == before.choice_base);
            CHECK(after.arc_begin == before.arc_begin);
            CHECK(after.arc_next == before.arc_next);
            CHECK(after.arc_probability == before.arc_probability);
            CHECK(after.arc_reward == before.arc_reward);
            CHECK(after.arc_base == before.arc_base);
            for (std::size_t k = 0; k < before.node_count(); ++k) {
                CHECK(at(copied.result.node_class[i][k]) == k);
            }
        }
    }
}

// Per action, the chances of (next class, pair type, own reward). Rewards and chances are coarse,
// so exact comparison is fair.
using Law = std::map<Index, std::map<std::tuple<NodeId, Index, double>, double>>;

Law law_of(const LocalGraph& graph, const AgentDescription& who, const MoveTypes& types, Index node,
           const std::vector<NodeId>* classes) {
    Law law;
    for (Index c = graph.choice_begin[node]; c < graph.choice_begin[node + 1]; ++c) {
        auto& chances = law[who.choice_action[at(graph.choice_base[c])]];
        for (Index a = graph.arc_begin[c]; a < graph.arc_begin[c + 1]; ++a) {
            const NodeId next = graph.arc_next[a];
            chances[{classes ? (*classes)[at(next)] : next, types.pair_type(graph.arc_base[a]),
                     graph.arc_reward[a]}] += graph.arc_probability[a];
        }
    }
    return law;
}

TEST("merged graphs of random problems have the laws of all their states, and no law twice") {
    std::size_t before = 0, after = 0;
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
        const testing::Context context("seed", seed);
        const Description d = random_team(seed);
        if (!unit_mass(d)) continue;  // these merge only by luck
        const Merged merged(d);
        for (std::size_t i = 0; i < d.agents.size(); ++i) {
            const MoveTypes types(d, as<AgentId>(i), merged.full.rewards.interaction_entries);
            const LocalGraph& full = merged.full.agents[i];
            const LocalGraph& small = merged.result.graphs.agents[i];
            const auto& classes = merged.result.node_class[i];
            before += full.node_count();
            after += small.node_count();
            CHECK(small.layer_begin.size() == full.layer_begin.size());
            for (Index layer = 0; layer + 1 < full.layer_begin.size(); ++layer) {
                std::set<Law> laws;
                for (Index node = small.layer_begin[layer]; node < small.layer_begin[layer + 1];
                     ++node) {
                    CHECK(laws.insert(law_of(small, d.agents[i], types, node, nullptr)).second);
                }
                for (Index node = full.layer_begin[layer]; node < full.layer_begin[layer + 1];
                     ++node) {
                    const auto one = static_cast<Index>(at(classes[node]));
                    CHECK(one >= small.layer_begin[layer]);
                    CHECK(one < small.layer_begin[layer + 1]);
                    CHECK(law_of(full, d.agents[i], types, node, &classes) ==
                          law_of(small, d.agents[i], types, one, nullptr));
                }
            }
        }
    }
    CHECK(after * 10 < before * 9);
}

}  // namespace
}  // namespace coreplan
