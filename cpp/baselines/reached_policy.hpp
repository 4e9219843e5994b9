// The policy of a team with too many joint states for a table: what it does in those that it gets
// into.
#pragma once

#include <functional>
#include <vector>

#include "baselines/joint_result.hpp"

namespace coreplan {

// Sets `actions` to what each agent does, as positions among the actions of its class, in a joint
// state given by the classes within the layer. Called layer by layer.
using ChooseJointly = std::function<void(Index layer, const std::vector<Index>& classes,
                                         std::vector<Index>& actions)>;

// Follows the policy from the first layer on, and sets `numbers`, `actions` and `state_count`.
void write_reached_policy(const CompiledModel& model, const JointLayout& layout,
                          const ChooseJointly& choose, Monitor& monitor, JointResult& result);

// 1 + the number of a joint action of a joint state, with the last agent's changing fastest.
std::uint32_t joint_action_number(const CompiledModel& model, Index layer,
                                  const std::vector<Index>& classes,
                                  const std::vector<Index>& actions);

}  // namespace coreplan
