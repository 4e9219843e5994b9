#include "model/model_arrays.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <span>
#include <stdexcept>

namespace coreplan {

namespace {

constexpr Index kMostSignals = 1U << 20U;  // of an agent; tables have a place for each

void require(bool holds, const char* what) {
    if (!holds) throw std::invalid_argument(what);
}

// Rows of so many items: begins at 0, ascends, ends with their number.
void check_rows(const std::vector<Index>& begin, std::size_t rows, std::size_t items) {
    require(begin.size() == rows + 1 && begin.front() == 0 && begin.back() == items &&
                std::ranges::is_sorted(begin),
            "the rows of a model are not in ascending order");
}

void check_finite(const std::vector<double>& values) {
    require(std::ranges::all_of(values, [](double each) { return std::isfinite(each); }),
            "a model has numbers that are not finite");
}

CompiledAgent agent_of_arrays(std::size_t layers, AgentArrays given) {
    CompiledAgent agent;
    require(given.layer_begin.size() == layers + 2, "a model has another number of stages");
    const std::size_t classes = given.layer_begin.back();
    const std::size_t actions = given.action_reward.size();
    require(!given.outcome_begin.empty(), "an agent of a model has no after-states");
    const std::size_t afters = given.outcome_begin.size() - 1;
    check_rows(given.layer_begin, layers + 1, classes);
    check_rows(given.action_begin, classes, actions);
    check_rows(given.outcome_begin, afters, given.outcome_next.size());
    check_rows(given.factor_begin, afters, given.factor_signal.size());
    require(given.after_layer_begin.size() >= layers + 1 && given.after_layer_begin.front() == 0 &&
                given.after_layer_begin[layers] == afters &&
                std::ranges::is_sorted(given.after_layer_begin) &&
                given.after_layer_begin.back() == afters,
            "the after-states of a model are not in ascending order");
    require(given.action_after.size() == actions &&
                given.outcome_probability.size() == given.outcome_next.size() &&
                given.factor_chance.size() == given.factor_signal.size(),
            "arrays of a model have different lengths");
    check_finite(given.action_reward);
    check_finite(given.outcome_probability);
    check_finite(given.factor_chance);
    for (std::size_t layer = 0; layer < layers; ++layer) {
        require(given.layer_begin[layer] < given.layer_begin[layer + 1],
                "an agent of a model has a stage without states");
        for (Index c = given.layer_begin[layer]; c < given.layer_begin[layer + 1]; ++c) {
            require(given.action_begin[c] < given.action_begin[c + 1],
                    "a state of a model has no actions");
            for (Index a = given.action_begin[c]; a < given.action_begin[c + 1]; ++a) {
                require(given.action_after[a] >= given.after_layer_begin[layer] &&
                            given.action_after[a] < given.after_layer_begin[layer + 1],
                        "an action of a model leads nowhere");
            }
        }
        for (Index k = given.after_layer_begin[layer]; k < given.after_layer_begin[layer + 1];
             ++k) {
            double mass = 0;
            for (Index o = given.outcome_begin[k]; o < given.outcome_begin[k + 1]; ++o) {
                require(given.outcome_next[o] >= given.layer_begin[layer + 1] &&
                            given.outcome_next[o] < given.layer_begin[layer + 2],
                        "an outcome of a model is not in the next stage");
                require(given.outcome_probability[o] >= 0, "a model has a negative probability");
                mass += given.outcome_probability[o];
            }
            require(std::abs(mass - 1) < 1e-6, "probabilities of a model do not sum to 1");
            agent.after_mass.push_back(mass);
        }
    }
    require(given.action_begin[given.layer_begin[layers]] == actions,
            "a model has actions at the horizon");
    agent.layer_begin = std::move(given.layer_begin);
    agent.action_begin = std::move(given.action_begin);
    agent.action_reward = std::move(given.action_reward);
    for (const Index after : given.action_after) agent.action_after.push_back(AfterId{after});
    agent.after_layer_begin = std::move(given.after_layer_begin);
    agent.outcome_begin = std::move(given.outcome_begin);
    for (const Index next : given.outcome_next) agent.outcome_next.push_back(ClassId{next});
    agent.outcome_probability = std::move(given.outcome_probability);
    // Equal rows of factors are one label.
    std::map<std::vector<std::pair<Index, double>>, Index> labels;
    agent.label_begin.push_back(0);
    for (std::size_t k = 0; k < afters; ++k) {
        std::vector<std::pair<Index, double>> row;
        for (Index f = given.factor_begin[k]; f < given.factor_begin[k + 1]; ++f) {
            row.emplace_back(given.factor_signal[f], given.factor_chance[f]);
        }
        const auto [label, is_new] = labels.try_emplace(row, static_cast<Index>(labels.size()));
        agent.after_label.push_back(LabelId{label->second});
        if (!is_new) continue;
        for (const auto& [signal, chance] : row) {
            agent.label_factor.push_back({SignalId{signal}, chance});
        }
        agent.label_begin.push_back(static_cast<Index>(agent.label_factor.size()));
    }
    return agent;
}

}  // namespace

CompiledModel model_of_arrays(Index first_stage, Index horizon, std::vector<AgentArrays> agents,
                              const std::vector<InteractionArrays>& interactions) {
    require(first_stage < horizon, "a model has no stages");
    CompiledModel model;
    model.first_stage = first_stage;
    model.horizon = horizon;
    const std::size_t layers = model.layer_count();
    for (AgentArrays& each : agents) {
        model.agents.push_back(agent_of_arrays(layers, std::move(each)));
    }
    model.interactions_at.resize(layers);
    model.values_at.resize(layers);
    model.aggregates_at.resize(layers);
    model.constant_at.assign(layers, 0.0);
    for (const InteractionArrays& given : interactions) {
        CompiledInteraction interaction;
        for (const auto& [agent, signal] : given.members) {
            require(agent < model.agents.size(), "an interaction names an unknown agent");
            require(signal < kMostSignals, "an interaction names an unknown signal");
            require(
                interaction.members.empty() || interaction.members.back().agent < AgentId{agent},
                "the agents of an interaction are not in ascending order");
            interaction.members.push_back({AgentId{agent}, SignalId{signal}});
        }
        require(interaction.members.size() > 1, "an interaction has fewer than two agents");
        for (std::size_t v = 0; v < given.values.size(); ++v) {
            const auto& [stage, value] = given.values[v];
            require(stage >= first_stage && stage < horizon && std::isfinite(value) &&
                        (v == 0 || given.values[v - 1].first < stage),
                    "an interaction has invalid stages or values");
            model.interactions_at[stage - first_stage].push_back(
                static_cast<Index>(model.interactions.size()));
            model.values_at[stage - first_stage].push_back(value);
        }
        interaction.values = given.values;
        model.interactions.push_back(std::move(interaction));
    }
    return model;
}

}  // namespace coreplan
