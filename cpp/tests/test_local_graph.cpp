#include "model/local_graph.hpp"

#include <random>
#include <set>

#include "check.hpp"
#include "clocks.hpp"
#include "problems.hpp"

namespace coreplan {
namespace {

using namespace problems;
using States = std::vector<Index>;

States states_at(const LocalGraphs& graphs, std::size_t agent, Index stage) {
    const LocalGraph& graph = graphs.agents[agent];
    const Index layer = stage - graphs.first_stage;
    States states;
    for (Index k = graph.layer_begin[layer]; k < graph.layer_begin[layer + 1]; ++k) {
        states.push_back(static_cast<Index>(graph.node_state[k]));
    }
    return states;
}

LocalGraphs unrolled(const Description& description) {
    Monitor monitor;
    return unroll(description, monitor);
}

TEST("each stage has the states that can be reached by then, and no others") {
    // A line of three states and an island.
    const LocalGraphs graphs = unrolled(team(
        3, {agent(4, 2,
                  {{0, 0, {{0}}}, {0, 1, {{1}}}, {1, 0, {{2}}}, {2, 0, {{2}}}, {3, 0, {{3}}}})}));
    CHECK(graphs.stage_count() == 3);
    CHECK(states_at(graphs, 0, 0) == States{0});
    CHECK(states_at(graphs, 0, 1) == States{0, 1});
    CHECK(states_at(graphs, 0, 2) == States{0, 1, 2});
    CHECK(states_at(graphs, 0, 3) == States{0, 1, 2});
    const LocalGraph& graph = graphs.agents[0];
    CHECK(graph.choice_begin[graph.layer_begin[3]] == graph.choice_base.size());
    CHECK(graph.choice_begin.back() == graph.choice_base.size());
}

TEST("planning can start later, from any state") {
    Description d = team(5, {agent(2, 1, {{0, 0, {{1}}}, {1, 0, {{0}}}})});
    d.first_stage = 3;
    d.start[0] = StateId{1};
    d.entries.push_back(entry(1.0, {when(d, 0, on_states({1}))}, std::vector<Index>{0, 3}));
    d.entries.push_back(entry(8.0, {when(d, 0, on_states({0}))}, std::vector<Index>{4}));
    const LocalGraphs graphs = unrolled(d);
    CHECK(graphs.stage_count() == 2);
    CHECK(graphs.agents[0].layer_begin == std::vector<Index>{0, 1, 2, 3});
    CHECK(states_at(graphs, 0, 3) == States{1});
    CHECK(states_at(graphs, 0, 4) == States{0});
    CHECK(graphs.agents[0].arc_reward == std::vector<double>{1, 8});
}

TEST("a choice is there in its stages only, the first and the last included") {
    const LocalGraphs graphs =
        unrolled(team(5, {agent(2, 2, {{0, 0, {{0}}}, {0, 1, {{1}}, 1, 2}, {1, 0, {{0}}}})}));
    CHECK(states_at(graphs, 0, 1) == States{0});
    CHECK(states_at(graphs, 0, 2) == States{0, 1});
    CHECK(states_at(graphs, 0, 3) == States{0, 1});
    CHECK(states_at(graphs, 0, 4) == States{0});
    const LocalGraph& graph = graphs.agents[0];
    const auto choices_of_first_node = [&](Index layer) {
        const Index node = graph.layer_begin[layer];
        return graph.choice_begin[node + 1] - graph.choice_begin[node];
    };
    CHECK(choices_of_first_node(0) == 1);
    CHECK(choices_of_first_node(1) == 2);
    CHECK(choices_of_first_node(2) == 2);
    CHECK(choices_of_first_node(3) == 1);
}

TEST("an outcome of probability 0 leads nowhere") {
    // State 1 has no action: reaching it would be an error.
    const LocalGraphs graphs = unrolled(team(3, {agent(2, 1, {{0, 0, {{1, 0.0}, {0, 1.0}}}})}));
    CHECK(graphs.agents[0].node_count() == 4);
    CHECK(graphs.agents[0].arc_base == std::vector<TransitionId>(3, TransitionId{1}));
    CHECK(graphs.agents[0].arc_probability == std::vector<double>(3, 1.0));
}

TEST("a reachable state without an action is reported: who, where and when") {
    Description d = team(4, {one_state(1), agent(3, 1, {{0, 0, {{1}}}, {1, 0, {{2}}}})});
    const auto error = testing::caught<NoAction>([&] { unrolled(d); });
    CHECK(error.agent == AgentId{1});
    CHECK(error.state == StateId{2});
    CHECK(error.stage == 2);
}

TEST("at the horizon no action is needed") {
    Description d = team(2, {agent(3, 1, {{0, 0, {{1}}}, {1, 0, {{2}}}})});
    CHECK(unrolled(d).agents[0].node_count() == 3);
}

TEST("a state whose choices are all closed at the stage has no action") {
    Description d = team(3, {agent(1, 2, {{0, 0, {{0}}, 0, 0}, {0, 1, {{0}}, 2, 9}})});
    const auto error = testing::caught<NoAction>([&] { unrolled(d); });
    CHECK(error.stage == 1);
}

TEST("a state whose actions change very often has the same choices as one by one") {
    std::mt19937_64 random(7);
    std::vector<Choice> choices{{0, 0, {{0}}}};
    for (Index k = 0; k < 300; ++k) {
        const auto first = static_cast<Index>(random() % 100);
        const auto last = static_cast<Index>(first + random() % 20);
        choices.push_back({0, 1, {{0}}, first, random() % 9 == 0 ? 0 : last});
    }
    Description d = team(100, {agent(1, 2, choices)});
    d.first_stage = 3;
    const LocalGraph graph = unrolled(d).agents[0];
    for (Index stage = 3; stage < 100; ++stage) {
        std::vector<ChoiceId> expected;
        for (Index c = 0; c < choices.size(); ++c) {
            if (choices[c].first <= stage && stage <= choices[c].last) {
                expected.push_back(ChoiceId{c});
            }
        }
        const auto begin = graph.choice_base.begin();
        const Index node = graph.layer_begin[stage - 3];
        CHECK(std::vector<ChoiceId>(begin + graph.choice_begin[node],
                                    begin + graph.choice_begin[node + 1]) == expected);
    }
}

TEST("arcs carry the probability, the own reward of their stage and their transition") {
    Description d = team(2, {agent(2, 1, {{0, 0, {{0, 0.25}, {1, 0.75}}}, {1, 0, {{1}}}})});
    d.entries.push_back(entry(3.0, {when(d, 0, on_nexts({1}))}));
    d.entries.push_back(entry(1.0, {when(d, 0, on_states({0}))}, std::vector<Index>{1}));
    const LocalGraph graph = unrolled(d).agents[0];
    CHECK(graph.arc_probability == std::vector<double>{0.25, 0.75, 0.25, 0.75, 1});
    CHECK(graph.arc_reward == std::vector<double>{0, 3, 1, 4, 3});
    CHECK(graph.arc_next ==
          std::vector<NodeId>{NodeId{1}, NodeId{2}, NodeId{3}, NodeId{4}, NodeId{4}});
    CHECK(graph.choice_base == std::vector<ChoiceId>{ChoiceId{0}, ChoiceId{0}, ChoiceId{1}});
}

TEST("reachability agrees with following every path") {
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
        const testing::Context context("seed", seed);
        const Description d = random_team(seed);
        const LocalGraphs graphs = unrolled(d);
        for (std::size_t i = 0; i < d.agents.size(); ++i) {
            const AgentDescription& who = d.agents[i];
            std::set<Index> now{static_cast<Index>(d.start[i])};
            for (Index stage = d.first_stage;; ++stage) {
                CHECK(states_at(graphs, i, stage) == States(now.begin(), now.end()));
                if (stage == d.horizon) break;
                std::set<Index> next;
                for (const Index s : now) {
                    for (Index c = who.choice_begin[s]; c < who.choice_begin[s + 1]; ++c) {
                        if (stage < who.choice_first[c] || who.choice_last[c] < stage) continue;
                        for (Index o = who.outcome_begin[c]; o < who.outcome_begin[c + 1]; ++o) {
                            if (who.outcome_probability[o] > 0) next.insert(who.outcome_next[o]);
                        }
                    }
                }
                now = std::move(next);
            }
        }
    }
}

TEST("a memory limit is refused before the graph is counted to its end, let alone built") {
    // Four thousand million stages: only a refusal after the first few can return at all.
    const Description d = team(4'000'000'000U, {one_state(1)});
    Monitor monitor(Monitor::kNoLimit, 10'000);
    const auto error = testing::caught<LimitReached>([&] { unroll(d, monitor); });
    CHECK(error.stop == Stop::memory_limit);
    CHECK(monitor.reserved() == 0.0);
}

TEST("the memory of a graph is taken from the limit, agent by agent") {
    const Description d = team(1000, {one_state(1), one_state(1)});
    Monitor free;
    const LocalGraphs graphs = unroll(d, free);
    const double needed = free.reserved();
    CHECK(needed >= 2.0 * 1000 * (sizeof(NodeId) + 2 * sizeof(double)));
    Monitor enough(Monitor::kNoLimit, needed);
    CHECK(unroll(d, enough).agents.size() == graphs.agents.size());
    Monitor short_by_one(Monitor::kNoLimit, needed - 1);
    CHECK_THROWS(LimitReached, unroll(d, short_by_one));
}

TEST("a time limit stops the unrolling") {
    const Description d = team(4'000'000'000U, {one_state(1)});
    Monitor monitor = clocks::striking_after(100);
    const auto error = testing::caught<LimitReached>([&] { unroll(d, monitor); });
    CHECK(error.stop == Stop::time_limit);
}

TEST("a horizon of 100000 stages is unrolled for a cyclic agent") {
    const LocalGraphs graphs = unrolled(
        team(100'000, {agent(2, 2, {{0, 0, {{0}}}, {0, 1, {{1}}}, {1, 0, {{0, 0.5}, {1, 0.5}}}})}));
    CHECK(graphs.agents[0].node_count() == 200'001);
    CHECK(graphs.agents[0].layer_begin.size() == 100'002);
    CHECK(graphs.agents[0].arc_next.size() == 4U * 100'000 - 2);
}

}  // namespace
}  // namespace coreplan
