#include "baselines/spudd_reference.hpp"

#include <algorithm>
#include <random>

#include "baselines/dp.hpp"
#include "check.hpp"
#include "policies.hpp"
#include "problems.hpp"

namespace coreplan {
namespace {

using namespace problems;

// States as distinct values of one to three variables, with values that stand for nothing; every
// action is a command.
FactoredAgent random_factors(const AgentDescription& agent, std::mt19937_64& draw) {
    FactoredAgent factored;
    std::uint64_t combinations = 1;
    for (std::uint64_t v = draw() % 3 + 1; v > 0 || combinations < agent.state_count;) {
        factored.sizes.push_back(static_cast<Index>(1 + draw() % 5));
        combinations *= factored.sizes.back();
        if (v > 0) --v;
    }
    std::vector<std::uint64_t> all(combinations);
    for (std::uint64_t k = 0; k < combinations; ++k) all[k] = k;
    std::ranges::shuffle(all, draw);
    for (Index s = 0; s < agent.state_count; ++s) {
        std::uint64_t left = all[s];
        for (const Index size : factored.sizes) {
            factored.values.push_back(static_cast<Index>(left % size));
            left /= size;
        }
    }
    for (Index a = 0; a < agent.action_count; ++a) factored.command_of.push_back(a);
    factored.command_count = agent.action_count;
    return factored;
}

std::vector<FactoredAgent> random_factors(const Description& d, std::uint64_t seed) {
    std::mt19937_64 draw(seed);
    std::vector<FactoredAgent> all;
    for (const AgentDescription& each : d.agents) all.push_back(random_factors(each, draw));
    return all;
}

SpuddReferenceResult solved(const Description& d, const policies::Translation& translation,
                            const std::vector<FactoredAgent>& factored, double most,
                            Monitor& monitor) {
    return solve_spudd_reference(d, translation.graphs(), translation.model(), factored, most,
                                 monitor);
}

TEST("the flat model with a clock has the optimum, and its policy earns it") {
    int imprecise = 0;
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        const testing::Context context("seed", seed);
        const Description d = random_team(seed);
        const double best = reference::optimum(d);
        const policies::Translation translation(d, false);
        const std::vector<FactoredAgent> factored = random_factors(d, seed);
        double joint = 1;
        for (const FactoredAgent& each : factored) joint *= each.command_count;
        for (const double most : {1e6, 0.0}) {
            const testing::Context variant("table of at most", most);
            Monitor monitor;
            const SpuddReferenceResult result = solved(d, translation, factored, most, monitor);
            CHECK(result.stop == Stop::none);
            CHECK_NEAR(result.lower, best, relative(best));
            CHECK(result.lower == result.upper);
            CHECK(result.sweeps == translation.model().layer_count());
            CHECK(static_cast<double>(result.joint_actions) == joint);
            CHECK(result.backups == result.joint_actions * result.sweeps);
            CHECK(result.model_nodes > 0);
            CHECK(result.peak_nodes > 0);
            CHECK((result.numbers != nullptr) == (most == 0));
            const double earned = reference::Bellman(d, translation.rule(result)).value();
            CHECK_NEAR(earned, best, relative(best));
        }
        if (!translation.model().unit_mass) ++imprecise;
    }
    CHECK(imprecise > 20);
}

TEST("the flat model has the values of dp in all joint states") {
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
        const testing::Context context("seed", seed);
        const Description d = random_team(seed);
        const policies::Translation translation(d, false);
        Monitor first, second;
        const DpResult expected = solve_dp(translation.model(), first);
        const SpuddReferenceResult result =
            solved(d, translation, random_factors(d, seed), 1e9, second);
        CHECK(result.state_count == expected.state_count);
        for (std::uint64_t k = 0; k < expected.state_count; ++k) {
            CHECK_NEAR(result.values[k], expected.values[k], relative(expected.values[k]));
        }
    }
}

TEST("actions that no state offers together can be one command") {
    // State 0 has actions 0 and 1, state 1 has action 2: two commands do.
    Description d = team(4, {agent(2, 3, {{0, 0, {{0}}}, {0, 1, {{1}}}, {1, 2, {{0}}}})});
    d.entries.push_back(entry(-3, {when(d, 0, on_actions({0}))}));
    d.entries.push_back(entry(-5, {when(d, 0, on_actions({1}))}, {{0, 2}}));
    const double best = reference::optimum(d);
    const policies::Translation translation(d, false);
    Monitor monitor;
    const SpuddReferenceResult result =
        solved(d, translation, {{{2}, {0, 1}, {0, 1, 0}, 2}}, 1e6, monitor);
    CHECK(result.joint_actions == 2);
    CHECK_NEAR(result.lower, best, relative(best));
    CHECK_NEAR(reference::Bellman(d, translation.rule(result)).value(), best, relative(best));
}

TEST("variables that do not fit the states are refused") {
    const Description d = team(2, {agent(2, 1, {{0, 0, {{1}}}, {1, 0, {{0}}}})});
    const policies::Translation translation(d, false);
    Monitor monitor;
    for (const FactoredAgent& wrong : {
             FactoredAgent{{2}, {0}, {0}, 1},     // a state without a value
             FactoredAgent{{2}, {0, 2}, {0}, 1},  // a value that the variable does not have
             FactoredAgent{{3}, {1, 1}, {0}, 1},  // two states alike
             FactoredAgent{{0}, {0, 0}, {0}, 1},  // no values at all
         }) {
        CHECK_THROWS(std::invalid_argument, solved(d, translation, {wrong}, 1e6, monitor));
    }
    CHECK_THROWS(std::invalid_argument, solved(d, translation, {}, 1e6, monitor));
}

TEST("the flat model with little memory or time leaves bounds and the policy of single agents") {
    int stopped = 0;
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
        const testing::Context context("seed", seed);
        const Description d = random_team(seed);
        const double best = reference::optimum(d);
        const policies::Translation translation(d, false);
        const std::vector<FactoredAgent> factored = random_factors(d, seed);
        for (double limit = 1e4; limit < 1e6; limit *= 1.7) {
            const testing::Context bytes("bytes", limit);
            Monitor monitor(Monitor::kNoLimit, limit);
            const SpuddReferenceResult result = solved(d, translation, factored, 1e6, monitor);
            CHECK(result.lower <= best + relative(best, 1e-12));
            CHECK(result.upper >= best - relative(best, 1e-12));
            const double earned = reference::Bellman(d, translation.rule(result)).value();
            CHECK_NEAR(earned, result.lower, relative(earned));
            if (result.stop == Stop::none) continue;
            ++stopped;
            CHECK(result.stop == Stop::memory_limit);
            CHECK(!result.message.empty());
            CHECK(result.actions == nullptr);
        }
        // Whoever watches may stop it at any look.
        int looks = 0;
        Monitor monitor(Monitor::kNoLimit, Monitor::kNoLimit, [&](const Progress&) {
            return ++looks > 0 ? Stop::interrupted : Stop::none;
        });
        monitor.halt(Stop::interrupted);
        CHECK_THROWS(LimitReached, solved(d, translation, factored, 1e6, monitor));
    }
    CHECK(stopped > 40);
}

}  // namespace
}  // namespace coreplan
