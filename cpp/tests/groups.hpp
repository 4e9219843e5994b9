// What the search over groups is tested against: groups of agents by plain recursion over a
// compiled model, one joint state at a time, by maps. Constants are not counted.
#pragma once

#include <map>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "bounds/independent.hpp"
#include "search/group_search.hpp"

namespace coreplan::groups {

using Classes = std::vector<ClassId>;

// A random policy of single agents.
LocalPolicy random_policy(const CompiledModel& model, std::mt19937_64& random);

// All groups that can be made of the model's agents.
std::vector<std::vector<AgentId>> subsets(const CompiledModel& model);

// Anywhere at a layer; outcomes are hidden about so often.
std::vector<Status> somewhere(const CompiledModel& model, std::span<const AgentId> agents,
                              Index layer, double hidden, std::mt19937_64& random);

// All joint states that agents may find themselves in, with their chances.
std::vector<std::pair<Classes, double>> revealed(const CompiledModel& model,
                                                 std::span<const AgentId> agents,
                                                 std::span<const Status> where);

// What each of the agents goes to, by positions among the actions of its class.
std::vector<AfterId> afters_of(const CompiledModel& model, std::span<const AgentId> agents,
                               std::span<const ClassId> classes, std::span<const Index> actions);

// What agents get at once: for themselves; and from interactions of which all members are there,
// and from aggregates to which nobody else adds anything.
double own_reward(const CompiledModel& model, std::span<const AgentId> agents,
                  std::span<const ClassId> classes, std::span<const Index> actions);
double interaction_reward(const CompiledModel& model, std::span<const AgentId> agents, Index layer,
                          std::span<const AfterId> afters);

// How many actions each of the agents has.
std::vector<Index> choices_of(const CompiledModel& model, std::span<const AgentId> agents,
                              std::span<const ClassId> classes);

// Counts on to the next combination, the last digit fastest; false after the last one.
bool count_on(std::vector<Index>& digits, std::span<const Index> sizes);

// What some agents earn at best; interactions with others are ignored.
class Exact {
public:
    Exact(const CompiledModel& model, std::span<const AgentId> agents)
        : model_(model), agents_(agents.begin(), agents.end()) {}

    [[nodiscard]] double value(Index layer, const Classes& classes);
    [[nodiscard]] double value(Index layer, std::span<const Status> where);
    [[nodiscard]] double value(Index layer, const Classes& classes, std::span<const Index> actions);
    [[nodiscard]] double root() { return value(0, Classes(agents_.size(), ClassId{0})); }

private:
    const CompiledModel& model_;
    std::vector<AgentId> agents_;
    std::map<std::pair<Index, Classes>, double> known_;
};

// Which agents belong together in a joint state of all, by positions; with `split` they go apart
// where no interaction that links them is alive.
std::vector<std::vector<Index>> together(const CompiledModel& model, const Couplings& couplings,
                                         std::span<const Index> lists, bool split = true);

// What the team earns if its groups do what was decided, and the default where nothing was.
double worth(const CompiledModel& model, const Couplings& couplings,
             const GroupDecisions& decisions, const LocalPolicy& usual, bool split);

}  // namespace coreplan::groups
