// Numbers for joint states. Agents move independently and choose freely, so the joint states that
// can be reached at a stage are exactly the combinations of the local ones: they are numbered by a
// mixed radix, without gaps and without hashing.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "model/compiled_model.hpp"

namespace coreplan {

class JointLayout {
public:
    explicit JointLayout(const CompiledModel& model);

    // Joint states of all layers before the horizon; infinite beyond what 64 bits can count.
    [[nodiscard]] double state_count() const noexcept { return state_count_; }
    // The most joint actions that a joint state has.
    [[nodiscard]] double most_actions() const noexcept { return most_actions_; }

    // Only if state_count() is below 2^63: where a layer begins, and the step of each agent.
    [[nodiscard]] std::uint64_t layer_begin(Index layer) const { return layer_begin_[layer]; }
    [[nodiscard]] std::uint64_t stride(Index layer, std::size_t agent) const {
        return strides_[layer * agents_ + agent];
    }
    [[nodiscard]] const std::vector<std::uint64_t>& layer_begins() const { return layer_begin_; }
    [[nodiscard]] const std::vector<std::uint64_t>& strides() const { return strides_; }

private:
    std::size_t agents_;
    double state_count_ = 0;
    double most_actions_ = 0;
    std::vector<std::uint64_t> layer_begin_;
    std::vector<std::uint64_t> strides_;
};

}  // namespace coreplan
