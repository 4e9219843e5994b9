// Local graphs: what each agent can be in at each stage, unrolled, with rewards per transition.
#pragma once

#include <stdexcept>
#include <vector>

#include "model/description.hpp"
#include "model/rewards.hpp"
#include "support/ids.hpp"
#include "support/monitor.hpp"

namespace coreplan {

// One agent's graph, layer by layer, as compressed rows: layer -> nodes -> choices -> arcs.
// Layers run from first_stage to horizon; the nodes of the last layer have no choices.
struct LocalGraph {
    std::vector<Index> layer_begin;  // layer_begin[t - first_stage] .. : nodes of stage t
    std::vector<StateId> node_state;
    std::vector<Index> choice_begin;  // per node
    std::vector<ChoiceId> choice_base;
    std::vector<Index> arc_begin;  // per choice
    std::vector<NodeId> arc_next;
    std::vector<double> arc_probability;  // > 0
    std::vector<double> arc_reward;       // the agent's own reward
    std::vector<TransitionId> arc_base;   // which signals match is known per transition

    [[nodiscard]] std::size_t node_count() const noexcept { return node_state.size(); }
};

struct LocalGraphs {
    Index first_stage = 0;
    Index horizon = 0;
    Rewards rewards;
    std::vector<LocalGraph> agents;

    [[nodiscard]] Index stage_count() const noexcept { return horizon - first_stage; }
};

// An agent can come into a state, before the horizon, in which it has no action.
class NoAction : public std::runtime_error {
public:
    NoAction(AgentId who, StateId where, Index when)
        : std::runtime_error("a reachable state has no action"),
          agent(who),
          state(where),
          stage(when) {}
    AgentId agent;
    StateId state;
    Index stage;
};

// Unrolls every agent from its start state as far as it can get. The memory needed is counted
// before it is taken.
LocalGraphs unroll(const Description& description, Monitor& monitor);

}  // namespace coreplan
