// What the agents of a group do: one joint action of theirs, and one of its outcomes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "search/core_locals.hpp"

namespace coreplan {

struct CoreMove {
    const CoreLocals::Agent* agent;
    Index node;
    Index choice = 0;
    Index arc = 0;
    Index last_arc = 0;

    [[nodiscard]] const CoreLocals::Arc& outcome() const { return agent->arcs[arc]; }
    [[nodiscard]] Index choices() const {
        return agent->choice_begin[node + 1] - agent->choice_begin[node];
    }
    // The number of its choice among those of its node.
    [[nodiscard]] Index position() const { return choice - agent->choice_begin[node]; }
};

// Takes the joint action of a code (see CoreActions), each agent at its first outcome.
inline void take(std::span<CoreMove> moves, std::uint64_t code) {
    for (std::size_t k = moves.size(); k-- > 0;) {
        CoreMove& move = moves[k];
        move.choice = move.agent->choice_begin[move.node];
        const Index count = move.choices();
        if (count > 1) {  // most agents have no choice most of the time, and divisions are slow
            move.choice += static_cast<Index>(code % count);
            code /= count;
        }
        move.arc = move.agent->arc_begin[move.choice];
        move.last_arc = move.agent->arc_begin[move.choice + 1];
    }
}

// Goes on to the next outcome; false, and at the first one again, if there is none.
inline bool next_outcome(std::span<CoreMove> moves) {
    for (std::size_t k = moves.size(); k-- > 0;) {
        CoreMove& move = moves[k];
        if (++move.arc < move.last_arc) return true;
        move.arc = move.agent->arc_begin[move.choice];
    }
    return false;
}

}  // namespace coreplan
