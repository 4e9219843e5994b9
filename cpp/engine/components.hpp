// Teams that never interact are separate problems.
#pragma once

#include <vector>

#include "model/compiled_model.hpp"

namespace coreplan {

// The agents that are linked by interactions or aggregates, directly or through others. Groups
// come in the order of their first agents.
std::vector<std::vector<AgentId>> components(const CompiledModel& model);

// The model of some agents only, in the given order, with the interactions and
// aggregates among them.
CompiledModel restrict_to(const CompiledModel& model, const std::vector<AgentId>& agents);

}  // namespace coreplan
