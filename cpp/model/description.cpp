#include "model/description.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <string>

namespace coreplan {

namespace {

void require(bool holds, const char* what) {
    if (!holds) throw std::invalid_argument(std::string("malformed description: ") + what);
}

bool all_below(const std::vector<Index>& values, std::size_t bound) {
    return std::ranges::all_of(values, [bound](Index value) { return value < bound; });
}

bool all_below(const std::optional<std::vector<Index>>& values, std::size_t bound) {
    return !values || all_below(*values, bound);
}

void check_rows(const std::vector<Index>& begin, std::size_t rows, std::size_t items,
                const char* what) {
    require(begin.size() == rows + 1 && begin.front() == 0 && begin.back() == items, what);
    require(std::ranges::is_sorted(begin), what);
}

void check(const AgentDescription& agent) {
    const std::size_t choices = agent.choice_count();
    check_rows(agent.choice_begin, agent.state_count, choices, "choice_begin");
    check_rows(agent.outcome_begin, choices, agent.transition_count(), "outcome_begin");
    require(agent.choice_first.size() == choices, "choice_first");
    require(agent.choice_last.size() == choices, "choice_last");
    require(agent.outcome_probability.size() == agent.transition_count(), "outcome_probability");
    require(all_below(agent.choice_action, agent.action_count), "choice_action");
    require(all_below(agent.outcome_next, agent.state_count), "outcome_next");
    for (const Condition& condition : agent.conditions) {
        require(all_below(condition.states, agent.state_count), "condition states");
        require(all_below(condition.actions, agent.action_count), "condition actions");
        require(all_below(condition.nexts, agent.state_count), "condition nexts");
    }
}

// A set of indices that is quick to ask; an absent list contains everything.
class Mask {
public:
    Mask(const std::optional<std::vector<Index>>& list, std::size_t size) : all_(!list) {
        if (!list) return;
        bits_.assign(size, false);
        for (const Index index : *list) bits_[index] = true;
    }
    [[nodiscard]] bool contains(Index index) const { return all_ || bits_[index]; }

private:
    bool all_;
    std::vector<bool> bits_;
};

}  // namespace

void check(const Description& description) {
    require(description.horizon >= 1 && description.first_stage < description.horizon, "horizon");
    require(!description.agents.empty(), "agents");
    require(description.start.size() == description.agents.size(), "start");
    for (std::size_t i = 0; i < description.agents.size(); ++i) {
        check(description.agents[i]);
        require(at(description.start[i]) < description.agents[i].state_count, "start");
    }
    require(description.weights.empty() || description.weights.size() == description.horizon,
            "weights");
    require(std::ranges::all_of(description.weights,
                                [](double w) { return std::isfinite(w) && w >= 0; }),
            "weights");
    for (const Entry& entry : description.entries) {
        require(all_below(entry.stages, description.horizon), "entry stages");
        for (std::size_t m = 0; m < entry.members.size(); ++m) {
            const Member& member = entry.members[m];
            require(at(member.agent) < description.agents.size(), "entry agent");
            require(member.condition < description.agents[at(member.agent)].conditions.size(),
                    "entry condition");
            require(m == 0 || entry.members[m - 1].agent < member.agent, "entry members' order");
        }
    }
    for (const Aggregate& aggregate : description.aggregates) {
        require(all_below(aggregate.stages, description.horizon), "aggregate stages");
        require(!aggregate.values.empty(), "aggregate values");
        for (const Amount& amount : aggregate.amounts) {
            require(at(amount.agent) < description.agents.size(), "amount agent");
            const AgentDescription& agent = description.agents[at(amount.agent)];
            require(amount.condition < agent.conditions.size(), "amount condition");
            require(!agent.conditions[amount.condition].nexts, "amount condition");
        }
    }
}

std::vector<TransitionId> matching_transitions(const AgentDescription& agent,
                                               const Condition& condition) {
    std::vector<TransitionId> found;
    const Mask actions(condition.actions, agent.action_count);
    const Mask nexts(condition.nexts, agent.state_count);
    const auto look_at = [&](Index state) {
        for (Index c = agent.choice_begin[state]; c < agent.choice_begin[state + 1]; ++c) {
            if (!actions.contains(agent.choice_action[c])) continue;
            for (Index o = agent.outcome_begin[c]; o < agent.outcome_begin[c + 1]; ++o) {
                if (nexts.contains(agent.outcome_next[o])) found.push_back(TransitionId{o});
            }
        }
    };
    if (condition.states) {
        std::vector<Index> states = *condition.states;
        std::ranges::sort(states);
        const auto repeated = std::ranges::unique(states);
        states.erase(repeated.begin(), repeated.end());
        std::ranges::for_each(states, look_at);
    } else {
        for (Index state = 0; state < agent.state_count; ++state) look_at(state);
    }
    return found;
}

}  // namespace coreplan
