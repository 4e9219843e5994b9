// The tensor kernel: exact backward induction of a small team on dense tables.
//
// The law of outcomes is a product over agents, and so is the set of joint actions. So neither is
// enumerated: expectation and maximisation are done one agent at a time. For an after-state f of the
// first agent, the table of the others' next states is averaged over f's outcomes; the rest of the
// team is solved on that smaller table, in the same way; then the first agent maximises over its
// actions. The working set of the inner agents stays in the cache.
#pragma once

#include <cstdint>
#include <vector>

#include "model/compiled_model.hpp"

namespace coreplan {

struct KernelOptions {
    bool policy = true;      // whether to keep the best joint action of every joint state
    unsigned threads = 1;
};

// A team that is solved. Joint states and actions are numbered with the team's first agent as the
// most significant digit, as in JointLayout.
struct TeamSolution {
    Stop stop = Stop::none;
    double value = 0;  // at the root; constants are not counted
    std::vector<AgentId> agents;
    std::vector<std::uint64_t> layer_begin;  // per layer before the horizon, and the end
    std::vector<std::uint32_t> decisions;    // per joint state: number of the best joint action
    std::uint64_t cells = 0;                 // of dense tables computed
};

// The memory that solving a team takes, in bytes; infinite if joint actions cannot be numbered.
double kernel_bytes(const CompiledModel& model, const std::vector<AgentId>& agents, bool policy);

// Solves a team by itself: interactions with agents outside of it are ignored. Throws if a limit
// strikes (see Monitor).
TeamSolution solve_team(const CompiledModel& model, const std::vector<AgentId>& agents,
                        const KernelOptions& options, Monitor& monitor);

}  // namespace coreplan
