// What the interactions see of one agent's moves.
//
// A condition has a state part, an action part and a next-state part, so what it says of a triple
// (s, a, s') depends on the action and on the *pair type* of (s, s'): the set of conditions whose
// state and next parts match. Pair types make rewards defined on all triples, possible or not, and
// are the features of the paper's further abstraction.
#pragma once

#include <vector>

#include "model/local_graph.hpp"
#include "support/ids.hpp"

namespace coreplan {

class MoveTypes {
public:
    // Looks at those conditions of the agent that interaction entries use.
    MoveTypes(const Description& description, AgentId agent, const std::vector<Entry>& entries);

    static constexpr Index kNotUsed = 0xffff'ffffU;

    // Number of a description's condition among those used, or kNotUsed.
    [[nodiscard]] Index number_of(Index condition) const { return number_[condition]; }
    [[nodiscard]] Index condition_count() const noexcept { return count_; }
    [[nodiscard]] Index action_count() const noexcept { return action_count_; }

    [[nodiscard]] Index pair_type(TransitionId transition) const {
        return pair_type_[at(transition)];
    }
    [[nodiscard]] Index action_of(TransitionId transition) const { return action_[at(transition)]; }
    // Pair types of all pairs of states, possible or not. Those of transitions come first.
    [[nodiscard]] Index pair_type_count() const noexcept {
        return static_cast<Index>(pair_conditions_.size());
    }

    // Whether a used condition matches a triple with this pair type and action.
    [[nodiscard]] bool matches(Index condition, Index pair_type, Index action) const {
        return pair_has_[pair_type * count_ + condition] &&
               action_has_[action * count_ + condition];
    }
    [[nodiscard]] bool pair_matches(Index condition, Index pair_type) const {
        return pair_has_[pair_type * count_ + condition];
    }

private:
    Index count_ = 0;
    Index action_count_ = 0;
    std::vector<Index> number_;
    std::vector<Index> pair_type_;
    std::vector<Index> action_;
    std::vector<std::vector<Index>> pair_conditions_;
    std::vector<bool> pair_has_;
    std::vector<bool> action_has_;
};

// A triple that is possible for an agent at a stage.
struct Move {
    Index from;  // node of the layer, counted in the agent's graph
    Index to;
    Index action;
    Index pair_type;
    TransitionId transition;
};

// The distinct moves of one agent at one layer, in the order of the graph.
std::vector<Move> moves_at(const LocalGraph& graph, const MoveTypes& types, Index layer);

}  // namespace coreplan
