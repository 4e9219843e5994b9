#include "bounds/independent.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "bounds/rounding.hpp"
#include "bounds/sums.hpp"
#include "model/unit_mass.hpp"

namespace coreplan {

namespace {

// What one agent can get at most at each stage from interactions it answers for, per signal.
// An interaction is answered for by its first member; the others match as well as they can at
// that stage; a cost is avoided if they like.
using SignalGains = std::vector<std::vector<double>>;  // per layer and signal

std::vector<SignalGains> signal_gains(const CompiledModel& model) {
    const auto counts = signal_counts(model);
    const auto best = best_chances(model);
    std::vector<SignalGains> gains(model.agents.size());
    for (std::size_t i = 0; i < model.agents.size(); ++i) {
        gains[i].assign(model.layer_count(), std::vector<double>(counts[i], 0.0));
    }
    for (Index layer = 0; layer < model.layer_count(); ++layer) {
        for (std::size_t k = 0; k < model.interactions_at[layer].size(); ++k) {
            double gain = model.values_at[layer][k];
            if (gain <= 0) continue;
            const auto& members = model.interactions[model.interactions_at[layer][k]].members;
            for (std::size_t m = 1; m < members.size(); ++m) {
                gain *= best[at(members[m].agent)][layer][at(members[m].signal)];
            }
            gains[at(members[0].agent)][layer][at(members[0].signal)] += gain;
        }
    }
    return gains;
}

struct Alone {
    double value = 0;  // from the start
    double error = 0;  // what rounding can do to it
};

// Backward induction of one agent; with `gains`, favourable interactions count as well.
Alone solve_alone(const CompiledModel& model, const CompiledAgent& agent, const SignalGains* gains,
                  std::vector<Index>* choice, Monitor& monitor) {
    std::vector<double> value(agent.class_count(), 0.0);
    if (choice != nullptr) choice->assign(agent.class_count(), 0);
    double gained = 0;
    std::size_t terms = 0;
    for (Index layer = model.layer_count(); layer-- > 0;) {
        double most = 0;  // that terms above zero add up to
        for (Index c = agent.layer_begin[layer]; c < agent.layer_begin[layer + 1]; ++c) {
            double best = -std::numeric_limits<double>::infinity();
            for (Index a = agent.action_begin[c]; a < agent.action_begin[c + 1]; ++a) {
                const std::size_t after = at(agent.action_after[a]);
                double q = agent.action_reward[a];
                double above = std::max(0.0, q);
                std::size_t count = 2 + agent.outcome_begin[after + 1] - agent.outcome_begin[after];
                if (gains != nullptr) {
                    const std::size_t label = at(agent.after_label[after]);
                    for (Index f = agent.label_begin[label]; f < agent.label_begin[label + 1];
                         ++f) {
                        const std::size_t signal = at(agent.label_factor[f].signal);
                        if (signal >= (*gains)[layer].size()) continue;
                        const double gain = (*gains)[layer][signal] * agent.label_factor[f].chance;
                        q += gain;
                        above += gain;
                        ++count;
                    }
                }
                most = std::max(most, above);
                terms = std::max(terms, count);
                for (Index o = agent.outcome_begin[after]; o < agent.outcome_begin[after + 1];
                     ++o) {
                    q += agent.outcome_probability[o] * value[at(agent.outcome_next[o])];
                }
                if (q > best) {
                    best = q;
                    if (choice != nullptr) (*choice)[c] = a - agent.action_begin[c];
                }
                monitor.tick_or_throw(8);
            }
            value[c] = best;
        }
        gained += most;
    }
    return {value[0],
            rounding_error(static_cast<double>(terms), model.layer_count(), gained, value[0])};
}

}  // namespace

std::vector<std::size_t> signal_counts(const CompiledModel& model) {
    std::vector<std::size_t> counts(model.agents.size(), 0);
    for (const CompiledInteraction& interaction : model.interactions) {
        for (const InteractionMember& member : interaction.members) {
            std::size_t& count = counts[at(member.agent)];
            count = std::max(count, at(member.signal) + 1);
        }
    }
    for (const CompiledAggregate& aggregate : model.aggregates) {
        for (const AggregateMember& member : aggregate.members) {
            std::size_t& count = counts[at(member.agent)];
            count = std::max(count, at(member.units.back().first) + 1);
        }
    }
    return counts;
}

SignalChances best_chances(const CompiledModel& model) {
    const auto counts = signal_counts(model);
    SignalChances best(model.agents.size());
    for (std::size_t i = 0; i < model.agents.size(); ++i) {
        const CompiledAgent& agent = model.agents[i];
        best[i].assign(model.layer_count(), std::vector<double>(counts[i], 0.0));
        for (Index layer = 0; layer < model.layer_count(); ++layer) {
            for (Index k = agent.after_layer_begin[layer]; k < agent.after_layer_begin[layer + 1];
                 ++k) {
                const std::size_t label = at(agent.after_label[k]);
                for (Index f = agent.label_begin[label]; f < agent.label_begin[label + 1]; ++f) {
                    // Labels may hold signals that no interaction of this model looks at.
                    const std::size_t signal = at(agent.label_factor[f].signal);
                    if (signal >= counts[i]) continue;
                    double& chance = best[i][layer][signal];
                    chance = std::max(chance, agent.label_factor[f].chance);
                }
            }
        }
    }
    return best;
}

double reward_scale(const CompiledModel& model) {
    double total = 0;
    for (Index layer = 0; layer < model.layer_count(); ++layer) {
        total += std::abs(model.constant_at[layer]);
        for (const double value : model.values_at[layer]) total += std::abs(value);
        for (const Index e : model.aggregates_at[layer])
            total += size_of(model.aggregates[e], layer);
        for (const CompiledAgent& agent : model.agents) {
            double most = 0;
            for (Index a = agent.action_begin[agent.layer_begin[layer]];
                 a < agent.action_begin[agent.layer_begin[layer + 1]]; ++a) {
                most = std::max(most, std::abs(agent.action_reward[a]));
            }
            total += most;
        }
    }
    return total;
}

void follow(const CompiledModel& model, AgentId who, std::size_t signals,
            const std::vector<Index>& action, Index layer, ClassId start, AgentFlow& flow,
            Monitor& monitor) {
    const CompiledAgent& agent = model.agents[at(who)];
    const std::size_t layers = model.layer_count();
    flow.own.assign(layers, 0.0);
    flow.mass.assign(layers, 0.0);
    flow.chance.assign(signals * layers, 0.0);
    std::vector<double> here(agent.layer_size(layer), 0.0);
    std::vector<double> next;
    here[at(start) - agent.layer_begin[layer]] = 1;
    for (; layer < layers; ++layer) {
        const Index first = agent.layer_begin[layer];
        const Index next_first = agent.layer_begin[layer + 1];
        next.assign(agent.layer_size(layer + 1), 0.0);
        for (std::size_t k = 0; k < here.size(); ++k) {
            if (here[k] == 0) continue;
            const std::size_t c = first + k;
            const Index a = agent.action_begin[c] + action[c];
            const std::size_t after = at(agent.action_after[a]);
            const std::size_t label = at(agent.after_label[after]);
            flow.own[layer] += here[k] * agent.action_reward[a];
            for (Index f = agent.label_begin[label]; f < agent.label_begin[label + 1]; ++f) {
                const std::size_t signal = at(agent.label_factor[f].signal);
                if (signal < signals) {
                    flow.chance[signal * layers + layer] += here[k] * agent.label_factor[f].chance;
                }
            }
            for (Index o = agent.outcome_begin[after]; o < agent.outcome_begin[after + 1]; ++o) {
                const double moved = here[k] * agent.outcome_probability[o];
                next[at(agent.outcome_next[o]) - next_first] += moved;
                flow.mass[layer] += moved;
            }
            monitor.tick_or_throw(8);
        }
        if (model.unit_mass) flow.mass[layer] = 1;
        monitor.tick_or_throw(here.size() / 4 + 1);
        std::swap(here, next);
    }
}

std::vector<double> rewards_of(const CompiledModel& model, const LocalPolicy& policy,
                               Monitor& monitor) {
    const std::size_t n = model.agents.size();
    const std::size_t layers = model.layer_count();
    const auto counts = signal_counts(model);
    std::vector<AgentFlow> flows(n);
    for (std::size_t i = 0; i < n; ++i) {
        follow(model, as<AgentId>(i), counts[i], policy.action[i], 0, ClassId{0}, flows[i],
               monitor);
    }
    std::vector<double> rewards(layers, 0.0);
    for (Index layer = 0; layer < layers; ++layer) {
        double& total = rewards[layer];
        // A reward of some agents counts with the mass of all the others.
        double all = 1;
        for (const AgentFlow& flow : flows) all *= flow.mass[layer];
        total += model.constant_at[layer] * all;
        for (const AgentFlow& flow : flows) total += flow.own[layer] * (all / flow.mass[layer]);
        for (std::size_t k = 0; k < model.interactions_at[layer].size(); ++k) {
            double expected = model.values_at[layer][k] * all;
            for (const auto& member : model.interactions[model.interactions_at[layer][k]].members) {
                const AgentFlow& flow = flows[at(member.agent)];
                expected *= flow.chance[at(member.signal) * layers + layer] / flow.mass[layer];
            }
            total += expected;
        }
        for (const Index e : model.aggregates_at[layer]) {
            const CompiledAggregate& aggregate = model.aggregates[e];
            std::vector<double> sums(1, 1.0);
            for (const AggregateMember& member : aggregate.members) {
                const AgentFlow& flow = flows[at(member.agent)];
                add_amounts(sums, amounts_of(member, flow.chance, layers, layer, flow.mass[layer]));
                monitor.tick_or_throw(sums.size() * (1 + member.units.size()));
            }
            total += expected_value(aggregate.table(layer), sums) * all;
        }
        monitor.tick_or_throw(4 * n + 8 * model.interactions_at[layer].size());
    }
    return rewards;
}

double value_of(const CompiledModel& model, const LocalPolicy& policy, Monitor& monitor) {
    const std::vector<double> rewards = rewards_of(model, policy, monitor);
    return std::accumulate(rewards.begin(), rewards.end(), 0.0);
}

IndependentBounds independent_bounds(const CompiledModel& model, Monitor& monitor) {
    IndependentBounds bounds;
    const auto gains = signal_gains(model);
    double error = 0;
    for (std::size_t i = 0; i < model.agents.size(); ++i) {
        const CompiledAgent& agent = model.agents[i];
        solve_alone(model, agent, nullptr, &bounds.policy.action.emplace_back(), monitor);
        const Alone best = solve_alone(model, agent, &gains[i], nullptr, monitor);
        bounds.upper += best.value;
        error += best.error + rounding_error(1, 0, 0, bounds.upper);
    }
    for (const double constant : model.constant_at) bounds.upper += constant;
    for (const CompiledAggregate& aggregate : model.aggregates) {
        for (const Index layer : aggregate.layers) {
            bounds.upper += std::max(0.0, std::ranges::max(aggregate.table(layer)));
        }
    }
    bounds.lower = value_of(model, bounds.policy, monitor);
    // Agents alone count the masses of their own laws, the whole team those of all: each is within
    // the error of a value with laws that sum to 1.
    bounds.upper = std::max(bounds.upper + error + 2 * mass_error(model), bounds.lower);
    return bounds;
}

}  // namespace coreplan
