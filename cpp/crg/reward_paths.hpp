// Rewards of joint transitions, read off conditional return graphs: the arcs that the other agents
// take in an agent's reward tree lead to a leaf, which carries the reward.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "crg/conditional_return_graph.hpp"
#include "support/reservation.hpp"

namespace coreplan {

// Where the rewards of interactions come from.
enum class RewardSource {
    graph,    // the paths of the CRGs
    entries,  // the sum of the entries that the joint transition matches
    checked,  // the paths, each compared with the sum: throws std::logic_error if they differ
};

class RewardPaths {
public:
    // `crgs` must outlive this object. Paths of graphs by the printed definitions, which can lose
    // rewards, are not for the search: throws std::invalid_argument.
    RewardPaths(const ConditionalReturnGraphs& crgs, RewardSource source, Monitor& monitor);

    static constexpr Index kNone = 0xffff'ffffU;

    // The tree between the ends of an arc; kNone if no other agent matters.
    [[nodiscard]] Index tree(std::size_t agent, Index arc) const {
        return agents_[agent].tree[arc];
    }
    // Another agent that the trees of a node's arcs look at, with the conditions that they look
    // for.
    struct Wanted {
        Index agent;
        std::uint64_t
            conditions;  // a bit for each; the last one for all that have none of their own
    };
    [[nodiscard]] std::span<const Wanted> others(std::size_t agent, Index node) const {
        const Agent& own = agents_[agent];
        return std::span(own.others)
            .subspan(own.others_begin[node], own.others_begin[node + 1] - own.others_begin[node]);
    }
    // The conditions, likewise, that an agent can match by what it does in a node.
    [[nodiscard]] std::uint64_t matchable(std::size_t agent, Index node) const {
        return agents_[agent].matchable[node];
    }
    // Whether all the other agents that one of the tree's entries looks at can match it; `can`
    // says of an agent and a condition whether it can. Calls `found` with each such entry's others.
    template <class Can, class Found>
    void possible_entries(Index tree, Can can, Found found) const {
        for (Index e = trees_[tree].first_entry; e < trees_[tree].last_entry; ++e) {
            const auto others = others_of(entries_[e]);
            bool all = true;
            for (const Other& other : others) all = all && can(other.agent, other.condition);
            if (all) found(others);
        }
    }
    // Whether an arc of an agent matches one of its used conditions.
    [[nodiscard]] bool matches(std::size_t agent, Index arc, Index condition) const {
        return agents_[agent].matches(arc, condition);
    }

    // The reward of a joint transition, own reward left out. `arc_of` gives the arc that an agent
    // takes, or kNone for an agent that takes part in nothing any more.
    template <class ArcOf>
    [[nodiscard]] double reward(Index tree, ArcOf arc_of) const {
        if (source_ == RewardSource::entries) return sum(tree, arc_of);
        const double walked = walk(tree, arc_of);
        if (source_ == RewardSource::checked) check(walked, sum(tree, arc_of), tree);
        return walked;
    }

    // The same in expectation: `arcs_of` gives the arcs (first, end) that an agent's action may
    // take, or (kNone, kNone).
    template <class ArcsOf>
    [[nodiscard]] double expected(Index tree, ArcsOf arcs_of) const {
        if (source_ == RewardSource::entries) return expected_sum(tree, arcs_of);
        Labels labels;
        const double walked = expected_walk(tree, 0, 0, 1.0, labels, arcs_of);
        if (source_ == RewardSource::checked) check(walked, expected_sum(tree, arcs_of), tree);
        return walked;
    }

    // The least and the most of it over all that the others may do.
    template <class ArcsOf>
    [[nodiscard]] std::pair<double, double> range(Index tree, ArcsOf arcs_of) const {
        Labels labels;
        std::pair<double, double> result{1.0, -1.0};  // nothing seen yet
        find_range(tree, 0, 0, labels, arcs_of, result);
        return result;
    }

    struct Other {
        Index agent;
        Index condition;
        Index step;    // of the tree; kNone: all that the agent can do takes the same path
        bool matches;  // in that case
    };

private:
    struct Step {  // of a path: what one agent does
        Index agent;
        Index labels;          // how many arcs there are to take; 0 stands for an absent agent
        std::size_t table;     // labels_[table + kind]: the arc that a move of this kind takes
        std::size_t examples;  // examples_[examples + label]: a kind that takes the arc
    };
    struct Entry {
        double value;
        Index first_other, last_other;
    };
    struct Tree {
        Index first_step, last_step;
        Index first_entry, last_entry;
        std::optional<std::size_t> leaves;  // where their rewards begin; none: too many to store
        double scale;                       // of its rewards, for comparisons
    };
    struct Agent {
        const LocalGraph* graph;
        std::vector<Index> tree;  // per arc
        std::vector<Index> kind;  // per arc: what interactions see of it
        Index conditions = 0;
        std::vector<std::uint8_t> kind_matches;  // per kind and condition
        std::vector<Index> others_begin;         // per node
        std::vector<Wanted> others;
        std::vector<std::uint64_t> matchable;  // per node
        [[nodiscard]] bool matches(Index arc, Index condition) const {
            return kind_matches[kind[arc] * conditions + condition] != 0;
        }
    };
    // The arcs taken so far, for trees with too many leaves to store.
    using Labels = std::vector<Index>;

    void number_kinds(std::size_t agent, const ConditionalReturnGraphs& crgs);
    void add_trees(std::size_t agent, const ConditionalReturnGraphs& crgs, Monitor& monitor);
    Index add_tree(std::size_t agent, Index layer, const RewardTree& tree,
                   const ConditionalReturnGraphs& crgs, Monitor& monitor);
    void add_step(const TreeAgent& other, Index layer, const TreeMaker& maker);
    void store_leaves(Tree& tree, Monitor& monitor);
    void list_others(std::size_t agent);
    void list_matchable(std::size_t agent);
    [[nodiscard]] double leaf_reward(const Tree& tree, std::span<const Index> labels) const;
    static void check(double walked, double sum, double scale_of_tree);
    void check(double walked, double sum, Index tree) const {
        check(walked, sum, trees_[tree].scale);
    }
    [[nodiscard]] std::span<const Other> others_of(const Entry& entry) const {
        return std::span(others_).subspan(entry.first_other, entry.last_other - entry.first_other);
    }

    template <class ArcOf>
    [[nodiscard]] double walk(Index number, ArcOf arc_of) const {
        const Tree& tree = trees_[number];
        if (!tree.leaves) {
            Labels labels;
            for (Index s = tree.first_step; s < tree.last_step; ++s) {
                labels.push_back(label_of(steps_[s], arc_of(steps_[s].agent)));
            }
            return leaf_reward(tree, labels);
        }
        std::size_t leaf = 0;
        for (Index s = tree.first_step; s < tree.last_step; ++s) {
            const Step& step = steps_[s];
            leaf = leaf * step.labels + label_of(step, arc_of(step.agent));
        }
        return leaves_[*tree.leaves + leaf];
    }

    [[nodiscard]] Index label_of(const Step& step, Index arc) const {
        return arc == kNone ? 0 : labels_[step.table + agents_[step.agent].kind[arc]];
    }

    template <class ArcOf>
    [[nodiscard]] double sum(Index number, ArcOf arc_of) const {
        double total = 0;
        for (Index e = trees_[number].first_entry; e < trees_[number].last_entry; ++e) {
            bool all = true;
            for (const Other& other : others_of(entries_[e])) {
                const Index arc = arc_of(other.agent);
                if (arc == kNone || !agents_[other.agent].matches(arc, other.condition)) {
                    all = false;
                    break;
                }
            }
            if (all) total += entries_[e].value;
        }
        return total;
    }

    template <class ArcsOf>
    double expected_walk(Index number, Index depth, std::size_t leaf, double chance, Labels& labels,
                         ArcsOf arcs_of) const {
        const Tree& tree = trees_[number];
        if (tree.first_step + depth == tree.last_step) {
            return chance *
                   (tree.leaves ? leaves_[*tree.leaves + leaf] : leaf_reward(tree, labels));
        }
        const Step& step = steps_[tree.first_step + depth];
        const auto go = [&](Index label, double p) {
            if (!tree.leaves) labels.push_back(label);
            const double result = expected_walk(number, depth + 1, leaf * step.labels + label,
                                                chance * p, labels, arcs_of);
            if (!tree.leaves) labels.pop_back();
            return result;
        };
        const auto [first, end] = arcs_of(step.agent);
        if (first == kNone) return go(0, 1.0);
        const LocalGraph& graph = *agents_[step.agent].graph;
        double total = 0;
        // Arcs that take the same path, one after the other, are taken together.
        for (Index arc = first; arc < end;) {
            const Index label = label_of(step, arc);
            double p = 0;
            for (; arc < end && label_of(step, arc) == label; ++arc) {
                p += graph.arc_probability[arc];
            }
            total += go(label, p);
        }
        return total;
    }

    template <class ArcsOf>
    [[nodiscard]] double expected_sum(Index number, ArcsOf arcs_of) const {
        double total = 0;
        for (Index e = trees_[number].first_entry; e < trees_[number].last_entry; ++e) {
            double value = entries_[e].value;
            for (const Other& other : others_of(entries_[e])) {
                const auto [first, end] = arcs_of(other.agent);
                const Agent& agent = agents_[other.agent];
                double p = 0;
                for (Index arc = first; first != kNone && arc < end; ++arc) {
                    if (agent.matches(arc, other.condition)) p += agent.graph->arc_probability[arc];
                }
                value *= p;
                if (value == 0) break;
            }
            total += value;
        }
        return total;
    }

    template <class ArcsOf>
    void find_range(Index number, Index depth, std::size_t leaf, Labels& labels, ArcsOf arcs_of,
                    std::pair<double, double>& result) const {
        const Tree& tree = trees_[number];
        if (tree.first_step + depth == tree.last_step) {
            const double reward =
                tree.leaves ? leaves_[*tree.leaves + leaf] : leaf_reward(tree, labels);
            const bool none_yet = result.first > result.second;
            if (none_yet || reward < result.first) result.first = reward;
            if (none_yet || reward > result.second) result.second = reward;
            return;
        }
        const Step& step = steps_[tree.first_step + depth];
        const auto [first, end] = arcs_of(step.agent);
        for (Index arc = first; first == kNone || arc < end; ++arc) {
            const Index label = first == kNone ? 0 : label_of(step, arc);
            labels.push_back(label);
            find_range(number, depth + 1, leaf * step.labels + label, labels, arcs_of, result);
            labels.pop_back();
            if (first == kNone) break;
        }
    }

    RewardSource source_;
    Reservation memory_;
    std::vector<Agent> agents_;
    std::vector<Tree> trees_;
    std::vector<Step> steps_;
    std::vector<Entry> entries_;
    std::vector<Other> others_;
    std::vector<Index> labels_;
    std::vector<Index> examples_;
    std::vector<double> leaves_;
};

}  // namespace coreplan
