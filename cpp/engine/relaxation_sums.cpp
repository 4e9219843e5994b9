// Aggregates in a relaxation: who owns them, what others' units are worth, and their prices.
#include <algorithm>
#include <cmath>

#include "engine/relaxation.hpp"

namespace coreplan {

// What members add, per action; and a block of prices for each aggregate.
void Relaxation::make_sums(Monitor& monitor) {
    for (const CompiledAggregate& aggregate : model_.aggregates) {
        for (const AggregateMember& member : aggregate.members) {
            const CompiledAgent& agent = model_.agents[at(member.agent)];
            model_memory_.take(
                static_cast<double>(agent.action_reward.size() + aggregate.layers.size()) *
                    sizeof(Index),
                "what agents add to sums");
        }
        sums_.push_back(members_of(model_, aggregate, monitor));
        blocks_.emplace_back().total.assign(aggregate.layers.size(), 0.0);
    }
}

// The memory of prices and of what sums are worth to owners, at most.
double Relaxation::sum_bytes(const std::vector<std::vector<AgentId>>& groups) const {
    double bytes = 0;
    for (std::size_t g = 0; g < sums_.size(); ++g) {
        const CompiledAggregate& aggregate = model_.aggregates[g];
        const auto layers = static_cast<double>(aggregate.layers.size());
        double members = 0;
        for (const auto& group : groups) {
            const bool meets = std::ranges::any_of(aggregate.members, [&](const auto& member) {
                return std::ranges::binary_search(group, member.agent);
            });
            if (meets) ++members;
        }
        // Per price: centre, trial, sum and place, for each cluster; per sum its worth, the units
        // bought and, for each thread, a chance.
        bytes += layers * (members * (sizeof(std::size_t) + 3 * sizeof(double)) +
                           static_cast<double>(aggregate.sums) *
                               (sizeof(double) + sizeof(Index) +
                                static_cast<double>(options_.threads) * 2 * sizeof(double)));
    }
    return bytes;
}

void Relaxation::place_sums() {
    owner_.assign(sums_.size(), clusters_.size());
    for (std::size_t g = 0; g < sums_.size(); ++g) {
        if (!model_.aggregates[g].layers.empty()) place_sum(g);
    }
}

void Relaxation::place_sum(std::size_t g) {
    const CompiledAggregate& aggregate = model_.aggregates[g];
    std::vector<std::size_t> near;  // clusters with a member
    for (const AggregateMember& member : aggregate.members) {
        const auto& with = blocks_[at(member.agent)].clusters;
        near.insert(near.end(), with.begin(), with.end());
    }
    std::ranges::sort(near);
    near.erase(std::ranges::unique(near).begin(), near.end());
    std::vector<const std::vector<AgentId>*> teams;
    for (const std::size_t c : near) teams.push_back(&clusters_[c].agents);
    SumRoles roles = roles_of(aggregate, everyone_, teams);
    roles.owner = near[roles.owner];
    for (std::size_t& payer : roles.payer) payer = near[payer];
    const std::size_t block = block_of_sum(g);
    const auto attach = [&](std::size_t c) {
        clusters_[c].blocks.push_back(block);
        blocks_[block].clusters.push_back(c);
        return clusters_[c].blocks.size() - 1;
    };
    std::size_t width = 1;
    for (std::size_t l = 0; l < aggregate.layers.size(); ++l) {
        std::size_t most = 1;
        for (const std::size_t m : roles.inside) most += sums_[g].most[m][l];
        width = std::max(width, most);
    }
    const auto number = static_cast<Index>(g);
    owner_[g] = roles.owner;
    if (!roles.priced()) {
        clusters_[roles.owner].owned.push_back({number, ~std::size_t{0}, width, {}, {}});
        return;
    }
    clusters_[roles.owner].owned.push_back({number, attach(roles.owner), width, {}, {}});
    for (std::size_t k = 0; k < roles.outside.size(); ++k) {
        const std::size_t c = roles.payer[k];
        auto& paid = clusters_[c].paid;
        if (paid.empty() || paid.back().aggregate != number) {
            paid.push_back({number, attach(c), {}});
        }
        paid.back().members.push_back(roles.outside[k]);
    }
}

// What sums of its agents are worth to an owner at the trial's prices, if others add what suits it.
void Relaxation::value_owned(Cluster& cluster, Monitor& monitor) const {
    for (Owned& owned : cluster.owned) {
        if (owned.block >= cluster.blocks.size()) continue;
        const CompiledAggregate& aggregate = model_.aggregates[owned.aggregate];
        const SumMembers& members = sums_[owned.aggregate];
        const std::size_t layers = aggregate.layers.size();
        owned.values.assign(layers * owned.width, 0.0);
        owned.bought.assign(layers * owned.width, 0);
        for (std::size_t l = 0; l < layers; ++l) {
            std::size_t mine = 0;
            std::size_t others = 0;
            for (std::size_t m = 0; m < aggregate.members.size(); ++m) {
                const bool inside =
                    position_in(cluster.agents, aggregate.members[m].agent) < cluster.agents.size();
                (inside ? mine : others) += members.most[m][l];
            }
            worth_of_sums(aggregate.table(aggregate.layers[l]),
                          cluster.trial[cluster.begin[owned.block] + l], mine, others,
                          owned.values.data() + l * owned.width,
                          owned.bought.data() + l * owned.width);
            monitor.tick(mine + others + aggregate.members.size());
        }
    }
}

// Adds what members get for their units to their own rewards.
void Relaxation::pay_members(const Cluster& cluster, Team& team, Worker& worker) const {
    worker.rewards.resize(std::max(worker.rewards.size(), cluster.agents.size()));
    std::vector<bool> changed(cluster.agents.size(), false);
    for (const Paid& paid : cluster.paid) {
        const CompiledAggregate& aggregate = model_.aggregates[paid.aggregate];
        const double* price = cluster.trial.data() + cluster.begin[paid.block];
        for (const std::size_t member : paid.members) {
            const std::size_t m = position_in(cluster.agents, aggregate.members[member].agent);
            const CompiledAgent& agent = model_.agents[at(cluster.agents[m])];
            std::vector<double>& rewards = worker.rewards[m];
            if (!changed[m]) {
                rewards.assign(team.rewards[m], team.rewards[m] + agent.action_reward.size());
                team.rewards[m] = rewards.data();
                changed[m] = true;
            }
            pay_units(aggregate, agent, sums_[paid.aggregate].units[member], price, rewards);
        }
    }
}

// How many units a cluster sells, or minus those that it buys, per layer: what its value gains with
// the prices in a block.
void Relaxation::count_units(const Cluster& cluster, const Team& team, const Worker& worker,
                             std::vector<double>& units, std::size_t block) const {
    units.assign(blocks_[cluster.blocks[block]].total.size(), 0.0);
    for (std::size_t g = 0; g < cluster.owned.size(); ++g) {
        const Owned& owned = cluster.owned[g];
        if (owned.block != block) continue;
        const Chances& chances = worker.occupancy.sums[g];
        for (std::size_t k = 0; k < chances.at.size(); ++k) {
            units[chances.at[k] / owned.width] -= chances.chance[k] * owned.bought[chances.at[k]];
        }
    }
    for (const Paid& paid : cluster.paid) {
        if (paid.block != block) continue;
        const CompiledAggregate& aggregate = model_.aggregates[paid.aggregate];
        for (const std::size_t member : paid.members) {
            const AgentId who = aggregate.members[member].agent;
            const CompiledAgent& agent = model_.agents[at(who)];
            const Chances& chances = worker.occupancy.actions[position_in(team.agents, who)];
            std::size_t k = 0;
            for (std::size_t l = 0; l < units.size(); ++l) {
                const Index layer = aggregate.layers[l];
                const Index begin = agent.action_begin[agent.layer_begin[layer]];
                const Index end = agent.action_begin[agent.layer_begin[layer + 1]];
                while (k < chances.at.size() && chances.at[k] < begin) ++k;
                for (; k < chances.at.size() && chances.at[k] < end; ++k) {
                    units[l] +=
                        chances.chance[k] * sums_[paid.aggregate].units[member][chances.at[k]];
                }
            }
        }
    }
}

// The most that what is bought and sold at the centre's prices can add up to, either way.
double Relaxation::most_priced(const Cluster& cluster) const {
    double total = 0;
    for (const Owned& owned : cluster.owned) {
        const CompiledAggregate& aggregate = model_.aggregates[owned.aggregate];
        for (std::size_t l = 0; l < aggregate.layers.size(); ++l) {
            total += size_of(aggregate, aggregate.layers[l]);
            if (owned.block >= cluster.blocks.size()) continue;
            total += std::abs(cluster.centre[cluster.begin[owned.block] + l]) *
                     static_cast<double>(aggregate.sums);
        }
    }
    for (const Paid& paid : cluster.paid) {
        for (std::size_t l = 0; l < model_.aggregates[paid.aggregate].layers.size(); ++l) {
            double units = 0;
            for (const std::size_t m : paid.members) units += sums_[paid.aggregate].most[m][l];
            total += std::abs(cluster.centre[cluster.begin[paid.block] + l]) * units;
        }
    }
    return total;
}

// One more unit is never worth more than the largest step between two sums, nor less than the
// smallest: prices beyond them bound no better, and only make errors of rounding larger.
void Relaxation::limit_prices(std::size_t block, double* prices) const {
    const CompiledAggregate& aggregate = model_.aggregates[block - block_of_sum(0)];
    for (std::size_t l = 0; l < aggregate.layers.size(); ++l) {
        const std::span<const double> values = aggregate.table(aggregate.layers[l]);
        double least = values[1] - values[0];
        double most = least;
        for (std::size_t k = 2; k < values.size(); ++k) {
            least = std::min(least, values[k] - values[k - 1]);
            most = std::max(most, values[k] - values[k - 1]);
        }
        prices[l] = std::clamp(prices[l], least, most);
    }
}

std::vector<double> Relaxation::prices(std::size_t aggregate) const {
    const Block& block = blocks_[block_of_sum(aggregate)];
    if (!block.shared()) return block.total;
    const Cluster& cluster = clusters_[block.clusters[0]];
    const std::size_t x = block_in(cluster, block_of_sum(aggregate));
    const auto from = cluster.centre.begin() + static_cast<std::ptrdiff_t>(cluster.begin[x]);
    return {from, from + static_cast<std::ptrdiff_t>(block.total.size())};
}

// Adds a part of what a member gets for its units to a cluster's share of its own rewards.
void Relaxation::add_units(Cluster& cluster, std::size_t g, std::size_t member, double part,
                           const double* price) {
    const CompiledAggregate& aggregate = model_.aggregates[g];
    const AgentId who = aggregate.members[member].agent;
    if (!blocks_[at(who)].shared()) return;
    const std::size_t m = position_in(cluster.agents, who);
    std::vector<double> scaled(price, price + aggregate.layers.size());
    for (double& each : scaled) each *= part;
    const CompiledAgent& agent = model_.agents[at(who)];
    pay_units(aggregate, agent, sums_[g].units[member], scaled.data(),
              {cluster.centre.data() + cluster.begin[m], agent.action_reward.size()});
}

// Prices stay. What a member was paid has become part of its own rewards, where its cluster went;
// it is taken away again where it is paid from now on, and where the owner now has the member.
void Relaxation::take_over_prices(const Layout& old) {
    for (std::size_t g = 0; g < sums_.size(); ++g) {
        const std::size_t b = block_of_sum(g);
        if (old.clusters_of[b].empty()) continue;
        const Cluster& from = old.clusters[old.clusters_of[b][0]];
        const double* price = from.centre.data() + from.begin[block_in(from, b)];
        for (const std::size_t c : blocks_[b].clusters) {
            std::copy_n(price, blocks_[b].total.size(),
                        clusters_[c].centre.data() + clusters_[c].begin[block_in(clusters_[c], b)]);
            for (const Paid& paid : clusters_[c].paid) {
                if (paid.aggregate != g) continue;
                for (const std::size_t m : paid.members) add_units(clusters_[c], g, m, -1, price);
            }
        }
        Cluster& owner = clusters_[owner_[g]];
        for (const std::size_t c : old.clusters_of[b]) {
            for (const Paid& paid : old.clusters[c].paid) {
                if (paid.aggregate != g) continue;
                for (const std::size_t m : paid.members) {
                    const AgentId who = model_.aggregates[g].members[m].agent;
                    if (position_in(owner.agents, who) < owner.agents.size()) {
                        add_units(owner, g, m, -1, price);
                    }
                }
            }
        }
    }
}

}  // namespace coreplan
