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
    const auto holds = [&](std::size_t team, std::size_t member) {
        return std::ranges::find(*teams[team], aggregate.members[member].agent) !=
               teams[team]->end();
    };
    std::vector<std::size_t> present;
    for (std::size_t m = 0; m < aggregate.members.size(); ++m) {
        if (std::ranges::find(among, aggregate.members[m].agent) != among.end()) {
            present.push_back(m);
        }
    }
    SumRoles roles;
    std::ptrdiff_t most = 0;
    for (std::size_t t = 0; t < teams.size(); ++t) {
        const auto count =
            std::ranges::count_if(present, [&](std::size_t m) { return holds(t, m); });
        if (count <= most) continue;
        roles.owner = t;
        most = count;
    }
    for (const std::size_t m : present) {
        if (holds(roles.owner, m)) {
            roles.inside.push_back(m);
            continue;
        }
        std::size_t payer = 0;
        while (!holds(payer, m)) ++payer;
        roles.outside.push_back(m);
        roles.payer.push_back(payer);
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
               const std::vector<Index>& units, const double* price, std::vector<double>& rewards) {
    for (std::size_t l = 0; l < aggregate.layers.size(); ++l) {
        const Index layer = aggregate.layers[l];
        for (Index a = agent.action_begin[agent.layer_begin[layer]];
             a < agent.action_begin[agent.layer_begin[layer + 1]]; ++a) {
            rewards[a] += price[l] * units[a];
        }
    }
}

}  // namespace coreplan
