// Conditional reward independence: which agents can no longer earn or pay anything together.
//
// An interaction entry is alive in a joint state if, at this or a later stage, all its agents can
// still match it at that same stage. Agents are coupled if they share an alive entry.
#pragma once

#include <deque>
#include <span>
#include <vector>

#include "crg/reward_tree.hpp"
#include "model/stage_runs.hpp"

namespace coreplan {

class Independence {
public:
    Independence(const TreeMaker& maker, Monitor& monitor);

    // No entry that this agent takes part in can happen any more, whatever the others do.
    [[nodiscard]] bool locally_independent(std::size_t agent, Index node) const {
        return local_[agent][node];
    }

    // The coupled groups of some agents in given nodes, each in the order given. Groups come in the
    // order of their first agents. The answer is remembered: it depends on few things.
    struct Groups {
        std::vector<std::vector<Index>> positions;  // into the agents given
    };
    const Groups& groups(std::span<const Index> agents, std::span<const Index> nodes);

    using Stages = std::vector<std::pair<Index, Index>>;  // ranges, in order
    struct Event {                                        // an entry, and what it needs of whom
        std::vector<std::pair<Index, Index>> members;     // (agent, used condition)
        const Entry* entry;
        Stages stages;  // at which it can be earned
    };
    [[nodiscard]] const std::vector<Event>& events() const noexcept { return events_; }
    // What each node of an agent can still take part in; signals are used conditions.
    [[nodiscard]] const StageRuns& runs(std::size_t agent) const { return runs_.at(agent); }

private:
    [[nodiscard]] bool alive(const Event& event, std::span<const Index> agents,
                             std::span<const Index> nodes) const;
    [[nodiscard]] bool can_match_alone(
        const Event& event, std::size_t agent, Index node,
        const std::vector<std::vector<std::vector<bool>>>& seen) const;
    // The stages at which an agent can still match a condition, from a node on.
    [[nodiscard]] Stages stages_of(std::size_t agent, Index node, Index condition) const;

    Index first_stage_;
    std::vector<Event> events_;
    std::vector<StageRuns> runs_;           // per agent
    std::vector<std::vector<bool>> local_;  // per agent and node
    SequencePool keys_;
    std::deque<Groups> answers_;  // so that references stay valid
};

}  // namespace coreplan
