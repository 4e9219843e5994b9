// What the published search reads of the agents' graphs. Most of its time goes into reading arcs;
// therefore all that it needs of an arc lies together.
#pragma once

#include <vector>

#include "crg/reward_paths.hpp"
#include "support/reservation.hpp"

namespace coreplan {

class CoreLocals {
public:
    struct Arc {
        double probability;
        double reward;  // of the agent alone
        double upper;   // U of the next node
        Index next;
        Index tree;  // of RewardPaths: the rewards together with others
    };
    struct Agent {
        const Index* choice_begin;  // per node
        const Index* arc_begin;     // per choice
        std::vector<Arc> arcs;
        // Per choice, others left out: the expected own reward and bound from the next node on.
        std::vector<double> upper;
        std::vector<double> lower;
        std::vector<std::uint8_t> interacts;  // per choice: whether an arc of it has a tree
        const ConditionalReturnGraph* crg;
    };

    // `crgs` and `paths` must outlive this object.
    CoreLocals(const ConditionalReturnGraphs& crgs, const RewardPaths& paths, Monitor& monitor);

    [[nodiscard]] std::size_t agent_count() const noexcept { return agents_.size(); }
    [[nodiscard]] const Agent& operator[](std::size_t agent) const { return agents_[agent]; }

private:
    Reservation memory_;
    std::vector<Agent> agents_;
};

}  // namespace coreplan
