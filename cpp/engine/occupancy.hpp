// What a team's best policy does, and how often: the chances of actions and of pairs of after-states.
#pragma once

#include <vector>

#include "engine/kernel.hpp"

namespace coreplan {

// Sums of chances, sparse, in increasing order of position.
struct Chances {
    std::vector<Index> at;
    std::vector<double> chance;
};

struct Occupancy {
    std::vector<Chances> actions;  // per agent of the team: by the model's number of the action
    std::vector<Chances> pairs;    // per pair of the team: by position in the block
    std::uint64_t states = 0;      // joint states that can be reached
};

// Reusable tables.
struct OccupancyBuffers {
    std::vector<double> mass;
    std::vector<std::uint64_t> now;
    std::vector<std::uint64_t> next;
    std::vector<double> chance;
    std::vector<std::vector<double>> actions;
    std::vector<std::vector<double>> pairs;
};

// Follows the best joint actions from the root, found by looking one step ahead: `solution` has the
// values of all layers. False if a limit struck.
bool follow(const CompiledModel& model, const Team& team, const TeamSolution& solution,
            Occupancy& occupancy, OccupancyBuffers& buffers, Monitor& monitor);

}  // namespace coreplan
