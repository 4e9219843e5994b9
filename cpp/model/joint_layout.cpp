#include "model/joint_layout.hpp"

#include <algorithm>

namespace coreplan {

JointLayout::JointLayout(const CompiledModel& model) : agents_(model.agents.size()) {
    layer_begin_.assign(1, 0);
    strides_.resize(model.layer_count() * agents_);
    for (Index layer = 0; layer < model.layer_count(); ++layer) {
        double states = 1;
        double actions = 1;
        std::uint64_t stride = 1;
        for (std::size_t i = agents_; i-- > 0;) {
            const CompiledAgent& agent = model.agents[i];
            strides_[layer * agents_ + i] = stride;
            stride *= agent.layer_size(layer);  // may wrap round; state_count tells
            states *= static_cast<double>(agent.layer_size(layer));
            Index most = 0;
            for (Index c = agent.layer_begin[layer]; c < agent.layer_begin[layer + 1]; ++c) {
                most = std::max(most, agent.action_begin[c + 1] - agent.action_begin[c]);
            }
            actions *= most;
        }
        state_count_ += states;
        most_actions_ = std::max(most_actions_, actions);
        layer_begin_.push_back(layer_begin_.back() + stride);
    }
}

}  // namespace coreplan
