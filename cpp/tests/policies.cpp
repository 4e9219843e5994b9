#include "policies.hpp"

#include <algorithm>
#include <stdexcept>

namespace coreplan::policies {

Translation::Translation(const Description& description, bool merge)
    : graphs_(unroll(description, monitor_)),
      model_(compile(graphs_, merge, monitor_)),
      layout_(model_) {}

std::size_t Translation::node_of(std::size_t agent, Index stage, Index state) const {
    const LocalGraph& graph = graphs_.agents[agent];
    const Index layer = stage - graphs_.first_stage;
    for (Index k = graph.layer_begin[layer]; k < graph.layer_begin[layer + 1]; ++k) {
        if (graph.node_state[k] == StateId{state}) return k;
    }
    throw std::out_of_range("the state cannot be reached at this stage");
}

Index Translation::class_of(std::size_t agent, Index stage, Index state) const {
    return static_cast<Index>(model_.agents[agent].node_class[node_of(agent, stage, state)]);
}

Index Translation::choice_of(std::size_t agent, Index stage, Index state, Index position) const {
    const CompiledAgent& compiled = model_.agents[agent];
    const std::size_t node = node_of(agent, stage, state);
    const Index k = compiled.node_choice_begin[node] + position;
    if (k >= compiled.node_choice_begin[node + 1]) throw std::out_of_range("no such action");
    return static_cast<Index>(compiled.node_choice[k]);
}

std::uint64_t Translation::slot_of(Index stage, const reference::JointState& state) const {
    const Index layer = stage - model_.first_stage;
    std::uint64_t slot = layout_.layer_begin(layer);
    for (std::size_t i = 0; i < state.size(); ++i) {
        slot += (class_of(i, stage, state[i]) - model_.agents[i].layer_begin[layer]) *
                layout_.stride(layer, i);
    }
    return slot;
}

reference::Rule Translation::rule(const LocalPolicy& policy) const {
    return [this, &policy](Index stage, const reference::JointState& state) {
        reference::JointChoice choice;
        for (std::size_t i = 0; i < state.size(); ++i) {
            const Index position = policy.action[i][class_of(i, stage, state[i])];
            choice.push_back(choice_of(i, stage, state[i], position));
        }
        return choice;
    };
}

reference::Rule Translation::rule(const TeamPolicy& policy) const {
    return [this, &policy](Index stage, const reference::JointState& state) {
        std::vector<ClassId> classes;
        for (std::size_t i = 0; i < state.size(); ++i) {
            classes.push_back(ClassId{class_of(i, stage, state[i])});
        }
        const auto actions = policy.act(model_, stage - model_.first_stage, classes);
        reference::JointChoice choice;
        for (std::size_t i = 0; i < state.size(); ++i) {
            choice.push_back(choice_of(i, stage, state[i], actions[i]));
        }
        return choice;
    };
}

reference::Rule Translation::rule(const JointResult& result) const {
    return [this, &result, fallback = rule(result.fallback)](Index stage,
                                                             const reference::JointState& state) {
        std::uint32_t stored = 0;
        if (result.actions != nullptr) {
            std::uint64_t slot = slot_of(stage, state);
            if (result.numbers != nullptr) {
                const std::uint64_t* const begin = result.numbers.get();
                const std::uint64_t* const end = begin + result.state_count;
                const std::uint64_t* const found = std::lower_bound(begin, end, slot);
                if (found == end || *found != slot) return fallback(stage, state);
                slot = static_cast<std::uint64_t>(found - begin);
            }
            stored = result.actions[slot];
        }
        if (stored == 0) return fallback(stage, state);
        // Joint actions are numbered with the last agent's action changing fastest.
        reference::JointChoice choice(state.size());
        std::uint32_t code = stored - 1;
        for (std::size_t i = state.size(); i-- > 0;) {
            const auto& begin = model_.agents[i].action_begin;
            const Index c = class_of(i, stage, state[i]);
            const Index actions = begin[c + 1] - begin[c];
            choice[i] = choice_of(i, stage, state[i], code % actions);
            code /= actions;
        }
        if (code != 0) throw std::out_of_range("no such joint action");
        return choice;
    };
}

std::vector<reference::JointState> joint_states_at(const LocalGraphs& graphs, Index layer) {
    std::vector<reference::JointState> all{{}};
    for (const LocalGraph& graph : graphs.agents) {
        std::vector<reference::JointState> wider;
        for (const auto& state : all) {
            for (Index k = graph.layer_begin[layer]; k < graph.layer_begin[layer + 1]; ++k) {
                wider.push_back(state);
                wider.back().push_back(static_cast<Index>(at(graph.node_state[k])));
            }
        }
        all = std::move(wider);
    }
    return all;
}

}  // namespace coreplan::policies
