#include "engine/occupancy.hpp"

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
        Monitor monitor;
        const PreparedTeam prepared(model, model.everyone(), monitor);
        const Team& team = prepared.team();
        const TeamSolution solution = prepared.solve({.policy = false, .values = true}, monitor);
        Occupancy occupancy;
        OccupancyBuffers forward;
        CHECK(follow(model, team, solution, occupancy, forward, monitor));
        double earned = 0;
        for (std::size_t i = 0; i < team.agents.size(); ++i) {
            double acted = 0;
            for (std::size_t k = 0; k < occupancy.actions[i].at.size(); ++k) {
                earned +=
                    occupancy.actions[i].chance[k] * team.rewards[i][occupancy.actions[i].at[k]];
                acted += occupancy.actions[i].chance[k];
            }
            CHECK_NEAR(acted, model.layer_count(), 1e-9);  // one action per stage
        }
        for (std::size_t p = 0; p < team.pairs.size(); ++p) {
            for (std::size_t k = 0; k < occupancy.pairs[p].at.size(); ++k) {
                earned +=
                    occupancy.pairs[p].chance[k] * team.pairs[p].value[occupancy.pairs[p].at[k]];
            }
        }
        // Wide interactions are not listed; without them the sum is the value.
        if (team.wide.empty()) CHECK_NEAR(earned, solution.value, relative(solution.value));
    }
}

}  // namespace
}  // namespace coreplan
