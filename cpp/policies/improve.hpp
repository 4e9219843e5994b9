// The search for policies whose value is known: the lower bound of the engine.
#pragma once

#include <cstdint>
#include <memory>

#include "policies/team_policy.hpp"
#include "policies/team_search.hpp"

namespace coreplan {

struct PolicySearchOptions {
    std::uint64_t seed = 1;
    std::size_t bases = 6;
    std::size_t most_states = 20'000;  // per layer of a rollout
    unsigned threads = 1;
};

class PolicySearch {
public:
    // There is a policy from the start; throws if a limit strikes before that.
    PolicySearch(const CompiledModel& model, const PolicySearchOptions& options, Monitor& monitor);

    // Works for about that long (less if a limit strikes, and then not at all); true if the value
    // has become better.
    bool improve(double seconds);
    // Takes a policy of single agents as a further start.
    bool start(const LocalPolicy& policy);

    // What the policy is expected to earn: exactly if `exact`, else at least. Constants count.
    [[nodiscard]] double value() const;
    [[nodiscard]] bool exact() const;
    [[nodiscard]] TeamPolicy policy() const;

private:
    const CompiledModel& model_;
    Monitor& monitor_;
    double constant_ = 0;
    double error_ = 0;
    std::unique_ptr<TeamSearch> team_;
};

}  // namespace coreplan
