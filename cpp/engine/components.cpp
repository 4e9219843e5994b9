#include "engine/components.hpp"

#include <algorithm>
#include <numeric>

namespace coreplan {

std::vector<std::vector<AgentId>> components(const CompiledModel& model) {
    const std::size_t n = model.agents.size();
    std::vector<std::size_t> leader(n);
    std::iota(leader.begin(), leader.end(), std::size_t{0});
    const auto find = [&](std::size_t i) {
        while (leader[i] != i) i = leader[i] = leader[leader[i]];
        return i;
    };
    for (const CompiledInteraction& interaction : model.interactions) {
        if (interaction.values.empty()) continue;
        for (const InteractionMember& member : interaction.members) {
            const std::size_t one = find(at(interaction.members[0].agent));
            const std::size_t other = find(at(member.agent));
            leader[std::max(one, other)] = std::min(one, other);
        }
    }
    for (const CompiledAggregate& aggregate : model.aggregates) {
        if (aggregate.layers.empty()) continue;
        for (const AggregateMember& member : aggregate.members) {
            const std::size_t one = find(at(aggregate.members[0].agent));
            const std::size_t other = find(at(member.agent));
            leader[std::max(one, other)] = std::min(one, other);
        }
    }
    std::vector<std::vector<AgentId>> groups;
    std::vector<std::size_t> group_of(n, 0);
    for (std::size_t i = 0; i < n; ++i) {
        const std::size_t root = find(i);
        if (root == i) {
            group_of[i] = groups.size();
            groups.emplace_back();
        }
        groups[group_of[root]].push_back(as<AgentId>(i));
    }
    return groups;
}

CompiledModel restrict_to(const CompiledModel& model, const std::vector<AgentId>& agents) {
    CompiledModel part;
    part.first_stage = model.first_stage;
    part.horizon = model.horizon;
    part.unit_mass = model.unit_mass;
    part.constant_at.assign(model.layer_count(), 0.0);
    part.interactions_at.resize(model.layer_count());
    part.values_at.resize(model.layer_count());
    for (const AgentId agent : agents) part.agents.push_back(model.agents[at(agent)]);
    for (const CompiledInteraction& interaction : model.interactions) {
        CompiledInteraction moved{{}, interaction.values};
        for (const InteractionMember& member : interaction.members) {
            const auto where = std::ranges::find(agents, member.agent);
            if (where == agents.end()) break;
            moved.members.push_back(
                {as<AgentId>(static_cast<std::size_t>(where - agents.begin())), member.signal});
        }
        if (moved.members.size() < interaction.members.size()) continue;
        std::ranges::sort(moved.members, {}, &InteractionMember::agent);
        for (const auto& [stage, value] : moved.values) {
            part.interactions_at[stage - part.first_stage].push_back(
                static_cast<Index>(part.interactions.size()));
            part.values_at[stage - part.first_stage].push_back(value);
        }
        part.interactions.push_back(std::move(moved));
    }
    part.aggregates_at.resize(model.layer_count());
    for (const CompiledAggregate& aggregate : model.aggregates) {
        CompiledAggregate moved{
            {}, aggregate.sums, aggregate.values, aggregate.layers, aggregate.number};
        for (const AggregateMember& member : aggregate.members) {
            const auto where = std::ranges::find(agents, member.agent);
            if (where == agents.end()) break;
            moved.members.push_back(
                {as<AgentId>(static_cast<std::size_t>(where - agents.begin())), member.units});
        }
        if (moved.members.size() < aggregate.members.size()) continue;
        std::ranges::sort(moved.members, {}, &AggregateMember::agent);
        for (const Index layer : moved.layers) {
            part.aggregates_at[layer].push_back(static_cast<Index>(part.aggregates.size()));
        }
        part.aggregates.push_back(std::move(moved));
    }
    return part;
}

}  // namespace coreplan
