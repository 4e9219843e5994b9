#include "search/core_alone.hpp"

#include <numeric>

namespace coreplan {

CoreAlone::CoreAlone(const ConditionalReturnGraphs& crgs, const CoreLocals& locals,
                     const RewardPaths& paths, const CoreOptions& options, Monitor& monitor,
                     CoreResult& counts)
    : crgs_(crgs),
      locals_(locals),
      paths_(paths),
      options_(options),
      updates_(options.bounds && options.update),
      monitor_(monitor),
      counts_(counts),
      memory_(monitor),
      layers_(crgs.graphs().stage_count()),
      agents_(crgs.agent_count()) {}

// Bounds and order of one agent's actions do not depend on anybody else: they belong to its graph.
void CoreAlone::prepare(std::size_t agent) {
    Agent& own = agents_[agent];
    const LocalGraph& graph = crgs_.graphs().agents[agent];
    const CoreLocals::Agent& local = locals_[agent];
    memory_.take(static_cast<double>(graph.choice_base.size()) * sizeof(Index) +
                     static_cast<double>(graph.node_count()) * (sizeof(double) + sizeof(Index)),
                 "the order of one agent's actions");
    own.graph = &local;
    own.order.resize(graph.choice_base.size());
    std::iota(own.order.begin(), own.order.end(), Index{0});
    own.best_lower.assign(graph.node_count(), CoreBest::kNone);
    own.decision.assign(graph.node_count(), kNone);
    if (!options_.bounds) return;
    for (std::size_t node = 0; node < graph.node_count(); ++node) {
        const Index first = graph.choice_begin[node];
        const Index last = graph.choice_begin[node + 1];
        for (Index c = first; c < last; ++c) {
            own.best_lower[node] = std::max(own.best_lower[node], local.lower[c]);
        }
        if (!options_.promising) continue;
        std::sort(own.order.begin() + first, own.order.begin() + last, [&](Index a, Index b) {
            return local.upper[a] != local.upper[b] ? local.upper[a] > local.upper[b] : a < b;
        });
    }
}

bool CoreAlone::solve(std::size_t agent, Index node, Index layer, double slack, double& value) {
    Agent& own = agents_[agent];
    if (own.graph == nullptr) prepare(agent);
    const ConditionalReturnGraph& crg = *own.graph->crg;
    stack_.clear();
    enter(own, node, slack);
    while (monitor_.stop() == Stop::none) {
        Visit& visit = stack_.back();
        if (visit.arc == visit.last_arc && !start_action(own, visit)) {
            value = leave(own);
            if (stack_.empty()) return true;
            add_outcome(own, stack_.back(), value);
            continue;
        }
        const Index next = own.graph->arcs[visit.arc].next;
        if (layer + stack_.size() == layers_) {
            add_outcome(own, visit, 0);
        } else if (crg.independent[next]) {
            add_outcome(own, visit, crg.local_value[next]);
        } else {
            enter(own, next, slack);  // `visit` is no longer valid
        }
    }
    return false;
}

void CoreAlone::enter(const Agent& agent, Index node, double slack) {
    const Index first = agent.graph->choice_begin[node];
    const Index last = agent.graph->choice_begin[node + 1];
    stack_.push_back(
        {node, first, last, 0, 0, 0, 0, 0, 0, {agent.best_lower[node], CoreBest::kNone, slack}});
    ++monitor_.progress.states_expanded;
    if (options_.bounds) counts_.actions_bounded += last - first;
    monitor_.tick(64 + 16 * (last - first));
}

// Opens the next action that is worth it (line 6); false if there is none.
bool CoreAlone::start_action(const Agent& agent, Visit& visit) const {
    for (; visit.turn < visit.last_turn; ++visit.turn) {
        const Index choice = agent.order[visit.turn];
        if (options_.bounds && visit.best.excludes(agent.graph->upper[choice])) {
            if (options_.promising) return false;  // the others promise no more
            continue;
        }
        visit.arc = agent.graph->arc_begin[choice];
        visit.last_arc = agent.graph->arc_begin[choice + 1];
        visit.sum = 0;
        visit.upper = agent.graph->upper[choice];
        return true;
    }
    return false;
}

// Lines 8 and 9: the outcome that is looked at, and what the agent earns after it.
void CoreAlone::add_outcome(const Agent& agent, Visit& visit, double future) {
    const CoreLocals::Arc& arc = agent.graph->arcs[visit.arc];
    double reward = arc.reward;
    if (arc.tree != RewardPaths::kNone) {
        reward += paths_.reward(arc.tree, [](Index) { return RewardPaths::kNone; });
    }
    visit.sum += arc.probability * (reward + future);
    visit.upper -= arc.probability * (arc.upper - future);
    monitor_.tick(32);
    if (++visit.arc < visit.last_arc) {
        if (!updates_ || !visit.best.gives_up(visit.upper)) return;
        visit.arc = visit.last_arc;
    } else if (visit.best.add(visit.sum)) {
        visit.decision = agent.order[visit.turn] - agent.graph->choice_begin[visit.node];
    }
    ++visit.evaluated;
    ++visit.turn;
}

// The value of the node that was entered last.
double CoreAlone::leave(Agent& agent) {
    const Visit& visit = stack_.back();
    const double value = visit.best.value;
    const Index count =
        agent.graph->choice_begin[visit.node + 1] - agent.graph->choice_begin[visit.node];
    agent.decision[visit.node] = visit.decision;
    monitor_.progress.actions_evaluated += visit.evaluated;
    counts_.actions_pruned += count - visit.evaluated;
    stack_.pop_back();
    return value;
}

}  // namespace coreplan
