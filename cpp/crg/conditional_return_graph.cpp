#include "crg/conditional_return_graph.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <tuple>

namespace coreplan {

ConditionalReturnGraphs::ConditionalReturnGraphs(const Description& description,
                                                 const LocalGraphs& graphs,
                                                 const std::vector<AgentId>& owner,
                                                 const CrgOptions& options, Monitor& monitor)
    : maker_(description, graphs, owner, options, monitor), independence_(maker_, monitor) {
    agents_.resize(graphs.agents.size());
    for (std::size_t i = 0; i < agents_.size(); ++i) {
        solve_alone(i, monitor);
        build(i, monitor);
        bound(i, monitor);
        measure(i, monitor);
    }
}

CrgSize ConditionalReturnGraphs::size() const {
    CrgSize total;
    for (const ConditionalReturnGraph& crg : agents_) {
        for (const CrgSize& size : crg.size_at) total += size;
    }
    return total;
}

// Trees are shared by all arcs of a layer that match the same conditions.
void ConditionalReturnGraphs::build(std::size_t agent, Monitor& monitor) {
    const LocalGraph& graph = graphs().agents[agent];
    ConditionalReturnGraph& crg = agents_[agent];
    crg.most_dependent.assign(agents_.size(), 0);
    crg.most_influence.assign(agents_.size(), 0);
    monitor.reserve(static_cast<double>(graph.arc_next.size()) * sizeof(Index) +
                        static_cast<double>(graph.node_count()) * 32,
                    "the conditional return graph of one agent");
    for (Index layer = 0; layer < graphs().stage_count(); ++layer) {
        std::map<std::vector<bool>, Index> known;
        std::optional<Index> no_interaction;  // one tree for all arcs that others cannot change
        const Index first = graph.arc_begin[graph.choice_begin[graph.layer_begin[layer]]];
        const Index last = graph.arc_begin[graph.choice_begin[graph.layer_begin[layer + 1]]];
        for (Index arc = first; arc < last; ++arc) {
            std::vector<bool> matched = maker_.matched(agent, graph.arc_base[arc]);
            const auto [place, is_new] =
                known.try_emplace(std::move(matched), static_cast<Index>(crg.trees.size()));
            if (is_new) {
                RewardTree tree = maker_.make(agent, layer, place->first);
                if (tree.entries.empty()) {
                    if (!no_interaction) {
                        no_interaction = place->second;
                        crg.trees.push_back(std::move(tree));
                    }
                    place->second = *no_interaction;
                    crg.arc_tree.push_back(place->second);
                    continue;
                }
                crg.trees.push_back(std::move(tree));
                for (const TreeAgent& other : crg.trees.back().agents) {
                    Index& dependent = crg.most_dependent[at(other.agent)];
                    dependent = std::max(dependent, static_cast<Index>(other.dependent.size()));
                    Index& influence = crg.most_influence[at(other.agent)];
                    for (const Branch& branch : other.branches) {
                        influence = std::max(influence, branch.labelled_arcs);
                    }
                }
            }
            crg.arc_tree.push_back(place->second);
            monitor.tick_or_throw(16);
        }
    }
    crg.others = static_cast<Index>(maker_.scope_of(agent).size());
}

// The best an agent can do with its own rewards only: all that matters once it is independent.
void ConditionalReturnGraphs::solve_alone(std::size_t agent, Monitor& monitor) {
    const LocalGraph& graph = graphs().agents[agent];
    ConditionalReturnGraph& crg = agents_[agent];
    crg.independent.resize(graph.node_count());
    crg.local_value.assign(graph.node_count(), 0.0);
    crg.local_choice.assign(graph.node_count(), 0);
    for (Index node = static_cast<Index>(graph.node_count()); node-- > 0;) {
        crg.independent[node] = independence_.locally_independent(agent, node);
        if (graph.choice_begin[node] == graph.choice_begin[node + 1]) continue;
        double best = -std::numeric_limits<double>::infinity();
        for (Index c = graph.choice_begin[node]; c < graph.choice_begin[node + 1]; ++c) {
            double value = 0;
            for (Index arc = graph.arc_begin[c]; arc < graph.arc_begin[c + 1]; ++arc) {
                value += graph.arc_probability[arc] *
                         (graph.arc_reward[arc] + crg.local_value[at(graph.arc_next[arc])]);
            }
            if (value > best) {
                best = value;
                crg.local_choice[node] = c - graph.choice_begin[node];
            }
            monitor.tick_or_throw(16);
        }
        crg.local_value[node] = best;
    }
}

void ConditionalReturnGraphs::bound(std::size_t agent, Monitor& monitor) {
    const LocalGraph& graph = graphs().agents[agent];
    ConditionalReturnGraph& crg = agents_[agent];
    crg.upper.assign(graph.node_count(), 0.0);
    crg.lower.assign(graph.node_count(), 0.0);
    for (Index node = static_cast<Index>(graph.node_count()); node-- > 0;) {
        Index first = graph.choice_begin[node];
        Index last = graph.choice_begin[node + 1];
        if (first == last) continue;
        if (crg.independent[node]) {
            first += crg.local_choice[node];
            last = first + 1;
        }
        double most = -std::numeric_limits<double>::infinity();
        double least = std::numeric_limits<double>::infinity();
        for (Index c = first; c < last; ++c) {
            double upper = 0;
            double lower = 0;
            for (Index arc = graph.arc_begin[c]; arc < graph.arc_begin[c + 1]; ++arc) {
                const RewardTree& tree = crg.trees[crg.arc_tree[arc]];
                const std::size_t next = at(graph.arc_next[arc]);
                const double best = graph.arc_reward[arc] + tree.most + crg.upper[next];
                const double worst = graph.arc_reward[arc] + tree.least + crg.lower[next];
                if (maker_.options().expected) {
                    upper += graph.arc_probability[arc] * best;
                    lower += graph.arc_probability[arc] * worst;
                } else {
                    most = std::max(most, best);
                    least = std::min(least, worst);
                }
            }
            if (maker_.options().expected) {
                most = std::max(most, upper);
                least = std::min(least, lower);
            }
        }
        crg.upper[node] = most;
        crg.lower[node] = least;
        monitor.tick_or_throw(16);
    }
}

void ConditionalReturnGraphs::measure(std::size_t agent, Monitor& monitor) {
    const LocalGraph& graph = graphs().agents[agent];
    ConditionalReturnGraph& crg = agents_[agent];
    crg.in_graph.assign(graph.node_count(), false);
    crg.in_graph[0] = true;
    const Index layers = graphs().stage_count();
    crg.size_at.resize(layers + 1);
    crg.naive_at.resize(layers + 1);
    for (Index layer = 0; layer <= layers; ++layer) {
        for (Index node = graph.layer_begin[layer]; node < graph.layer_begin[layer + 1]; ++node) {
            crg.naive_at[layer].states += 1;
            if (crg.in_graph[node]) crg.size_at[layer].states += 1;
            for (Index c = graph.choice_begin[node]; c < graph.choice_begin[node + 1]; ++c) {
                const bool kept =
                    crg.in_graph[node] && (!crg.independent[node] ||
                                           c - graph.choice_begin[node] == crg.local_choice[node]);
                // Merged states can have several arcs that only other agents' graphs tell apart.
                std::set<std::tuple<NodeId, double, Index>> distinct;
                for (Index arc = graph.arc_begin[c]; arc < graph.arc_begin[c + 1]; ++arc) {
                    const RewardTree& tree = crg.trees[crg.arc_tree[arc]];
                    crg.naive_at[layer] += tree.naive;
                    if (!kept) continue;
                    crg.in_graph[at(graph.arc_next[arc])] = true;
                    if (distinct
                            .emplace(graph.arc_next[arc], graph.arc_reward[arc], crg.arc_tree[arc])
                            .second) {
                        crg.size_at[layer] += tree.size;
                    }
                }
                monitor.tick_or_throw(16);
            }
        }
    }
}

}  // namespace coreplan
