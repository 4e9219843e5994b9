// The joint actions of a group of agents with their bounds: lines 4 and 5 of the paper's algorithm.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "crg/reward_paths.hpp"
#include "search/core_2016.hpp"
#include "search/core_locals.hpp"
#include "search/core_teams.hpp"
#include "support/reservation.hpp"

namespace coreplan {

// They are kept on a stack, group upon group, as the search goes deeper. Joint actions are numbered
// by the agents' choices, the last agent's first.
class CoreActions {
public:
    // The arguments must outlive this object.
    CoreActions(const CoreLocals& locals, const RewardPaths& paths, const CoreOptions& options,
                Monitor& monitor);

    struct Found {
        std::size_t first;
        std::size_t last;
        double best_lower;  // L_max to begin with
        bool forced;        // there is one joint action only: it needs no bounds
    };
    // Bounds the joint actions of a team and keeps, in the order in which to try them, those that
    // are not pruned at once; all of them with `keep_all`.
    Found begin(const CoreTeams::Shape& team, std::span<const Index> nodes, bool keep_all,
                CoreResult& counts);
    // Forgets the actions of the group that was begun last.
    void end(std::size_t first) {
        if (stored_) kept_.resize(first);
    }

    // Only with bounds.
    [[nodiscard]] double upper(std::size_t action) const { return kept_[action].upper; }
    [[nodiscard]] std::uint64_t code(std::size_t action) const {
        return stored_ ? kept_[action].code : action;
    }

private:
    struct Action {
        double upper;
        std::uint64_t code;
    };
    struct Own {  // an agent of the team
        const CoreLocals::Agent* agent;
        const double* upper;  // of the choices in its node
        const double* lower;
    };
    // What the functions of one agent earn in expectation, by what it and some others do.
    struct Term {
        Index level;  // of the last of these agents
        std::size_t first_part, last_part;
        std::size_t values;
    };
    struct TermPart {
        Index position;
        std::size_t stride;
    };

    void read_team(const CoreTeams::Shape& team, std::span<const Index> nodes);
    void find_sets(const CoreTeams::Shape& team, std::span<const Index> nodes);
    void make_terms(const CoreTeams::Shape& team, std::span<const Index> nodes);
    void add_term(const CoreTeams::Shape& team, std::span<const Index> nodes, Index owner);
    double expected(const CoreTeams::Shape& team, Index owner) const;
    double list_alone();
    double enumerate(std::vector<Action>& into);
    double combine(const CoreTeams::Shape& team, std::span<const Index> nodes, bool keep_all);
    // Room for so many more, counted before it is taken.
    template <class T>
    void make_room(std::vector<T>& in, double more) {
        const double needed = static_cast<double>(in.size()) + more;
        const auto capacity = static_cast<double>(in.capacity());
        if (needed <= capacity) return;
        const double larger = std::max(needed, 2 * capacity);
        memory_.take((larger - capacity) * sizeof(T), "the joint actions of one joint state");
        in.reserve(static_cast<std::size_t>(larger));
    }

    const CoreLocals& locals_;
    const RewardPaths& paths_;
    CoreOptions options_;
    Monitor& monitor_;
    Reservation memory_;
    bool stored_ = true;
    std::vector<Action> kept_;

    // Of the team that is looked at, by position; with room for all agents.
    std::vector<Own> own_;
    std::vector<Index> count_;  // choices
    std::vector<Index> first_choice_;
    std::vector<std::uint64_t> stride_;  // of a choice in the code
    std::vector<Index> digit_;
    std::vector<Index> level_;              // in `set_`; kNone: not in it
    std::vector<std::vector<Index>> sets_;  // that cannot interact at this stage
    std::vector<Index> set_;                // the one that is looked at: positions
    std::vector<Term> terms_;
    std::vector<TermPart> term_parts_;
    std::vector<double> term_values_;
    std::vector<std::size_t> first_term_;  // per level
    std::vector<double> upper_, lower_;    // sums up to a level
    std::vector<std::uint64_t> code_;
    std::vector<std::vector<Action>> lists_;  // per set
};

}  // namespace coreplan
