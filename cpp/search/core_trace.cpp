#include "search/core_trace.hpp"

#include <algorithm>
#include <limits>

namespace coreplan {

namespace {

constexpr double kActionsPerState = 20;  // that a trace has room for, on average
constexpr double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace

std::int64_t CoreTrace::note(const CoreTeams::Shape& team, std::span<const Index> nodes,
                             Index layer, const CoreVisit& visit, bool independent, bool remembered,
                             double value) {
    if (result_.trace.size() >= most_) throw TraceFull{};
    if (!independent && !remembered) {
        double total = 1;
        for (std::size_t k = 0; k < nodes.size(); ++k) {
            const LocalGraph& graph = crgs_.graphs().agents[team.agents[k]];
            total *= graph.choice_begin[nodes[k] + 1] - graph.choice_begin[nodes[k]];
        }
        joint_actions_ += total;
        if (joint_actions_ > kActionsPerState * static_cast<double>(most_)) throw TraceFull{};
    }
    result_.trace.push_back({visit.parent,
                             visit.action,
                             visit.probability,
                             layer,
                             team.agents,
                             {nodes.begin(), nodes.end()},
                             independent,
                             remembered,
                             visit.groups,
                             {},
                             value});
    return static_cast<std::int64_t>(result_.trace.size()) - 1;
}

void CoreTrace::add_action(std::int64_t record, const CoreTeams::Shape& team,
                           std::vector<Index> choices, bool pruned, double best_known) {
    TraceState& state = at_record(record);
    TraceAction action{std::move(choices), 0, 0, 0, 0, pruned, false, best_known, 0};
    for (std::size_t k = 0; k < team.agents.size(); ++k) {
        add_graph_bounds(team, k, state, action);
    }
    state.actions.push_back(std::move(action));
}

void CoreTrace::set_action_value(std::int64_t record, double value) {
    at_record(record).actions.back().value = value;
}

void CoreTrace::give_up(std::int64_t record, double upper) {
    TraceAction& action = at_record(record).actions.back();
    action.given_up = true;
    action.value = upper;
}

void CoreTrace::set_value(std::int64_t record, double value) { at_record(record).value = value; }

// What the search knows of agent k's share in a joint action, and what its CRG alone says: with the
// others' outcomes as good or as bad as can be; the agent's own outcomes likewise, or in
// expectation, as the bounds of the CRG are.
void CoreTrace::add_graph_bounds(const CoreTeams::Shape& team, std::size_t k,
                                 const TraceState& state, TraceAction& action) const {
    const auto chosen = [&](std::size_t j) {
        const LocalGraph& graph = crgs_.graphs().agents[team.agents[j]];
        return graph.choice_begin[state.nodes[j]] + action.choices[j];
    };
    const auto arcs_of = [&](Index other) -> std::pair<Index, Index> {
        const Index position = team.position[other];
        if (position == CoreTeams::kNone) return {RewardPaths::kNone, RewardPaths::kNone};
        const LocalGraph& graph = crgs_.graphs().agents[other];
        return {graph.arc_begin[chosen(position)], graph.arc_begin[chosen(position) + 1]};
    };
    const std::size_t agent = team.agents[k];
    const LocalGraph& own = crgs_.graphs().agents[agent];
    const ConditionalReturnGraph& crg = crgs_.of(agent);
    const Index choice = chosen(k);
    const bool expected = crgs_.maker().options().expected;
    double expected_reward = 0;
    double most = expected ? 0 : -kInfinity;
    double least = expected ? 0 : kInfinity;
    for (Index arc = own.arc_begin[choice]; arc < own.arc_begin[choice + 1]; ++arc) {
        const double p = own.arc_probability[arc];
        const std::size_t next = at(own.arc_next[arc]);
        const Index tree = paths_.tree(agent, arc);
        std::pair<double, double> range{0, 0};
        if (tree != RewardPaths::kNone) {
            range = paths_.range(tree, arcs_of);
            expected_reward += p * paths_.expected(tree, arcs_of);
        }
        const double upper = own.arc_reward[arc] + range.second + crg.upper[next];
        const double lower = own.arc_reward[arc] + range.first + crg.lower[next];
        most = expected ? most + p * upper : std::max(most, upper);
        least = expected ? least + p * lower : std::min(least, lower);
    }
    action.upper += locals_[agent].upper[choice] + expected_reward;
    action.lower += locals_[agent].lower[choice] + expected_reward;
    action.graph_upper += most;
    action.graph_lower += least;
}

}  // namespace coreplan
