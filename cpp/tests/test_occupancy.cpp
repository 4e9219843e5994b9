#include "engine/occupancy.hpp"

#include <numeric>

#include "check.hpp"
#include "problems.hpp"

namespace coreplan {
namespace {

using namespace problems;

TEST("what the best policy does is worth its value") {
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
        const testing::Context context("seed", seed);
        const CompiledModel model = compiled(random_team(seed));
        if (!model.unit_mass) continue;
        Team team;
        std::vector<AgentModes> modes;
        for (std::size_t i = 0; i < model.agents.size(); ++i) {
            team.agents.push_back(as<AgentId>(i));
            modes.push_back(make_modes(model, as<AgentId>(i)));
        }
        for (std::size_t i = 0; i < model.agents.size(); ++i) {
            team.modes.push_back(&modes[i]);
            team.rewards.push_back(model.agents[i].action_reward.data());
        }
        const auto blocks = make_pair_blocks(model, team.agents);
        for (const PairBlock& block : blocks) {
            team.pairs.push_back({at(block.first), at(block.second), &block, block.value.data()});
        }
        team.wide = wide_interactions(model, team.agents);
        Monitor monitor;
        TeamSolution solution;
        KernelBuffers buffers;
        solve_team(model, team, {.policy = false, .values = true}, solution, buffers, monitor);
        Occupancy occupancy;
        OccupancyBuffers forward;
        CHECK(follow(model, team, solution, occupancy, forward, monitor));
        double earned = 0;
        for (std::size_t i = 0; i < team.agents.size(); ++i) {
            double acted = 0;
            for (std::size_t k = 0; k < occupancy.actions[i].at.size(); ++k) {
                earned += occupancy.actions[i].chance[k] * team.rewards[i][occupancy.actions[i].at[k]];
                acted += occupancy.actions[i].chance[k];
            }
            CHECK_NEAR(acted, model.layer_count(), 1e-9);  // one action per stage
        }
        for (std::size_t p = 0; p < team.pairs.size(); ++p) {
            for (std::size_t k = 0; k < occupancy.pairs[p].at.size(); ++k) {
                earned += occupancy.pairs[p].chance[k] * team.pairs[p].value[occupancy.pairs[p].at[k]];
            }
        }
        // Wide interactions are not listed; without them the sum is the value.
        if (team.wide.empty()) CHECK_NEAR(earned, solution.value, relative(solution.value));
    }
}

}  // namespace
}  // namespace coreplan
