#include "engine/team_model.hpp"

#include <algorithm>
#include <map>
#include <numeric>

namespace coreplan {

namespace {

// Groups the after-states that lead from common states, in the order of their first states.
void order_pieces(Mode& mode, const std::vector<Index>& action_begin,
                  const std::vector<Index>& after) {
    std::vector<std::vector<Mode::User>> users(mode.afters);
    for (Index s = 0; s < mode.states; ++s) {
        for (Index a = action_begin[s]; a < action_begin[s + 1]; ++a) {
            users[after[a]].push_back({s, a, a - action_begin[s], false});
        }
    }
    std::vector<bool> seen_state(mode.states, false);
    std::vector<bool> seen_after(mode.afters, false);
    std::vector<bool> written(mode.states, false);
    std::vector<Index> waiting;
    mode.piece_begin.assign(1, 0);
    mode.user_begin.assign(1, 0);
    for (Index start = 0; start < mode.states; ++start) {
        if (seen_state[start]) continue;
        seen_state[start] = true;
        waiting.assign(1, start);
        while (!waiting.empty()) {
            const Index s = waiting.back();
            waiting.pop_back();
            for (Index a = action_begin[s]; a < action_begin[s + 1]; ++a) {
                const Index f = after[a];
                if (seen_after[f]) continue;
                seen_after[f] = true;
                mode.order.push_back(f);
                for (Mode::User user : users[f]) {
                    user.first = !written[user.state];
                    written[user.state] = true;
                    mode.user.push_back(user);
                    if (!seen_state[user.state]) {
                        seen_state[user.state] = true;
                        waiting.push_back(user.state);
                    }
                }
                mode.user_begin.push_back(static_cast<Index>(mode.user.size()));
            }
        }
        mode.piece_begin.push_back(static_cast<Index>(mode.order.size()));
    }
}

void order_slots(Mode& mode, const std::vector<Index>& action_begin,
                 const std::vector<Index>& after) {
    std::vector<Index> at(mode.states);
    std::iota(at.begin(), at.end(), Index{0});
    std::ranges::stable_sort(
        at, [&](Index a, Index b) { return mode.action_count[a] > mode.action_count[b]; });
    mode.rank_begin.assign(1, 0);
    std::vector<std::vector<Index>> slots(mode.afters);
    for (Index rank = 0; mode.states > 0 && rank < mode.action_count[at[0]]; ++rank) {
        for (const Index s : at) {
            if (mode.action_count[s] <= rank) break;
            const Index a = action_begin[s] + rank;
            const Index f = after[a];
            slots[f].push_back(static_cast<Index>(mode.slot_action.size()));
            const Index o = mode.outcome_begin[f];
            if (mode.outcome_begin[f + 1] - o > 1) {
                mode.spread.push_back(static_cast<Index>(mode.slot_action.size()));
            }
            mode.slot_action.push_back(a);
            mode.slot_next.push_back(mode.next[o]);
            mode.slot_probability.push_back(mode.probability[o]);
        }
        mode.rank_begin.push_back(static_cast<Index>(mode.slot_action.size()));
    }
    mode.spread_begin.assign(1, 0);
    for (const Index slot : mode.spread) {
        const Index f = after[mode.slot_action[slot]];
        for (Index o = mode.outcome_begin[f] + 1; o < mode.outcome_begin[f + 1]; ++o) {
            mode.spread_next.push_back(mode.next[o]);
            mode.spread_probability.push_back(mode.probability[o]);
        }
        mode.spread_begin.push_back(static_cast<Index>(mode.spread_next.size()));
    }
    mode.after_slot_begin.assign(1, 0);
    for (const auto& mine : slots) {
        mode.after_slot.insert(mode.after_slot.end(), mine.begin(), mine.end());
        mode.after_slot_begin.push_back(static_cast<Index>(mode.after_slot.size()));
    }
    if (!std::ranges::is_sorted(at)) mode.state_at = std::move(at);
}

Mode make_mode(const CompiledAgent& agent, Index layer) {
    Mode mode;
    mode.states = static_cast<Index>(agent.layer_size(layer));
    mode.nexts = static_cast<Index>(agent.layer_size(layer + 1));
    mode.class_first = agent.layer_begin[layer];
    mode.action_first = agent.action_begin[mode.class_first];
    mode.after_first = agent.after_layer_begin[layer];
    mode.afters = agent.after_layer_begin[layer + 1] - mode.after_first;
    std::vector<Index> action_begin(1, 0);
    for (Index s = 0; s < mode.states; ++s) {
        action_begin.push_back(agent.action_begin[mode.class_first + s + 1] - mode.action_first);
        mode.action_count.push_back(action_begin[s + 1] - action_begin[s]);
    }
    std::vector<Index> after;
    for (Index a = 0; a < action_begin.back(); ++a) {
        after.push_back(static_cast<Index>(at(agent.action_after[mode.action_first + a])) -
                        mode.after_first);
    }
    const Index outcome_first = agent.outcome_begin[mode.after_first];
    const Index next_first = agent.layer_begin[layer + 1];
    for (Index f = 0; f <= mode.afters; ++f) {
        mode.outcome_begin.push_back(agent.outcome_begin[mode.after_first + f] - outcome_first);
    }
    for (Index o = 0; o < mode.outcome_begin.back(); ++o) {
        mode.next.push_back(static_cast<Index>(at(agent.outcome_next[outcome_first + o])) -
                            next_first);
        mode.probability.push_back(agent.outcome_probability[outcome_first + o]);
    }
    order_pieces(mode, action_begin, after);
    order_slots(mode, action_begin, after);
    return mode;
}

// Per after-state of a layer: the chances of one signal, where there are any.
std::vector<std::pair<Index, double>> chances(const CompiledAgent& agent, Index layer,
                                              SignalId signal) {
    std::vector<std::pair<Index, double>> found;
    for (Index f = agent.after_layer_begin[layer]; f < agent.after_layer_begin[layer + 1]; ++f) {
        const double chance = agent.chance(f, signal);
        if (chance != 0) found.emplace_back(f - agent.after_layer_begin[layer], chance);
    }
    return found;
}

// One interaction of a pair at one layer.
struct PairChances {
    double value;
    std::vector<std::pair<Index, double>> rows;
    std::vector<std::pair<Index, double>> columns;
};

std::vector<PairChances> chances_of(const CompiledModel& model,
                                    const std::vector<Index>& interactions, Index layer,
                                    const PairBlock& block) {
    std::vector<PairChances> found;
    for (const Index e : interactions) {
        const CompiledInteraction& interaction = model.interactions[e];
        const double value = interaction.value_at(model.first_stage + layer);
        if (value == 0) continue;
        const bool straight = interaction.members[0].agent == block.first;
        found.push_back({value,
                         chances(model.agents[at(block.first)], layer,
                                 interaction.members[straight ? 0 : 1].signal),
                         chances(model.agents[at(block.second)], layer,
                                 interaction.members[straight ? 1 : 0].signal)});
    }
    return found;
}

constexpr double kEntry = 2 * (sizeof(Index) + sizeof(double));  // of a block, with room to grow

// Pairs of after-states that interact, at most.
double count_entries(const std::vector<PairChances>& chances) {
    double entries = 0;
    for (const PairChances& each : chances) {
        entries += static_cast<double>(each.rows.size() * each.columns.size());
    }
    return entries;
}

// Interactions by pair of positions, in order.
std::map<std::pair<std::size_t, std::size_t>, std::vector<Index>> by_pair(
    const CompiledModel& model, const std::vector<AgentId>& agents) {
    std::map<std::pair<std::size_t, std::size_t>, std::vector<Index>> pairs;
    for (std::size_t e = 0; e < model.interactions.size(); ++e) {
        const auto& members = model.interactions[e].members;
        if (members.size() != 2 || model.interactions[e].values.empty()) continue;
        std::size_t one = position_in(agents, members[0].agent);
        std::size_t other = position_in(agents, members[1].agent);
        if (one == agents.size() || other == agents.size()) continue;
        if (one > other) std::swap(one, other);
        pairs[{one, other}].push_back(static_cast<Index>(e));
    }
    return pairs;
}

}  // namespace

AgentModes make_modes(const CompiledModel& model, AgentId agent) {
    AgentModes modes;
    for (Index layer = 0; layer < model.layer_count(); ++layer) {
        modes.push_back(make_mode(model.agents[at(agent)], layer));
    }
    return modes;
}

std::uint64_t modes_work(const CompiledModel& model, AgentId agent) {
    return cost::kMode * model.layer_count() +
           cost::kModeAction * model.agents[at(agent)].action_reward.size();
}

double modes_bytes(const CompiledModel& model, AgentId who) {
    const CompiledAgent& agent = model.agents[at(who)];
    const auto count = [](std::size_t size) { return static_cast<double>(size); };
    constexpr double kPerAction = sizeof(Mode::User) + 4 * sizeof(Index) + sizeof(double);
    constexpr double kPerAfter = 5 * sizeof(Index);
    constexpr double kPerOutcome = 2 * (sizeof(Index) + sizeof(double));
    return 2 * (count(agent.class_count()) * 2 * sizeof(Index) +
                count(agent.action_reward.size()) * kPerAction +
                count(agent.after_label.size()) * kPerAfter +
                count(agent.outcome_next.size()) * kPerOutcome) +
           count(model.layer_count()) * sizeof(Mode);
}

double prepared_bytes(const CompiledModel& model, const std::vector<AgentId>& agents) {
    double bytes = 0;
    for (const AgentId agent : agents) bytes += modes_bytes(model, agent);
    for (const auto& [who, interactions] : by_pair(model, agents)) {
        PairBlock block;
        block.first = agents[who.first];
        block.second = agents[who.second];
        bytes +=
            static_cast<double>(model.agents[at(block.first)].after_label.size()) * sizeof(Index);
        for (Index layer = 0; layer < model.layer_count(); ++layer) {
            bytes += kEntry * count_entries(chances_of(model, interactions, layer, block));
        }
    }
    return bytes;
}

std::vector<PairBlock> make_pair_blocks(const CompiledModel& model,
                                        const std::vector<AgentId>& agents, Reservation& memory) {
    std::vector<PairBlock> blocks;
    for (const auto& [who, interactions] : by_pair(model, agents)) {
        PairBlock& block = blocks.emplace_back();
        block.first = agents[who.first];
        block.second = agents[who.second];
        block.row_begin.assign(1, 0);
        const CompiledAgent& first = model.agents[at(block.first)];
        const CompiledAgent& second = model.agents[at(block.second)];
        std::vector<double> row;  // dense, zero but for what was touched
        std::vector<Index> touched;
        for (Index layer = 0; layer < model.layer_count(); ++layer) {
            const auto found = chances_of(model, interactions, layer, block);
            row.resize(std::max<std::size_t>(
                row.size(), second.after_layer_begin[layer + 1] - second.after_layer_begin[layer]));
            const Index afters =
                first.after_layer_begin[layer + 1] - first.after_layer_begin[layer];
            const double entries = count_entries(found);
            memory.monitor().tick(cost::kPairLayer +
                                  cost::kPairEntry * static_cast<std::uint64_t>(entries));
            const std::size_t before = block.column.size();
            memory.take(entries * kEntry + afters * sizeof(Index),
                        "the rewards of pairs of agents");
            std::vector<std::size_t> at(found.size(), 0);  // rows are in order
            for (Index f = 0; f < afters; ++f) {
                touched.clear();
                for (std::size_t e = 0; e < found.size(); ++e) {
                    const PairChances& each = found[e];
                    if (at[e] == each.rows.size() || each.rows[at[e]].first != f) continue;
                    const double chance = each.value * each.rows[at[e]++].second;
                    for (const auto& [column, other] : each.columns) {
                        if (row[column] == 0) touched.push_back(column);
                        row[column] += chance * other;
                    }
                }
                // What cancels out exactly may be listed twice.
                std::ranges::sort(touched);
                touched.erase(std::ranges::unique(touched).begin(), touched.end());
                for (const Index column : touched) {
                    block.column.push_back(column);
                    block.value.push_back(row[column]);
                    row[column] = 0;
                }
                block.row_begin.push_back(static_cast<Index>(block.column.size()));
            }
            memory.give_back((entries - static_cast<double>(block.column.size() - before)) *
                             kEntry);
        }
        block.row_begin.shrink_to_fit();
        block.column.shrink_to_fit();
        block.value.shrink_to_fit();
        memory.give_back(
            static_cast<double>(block.column.size() * (sizeof(Index) + sizeof(double))));
    }
    return blocks;
}

std::vector<Index> wide_interactions(const CompiledModel& model,
                                     const std::vector<AgentId>& agents) {
    std::vector<Index> found;
    for (std::size_t e = 0; e < model.interactions.size(); ++e) {
        const CompiledInteraction& interaction = model.interactions[e];
        if (interaction.members.size() < 3 || interaction.values.empty()) continue;
        const bool inside =
            std::ranges::all_of(interaction.members, [&](const InteractionMember& member) {
                return position_in(agents, member.agent) < agents.size();
            });
        if (inside) found.push_back(static_cast<Index>(e));
    }
    return found;
}

std::vector<Index> aggregates_among(const CompiledModel& model,
                                    const std::vector<AgentId>& agents) {
    std::vector<Index> found;
    for (std::size_t e = 0; e < model.aggregates.size(); ++e) {
        const CompiledAggregate& aggregate = model.aggregates[e];
        const bool inside =
            std::ranges::all_of(aggregate.members, [&](const AggregateMember& member) {
                return position_in(agents, member.agent) < agents.size();
            });
        if (inside && !aggregate.layers.empty()) found.push_back(static_cast<Index>(e));
    }
    return found;
}

std::vector<Index> aggregates_touching(const CompiledModel& model,
                                       const std::vector<AgentId>& agents) {
    std::vector<Index> found;
    for (std::size_t e = 0; e < model.aggregates.size(); ++e) {
        const CompiledAggregate& aggregate = model.aggregates[e];
        const bool meets =
            std::ranges::any_of(aggregate.members, [&](const AggregateMember& member) {
                return position_in(agents, member.agent) < agents.size();
            });
        if (meets && !aggregate.layers.empty()) found.push_back(static_cast<Index>(e));
    }
    return found;
}

std::size_t units_of(const CompiledModel& model, const CompiledAggregate& aggregate,
                     const std::vector<AgentId>& agents, std::span<const AfterId> afters) {
    std::size_t units = 0;
    for (const AggregateMember& member : aggregate.members) {
        const std::size_t m = position_in(agents, member.agent);
        if (m < agents.size()) units += model.units(member, afters[m]);
    }
    return units;
}

}  // namespace coreplan
