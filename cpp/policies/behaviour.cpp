#include "policies/behaviour.hpp"

#include <algorithm>
#include <map>

#include "bounds/sums.hpp"
#include "engine/team_model.hpp"

namespace coreplan {

namespace {

constexpr std::size_t kOutside = ~std::size_t{0};

// Positions of agents in a group.
std::vector<std::size_t> positions(const CompiledModel& model, const std::vector<AgentId>& agents) {
    std::vector<std::size_t> position(model.agents.size(), kOutside);
    for (std::size_t m = 0; m < agents.size(); ++m) position[at(agents[m])] = m;
    return position;
}

// Two independent parts of a sum.
void convolve(std::vector<double>& sums, const std::vector<double>& more) {
    if (more.size() == 1) return;
    std::vector<double> both(sums.size() + more.size() - 1, 0.0);
    for (std::size_t x = 0; x < sums.size(); ++x) {
        for (std::size_t y = 0; y < more.size(); ++y) both[x + y] += sums[x] * more[y];
    }
    sums = std::move(both);
}

// Counts how likely a group adds so much to a sum.
void count_sum(std::vector<double>& sums, std::size_t units, double chance) {
    if (sums.size() <= units) sums.resize(units + 1, 0.0);
    sums[units] += chance;
}

// An aggregate that a group adds to, with the members in the group.
struct Adding {
    std::size_t number;                                                   // among the group's
    std::size_t row;                                                      // of the layer
    std::vector<std::pair<std::size_t, const AggregateMember*>> members;  // position in the group
};

std::vector<std::vector<Adding>> sums_by_layer(const CompiledModel& model,
                                               const Behaviour& behaviour) {
    std::vector<std::vector<Adding>> adding(model.layer_count());
    for (std::size_t k = 0; k < behaviour.aggregates.size(); ++k) {
        const CompiledAggregate& aggregate = model.aggregates[behaviour.aggregates[k]];
        std::vector<std::pair<std::size_t, const AggregateMember*>> members;
        for (const AggregateMember& member : aggregate.members) {
            const std::size_t m = position_in(behaviour.agents, member.agent);
            if (m < behaviour.agents.size()) members.emplace_back(m, &member);
        }
        for (std::size_t l = 0; l < aggregate.layers.size(); ++l) {
            adding[aggregate.layers[l]].push_back({k, l, members});
        }
    }
    return adding;
}

// Fills in which interactions and aggregates touch the group, with chances of 0.
void list_interactions(const CompiledModel& model, const std::vector<std::vector<Index>>& touching,
                       Behaviour& behaviour) {
    for (const AgentId who : behaviour.agents) {
        const auto& list = touching[at(who)];
        behaviour.interactions.insert(behaviour.interactions.end(), list.begin(), list.end());
    }
    std::ranges::sort(behaviour.interactions);
    const auto repeated = std::ranges::unique(behaviour.interactions);
    behaviour.interactions.erase(repeated.begin(), repeated.end());
    for (const Index e : behaviour.interactions) {
        behaviour.chance.emplace_back(model.interactions[e].values.size(), 0.0);
    }
    behaviour.aggregates = aggregates_touching(model, behaviour.agents);
    for (const Index e : behaviour.aggregates) {
        behaviour.sums.emplace_back(model.aggregates[e].layers.size());
    }
}

// An interaction at one layer, as far as it concerns a group.
struct Part {
    std::size_t interaction;  // position among the group's
    std::size_t value;        // position among the interaction's values
    std::vector<std::pair<std::size_t, SignalId>> members;  // position in the group
};

std::vector<std::vector<Part>> parts_by_layer(const CompiledModel& model,
                                              const Behaviour& behaviour) {
    const auto position = positions(model, behaviour.agents);
    std::vector<std::vector<Part>> parts(model.layer_count());
    for (std::size_t k = 0; k < behaviour.interactions.size(); ++k) {
        const CompiledInteraction& interaction = model.interactions[behaviour.interactions[k]];
        std::vector<std::pair<std::size_t, SignalId>> members;
        for (const InteractionMember& member : interaction.members) {
            if (position[at(member.agent)] != kOutside) {
                members.emplace_back(position[at(member.agent)], member.signal);
            }
        }
        for (std::size_t v = 0; v < interaction.values.size(); ++v) {
            parts[interaction.values[v].first - model.first_stage].push_back({k, v, members});
        }
    }
    return parts;
}

// How many signals each agent of a group can make, or is asked for.
std::vector<std::vector<double>> room_for_signals(const CompiledModel& model,
                                                  const std::vector<AgentId>& agents) {
    const std::vector<std::size_t> asked = signal_counts(model);
    std::vector<std::vector<double>> made(agents.size());
    for (std::size_t m = 0; m < agents.size(); ++m) {
        std::size_t most = asked[at(agents[m])];
        for (const Factor& factor : model.agents[at(agents[m])].label_factor) {
            most = std::max(most, at(factor.signal) + 1);
        }
        made[m].assign(most, 0.0);
    }
    return made;
}

}  // namespace

double Behaviour::bytes() const {
    const auto size = [](const auto& values) {
        return static_cast<double>(values.capacity() * sizeof(values[0]));
    };
    double total = sizeof(Behaviour) + size(agents) + size(interactions) + size(table.layer) +
                   size(table.classes) + size(table.actions);
    for (const auto& each : otherwise) total += size(each);
    for (const auto& each : chance) total += size(each);
    for (const auto& aggregate : sums) {
        for (const auto& each : aggregate) total += sizeof(each) + size(each);
    }
    return total;
}

const std::vector<std::vector<double>>* Behaviour::sums_of(Index aggregate) const {
    const auto where = std::ranges::lower_bound(aggregates, aggregate);
    if (where == aggregates.end() || *where != aggregate) return nullptr;
    return &sums[static_cast<std::size_t>(where - aggregates.begin())];
}

const std::vector<double>& Behaviour::chance_of(Index interaction) const {
    const auto where = std::ranges::lower_bound(interactions, interaction);
    return chance[static_cast<std::size_t>(where - interactions.begin())];
}

std::vector<std::vector<Index>> interactions_of(const CompiledModel& model) {
    std::vector<std::vector<Index>> touching(model.agents.size());
    for (std::size_t e = 0; e < model.interactions.size(); ++e) {
        if (model.interactions[e].values.empty()) continue;
        for (const InteractionMember& member : model.interactions[e].members) {
            touching[at(member.agent)].push_back(static_cast<Index>(e));
        }
    }
    return touching;
}

Behaviour behave(const CompiledModel& model, const std::vector<std::vector<Index>>& touching,
                 std::vector<AgentId> agents, std::vector<std::vector<Index>> policy,
                 Monitor& monitor) {
    Behaviour behaviour;
    behaviour.agents = std::move(agents);
    behaviour.otherwise = std::move(policy);
    list_interactions(model, touching, behaviour);
    for (auto& chances : behaviour.chance) std::ranges::fill(chances, 1.0);
    for (auto& aggregate : behaviour.sums) std::ranges::fill(aggregate, std::vector<double>{1.0});
    const std::size_t layers = model.layer_count();
    const auto signal_count = room_for_signals(model, behaviour.agents);
    AgentFlow flow;
    for (std::size_t m = 0; m < behaviour.agents.size(); ++m) {
        const AgentId who = behaviour.agents[m];
        const std::size_t signals = signal_count[m].size();
        follow(model, who, signals, behaviour.otherwise[m], 0, ClassId{0}, flow, monitor);
        for (const double own : flow.own) behaviour.own += own;
        for (std::size_t k = 0; k < behaviour.interactions.size(); ++k) {
            const CompiledInteraction& interaction = model.interactions[behaviour.interactions[k]];
            for (const InteractionMember& member : interaction.members) {
                if (member.agent != who) continue;
                const double* chance = flow.chance.data() + at(member.signal) * layers;
                for (std::size_t v = 0; v < interaction.values.size(); ++v) {
                    behaviour.chance[k][v] *=
                        chance[interaction.values[v].first - model.first_stage];
                }
            }
        }
        for (std::size_t k = 0; k < behaviour.aggregates.size(); ++k) {
            const CompiledAggregate& aggregate = model.aggregates[behaviour.aggregates[k]];
            const auto member = std::ranges::find(aggregate.members, who, &AggregateMember::agent);
            if (member == aggregate.members.end()) continue;
            for (std::size_t l = 0; l < aggregate.layers.size(); ++l) {
                add_amounts(behaviour.sums[k][l],
                            amounts_of(*member, flow.chance, layers, aggregate.layers[l]));
                monitor.tick_or_throw(4 * behaviour.sums[k][l].size());
            }
        }
    }
    return behaviour;
}

namespace {

// Counts what is earned and matched in the joint states of the first layers, whose actions are
// known.
void count_layers(const CompiledModel& model, const std::vector<RolloutLayer>& layers,
                  std::size_t decided, Behaviour& behaviour, Monitor& monitor) {
    const auto parts = parts_by_layer(model, behaviour);
    const auto adding = sums_by_layer(model, behaviour);
    const std::size_t n = behaviour.agents.size();
    auto made = room_for_signals(model, behaviour.agents);  // in the state in work
    for (std::size_t l = 0; l < decided; ++l) {
        const RolloutLayer& layer = layers[l];
        for (std::size_t s = 0; s < layer.size(); ++s) {
            for (std::size_t m = 0; m < n; ++m) {
                const CompiledAgent& agent = model.agents[at(behaviour.agents[m])];
                const Index a = layer.actions[s * n + m];
                behaviour.own += layer.reach[s] * agent.action_reward[a];
                std::ranges::fill(made[m], 0.0);
                const std::size_t label = at(agent.after_label[at(agent.action_after[a])]);
                for (Index f = agent.label_begin[label]; f < agent.label_begin[label + 1]; ++f) {
                    made[m][at(agent.label_factor[f].signal)] = agent.label_factor[f].chance;
                }
            }
            for (const Part& part : parts[l]) {
                double chance = layer.reach[s];
                for (const auto& [m, signal] : part.members) {
                    chance *= at(signal) < made[m].size() ? made[m][at(signal)] : 0.0;
                }
                behaviour.chance[part.interaction][part.value] += chance;
            }
            for (const Adding& sum : adding[l]) {
                std::size_t units = 0;
                for (const auto& [m, member] : sum.members) {
                    const CompiledAgent& agent = model.agents[at(behaviour.agents[m])];
                    units += model.units(*member, agent.action_after[layer.actions[s * n + m]]);
                }
                count_sum(behaviour.sums[sum.number][sum.row], units, layer.reach[s]);
            }
            monitor.tick_or_throw(8 * n + 4 * parts[l].size() + 8 * n * adding[l].size());
        }
    }
}

}  // namespace

Behaviour behave(const CompiledModel& model, const std::vector<std::vector<Index>>& touching,
                 std::vector<AgentId> agents, std::vector<std::vector<Index>> policy,
                 JointTable table, const std::vector<RolloutLayer>& layers, Monitor& monitor) {
    Behaviour behaviour;
    behaviour.agents = std::move(agents);
    behaviour.otherwise = std::move(policy);
    behaviour.table = std::move(table);
    list_interactions(model, touching, behaviour);
    count_layers(model, layers, model.layer_count(), behaviour, monitor);
    return behaviour;
}

Behaviour behave(const CompiledModel& model, const std::vector<std::vector<Index>>& touching,
                 std::vector<AgentId> agents, std::vector<std::vector<Index>> policy,
                 const Rollout& rollout, Monitor& monitor) {
    Behaviour behaviour;
    behaviour.agents = std::move(agents);
    behaviour.otherwise = std::move(policy);
    behaviour.table = rollout.table();
    list_interactions(model, touching, behaviour);
    count_layers(model, rollout.layers(), rollout.decided_layers(), behaviour, monitor);
    if (rollout.decided_layers() == model.layer_count()) return behaviour;
    // From the first undecided layer on everyone follows the default, from each of its states.
    const auto parts = parts_by_layer(model, behaviour);
    const auto adding = sums_by_layer(model, behaviour);
    const std::size_t n = behaviour.agents.size();
    const auto made = room_for_signals(model, behaviour.agents);
    std::vector<double> sums;  // of the state in work
    const auto first = static_cast<Index>(rollout.decided_layers());
    const RolloutLayer& cut = rollout.layers()[first];
    std::vector<std::map<ClassId, AgentFlow>> flows(n);
    std::vector<const AgentFlow*> flow_of(n);
    const std::size_t layers = model.layer_count();
    for (std::size_t s = 0; s < cut.size(); ++s) {
        for (std::size_t m = 0; m < n; ++m) {
            const ClassId from = cut.states[s][m];
            const auto [known, is_new] = flows[m].try_emplace(from);
            if (is_new) {
                follow(model, behaviour.agents[m], made[m].size(), behaviour.otherwise[m], first,
                       from, known->second, monitor);
            }
            flow_of[m] = &known->second;
            for (const double own : known->second.own) behaviour.own += cut.reach[s] * own;
        }
        for (std::size_t l = first; l < layers; ++l) {
            for (const Part& part : parts[l]) {
                double chance = cut.reach[s];
                for (const auto& [m, signal] : part.members) {
                    chance *= at(signal) < made[m].size()
                                  ? flow_of[m]->chance[at(signal) * layers + l]
                                  : 0.0;
                }
                behaviour.chance[part.interaction][part.value] += chance;
            }
            for (const Adding& sum : adding[l]) {
                sums.assign(1, 1.0);
                for (const auto& [m, member] : sum.members) {
                    add_amounts(sums, amounts_of(*member, flow_of[m]->chance, layers, l));
                }
                for (std::size_t units = 0; units < sums.size(); ++units) {
                    count_sum(behaviour.sums[sum.number][sum.row], units,
                              cut.reach[s] * sums[units]);
                }
                monitor.tick_or_throw(4 * sum.members.size() * sums.size());
            }
            monitor.tick_or_throw(4 * parts[l].size() + 1);
        }
    }
    return behaviour;
}

namespace {

// Interactions that some of the agents take part in, ascending.
std::vector<Index> interactions_of(const std::vector<AgentId>& agents,
                                   const std::vector<std::vector<Index>>& touching) {
    std::vector<Index> all;
    for (const AgentId agent : agents) {
        all.insert(all.end(), touching[at(agent)].begin(), touching[at(agent)].end());
    }
    std::ranges::sort(all);
    const auto repeated = std::ranges::unique(all);
    all.erase(repeated.begin(), repeated.end());
    return all;
}

// An interaction as its members inside see it: the others match as often as their groups do.
CompiledInteraction seen_inside(const CompiledInteraction& interaction, Index number,
                                const std::vector<std::size_t>& position,
                                const std::vector<std::shared_ptr<const Behaviour>>& group_of) {
    CompiledInteraction inside;
    std::vector<const Behaviour*> others;
    for (const InteractionMember& member : interaction.members) {
        const std::size_t m = position[at(member.agent)];
        const Behaviour* group = group_of[at(member.agent)].get();
        if (m != kOutside) {
            inside.members.push_back({as<AgentId>(m), member.signal});
        } else if (std::ranges::find(others, group) == others.end()) {
            others.push_back(group);
        }
    }
    inside.values = interaction.values;
    for (const Behaviour* other : others) {
        const auto& chance = other->chance_of(number);
        for (std::size_t v = 0; v < chance.size(); ++v) inside.values[v].second *= chance[v];
    }
    std::erase_if(inside.values, [](const auto& each) { return each.second == 0; });
    return inside;
}

// What an agent gets for its signals, beside its own rewards: [signal * layers + layer].
void add_extra(std::vector<double>& extra, SignalId signal, const CompiledModel& model,
               const CompiledInteraction& inside) {
    const std::size_t layers = model.layer_count();
    if (extra.size() < (at(signal) + 1) * layers) extra.resize((at(signal) + 1) * layers, 0.0);
    for (const auto& [stage, value] : inside.values) {
        extra[at(signal) * layers + stage - model.first_stage] += value;
    }
}

// An aggregate as its members inside see it: a table for each layer.
CompiledAggregate seen_inside(const CompiledModel& model, Index number,
                              const std::vector<std::size_t>& position,
                              const std::vector<std::shared_ptr<const Behaviour>>& group_of) {
    const CompiledAggregate& aggregate = model.aggregates[number];
    CompiledAggregate inside{{}, 1, {}, aggregate.layers, aggregate.number};
    std::vector<const Behaviour*> others;
    for (const AggregateMember& member : aggregate.members) {
        const std::size_t m = position[at(member.agent)];
        const Behaviour* group = group_of[at(member.agent)].get();
        if (m != kOutside) {
            inside.members.push_back({as<AgentId>(m), member.units});
            Index most = 0;
            for (const auto& [signal, units] : member.units) most = std::max(most, units);
            inside.sums += most;
        } else if (std::ranges::find(others, group) == others.end()) {
            others.push_back(group);
        }
    }
    std::ranges::sort(inside.members, {}, &AggregateMember::agent);
    std::vector<double> sums;
    for (std::size_t l = 0; l < aggregate.layers.size(); ++l) {
        sums.assign(1, 1.0);
        for (const Behaviour* other : others) convolve(sums, (*other->sums_of(number))[l]);
        const std::span<const double> table = aggregate.table(aggregate.layers[l]);
        const double anyway = expected_value(table, sums);
        for (std::size_t k = 0; k < inside.sums; ++k) {
            inside.values.push_back(expected_value(table, sums, k) - anyway);
        }
    }
    return inside;
}

// The layers at which it is a sum of own rewards are paid as these.
void pay_apart(CompiledAggregate& inside, std::vector<std::vector<double>>& extra,
               std::size_t layers) {
    const std::vector<Index> all = inside.layers;
    for (const Index layer : all) {
        const std::span<const double> table = inside.table(layer);
        if (inside.members.size() > 1 && !is_linear(table)) continue;
        for (const AggregateMember& member : inside.members) {
            std::vector<double>& mine = extra[at(member.agent)];
            for (const auto& [signal, units] : member.units) {
                if (mine.size() < (at(signal) + 1) * layers) {
                    mine.resize((at(signal) + 1) * layers, 0.0);
                }
                mine[at(signal) * layers + layer] += table[units];
            }
        }
        inside.drop(layer);
    }
}

void pay_extra(CompiledAgent& agent, const std::vector<double>& extra, std::size_t layers) {
    if (extra.empty()) return;
    for (std::size_t layer = 0; layer < layers; ++layer) {
        const Index begin = agent.action_begin[agent.layer_begin[layer]];
        const Index end = agent.action_begin[agent.layer_begin[layer + 1]];
        for (Index a = begin; a < end; ++a) {
            const std::size_t label = at(agent.after_label[at(agent.action_after[a])]);
            for (Index f = agent.label_begin[label]; f < agent.label_begin[label + 1]; ++f) {
                const std::size_t where = at(agent.label_factor[f].signal) * layers + layer;
                if (where < extra.size()) {
                    agent.action_reward[a] += extra[where] * agent.label_factor[f].chance;
                }
            }
        }
    }
}

}  // namespace

CompiledModel seen_by(const CompiledModel& model, const std::vector<std::vector<Index>>& touching,
                      const std::vector<AgentId>& agents,
                      const std::vector<std::shared_ptr<const Behaviour>>& group_of) {
    CompiledModel seen;
    seen.first_stage = model.first_stage;
    seen.horizon = model.horizon;
    seen.unit_mass = model.unit_mass;
    const std::size_t layers = model.layer_count();
    seen.constant_at.assign(layers, 0.0);
    seen.interactions_at.resize(layers);
    seen.values_at.resize(layers);
    seen.aggregates_at.resize(layers);
    for (const AgentId agent : agents) seen.agents.push_back(model.agents[at(agent)]);
    const auto position = positions(model, agents);
    std::vector<std::vector<double>> extra(agents.size());
    for (const Index e : interactions_of(agents, touching)) {
        CompiledInteraction inside = seen_inside(model.interactions[e], e, position, group_of);
        if (inside.members.size() == 1) {
            const InteractionMember& member = inside.members[0];
            add_extra(extra[at(member.agent)], member.signal, model, inside);
            continue;
        }
        if (inside.values.empty()) continue;
        std::ranges::sort(inside.members, {}, &InteractionMember::agent);
        for (const auto& [stage, value] : inside.values) {
            seen.interactions_at[stage - model.first_stage].push_back(
                static_cast<Index>(seen.interactions.size()));
            seen.values_at[stage - model.first_stage].push_back(value);
        }
        seen.interactions.push_back(std::move(inside));
    }
    for (const Index e : aggregates_touching(model, agents)) {
        CompiledAggregate inside = seen_inside(model, e, position, group_of);
        pay_apart(inside, extra, layers);
        if (inside.layers.empty()) continue;
        for (const Index layer : inside.layers) {
            seen.aggregates_at[layer].push_back(static_cast<Index>(seen.aggregates.size()));
        }
        seen.aggregates.push_back(std::move(inside));
    }
    for (std::size_t m = 0; m < agents.size(); ++m) pay_extra(seen.agents[m], extra[m], layers);
    return seen;
}

double total_of(const CompiledModel& model,
                const std::vector<std::shared_ptr<const Behaviour>>& group_of) {
    double total = 0;
    for (std::size_t i = 0; i < group_of.size(); ++i) {
        // Each group counts once, with its first agent.
        if (at(group_of[i]->agents[0]) == i) total += group_of[i]->own;
    }
    std::vector<const Behaviour*> groups;
    std::vector<double> expected;
    for (std::size_t e = 0; e < model.interactions.size(); ++e) {
        const CompiledInteraction& interaction = model.interactions[e];
        if (interaction.values.empty()) continue;
        groups.clear();
        for (const InteractionMember& member : interaction.members) {
            const Behaviour* group = group_of[at(member.agent)].get();
            if (std::ranges::find(groups, group) == groups.end()) groups.push_back(group);
        }
        expected.clear();
        for (const auto& [stage, value] : interaction.values) expected.push_back(value);
        for (const Behaviour* group : groups) {
            const auto& chance = group->chance_of(static_cast<Index>(e));
            for (std::size_t v = 0; v < expected.size(); ++v) expected[v] *= chance[v];
        }
        for (const double each : expected) total += each;
    }
    std::vector<double> sums;
    for (std::size_t e = 0; e < model.aggregates.size(); ++e) {
        const CompiledAggregate& aggregate = model.aggregates[e];
        groups.clear();
        for (const AggregateMember& member : aggregate.members) {
            const Behaviour* group = group_of[at(member.agent)].get();
            if (std::ranges::find(groups, group) == groups.end()) groups.push_back(group);
        }
        for (std::size_t l = 0; l < aggregate.layers.size(); ++l) {
            sums.assign(1, 1.0);
            for (const Behaviour* group : groups) {
                convolve(sums, (*group->sums_of(static_cast<Index>(e)))[l]);
            }
            total += expected_value(aggregate.table(aggregate.layers[l]), sums);
        }
    }
    return total;
}

}  // namespace coreplan
