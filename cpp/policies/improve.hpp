// The search for policies whose value is known: the lower bound of the engine.
#pragma once

#include <cstdint>
#include <memory>

#include "policies/cluster_search.hpp"
#include "policies/team_policy.hpp"
#include "policies/team_search.hpp"

namespace coreplan {

struct PolicySearchOptions {
    std::uint64_t seed = 1;
    std::size_t bases = 8;
    std::size_t most_states = 20'000;  // per layer of a rollout
    std::size_t joint_agents = 10;     // larger teams are taken apart into clusters
    unsigned threads = 1;
};

class PolicySearch {
public:
    // There is a policy from the start; throws if a limit strikes before that.
    PolicySearch(const CompiledModel& model, const PolicySearchOptions& options, Monitor& monitor);

    // Does about that much work, and none once a limit has struck; true if the value has become
    // better. What is done in which order depends on the seed alone; `moves` bounds how far it goes
    // in all (rollouts of a small team, answers of clusters). If anything is thrown, what
    // was found so far stands, and nothing better is looked for any more.
    bool improve(std::uint64_t budget, std::uint64_t moves = TeamSearch::kNoEnd);
    // Whether nothing better can be looked for: nobody interacts, or there is no memory for it.
    [[nodiscard]] bool exhausted() const {
        return broken_ || (clusters_ == nullptr && team_->done(TeamSearch::kNoEnd));
    }
    // Takes a policy of single agents as a further start; throws if it is not one of this model.
    bool start(const LocalPolicy& policy);

    // What the policy is expected to earn: exactly if `exact`, else at least. Constants count.
    [[nodiscard]] double value() const;
    [[nodiscard]] bool exact() const;
    [[nodiscard]] TeamPolicy policy() const;
    // The best policies of single agents that were found, `most` at most.
    [[nodiscard]] std::vector<LocalPolicy> bases(std::size_t most) const;

private:
    [[nodiscard]] bool clusters_lead() const;

    const CompiledModel& model_;
    Monitor& monitor_;
    double constant_ = 0;
    double error_ = 0;
    bool broken_ = false;               // work was cut short anywhere, as by a lack of memory
    std::unique_ptr<TeamSearch> team_;  // one of the two, or both
    std::unique_ptr<ClusterSearch> clusters_;
};

}  // namespace coreplan
