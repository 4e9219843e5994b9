// The compiled model: small, layered, expectations only.
//
// Per agent and stage: classes (merged nodes) -> actions -> after-states -> outcomes. Agents move
// independently, so the expectation of a product of indicators is the product of expectations:
//   r(s,a) = Σ_i reward_i(s_i,a_i) + Σ_E value_E · Π_{j in E} factor_Ej(s_j,a_j),
// and an action only carries its expected own reward and, per signal, the chance that it matches.
#pragma once

#include <algorithm>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "model/local_graph.hpp"
#include "support/ids.hpp"

namespace coreplan {

struct Factor {
    SignalId signal;
    double chance;  // in (0, 1]
};

struct CompiledAgent {
    std::vector<Index> layer_begin;  // as in LocalGraph, over classes

    std::vector<Index> action_begin;    // per class
    std::vector<double> action_reward;  // expected own reward
    std::vector<AfterId> action_after;

    std::vector<Index> after_layer_begin;  // per stage: its after-states
    std::vector<LabelId> after_label;
    std::vector<Index> outcome_begin;  // per after-state
    std::vector<ClassId> outcome_next;
    std::vector<double> outcome_probability;
    std::vector<double> after_mass;  // sum of the probabilities: 1, up to what the input says

    std::vector<Index> label_begin;  // label -> factors
    std::vector<Factor> label_factor;

    // The way back: the class of every node, and what each of its actions is in the description.
    std::vector<ClassId> node_class;
    std::vector<Index> node_choice_begin;
    std::vector<ChoiceId> node_choice;

    [[nodiscard]] double bytes() const;
    [[nodiscard]] std::size_t class_count() const noexcept { return action_begin.size() - 1; }
    [[nodiscard]] std::size_t layer_size(Index layer) const {
        return layer_begin[layer + 1] - layer_begin[layer];
    }
    // Whether some class has more than one action.
    [[nodiscard]] bool has_choice() const {
        return action_reward.size() > layer_begin[layer_begin.size() - 2];
    }
    // How likely an after-state makes a signal.
    [[nodiscard]] double chance(std::size_t after, SignalId signal) const {
        const std::size_t label = at(after_label[after]);
        for (Index f = label_begin[label]; f < label_begin[label + 1]; ++f) {
            if (label_factor[f].signal == signal) return label_factor[f].chance;
        }
        return 0;
    }
};

// An interaction at the stages at which it can happen.
struct CompiledInteraction {
    std::vector<InteractionMember> members;
    std::vector<std::pair<Index, double>> values;  // (stage, value != 0), by stage

    // Its value at a stage; 0 where it cannot happen.
    [[nodiscard]] double value_at(Index stage) const {
        const auto found =
            std::ranges::lower_bound(values, stage, {}, &std::pair<Index, double>::first);
        return found != values.end() && found->first == stage ? found->second : 0.0;
    }
};

// A reward for a sum over agents, at the layers at which it can be anything but a sum of own
// rewards. What an agent adds is a matter of the signals of its after-state.
struct CompiledAggregate {
    std::vector<AggregateMember> members;  // two or more, by agent
    std::size_t sums = 0;                  // how many there can be, from 0
    std::vector<double> values;            // by the sum; one table for all layers, or for each
    std::vector<Index> layers;             // in increasing order
    Index number = 0;                      // among the aggregates of the description

    // Whether it counts at a layer.
    [[nodiscard]] bool counts_at(Index layer) const {
        return std::ranges::binary_search(layers, layer);
    }
    // The values at a layer at which it counts.
    [[nodiscard]] std::span<const double> table(Index layer) const {
        return {values.data() + row(layer) * sums, sums};
    }
    // No longer counts at a layer.
    void drop(Index layer) {
        if (values.size() > sums) {
            const auto begin = values.begin() + static_cast<std::ptrdiff_t>(row(layer) * sums);
            values.erase(begin, begin + static_cast<std::ptrdiff_t>(sums));
        }
        std::erase(layers, layer);
    }

private:
    [[nodiscard]] std::size_t row(Index layer) const {
        if (values.size() == sums) return 0;
        return static_cast<std::size_t>(std::ranges::lower_bound(layers, layer) - layers.begin());
    }
};

// The most that it can be worth at a layer, either way.
double size_of(const CompiledAggregate& aggregate, Index layer);

struct CompiledModel {
    Index first_stage = 0;
    Index horizon = 0;
    std::vector<CompiledAgent> agents;
    std::vector<CompiledInteraction> interactions;
    std::vector<std::vector<Index>> interactions_at;  // per layer: those that can happen, with
    std::vector<std::vector<double>> values_at;       // their values then
    std::vector<double> constant_at;                  // per layer: what the team gets anyway
    std::vector<CompiledAggregate> aggregates;
    std::vector<std::vector<Index>> aggregates_at;  // per layer: those that count then
    // True if all outcome laws sum to 1 up to rounding. If not, a reward of some agents counts
    // with the mass of all, as the Bellman equation over joint outcomes has it.
    bool unit_mass = true;

    // The memory that it takes.
    [[nodiscard]] double bytes() const;
    [[nodiscard]] Index layer_count() const noexcept { return horizon - first_stage; }
    // What the team gets anyway, in all.
    [[nodiscard]] double constant() const {
        return std::accumulate(constant_at.begin(), constant_at.end(), 0.0);
    }
    // Whether some interaction is worth more than nothing.
    [[nodiscard]] bool interactions_earn() const {
        return std::ranges::any_of(interactions, [](const CompiledInteraction& interaction) {
            return std::ranges::any_of(interaction.values,
                                       [](const auto& each) { return each.second > 0; });
        });
    }
    // What the interaction at position `k` of a layer is expected to bring, given the after-states
    // of all agents.
    [[nodiscard]] double interaction_value(Index layer, std::size_t k,
                                           std::span<const AfterId> afters) const {
        double value = values_at[layer][k];
        for (const InteractionMember& member : interactions[interactions_at[layer][k]].members) {
            const double chance =
                agents[at(member.agent)].chance(at(afters[at(member.agent)]), member.signal);
            if (chance == 0) return 0;
            value *= chance;
        }
        return value;
    }
    // How much an after-state adds to an aggregate's sum.
    [[nodiscard]] Index units(const AggregateMember& member, AfterId after) const {
        const CompiledAgent& agent = agents[at(member.agent)];
        const std::size_t label = at(agent.after_label[at(after)]);
        for (Index f = agent.label_begin[label]; f < agent.label_begin[label + 1]; ++f) {
            const SignalId signal = agent.label_factor[f].signal;
            const auto found = std::ranges::lower_bound(member.units, signal, {},
                                                        &std::pair<SignalId, Index>::first);
            if (found != member.units.end() && found->first == signal) return found->second;
        }
        return 0;
    }
    // The reward of an aggregate at a layer at which it counts, given all agents' after-states.
    [[nodiscard]] double aggregate_value(const CompiledAggregate& aggregate, Index layer,
                                         std::span<const AfterId> afters) const {
        std::size_t sum = 0;
        for (const AggregateMember& member : aggregate.members) {
            sum += units(member, afters[at(member.agent)]);
        }
        return aggregate.table(layer)[sum];
    }
    [[nodiscard]] std::vector<AgentId> everyone() const {
        std::vector<AgentId> all;
        for (std::size_t i = 0; i < agents.size(); ++i) all.push_back(as<AgentId>(i));
        return all;
    }
};

// What an agent gets on top of its rewards: per choice of its description, for every stage that is
// left when it is taken. Empty: nothing.
using Leaning = std::vector<double>;

// Merges, per stage, the nodes of one agent that have the same actions: equal expected own reward,
// equal chances of the same signals, equal law over merged next nodes. Without `merge`, every node
// stays apart and keeps all its actions. `leanings`: one for each agent, or none.
CompiledModel compile(const LocalGraphs& graphs, bool merge, Monitor& monitor,
                      std::span<const Leaning> leanings = {});

}  // namespace coreplan
