// The paper's search for one agent that no other agent can interact with any more: the same steps
// as for a group, without all that groups need.
#pragma once

#include <vector>

#include "search/core_2016.hpp"
#include "search/core_best.hpp"
#include "search/core_locals.hpp"

namespace coreplan {

class CoreAlone {
public:
    static constexpr Index kNone = 0xffff'ffffU;

    // The arguments must outlive this object. What is done is counted in `counts` and in the
    // monitor's progress.
    CoreAlone(const ConditionalReturnGraphs& crgs, const CoreLocals& locals,
              const RewardPaths& paths, const CoreOptions& options, Monitor& monitor,
              CoreResult& counts);

    // Finds the value from a node on; false if the monitor stopped the search. `slack`: what may
    // be given away at each stage.
    bool solve(std::size_t agent, Index node, Index layer, double slack, double& value);

    // What was decided in a node, as a position among its choices; kNone if it was not solved.
    [[nodiscard]] Index decision(std::size_t agent, Index node) const {
        const auto& known = agents_[agent].decision;
        return known.empty() ? kNone : known[node];
    }

private:
    struct Agent {
        const CoreLocals::Agent* graph = nullptr;
        // Per node, its choices in the order in which to try them; and L_max to begin with.
        std::vector<Index> order;
        std::vector<double> best_lower;
        std::vector<Index> decision;
    };
    struct Visit {
        Index node;
        Index turn;       // position in `order`
        Index last_turn;  // behind the last one
        Index arc;        // the outcome that is looked at
        Index last_arc;
        Index decision;
        Index evaluated;
        double sum;
        double upper;  // U of the action, by what is known so far
        CoreBest best;
    };

    void prepare(std::size_t agent);
    void enter(const Agent& agent, Index node, double slack);
    bool start_action(const Agent& agent, Visit& visit) const;
    void add_outcome(const Agent& agent, Visit& visit, double future);
    double leave(Agent& agent);

    const ConditionalReturnGraphs& crgs_;
    const CoreLocals& locals_;
    const RewardPaths& paths_;
    const CoreOptions& options_;
    bool updates_;  // U of actions
    Monitor& monitor_;
    CoreResult& counts_;
    Reservation memory_;
    Index layers_;
    std::vector<Agent> agents_;
    std::vector<Visit> stack_;
};

}  // namespace coreplan
