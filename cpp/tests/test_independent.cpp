#include "bounds/independent.hpp"

#include "check.hpp"
#include "policies.hpp"
#include "problems.hpp"

namespace coreplan {
namespace {

using namespace problems;

IndependentBounds bounds_of(const CompiledModel& model) {
    Monitor monitor;
    return independent_bounds(model, monitor);
}

TEST("the value of a policy of single agents is what enumerating joint outcomes gives") {
    std::mt19937_64 random(5);
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
        const testing::Context context("seed", seed);
        const Description d = any_team(seed);
        const policies::Translation translation(d, seed % 2 == 0);
        LocalPolicy policy;
        for (const CompiledAgent& who : translation.model().agents) {
            auto& actions = policy.action.emplace_back();
            for (std::size_t c = 0; c < who.class_count(); ++c) {
                const Index count = who.action_begin[c + 1] - who.action_begin[c];
                actions.push_back(count == 0 ? 0 : static_cast<Index>(random() % count));
            }
        }
        Monitor monitor;
        const double expected = reference::Bellman(d, translation.rule(policy)).value();
        CHECK_NEAR(value_of(translation.model(), policy, monitor), expected,
                   relative(expected, 1e-12));
    }
}

TEST("the bounds bracket the optimum, and the lower one is the exact value of its policy") {
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
        const testing::Context context("seed", seed);
        const Description d = any_team(seed);
        const policies::Translation translation(d, seed % 2 == 0);
        const IndependentBounds bounds = bounds_of(translation.model());
        const double best = reference::optimum(d);
        const double followed = reference::Bellman(d, translation.rule(bounds.policy)).value();
        CHECK_NEAR(bounds.lower, followed, relative(followed, 1e-12));
        CHECK(bounds.lower <= best + relative(best, 1e-12));
        CHECK(bounds.upper >= best - relative(best, 1e-12));
        CHECK(bounds.lower <= bounds.upper);
    }
}

TEST("without interactions both bounds are the optimum") {
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
        const testing::Context context("seed", seed);
        Description d = any_team(seed);
        std::erase_if(d.entries, [](const Entry& each) { return each.members.size() > 1; });
        d.aggregates.clear();
        const IndependentBounds bounds = bounds_of(compiled(d));
        const double best = reference::optimum(d);
        // Probabilities may not sum to 1; the bounds then leave room for what that can do.
        CHECK_NEAR(bounds.lower, best, relative(best, 1e-7));
        CHECK_NEAR(bounds.upper, best, relative(best, 1e-7));
    }
}

TEST("a favourable interaction counts with the best chances, a cost as if it were avoided") {
    // Action 1 of either agent matches with chance 1/2 and costs its agent 1.
    const AgentDescription half =
        agent(2, 2, {{0, 0, {{0}}}, {0, 1, {{0, 0.5}, {1, 0.5}}}, {1, 0, {{0}}}});
    Description d = team(1, {half, half});
    const Member first = when(d, 0, on_nexts({1})), second = when(d, 1, on_nexts({1}));
    d.entries.push_back(entry(-1.0, {when(d, 0, on_actions({1}))}));
    d.entries.push_back(entry(-1.0, {when(d, 1, on_actions({1}))}));
    d.entries.push_back(entry(12.0, {first, second}));
    // The first agent answers for the interaction: 12 / 4 - 1; the second may stay at home.
    CHECK_NEAR(bounds_of(compiled(d)).upper, 2.0, 1e-12);
    CHECK(bounds_of(compiled(d)).lower == 0.0);
    d.entries[2].value = -12.0;
    CHECK_NEAR(bounds_of(compiled(d)).upper, 0.0, 1e-12);
}

TEST("masses that are not 1 leave the upper bound valid when they only ever grow") {
    // Every law sums to 1 + 5e-10, so the true value lies above what exact laws would give.
    const AgentDescription heavy = agent(1, 1, {{0, 0, {{0, 1 + 5e-10}}}});
    Description d = team(50, {heavy, heavy, heavy});
    d.entries.push_back(entry(1.0, {when(d, 0, on_actions({0}))}));
    d.entries.push_back(entry(1.0, {}));
    const double best = reference::optimum(d);
    CHECK(best > 100 + 3e-6);
    const IndependentBounds bounds = bounds_of(compiled(d));
    CHECK_NEAR(bounds.lower, best, 1e-12 * best);
    CHECK(bounds.upper >= best);
    CHECK(bounds.upper <= best * (1 + 1e-6));
}

TEST("signals that no interaction looks at any more count nothing") {
    // Both agents make two signals; only the interaction of the first ones is left.
    Description d = team(2, {one_state(3), one_state(3)});
    for (Index a = 1; a < 3; ++a) {
        d.entries.push_back(entry(a, {when(d, 0, on_actions({a})), when(d, 1, on_actions({a}))}));
    }
    CompiledModel model = compiled(d);
    model.interactions.pop_back();
    for (Index layer = 0; layer < 2; ++layer) {
        model.interactions_at[layer].pop_back();
        model.values_at[layer].pop_back();
    }
    CHECK(signal_counts(model) == (std::vector<std::size_t>{1, 1}));
    CHECK(best_chances(model)[0][0] == (std::vector<double>{1.0}));
    CHECK_NEAR(bounds_of(model).upper, 2.0, 1e-9);
}

TEST("a limit that strikes before there are bounds is an exception") {
    const CompiledModel model = compiled(team(10, {one_state(2)}));
    Monitor monitor(0);
    CHECK_THROWS(LimitReached, independent_bounds(model, monitor));
}

TEST("bounds of a horizon of 100000 stages are found") {
    Description d =
        team(100'000, {agent(2, 2, {{0, 0, {{0}}}, {0, 1, {{1}}}, {1, 0, {{0}}}}), one_state(2)});
    d.entries.push_back(entry(1.0, {when(d, 0, on_states({1}))}));
    d.entries.push_back(entry(1.0, {when(d, 0, on_states({1})), when(d, 1, on_actions({1}))}));
    const IndependentBounds bounds = bounds_of(compiled(d));
    CHECK_NEAR(bounds.upper, 100'000.0, 1e-3);
    CHECK(bounds.lower >= 50'000.0);
    CHECK(bounds.lower <= bounds.upper);
}

}  // namespace
}  // namespace coreplan
