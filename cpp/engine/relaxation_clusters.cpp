// Which clusters a relaxation has, how rewards are laid out over them, and what memory that takes.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "bounds/independent.hpp"
#include "engine/relaxation.hpp"

namespace coreplan {

namespace {

// Bytes of one share of a cluster: where it is, centre, trial and sum.
constexpr double kShareBytes = sizeof(std::size_t) + 3 * sizeof(double);
constexpr double kFlatBytes = 2 * sizeof(double) + 1.0 / 8;
constexpr double kEntryBytes = sizeof(Index) + sizeof(double);  // of a cut, or of an occupancy

// The work of one round on a cluster, about: its table, then the way that its best policy takes,
// which is small as a rule.
double cluster_work(const CompiledModel& model, const std::vector<AgentId>& agents) {
    return kernel_work(model, agents);
}

// Entries of a block that links two agents, and of all of them: with more, rounds become slow.
constexpr double kMostLinked = 20'000;
constexpr double kMostLinks = 1'000'000;
// Work of a cluster that agents without a choice join from the start.
constexpr double kWorkWithPassive = 5e6;

std::vector<AgentId> members_of(const CompiledInteraction& interaction) {
    std::vector<AgentId> who;
    for (const InteractionMember& member : interaction.members) who.push_back(member.agent);
    std::ranges::sort(who);
    return who;
}

// Blocks of nothing for pairs of agents that take part in a wider interaction, one of them at least
// with a choice. What clusters get for the two may depend on both as long as it adds up to nothing.
void add_links(const CompiledModel& model, std::vector<PairBlock>& pairs, Reservation& memory) {
    std::set<std::pair<AgentId, AgentId>> known;
    for (const PairBlock& pair : pairs) known.emplace(pair.first, pair.second);
    double all = 0;
    for (const CompiledInteraction& interaction : model.interactions) {
        if (interaction.values.empty() || interaction.members.size() < 3) continue;
        const std::vector<AgentId> who = members_of(interaction);
        for (std::size_t i = 0; i < who.size(); ++i) {
            for (std::size_t j = i + 1; j < who.size(); ++j) {
                const CompiledAgent& first = model.agents[at(who[i])];
                const CompiledAgent& second = model.agents[at(who[j])];
                if (!first.has_choice() && !second.has_choice()) continue;
                if (!known.emplace(who[i], who[j]).second) continue;
                double entries = 0;
                const auto afters = [](const CompiledAgent& agent, Index layer) {
                    return agent.after_layer_begin[layer + 1] - agent.after_layer_begin[layer];
                };
                for (Index layer = 0; layer < model.layer_count(); ++layer) {
                    entries += static_cast<double>(afters(first, layer)) * afters(second, layer);
                }
                all += entries;
                const double bytes = entries * (sizeof(Index) + sizeof(double)) +
                                     static_cast<double>(first.after_label.size() * sizeof(Index));
                if (entries > kMostLinked || all > kMostLinks || !memory.try_take(bytes)) continue;
                PairBlock& block = pairs.emplace_back();
                block.first = who[i];
                block.second = who[j];
                block.row_begin.assign(1, 0);
                for (Index layer = 0; layer < model.layer_count(); ++layer) {
                    for (Index row = 0; row < afters(first, layer); ++row) {
                        for (Index column = 0; column < afters(second, layer); ++column) {
                            block.column.push_back(column);
                        }
                        block.row_begin.push_back(static_cast<Index>(block.column.size()));
                    }
                }
                block.value.assign(block.column.size(), 0.0);
                memory.monitor().tick(cost::kPairEntry * block.column.size());
            }
        }
    }
}

// Agents without a choice that are part of each agent's wider interactions: what they do is not
// decided by anybody, so clusters that see the same of them are better, and need no shares.
std::vector<std::vector<AgentId>> passive_partners(const CompiledModel& model) {
    std::vector<std::vector<AgentId>> partners(model.agents.size());
    for (const CompiledInteraction& interaction : model.interactions) {
        if (interaction.values.empty() || interaction.members.size() < 3) continue;
        for (const InteractionMember& member : interaction.members) {
            if (model.agents[at(member.agent)].has_choice()) continue;
            for (const InteractionMember& other : interaction.members) {
                if (other.agent != member.agent) partners[at(other.agent)].push_back(member.agent);
            }
        }
    }
    for (auto& each : partners) {
        std::ranges::sort(each);
        each.erase(std::ranges::unique(each).begin(), each.end());
    }
    return partners;
}

// The members of a wider interaction with the passive partners of those that have a choice, as far
// as the cluster stays small.
std::vector<AgentId> with_passive(const CompiledModel& model, std::vector<AgentId> who,
                                  const std::vector<std::vector<AgentId>>& partners) {
    if (who.size() < 3) return who;
    const std::vector<AgentId> members = who;
    for (const AgentId agent : members) {
        if (!model.agents[at(agent)].has_choice()) continue;
        for (const AgentId partner : partners[at(agent)]) {
            if (std::ranges::binary_search(who, partner)) continue;
            std::vector<AgentId> wider = who;
            wider.insert(std::ranges::upper_bound(wider, partner), partner);
            if (cluster_work(model, wider) <= kWorkWithPassive) who = std::move(wider);
        }
    }
    return who;
}

bool contains(const std::vector<AgentId>& outer, const std::vector<AgentId>& inner) {
    return std::ranges::includes(outer, inner);
}

// Groups of agents by agent: finds those around some agents without a look at all of them.
class GroupsOfAgents {
public:
    using Groups = std::vector<const std::vector<AgentId>*>;

    GroupsOfAgents(std::size_t agents, Groups groups) : groups_(std::move(groups)), with_(agents) {
        for (std::size_t g = 0; g < groups_.size(); ++g) {
            for (const AgentId agent : *groups_[g]) with_[at(agent)].push_back(g);
        }
    }

    [[nodiscard]] const std::vector<std::size_t>& with(AgentId agent) const {
        return with_[at(agent)];
    }
    // Those that contain all of these agents, in order.
    [[nodiscard]] std::vector<std::size_t> around(const std::vector<AgentId>& agents) const {
        const AgentId rarest = *std::ranges::min_element(
            agents, {}, [&](AgentId agent) { return with_[at(agent)].size(); });
        std::vector<std::size_t> found;
        for (const std::size_t g : with_[at(rarest)]) {
            if (contains(*groups_[g], agents)) found.push_back(g);
        }
        return found;
    }

private:
    Groups groups_;
    std::vector<std::vector<std::size_t>> with_;
};

GroupsOfAgents::Groups pointers_to(const std::vector<std::vector<AgentId>>& groups) {
    GroupsOfAgents::Groups pointers;
    for (const auto& group : groups) pointers.push_back(&group);
    return pointers;
}

// How many members of an aggregate are among some agents.
std::size_t members_among(const CompiledAggregate& aggregate, const std::vector<AgentId>& agents) {
    return static_cast<std::size_t>(std::ranges::count_if(agents, [&](AgentId agent) {
        return std::ranges::binary_search(aggregate.members, agent, {}, &AggregateMember::agent);
    }));
}

}  // namespace

// What the kernel needs of agents and pairs, and all rewards that may be shared.
void Relaxation::make_blocks(Monitor& monitor) {
    const std::vector<AgentId> everyone = model_.everyone();
    for (const AgentId agent : everyone) {
        const std::vector<double>& rewards = model_.agents[at(agent)].action_reward;
        model_memory_.take(
            modes_bytes(model_, agent) + static_cast<double>(rewards.size()) * sizeof(double),
            "what a relaxation needs of an agent");
        modes_.push_back(make_modes(model_, agent));
        blocks_.emplace_back().total = rewards;
        monitor.tick_or_throw(modes_work(model_, agent));
    }
    pairs_ = make_pair_blocks(model_, everyone, model_memory_);
    add_links(model_, pairs_, model_memory_);
    linked_.resize(everyone.size());
    for (std::size_t p = 0; p < pairs_.size(); ++p) {
        model_memory_.take(static_cast<double>(pairs_[p].value.size()) * sizeof(double),
                           "the rewards of pairs of agents");
        blocks_.emplace_back().total = pairs_[p].value;
        linked_[at(pairs_[p].first)].push_back(p);
        linked_[at(pairs_[p].second)].push_back(p);
    }
    make_sums(monitor);
}

double Relaxation::first_work(const CompiledModel& model) {
    std::set<std::vector<AgentId>> groups;
    const auto partners = passive_partners(model);
    for (const CompiledInteraction& interaction : model.interactions) {
        if (interaction.values.empty()) continue;
        groups.insert(with_passive(model, members_of(interaction), partners));
    }
    double work = 0;
    for (const auto& group : groups) work += cluster_work(model, group);
    return work;
}

// A cluster for every pair and every wider interaction, as far as memory allows.
std::vector<std::vector<AgentId>> Relaxation::first_groups(Monitor& monitor) {
    std::set<std::vector<AgentId>> groups;
    std::set<std::vector<AgentId>> refused;
    double tables = 0;
    double shares = 0;
    for (const Block& block : blocks_)
        shares += static_cast<double>(block.total.size()) * kFlatBytes;
    const auto accept = [&](const std::vector<AgentId>& who) {
        if (groups.contains(who)) return true;
        if (refused.contains(who)) return false;
        const double table = std::max(tables, bytes_of(who));
        const double more = entries_of(who) * (kShareBytes + kEntryBytes);
        if (!monitor.fits(table + shares + more)) {
            refused.insert(who);
            return false;
        }
        tables = table;
        shares += more;
        groups.insert(who);
        return true;
    };
    for (const PairBlock& pair : pairs_) accept({pair.first, pair.second});
    const auto partners = passive_partners(model_);
    for (std::size_t e = 0; e < model_.interactions.size(); ++e) {
        const CompiledInteraction& interaction = model_.interactions[e];
        if (interaction.values.empty()) continue;
        const std::vector<AgentId> who = members_of(interaction);
        if (!accept(with_passive(model_, who, partners)) && !accept(who)) {
            add_coarse(interaction);
        } else if (who.size() > 2) {
            wide_.push_back(static_cast<Index>(e));
        }
    }
    // A cluster inside of another is of no use.
    std::vector<std::vector<AgentId>> kept;
    {
        const std::vector<std::vector<AgentId>> all(groups.begin(), groups.end());
        const GroupsOfAgents index(model_.agents.size(), pointers_to(all));
        for (const auto& group : all) {
            if (index.around(group).size() == 1) kept.push_back(group);
        }
    }
    // An agent without a cluster is one by itself.
    std::vector<bool> covered(model_.agents.size(), false);
    for (const auto& group : kept) {
        for (const AgentId agent : group) covered[at(agent)] = true;
    }
    for (const AgentId agent : everyone_) {
        if (!covered[at(agent)]) kept.push_back({agent});
    }
    return kept;
}

// The memory that all workers need to solve a cluster of these agents.
double Relaxation::bytes_of(const std::vector<AgentId>& agents) const {
    double widest = 1;
    for (Index layer = 0; layer < model_.layer_count(); ++layer) {
        double cells = 1;
        for (const AgentId agent : agents) {
            cells *= static_cast<double>(model_.agents[at(agent)].layer_size(layer));
        }
        widest = std::max(widest, cells);
    }
    // The walk: a mass per joint state, and what is reached; then chances, dense and sparse.
    const double walk =
        2 * widest * sizeof(double) + entries_of(agents) * (sizeof(double) + kEntryBytes);
    return options_.threads *
           (kernel_bytes(model_, agents, {.policy = false, .values = true}) + walk);
}

// Rewards of these agents and of pairs of them.
double Relaxation::entries_of(const std::vector<AgentId>& agents) const {
    double entries = 0;
    for (const AgentId agent : agents) {
        entries += static_cast<double>(blocks_[at(agent)].total.size());
        for (const std::size_t p : linked_[at(agent)]) {
            if (pairs_[p].first != agent) continue;
            if (std::ranges::binary_search(agents, pairs_[p].second)) {
                entries += static_cast<double>(pairs_[p].value.size());
            }
        }
    }
    return entries;
}

// The memory that clusters take for their shares.
double Relaxation::share_bytes(const std::vector<std::vector<AgentId>>& groups) const {
    double bytes = 0;
    std::vector<std::size_t> count(blocks_.size(), 0);
    const auto add = [&](std::size_t b) {
        // The first of several counts when it turns out to be shared.
        const double parts = ++count[b] == 1 ? 0 : count[b] == 2 ? 2 : 1;
        bytes += parts * kShareBytes * static_cast<double>(blocks_[b].total.size());
        if (count[b] == 2) bytes += kFlatBytes * static_cast<double>(blocks_[b].total.size());
    };
    for (const auto& group : groups) {
        for (const AgentId agent : group) {
            add(at(agent));
            for (const std::size_t p : linked_[at(agent)]) {
                if (pairs_[p].first == agent &&
                    std::ranges::binary_search(group, pairs_[p].second)) {
                    add(model_.agents.size() + p);
                }
            }
        }
    }
    return bytes + sum_bytes(groups);
}

// An interaction that no cluster holds: nobody pays for it, and its first member gets what it can
// bring at most.
void Relaxation::add_coarse(const CompiledInteraction& interaction) {
    ++coarse_;
    const auto best = best_chances(model_);
    const InteractionMember& first = interaction.members[0];
    const CompiledAgent& agent = model_.agents[at(first.agent)];
    auto& total = blocks_[at(first.agent)].total;
    for (const auto& [stage, value] : interaction.values) {
        if (value <= 0) continue;
        const Index layer = stage - model_.first_stage;
        double gain = value;
        for (std::size_t m = 1; m < interaction.members.size(); ++m) {
            const InteractionMember& member = interaction.members[m];
            gain *= best[at(member.agent)][layer][at(member.signal)];
        }
        for (Index a = agent.action_begin[agent.layer_begin[layer]];
             a < agent.action_begin[agent.layer_begin[layer + 1]]; ++a) {
            const std::size_t label = at(agent.after_label[at(agent.action_after[a])]);
            for (Index f = agent.label_begin[label]; f < agent.label_begin[label + 1]; ++f) {
                if (agent.label_factor[f].signal == first.signal) {
                    total[a] += gain * agent.label_factor[f].chance;
                }
            }
        }
    }
}

std::size_t Relaxation::block_of_pair(AgentId first, AgentId second) const {
    for (const std::size_t p : linked_[at(first)]) {
        if (pairs_[p].first == first && pairs_[p].second == second) {
            return model_.agents.size() + p;
        }
    }
    return blocks_.size();
}

// Lays out the shares of a set of clusters; shares themselves are for the caller to fill in. Takes
// memory for them.
void Relaxation::set_clusters(std::vector<std::vector<AgentId>> groups) {
    shares_memory_.take(share_bytes(groups), "the shares of a relaxation");
    clusters_.clear();
    for (Block& block : blocks_) block.clusters.clear();
    for (auto& group : groups) {
        Cluster& cluster = clusters_.emplace_back();
        cluster.agents = std::move(group);
        for (const AgentId agent : cluster.agents) cluster.blocks.push_back(at(agent));
        for (std::size_t i = 0; i < cluster.agents.size(); ++i) {
            for (std::size_t j = i + 1; j < cluster.agents.size(); ++j) {
                const std::size_t b = block_of_pair(cluster.agents[i], cluster.agents[j]);
                if (b < blocks_.size()) cluster.blocks.push_back(b);
            }
        }
        cluster.rewards = cluster.blocks.size();
        for (const std::size_t b : cluster.blocks) {
            blocks_[b].clusters.push_back(clusters_.size() - 1);
        }
    }
    place_sums();
    std::size_t flat = 0;
    for (Block& block : blocks_) {
        block.offset = flat;
        if (block.shared()) flat += block.total.size();
    }
    total_sum_.assign(flat, 0.0);
    own_.assign(flat, 0.0);
    cross_.assign(flat, 0.0);
    mark_.assign(flat, false);
    for (std::size_t b = 0; b < blocks_.size(); ++b) {
        const Block& block = blocks_[b];
        if (!block.shared()) continue;
        // Shares stay equal in sum; prices stay the same in all clusters.
        const double part = 1.0 / static_cast<double>(block.clusters.size());
        const auto begin = static_cast<std::ptrdiff_t>(block.offset);
        std::fill_n(own_.begin() + begin, block.total.size(), is_price(b) ? part : 1 - part);
        std::fill_n(cross_.begin() + begin, block.total.size(), is_price(b) ? -part : part);
    }
    for (Cluster& cluster : clusters_) {
        std::size_t shares = 0;
        for (const std::size_t b : cluster.blocks) {
            if (blocks_[b].shared()) shares += blocks_[b].total.size();
        }
        cluster.flat.reserve(shares);
        for (const std::size_t b : cluster.blocks) {
            cluster.begin.push_back(cluster.flat.size());
            if (!blocks_[b].shared()) continue;
            for (std::size_t k = 0; k < blocks_[b].total.size(); ++k) {
                cluster.flat.push_back(blocks_[b].offset + k);
            }
        }
        cluster.centre.assign(cluster.flat.size(), 0.0);
        cluster.sum.assign(cluster.flat.size(), 0.0);
    }
}

// Gives every wider interaction to the first cluster that can have it.
void Relaxation::place_wide() {
    for (const Index e : wide_) {
        clusters_[around(members_of(model_.interactions[e])).front()].wide.push_back(e);
    }
}

// The clusters that contain all of these agents, in order.
std::vector<std::size_t> Relaxation::around(const std::vector<AgentId>& agents) const {
    const AgentId rarest = *std::ranges::min_element(
        agents, {}, [&](AgentId agent) { return blocks_[at(agent)].clusters.size(); });
    std::vector<std::size_t> found;
    for (const std::size_t c : blocks_[at(rarest)].clusters) {
        if (contains(clusters_[c].agents, agents)) found.push_back(c);
    }
    return found;
}

void Relaxation::share_equally() {
    for (Cluster& cluster : clusters_) {
        for (std::size_t x = 0; x < cluster.blocks.size(); ++x) {
            const Block& block = blocks_[cluster.blocks[x]];
            if (!block.shared()) continue;  // prices are 0 at first
            const double part = 1.0 / static_cast<double>(block.clusters.size());
            for (std::size_t k = 0; k < block.total.size(); ++k) {
                cluster.centre[cluster.begin[x] + k] = part * block.total[k];
            }
        }
    }
}

// Whether larger clusters leave each aggregate with its owner, or with one that contains it.
class Relaxation::SumOwners {
public:
    explicit SumOwners(const Relaxation& relaxation)
        : relaxation_(relaxation), sums_of_(relaxation.model_.agents.size()) {
        for (std::size_t g = 0; g < relaxation.sums_.size(); ++g) {
            const CompiledAggregate& aggregate = relaxation.model_.aggregates[g];
            if (aggregate.layers.empty()) {
                most_.push_back(0);
                continue;
            }
            for (const AggregateMember& member : aggregate.members) {
                sums_of_[at(member.agent)].push_back(g);
            }
            most_.push_back(members_among(aggregate, owner(g)));
        }
    }

    // Whether it has more members of an aggregate than any that contains the owner.
    [[nodiscard]] bool would_change(const std::vector<AgentId>& agents) const {
        const auto counts = count(agents);
        return std::ranges::any_of(counts, [&](const auto& each) {
            return each.second > most_[each.first] && !contains(agents, owner(each.first));
        });
    }
    void add(const std::vector<AgentId>& agents) {
        for (const auto& [g, members] : count(agents)) {
            if (contains(agents, owner(g))) most_[g] = std::max(most_[g], members);
        }
    }
    [[nodiscard]] bool any(const std::vector<AgentId>& agents) const {
        return std::ranges::any_of(agents,
                                   [&](AgentId agent) { return !sums_of_[at(agent)].empty(); });
    }

private:
    [[nodiscard]] const std::vector<AgentId>& owner(std::size_t g) const {
        return relaxation_.clusters_[relaxation_.owner_[g]].agents;
    }
    [[nodiscard]] std::map<std::size_t, std::size_t> count(
        const std::vector<AgentId>& agents) const {
        std::map<std::size_t, std::size_t> counts;
        for (const AgentId agent : agents) {
            for (const std::size_t g : sums_of_[at(agent)]) ++counts[g];
        }
        return counts;
    }

    const Relaxation& relaxation_;
    std::vector<std::vector<std::size_t>> sums_of_;  // per agent
    std::vector<std::size_t> most_;                  // members of one that contains the owner
};

// A cluster and one of its neighbours, for each of them; or the members of an interaction that some
// of its agents take part in. Agents without a choice do not count for the size.
std::set<std::vector<AgentId>> Relaxation::extended_clusters(std::size_t most_agents) const {
    std::set<std::vector<AgentId>> found;
    std::vector<std::vector<Index>> wide_of(model_.agents.size());
    for (const Index e : wide_) {
        for (const InteractionMember& member : model_.interactions[e].members) {
            wide_of[at(member.agent)].push_back(e);
        }
    }
    const auto choosers = [&](const std::vector<AgentId>& agents) {
        return static_cast<std::size_t>(std::ranges::count_if(
            agents, [&](AgentId agent) { return model_.agents[at(agent)].has_choice(); }));
    };
    for (const Cluster& cluster : clusters_) {
        if (choosers(cluster.agents) > most_agents) continue;
        for (const AgentId agent : cluster.agents) {
            if (!model_.agents[at(agent)].has_choice()) continue;
            for (const Index e : wide_of[at(agent)]) {
                std::vector<AgentId> wider = cluster.agents;
                for (const InteractionMember& member : model_.interactions[e].members) {
                    wider.push_back(member.agent);
                }
                std::ranges::sort(wider);
                wider.erase(std::ranges::unique(wider).begin(), wider.end());
                if (wider.size() == cluster.agents.size()) continue;
                if (choosers(wider) <= most_agents) found.insert(std::move(wider));
            }
        }
        if (choosers(cluster.agents) == most_agents) continue;
        std::set<AgentId> neighbours;
        for (const AgentId agent : cluster.agents) {
            for (const std::size_t p : linked_[at(agent)]) {
                neighbours.insert(pairs_[p].first);
                neighbours.insert(pairs_[p].second);
            }
        }
        for (const Owned& owned : cluster.owned) {
            for (const AggregateMember& member : model_.aggregates[owned.aggregate].members) {
                neighbours.insert(member.agent);
            }
        }
        for (const AgentId agent : neighbours) {
            if (std::ranges::find(cluster.agents, agent) != cluster.agents.end()) continue;
            std::vector<AgentId> wider = cluster.agents;
            wider.insert(std::ranges::upper_bound(wider, agent), agent);
            found.insert(std::move(wider));
        }
    }
    return found;
}

// Whether so much more may be taken.
bool Relaxation::has_room(double bytes, const Monitor& monitor) const {
    return monitor.fits(bytes) && all_bytes() + bytes <= kPartOfMemory * monitor.memory_limit();
}

// What to reckon with for larger clusters. Where wider interactions tie agents without a choice to
// clusters, the way that the best policy takes leads to many states, and costs more than the table.
double Relaxation::growth_strain() const { return wide_.empty() ? 1 : strain_; }

// Larger clusters that could be solved, those first that promise most for the work.
std::vector<Relaxation::Candidate> Relaxation::candidates(std::size_t most_agents,
                                                          Monitor& monitor) const {
    const double strain = growth_strain();
    std::vector<Candidate> found;
    std::vector<std::size_t> met(clusters_.size(), 0);  // agents of each cluster
    std::vector<std::size_t> near;
    for (const std::vector<AgentId>& agents : extended_clusters(most_agents)) {
        std::size_t inside = 0;
        double worth = 0;  // how much the clusters inside of it have at stake
        near.clear();
        for (const AgentId agent : agents) {
            for (const std::size_t c : blocks_[at(agent)].clusters) {
                if (met[c]++ == 0) near.push_back(c);
            }
        }
        std::ranges::sort(near);
        for (const std::size_t c : near) {
            if (met[c] == clusters_[c].agents.size()) {
                ++inside;
                worth += std::abs(clusters_[c].value);
            }
            met[c] = 0;
        }
        if (inside < 2) continue;
        const double bytes = bytes_of(agents);
        if (bytes > tables_memory_.bytes() && !has_room(bytes - tables_memory_.bytes(), monitor)) {
            continue;
        }
        found.push_back({worth, strain * cluster_work(model_, agents), agents});
        monitor.tick(1000);
    }
    std::ranges::stable_sort(found, [](const Candidate& a, const Candidate& b) {
        return a.worth * b.work > b.worth * a.work;
    });
    return found;
}

// Larger clusters in place of those inside of them, together with the others; none if nothing
// larger is within reach.
std::vector<std::vector<AgentId>> Relaxation::wider_groups(double budget, std::size_t most_agents,
                                                           Monitor& monitor) const {
    const double strain = growth_strain();
    double round = 0;
    for (const Cluster& cluster : clusters_) {
        round += strain * cluster_work(model_, cluster.agents);
    }
    std::vector<std::vector<AgentId>> groups;
    double shares = 0;  // for a while both old and new ones, at worst all of these
    SumOwners owners(*this);
    const auto take = [&](Candidate& candidate) {
        const double more = entries_of(candidate.agents) * (kShareBytes + kEntryBytes);
        if (round + candidate.work > budget || !has_room(shares + more, monitor)) return;
        round += candidate.work;
        shares += more;
        owners.add(candidate.agents);
        groups.push_back(std::move(candidate.agents));
    };
    std::vector<Candidate> later;
    for (Candidate& candidate : candidates(most_agents, monitor)) {
        if (owners.would_change(candidate.agents)) {
            later.push_back(std::move(candidate));
        } else {
            take(candidate);
        }
    }
    for (Candidate& candidate : later) {
        if (!owners.would_change(candidate.agents)) take(candidate);
    }
    return arranged(std::move(groups));
}

// Larger clusters, then those that are in none of them. An aggregate's owner goes to one cluster
// with all of its aggregates, and this one has to own them: larger clusters that would own them
// instead are left out. None if no larger one is left.
std::vector<std::vector<AgentId>> Relaxation::arranged(
    std::vector<std::vector<AgentId>> larger) const {
    constexpr int kRounds = 8;
    for (int round = 0; !larger.empty() && round <= kRounds + 1; ++round) {
        std::vector<std::vector<AgentId>> groups = larger;
        std::map<std::size_t, std::size_t> heir;  // of owners: where they go
        {
            const GroupsOfAgents index(model_.agents.size(), pointers_to(larger));
            for (const std::size_t o : owner_) {
                if (o < clusters_.size()) heir[o] = larger.size();
            }
            for (std::size_t c = 0; c < clusters_.size(); ++c) {
                const std::vector<std::size_t> around = index.around(clusters_[c].agents);
                if (around.empty()) groups.push_back(clusters_[c].agents);
                const auto found = heir.find(c);
                if (found == heir.end()) continue;
                found->second = groups.size() - 1;
                std::size_t most = 0;
                for (const std::size_t k : around) {
                    std::size_t members = 0;
                    for (const Owned& owned : clusters_[c].owned) {
                        members += members_among(model_.aggregates[owned.aggregate], larger[k]);
                    }
                    if (members <= most) continue;
                    most = members;
                    found->second = k;
                }
            }
        }
        if (heir.empty()) return groups;
        // Those first: of clusters with as many members the first one owns an aggregate.
        std::vector<std::size_t> order;
        std::vector<bool> placed(groups.size(), false);
        const auto place = [&](std::size_t k) {
            if (!placed[k]) order.push_back(k);
            placed[k] = true;
        };
        for (const auto& [owner, k] : heir) place(k);
        for (std::size_t k = 0; k < groups.size(); ++k) place(k);
        GroupsOfAgents::Groups pointers;
        for (const std::size_t k : order) pointers.push_back(&groups[k]);
        const GroupsOfAgents index(model_.agents.size(), pointers);
        std::vector<bool> wrong(groups.size(), false);
        bool sound = true;
        for (std::size_t g = 0; g < owner_.size(); ++g) {
            if (owner_[g] == clusters_.size()) continue;
            std::vector<std::size_t> near;
            for (const AggregateMember& member : model_.aggregates[g].members) {
                const auto& with = index.with(member.agent);
                near.insert(near.end(), with.begin(), with.end());
            }
            std::ranges::sort(near);
            near.erase(std::ranges::unique(near).begin(), near.end());
            GroupsOfAgents::Groups teams;
            for (const std::size_t k : near) teams.push_back(pointers[k]);
            const SumRoles roles = roles_of(model_.aggregates[g], everyone_, teams);
            const std::size_t found = order[near[roles.owner]];
            if (found == heir[owner_[g]]) continue;
            wrong[found] = true;
            sound = false;
        }
        if (sound) {
            std::vector<std::vector<AgentId>> ordered;
            for (const std::size_t k : order) ordered.push_back(std::move(groups[k]));
            return ordered;
        }
        const SumOwners owners(*this);
        std::vector<std::vector<AgentId>> kept;
        for (std::size_t k = 0; k < larger.size(); ++k) {
            if (wrong[k] || (round >= kRounds && owners.any(larger[k]))) continue;
            kept.push_back(std::move(larger[k]));
        }
        larger = std::move(kept);
    }
    return {};
}

void Relaxation::swap_layout(Layout& other) noexcept {
    std::swap(clusters_, other.clusters);
    for (std::size_t b = 0; b < blocks_.size(); ++b) {
        std::swap(blocks_[b].clusters, other.clusters_of[b]);
        std::swap(blocks_[b].offset, other.offset[b]);
    }
    std::swap(owner_, other.owner);
    std::swap(total_sum_, other.total_sum);
    std::swap(own_, other.own);
    std::swap(cross_, other.cross);
    std::swap(mark_, other.mark);
}

Relaxation::Exchange::Exchange(Relaxation& relaxation)
    : relaxation_(relaxation), bytes_(relaxation.shares_memory_.bytes()) {
    old_.clusters_of.resize(relaxation.blocks_.size());
    old_.offset.resize(relaxation.blocks_.size());
    relaxation.swap_layout(old_);
}

Relaxation::Exchange::~Exchange() {
    if (settled_) return;
    relaxation_.swap_layout(old_);
    relaxation_.shares_memory_.give_back(relaxation_.shares_memory_.bytes() - bytes_);
}

void Relaxation::Exchange::settle() {
    settled_ = true;
    old_ = Layout{};
    relaxation_.shares_memory_.give_back(bytes_);
}

// Old clusters go over into those that contain them, in equal parts; what owns an aggregate or a
// wider interaction, which cannot be divided, as a whole.
void Relaxation::take_over(const Layout& old) {
    for (const Cluster& each : old.clusters) {
        std::vector<std::size_t> heirs = around(each.agents);
        if (each.whole()) {
            const std::size_t heir =
                each.owned.empty() ? heirs.front() : owner_[each.owned.front().aggregate];
            heirs.assign(1, heir);
            auto& wide = clusters_[heir].wide;
            wide.insert(wide.end(), each.wide.begin(), each.wide.end());
            std::ranges::sort(wide);
        }
        const double part = 1.0 / static_cast<double>(heirs.size());
        for (const std::size_t heir : heirs) inherit(clusters_[heir], each, old, part);
    }
    take_over_prices(old);
}

// Adds a part of an old cluster's shares, with what it gets for units.
void Relaxation::inherit(Cluster& heir, const Cluster& each, const Layout& old, double part) {
    for (std::size_t x = 0; x < each.rewards; ++x) {
        const std::size_t b = each.blocks[x];
        if (!blocks_[b].shared()) continue;
        const bool was_shared = old.clusters_of[b].size() > 1;
        const double* from =
            was_shared ? each.centre.data() + each.begin[x] : blocks_[b].total.data();
        double* to = heir.centre.data() + heir.begin[block_in(heir, b)];
        for (std::size_t k = 0; k < blocks_[b].total.size(); ++k) to[k] += part * from[k];
    }
    for (const Paid& paid : each.paid) {
        const double* price = each.centre.data() + each.begin[paid.block];
        for (const std::size_t m : paid.members) add_units(heir, paid.aggregate, m, part, price);
    }
}

}  // namespace coreplan
