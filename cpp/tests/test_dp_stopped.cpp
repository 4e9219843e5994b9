// What dp gives when it is stopped before the end: bounds that hold and a policy to follow.
#include "baselines/dp.hpp"
#include "check.hpp"
#include "clocks.hpp"
#include "policies.hpp"
#include "problems.hpp"

namespace coreplan {
namespace {

using namespace problems;

// The first move leads into one of eight regions for good, each of four states. Later regions are a
// little better, so a search that tries moves in order has a good policy early and the best one
// late. What is best for each agent alone is bad for both.
Description regions(Index horizon) {
    constexpr Index kRegions = 8, kStates = 4;
    std::vector<Choice> choices;
    for (Index r = 0; r < kRegions; ++r) choices.push_back({0, r, {{1 + r * kStates}}});
    for (Index r = 0; r < kRegions; ++r) {
        for (Index s = 0; s < kStates; ++s) {
            for (Index a = 0; a < 3; ++a) {
                std::vector<Branch> branches;
                for (Index k = 0; k < kStates; ++k) {
                    branches.push_back({1 + r * kStates + k, ((k + a + s) % kStates + 1) / 10.0});
                }
                choices.push_back({1 + r * kStates + s, a, std::move(branches)});
            }
        }
    }
    const AgentDescription who = agent(1 + kRegions * kStates, kRegions, choices);
    Description d = team(horizon, {who, who});
    std::vector<Index> inside;
    for (Index s = 1; s <= kRegions * kStates; ++s) inside.push_back(s);
    std::vector<Member> greedy;
    for (Index i = 0; i < 2; ++i) {
        greedy.push_back(when(d, i, on(inside, {1}, inside)));
        d.entries.push_back(entry(1.0, {greedy.back()}));
        for (const Index s : inside) {
            d.entries.push_back(entry(s / 128.0, {when(d, i, on_nexts({s}))}));
        }
    }
    d.entries.push_back(entry(-5.0, greedy));
    return d;
}

// A stopped result must bracket the optimum, and its policy must earn the lower bound.
void check_stopped(const Description& d, const policies::Translation& translation,
                   const DpResult& result, double best) {
    CHECK(result.lower <= best + relative(best, 1e-12));
    CHECK(result.upper >= best - relative(best, 1e-12));
    CHECK(result.values == nullptr);
    const double earned = reference::Bellman(d, translation.rule(result)).value();
    CHECK_NEAR(earned, result.lower, relative(earned));
}

TEST("a table that does not fit leaves valid bounds and the policy of single agents") {
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        const testing::Context context("seed", seed);
        const Description d = any_team(seed);
        const policies::Translation translation(d, true);
        Monitor monitor(Monitor::kNoLimit, 1);
        const DpResult result = solve_dp(translation.model(), monitor);
        CHECK(result.stop == Stop::memory_limit);
        CHECK(!result.message.empty());
        CHECK(result.actions == nullptr);
        CHECK(monitor.reserved() == 0.0);
        CHECK(monitor.progress.lower == result.lower);
        CHECK(monitor.progress.upper == result.upper);
        check_stopped(d, translation, result, reference::optimum(d));
    }
}

TEST("joint states and joint actions beyond all counting are refused, whatever the memory") {
    const Description wide = team(1, std::vector<AgentDescription>(33, one_state(2)));
    const DpResult actions = [&] {
        Monitor monitor;
        return solve_dp(compiled(wide, false), monitor);
    }();
    CHECK(actions.stop == Stop::memory_limit);

    const AgentDescription two = agent(2, 2, {{0, 0, {{0}}}, {0, 1, {{1}}}, {1, 0, {{1}}}});
    const Description many = team(3, std::vector<AgentDescription>(70, two));
    Monitor monitor;
    CHECK(solve_dp(compiled(many, false), monitor).stop == Stop::memory_limit);
}

TEST("a time limit before there are bounds is an exception") {
    const CompiledModel model = compiled(regions(5));
    Monitor monitor(0);
    CHECK_THROWS(LimitReached, solve_dp(model, monitor));
}

TEST("dp that is stopped keeps the best joint action it has evaluated, if that is better") {
    const Description d = regions(500);
    const policies::Translation translation(d, true);
    Monitor free;
    const DpResult whole = solve_dp(translation.model(), free);
    const double best = whole.lower;
    CHECK(whole.stop == Stop::none);

    // As soon as one joint action of the start has been evaluated.
    double alone = 0;
    {
        Monitor monitor;
        alone = independent_bounds(translation.model(), monitor).lower;
    }
    Monitor watched = clocks::watched([&](const Progress& progress) {
        return progress.lower > alone ? Stop::interrupted : Stop::none;
    });
    const DpResult stopped = solve_dp(translation.model(), watched);
    CHECK(stopped.stop == Stop::interrupted);
    CHECK(stopped.actions != nullptr);
    CHECK(stopped.lower > alone);
    CHECK(stopped.lower < best);
    CHECK(stopped.states_expanded < whole.states_expanded);
    check_stopped(d, translation, stopped, best);

    // At any time: bounds hold wherever the clock strikes, if there is anything yet.
    std::uint64_t looks = 0;
    Monitor counting = clocks::watched([&](const Progress&) {
        ++looks;
        return Stop::none;
    });
    solve_dp(translation.model(), counting);
    for (std::uint64_t k = 0; k < 20; ++k) {
        const testing::Context context("looks in twentieths", k);
        Monitor monitor = clocks::striking_after(looks * k / 20);
        try {
            const DpResult result = solve_dp(translation.model(), monitor);
            CHECK(result.stop == Stop::time_limit);
            CHECK(result.lower <= best + relative(best, 1e-12));
            CHECK(result.upper >= best - relative(best, 1e-12));
            CHECK((result.actions == nullptr) == (result.lower == alone));
        } catch (const LimitReached& struck) {
            CHECK(struck.stop == Stop::time_limit);
        }
    }
}

}  // namespace
}  // namespace coreplan
