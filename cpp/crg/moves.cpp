#include "crg/moves.hpp"

#include <algorithm>
#include <map>

#include "support/sequence_pool.hpp"

namespace coreplan {

namespace {

// Per used condition and index: whether an optional list contains the index.
std::vector<std::vector<bool>> masks(const std::vector<const Condition*>& conditions,
                                     std::optional<std::vector<Index>> Condition::* part,
                                     std::size_t size) {
    std::vector<std::vector<bool>> result;
    for (const Condition* condition : conditions) {
        const auto& list = condition->*part;
        std::vector<bool>& mask = result.emplace_back(size, !list.has_value());
        if (list) {
            for (const Index index : *list) mask[index] = true;
        }
    }
    return result;
}

// The set of conditions whose part matches, for every index; equal sets get equal numbers.
std::vector<Index> set_numbers(const std::vector<std::vector<bool>>& part, std::size_t size,
                               SequencePool& pool) {
    std::vector<Index> numbers;
    std::vector<SequencePool::Word> members;
    for (std::size_t index = 0; index < size; ++index) {
        members.clear();
        for (std::size_t c = 0; c < part.size(); ++c) {
            if (part[c][index]) members.push_back(c);
        }
        numbers.push_back(pool.intern(members).id);
    }
    return numbers;
}

}  // namespace

MoveTypes::MoveTypes(const Description& description, AgentId id,
                     const std::vector<Entry>& entries) {
    const AgentDescription& agent = description.agents[at(id)];
    action_count_ = agent.action_count;
    number_.assign(agent.conditions.size(), kNotUsed);
    std::vector<const Condition*> used;
    for (const Entry& entry : entries) {
        for (const Member& member : entry.members) {
            if (member.agent != id || number_[member.condition] != kNotUsed) continue;
            number_[member.condition] = count_++;
            used.push_back(&agent.conditions[member.condition]);
        }
    }
    const auto actions = masks(used, &Condition::actions, agent.action_count);
    action_has_.resize(static_cast<std::size_t>(agent.action_count) * count_);
    for (Index a = 0; a < agent.action_count; ++a) {
        for (Index c = 0; c < count_; ++c) action_has_[a * count_ + c] = actions[c][a];
    }

    SequencePool state_pool;
    SequencePool next_pool;
    const auto state_set = set_numbers(masks(used, &Condition::states, agent.state_count),
                                       agent.state_count, state_pool);
    const auto next_set = set_numbers(masks(used, &Condition::nexts, agent.state_count),
                                      agent.state_count, next_pool);

    // A pair's type is the intersection of its two sets.
    SequencePool pair_pool;
    std::map<std::pair<Index, Index>, Index> known;
    std::vector<SequencePool::Word> common;
    const auto type_of = [&](Index from_set, Index to_set) {
        const auto [place, is_new] = known.try_emplace({from_set, to_set}, 0);
        if (is_new) {
            common.clear();
            std::ranges::set_intersection(state_pool[from_set], next_pool[to_set],
                                          std::back_inserter(common));
            place->second = pair_pool.intern(common).id;
        }
        return place->second;
    };
    for (Index state = 0; state < agent.state_count; ++state) {
        for (Index c = agent.choice_begin[state]; c < agent.choice_begin[state + 1]; ++c) {
            for (Index o = agent.outcome_begin[c]; o < agent.outcome_begin[c + 1]; ++o) {
                pair_type_.push_back(type_of(state_set[state], next_set[agent.outcome_next[o]]));
                action_.push_back(agent.choice_action[c]);
            }
        }
    }
    for (std::uint32_t from = 0; from < state_pool.size(); ++from) {
        for (std::uint32_t to = 0; to < next_pool.size(); ++to) type_of(from, to);
    }
    for (std::uint32_t type = 0; type < pair_pool.size(); ++type) {
        const auto members = pair_pool[type];
        auto& list = pair_conditions_.emplace_back();
        for (const auto member : members) list.push_back(static_cast<Index>(member));
    }
    pair_has_.assign(pair_conditions_.size() * count_, false);
    for (std::size_t type = 0; type < pair_conditions_.size(); ++type) {
        for (const Index c : pair_conditions_[type]) pair_has_[type * count_ + c] = true;
    }
}

std::vector<Move> moves_at(const LocalGraph& graph, const MoveTypes& types, Index layer) {
    std::vector<Move> moves;
    for (Index node = graph.layer_begin[layer]; node < graph.layer_begin[layer + 1]; ++node) {
        for (Index c = graph.choice_begin[node]; c < graph.choice_begin[node + 1]; ++c) {
            for (Index arc = graph.arc_begin[c]; arc < graph.arc_begin[c + 1]; ++arc) {
                const TransitionId transition = graph.arc_base[arc];
                moves.push_back({node, static_cast<Index>(at(graph.arc_next[arc])),
                                 types.action_of(transition), types.pair_type(transition),
                                 transition});
            }
        }
    }
    return moves;
}

}  // namespace coreplan
