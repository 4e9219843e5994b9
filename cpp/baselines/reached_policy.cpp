#include "baselines/reached_policy.hpp"

#include <algorithm>
#include <utility>

#include "support/reservation.hpp"

namespace coreplan {

namespace {

constexpr double kBytesPerNumber = sizeof(std::uint64_t) + sizeof(std::uint32_t);

class Follower {
public:
    Follower(const CompiledModel& model, const JointLayout& layout, Monitor& monitor)
        : model_(model), layout_(layout), monitor_(monitor), memory_(monitor) {}

    void run(const ChooseJointly& choose, JointResult& result) {
        std::vector<std::uint64_t> numbers;
        std::vector<std::uint32_t> actions;
        std::vector<std::uint64_t> here{0};
        std::vector<Index> classes(model_.agents.size());
        chosen_.resize(model_.agents.size());
        for (layer_ = 0; layer_ < model_.layer_count(); ++layer_) {
            memory_.take(2 * kBytesPerNumber * static_cast<double>(here.size()), "the policy");
            for (const std::uint64_t state : here) {
                std::uint64_t rest = state;
                for (std::size_t i = 0; i < classes.size(); ++i) {
                    classes[i] = static_cast<Index>(rest / layout_.stride(layer_, i));
                    rest %= layout_.stride(layer_, i);
                }
                choose(layer_, classes, chosen_);
                numbers.push_back(layout_.layer_begin(layer_) + state);
                actions.push_back(joint_action_number(model_, layer_, classes, chosen_));
                if (layer_ + 1 < model_.layer_count()) add_outcomes(classes, 0, 0);
            }
            make_unique();
            here = std::exchange(next_, {});
        }
        result.state_count = numbers.size();
        result.numbers = zeros<std::uint64_t>(numbers.size());
        result.actions = zeros<std::uint32_t>(numbers.size());
        std::ranges::copy(numbers, result.numbers.get());
        std::ranges::copy(actions, result.actions.get());
    }

private:
    // Adds the numbers of all joint outcomes to `next_`.
    void add_outcomes(const std::vector<Index>& classes, std::size_t i, std::uint64_t number) {
        if (i == classes.size()) {
            if (next_.size() == next_.capacity()) make_room();
            next_.push_back(number);
            return;
        }
        const CompiledAgent& agent = model_.agents[i];
        const Index c = agent.layer_begin[layer_] + classes[i];
        const std::size_t after = at(agent.action_after[agent.action_begin[c] + chosen_[i]]);
        for (Index o = agent.outcome_begin[after]; o < agent.outcome_begin[after + 1]; ++o) {
            if (monitor_.tick(4)) {
                throw LimitReached(monitor_.stop(), "stopped while the policy was written down");
            }
            const std::size_t k = at(agent.outcome_next[o]) - agent.layer_begin[layer_ + 1];
            add_outcomes(classes, i + 1, number + k * layout_.stride(layer_ + 1, i));
        }
    }

    void make_room() {
        make_unique();
        const std::size_t room = std::max<std::size_t>(1024, 2 * next_.size());
        if (room <= next_.capacity()) return;
        memory_.take(static_cast<double>(room - next_.capacity()) * sizeof(std::uint64_t),
                     "the policy");
        next_.reserve(room);
    }

    void make_unique() {
        std::ranges::sort(next_);
        const auto rest = std::ranges::unique(next_);
        next_.erase(rest.begin(), rest.end());
    }

    const CompiledModel& model_;
    const JointLayout& layout_;
    Monitor& monitor_;
    Reservation memory_;
    Index layer_ = 0;
    std::vector<Index> chosen_;        // per agent
    std::vector<std::uint64_t> next_;  // joint states of the next layer
};

}  // namespace

void write_reached_policy(const CompiledModel& model, const JointLayout& layout,
                          const ChooseJointly& choose, Monitor& monitor, JointResult& result) {
    Follower(model, layout, monitor).run(choose, result);
}

std::uint32_t joint_action_number(const CompiledModel& model, Index layer,
                                  const std::vector<Index>& classes,
                                  const std::vector<Index>& actions) {
    std::uint32_t number = 0;
    for (std::size_t i = 0; i < classes.size(); ++i) {
        const CompiledAgent& agent = model.agents[i];
        const Index c = agent.layer_begin[layer] + classes[i];
        number = number * (agent.action_begin[c + 1] - agent.action_begin[c]) + actions[i];
    }
    return number + 1;
}

}  // namespace coreplan
