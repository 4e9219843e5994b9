// Plain dynamic programming, the paper's baseline: depth-first maximisation of the Bellman equation
// over joint states, with memory of visited joint states and no decoupling between agents.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>

#include "bounds/independent.hpp"
#include "model/compiled_model.hpp"
#include "model/joint_layout.hpp"

namespace coreplan {

struct FreeDeleter {
    void operator()(void* memory) const noexcept { std::free(memory); }
};
template <class T>
using CArray = std::unique_ptr<T[], FreeDeleter>;

struct DpResult {
    Stop stop = Stop::none;  // none: solved to the end
    std::string message;     // why it stopped, where there is more to say
    double lower = 0;        // the value of the policy in hand
    double upper = 0;
    std::uint64_t states_expanded = 0;
    std::uint64_t actions_evaluated = 0;

    // Where nothing better is known, every agent does what is best for itself alone.
    LocalPolicy fallback;
    // Per joint state (see JointLayout): 1 + the best joint action, 0 where not known. Null if the
    // policy in hand is the fallback everywhere.
    CArray<std::uint32_t> actions;
    CArray<double> values;  // of the joint states, if solved to the end; else null
    std::uint64_t state_count = 0;
};

DpResult solve_dp(const CompiledModel& model, Monitor& monitor);

}  // namespace coreplan
