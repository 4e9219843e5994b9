// The paper's search, as printed: CoRe (Algorithm 1) and, without its bounds, CRG-PS.
#pragma once

#include <cstdint>
#include <vector>

#include "crg/conditional_return_graph.hpp"
#include "crg/reward_paths.hpp"

namespace coreplan {

struct CoreOptions {
    bool bounds = true;  // prune by the CRGs' bounds (CoRe); without: CRG-PS
    bool memo = false;   // remember solved groups; the algorithm as printed does not
    // Take what a decoupled agent earns from its optimal local policy. Without: search for it, as
    // for any other group, unless the agent is locally independent.
    bool table = true;
    bool promising = true;  // try joint actions by falling U; without: in the order of the problem
    // Lower U of a joint action by what is known of its outcomes, and stop with it once U is below
    // L_max.
    bool update = true;
    RewardSource rewards = RewardSource::graph;
    // Bound joint actions per set of agents that cannot interact at this stage, and generate only
    // those combinations that are not pruned at once.
    bool independent_actions = false;
    double absolute_gap = 0;  // how much value may be given away in all
    double relative_gap = 0;  // the same as a part of the value
    // Record the search, for small problems: the most joint states (joint actions: 20 times as
    // many) to record; 0: nothing.
    std::uint64_t most_trace = 0;
};

// What the search decided for a group of agents at a stage.
struct GroupDecision {
    Index layer;
    std::vector<Index> agents;
    std::vector<Index> nodes;    // of the (merged) local graphs
    std::vector<Index> choices;  // per agent: position among the node's choices
};

// The search made visible: one record per look at a group's state, and one per joint action.
struct TraceAction {
    std::vector<Index> choices;
    double upper;  // of the search, which knows the chances of what others do
    double lower;
    double graph_upper;  // of the CRGs alone, whatever the others' outcomes
    double graph_lower;
    bool pruned;
    bool given_up;      // while it was evaluated
    double best_known;  // what it was compared with at its turn
    double value;       // if evaluated; if given up, its U by then
};
struct TraceState {
    std::int64_t parent;  // record of the state that it was reached from; -1 for the root
    Index parent_action;  // position in the parent's actions
    double probability;   // of this outcome of that action
    Index layer;
    std::vector<Index> agents;
    std::vector<Index> nodes;
    bool independent;  // one agent, solved by its local policy
    bool remembered;   // taken from memory
    Index groups;      // how many groups the parent's outcome fell into
    std::vector<TraceAction> actions;
    double value;
};

struct CoreResult {
    Stop stop = Stop::none;
    double lower = 0;  // what the policy in hand is worth; only with stop == none
    double upper = 0;
    double given_away = 0;  // the gap that pruning was allowed to leave
    std::uint64_t states_expanded = 0;
    std::uint64_t actions_evaluated = 0;
    std::uint64_t actions_pruned = 0;
    std::uint64_t actions_bounded = 0;  // of all agents, or of sets that were bounded separately
    std::uint64_t decouplings = 0;
    std::vector<GroupDecision> decisions;  // for all groups that the policy can lead to
    std::vector<TraceState> trace;
    bool trace_full = false;  // there was more to record than allowed; then nothing else counts
};

CoreResult solve_core_2016(ConditionalReturnGraphs& crgs, const CoreOptions& options,
                           Monitor& monitor);

}  // namespace coreplan
