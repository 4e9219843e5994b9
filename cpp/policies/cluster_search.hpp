// Looks for a good policy of a large team: small clusters of agents that interact answer to what
// all the others do, one cluster after the other. Groups stay independent of each other, so the
// value of the whole is known exactly.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "policies/behaviour.hpp"
#include "policies/team_search.hpp"

namespace coreplan {

struct ClusterSearchOptions {
    std::uint64_t seed = 1;
    std::size_t bases = 8;
    std::size_t cluster = 5;          // agents of a cluster, at most
    std::size_t most_states = 2'000;  // per layer of a cluster's rollout
    std::size_t starts = 1;           // of local searches for a profile; the best one goes on
    unsigned threads = 1;
};

class ClusterSearch {
public:
    ClusterSearch(const CompiledModel& model, const ClusterSearchOptions& options, Monitor& monitor,
                  const LocalPolicy* start = nullptr);

    // Does about that much work, or until that many moves are done in all (a move is a try of the
    // local search, or a cluster's answer); true if the value has become better.
    bool improve(std::uint64_t budget, std::uint64_t moves = TeamSearch::kNoEnd);
    // Takes this policy if descending from it leads to something better.
    bool add(const LocalPolicy& policy);

    [[nodiscard]] double value() const noexcept { return value_; }  // without constants
    [[nodiscard]] TeamPolicy policy() const;
    // Profiles that were found, best first; never empty.
    [[nodiscard]] const std::vector<Profile>& profiles() const noexcept { return best().best(); }

private:
    using Groups = std::vector<std::shared_ptr<const Behaviour>>;

    // Some agents that are split up anew, and how far that is.
    struct Rework {
        std::vector<std::vector<AgentId>> parts;  // clusters that are to answer, in this order
        std::size_t next = 0;
    };
    // A cluster that is answering.
    struct Answer {
        std::vector<AgentId> agents;
        CompiledModel model;
        std::unique_ptr<TeamSearch> search;
    };

    void work(std::uint64_t end, std::uint64_t moves);
    [[nodiscard]] const ProfileSearch& best() const noexcept;
    bool begin_another();
    void next_search();
    void take_profile();
    [[nodiscard]] std::shared_ptr<const Behaviour> hold(Behaviour behaviour) const;
    void form_clusters();
    void weigh();
    double weigh_sums();
    void begin_rework();
    bool answer(std::uint64_t end);
    void take(const std::vector<AgentId>& agents,
              const std::shared_ptr<const Behaviour>& behaviour);
    void finish_rework();
    std::vector<AgentId> grow(std::vector<AgentId>& pool);
    void set_alone(AgentId who);

    const CompiledModel& model_;
    ClusterSearchOptions options_;
    Monitor& monitor_;
    Random random_;
    // Local searches from different starts, with the same number of tries each, in turn. The better
    // half of them goes on, until one is left.
    Reservation searches_memory_;
    std::vector<std::unique_ptr<ProfileSearch>> searches_;
    std::size_t turn_ = 0;          // the one at work
    std::size_t heats_ = 0;         // rounds of all of them so far
    std::uint64_t tries_work_ = 0;  // of all tries so far
    std::uint64_t first_work_ = 0;  // of the first search's first tries
    std::vector<std::vector<Index>> touching_;
    std::vector<std::vector<AgentId>> neighbours_;
    std::vector<std::vector<double>> clash_;  // per agent and neighbour
    std::size_t tries_left_;                  // of the search at work; 0 if all are through
    std::uint64_t moves_ = 0;

    Groups groups_;  // per agent
    double value_ = 0;
    std::uint64_t reworks_ = 0;
    bool formed_ = false;
    std::vector<std::vector<AgentId>> waiting_;  // pools that are to be reworked next
    std::unique_ptr<Rework> rework_;
    std::unique_ptr<Answer> answer_;
    // The last state that holds together: what is reported while a rework is under way.
    Groups best_groups_;
};

}  // namespace coreplan
