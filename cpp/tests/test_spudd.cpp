#include "baselines/spudd.hpp"

#include <cmath>

#include "baselines/dp.hpp"
#include "check.hpp"
#include "clocks.hpp"
#include "policies.hpp"
#include "problems.hpp"

namespace coreplan {
namespace {

using namespace problems;

std::vector<SpuddOptions> all_options() {
    std::vector<SpuddOptions> all;
    for (const auto order : {VariableOrder::grouped, VariableOrder::interleaved}) {
        for (const auto actions : {ActionMode::diagram, ActionMode::enumerate}) {
            for (const double most : {1e6, 0.0}) all.push_back({order, actions, most});
        }
    }
    return all;
}

std::string words(const SpuddOptions& options) {
    return std::string(options.order == VariableOrder::grouped ? "grouped" : "interleaved") +
           (options.actions == ActionMode::diagram ? ", diagram" : ", enumerate") +
           (options.most_table_states > 0 ? ", all states" : ", reached states");
}

TEST("spudd finds the optimum in every way, and its policy earns it") {
    int imprecise = 0;
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
        const testing::Context context("seed", seed);
        const Description d = any_team(seed);
        const double best = reference::optimum(d);
        const policies::Translation translation(d, seed % 3 != 0);
        for (const SpuddOptions& options : all_options()) {
            const testing::Context variant("with", words(options));
            Monitor monitor;
            const SpuddResult result = solve_spudd(translation.model(), options, monitor);
            CHECK(result.stop == Stop::none);
            CHECK_NEAR(result.lower, best, relative(best));
            CHECK(result.lower == result.upper);
            CHECK(result.iterations == translation.model().layer_count());
            CHECK(result.peak_nodes > 0);
            CHECK(result.value_nodes > 0);
            CHECK((result.numbers != nullptr) == (options.most_table_states == 0));
            const double earned = reference::Bellman(d, translation.rule(result)).value();
            CHECK_NEAR(earned, best, relative(best));
        }
        if (!translation.model().unit_mass) ++imprecise;
    }
    CHECK(imprecise > 30);
}

TEST("values and actions of all joint states are those of dp") {
    for (std::uint64_t seed = 0; seed < 150; ++seed) {
        const testing::Context context("seed", seed);
        const CompiledModel model = compiled(any_team(seed), seed % 2 == 0);
        Monitor first;
        const DpResult expected = solve_dp(model, first);
        for (const SpuddOptions& options : all_options()) {
            if (options.most_table_states == 0) continue;
            const testing::Context variant("with", words(options));
            Monitor monitor;
            const SpuddResult result = solve_spudd(model, options, monitor);
            CHECK(result.state_count == expected.state_count);
            for (std::uint64_t k = 0; k < expected.state_count; ++k) {
                CHECK_NEAR(result.values[k], expected.values[k], relative(expected.values[k]));
                CHECK(result.actions[k] > 0);
            }
        }
    }
}

TEST("numbers that stand for no state or action do not disturb a maximum") {
    // Five states and three actions need eight and four numbers; all that there is loses.
    std::vector<Choice> choices;
    for (Index s = 0; s < 5; ++s) {
        for (Index a = 0; a < 1 + s % 3; ++a) choices.push_back({s, a, {{(s + a + 1) % 5}}});
    }
    const AgentDescription who = agent(5, 3, choices);
    Description d = team(7, {who, who});
    for (Index i = 0; i < 2; ++i) {
        for (Index s = 0; s < 5; ++s) {
            d.entries.push_back(entry(-100.0 - 7 * s, {when(d, i, on_states({s}))}));
        }
    }
    d.entries.push_back(entry(-30.0, {when(d, 0, on_actions({0})), when(d, 1, on_actions({0}))}));
    const double best = reference::optimum(d);
    CHECK(best < -1000.0);
    for (const SpuddOptions& options : all_options()) {
        const testing::Context variant("with", words(options));
        Monitor monitor;
        CHECK_NEAR(solve_spudd(compiled(d), options, monitor).lower, best, relative(best));
    }
}

TEST("a horizon of many stages takes no deeper stack and no more memory") {
    Description d = crowd(2, 3, 20000);
    const CompiledModel model = compiled(d);
    Monitor first, second;
    const double best = solve_dp(model, first).lower;
    const SpuddResult result = solve_spudd(model, {}, second);
    CHECK_NEAR(result.lower, best, relative(best));
    CHECK(result.collections > 0);
    CHECK(result.peak_nodes < 100000);
}

TEST("rewards beyond all numbers are refused") {
    const AgentDescription who = one_state(2);
    Description d = team(3, {who, who});
    d.entries.push_back(entry(1.7e308, {when(d, 0, on_actions({1})), when(d, 1, on_actions({1}))}));
    const CompiledModel model = compiled(d);
    Monitor monitor;
    CHECK_THROWS(std::overflow_error, solve_spudd(model, {}, monitor));
}

TEST("memory that does not suffice leaves valid bounds and a policy that earns the lower one") {
    int some = 0;
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
        const testing::Context context("seed", seed);
        const Description d = any_team(seed);
        const double best = reference::optimum(d);
        const policies::Translation translation(d, true);
        Monitor all;
        const SpuddResult whole = solve_spudd(translation.model(), {}, all);
        for (double limit = 1e4; limit < 3e5; limit *= 1.3) {
            const testing::Context bytes("bytes", limit);
            for (const SpuddOptions& options : all_options()) {
                const testing::Context variant("with", words(options));
                Monitor monitor(Monitor::kNoLimit, limit);
                const SpuddResult result = solve_spudd(translation.model(), options, monitor);
                CHECK(result.lower <= best + relative(best, 1e-12));
                CHECK(result.upper >= best - relative(best, 1e-12));
                const double earned = reference::Bellman(d, translation.rule(result)).value();
                if (result.stop == Stop::none) {
                    CHECK_NEAR(earned, best, relative(best));
                } else {
                    CHECK(result.stop == Stop::memory_limit);
                    CHECK(!result.message.empty());
                    CHECK_NEAR(earned, result.lower, relative(earned));
                    if (result.iterations > 0) ++some;
                }
            }
        }
    }
    CHECK(some > 0);
}

// What is best for each agent alone, action 1, is bad for both. No two states are alike.
Description quarrel(Index horizon) {
    constexpr Index kStates = 6;
    std::vector<Choice> choices;
    for (Index s = 0; s < kStates; ++s) {
        for (Index a = 0; a < 2; ++a) {
            std::vector<Branch> branches;
            for (Index k = 0; k < kStates; ++k) {
                branches.push_back({k, ((k + a + s) % kStates + 1) / 21.0});
            }
            choices.push_back({s, a, std::move(branches)});
        }
    }
    const AgentDescription who = agent(kStates, 2, choices);
    Description d = team(horizon, {who, who});
    std::vector<Member> greedy;
    for (Index i = 0; i < 2; ++i) {
        greedy.push_back(when(d, i, on_actions({1})));
        d.entries.push_back(entry(1.0, {greedy.back()}));
        for (Index s = 0; s < kStates; ++s) {
            d.entries.push_back(entry(s / 128.0, {when(d, i, on_states({s}))}));
        }
    }
    d.entries.push_back(entry(-5.0, greedy));
    return d;
}

TEST("spudd that is stopped in time has the last stages solved, if that is better") {
    const Description d = quarrel(2500);
    const policies::Translation translation(d, true);
    const CompiledModel& model = translation.model();
    Monitor free, other;
    const SpuddResult whole = solve_spudd(model, {}, free);
    const double alone = independent_bounds(model, other).lower;
    CHECK(whole.stop == Stop::none);
    CHECK(whole.lower > alone);

    for (const ActionMode mode : {ActionMode::diagram, ActionMode::enumerate}) {
        Monitor monitor = clocks::watched([&](const Progress& progress) {
            return progress.lower > alone ? Stop::interrupted : Stop::none;
        });
        const SpuddResult result = solve_spudd(model, {VariableOrder::grouped, mode}, monitor);
        CHECK(result.stop == Stop::interrupted);
        CHECK(result.iterations < whole.iterations);
        CHECK(result.values == nullptr);
        CHECK(result.lower > alone);
        CHECK(result.lower < whole.lower);
        CHECK(result.upper >= whole.lower - relative(whole.lower));
        // From the end on: the reference recurses over all stages that it does not know yet.
        reference::Bellman bellman(d, translation.rule(result));
        for (Index stage = d.horizon; stage-- > 0;) {
            static_cast<void>(bellman.value(stage, {0, 0}));
        }
        CHECK_NEAR(bellman.value(), result.lower, relative(result.lower));
    }
    Monitor none(0);
    CHECK_THROWS(LimitReached, solve_spudd(model, {}, none));
}

TEST("joint states and joint actions beyond all counting are refused") {
    const Description wide = team(1, std::vector<AgentDescription>(33, one_state(2)));
    Monitor monitor;
    const SpuddResult result = solve_spudd(compiled(wide, false), {}, monitor);
    CHECK(result.stop == Stop::memory_limit);
    CHECK(!result.message.empty());
    CHECK(result.actions == nullptr);
}

}  // namespace
}  // namespace coreplan
