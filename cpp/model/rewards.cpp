#include "model/rewards.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <stdexcept>
#include <string>

#include "support/sequence_pool.hpp"

namespace coreplan {

void StageValue::add(double value, const std::optional<std::vector<Index>>& stages) {
    if (!stages) {
        constant_ += value;
        return;
    }
    std::vector<Index> distinct = *stages;
    std::ranges::sort(distinct);
    const auto repeated = std::ranges::unique(distinct);
    distinct.erase(repeated.begin(), repeated.end());
    for (const Index stage : distinct) extra_.emplace_back(stage, value);
}

void StageValue::finish(StageWeights weights) {
    weights_ = std::move(weights);
    // Stable, so that values are added in the order of the description.
    std::ranges::stable_sort(extra_, {}, &std::pair<Index, double>::first);
    std::size_t kept = 0;
    for (std::size_t k = 0; k < extra_.size(); ++k) {
        if (kept > 0 && extra_[kept - 1].first == extra_[k].first) {
            extra_[kept - 1].second += extra_[k].second;
        } else {
            extra_[kept++] = extra_[k];
        }
    }
    extra_.resize(kept);
}

double StageValue::at_stage(Index stage) const {
    const auto found =
        std::ranges::lower_bound(extra_, stage, {}, &std::pair<Index, double>::first);
    const bool adds = found != extra_.end() && found->first == stage;
    return (adds ? constant_ + found->second : constant_) * weights_.at_stage(stage);
}

void AgentRewards::rewards_at(Index stage, std::vector<double>& rewards) const {
    rewards = constant;
    add_stage(stage, rewards);
    if (!weights.vary()) return;
    const double weight = weights.at_stage(stage);
    for (double& reward : rewards) reward *= weight;
}

void AgentRewards::add_stage(Index stage, std::vector<double>& rewards) const {
    if (at_stage.empty()) return;
    for (const OwnReward& own : at_stage[stage]) {
        for (const TransitionId transition : matches[own.matches]) {
            rewards[at(transition)] += own.value;
        }
    }
}

void AgentRewards::take_stage(Index stage, std::vector<double>& rewards) const {
    if (at_stage.empty()) return;
    for (const OwnReward& own : at_stage[stage]) {
        for (const TransitionId transition : matches[own.matches]) {
            rewards[at(transition)] = constant[at(transition)];
        }
    }
}

namespace {

void require(bool condition, const char* what) {
    if (!condition) throw std::invalid_argument(std::string("invalid description: ") + what);
}

// Numbers the distinct match sets of one agent.
class Matcher {
public:
    Matcher(const AgentDescription& agent, AgentRewards& rewards) : rewards_(rewards) {
        for (const Condition& condition : agent.conditions) {
            std::vector<TransitionId> transitions = matching_transitions(agent, condition);
            words_.assign(transitions.size(), 0);
            std::ranges::transform(transitions, words_.begin(),
                                   [](TransitionId id) { return SequencePool::Word{at(id)}; });
            const auto [id, is_new] = pool_.intern(words_);
            if (is_new) rewards_.matches.push_back(std::move(transitions));
            of_condition_.push_back(id);
        }
        transition_count_ = agent.transition_count();
    }

    [[nodiscard]] Index of(Index condition) const { return of_condition_[condition]; }
    [[nodiscard]] bool never(Index matches) const { return rewards_.matches[matches].empty(); }
    [[nodiscard]] bool always(Index matches) const {
        return rewards_.matches[matches].size() == transition_count_;
    }

private:
    AgentRewards& rewards_;
    SequencePool pool_;
    std::vector<SequencePool::Word> words_;
    std::vector<Index> of_condition_;
    std::size_t transition_count_ = 0;
};

void add_own_reward(AgentRewards& agent, Index matches, const StageValue& value, Index horizon) {
    if (value.constant() != 0) {
        for (const TransitionId transition : agent.matches[matches]) {
            agent.constant[at(transition)] += value.constant();
        }
    }
    if (value.extra().empty()) return;
    if (agent.at_stage.empty()) agent.at_stage.resize(horizon);
    for (const auto& [stage, extra] : value.extra()) {
        agent.at_stage[stage].push_back({matches, extra});
    }
}

// What each agent's transitions add to an aggregate's sum: per agent that adds anything, the
// amounts above 0 with the transitions that add them.
using Parts = std::map<std::size_t, std::map<Index, std::vector<TransitionId>>>;

Parts parts_of(const Aggregate& aggregate, const std::vector<AgentDescription>& agents,
               const std::vector<Matcher>& matchers, const Rewards& rewards) {
    std::map<std::size_t, std::vector<Index>> units;  // per agent and transition
    for (const Amount& amount : aggregate.amounts) {
        const std::size_t i = at(amount.agent);
        std::vector<Index>& mine = units[i];
        mine.resize(agents[i].transition_count(), 0);
        for (const TransitionId id : rewards.agents[i].matches[matchers[i].of(amount.condition)]) {
            mine[at(id)] += amount.units;
        }
    }
    Parts parts;
    for (const auto& [i, mine] : units) {
        for (std::size_t transition = 0; transition < mine.size(); ++transition) {
            if (mine[transition] == 0) continue;
            parts[i][mine[transition]].push_back(as<TransitionId>(transition));
        }
    }
    return parts;
}

// What a sum of 0 brings is a constant; what is a sum over agents after all are own rewards.
void add_aggregate(const Aggregate& aggregate, Index number, Index horizon, const Parts& parts,
                   Rewards& rewards) {
    std::size_t most = 0;
    for (const auto& [i, amounts] : parts) most += amounts.rbegin()->first;
    require(most < aggregate.values.size(), "aggregate values");
    std::vector<double> values(aggregate.values.begin(),
                               aggregate.values.begin() + static_cast<std::ptrdiff_t>(most + 1));
    rewards.constant.add(values[0], aggregate.stages);
    for (std::size_t k = values.size(); k-- > 0;) values[k] -= values[0];
    const bool apart = parts.size() < 2 || is_linear(values);
    AggregateReward found{{}, {}, aggregate.stages, number};
    for (const auto& [i, amounts] : parts) {
        AgentRewards& agent = rewards.agents[i];
        AggregateMember member{as<AgentId>(i), {}};
        for (const auto& [units, transitions] : amounts) {
            const auto matches = static_cast<Index>(agent.matches.size());
            agent.matches.push_back(transitions);
            if (apart) {
                StageValue value;
                value.add(values[units], aggregate.stages);
                value.finish();
                add_own_reward(agent, matches, value, horizon);
            } else {
                member.units.emplace_back(as<SignalId>(agent.signal_count()), units);
                agent.signal_matches.push_back(matches);
            }
        }
        found.members.push_back(std::move(member));
    }
    if (apart) return;
    found.values = std::move(values);
    rewards.aggregates.push_back(std::move(found));
}

void list_signals(AgentRewards& agent, std::size_t transition_count) {
    std::vector<std::vector<SignalId>> rows(transition_count);
    for (std::size_t signal = 0; signal < agent.signal_count(); ++signal) {
        for (const TransitionId transition : agent.matches[agent.signal_matches[signal]]) {
            rows[at(transition)].push_back(as<SignalId>(signal));
        }
    }
    agent.transition_signal_begin.assign(1, 0);
    for (const auto& row : rows) {
        agent.transition_signal.insert(agent.transition_signal.end(), row.begin(), row.end());
        agent.transition_signal_begin.push_back(static_cast<Index>(agent.transition_signal.size()));
    }
}

}  // namespace

bool is_linear(std::span<const double> values) {
    double most = 0;
    for (const double value : values) most = std::max(most, std::abs(value));
    const double allowed = 4 * std::numeric_limits<double>::epsilon() * most;
    for (std::size_t k = 2; k < values.size(); ++k) {
        if (std::abs(values[k] - static_cast<double>(k) * values[1]) > allowed) return false;
    }
    return true;
}

Rewards sort_rewards(const Description& description) {
    Rewards rewards;
    const std::size_t n = description.agents.size();
    rewards.agents.resize(n);
    rewards.weights = StageWeights(description.weights);
    std::vector<Matcher> matchers;
    matchers.reserve(n);
    for (std::size_t i = 0; i < n; ++i) {
        rewards.agents[i].constant.assign(description.agents[i].transition_count(), 0.0);
        rewards.agents[i].weights = rewards.weights;
        matchers.emplace_back(description.agents[i], rewards.agents[i]);
    }

    // Group the entries by what they look at: a sequence of (agent, match set).
    SequencePool groups;
    std::vector<StageValue> values;
    std::vector<SequencePool::Word> key;
    for (const Entry& entry : description.entries) {
        key.clear();
        Entry looked_at{{}, entry.value, entry.stages, entry.function};
        bool possible = true;
        for (const Member& member : entry.members) {
            const Matcher& matcher = matchers[at(member.agent)];
            const Index matches = matcher.of(member.condition);
            possible = possible && !matcher.never(matches);
            if (matcher.always(matches)) continue;
            key.push_back((at(member.agent) << 32U) | matches);
            looked_at.members.push_back(member);
        }
        if (!possible) continue;
        if (key.size() > 1) rewards.interaction_entries.push_back(std::move(looked_at));
        const auto [id, is_new] = groups.intern(key);
        if (is_new) values.emplace_back();
        values[id].add(entry.value, entry.stages);
    }

    std::vector<std::vector<Index>> signal_of(n);  // per agent: match set -> signal + 1
    for (std::size_t i = 0; i < n; ++i) signal_of[i].assign(rewards.agents[i].matches.size(), 0);
    for (std::uint32_t g = 0; g < groups.size(); ++g) {
        const auto members = groups[g];
        values[g].finish(rewards.weights);
        if (members.empty()) {
            rewards.constant = values[g];
        } else if (members.size() == 1) {
            add_own_reward(rewards.agents[members[0] >> 32U], static_cast<Index>(members[0]),
                           values[g], description.horizon);
        } else {
            Interaction interaction;
            interaction.value = std::move(values[g]);
            for (const SequencePool::Word member : members) {
                const std::size_t agent = member >> 32U;
                const auto matches = static_cast<Index>(member);
                Index& signal = signal_of[agent][matches];
                if (signal == 0) {
                    rewards.agents[agent].signal_matches.push_back(matches);
                    signal = static_cast<Index>(rewards.agents[agent].signal_count());
                }
                interaction.members.push_back({as<AgentId>(agent), SignalId{signal - 1}});
            }
            rewards.interactions.push_back(std::move(interaction));
        }
    }
    for (std::size_t g = 0; g < description.aggregates.size(); ++g) {
        const Aggregate& aggregate = description.aggregates[g];
        add_aggregate(aggregate, static_cast<Index>(g), description.horizon,
                      parts_of(aggregate, description.agents, matchers, rewards), rewards);
    }
    rewards.constant.finish(rewards.weights);
    for (std::size_t i = 0; i < n; ++i) {
        list_signals(rewards.agents[i], description.agents[i].transition_count());
    }
    return rewards;
}

}  // namespace coreplan
