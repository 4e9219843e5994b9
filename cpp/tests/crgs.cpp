#include "crgs.hpp"

#include <stdexcept>

namespace coreplan::problems {

std::vector<AgentId> some_owners(const Rewards& rewards, std::uint64_t seed) {
    std::vector<AgentId> owners;
    for (const Entry& entry : rewards.interaction_entries) {
        const std::size_t k = seed == 0 ? 0 : (entry.function + seed) % entry.members.size();
        owners.push_back(entry.members[k].agent);
    }
    return owners;
}

WithCrgs::WithCrgs(const Description& description, bool merge, const CrgOptions& options,
                   std::uint64_t seed)
    : full(unroll(description, monitor)),
      merged(merge_transitions(description, full, merge, monitor)),
      owner(some_owners(full.rewards, seed)),
      crgs(description, merged.graphs, owner, options, monitor) {}

RewardTree WithCrgs::tree(std::size_t agent, Index layer, Index transition) const {
    return maker().make(agent, layer, maker().matched(agent, TransitionId{transition}));
}

double WithCrgs::constants_from(Index stage) const {
    double total = 0;
    for (; stage < full.horizon; ++stage) total += full.rewards.constant.at_stage(stage);
    return total;
}

SearchPolicy::SearchPolicy(const Description& description, WithCrgs& setup,
                           const CoreResult& result)
    : description_(description), setup_(setup) {
    for (const GroupDecision& decision : result.decisions) {
        const bool is_new =
            decisions_
                .emplace(Key{decision.layer, decision.agents, decision.nodes}, decision.choices)
                .second;
        if (!is_new) throw std::logic_error("a group has two decisions");
    }
}

reference::Rule SearchPolicy::rule() {
    return [this](Index stage, const reference::JointState& state) { return decide(stage, state); };
}

reference::JointChoice SearchPolicy::decide(Index stage, const reference::JointState& state) {
    const Index layer = stage - setup_.full.first_stage;
    std::vector<Index> agents, nodes;
    for (Index i = 0; i < state.size(); ++i) {
        const LocalGraph& full = setup_.full.agents[i];
        Index node = full.layer_begin[layer];
        while (full.node_state.at(node) != StateId{state[i]}) ++node;
        agents.push_back(i);
        nodes.push_back(static_cast<Index>(at(setup_.merged.node_class[i][node])));
    }
    reference::JointChoice result(state.size());
    for (const auto& positions : setup_.crgs.independence().groups(agents, nodes).positions) {
        std::vector<Index> group, group_nodes;
        for (const Index k : positions) {
            group.push_back(k);
            group_nodes.push_back(nodes[k]);
        }
        std::vector<Index> chosen;
        const Key key{layer, group, group_nodes};
        if (group.size() == 1 && !decisions_.contains(key)) {
            // Agents on their own follow their local rule.
            chosen.push_back(setup_.crgs.of(group[0]).local_choice[group_nodes[0]]);
        } else {
            chosen = decisions_.at(key);
            used_.insert(key);
        }
        for (std::size_t k = 0; k < group.size(); ++k) {
            // The choice with this name, of this very state and stage.
            const AgentDescription& who = description_.agents[group[k]];
            const LocalGraph& graph = setup_.graph(group[k]);
            const Index base = graph.choice_begin[group_nodes[k]] + chosen[k];
            if (base >= graph.choice_begin[group_nodes[k] + 1]) {
                throw std::out_of_range("no such choice");
            }
            const Index action = who.choice_action[at(graph.choice_base[base])];
            Index c = who.choice_begin[state[group[k]]];
            while (who.choice_action.at(c) != action || who.choice_first[c] > stage ||
                   who.choice_last[c] < stage) {
                ++c;
            }
            result[group[k]] = c;
        }
    }
    return result;
}

}  // namespace coreplan::problems
