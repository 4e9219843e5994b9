#include "baselines/dp.hpp"

#include <cmath>
#include <limits>
#include <stdexcept>

#include "check.hpp"
#include "policies.hpp"
#include "problems.hpp"

namespace coreplan {
namespace {

using namespace problems;

DpResult solved(const CompiledModel& model) {
    Monitor monitor;
    return solve_dp(model, monitor);
}

TEST("dp finds the optimum, and its policy earns it") {
    int imprecise = 0;
    for (std::uint64_t seed = 0; seed < 400; ++seed) {
        const testing::Context context("seed", seed);
        const Description d = any_team(seed);
        const double best = reference::optimum(d);
        for (const bool merge : {true, false}) {
            const testing::Context variant("merge", merge);
            const policies::Translation translation(d, merge);
            const DpResult result = solved(translation.model());
            CHECK(result.stop == Stop::none);
            CHECK_NEAR(result.lower, best, relative(best));
            CHECK(result.lower == result.upper);
            CHECK(result.states_expanded == result.state_count);
            CHECK(result.actions != nullptr);
            const double earned = reference::Bellman(d, translation.rule(result)).value();
            CHECK_NEAR(earned, best, relative(best));
            if (merge && !translation.model().unit_mass) ++imprecise;
        }
    }
    CHECK(imprecise > 40);
}

TEST("rewards count with the mass of all agents where probabilities do not sum to 1") {
    for (const double off : {5e-10, -5e-10}) {
        const testing::Context context("off by", off);
        const AgentDescription who = agent(1, 2, {{0, 0, {{0, 1 + off}}}, {0, 1, {{0, 1 + off}}}});
        Description d = team(10, {who, who, who, who});
        d.entries.push_back(entry(1.0, {}));
        d.entries.push_back(entry(4.0, {when(d, 0, on_actions({1}))}));
        d.entries.push_back(entry(2.0, {when(d, 1, on_actions({1})), when(d, 2, on_actions({1}))}));
        double expected = 0;
        for (int stage = 1; stage <= 10; ++stage) expected += 7 * std::pow(1 + off, 4 * stage);
        CHECK(std::abs(expected - 70) > 70 * 1e-8);  // so that the check below can fail
        CHECK_NEAR(solved(compiled(d)).lower, expected, 1e-12 * expected);
        CHECK_NEAR(solved(compiled(d, false)).lower, expected, 1e-12 * expected);
    }
}

TEST("the values of a solved problem are those of its joint states") {
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
        const testing::Context context("seed", seed);
        const Description d = any_team(seed);
        const policies::Translation translation(d, seed % 2 == 0);
        const DpResult result = solved(translation.model());
        reference::Bellman bellman(d);
        const LocalGraphs& graphs = translation.graphs();
        for (Index stage = d.first_stage; stage < d.horizon; ++stage) {
            // One joint state per stage is enough: the k-th node of each agent, round and round.
            const Index layer = stage - d.first_stage;
            reference::JointState state;
            for (std::size_t i = 0; i < d.agents.size(); ++i) {
                const LocalGraph& graph = graphs.agents[i];
                const Index nodes = graph.layer_begin[layer + 1] - graph.layer_begin[layer];
                const auto pick = static_cast<Index>((seed + i) % nodes);
                state.push_back(
                    static_cast<Index>(graph.node_state[graph.layer_begin[layer] + pick]));
            }
            const testing::Context where("stage", stage);
            const double expected = bellman.value(stage, state);
            CHECK_NEAR(result.values[translation.slot_of(stage, state)], expected,
                       relative(expected));
        }
    }
}

// In every state the same actions. Action k matches with chance k / (2 · actions), and costs its
// agent a share of that, so that no two actions are alike.
Description many_labels(Index agents, Index actions, Index horizon) {
    std::vector<Choice> choices;
    for (Index k = 0; k < actions; ++k) {
        const double chance = k / (2.0 * actions);
        choices.push_back({0, k, {{0, 1 - chance}, {1, chance}}});
        choices.push_back({1, k, {{0, 1 - chance}, {1, chance}}});
    }
    Description d =
        team(horizon, std::vector<AgentDescription>(agents, agent(2, actions, choices)));
    std::vector<Member> all;
    for (Index i = 0; i < agents; ++i) {
        all.push_back(when(d, i, on_nexts({1})));
        d.entries.push_back(entry(-1.0 - i, {all.back()}));
    }
    d.entries.push_back(entry(60.0, all));
    return d;
}

TEST("interactions are added up where there are too many labels for a table") {
    // 17^4 combinations of labels.
    const DpResult result = solved(compiled(many_labels(4, 17, 1)));
    double best = 0;
    for (int a = 0; a < 17; ++a) {
        for (int b = 0; b < 17; ++b) {
            for (int c = 0; c < 17; ++c) {
                for (int d = 0; d < 17; ++d) {
                    const double unit = 1 / 34.0;
                    best = std::max(best, 60 * a * b * c * d * std::pow(unit, 4) -
                                              (a + 2 * b + 3 * c + 4 * d) * unit);
                }
            }
        }
    }
    CHECK(result.stop == Stop::none);
    CHECK(result.actions_evaluated == 17 * 17 * 17 * 17);
    CHECK_NEAR(result.lower, best, 1e-9);
}

TEST("long horizons with tables use both tables and sums, with one result") {
    // 200^2 cells per layer: the room for tables is used up before the first layer.
    const Description d = many_labels(2, 200, 110);
    double stage = 0;
    for (int a = 0; a < 200; ++a) {
        for (int b = 0; b < 200; ++b) {
            stage = std::max(stage, 60.0 * a * b / 160'000 - (a + 2 * b) / 400.0);
        }
    }
    CHECK_NEAR(solved(compiled(d)).lower, 110 * stage, 1e-9 * 110 * stage);
}

TEST("a horizon of 100000 stages needs no recursion") {
    Description d = team(
        100'000,
        {agent(2, 2, {{0, 0, {{0}}}, {0, 1, {{1, 0.5}, {0, 0.5}}}, {1, 0, {{0}}}}), one_state(2)});
    d.entries.push_back(entry(4.0, {when(d, 0, on_states({1})), when(d, 1, on_actions({1}))}));
    d.entries.push_back(entry(-1.0, {when(d, 1, on_actions({1}))}));
    const DpResult result = solved(compiled(d));
    CHECK(result.stop == Stop::none);
    // Trying takes two stages on average and one to earn: 3 per three stages in the long run.
    CHECK_NEAR(result.lower, 100'000.0, 10.0);
    CHECK(result.state_count == 2U * 100'000 - 1);
}

TEST("rewards that cannot be added up are refused") {
    Description d = team(3, {one_state(1), one_state(1)});
    d.entries.push_back(entry(1e308, {when(d, 0, on_actions({0})), when(d, 1, on_states({0}))}));
    CHECK_THROWS(std::overflow_error, solved(compiled(d)));
    d = team(3, {agent(2, 2, {{0, 0, {{0}}}, {0, 1, {{1}}}, {1, 0, {{1}}}})});
    d.entries.push_back(entry(1e307, {when(d, 0, on_actions({1}))}));
    d.entries.push_back(entry(-1e307, {when(d, 0, on_states({1}))}));
    CHECK_NEAR(solved(compiled(d)).lower / 1e307, 1.0, 1e-9);  // taken at the last stage
}

}  // namespace
}  // namespace coreplan
