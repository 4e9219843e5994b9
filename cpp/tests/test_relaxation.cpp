#include "engine/relaxation.hpp"

#include <cmath>
#include <limits>

#include "baselines/dp.hpp"
#include "check.hpp"
#include "problems.hpp"

namespace coreplan {
namespace {

using namespace problems;

constexpr double kNone = -std::numeric_limits<double>::infinity();

struct Case {
    CompiledModel model;
    double optimum = 0;  // without constants
};

Case random_case(std::uint64_t seed) {
    Case made{compiled(any_team(seed)), 0};
    Monitor monitor;
    made.optimum = solve_dp(made.model, monitor).lower - made.model.constant();
    return made;
}

TEST("a relaxation is never below the optimum, and its bound never gets worse") {
    int tight = 0;
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
        const testing::Context context("seed", seed);
        const Case each = random_case(seed);
        Monitor monitor;
        Relaxation relaxation(each.model, {}, monitor);
        double before = relaxation.upper();
        CHECK(before >= each.optimum - relative(each.optimum, 1e-12));
        for (int round = 0; round < 25; ++round) {
            relaxation.step(each.optimum - 1, monitor);
            CHECK(relaxation.upper() <= before);
            before = relaxation.upper();
            CHECK(before >= each.optimum - relative(each.optimum, 1e-12));
        }
        if (before <= each.optimum + relative(each.optimum, 1e-6)) ++tight;
    }
    CHECK(tight > 200);  // mostly two and three agents
}

TEST("larger clusters do not make the bound worse; one for all is exact") {
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        const testing::Context context("seed", seed);
        const Case each = random_case(seed);
        Monitor monitor;
        Relaxation relaxation(each.model, {}, monitor);
        for (std::size_t size = 0; size < 8; ++size) {
            for (int round = 0; round < 4; ++round) relaxation.step(kNone, monitor);
            const double before = relaxation.upper();
            if (!relaxation.grow(seed % 2 == 0 ? 1e18 : 3e4, 2 + size, monitor)) break;
            CHECK(relaxation.upper() <= before);
            CHECK(relaxation.proven() <= before + relative(before) + relaxation.error());
            CHECK(relaxation.upper() >= each.optimum - relative(each.optimum, 1e-12));
        }
        if (relaxation.cluster_count() == 1) {
            CHECK_NEAR(relaxation.upper(), each.optimum,
                       relative(each.optimum) + 2 * relaxation.error());
        }
    }
}

TEST("the bound does not depend on the number of threads") {
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
        const testing::Context context("seed", seed);
        const Case each = random_case(seed);
        std::vector<double> bounds;
        for (const unsigned threads : {1U, 2U, 4U}) {
            Monitor monitor;
            Relaxation relaxation(each.model, {.threads = threads}, monitor);
            for (int round = 0; round < 6; ++round) relaxation.step(kNone, monitor);
            bounds.push_back(relaxation.upper());
        }
        CHECK(bounds[0] == bounds[1]);
        CHECK(bounds[0] == bounds[2]);
    }
}

TEST("shares of a relaxation add up to what is shared") {
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
        const testing::Context context("seed", seed);
        const Case each = random_case(seed);
        Monitor monitor;
        Relaxation relaxation(each.model, {}, monitor);
        for (int round = 0; round < 5; ++round) relaxation.step(kNone, monitor);
        std::vector<std::vector<double>> sum(each.model.agents.size());
        for (std::size_t c = 0; c < relaxation.cluster_count(); ++c) {
            for (std::size_t m = 0; m < relaxation.agents_of(c).size(); ++m) {
                const auto share = relaxation.share_of_agent(c, m);
                auto& mine = sum[at(relaxation.agents_of(c)[m])];
                mine.resize(share.size(), 0.0);
                for (std::size_t k = 0; k < share.size(); ++k) mine[k] += share[k];
            }
        }
        for (std::size_t i = 0; i < sum.size(); ++i) {
            for (std::size_t k = 0; k < sum[i].size(); ++k) {
                CHECK_NEAR(sum[i][k], each.model.agents[i].action_reward[k], 1e-9);
            }
        }
    }
}

TEST("what does not fit into memory is bounded coarsely, and still bounded") {
    int coarse = 0;
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
        const testing::Context context("seed", seed);
        const Case each = random_case(seed);
        for (const double limit : {3e3, 4e3, 6e3, 8e3, 10e3, 12e3, 16e3}) {
            Monitor monitor(Monitor::kNoLimit, limit);
            try {
                const Relaxation relaxation(each.model, {}, monitor);
                CHECK(relaxation.upper() >= each.optimum - relative(each.optimum, 1e-12));
                if (relaxation.coarse() > 0) ++coarse;
            } catch (const LimitReached&) {
                continue;  // not even agents alone
            }
        }
    }
    CHECK(coarse > 10);
}

}  // namespace
}  // namespace coreplan
