// A compiled model from plain arrays, as they are stored in files.
#pragma once

#include <utility>
#include <vector>

#include "model/compiled_model.hpp"

namespace coreplan {

// One agent, as in `CompiledAgent`, but with a row of factors for every after-state.
struct AgentArrays {
    std::vector<Index> layer_begin;
    std::vector<Index> action_begin;
    std::vector<double> action_reward;
    std::vector<Index> action_after;
    std::vector<Index> after_layer_begin;
    std::vector<Index> outcome_begin;
    std::vector<Index> outcome_next;
    std::vector<double> outcome_probability;
    std::vector<Index> factor_begin;
    std::vector<Index> factor_signal;
    std::vector<double> factor_chance;
};

// Members as (agent, signal), and values as (stage, value).
struct InteractionArrays {
    std::vector<std::pair<Index, Index>> members;
    std::vector<std::pair<Index, double>> values;
};

// A model that can be followed, but has no way back to a description. Throws std::invalid_argument
// unless the arrays fit together: every class but those of the last layer has actions, and all
// that these lead to is in the next layer.
CompiledModel model_of_arrays(Index first_stage, Index horizon, std::vector<AgentArrays> agents,
                              const std::vector<InteractionArrays>& interactions);

}  // namespace coreplan
