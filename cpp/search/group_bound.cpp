#include "search/group_bound.hpp"

#include <algorithm>

#include "support/hashing.hpp"

namespace coreplan {

namespace {

constexpr double kMostOfRoom = 0.5;  // that tables may take before they are rounded
constexpr double kRoomOfEyes = 0.1;  // for what threads remember
constexpr double kEyeBytes = 64e6;   // that one thread remembers at most

}  // namespace

RelaxationBound::RelaxationBound(const Relaxation& relaxation, const Shapes& shapes,
                                 unsigned threads, Monitor& monitor)
    : model_(shapes.model()),
      shapes_(shapes),
      threads_(threads),
      taken_(shapes.room()),
      rough_(2 * bytes(relaxation, shapes.model()) > kMostOfRoom * shapes.room().left()) {
    for (std::size_t c = 0; c < relaxation.cluster_count(); ++c) {
        Cluster& cluster = clusters_.emplace_back();
        cluster.agents = relaxation.agents_of(c);
        double bytes = 0;
        for (const AgentId agent : cluster.agents) {
            bytes += static_cast<double>(model_.agents[at(agent)].action_reward.size());
        }
        for (const PairBlock* pair : relaxation.pairs_of(c)) {
            bytes += static_cast<double>(pair->value.size());
        }
        take(bytes * sizeof(double));
        for (std::size_t m = 0; m < cluster.agents.size(); ++m) {
            cluster.shares.push_back(relaxation.share_of_agent(c, m));
        }
        const auto pairs = relaxation.pairs_of(c);
        for (std::size_t p = 0; p < pairs.size(); ++p) {
            cluster.pairs.push_back({pairs[p], relaxation.share_of_pair(c, p)});
        }
        cluster.wide = relaxation.wide_of(c);
    }
    for (std::size_t e = 0; e < model_.aggregates.size(); ++e) {
        prices_.push_back(relaxation.prices(e));
        double bytes = static_cast<double>(prices_.back().size() * sizeof(double));
        for (const AggregateMember& member : model_.aggregates[e].members) {
            bytes += static_cast<double>(
                (model_.agents[at(member.agent)].action_reward.size() + prices_.back().size()) *
                sizeof(Index));
        }
        take(bytes);
        sums_.push_back(members_of(model_, model_.aggregates[e], monitor));
    }
    eye_bytes_ = std::min(kEyeBytes, kRoomOfEyes * shapes.room().left() / threads);
    take(eye_bytes_ * threads);
    remnants_.resize(clusters_.size());
    std::vector<std::vector<AgentId>> whole;
    for (const Cluster& cluster : clusters_) whole.push_back(cluster.agents);
    auto roles = roles_in(model_.everyone(), whole);
    for (std::size_t c = 0; c < clusters_.size(); ++c) {
        remnant(c, clusters_[c].agents, std::move(roles[c]), monitor);
    }
}

// Per cluster, of which some agents are in a group: what it has to do with aggregates.
std::vector<std::vector<RelaxationBound::Role>> RelaxationBound::roles_in(
    const std::vector<AgentId>& group, const std::vector<std::vector<AgentId>>& common) const {
    std::vector<std::vector<Role>> roles(clusters_.size());
    if (model_.aggregates.empty()) return roles;
    std::vector<const std::vector<AgentId>*> teams;
    for (const std::vector<AgentId>& agents : common) teams.push_back(&agents);
    for (const Index e : aggregates_touching(model_, group)) {
        const SumRoles found = roles_of(model_.aggregates[e], group, teams);
        roles[found.owner].push_back({e, true, found.outside});
        for (std::size_t k = 0; k < found.outside.size(); ++k) {
            auto& mine = roles[found.payer[k]];
            if (mine.empty() || mine.back().aggregate != e) mine.push_back({e, false, {}});
            mine.back().members.push_back(found.outside[k]);
        }
    }
    return roles;
}

// The sums that a remnant owns, and the prices of units that it is paid.
void RelaxationBound::add_sums(std::size_t c, Remnant& made) {
    Team& team = made.team;
    made.rewards.resize(team.agents.size());
    made.worth.reserve(made.roles.size());
    for (const Role& role : made.roles) {
        const CompiledAggregate& aggregate = model_.aggregates[role.aggregate];
        const SumMembers& members = sums_[role.aggregate];
        const std::vector<double>& prices = prices_[role.aggregate];
        if (!role.owns) {
            for (const std::size_t member : role.members) {
                const AgentId who = aggregate.members[member].agent;
                const std::size_t m = position_in(team.agents, who);
                std::vector<double>& rewards = made.rewards[m];
                if (rewards.empty()) {
                    rewards = clusters_[c].shares[position_in(clusters_[c].agents, who)];
                    take(static_cast<double>(rewards.size() * sizeof(double)));
                    team.rewards[m] = rewards.data();
                }
                pay_units(aggregate, model_.agents[at(who)], members.units[member], prices.data(),
                          rewards);
            }
            continue;
        }
        if (role.members.empty()) {
            team.sums.push_back({.aggregate = role.aggregate});
            continue;
        }
        std::vector<std::size_t> mine(prices.size(), 0);
        std::vector<std::size_t> others(prices.size(), 0);
        std::size_t width = 1;
        for (std::size_t l = 0; l < prices.size(); ++l) {
            for (std::size_t m = 0; m < aggregate.members.size(); ++m) {
                if (position_in(team.agents, aggregate.members[m].agent) < team.agents.size()) {
                    mine[l] += members.most[m][l];
                }
            }
            for (const std::size_t m : role.members) others[l] += members.most[m][l];
            width = std::max(width, mine[l] + 1);
        }
        std::vector<double>& worth = made.worth.emplace_back(prices.size() * width, 0.0);
        take(static_cast<double>(worth.size() * sizeof(double)));
        std::vector<Index> bought(width);
        for (std::size_t l = 0; l < prices.size(); ++l) {
            worth_of_sums(aggregate.table(aggregate.layers[l]), prices[l], mine[l], others[l],
                          worth.data() + l * width, bought.data());
        }
        team.sums.push_back({role.aggregate, worth.data(), width});
    }
}

void RelaxationBound::take(double bytes) {
    if (!shapes_.room().take(bytes)) {
        throw LimitReached(Stop::memory_limit, "there is no room for the tables of a bound");
    }
    taken_.add(bytes);
}

std::vector<ValueTable> RelaxationBound::take_tables() {
    std::vector<ValueTable> taken;
    for (const auto& cluster : remnants_) {
        for (const auto& each : cluster) taken.push_back(std::move(each->table));
    }
    return taken;
}

double RelaxationBound::bytes(const Relaxation& relaxation, const CompiledModel& model) {
    double total = 0;
    for (std::size_t c = 0; c < relaxation.cluster_count(); ++c) {
        total += team_cells(model, relaxation.agents_of(c)) * sizeof(float);
    }
    return total;
}

std::vector<const PairBlock*> RelaxationBound::pairs_of(std::size_t cluster) const {
    std::vector<const PairBlock*> blocks;
    for (const SharedPair& pair : clusters_[cluster].pairs) blocks.push_back(pair.block);
    return blocks;
}

const RelaxationBound::Remnant& RelaxationBound::remnant(std::size_t c,
                                                         std::span<const AgentId> agents,
                                                         std::vector<Role> roles,
                                                         Monitor& monitor) {
    for (const auto& known : remnants_[c]) {
        if (std::ranges::equal(known->team.agents, agents) && known->roles == roles) return *known;
    }
    const Cluster& cluster = clusters_[c];
    auto made = std::make_unique<Remnant>();
    Team& team = made->team;
    team.agents.assign(agents.begin(), agents.end());
    for (const AgentId agent : agents) {
        team.rewards.push_back(cluster.shares[position_in(cluster.agents, agent)].data());
        team.modes.push_back(&shapes_.modes(agent));
    }
    for (const SharedPair& pair : cluster.pairs) {
        const std::size_t first = position_in(team.agents, pair.block->first);
        const std::size_t second = position_in(team.agents, pair.block->second);
        if (std::max(first, second) == team.agents.size()) continue;
        team.pairs.push_back({first, second, pair.block, pair.value.data()});
    }
    for (const Index e : cluster.wide) {
        const auto inside = [&](const InteractionMember& member) {
            return position_in(team.agents, member.agent) < team.agents.size();
        };
        if (std::ranges::all_of(model_.interactions[e].members, inside)) team.wide.push_back(e);
    }
    made->roles = std::move(roles);
    add_sums(c, *made);
    const KernelOptions options{.policy = false, .values = true, .threads = threads_};
    const double bytes = kernel_bytes(model_, team.agents, options);
    if (!shapes_.room().take(bytes)) {
        throw LimitReached(Stop::memory_limit, "there is no room for the tables of a bound");
    }
    TeamSolution solution;
    KernelBuffers buffers;
    solve_team(model_, team, options, solution, buffers, monitor);
    made->table.layer_begin = std::move(solution.layer_begin);
    made->table.values = std::move(solution.values);
    if (rough_) made->table.round_up();
    const double kept = static_cast<double>(made->table.values.size() * sizeof(double) +
                                            made->table.rough.size() * sizeof(float));
    shapes_.room().give_back(bytes);
    if (solution.stop != Stop::none) throw LimitReached(solution.stop, "no time for a bound");
    take(kept);
    remnants_[c].push_back(std::move(made));
    return *remnants_[c].back();
}

void RelaxationBound::prepare(Shape& shape, Monitor& monitor) {
    auto notes = std::make_unique<Parts>();
    std::vector<std::vector<AgentId>> common(clusters_.size());
    for (std::size_t c = 0; c < clusters_.size(); ++c) {
        std::ranges::set_intersection(clusters_[c].agents, shape.agents,
                                      std::back_inserter(common[c]));
    }
    auto roles = roles_in(shape.agents, common);
    for (std::size_t c = 0; c < clusters_.size(); ++c) {
        if (common[c].empty()) continue;
        Part& part = notes->parts.emplace_back(&remnant(c, common[c], std::move(roles[c]), monitor),
                                               std::vector<Index>{});
        for (const AgentId agent : common[c]) {
            part.places.push_back(static_cast<Index>(position_in(shape.agents, agent)));
        }
    }
    shape.upper = std::move(notes);
}

// Remembers what joint actions of clusters promise: many groups have the same agents in the same
// classes.
class RelaxationBound::TableEye final : public GroupBound::Eye {
public:
    TableEye(const RelaxationBound& bound, double most_bytes)
        : bound_(bound),
          most_bytes_(most_bytes),
          known_(std::clamp<std::size_t>(static_cast<std::size_t>(most_bytes / (4 * sizeof(Known))),
                                         1, kKnown)),
          bytes_(static_cast<double>(known_.size() * sizeof(Known))) {}

    double upper(const Shape& shape, Index layer, std::span<const Status> where) override {
        double total = 0;
        for (const Part& part : parts_of(shape)) {
            total += bound_.shapes_.look_up(part.remnant->table, layer, shape.agents, part.places,
                                            where);
        }
        return total;
    }

    void terms(const Shape& shape, Index layer, std::span<const ClassId> classes,
               std::vector<ActionTerm>& terms) override {
        const std::vector<Part>& parts = parts_of(shape);
        terms.resize(parts.size());
        for (std::size_t p = 0; p < parts.size(); ++p) {
            terms[p].agents = parts[p].places;
            own_.clear();
            std::size_t hash = reinterpret_cast<std::uintptr_t>(parts[p].remnant);
            for (const Index m : parts[p].places) {
                own_.push_back(classes[m]);
                hash = hash_on(hash, at(classes[m]));
            }
            Known& known = known_[hash % known_.size()];
            if (known.remnant != parts[p].remnant || known.classes != own_) {
                bytes_ -= known.bytes();
                known = Known{};
                std::vector<double> values = action_values(bound_.model_, parts[p].remnant->team,
                                                           parts[p].remnant->table, layer, own_);
                terms[p].value = values;
                Known fresh{parts[p].remnant, own_, std::move(values)};
                if (bytes_ + fresh.bytes() > most_bytes_) continue;
                bytes_ += fresh.bytes();
                known = std::move(fresh);
                continue;
            }
            terms[p].value = known.values;
        }
    }

private:
    static constexpr std::size_t kKnown = 1U << 15U;
    struct Known {
        const Remnant* remnant = nullptr;
        std::vector<ClassId> classes;
        std::vector<double> values;
        [[nodiscard]] double bytes() const {
            if (remnant == nullptr) return 0;
            constexpr double kOverhead = 32;  // of two pieces of memory
            return kOverhead + static_cast<double>(classes.capacity() * sizeof(ClassId) +
                                                   values.capacity() * sizeof(double));
        }
    };

    const RelaxationBound& bound_;
    double most_bytes_;
    std::vector<Known> known_;
    double bytes_;
    std::vector<ClassId> own_;
};

std::unique_ptr<GroupBound::Eye> RelaxationBound::eye() const {
    return std::make_unique<TableEye>(*this, eye_bytes_);
}

}  // namespace coreplan
