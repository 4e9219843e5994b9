#include "model/compiled_model.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "model/agent_builder.hpp"
#include "support/reservation.hpp"

namespace coreplan {

namespace {

constexpr double kRoundings = 16;  // outcomes that were merged before may have added as many

// Whether every law sums to 1, up to what rounding can do to the sum; formats allow 1e-9.
bool has_unit_mass(const CompiledAgent& agent) {
    for (std::size_t after = 0; after < agent.after_mass.size(); ++after) {
        const auto outcomes =
            static_cast<double>(agent.outcome_begin[after + 1] - agent.outcome_begin[after]);
        const double allowed = (kRoundings + outcomes) * std::numeric_limits<double>::epsilon();
        if (std::abs(agent.after_mass[after] - 1) > allowed) return false;
    }
    return true;
}

// Per agent and layer: which signals some arc matches.
std::vector<std::vector<bool>> signals_seen(const LocalGraph& graph, const AgentRewards& rewards,
                                            Index layers) {
    std::vector<std::vector<bool>> seen(layers, std::vector<bool>(rewards.signal_count(), false));
    for (Index layer = 0; layer < layers; ++layer) {
        const Index first = graph.choice_begin[graph.layer_begin[layer]];
        const Index last = graph.choice_begin[graph.layer_begin[layer + 1]];
        for (Index arc = graph.arc_begin[first]; arc < graph.arc_begin[last]; ++arc) {
            const std::size_t transition = at(graph.arc_base[arc]);
            for (Index k = rewards.transition_signal_begin[transition];
                 k < rewards.transition_signal_begin[transition + 1]; ++k) {
                seen[layer][at(rewards.transition_signal[k])] = true;
            }
        }
    }
    return seen;
}

// Keeps interactions only at stages at which all their members can match.
void compile_interactions(const LocalGraphs& graphs, CompiledModel& model, Reservation& memory) {
    Monitor& monitor = memory.monitor();
    const Index layers = model.layer_count();
    double signals = 0;
    for (const AgentRewards& agent : graphs.rewards.agents) {
        signals += static_cast<double>(agent.signal_count());
    }
    memory.take(layers * (signals / 8 + 64.0 * static_cast<double>(graphs.agents.size() + 2)),
                "the stages of one agent");
    std::vector<std::vector<std::vector<bool>>> seen;
    for (std::size_t i = 0; i < graphs.agents.size(); ++i) {
        seen.push_back(signals_seen(graphs.agents[i], graphs.rewards.agents[i], layers));
    }
    model.interactions_at.resize(layers);
    model.values_at.resize(layers);
    for (const Interaction& interaction : graphs.rewards.interactions) {
        CompiledInteraction compiled{interaction.members, {}};
        for (Index layer = 0; layer < layers; ++layer) {
            const Index stage = model.first_stage + layer;
            const double value = interaction.value.at_stage(stage);
            const bool can_happen =
                value != 0 && std::ranges::all_of(compiled.members, [&](const auto& member) {
                    return seen[at(member.agent)][layer][at(member.signal)];
                });
            monitor.tick_or_throw(4);
            if (!can_happen) continue;
            model.interactions_at[layer].push_back(static_cast<Index>(model.interactions.size()));
            model.values_at[layer].push_back(value);
            compiled.values.emplace_back(stage, value);
            memory.take(32, "the interactions");
        }
        if (!compiled.values.empty()) model.interactions.push_back(std::move(compiled));
    }
    for (Index layer = 0; layer < layers; ++layer) {
        model.constant_at.push_back(graphs.rewards.constant.at_stage(model.first_stage + layer));
    }
}

// Per agent, layer and signal: what the agent itself earns with the signal, because an aggregate is
// a sum of own rewards there.
using SignalRewards = std::vector<std::vector<std::vector<std::pair<SignalId, double>>>>;

// Keeps aggregates only at layers at which they are more than a sum of own rewards, considering
// what their members can add then.
void compile_aggregates(const LocalGraphs& graphs, CompiledModel& model, SignalRewards& apart,
                        Reservation& memory) {
    const Index layers = model.layer_count();
    model.aggregates_at.resize(layers);
    apart.assign(graphs.agents.size(), {});
    if (graphs.rewards.aggregates.empty()) return;
    for (auto& each : apart) each.resize(layers);
    std::vector<std::vector<std::vector<bool>>> seen;
    for (std::size_t i = 0; i < graphs.agents.size(); ++i) {
        seen.push_back(signals_seen(graphs.agents[i], graphs.rewards.agents[i], layers));
    }
    for (const AggregateReward& aggregate : graphs.rewards.aggregates) {
        CompiledAggregate compiled{
            aggregate.members, aggregate.values.size(), {}, {}, aggregate.number};
        const StageWeights& weights = graphs.rewards.weights;
        const double tables = weights.vary() ? 1.0 + layers : 1.0;
        memory.take(static_cast<double>(aggregate.values.size()) * 8 * tables + 64.0 * layers,
                    "the rewards for sums");
        if (!weights.vary()) compiled.values = aggregate.values;
        for (Index layer = 0; layer < layers; ++layer) {
            memory.monitor().tick_or_throw(4 * aggregate.members.size());
            const Index stage = model.first_stage + layer;
            if (aggregate.stages && !std::ranges::count(*aggregate.stages, stage)) continue;
            std::size_t most = 0;
            std::size_t adding = 0;
            for (const AggregateMember& member : aggregate.members) {
                Index mine = 0;
                for (const auto& [signal, units] : member.units) {
                    if (seen[at(member.agent)][layer][at(signal)]) mine = std::max(mine, units);
                }
                most += mine;
                adding += mine > 0 ? 1 : 0;
            }
            const double weight = weights.at_stage(stage);
            const std::span<const double> values(aggregate.values.data(), most + 1);
            if (adding > 1 && !is_linear(values)) {
                model.aggregates_at[layer].push_back(static_cast<Index>(model.aggregates.size()));
                compiled.layers.push_back(layer);
                if (weights.vary()) {
                    for (const double value : aggregate.values) {
                        compiled.values.push_back(value * weight);
                    }
                }
                continue;
            }
            for (const AggregateMember& member : aggregate.members) {
                for (const auto& [signal, units] : member.units) {
                    if (!seen[at(member.agent)][layer][at(signal)]) continue;
                    apart[at(member.agent)][layer].emplace_back(signal, values[units] * weight);
                }
            }
        }
        if (!compiled.layers.empty()) model.aggregates.push_back(std::move(compiled));
    }
}

// Turns an agent's local graph into expectations, from the last layer back.
class AgentCompiler {
public:
    AgentCompiler(const CompiledModel& model, const LocalGraph& graph, const AgentRewards& rewards,
                  const std::vector<std::vector<std::pair<SignalId, double>>>& apart, AgentId id,
                  bool merge, std::span<const double> leaning, Reservation& memory)
        : model_(model),
          graph_(graph),
          rewards_(rewards),
          apart_(apart),
          id_(id),
          leaning_(leaning),
          monitor_(memory.monitor()),
          builder_(model.layer_count(), merge),
          class_of_(graph.node_count(), 0),
          live_(rewards.signal_count(), false),
          worth_(rewards.signal_count(), 0.0),
          chance_(rewards.signal_count(), 0.0) {
        const double choices = static_cast<double>(graph_.choice_base.size());
        const double nodes = static_cast<double>(graph_.node_count());
        const double arcs = static_cast<double>(graph_.arc_next.size());
        memory.take(nodes * 16 + choices * 28 + arcs * 12, "the compiled states of one agent");
    }

    CompiledAgent run() {
        for (Index layer = model_.layer_count() + 1; layer-- > 0;) {
            if (layer < model_.layer_count()) find_live_signals(layer);
            builder_.begin_layer(layer);
            for (Index node = graph_.layer_begin[layer]; node < graph_.layer_begin[layer + 1];
                 ++node) {
                for (Index c = graph_.choice_begin[node]; c < graph_.choice_begin[node + 1]; ++c) {
                    add(c, layer);
                }
                class_of_[node] = builder_.end_node();
            }
        }
        return builder_.finish();
    }

private:
    // The signals that some interaction or aggregate looks at in this layer, and what signals are
    // worth by themselves.
    void find_live_signals(Index layer) {
        live_.assign(live_.size(), false);
        for (const Index e : model_.interactions_at[layer]) {
            for (const InteractionMember& member : model_.interactions[e].members) {
                if (member.agent == id_) live_[at(member.signal)] = true;
            }
        }
        for (const Index e : model_.aggregates_at[layer]) {
            for (const AggregateMember& member : model_.aggregates[e].members) {
                if (member.agent != id_) continue;
                for (const auto& [signal, units] : member.units) live_[at(signal)] = true;
            }
        }
        worth_.assign(worth_.size(), 0.0);
        if (apart_.empty()) return;
        for (const auto& [signal, worth] : apart_[layer]) worth_[at(signal)] += worth;
    }

    void add(Index choice, Index layer) {
        double reward = 0;
        if (!leaning_.empty()) {
            reward = leaning_[at(graph_.choice_base[choice])] * (model_.layer_count() - layer);
        }
        touched_.clear();
        outcomes_.clear();
        for (Index arc = graph_.arc_begin[choice]; arc < graph_.arc_begin[choice + 1]; ++arc) {
            const double p = graph_.arc_probability[arc];
            reward += p * graph_.arc_reward[arc];
            outcomes_.emplace_back(class_of_[at(graph_.arc_next[arc])], p);
            const std::size_t transition = at(graph_.arc_base[arc]);
            for (Index k = rewards_.transition_signal_begin[transition];
                 k < rewards_.transition_signal_begin[transition + 1]; ++k) {
                const std::size_t signal = at(rewards_.transition_signal[k]);
                reward += p * worth_[signal];
                if (!live_[signal]) continue;
                if (chance_[signal] == 0) touched_.push_back(static_cast<Index>(signal));
                chance_[signal] += p;
            }
        }
        std::ranges::sort(touched_);
        factors_.clear();
        for (const Index signal : touched_) {
            factors_.push_back({SignalId{signal}, chance_[signal]});
            chance_[signal] = 0;
        }
        monitor_.tick_or_throw(16 * (1 + outcomes_.size()));
        builder_.add_choice(reward, factors_, outcomes_,
                            static_cast<Index>(at(graph_.choice_base[choice])));
    }

    const CompiledModel& model_;
    const LocalGraph& graph_;
    const AgentRewards& rewards_;
    const std::vector<std::vector<std::pair<SignalId, double>>>& apart_;
    AgentId id_;
    std::span<const double> leaning_;
    Monitor& monitor_;
    AgentBuilder builder_;
    std::vector<Index> class_of_;  // per node, within its layer
    std::vector<bool> live_;
    std::vector<double> worth_;  // per signal
    std::vector<double> chance_;
    std::vector<Index> touched_;
    std::vector<Factor> factors_;
    std::vector<std::pair<Index, double>> outcomes_;
};

}  // namespace

CompiledModel compile(const LocalGraphs& graphs, bool merge, Monitor& monitor,
                      std::span<const Leaning> leanings) {
    CompiledModel model;
    model.first_stage = graphs.first_stage;
    model.horizon = graphs.horizon;
    Reservation memory(monitor);
    compile_interactions(graphs, model, memory);
    SignalRewards apart;
    compile_aggregates(graphs, model, apart, memory);
    for (std::size_t i = 0; i < graphs.agents.size(); ++i) {
        const std::span<const double> leaning =
            leanings.empty() ? std::span<const double>{} : std::span<const double>{leanings[i]};
        model.agents.push_back(AgentCompiler(model, graphs.agents[i], graphs.rewards.agents[i],
                                             apart[i], as<AgentId>(i), merge, leaning, memory)
                                   .run());
        model.unit_mass = model.unit_mass && has_unit_mass(model.agents.back());
    }
    memory.keep_all();  // the model may outlive the monitor
    return model;
}

namespace {

// Of some vectors.
template <class... Values>
double bytes_of(const Values&... values) {
    return (static_cast<double>(values.capacity() * sizeof(values[0])) + ...);
}

}  // namespace

double size_of(const CompiledAggregate& aggregate, Index layer) {
    double most = 0;
    for (const double value : aggregate.table(layer)) most = std::max(most, std::abs(value));
    return most;
}

double CompiledAgent::bytes() const {
    return sizeof(CompiledAgent) +
           bytes_of(layer_begin, action_begin, action_reward, action_after, after_layer_begin,
                    after_label, outcome_begin, outcome_next, outcome_probability, after_mass,
                    label_begin, label_factor, node_class, node_choice_begin, node_choice);
}

double CompiledModel::bytes() const {
    double total =
        bytes_of(interactions, interactions_at, values_at, constant_at, aggregates, aggregates_at);
    for (const CompiledAggregate& each : aggregates) total += bytes_of(each.values, each.layers);
    for (const CompiledAgent& agent : agents) total += agent.bytes();
    for (const CompiledInteraction& each : interactions)
        total += bytes_of(each.members, each.values);
    for (const auto& each : interactions_at) total += bytes_of(each);
    for (const auto& each : values_at) total += bytes_of(each);
    return total;
}

}  // namespace coreplan
