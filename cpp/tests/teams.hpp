// Teams too large to enumerate, and a plain way to evaluate policies of clusters.
#pragma once

#include <cstdint>

#include "model/compiled_model.hpp"
#include "policies/team_policy.hpp"

namespace coreplan::teams {

// Agents in a ring that interact with the next one or two, with costs and gains, some of three.
// With a sum, those who work share a limit; work that has just begun counts twice for some.
CompiledModel ring(Index agents, Index horizon, std::uint64_t seed, bool with_sum = false);

// What a policy is worth, its clusters being followed from the root one joint state at a time, by
// maps. Constants are not counted.
double worth(const CompiledModel& model, const TeamPolicy& policy);

}  // namespace coreplan::teams
