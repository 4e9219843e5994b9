#include "bounds/rounding.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "check.hpp"
#include "engine/relaxation.hpp"
#include "problems.hpp"
#include "search/group_search.hpp"
#include "teams.hpp"

namespace coreplan {
namespace {

using namespace problems;

TEST("a careful sum sees what rounding hides") {
    CarefulSum sum;
    for (const double term : {1e16, 1.0, -1e16}) sum.add(term);
    CHECK(sum.value() == 1.0);
    CHECK(!sum.at_most_zero());
    sum.add(-1.0);
    CHECK(sum.value() == 0.0);
    CHECK(CarefulSum{}.at_most_zero());
}

TEST("what is certainly not above zero is not") {
    std::mt19937_64 random(1);
    std::uniform_real_distribution<double> unit(-1, 1);
    int certain = 0;
    for (int k = 0; k < 10'000; ++k) {
        // Numbers whose exact sum is known: multiples of 2^-40 in a range that long double holds.
        CarefulSum sum;
        long double exact = 0;
        double total = 0;
        for (int term = 0; term < 5; ++term) {
            const double each = term < 4 ? unit(random) * std::exp2(random() % 30) : -total;
            sum.add(each);
            exact += each;
            total += each;
        }
        if (!sum.at_most_zero()) continue;
        ++certain;
        CHECK(exact <= 0);
    }
    CHECK(certain > 1000);
}

TEST("shares are rounded up in a few steps, however small the last one is") {
    std::mt19937_64 random(2);
    std::uniform_real_distribution<double> unit(-1, 1);
    // Multiples of 2^-61: their sums are exact in a long double.
    const auto draw = [&](double size) {
        return std::round(size * unit(random) * 0x1p61) * 0x1p-61;
    };
    for (int k = 0; k < 10'000; ++k) {
        const double total = draw(1);
        std::vector<double> others;
        long double missing = total;
        for (const double size : {0x1p-3, 0x1p-7, 0x1p-10, 0.5}) {
            others.push_back(draw(size));
            missing -= others.back();
        }
        // The last share is right up to rounding; or another one is, and the last one far smaller.
        const int kind = k % 3;
        double last = static_cast<double>(missing);
        if (kind > 0) {
            last = kind == 1 ? 3e-31 : 0;
            others[0] += static_cast<double>(missing);
        }
        const double before = last;
        std::size_t asked = 0;
        const auto share = [&](std::size_t x) {
            ++asked;
            return others[x];
        };
        round_up_last(total, others.size(), share, last);
        missing = total;
        for (const double each : others) missing -= each;
        CHECK(missing <= last);
        CHECK(last - before <= 1e-15);
        CHECK(asked <= 4 * others.size());
    }
}

// Costs of a ring's interactions become so many times as large; good policies avoid them.
CompiledModel with_large_costs(CompiledModel model, double factor) {
    const auto enlarge = [factor](double& value) {
        if (value < 0) value *= factor;
    };
    for (CompiledInteraction& interaction : model.interactions) {
        for (auto& [stage, value] : interaction.values) enlarge(value);
    }
    for (auto& layer : model.values_at) std::ranges::for_each(layer, enlarge);
    return model;
}

TEST("costs that good policies avoid do not widen a relaxation's bound") {
    for (std::uint64_t seed = 0; seed < 6; ++seed) {
        const testing::Context context("ring", seed);
        const CompiledModel model = with_large_costs(teams::ring(6, 5, seed), 1e8);
        Monitor monitor;
        Relaxation relaxation(model, {}, monitor);
        for (int round = 0; round < 20; ++round) {
            relaxation.step(-std::numeric_limits<double>::infinity(), monitor);
        }
        const double size = std::max(1.0, std::abs(relaxation.upper()));
        CHECK(relaxation.error() <= 1e-9 * size);
    }
}

TEST("shares never add up to less than what is shared") {
    for (std::uint64_t seed = 0; seed < 6; ++seed) {
        const testing::Context context("ring", seed);
        const CompiledModel model = with_large_costs(teams::ring(6, 5, seed), 1e6);
        Monitor monitor;
        Relaxation relaxation(model, {}, monitor);
        for (int round = 0; round < 10; ++round) {
            relaxation.step(-std::numeric_limits<double>::infinity(), monitor);
        }
        std::vector<std::vector<CarefulSum>> sums(model.agents.size());
        for (std::size_t i = 0; i < sums.size(); ++i) {
            for (const double reward : model.agents[i].action_reward) {
                sums[i].emplace_back().add(reward);
            }
        }
        for (std::size_t c = 0; c < relaxation.cluster_count(); ++c) {
            for (std::size_t m = 0; m < relaxation.agents_of(c).size(); ++m) {
                const auto share = relaxation.share_of_agent(c, m);
                auto& mine = sums[at(relaxation.agents_of(c)[m])];
                for (std::size_t k = 0; k < share.size(); ++k) mine[k].add(-share[k]);
            }
        }
        for (const auto& agent : sums) {
            for (const CarefulSum& sum : agent) CHECK(sum.at_most_zero());
        }
    }
}

TEST("a search has nothing left to do, however large costs are") {
    for (std::uint64_t seed = 0; seed < 6; ++seed) {
        const testing::Context context("ring", seed);
        for (const double factor : {1.0, 1e4, 1e9}) {
            const testing::Context times("factor", factor);
            const CompiledModel model = with_large_costs(teams::ring(6, 5, seed), factor);
            Monitor monitor;
            const double optimum =
                solve_team(model, model.everyone(), {.policy = false}, monitor).value;
            Relaxation relaxation(model, {}, monitor);
            std::vector<LocalPolicy> policies{independent_bounds(model, monitor).policy};
            GroupSearch search(model, relaxation, policies, {.tables = false}, monitor);
            while (!search.run(1'000'000'000, 0.0, monitor)) {
            }
            CHECK(search.open() == 0.0);
            CHECK(search.upper() >= optimum);
            CHECK_NEAR(search.lower(), optimum, relative(optimum, 1e-9));
            CHECK_NEAR(search.upper(), optimum, relative(optimum, 1e-6));
        }
    }
}

}  // namespace
}  // namespace coreplan
