// Profiles: every agent looks at its own class only. Agents are then independent processes, so the
// value is a sum of products, and the best answer of one agent to the others is a plain backward
// induction with expected interactions added to its own rewards.
#pragma once

#include <cstdint>
#include <vector>

#include "bounds/independent.hpp"
#include "model/compiled_model.hpp"
#include "policies/random.hpp"
#include "policies/standing.hpp"
#include "support/reservation.hpp"

namespace coreplan {

struct Profile {
    LocalPolicy policy;
    std::vector<std::vector<double>> chance;  // per agent, [signal * layers + layer]
    std::vector<double> own;                  // per agent: its expected own reward
    double value = 0;                         // of the team; constants are not counted

    [[nodiscard]] double bytes() const;
};

// Best responses in turn. Whatever is thrown by a limit leaves a profile with all agents present
// as good as it was.
class Descent {
public:
    Descent(const CompiledModel& model, Monitor& monitor);

    // Everyone follows this policy from here on.
    void begin(const LocalPolicy& policy, const Standing& standing);
    // The agent is treated as absent until it answers; or, with hope, as if it made the best of
    // every interaction that earns: what nobody gains alone is found in no other way.
    void forget(AgentId who, bool hope = false);
    // Whether some interaction earns.
    [[nodiscard]] bool gains() const noexcept { return !hope_.empty(); }
    // Those who are there answer first, then the forgotten in the order given, then everyone until
    // nothing improves by more than the tolerance.
    void descend();
    // Takes back what has changed since the last `begin`, `keep` or `take_back`.
    void keep();
    void take_back();

    // The value as it changed with every answer, exact up to rounding.
    [[nodiscard]] double value() const noexcept { return profile_.value; }
    [[nodiscard]] const Profile& profile() const noexcept { return profile_; }
    [[nodiscard]] double tolerance() const noexcept { return tolerance_; }
    [[nodiscard]] const CompiledModel& model() const noexcept { return model_; }
    // Agents that share an interaction with this one.
    [[nodiscard]] const std::vector<AgentId>& neighbours(AgentId who) const {
        return neighbours_[at(who)];
    }

private:
    struct Saved {
        std::size_t agent;
        std::vector<Index> action;
        std::vector<double> chance;
        double own;
        bool absent;
    };

    bool answer(std::size_t i);
    double expected_interactions(std::size_t i);
    [[nodiscard]] double chance_of(const InteractionMember& member, Index layer,
                                   double value) const;
    // How likely each value of an aggregate's sum is at a layer, without one agent (or none).
    const std::vector<double>& sums_without(const CompiledAggregate& aggregate, Index layer,
                                            std::size_t without);
    void save(std::size_t i);
    void disturb(std::size_t i);
    void add_up();

    const CompiledModel& model_;
    Monitor& monitor_;
    std::vector<std::size_t> signals_;
    std::vector<std::vector<Index>> interactions_of_;
    std::vector<std::vector<Index>> aggregates_of_;
    std::vector<std::vector<AgentId>> neighbours_;
    double tolerance_;

    Profile profile_;
    Standing standing_;
    std::vector<char> absent_;
    std::vector<char> hoped_for_;         // absent, but expected to take part
    SignalChances hope_;                  // the best chances of all agents, if anything earns
    std::vector<std::size_t> forgotten_;  // who is absent, in the order in which they will answer
    std::vector<char> disturbed_;         // a neighbour has changed since the agent's last answer
    std::vector<Saved> saved_;
    std::vector<char> is_saved_;
    double saved_value_ = 0;

    std::vector<double> sums_;
    std::vector<double> extra_;  // what making a signal at a layer is expected to bring
    std::vector<double> class_value_;
    std::vector<double> after_value_;
    std::vector<Index> action_;
    AgentFlow flow_;
};

// Iterated local search: forget a few agents, descend again. Keeps the best distinct profiles.
class ProfileSearch {
public:
    // `keep` profiles at most, and no more than fit into memory. The first one comes from everyone
    // doing what is best alone, or from the given policy; if `apart`, agents then answer one after
    // the other in a random order, each as if those after it were not there.
    ProfileSearch(const CompiledModel& model, std::uint64_t seed, std::size_t keep,
                  Monitor& monitor, const LocalPolicy* start = nullptr, bool apart = false);

    // One try; true if the best profile has become better.
    bool attempt();
    // Descends from a policy, `apart` as above, and keeps what comes out, if it is good enough.
    bool add(const LocalPolicy& policy, bool apart = false);

    // Best first; never empty. They differ clearly in what is expected to happen.
    [[nodiscard]] const std::vector<Profile>& best() const noexcept { return best_; }

private:
    bool record();
    void forget_all(bool hope);

    Descent descent_;
    Random random_;
    std::size_t keep_;
    std::uint64_t attempts_ = 0;
    Reservation memory_;  // of the profiles that are kept
    std::vector<Profile> best_;
};

}  // namespace coreplan
