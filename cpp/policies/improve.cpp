#include "policies/improve.hpp"

#include <algorithm>
#include <stdexcept>

#include "model/unit_mass.hpp"

namespace coreplan {

namespace {

// Teams from here on are also searched in clusters, which may be answered exactly.
constexpr std::size_t kWorthClusters = 4;
// Local searches of teams that are only searched in clusters, which live on the best profile.
constexpr std::size_t kStarts = 4;

bool fits(const CompiledModel& model, const LocalPolicy& policy) {
    if (policy.action.size() != model.agents.size()) return false;
    for (std::size_t i = 0; i < model.agents.size(); ++i) {
        const CompiledAgent& agent = model.agents[i];
        if (policy.action[i].size() != agent.class_count()) return false;
        for (std::size_t c = 0; c < agent.layer_begin[model.layer_count()]; ++c) {
            if (policy.action[i][c] >= agent.action_begin[c + 1] - agent.action_begin[c])
                return false;
        }
    }
    return true;
}

}  // namespace

PolicySearch::PolicySearch(const CompiledModel& model, const PolicySearchOptions& options,
                           Monitor& monitor)
    : model_(model), monitor_(monitor), constant_(model.constant()) {
    // Policies of agents apart count the masses of their own laws only.
    error_ = 2 * mass_error(model);
    // Others only widen the states of those that choose.
    const auto choosers =
        static_cast<std::size_t>(std::ranges::count_if(model.agents, &CompiledAgent::has_choice));
    if (choosers <= options.joint_agents) {
        TeamSearchOptions team;
        team.seed = options.seed;
        team.bases = options.bases;
        team.most_states = options.most_states;
        team.first_states = std::min(team.first_states, options.most_states);
        team.threads = options.threads;
        team.divide = true;
        team_ = std::make_unique<TeamSearch>(model, team, monitor);
    }
    if (choosers > options.joint_agents || model.agents.size() >= kWorthClusters) {
        ClusterSearchOptions clusters;
        clusters.seed = options.seed;
        clusters.bases = options.bases;
        clusters.most_states = std::min(clusters.most_states, options.most_states);
        clusters.threads = options.threads;
        if (!team_) clusters.starts = kStarts;
        clusters_ = std::make_unique<ClusterSearch>(model, clusters, monitor);
    }
}

bool PolicySearch::improve(std::uint64_t budget, std::uint64_t moves) {
    if (broken_ || monitor_.stop() != Stop::none) return false;
    const double before = value();
    // Clusters have hardly anything to add to divisions, which see more.
    const std::uint64_t part = team_ && team_->divides() ? 8 : 2;
    const std::uint64_t share = team_ && clusters_ ? budget / part : budget;
    try {
        if (team_) team_->improve(clusters_ ? budget - share : budget, moves);
        if (clusters_ && monitor_.stop() == Stop::none) clusters_->improve(share, moves);
    } catch (...) {
        broken_ = true;
        throw;
    }
    return value() > before;
}

bool PolicySearch::start(const LocalPolicy& policy) {
    if (!fits(model_, policy)) throw std::invalid_argument("the policy is not one of this model");
    const double before = value();
    try {
        if (team_) team_->add(policy);
        if (clusters_) clusters_->add(policy);
    } catch (const LimitReached&) {
        // What was found so far stands.
    } catch (...) {
        broken_ = true;
        throw;
    }
    return value() > before;
}

bool PolicySearch::clusters_lead() const {
    return clusters_ && (!team_ || clusters_->value() > team_->value());
}

double PolicySearch::value() const {
    return (clusters_lead() ? clusters_->value() : team_->value()) + constant_ - error_;
}

bool PolicySearch::exact() const { return error_ == 0 && (clusters_lead() || team_->exact()); }

std::vector<LocalPolicy> PolicySearch::bases(std::size_t most) const {
    std::vector<LocalPolicy> found;
    for (const Profile& profile : team_ ? team_->profiles() : clusters_->profiles()) {
        if (found.size() == most) break;
        found.push_back(profile.policy);
    }
    return found;
}

TeamPolicy PolicySearch::policy() const {
    if (clusters_lead()) return clusters_->policy();
    TeamPolicy policy{team_->otherwise(), {}};
    if (team_->table().size() == 0) return policy;
    Cluster& cluster = policy.clusters.emplace_back();
    cluster.agents = model_.everyone();
    cluster.table = team_->table();
    return policy;
}

}  // namespace coreplan
