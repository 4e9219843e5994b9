#include "policies/improve.hpp"

namespace coreplan {

PolicySearch::PolicySearch(const CompiledModel& model, const PolicySearchOptions& options,
                           Monitor& monitor)
    : model_(model), monitor_(monitor) {
    for (const double constant : model.constant_at) constant_ += constant;
    // Probabilities are taken to sum to 1.
    if (!model.unit_mass) error_ = mass_error(model);
    TeamSearchOptions team;
    team.seed = options.seed;
    team.bases = options.bases;
    team.most_states = options.most_states;
    team.threads = options.threads;
    team_ = std::make_unique<TeamSearch>(model, team, monitor);
}

bool PolicySearch::improve(double seconds) { return team_->improve(seconds); }

bool PolicySearch::start(const LocalPolicy& policy) { return team_->add(policy); }

double PolicySearch::value() const { return team_->value() + constant_ - error_; }

bool PolicySearch::exact() const { return team_->exact(); }

TeamPolicy PolicySearch::policy() const {
    TeamPolicy policy{team_->otherwise(), {}};
    if (team_->table().size() == 0) return policy;
    Cluster& cluster = policy.clusters.emplace_back();
    for (std::size_t i = 0; i < model_.agents.size(); ++i) cluster.agents.push_back(as<AgentId>(i));
    cluster.table = team_->table();
    return policy;
}

}  // namespace coreplan
