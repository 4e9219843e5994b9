// SPUDD on the model that its users would write: one stationary Markov decision process with a
// clock, in which every joint action is an action of its own.
//
// The variables are the clock and, per agent, those that its local states are written in. All
// local states of the description take part at all times, whether they can be reached or not.
// There are as many sweeps as stages, each over all values of the clock. After them the value of a
// state at any clock is that of the stages left, and the best actions are those of the last sweep.
//
// An agent is given commands. A command stands for actions that no state offers together; a state
// that does not offer any of them at this stage, does what its first available action does. So
// every command is possible everywhere, and no state gets a new way to move or to earn.
#pragma once

#include <span>
#include <vector>

#include "baselines/joint_result.hpp"
#include "model/description.hpp"

namespace coreplan {

// One agent's local states as values of variables, and its actions as commands.
struct FactoredAgent {
    std::vector<Index> sizes;       // per variable: how many values it has
    std::vector<Index> values;      // per local state: a value of each variable; rows differ
    std::vector<Index> command_of;  // per action of the description
    Index command_count = 0;
};

struct SpuddReferenceResult : JointResult {
    Index sweeps = 0;                 // that were completed
    std::uint64_t joint_actions = 0;  // of the flat model
    std::uint64_t backups = 0;        // joint actions times sweeps, as far as it got
    std::uint64_t model_nodes = 0;    // of all laws and rewards, each counted by itself
    std::uint64_t value_nodes = 0;    // of the values of all sweeps, likewise
    std::uint64_t peak_nodes = 0;
    std::uint64_t collections = 0;
    Index variables = 0;  // bits, those of next states not counted
};

// `model` is compiled from `graphs`, and these from `description`, without merging.
// Stopped before the last sweep is complete, the policy is that of single agents.
// `most_table_states`: as in SpuddOptions.
SpuddReferenceResult solve_spudd_reference(const Description& description,
                                           const LocalGraphs& graphs, const CompiledModel& model,
                                           std::span<const FactoredAgent> factored,
                                           double most_table_states, Monitor& monitor);

}  // namespace coreplan
