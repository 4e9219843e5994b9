#include "policies/improve.hpp"

#include <algorithm>

namespace coreplan {

PolicySearch::PolicySearch(const CompiledModel& model, const PolicySearchOptions& options,
                           Monitor& monitor)
    : model_(model), monitor_(monitor) {
    for (const double constant : model.constant_at) constant_ += constant;
    // Probabilities are taken to sum to 1.
    if (!model.unit_mass) error_ = mass_error(model);
    if (model.agents.size() <= options.joint_agents) {
        TeamSearchOptions team;
        team.seed = options.seed;
        team.bases = options.bases;
        team.most_states = options.most_states;
        team.first_states = std::min(team.first_states, options.most_states);
        team.threads = options.threads;
        team_ = std::make_unique<TeamSearch>(model, team, monitor);
    } else {
        ClusterSearchOptions clusters;
        clusters.seed = options.seed;
        clusters.bases = options.bases;
        clusters.most_states = std::min(clusters.most_states, options.most_states);
        clusters.threads = options.threads;
        clusters_ = std::make_unique<ClusterSearch>(model, clusters, monitor);
    }
}

bool PolicySearch::improve(double seconds, std::uint64_t moves) {
    if (monitor_.stop() != Stop::none) return false;
    return team_ ? team_->improve(seconds, moves) : clusters_->improve(seconds, moves);
}

bool PolicySearch::start(const LocalPolicy& policy) {
    const double before = value();
    try {
        if (team_) {
            team_->add(policy);
        } else {
            clusters_->add(policy);
        }
    } catch (const LimitReached&) {
        // What was found so far stands.
    }
    return value() > before;
}

double PolicySearch::value() const {
    return (team_ ? team_->value() : clusters_->value()) + constant_ - error_;
}

bool PolicySearch::exact() const { return error_ == 0 && (clusters_ || team_->exact()); }

TeamPolicy PolicySearch::policy() const {
    if (clusters_) return clusters_->policy();
    TeamPolicy policy{team_->otherwise(), {}};
    if (team_->table().size() == 0) return policy;
    Cluster& cluster = policy.clusters.emplace_back();
    for (std::size_t i = 0; i < model_.agents.size(); ++i) cluster.agents.push_back(as<AgentId>(i));
    cluster.table = team_->table();
    return policy;
}

}  // namespace coreplan
