// What a team's best policy does, and how often: the chances of actions and of pairs of
// after-states.
#pragma once

#include <functional>
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
    // Per sum of the team: by layer of its aggregate, `width` of them each, and sum.
    std::vector<Chances> sums;
    std::uint64_t states = 0;  // joint states that can be reached
};

// A joint state that the best joint actions lead to. Numbers of actions and after-states are the
// model's, those of states count within the layer.
struct Visit {
    Index layer;
    double chance;
    const std::vector<Index>& states;
    const std::vector<Index>& actions;
    const std::vector<Index>& afters;
};

// Reusable tables.
struct WalkBuffers {
    std::vector<double> mass;
    std::vector<std::uint64_t> now;
    std::vector<std::uint64_t> next;
    std::vector<double> chance;
};

// Goes from the root wherever the best joint actions lead, found by looking one step ahead:
// `solution` has the values of all layers. Layers come one after the other, the joint states of one
// in order. False if a limit struck, or `visit` was false.
bool walk(const CompiledModel& model, const Team& team, const TeamSolution& solution,
          WalkBuffers& buffers, Monitor& monitor, const std::function<bool(const Visit&)>& visit);

struct OccupancyBuffers {
    WalkBuffers walk;
    std::vector<std::vector<double>> actions;
    std::vector<std::vector<double>> pairs;
    std::vector<std::vector<double>> sums;
};

// Counts what is done on that walk. False if a limit struck.
bool follow(const CompiledModel& model, const Team& team, const TeamSolution& solution,
            Occupancy& occupancy, OccupancyBuffers& buffers, Monitor& monitor);

}  // namespace coreplan
