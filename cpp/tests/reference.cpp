#include "reference.hpp"

#include <algorithm>
#include <limits>

namespace coreplan::reference {

namespace {

bool contains(const std::optional<std::vector<Index>>& list, Index value) {
    return !list || std::ranges::find(*list, value) != list->end();
}

bool allowed(const AgentDescription& agent, Index choice, Index stage) {
    return agent.choice_first[choice] <= stage && stage <= agent.choice_last[choice];
}

// Calls `visit` with every combination of one item per agent.
void for_each_combination(const std::vector<std::vector<Index>>& items,
                          const std::function<void(const std::vector<Index>&)>& visit) {
    std::vector<Index> chosen;
    const std::function<void()> extend = [&] {
        if (chosen.size() == items.size()) {
            visit(chosen);
            return;
        }
        for (const Index item : items[chosen.size()]) {
            chosen.push_back(item);
            extend();
            chosen.pop_back();
        }
    };
    extend();
}

}  // namespace

Origin origin(const AgentDescription& agent, Index transition) {
    Origin from{0, 0};
    while (agent.outcome_begin[from.choice + 1] <= transition) ++from.choice;
    while (agent.choice_begin[from.state + 1] <= from.choice) ++from.state;
    return from;
}

bool matches(const Condition& condition, Index state, Index action, Index next) {
    return contains(condition.states, state) && contains(condition.actions, action) &&
           contains(condition.nexts, next);
}

double Bellman::reward(Index stage, const JointState& state, const JointChoice& choice,
                       const std::vector<Index>& transition) const {
    double total = 0;
    for (const Entry& entry : description_.entries) {
        bool all = contains(entry.stages, stage);
        for (const Member& member : entry.members) {
            if (!all) break;
            const std::size_t i = at(member.agent);
            const AgentDescription& agent = description_.agents[i];
            all = matches(agent.conditions[member.condition], state[i],
                          agent.choice_action[choice[i]], agent.outcome_next[transition[i]]);
        }
        if (all) total += entry.value;
    }
    for (const Aggregate& aggregate : description_.aggregates) {
        if (!contains(aggregate.stages, stage)) continue;
        Index sum = 0;
        for (const Amount& amount : aggregate.amounts) {
            const std::size_t i = at(amount.agent);
            const AgentDescription& agent = description_.agents[i];
            const bool match =
                matches(agent.conditions[amount.condition], state[i],
                        agent.choice_action[choice[i]], agent.outcome_next[transition[i]]);
            if (match) sum += amount.units;
        }
        total += aggregate.values[sum];
    }
    return description_.weights.empty() ? total : description_.weights[stage] * total;
}

double Bellman::value(Index stage, const JointState& state, const JointChoice& choice) {
    std::vector<std::vector<Index>> transitions;
    for (std::size_t i = 0; i < state.size(); ++i) {
        const AgentDescription& agent = description_.agents[i];
        auto& possible = transitions.emplace_back();
        for (Index o = agent.outcome_begin[choice[i]]; o < agent.outcome_begin[choice[i] + 1];
             ++o) {
            if (agent.outcome_probability[o] > 0) possible.push_back(o);
        }
    }
    double total = 0;
    for_each_combination(transitions, [&](const std::vector<Index>& transition) {
        double probability = 1;
        JointState next;
        for (std::size_t i = 0; i < state.size(); ++i) {
            probability *= description_.agents[i].outcome_probability[transition[i]];
            next.push_back(description_.agents[i].outcome_next[transition[i]]);
        }
        total += probability * (reward(stage, state, choice, transition) + value(stage + 1, next));
    });
    return total;
}

double Bellman::value(Index stage, const JointState& state) {
    if (stage == description_.horizon) return 0;
    const auto known = known_.find({stage, state});
    if (known != known_.end()) return known->second;
    double best = -std::numeric_limits<double>::infinity();
    if (rule_) {
        best = value(stage, state, rule_(stage, state));
    } else {
        std::vector<std::vector<Index>> choices;
        for (std::size_t i = 0; i < state.size(); ++i) {
            const AgentDescription& agent = description_.agents[i];
            auto& possible = choices.emplace_back();
            for (Index c = agent.choice_begin[state[i]]; c < agent.choice_begin[state[i] + 1];
                 ++c) {
                if (allowed(agent, c, stage)) possible.push_back(c);
            }
        }
        for_each_combination(choices, [&](const JointChoice& choice) {
            best = std::max(best, value(stage, state, choice));
        });
    }
    return known_[{stage, state}] = best;
}

double Bellman::value() {
    JointState start;
    for (const StateId state : description_.start) start.push_back(static_cast<Index>(state));
    return value(description_.first_stage, start);
}

double optimum(const Description& description) { return Bellman(description).value(); }

}  // namespace coreplan::reference
