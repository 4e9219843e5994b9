#include "policies/cluster_search.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "engine/team_model.hpp"
#include "policies/exact_answer.hpp"
#include "support/reservation.hpp"

namespace coreplan {

namespace {

// Tries of each local search per agent: at first, and in later heats.
constexpr std::array<std::size_t, 3> kTriesPerAgent{5, 15, 20};
constexpr std::uint64_t kMostTriesWork = 2'000'000'000;  // of all local searches
constexpr std::uint64_t kRoundsOfAnswer = 2;   // rollouts of a cluster at first; later more
constexpr std::size_t kExactStates = 100'000;  // that an exact answer may get to
constexpr double kEvenShare = 0.3;  // of weight that neighbours have whether they clash or not

}  // namespace

ClusterSearch::ClusterSearch(const CompiledModel& model, const ClusterSearchOptions& options,
                             Monitor& monitor, const LocalPolicy* start)
    : model_(model),
      options_(options),
      monitor_(monitor),
      random_(options.seed ^ 0xc1u),
      searches_memory_(monitor),
      touching_(interactions_of(model)),
      neighbours_(model.agents.size()),
      tries_left_(kTriesPerAgent[0] * model.agents.size()),
      groups_(model.agents.size()) {
    for (std::size_t i = 0; i < model.agents.size(); ++i) {
        auto& near = neighbours_[i];
        for (const Index e : touching_[i]) {
            for (const InteractionMember& member : model.interactions[e].members) {
                if (at(member.agent) != i) near.push_back(member.agent);
            }
        }
        for (const Index e : aggregates_touching(model, {as<AgentId>(i)})) {
            for (const AggregateMember& member : model.aggregates[e].members) {
                if (at(member.agent) != i) near.push_back(member.agent);
            }
        }
        std::ranges::sort(near);
        const auto repeated = std::ranges::unique(near);
        near.erase(repeated.begin(), repeated.end());
        clash_.emplace_back(near.size(), 0.0);
    }
    searches_.push_back(std::make_unique<ProfileSearch>(model, options.seed, 1, monitor, start));
    take_profile();
}

// One more local search, if there is room for it.
bool ClusterSearch::begin_another() {
    // What it works on, beside what it keeps.
    const double bytes = best().best().front().bytes();
    if (!searches_memory_.try_take(bytes)) return false;
    try {
        searches_.push_back(std::make_unique<ProfileSearch>(
            model_, options_.seed + searches_.size(), 1, monitor_, nullptr, true));
        return true;
    } catch (const LimitReached&) {
        searches_memory_.give_back(bytes);
        if (monitor_.stop() != Stop::none) throw;
        return false;
    }
}

// The local search that has found the best profile.
const ProfileSearch& ClusterSearch::best() const noexcept {
    const auto value = [](const auto& search) { return search->best().front().value; };
    return **std::ranges::max_element(searches_, {}, value);
}

// Whose turn it is after a search has done its tries: a fresh one, another, or nobody.
void ClusterSearch::next_search() {
    const std::size_t n = model_.agents.size();
    if (first_work_ == 0) first_work_ = std::max<std::uint64_t>(tries_work_, 1);
    const bool wanted = heats_ == 0 && searches_.size() < options_.starts &&
                        tries_work_ + first_work_ <= kMostTriesWork / 2;
    if (wanted && begin_another()) {
        turn_ = searches_.size() - 1;
        tries_left_ = kTriesPerAgent[0] * n;
        return;
    }
    if (++turn_ >= searches_.size() || tries_work_ >= kMostTriesWork) {
        std::ranges::stable_sort(searches_, std::greater<>{},
                                 [](const auto& search) { return search->best().front().value; });
        searches_.resize((searches_.size() + 1) / 2);
        turn_ = 0;
        ++heats_;
    }
    tries_left_ = 0;
    const bool more = options_.starts > 1 && heats_ < kTriesPerAgent.size();
    if (more && tries_work_ < kMostTriesWork) {
        tries_left_ = kTriesPerAgent[heats_] * n;
        return;
    }
    searches_.resize(1);
    searches_memory_.set(0, "");
    take_profile();
}

// Everyone alone, as in the best profile.
void ClusterSearch::take_profile() {
    const Profile& best = this->best().best().front();
    if (!best_groups_.empty() && best.value <= value_) return;
    Groups groups(model_.agents.size());
    for (std::size_t i = 0; i < groups.size(); ++i) {
        groups[i] =
            hold(behave(model_, touching_, {as<AgentId>(i)}, {best.policy.action[i]}, monitor_));
    }
    const double value = total_of(model_, groups);
    groups_ = groups;
    best_groups_ = std::move(groups);
    value_ = value;
    waiting_.clear();
    rework_.reset();
    answer_.reset();
    formed_ = false;
}

// All agents, in connected clusters that are to answer one after the other.
void ClusterSearch::form_clusters() {
    formed_ = true;
    std::vector<AgentId> pool;
    for (std::size_t i = 0; i < model_.agents.size(); ++i) pool.push_back(as<AgentId>(i));
    while (!pool.empty()) {
        auto cluster = grow(pool);
        if (cluster.size() > 1) waiting_.push_back(std::move(cluster));
    }
}

bool ClusterSearch::add(const LocalPolicy& policy) {
    const double before = value_;
    searches_.front()->add(policy);
    take_profile();
    return value_ > before;
}

bool ClusterSearch::improve(std::uint64_t budget, std::uint64_t moves) {
    const double before = value_;
    try {
        work(monitor_.work_after(budget), moves);
    } catch (const LimitReached& limit) {
        // What was found so far stands. A cluster that finds no room is passed over.
        if (limit.stop == Stop::memory_limit && monitor_.stop() == Stop::none) {
            answer_.reset();
            if (rework_ != nullptr && rework_->next < rework_->parts.size()) ++rework_->next;
        }
    }
    return value_ > before;
}

// A behaviour whose memory is counted as long as anybody has it.
std::shared_ptr<const Behaviour> ClusterSearch::hold(Behaviour behaviour) const {
    Reservation memory(monitor_);
    memory.take(behaviour.bytes(), "what a cluster of agents does");
    return counted(std::move(memory), std::move(behaviour));
}

void ClusterSearch::work(std::uint64_t end, std::uint64_t moves) {
    while (moves_ < moves && monitor_.work() < end) {
        if (tries_left_ > 0) {
            const std::uint64_t begin = monitor_.work();
            searches_[turn_]->attempt();
            tries_work_ += monitor_.work() - begin;
            ++moves_;
            --tries_left_;
            if (tries_left_ == 0 || tries_work_ >= kMostTriesWork) next_search();
            continue;
        }
        if (rework_ == nullptr) begin_rework();
        if (rework_ == nullptr) return;  // nobody interacts
        if (rework_->next < rework_->parts.size()) {
            if (!answer(end)) return;
            ++moves_;
        } else {
            finish_rework();
        }
    }
    // An improvement of the local search counts even before clusters are formed.
    if (tries_left_ > 0 && best().best().front().value > value_) take_profile();
}

// How much neighbours are expected to gain or lose by each other as things are.
void ClusterSearch::weigh() {
    double total = 0;
    std::size_t pairs = 0;
    for (auto& list : clash_) std::ranges::fill(list, 0.0);
    std::vector<const Behaviour*> groups;
    std::vector<double> expected;
    for (std::size_t e = 0; e < model_.interactions.size(); ++e) {
        const CompiledInteraction& interaction = model_.interactions[e];
        if (interaction.values.empty()) continue;
        groups.clear();
        expected.clear();
        for (const auto& [stage, value] : interaction.values) expected.push_back(std::abs(value));
        for (const InteractionMember& member : interaction.members) {
            const Behaviour* group = groups_[at(member.agent)].get();
            if (std::ranges::find(groups, group) != groups.end()) continue;
            groups.push_back(group);
            const auto& chance = group->chance_of(static_cast<Index>(e));
            for (std::size_t v = 0; v < expected.size(); ++v) expected[v] *= chance[v];
        }
        monitor_.tick(cost::kClash * (1 + expected.size()));
        double sum = 0;
        for (const double each : expected) sum += each;
        for (const InteractionMember& one : interaction.members) {
            const auto& near = neighbours_[at(one.agent)];
            for (const InteractionMember& other : interaction.members) {
                if (other.agent == one.agent) continue;
                const auto where = std::ranges::lower_bound(near, other.agent) - near.begin();
                clash_[at(one.agent)][static_cast<std::size_t>(where)] += sum;
                total += sum;
            }
        }
    }
    total += weigh_sums();
    for (const auto& list : clash_) pairs += list.size();
    if (pairs == 0) return;
    const double even = total > 0 ? kEvenShare * total / static_cast<double>(pairs) : 1.0;
    for (auto& list : clash_) {
        for (double& each : list) each += even;
    }
}

// The same by aggregates: what these are expected to bring, either way, is divided among the pairs
// of their members by what both add.
double ClusterSearch::weigh_sums() {
    double total = 0;
    std::vector<double> adds;
    for (std::size_t e = 0; e < model_.aggregates.size(); ++e) {
        const CompiledAggregate& aggregate = model_.aggregates[e];
        const std::size_t n = aggregate.members.size();
        for (std::size_t l = 0; l < aggregate.layers.size(); ++l) {
            adds.assign(n, 0.0);
            double all = 0;
            for (std::size_t m = 0; m < n; ++m) {
                const Behaviour& group = *groups_[at(aggregate.members[m].agent)];
                const auto& sums = (*group.sums_of(static_cast<Index>(e)))[l];
                // What the group adds is shared out among its members.
                for (std::size_t units = 0; units < sums.size(); ++units) {
                    adds[m] += sums[units] * static_cast<double>(units) /
                               static_cast<double>(group.agents.size());
                }
                all += adds[m];
            }
            monitor_.tick(cost::kClash * n * n);
            if (all == 0) continue;
            const double size = size_of(aggregate, aggregate.layers[l]) / (all * all);
            for (std::size_t m = 0; m < n; ++m) {
                const auto& near = neighbours_[at(aggregate.members[m].agent)];
                for (std::size_t k = 0; k < n; ++k) {
                    if (k == m || adds[m] == 0 || adds[k] == 0) continue;
                    const double part = size * adds[m] * adds[k];
                    const auto where =
                        std::ranges::lower_bound(near, aggregate.members[k].agent) - near.begin();
                    clash_[at(aggregate.members[m].agent)][static_cast<std::size_t>(where)] += part;
                    total += part;
                }
            }
        }
    }
    return total;
}

// A random connected cluster, taken out of the pool; who clashes more comes in more often.
std::vector<AgentId> ClusterSearch::grow(std::vector<AgentId>& pool) {
    std::vector<AgentId> cluster;
    // Small ones can be answered exactly, large ones see more.
    const std::size_t size =
        options_.cluster - random_.below(std::min<std::size_t>(options_.cluster - 1, 3));
    std::vector<std::pair<AgentId, double>> edge{{pool[random_.below(pool.size())], 1.0}};
    while (cluster.size() < size && !edge.empty()) {
        double mass = 0;
        for (const auto& each : edge) mass += each.second;
        double draw = random_.unit() * mass;
        std::size_t k = 0;
        while (k + 1 < edge.size() && draw >= edge[k].second) draw -= edge[k++].second;
        const AgentId who = edge[k].first;
        edge.erase(edge.begin() + static_cast<std::ptrdiff_t>(k));
        const auto where = std::ranges::find(pool, who);
        if (where == pool.end()) continue;
        pool.erase(where);
        cluster.push_back(who);
        for (std::size_t m = 0; m < neighbours_[at(who)].size(); ++m) {
            const AgentId other = neighbours_[at(who)][m];
            if (std::ranges::find(pool, other) != pool.end()) {
                edge.emplace_back(other, clash_[at(who)][m]);
            }
        }
    }
    std::ranges::sort(cluster);
    return cluster;
}

void ClusterSearch::set_alone(AgentId who) {
    const Behaviour& group = *groups_[at(who)];
    if (group.agents.size() == 1) return;
    const auto m =
        static_cast<std::size_t>(std::ranges::find(group.agents, who) - group.agents.begin());
    groups_[at(who)] = hold(behave(model_, touching_, {who}, {group.otherwise[m]}, monitor_));
}

void ClusterSearch::begin_rework() {
    weigh();
    if (!formed_) form_clusters();
    std::vector<AgentId> pool;
    if (!waiting_.empty()) {
        pool = std::move(waiting_.back());
        waiting_.pop_back();
    } else {
        // The groups of two agents that interact, or one group again.
        std::vector<AgentId> social;
        for (std::size_t i = 0; i < neighbours_.size(); ++i) {
            if (!neighbours_[i].empty()) social.push_back(as<AgentId>(i));
        }
        if (social.empty()) return;
        const AgentId one = social[random_.below(social.size())];
        pool = groups_[at(one)]->agents;
        const auto& near = neighbours_[at(one)];
        const AgentId other = near[random_.below(near.size())];
        if (groups_[at(other)] != groups_[at(one)] && random_.below(4) != 0) {
            const auto& more = groups_[at(other)]->agents;
            pool.insert(pool.end(), more.begin(), more.end());
        }
    }
    auto rework = std::make_unique<Rework>();
    std::ranges::sort(pool);
    Groups before = groups_;
    try {
        for (const AgentId who : pool) set_alone(who);
    } catch (...) {
        groups_ = std::move(before);
        throw;
    }
    while (!pool.empty()) {
        auto cluster = grow(pool);
        if (cluster.size() > 1) rework->parts.push_back(std::move(cluster));
    }
    ++reworks_;
    rework_ = std::move(rework);
}

void ClusterSearch::finish_rework() {
    groups_ = best_groups_;
    rework_.reset();
}

// The next cluster of the rework answers; false if it is not through.
bool ClusterSearch::answer(std::uint64_t end) {
    if (answer_ == nullptr) {
        auto fresh = std::make_unique<Answer>();
        fresh->agents = rework_->parts[rework_->next];
        fresh->model = seen_by(model_, touching_, fresh->agents, groups_);
        std::uint64_t work = 0;
        for (const CompiledAgent& agent : fresh->model.agents) {
            work += cost::kCopy * (agent.action_reward.size() + agent.outcome_next.size());
        }
        for (const CompiledInteraction& each : fresh->model.interactions) {
            work += cost::kClash * (1 + each.values.size());
        }
        monitor_.tick_or_throw(work);
        std::vector<std::vector<Index>> actions;
        for (const AgentId who : fresh->agents) actions.push_back(groups_[at(who)]->otherwise[0]);
        if (auto exact = answer_exactly(fresh->model, kExactStates, options_.threads, monitor_)) {
            take(fresh->agents, hold(behave(model_, touching_, fresh->agents, std::move(actions),
                                            std::move(exact->table), exact->layers, monitor_)));
            return true;
        }
        TeamSearchOptions options;
        options.seed = random_.next();
        options.bases = options_.bases;
        options.first_states = options.most_states = options_.most_states;
        options.cut = true;
        options.threads = options_.threads;
        const LocalPolicy policy{std::move(actions)};
        fresh->search = std::make_unique<TeamSearch>(fresh->model, options, monitor_, &policy);
        answer_ = std::move(fresh);
    }
    const std::uint64_t rounds =
        kRoundsOfAnswer + std::min<std::uint64_t>(reworks_ / model_.agents.size(), 8);
    TeamSearch& search = *answer_->search;
    search.improve(monitor_.work_until(end), rounds);
    if (monitor_.stop() != Stop::none) return false;
    if (!search.done(rounds)) return false;
    const bool joint = search.rollout() != nullptr && search.exact();
    take(answer_->agents,
         hold(joint ? behave(model_, touching_, answer_->agents, search.otherwise().action,
                             *search.rollout(), monitor_)
                    : behave(model_, touching_, answer_->agents, search.otherwise().action,
                             monitor_)));
    return true;
}

// What a cluster answered stands if it is no worse.
void ClusterSearch::take(const std::vector<AgentId>& agents,
                         const std::shared_ptr<const Behaviour>& behaviour) {
    Groups before = groups_;
    const double value_before = total_of(model_, groups_);
    for (const AgentId who : agents) groups_[at(who)] = behaviour;
    const double value = total_of(model_, groups_);
    if (value < value_before) {
        groups_ = std::move(before);
    } else if (value > value_) {
        best_groups_ = groups_;
        value_ = value;
    }
    answer_.reset();
    ++rework_->next;
}

TeamPolicy ClusterSearch::policy() const {
    TeamPolicy policy;
    policy.otherwise.action.resize(best_groups_.size());
    for (std::size_t i = 0; i < best_groups_.size(); ++i) {
        const Behaviour& group = *best_groups_[i];
        if (at(group.agents[0]) != i) continue;
        for (std::size_t m = 0; m < group.agents.size(); ++m) {
            policy.otherwise.action[at(group.agents[m])] = group.otherwise[m];
        }
        if (group.table.size() > 0) policy.clusters.push_back({group.agents, group.table});
    }
    return policy;
}

}  // namespace coreplan
