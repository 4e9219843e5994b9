#include "engine/sum_prices.hpp"

#include <algorithm>

namespace coreplan {

SumMembers members_of(const CompiledModel& model, const CompiledAggregate& aggregate,
                      Monitor& monitor) {
    SumMembers members;
    for (const AggregateMember& member : aggregate.members) {
        const CompiledAgent& agent = model.agents[at(member.agent)];
        auto& units = members.units.emplace_back(agent.action_reward.size(), 0);
        auto& most = members.most.emplace_back();
        for (const Index layer : aggregate.layers) {
            Index highest = 0;
            for (Index a = agent.action_begin[agent.layer_begin[layer]];
                 a < agent.action_begin[agent.layer_begin[layer + 1]]; ++a) {
                units[a] = model.units(member, agent.action_after[a]);
                highest = std::max(highest, units[a]);
            }
            most.push_back(highest);
        }
        monitor.tick_or_throw(agent.action_reward.size());
    }
    return members;
}

SumRoles roles_of(const CompiledAggregate& aggregate, std::span<const AgentId> among,
                  const std::vector<const std::vector<AgentId>*>& teams) {
    const std::size_t n = aggregate.members.size();
    const auto member = [&](AgentId who) {  // n if it is not one that takes part
        const auto found =
            std::ranges::lower_bound(aggregate.members, who, {}, &AggregateMember::agent);
        const bool takes_part = found != aggregate.members.end() && found->agent == who &&
                                std::ranges::binary_search(among, who);
        return takes_part ? static_cast<std::size_t>(found - aggregate.members.begin()) : n;
    };
    SumRoles roles;
    std::size_t most = 0;
    std::vector<std::size_t> first(n, teams.size());  // team with the member
    for (std::size_t t = 0; t < teams.size(); ++t) {
        std::size_t count = 0;
        for (const AgentId who : *teams[t]) {
            const std::size_t m = member(who);
            if (m == n) continue;
            ++count;
            first[m] = std::min(first[m], t);
        }
        if (count <= most) continue;
        roles.owner = t;
        most = count;
    }
    if (most == 0) return roles;
    std::vector<bool> inside(n, false);
    for (const AgentId who : *teams[roles.owner]) {
        if (member(who) < n) inside[member(who)] = true;
    }
    for (std::size_t m = 0; m < n; ++m) {
        if (inside[m]) {
            roles.inside.push_back(m);
        } else if (first[m] < teams.size()) {
            roles.outside.push_back(m);
            roles.payer.push_back(first[m]);
        }
    }
    return roles;
}

// A window of sums, from x to x + others, goes over the values.
void worth_of_sums(std::span<const double> values, double price, std::size_t mine,
                   std::size_t others, double* worth, Index* bought) {
    std::vector<std::size_t> open;  // the window's candidates, worse ones later
    std::size_t first = 0;
    std::size_t next = 0;
    const auto shifted = [&](std::size_t z) { return values[z] - price * static_cast<double>(z); };
    for (std::size_t x = 0; x <= mine; ++x) {
        for (; next <= x + others; ++next) {
            while (open.size() > first && shifted(open.back()) < shifted(next)) open.pop_back();
            open.push_back(next);
        }
        while (open[first] < x) ++first;
        const std::size_t z = open[first];
        worth[x] = values[z] - price * static_cast<double>(z - x);
        bought[x] = static_cast<Index>(z - x);
    }
}

void pay_units(const CompiledAggregate& aggregate, const CompiledAgent& agent,
               const std::vector<Index>& units, const double* price, std::span<double> rewards) {
    for (std::size_t l = 0; l < aggregate.layers.size(); ++l) {
        const Index layer = aggregate.layers[l];
        for (Index a = agent.action_begin[agent.layer_begin[layer]];
             a < agent.action_begin[agent.layer_begin[layer + 1]]; ++a) {
            rewards[a] += price[l] * units[a];
        }
    }
}

}  // namespace coreplan
