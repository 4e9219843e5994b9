// From what a solver returns to what is done in the description's own terms, so that a policy can
// be judged by the reference.
#pragma once

#include "baselines/joint_result.hpp"
#include "bounds/independent.hpp"
#include "model/compiled_model.hpp"
#include "policies/team_policy.hpp"
#include "reference.hpp"

namespace coreplan::policies {

// The way between a description's states and choices and the classes and actions of a model.
class Translation {
public:
    Translation(const Description& description, bool merge);

    const CompiledModel& model() const { return model_; }
    const LocalGraphs& graphs() const { return graphs_; }

    // Per agent, the class of a state that can be reached at the stage.
    [[nodiscard]] Index class_of(std::size_t agent, Index stage, Index state) const;
    // The choice that stands for action `position` of the class, from this very state.
    [[nodiscard]] Index choice_of(std::size_t agent, Index stage, Index state,
                                  Index position) const;
    // The number of a joint state in the layout of the model.
    [[nodiscard]] std::uint64_t slot_of(Index stage, const reference::JointState& state) const;

    [[nodiscard]] reference::Rule rule(const LocalPolicy& policy) const;
    [[nodiscard]] reference::Rule rule(const JointResult& result) const;
    [[nodiscard]] reference::Rule rule(const TeamPolicy& policy) const;

private:
    [[nodiscard]] std::size_t node_of(std::size_t agent, Index stage, Index state) const;

    Monitor monitor_;
    LocalGraphs graphs_;
    CompiledModel model_;
    JointLayout layout_;
};

// All joint states of a stage that can be reached, in terms of the description.
std::vector<reference::JointState> joint_states_at(const LocalGraphs& graphs, Index layer);

}  // namespace coreplan::policies
