// A policy of a team: rules of clusters of agents over what each of them does by default.
#pragma once

#include <vector>

#include "bounds/independent.hpp"
#include "model/compiled_model.hpp"

namespace coreplan {

// What a group of agents does in some joint states, by layer and classes. Elsewhere each follows
// its default.
struct JointTable {
    std::vector<Index> layer;
    std::vector<Index> classes;  // rows of one per agent: numbers within the layer
    std::vector<Index> actions;  // rows: positions among the class's actions

    [[nodiscard]] std::size_t size() const noexcept { return layer.size(); }
    [[nodiscard]] double bytes() const noexcept {
        return static_cast<double>((layer.size() + classes.size() + actions.size()) *
                                   sizeof(Index));
    }
};

// Agents that look at each other's classes.
struct Cluster {
    std::vector<AgentId> agents;
    JointTable table;
};

struct TeamPolicy {
    LocalPolicy otherwise;
    std::vector<Cluster> clusters;  // disjoint; agents that are in none follow their default

    // The positions of the actions that are taken; classes are numbered within the agent.
    [[nodiscard]] std::vector<Index> act(const CompiledModel& model, Index layer,
                                         const std::vector<ClassId>& classes) const;
};

}  // namespace coreplan
