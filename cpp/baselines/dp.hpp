// Plain dynamic programming, the paper's baseline: depth-first maximisation of the Bellman equation
// over joint states, with memory of visited joint states and no decoupling between agents.
#pragma once

#include <cstdint>

#include "baselines/joint_result.hpp"

namespace coreplan {

struct DpResult : JointResult {
    std::uint64_t states_expanded = 0;
    std::uint64_t actions_evaluated = 0;
};

DpResult solve_dp(const CompiledModel& model, Monitor& monitor);

}  // namespace coreplan
