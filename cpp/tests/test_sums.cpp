#include "bounds/sums.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "baselines/dp.hpp"
#include "bounds/independent.hpp"
#include "check.hpp"
#include "engine/kernel.hpp"
#include "engine/reduction.hpp"
#include "engine/relaxation.hpp"
#include "engine/sum_prices.hpp"
#include "model/unit_mass.hpp"
#include "policies.hpp"
#include "policies/improve.hpp"
#include "problems.hpp"

namespace coreplan {
namespace {

using namespace problems;

constexpr double kNone = -std::numeric_limits<double>::infinity();

TEST("dp finds the optimum of problems with aggregates, and its policy earns it") {
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
        const testing::Context context("seed", seed);
        const Description d = random_team_with_sums(seed);
        const double optimum = reference::optimum(d);
        const policies::Translation translation(d, seed % 2 == 0);
        Monitor monitor;
        const DpResult dp = solve_dp(translation.model(), monitor);
        CHECK_NEAR(dp.lower, optimum, relative(optimum));
        CHECK_NEAR(reference::Bellman(d, translation.rule(dp)).value(), optimum, relative(optimum));
    }
}

TEST("the kernel takes sums along on its way through the agents") {
    for (std::uint64_t seed = 0; seed < 400; ++seed) {
        const testing::Context context("seed", seed);
        const CompiledModel model = compiled(random_team_with_sums(seed));
        Monitor monitor;
        const double optimum = solve_dp(model, monitor).lower;
        const double slack = relative(optimum, model.unit_mass ? 1e-9 : 1e-7);
        for (const unsigned threads : {1U, 2U}) {
            const TeamSolution found =
                solve_team(model, model.everyone(), {.policy = true, .threads = threads}, monitor);
            CHECK_NEAR(found.value + model.constant(), optimum, slack);
        }
    }
}

TEST("the reduction of a problem with aggregates keeps its optimum") {
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
        const testing::Context context("seed", seed);
        const CompiledModel model = compiled(random_team_with_sums(seed), seed % 2 == 0);
        Monitor monitor;
        const double optimum = solve_dp(model, monitor).lower;
        const Reduction reduction = reduce(model, {}, monitor);
        const double found = solve_dp(reduction.model, monitor).lower + reduction.offset;
        CHECK_NEAR(found, optimum, relative(optimum, model.unit_mass ? 1e-9 : 1e-7));
    }
}

TEST("bounds of single agents bracket the optimum of problems with aggregates") {
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
        const testing::Context context("seed", seed);
        const Description d = random_team_with_sums(seed);
        const policies::Translation translation(d, true);
        Monitor monitor;
        const IndependentBounds bounds = independent_bounds(translation.model(), monitor);
        const double optimum = reference::optimum(d);
        CHECK(bounds.lower <= optimum + relative(optimum, 1e-8));
        CHECK(bounds.upper >= optimum - relative(optimum, 1e-8));
        const double followed = reference::Bellman(d, translation.rule(bounds.policy)).value();
        CHECK_NEAR(bounds.lower, followed, relative(followed, 1e-8));
    }
}

TEST("a policy search never says more than its policy is worth with aggregates") {
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        const testing::Context context("seed", seed);
        const Description d = random_team_with_sums(seed);
        const policies::Translation translation(d, seed % 2 == 0);
        Monitor monitor;
        PolicySearchOptions options;
        options.seed = seed;
        options.joint_agents = seed % 4 == 0 ? 1 : 10;
        PolicySearch search(translation.model(), options, monitor);
        for (const std::uint64_t moves : {1U, 3U, 12U}) {
            search.improve(Monitor::kNoEnd, moves);
            const double value = search.value();
            const double followed =
                reference::Bellman(d, translation.rule(search.policy())).value();
            CHECK(value <= followed + relative(followed));
            if (search.exact()) CHECK_NEAR(value, followed, relative(followed));
        }
    }
}

TEST("a relaxation with prices is never below the optimum, and its bound never gets worse") {
    for (std::uint64_t seed = 0; seed < 400; ++seed) {
        const testing::Context context("seed", seed);
        // Shares and prices cancel only if all clusters count with the same mass.
        CompiledModel model = compiled(random_team_with_sums(seed));
        make_unit_mass(model);
        Monitor monitor;
        const double optimum = solve_dp(model, monitor).lower - model.constant();
        Relaxation relaxation(model, {}, monitor);
        double before = relaxation.upper();
        for (int size = 0; size < 6; ++size) {
            for (int round = 0; round < 12; ++round) {
                relaxation.step(seed % 2 == 0 ? optimum - 1 : kNone, monitor);
                CHECK(relaxation.upper() <= before);
                before = relaxation.upper();
                CHECK(before >= optimum - relative(optimum, 1e-12));
            }
            if (!relaxation.grow(1e18, 100, monitor)) break;
            CHECK(relaxation.upper() <= before);
            CHECK(relaxation.upper() >= optimum - relative(optimum, 1e-12));
            // Owners stay, so that the new prices prove what those before proved.
            CHECK(relaxation.proven() <= before + relative(before) + relaxation.error());
            before = relaxation.upper();
        }
        if (relaxation.cluster_count() == 1) {
            CHECK_NEAR(relaxation.upper(), optimum, relative(optimum) + 2 * relaxation.error());
        }
    }
}

// Six agents around a ring that interact with their neighbours and add to up to three sums.
Description ring_with_sums(std::uint64_t seed) {
    constexpr Index kAgents = 6;
    std::mt19937_64 random(seed);
    const auto value = [&] { return static_cast<double>(random() % 41) / 4.0 - 5.0; };
    std::vector<Choice> choices;
    for (Index s = 0; s < 2; ++s) {
        for (Index a = 0; a < 2; ++a) {
            const double stays = static_cast<double>(random() % 5) / 4.0;
            choices.push_back({s, a, {{s, stays}, {1 - s, 1 - stays}}});
        }
    }
    Description d = team(3, std::vector(kAgents, agent(2, 2, choices)));
    const auto some = [&](Index i) {
        const Index k = static_cast<Index>(random() % 2);
        return when(d, i, random() % 2 == 0 ? on_actions({k}) : on_states({k}));
    };
    for (Index i = 0; i < kAgents; ++i) {
        d.entries.push_back(entry(value(), {some(i)}));
        for (const Index size : {2U, 3U}) {
            if (size == 3 && random() % 3 != 0) continue;
            std::vector<Index> who;
            for (Index k = 0; k < size; ++k) who.push_back((i + k) % kAgents);
            std::ranges::sort(who);
            std::vector<Member> members;
            for (const Index each : who) members.push_back(some(each));
            d.entries.push_back(entry(value(), std::move(members)));
        }
    }
    const std::uint64_t count = random() % 4;
    for (std::uint64_t g = 0; g < count; ++g) {
        Aggregate aggregate;
        std::size_t sums = 1;
        for (Index i = 0; i < kAgents; ++i) {
            if (random() % 4 == 0) continue;
            const Member member = some(i);
            const Index units = 1 + static_cast<Index>(random() % 2);
            aggregate.amounts.push_back({member.agent, member.condition, units});
            sums += units;
        }
        for (std::size_t k = 0; k < sums; ++k) aggregate.values.push_back(value());
        d.aggregates.push_back(std::move(aggregate));
    }
    return d;
}

TEST("what clusters prove does not get worse when some of them grow") {
    int grown = 0;
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
        const testing::Context context("seed", seed);
        const CompiledModel model = compiled(ring_with_sums(seed));
        Monitor monitor;
        const double optimum = solve_dp(model, monitor).lower - model.constant();
        Relaxation relaxation(model, {}, monitor);
        double budget = 2 * Relaxation::first_work(model);
        for (std::size_t size = 0; size < 12 && relaxation.cluster_count() > 1; ++size) {
            for (int round = 0; round < 8; ++round) relaxation.step(optimum - 1, monitor);
            const double before = relaxation.upper();
            if (relaxation.grow(budget, 2 + size % 4, monitor)) {
                ++grown;
                CHECK(relaxation.upper() <= before);
                CHECK(relaxation.upper() >= optimum - relative(optimum, 1e-12));
                CHECK(relaxation.proven() <= before + relative(before) + relaxation.error());
            }
            budget *= 1.5;
        }
    }
    CHECK(grown > 600);
}

TEST("prices make the bound of a common limit tight") {
    // Every agent may earn once, at a stage of its choice; only one may do so at a time.
    std::vector<Choice> choices{{0, 0, {{0}}}, {0, 1, {{1}}}, {1, 0, {{1}}}};
    Description d = team(8, std::vector(8, agent(2, 2, choices)));
    Aggregate aggregate;
    for (Index i = 0; i < 8; ++i) {
        const Member earns = when(d, i, on_actions({1}));
        d.entries.push_back(entry(3.0, {earns}));
        aggregate.amounts.push_back({earns.agent, earns.condition, 1});
    }
    for (int k = 0; k <= 8; ++k) aggregate.values.push_back(-5.0 * std::max(0, k - 1));
    d.aggregates.push_back(aggregate);
    const CompiledModel model = compiled(d);
    Monitor monitor;
    Relaxation relaxation(model, {}, monitor);
    for (int round = 0; round < 60; ++round) relaxation.step(20.0, monitor);
    CHECK_NEAR(relaxation.upper(), 24.0, 0.3);
    PolicySearch search(model, {}, monitor);
    search.improve(Monitor::kNoEnd, 100);
    CHECK_NEAR(search.value(), 24.0, 1e-9);
}

// Costs that grow with the sum, faster and faster, slower and slower, or by leaps; or gains.
Description with_shape(std::uint64_t seed) {
    Description d = random_team_with_sums(seed);
    std::mt19937_64 random(seed);
    for (Aggregate& aggregate : d.aggregates) {
        const int shape = static_cast<int>(random() % 5);
        const double size = 1 + static_cast<double>(random() % 24) / 4.0;
        for (std::size_t k = 0; k < aggregate.values.size(); ++k) {
            const double x = static_cast<double>(k);
            const double leap = k >= 2 ? 3.0 : 0.0;
            const double worth[] = {-x * x, -std::sqrt(x), -leap, std::sqrt(x), x * x - 2 * leap};
            aggregate.values[k] = size * worth[shape] + 2.5;
        }
    }
    return d;
}

TEST("every step of the reduction keeps the optimum, whatever the shape of aggregates") {
    std::uint64_t eliminated = 0;
    std::uint64_t settled = 0;
    std::uint64_t dropped = 0;
    for (std::uint64_t seed = 0; seed < 600; ++seed) {
        const testing::Context context("seed", seed);
        const CompiledModel model = compiled(with_shape(seed), seed % 3 != 0);
        Monitor monitor;
        const double optimum = solve_dp(model, monitor).lower;
        ReductionOptions options;
        if (seed % 4 == 1) options.shape = false;
        if (seed % 8 == 2) options.merge = false;
        if (seed % 8 == 6) options.settle = options.drop = false;
        const Reduction reduction = reduce(model, options, monitor);
        const double found = solve_dp(reduction.model, monitor).lower + reduction.offset;
        CHECK_NEAR(found, optimum, relative(optimum, model.unit_mass ? 1e-9 : 1e-7));
        eliminated += reduction.report.actions_eliminated;
        settled += reduction.report.actions_settled;
        dropped += reduction.report.interactions_dropped;
    }
    CHECK(eliminated > 100);
    CHECK(settled > 100);
    CHECK(dropped > 10);
}

TEST("an owner's sums are worth the best number of units that it can buy") {
    std::mt19937_64 random(3);
    for (int round = 0; round < 500; ++round) {
        const std::size_t mine = random() % 6;
        const std::size_t others = random() % 7;
        std::vector<double> values;
        for (std::size_t k = 0; k <= mine + others; ++k) {
            values.push_back(static_cast<double>(random() % 41) / 4.0 - 5.0);
        }
        const double price = static_cast<double>(random() % 17) / 4.0 - 2.0;
        std::vector<double> worth(mine + 1);
        std::vector<Index> bought(mine + 1);
        worth_of_sums(values, price, mine, others, worth.data(), bought.data());
        for (std::size_t x = 0; x <= mine; ++x) {
            double best = kNone;
            for (std::size_t z = 0; z <= others; ++z) {
                best = std::max(best, values[x + z] - price * static_cast<double>(z));
            }
            CHECK_NEAR(worth[x], best, 1e-12);
            CHECK(bought[x] <= others);
            CHECK_NEAR(worth[x], values[x + bought[x]] - price * bought[x], 1e-12);
        }
    }
}

}  // namespace
}  // namespace coreplan
