#include "policies/exact_answer.hpp"

#include <numeric>

#include "baselines/dp.hpp"
#include "check.hpp"
#include "problems.hpp"
#include "teams.hpp"

namespace coreplan {
namespace {

using namespace problems;

TEST("an exact answer is optimal, and its table says what to do") {
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        const testing::Context context("seed", seed);
        const CompiledModel model = compiled(any_team(seed));
        if (!model.unit_mass) continue;
        Monitor monitor;
        const auto answer = answer_exactly(model, 1'000'000, 1, monitor);
        CHECK(answer.has_value());
        TeamPolicy policy;
        for (const CompiledAgent& agent : model.agents) {
            policy.otherwise.action.emplace_back(agent.class_count(), 0);
        }
        Cluster& cluster = policy.clusters.emplace_back();
        cluster.agents = model.everyone();
        cluster.table = answer->table;
        const double optimum = solve_dp(model, monitor).lower - model.constant();
        CHECK_NEAR(teams::worth(model, policy), optimum, relative(optimum));
        for (std::size_t l = 0; l < model.layer_count(); ++l) {
            const auto& reach = answer->layers[l].reach;
            CHECK_NEAR(std::accumulate(reach.begin(), reach.end(), 0.0), 1.0, 1e-9);
        }
    }
}

TEST("there is no exact answer where it would lead too far") {
    const CompiledModel model = compiled(crowd(2, 20, 6));
    Monitor monitor;
    CHECK(answer_exactly(model, 1'000'000, 1, monitor).has_value());
    CHECK(!answer_exactly(model, 10, 1, monitor).has_value());
    Monitor small(Monitor::kNoLimit, 100);
    CHECK(!answer_exactly(model, 1'000'000, 1, small).has_value());
    CHECK(!answer_exactly(compiled(crowd(4, 60, 6)), 1'000'000, 1, monitor).has_value());
}

}  // namespace
}  // namespace coreplan
