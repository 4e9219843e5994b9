// The best that a small team can do, by the tensor kernel, and what it then does where.
#pragma once

#include <optional>
#include <vector>

#include "policies/rollout.hpp"
#include "policies/team_policy.hpp"

namespace coreplan {

struct ExactAnswer {
    JointTable table;                  // of all joint states that are reached
    std::vector<RolloutLayer> layers;  // states, how likely they are, and actions
};

// Joint states of all layers that are worth an exact answer.
constexpr double kExactCells = 2e7;

// Nothing if the team is too large, its tables do not fit, or it gets to more than `most_states`
// joint states; throws if a limit strikes.
std::optional<ExactAnswer> answer_exactly(const CompiledModel& model, std::size_t most_states,
                                          unsigned threads, Monitor& monitor);

}  // namespace coreplan
