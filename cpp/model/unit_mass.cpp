#include "model/unit_mass.hpp"

#include <algorithm>
#include <cmath>

namespace coreplan {

void make_unit_mass(CompiledModel& model) {
    if (model.unit_mass) return;
    for (CompiledAgent& agent : model.agents) {
        // After-states with one label may have different masses: a label for each.
        std::vector<Index> begin(1, 0);
        std::vector<Factor> factors;
        for (std::size_t after = 0; after < agent.after_label.size(); ++after) {
            const double mass = agent.after_mass[after];
            const std::size_t label = at(agent.after_label[after]);
            for (Index f = agent.label_begin[label]; f < agent.label_begin[label + 1]; ++f) {
                const Factor& factor = agent.label_factor[f];
                factors.push_back({factor.signal, std::min(1.0, factor.chance / mass)});
            }
            begin.push_back(static_cast<Index>(factors.size()));
            agent.after_label[after] = as<LabelId>(after);
            for (Index o = agent.outcome_begin[after]; o < agent.outcome_begin[after + 1]; ++o) {
                agent.outcome_probability[o] /= mass;
            }
        }
        agent.label_begin = std::move(begin);
        agent.label_factor = std::move(factors);
        for (std::size_t a = 0; a < agent.action_reward.size(); ++a) {
            agent.action_reward[a] /= agent.after_mass[at(agent.action_after[a])];
        }
        std::ranges::fill(agent.after_mass, 1.0);
    }
    model.unit_mass = true;
}

double mass_error(const CompiledModel& model) {
    if (model.unit_mass) return 0;
    // The chance of a history changes by a factor of at most (1 + d) for each agent and stage, d
    // being the largest deviation of the agent's laws at that stage; the reward of a stage counts
    // with the chance of the history up to its end.
    double error = 0;
    double growth = 0;  // the logarithm of all factors so far
    for (Index layer = 0; layer < model.layer_count(); ++layer) {
        double size = std::abs(model.constant_at[layer]);
        for (const double value : model.values_at[layer]) size += std::abs(value);
        for (const Index e : model.aggregates_at[layer])
            size += size_of(model.aggregates[e], layer);
        for (const CompiledAgent& agent : model.agents) {
            double deviation = 0;
            for (Index after = agent.after_layer_begin[layer];
                 after < agent.after_layer_begin[layer + 1]; ++after) {
                deviation = std::max(deviation, std::abs(agent.after_mass[after] - 1));
            }
            growth += std::log1p(deviation);
            double most = 0;
            for (Index a = agent.action_begin[agent.layer_begin[layer]];
                 a < agent.action_begin[agent.layer_begin[layer + 1]]; ++a) {
                most = std::max(most, std::abs(agent.action_reward[a]));
            }
            size +=
                most * (1 + 2 * deviation);  // what is written is a little less than what counts
        }
        error += std::expm1(growth) * size;
    }
    return error;
}

}  // namespace coreplan
