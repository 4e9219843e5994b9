// Value iteration on algebraic decision diagrams, after SPUDD: the value of a stage is one diagram
// over the bits of the agents' local states.
//
// The local states of an agent at a stage (classes of the compiled model) are numbered in as many
// bits as needed. Numbers that stand for no state share the diagram of those that do (see
// Diagrams::table), so every number has the value of a state, and no maximum is disturbed; the same
// holds for numbers of actions. Agents move independently: the expectation is taken one agent at a
// time. Rewards are sums of small diagrams of the agents' own rewards and of products of factors.
#pragma once

#include <cstdint>

#include "baselines/joint_result.hpp"

namespace coreplan {

enum class VariableOrder {
    grouped,      // all bits of the first agent, then all of the second, ...
    interleaved,  // the first bits of all agents, then their second ones, ...
};

enum class ActionMode {
    diagram,    // actions are variables too, and maximised out
    enumerate,  // one diagram per joint action
};

struct SpuddOptions {
    VariableOrder order = VariableOrder::grouped;
    ActionMode actions = ActionMode::diagram;
    // Up to here, the policy is written down for all joint states, stage by stage; beyond, for
    // those that it gets into, once all stages are solved.
    double most_table_states = 67108864.0;
};

struct SpuddResult : JointResult {
    Index iterations = 0;           // stages whose value is known
    std::uint64_t value_nodes = 0;  // of the values of these stages, each counted by itself
    std::uint64_t peak_nodes = 0;   // the most at a time, those that wait for collection included
    std::uint64_t collections = 0;
};

SpuddResult solve_spudd(const CompiledModel& model, const SpuddOptions& options, Monitor& monitor);

}  // namespace coreplan
