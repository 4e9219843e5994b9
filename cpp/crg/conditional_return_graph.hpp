// Conditional return graphs (CRGs), one per agent: local states by stage and, between them, the
// trees that say on which actions and transitions of others the agent's share of the rewards
// depends; with bounds on the return, and the states from which an agent is on its own.
#pragma once

#include <memory>
#include <vector>

#include "crg/independence.hpp"
#include "crg/reward_tree.hpp"

namespace coreplan {

struct ConditionalReturnGraph {
    std::vector<RewardTree> trees;
    std::vector<Index> arc_tree;  // per arc of the local graph

    // From a locally independent state only the arcs of its optimal local policy are kept.
    std::vector<bool> independent;    // per node
    std::vector<double> local_value;  // per node: the best expected own reward from here on
    std::vector<Index> local_choice;  // per node: the choice that earns it, among its choices
    std::vector<bool> in_graph;       // per node: can be reached by the arcs that are kept

    // Bounds from a node on, over the arcs that are kept: on the return (paper, eq. UB), or, with
    // CrgOptions::expected, on what is expected of it whatever the others do.
    std::vector<double> upper;
    std::vector<double> lower;

    std::vector<CrgSize> size_at;       // per layer (the last one: local states only)
    std::vector<CrgSize> naive_at;      // the same without grouping, with all arcs
    std::vector<Index> most_dependent;  // per agent j: the largest |A(τ, j)|
    std::vector<Index> most_influence;  // per agent j: the largest |I(τ, ·)|
    Index others = 0;                   // agents in the scopes of its reward functions
};

class ConditionalReturnGraphs {
public:
    // `graphs` must outlive this object. `owner`: see TreeMaker.
    ConditionalReturnGraphs(const Description& description, const LocalGraphs& graphs,
                            const std::vector<AgentId>& owner, const CrgOptions& options,
                            Monitor& monitor);

    [[nodiscard]] const LocalGraphs& graphs() const noexcept { return maker_.graphs(); }
    [[nodiscard]] const TreeMaker& maker() const noexcept { return maker_; }
    [[nodiscard]] Independence& independence() noexcept { return independence_; }
    [[nodiscard]] const ConditionalReturnGraph& of(std::size_t agent) const {
        return agents_.at(agent);
    }
    [[nodiscard]] std::size_t agent_count() const noexcept { return agents_.size(); }

    // Sums of sizes over agents and layers.
    [[nodiscard]] CrgSize size() const;

private:
    void build(std::size_t agent, Monitor& monitor);
    void solve_alone(std::size_t agent, Monitor& monitor);
    void bound(std::size_t agent, Monitor& monitor);
    void measure(std::size_t agent, Monitor& monitor);

    TreeMaker maker_;
    Independence independence_;
    std::vector<ConditionalReturnGraph> agents_;
};

}  // namespace coreplan
