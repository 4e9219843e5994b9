#include "engine/kernel.hpp"

#include <algorithm>
#include <numeric>

#include "baselines/dp.hpp"
#include "check.hpp"
#include "problems.hpp"

namespace coreplan {
namespace {

using namespace problems;

std::vector<AgentId> everyone(const CompiledModel& model) {
    std::vector<AgentId> all;
    for (std::size_t i = 0; i < model.agents.size(); ++i) all.push_back(as<AgentId>(i));
    return all;
}

double constants(const CompiledModel& model) {
    return std::accumulate(model.constant_at.begin(), model.constant_at.end(), 0.0);
}

TeamSolution solved(const CompiledModel& model, bool policy = true, unsigned threads = 1) {
    Monitor monitor;
    return solve_team(model, everyone(model), {.policy = policy, .threads = threads}, monitor);
}

TEST("the kernel finds the optimum of a team, with and without a policy") {
    for (std::uint64_t seed = 0; seed < 400; ++seed) {
        const testing::Context context("seed", seed);
        const CompiledModel model = compiled(random_team(seed));
        Monitor monitor;
        const DpResult dp = solve_dp(model, monitor);
        const double slack = relative(dp.lower, model.unit_mass ? 1e-9 : 1e-7);
        CHECK_NEAR(solved(model).value + constants(model), dp.lower, slack);
        CHECK_NEAR(solved(model, false).value + constants(model), dp.lower, slack);
    }
}

TEST("the kernel's decisions are as good as those of dp in every joint state") {
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        const testing::Context context("seed", seed);
        const CompiledModel model = compiled(random_team(seed));
        if (!model.unit_mass) continue;
        Monitor monitor;
        DpResult dp = solve_dp(model, monitor);
        const TeamSolution team = solved(model);
        CHECK(team.decisions.size() == dp.state_count);
        int different = 0;
        for (std::uint64_t s = 0; s < dp.state_count; ++s) {
            // Ties may be broken differently; a decision that differs must be rare.
            if (team.decisions[s] + 1 != dp.actions[s]) ++different;
        }
        CHECK(different * 2 <= static_cast<int>(dp.state_count) + 1);
    }
}

TEST("the order of the agents does not change the value") {
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
        const testing::Context context("seed", seed);
        const CompiledModel model = compiled(random_team(seed));
        std::vector<AgentId> order = everyone(model);
        std::ranges::reverse(order);
        Monitor monitor;
        const double reversed = solve_team(model, order, {.policy = false}, monitor).value;
        CHECK_NEAR(reversed, solved(model).value, relative(reversed));
    }
}

TEST("a team that does not fit is refused before memory is taken") {
    const CompiledModel model = compiled(random_team(1));
    Monitor monitor(Monitor::kNoLimit, 10);
    CHECK_THROWS(LimitReached, solve_team(model, everyone(model), {.policy = true}, monitor));
}

}  // namespace
}  // namespace coreplan
