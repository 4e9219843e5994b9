// What groups of agents do, as far as others need to know it. Groups act independently of each
// other, so the chance that an interaction happens is a product over the groups that it touches,
// and the sum of an aggregate is one of independent parts.
#pragma once

#include <memory>
#include <vector>

#include "policies/rollout.hpp"
#include "policies/team_policy.hpp"

namespace coreplan {

struct Behaviour {
    std::vector<AgentId> agents;
    std::vector<std::vector<Index>> otherwise;  // per agent: what it does by default
    JointTable table;
    double own = 0;                   // expected own rewards of its agents
    std::vector<Index> interactions;  // those that touch the group, ascending
    // Per one of them and per value of it: the chance that all its members in the group match.
    std::vector<std::vector<double>> chance;
    // Aggregates of its agents, ascending. Per one of them and layer at which it counts: the
    // chances of what the group adds to the sum.
    std::vector<Index> aggregates;
    std::vector<std::vector<std::vector<double>>> sums;

    // Null if the group adds nothing to it.
    [[nodiscard]] const std::vector<std::vector<double>>* sums_of(Index aggregate) const;
    [[nodiscard]] const std::vector<double>& chance_of(Index interaction) const;
    [[nodiscard]] double bytes() const;
};

// Per agent: the interactions that it is a member of and that can happen, ascending.
std::vector<std::vector<Index>> interactions_of(const CompiledModel& model);

// Agents that follow local policies, each by itself.
Behaviour behave(const CompiledModel& model, const std::vector<std::vector<Index>>& touching,
                 std::vector<AgentId> agents, std::vector<std::vector<Index>> policy,
                 Monitor& monitor);

// Agents that follow a rollout, which is finished and exact; its model has these agents in this
// order, with rewards of its own.
Behaviour behave(const CompiledModel& model, const std::vector<std::vector<Index>>& touching,
                 std::vector<AgentId> agents, std::vector<std::vector<Index>> policy,
                 const Rollout& rollout, Monitor& monitor);

// The same for joint states that are all known, layer by layer, up to the horizon.
Behaviour behave(const CompiledModel& model, const std::vector<std::vector<Index>>& touching,
                 std::vector<AgentId> agents, std::vector<std::vector<Index>> policy,
                 JointTable table, const std::vector<RolloutLayer>& layers, Monitor& monitor);

// The model of some agents as they see it while the others behave as they do: what interactions
// with others are expected to bring is part of own rewards, or of the values of interactions among
// several of the agents. An aggregate is worth what is expected if the others add to its sum, less
// what it is worth then anyway. `group_of` says, for every other agent, whom it belongs to.
CompiledModel seen_by(const CompiledModel& model, const std::vector<std::vector<Index>>& touching,
                      const std::vector<AgentId>& agents,
                      const std::vector<std::shared_ptr<const Behaviour>>& group_of);

// What all groups together are expected to earn; constants are not counted.
double total_of(const CompiledModel& model,
                const std::vector<std::shared_ptr<const Behaviour>>& group_of);

}  // namespace coreplan
