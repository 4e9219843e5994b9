// Makes a compiled model smaller without changing its optimum: shaping, then shrinking each agent
// until nothing changes. The result is a compiled model again, with the way back.
#pragma once

#include <cstdint>
#include <vector>

#include "model/compiled_model.hpp"

namespace coreplan {

// Each step can be switched off, to see what it gains.
struct ReductionOptions {
    bool shape = true;      // own rewards become losses against the agent's best alone
    bool drop = true;       // interactions that can no longer happen
    bool settle = true;     // an agent with nothing left to interact does what is best alone
    bool eliminate = true;  // actions that a robust policy makes unnecessary
    bool merge = true;      // states that have become equal
};

struct ReductionReport {
    std::uint64_t rounds = 0;
    std::uint64_t actions_settled = 0;
    std::uint64_t actions_eliminated = 0;
    std::uint64_t interactions_dropped = 0;  // (interaction, stage) pairs
    std::uint64_t classes_before = 0;
    std::uint64_t classes_after = 0;
    double joint_before = 0;  // joint states, as if all agents were one team
    double joint_after = 0;
};

struct Reduction {
    CompiledModel model;  // maximise as before; with `shape`, own rewards are minus losses
    double offset = 0;    // value of the original = offset + value of `model`
    std::vector<double> offset_of;  // each agent's share of it
    double error = 0;               // how far that can be off: losses that were taken as equal
    // Per agent and class of the original: its class in `model`, or kGone; and per action of that
    // class, the position of the original action.
    static constexpr Index kGone = 0xffff'ffffU;
    std::vector<std::vector<Index>> class_of;
    std::vector<std::vector<Index>> action_begin;
    std::vector<std::vector<Index>> action_of;
    ReductionReport report;
};

Reduction reduce(const CompiledModel& model, const ReductionOptions& options, Monitor& monitor);

}  // namespace coreplan
